"""LSF's pending reasons, and for each what explains it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from ...model.cluster import Host
from ...model.configuration import Queue
from ...model.errors import InputError
from ...model.instance import Instance
from ...model.job import Job
from ...model.pending import LOAD_WORDS, Pending
from ..availability.resources import HostResource, Pool
from ..resolve import Resolver
from ..scheduler.why_pending import PARALLEL

P = Pending
#: What explains a reason, in words, and whether it was read.
_Row = tuple[str, Callable[[Instance, Job, Queue], bool]]


def _any_host(holds: Callable[[Host], object]) -> Callable[[Instance, Job, Queue], bool]:
    return lambda it, job, queue: any(holds(host) for host in it.cluster.hosts)


def _has_state(*words: str) -> Callable[[Instance, Job, Queue], bool]:
    return _any_host(lambda host: host.status.lower().startswith(words))


def _asks(it: Instance, job: Job, queue: Queue) -> bool:
    """Whether a job has a resource requirement, of its own or of its application profile."""
    profile = it.application(job.application)
    types = {host.type for host in it.cluster.hosts}
    return bool(job.res_req or job.gpu or (profile and profile.res_req) or len(types) > 1)


def _open_to_some(it: Instance, job: Job, queue: Queue) -> bool:
    return bool(queue.hosts or queue.excluded_hosts)


def _has_window(it: Instance, job: Job, queue: Queue) -> bool:
    return bool(queue.dispatch_window or queue.run_window) or not queue.active


def _has_threshold(it: Instance, job: Job, queue: Queue) -> bool:
    hosts = it.cluster.hosts
    own = any(host.thresholds.sched or "busy" in host.status.lower() for host in hosts)
    return own or bool(queue.thresholds.sched)


def _exclusive_runs(it: Instance, job: Job, queue: Queue) -> bool:
    alone = any(run.job.exclusive for run in it.running)
    return alone or _has_state("closed_excl")(it, job, queue)


_SHAPE: _Row = ("a span or a number of slots above 1", lambda it, job, queue: (
    bool(job.slots > 1 or _asks(it, job, queue))
))  # fmt: skip
_WINDOW: _Row = ("a window of its queue", _has_window)
_UNITS: _Row = ("compute units", lambda it, job, queue: bool(it.cluster.units))
_PARTITIONS: _Row = ("a host partition", lambda it, job, queue: bool(it.partitions))
_QUEUE_RES_REQ: _Row = ("RES_REQ of its queue", lambda it, job, queue: bool(queue.res_req))
_DEPENDENCY: _Row = ("its dependency condition", lambda it, job, queue: bool(job.dependency))

#: Reasons that are no limit; those in neither table hold without anything to read.
_EXPLAINED_BY: dict[Pending, _Row] = {
    P.START_TIME: ("its begin time (-b)", lambda it, job, queue: (job.begin or 0) > it.now),
    P.DEPENDENCY: _DEPENDENCY,
    P.DEPENDENCY_NEVER: _DEPENDENCY,
    P.QUEUE_INACTIVE: ("that its queue is inactive", lambda it, job, queue: not queue.active),
    P.QUEUE_WINDOW: _WINDOW,
    P.QUEUE_WINDOW_CLOSES: _WINDOW,
    P.QUEUE_PROCLIMIT: ("PROCLIMIT of its queue", lambda it, job, queue: queue.slots is not None),
    P.NO_SHARE: ("shares of its queue", lambda it, job, queue: queue.user_shares is not None),
    P.RESERVATION_INACTIVE: ("its reservation", lambda it, job, queue: bool(job.reservation)),
    P.REQUIREMENT: ("a resource requirement of it", _asks),
    P.NOT_ALONE: ("that it is exclusive (-x)", lambda it, job, queue: job.exclusive),
    P.PARTITION_PRIORITY: _PARTITIONS,
    P.PARTITION: _PARTITIONS,
    P.FIRST_HOST: ("its first host (-m)", lambda it, job, queue: any(h.first for h in job.hosts)),
    P.CLOSED: ("a closed host", _has_state("closed")),
    P.LOCKED: ("a locked host", _has_state("lock", "closed_lock")),
    P.HOST_WINDOW: ("a dispatch window of a host", _any_host(lambda host: host.windows)),
    P.NOT_OF_QUEUE: ("the hosts of its queue", _open_to_some),
    P.NOT_ASKED_FOR: ("hosts that it requests (-m)", lambda it, job, queue: bool(job.hosts)),
    P.JUST_ACCEPTED: (
        "JOB_ACCEPT_INTERVAL",
        lambda it, job, queue: it.accept_interval(queue) > 0,
    ),
    P.NO_LOAD: ("a host without load information", _has_state("unavail", "unreach", "unlicensed")),
    P.UNREACHABLE: ("a host out of reach", _has_state("unavail", "unreach")),
    P.QUEUE_REQUIREMENT: _QUEUE_RES_REQ,
    P.QUEUE_SPAN: _QUEUE_RES_REQ,
    P.QUEUE_RUSAGE: _QUEUE_RES_REQ,
    P.SPAN: _SHAPE,
    P.EXCLUSIVE: ("an exclusive job that runs", _exclusive_runs),
    P.RESERVED: (
        "an advance reservation",
        lambda it, job, queue: bool(it.advance_reservations),
    ),
    P.NO_UNIT: _UNITS,
    P.UNIT_EXCLUSIVE: _UNITS,
    P.UNIT_OCCUPIED: _UNITS,
    P.UNIT_USABLE: _UNITS,
    P.UNITS_MAXCUS: _UNITS,
    P.UNITS_BALANCE: _UNITS,
    P.LOAD: ("a load threshold", _has_threshold),
}
#: Limits, reservations and amounts: the resource table has what explains them. With each, the
#: fields in which the jobs agree that one holds back; id: it holds back the job alone.
_IN_TABLE: dict[Pending, tuple[str, ...]] = {
    P.ARRAY_ELEMENTS: ("array_id",),
    P.JOB_GROUP: ("job_group",),
    P.RUSAGE: ("id",),
    P.QUEUE_USER_SLOTS: ("queue", "user"),
    **dict.fromkeys((P.GUARANTEE, P.LIMIT_CLUSTER, P.LIMIT_HOST, P.JOBS_CLUSTER, P.JOBS_HOST), ()),
    **dict.fromkeys((P.QUEUE_SLOTS, P.QUEUE_PER_CPU, P.QUEUE_PER_HOST), ("queue",)),
    **dict.fromkeys((P.LIMIT_QUEUE, P.JOBS_QUEUE), ("queue",)),
    **dict.fromkeys((P.USER_SLOTS, P.GROUP_SLOTS, P.LIMIT_USER, P.JOBS_USER), ("user",)),
    **dict.fromkeys((P.USER_PER_CPU, P.GROUP_PER_CPU, P.HOST_PER_USER), ("user",)),
    **dict.fromkeys((P.LIMIT_PROJECT, P.JOBS_PROJECT), ("project",)),
    **dict.fromkeys((P.LIMIT_APP, P.JOBS_APP), ("application",)),
    **dict.fromkeys((P.LIMIT_LICENSE_PROJECT, P.JOBS_LICENSE_PROJECT), ("license_project",)),
}
_OF_LIMIT = {parallel: kind for kind, parallel in PARALLEL.items()}


class ReadOfLsf:
    """What was read of an LSF cluster, asked for what explains the reasons of its jobs."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self._resolver = Resolver.of(instance, reserving=False)

    def lacks(self, job: Job, reason: str) -> tuple[str, Pending | None]:
        """Return in words that what explains a reason of a job was not read, with that reason if
        it is known; "" if all was.
        """
        queue = self.instance.queue(job.queue)
        for kind, resource in _kinds_in(reason):
            if kind is None:
                return "nothing that was read explains it", None
            if kind in _EXPLAINED_BY:
                what, holds = _EXPLAINED_BY[kind]
                if not holds(self.instance, job, queue):
                    return f"no input has {what}", kind
            elif (kind := _OF_LIMIT.get(kind, kind)) in _IN_TABLE:
                if kind is P.QUEUE_SLOTS and queue.slot_pool:
                    continue
                if not any(
                    _family(short) == _family(kind)
                    and resource in ("", subject, subject.removesuffix("s"))
                    for short, subject in self._limits_of(job)
                ):
                    what = f"an amount of {resource}" if resource else "that limit"
                    return f"no input has {what}", kind
        return "", None

    def held_alike(self, job: Job, kind: Pending) -> Iterator[str]:
        """Yield the pending jobs that a limit which was not read holds back as it does a job."""
        shared = _IN_TABLE.get(kind, ("id",))
        for other in self.instance.pending:
            if all(getattr(other, name) == getattr(job, name) for name in shared):
                yield other.id

    def _limits_of(self, job: Job) -> set[tuple[Pending, str]]:
        """Return the reasons that amounts which a job takes can have, with their subjects."""
        try:
            demand = self._resolver.demand(job)
        except InputError:
            return set()
        table = self._resolver.table
        uses = [use for term in demand.terms for use in term.alternatives]
        items: list[HostResource | Pool] = []
        for use in uses:
            items += [table.host_resources[item.index] for item in use.host_uses]
            items += [table.pools[item.index] for item in use.pool_uses]
        return {(item.short, item.subject) for item in items}


def _family(kind: Pending) -> str:
    """Return what reasons share of which LSF prints one, if a limit has several consumers."""
    first = kind.name.partition("_")[0]
    return first if first in ("LIMIT", "JOBS") else kind.name


def _kinds_in(text: str) -> Iterator[tuple[Pending | None, str]]:
    """Yield the reasons in a text of bjobs, None for an unknown one, each with the resource that
    it names.
    """
    for part in re.split(r"[;\n]", text):
        words = _normalised(part)
        for pattern, kind in _patterns():
            if found := pattern.match(words):
                yield kind, (*found.groups(), "")[0]
                break
        else:
            if words and not words.endswith("summary:"):
                yield None, ""


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Pending], ...]:
    """Return the patterns of LSF's texts, longer ones first."""
    texts = [(kind.words, kind) for kind in Pending]
    texts += [(words, Pending.LOAD) for words in LOAD_WORDS.values()]
    texts += [("Job has a specified start time", Pending.START_TIME)]
    texts += [("External load index ({}) is beyond threshold", Pending.LOAD)]
    texts.sort(key=lambda item: -len(item[0]))
    return tuple(
        (re.compile(re.escape(_normalised(words)).replace(r"\{\}", "([^)]*)")), kind)
        for words, kind in texts
    )


def _normalised(text: str) -> str:
    """Return a text in the form in which the versions of LSF agree."""
    return " ".join(text.lower().replace("'s", "").split()).removeprefix("the ")
