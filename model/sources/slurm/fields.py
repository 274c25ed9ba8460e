"""Every field that Slurm prints of jobs, nodes, partitions, reservations, licences and shares.

The readers take their names from here; a test holds every field of recorded output against it. A
name with dots is a field of a record in a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cache
from typing import Any, Literal, cast

from ... import slurm_values as values
from ...slurm_values import blank, stamp, whole
from ...table_files import rows

#: Value of a field that the form of a record lacks although other forms have it.
NOT_PRINTED = "not printed"

RecordKind = Literal["job", "node", "partition", "reservation", "licence", "share", "priority"]
Outcome = Literal["read", "named", "inert"]


@dataclass(frozen=True, slots=True)
class PrintedField:
    """One fact, and the names that it has.

    A fact that is named is an omission of the jobs for which it has a value other than `unset`; one
    that is inert has no influence on a start.
    """

    #: Kind of record that has the field.
    of: RecordKind
    #: Name of the fact: with a reader that of the field of the state, with blanks.
    what: str
    #: Fields of the JSON forms, of all versions; the first that has a value counts.
    json: tuple[str, ...] = ()
    #: Fields of ``scontrol show``, and columns of sshare and sprio.
    text: tuple[str, ...] = ()
    #: Treatment of the field by the reader.
    outcome: Outcome = "read"
    #: Values that mean nothing was asked, in small letters.
    unset: tuple[str, ...] = ()
    #: Reader of the value, None if several facts together make a field of the state.
    reader: Callable[..., Any] | None = None


def _table() -> Iterator[PrintedField]:
    """Yield the rows of the table file; readers are functions of :mod:`...slurm_values`."""
    for of, what, json, text, outcome, reader, unset in rows(__package__, "fields.tsv", 7):
        yield PrintedField(
            cast("RecordKind", of),
            what,
            tuple(json.split()),
            tuple(text.split()),
            cast("Outcome", outcome or "read"),
            tuple(unset.split()),
            getattr(values, reader) if reader else None,
        )


FIELDS = tuple(_table())


@cache
def _rows(kind: RecordKind) -> Mapping[str, PrintedField]:
    return {row.what: row for row in FIELDS if row.of == kind and row.what != "inert"}


@cache
def known_names(kind: RecordKind, *, text: bool) -> frozenset[str]:
    """Return every field that a form may have, read or not."""
    rows = (row for row in FIELDS if row.of == kind)
    return frozenset(name for row in rows for name in (row.text if text else row.json))


@dataclass(frozen=True, slots=True)
class SlurmRecord:
    """One record of a listing, of either form, by what its fields mean."""

    #: Kind of the record.
    kind: RecordKind
    #: Values as printed, by field name.
    fields: Mapping[str, Any]
    #: Whether it is of ``scontrol show`` without JSON.
    is_text: bool
    #: File and number of the record, for messages.
    where: str = ""
    #: Name and value of the field that was read last, for messages.
    read: list[tuple[str, Any]] = field(default_factory=list, compare=False)

    @property
    def last(self) -> tuple[str, Any]:
        """The name and the value of the field that was read last."""
        return self.read[-1] if self.read else (self.kind, None)

    def get(self, what: str) -> Any:
        """Return the value of a fact, None if this form lacks it."""
        row = _rows(self.kind)[what]
        for name in row.text if self.is_text else row.json:
            value = _at(self.fields, name)
            if not blank(value):
                self.read[:] = [(name, value)]
                return value
        return None

    def lacks(self, what: str) -> bool:
        """Return whether the record has no field for a fact."""
        row = _rows(self.kind)[what]
        names = row.text if self.is_text else row.json
        return all(_at(self.fields, name) is None for name in names)

    def facts(self, zone: tzinfo | None = None) -> dict[str, Any]:
        """Return the facts that have a reader, by the fields of the state.

        zone: of printed times. Raises ValueError for an unreadable value.
        """
        found = {}
        for row in _rows(self.kind).values():
            if (read := row.reader) is not None:
                value = self.get(row.what)
                place = row.what.replace(" ", "_")
                found[place] = stamp(value, zone) if read is stamp else read(value)
        return found

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield the facts that have a value but that no method takes into account."""
        for row in _rows(self.kind).values():
            if row.outcome == "named" and (value := self.get(row.what)) is not None:
                value = whole(value) if isinstance(value, Mapping) else value
                shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
                empty = shown.strip().lower().removesuffix(".0")
                if value is not None and empty not in ("", "inf", *row.unset) and not blank(shown):
                    yield row.what, shown

    def unknown(self) -> Iterator[str]:
        """Yield the fields that the table of known fields lacks."""
        known = known_names(self.kind, text=self.is_text)
        for name in _paths(self.fields, known):
            if name not in known:
                yield name


def _at(fields: Mapping[str, Any], name: str) -> Any:
    found: Any = fields
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _paths(fields: Mapping[str, Any], known: frozenset[str], above: str = "") -> Iterator[str]:
    """Yield the names of the fields, for nested records those that the table has."""
    for name, value in fields.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and any(other.startswith(f"{path}.") for other in known):
            yield from _paths(value, known, f"{path}.")
        else:
            yield path
