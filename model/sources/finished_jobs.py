"""Finished jobs of accounting records, kept in columns: a million of them in some 100 MB."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, overload

import numpy as np


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """One JOB_FINISH; times in seconds since 1970, 0 for never; run_limit in seconds or None."""

    #: Job id, "" until the log has numbered its records.
    id: str
    #: Name of the user.
    user: str
    #: Name of the queue.
    queue: str
    #: Project.
    project: str
    #: Submission in seconds since 1970.
    submit: int
    #: Begin time in seconds since 1970, 0 if none.
    begin: int
    #: Start in seconds since 1970.
    start: int
    #: End in seconds since 1970.
    end: int
    #: Minimum number of requested slots.
    slots: int
    #: Maximum number of requested slots.
    max_slots: int
    #: Slots by host in allocation order.
    hosts: dict[str, int]
    #: Resource requirement.
    res_req: str
    #: Run limit in seconds, None without one.
    run_limit: int | None
    #: CPU time in seconds.
    cpu_time: float
    #: Status in lsb.acct: 64 done, 32 exited.
    status: int
    #: Application profile, "" if none.
    application: str = ""
    #: Path of the share account (``/group/user``), "" if not recorded.
    charged: str = ""
    #: Deadline of -t.
    deadline: int = 0
    #: Name of the submission host.
    from_host: str = ""
    #: Licence project of -Lp, "" if none.
    license_project: str = ""


class SlotsInUse:
    """How many slots of each host finished jobs had in use together."""

    def __init__(self) -> None:
        #: Starts and ends by host, and the slots then taken (negative: released).
        self._changes: dict[str, tuple[array[int], array[int]]] = {}

    def add(self, job: FinishedJob) -> None:
        """Count a job that has started."""
        for name, slots in job.hosts.items():
            times, changes = self._changes.setdefault(name, (array("q"), array("q")))
            times.extend((job.start, job.end))
            changes.extend((slots, -slots))

    def most(self) -> Iterator[tuple[str, int]]:
        """Yield each host with its maximum at an instant; ends count before starts."""
        for name, columns in sorted(self._changes.items()):
            times, slots = map(np.asarray, columns)
            used = np.cumsum(slots[np.lexsort((slots, times))])
            yield name, max(int(used.max()), int(slots.max()))


#: Fields by the kind of their column.
_WHOLE = tuple(item.name for item in fields(FinishedJob) if item.type in ("int", "int | None"))
_TEXTS = tuple(item.name for item in fields(FinishedJob) if item.type == "str")[1:]
_NO_LIMIT = -1


class FinishedJobs(Sequence[FinishedJob]):
    """Jobs in file order; each is rebuilt when it is asked for.

    An id is ``7``, ``7[2]`` for an array element, ``7#2`` for the second record of a requeued job.
    """

    def __init__(self) -> None:
        self._numbers, self._indices = array("q"), array("q")
        self._whole = {name: array("q") for name in _WHOLE}
        self._texts = {name: array("i") for name in _TEXTS}
        self._cpu_time = array("d")
        self._first_host, self._hosts, self._slots = array("q", [0]), array("i"), array("q")
        self._words: list[str] = []
        self._place: dict[str, int] = {}
        self._occurrence: dict[int, int] | None = None

    def add(self, number: int, index: int, job: FinishedJob) -> None:
        """Append a job; its number and array index replace its id.

        Raises ValueError for a number of more than 64 bits, which no record has.
        """
        try:
            for host, slots in job.hosts.items():
                self._hosts.append(self._word(host))
                self._slots.append(slots)
            values = [getattr(job, name) for name in _WHOLE]
            row = array("q", [number, index, *(_NO_LIMIT if v is None else v for v in values)])
        except OverflowError:
            del self._hosts[self._first_host[-1] :], self._slots[self._first_host[-1] :]
            raise ValueError(
                f"job {number}: each number must have at most 64 bits, as LSF writes them"
            ) from None
        self._numbers.append(row[0])
        self._indices.append(row[1])
        for name, value in zip(_WHOLE, row[2:], strict=True):
            self._whole[name].append(value)
        for name in _TEXTS:
            self._texts[name].append(self._word(getattr(job, name)))
        self._cpu_time.append(job.cpu_time)
        self._first_host.append(len(self._hosts))
        self._occurrence = None

    def _word(self, text: str) -> int:
        """Return the index of a text; equal texts are stored once."""
        place = self._place.setdefault(text, len(self._words))
        if place == len(self._words):
            self._words.append(text)
        return place

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> FinishedJob: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[FinishedJob, ...]: ...
    def __getitem__(self, place: int | slice) -> FinishedJob | tuple[FinishedJob, ...]:
        if isinstance(place, slice):
            return tuple(self._job(index) for index in range(*place.indices(len(self))))
        return self._job(range(len(self))[place])

    def _job(self, place: int) -> FinishedJob:
        whole: dict[str, Any] = {name: column[place] for name, column in self._whole.items()}
        texts: dict[str, Any] = {n: self._words[column[place]] for n, column in self._texts.items()}
        limit = whole.pop("run_limit")
        hosts = range(self._first_host[place], self._first_host[place + 1])
        return FinishedJob(
            id=self._id(place),
            run_limit=None if limit == _NO_LIMIT else limit,
            cpu_time=self._cpu_time[place],
            hosts={self._words[self._hosts[at]]: self._slots[at] for at in hosts},
            **texts,
            **whole,
        )

    def _id(self, place: int) -> str:
        number, index = self._numbers[place], self._indices[place]
        name = f"{number}[{index}]" if index > 0 else str(number)
        if self._occurrence is None:
            self._occurrence = self._later_records()
        again = self._occurrence.get(place)
        return name if again is None else f"{name}#{again}"

    def _later_records(self) -> dict[int, int]:
        """Return the number, from 2, of each record after the first one of its job."""
        if not len(self):
            return {}
        numbers = np.frombuffer(self._numbers, dtype=np.int64)
        indices = np.maximum(np.frombuffer(self._indices, dtype=np.int64), 0)
        order = np.lexsort((indices, numbers))  # stable: file order within a job
        again = (np.diff(numbers[order]) == 0) & (np.diff(indices[order]) == 0)
        found: dict[int, int] = {}
        for at in np.flatnonzero(again).tolist():
            before, place = int(order[at]), int(order[at + 1])
            found[place] = found.get(before, 1) + 1
        return found
