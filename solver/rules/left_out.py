"""Rules that an estimate leaves out, by name: what may make the loop start jobs at other times.

A plan by greedy or time-based reservation is what the next cycle says. The cycles after it say
the same again as long as nothing of this list is at work (docs/semantics.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from ...model.cluster import BUILTIN_AMOUNTS
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq.extsched import topology
from ...model.resreq.syntax import Compound, Requirement, simples
from ..fairshare.queue_order import has_policy
from ..resolve import Resolver
from .preempting import preempting_now


def left_out_of_estimates(
    instance: Instance, resolver: Resolver, also: Iterable[str] = ()
) -> tuple[str, ...]:
    """One sentence with the rules of the instance that its next cycle cannot foresee, or none.

    also: what else the cycle has seen to be at work.
    """
    readable = list(_readable(instance, resolver))
    asked = [resolver.requirement(job) for job in readable]
    found = [name for name, holds in _OF_THE_INSTANCE if holds(instance)]
    found += [name for name, holds in _OF_REQUIREMENTS if any(map(holds, asked))]
    if any(map(resolver.selects_by_load, readable)):
        found.append("selections by what is free")
    found += also
    return (f"not considered: {'; '.join(found)}",) if found else ()


def _readable(instance: Instance, resolver: Resolver) -> Iterator[Job]:
    """The pending jobs whose requirement can be read; the others start never."""
    for job in instance.pending:
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


def _loads(instance: Instance) -> bool:
    limits = [
        *(queue.thresholds for queue in instance.queues),
        *(host.thresholds for host in instance.cluster.hosts),
    ]
    reported = any(name in host.load for host in instance.cluster.hosts for name in BUILTIN_AMOUNTS)
    return reported or any(item.sched or item.stop for item in limits)


def _unheeded(extsched: str) -> bool:
    with suppress(InputError):  # a job that is refused starts never
        return bool(extsched and topology(extsched).unheeded)
    return False


_OF_THE_INSTANCE: tuple[tuple[str, Callable[[Instance], bool]], ...] = (
    ("dispatch and run windows", _windows),
    ("advance reservations", lambda instance: bool(instance.advance_reservations)),
    ("preemption", lambda instance: bool(preempting_now(instance))),
    (
        "that priorities, and what slot pools leave, change as jobs start and end",
        has_policy,
    ),
    (
        "that only queues with SLOT_RESERVE or RESOURCE_RESERVE reserve",
        _reserves_in_part,
    ),
    ("JOB_ACCEPT_INTERVAL", _accepts_in_intervals),
    ("that reported loads change", _loads),
    (
        "jobs before their begin time (-b)",
        lambda instance: any((job.begin or 0) > instance.now for job in instance.pending),
    ),
    (
        "the growth of resizable jobs",
        lambda instance: any(run.job.resizable for run in instance.running),
    ),
    (
        "options of external schedulers (-ext)",
        lambda instance: any(_unheeded(job.extsched) for job in instance.pending),
    ),
    (
        "what a loop remembers of the cycle before (held, borrowed)",
        lambda instance: bool(instance.held or instance.borrowed),
    ),
    ("GPUs (-gpu)", lambda instance: any(job.gpu for job in instance.pending)),
    (
        "that a job for later may get more of its range of slots",
        lambda instance: any(job.most_slots > job.slots for job in instance.pending),
    ),
)


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
    ("affinity[]", lambda asked: any(simple.affinity for simple in simples(asked))),
)
