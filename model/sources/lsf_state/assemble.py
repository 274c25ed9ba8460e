"""An instance of what bjobs, bhosts and bqueues saw, with or without the site's configuration.

A site (an instance without jobs) says what the commands do not print: resources, users, limits.
What they print is newer and goes before it; a difference is a note.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from ...absolute_priority import StatedPriority
from ...cluster import (
    BUILTIN_AMOUNTS,
    HOST_STATUSES,
    PASSING_STATUSES,
    Cluster,
    Gpus,
    Host,
    Thresholds,
)
from ...configuration import counting_rusage
from ...display import MINUTE, some
from ...duration import expected_duration, expected_run_time, granted_run_limit
from ...errors import InputError, Problem, bounded
from ...formats.names import Domains, host_requests
from ...formats.unknown_amounts import NO_GPUS_GIVEN, without_gpus, without_gpus_named
from ...gpu_request import GPUS_NAMED, with_gpu_constraints
from ...input_limits import limits
from ...instance import Instance, SaidByLsf
from ...job import (
    LARGEST_INDEX,
    ArraySpec,
    HostRequest,
    Job,
    RunningJob,
    TooManyElements,
    elements,
    parse_array,
    too_many_elements,
)
from ...omissions import GPUS, Omission
from ...resreq import RequirementMerging
from .acceptable import acceptable
from .bhosts import SeenGpus, SeenHost, with_consumables
from .bjobs import ENDED, WAITING, SeenJob
from .cut_names import with_whole_names
from .dependencies import still_open
from .facts import with_machines
from .queues import merged_queues
from .seen import Seen
from .unknown import without_unknown
from .values import Remarks, fit_to_write


def with_gpus(host: Host, item: SeenHost | None, listed: SeenGpus | None, notes: Remarks) -> Host:
    """Return a host with the GPUs that bhosts counts and that a list of GPUs describes."""
    count = item.gpus if item is not None else None
    if listed is not None:
        count = listed.count
        models = sorted(set(listed.models.values()))
        if len(models) > 1:
            kinds = ", ".join(models)
            text = (
                f"host {host.name} has GPUs of several models ({kinds}): all are assumed to "
                "be usable"
            )
            notes.touch(text, hosts=(host.name,), resources=(GPUS,))
    if count is None:
        return host
    if host.gpu_count not in (None, count):
        notes.append(
            f"host {host.name}: bhosts lists {count} GPUs, but the site has {host.gpu_count:g}"
        )
    known = host.gpus or Gpus(count)
    model = listed.model if listed is not None else known.model
    mem = listed.mem if listed is not None and listed.mem is not None else known.mem
    return replace(host, gpus=Gpus(count, model, mem) if count else None)


def holding(job: Job, seen: SeenJob, notes: Remarks) -> Job:
    """Return a running job with the GPUs that it is seen to use, in the words of -gpu."""
    held = seen.gpus_held
    if not held or any(map(GPUS_NAMED.search, job.res_req)):
        return job
    number = max(held.values())
    if len({*held.values()}) > 1 or len(held) != len(seen.allocation):
        text = f"job {job.id} has GPUs {held}: assumed to be {number} on each of its hosts"
        notes.touch(text, resources=(GPUS,))
    rest = [part for part in job.gpu.split(":") if part and not part.strip().startswith("num=")]
    return replace(job, gpu=":".join([f"num={number}/host", *rest]))


def described(
    instance: Instance,
    seen: Iterable[SeenHost],
    listed: Iterable[SeenGpus],
    notes: Remarks,
) -> Instance:
    """Return the instance with GPUs for the jobs that request some, or these jobs without requests.

    If no input describes the GPUs of hosts, hosts have those that running jobs use. If these use
    none either, GPU requests are omitted.
    """
    if all(host.gpu_count is None for host in instance.cluster.hosts):
        instance = _as_held(instance, notes)
    if all(host.gpu_count is None for host in instance.cluster.hosts):
        return _nobody_asks(instance, notes)
    used = {item.name: item.gpus_used for item in seen if item.gpus_used}
    used |= {item.host: len(item.used) for item in listed if item.used}
    return _all_held(instance, used, notes)


def _held(instance: Instance) -> Counter[str]:
    """Return the GPUs that running jobs are known to use, by host."""
    merging = RequirementMerging.of(instance)
    found: Counter[str] = Counter()
    for run in instance.running:
        with suppress(InputError):
            for host, slots in run.allocation.items():
                found[host] += merging.gpus_held(run.job, slots)
    return found


def _as_held(instance: Instance, notes: Remarks) -> Instance:
    """Return the hosts with at minimum the GPUs that running jobs use there."""
    held = _held(instance)
    if not any(held.values()):
        return instance
    notes.touch(
        "no input gives the GPUs of hosts: only those of running jobs are assumed (give bhosts "
        "-l or bhosts -gpu -l)",
        resources=(GPUS,),
        mark="fit",
    )
    hosts = tuple(
        replace(host, gpus=Gpus(held[host.name])) if held[host.name] else host
        for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=hosts))


def _nobody_asks(instance: Instance, notes: Remarks) -> Instance:
    """Return the jobs without GPU requests, because no input describes GPUs."""
    touched: list[str] = []

    def plain(job: Job) -> Job:
        bare = without_gpus(job)
        if bare != job:
            touched.append(job.id)
        return bare

    running = tuple(replace(run, job=plain(run.job)) for run in instance.running)
    touched.clear()
    pending = tuple(map(plain, instance.pending))
    future = tuple(map(plain, instance.future))
    queues = tuple(
        replace(queue, gpu_req="", res_req=without_gpus_named(queue.res_req))
        for queue in instance.queues
    )
    of_queues = queues != instance.queues
    if touched or of_queues:
        jobs = None if of_queues else touched
        notes.touch(NO_GPUS_GIVEN, jobs, count=max(1, len(touched)), mark="no GPUs")
    else:  # the `ask` command may examine further jobs
        notes.omissions.append(Omission(NO_GPUS_GIVEN, jobs=(), mark="no GPUs"))
    return replace(instance, running=running, pending=pending, future=future, queues=queues)


def _all_held(instance: Instance, used: dict[str, int], notes: Remarks) -> Instance:
    """Return the instance with a user for every GPU in use.

    A GPU with an unknown user goes to the job of its host that ends last and requests none, or is
    removed.
    """
    held = _held(instance)
    missing = {name: n - held[name] for name, n in used.items() if n > held[name]}
    if not missing:
        return instance
    notes.touch(
        f"GPUs are in use on {_some(missing)}, but no running job has them: assumed to belong "
        f"to the job there that ends last",
        _askers(instance),
    )
    running = list(instance.running)
    hosts = list(instance.cluster.hosts)
    for name, number in missing.items():
        there = [
            (_last(run), at)
            for at, run in enumerate(running)
            if run.allocation.keys() == {name} and not run.job.gpu
        ]
        if there:
            at = max(there)[1]
            job = replace(running[at].job, gpu=f"num={number}/host")
            running[at] = replace(running[at], job=job)
            continue
        at = next((n for n, host in enumerate(hosts) if host.name == name), -1)
        gpus = hosts[at].gpus if at >= 0 else None
        if gpus is not None:
            left = max(gpus.count - number, held[name], 1)
            hosts[at] = replace(hosts[at], gpus=replace(gpus, count=left))
    cluster = replace(instance.cluster, hosts=tuple(hosts))
    return replace(instance, running=tuple(running), cluster=cluster)


def _last(run: RunningJob) -> float:
    if run.finish is not None:
        return run.finish
    return float("inf") if run.job.run_limit is None else run.start + run.job.run_limit


def _askers(instance: Instance) -> list[str]:
    """Return the pending jobs that need GPUs."""
    merging = RequirementMerging.of(instance)
    found = []
    for job in instance.pending:
        with suppress(InputError):
            if merging.gpus(job) is not None:
                found.append(job.id)
    return found


#: Characters of a reason that are kept: it may list every host.
MAX_OF_A_REASON = 200
#: Seconds by which clocks of hosts may differ.
_CLOCKS_APART = 120
RUNNING = frozenset({"RUN", "SSUSP", "USUSP", "UNKWN", "PROV"})
#: A name of a host in what -m lists.
_NAME = re.compile(r"[^\s/,!+~]+")
#: Reason for which a job in state PSUSP is not planned.
_HELD = "in state PSUSP, held until `bresume` releases it"
#: Host states that follow from jobs or thresholds, which the instance has itself.
_PASSING = PASSING_STATUSES | {"closed_busy", "busy"}
#: Statuses of a host outside its dispatch window.
_OUTSIDE_WINDOW = frozenset({"closed_wind", "lockw"})


#: Statuses of a host that reports its load.
_UP = frozenset({"ok", "closed", "closed_Adm", "closed_Full", "closed_Busy"})


@dataclass(slots=True)
class Assembled:
    """An instance of what the commands printed, and the notes on it."""

    instance: Instance
    #: Remarks about omissions and differences.
    notes: Remarks
    #: Printed state, with the hosts as the instance has them.
    seen: Seen


def moment_of(jobs: Iterable[SeenJob], reference: datetime) -> int:
    """Return the seconds since 1970 at which the jobs were listed, as exactly as they show it.

    A running job's start and run time give it exactly; otherwise it is the latest past time.
    reference: used if no job has a time.
    """
    exact = Counter(
        round(job.start + job.run_time)
        for job in jobs
        if job.status == "RUN" and job.start is not None and job.run_time
    )
    passed = [time for job in jobs for time in (job.submit, job.start) if time is not None]
    if exact:
        return max(exact.most_common(1)[0][0], *passed)
    return max(passed, default=int(reference.timestamp()))


@bounded("what LSF printed")
def assemble(seen: Seen, now: datetime, site: Instance | None = None) -> Assembled:
    """Return the instance at `now`; second 0 is the site's origin, or now if it has none.

    Raises InputError with every error.
    """
    notes = Remarks(seen.notes)
    base, shift = _clocked(site, now)
    seen = _with_one_name(with_whole_names(seen, base, notes), base.cluster, notes)
    if seen.hosts is not None:
        seen = replace(seen, hosts=_with_reasons(seen.hosts, notes))
    hosts = _hosts(seen, base.cluster.hosts, notes)
    if not hosts:
        raise InputError("no input lists the hosts: give the output of bhosts, or a site")
    hosts = _with_gpus(hosts, seen, notes)
    base = replace(base, cluster=replace(base.cluster, hosts=hosts))
    base = replace(base, omissions=tuple(_open(base.omissions, seen.hosts or (), hosts)))
    if seen.machines:
        base = replace(base, cluster=with_machines(base.cluster, seen.machines))
    _tell_without_memory(base.cluster.hosts, notes)
    _tell_without_window(base.cluster.hosts, notes)
    names = {job.queue for job in (*seen.jobs, *seen.later)}
    # The queues are known from listed jobs or logs only.
    if seen.queues is None and not base.queues and not seen.gone:
        notes.touch(
            "no input describes the queues: no limits and policies, all users and all hosts are "
            "assumed (give bqueues -l, or a site)"
        )
    _tell_without_license_projects(base, seen, notes)
    base = merged_queues(base, seen.queues, seen.partitions, names, notes)
    builder = _Jobs(base, shift, notes)
    running, pending = builder.build(seen.jobs)
    future = builder.later(seen.later)
    said = _said(seen.jobs, {job.id for job in pending}, shift)
    instance = replace(base, running=running, pending=pending, future=future, lsf_says=said)
    instance = still_open(instance, seen.jobs, notes, gone=seen.gone)
    instance = _enough_slots(instance, notes)
    instance = described(instance, seen.hosts or (), seen.gpus, notes)
    instance = with_consumables(instance, seen.hosts or (), seen.shared, notes)
    instance = without_unknown(acceptable(instance, notes), notes)
    omissions = fit_to_write((*base.omissions, *notes.omissions))
    return Assembled(replace(instance, omissions=omissions), notes, seen)


def _open(
    omissions: Iterable[Omission], seen: Sequence[SeenHost], hosts: Sequence[Host]
) -> Iterator[Omission]:
    """Yield questions that configuration files leave open and seen hosts do not answer."""
    printed = {name for host in seen for name in host.total}
    for item in omissions:
        known = printed.issuperset(item.resources)
        if item.mark == "memory of hosts":
            known = all("mem" in host.amounts for host in hosts)
        if not (known and item.mark in ("memory of hosts", "elims")):
            yield item


def _said(jobs: Iterable[SeenJob], pending: Collection[str], zero: int) -> tuple[SaidByLsf, ...]:
    """Return reasons and estimated starts of the pending jobs; zero: seconds since 1970 of second
    0.
    """
    return tuple(
        SaidByLsf(
            job.id,
            " ".join(job.reason.split()).strip("; ")[:MAX_OF_A_REASON],
            None if job.estimate is None else job.estimate - zero,
        )
        for job in jobs
        if job.id in pending and (job.reason.strip("; \n") or job.estimate is not None)
    )


def with_family(made: Assembled, family: str, asked: str) -> Assembled:
    """Return the instance with the scheduler's family and the unit of rusage[mem].

    A guess of the unit touches jobs that reserve memory. family: "OpenLava" or "volclava", "" for
    LSF. asked: "slot" or "host", "" for the family's default.
    """
    instance = made.instance
    params, what = counting_rusage(instance.params, family, asked)
    params = replace(params, family=family) if family else params
    kept = instance.omissions
    if asked or family:  # family and settings replace the site's guess
        kept = tuple(item for item in kept if item.mark != "unit of rusage")
    if what:
        asking = {queue.name for queue in instance.queues if "rusage" in queue.res_req}
        asking |= {app.name for app in instance.applications if "rusage" in app.res_req}
        jobs = [
            job.id
            for job in instance.pending
            if any("rusage" in text for text in job.res_req)
            or not asking.isdisjoint((job.queue, job.application))
        ]
        made.notes.touch(f"{family}: {what}", jobs, mark="unit of rusage")
    return replace(made, instance=replace(instance, params=params, omissions=kept))


def _with_reasons(hosts: Sequence[SeenHost], notes: Remarks) -> list[SeenHost]:
    """Return hosts with the reason why they are closed, by their numbers; plain bhosts has none."""
    closed = [host for host in hosts if host.status == "closed"]
    full = [host.name for host in closed if host.is_full]
    if full:
        notes.append(
            f"bhosts gives no reason for closed: all slots of {_some(full)} are in use, so "
            f"closed_Full is assumed (bhosts -l shows the reason)"
        )
    other = [host.name for host in closed if not host.is_full]
    if other:
        notes.touch(
            f"bhosts gives no reason for closed: {_some(other)}: assumed to be closed by the "
            f"administrator (bhosts -l shows the reason)",
            hosts=other,
        )
    if busy := [host.name for host in hosts if host.is_busy]:
        notes.touch(
            f"bhosts reports closed_Busy for {_some(busy)}: no job starts there until the load "
            f"falls, at an unknown time"
        )
    return [replace(h, status="closed_Full") if h in closed and h.is_full else h for h in hosts]


def _clocked(site: Instance | None, now: datetime) -> tuple[Instance, int]:
    """Return the site at `now`, and seconds since 1970 of its second 0."""
    if site is None:
        return Instance(Cluster(()), queues=(), origin=now.isoformat()), int(now.timestamp())
    if site.origin is not None:
        zero = int(datetime.fromisoformat(site.origin).timestamp())
        return replace(site, now=int(now.timestamp()) - zero), zero
    # The current instant of a site without calendar time is the time of the listing.
    zero = int(now.timestamp()) - site.now
    return replace(site, origin=datetime.fromtimestamp(zero, now.tzinfo).isoformat()), zero


def _with_one_name(seen: Seen, cluster: Cluster, notes: Remarks) -> Seen:
    """Return the listings with one name for each host, if only some names have a domain."""
    domains = Domains(host.name for host in cluster.hosts)
    taken: dict[str, str] = {}

    def known(name: str) -> str:
        found = domains.known(name)
        if found != name and cluster.expand(name) is None:
            taken[name] = found
            return found
        return name

    shown = {host.name for host in seen.hosts or ()}
    hosts = [
        host if known(host.name) in shown else replace(host, name=known(host.name))
        for host in seen.hosts or ()
    ]
    domains = Domains([*(host.name for host in cluster.hosts), *(host.name for host in hosts)])
    jobs, later = (
        [
            replace(
                job,
                allocation=_renamed(job.allocation, known),
                hosts=_NAME.sub(lambda word: known(word[0]), job.hosts),
            )
            for job in items
        ]
        for items in (seen.jobs, seen.later)
    )
    if taken:
        pairs = [f"{name} and {found}" for name, found in taken.items()]
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        notes.append(
            f"each pair is one host, though only one name has a domain: "
            f"{', '.join(pairs[:3])}{more}"
        )
    return replace(seen, jobs=jobs, later=later, hosts=None if seen.hosts is None else hosts)


def _renamed(allocation: dict[str, int], known: Callable[[str], str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, slots in allocation.items():
        found[known(name)] += slots
    return dict(found)


def _hosts(seen: Seen, known: Sequence[Host], notes: Remarks) -> tuple[Host, ...]:
    """Return the site's hosts in their current state, and hosts that the site lacks."""
    shown = {host.name: host for host in seen.hosts or ()}
    hosts: list[Host] = []
    missing: list[str] = []
    for host in known:
        if seen.hosts is not None and seen.all_hosts and host.name not in shown:
            missing.append(host.name)
        item = shown.pop(host.name, None)
        hosts.append(host if item is None else _merged(host, item, notes))
    if missing:
        notes.touch(
            f"bhosts does not list {_some(missing)}: the description of the site is used",
            hosts=missing,
        )
    if known and shown:
        notes.append(f"the site does not describe {_some(shown)}: the output of bhosts is used")
    unlimited = [
        name for name, item in shown.items() if item.slots is None and "MAX" not in item.unknown
    ]
    if unlimited:
        text = f"MAX of {_some(unlimited)} is not set: assumed to be the used and free slots"
        notes.touch(text, hosts=unlimited, mark="fit")
    hosts += [
        _merged(
            Host(name, _slots(item), mxj_defined=item.slots is not None or "MAX" in item.unknown),
            item,
            Remarks(),
        )
        for name, item in shown.items()
    ]
    names = {host.name for host in hosts}
    used: dict[str, int] = {}
    for job in seen.jobs:
        for name, slots in job.allocation.items() if job.status in RUNNING else ():
            if name not in names:
                used[name] = used.get(name, 0) + slots
    if used:
        notes.touch(
            f"jobs run on {_some(used)}, which no input describes: assumed to have the slots in "
            "use",
            hosts=used,
            mark="fit",
        )
    return (*hosts, *(Host(name, slots) for name, slots in used.items()))


def _tell_without_memory(hosts: Sequence[Host], notes: Remarks) -> None:
    """Note hosts that are up and of which no input gives memory, swap or tmp."""
    for name in BUILTIN_AMOUNTS:
        lacking = [h.name for h in hosts if name not in h.amounts and h.status in _UP]
        if lacking and any(name in host.amounts for host in hosts):
            text = f"no input gives {name} of {_some(lacking)}: no job that requests it "
            names = (name, f"max{name}")
            notes.touch(f"{text}starts there", hosts=lacking, resources=names, mark="fit")


def _tell_without_window(hosts: Sequence[Host], notes: Remarks) -> None:
    """Note hosts closed by a window whose opening no input gives."""
    shut = [host.name for host in hosts if host.status.lower() in _OUTSIDE_WINDOW]
    if shut:
        text = (
            f"bhosts reports that the dispatch window has closed {_some(shut)}, but no input "
            "gives the time "
        )
        notes.touch(f"{text}when it opens (bhosts -l shows it)", hosts=shut)


def _tell_without_license_projects(base: Instance, seen: Seen, notes: Remarks) -> None:
    """Note limits by licence project if a listing does not print the projects of jobs."""
    if all(job.shows_license_project for job in seen.jobs):
        return
    for limit in base.limits:
        if limit.lic_projects is not None:
            queues = () if limit.queues is None else limit.queues.names
            notes.touch(
                f"limit {limit.name} counts licence projects, for which the output of bjobs has "
                f"no column "
                "(give license_project to bjobs -o, or bjobs -l)",
                queues=() if "all" in queues else queues,
            )


def _with_gpus(hosts: Sequence[Host], seen: Seen, notes: Remarks) -> tuple[Host, ...]:
    """Return the hosts with their GPUs, by bhosts and by lists of GPUs, which may omit domains."""
    shown = {host.name: host for host in seen.hosts or ()}
    domains = Domains(host.name for host in hosts)
    listed = {domains.known(item.host): item for item in seen.gpus}
    return tuple(
        with_gpus(host, shown.get(host.name), listed.get(host.name), notes) for host in hosts
    )


def _slots(item: SeenHost) -> int:
    """Return MAX; if it is not set, slots in use plus free slots by the load index ``slots``."""
    if item.slots is not None:
        return item.slots
    return (item.used or 0) + int(max(0.0, item.total.get("slots", 0.0)))


def _merged(host: Host, item: SeenHost, notes: Remarks) -> Host:
    slots = host.slots if item.slots is None else item.slots
    if slots != host.slots:
        notes.append(f"host {host.name}: MAX is {slots} in bhosts and {host.slots} in the site")
    amounts = dict(host.amounts)
    load = dict(host.load)
    for index, free in item.total.items():
        if index in BUILTIN_AMOUNTS or index in amounts:
            # Scheduling uses the free amount; reserved amounts are released when their jobs end.
            amounts[index] = free + item.reserved.get(index, 0.0)
        elif index != "slots":
            load[index] = free
    thresholds = host.thresholds
    if item.sched or item.stop:
        thresholds = Thresholds(item.sched, item.stop)
    windows = item.windows or host.windows
    passing = _PASSING | _OUTSIDE_WINDOW if windows else _PASSING
    status = "ok" if item.status.lower() in passing else item.status
    if status not in HOST_STATUSES and status.startswith("closed"):
        status = "closed"  # closed for a reason that only later versions of LSF have
    return replace(
        host,
        slots=slots,
        cpu_factor=item.cpu_factor or host.cpu_factor,
        user_slots=host.user_slots if item.user_slots is None else item.user_slots,
        windows=windows,
        amounts=amounts,
        load=load,
        thresholds=thresholds,
        status=status,
    )


def _enough_slots(instance: Instance, notes: Remarks) -> Instance:
    """Return hosts; a host that runs more than its MAX (backfill, suspended jobs) has that many
    slots.
    """
    used: Counter[str] = Counter()
    for running in instance.running:
        used.update(running.allocation)
    over = [host.name for host in instance.cluster.hosts if used[host.name] > host.slots]
    if not over:
        return instance
    notes.append(f"more slots are in use than MAX on {_some(over)}: the used slots are assumed")
    hosts = tuple(
        replace(host, slots=max(host.slots, used[host.name])) for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=hosts))


#: Fields of a job that are as they were seen, and limits of which 0 sets none.
_AS_SEEN = (
    *("id", "max_slots", "user", "priority", "project", "license_project", "exclusive"),
    *("resizable", "unheeded", "job_group", "reservation"),
)
_LIMITS = ("run_limit", "cpu_limit", "estimated_run_time")


class _Jobs:
    """Converts printed jobs to jobs; reports invalid ones and notes omissions."""

    def __init__(self, base: Instance, zero: int, notes: Remarks) -> None:
        self.base = base
        self.zero = zero
        self.notes = notes
        self.problems: list[Problem] = []
        #: Ids of omitted jobs by state; the key is empty for jobs with unknown dependencies.
        self.left: defaultdict[str, list[str]] = defaultdict(list)
        self.guessed: list[str] = []
        #: Running jobs whose hosts or start are unknown.
        self.placeless: list[tuple[SeenJob, str]] = []
        #: Elements of arrays that stood in one row.
        self._elements_read = 0
        self.unread: Counter[str] = Counter()
        self.names = {profile.name for profile in base.applications}
        self.machines = base.cluster.machines()
        self.domains = Domains(self.machines)
        self.classes = {item.name for item in base.service_classes}

    def build(self, jobs: Iterable[SeenJob]) -> tuple[tuple[RunningJob, ...], tuple[Job, ...]]:
        running = []
        pending: list[Job] = []
        jobs = tuple(jobs)
        listed = {job.id for job in jobs}
        for job in jobs:
            if job.status in RUNNING or job.status in WAITING:
                self.unread.update(job.unheeded)
            if job.status in RUNNING:
                if (found := self._running(job)) is not None:
                    running.append(found)
            elif job.status in WAITING and job.dependent and not job.dependency:
                self.left[""].append(job.id)
            elif job.status in WAITING:
                pending += self._elements(job, listed)
            elif job.status:  # a job with an unreadable state is reported earlier
                self.left[job.status].append(job.id)
        self._tell_placeless(running)
        self._tell_later(jobs)
        self._tell_profiles(jobs)
        if self.problems:
            raise InputError(self.problems)
        dependent = self.left.pop("", [])
        for status, ids in sorted(self.left.items()):
            count = len(ids)
            held = ": held jobs are not scheduled" if status == "PSUSP" else ""
            text = f"omitted {count} job{'s' * (count > 1)} in state {status}{held}"
            hosts = {n for job in jobs if job.status == status for n in job.allocation}
            if hosts and status not in ENDED:  # a job in this state may still use its slots
                self.notes.touch(text, count=count, hosts=sorted(hosts))
            elif status == "PSUSP":
                self.notes.unplanned(text, ids, _HELD)
            else:
                self.notes.append(text)
        if count := len(dependent):
            self.notes.unplanned(
                f"omitted {count} pending job{'s' * (count > 1)} that wait"
                f"{'s' * (count == 1)} for other jobs (bsub -w): LSF does not examine "
                f"them until then, and no input gives the conditions (give -o dependency)",
                dependent,
                "it has a dependency (bsub -w) that no input gives (bjobs -o dependency)",
            )
        for name, count in sorted(self.unread.items()):
            self.notes.append(f"not modelled: {name} of {count} job{'s' * (count > 1)}")
        if count := len(self.guessed):
            self.notes.touch(
                f"{count} pending job{'s' * (count > 1)} without a number of slots: 1 is "
                f"assumed (give -o nreq_slot)",
                self.guessed,
                count=count,
                changes="amounts",
                mark="fit",
            )
        return tuple(running), tuple(sorted(pending, key=lambda job: job.submit))

    def later(self, jobs: Iterable[SeenJob]) -> tuple[Job, ...]:
        """Return the jobs that are submitted after the snapshot."""
        found = tuple(sorted(map(self._job, jobs), key=lambda job: job.submit))
        if self.problems:
            raise InputError(self.problems)
        return found

    def _running(self, seen: SeenJob) -> RunningJob | None:
        start = seen.start
        if start is None and seen.run_time is not None:
            start = self.zero + self.base.now - round(seen.run_time)
        if not seen.allocation:
            self.placeless.append((seen, "no hosts (-o alloc_slot or exec_host)"))
            return None
        if start is None:
            self.placeless.append((seen, "no START_TIME"))
            start = self.zero + self.base.now
        if seen.status == "UNKWN":
            text = f"when job {seen.id} ends, with which LSF has lost contact (UNKWN)"
            self.notes.touch(text, hosts=tuple(seen.allocation))
        job = holding(self._job(seen), seen, self.notes)
        slots = sum(seen.allocation.values())
        if job.max_slots is None and job.slots != slots:
            job = replace(job, slots=slots)
        if job.run_limit is None and seen.from_limit and seen.finish and seen.finish > start:
            job = replace(job, run_limit=seen.finish - start)
        return RunningJob(
            job,
            min(start - self.zero, self.base.now),
            dict(seen.allocation),
            self._finish(seen, job, start),
            suspended=seen.status in ("SSUSP", "USUSP"),
        )

    def _finish(self, seen: SeenJob, job: Job, start: int) -> int | None:
        """Return the end of a running job that its listing says; None if its start and its limits
        give it.

        A suspension moves the end: only the time in state RUN counts towards the limits.
        """
        limit, now = job.run_limit, self.zero + self.base.now
        finish = now + round(seen.left) if seen.finish is None and seen.left else seen.finish
        near = MINUTE if seen.finish is not None else 2 * _CLOCKS_APART
        if finish is not None and finish > start:  # an estimate beyond the limit shows a suspension
            beyond = math.inf if limit is None else finish - start - limit
            if beyond >= near or (seen.from_limit and beyond <= -near):
                return finish - self.zero
            if seen.from_limit:
                return None
        idle = seen.idle if seen.stopped is None else seen.idle + now - seen.stopped
        apart = 0 if seen.run_time is None else now - start - round(seen.run_time)
        if apart < -_CLOCKS_APART:
            text = f"when job {seen.id} ends: its run time is longer than the time since its start"
            self.notes.touch(text, hosts=tuple(seen.allocation))
        if apart > _CLOCKS_APART:
            idle = apart
        if idle <= 0:
            return None
        spans = expected_duration(self.base, job), granted_run_limit(self.base, job)
        span = expected_run_time(*spans, now - start - idle)
        return None if span is None else start + idle + span - self.zero

    def _tell_placeless(self, running: Sequence[RunningJob]) -> None:
        """Note running jobs that lack a fact; raises an error if all of them do."""
        known = [run for run in running if run.job.id not in {job.id for job, _ in self.placeless}]
        for job, lacks in self.placeless:
            if job.unknown:
                continue  # reported before
            path = f"job {job.id}"
            if not known:
                self.problems.append(
                    Problem(f"is running, but has {lacks}", line=job.line, path=path)
                )
            elif job.allocation:
                text = f"{path} is running, but has {lacks}: it is assumed to start now"
                self.notes.touch(text, hosts=tuple(job.allocation))
            else:
                self.notes.touch(f"{path} is running, but has {lacks}: omitted")

    def _tell_profiles(self, jobs: Iterable[SeenJob]) -> None:
        """Note application profiles that pending jobs name and that no input describes."""
        unknown: dict[str, list[str]] = {}
        for job in jobs:
            if job.status in WAITING and job.application not in ("", "-", *self.names):
                unknown.setdefault(job.application, []).append(job.id)
        for name, ids in unknown.items():
            self.notes.touch(
                f"no input describes application profile {name}: its limits and requirements "
                f"are not applied (give a site)",
                ids,
                count=len(ids),
                changes="amounts",
                mark="fit",
            )

    def _tell_later(self, jobs: Iterable[SeenJob]) -> None:
        """Note jobs that were submitted or started after the instant of the instance."""
        now = self.zero + self.base.now + _CLOCKS_APART
        later = [
            job.id
            for job in jobs
            if job.status in RUNNING | WAITING
            and any(time is not None and time > now for time in (job.submit, job.start))
        ]
        if later:
            self.notes.touch(
                f"bjobs lists submissions or starts after now (job{'s' * (len(later) > 1)} "
                f"{', '.join(later[:3])}): the output was printed later, or --now has another "
                f"time zone",
                count=len(later),
            )

    def _elements(self, seen: SeenJob, listed: AbstractSet[str]) -> tuple[Job, ...]:
        """Return a pending job; for an array in one row, the elements without rows of their own."""
        job = self._job(seen)
        spec = None if job.array_id is not None else self._named(seen)[1]
        if spec is None:
            return (job,)
        self._elements_read += len(spec)
        if self._elements_read > limits().elements:
            raise InputError(f"job {seen.id}: {too_many_elements()}")
        return tuple(item for item in elements(job, spec) if item.id not in listed)

    def _named(self, seen: SeenJob) -> tuple[str, ArraySpec | None]:
        """Return the job name and its array elements; an invalid array is an ordinary name."""
        text = " ".join(seen.name.split())
        try:
            return parse_array(text, LARGEST_INDEX)
        except TooManyElements as error:
            raise InputError(f"job {seen.id}: {error}") from None
        except ValueError:
            return text, None

    def _job(self, seen: SeenJob) -> Job:
        name, spec = self._named(seen)
        slots = seen.slots or sum(seen.allocation.values())
        if not slots and not seen.unknown:
            self.guessed.append(seen.id)
        asked = (seen.res_req,) if seen.res_req else ()
        res_req, gpu = with_gpu_constraints(asked, " ".join(seen.gpu.split()))
        home = self.domains.known(seen.from_host)
        classes = self.classes or (seen.service_class,)
        printed: dict[str, Any] = {field: getattr(seen, field) for field in _AS_SEEN}
        printed |= {field: getattr(seen, field) or None for field in _LIMITS}
        return Job(
            **printed,
            slots=slots or 1,
            queue=seen.queue or self.base.params.default_queue,
            res_req=res_req,
            run_time=seen.real_run_time,
            cpu_time=seen.cpu_time if seen.status in RUNNING or seen.real_run_time else None,
            submit=self.base.now if seen.submit is None else seen.submit - self.zero,
            begin=None if seen.begin is None else seen.begin - self.zero,
            deadline=None if seen.deadline is None else seen.deadline - self.zero,
            group=seen.group if self.base.groups else "",
            application=seen.application if seen.application in self.names else "",
            from_host=home if home in self.machines else "",
            hosts=self._asked(seen),
            gpu=gpu,
            service_class=seen.service_class if seen.service_class in classes else "",
            aps=StatedPriority.parse(seen.aps) if seen.aps else None,
            name=name,
            array_limit=None if spec is None or "[" not in seen.id else spec.limit,
            dependency=" ".join(seen.dependency.split()),
            queued_as=seen.queued_as and (seen.queued_as[0] - self.zero, seen.queued_as[1]),
        )

    def _asked(self, seen: SeenJob) -> tuple[HostRequest, ...]:
        try:
            return host_requests(seen.hosts.replace("/", " ").replace(",", " "))[0]
        except ValueError as error:
            text = f"job {seen.id}: requested hosts: {error}: omitted"
            self.notes.touch(text, [seen.id] if seen.status in WAITING else ())
            return ()


_some = partial(some, noun=" hosts")
