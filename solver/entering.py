"""Running jobs entered all at once, for a plan of one moment: columns instead of one job's parts.

Only jobs that hold the same as long as they run, in one term, are taken; how they end is the
world's business, so that none may be among them that ends by now. What they come to is what
:meth:`.world.world.World.add_running` makes of them one by one, but for what a job gives back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..model.duration import expected_finish
from ..model.job import RunningJob
from ..model.resreq.syntax import Compound
from .availability.arrays import FloatArray, IntArray
from .availability.free_now import FreeNow
from .availability.profile import FOREVER, Profile
from .availability.resources import ResourceTable
from .availability.room import held_for_life
from .availability.running_profile import RunningProfile
from .availability.uses import Alternative, Per, Use
from .resolve import Resolver


@dataclass(slots=True)
class _Alike:
    """Jobs that use the same: their numbers, starts, finishes and allocations, in order."""

    uses: Alternative
    numbers: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    finishes: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)


#: Owner, host, begin, end and amount of rows.
_Rows = tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]


@dataclass(slots=True)
class Entering:
    """The jobs so far; nothing of them is in the books before :meth:`close`."""

    resolver: Resolver
    index: Mapping[str, int]
    _kinds: dict[tuple[object, ...], _Alike | None] = field(default_factory=dict)
    _alike: dict[int, _Alike] = field(default_factory=dict)

    def takes(self, number: int, running: RunningJob, finish: int | None) -> bool:
        """Enter a job if it can be; finish: expected, None for unknown."""
        job = running.job
        key = (
            *(job.res_req, job.queue, job.application, job.user, job.project),
            *(job.exclusive, job.slots, job.max_slots, running.alternative),
        )
        try:
            alike = self._kinds[key]
        except KeyError:
            alike = self._kinds[key] = self._kind(running)
        if alike is None:
            return False
        allocation, index = running.allocation, self.index
        alike.numbers.append(number)
        alike.starts.append(running.start)
        alike.finishes.append(FOREVER if finish is None else finish)
        alike.counts.append(len(allocation))
        alike.hosts.extend([index[name] for name in allocation])
        alike.slots.extend(allocation.values())
        return True

    def _kind(self, running: RunningJob) -> _Alike | None:
        allocation = {self.index[name]: slots for name, slots in running.allocation.items()}
        asked = self.resolver.requirement(running.job)
        if isinstance(asked, Compound) or (asked.cu is not None and asked.cu.excl):
            return None
        terms = self.resolver.running_uses(running, allocation)
        if len(terms) != 1 or terms[0][1] is not allocation:
            return None
        uses = terms[0][0]
        if any(use.per is Per.JOB for use in uses.host_uses) or any(
            held_for_life(use) is None for use in (*uses.host_uses, *uses.pool_uses)
        ):
            return None
        return self._alike.setdefault(id(uses), _Alike(uses))

    def close(self, free_now: FreeNow, profile: RunningProfile, accepted: IntArray) -> None:
        """Write everything into the present, the profile and the hosts' last starts [H]."""
        table = self.resolver.table
        of_hosts: dict[int, list[_Rows]] = {}
        of_pools: dict[int, list[_Rows]] = {}
        for alike in self._alike.values():
            if not alike.numbers:
                continue
            job = np.repeat(np.arange(len(alike.numbers)), alike.counts)
            numbers, starts, finishes = (
                np.array(column, dtype=np.int64)
                for column in (alike.numbers, alike.starts, alike.finishes)
            )
            hosts = np.array(alike.hosts, dtype=np.int64)
            slots = np.array(alike.slots, dtype=float)
            np.maximum.at(accepted, hosts, starts[job])
            for use in alike.uses.host_uses:
                amounts = _of_hosts(table, use, hosts, slots)
                rows = (numbers[job], hosts, starts[job], finishes[job], amounts)
                of_hosts.setdefault(use.index, []).append(rows)
            for use in alike.uses.pool_uses:
                amounts = _of_pool(table, use, job, hosts, slots, len(numbers))
                some = np.flatnonzero(amounts)
                where = np.zeros(len(some), dtype=np.int64)
                rows = (numbers[some], where, starts[some], finishes[some], amounts[some])
                of_pools.setdefault(use.index, []).append(rows)
            profile.finish.update(zip(alike.numbers, alike.finishes, strict=True))
        for index, found in _by_owner(of_hosts).items():
            np.subtract.at(free_now.host(index), found[1], found[4])
            profile.enter_rows(index, *found, pool=False)
        for index, found in _by_owner(of_pools).items():
            free_now.take_from_pool(index, float(found[4].sum()))
            profile.enter_rows(index, *found, pool=True)


def profile_of_running(resolver: Resolver) -> Profile:
    """The profile of the running jobs of an instance; one that is overdue ends now."""
    instance, table = resolver.instance, resolver.table
    index = instance.cluster.host_index()
    found = RunningProfile(table, instance.now)
    for resource, away in table.reported_away().items():
        found.hold_reported(resource, away)
    entering, others = Entering(resolver, index), []
    for number, running in enumerate(instance.running):
        finish = expected_finish(instance, running)
        if entering.takes(number, running, finish):
            continue
        allocation = {index[name]: slots for name, slots in running.allocation.items()}
        blocked = resolver.blocked_units(running.job, allocation)
        uses = resolver.running_uses(running, allocation)
        others += [(use, part, running.start, finish, blocked) for use, part in uses]
    entering.close(FreeNow(table), found, np.zeros(len(index), dtype=np.int64))
    profile = found.copy()
    for use, part, start, finish, blocked in others:
        profile.hold(use, part, start, finish, whole_hosts=blocked)
    profile.freeze()
    return profile


def _of_hosts(table: ResourceTable, use: Use, hosts: IntArray, slots: FloatArray) -> FloatArray:
    """What jobs hold of a host resource, row by row."""
    amount = held_for_life(use)
    assert amount is not None
    if use.per is Per.SLOT:
        return slots * amount
    if use.per is Per.WHOLE:
        return table.host_resources[use.index].capacity[hosts] * amount
    return np.full(len(hosts), amount)


def _of_pool(
    table: ResourceTable, use: Use, job: IntArray, hosts: IntArray, slots: FloatArray, count: int
) -> FloatArray:
    """What jobs hold of a pool, job by job; 0 for those outside it."""
    amount = held_for_life(use)
    assert amount is not None
    inside = table.pools[use.index].mask[hosts]
    if use.per is Per.SLOT:
        times = np.bincount(job[inside], weights=slots[inside], minlength=count)
    else:
        times = np.bincount(job[inside], minlength=count).astype(float)
        if use.per is not Per.HOST:
            times = np.minimum(times, 1.0)
    return np.asarray(times * amount, dtype=np.float64)


def _by_owner(rows: Mapping[int, list[_Rows]]) -> dict[int, _Rows]:
    """The rows of each resource in the order of the jobs, as if they had come one by one."""
    found: dict[int, _Rows] = {}
    for index, parts in rows.items():
        owner, where, begin, end, amount = (
            np.concatenate([part[at] for part in parts]) for at in range(5)
        )
        order = np.argsort(owner, kind="stable")
        found[index] = owner[order], where[order], begin[order], end[order], amount[order]
    return found
