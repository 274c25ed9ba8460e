"""Submitted jobs, running jobs, application profiles and job arrays.

Job arrays: ``bsub -J "name[1-10:2,15]%4"`` (ARR-01). An element is a job of its own, with the id
``101[3]``; all elements of an array share their other fields. Files, tables and submissions show an
array as one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from numbers import Integral
from operator import attrgetter
from typing import Annotated

from .absolute_priority import StatedPriority
from .errors import InputError
from .facts import HOST, Fact
from .input_limits import limits, take_names, too_many

#: The keyword in a list of hosts for all hosts that the list does not name.
OTHERS = "others"
#: Run limit (seconds) of a job without one, to which no default applies: Slurm's UNLIMITED.
NO_RUN_LIMIT = 10**12


@dataclass(frozen=True, slots=True)
class HostRequest:
    """One name of ``bsub -m``: host, group, unit or ``others``.

    ``+level`` is a preference, ``!`` marks the first host.
    """

    #: Name of a host, host group or compute unit.
    name: str
    #: Preference level, 0 if none.
    preference: int = 0
    #: Whether the first task must run there (``name!``).
    first: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A job as submitted; times in seconds from the instance's origin."""

    #: Job id, ``101[3]`` for an element.
    id: str
    #: Minimum number of slots (-n min).
    slots: int = 1
    #: Maximum number of slots (-n min,max); None: equal to the minimum.
    max_slots: int | None = None
    #: Name of the user.
    user: Annotated[str, Fact("name")] = "user"
    #: Name of the queue.
    queue: Annotated[str, Fact("name", refers=("queue",))] = "default"
    #: Requirements of -R, one string for each.
    res_req: Annotated[tuple[str, ...], Fact("requirements")] = ()
    #: Run limit of -W in seconds; NO_RUN_LIMIT: none, although its queue has a default.
    run_limit: Annotated[int | None, Fact("own_run_limit")] = None
    #: CPU limit of -c in seconds.
    cpu_limit: Annotated[int | None, Fact("seconds")] = None
    #: Expected run time of -We in seconds; the run limit still ends the job (SUB-04).
    estimated_run_time: Annotated[int | None, Fact("seconds")] = None
    #: Real run time in seconds, known to simulations only.
    run_time: Annotated[int | None, Fact("elapsed")] = None
    #: CPU seconds: of a running job those used so far; of a pending job the total, known to
    #: simulations only.
    cpu_time: Annotated[float | None, Fact("amount")] = None
    #: Submission time.
    submit: Annotated[int, Fact("instant")] = 0
    #: Earliest start (-b).
    begin: Annotated[int | None, Fact("instant")] = None
    #: Latest end (-t; tardiness objective, TBR-19).
    deadline: Annotated[int | None, Fact("instant")] = None
    #: Job priority (-sp).
    priority: Annotated[int, Fact("whole")] = 0
    #: Whether an administrator has set the priority, so that it does not change (Slurm).
    has_fixed_priority: Annotated[bool, Fact("boolean", "fixed_priority")] = False
    #: Weight in the weighted objective.
    weight: Annotated[float, Fact("amount")] = 1.0
    #: Project (-P).
    project: Annotated[str, Fact("name")] = "default"
    #: License Scheduler project (-Lp), "" if none.
    license_project: Annotated[str, Fact("name")] = ""
    #: User group (-G) whose share counts, "" if not given.
    group: Annotated[str, Fact("name")] = ""
    #: Application profile (-app), "" if none.
    application: Annotated[str, Fact("name", refers=("application",))] = ""
    #: Requested hosts (-m).
    hosts: Annotated[tuple[HostRequest, ...], Fact("hosts", refers=(HOST, OTHERS))] = ()
    #: Whether it has its hosts to itself (-x).
    exclusive: Annotated[bool, Fact("boolean")] = False
    #: Whether it may grow while running (-ar).
    resizable: Annotated[bool, Fact("boolean")] = False
    #: Submission host, "" if unknown (type==local, REQ-04).
    from_host: Annotated[str, Fact("name", refers=("submission host",))] = ""
    #: GPU requirement (-gpu); ``-``: as queue and cluster say.
    gpu: Annotated[str, Fact("line")] = ""
    #: External scheduler options (-ext), such as RMS[nodes=3].
    extsched: Annotated[str, Fact("line")] = ""
    #: Position set by btop or bbot: time of submission that counts instead, and place among equal
    #: times, lowest first. None: not moved.
    queued_as: Annotated[tuple[int, int] | None, Fact("queue_position")] = None
    #: Whether it has run and is pending again; limits of bsub do not apply to it.
    requeued: Annotated[bool, Fact("boolean")] = False
    #: Options of bsub that no method obeys, such as ``-sla gold``.
    unheeded: Annotated[tuple[str, ...], Fact("options")] = ()
    #: Assumptions for what it requests: it may hold other amounts, and fit elsewhere.
    assumed: Annotated[tuple[str, ...], Fact("options")] = ()
    #: Job name (-J).
    name: Annotated[str, Fact("line")] = ""
    #: Condition that must hold before the job starts (-w; :mod:`.dependency`).
    dependency: Annotated[str, Fact("line")] = ""
    #: Minimum seconds between the fulfilled condition and the start.
    think_time: Annotated[int, Fact("elapsed")] = 0
    #: Whether it is killed when its condition can never hold (-ti).
    orphan_term: Annotated[bool, Fact("boolean")] = False
    #: Maximum number of running elements of its array, ``%4`` of -J.
    array_limit: Annotated[int | None, Fact("count_from_1")] = None
    #: Whether its hosts are its own (-nnodes), regardless of EXCLUSIVE of the queue.
    whole_hosts: Annotated[bool, Fact("boolean")] = False
    #: Job group (-g), such as ``/risk/daily``; "" if in the root.
    job_group: Annotated[str, Fact("job_group_or_none")] = ""
    #: Advance reservation in which it runs (-U), "" if none.
    reservation: Annotated[str, Fact("name", refers=("advance reservation",))] = ""
    #: Absolute priority set by an administrator (bmod -aps), None if not set.
    aps: Annotated[StatedPriority | None, Fact("aps_stated")] = None
    #: Service class of -sla, "" if not given.
    service_class: Annotated[str, Fact("name", refers=("service class",))] = ""
    #: Index of the alternative in braces of its requirement that it uses, ``{…} || {…}@delay``;
    #: None: any that is open.
    requirement_alternative: Annotated[int | None, Fact("count")] = None

    @property
    def array_id(self) -> str | None:
        """Return the array id ``101`` for an element ``101[3]``; None if it is not an element."""
        return array_of(self.id)

    @property
    def array_index(self) -> int | None:
        """Return the index 3 for an element ``101[3]``; None if it is not an element."""
        return None if self.array_id is None else int(self.id.partition("[")[2][:-1])

    @property
    def shown_name(self) -> str:
        """Return the name as bjobs prints it: ``a[3]`` for an element."""
        index = self.array_index
        return self.name if index is None else f"{self.name}[{index}]"

    @property
    def queue_position(self) -> tuple[int, int]:
        """Return time and place that order the job among those of its queue and priority."""
        return (self.submit, 0) if self.queued_as is None else self.queued_as

    @property
    def most_slots(self) -> int:
        """Return the maximum of -n, or the minimum if no range was given."""
        return self.slots if self.max_slots is None else self.max_slots


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs: `allocation` is host to slots in allocation order; start <= now."""

    #: The job as it was submitted.
    job: Job
    #: Start in seconds from the origin.
    start: Annotated[int, Fact("instant")]
    #: Slots in use by host name.
    allocation: Annotated[Mapping[str, int], Fact("allocation")] = field(default_factory=dict)
    #: Expected end; None: by the duration chain (TBR-03).
    finish: Annotated[int | None, Fact("instant")] = None
    #: Index of the rusage alternative with which it started (RSV-07).
    alternative: Annotated[int, Fact("count")] = 0
    #: Whether it is suspended.
    suspended: Annotated[bool, Fact("boolean")] = False

    @property
    def slots(self) -> int:
        """Return the number of slots in use now, after any resize."""
        return sum(self.allocation.values())


@dataclass(frozen=True, slots=True)
class Application:
    """An application profile (lsb.applications); limits in seconds."""

    #: Name of the profile.
    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    #: Resource requirement of its jobs.
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    #: Run limit of its jobs in seconds.
    run_limit: Annotated[int | None, Fact("minutes", "RUNLIMIT")] = None
    #: Expected run time in seconds (RUNTIME, the former name of ESTIMATED_RUNTIME).
    run_time: Annotated[int | None, Fact("minutes", "RUNTIME")] = None
    #: CPU limit of its jobs in seconds.
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    #: Slots of a job (PROCLIMIT): minimum, default, maximum.
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    #: Expected run time in seconds (ESTIMATED_RUNTIME).
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: GPU requirement of its jobs (GPU_REQ).
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""
    #: The profile's value as APP of an absolute priority (PRIORITY).
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 0


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A job group and its limit (bgadd -L); it counts the jobs of groups below it (GRP-01)."""

    #: Path such as ``/risk/daily``.
    name: Annotated[str, Fact("job_group")]
    #: Maximum number of its jobs, with those of groups below, that run or are suspended.
    limit: Annotated[int | None, Fact("count")] = None


def job_groups_of(name: str) -> tuple[str, ...]:
    """Return a job group and its ancestors without the root: ``/a``, ``/a/b`` for ``/a/b``."""
    parts = [part for part in name.split("/") if part]
    return tuple("/" + "/".join(parts[: n + 1]) for n in range(len(parts)))


#: Argument of -J: ``name[elements]%limit``; the name may be empty.
_NAMED = re.compile(r"(?P<name>[^\[\]]*)(?P<spec>\[[^\[\]]*\](?:\s*%.*)?)\s*\Z", re.DOTALL)
_SPEC = re.compile(r"\s*(?P<list>[^\[\]%]*)(?:%(?P<limit>[^%]*))?\Z", re.DOTALL)
_RANGE = re.compile(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*(?::\s*(\d{1,10})\s*)?)?\Z", re.ASCII)
_LIMIT = re.compile(r"\s*(\d{1,9})\s*\Z", re.ASCII)
#: Largest index if MAX_JOB_ARRAY_SIZE is not set.
DEFAULT_LARGEST = 1000
#: Largest accepted value of MAX_JOB_ARRAY_SIZE.
LARGEST_INDEX = 2147483646


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The elements of a job array."""

    #: Ranges of indices, ascending and disjoint.
    ranges: tuple[range, ...]
    #: Maximum number of running elements (``%4``), None: no limit.
    limit: int | None = None

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __iter__(self) -> Iterator[int]:
        for part in self.ranges:
            yield from part

    @property
    def last(self) -> int:
        """Return the largest index."""
        return self.ranges[-1][-1]

    @property
    def indices(self) -> str:
        """Return the indices in their shortest form: ``1-9:2,15``."""
        return ",".join(map(_range_text, self.ranges))

    @property
    def entry(self) -> str:
        """Return the elements as files have them: ``1-9:2,15%4``."""
        return self.indices + ("" if self.limit is None else f"%{self.limit}")

    def __str__(self) -> str:
        """Return the text after the name in ``bsub -J``, in its shortest form: ``[1-9:2,15]%4``."""
        return f"[{self.indices}]" + ("" if self.limit is None else f"%{self.limit}")


def parse_array(text: str, largest: int = DEFAULT_LARGEST) -> tuple[str, ArraySpec | None]:
    """Return the name of ``bsub -J`` and its elements, None if the job is not an array.

    largest: MAX_JOB_ARRAY_SIZE. Raises ValueError for a list of elements that bsub refuses.
    """
    if "[" not in text and "]" not in text:
        return text, None
    match = _NAMED.match(text)
    if match is None:
        raise ValueError(f"{text!r} is not a job array such as name[1-10:2,15]%4")
    return match["name"].strip(), parse_spec(match["spec"], largest)


def parse_spec(text: str, largest: int = DEFAULT_LARGEST, *, first: int = 1) -> ArraySpec:
    """Parse ``1-10:2,15%4``, with or without brackets around the indices.

    largest: MAX_JOB_ARRAY_SIZE. first: the smallest index, 0 with Slurm. Raises ValueError for a
    text that bsub refuses.
    """
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].replace("]", "", 1)
    match = _SPEC.match(plain)
    if match is None:
        raise ValueError(f"{text!r} is not a list of array elements such as 1-10:2,15%4")
    ranges = [_range_of(part, text, first) for part in match["list"].split(",")]
    last = max(part[-1] for part in ranges)
    if last > largest:
        raise ValueError(too_large(last, largest))
    if sum(map(len, ranges)) > limits().elements:
        raise TooManyElements(f"{text!r}: {too_many_elements()}")
    return ArraySpec(_joined(ranges), _limit_of(match["limit"], text))


class TooManyElements(ValueError):
    """Error for an array with more elements than the input limits allow."""


def too_many_elements() -> str:
    """Return the message for arrays with more elements than the input limits allow."""
    return too_many("elements of job arrays", "elements")


def too_large(index: int, largest: int) -> str:
    """Return bsub's message for an index beyond MAX_JOB_ARRAY_SIZE."""
    return (
        f"Array index too large. Job not submitted: index {index} exceeds MAX_JOB_ARRAY_SIZE "
        f"({largest})"
    )


def _limit_of(given: str | None, text: str) -> int | None:
    """Return the number after ``%``, None if there is none."""
    if given is None:
        return None
    found = _LIMIT.match(given)
    if found is None or int(found[1]) < 1:
        raise ValueError(f"{text!r}: the number of elements after % must be 1 or more")
    return int(found[1])


def _range_of(part: str, text: str, smallest: int) -> range:
    found = _RANGE.match(part)
    if found is None:
        raise ValueError(f"{text!r}: {part.strip()!r} is not an index: write 3, 1-10 or 1-10:2")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    step = 1 if found[3] is None else int(found[3])
    if first < smallest:
        raise ValueError(f"{text!r}: indices must be {smallest} or more, not {part.strip()!r}")
    if step < 1 or last < first:
        raise ValueError(f"{text!r}: indices must be in ascending order, not {part.strip()!r}")
    found_range = range(first, last + 1, step)
    return range(first, found_range[-1] + 1, step)


def ranges_of(indices: Iterable[int]) -> tuple[range, ...]:
    """Return indices as few ascending ranges; three or more in equal steps are a range."""
    rest = sorted(indices)
    found: list[range] = []
    at = 0
    while at < len(rest):
        step = rest[at + 1] - rest[at] if at + 1 < len(rest) else 1
        end = at + 1
        while end < len(rest) and rest[end] - rest[end - 1] == step:
            end += 1
        if step != 1 and end - at < 3:  # Two separate indices are not a range.
            step, end = 1, at + 1
        found.append(range(rest[at], rest[end - 1] + 1, step))
        at = end
    return tuple(found)


def _joined(parts: Iterable[range]) -> tuple[range, ...]:
    """Merge ranges to ascending ones, expanded only if two overlap."""
    rest = sorted(parts, key=lambda part: part[0])
    if any(one[-1] >= two[0] for one, two in pairwise(rest)):
        take_names(sum(map(len, rest)))
        return ranges_of({index for part in rest for index in part})

    def following(place: tuple[int, int]) -> tuple[int, int]:
        part, at = place
        return (part, at + 1) if at + 1 < len(rest[part]) else (part + 1, 0)

    def number(place: tuple[int, int]) -> int:
        return rest[place[0]][place[1]]

    found: list[range] = []
    place = (0, 0)
    while place[0] < len(rest):
        end, after = place, following(place)
        step = number(after) - number(place) if after[0] < len(rest) else 1
        while after[0] < len(rest) and number(after) - number(end) == step:
            end = after if after[0] != end[0] else (end[0], len(rest[end[0]]) - 1)
            after = following(end)
        # Two separate indices are not a range.
        if step != 1 and number(end) - number(place) < 2 * step:
            step, end, after = 1, place, following(place)
        found.append(range(number(place), number(end) + 1, step))
        place = after
    return tuple(found)


def _range_text(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f":{part.step}" if part.step != 1 else "")


def array_of(id: str) -> str | None:
    """Return the array id ``101`` for the id ``101[3]``; None if it is not an element."""
    if not id.endswith("]"):
        return None
    head, bracket, tail = id.partition("[")
    return head if bracket and tail[:-1].isdigit() else None


def running_limits(jobs: Iterable[Job]) -> dict[str, int]:
    """Return the maximum number of running elements by array id, the smallest of its elements.

    jobs: pending and running jobs.
    """
    found: dict[str, int] = {}
    for job in jobs:
        if job.array_limit is not None and (array := job.array_id) is not None:
            found[array] = min(job.array_limit, found.get(array, job.array_limit))
    return found


def with_running_limits(
    running: Iterable[RunningJob], pending: Iterable[Job]
) -> tuple[RunningJob, ...]:
    """Return the running jobs with the limits of their arrays, which pending elements may have."""
    running = tuple(running)
    most = running_limits((*pending, *(item.job for item in running)))
    return tuple(
        item
        if item.job.array_limit == (limit := most.get(item.job.array_id or ""))
        else replace(item, job=replace(item.job, array_limit=limit))
        for item in running
    )


def elements(job: Job, spec: ArraySpec) -> tuple[Job, ...]:
    """Return the elements of an array: copies of `job` with ids such as ``101[3]``.

    The limit of the elements counts, else that of the job.

    >>> [job.id for job in elements(Job("101"), parse_array("a[1-3]")[1])]
    ['101[1]', '101[2]', '101[3]']
    """
    shared = _SHARED(replace(job, array_limit=spec.limit or job.array_limit))
    return tuple(Job(f"{job.id}[{index}]", *shared) for index in spec)


def arrays_of(jobs: Iterable[Job]) -> Iterator[tuple[Job, ArraySpec | None]]:
    """Yield the jobs in order, with elements that differ only by index combined into arrays.

    Gives the job with the id of the array and its elements, (job, None) for any other job.
    Elements are put together where they stand behind each other in the order of their index.
    """
    first: Job | None = None
    array, shared, indices = "", (), list[int]()
    for job in jobs:
        index = job.array_index
        if first is not None:
            follows = index is not None and index > indices[-1] and job.array_id == array
            if index is not None and follows and _same(_SHARED(job), shared):
                indices.append(index)
                continue
            yield _whole(first, array, indices)
            first = None
        if index is None:
            yield job, None
        else:
            first, array, shared, indices = job, job.array_id or "", _SHARED(job), [index]
    if first is not None:
        yield _whole(first, array, indices)


def classes(jobs: Iterable[Job]) -> Iterator[tuple[Job, Job]]:
    """Yield each job with the first job of its class of equal jobs.

    A class is jobs behind each other that differ in nothing but their id, as equal elements of an
    array do.
    """
    first: Job | None = None
    shared: tuple[object, ...] = ()
    for job in jobs:
        own = _SHARED(job)
        if first is None or own != shared:
            first, shared = job, own
        yield job, first


#: All fields but the id, in their order.
_SHARED = attrgetter(*(field.name for field in fields(Job)[1:]))


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all(a is b or a == b for a, b in zip(one, other, strict=True))


def _whole(first: Job, array: str, indices: Sequence[int]) -> tuple[Job, ArraySpec]:
    spec = ArraySpec(ranges_of(indices), first.array_limit)
    return replace(first, id=array, array_limit=None), spec


def job_id(job: object, what: str = "job") -> str:
    """Return the id of a job, which may be given as a number; raises InputError for others."""
    if isinstance(job, Integral) and not isinstance(job, bool):
        return str(job)
    if not isinstance(job, str):
        raise InputError(f"{what}: must be the id of a job, such as '201' or 201, not {job!r}")
    return job


def job_ids(jobs: object) -> tuple[str, ...]:
    """Return the ids of jobs; an id alone is that of one job. Raises InputError for others."""
    if isinstance(jobs, (str, Integral)) or not isinstance(jobs, Iterable):
        return (job_id(jobs, "jobs"),)
    return tuple(job_id(job, "jobs") for job in jobs)
