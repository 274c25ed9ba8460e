"""Recorded workloads as instances of the scheduler loop: SWF and lsb.acct on hosts with slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timezone, tzinfo
from pathlib import Path

from ..cluster import Cluster, Host
from ..errors import InputError, report
from ..instance import Instance
from ..job import Job
from ..params import Params
from ..queue import Queue
from ..resreq.hostless import hostless
from ..workload import Workload, canonical
from .acct import read_acct
from .file_format import Contents, ReadOptions
from .finished_jobs import FinishedJob
from .sniff import kind_of, refuse_other
from .swf import read_swf

NO_HOSTS = (
    "an SWF log has no hosts: give --cluster FILE, or --hosts N where it states its processors "
    "(MaxProcs); `slotwise replay LOG` replays it on one pool of processors"
)


@dataclass(frozen=True, slots=True)
class SwfLogFile:
    """SWF on hosts, for the registry."""

    name: str = "swf"
    kind: str = "an SWF log, plain or gzipped"
    takes: frozenset[str] = frozenset({"hosts", "cluster", "keep_going"})

    def recognises(self, path: Path) -> bool:
        """By its name, or by its first lines."""
        return path.name.endswith((".swf", ".swf.gz")) or kind_of(path) == "swf"

    def read(self, path: Path, options: ReadOptions) -> Contents:
        """The records as jobs to come, on the hosts that the options say."""
        refuse_other(path, "swf")
        if options.hosts is None and options.cluster is None:
            raise InputError(NO_HOSTS)
        if options.hosts is not None and options.cluster is not None:
            raise InputError("give --hosts N or --cluster FILE, not both: either says the hosts")
        log = read_swf(path, keep_going=options.keep_going)
        instance = from_swf(log.workload, hosts=options.hosts, cluster=options.cluster)
        remarks = [f"warning: {line}" for line in report(log.problems)]
        remarks += _left_out(left_out_of_swf(log.workload, instance))
        waits = log.waits
        recorded = {
            job.id: job.submit + waits[int(job.id)]
            for job in instance.future
            if int(job.id) in waits
        }
        return Contents(instance, tuple(remarks), recorded)


@dataclass(frozen=True, slots=True)
class AcctLogFile:
    """lsb.acct, for the registry."""

    name: str = "acct"
    kind: str = "lsb.acct, plain or gzipped"
    takes: frozenset[str] = frozenset({"cluster", "keep_going"})

    def recognises(self, path: Path) -> bool:
        """As LSF names its accounting records, or as they begin."""
        return path.name.startswith("lsb.acct") or kind_of(path) == "acct"

    def read(self, path: Path, options: ReadOptions) -> Contents:
        """The finished jobs as jobs to come, on the cluster given or on the hosts they ran on."""
        log = read_acct(path, keep_going=options.keep_going)
        found = from_acct(log.jobs, cluster=options.cluster)
        remarks = [f"warning: {line}" for line in report(log.problems)]
        remarks += [
            f"passed over {count} {kind} records" for kind, count in log.passed_over.items()
        ]
        remarks += _left_out(found.left_out)
        return Contents(found.instance, tuple(remarks), found.recorded, of_lsf=True)


def _left_out(counts: Mapping[str, int]) -> Iterator[str]:
    return (f"left out {count} × {reason}" for reason, count in counts.items())


def hosts_of_slots(count: int, slots: int, prefix: str = "h") -> tuple[Host, ...]:
    """`count` equal hosts."""
    width = len(str(count))
    return tuple(Host(f"{prefix}{number:0{width}d}", slots) for number in range(1, count + 1))


def from_swf(
    workload: Workload, *, hosts: int | None = None, cluster: Instance | None = None
) -> Instance:
    """An SWF log as jobs to come: slots are the processors, run limits the requested times.

    hosts: over how many equal hosts the log's processors are spread. cluster: an instance whose
    hosts, queues and parameters to take instead; its own jobs are left out. Records that no such
    cluster can run are left out and counted as :func:`slotwise.model.workload.canonical` does.
    Raises InputError if neither is given, or the log does not say how many processors there are.
    """
    base = cluster or plain_hosts(hosts, workload.max_procs)
    slots = sum(host.slots for host in base.cluster.hosts)
    log = canonical(workload, slots)
    queue = base.params.default_queue
    names = {item.name for item in base.queues}
    if queue not in names:
        queue = base.queues[0].name
    jobs = tuple(
        Job(
            id=str(number),
            slots=procs,
            user=f"user{user}" if user >= 0 else "user",
            queue=queue,
            run_limit=req_time,
            run_time=run_time,
            submit=submit,
        )
        for number, submit, run_time, req_time, procs, user in zip(
            *(column.tolist() for column in _columns(log)), strict=True
        )
    )
    now = jobs[0].submit if jobs else 0
    return replace(base, running=(), pending=(), future=jobs, now=now, name=workload.source)


def left_out_of_swf(workload: Workload, instance: Instance) -> dict[str, int]:
    """What :func:`from_swf` left out for these hosts, by reason."""
    slots = sum(host.slots for host in instance.cluster.hosts)
    return dict(canonical(workload, slots).left_out)


def _columns(log: Workload):  # type: ignore[no-untyped-def]
    return (log.job, log.submit, log.run_time, log.req_time, log.procs, log.user)


def plain_hosts(hosts: int | None, procs: int | None) -> Instance:
    """`procs` processors spread over `hosts` hosts with one queue that allows backfill.

    Raises InputError where one is missing, or there are more hosts than processors.
    """
    if hosts is None or procs is None:
        raise InputError(NO_HOSTS)
    if hosts < 1 or hosts > procs:
        raise InputError(f"--hosts {hosts}: must be 1 to {procs}, the processors of the log")
    each, more = divmod(procs, hosts)
    names = hosts_of_slots(hosts, each)
    uneven = tuple(
        replace(host, slots=each + 1) if number < more else host
        for number, host in enumerate(names)
    )
    queue = Queue("normal", backfill=True)
    return Instance(Cluster(uneven), queues=(queue,), params=Params(default_queue="normal"))


@dataclass(frozen=True, slots=True)
class AcctReplay:
    """Finished jobs as jobs to come. recorded: their real starts. left_out: by reason, how many."""

    instance: Instance
    recorded: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def from_acct(jobs: Iterable[FinishedJob], *, cluster: Instance | None = None) -> AcctReplay:
    """Finished jobs of lsb.acct as jobs to come; second 0 is the first submission.

    cluster: an instance whose hosts, queues and parameters to take. Without it the hosts are those
    on which the jobs ran, each with as many slots as were ever in use there at once; of
    requirements that part is kept which such hosts can meet (:mod:`..resreq.hostless`).
    Raises InputError where no job ever started.
    """
    left_out: Counter[str] = Counter()
    kept: list[FinishedJob] = []
    for job in jobs:
        if job.start and job.hosts:
            kept.append(job)
        else:
            left_out["job that never started"] += 1
    if not kept:
        raise InputError("no job of these records ever started: there is nothing to replay")
    kept.sort(key=lambda job: job.submit)
    base = cluster or _seen(kept)
    zero = kept[0].submit
    queues = {queue.name for queue in base.queues}
    unknown = sorted({job.queue for job in kept} - queues)
    if unknown:
        base = replace(base, queues=(*base.queues, *(Queue(name) for name in unknown)))
    if not queues and unknown:
        base = replace(base, params=replace(base.params, default_queue=unknown[0]))
    future = []
    for job in kept:
        asks: tuple[str, ...] = (job.res_req,) if job.res_req else ()
        if cluster is None and asks:
            asks, gone = _asks_of_plain_hosts(job)
            left_out.update(f"{name} (no --cluster gives the hosts' resources)" for name in gone)
        future.append(_job(job, zero, asks, "" if cluster is None else job.application))
    origin = datetime.fromtimestamp(zero, _zone(cluster)).isoformat()
    instance = replace(base, running=(), pending=(), future=tuple(future), now=0, origin=origin)
    recorded = {job.id: job.start - zero for job in kept}
    return AcctReplay(instance, recorded, dict(left_out))


def _zone(cluster: Instance | None) -> tzinfo:
    """The zone of the cluster's own stamps, whose windows open by it; UTC where it has none."""
    if cluster is None or cluster.origin is None:
        return UTC
    offset = datetime.fromisoformat(cluster.origin).utcoffset()
    return UTC if offset is None else timezone(offset)


def _asks_of_plain_hosts(job: FinishedJob) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The requirement without what hosts of a log do not have, and the sections that go."""
    text, gone = hostless(job.res_req, sum(job.hosts.values()))
    names = tuple("unreadable requirement" if n == "unreadable" else f"{n}[]" for n in gone)
    return (text,) if text else (), names


def _job(job: FinishedJob, zero: int, asks: tuple[str, ...], application: str) -> Job:
    return Job(
        id=job.id,
        slots=max(1, sum(job.hosts.values())),
        user=job.user,
        queue=job.queue,
        project=job.project,
        res_req=asks,
        run_limit=job.run_limit,
        run_time=job.end - job.start,
        cpu_time=job.cpu_time,
        submit=job.submit - zero,
        begin=job.begin - zero if job.begin else None,
        application=application,
    )


def _seen(jobs: Iterable[FinishedJob]) -> Instance:
    """Hosts as the records show them: slots by the most that were in use at once."""
    changes: dict[str, list[tuple[int, int]]] = {}
    for job in jobs:
        for host, slots in job.hosts.items():
            changes.setdefault(host, []).extend(((job.start, slots), (job.end, -slots)))
    hosts = []
    for name in sorted(changes):
        used = most = 0
        for _, slots in sorted(changes[name]):
            used += slots
            most = max(most, used)
        largest = max(slots for _, slots in changes[name])
        hosts.append(Host(name, max(most, largest)))
    return Instance(Cluster(tuple(hosts)), queues=())
