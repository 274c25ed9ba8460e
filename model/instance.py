"""One problem: a cluster, its rules, what runs, what waits, and the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from .cluster import Cluster
from .configuration import HostPartition, Limit, Params, Queue, ReservationUsage, User, UserGroup
from .errors import UnknownNameError
from .facts import Fact
from .job import Application, Job, JobGroup, RunningJob
from .omissions import Omission
from .service_class import GuaranteedPool, ServiceClass


@dataclass(frozen=True, slots=True)
class AdvanceReservation:
    """Slots by host set aside over [start, end) seconds, or again and again (TBR-19, ARV-01)."""

    #: Its id, as brsvs and bsub -U have it: ``user1#0``.
    name: str
    #: When one that is active once begins and ends; both 0 for a recurring one.
    start: int = 0
    end: int = 0
    slots: dict[str, int] = field(default_factory=dict)
    #: Users and groups whose jobs may run in it (-U); a system reservation has none.
    users: tuple[str, ...] = ()
    #: Its jobs continue after it as others do (brsvadd -o); those of a closed one are killed.
    open: bool = False
    #: When a recurring one is active, such as ``3:0:00-3:3:00`` (brsvadd -t).
    windows: str = ""
    #: Running jobs of others are suspended as soon as one of its own waits; False: -nosusp.
    suspends: bool = True


@dataclass(frozen=True, slots=True)
class ShareUsage:
    """What one share account had used at `stamp`, as bqueues -l and bhpart print it (FSH-02)."""

    #: Fairshare queue (of a set the master) or host partition.
    policy: Annotated[str, Fact("name")]
    #: Path from below it, ``group/user``; a group's numbers are those of all below it.
    account: Annotated[str, Fact("name")]
    #: CPU seconds, decayed, of finished and running jobs.
    cpu_time: Annotated[float, Fact("amount")] = 0.0
    #: Seconds of finished jobs, decayed.
    historical_run_time: Annotated[float, Fact("amount")] = 0.0
    #: Seconds that the running jobs are committed to; None: as their run limits say.
    committed_run_time: Annotated[float | None, Fact("amount")] = None
    #: Seconds from the origin.
    stamp: Annotated[int, Fact("instant")] = 0


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """What one queue of a slot pool had accumulated at `stamp`: slots times seconds, decayed."""

    queue: Annotated[str, Fact("name")]
    slot_seconds: Annotated[float, Fact("amount")]
    stamp: Annotated[int, Fact("instant")] = 0


@dataclass(frozen=True, slots=True)
class HeldHosts:
    """On which hosts a pending job held slots or memory after the cycle before now (GRD-06)."""

    job: Annotated[str, Fact("name")]
    #: In their order.
    hosts: Annotated[tuple[str, ...], Fact("listed_words")] = ()
    #: When its reservation began, from which MAX_RESERVE_TIME counts.
    since: Annotated[int | None, Fact("instant")] = None
    #: Before this it may reserve nothing, its time being over. Seconds from the origin.
    rest_until: Annotated[int | None, Fact("instant")] = None


@dataclass(frozen=True, slots=True)
class BorrowedSlots:
    """Slots by host that a running job has taken, by backfill, of what pending jobs held."""

    job: Annotated[str, Fact("name")]
    slots: Annotated[dict[str, int], Fact("allocation")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaidByLsf:
    """What bjobs said of a pending job when the instance was made; no plan goes by it."""

    job: Annotated[str, Fact("name")]
    #: Why it waits, in LSF's words, "" for none.
    reason: Annotated[str, Fact("line")] = ""
    #: LSF's estimate of its start (seconds from the origin), None for none.
    start: Annotated[int | None, Fact("instant")] = None


@dataclass(frozen=True, slots=True)
class Instance:
    """A complete planning problem."""

    cluster: Cluster
    queues: tuple[Queue, ...] = (Queue("default"),)
    running: tuple[RunningJob, ...] = ()
    #: In order of submission; the methods sort by priority.
    pending: tuple[Job, ...] = ()
    #: A tuple, or of a log its records (:class:`.OnDemand`).
    future: Sequence[Job] = ()
    applications: tuple[Application, ...] = ()
    #: Job groups (bjgroup); none where nobody said which there are.
    job_groups: tuple[JobGroup, ...] = ()
    #: Service classes (bsla).
    service_classes: tuple[ServiceClass, ...] = ()
    #: Guaranteed resource pools (bresources -g), in the order of lsb.resources.
    guaranteed_pools: tuple[GuaranteedPool, ...] = ()
    users: tuple[User, ...] = ()
    groups: tuple[UserGroup, ...] = ()
    partitions: tuple[HostPartition, ...] = ()
    limits: tuple[Limit, ...] = ()
    reservation_usage: tuple[ReservationUsage, ...] = ()
    advance_reservations: tuple[AdvanceReservation, ...] = ()
    share_usage: tuple[ShareUsage, ...] = ()
    pool_usage: tuple[PoolUsage, ...] = ()
    #: What pending jobs held in the cycle before now, for a loop that goes on from there.
    held: tuple[HeldHosts, ...] = ()
    #: Slots that running jobs have taken of those, by backfill.
    borrowed: tuple[BorrowedSlots, ...] = ()
    #: What LSF itself said of pending jobs.
    lsf_says: tuple[SaidByLsf, ...] = ()
    params: Params = Params()
    #: Seconds from the origin.
    now: int = 0
    #: The wall-clock time (ISO 8601) that second 0 stands for, None for abstract time.
    origin: str | None = None
    name: str = ""
    description: str = ""
    #: What was left out when it was read from what a cluster says.
    omissions: tuple[Omission, ...] = ()

    def queue(self, name: str) -> Queue:
        """The queue of that name; UnknownNameError (a KeyError) if there is none."""
        for queue in self.queues:
            if queue.name == name:
                return queue
        raise UnknownNameError.among("queue", name, [queue.name for queue in self.queues])

    @property
    def reserve_cycles(self) -> int | None:
        """Dispatch cycles for which the longest reservations last, None if no queue reserves."""
        known = (queue.reserve_cycles for queue in self.queues)
        return max((cycles for cycles in known if cycles is not None), default=None)

    @property
    def backfills(self) -> bool:
        """Whether some queue has BACKFILL."""
        return any(queue.backfill for queue in self.queues)

    @property
    def has_accept_interval(self) -> bool:
        """Whether some queue has JOB_ACCEPT_INTERVAL, of its own or by lsb.params."""
        return any(map(self.accept_interval, self.queues))

    def accept_interval(self, queue: Queue) -> int:
        """JOB_ACCEPT_INTERVAL of a queue (seconds)."""
        own, common = queue.job_accept_interval, self.params.job_accept_interval
        return (common if own is None else own) * self.params.mbd_sleep_time

    def advance_reservation(self, name: str) -> AdvanceReservation | None:
        """The advance reservation of that name, or None."""
        return next((item for item in self.advance_reservations if item.name == name), None)

    def application(self, name: str) -> Application | None:
        """The application profile of that name, or None."""
        return next((profile for profile in self.applications if profile.name == name), None)
