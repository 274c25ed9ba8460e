"""Job arrays: ``bsub -J "name[1-10:2,15]%4"`` (ARR-01).

An element is a job of its own, with the id ``101[3]``; all elements of an array share their other
fields. Files, tables and submissions show an array as one entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from .job import Job

#: ``name[elements]%limit``; the name may be empty.
_SPEC = re.compile(r"(?P<name>[^\[\]]*)\[(?P<elements>[^\[\]]*)\](?:\s*%\s*(?P<limit>\d+))?\s*\Z")
_RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*(?::\s*(\d+)\s*)?)?\Z")
#: MAX_JOB_ARRAY_SIZE where nobody sets it: the largest index.
DEFAULT_LARGEST = 1000
#: The largest that MAX_JOB_ARRAY_SIZE may be.
MOST = 2147483646


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

    def __str__(self) -> str:
        """As after the name of ``bsub -J``, in its shortest form: ``[1-9:2,15]%4``."""
        parts = ",".join(map(_range_text, self.ranges))
        return f"[{parts}]" + ("" if self.limit is None else f"%{self.limit}")


def parse_array(text: str, largest: int = DEFAULT_LARGEST) -> tuple[str, ArraySpec | None]:
    """The name of ``bsub -J`` and its elements, None for a job that is no array.

    largest: MAX_JOB_ARRAY_SIZE. Raises ValueError for a list of elements that bsub refuses.
    """
    if "[" not in text and "]" not in text:
        return text, None
    match = _SPEC.match(text)
    if match is None:
        raise ValueError(f"{text!r}: an array is written name[1-10:2,15]%4")
    indices: set[int] = set()
    for part in match["elements"].split(","):
        indices.update(_range_of(part, text, largest))
    limit = None if match["limit"] is None else int(match["limit"])
    if limit == 0:
        raise ValueError(f"{text!r}: % needs how many elements may run at once, 1 or more")
    return match["name"].strip(), ArraySpec(ranges_of(indices), limit)


def _range_of(part: str, text: str, largest: int) -> range:
    found = _RANGE.match(part)
    if found is None:
        raise ValueError(f"{text!r}: {part.strip()!r} is no index: write 3, 1-10 or 1-10:2")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    step = 1 if found[3] is None else int(found[3])
    if first < 1 or step < 1 or last < first:
        raise ValueError(f"{text!r}: {part.strip()!r} is no range: indices rise from 1 on")
    if last > largest:
        raise ValueError(f"{text!r}: index {last} is beyond MAX_JOB_ARRAY_SIZE, which is {largest}")
    return range(first, last + 1, step)


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
    limited = replace(job, array_limit=spec.limit)
    return tuple(replace(limited, id=f"{job.id}[{index}]") for index in spec)


def arrays_of(jobs: Iterable[Job]) -> Iterator[tuple[Job, ArraySpec | None]]:
    """Jobs in their order, elements that differ in nothing but their index as one array.

    Gives the job with the id of the array and its elements, (job, None) for any other job. An
    array stands where its first element stands.
    """
    groups: dict[object, tuple[Job, list[int]]] = {}
    for number, job in enumerate(jobs):
        index = job.array_index
        if index is None:
            groups[number] = (job, [])
            continue
        whole = replace(job, id=job.array_id or job.id, array_limit=None)
        groups.setdefault((whole, job.array_limit), (job, []))[1].append(index)
    for job, indices in groups.values():
        if not indices:
            yield job, None
        else:
            whole = replace(job, id=job.array_id or job.id, array_limit=None)
            yield whole, ArraySpec(ranges_of(indices), job.array_limit)
