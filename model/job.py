"""Jobs as submitted, and jobs that run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from .facts import Fact

#: In a list of hosts: those that the list does not name.
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class HostRequest:
    """One name of ``bsub -m``: host, group, unit or ``others``, ``+level``, ``!`` for first host.

    PLC-12.
    """

    name: str
    preference: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A job as submitted; times in seconds from the instance's origin.

    slots, max_slots: -n min,max. res_req: the -R strings. run_limit, cpu_limit: -W and -c.
    run_time: what really passes, known to a simulation only. cpu_time: CPU seconds: of a
    running job, used so far (by the instance's now); of one still to start, what it will use in
    all, known to a simulation only.
    begin: -b, earliest start. deadline: -t, latest end (tardiness objective, TBR-19).
    estimated_run_time: -We, how long it is expected to run; the limit still ends it (SUB-04).
    weight: for the weighted objective. priority: -sp. group: -G. hosts: -m. exclusive: -x.
    from_host: the host it was submitted from, "" where nobody knows (type==local, REQ-04).
    gpu: -gpu, ``-`` for what queue and cluster say. extsched: -ext, such as RMS[nodes=3].
    queued_as: (time, place) that it stands in the queue as if submitted at, by btop or bbot; of one
    time the lower place comes first. None: as it was submitted.
    requeued: it has run and waits again; what bsub would refuse today does not touch it.
    unheeded: what it was submitted with that no method obeys, as bsub has it: ``-sla gold``.
    name: -J. dependency: -w, the condition that must hold before it may start
    (:mod:`.dependency`); think_time: seconds that pass between that and its start, at least.
    array_limit: of an element, how many elements of its array may run at once, ``%4`` of -J.
    orphan_term: -ti, it is killed once its condition can never hold. whole_hosts: -nnodes, its
    hosts are its own (exclusive) whatever its queue says of EXCLUSIVE.
    """

    id: str
    slots: int = 1
    max_slots: int | None = None
    user: str = "user"
    queue: str = "default"
    res_req: tuple[str, ...] = ()
    run_limit: int | None = None
    cpu_limit: int | None = None
    run_time: int | None = None
    cpu_time: float | None = None
    submit: int = 0
    begin: int | None = None
    deadline: int | None = None
    priority: int = 0
    weight: float = 1.0
    project: str = "default"
    group: str = ""
    application: str = ""
    hosts: tuple[HostRequest, ...] = ()
    exclusive: bool = False
    resizable: bool = False
    from_host: str = ""
    gpu: str = ""
    extsched: str = ""
    queued_as: tuple[int, int] | None = None
    requeued: bool = False
    unheeded: tuple[str, ...] = ()
    estimated_run_time: int | None = None
    name: str = ""
    dependency: str = ""
    think_time: int = 0
    orphan_term: bool = False
    array_limit: int | None = None
    whole_hosts: bool = False

    @property
    def array_id(self) -> str | None:
        """Of an element ``101[3]`` the id of its array, ``101``; None for any other job."""
        head, bracket, tail = self.id.partition("[")
        return head if bracket and tail[:-1].isdigit() and tail.endswith("]") else None

    @property
    def array_index(self) -> int | None:
        """Of an element ``101[3]`` its index, 3; None for any other job."""
        return None if self.array_id is None else int(self.id.partition("[")[2][:-1])

    @property
    def shown_name(self) -> str:
        """Its name as bjobs has it: ``a[3]`` of an element."""
        index = self.array_index
        return self.name if index is None else f"{self.name}[{index}]"

    @property
    def standing(self) -> tuple[int, int]:
        """Time and place that count in the order of its queue and priority."""
        return (self.submit, 0) if self.queued_as is None else self.queued_as

    @property
    def most_slots(self) -> int:
        """The maximum of -n, the minimum where no range was given."""
        return self.slots if self.max_slots is None else self.max_slots


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs: `allocation` is host to slots in allocation order; start <= now.

    finish: when it is expected to end; None means "by the duration chain" (TBR-03).
    alternative: which rusage alternative it started with (RSV-07).
    """

    job: Job
    start: int
    allocation: Mapping[str, int] = field(default_factory=dict)
    finish: int | None = None
    alternative: int = 0
    suspended: bool = False

    @property
    def slots(self) -> int:
        """Slots it holds now, after any resize (TBR-14)."""
        return sum(self.allocation.values())


@dataclass(frozen=True, slots=True)
class Application:
    """An application profile (lsb.applications); limits in seconds.

    run_limit, run_time, cpu_limit: RUNLIMIT, RUNTIME, CPULIMIT. slots: PROCLIMIT (min, default,
    max). estimated_run_time: ESTIMATED_RUNTIME. gpu_req: GPU_REQ.
    """

    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    run_limit: Annotated[int | None, Fact("minutes", "RUNLIMIT")] = None
    run_time: Annotated[int | None, Fact("minutes", "RUNTIME")] = None
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""
