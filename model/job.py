"""Jobs as submitted, and jobs that run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from operator import attrgetter
from typing import Annotated

from .absolute_priority import StatedPriority
from .facts import Fact
from .input_limits import limits, take_names

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
    """A job as submitted; times in seconds from the instance's origin."""

    id: str
    #: The least that it starts with (-n min).
    slots: int = 1
    #: The most that it takes (-n min,max), None for no more than the least.
    max_slots: int | None = None
    user: Annotated[str, Fact("name")] = "user"
    queue: Annotated[str, Fact("name")] = "default"
    #: The -R strings.
    res_req: Annotated[tuple[str, ...], Fact("requirements")] = ()
    #: -W, in seconds.
    run_limit: Annotated[int | None, Fact("seconds")] = None
    #: -c, in seconds.
    cpu_limit: Annotated[int | None, Fact("seconds")] = None
    #: -We, how long it is expected to run; the limit still ends it (SUB-04).
    estimated_run_time: Annotated[int | None, Fact("seconds")] = None
    #: What really passes, known to a simulation only.
    run_time: Annotated[int | None, Fact("elapsed")] = None
    #: CPU seconds: of a running job, used so far (by the instance's now); of one still to start,
    #: what it will use in all, known to a simulation only.
    cpu_time: Annotated[float | None, Fact("amount")] = None
    submit: Annotated[int, Fact("instant")] = 0
    #: -b, earliest start.
    begin: Annotated[int | None, Fact("instant")] = None
    #: -t, latest end (tardiness objective, TBR-19).
    deadline: Annotated[int | None, Fact("instant")] = None
    #: -sp.
    priority: Annotated[int, Fact("whole")] = 0
    #: For the weighted objective.
    weight: Annotated[float, Fact("amount")] = 1.0
    project: Annotated[str, Fact("name")] = "default"
    #: -G.
    group: Annotated[str, Fact("name")] = ""
    application: Annotated[str, Fact("name")] = ""
    #: -m.
    hosts: Annotated[tuple[HostRequest, ...], Fact("hosts")] = ()
    #: -x.
    exclusive: Annotated[bool, Fact("boolean")] = False
    resizable: Annotated[bool, Fact("boolean")] = False
    #: The host it was submitted from, "" where nobody knows (type==local, REQ-04).
    from_host: Annotated[str, Fact("name")] = ""
    #: -gpu, ``-`` for what queue and cluster say.
    gpu: Annotated[str, Fact("line")] = ""
    #: -ext, such as RMS[nodes=3].
    extsched: Annotated[str, Fact("line")] = ""
    #: (time, place) that it stands in the queue as if submitted at, by btop or bbot; of one time
    #: the lower place comes first. None: as it was submitted.
    queued_as: Annotated[tuple[int, int] | None, Fact("queue_position")] = None
    #: It has run and waits again; what bsub would refuse today does not touch it.
    requeued: Annotated[bool, Fact("boolean")] = False
    #: What it was submitted with that no method obeys, as bsub has it: ``-sla gold``.
    unheeded: Annotated[tuple[str, ...], Fact("options")] = ()
    #: -J.
    name: Annotated[str, Fact("line")] = ""
    #: -w, the condition that must hold before it may start (:mod:`.dependency`).
    dependency: Annotated[str, Fact("line")] = ""
    #: Seconds that pass between that and its start, at least.
    think_time: Annotated[int, Fact("elapsed")] = 0
    #: -ti, it is killed once its condition can never hold.
    orphan_term: Annotated[bool, Fact("boolean")] = False
    #: Of an element, how many elements of its array may run at once, ``%4`` of -J.
    array_limit: Annotated[int | None, Fact("count_from_1")] = None
    #: -nnodes, its hosts are its own (exclusive) whatever its queue says of EXCLUSIVE.
    whole_hosts: Annotated[bool, Fact("boolean")] = False
    #: -g, its job group, such as ``/risk/daily``; "" for the root.
    job_group: Annotated[str, Fact("job_group_or_none")] = ""
    #: -U, the advance reservation in which it runs, "" if in none.
    reservation: Annotated[str, Fact("name")] = ""
    #: What an administrator set of its absolute priority (bmod -aps), None if nothing.
    aps: Annotated[StatedPriority | None, Fact("aps_stated")] = None
    #: -sla, the service class to which it was submitted.
    service_class: Annotated[str, Fact("name")] = ""

    @property
    def array_id(self) -> str | None:
        """Of an element ``101[3]`` the id of its array, ``101``; None for any other job."""
        return array_of(self.id)

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
    def queue_position(self) -> tuple[int, int]:
        """Time and place that count in the order of its queue and priority."""
        return (self.submit, 0) if self.queued_as is None else self.queued_as

    @property
    def most_slots(self) -> int:
        """The maximum of -n, the minimum where no range was given."""
        return self.slots if self.max_slots is None else self.max_slots


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that runs: `allocation` is host to slots in allocation order; start <= now."""

    job: Job
    start: Annotated[int, Fact("instant")]
    allocation: Annotated[Mapping[str, int], Fact("allocation")] = field(default_factory=dict)
    #: When it is expected to end; None means "by the duration chain" (TBR-03).
    finish: Annotated[int | None, Fact("instant")] = None
    #: Which rusage alternative it started with (RSV-07).
    alternative: Annotated[int, Fact("count")] = 0
    suspended: Annotated[bool, Fact("boolean")] = False

    @property
    def slots(self) -> int:
        """Slots it holds now, after any resize (TBR-14)."""
        return sum(self.allocation.values())


@dataclass(frozen=True, slots=True)
class Application:
    """An application profile (lsb.applications); limits in seconds."""

    name: Annotated[str, Fact("new_name", aka=("NAME",))]
    res_req: Annotated[str, Fact("requirement", "RES_REQ")] = ""
    run_limit: Annotated[int | None, Fact("minutes", "RUNLIMIT")] = None
    #: RUNTIME, the former name of ESTIMATED_RUNTIME.
    run_time: Annotated[int | None, Fact("minutes", "RUNTIME")] = None
    cpu_limit: Annotated[int | None, Fact("minutes", "CPULIMIT")] = None
    #: PROCLIMIT (min, default, max).
    slots: Annotated[
        tuple[int, int | None, int | None] | None,
        Fact("processor_limit", "PROCLIMIT", aka=("TASKLIMIT",)),
    ] = None
    #: ESTIMATED_RUNTIME.
    estimated_run_time: Annotated[int | None, Fact("minutes", "ESTIMATED_RUNTIME")] = None
    #: GPU_REQ.
    gpu_req: Annotated[str, Fact("gpu_req", "GPU_REQ")] = ""
    #: What its jobs count as APP of an absolute priority.
    priority: Annotated[int, Fact("whole", "PRIORITY")] = 0


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A job group and its limit (bgadd -L); those above it count its jobs too (GRP-01)."""

    #: Such as ``/risk/daily``.
    name: Annotated[str, Fact("job_group")]
    #: Jobs of it, and of all groups below it, that may run or be suspended at once.
    limit: Annotated[int | None, Fact("count")] = None


def job_groups_of(name: str) -> tuple[str, ...]:
    """A job group and those above it without the root: ``/a``, ``/a/b`` of ``/a/b``."""
    parts = [part for part in name.split("/") if part]
    return tuple("/" + "/".join(parts[: n + 1]) for n in range(len(parts)))


# Job arrays: ``bsub -J "name[1-10:2,15]%4"`` (ARR-01).
#
# An element is a job of its own, with the id ``101[3]``; all elements of an array share their
# other fields. Files, tables and submissions show an array as one entry.


#: ``name[elements]%limit``; the name may be empty.
_NAMED = re.compile(r"(?P<name>[^\[\]]*)(?P<spec>\[[^\[\]]*\](?:\s*%.*)?)\s*\Z", re.DOTALL)
_SPEC = re.compile(r"\s*(?P<list>[^\[\]%]*)(?:%(?P<limit>[^%]*))?\Z", re.DOTALL)
_RANGE = re.compile(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*(?::\s*(\d{1,10})\s*)?)?\Z", re.ASCII)
_LIMIT = re.compile(r"\s*(\d{1,9})\s*\Z", re.ASCII)
#: MAX_JOB_ARRAY_SIZE where nobody sets it: the largest index.
DEFAULT_LARGEST = 1000
#: The largest that MAX_JOB_ARRAY_SIZE may be.
LARGEST_INDEX = 2147483646


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The elements of an array."""

    #: Of their indices, ascending and apart.
    ranges: tuple[range, ...]
    #: At most so many run at once (``%4``), None for no limit.
    limit: int | None = None

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __iter__(self) -> Iterator[int]:
        for part in self.ranges:
            yield from part

    @property
    def last(self) -> int:
        """The largest index."""
        return self.ranges[-1][-1]

    @property
    def indices(self) -> str:
        """The indices in their shortest form: ``1-9:2,15``."""
        return ",".join(map(_range_text, self.ranges))

    @property
    def entry(self) -> str:
        """As files have it: ``1-9:2,15%4``."""
        return self.indices + ("" if self.limit is None else f"%{self.limit}")

    def __str__(self) -> str:
        """As after the name of ``bsub -J``, in its shortest form: ``[1-9:2,15]%4``."""
        return f"[{self.indices}]" + ("" if self.limit is None else f"%{self.limit}")


def parse_array(text: str, largest: int = DEFAULT_LARGEST) -> tuple[str, ArraySpec | None]:
    """The name of ``bsub -J`` and its elements, None for a job that is no array.

    largest: MAX_JOB_ARRAY_SIZE. Raises ValueError for a list of elements that bsub refuses.
    """
    if "[" not in text and "]" not in text:
        return text, None
    match = _NAMED.match(text)
    if match is None:
        raise ValueError(f"{text!r}: an array is written name[1-10:2,15]%4")
    return match["name"].strip(), parse_spec(match["spec"], largest)


def parse_spec(text: str, largest: int = DEFAULT_LARGEST, *, first: int = 1) -> ArraySpec:
    """``1-10:2,15%4``, with or without brackets around the indices.

    largest: MAX_JOB_ARRAY_SIZE. first: the smallest index, 0 with Slurm. Raises ValueError for what
    bsub refuses.
    """
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].replace("]", "", 1)
    match = _SPEC.match(plain)
    if match is None:
        raise ValueError(f"{text!r}: elements are written 1-10:2,15%4")
    ranges = [_range_of(part, text, first) for part in match["list"].split(",")]
    last = max(part[-1] for part in ranges)
    if last > largest:
        raise ValueError(too_large(last, largest))
    if sum(map(len, ranges)) > limits().elements:
        raise TooManyElements(f"{text!r}: {too_many_elements()}")
    return ArraySpec(_joined(ranges), _limit_of(match["limit"], text))


class TooManyElements(ValueError):
    """An array has more elements than are read."""


def too_many_elements() -> str:
    """What is wrong where arrays have more elements than are read."""
    return f"more than {limits().elements:,} elements of job arrays (--max-elements)"


def too_large(index: int, largest: int) -> str:
    """What bsub says of an index beyond MAX_JOB_ARRAY_SIZE."""
    return (
        f"Array index too large. Job not submitted: index {index} is beyond MAX_JOB_ARRAY_SIZE, "
        f"which is {largest}"
    )


def _limit_of(given: str | None, text: str) -> int | None:
    """The number behind ``%``."""
    if given is None:
        return None
    found = _LIMIT.match(given)
    if found is None or int(found[1]) < 1:
        raise ValueError(f"{text!r}: % needs how many elements may run at once, 1 or more")
    return int(found[1])


def _range_of(part: str, text: str, smallest: int) -> range:
    found = _RANGE.match(part)
    if found is None:
        raise ValueError(f"{text!r}: {part.strip()!r} is no index: write 3, 1-10 or 1-10:2")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    step = 1 if found[3] is None else int(found[3])
    if first < smallest or step < 1 or last < first:
        raise ValueError(f"{text!r}: {part.strip()!r} is no range: indices rise from 1 on")
    found_range = range(first, last + 1, step)
    return range(first, found_range[-1] + 1, step)


def ranges_of(indices: Iterable[int]) -> tuple[range, ...]:
    """Indices as few ranges, ascending: a run of three or more with one step is a range."""
    rest = sorted(indices)
    found: list[range] = []
    at = 0
    while at < len(rest):
        step = rest[at + 1] - rest[at] if at + 1 < len(rest) else 1
        end = at + 1
        while end < len(rest) and rest[end] - rest[end - 1] == step:
            end += 1
        if step != 1 and end - at < 3:  # two that are apart are no range
            step, end = 1, at + 1
        found.append(range(rest[at], rest[end - 1] + 1, step))
        at = end
    return tuple(found)


def _joined(parts: Iterable[range]) -> tuple[range, ...]:
    """The same for the numbers of ranges, which are not written out unless two overlap."""
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
        if step != 1 and number(end) - number(place) < 2 * step:  # two that are apart
            step, end, after = 1, place, following(place)
        found.append(range(number(place), number(end) + 1, step))
        place = after
    return tuple(found)


def _range_text(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f":{part.step}" if part.step != 1 else "")


def array_of(id: str) -> str | None:
    """The array of the id of an element: ``101`` of ``101[3]``; None for any other job."""
    if not id.endswith("]"):
        return None
    head, bracket, tail = id.partition("[")
    return head if bracket and tail[:-1].isdigit() else None


def running_limits(jobs: Iterable[Job]) -> dict[str, int]:
    """How many elements of each array may run at once, by the array's id: the least that one says.

    jobs: those that wait and those that run.
    """
    found: dict[str, int] = {}
    for job in jobs:
        if job.array_limit is not None and (array := job.array_id) is not None:
            found[array] = min(job.array_limit, found.get(array, job.array_limit))
    return found


def elements(job: Job, spec: ArraySpec) -> tuple[Job, ...]:
    """The elements of an array: jobs that share the fields of `job`, with the ids ``101[3]``.

    >>> [job.id for job in elements(Job("101"), parse_array("a[1-3]")[1])]
    ['101[1]', '101[2]', '101[3]']
    """
    shared = _SHARED(replace(job, array_limit=spec.limit))
    return tuple(Job(f"{job.id}[{index}]", *shared) for index in spec)


def arrays_of(jobs: Iterable[Job]) -> Iterator[tuple[Job, ArraySpec | None]]:
    """Jobs in their order, elements that differ in nothing but their index as one array.

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
    """Jobs in their order, each with the first of its class.

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
