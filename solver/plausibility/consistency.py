"""Consistency of a snapshot: counts of commands, use by jobs, and LSF's statements about jobs.

Each contradiction is an omission: nothing that it touches is called proved.

Comparison of the printed states of hosts and queues with the instance. A host is full or exclusive
by its jobs, a window is closed by its hours: a contradiction means that something was not read, and
no start there is proved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...model.configuration import OF_JOBS
from ...model.display import some
from ...model.errors import InputError
from ...model.formats.names import Domains
from ...model.gpu_request import GPUS_NAMED
from ...model.input_limits import limits
from ...model.instance import Instance
from ...model.job import LARGEST_INDEX, job_groups_of, parse_array
from ...model.modules import with_loaded_modules
from ...model.omissions import Omission
from ...model.shares import Groups
from ...model.sources.lsf_state.assemble import RUNNING
from ...model.sources.lsf_state.bhosts import SeenHost
from ...model.sources.lsf_state.bjobs import ENDED, WAITING, SeenJob
from ...model.sources.lsf_state.bqueues import ROUNDING, SeenQueue
from ...model.sources.lsf_state.limits import SeenLimit, SeenUse
from ...model.sources.lsf_state.reservations import MAX_SHOWN
from ...model.sources.lsf_state.seen import Seen
from ..availability.demand import Windows
from ..availability.guarantees import GuaranteedUse
from ..fairshare.dispatch_order import order_policy
from ..pending_reasons import counted
from ..resolve import Resolver
from ..rules.eligibility import InitialSituation
from .gate import of_lsf, unexplained

#: An rusage section.
_USAGE = re.compile(r"rusage\[[^\]]*\]")
#: Amounts of which bhosts prints reservations, and the rounding of its numbers (MB).
_RESERVED, _ROUNDING = ("mem", "swp", "tmp"), 2.0
#: Rounding of a site's resource, which is printed with one decimal.
_DIGITS = 0.05
#: MB in a tenth of a GB and of a TB, to which larger amounts are rounded.
_TENTHS = (0.1 * 1024**2, 0.1 * 1024)
#: Slots of a job with an unknown request: more than any host has.
_ANY_NUMBER = 10**6


@dataclass(frozen=True, slots=True)
class ConsistencyReport:
    """Result of the comparison of counts with jobs."""

    #: Sentences about the comparison.
    lines: tuple[str, ...]
    #: Contradictions.
    contradictions: tuple[Omission, ...]


def check_consistency(instance: Instance, seen: Seen) -> ConsistencyReport:
    """Compare an instance with the listings from which it was made.

    seen: host names as the instance has them.
    """
    hosts = _Counts("slots in use", "bhosts", "use", "on", *_slots_by_host(seen))
    running = _Counts("slots in use", "bqueues", "use", "in", *_by_queue(seen, ("RUN", "SUSP")))
    # Slots reserved for a pending job are counted apart from those that it still needs.
    waiting = _by_queue(seen, ("PEND", "RSV"))
    pending = _Counts("slots waited for", "bqueues", "request", "in", *waiting)
    counts = [item for item in (hosts, running, pending) if item.counted]
    whole = {job.id: job.reason for job in seen.jobs}
    said = [replace(item, reason=whole[item.job]) for item in instance.lsf_says]
    found = [
        *(omission for item in counts for omission in item.differences()),
        *states_not_borne_out(instance, seen),
        *_reservations(instance, seen),
        *_amounts(instance, seen),
        *_shared_amounts(instance, seen),
        *_uses(instance, seen),
        *_absolute(instance, seen),
        *_fits_nowhere(instance, seen),
        *unexplained(instance, of_lsf(instance, said), "bjobs"),
    ]
    return ConsistencyReport(tuple(item.line() for item in counts), tuple(found))


def _reservations(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield slots that LSF reserves for pending jobs although no queue of the instance reserves."""
    if instance.reserve_cycles is not None or instance.params.time_reserve_numjobs:
        return
    held = {host.name: host.reserved_slots for host in seen.hosts or () if host.reserved_slots}
    jobs = [job.id for job in seen.jobs if job.reserved and job.status in WAITING]
    why = "no queue reserves here (SLOT_RESERVE or RESOURCE_RESERVE of lsb.queues)"
    if held:
        text = f"bhosts counts {sum(held.values())} slots reserved on {some(held)}; {why}"
        yield Omission(text, count=len(held), hosts=tuple(held))
    elif jobs:
        yield Omission(f"slots are reserved for job {some(jobs)}; {why}", "bjobs", len(jobs))


def _absolute(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield differences between the values of bjobs -aps and the formula."""
    if not seen.absolute:
        return
    for order in order_policy(with_loaded_modules(instance)).absolute.values():
        jobs = [job for job in instance.pending if job.queue in order.group.queues]
        apart = []
        for job, value in order.standings(jobs, instance.now):
            printed = seen.absolute.get(job.id, "-")
            if printed in ("-", str(value)) or value.system is not None or printed[0] == "(":
                continue
            if abs(float(printed) - value.value) > ROUNDING:
                apart.append((job.id, printed, str(value)))
        if apart:
            id, printed, ours = apart[0]
            ids = [job for job, _, _ in apart]
            yield Omission(
                f"bjobs -aps shows {printed} for job {id}, by the formula of queue "
                f"{order.group.parent} it has {ours}"
                + (f", and {len(ids) - 1} more differ" if len(ids) > 1 else ""),
                queues=order.group.queues,
            )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers by name that a command counts, and the least and most that jobs account for."""

    what: str
    command: str
    verb: str
    where: str
    counted: Mapping[str, int]
    least: Mapping[str, int]
    most: Mapping[str, int]

    def line(self) -> str:
        counted = sum(self.counted.values())
        read = sum(self.least.get(name, 0) for name in self.counted)
        return f"{self.what}: {self.command} counts {counted}, the listed jobs {self.verb} {read}"

    def differences(self) -> Iterator[Omission]:
        more = [name for name, n in self.counted.items() if n > self.most.get(name, 0)]
        less = [name for name, n in self.counted.items() if n < self.least.get(name, 0)]
        for names, why in ((more, "bjobs without -u all?"), (less, "printed at different times?")):
            if names:
                counted = sum(self.counted[name] for name in names)
                read = sum(self.least.get(name, 0) for name in names)
                yield Omission(
                    f"{self.command} counts {counted} {self.what} {self.where} {some(names)}, "
                    f"but the listed jobs {self.verb} {read}: {why}"
                )


def _slots_by_host(seen: Seen) -> tuple[dict[str, int], Counter[str], Counter[str]]:
    counted = {host.name: host.used for host in seen.hosts or () if host.used is not None}
    least: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for job in seen.jobs:
        if job.status in RUNNING:
            least.update(job.allocation)
        if job.status not in WAITING and job.status not in ENDED:  # or left out, as ZOMBI is
            most.update(job.allocation)
            if job.unknown and not job.allocation:  # Any host is possible for the job.
                most.update(dict.fromkeys(counted, job.slots or _ANY_NUMBER))
    return counted, least, most


def _by_queue(
    seen: Seen, columns: tuple[str, ...]
) -> tuple[dict[str, int], Counter[str], Counter[str]]:
    """Return slots by queue; for a job with a range of slots, the counted number is unknown."""
    counted = {
        queue.name: sum(queue.counts.get(column, 0) for column in columns)
        for queue in seen.queues or ()
        if all(column in queue.counts for column in columns if column != "RSV")
    }
    least: Counter[str] = Counter()
    most: Counter[str] = Counter()
    listed = {job.id for job in seen.jobs}
    for job in seen.jobs:
        # Some commands count it as pending, others as suspended; for other states it is unknown.
        held = not _column(job) or job.status == "PSUSP"
        if job.status in ENDED:
            continue
        if held or _column(job) in columns:
            known = sum(job.allocation.values()) or job.slots
            number = _elements(job, listed)
            least[job.queue] += 0 if held else number * (known or 1)
            more = max(known, job.max_slots or 0) if known else _ANY_NUMBER
            most[job.queue] += number * more
    return counted, least, most


def _elements(job: SeenJob, listed: Collection[str]) -> int:
    """Return the number of jobs of a row: for an array its elements without a row of their own."""
    if "[" in job.id or "[" not in job.name:
        return 1
    with suppress(ValueError, InputError):
        spec = parse_array(" ".join(job.name.split()), LARGEST_INDEX)[1]
        if spec is not None and len(spec) <= limits().elements:
            return sum(f"{job.id}[{index}]" not in listed for index in spec)
    return 1


def _column(job: SeenJob) -> str:
    if job.status in WAITING or job.status == "FWD_PEND":
        return "PEND"
    return "SUSP" if "SUSP" in job.status else "RUN" if job.status in RUNNING else ""


@dataclass(frozen=True, slots=True)
class _Reserved:
    """MB of one amount on one host: reserved according to bhosts, and by jobs."""

    name: str
    host: str
    counted: float
    held: float

    @property
    def missing(self) -> float:
        """Return the MB that belong to no job, 0 if the difference may come from rounding."""
        short = self.counted - self.held
        return short if short > self._rounding else 0.0

    @property
    def fits(self) -> bool:
        """Return whether both amounts are equal."""
        return abs(self.counted - self.held) <= self._rounding

    @property
    def _rounding(self) -> float:
        if self.name not in _RESERVED:
            return _DIGITS
        for tenth in _TENTHS:
            parts = self.counted / tenth
            if parts >= 10 and abs(parts - round(parts)) < 1e-6:
                return max(_ROUNDING, tenth / 2)
        return _ROUNDING


def _reserved(instance: Instance, seen: Seen) -> list[_Reserved]:
    """Return the amounts that bhosts prints as reserved, with those that running jobs reserve."""
    instance = with_loaded_modules(instance)
    resolver = Resolver.of(instance, reserving=False)
    found: list[_Reserved] = []
    doubtful = _doubtful(instance, seen)
    try:
        free = InitialSituation(instance, resolver).free_now
    except InputError:
        return found  # An unreadable requirement of a running job has been reported already.
    printed = {*_RESERVED, *(name for host in seen.hosts or () for name in host.reserved)}
    places = {host.name: number for number, host in enumerate(instance.cluster.hosts)}
    for index, resource in enumerate(resolver.table.host_resources):
        if resource.name not in printed or GPUS_NAMED.fullmatch(resource.name):
            continue
        held = free.reported(index) - free.host(index)
        found += [
            _Reserved(
                resource.name,
                host.name,
                host.reserved.get(resource.name, 0.0),
                float(held[places[host.name]]),
            )
            for host in seen.hosts or ()
            if host.name in places
            and resource.capacity[places[host.name]] >= 0
            and host.name not in doubtful
        ]
    return found


def _doubtful(instance: Instance, seen: Seen) -> frozenset[str]:
    """Return the hosts on which a job may use more or less than its record states."""
    kept = {run.job.id: " ".join(run.job.res_req) for run in instance.running}
    unread = [
        job
        for job in seen.jobs
        if job.status not in WAITING
        and job.status not in ENDED
        and (job.unknown or _USAGE.findall(job.res_req) != _USAGE.findall(kept.get(job.id, "")))
    ]
    if any(not job.allocation for job in unread):
        return frozenset(host.name for host in seen.hosts or ())
    return frozenset(name for job in unread for name in job.allocation)


def _amounts(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield amounts that bhosts prints as reserved and that no job of the instance reserves."""
    reserved = _reserved(instance, seen)
    for name in dict.fromkeys(item.name for item in reserved):
        short = {item.host: item.missing for item in reserved if item.name == name and item.missing}
        if short:
            amount = sum(short.values())
            much = f"{amount:.0f} MB of" if name in _RESERVED else f"{amount:g}"
            text = f"{much} {name} reserved on {some(short)} belong to no job"
            yield Omission(text, where="bhosts", count=len(short), resources=(name,))


def _shared_amounts(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield shared resources of which more is printed as reserved than the running jobs reserve."""
    printed: dict[str, float] = {}
    for host in seen.hosts or ():  # each host prints what all hosts share
        for name, amount in host.reserved.items():
            printed[name] = max(printed.get(name, 0.0), amount)
    for item in seen.shared:
        printed[item.name] = sum(same.reserved for same in seen.shared if same.name == item.name)
    instance = with_loaded_modules(instance)
    resolver = Resolver.of(instance, reserving=False)
    try:
        free = InitialSituation(instance, resolver).free_now
    except InputError:
        return  # An unreadable requirement of a running job has been reported already.
    for name in sorted({item.name for item in instance.cluster.shared} & printed.keys()):
        pools = [n for n, pool in enumerate(resolver.table.pools) if pool.name == name]
        held = sum(resolver.table.pools[n].capacity - free.pool(n) for n in pools)
        if printed[name] - held > _DIGITS:
            text = f"{printed[name] - held:g} of {printed[name]:g} {name} reserved belong to no job"
            yield Omission(text, where="bhosts -s", resources=(name,))


def _uses(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield amounts in use, and numbers of pending jobs, that the listed jobs do not explain."""
    found = (*_of_limits(instance, seen), *_of_named(instance, seen))
    yield from {replace(item, where=""): item for item in found}.values()  # bsla and bresources


def _difference(
    what: str, use: SeenUse, held: tuple[float, float], scope: Mapping[str, Any]
) -> Iterator[Omission]:
    """Yield that an amount is not what listed jobs have; held: the least and most of it."""
    if not held[0] <= use.amount <= held[1]:
        number = counted(int(use.amount), use.unit.removesuffix("s"), use.state)
        text = f"{what} has {number}, but the listed jobs have {held[0]:g}"
        yield Omission(text, where=use.where, **scope)


def _of_limits(instance: Instance, seen: Seen) -> Iterator[Omission]:
    groups = Groups(instance.groups)
    for row in seen.limits:
        names = row.consumers.get("hosts", ())
        hosts = {h for name in names for h in instance.cluster.expand(name) or ()}
        scope = {name: row.consumers.get(name, ()) for name in ("queues", "users", "hosts")}

        def counts(job: SeenJob, row: SeenLimit = row) -> bool:
            users = row.consumers.get("users", (job.user,))
            known = [name for name in users if name in groups]
            return (
                job.user in users or any(groups.contains_user(name, job.user) for name in known)
            ) and all(
                (value := getattr(job, item.of_job)) in row.consumers.get(item.field, (value,))
                for item in OF_JOBS[1:]
            )

        for unit in sorted(row.used.keys() & {"slots", "jobs"}):
            use = SeenUse("blimits", "", row.name, unit, row.used[unit])
            held = _held(seen, counts, unit, hosts if names else None)
            yield from _difference(f"limit {row.name}", use, held, scope)


def _held(
    seen: Seen, counts: Callable[[SeenJob], bool], unit: str, hosts: Collection[str] | None
) -> tuple[int, int]:
    """Return the minimum and the maximum of slots or jobs in use; hosts: any if None."""
    least = most = 0
    for job in filter(counts, seen.jobs):
        slots = sum(n for host, n in job.allocation.items() if hosts is None or host in hosts)
        started = job.status in RUNNING
        held = int(slots > 0) if unit == "jobs" else slots
        least += held if started and not job.unknown else 0
        more = job.reserved if unit == "slots" else int(job.reserved > 0)
        unsure = _ANY_NUMBER if job.unknown else 0
        most += max(held, unsure) if started or not job.status else more
    return least, most


def _pool_uses(instance: Instance) -> dict[str, GuaranteedUse]:
    """Return the use of each guaranteed pool by name; {} if a requirement is unreadable."""
    instance = with_loaded_modules(instance)
    with suppress(InputError):  # which has been reported already
        found = InitialSituation(instance, Resolver.of(instance, reserving=False)).pool_uses
        return {use.pool.pool.name: use for use in found}
    return {}


def _of_named(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield wrong amounts of job groups, service classes and advance reservations."""
    domains = Domains(host.name for host in instance.cluster.hosts)
    pools = _pool_uses(instance) if any(item.of == "service_class" for item in seen.uses) else {}
    unsure = _ANY_NUMBER * any(job.unknown for job in seen.jobs if job.status not in WAITING)
    listed = {job.id for job in seen.jobs}
    for item in seen.uses:
        what = f"{item.of.replace('_', ' ')} {item.name}"
        scope: dict[str, Any] = {}
        if item.of == "service_class":
            use = pools.get(item.unit)
            if use is not None and item.name in use.pool.guaranteed:
                least, counts_in = use.used.get(item.name, 0.0), use.pool.pool
                counted_by = replace(item, unit=counts_in.kind)
                what, scope = f"{what} of pool {item.unit}", {"hosts": counts_in.hosts}
                yield from _difference(what, counted_by, (least, least + unsure), scope)
            continue
        if item.of == "job_group" and any(job.job_group for job in seen.jobs):
            top = job_groups_of(item.name)[0]
            jobs = (job for job in instance.pending if top in job_groups_of(job.job_group))
            scope = {"jobs": tuple(job.id for job in jobs)}
        elif item.host:
            scope = {"hosts": (domains.known(item.host),)}
            what = f"{what} on {scope['hosts'][0]}"

        def counts(job: SeenJob, item: SeenUse = item) -> bool:
            name = getattr(job, item.of)
            return item.name in (name, name[:MAX_SHOWN], *job_groups_of(name))

        held: tuple[float, float]
        if item.state == "in use":
            held = _held(seen, counts, item.unit, scope.get("hosts"))
        else:
            waiting = (job for job in seen.jobs if job.status not in RUNNING and counts(job))
            held = 0, sum(_elements(job, listed) for job in waiting)
        yield from _difference(what, item, held, scope)


def counted_as_reserved(instance: Instance, seen: Seen) -> tuple[str, str]:
    """Return the unit of rusage[] by the reserved amounts, "slot" or "host", and a sentence.

    "" if the amounts fit neither unit, or both.
    """
    ways = {
        way: _reserved(
            replace(instance, params=replace(instance.params, reserve_per_slot=per)), seen
        )
        for way, per in (("host", False), ("slot", True))
    }
    items = {way: [item for item in found if item.name in _RESERVED] for way, found in ways.items()}
    if len(items["host"]) != len(items["slot"]):
        return "", ""
    pairs = zip(items["host"], items["slot"], strict=True)
    telling = [pair for pair in pairs if pair[0].counted and pair[0].fits != pair[1].fits]
    way = next((way for way, found in items.items() if all(item.fits for item in found)), "")
    if not telling or not way:
        return "", ""
    both = max(telling, key=lambda pair: pair[0].counted)
    right, wrong = both if way == "host" else both[::-1]
    other = "slot" if way == "host" else "host"
    return way, (
        f"rusage[] counts per {way} here: bhosts shows that {right.counted:.0f} MB of {right.name} "
        f"are reserved on {right.host}, as its jobs reserve per {way} (per {other} "
        f"{wrong.held:.0f} MB; --rusage overrules)"
    )


def _fits_nowhere(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield jobs that can never start here although LSF reserves slots or estimates a start."""
    expected = {job.id: job for job in seen.jobs if job.reserved or job.estimate is not None}
    asked = [job for job in instance.pending if job.id in expected]
    if not asked:
        return
    resolver = Resolver.of(instance, reserving=False)
    for job in asked:
        if reason := resolver.demand(job).impossible:
            does = "reserves slots for it" if expected[job.id].reserved else "estimates its start"
            yield Omission(f"LSF {does}; here: {reason}", where="bjobs", jobs=(job.id,))


#: A compute-unit request with exclusive units.
_CU_EXCLUSIVE = re.compile(r"cu\[[^\]]*\bexcl\b(?!\s*=\s*N)", re.IGNORECASE)


def states_not_borne_out(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """Yield a contradiction for each printed state of hosts or queues that the other data
    disprove.
    """
    yield from _hosts(instance, seen)
    for queue in seen.queues or ():
        if doubt := _of_queue(instance, queue):
            yield Omission(
                f"queue {queue.name} is {queue.status}; here {doubt}",
                where="bqueues",
                queues=(queue.name,),
            )


def _hosts(instance: Instance, seen: Seen) -> Iterator[Omission]:
    windows = {host.name: host.windows for host in instance.cluster.hosts}
    doubts: dict[str, list[str]] = {}
    _, held, _ = _slots_by_host(seen)
    for host in seen.hosts or ():
        if host.name not in windows:
            continue
        opened = _is_open(instance, windows[host.name]) if windows[host.name] else None
        if doubt := _of_host(host, seen, held.get(host.name, 0), opened):
            doubts.setdefault(f"bhosts reports {host.status} for {{}}; here {doubt}", []).append(
                host.name
            )
    for text, names in doubts.items():
        yield Omission(text.format(some(names)), count=len(names), hosts=tuple(names))


def _of_host(host: SeenHost, seen: Seen, held: int, opened: bool | None) -> str:
    """Return the unexplained part of a host's state, "" if none; opened: its window, or None."""
    state = host.status.lower()
    if state == "closed_full" and host.slots is not None:
        used = (held if host.used is None else host.used) + (host.reserved_slots or 0)
        return "it has free slots" if used < host.slots else ""
    if state == "closed_excl":
        alone = any(job.exclusive for job in _started(seen) if host.name in job.allocation)
        return "" if alone else "no job that runs there is exclusive (-x)"
    if state == "closed_cu_excl":
        alone = any(_CU_EXCLUSIVE.search(job.res_req) for job in _started(seen))
        return "" if alone else "no running job has compute units for itself (cu[excl])"
    if state in ("closed_wind", "lockw"):
        return "its DISPATCH_WINDOW is open now" if opened else ""
    return "its DISPATCH_WINDOW is closed now" if state == "ok" and opened is False else ""


def _of_queue(instance: Instance, queue: SeenQueue) -> str:
    """Return the unexplained part of a queue's state, "" if there is none."""
    here = next((item for item in instance.queues if item.name == queue.name), None)
    if here is None or queue.inactive:
        return ""
    windows = [text for text in (here.dispatch_window, here.run_window) if text]
    if queue.outside_window:
        opened = windows and all(_is_open(instance, text) for text in windows)
        return "its windows are open now" if opened else ""
    if not queue.status.lower().endswith(":active"):
        return ""
    both = {"DISPATCH_WINDOW": here.dispatch_window, "RUN_WINDOW": here.run_window}
    shut = [name for name, text in both.items() if text and not _is_open(instance, text)]
    return f"its {shut[0]} is closed now" if shut else ""


def _is_open(instance: Instance, text: str) -> bool:
    return Windows(text, instance.origin).is_open(instance.now)


def _started(seen: Seen) -> Iterator[SeenJob]:
    return (job for job in seen.jobs if job.status in RUNNING)
