"""Replay of lsb.events up to an instant: the jobs that exist then, with their states.

Only jobs that are not finished are kept, and the last that have ended, since they may be requeued;
so a log of any length takes the memory of the cluster's busiest moment.

When the hosts of a cluster were there, as lsb.events tells it: changes for a simulation. `badmin
hclose` and `hopen` (HOST_CTRL) close and open a host. The daemon writes how many hosts its
configuration has (MBD_START). Where a log names more, the others came and went - hosts of a cloud,
borrowed hosts: each is there from the first record that names it until its last job has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...changes import CLOSED, OPEN, HostStatus
from ...cluster import Host
from ...configuration import consumers_of
from ...errors import InputError
from ...input_limits import limits
from ...instance import Instance
from ...job import too_many_elements
from ...workload import Workload
from ..finished_jobs import FinishedJob, SlotsInUse
from ..log_lines import BadRecords
from . import log_records as r
from .bhosts import SeenHost
from .bjobs import SeenJob
from .dependencies import same_job, waits
from .values import Remarks, requirement

Key = tuple[int, int]
#: Jobs that have ended and are kept, unless JOB_CLEAN comes first, since they may be requeued.
_MAX_ENDED = 1000


@dataclass(slots=True)
class Logged:
    """One unfinished job."""

    #: State of the job from its records so far.
    job: SeenJob
    #: Since when it is suspended, or None.
    suspended: int | None = None
    #: Seconds it has stood still before.
    idle: int = 0
    #: Copy of the job at the snapshot, until the job ends in the log.
    live: SeenJob | None = None


@dataclass(slots=True)
class HostUse:
    """Current and maximum number of slots in use on a host."""

    #: Number of slots in use at the current record.
    now: int = 0
    #: Largest number of slots in use up to the current record.
    most: int = 0


@dataclass(slots=True)
class Moment:
    """Jobs that ran and waited at `time` (seconds since 1970), and later submissions."""

    #: Instant of the snapshot, in seconds since 1970.
    time: int
    #: Unfinished jobs at that instant.
    jobs: list[SeenJob] = field(default_factory=list)
    #: Jobs submitted after that instant.
    later: list[SeenJob] = field(default_factory=list)
    #: All hosts on which jobs ran, with the maximum number of slots in use; closed hosts in that
    #: state.
    hosts: list[SeenHost] = field(default_factory=list)
    #: Inactive at the time.
    idle_queues: list[str] = field(default_factory=list)
    #: Names of queues that accept no jobs.
    closed_queues: list[str] = field(default_factory=list)
    #: Records of jobs submitted before the log begins.
    unknown: int = 0
    #: CPU factors that the limits of jobs may have been multiplied by, by id.
    factors: dict[str, float] = field(default_factory=dict)
    #: Time of the log's first record.
    first: int | None = None
    #: Time of its last record.
    last: int = 0


class LogReplayer:
    """Takes records in the order of time; see :func:`cut`."""

    def __init__(self, at: int | None, *, later: bool) -> None:
        self.at = at
        self.later = later
        self.jobs: dict[Key, Logged] = {}
        self.arrays: dict[int, set[int]] = {}
        self.ended: dict[Key, Logged] = {}
        self.hosts: dict[str, HostUse] = {}
        self.closed: dict[tuple[str, str], bool] = {}
        self.moment: Moment | None = None
        self.coming: list[SeenJob] = []
        self.unknown = 0
        self.factors: dict[str, float] = {}
        self.first: int | None = None
        self.last = 0

    def take(self, record: r.LogRecord) -> None:
        """Apply the next record."""
        if self.first is None:
            self.first = record.time
        if self.moment is None and self.at is not None and record.time > self.at:
            self.moment = self.freeze(self.at)
        self.last = max(self.last, record.time)
        match record:
            case r.Submitted():
                self._submitted(record)
            case r.Started():
                self._each(record.number, (record.index,), lambda item: self._start(item, record))
            case r.Changed():
                self._changed(record)
            case r.Repositioned():
                self._each(record.number, (record.index,), lambda item: self._move(item, record))
            case r.Modified():
                self._each(record.number, record.elements, lambda item: self._modify(item, record))
            case r.Cleaned():
                self.ended.pop((record.number, record.index), None)
            case r.Resized():
                self._each(record.number, (record.index,), lambda item: self._resize(item, record))
            case r.Controlled():
                self.closed[record.kind, record.name] = not record.open

    def freeze(self, time: int) -> Moment:
        """Take the snapshot now; ends of its jobs are added by later records."""
        for item in self.jobs.values():
            item.live = replace(item.job, allocation=dict(item.job.allocation))
            if item.job.dependency and item.job.status == "PEND":
                item.live.dependent = waits(item.job.dependency, self._unfinished)
                if not item.live.dependent:
                    item.live.dependency = ""
            if item.job.start is not None:
                item.live.run_time = self._ran(item, time)
        return Moment(
            time,
            [item.live for item in self.jobs.values() if item.live],
            idle_queues=sorted(
                n for (kind, n), shut in self.closed.items() if shut and kind == "queue"
            ),
            closed_queues=sorted(
                n for (kind, n), shut in self.closed.items() if shut and kind == "submissions"
            ),
        )

    def result(self) -> Moment:
        """Return the snapshot with all that later records add."""
        moment = self.moment or self.freeze(self.last if self.at is None else self.at)
        for item in self.jobs.values():
            item.live = None
        shut = {name for (kind, name), closed in self.closed.items() if closed and kind == "host"}
        moment.hosts = [
            SeenHost(name, "closed_Adm" if name in shut else "ok", slots=use.most)
            for name, use in sorted(self.hosts.items())
        ]
        moment.later = self.coming
        moment.unknown, moment.first, moment.last = self.unknown, self.first, self.last
        moment.factors = self.factors
        return moment

    def _submitted(self, record: r.Submitted) -> None:
        if record.elements and len(self.jobs) + len(record.elements) > limits().elements:
            raise InputError(f"job {record.number}: {too_many_elements()}")
        for index in record.elements or (0,):
            key = (record.number, index)
            if key in self.jobs:
                continue  # Written again when the log was switched.
            job = replace(record.job, id=f"{record.number}[{index}]" if index else record.job.id)
            self.ended.pop(key, None)  # The number is used again.
            self.jobs[key] = Logged(job)
            if record.factor != 1:
                self.factors[job.id] = record.factor
            if index:
                self.arrays.setdefault(record.number, set()).add(index)
            if self.moment is not None and self.later:
                self.coming.append(job)

    def _modify(self, item: Logged, record: r.Modified) -> None:
        for name, value in record.fields.items():
            setattr(item.job, name, value)
        if "run_limit" in record.fields:  # bmod writes it as it was asked for
            self.factors.pop(item.job.id, None)

    def _each(
        self, number: int, indices: Iterable[int], change: Callable[[Logged], object]
    ) -> None:
        """Change some elements of a job, all of them for ()."""
        keys = [(number, index) for index in indices]
        if not keys:
            keys = [(number, index) for index in sorted(self.arrays.get(number, {0}))]
        known = [self.jobs[key] for key in keys if key in self.jobs]
        self.unknown += not known
        for item in known:
            change(item)

    def _start(self, item: Logged, record: r.Started) -> None:
        self._use(item.job, -1)
        item.job.status = "RUN"
        item.job.start = record.time
        item.job.allocation = record.hosts
        item.suspended, item.idle = None, 0
        self._use(item.job, 1)

    def _move(self, item: Logged, record: r.Repositioned) -> None:
        """Set the position of a pending job within its queue and priority."""
        job = item.job
        alike = (job.queue, job.priority, job.status)
        others = sorted(
            other.job.queued_as or (other.job.submit or 0, 0)
            for other in self.jobs.values()
            if other is not item
            and (other.job.queue, other.job.priority, other.job.status) == alike
        )
        if job.status != "PEND" or not others:
            return
        at = min(record.position, len(others)) - 1
        time, place = others[at] if record.top else others[-1 - at]
        job.queued_as = (time, place - 1 if record.top else place + 1)

    def _resize(self, item: Logged, record: r.Resized) -> None:
        self._use(item.job, -1)
        held = dict(item.job.allocation)
        for host, slots in record.hosts.items():
            held[host] = held.get(host, 0) + record.sign * slots
        item.job.allocation = {host: slots for host, slots in held.items() if slots > 0}
        self._use(item.job, 1)

    def _changed(self, record: r.Changed) -> None:
        key = (record.number, record.index)
        item = self.jobs.get(key) or self._requeued(key, record)
        if item is None:
            # A record after the end (post-execution) changes nothing.
            self.unknown += not record.status & r.ENDED
            return
        if record.cpu_time is not None:
            item.job.cpu_time = record.cpu_time
        if record.status & r.ENDED:
            self._ended(item, record.time)
            self._forget(key)
            self.ended[key] = item
            if len(self.ended) > _MAX_ENDED:
                del self.ended[next(iter(self.ended))]
        elif record.status & (r.PENDING | r.HELD):
            self._use(item.job, -1)
            item.job.status = "PSUSP" if record.status & r.HELD else "PEND"
            item.job.start, item.job.allocation = None, {}
        elif record.status & r.STOPPED and item.suspended is None:
            item.suspended, item.job.status = record.time, "USUSP"
        elif record.status & r.RUNNING and item.suspended is not None:
            item.idle += record.time - item.suspended
            item.suspended, item.job.status = None, "RUN"

    def _requeued(self, key: Key, record: r.Changed) -> Logged | None:
        """Return a job that was requeued after its end, which is written first; None for any
        other.
        """
        if not record.status & (r.PENDING | r.HELD) or key not in self.ended:
            return None
        item = self.ended.pop(key)
        self.jobs[key] = item
        if key[1]:
            self.arrays.setdefault(key[0], set()).add(key[1])
        item.live, item.suspended, item.idle = None, None, 0
        item.job.allocation, item.job.cpu_time, item.job.real_run_time = {}, None, None
        return item

    def _unfinished(self, wanted: str) -> list[str]:
        return [
            item.job.status
            for (number, _), item in self.jobs.items()
            if same_job(wanted, number, item.job.name)
        ]

    def _forget(self, key: Key) -> None:
        del self.jobs[key]
        number, index = key
        if index:
            self.arrays[number].discard(index)
            if not self.arrays[number]:
                del self.arrays[number]

    def _ended(self, item: Logged, time: int) -> None:
        job = item.job
        self._use(job, -1)
        if job.start is not None:
            ran = round(self._ran(item, time))
            job.real_run_time = max(0, ran)
            if item.live is not None:
                item.live.real_run_time = job.real_run_time
                # A job that ran at the snapshot had used its CPU time evenly until then.
                runs = item.live.start is not None
                part = min(1.0, (item.live.run_time or 0) / max(ran, 1)) if runs else 1.0
                item.live.cpu_time = None if job.cpu_time is None else job.cpu_time * part
        job.status = "DONE"

    def _ran(self, item: Logged, time: int) -> float:
        start = item.job.start or time
        stopped = time - item.suspended if item.suspended is not None else 0
        return time - start - item.idle - stopped

    def _use(self, job: SeenJob, sign: int) -> None:
        for host, slots in job.allocation.items():
            use = self.hosts.setdefault(host, HostUse())
            use.now += sign * slots
            use.most = max(use.most, use.now)


def cut(records: Iterable[r.LogRecord], at: int | None, *, later: bool = False) -> Moment:
    """Return the snapshot at `at` (seconds since 1970, None: end of the log).

    later: keep jobs submitted after it too. Later records still give the ends of its jobs.
    """
    follower = LogReplayer(at, later=later)
    for record in records:
        follower.take(record)
    return follower.result()


def settle_limits(moment: Moment, base: Instance | None, notes: Remarks) -> None:
    """Bring the limits of the jobs of a log to seconds, and note what was decided, or open.

    LSF is not known to multiply them by the CPU factor that a record names; the open family does.
    What decides is the family that `base` names, or a RUNLIMIT of its queues beyond which a job
    would not have been submitted.
    """
    jobs = [
        job
        for job in (*moment.jobs, *moment.later)
        if job.id in moment.factors and (job.run_limit or job.cpu_limit)
    ]
    if not jobs:
        return
    factors = ", ".join(f"{factor:g}" for factor in sorted({moment.factors[j.id] for j in jobs}))
    these = f"limits of {len(jobs)} job{'s' if len(jobs) > 1 else ''}"
    shown = _beyond_runlimit(jobs, moment.factors, base)
    if not shown and (base is None or base.params.family == "LSF"):
        notes.touch(
            f"{these} are used as written; their records name a CPU factor ({factors}), by "
            f"which OpenLava and volclava multiply them"
        )
        return
    for job in jobs:
        factor = moment.factors[job.id]
        job.run_limit = None if job.run_limit is None else max(1, round(job.run_limit / factor))
        job.cpu_limit = None if job.cpu_limit is None else max(1, round(job.cpu_limit / factor))
    because = shown or "as the scheduler of the site does"
    notes.append(f"{these} are divided by the CPU factor in their records ({factors}), {because}")


def tell_unread(moment: Moment, bad: BadRecords, notes: Remarks) -> None:
    """Report cells of job records that could not be read, with the jobs that they touch."""
    of: dict[int, list[SeenJob]] = {}
    for job in moment.jobs:
        plain = job.id.partition("[")[0].partition("#")[0]
        if plain.isdigit():
            of.setdefault(int(plain), []).append(job)
    for problem, number in bad.cells:
        jobs = of.get(number, [])
        hosts = tuple(dict.fromkeys(name for job in jobs for name in job.allocation))
        waiting = [job.id for job in jobs if not job.allocation]
        where = f"{problem.source}:{problem.line}"
        if number < 0:
            notes.touch(problem.message, where=where)
        elif hosts:
            notes.touch(problem.message, where=where, hosts=hosts)
        elif waiting:
            notes.touch(problem.message, waiting, where=where)
        else:  # the job has finished or is submitted later
            notes.append(f"{where}: {problem.message}")
    if more := bad.cell_count - len(bad.cells):
        notes.touch(f"{more:,} more cells of the log cannot be read", count=more)


def _beyond_runlimit(
    jobs: Iterable[SeenJob], factors: Mapping[str, float], base: Instance | None
) -> str:
    """Return the evidence that run limits are multiplied by a CPU factor, "" if there is none."""
    most = {} if base is None else {queue.name: queue.run_limit_max for queue in base.queues}
    for job in jobs:
        limit, asked = most.get(job.queue), job.run_limit or 0
        if limit is not None and asked > limit >= asked / factors[job.id]:
            return f"because job {job.id} would otherwise exceed RUNLIMIT of queue {job.queue}"
    return ""


@dataclass(slots=True)
class HostHistory:
    """History of hosts from a log; times in seconds since 1970."""

    #: The first record that names each host, in the order in which they are named.
    first: dict[str, int] = field(default_factory=dict)
    #: When the last job of each host had ended.
    last: dict[str, int] = field(default_factory=dict)
    #: Closing (False) and opening, in order.
    controls: list[tuple[int, str, bool]] = field(default_factory=list)
    #: The most hosts that the daemon's configuration ever had, None if the log does not say.
    configured: int | None = None

    @property
    def passing(self) -> list[str]:
        """Return hosts that are in the log but not in the configuration."""
        return [] if self.configured is None else list(self.first)[self.configured :]

    def changes(self, hosts: Iterable[str], zero: int) -> tuple[HostStatus, ...]:
        """Return the changes of these hosts in seconds from `zero`; earlier ones are at 0."""
        wanted = set(hosts)
        found: list[HostStatus] = []
        for name in self.passing:
            if name not in wanted:
                continue
            if self.first[name] > zero:
                found.append(HostStatus(0, name, CLOSED))
                found.append(HostStatus(self.first[name] - zero, name, OPEN))
            if name in self.last:
                found.append(HostStatus(max(0, self.last[name] - zero), name, CLOSED))
        for time, name, opens in self.controls:
            if name in wanted:
                found.append(HostStatus(max(0, time - zero), name, OPEN if opens else CLOSED))
        return tuple(sorted(found, key=lambda change: change.time))


def host_lives(records: Iterable[r.LogRecord]) -> HostHistory:
    """Return the lives of all hosts of a log, from its records in order."""
    lives = HostHistory()
    running: dict[tuple[int, int], set[str]] = {}
    for record in records:
        match record:
            case r.Started():
                _name(lives, record.hosts, record.time)
                running[record.number, record.index] = set(record.hosts)
            case r.Resized():
                _name(lives, record.hosts, record.time)
                running.setdefault((record.number, record.index), set()).update(record.hosts)
            case r.Changed() if not record.status & (r.RUNNING | r.STOPPED):
                for host in running.pop((record.number, record.index), ()):
                    lives.last[host] = record.time
            case r.Controlled(kind="host"):
                lives.controls.append((record.time, record.name, record.open))
            case r.DaemonStarted():
                lives.configured = max(lives.configured or 0, record.hosts)
    for hosts in running.values():  # jobs that still run at the end of the log
        for host in hosts:
            lives.last.pop(host, None)
    return lives


def _name(lives: HostHistory, hosts: Iterable[str], time: int) -> None:
    for host in hosts:
        lives.first.setdefault(host, time)


def moment_of_acct(jobs: Iterable[FinishedJob], at: int, *, later: bool, hosts: bool) -> Moment:
    """Return the jobs running and waiting at `at` (seconds since 1970) among finished jobs.

    later: include jobs submitted afterwards. hosts: with the most slots that were ever in use
    together on each host, for which every job of the log is kept in memory.
    """
    moment = Moment(at)
    use = SlotsInUse()
    for job in jobs:
        moment.first = job.submit if moment.first is None else min(moment.first, job.submit)
        moment.last = max(moment.last, job.end)
        if hosts and job.start:
            use.add(job)
        if job.submit > at:
            if later and job.start:
                moment.later.append(_seen(job, at))
        elif job.end > at:
            moment.jobs.append(_seen(job, at))
    moment.hosts = [SeenHost(name, slots=most) for name, most in use.most()]
    return moment


def _seen(job: FinishedJob, at: int) -> SeenJob:
    """Return a job that has not ended by `at`; a running one used its CPU time evenly."""
    runs = bool(job.start) and job.start <= at
    return SeenJob(
        id=job.id,
        status="RUN" if runs else "PEND",
        **consumers_of(job),
        from_host=job.from_host,
        slots=sum(job.hosts.values()) or job.slots or 1,
        res_req=requirement(job.res_req),
        submit=job.submit,
        begin=job.begin or None,
        deadline=job.deadline or None,
        start=job.start if runs else None,
        run_limit=job.run_limit,
        real_run_time=job.end - job.start if job.start else None,
        cpu_time=job.cpu_time * (at - job.start) / (job.end - job.start) if runs else job.cpu_time,
        allocation=dict(job.hosts) if runs else {},
    )


def moment_of_swf(
    log: Workload, starts: Mapping[int, int], at: int, hosts: Sequence[Host], *, later: bool
) -> Moment:
    """Return the jobs running and waiting at `at` (seconds of the log), given all starts.

    log: in canonical form. starts: by job number. Running jobs are put on the hosts in the order of
    their starts, each on the first free slots: processors cannot be distinguished.
    """
    moment = Moment(at, first=int(log.submit[0]) if len(log) else None)
    columns = (log.job, log.submit, log.run_time, log.req_time, log.procs, log.user)
    running: list[SeenJob] = []
    for number, submit, run_time, req_time, procs, user in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        start = starts.get(number)
        moment.last = max(moment.last, submit if start is None else start + run_time)
        if (submit > at and not later) or (start is not None and start + run_time <= at):
            continue
        job = SeenJob(
            id=str(number),
            user=f"user{user}" if user >= 0 else "user",
            slots=procs,
            submit=submit,
            run_limit=req_time,
            real_run_time=run_time,
        )
        if submit > at:
            moment.later.append(job)
        elif start is not None and start <= at:
            job.status, job.start = "RUN", start
            running.append(job)
        else:
            moment.jobs.append(job)
    moment.jobs = [*_placed(running, hosts), *moment.jobs]
    return moment


def _placed(running: list[SeenJob], hosts: Sequence[Host]) -> list[SeenJob]:
    free = {host.name: host.slots for host in hosts}
    names = list(free)
    first = 0
    for job in sorted(running, key=lambda job: (job.start or 0, int(job.id))):
        wanted = job.slots or 0
        while wanted and first < len(names):
            name = names[first]
            taken = min(wanted, free[name])
            if taken:
                job.allocation[name] = taken
            free[name] -= taken
            wanted -= taken
            first += not free[name]
    return running
