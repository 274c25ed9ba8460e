"""The planning problem: a cluster, its configuration, running and pending jobs, and the time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from .cluster import Cluster
from .configuration import HostPartition, Limit, Params, Queue, ReservationUsage, User, UserGroup
from .errors import UnknownNameError
from .escaping import html_table
from .facts import USERS, Fact
from .job import Application, Job, JobGroup, RunningJob
from .job_table import OneLine
from .omissions import Omission
from .service_class import GuaranteedPool, ServiceClass
from .slurm_fairshare import Association, SlurmLimit


@dataclass(frozen=True, slots=True)
class AdvanceReservation:
    """Slots by host set aside over [start, end) seconds, once or recurringly."""

    #: Id in the form of brsvs and bsub -U: ``user1#0``.
    name: Annotated[str, Fact("new_name")]
    #: Start and end of a reservation that is active once; both 0 for a recurring one.
    start: Annotated[int, Fact("instant")] = 0
    #: End in seconds from the origin.
    end: Annotated[int, Fact("instant")] = 0
    #: Number of slots by host.
    slots: Annotated[dict[str, int], Fact("allocation", "allocation", refers=("host",))] = field(
        default_factory=dict
    )
    #: Users and groups whose jobs may run in it (-U); empty for a system reservation.
    users: Annotated[tuple[str, ...], Fact("names", refers=USERS)] = ()
    #: Whether its jobs continue after its end (brsvadd -o); in a closed reservation they are
    #: killed.
    open: Annotated[bool, Fact("boolean")] = False
    #: Periods of a recurring reservation, such as ``3:0:00-3:3:00`` (brsvadd -t).
    windows: Annotated[str, Fact("windows")] = ""
    #: Whether other running jobs are suspended when a job of the reservation waits (False:
    #: -nosusp).
    suspends: Annotated[bool, Fact("boolean")] = True


@dataclass(frozen=True, slots=True)
class ShareUsage:
    """Past use of one share account at `stamp`, as bqueues -l and bhpart print it."""

    #: Fairshare queue (the master of a set) or host partition.
    policy: Annotated[str, Fact("name")]
    #: Path of the account below the root, ``group/user``; a group includes all accounts below it.
    account: Annotated[str, Fact("name")]
    #: Decayed CPU seconds of finished and running jobs.
    cpu_time: Annotated[float, Fact("amount")] = 0.0
    #: Decayed run time of finished jobs in seconds.
    historical_run_time: Annotated[float, Fact("amount")] = 0.0
    #: Committed run time of running jobs in seconds; None: derived from run limits.
    committed_run_time: Annotated[float | None, Fact("amount")] = None
    #: Time of the values, in seconds from the origin.
    stamp: Annotated[int, Fact("stamp")] = 0


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Use of one queue of a slot pool, accumulated until `stamp`."""

    #: Name of the queue that used the slots.
    queue: Annotated[str, Fact("name")]
    #: Slots times seconds, decayed.
    slot_seconds: Annotated[float, Fact("amount")]
    #: Instant of the measurement, in seconds from the origin.
    stamp: Annotated[int, Fact("stamp")] = 0


@dataclass(frozen=True, slots=True)
class HeldHosts:
    """Hosts on which a pending job had reserved slots or memory after the last cycle."""

    #: Id of the pending job that reserves the hosts.
    job: Annotated[str, Fact("name", refers=("pending job",))]
    #: Host names in order of reservation.
    hosts: Annotated[tuple[str, ...], Fact("listed_words", refers=("host",))] = ()
    #: Start of the reservation, from which MAX_RESERVE_TIME counts; seconds from the origin.
    since: Annotated[int | None, Fact("instant")] = None
    #: Until then the job may reserve nothing, because its reservation expired; seconds from the
    #: origin.
    rest_until: Annotated[int | None, Fact("instant")] = None


@dataclass(frozen=True, slots=True)
class BorrowedSlots:
    """Reserved slots, by host, that a running job took by backfill."""

    #: Id of the running job that backfilled the slots.
    job: Annotated[str, Fact("name", refers=("running job",))]
    #: Number of backfilled slots by host name.
    slots: Annotated[dict[str, int], Fact("allocation")] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SaidByLsf:
    """LSF's statements about a pending job when the instance was made; no plan uses them."""

    #: Id of the pending job.
    job: Annotated[str, Fact("name")]
    #: LSF's pending reason, "" if none.
    reason: Annotated[str, Fact("line")] = ""
    #: LSF's estimate of the start (seconds from the origin), None if none.
    start: Annotated[int | None, Fact("instant")] = None


class _ShownInstance(OneLine):
    """The jobs of an instance; it in one line, and as a table in notebooks."""

    __slots__ = ("like_words",)
    #: Its names that sentences would change, found once (:mod:`.slurm_words`).
    like_words: re.Pattern[str] | None
    name: str
    cluster: Cluster
    running: tuple[RunningJob, ...]
    pending: tuple[Job, ...]
    future: Sequence[Job]

    @property
    def present_jobs(self) -> tuple[Job, ...]:
        """Return the running and the pending jobs."""
        return (*(run.job for run in self.running), *self.pending)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Return the running, the pending and the future jobs."""
        return (*self.present_jobs, *self.future)

    def _about(self) -> str:
        hosts = self.cluster.hosts
        name = f"{self.name}: " if self.name else ""
        return (
            f"{name}{len(hosts)} hosts, {sum(host.slots for host in hosts)} slots, "
            f"{len(self.running)} running, {len(self.pending)} pending"
        )

    def _repr_html_(self) -> str:
        """Return the pending jobs as an HTML table for notebooks; times in seconds."""
        head = ("job", "user", "queue", "slots", "submit", "run limit")
        rows = ((j.id, j.user, j.queue, j.slots, j.submit, j.run_limit) for j in self.pending)
        return html_table(self._about(), head, rows)


@dataclass(frozen=True, slots=True, repr=False)
class Instance(_ShownInstance):
    """A complete planning problem."""

    #: Hosts, groups, compute units and resources.
    cluster: Cluster
    #: Queues in configuration order.
    queues: tuple[Queue, ...] = (Queue("default"),)
    #: Running jobs.
    running: tuple[RunningJob, ...] = ()
    #: Pending jobs in order of submission; methods sort them by priority.
    pending: tuple[Job, ...] = ()
    #: Future submissions: a tuple, or records of a log (:class:`.OnDemand`).
    future: Sequence[Job] = ()
    #: Application profiles.
    applications: tuple[Application, ...] = ()
    #: Job groups (bjgroup); empty if unknown.
    job_groups: tuple[JobGroup, ...] = ()
    #: Service classes (bsla).
    service_classes: tuple[ServiceClass, ...] = ()
    #: Guaranteed resource pools (bresources -g), in the order of lsb.resources.
    guaranteed_pools: tuple[GuaranteedPool, ...] = ()
    #: Limits of users and groups.
    users: tuple[User, ...] = ()
    #: User groups.
    groups: tuple[UserGroup, ...] = ()
    #: Host partitions.
    partitions: tuple[HostPartition, ...] = ()
    #: Limit sections.
    limits: tuple[Limit, ...] = ()
    #: Units of rusage amounts by resource.
    reservation_usage: tuple[ReservationUsage, ...] = ()
    #: Advance reservations.
    advance_reservations: tuple[AdvanceReservation, ...] = ()
    #: Past use of share accounts.
    share_usage: tuple[ShareUsage, ...] = ()
    #: Past use of slot pools.
    pool_usage: tuple[PoolUsage, ...] = ()
    #: Associations of Slurm's accounting with their shares and usage.
    associations: tuple[Association, ...] = ()
    #: Limits of Slurm's QOS and associations that no limit section expresses, for jobs to come.
    slurm_limits: tuple[SlurmLimit, ...] = ()
    #: Reservations of pending jobs in the last cycle; the simulated scheduler continues from them.
    held: tuple[HeldHosts, ...] = ()
    #: Reserved slots that running jobs took by backfill.
    borrowed: tuple[BorrowedSlots, ...] = ()
    #: LSF's own statements about pending jobs.
    lsf_says: tuple[SaidByLsf, ...] = ()
    #: Parameters of the cluster.
    params: Params = Params()
    #: Current time, in seconds from the origin.
    now: int = 0
    #: Wall-clock time (ISO 8601) of second 0, None if time is abstract.
    origin: str | None = None
    #: Name of the instance.
    name: str = ""
    #: Description for people.
    description: str = ""
    #: Omissions of the reader that made the instance from listings.
    omissions: tuple[Omission, ...] = ()

    def queue(self, name: str) -> Queue:
        """Return the queue of that name; raises UnknownNameError (a KeyError)."""
        for queue in self.queues:
            if queue.name == name:
                return queue
        raise UnknownNameError.among("queue", name, [queue.name for queue in self.queues])

    @property
    def reserve_cycles(self) -> int | None:
        """Return the longest duration of reservations in cycles, None if no queue reserves."""
        known = (queue.reserve_cycles for queue in self.queues)
        return max((cycles for cycles in known if cycles is not None), default=None)

    @property
    def backfills(self) -> bool:
        """Return whether any queue has BACKFILL."""
        return any(queue.backfill for queue in self.queues)

    @property
    def has_accept_interval(self) -> bool:
        """Return whether any queue has JOB_ACCEPT_INTERVAL, its own or that of lsb.params."""
        return any(map(self.accept_interval, self.queues))

    def accept_interval(self, queue: Queue) -> int:
        """Return JOB_ACCEPT_INTERVAL of a queue in seconds."""
        own, common = queue.job_accept_interval, self.params.job_accept_interval
        return (common if own is None else own) * self.params.mbd_sleep_time

    def advance_reservation(self, name: str) -> AdvanceReservation | None:
        """Return the advance reservation of that name, or None."""
        return next((item for item in self.advance_reservations if item.name == name), None)

    def application(self, name: str) -> Application | None:
        """Return the application profile of that name, or None."""
        return next((profile for profile in self.applications if profile.name == name), None)
