"""Printed state of a Slurm cluster at one instant, without interpretation.

Times are seconds since 1970, durations seconds, memory MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...slurm_fairshare import Association, SlurmLimit
from ..lsf_state.ignored import IgnoredFiles


@dataclass(frozen=True, slots=True)
class SlurmJobSize:
    """CPUs, nodes, memory and generic resources that a job requests or has."""

    #: Total number of CPUs.
    cpus: int = 1
    #: Total number of tasks.
    tasks: int = 1
    #: CPUs of each task.
    cpus_per_task: int = 1
    #: Tasks of every node, 0 if none are given.
    tasks_per_node: int = 0
    #: At least and at most; max_nodes is None if there is no maximum.
    nodes: int = 1
    #: Maximum number of nodes, None without a maximum.
    max_nodes: int | None = None
    #: MB for each node; None: the default applies, 0: all memory of the node.
    memory_per_node: float | None = None
    #: MB for each CPU, None if not requested.
    memory_per_cpu: float | None = None
    #: MB for each GPU, None if not requested (--mem-per-gpu, DefMemPerGPU).
    memory_per_gpu: float | None = None
    #: Whether it requests all memory of its nodes, by the sum that Slurm shows.
    all_memory: bool = False
    #: Generic resources by ``gpu:a100`` or ``gpu``: of a node, of the job, of a task.
    gres_per_node: Mapping[str, int] = field(default_factory=dict)
    #: Generic resources of the whole job, number by name.
    gres_per_job: Mapping[str, int] = field(default_factory=dict)
    #: Generic resources of each task, number by name.
    gres_per_task: Mapping[str, int] = field(default_factory=dict)
    #: Threads of each core that the job uses, all nodes having as many; 0 if not requested.
    threads: int = 0
    #: Amount by TRES that the whole job requests, memory in MB; {} if not printed.
    requested: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One record of squeue or ``scontrol show job``."""

    #: Job id as ``squeue -i`` accepts it: ``26`` for the pending tasks of an array.
    id: str
    #: Job state and its flags, in capitals.
    state: tuple[str, ...]
    #: Task of an array, None if it is none or the record is of several.
    task: int | None = None
    #: ``1-10%2`` for the tasks that wait.
    tasks: str = ""
    #: Maximum number of running tasks of the array, None without a limit.
    task_limit: int | None = None
    #: Name of the job (--job-name).
    name: str = ""
    #: Name of the user.
    user: str = ""
    #: Account that is charged.
    account: str = ""
    #: Quality of service.
    qos: str = ""
    #: Names of the partitions, in order of preference.
    partitions: tuple[str, ...] = ()
    #: Reason why the job is pending, as one word.
    reason: str = ""
    #: Reason why the job is pending, in words.
    reason_text: str = ""
    #: Priority as printed, None if unknown.
    priority: int | None = None
    #: Whether a user or an administrator holds the job.
    held: bool = False
    #: Submission in seconds since 1970.
    submit: int | None = None
    #: Earliest start (begin time) in seconds since 1970.
    eligible: int | None = None
    #: Actual or expected start in seconds since 1970.
    start: int | None = None
    #: Expected end in seconds since 1970.
    end: int | None = None
    #: Infinity for UNLIMITED.
    limit: float | None = None
    #: Minimum time limit (--time-min) in seconds.
    min_limit: int | None = None
    #: Deadline (--deadline) in seconds since 1970.
    deadline: int | None = None
    #: Unsatisfied dependencies as Slurm prints them.
    dependency: str = ""
    #: Requested or allocated resources.
    size: SlurmJobSize = SlurmJobSize()
    #: Required features as a Slurm expression (--constraint).
    features: str = ""
    #: Preferred features as a Slurm expression (--prefer).
    preferred: str = ""
    #: Requested licences as Slurm writes them (--licenses).
    licences: str = ""
    #: Names of the nodes that the job must have (--nodelist).
    required: tuple[str, ...] = ()
    #: Names of the nodes that the job must not have (--exclude).
    excluded: tuple[str, ...] = ()
    #: "none" (exclusive), "user", "mcs", "topo", "shared", "unknown" or "".
    sharing: str = ""
    #: Name of the reservation (--reservation), "" if none.
    reservation: str = ""
    #: Maximum number of leaf switches (--switches), 0 for any number.
    switches: int = 0
    #: Seconds for which the job waits for this number of switches, None if the cluster says.
    switch_wait: float | None = None
    #: CPUs by node, of a running job; and MB by node.
    allocation: Mapping[str, int] = field(default_factory=dict)
    #: Memory of a running job: MB by node.
    memory: Mapping[str, float] = field(default_factory=dict)
    #: Generic resources of a running job: number by name.
    gres_held: Mapping[str, int] = field(default_factory=dict)
    #: Generic resources of a running job by node, {} if no input has them by node.
    gres_by_node: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: Heterogeneous job of which the job is a component, by its id, "" if it is none.
    het: str = ""
    #: (fact, value) of what no method takes into account.
    named: tuple[tuple[str, str], ...] = ()
    #: Input and record, as messages name them.
    where: str = ""

    @property
    def full_id(self) -> str:
        """Return the job id, ``517[1]`` for a task of an array."""
        return self.id if self.task is None else f"{self.id}[{self.task}]"


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One node."""

    #: Name of the node.
    name: str
    #: State of the node and its flags, in capitals.
    state: tuple[str, ...]
    #: Number of CPUs (hardware threads).
    cpus: int
    #: In a socket, in a core.
    cores_per_socket: int = 1
    #: Hardware threads of each core.
    threads: int = 1
    #: Memory in MB.
    memory: float = 0.0
    #: Generic resources, number by name.
    gres: Mapping[str, int] = field(default_factory=dict)
    #: Names of the active features.
    features: tuple[str, ...] = ()
    #: Weight: nodes of lower weight are allocated first.
    weight: int = 1
    #: Names of the partitions that contain the node.
    partitions: tuple[str, ...] = ()
    #: Number of allocated CPUs, None if not printed.
    cpus_used: int | None = None
    #: Allocated memory in MB, None if not printed.
    memory_used: float | None = None
    #: Allocated generic resources, number by name; {} if not printed.
    gres_used: Mapping[str, int] = field(default_factory=dict)
    #: Pairs of a field and its value for settings that no method obeys.
    named: tuple[tuple[str, str], ...] = ()
    #: Amounts that the record lacks, by the facts of nodes.
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """One partition."""

    #: Name of the partition.
    name: str
    #: Names of the nodes, None if no input lists them: then nodes name their partitions.
    nodes: tuple[str, ...] | None = None
    #: Whether jobs without a partition go to this one.
    default: bool = False
    #: Default time limit in seconds, None if not set.
    default_time: float | None = None
    #: Maximum time limit in seconds, None if not set.
    max_time: float | None = None
    #: Maximum number of nodes of a job, None without a maximum.
    max_nodes: int | None = None
    #: Maximum number of CPUs on one node, None without a maximum.
    cpus_per_node: int | None = None
    #: Priority tier: a higher one is scheduled first.
    tier: int = 1
    #: "NO", "YES:4", "FORCE:1", "EXCLUSIVE".
    sharing: str = "NO"
    #: Whether pending jobs of the partition are started, and whether it accepts new ones.
    up: bool = True
    open: bool = True
    #: Default memory (MB) for each node, None if not set.
    memory_per_node: float | None = None
    #: Default memory (MB) for each CPU, None if not set.
    memory_per_cpu: float | None = None
    #: Maximum memory (MB) for each node, None without a maximum.
    max_memory_per_node: float | None = None
    #: Maximum memory (MB) for each CPU, None without a maximum.
    max_memory_per_cpu: float | None = None
    #: Quality of service of the partition, "" if none.
    qos: str = ""
    #: (what, value) of rules about its jobs that no method takes into account.
    named: tuple[tuple[str, str], ...] = ()
    #: How its running jobs are preempted, "" if as the cluster says.
    preempt_mode: str = ""
    #: Factor of the partition's part of priorities (PriorityJobFactor).
    job_factor: int = 1
    #: Seconds by which its jobs may run beyond their limits, None if as the cluster says.
    over_limit: float | None = None
    #: Weights by which usage is billed, by TRES: mem per MB; {} if CPUs count (TRESBillingWeights).
    billing: Mapping[str, float] = field(default_factory=dict)
    #: Name of its network topology, "" if as the cluster says.
    network: str = ""


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """One reservation."""

    #: Name of the reservation.
    name: str
    #: Start in seconds since 1970.
    start: int
    #: End in seconds since 1970.
    end: int
    #: Names of the reserved nodes.
    nodes: tuple[str, ...] = ()
    #: Cores in all, if it has only a part of its nodes.
    cores: int | None = None
    #: Flags in capitals.
    flags: tuple[str, ...] = ()
    #: Reserved licences as Slurm writes them.
    licences: str = ""
    #: Users whose jobs may run in it; ("all",) if its accounts or groups decide.
    users: tuple[str, ...] = ("all",)
    #: Names of users, accounts, groups, partitions and QOS that it admits; -name: all but these.
    admits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SlurmLicence:
    """Licences of one name, or one layer of them."""

    #: Name of the licences.
    name: str
    #: Number of all, of those that jobs use and of those that a reservation has.
    total: float
    used: float
    reserved: float
    #: Number of a remote licence that are in use elsewhere beyond the part of this cluster.
    deficit: float = 0.0
    #: Nodes of the layer of a hierarchical resource, "" if all nodes share the licences.
    nodes: str = ""


@dataclass(frozen=True, slots=True)
class SlurmShare(Association):
    """One row of sshare: an association, and what follows from its shares and usage."""

    #: NormShares, None if not printed.
    norm_shares: float | None = None
    #: EffectvUsage, None if not printed.
    effective_usage: float | None = None
    #: LevelFS, None if not printed.
    level: float | None = None
    #: GrpTRESMins, "" without a limit.
    minutes: str = ""
    #: Input and row, as messages name them.
    where: str = ""


@dataclass(frozen=True, slots=True)
class SlurmPriority:
    """One row of sprio: the parts of the priority of a job in a partition."""

    #: Job id; of an array that of its record.
    job: str
    #: Name of the partition, "" if not printed.
    partition: str = ""
    #: PRIORITY, None if not printed.
    priority: int | None = None
    #: Weighted parts by column: SITE, AGE, ASSOC, FAIRSHARE, JOBSIZE, PARTITION, QOS.
    parts: Mapping[str, int] = field(default_factory=dict)
    #: NICE, which is subtracted.
    nice: int = 0
    #: Sum of the parts of TRES, None if the list is truncated.
    tres: int | None = 0
    #: Input and row, as messages name them.
    where: str = ""


@dataclass(slots=True)
class SlurmState:
    """Everything that was read."""

    #: Records of squeue or ``scontrol show job``.
    jobs: list[SlurmJob] = field(default_factory=list)
    #: Records of the nodes.
    nodes: list[SlurmNode] = field(default_factory=list)
    #: Records of the partitions.
    partitions: list[SlurmPartition] = field(default_factory=list)
    #: Records of the reservations.
    reservations: list[SlurmReservation] = field(default_factory=list)
    #: Records of the licences.
    licences: list[SlurmLicence] = field(default_factory=list)
    #: Limits of associations and QOS.
    limits: list[SlurmLimit] = field(default_factory=list)
    #: Name of the network topology of the cluster in topology.yaml, "" if no input has it.
    network: str = ""
    #: Kinds of network topologies by name; that of topology.conf has an empty one.
    networks: dict[str, str] = field(default_factory=dict)
    #: Nodes of each leaf switch of the network topology of the cluster.
    leaves: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Rows of sshare.
    shares: list[SlurmShare] = field(default_factory=list)
    #: Rows of sprio.
    priorities: list[SlurmPriority] = field(default_factory=list)
    #: Files that are not read.
    ignored: IgnoredFiles = field(default_factory=IgnoredFiles)
    #: Sentences on jobs and nodes that only a file that is not read has.
    missing: list[str] = field(default_factory=list)
    #: Settings from ``scontrol show config``, by names in small letters.
    settings: dict[str, str] = field(default_factory=dict)
    #: Version of Slurm, "" if unknown.
    version: str = ""
    #: Time of printing in seconds since 1970, None if unknown.
    now: int | None = None
    #: Fields of records that nothing knows, by kind.
    unknown: dict[str, set[str]] = field(default_factory=dict)

    def licences_by_name(self) -> dict[str, list[SlurmLicence]]:
        """Return the licences by name, of a hierarchical resource its layers."""
        found: dict[str, list[SlurmLicence]] = {}
        for item in self.licences:
            found.setdefault(item.name, []).append(item)
        return found
