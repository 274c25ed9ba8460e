"""Jobs that have ended, in columns: some 80 bytes a job instead of an object with its parts."""

from __future__ import annotations

import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Hashable, Mapping
from typing import Any

from ...model.job import Job
from ..availability.arrays import Allocation
from .job_state import JobState

_TIMES = ("start", "end", "duration", "estimate", "estimated_at")
_KIND = ("status", "alternative", "backfilled", "estimate_by")
#: What only jobs have that were suspended, resized, sent back or placed term by term.
_ODD = ("placed", "since", "ran", "suspended_by", "suspensions", "requeues")
_NONE = -(1 << 63)
#: Slots on one host that a column takes.
_MOST = (1 << 31) - 1


class EndedJobs:
    """Rows in the order in which the jobs ended; each is a state again when it is asked for.

    What mattered only while a job waited or ran - its shape, work, limit, parts and what it held -
    is gone.
    """

    def __init__(self) -> None:
        self.numbers = array("i")
        self._times = {name: array("q") for name in _TIMES}
        self._kinds, self._reasons = _Coded(), _Coded()
        self._after, self._hosts, self._slots = array("I"), array("i"), array("i")
        self._odd: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        """How many have ended."""
        return len(self.numbers)

    def add(self, state: JobState) -> int:
        """Enter a job that will not change any more; its row."""
        row = len(self)
        self.numbers.append(state.number)
        for name, column in self._times.items():
            value = getattr(state, name)
            column.append(_NONE if value is None else value)
        self._kinds.append(tuple(getattr(state, name) for name in _KIND))
        self._reasons.append(state.reason)
        if _is_plain(state):
            for term in state.terms:
                self._hosts.extend(term)
                self._slots.extend(term.values())
        else:
            terms = [list(term.items()) for term in state.terms]
            stretches = [[begin, end, list(w.items())] for begin, end, w in state.stretches]
            self._odd[row] = [[getattr(state, name) for name in _ODD], terms, stretches]
        self._after.append(len(self._hosts))
        return row

    def state(self, row: int, job: Job) -> JobState:
        """The job of a row as it ended."""
        state = JobState(job, self.numbers[row])
        for name, column in self._times.items():
            value = column[row]
            setattr(state, name, None if value == _NONE else value)
        for name, value in zip(_KIND, self._kinds[row], strict=True):
            setattr(state, name, value)
        state.reason = self._reasons[row]
        odd = self._odd.get(row)
        if odd is not None:
            for name, value in zip(_ODD, odd[0], strict=True):
                setattr(state, name, value)
            state.terms = tuple(map(_allocation, odd[1]))
            state.stretches = [(begin, end, _allocation(where)) for begin, end, where in odd[2]]
        elif state.start is not None:
            state.placed = state.since = state.start
            places = slice(self._after[row - 1] if row else 0, self._after[row])
            state.terms = (dict(zip(self._hosts[places], self._slots[places], strict=True)),)
        return state

    # --- checkpoints ----------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        """Plain data; columns as Base64 of their little-endian bytes."""
        return {
            "columns": [[column.typecode, _packed(column)] for column in self._columns()],
            "kinds": self._kinds.values,
            "reasons": self._reasons.values,
            "odd": [[row, odd] for row, odd in self._odd.items()],
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Take over what :meth:`to_state` gave."""
        for column, (kind, text) in zip(self._columns(), saved["columns"], strict=True):
            assert kind == column.typecode
            column.frombytes(b64decode(text))
            if sys.byteorder == "big":
                column.byteswap()
        self._kinds.take_over([tuple(kind) for kind in saved["kinds"]])
        self._reasons.take_over(saved["reasons"])
        self._odd = dict(saved["odd"])
        assert len({len(self), len(self._after), *map(len, self._times.values())}) == 1

    def _columns(self) -> list[array[int]]:
        of_jobs = (self.numbers, *self._times.values(), self._kinds.codes, self._reasons.codes)
        return [*of_jobs, self._after, self._hosts, self._slots]


class _Coded:
    """A column of few values: each is kept once."""

    def __init__(self) -> None:
        self.codes = array("i")
        self.values: list[Any] = []
        self._code: dict[Hashable, int] = {}

    def append(self, value: Hashable) -> None:
        code = self._code.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        self.codes.append(code)

    def __getitem__(self, row: int) -> Any:
        return self.values[self.codes[row]]

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


def _packed(column: array[int]) -> str:
    if sys.byteorder == "big":
        column = array(column.typecode, column)
        column.byteswap()
    return b64encode(column.tobytes()).decode()
