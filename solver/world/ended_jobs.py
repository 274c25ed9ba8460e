"""Jobs that have ended, as rows: some 30 bytes a job instead of an object with its parts."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Hashable, Iterator, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from ...model.int_table import IntTable
from ...model.job import Job
from ..availability.arrays import Allocation, IntArray
from .job_state import JobState

_TIMES = ("start", "end", "duration", "estimate", "estimated_at")
_KIND = ("status", "alternative", "backfilled", "estimate_by")
_times_of, _kind_of = attrgetter(*_TIMES), attrgetter(*_KIND)
#: What only jobs have that were suspended, resized, sent back or placed term by term.
_ODD = ("placed", "since", "ran", "suspended_by", "suspensions", "requeues")
#: What a checkpoint has where there is no time.
_NONE = -(1 << 63)
#: Columns of a row (number, times, codes of kind and reason, pieces up to its last) and of a piece
#: (host, slots) as a checkpoint has them, and what their letters mean.
_ROW, _PIECE = ("i", *("q" for _ in _TIMES), "i", "i", "I"), ("i", "i")
_BYTES = {"i": "<i4", "I": "<u4", "q": "<i8"}
#: Slots on one host that a column takes.
_MOST = (1 << 31) - 1


class EndedJobs:
    """Rows in the order in which the jobs ended; each is a state again when it is asked for.

    What mattered only while a job waited or ran - its shape, work, limit, parts and what it held -
    is gone.
    """

    def __init__(self) -> None:
        self._rows, self._pieces = IntTable(), IntTable()
        self._kinds, self._reasons = _Coded(), _Coded()
        self._odd: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        """How many have ended."""
        return len(self._rows)

    def numbers(self) -> Iterator[int]:
        """Numbers of the jobs, row by row."""
        return (row[0] or 0 for row in self._rows)

    def add(self, state: JobState) -> int:
        """Enter a job that will not change any more; its row."""
        row = len(self)
        if _is_plain(state):
            for term in state.terms:
                for host, slots in term.items():
                    self._pieces.append(host, slots)
        else:
            terms = [list(term.items()) for term in state.terms]
            stretches = [[begin, end, list(w.items())] for begin, end, w in state.stretches]
            self._odd[row] = [[getattr(state, name) for name in _ODD], terms, stretches]
        kind = self._kinds.code(_kind_of(state))
        reason = self._reasons.code(state.reason)
        self._rows.append(state.number, *_times_of(state), kind, reason, len(self._pieces))
        return row

    def state(self, row: int, job: Job) -> JobState:
        """The job of a row as it ended."""
        number, *times, kind, reason, after = self._rows[row]
        state = JobState(job, number or 0)
        for name, time in zip(_TIMES, times, strict=True):
            setattr(state, name, time)
        for name, value in zip(_KIND, self._kinds.values[kind or 0], strict=True):
            setattr(state, name, value)
        state.reason = self._reasons.values[reason or 0]
        odd = self._odd.get(row)
        if odd is not None:
            for name, value in zip(_ODD, odd[0], strict=True):
                setattr(state, name, value)
            state.terms = tuple(map(_allocation, odd[1]))
            state.stretches = [(begin, end, _allocation(where)) for begin, end, where in odd[2]]
        elif state.start is not None:
            state.placed = state.since = state.start
            first = self._rows[row - 1][-1] if row else 0
            pieces = (self._pieces[place] for place in range(first or 0, after or 0))
            state.terms = ({host or 0: slots or 0 for host, slots in pieces},)
        return state

    # --- checkpoints ----------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Plain data; columns as Base64 of their little-endian bytes."""
        tables = ((self._rows, _ROW), (self._pieces, _PIECE))
        return {
            "columns": [
                [kind, _packed(table.column(number, _NONE), kind)]
                for table, kinds in tables
                for number, kind in enumerate(kinds)
            ],
            "kinds": self._kinds.values,
            "reasons": self._reasons.values,
            "odd": [[row, odd] for row, odd in self._odd.items()],
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        kinds = [kind for kind, _ in saved["columns"]]
        assert kinds == [*_ROW, *_PIECE]
        columns = [_unpacked(text, kind) for kind, text in saved["columns"]]
        for table, own in (
            (self._rows, columns[: len(_ROW)]),
            (self._pieces, columns[len(_ROW) :]),
        ):
            for row in zip(*(map(int, column) for column in own), strict=True):
                table.append(*(None if value == _NONE else value for value in row))
        self._kinds.take_over([tuple(kind) for kind in saved["kinds"]])
        self._reasons.take_over(saved["reasons"])
        self._odd = dict(saved["odd"])


class _Coded:
    """Few values, each of which many rows have."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._code: dict[Hashable, int] = {}

    def code(self, value: Hashable) -> int:
        """The number of a value in `values`."""
        code = self._code.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code

    def take_over(self, values: list[Any]) -> None:
        self.values = values
        self._code = {value: code for code, value in enumerate(values)}


def _is_plain(state: JobState) -> bool:
    """Whether the job never started, or ran once, in one piece and on one allocation."""
    if state.stretches or state.suspensions or state.requeues or state.suspended_by:
        return False
    if state.start is None:
        return not state.terms and state.placed == state.since == 0
    if any(slots > _MOST for term in state.terms for slots in term.values()):
        return False
    return (
        len(state.terms) == 1
        and bool(state.terms[0])
        and state.start == state.placed == state.since
    )


def _allocation(pairs: list[list[int]]) -> Allocation:
    return {int(host): int(slots) for host, slots in pairs}


def _packed(column: IntArray, kind: str) -> str:
    return b64encode(column.astype(_BYTES[kind]).tobytes()).decode()


def _unpacked(text: str, kind: str) -> IntArray:
    return np.frombuffer(b64decode(text), dtype=_BYTES[kind])
