"""The jobs of a document by columns: what many jobs have in common is read once.

A file of hundreds of thousands of jobs knows few users, queues, limits and requirements. Values are
read by the types of :mod:`.document`; jobs that need more than that (a bsub line, a stamp, anything
wrong) are left to the reader of entries, which says what is wrong with each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from typing import Any, Final

from pydantic import ValidationError

from . import document as d
from .key_reader import key_reader


class NotGiven:
    """What stands in a column where a job does not give the key."""


NOT_GIVEN: Final = NotGiven()
#: The sections of jobs, with the entries they consist of.
_SECTIONS: dict[str, type[d.JobEntry]] = {
    "running": d.RunningEntry,
    "pending": d.JobEntry,
    "future": d.JobEntry,
}
#: Keys of instants.
INSTANTS = ("submit", "begin", "deadline", "start", "finish")
#: Values that stand for names, which are counted each time (``--max-names``).
_COUNTED = ("hosts", "allocation")
#: Types of which equal values are the same value, unless two of the second kind meet.
_TEXTS = frozenset({str, type(None), NotGiven})
_NUMBERS = frozenset({int, float, bool})
#: Types of instants that need no clock.
_SECONDS = frozenset({int, type(None), NotGiven})


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """Values of jobs by key, one for each job, NOT_GIVEN where it has none.

    Keys and values are those of :class:`.document.JobEntry`, instants in seconds.
    """

    count: int
    values: Mapping[str, Sequence[Any]]

    @classmethod
    def of_rows(cls, rows: Sequence[Mapping[str, Any]]) -> EntryColumns:
        """The columns of jobs that are given one by one."""
        keys = dict.fromkeys(chain.from_iterable(rows))
        return cls(len(rows), {key: [row.get(key, NOT_GIVEN) for row in rows] for key in keys})

    def column(self, key: str, default: Any = None) -> Sequence[Any]:
        """One value for each job, the default for those that give none."""
        found = self.values.get(key)
        if found is None:
            return [default] * self.count
        return [default if value is NOT_GIVEN else value for value in found]


def take_columns(data: Any) -> tuple[Any, dict[str, EntryColumns]]:
    """The document without the sections of jobs that could be read by columns, and those."""
    if type(data) is not dict:
        return data, {}
    found = {
        section: columns
        for section, entry in _SECTIONS.items()
        if (columns := _columns(data.get(section), entry)) is not None
    }
    return {key: value for key, value in data.items() if key not in found}, found


def _columns(rows: Any, entry: type[d.JobEntry]) -> EntryColumns | None:
    """The jobs of a section; None where an entry has to be looked at by itself."""
    if type(rows) is not list or set(map(type, rows)) != {dict}:
        return None
    keys = dict.fromkeys(chain.from_iterable(rows))
    fields = entry.model_fields
    needed = [name for name, info in fields.items() if info.is_required()]
    if (
        keys.keys() & {"bsub", "script"}
        or not keys.keys() <= fields.keys()
        or not keys.keys() >= set(needed)
    ):
        return None
    values: dict[str, Sequence[Any]] = {}
    for key in keys:
        given = list(map(dict.get, rows, repeat(key), repeat(NOT_GIVEN)))
        if key in needed and NotGiven in set(map(type, given)):
            return None
        try:
            values[key] = _read(given, _reader(entry, key), key not in _COUNTED)
        except ValidationError:
            return None
        if key in INSTANTS and not set(map(type, values[key])) <= _SECONDS:
            return None
    return EntryColumns(len(rows), values)


@cache
def _reader(entry: type[d.JobEntry], key: str) -> Callable[[Any], list[Any]]:
    """What reads the values of one key of many entries."""
    return key_reader(entry, key, many=True)


def _read(given: Sequence[Any], read: Callable[[Any], list[Any]], shared: bool) -> Sequence[Any]:
    """What is read of the values; shared: equal ones once."""
    kinds = set(map(type, given))
    if shared and kinds <= _TEXTS | _NUMBERS and len(kinds & _NUMBERS) < 2:
        values = [value for value in dict.fromkeys(given) if value is not NOT_GIVEN]
        known = dict(zip(values, read(values), strict=True))
        known[NOT_GIVEN] = NOT_GIVEN
        return list(map(known.__getitem__, given))
    if NotGiven not in kinds:
        return read(given)
    found = iter(read([value for value in given if value is not NOT_GIVEN]))
    return [value if value is NOT_GIVEN else next(found) for value in given]
