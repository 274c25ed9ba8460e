"""Recorded workloads as instances of the scheduler loop: SWF and lsb.acct on hosts with slots.

Snapshots of a pool of identical processors as instances. A snapshot is a JSON object of a
whole-processor cluster at one moment: ``log``, ``time``, ``procs``, ``free``; ``running``: ``id``,
``procs``, ``remaining_req_s``, ``remaining_actual_s``; ``queue`` in order of submission: ``id``,
``procs``, ``req_s``, ``run_s``, ``waited_s``. Processors that cannot be distinguished are one host
with that many slots: this is exact, as any free ones do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timezone, tzinfo
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from ..cluster import Cluster, Host
from ..configuration import Params, Queue
from ..errors import InputError, Problem, bounded, report
from ..formats import fields as f
from ..formats import source_text
from ..formats.document import Location, explain, path_text
from ..formats.file_format import Contents, ReadOptions
from ..formats.reading import file_bytes, kind_of, refuse_other
from ..instance import Instance
from ..job import Job, RunningJob
from ..workload import NO_REQUEST, Workload, canonical
from .acct import AcctJobs, read_acct
from .finished_jobs import FinishedJob, SlotsInUse
from .swf import RecordedStarts, SwfJobs, SwfLog, read_swf, with_estimates

NO_HOSTS = (
    "an SWF log has no hosts: give --cluster FILE, or --hosts N where it states its processors "
    "(MaxProcs); `slotwise replay LOG` replays it on one pool of processors"
)


@dataclass(frozen=True, slots=True)
class SwfLogFile:
    """The format of SWF logs on hosts, in the registry."""

    name: str = "swf"
    kind: str = "an SWF log, plain or gzipped"
    takes: frozenset[str] = frozenset(
        {"hosts", "cluster", "keep_going", "default_limit", "estimates"}
    )

    def recognises(self, path: Path) -> bool:
        """Return whether the name or the first lines mark an SWF log."""
        return path.name.endswith((".swf", ".swf.gz")) or kind_of(path) == "swf"

    @bounded("the file")
    def read(self, path: Path, options: ReadOptions) -> Contents:
        """Return the records as future jobs, on the hosts that the options describe."""
        refuse_other(path, "swf")
        if options.hosts is None and options.cluster is None:
            raise InputError(NO_HOSTS)
        if options.hosts is not None and options.cluster is not None:
            raise InputError("give --hosts N or --cluster FILE, not both: each defines the hosts")
        log = read_swf(path, keep_going=options.keep_going, default_limit=options.default_limit)
        log = replace(log, workload=with_estimates(log.workload, options.estimates))
        base = _base_of_swf(log.workload, options.hosts, options.cluster)
        jobs = canonical(log.workload, _slots(base))
        if not len(jobs):
            raise nothing_to_replay(jobs)
        remarks = [f"warning: {line}" for line in report(log.problems)]
        remarks += remarks_on(jobs)
        instance, unknown = _with_jobs(base, jobs, log)
        remarks += unknown
        known = (log.wait >= 0) & np.isin(log.workload.job, jobs.job)
        starts = log.workload.submit[known] + log.wait[known]
        return Contents(instance, tuple(remarks), RecordedStarts(log.workload.job[known], starts))


@dataclass(frozen=True, slots=True)
class AcctLogFile:
    """The format of lsb.acct, in the registry."""

    name: str = "acct"
    kind: str = "lsb.acct, plain or gzipped"
    takes: frozenset[str] = frozenset({"cluster", "keep_going"})

    def recognises(self, path: Path) -> bool:
        """Return whether the file is named like lsb.acct or begins like one."""
        return path.name.startswith("lsb.acct") or kind_of(path) == "acct"

    @bounded("the file")
    def read(self, path: Path, options: ReadOptions) -> Contents:
        """Return the finished jobs as future jobs, on the given cluster or the recorded hosts."""
        log = read_acct(path, keep_going=options.keep_going)
        found = from_acct(log.jobs, cluster=options.cluster)
        remarks = log.remarks
        remarks += _left_out(found.left_out)
        return Contents(found.instance, tuple(remarks), found.recorded, of_lsf=True)


def _left_out(counts: Mapping[str, int]) -> Iterator[str]:
    return (f"left out {count} × {reason}" for reason, count in counts.items())


def remarks_on(log: Workload) -> tuple[str, ...]:
    """Return what was repaired, filled in and skipped in a log, a line each."""
    return (*(f"{count} × {note}" for note, count in log.notes.items()), *_left_out(log.left_out))


def nothing_to_replay(log: Workload) -> InputError:
    """Return the error for a log without a job that can be replayed, with a remedy."""
    why = "; ".join(_left_out(log.left_out)) or "the log has no jobs"
    if NO_REQUEST in log.left_out:
        why += "; --default-limit 12h (or 2x, twice the run time) stands in for requested times"
    return InputError([Problem(f"no job of the log can be replayed: {why}", log.source)])


def hosts_of_slots(count: int, slots: int) -> tuple[Host, ...]:
    """Return `count` equal hosts."""
    width = len(str(count))
    return tuple(Host(f"h{number:0{width}d}", slots) for number in range(1, count + 1))


def from_swf(
    workload: Workload, *, hosts: int | None = None, cluster: Instance | None = None
) -> Instance:
    """Return an SWF log as future jobs: slots are the processors, run limits the requested times.

    hosts: number of equal hosts among which the log's processors are divided. cluster: an instance
    whose hosts, queues and parameters to use instead; its jobs are ignored. Records that no such
    cluster can run are skipped and counted as :func:`slotwise.model.workload.canonical` does.
    Raises InputError if neither is given, or if the log has no number of processors.
    """
    base = _base_of_swf(workload, hosts, cluster)
    return _with_jobs(base, canonical(workload, _slots(base)), None)[0]


def _base_of_swf(workload: Workload, hosts: int | None, cluster: Instance | None) -> Instance:
    return cluster or plain_hosts(hosts, workload.max_procs)


def _slots(instance: Instance) -> int:
    return sum(host.slots for host in instance.cluster.hosts)


def _with_jobs(base: Instance, log: Workload, file: SwfLog | None) -> tuple[Instance, list[str]]:
    """Return the jobs of a log as future jobs in their queues, with notes.

    A queue of the log is the site's queue with the name that the header gives its number, or with
    that number as name; other jobs are in the default queue.
    """
    default = base.params.default_queue
    if default not in {item.name for item in base.queues}:
        default = base.queues[0].name
    known = {item.name.lower(): item.name for item in base.queues}
    names = {} if file is None else file.queues
    queues, remarks = {}, []
    for number, count in zip(*np.unique(log.queue, return_counts=True), strict=True):
        called = names.get(int(number), "")
        name = known.get(called.lower()) or known.get(str(number))
        if name is not None:
            queues[int(number)] = name
        elif number >= 0 and (len(base.queues) > 1 or len(np.unique(log.queue)) > 1):
            title = f"{number} ({called})" if called else str(number)
            remarks.append(f"the site has no queue {title}: {count} jobs of the log use {default}")
    jobs = SwfJobs(log, queues, default)
    now = jobs[0].submit if jobs else 0
    origin = base.origin
    if file is not None and file.origin is not None:
        says_zone = not {"TimeZone", "TimeZoneString"}.isdisjoint(log.header)
        zone = file.origin.tzinfo if says_zone else _zone(base)
        origin = file.origin.astimezone(zone).isoformat()
    made = replace(base, running=(), pending=(), future=jobs, now=now, origin=origin)
    return replace(made, name=log.source), remarks


def plain_hosts(hosts: int | None, procs: int | None) -> Instance:
    """Return `procs` processors divided among `hosts` hosts with one queue that allows backfill.

    Raises InputError if one is missing, or if there are more hosts than processors.
    """
    if hosts is None or procs is None:
        raise InputError(NO_HOSTS)
    if hosts < 1 or hosts > procs:
        raise InputError(f"--hosts {hosts}: must be 1 to {procs}, the processors of the log")
    each, more = divmod(procs, hosts)
    uneven = tuple(
        replace(host, slots=each + 1) if number < more else host
        for number, host in enumerate(hosts_of_slots(hosts, each))
    )
    queue = Queue("normal", backfill=True)
    return Instance(Cluster(uneven), queues=(queue,), params=Params(default_queue="normal"))


#: Omission for jobs of lsb.acct and lsb.events if the cluster has GPUs.
GPUS_OF_LOGS = "-gpu of a job, which is not read from the log"


@dataclass(frozen=True, slots=True)
class AcctReplay:
    """Finished jobs as jobs to come."""

    instance: Instance
    #: Real starts of the jobs, by id.
    recorded: Mapping[str, int] = field(default_factory=dict)
    #: Number of omitted jobs by reason.
    left_out: Mapping[str, int] = field(default_factory=dict)


def from_acct(jobs: Sequence[FinishedJob], *, cluster: Instance | None = None) -> AcctReplay:
    """Return finished jobs of lsb.acct as future jobs; second 0 is the first submission.

    cluster: an instance whose hosts, queues and parameters to use. Without it, the hosts are those
    on which the jobs ran, each with the maximum of slots ever in use; requirements keep the parts
    that such hosts can meet (:func:`.hostless`). Raises InputError if no job ever started.
    """
    log = AcctJobs.of(jobs, cluster=cluster)
    if not log:
        raise InputError("no job of these records ever started: give a log of jobs that started")
    base = cluster or _seen(log.records())
    queues = {queue.name for queue in base.queues}
    unknown = sorted({job.queue for job in log.records()} - queues)
    if unknown:
        base = replace(base, queues=(*base.queues, *(Queue(name) for name in unknown)))
    if not queues and unknown:
        base = replace(base, params=replace(base.params, default_queue=unknown[0]))
    left_out: Counter[str] = Counter()
    for text, count in log.unreadable.items():
        left_out[f"job whose requirement cannot be read: {text}"] = count
    if never := len(jobs) - len(log) - log.unreadable.total():
        left_out["job that never started"] = never
    if any(host.gpu_count for host in base.cluster.hosts):
        left_out[GPUS_OF_LOGS] = len(log)
    because = " (host resources are unknown without --cluster)" if cluster is None else ""
    for gone in log.passed_over():
        left_out.update(f"{name}{because}" for name in gone)
    origin = datetime.fromtimestamp(log.zero, _zone(cluster)).isoformat()
    instance = replace(base, running=(), pending=(), future=log, now=0, origin=origin)
    return AcctReplay(instance, log.recorded_starts(), dict(left_out))


def _zone(cluster: Instance | None) -> tzinfo:
    """Return the zone of the cluster's stamps, in which its windows open; UTC if it has none."""
    if cluster is None or cluster.origin is None:
        return UTC
    offset = datetime.fromisoformat(cluster.origin).utcoffset()
    return UTC if offset is None else timezone(offset)


def _seen(jobs: Iterable[FinishedJob]) -> Instance:
    """Return hosts as the records show them: slots are the maximum in use."""
    use = SlotsInUse()
    for job in jobs:
        use.add(job)
    return Instance(Cluster(tuple(Host(name, most) for name, most in use.most())), queues=())


#: Name of the one host.
POOL = "pool"


class _Entry(BaseModel):
    id: f.JobId
    procs: f.Count


class _RunningEntry(_Entry):
    remaining_req_s: f.Count
    remaining_actual_s: f.CountOrNone


class _WaitingEntry(_Entry):
    req_s: f.Count
    run_s: f.CountOrNone
    waited_s: f.CountOrNone


class _Snapshot(BaseModel):
    procs: f.Count
    free: f.CountOrNone | None = None
    running: list[_RunningEntry]
    queue: list[_WaitingEntry]


def _contradictions(snapshot: _Snapshot) -> Iterator[tuple[Location, str]]:
    """Yield ids that are given twice, and running jobs and free processors beyond the machine."""
    seen: set[str] = set()
    for section in ("running", "queue"):
        for index, item in enumerate(getattr(snapshot, section)):
            if item.id in seen:
                said = f"job {item.id} is already defined: give each job its own id"
                yield (section, index, "id"), said
            seen.add(item.id)
    used = sum(item.procs for item in snapshot.running)
    left = snapshot.procs - used
    if left < 0:
        said = f"must use at most {snapshot.procs} processors (procs), not {used}"
        yield ("running",), said
    elif snapshot.free not in (None, left):
        yield ("free",), f"must be {left}, as the running jobs use the others, not {snapshot.free}"


def load_pool(source: str | Path) -> Instance:
    """Read a snapshot file; InputError with all problems."""
    path = Path(source)
    try:
        return from_snapshot(
            source_text.parse(_text(path, str(source)), str(source), json_text=True),
            path.stem,
            str(source),
        )
    except InputError:
        if kind_of(path) != "instance":  # the reader has a better word for that
            refuse_other(path, "pool")
        raise


def _text(path: Path, source: str) -> str:
    try:
        return file_bytes(path, source).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError([Problem("must be UTF-8 text: save the file as UTF-8", source)]) from None


def from_snapshot(data: Any, name: str = "", source: str = "") -> Instance:
    """Return the instance of a snapshot's data.

    A running job is taken to start now with what remains of its request; its real remainder and
    the real run times of the queue are kept for simulation (``run_time``). Second 0 is the moment
    of the snapshot.
    """
    if not isinstance(data, Mapping):
        wrong = "must be a snapshot: an object with procs, running, queue"
        raise InputError([Problem(wrong, source)])
    if "format" in data and "hosts" in data:
        raise InputError([Problem("is already an instance: use it without conversion", source)])
    try:
        read = _Snapshot.model_validate(data)
    except ValidationError as error:
        found = [(finding.place, finding.message) for finding in explain(error, _Snapshot)]
    else:
        found = list(_contradictions(read))
    if found:
        raise InputError(Problem(said, source, path=path_text(place)) for place, said in found)
    running = [
        RunningJob(
            Job(
                item.id,
                slots=item.procs,
                run_limit=item.remaining_req_s,
                run_time=item.remaining_actual_s,
            ),
            start=0,
            allocation={POOL: item.procs},
        )
        for item in read.running
    ]
    pending = [
        Job(
            item.id,
            slots=item.procs,
            run_limit=item.req_s,
            run_time=item.run_s,
            submit=-item.waited_s,
        )
        for item in read.queue
    ]
    return Instance(
        Cluster((Host(POOL, read.procs),)),
        queues=(Queue("default", backfill=True),),
        running=tuple(running),
        pending=tuple(pending),
        name=name,
        description=_description(data, read.procs, len(running), len(pending)),
    )


def _description(data: Mapping[str, Any], processors: int, running: int, pending: int) -> str:
    moment = f" at second {data['time']} of the log" if "time" in data else ""
    return (
        f"A real queue of {data.get('log', 'a log')}{moment}: {pending} jobs wait behind {running} "
        f"running ones on {processors} processors, any of which will do."
    )


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """The format of snapshots of a pool, in the registry."""

    name: str = "pool"
    kind: str = "a queue snapshot of a pool of identical processors, JSON"
    takes: frozenset[str] = frozenset()

    def recognises(self, path: Path) -> bool:
        """Return whether the data are a JSON object with processors and without a format."""
        return kind_of(path) == "pool"

    @bounded("the file")
    def read(self, path: Path, options: ReadOptions) -> Contents:
        """Return the processors as one host with as many slots."""
        return Contents(load_pool(path))
