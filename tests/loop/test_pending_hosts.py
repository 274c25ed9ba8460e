"""Pending reasons of random instances: every job has one, and hosts under it lack what it says."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import enumerated_instances
import pytest
from enumerator import Asked, terms_of
from sampling import some
from slotwise import Instance, Job
from slotwise.model.pending import Pending
from slotwise.solver.scheduler.history import Snapshot, snapshot_of


def _hosts_named(moment: Snapshot, name: str, kind: Pending) -> set[str]:
    reasons = moment.waiting[name].reasons
    return {host for reason in reasons if reason.kind is kind for host in reason.hosts}


def _block(problem: Instance, name: str, asked: Asked, slots: int) -> int:
    """Slots that a job would take on a host had it the host alone, by its span."""
    size = next(h.slots for h in problem.cluster.hosts if h.name == name)
    if asked.one_host:
        return slots
    if asked.ptile:
        return min(size if asked.ptile == "'!'" else int(asked.ptile), slots)
    return min(size, slots)


@pytest.mark.parametrize("seed", some(range(150), 40))
def test_hosts_under_a_reason_lack_what_it_says(seed: int) -> None:
    """Counted anew from the plain data of the moment, by the rules as they are written."""
    problem = enumerated_instances.instance(Random(seed))
    queues = tuple(replace(q, slot_reserve=10) for q in problem.queues)
    moment = snapshot_of(replace(problem, queues=queues), after_cycle=True)
    hosts = {item.name: item for item in problem.cluster.hosts}
    used = dict.fromkeys(hosts, 0)
    for item in moment.instance.running:
        for name, slots in item.allocation.items():
            used[name] += slots
    for waiting in moment.instance.pending:
        reasons = moment.waiting[waiting.id].reasons
        assert reasons
        listed = [name for reason in reasons for name in reason.hosts]
        assert set(listed) <= set(hosts)
        if len(terms_of("".join(waiting.res_req))) > 1:
            continue
        (asked,) = terms_of("".join(waiting.res_req))
        held = dict.fromkeys(hosts, 0)
        for other in moment.instance.pending:
            if other is not waiting:
                for name, slots in moment.holds(other.id).items():
                    held[name] += slots
        free = {name: hosts[name].slots - used[name] - held[name] for name in hosts}
        owned = _owned(moment)
        for name in _hosts_named(moment, waiting.id, Pending.HOST_FULL):
            assert used[name] >= hosts[name].slots
        few = _hosts_named(moment, waiting.id, Pending.FEW_SLOTS)
        together = sum(free[name] for name in few) < waiting.slots
        for name in few:
            assert free[name] < _block(problem, name, asked, waiting.slots) or together
        for name in _hosts_named(moment, waiting.id, Pending.UNIT_EXCLUSIVE):
            assert name in owned
        for name in _hosts_named(moment, waiting.id, Pending.EXCLUSIVE):
            assert any(r.job.exclusive and name in r.allocation for r in moment.instance.running)
        for name in _hosts_named(moment, waiting.id, Pending.NOT_ALONE):
            assert waiting.exclusive
            assert used[name] + held[name] > 0 or name in owned
        for reason in reasons:
            if reason.kind is Pending.RUSAGE and reason.resource in ("mem", "gpu"):
                _amounts_are_short(moment, waiting, asked, reason.resource, reason.hosts)


def _owned(moment: Snapshot) -> set[str]:
    """Hosts of the units that running cu[excl] jobs have."""
    found: set[str] = set()
    for item in moment.instance.running:
        if any("excl" in text for text in item.job.res_req):
            for unit in moment.instance.cluster.units:
                if set(unit.hosts) & set(item.allocation):
                    found |= set(unit.hosts)
    return found


def _amounts_are_short(
    moment: Snapshot, waiting: Job, asked: Asked, resource: str, names: tuple[str, ...]
) -> None:
    """A host listed for an amount has less left than one host's worth of every alternative."""
    method = {u.resource: u.method for u in moment.instance.reservation_usage}.get(resource)
    by_slot = method == "PER_SLOT" or moment.instance.params.reserve_per_slot
    for name in names:
        left = moment.hosts[name].total.get(resource)
        block = _block(moment.instance, name, asked, waiting.slots)
        wanted = [
            usage.at(0) * (block if by_slot else 1)
            for usages in asked.alternatives
            for usage in usages
            if usage.resource == resource
        ]
        assert left is None or any(left < amount for amount in wanted), (name, left, wanted)
