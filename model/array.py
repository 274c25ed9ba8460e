"""Job arrays: ``bsub -J "name[1-10:2,15]%4"`` (ARR-01).

An element is a job of its own, with the id ``101[3]``; all elements of an array share their other
fields. Files, tables and submissions show an array as one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter

from .job import Job

#: ``name[elements]%limit``; the name may be empty.
_NAMED = re.compile(r"(?P<name>[^\[\]]*)(?P<spec>\[[^\[\]]*\](?:\s*%.*)?)\s*\Z", re.DOTALL)
_SPEC = re.compile(r"\s*(?P<list>[^\[\]%]*)(?:%(?P<limit>[^%]*))?\Z", re.DOTALL)
_RANGE = re.compile(r"\s*(\d{1,10})\s*(?:-\s*(\d{1,10})\s*(?::\s*(\d{1,10})\s*)?)?\Z", re.ASCII)
_LIMIT = re.compile(r"\s*(\d{1,9})\s*\Z", re.ASCII)
#: MAX_JOB_ARRAY_SIZE where nobody sets it: the largest index.
DEFAULT_LARGEST = 1000
#: The largest that MAX_JOB_ARRAY_SIZE may be.
MOST = 2147483646
#: More elements than that are not spelt out.
MOST_ELEMENTS = 1_000_000


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """The elements of an array. ranges: of their indices, ascending and apart.

    limit: at most so many run at once (``%4``), None for no limit.
    """

    ranges: tuple[range, ...]
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


def parse_spec(text: str, largest: int = DEFAULT_LARGEST) -> ArraySpec:
    """``1-10:2,15%4``, with or without brackets around the indices.

    largest: MAX_JOB_ARRAY_SIZE. Raises ValueError for what bsub refuses.
    """
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].replace("]", "", 1)
    match = _SPEC.match(plain)
    if match is None:
        raise ValueError(f"{text!r}: elements are written 1-10:2,15%4")
    ranges = [_range_of(part, text) for part in match["list"].split(",")]
    last = max(part[-1] for part in ranges)
    if last > largest:
        raise ValueError(too_large(last, largest))
    if sum(map(len, ranges)) > MOST_ELEMENTS:
        raise ValueError(f"{text!r}: more than {MOST_ELEMENTS:,} elements")
    limit = _limit_of(match["limit"], text)
    if len(ranges) > 1:
        return ArraySpec(ranges_of({index for part in ranges for index in part}), limit)
    return ArraySpec(ranges_of(ranges[0]) if len(ranges[0]) < 3 else tuple(ranges), limit)


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


def _range_of(part: str, text: str) -> range:
    found = _RANGE.match(part)
    if found is None:
        raise ValueError(f"{text!r}: {part.strip()!r} is no index: write 3, 1-10 or 1-10:2")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    step = 1 if found[3] is None else int(found[3])
    if first < 1 or step < 1 or last < first:
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


def _range_text(part: range) -> str:
    if len(part) == 1:
        return str(part[0])
    return f"{part[0]}-{part[-1]}" + (f":{part.step}" if part.step != 1 else "")


def array_of(id: str) -> str | None:
    """The array of the id of an element: ``101`` of ``101[3]``; None for any other job."""
    return Job(id).array_id if id.endswith("]") else None


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


#: All fields but the id, in their order.
_SHARED = attrgetter(*(field.name for field in fields(Job)[1:]))


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return all(a is b or a == b for a, b in zip(one, other, strict=True))


def _whole(first: Job, array: str, indices: Sequence[int]) -> tuple[Job, ArraySpec]:
    spec = ArraySpec(ranges_of(indices), first.array_limit)
    return replace(first, id=array, array_limit=None), spec
