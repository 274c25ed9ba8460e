"""Rules that an estimate leaves out, by name: what may make the loop start jobs at other times.

A plan by greedy or time-based reservation is what the next cycle says. The cycles after it say
the same again as long as nothing of this list is at work (docs/dev/semantics.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...model.cluster import BUILTIN_AMOUNTS, Thresholds
from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job, classes
from ...model.omissions import Omission
from ...model.reserved_periods import of_jobs, with_periods
from ...model.resreq.syntax import Compound, Requirement, simples
from ..fairshare.queue_order import has_policy
from ..resolve import Resolver
from .eligibility import preempting_now
from .reservations import SUSPENDED, suspending


@dataclass(frozen=True, slots=True)
class EstimateRule:
    """A rule that the next cycle cannot foresee."""

    #: As notes have it.
    name: str
    #: Whether an instance has it.
    holds: Callable[[Instance], bool]
    #: The instance without it, so that a loop can show what it changes; None where it cannot be
    #: taken away.
    without: Callable[[Instance], Instance] | None = None


def omitted_rule_names(
    instance: Instance, resolver: Resolver, also: Iterable[str] = ()
) -> tuple[str, ...]:
    """The names of the rules of an instance that its next cycle cannot foresee.

    also: what else the cycle has seen to be at work.
    """
    readable = list(_readable(instance, resolver))
    asked = [resolver.requirement(job) for job in readable]
    found = [rule.name for rule in OF_THE_INSTANCE if rule.holds(instance)]
    found += [name for name, holds in _OF_REQUIREMENTS if any(map(holds, asked))]
    limited = _limited(instance)
    running = (run.job for run in instance.running)
    if limited and any(resolver.loads_reserved(job) & limited for job in (*running, *readable)):
        found.append(RESERVED_LOADS)
    if any(map(resolver.selects_by_load, readable)):
        found.append("selections by what is free")
    return (*found, *also)


def omissions_of(names: Sequence[str], nowhere: Sequence[Omission]) -> tuple[Omission, ...]:
    """Rules that may touch any job, and what nobody obeys."""
    return (*map(Omission, names), *nowhere)


def note_of(names: Sequence[str]) -> tuple[str, ...]:
    """One sentence with what was not considered, none where that is nothing."""
    return (f"not considered: {'; '.join(names)}",) if names else ()


def estimator_view(instance: Instance) -> Instance:
    """Without windows and advance reservations, which LSF's estimates leave out (TBR-19).

    Those that jobs are in stay: where else would an estimate have these jobs start (ARV-01).
    """
    kept = of_jobs(instance) if instance.advance_reservations else ()
    return replace(_without_windows(instance), advance_reservations=kept, future=())


def _readable(instance: Instance, resolver: Resolver) -> Iterator[Job]:
    """Of each class of pending jobs one; those whose requirement cannot be read start never."""
    for job, first in classes(instance.pending):
        if job is not first:
            continue
        with suppress(InputError):
            resolver.requirement(job)
            yield job


def _windows(instance: Instance) -> bool:
    queues = any(queue.dispatch_window or queue.run_window for queue in instance.queues)
    return queues or any(host.windows for host in instance.cluster.hosts)


def _reserves_in_part(instance: Instance) -> bool:
    return len({queue.reserve_cycles is None for queue in instance.queues}) > 1


def _accepts_in_intervals(instance: Instance) -> bool:
    own = [queue.job_accept_interval for queue in instance.queues]
    common = instance.params.job_accept_interval
    return any(common if interval is None else interval for interval in own)


def _thresholds(instance: Instance) -> Iterator[Thresholds]:
    yield from (queue.thresholds for queue in instance.queues)
    yield from (host.thresholds for host in instance.cluster.hosts)


def _limited(instance: Instance) -> frozenset[str]:
    """What some queue or host sets a loadSched for."""
    return frozenset(name for limits in _thresholds(instance) for name in limits.sched)


def _loads(instance: Instance) -> bool:
    reported = any(name in host.load for host in instance.cluster.hosts for name in BUILTIN_AMOUNTS)
    return reported or any(item.sched or item.stop for item in _thresholds(instance))


def _each_queue(**changes: Any) -> Callable[[Instance], Instance]:
    def without(instance: Instance) -> Instance:
        return replace(instance, queues=tuple(replace(q, **changes) for q in instance.queues))

    return without


def _each_pending(change: Callable[[Job], Job]) -> Callable[[Instance], Instance]:
    return lambda instance: replace(instance, pending=tuple(map(change, instance.pending)))


def _without_windows(instance: Instance) -> Instance:
    hosts = tuple(h if not h.windows else replace(h, windows="") for h in instance.cluster.hosts)
    plain = replace(instance, cluster=replace(instance.cluster, hosts=hosts))
    return _each_queue(dispatch_window="", run_window="")(plain)


def _all_reserve(instance: Instance) -> Instance:
    """Every queue reserves, in the way of those that do, and as long as the longest."""
    cycles = max(queue.reserve_cycles or 0 for queue in instance.queues)
    queues = (
        queue if queue.reserve_cycles is not None else replace(queue, slot_reserve=cycles)
        for queue in instance.queues
    )
    return replace(instance, queues=tuple(queues))


def _without_end(instance: Instance) -> Instance:
    """Reservations last as long as their jobs wait."""
    queues = (
        replace(
            queue,
            slot_reserve=None if queue.slot_reserve is None else LONG,
            resource_reserve=None if queue.resource_reserve is None else LONG,
        )
        for queue in instance.queues
    )
    return replace(instance, queues=tuple(queues))


def _without_intervals(instance: Instance) -> Instance:
    plain = replace(instance, params=replace(instance.params, job_accept_interval=0))
    return _each_queue(job_accept_interval=None)(plain)


def _nobody_grows(instance: Instance) -> Instance:
    running = (replace(r, job=replace(r.job, resizable=False)) for r in instance.running)
    plain = _each_pending(lambda job: replace(job, resizable=False))(instance)
    return replace(plain, running=tuple(running))


def _no_suspension(instance: Instance) -> Instance:
    """No running job is suspended for an advance reservation."""
    kept = (replace(item, suspends=False) for item in instance.advance_reservations)
    return replace(instance, advance_reservations=tuple(kept))


#: Nobody knows when and how: no start hangs on it but of jobs that it leaves none.
LOADS = "that reported loads change"
#: Loads as jobs reserve some and give it back; a cycle sees what is reserved at its moment.
RESERVED_LOADS = "that loads rise and fall with what jobs reserve"
OF_THE_INSTANCE: tuple[EstimateRule, ...] = (
    EstimateRule("dispatch and run windows", _windows, _without_windows),
    EstimateRule(
        "advance reservations",
        lambda instance: bool(
            instance.advance_reservations
            and len(of_jobs(instance)) < len(instance.advance_reservations)
        ),
        lambda instance: replace(instance, advance_reservations=of_jobs(instance)),
    ),
    EstimateRule(
        SUSPENDED,
        lambda instance: bool(instance.advance_reservations and suspending(with_periods(instance))),
        _no_suspension,
    ),
    EstimateRule(
        "preemption",
        lambda instance: bool(preempting_now(instance)),
        _each_queue(preemptive=None, preemptable=None),
    ),
    EstimateRule(
        "that priorities, and what slot pools leave, change as jobs start and end", has_policy
    ),
    EstimateRule(
        "that only queues with SLOT_RESERVE or RESOURCE_RESERVE reserve",
        _reserves_in_part,
        _all_reserve,
    ),
    EstimateRule(
        "loans of guaranteed pools after this cycle",
        lambda instance: any(pool.loans is not None for pool in instance.guaranteed_pools),
        lambda instance: replace(
            instance,
            guaranteed_pools=tuple(replace(p, loans=None) for p in instance.guaranteed_pools),
        ),
    ),
    EstimateRule("JOB_ACCEPT_INTERVAL", _accepts_in_intervals, _without_intervals),
    EstimateRule(LOADS, _loads),
    EstimateRule(
        "jobs before their begin time (-b)",
        lambda instance: any((job.begin or 0) > instance.now for job in instance.pending),
        _each_pending(lambda job: replace(job, begin=None)),
    ),
    EstimateRule(
        "the growth of resizable jobs",
        lambda instance: any(run.job.resizable for run in instance.running),
        _nobody_grows,
    ),
    EstimateRule(
        "what a loop remembers of the cycle before (held, borrowed)",
        lambda instance: bool(instance.held or instance.borrowed),
        lambda instance: replace(instance, held=(), borrowed=()),
    ),
    EstimateRule(
        "that a job for later may get more of its range of slots",
        lambda instance: any(job.most_slots > job.slots for job in instance.pending),
        _each_pending(lambda job: replace(job, max_slots=None)),
    ),
)


#: Of what a cycle has seen to be at work: MAX_RESERVE_TIME ends reservations.
RUN_OUT = "that reservations run out after MAX_RESERVE_TIME"
#: Of a plan with future allocations for more jobs than a cycle of the cluster gives them (TBR-01).
FEW_LOOK_AHEAD = "that only the first LSB_TIME_RESERVE_NUMJOBS jobs get a future allocation"
#: Cycles that no reservation lasts for.
LONG = 1 << 40
#: What takes a rule away, by the names of those that can be taken away.
WITHOUT: Mapping[str, Callable[[Instance], Instance]] = {
    RUN_OUT: _without_end,
    **{rule.name: rule.without for rule in OF_THE_INSTANCE if rule.without is not None},
}


def _falls(requirement: Requirement) -> bool:
    return any(
        item.drops()
        for simple in simples(requirement)
        if simple.rusage is not None
        for number in range(len(simple.rusage.alternatives))
        for item in simple.rusage.reservations(number)
    )


_OF_REQUIREMENTS: tuple[tuple[str, Callable[[Requirement], bool]], ...] = (
    ("that reservations of memory fall while jobs run", _falls),
    ("the order of terms of compound requirements", lambda asked: isinstance(asked, Compound)),
    (
        "cu[pref], which counts at dispatch only",
        lambda asked: any(
            simple.cu is not None and simple.cu.pref != "config" for simple in simples(asked)
        ),
    ),
)


#: Queues that are named with their settings; of more none is.
MAX_QUEUES = 2


def setting_of(rule: str, instance: Instance, jobs: Iterable[str]) -> str:
    """``MAX_RESERVE_TIME[5] in queue normal``: what makes a rule bind these jobs, "" if unknown.

    rule: its name, as notes have it. jobs: ids of pending jobs.
    """
    if rule == FEW_LOOK_AHEAD:
        number = instance.params.time_reserve_numjobs
        return f"LSB_TIME_RESERVE_NUMJOBS {f'= {number}' if number else 'is not set'}"
    ids = set(jobs)
    used = dict.fromkeys(job.queue for job in instance.pending if job.id in ids)
    queues = [instance.queue(name) for name in used]
    named = _NAMED.get(rule)
    if named is None or len(queues) > MAX_QUEUES:
        return ""
    texts = (f"{text} in queue {queue.name}" for queue in queues for text in named(instance, queue))
    return ", ".join(texts)


def _run_out(_: Instance, queue: Queue) -> Iterator[str]:
    slots, amounts = queue.slot_reserve, queue.resource_reserve
    key, cycles = ("SLOT_RESERVE", slots) if amounts is None else ("RESOURCE_RESERVE", amounts)
    if cycles is not None:
        yield f"{key} = MAX_RESERVE_TIME[{cycles}]"


def _window_settings(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.dispatch_window:
        yield f"DISPATCH_WINDOW = {queue.dispatch_window}"
    if queue.run_window:
        yield f"RUN_WINDOW = {queue.run_window}"


def _intervals(instance: Instance, queue: Queue) -> Iterator[str]:
    own = queue.job_accept_interval
    interval = instance.params.job_accept_interval if own is None else own
    if interval:
        yield f"JOB_ACCEPT_INTERVAL = {interval}"


def _none_reserved(_: Instance, queue: Queue) -> Iterator[str]:
    if queue.reserve_cycles is None:
        yield "no SLOT_RESERVE"


_NAMED: Mapping[str, Callable[[Instance, Queue], Iterable[str]]] = {
    RUN_OUT: _run_out,
    "dispatch and run windows": _window_settings,
    "JOB_ACCEPT_INTERVAL": _intervals,
    "that only queues with SLOT_RESERVE or RESOURCE_RESERVE reserve": _none_reserved,
}
