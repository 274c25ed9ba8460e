"""Rules across an instance: references, capacities, LSF's validity rules (CFG-02).

Limits that count on one host (``8:00/hostA``) as wall-clock time, where that is one number. A limit
of n minutes on hostA is n * factor(hostA) / factor(host) minutes on the host that runs the job. A
plan knows how long a job lasts before it knows where, so the hosts that a job may use must have one
factor; a running job counts by its first execution host.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, gt
from typing import Any, TypeVar

from ..cluster import BUILTIN_AMOUNTS, Cluster, NamedHosts, distinct
from ..configuration import CONSUMERS, Params, Queue
from ..dependency import (
    DependencyError,
    JobIndex,
    StatusTest,
    compare,
    dependency_cycle,
    parse_dependency,
    predecessors,
    status_tests,
)
from ..errors import Problem, nearest
from ..facts import HOST, USER, USERS, known_fields
from ..input_limits import limits, too_many
from ..instance import Instance
from ..job import Application, HostRequest, Job, RunningJob, job_groups_of
from ..modules import loaded, module_notes
from ..progress import Poll, never, polled
from ..resreq.vocabulary import ALIASES, Vocabulary
from ..service_class import ACCESS, EACH_KEYWORD, Guarantee, LoanPolicy
from ..shares import Groups
from .document import ATTRIBUTES, FACT_SECTIONS, Finding, Location, unknown_names
from .guarantee_rules import guarantee_findings
from .names import unknown_unit_type
from .requirements import check_requirements, of_jobs
from .reservation_rules import reservation_findings
from .slurm_limit_rules import slurm_limit_findings
from .units import LimitOnHost, format_duration

#: Kinds that an instance without any does not describe, so that its jobs may name some.
_OPTIONAL = ("advance reservation", "service class")
#: Kinds of which an instance need not name all, so that unknown ones are only probably wrong.
_PERHAPS = (USER, "job", "resource")


class _DefinedNames:
    """The names that an instance defines, by kind."""

    def __init__(self, instance: Instance) -> None:
        hosts = NamedHosts(instance.cluster)
        omitted = instance.omissions
        resources = Vocabulary.of_cluster(instance.cluster) if omitted else Vocabulary()
        #: Names by kind, as messages have it.
        self.names: dict[str, Any] = {
            "queue": {queue.name for queue in instance.queues},
            "application": {profile.name for profile in instance.applications},
            "service class": {item.name for item in instance.service_classes},
            "advance reservation": {item.name for item in instance.advance_reservations},
            HOST: hosts,
            "host": frozenset(hosts.all),
            "submission host": instance.cluster.machines(),
            "pending job": {job.id for job in instance.pending} if instance.held else (),
            "running job": {run.job.id for run in instance.running} if instance.borrowed else (),
            "job": _omitted_jobs(instance) if omitted else (),
            "resource": resources.names() - ALIASES.keys(),
        }
        for kind, known in (
            (USER, known_users(instance) if instance.users or instance.groups else ()),
            ("application profile", self.names["application"]),
        ):
            if known:
                self.names[kind] = known

    def unknown(self, place: Location, item: object) -> Iterator[Finding]:
        """Yield findings on names in an object of the model that have no definition."""
        for field in known_fields(type(item)).values():
            for name in field.names if field.fact.refers else ():
                kind, *words = field.fact.refers
                if kind in _OPTIONAL and isinstance(item, Job) and not self.names[kind]:
                    continue
                for of, names in _named_in(kind, getattr(item, name)):
                    yield from self.undefined(of, (*place, field.key), names, *words)

    def undefined(
        self, kind: str, place: Location, names: Iterable[str], *words: str
    ) -> Iterator[Finding]:
        """Yield findings on names of a kind without definition, none if nothing defines them."""
        if kind in self.names:
            for found in unknown_names(place, kind, names, self.names[kind], *words):
                yield replace(found, warning=kind in _PERHAPS)


def _named_in(kind: str, value: Any) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the names in a field with their kind; `kind` is that of all of them."""
    if isinstance(value, str):
        yield kind, (value,) if value else ()
    elif isinstance(value, LoanPolicy):
        yield kind, (*value.queues, *value.exempt)
    elif kind == EACH_KEYWORD:
        yield from ((ACCESS[key], names) for key, names in value.items())
    elif kind == USER:  # perhaps with a number of shares; share rules examine group@
        names = [each if isinstance(each, str) else each[0] for each in value or ()]
        yield kind, [name.removesuffix("/") for name in names if not name.endswith("@")]
    else:
        of = [each.service_class if isinstance(each, Guarantee) else each for each in value or ()]
        yield kind, [each if isinstance(each, str) else each.name for each in of]


def _omitted_jobs(instance: Instance) -> set[str]:
    """Return the jobs that an omission may name: present ones, and those that are not planned."""
    unplanned = (name for item in instance.omissions for name in item.unplanned)
    return {*(job.id for job in instance.present_jobs), *unplanned}


def _references(instance: Instance) -> Iterator[Finding]:
    """Yield findings on names in queues, pools, reservations and the like, not in jobs."""
    defined = _DefinedNames(instance)
    for section, kind in {"queues": Queue, **FACT_SECTIONS}.items():
        if any(field.fact.refers for field in known_fields(kind).values()):
            for index, item in enumerate(getattr(instance, ATTRIBUTES.get(section, section))):
                yield from defined.unknown((section, index), item)
    yield from defined.unknown(("params",), instance.params)


def memory_findings(instance: Instance) -> Iterator[Finding]:
    """Yield reservations of jobs that are not pending, and backfilled slots that jobs do not
    use.
    """
    for index, item in enumerate(instance.held):
        if item.since is not None and item.since > instance.now:
            late = item.since - instance.now
            message = f"is {late} s after the instance's now: it must not be later"
            yield Finding(("held", index, "since"), message)
    running = {item.job.id: item.allocation for item in instance.running if instance.borrowed}
    for index, loan in enumerate(instance.borrowed):
        has = running.get(loan.job, loan.slots)
        for host, count in loan.slots.items():
            if count > has.get(host, 0):
                message = f"the job has {has.get(host, 0)} slots on {host}, not {count}"
                yield Finding(("borrowed", index, "slots"), message)


def check_queues(instance: Instance) -> Iterator[Finding]:
    """Yield errors of the queues and of the parameters that govern them."""
    unit_types = instance.cluster.unit_types
    for index, queue in enumerate(instance.queues):
        place: Location = ("queues", index)
        unit_type = queue.exclusive.removeprefix("CU[").removesuffix("]")
        if queue.exclusive.startswith("CU") and unit_type not in unit_types:
            message = unknown_unit_type(unit_type, unit_types)
            yield Finding((*place, "EXCLUSIVE"), message, undefined=True)
        yield from _reservation(instance, queue, place)
    for place, message in module_notes(instance):
        yield Finding(place, message, warning=True)


def _reservation(instance: Instance, queue: Queue, place: Location) -> Iterator[Finding]:
    if queue.slot_reserve is not None and queue.resource_reserve is not None:
        message = (
            f"queue {queue.name} also has RESOURCE_RESERVE: SLOT_RESERVE is ignored, and "
            "RESOURCE_RESERVE reserves both slots and memory"
        )
        yield Finding((*place, "SLOT_RESERVE"), message, warning=True)
    if (
        queue.chunk_job_size is not None
        and queue.chunk_job_size > 1
        and instance.params.time_reserve_numjobs
    ):
        message = (
            f"job chunking of queue {queue.name} cannot be combined with time-based "
            f"reservation: remove CHUNK_JOB_SIZE or LSB_TIME_RESERVE_NUMJOBS"
        )
        yield Finding((*place, "CHUNK_JOB_SIZE"), message)
    if not loaded(instance, "schmod_reserve") and queue.resource_reserve is not None:
        message = (
            "schmod_reserve is not among the modules: no memory is reserved for pending "
            f"sequential jobs of queue {queue.name}"
        )
        yield Finding((*place, "RESOURCE_RESERVE"), message, warning=True)


def known_users(instance: Instance) -> set[str]:
    """Return all users and groups that the instance names outside of shares."""
    known = {*(user.name.removesuffix("@") for user in instance.users)}
    for group in instance.groups:
        known.update((group.name, *(member.removeprefix("~") for member in group.members)))
    return known.union(job.user for job in instance.jobs)


def check_conditions(instance: Instance, poll: Poll = never) -> Iterator[Finding]:
    """Yield errors in the dependency conditions of waiting jobs."""
    sections = (("pending", instance.pending), ("future", instance.future))
    asking = [
        (section, index, job)
        for section, jobs in sections
        for index, job in enumerate(polled(jobs, poll))
        if job.dependency
    ]
    if not asking:
        return
    roster = JobIndex.of(instance)
    waits_for: dict[str, tuple[str, ...]] = {}
    named = 0
    for section, index, job in polled(asking, poll):
        problems = list(_problems(roster, job))
        yield from (Finding((section, index, "dependency"), text) for text in problems)
        waits_for[job.id] = () if problems else predecessors(roster, job)
        named += len(waits_for[job.id])
        if named > limits().names:
            most = f"with it conditions name more than {limits().names:,} jobs (--max-names)"
            yield Finding((section, index, "dependency"), most)
            return
    if stuck := dependency_cycle(waits_for):
        section, index, _ = next(item for item in asking if item[2].id == stuck[0])
        chain = " waits for ".join(stuck)
        yield Finding((section, index, "dependency"), f"can never be satisfied: job {chain}")


def condition_problems(instance: Instance, job: Job) -> Iterator[str]:
    """Yield errors in the condition of one more job of an instance."""
    if job.dependency:
        instance = replace(instance, pending=(*instance.pending, job))
        yield from _problems(JobIndex.of(instance), job)


def _problems(roster: JobIndex, job: Job) -> Iterator[str]:
    try:
        condition = parse_dependency(job.dependency)
    except DependencyError as error:
        yield error.problems[0].message
        return
    for test in status_tests(condition):
        names = roster.resolve(test.job, job)
        if job.id in names:
            yield f"{test.text}: the job would wait for itself"
        elif test.word.startswith("num") and names and not _possible(test, len(names)):
            yield f"{test.text}: can never be satisfied: there are only {len(names)}"


def _possible(test: StatusTest, total: int) -> bool:
    """Return whether any count of this many elements fulfils the test."""
    if test.number is None:
        return True
    # Counts on one side of the number are alike; the total is above it where any count is.
    counts = (test.number - 1, test.number, total)
    return any(compare(n, test.operator, test.number) for n in counts if 0 <= n <= total)


_NAMES = ("queue", "user", "application", "from_host", "hosts", "service_class")
#: Returns the names that a job uses.
_NAMED = attrgetter(*_NAMES)
#: All fields that bsub checks.
_SUBMITTED = attrgetter(
    *_NAMES,
    *("slots", "max_slots", "run_limit", "cpu_limit", "exclusive", "begin", "deadline", "priority"),
    *("requeued", "whole_hosts"),
)


def check_jobs(instance: Instance, poll: Poll = never) -> Iterator[Finding]:
    """Yield errors of the jobs; a job that is only too large for the cluster is valid."""
    waiting = (("pending", instance.pending), ("future", instance.future))
    running = [item.job for item in instance.running]
    yield from _identities((("running", running), *waiting))
    yield from _array_limits((("running", running), *waiting))
    references = _References(instance)
    yield from of_jobs("running", running, _NAMED, references.check, poll)

    def look(place: Location, job: Job) -> Iterator[Finding]:
        yield from references.check(place, job)
        if job.begin is not None and job.deadline is not None and job.deadline <= job.begin:
            yield Finding((*place, "deadline"), "must be later than begin")
        if job.requeued:
            return  # accepted earlier; its queue checks it at its dispatch attempt
        queue = references.queues.get(job.queue)
        users = () if queue is None else tuple(name.removesuffix("/") for name in queue.users)
        if queue is not None and users and not references.groups.admits(users, job.user):
            yield Finding((*place, "user"), f"user {job.user} may not use queue {queue.name}")
        most = instance.params.max_user_priority
        if most and job.priority > most:
            message = f"must be {most} or less, not {job.priority}: MAX_USER_PRIORITY is {most}"
            yield Finding((*place, "priority"), message)
        yield from _submission(place, job, queue, references.applications.get(job.application))

    for section, jobs in waiting:
        yield from of_jobs(section, jobs, _SUBMITTED, look, poll)
    yield from check_conditions(instance, poll)
    yield from _running(instance, poll)


def _identities(sections: Iterable[tuple[str, Sequence[Job]]]) -> Iterator[Finding]:
    seen: set[str] = set()
    for section, jobs in sections:
        ids = {job.id for job in jobs}
        if len(ids) == len(jobs) and seen.isdisjoint(ids):
            seen |= ids
            continue
        for index, job in enumerate(jobs):
            if job.id in seen:
                yield Finding(
                    (section, index, "id"),
                    f"job {job.id} is already defined: give each job its own id",
                )
            seen.add(job.id)


def _array_limits(sections: Iterable[tuple[str, Sequence[Job]]]) -> Iterator[Finding]:
    first: dict[str, Job] = {}
    for section, jobs in sections:
        for index, job in enumerate(jobs):
            if job.array_limit is None:
                continue
            place = (section, index, "array_limit")
            if (array := job.array_id) is None:
                message = f"job {job.id} is no element of an array: remove array_limit"
                yield Finding(place, message)
            elif (other := first.setdefault(array, job)).array_limit != job.array_limit:
                message = (
                    f"must be {other.array_limit}, not {job.array_limit}: an array has one limit"
                )
                yield Finding(place, f"{message}, and {other.id} has {other.array_limit}")


class _References(_DefinedNames):
    """The names a job may use."""

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.queues = {queue.name: queue for queue in instance.queues}
        self.applications = {profile.name: profile for profile in instance.applications}
        self.groups = Groups(instance.groups)
        self._sound: set[tuple[object, ...]] = set()

    def check(self, place: Location, job: Job) -> Iterable[Finding]:
        """Check that queue, application and hosts exist; equal values are checked one time."""
        named = _NAMED(job)
        if named in self._sound:
            return ()
        found = list(self.unknown(place, job))
        if not found:
            self._sound.add(named)
        return found


def _submission(
    place: Location, job: Job, queue: Queue | None, profile: Application | None
) -> Iterator[Finding]:
    """Yield reasons for which bsub would refuse the job in this queue, with this profile."""
    for noun, item in (("queue", queue), ("application", profile)):
        if item is None or item.slots is None:
            continue
        least, _, most = item.slots
        if job.most_slots < least or (most is not None and job.slots > most):
            wanted = f"{least} to {most}" if most is not None else f"{least} or more"
            message = f"{noun} {item.name} accepts jobs of {wanted} slots (PROCLIMIT)"
            yield Finding((*place, "slots"), message)
    if queue is None:
        return
    for key, asked, longest, of in (
        ("run_limit", job.run_limit, queue.run_limit_max, "at most (RUNLIMIT)"),
        ("cpu_limit", job.cpu_limit, queue.cpu_limit, "of CPU time or less (CPULIMIT)"),
    ):
        if asked is not None and longest is not None and asked > longest:
            message = f"queue {queue.name} accepts jobs of {format_duration(longest)} {of}"
            yield Finding((*place, key), message)
    if job.whole_hosts and not job.exclusive:
        yield Finding((*place, "whole_hosts"), "such a job is exclusive: set exclusive: true")
    if job.exclusive and not job.whole_hosts and queue.exclusive == "N":
        message = f"queue {queue.name} accepts no exclusive jobs: set EXCLUSIVE: Y"
        yield Finding((*place, "exclusive"), message)


def _running(instance: Instance, poll: Poll) -> Iterator[Finding]:
    slots = {host.name: host.slots for host in instance.cluster.hosts}
    held = dict.fromkeys(slots, 0)
    now = instance.now
    for index, item in enumerate(polled(instance.running, poll)):
        job, allocation = item.job, item.allocation
        plain = item.finish is None and item.start <= now and job.max_slots is None
        if not plain or sum(allocation.values()) != job.slots:
            yield from _times(instance, index, item)
        if not allocation:
            place: Location = ("running", index, "allocation")
            yield Finding(place, "has no slots: name hosts such as 2*hostA")
        for host, count in allocation.items():
            if host not in slots:
                yield from unknown_names(("running", index, "allocation"), "host", [host], slots)
            elif not item.suspended:
                held[host] += count
    if any(map(gt, held.values(), slots.values())):
        yield from _overfull(instance, slots, held)


def _overfull(
    instance: Instance, slots: Mapping[str, int], held: Mapping[str, int]
) -> Iterator[Finding]:
    """Yield hosts with more slots in use than available, at the last job that uses the host."""
    last = {
        host: index
        for index, item in enumerate(instance.running)
        for host in item.allocation
        if host in slots and not item.suspended
    }
    for host, index in last.items():
        if held[host] > slots[host]:
            message = f"{host} has {slots[host]} slots, its running jobs use {held[host]}"
            yield Finding(("running", index, "allocation"), message)


def _times(instance: Instance, index: int, item: RunningJob) -> Iterator[Finding]:
    """Yield errors of the times and slots of a running job.

    A job that has started, has no given end and the slots that it requests has no errors.
    """
    place: Location = ("running", index)
    if item.start > instance.now:
        message = (
            f"starts {format_duration(item.start - instance.now)} after now: a running job has"
        )
        yield Finding((*place, "start"), f"{message} started already")
    if item.finish is not None and item.finish < item.start:
        yield Finding((*place, "finish"), "is before the start")
    job = item.job
    if item.allocation and not job.resizable and not job.slots <= item.slots <= job.most_slots:
        message = (
            f"requests {job.slots} slots and has {item.slots}: only a resizable job may differ"
        )
        yield Finding((*place, "slots"), message)


def rule_findings(instance: Instance, poll: Poll = never) -> list[Finding]:
    """Return all contradictions of an instance, each at its place in the document.

    poll: called now and then; what it raises ends the look.
    """
    parts = (
        _names,
        _units,
        _resources,
        _references,
        check_queues,
        _limits,
        _usage,
        *([reservation_findings] if instance.advance_reservations else []),
        memory_findings,
    )
    found: list[Finding] = []
    for part in parts:
        poll()
        found += part(instance)
    if instance.service_classes or instance.guaranteed_pools:
        found += guarantee_findings(instance)
    if instance.slurm_limits:
        found += slurm_limit_findings(instance)
    found += check_jobs(instance, poll)
    found += check_requirements(instance, poll)
    poll()
    found += _shares(instance)
    return found


def _group_limits(instance: Instance) -> Iterator[Finding]:
    """Check that no job group has a larger limit than its parents, as bgadd and bgmod do."""
    limits = {group.name: group.limit for group in instance.job_groups}
    for index, group in enumerate(instance.job_groups):
        for above in job_groups_of(group.name)[:-1]:
            most = limits.get(above)
            if most is not None and group.limit is not None and group.limit > most:
                text = f"must be {most} or less, not {group.limit}: the limit of {above} is {most}"
                yield Finding(("job_groups", index, "limit"), text)
                break


#: Sections of a document whose entries have names of their own.
_UNIQUE = (
    *("resources", "queues", "applications", "job_groups", "service_classes", "guaranteed_pools"),
    *("users", "host_partitions", "limits", "advance_reservations"),
)


def _names(instance: Instance) -> Iterator[Finding]:
    """Yield duplicate names, and names of several kinds among hosts, groups and units."""
    cluster = instance.cluster
    others = {"resources": cluster.resources, "host_partitions": instance.partitions}
    for section in (*_UNIQUE, "held", "borrowed"):
        seen: set[str] = set()
        key = "name" if section in _UNIQUE else "job"
        items: Iterable[Any] = getattr(instance, section, others.get(section, ()))
        for index, name in enumerate(map(attrgetter(key), items)):
            if name in seen:
                named = f"{name} is already defined: give it one entry"
                message = named if key == "name" else f"job {name} is already given"
                yield Finding((section, index, key), message)
            seen.add(name)
    yield from _group_limits(instance)
    hosts = {host.name for host in cluster.hosts}
    groups = {group.name for group in cluster.groups}
    for name in [group.name for group in cluster.groups if group.name in hosts]:
        yield Finding(("host_groups", name), f"{name} is also the name of a host")
    for index, unit in enumerate(cluster.units):
        if unit.name in hosts or unit.name in groups:
            message = f"{unit.name} is also the name of a host or host group"
            yield Finding(("compute_units", index, "name"), message)
    shares = {group.name for group in instance.groups}
    for index, user in enumerate(instance.users):
        names = [user.name[:-1]] if user.name.endswith("@") else []
        yield from unknown_names(("users", index, "name"), "user group", names, shares)


def _units(instance: Instance) -> Iterator[Finding]:
    """Check that a host is in at most one unit of the finest type, and so of each type (PLC-05)."""
    home: dict[str, str] = {}
    finest = instance.cluster.unit_types[:1]
    for index, unit in enumerate(instance.cluster.units):
        hosts = unit.hosts if unit.type in finest else ()
        twice = [host for host in hosts if home.setdefault(host, unit.name) != unit.name]
        for host in twice[: limits().errors]:
            message = f"{host} is already in {home[host]}: a host is in one {unit.type} only"
            yield Finding(("compute_units", index, "members"), message)


def _resources(instance: Instance) -> Iterator[Finding]:
    """Check that the resources of hosts are defined and have values of their kind."""
    kinds = {item.name: item.kind for item in instance.cluster.resources}
    for shared in instance.cluster.shared:
        kinds.setdefault(shared.name, "shared")
    for key, kind, names_of in (
        ("amounts", "numeric", attrgetter("amounts")),
        ("strings", "string", attrgetter("strings")),
        ("RESOURCES", "boolean", attrgetter("booleans")),
    ):
        # Hosts of one entry share their names, and the first of them is shown.
        numbered = reversed([*enumerate(instance.cluster.hosts)])
        first = {id(names_of(host)): index for index, host in numbered}
        for index in sorted(first.values()):
            for name in sorted(names_of(instance.cluster.hosts[index])):
                if kinds.get(name, kind) != kind:
                    message = f"{name} is a {kinds[name]} resource, not a {kind} one"
                    yield Finding(("hosts", index, key), message)
    for index, shared in enumerate(instance.cluster.shared):
        if kinds[shared.name] not in ("numeric", "shared"):
            message = f"{shared.name} is a {kinds[shared.name]} resource and has no amount"
            yield Finding(("shared_resources", index, "name"), message)


def _amounts(instance: Instance) -> set[str]:
    """Return the numeric resources that jobs may reserve."""
    cluster = instance.cluster
    names = {*BUILTIN_AMOUNTS, *(shared.name for shared in cluster.shared)}
    names.update(item.name for item in cluster.resources if item.kind == "numeric")
    return names.union(*distinct(host.amounts for host in cluster.hosts))


def _limits(instance: Instance) -> Iterator[Finding]:
    known = {"slots", "jobs", *_amounts(instance)}
    defined = _DefinedNames(instance)
    for index, limit in enumerate(instance.limits):
        place: Location = ("limits", index)
        if not (limit.amounts or limit.percentages) and limit.slots_per_processor is None:
            yield Finding(place, "limits nothing: give SLOTS, JOBS, MEM or RESOURCE")
        yield from unknown_names((*place, "RESOURCE"), "resource", limit.amounts, known)
        per_host = limit.hosts is not None and limit.hosts.each
        if limit.slots_per_processor is not None and not per_host:
            yield Finding((*place, "SLOTS_PER_PROCESSOR"), "needs PER_HOST")
        for name in () if per_host else limit.percentages:
            yield Finding((*place, name.upper()), "a percentage needs PER_HOST")
        for item in CONSUMERS:
            kind = HOST if item.field == "hosts" else item.noun
            if (scope := item.scope(limit)) is not None:
                key = (item.per_field if scope.each else item.field).upper()
                names = (*scope.names, *scope.excluded)
                words = USERS if kind == USER else ("all",)
                yield from defined.undefined(kind, (*place, key), names, *words)


def _usage(instance: Instance) -> Iterator[Finding]:
    """Check that ReservationUsage names user-defined numeric resources (RSV-08)."""
    known = _amounts(instance) - {*BUILTIN_AMOUNTS}
    for usage in instance.reservation_usage:
        place: Location = ("reservation_usage", usage.resource)
        if usage.resource in (*BUILTIN_AMOUNTS, "slots"):
            message = f"{usage.resource} is built in: RESOURCE_RESERVE_PER_SLOT governs it"
            yield Finding(place, message)
        else:
            yield from unknown_names(place, "numeric resource", [usage.resource], known)


_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def _shares(instance: Instance) -> Iterator[Finding]:
    """Check rules of fairshare and of slot pools (FSH-01 … FSH-13, QBF-01)."""
    from ..share_rules import share_problems, share_warnings

    problems, warnings = list(share_problems(instance)), list(share_warnings(instance))
    places = _job_places(instance) if problems or warnings else {}
    for problem in problems:
        place = _place(problem, places)
        flags = {"undefined": problem.undefined, "undecided": problem.undecided}
        yield Finding(place, problem.message, **flags)
    for problem in warnings:
        yield Finding(_place(problem, places), problem.message, warning=True)


def _place(problem: Problem, jobs: dict[str, Location]) -> Location:
    if problem.path in jobs:
        return jobs[problem.path]
    return _location(problem.path)


def _location(path: str) -> Location:
    return tuple(int(number) if number else name for name, number in _STEP.findall(path))


def _job_places(instance: Instance) -> dict[str, Location]:
    running = [item.job for item in instance.running]
    sections = (("running", running), ("pending", instance.pending), ("future", instance.future))
    return {
        f"job {job.id}": (section, index)
        for section, jobs in sections
        for index, job in enumerate(jobs)
    }


Limited = TypeVar("Limited", Job, Queue, Application, Params)

_LSF_NAMES = {
    "run_limit": "RUNLIMIT",
    "run_time": "RUNTIME",
    "cpu_limit": "CPULIMIT",
    "estimated_run_time": "ESTIMATED_RUNTIME",
}
_LIMITS = ("run_limit", "run_limit_max", "run_time", "cpu_limit", "estimated_run_time")


def in_wall_clock(instance: Instance, findings: list[Finding]) -> Instance:
    """Return the instance with limits in wall-clock time; failures are added to `findings`."""
    scale = LimitScale(instance.cluster, instance.queues)

    def settled(place: Location, item: Limited, hosts: Callable[[], Iterable[str]]) -> Limited:
        found, wrong = scale.settled(item, hosts)
        job = isinstance(item, Job)
        findings.extend(
            Finding((*place, name if job else _LSF_NAMES[name]), message) for name, message in wrong
        )
        return found

    def waiting(section: str, jobs: Sequence[Job]) -> tuple[Job, ...]:
        if not any(map(_on_a_host, jobs)):
            return tuple(jobs)
        return tuple(
            settled((section, n), job, partial(scale.hosts_of, job)) if _on_a_host(job) else job
            for n, job in enumerate(jobs)
        )

    def running(number: int, item: RunningJob) -> RunningJob:
        if not _on_a_host(item.job):
            return item
        job = settled(("running", number), item.job, lambda: list(item.allocation)[:1])
        return replace(item, job=job)

    def everywhere() -> Iterator[str]:
        return (host.name for host in instance.cluster.hosts)

    return replace(
        instance,
        params=settled(("params",), instance.params, everywhere),
        queues=tuple(
            settled(("queues", n), queue, partial(scale.hosts_of_queue, queue))
            for n, queue in enumerate(instance.queues)
        ),
        applications=tuple(
            settled(("applications", n), item, everywhere)
            for n, item in enumerate(instance.applications)
        ),
        running=tuple(running(n, item) for n, item in enumerate(instance.running)),
        pending=waiting("pending", instance.pending),
        future=waiting("future", instance.future),
    )


def _on_a_host(job: Job) -> bool:
    """Return whether some limit of the job counts on one host."""
    limits = (job.run_limit, job.run_time, job.cpu_limit, job.estimated_run_time)
    return LimitOnHost in map(type, limits)


class LimitScale:
    """Limits on hosts of one cluster as wall-clock time."""

    def __init__(self, cluster: Cluster, queues: Iterable[Queue]) -> None:
        self._hosts = NamedHosts(cluster)
        self._all = frozenset(self._hosts.all)
        #: Hosts of lists that were asked for, and how many these are together.
        self._lists: dict[Hashable, frozenset[str]] = {}
        self._count = 0
        self._queues = {queue.name: queue for queue in queues}
        self._factor = {host.name: host.cpu_factor for host in cluster.hosts}
        self._factors = set(self._factor.values())
        self._of_list: dict[frozenset[str], frozenset[float]] = {}
        self._machine = {host.node_of: host.cpu_factor for host in cluster.hosts if host.node_of}
        self._models: dict[str, set[float]] = {}
        for host in cluster.hosts:
            self._models.setdefault(host.model, set()).add(host.cpu_factor)

    def settled(
        self, item: Limited, hosts: Callable[[], Iterable[str]]
    ) -> tuple[Limited, list[tuple[str, str]]]:
        """Return a job, queue or application with limits in wall-clock time, and its errors.

        hosts: gives those that it may use, asked only for a limit on a host. What is wrong: the
        field and why.
        """
        changed: dict[str, int] = {}
        wrong: list[tuple[str, str]] = []
        for name in _LIMITS:
            limit = getattr(item, name, None)
            if isinstance(limit, LimitOnHost):
                changed[name] = int(limit)
                try:
                    changed[name] = self._seconds(limit, hosts)
                except ValueError as error:
                    wrong.append((name.removesuffix("_max"), str(error)))
        return (replace(item, **changed) if changed else item), wrong  # type: ignore[arg-type]

    def hosts_of(self, job: Job) -> frozenset[str]:
        """Return the hosts that -m and the queue allow for a job."""
        queue = self._queues.get(job.queue)
        allowed = self._all if queue is None else self.hosts_of_queue(queue)
        key = (job.queue, job.hosts)
        return self._listed(key, lambda: allowed & self._named(job.hosts)) if job.hosts else allowed

    def hosts_of_queue(self, queue: Queue) -> frozenset[str]:
        """Return the hosts of HOSTS of a queue."""
        return self._named(queue.hosts, queue.excluded_hosts)

    def _named(
        self, requests: Sequence[HostRequest], excluded: Sequence[str] = ()
    ) -> frozenset[str]:
        if not requests and not excluded:
            return self._all
        names = (*(item.name for item in requests), *(f"~{name}" for name in excluded))
        return self._listed(names, lambda: frozenset(self._hosts.listed(names)))

    def _listed(self, key: Hashable, hosts: Callable[[], frozenset[str]]) -> frozenset[str]:
        """Return the cached hosts of a list; raises ValueError if all lists are too long."""
        if key not in self._lists:
            if self._count > limits().names:
                raise ValueError(too_many("names in its lists of hosts", "names"))
            self._lists[key] = hosts()
            self._count += len(self._lists[key])
        return self._lists[key]

    def _seconds(self, limit: LimitOnHost, hosts: Callable[[], Iterable[str]]) -> int:
        own = self._reference(limit.host)
        if len(self._factors) == 1:
            return int(limit)  # wherever it runs
        there = self._factors_of(hosts()) or {own}
        if len(there) > 1:
            factors = ", ".join(f"{factor:g}" for factor in sorted(there))
            raise ValueError(
                f"counts on {limit.host} (CPU factor {own:g}), but the candidate hosts of the "
                f"job have other factors ({factors}), so its duration depends on the host: give "
                f"a wall-clock time such as {format_duration(int(limit))}, or hosts with one factor"
            )
        return max(1, round(int(limit) * own / min(there)))

    def _factors_of(self, hosts: Iterable[str]) -> frozenset[float]:
        """Return the CPU factors of hosts, cached for each list."""
        if not isinstance(hosts, frozenset):
            return frozenset(self._factor[host] for host in hosts if host in self._factor)
        if hosts not in self._of_list:
            self._of_list[hosts] = self._factors_of(iter(hosts))
        return self._of_list[hosts]

    def _reference(self, name: str) -> float:
        """Return the CPU factor of a host or host model."""
        if name in self._factor:
            return self._factor[name]
        if name in self._machine:
            return self._machine[name]
        factors = self._models.get(name, set())
        if len(factors) == 1:
            return next(iter(factors))
        if factors:
            raise ValueError(f"the hosts of model {name} have several CPU factors: name a host")
        hint = nearest(name, self._names())
        raise ValueError(f"unknown host or model {name!r}{hint} after the limit")

    def _names(self) -> Iterator[str]:
        yield from self._factor
        yield from self._machine
        yield from self._models
