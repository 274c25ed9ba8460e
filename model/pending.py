"""Pending reasons, with the texts of LSF and of Slotwise.

LSF's texts are in one table, :class:`Pending`.

Numbers and meaning are those of lsbatch.h (pending reasons 1 to 4800, `lsb_pendreason` in the API
reference of LSF 7 and 9.1.3). Texts are those that bjobs prints: from LSF's documentation, else as
public programs that read bjobs quote them. If only the API's description is public, its text is
used. Two reasons have no number, because LSF refuses such states at submission.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain
from typing import Literal, TypeAlias

from .display import AsData, duration_text


class Pending(Enum):
    """A pending reason: LSF's number (0 if none) and text. Numbers from 1001 on concern hosts."""

    NEW = 1, "New job is waiting for scheduling"
    START_TIME = 2, "Job's start time not reached"
    DEPENDENCY = 3, "Job dependency condition not satisfied"
    DEPENDENCY_NEVER = 4, "Dependency condition invalid or never satisfied"
    POSTPONED = 13, "The schedule of the job is postponed for a while"
    ARRAY_ELEMENTS = 38, "Job array has reached its running element limit"
    JOB_GROUP = 45, "The specified job group has reached its job limit"
    #: Number and text are assumed: no public page has them.
    GUARANTEE = 0, "Resources of guaranteed resource pool ({}) are reserved for its owners"
    QUEUE_INACTIVE = 301, "The queue is inactivated by the administrator"
    QUEUE_WINDOW = 302, "The queue is inactivated by its time windows"
    QUEUE_SLOTS = 303, "The queue has reached its job slot limit"
    QUEUE_SLOTS_PARALLEL = 304, "The queue has not enough job slots for the parallel job"
    QUEUE_USER_SLOTS = 305, "User has reached the per-user job slot limit of the queue"
    QUEUE_USER_SLOTS_PARALLEL = (
        *(306, "Not enough per-user job slots of the queue for the parallel job"),
    )
    QUEUE_WINDOW_CLOSES = 310, "Job will not finish before queue's run window is closed"
    QUEUE_PROCLIMIT = 311, "Job no longer satisfies queue PROCLIMIT configuration"
    USER_SLOTS = 601, "The user has reached his/her job slot limit"
    GROUP_SLOTS = 602, "One of the user's groups has reached its job slot limit"
    USER_SLOTS_PARALLEL = 603, "The user has not enough job slots for the parallel job"
    GROUP_SLOTS_PARALLEL = 604, "One of user's groups has not enough job slots for the parallel job"
    NO_SHARE = 0, "User is not defined in the fairshare policy of the queue"
    #: LSF's own text is unknown.
    RESERVATION_INACTIVE = 0, "The advance reservation of the job is not active"
    #: No public page has LSF's text for limits of application profiles and licence projects.
    LIMIT_APP = 0, "Resource ({}) limit defined on application has been reached"
    JOBS_APP = 0, "JOBS limit defined for the application has been reached"
    LIMIT_LICENSE_PROJECT = 0, "Resource ({}) limit defined on license project has been reached"
    JOBS_LICENSE_PROJECT = 0, "JOBS limit defined for the license project has been reached"
    REFUSED = 0, "System is unable to schedule the job"

    REQUIREMENT = 1001, "Job's resource requirements not satisfied"
    NOT_ALONE = 1002, "Job's requirement for exclusive execution not satisfied"
    PARTITION_PRIORITY = 1004, "The job failed to compete with other jobs on host partition"
    FIRST_HOST = (
        *(1011, "The specified first execution host is not eligible for this job at this time"),
    )
    CLOSED = 1301, "Closed by LSF administrator"
    LOCKED = 1302, "Host is locked by LSF administrator"
    FEW_SLOTS = 1303, "Not enough job slot(s)"
    HOST_WINDOW = 1304, "Dispatch windows closed"
    HOST_FULL = 1305, "Job slot limit reached"
    QUEUE_PER_CPU = 1306, "Queue's per-CPU job slot limit reached"
    QUEUE_PER_HOST = 1307, "Queue's per-host job slot limit reached"
    USER_PER_CPU = 1308, "User's per-CPU job slot limit reached"
    HOST_PER_USER = 1309, "Host's per-user job slot limit reached"
    NOT_OF_QUEUE = 1310, "Not usable to the queue"
    NOT_ASKED_FOR = 1311, "Not specified in job submission"
    PARTITION = 1312, "The user has no access to the host partition"
    JUST_ACCEPTED = 1314, "Just started a job recently"
    NO_LOAD = 1315, "Load information unavailable"
    QUEUE_REQUIREMENT = 1318, "Queue's resource requirements not satisfied"
    OTHER_TYPE = 1319, "Not the same type as the submission host"
    SPAN = 1320, "Not enough processors to meet the job's spanning requirement"
    QUEUE_SPAN = 1321, "Not enough processors to meet the queue's spanning requirement"
    EXCLUSIVE = 1322, "Running an exclusive job"
    GROUP_PER_CPU = 1324, "User group's per-CPU job slot limit reached"
    RESERVED = 1332, "Not enough job slot(s) while advance reservation is active"
    NO_UNIT = 1336, "Host does not belong to a compute unit of the required type"
    UNIT_EXCLUSIVE = 1337, "A compute unit containing the host is used exclusively"
    UNIT_OCCUPIED = 1338, "CU-level exclusive job cannot start since CU is occupied"
    UNIT_USABLE = 1339, "Not enough usable slots on the host's compute unit"
    UNITS_MAXCUS = 1342, "Maxcus cannot be satisfied"
    UNITS_BALANCE = 1343, "Balance cannot be satisfied"
    UNREACHABLE = 1601, "Unable to reach slave batch server"
    LOAD = 2001, "Load threshold reached"
    QUEUE_RUSAGE = 2301, "Queue's requirements for reserving resource ({}) not satisfied"
    RUSAGE = 2601, "Job's requirements for reserving resource ({}) not satisfied"
    LIMIT_USER = 3201, "Resource ({}) limit defined on user or user group has been reached"
    LIMIT_QUEUE = 3501, "Resource ({}) limit defined on queue has been reached"
    LIMIT_PROJECT = 3801, "Resource ({}) limit defined on project has been reached"
    LIMIT_CLUSTER = 4101, "Resource ({}) limit defined cluster-wide has been reached"
    LIMIT_HOST = 4401, "Resource ({}) limit defined on host and/or host group has been reached"
    JOBS_USER = 4701, "JOBS limit defined for the user or user group has been reached"
    JOBS_QUEUE = 4702, "JOBS limit defined for the queue has been reached"
    JOBS_PROJECT = 4703, "JOBS limit defined for the project has been reached"
    JOBS_CLUSTER = 4704, "JOBS limit defined cluster-wide has been reached"
    JOBS_HOST = 4705, "JOBS limit defined on host or host group has been reached"

    def __init__(self, number: int, words: str) -> None:
        self.number = number
        self.words = words


#: Texts of bjobs for a load index beyond its threshold, in place of the text of LOAD.
LOAD_WORDS = {
    "r15s": "The 15s effective CPU queue length (r15s) is beyond threshold",
    "r1m": "The 1 min effective CPU queue length (r1m) is beyond threshold",
    "r15m": "The 15 min effective CPU queue length (r15m) is beyond threshold",
    "ut": "The CPU utilization (ut) is beyond threshold",
    "pg": "The paging rate (pg) is beyond threshold",
    "io": "The disk IO rate (io) is beyond threshold",
    "ls": "There are too many login users (ls)",
    "it": "The idle time (it) is not long enough",
    "tmp": "The available /tmp space (tmp) is low",
    "swp": "The available swap space (swp) is low",
    "mem": "The available memory (mem) is low",
}


#: Time to which a number in a sentence refers; see :data:`HAS`.
Moment: TypeAlias = Literal["now", "just before", "has"]


class Has(str):
    """Placeholder in a sentence for the time to which the number refers."""

    __slots__ = ()


#: ``needs 4 free slots (now 0)``; in a sentence about no single instant, ``(has 0 to 3)``.
HAS = Has("has")
#: `` now`` in a sentence of now.
NOW = Has("")


class Seconds(float):
    """Seconds in a sentence, written as ``1h 30m``."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Reason(AsData):
    """A pending reason with its details; :func:`bjobs_text`, :func:`sentence` and :func:`over`
    write it.
    """

    #: LSF's reason.
    kind: Pending
    #: Hosts for which it holds, () if it does not concern hosts.
    hosts: tuple[str, ...] = ()
    #: The resource, limit or load index that is short, "" if the text names none.
    resource: str = ""
    #: Texts of our sentence (requested and available amounts), with the numbers that change over
    #: time between them; () if only LSF's text is needed.
    parts: tuple[str | float, ...] = ()

    @classmethod
    def of(cls, kind: Pending, *parts: str | float, resource: str = "") -> Reason:
        """Return a reason with the requested and the available amount."""
        return cls(kind, resource=resource, parts=parts)

    @classmethod
    def counting(
        cls, kind: Pending, needs: str, number: float, *more: str | float, best: bool = False
    ) -> Reason:
        """Return a reason with the need and, in brackets, the available number; more: further text
        there.

        best: the number is the largest on any host.
        """
        return cls.of(kind, f"{needs} (", HAS, " ", number, " at best" * best, *more, ")")

    @classmethod
    def joined(cls, reasons: Iterable[Reason]) -> Reason:
        """Return several sentences as one reason, of the kind of the first."""
        first, *others = reasons
        more = chain.from_iterable(("; ", *other.parts) for other in others)
        return replace(first, parts=(*first.parts, *more))

    @property
    def alike(self) -> tuple[Hashable, ...]:
        """Return a key that is equal for reasons that differ in their numbers only."""
        texts = tuple(part if isinstance(part, str) else None for part in self.parts)
        return (self.kind, self.hosts, self.resource, texts)

    @property
    def counts(self) -> bool:
        """Return whether the sentence refers to a time."""
        return HAS in self.parts

    @property
    def lasts(self) -> bool:
        """Return whether the sentence says for how long something is free."""
        return any(isinstance(part, Seconds) for part in self.parts)

    @property
    def words(self) -> str:
        """Return LSF's text without the hosts."""
        if self.kind is Pending.LOAD and self.resource:
            own = f"External load index ({self.resource}) is beyond threshold"
            return LOAD_WORDS.get(self.resource, own)
        return self.kind.words.format(self.resource)

    DATA = "number=kind.number reason=words hosts"


def bjobs_text(reason: Reason, *, counted: bool = False) -> str:
    """Return the text as bjobs prints it: ``Not enough job slot(s): hostA, hostB``.

    counted: print the number of several hosts, as bjobs does in its short form.
    """
    if not reason.hosts:
        return reason.words
    many = counted and len(reason.hosts) > 1
    hosts = f"{len(reason.hosts)} hosts" if many else ", ".join(reason.hosts)
    return f"{reason.words}: {hosts}"


def sentence(reason: Reason, moment: Moment = "has") -> str:
    """Return our sentence with the number at one time: ``needs 4 free slots (now 0)``."""
    return "".join(
        moment
        if part is HAS
        else " now" * (moment == "now")
        if part is NOW
        else part
        if isinstance(part, str)
        else _range([part])
        for part in reason.parts
    )


def over(reasons: Sequence[Reason]) -> str:
    """Return one sentence for similar reasons over a period: different numbers as ``0 to 5``."""
    columns = zip(*(reason.parts for reason in reasons), strict=True)
    return "".join(
        column[0] if isinstance(column[0], str) else _range(column) for column in columns
    )


def _range(numbers: Sequence[float]) -> str:
    low, high = (
        duration_text(int(number)) if isinstance(number, Seconds) else f"{number:.10g}"
        for number in (min(numbers), max(numbers))
    )
    return low if low == high else f"{low} to {high}"
