"""Queues, users, limits and parameters: lsb.queues, lsb.users, lsb.resources, lsb.params."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from .absolute_priority import AbsolutePriority
from .cluster import Host, Thresholds
from .facts import Fact
from .job import DEFAULT_LARGEST, HostRequest, Job


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue (lsb.queues), under Python names; docs/instances.md has LSF's own."""

    name: Annotated[str, Fact("new_name", aka=("QUEUE_NAME",))]
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 1
    #: HOSTS, empty for all.
    hosts: Annotated[
        tuple[HostRequest, ...], Fact("queue_hosts", "HOSTS", also=("excluded_hosts",))
    ] = ()
    excluded_hosts: tuple[str, ...] = ()
    users: Annotated[tuple[str, ...], Fact("words", "USERS")] = ()
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    resrsv_limit: Annotated[Mapping[str, tuple[float, float]], Fact("bounds", "RESRSV_LIMIT")] = (
        field(default_factory=dict)
    )
    #: RUNLIMIT's default, run_limit_max: its maximum, cpu_limit: CPULIMIT (seconds).
    run_limit: Annotated[int | None, Fact("run_limit", "RUNLIMIT", also=("run_limit_max",))] = None
    run_limit_max: int | None = None
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    #: ESTIMATED_RUNTIME (seconds), how long its jobs are expected to run.
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: PROCLIMIT (min, default, max).
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    backfill: Annotated[bool, Fact("flag", "BACKFILL")] = False
    #: Dispatch cycles for which slots are held (MAX_RESERVE_TIME[n]), None where not set.
    slot_reserve: Annotated[int | None, Fact("cycles", "SLOT_RESERVE")] = None
    #: The same of memory and the slots beside it.
    resource_reserve: Annotated[int | None, Fact("cycles", "RESOURCE_RESERVE")] = None
    #: "N", "Y" or "CU[type]".
    exclusive: Annotated[str, Fact("exclusive", "EXCLUSIVE")] = "N"
    #: Slots of all its jobs together.
    queue_slots: Annotated[int | None, Fact("count", "QJOB_LIMIT")] = None
    #: Slots of one user's jobs.
    user_slots: Annotated[int | None, Fact("count", "UJOB_LIMIT")] = None
    #: Slots on a host for each of its processors.
    processor_slots: Annotated[float | None, Fact("amount", "PJOB_LIMIT")] = None
    #: Slots on one host, whatever its processors.
    host_slots: Annotated[int | None, Fact("count", "HJOB_LIMIT")] = None
    thresholds: Annotated[Thresholds, Fact("thresholds")] = Thresholds()
    dispatch_window: Annotated[str, Fact("windows", "DISPATCH_WINDOW")] = ""
    run_window: Annotated[str, Fact("windows", "RUN_WINDOW")] = ""
    #: A job also starts where -t, or the end of the run window, would end its run early.
    ignore_deadline: Annotated[bool, Fact("flag", "IGNORE_DEADLINE")] = False
    job_accept_interval: Annotated[int | None, Fact("count", "JOB_ACCEPT_INTERVAL")] = None
    #: FAIRSHARE = USER_SHARES[…] pairs; None for first come, first served.
    user_shares: Annotated[tuple[tuple[str, int], ...] | None, Fact("shares", "FAIRSHARE")] = None
    #: Queues whose jobs it orders beside its own (cross-queue fairshare).
    fairshare_queues: Annotated[tuple[str, ...], Fact("words", "FAIRSHARE_QUEUES")] = ()
    #: "QUEUE" where these queues are served by their priority, "" for by the shares alone.
    dispatch_order: Annotated[str, Fact("dispatch_order", "DISPATCH_ORDER")] = ""
    #: APS_PRIORITY, the formula by which its pending jobs, and those of the queues of QUEUE_GROUP,
    #: stand in one order; None if the queue decides.
    aps_priority: Annotated[AbsolutePriority | None, Fact("aps_formula", "APS_PRIORITY")] = None
    queue_group: Annotated[tuple[str, ...], Fact("words", "QUEUE_GROUP")] = ()
    #: Its percentage of the slots of its pool (queue-based fairshare).
    slot_share: Annotated[float | None, Fact("percent", "SLOT_SHARE")] = None
    #: Name of that pool, "" where it belongs to none.
    slot_pool: Annotated[str, Fact("name", "SLOT_POOL")] = ""
    max_slots_in_pool: Annotated[int | None, Fact("count", "MAX_SLOTS_IN_POOL")] = None
    use_priority_in_pool: Annotated[bool, Fact("flag", "USE_PRIORITY_IN_POOL")] = False
    #: CPU_TIME_FACTOR … that override the cluster's.
    factors: Annotated[Mapping[str, float], Fact("factors")] = field(default_factory=dict)
    #: Queues of lower priority whose jobs it may preempt; ("*",) for all, None for none.
    preemptive: Annotated[
        tuple[str, ...] | None, Fact("preemption", "PREEMPTION", also=("preemptable",))
    ] = None
    #: Queues of higher priority whose jobs may preempt its own; ("*",) for all, None for none.
    preemptable: tuple[str, ...] | None = None
    chunk_job_size: Annotated[int | None, Fact("count", "CHUNK_JOB_SIZE")] = None
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""
    #: SLA_GUARANTEES_IGNORE: its jobs see no guarantees.
    ignores_guarantees: Annotated[bool, Fact("flag", "SLA_GUARANTEES_IGNORE")] = False
    #: False where badmin qinact keeps its jobs from starting.
    active: Annotated[bool, Fact("boolean")] = True
    #: False where badmin qclose has it take no jobs; those that wait there still start.
    open: Annotated[bool, Fact("boolean")] = True
    #: GPU_REQ.
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""

    @property
    def holds_memory(self) -> bool:
        """Whether reservations of the queue hold memory with the slots (MEM-01, MEM-05)."""
        return self.resource_reserve is not None or self.slot_reserve is None

    @property
    def reserve_cycles(self) -> int | None:
        """Dispatch cycles that a reservation may be held; RESOURCE_RESERVE wins (MEM-05)."""
        return self.resource_reserve if self.resource_reserve is not None else self.slot_reserve


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group: members are users or groups; user_shares makes it a share tree (FSH-10)."""

    name: str
    members: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...] = ()
    #: PRIORITY, what it counts as UG of an absolute priority.
    priority: int = 0


@dataclass(frozen=True, slots=True)
class User:
    """Limits of one user or group: MAX_JOBS (slots), JL/P (slots per processor)."""

    name: Annotated[str, Fact("name", aka=("USER_NAME",))]
    max_slots: Annotated[int | None, Fact("count", "MAX_JOBS")] = None
    processor_slots: Annotated[float | None, Fact("amount", "JL/P")] = None
    #: What a job of the user counts as USER of an absolute priority.
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 0


@dataclass(frozen=True, slots=True)
class HostPartition:
    """A host partition with its shares (FSH-08)."""

    name: str
    hosts: tuple[str, ...]
    user_shares: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """Members that a limit covers: names, whether each has a limit of its own (PER_*), ``~`` names.

    names ("all",) covers everyone.
    """

    names: tuple[str, ...]
    each: bool = False
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """One Limit section."""

    name: str
    #: Resource to amount: ``slots``, ``jobs``, ``mem``, ``swp``, ``tmp`` or another name.
    amounts: Mapping[str, float] = field(default_factory=dict)
    #: SLOTS_PER_PROCESSOR, times the processors of each host (needs PER_HOST). A scope that is None
    #: covers all together.
    slots_per_processor: float | None = None
    users: Scope | None = None
    queues: Scope | None = None
    hosts: Scope | None = None
    projects: Scope | None = None
    #: Application profiles.
    apps: Scope | None = None
    #: ``mem``, ``swp`` or ``tmp`` to percent of what each host has (needs PER_HOST).
    percentages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReservationUsage:
    """PER_JOB, PER_HOST or PER_SLOT for a user-defined numeric resource (RSV-08)."""

    resource: str
    method: str


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters a planner needs; seconds where LSF has seconds or cycles of them."""

    #: Length of a dispatch cycle (s).
    mbd_sleep_time: Annotated[int, Fact("count_from_1", "MBD_SLEEP_TIME")] = 60
    #: LSB_TIME_RESERVE_NUMJOBS, 0 means off.
    time_reserve_numjobs: Annotated[
        int, Fact("count", "LSB_TIME_RESERVE_NUMJOBS", place="lsf.conf")
    ] = 0
    #: RESOURCE_RESERVE_PER_SLOT.
    reserve_per_slot: Annotated[
        bool, Fact("flag", "RESOURCE_RESERVE_PER_SLOT", aka=("RESOURCE_RESERVE_PER_TASK",))
    ] = False
    reserve_by_starttime: Annotated[
        bool, Fact("flag", "RESERVE_BY_STARTTIME", place="LSF_HPC_EXTENSIONS")
    ] = False
    #: Cycles.
    job_accept_interval: Annotated[int, Fact("count", "JOB_ACCEPT_INTERVAL")] = 0
    parallel_sched_by_slot: Annotated[bool, Fact("flag", "PARALLEL_SCHED_BY_SLOT")] = False
    strict_resreq: Annotated[bool, Fact("flag", "LSF_STRICT_RESREQ", place="lsf.conf")] = False
    #: Cu[balance] may have usablecuslots, as one example of the documents has it.
    lenient: Annotated[bool, Fact("flag")] = False
    #: The version of LSF whose requirement language is spoken, "7" or "10.1".
    dialect: Annotated[str, Fact("dialect")] = "10.1"
    #: LSF_UNIT_FOR_LIMITS (MB, GB, …) for mem and swp without a unit of their own.
    unit_for_limits: Annotated[str, Fact("unit", "LSF_UNIT_FOR_LIMITS", place="lsf.conf")] = "MB"
    default_queue: Annotated[str, Fact("name", "DEFAULT_QUEUE")] = "default"
    cpu_time_factor: Annotated[float, Fact("number", "CPU_TIME_FACTOR", by_queue=True)] = 0.7
    run_time_factor: Annotated[float, Fact("number", "RUN_TIME_FACTOR", by_queue=True)] = 0.7
    committed_run_time_factor: Annotated[
        float, Fact("number", "COMMITTED_RUN_TIME_FACTOR", by_queue=True)
    ] = 0.0
    run_job_factor: Annotated[float, Fact("number", "RUN_JOB_FACTOR", by_queue=True)] = 3.0
    fairshare_adjustment_factor: Annotated[
        float, Fact("number", "FAIRSHARE_ADJUSTMENT_FACTOR", by_queue=True)
    ] = 0.0
    fairshare_adjustment: Annotated[str, Fact("line")] = ""
    hist_hours: Annotated[float, Fact("amount", "HIST_HOURS", by_queue=True)] = 5.0
    enable_hist_run_time: Annotated[bool, Fact("flag", "ENABLE_HIST_RUN_TIME")] = False
    run_time_decay: Annotated[bool, Fact("flag", "RUN_TIME_DECAY")] = False
    #: The fairshare run time counts slot-seconds instead of wall time.
    run_time_in_slots: Annotated[bool, Fact("flag")] = False
    #: MAX_USER_PRIORITY, the highest -sp; 0 where it is not set.
    max_user_priority: Annotated[int, Fact("count", "MAX_USER_PRIORITY")] = 0
    #: JOB_PRIORITY_OVER_TIME: by how much the priority of a pending job grows, and after how many
    #: minutes each time; None if it stays.
    job_priority_over_time: Annotated[
        tuple[int, int] | None, Fact("priority_growth", "JOB_PRIORITY_OVER_TIME")
    ] = None
    #: SIMPLIFIED_GUARANTEE: hosts of guaranteed pools are parted into those of owners and others.
    simplified_guarantee: Annotated[bool, Fact("flag", "SIMPLIFIED_GUARANTEE")] = False
    modules: Annotated[tuple[str, ...] | None, Fact("listed_words")] = None
    #: ESTIMATED_RUNTIME, how long jobs are expected to run for which nothing else gives an estimate
    #: (seconds).
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: JOB_DEP_LAST_SUB: a condition (-w) on a name means the last job of that name alone.
    job_dep_last_sub: Annotated[bool, Fact("flag", "JOB_DEP_LAST_SUB")] = True
    #: ORPHAN_JOB_TERM_GRACE_PERIOD, seconds after which a job is killed whose condition can never
    #: hold; None: it waits on.
    orphan_grace: Annotated[int | None, Fact("count_from_1", "ORPHAN_JOB_TERM_GRACE_PERIOD")] = None
    #: MAX_JOB_ARRAY_SIZE, the largest index of a job array.
    max_job_array_size: Annotated[int, Fact("count_from_1", "MAX_JOB_ARRAY_SIZE")] = DEFAULT_LARGEST
    #: LSB_GPU_REQ.
    gpu_req: Annotated[str, Fact("line", "LSB_GPU_REQ", place="lsf.conf")] = ""
    #: GPU_REQ_MERGE, options of GPU requirements are merged one by one.
    gpu_req_merge: Annotated[bool, Fact("flag", "GPU_REQ_MERGE")] = True
    #: LSB_GPU_NEW_SYNTAX, "extend", "Y" or "N".
    gpu_syntax: Annotated[str, Fact("gpu_syntax", "LSB_GPU_NEW_SYNTAX", place="lsf.conf")] = (
        "extend"
    )
    #: LSB_BSUB_PARSE_SCRIPT, bsub reads the #BSUB lines of a script that is its command.
    parse_script: Annotated[bool, Fact("flag", "LSB_BSUB_PARSE_SCRIPT", place="lsf.conf")] = False
    #: LSB_DISABLE_SUSPEND_FOR_OPEN_AR, jobs of an open advance reservation continue at its end.
    open_reservations_continue: Annotated[
        bool, Fact("flag", "LSB_DISABLE_SUSPEND_FOR_OPEN_AR", place="lsf.conf")
    ] = False
    #: The scheduler's family: "LSF", of its open descendants "OpenLava" or "volclava", or "Slurm".
    family: Annotated[str, Fact("family")] = "LSF"
    #: SchedulerParameters of Slurm, with commas: what they change of its backfill (bf_window …).
    scheduler_parameters: Annotated[str, Fact("line")] = ""
    #: How Slurm allocates: SelectTypeParameters and default memory, as its import writes them.
    select_parameters: Annotated[str, Fact("line")] = ""
    #: The version of Slurm, such as 22.05.8, "" if it is not known.
    scheduler_version: Annotated[str, Fact("line")] = ""

    @property
    def of_lava(self) -> bool:
        """Whether the scheduler is an open descendant of LSF, which does some things otherwise.

        MXJ of a host counts as its processors where a limit is per processor; equal hosts are taken
        from the last configured on; a job that may not backfill expects nothing of full hosts; a
        job whose limits leave it less than it needs holds nothing, nor does one on hosts without
        its memory.
        """
        return self.family in ("OpenLava", "volclava")

    @property
    def of_slurm(self) -> bool:
        """Whether the scheduler is Slurm, whose partitions are the queues of the instance."""
        return self.family == "Slurm"

    def processors_of(self, host: Host) -> int:
        """Processors of a host as limits per processor count them."""
        return host.slots if self.of_lava else host.processors

    @property
    def default_priority(self) -> int:
        """The priority of a job without -sp: half the highest one; with Slurm the lowest."""
        return 0 if self.of_slurm else self.max_user_priority // 2

    @property
    def grows_priorities(self) -> bool:
        """Whether job priorities grow while jobs are pending; it takes MAX_USER_PRIORITY."""
        return self.job_priority_over_time is not None and self.max_user_priority > 0

    def priority_at(self, job: Job, now: int) -> int:
        """The job priority of a pending job at `now`: -sp, or the default, and what it has grown.

        It grows whenever an interval is over; in LSF's descendants by 1 in each equal part of one.
        """
        if self.job_priority_over_time is None or not self.max_user_priority:
            return job.priority
        more, minutes = self.job_priority_over_time
        pended = max(0, now - job.submit)
        if self.of_lava:
            return job.priority + more * pended // (60 * minutes)
        return job.priority + more * (pended // (60 * minutes))

    def next_growth(self, job: Job, now: int) -> int | None:
        """When the priority of a pending job grows next (seconds), None if it stays."""
        if self.job_priority_over_time is None or not self.max_user_priority:
            return None
        more, minutes = self.job_priority_over_time
        pended = max(0, now - job.submit)
        if not self.of_lava:
            return job.submit + (pended // (60 * minutes) + 1) * 60 * minutes
        grown = more * pended // (60 * minutes)
        return job.submit + -(-(grown + 1) * 60 * minutes // more)


#: How each guess at it begins.
COUNTED_PER = "rusage[mem] is counted per"


def counting_rusage(params: Params, family: str, asked: str = "") -> tuple[Params, str]:
    """The parameters with what rusage[mem] counts for, and a sentence where that is a guess.

    family: "OpenLava" or "volclava", of LSF's family, "" for LSF. asked: "slot" or "host", "" for
    what the family does: LSF and today's volclava take an amount once a host, OpenLava and early
    volclava once a slot.
    """
    if asked:
        return replace(params, reserve_per_slot=asked == "slot"), ""
    if not family or params.reserve_per_slot:
        return params, ""
    if family == "OpenLava":
        what = f"{COUNTED_PER} slot, as OpenLava does (--rusage host: per host)"
        return replace(params, reserve_per_slot=True), what
    return params, (
        f"{COUNTED_PER} host, and early versions of volclava count it per slot (--rusage slot)"
    )


def usual_queue(names: Sequence[str]) -> str:
    """The default queue where nobody names one: ``default`` where there is one, else the first."""
    usual = Params().default_queue
    return usual if usual in names or not names else names[0]


def with_default_queue(params: Params, names: Sequence[str]) -> Params:
    """The parameters beside queues of these names; one that nobody named is the usual one."""
    named = params.default_queue != Params().default_queue
    return params if named else replace(params, default_queue=usual_queue(names))
