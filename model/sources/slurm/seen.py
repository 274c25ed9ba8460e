"""What Slurm's commands print at one instant, as it is; nothing is decided here.

Times are seconds since 1970, durations seconds, memory MB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SlurmJobSize:
    """How much of the cluster a job requests, or has."""

    cpus: int = 1
    tasks: int = 1
    cpus_per_task: int = 1
    #: Tasks of every node, 0 if none are given.
    tasks_per_node: int = 0
    #: At least and at most; max_nodes is None if there is no maximum.
    nodes: int = 1
    max_nodes: int | None = None
    #: None: not requested, and a default counts. 0 of a node: all of it.
    memory_per_node: float | None = None
    memory_per_cpu: float | None = None
    #: Whether it requests all memory of its nodes, by the sum that Slurm shows.
    all_memory: bool = False
    #: Generic resources by ``gpu:a100`` or ``gpu``: of a node, of the job, of a task.
    gres_per_node: Mapping[str, int] = field(default_factory=dict)
    gres_per_job: Mapping[str, int] = field(default_factory=dict)
    gres_per_task: Mapping[str, int] = field(default_factory=dict)
    #: Whether one thread of each core is used.
    one_thread: bool = False


@dataclass(frozen=True, slots=True)
class SlurmJobPlaces:
    """Where and with what a job may run."""

    features: str = ""
    preferred: str = ""
    licences: str = ""
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    #: "none" (exclusive), "user", "mcs", "topo", "shared" or "".
    sharing: str = ""
    reservation: str = ""


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """One record of squeue or ``scontrol show job``."""

    #: As ``squeue -i`` has it: ``26`` of an array's pending tasks.
    id: str
    state: tuple[str, ...]
    #: Task of an array, None if it is none or the record is of several.
    task: int | None = None
    #: ``1-10%2`` for the tasks that wait.
    tasks: str = ""
    task_limit: int | None = None
    name: str = ""
    user: str = ""
    account: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    reason: str = ""
    reason_text: str = ""
    priority: int | None = None
    held: bool = False
    submit: int | None = None
    eligible: int | None = None
    start: int | None = None
    end: int | None = None
    #: Infinity for UNLIMITED.
    limit: float | None = None
    min_limit: int | None = None
    deadline: int | None = None
    dependency: str = ""
    size: SlurmJobSize = SlurmJobSize()
    places: SlurmJobPlaces = SlurmJobPlaces()
    #: CPUs by node, of a running job; and MB by node.
    allocation: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, float] = field(default_factory=dict)
    gres_held: Mapping[str, int] = field(default_factory=dict)
    het: bool = False
    #: (fact, value) of what no method takes into account.
    named: tuple[tuple[str, str], ...] = ()
    where: str = ""

    @property
    def full_id(self) -> str:
        """``517[1]`` for a task of an array."""
        return self.id if self.task is None else f"{self.id}[{self.task}]"


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One node."""

    name: str
    state: tuple[str, ...]
    cpus: int
    #: In a socket, in a core.
    cores_per_socket: int = 1
    threads: int = 1
    memory: float = 0.0
    gres: Mapping[str, int] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    weight: int = 1
    partitions: tuple[str, ...] = ()
    cpus_used: int | None = None
    memory_used: float | None = None
    reason: str = ""
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmPartition:
    """One partition."""

    name: str
    #: None if no input has them: its nodes are those that name it.
    nodes: tuple[str, ...] | None = None
    default: bool = False
    default_time: float | None = None
    max_time: float | None = None
    max_nodes: int | None = None
    cpus_per_node: int | None = None
    tier: int = 1
    #: "NO", "YES:4", "FORCE:1", "EXCLUSIVE".
    sharing: str = "NO"
    up: bool = True
    memory_per_node: float | None = None
    memory_per_cpu: float | None = None
    qos: str = ""
    #: (what, value) of rules about its jobs that no method takes into account.
    named: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """One reservation."""

    name: str
    start: int
    end: int
    nodes: tuple[str, ...] = ()
    #: Cores in all, if it has only a part of its nodes.
    cores: int | None = None
    flags: tuple[str, ...] = ()
    licences: str = ""
    #: Users whose jobs may run in it; ("all",) if its accounts or groups decide.
    users: tuple[str, ...] = ("all",)


@dataclass(frozen=True, slots=True)
class SlurmSwitch:
    """One switch of the network, above nodes or above other switches."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlurmLimit:
    """Limits of a QOS, or of an association, by Slurm's names of them (``GrpTRES`` …)."""

    #: "qos" or "association".
    of: str
    #: Name of the QOS; account and user of an association.
    name: str = ""
    account: str = ""
    user: str = ""
    parent: str = ""
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class SlurmState:
    """Everything that was read."""

    jobs: list[SlurmJob] = field(default_factory=list)
    nodes: list[SlurmNode] = field(default_factory=list)
    partitions: list[SlurmPartition] = field(default_factory=list)
    reservations: list[SlurmReservation] = field(default_factory=list)
    #: Name to (total, used).
    licences: dict[str, tuple[float, float]] = field(default_factory=dict)
    limits: list[SlurmLimit] = field(default_factory=list)
    switches: list[SlurmSwitch] = field(default_factory=list)
    #: Programs whose output is there and not read.
    passed_over: list[str] = field(default_factory=list)
    #: Of ``scontrol show config``.
    settings: dict[str, str] = field(default_factory=dict)
    version: str = ""
    #: When it was printed, and when backfill ran last.
    now: int | None = None
    last_backfill: int | None = None
    #: Fields of records that nothing knows, by kind.
    unknown: dict[str, set[str]] = field(default_factory=dict)
