"""Recorded workloads as instances of the scheduler loop: SWF and lsb.acct on hosts with slots."""

from __future__ import annotations

import reprlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timezone, tzinfo
from pathlib import Path
from typing import Any

import numpy as np

from ..cluster import Cluster, Host
from ..configuration import Params, Queue
from ..errors import InputError, Problem, bounded, report
from ..formats import source_text
from ..formats.file_format import Contents, ReadOptions
from ..formats.reading import file_bytes, kind_of, refuse_other
from ..instance import Instance
from ..job import Job, RunningJob
from ..workload import NO_REQUEST, Workload, canonical
from .acct import AcctJobs, read_acct
from .finished_jobs import FinishedJob
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
            raise InputError("give --hosts N or --cluster FILE, not both: either says the hosts")
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
    why = "; ".join(_left_out(log.left_out)) or "it holds none"
    if NO_REQUEST in log.left_out:
        why += "; --default-limit 12h (or 2x, twice the run time) stands in for requested times"
    return InputError([Problem(f"no job of this log can be replayed: {why}", log.source)])


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
            remarks.append(f"queue {title} of the log is not the site's: {count} jobs in {default}")
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
GPUS_OF_LOGS = "-gpu of a job, which the log is not read for"


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
        raise InputError("no job of these records ever started: there is nothing to replay")
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
    because = " (no --cluster gives the hosts' resources)" if cluster is None else ""
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
    changes: dict[str, tuple[array[int], array[int]]] = {}
    for job in jobs:
        for host, slots in job.hosts.items():
            times, more = changes.setdefault(host, (array("q"), array("q")))
            times.extend((job.start, job.end))
            more.extend((slots, -slots))
    hosts = []
    for name in sorted(changes):
        when, more_then = (np.array(column, dtype=np.int64) for column in changes[name])
        in_use = np.cumsum(more_then[np.lexsort((more_then, when))])
        hosts.append(Host(name, int(max(in_use.max(), more_then.max()))))
    return Instance(Cluster(tuple(hosts)), queues=())


# Snapshots of a pool of identical processors as instances.
#
# A snapshot is a JSON object of a whole-processor cluster at one moment: ``log``, ``time``,
# ``procs``, ``free``; ``running``: ``id``, ``procs``, ``remaining_req_s``, ``remaining_actual_s``;
# ``queue`` in order of submission: ``id``, ``procs``, ``req_s``, ``run_s``, ``waited_s``.
# Processors that cannot be distinguished are one host with that many slots: this is exact, as any
# free ones do.


#: Name of the one host.
POOL = "pool"


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
        raise InputError([Problem("is not UTF-8 text", source)]) from None


def from_snapshot(data: Any, name: str = "", source: str = "") -> Instance:
    """Return the instance of a snapshot's data.

    A running job is taken to start now with what remains of its request; its real remainder and
    the real run times of the queue are kept for simulation (``run_time``). Second 0 is the moment
    of the snapshot.
    """
    reader = _PoolReader(source)
    if not isinstance(data, Mapping):
        raise InputError(
            [Problem("must be a snapshot: an object with procs, running, queue", source)]
        )
    reader.snapshot(data)
    processors = reader.number(data, "procs", 1)
    running = [
        RunningJob(
            Job(
                reader.identity(entry, place),
                slots=slots,
                run_limit=reader.number(entry, "remaining_req_s", 1, place),
                run_time=reader.number(entry, "remaining_actual_s", 0, place),
            ),
            start=0,
            allocation={POOL: slots},
        )
        for place, entry in reader.entries(data, "running")
        if (slots := reader.number(entry, "procs", 1, place))
    ]
    pending = [
        Job(
            reader.identity(entry, place),
            slots=reader.number(entry, "procs", 1, place),
            run_limit=reader.number(entry, "req_s", 1, place),
            run_time=reader.number(entry, "run_s", 0, place),
            submit=-reader.number(entry, "waited_s", 0, place),
        )
        for place, entry in reader.entries(data, "queue")
    ]
    reader.capacity(data, processors, sum(item.slots for item in running))
    reader.finish()
    return Instance(
        Cluster((Host(POOL, processors),)),
        queues=(Queue("default", backfill=True),),
        running=tuple(running),
        pending=tuple(pending),
        name=name,
        description=_description(data, processors, len(running), len(pending)),
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


class _PoolReader:
    """Takes numbers out of the data and remembers what is wrong."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self._seen: set[str] = set()

    def _problem(self, path: str, message: str) -> None:
        self._problems.append(Problem(message, self._source, path=path))

    def snapshot(self, data: Mapping[str, Any]) -> None:
        """Check that data are a snapshot; raises InputError."""
        if "format" in data and "hosts" in data:
            self._problem("", "is an instance already, no snapshot: use it as it is")
        else:
            for key in ("procs", "running", "queue"):
                if key not in data:
                    self._problem(key, "is missing: a snapshot has procs, running and queue")
        self.finish()

    def number(self, data: Mapping[str, Any], key: str, least: int, place: str = "") -> int:
        """Return a whole number of `least` or more; `least` if it is invalid."""
        value = data.get(key)
        if type(value) is int and least <= value < 10**12:
            return value
        wanted = f"must be a whole number of {least} or more"
        message = f"is missing: {wanted}" if key not in data else f"{wanted}, not {value!r}"
        self._problem(f"{place}.{key}" if place else key, message)
        return least

    def identity(self, entry: Mapping[str, Any], place: str) -> str:
        """Return the id of a job as text; a repeated id is an error."""
        value = entry.get("id")
        if type(value) not in (int, str) or not str(value):
            self._problem(f"{place}.id", f"must be a job's id, not {value!r}")
            return place
        if str(value) in self._seen:
            self._problem(
                f"{place}.id", f"there is a job {value} already: give each job an id of its own"
            )
        self._seen.add(str(value))
        return str(value)

    def entries(self, data: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the objects of a list with their places."""
        value = data.get(key)
        if not isinstance(value, list):
            self._problem(key, f"must be a list of jobs, not {reprlib.repr(value)}")
            return []
        found: list[tuple[str, Mapping[str, Any]]] = []
        for index, entry in enumerate(value):
            if isinstance(entry, Mapping):
                found.append((f"{key}[{index}]", entry))
            else:
                self._problem(f"{key}[{index}]", f"must be an object, not {entry!r}")
        return found

    def capacity(self, data: Mapping[str, Any], processors: int, used: int) -> None:
        """Check that running jobs and free processors add up to the machine, if they could be
        read.
        """
        if self._problems:
            return
        free = data.get("free", processors - used)
        if used > processors:
            self._problem(
                "running", f"must use at most {processors} processors (procs), not {used}"
            )
        elif free != processors - used:
            self._problem(
                "free", f"must be {processors - used}, what the running jobs leave, not {free!r}"
            )

    def finish(self) -> None:
        """Raise InputError if anything was invalid."""
        if self._problems:
            raise InputError(self._problems)
