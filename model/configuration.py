"""Queues, users, limits and parameters: lsb.queues, lsb.users, lsb.resources, lsb.params."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any

from .absolute_priority import AbsolutePriority
from .cluster import Host, Thresholds
from .facts import HOST, USERS, Fact
from .job import DEFAULT_LARGEST, OTHERS, HostRequest, Job
from .scheduler_family import FAMILIES, SchedulerFamily
from .slurm_select import without_words

if TYPE_CHECKING:
    from .slurm_priority import AgeFactor


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue (lsb.queues) under Python names; docs/instances.md has LSF's names."""

    #: Name of the queue.
    name: Annotated[str, Fact("new_name", aka=("QUEUE_NAME",))]
    #: Priority; queues with a larger one are served first.
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 1
    #: Hosts of the queue (HOSTS) by name, group or unit; empty: all.
    hosts: Annotated[
        tuple[HostRequest, ...],
        Fact("queue_hosts", "HOSTS", also=("excluded_hosts",), refers=(HOST, OTHERS)),
    ] = ()
    #: Hosts excluded from `hosts` (``~name``).
    excluded_hosts: tuple[str, ...] = ()
    #: Users and groups that may use the queue (USERS); empty: all.
    users: Annotated[tuple[str, ...], Fact("words", "USERS", refers=USERS)] = ()
    #: Resource requirement of all its jobs.
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    #: Lowest and highest amount that a job may request, by resource.
    resrsv_limit: Annotated[Mapping[str, tuple[float, float]], Fact("bounds", "RESRSV_LIMIT")] = (
        field(default_factory=dict)
    )
    #: Run limit in seconds: the default of RUNLIMIT; run_limit_max is its maximum.
    run_limit: Annotated[int | None, Fact("run_limit", "RUNLIMIT", also=("run_limit_max",))] = None
    #: Maximum of RUNLIMIT in seconds, None if not set.
    run_limit_max: int | None = None
    #: CPU limit in seconds (CPULIMIT), None if not set.
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    #: Expected run time of its jobs in seconds (ESTIMATED_RUNTIME).
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: Slots of a job (PROCLIMIT): minimum, default, maximum.
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    #: Whether its jobs may use reserved slots.
    backfill: Annotated[bool, Fact("flag", "BACKFILL")] = False
    #: Dispatch cycles for which slots are reserved (MAX_RESERVE_TIME[n]), None if not set.
    slot_reserve: Annotated[int | None, Fact("cycles", "SLOT_RESERVE")] = None
    #: Dispatch cycles for which memory and slots are reserved, None if not set.
    resource_reserve: Annotated[int | None, Fact("cycles", "RESOURCE_RESERVE")] = None
    #: Whether jobs may be exclusive: "N", "Y" or "CU[type]".
    exclusive: Annotated[str, Fact("exclusive", "EXCLUSIVE")] = "N"
    #: Maximum number of slots of all its jobs (QJOB_LIMIT).
    queue_slots: Annotated[int | None, Fact("count", "QJOB_LIMIT")] = None
    #: Maximum number of slots of one user's jobs (UJOB_LIMIT).
    user_slots: Annotated[int | None, Fact("count", "UJOB_LIMIT")] = None
    #: Maximum number of slots on a host for each of its processors (PJOB_LIMIT).
    processor_slots: Annotated[float | None, Fact("amount", "PJOB_LIMIT")] = None
    #: Maximum number of slots on one host, for any number of processors (HJOB_LIMIT).
    host_slots: Annotated[int | None, Fact("count", "HJOB_LIMIT")] = None
    #: Load thresholds of the queue, with those of each host.
    thresholds: Annotated[Thresholds, Fact("thresholds")] = Thresholds()
    #: Windows in which jobs start, "" if always.
    dispatch_window: Annotated[str, Fact("windows", "DISPATCH_WINDOW")] = ""
    #: Windows in which jobs run, "" if always.
    run_window: Annotated[str, Fact("windows", "RUN_WINDOW")] = ""
    #: Whether a job is started although -t or the end of the run window ends its run early.
    ignore_deadline: Annotated[bool, Fact("flag", "IGNORE_DEADLINE")] = False
    #: Cycles for which a host takes no second job, None: as in Params.
    job_accept_interval: Annotated[int | None, Fact("count", "JOB_ACCEPT_INTERVAL")] = None
    #: Pairs of a name and its shares (FAIRSHARE = USER_SHARES[…]); None: first come, first served.
    user_shares: Annotated[
        tuple[tuple[str, int], ...] | None, Fact("shares", "FAIRSHARE", refers=USERS)
    ] = None
    #: Queues whose jobs share the order of this queue (cross-queue fairshare).
    fairshare_queues: Annotated[
        tuple[str, ...], Fact("words", "FAIRSHARE_QUEUES", refers=("queue",))
    ] = ()
    #: "QUEUE" if these queues are served by their priority, "" if by the shares alone.
    dispatch_order: Annotated[str, Fact("dispatch_order", "DISPATCH_ORDER")] = ""
    #: Formula that orders the pending jobs of this queue and of QUEUE_GROUP (APS_PRIORITY); None:
    #: jobs have no absolute priority.
    aps_priority: Annotated[AbsolutePriority | None, Fact("aps_formula", "APS_PRIORITY")] = None
    #: Queues whose jobs are ordered together with its own by absolute priority.
    queue_group: Annotated[tuple[str, ...], Fact("words", "QUEUE_GROUP", refers=("queue",))] = ()
    #: Percentage of the slots of its pool (queue-based fairshare).
    slot_share: Annotated[float | None, Fact("percent", "SLOT_SHARE")] = None
    #: Name of its slot pool, "" if it belongs to none.
    slot_pool: Annotated[str, Fact("name", "SLOT_POOL")] = ""
    #: Maximum number of slots of the pool that its queues may use.
    max_slots_in_pool: Annotated[int | None, Fact("count", "MAX_SLOTS_IN_POOL")] = None
    #: Whether queue priorities count in the pool.
    use_priority_in_pool: Annotated[bool, Fact("flag", "USE_PRIORITY_IN_POOL")] = False
    #: Factors of fairshare (CPU_TIME_FACTOR …) that replace those of Params.
    factors: Annotated[Mapping[str, float], Fact("factors")] = field(default_factory=dict)
    #: Queues of lower priority whose jobs it may preempt; ("*",): all; None: none.
    preemptive: Annotated[
        tuple[str, ...] | None,
        Fact("preemption", "PREEMPTION", also=("preemptable",), refers=("queue", "*")),
    ] = None
    #: Queues of higher priority whose jobs may preempt its own; ("*",): all; None: none.
    preemptable: tuple[str, ...] | None = None
    #: Maximum number of jobs in one chunk.
    chunk_job_size: Annotated[int | None, Fact("count", "CHUNK_JOB_SIZE")] = None
    #: Description for people.
    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""
    #: Whether guarantees do not apply to its jobs (SLA_GUARANTEES_IGNORE).
    ignores_guarantees: Annotated[bool, Fact("flag", "SLA_GUARANTEES_IGNORE")] = False
    #: Whether its jobs are started (False after badmin qinact).
    active: Annotated[bool, Fact("boolean")] = True
    #: Whether it accepts jobs (False after badmin qclose); its pending jobs start in either case.
    open: Annotated[bool, Fact("boolean")] = True
    #: GPU requirement of its jobs (GPU_REQ).
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""

    @property
    def holds_memory(self) -> bool:
        """Return whether reservations of the queue include memory."""
        return self.resource_reserve is not None or self.slot_reserve is None

    @property
    def reserve_cycles(self) -> int | None:
        """Return the dispatch cycles of a reservation; RESOURCE_RESERVE comes first."""
        return self.resource_reserve if self.resource_reserve is not None else self.slot_reserve


@dataclass(frozen=True, slots=True)
class UserGroup:
    """A user group of users and groups; user_shares makes it a share tree."""

    #: Name of the group.
    name: Annotated[str, Fact("new_name", aka=("GROUP_NAME",))]
    #: Names of users and groups, ``all`` for every user.
    members: Annotated[tuple[str, ...], Fact("members", aka=("GROUP_MEMBER",))]
    #: Pairs of a member and its number of shares (USER_SHARES).
    user_shares: Annotated[tuple[tuple[str, int], ...], Fact("shares", "USER_SHARES")] = ()
    #: The group's value as UG of an absolute priority (PRIORITY).
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 0


@dataclass(frozen=True, slots=True)
class User:
    """Limits of one user or group."""

    #: Name of the user or group; ``name@`` is each member of a group.
    name: Annotated[str, Fact("name", aka=("USER_NAME",))]
    #: Maximum number of slots in use.
    max_slots: Annotated[int | None, Fact("count", "MAX_JOBS")] = None
    #: Maximum number of slots for each processor.
    processor_slots: Annotated[float | None, Fact("amount", "JL/P")] = None
    #: Number of pending jobs, and of their slots, at which LSF rejects further ones.
    max_pend_jobs: Annotated[int | None, Fact("count", "MAX_PEND_JOBS")] = None
    max_pend_slots: Annotated[int | None, Fact("count", "MAX_PEND_SLOTS")] = None
    #: The user's value as USER of an absolute priority (PRIORITY).
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 0


@dataclass(frozen=True, slots=True)
class HostPartition:
    """A host partition with its shares."""

    #: Name of the partition.
    name: Annotated[str, Fact("new_name", aka=("HPART_NAME",))]
    #: Names of hosts and groups, ``~name`` for exceptions.
    hosts: Annotated[tuple[str, ...], Fact("host_words", "HOSTS", refers=(HOST,))]
    #: Pairs of a name and its shares.
    user_shares: Annotated[tuple[tuple[str, int], ...], Fact("shares", "USER_SHARES", refers=USERS)]


@dataclass(frozen=True, slots=True)
class Scope:
    """Members that a limit covers.

    names: ("all",) covers all. Each member has a limit of its own under PER_*. excluded: names with
    ``~``.
    """

    #: Names of the members, ``all`` for every one.
    names: tuple[str, ...]
    #: Whether the limit applies to each member separately (PER_USER and the like).
    each: bool = False
    #: Names of members that the limit does not cover (``~name``).
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """One Limit section (lsb.resources)."""

    #: Name of the limit.
    name: str
    #: Maximum by resource: ``slots``, ``jobs``, ``mem``, ``swp``, ``tmp`` or another name.
    amounts: Mapping[str, float] = field(default_factory=dict)
    #: SLOTS_PER_PROCESSOR; the limit is this times the processors of each host (needs PER_HOST).
    slots_per_processor: float | None = None
    #: Users that the limit covers; None: all together.
    users: Scope | None = None
    #: Queues that the limit covers; None: all together.
    queues: Scope | None = None
    #: Hosts that the limit covers; None: all together.
    hosts: Scope | None = None
    #: Projects that the limit covers; None: all together.
    projects: Scope | None = None
    #: Application profiles that the limit covers; None: all together.
    apps: Scope | None = None
    #: Licence projects that the limit covers; None: all together.
    lic_projects: Scope | None = None
    #: ``mem``, ``swp`` or ``tmp`` to percent of what each host has (needs PER_HOST).
    percentages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A kind of what Limit sections count: users, queues and so on."""

    #: Field of :class:`Limit`; in capitals the key of the section.
    field: str
    #: Name of one of them, for people.
    noun: str
    #: Its word in LSF's pending reasons.
    reason: str
    #: Field of a job; hosts have none.
    of_job: str = ""
    #: Whether tables have its column only if a limit asks for it.
    is_rare: bool = False

    @property
    def per_field(self) -> str:
        """Return the key for a limit of each member, in lower case."""
        return f"per_{self.field.removesuffix('s')}"

    def scope(self, limit: Limit) -> Scope | None:
        """Return the members that a limit covers; None: all together."""
        found: Scope | None = getattr(limit, self.field)
        return found


#: Each kind once; the validator has its own list.
CONSUMERS = (
    Consumer("users", "user", "USER", "user"),
    Consumer("queues", "queue", "QUEUE", "queue"),
    Consumer("hosts", "host", "HOST"),
    Consumer("projects", "project", "PROJECT", "project"),
    Consumer("apps", "application", "APP", "application", is_rare=True),
    Consumer("lic_projects", "licence project", "LICENSE_PROJECT", "license_project", is_rare=True),
)
#: Those that a job names.
OF_JOBS = tuple(item for item in CONSUMERS if item.of_job)


def consumers_of(job: Any) -> dict[str, Any]:
    """Return the user, queue, projects and application of a job or of a record of one, by field."""
    return {item.of_job: getattr(job, item.of_job) for item in OF_JOBS}


@dataclass(frozen=True, slots=True)
class ReservationUsage:
    """Unit that rusage of a user-defined numeric resource counts: job, host or slot."""

    #: Name of the resource.
    resource: str
    #: PER_JOB, PER_HOST or PER_TASK.
    method: str


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters of the cluster that affect plans (lsb.params, lsf.conf)."""

    #: Time between dispatch cycles in seconds.
    mbd_sleep_time: Annotated[int, Fact("count_from_1", "MBD_SLEEP_TIME")] = 60
    #: Number of jobs with a time-based reservation (LSB_TIME_RESERVE_NUMJOBS); 0: none.
    time_reserve_numjobs: Annotated[
        int, Fact("count", "LSB_TIME_RESERVE_NUMJOBS", place="lsf.conf")
    ] = 0
    #: Whether memory requirements count for each slot (RESOURCE_RESERVE_PER_SLOT).
    reserve_per_slot: Annotated[
        bool, Fact("flag", "RESOURCE_RESERVE_PER_SLOT", aka=("RESOURCE_RESERVE_PER_TASK",))
    ] = False
    #: Whether reservations take hosts by the earliest estimated start.
    reserve_by_starttime: Annotated[
        bool, Fact("flag", "RESERVE_BY_STARTTIME", place="LSF_HPC_EXTENSIONS")
    ] = False
    #: Dispatch cycles for which a host takes no second job.
    job_accept_interval: Annotated[int, Fact("count", "JOB_ACCEPT_INTERVAL")] = 0
    #: Whether ncpus in requirements means slots.
    parallel_sched_by_slot: Annotated[bool, Fact("flag", "PARALLEL_SCHED_BY_SLOT")] = False
    #: Whether requirements have strict syntax.
    strict_resreq: Annotated[bool, Fact("flag", "LSF_STRICT_RESREQ", place="lsf.conf")] = False
    #: Whether cu[balance] may have usablecuslots, as in one example of LSF's documentation.
    lenient: Annotated[bool, Fact("flag")] = False
    #: LSF version of the requirement language, "7" or "10.1".
    dialect: Annotated[str, Fact("dialect")] = "10.1"
    #: Unit (MB, GB, …) of mem and swp without a unit of their own (LSF_UNIT_FOR_LIMITS).
    unit_for_limits: Annotated[str, Fact("unit", "LSF_UNIT_FOR_LIMITS", place="lsf.conf")] = "MB"
    #: Queue of jobs without -q.
    default_queue: Annotated[str, Fact("name", "DEFAULT_QUEUE", refers=("queue",))] = "default"
    #: Weight of CPU time in the dynamic priority.
    cpu_time_factor: Annotated[float, Fact("number", "CPU_TIME_FACTOR", by_queue=True)] = 0.7
    #: Weight of run time in the dynamic priority.
    run_time_factor: Annotated[float, Fact("number", "RUN_TIME_FACTOR", by_queue=True)] = 0.7
    #: Weight of committed run time in the dynamic priority.
    committed_run_time_factor: Annotated[
        float, Fact("number", "COMMITTED_RUN_TIME_FACTOR", by_queue=True)
    ] = 0.0
    #: Weight of slots in use in the dynamic priority.
    run_job_factor: Annotated[float, Fact("number", "RUN_JOB_FACTOR", by_queue=True)] = 3.0
    #: Weight of the fairshare adjustment in the dynamic priority.
    fairshare_adjustment_factor: Annotated[
        float, Fact("number", "FAIRSHARE_ADJUSTMENT_FACTOR", by_queue=True)
    ] = 0.0
    #: Name of the installed fairshare adjustment, "" if none.
    fairshare_adjustment: Annotated[str, Fact("line")] = ""
    #: Hours after which decayed use counts for a tenth.
    hist_hours: Annotated[float, Fact("amount", "HIST_HOURS", by_queue=True)] = 5.0
    #: Whether run time of finished jobs counts.
    enable_hist_run_time: Annotated[bool, Fact("flag", "ENABLE_HIST_RUN_TIME")] = False
    #: Whether run time of running jobs decays.
    run_time_decay: Annotated[bool, Fact("flag", "RUN_TIME_DECAY")] = False
    #: Whether the run time of fairshare is in slot-seconds instead of wall-clock seconds.
    run_time_in_slots: Annotated[bool, Fact("flag")] = False
    #: Highest job priority of -sp (MAX_USER_PRIORITY); 0: not set.
    max_user_priority: Annotated[int, Fact("count", "MAX_USER_PRIORITY")] = 0
    #: Growth of the priority of a pending job and its interval in minutes (JOB_PRIORITY_OVER_TIME);
    #: None: no growth.
    job_priority_over_time: Annotated[
        tuple[int, int] | None, Fact("priority_growth", "JOB_PRIORITY_OVER_TIME")
    ] = None
    #: Whether hosts of guaranteed pools are divided into those of owners and others
    #: (SIMPLIFIED_GUARANTEE).
    simplified_guarantee: Annotated[bool, Fact("flag", "SIMPLIFIED_GUARANTEE")] = False
    #: Modules of the scheduler (lsb.modules); None: all.
    modules: Annotated[tuple[str, ...] | None, Fact("listed_words")] = None
    #: Expected run time in seconds of jobs without any other estimate (ESTIMATED_RUNTIME).
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: Whether a condition (-w) on a name refers to the last job of that name only
    #: (JOB_DEP_LAST_SUB).
    job_dep_last_sub: Annotated[bool, Fact("flag", "JOB_DEP_LAST_SUB")] = True
    #: Seconds after which a job whose condition can never hold is killed
    #: (ORPHAN_JOB_TERM_GRACE_PERIOD); None: it stays pending.
    orphan_grace: Annotated[int | None, Fact("count_from_1", "ORPHAN_JOB_TERM_GRACE_PERIOD")] = None
    #: Largest index of a job array (MAX_JOB_ARRAY_SIZE).
    max_job_array_size: Annotated[int, Fact("count_from_1", "MAX_JOB_ARRAY_SIZE")] = DEFAULT_LARGEST
    #: Number of pending jobs, and of their slots, at which LSF rejects further ones.
    max_pend_jobs: Annotated[int | None, Fact("count", "MAX_PEND_JOBS")] = None
    max_pend_slots: Annotated[int | None, Fact("count", "MAX_PEND_SLOTS")] = None
    #: Default options of GPU requirements (LSB_GPU_REQ).
    gpu_req: Annotated[str, Fact("line", "LSB_GPU_REQ", place="lsf.conf")] = ""
    #: Whether options of GPU requirements are merged one by one (GPU_REQ_MERGE).
    gpu_req_merge: Annotated[bool, Fact("flag", "GPU_REQ_MERGE")] = True
    #: Syntax of GPU requirements (LSB_GPU_NEW_SYNTAX): "extend", "Y" or "N".
    gpu_syntax: Annotated[str, Fact("gpu_syntax", "LSB_GPU_NEW_SYNTAX", place="lsf.conf")] = (
        "extend"
    )
    #: Whether bsub reads the #BSUB lines of a script that is its command (LSB_BSUB_PARSE_SCRIPT).
    parse_script: Annotated[bool, Fact("flag", "LSB_BSUB_PARSE_SCRIPT", place="lsf.conf")] = False
    #: Whether jobs of an open advance reservation continue at its end
    #: (LSB_DISABLE_SUSPEND_FOR_OPEN_AR).
    open_reservations_continue: Annotated[
        bool, Fact("flag", "LSB_DISABLE_SUSPEND_FOR_OPEN_AR", place="lsf.conf")
    ] = False
    #: Family of the scheduler: "LSF", its open descendants "OpenLava" and "volclava", or "Slurm".
    family: Annotated[str, Fact("family")] = "LSF"
    #: SchedulerParameters of Slurm, separated by commas, that affect its backfill (bf_window …).
    scheduler_parameters: Annotated[str, Fact("line")] = ""
    #: Allocation settings of Slurm: SelectTypeParameters and default memory, as its import writes
    #: them.
    select_parameters: Annotated[str, Fact("line")] = ""
    #: Version of Slurm, such as 22.05.8, "" if unknown.
    scheduler_version: Annotated[str, Fact("line")] = ""

    @property
    def scheduler(self) -> SchedulerFamily:
        """Return what differs between this family of schedulers and others."""
        return FAMILIES[self.family]

    def processors_of(self, host: Host) -> int:
        """Return the processors of a host as limits per processor count them."""
        return host.slots if self.scheduler.is_lava else host.processors

    @property
    def default_priority(self) -> int:
        """Return the priority of a job without -sp: half the highest; with Slurm the lowest."""
        return 0 if self.scheduler.is_multifactor else self.max_user_priority // 2

    def _growth(self, job: Job | None = None) -> SteppedGrowth | AgeFactor | None:
        """Return how the priority of a pending job, or of any, grows with time; None: it stays."""
        if self.scheduler.is_multifactor:
            from .slurm_priority import age_factor

            stays = job is not None and job.has_fixed_priority
            return None if stays else age_factor(self.select_parameters)
        if self.job_priority_over_time is None or not self.max_user_priority:
            return None
        return SteppedGrowth(*self.job_priority_over_time, self.scheduler.is_lava)

    @property
    def grows_priorities(self) -> bool:
        """Return whether priorities of pending jobs move with time; needs MAX_USER_PRIORITY."""
        if self.scheduler.is_multifactor:
            from .slurm_fairshare import fairshare_rule

            return bool(self._growth() or fairshare_rule(self.select_parameters))
        return self._growth() is not None

    def priority_at(self, job: Job, now: int) -> int:
        """Return the priority of a pending job at `now` (seconds): -sp or default, plus growth."""
        growth = self._growth(job)
        return job.priority + (0 if growth is None else growth.growth(job, now))

    def next_growth(self, job: Job, now: int) -> int | None:
        """Return when the priority of a pending job grows next (seconds), None if it stays."""
        growth = self._growth(job)
        return None if growth is None else growth.next_growth(job, now)


@dataclass(frozen=True, slots=True)
class SteppedGrowth:
    """Growth of priorities with JOB_PRIORITY_OVER_TIME, from the submission on."""

    #: Growth in each interval, and its minutes.
    more: int
    minutes: int
    #: LSF adds the growth at the end of each interval, its descendants 1 in each equal part of it.
    by_one: bool

    def growth(self, job: Job, now: int) -> int:
        """Return by how much the priority of a job is higher at `now` (seconds)."""
        pended, interval = max(0, now - job.submit), 60 * self.minutes
        return self.more * pended // interval if self.by_one else self.more * (pended // interval)

    def next_growth(self, job: Job, now: int) -> int:
        """Return when the priority of a job grows next (seconds)."""
        grown = self.growth(job, now) + (1 if self.by_one else self.more)
        return job.submit + -(-grown * 60 * self.minutes // self.more)


def without_growth(params: Params) -> Params:
    """Return the parameters under which no priority grows, or moves with fairshare."""
    from .slurm_fairshare import FAIRSHARE_WORDS
    from .slurm_priority import AGE_WORDS

    kept = without_words(params.select_parameters, (*AGE_WORDS, *FAIRSHARE_WORDS))
    return replace(params, select_parameters=kept, job_priority_over_time=None)


def counting_rusage(params: Params, family: str, asked: str = "") -> tuple[Params, str]:
    """Return the parameters with the unit of rusage[mem], and a warning if the unit is assumed.

    family: "OpenLava" or "volclava", of LSF's family, "" for LSF. asked: "slot" or "host", "" for
    what the family does: LSF and today's volclava take an amount once a host, OpenLava and early
    volclava once a slot.
    """
    if asked:
        return replace(params, reserve_per_slot=asked == "slot"), ""
    if not family or params.reserve_per_slot:
        return params, ""
    if family == "OpenLava":
        what = "rusage[mem] is counted per slot, as in OpenLava (--rusage host: per host)"
        return replace(params, reserve_per_slot=True), what
    return params, (
        "rusage[mem] is counted per host; early versions of volclava count it per slot "
        "(--rusage slot)"
    )


def usual_queue(names: Sequence[str]) -> str:
    """Return the default queue if none is configured: ``default`` if it exists, else the first."""
    usual = Params().default_queue
    return usual if usual in names or not names else names[0]


def with_default_queue(params: Params, names: Sequence[str]) -> Params:
    """Return the parameters with a default queue, chosen from these queues if none is set."""
    named = params.default_queue != Params().default_queue
    return params if named else replace(params, default_queue=usual_queue(names))
