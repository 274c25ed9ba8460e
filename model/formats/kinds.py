"""Kinds of fields: how the key of a file is read, how it is written, and what memory may hold.

A field of the model names its kind (:class:`..facts.Fact`). The types are those of :mod:`.fields`,
which also have the JSON Schema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from ..facts import KnownField, known_fields
from ..params import Params
from . import fields as f
from . import text, written

Writes = Callable[..., Any]


def _number(value: float) -> float | int:
    """A whole number without its decimal point."""
    return int(value) if value == int(value) else value


def _joined(words: tuple[str, ...]) -> str | None:
    return " ".join(words) or None


def _flag(value: bool) -> str:
    return "Y" if value else "N"


def _requests(*hosts: Any) -> Any:
    return written.requests(*hosts) or []


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class FieldKind:
    """One kind of fields.

    reads: type of the key in a file. writes: its value in a file, of the fields that it sets; None
    leaves it out. checks: type that reads what memory holds, None for `reads`. as_file: whether
    memory is checked as a file has it, by `writes`. number: whether LSF's files have a number.
    """

    reads: Any
    writes: Writes = _same
    checks: Any = None
    as_file: bool = False
    number: bool = False


KINDS: dict[str, FieldKind] = {
    "name": FieldKind(f.Name),
    "new_name": FieldKind(f.NewName),
    "text": FieldKind(f.Text),
    "line": FieldKind(f.Line),
    "requirement": FieldKind(f.Text),
    "words": FieldKind(f.Words, _joined),
    "listed_words": FieldKind(f.Words, list),
    "flag": FieldKind(f.YesNo, _flag),
    "boolean": FieldKind(f.YesNo),
    "whole": FieldKind(f.Whole, number=True),
    "count": FieldKind(f.CountOrNone, number=True),
    "count_from_1": FieldKind(f.Count, number=True),
    "number": FieldKind(f.Number, _number, number=True),
    "amount": FieldKind(f.Amount, _number, number=True),
    "percent": FieldKind(f.Number, _number, number=True),
    "minutes": FieldKind(f.Minutes, written.minutes, checks=f.Duration),
    "gpu_req": FieldKind(f.Line),
    "gpu_syntax": FieldKind(f.GpuSyntax),
    "windows": FieldKind(f.Windows),
    "dialect": FieldKind(f.Dialect),
    "unit": FieldKind(Literal["KB", "MB", "GB", "TB", "PB"]),
    "dispatch_order": FieldKind(Literal["QUEUE", ""]),
    "exclusive": FieldKind(f.Exclusive),
    "cycles": FieldKind(f.ReserveTime, written.cycles, as_file=True),
    "shares": FieldKind(f.Shares, text.write_user_shares),
    "thresholds": FieldKind(f.ThresholdMap, text.write_thresholds, as_file=True),
    "bounds": FieldKind(f.ReservationLimits, written.bounds, as_file=True),
    "processor_limit": FieldKind(f.ProcessorLimit, written.processor_limit, as_file=True),
    "queue_hosts": FieldKind(f.QueueHosts, _requests, as_file=True),
    "run_limit": FieldKind(f.RunLimit, written.run_limit),
    "preemption": FieldKind(f.Preemption, written.preemption, as_file=True),
}
#: Kind of the field that has a queue's own values of parameters of the cluster, by name.
FACTORS = "factors"
_PLAIN_DEFAULTS = (str, bool, int, float)


def factors() -> dict[str, KnownField]:
    """The parameters of the cluster of which a queue may have its own value, by key."""
    return {item.key: item for item in known_fields(Params).values() if item.fact.by_queue}


def entry(name: str, kind: type, base: type[BaseModel], says: str, **more: Any) -> Any:
    """The section of a file that describes objects of a class; more: keys that they have beside."""
    keys: dict[str, Any] = {}
    for item in known_fields(kind).values():
        if item.fact.kind == FACTORS:
            for key, factor in factors().items():
                keys[factor.name] = _optional(KINDS[factor.fact.kind].reads, key)
        else:
            keys[item.name] = _key(item)
    names = {other: item.key for item in known_fields(kind).values() for other in item.fact.aka}
    made = create_model(
        name, __base__=base, __doc__=says, __module__=base.__module__, **keys, **more
    )
    made.lsf_names = names  # type: ignore[attr-defined]
    return made


def _key(item: KnownField) -> Any:
    default = item.defaults[0]
    reads = KINDS[item.fact.kind].reads
    alias = item.key if item.key != item.name else None
    plain = isinstance(default, _PLAIN_DEFAULTS) or default == ()
    if item.required:
        return (reads, Field(alias=alias))
    if item.fact.also or not plain:
        return _optional(reads, alias)
    return (reads, Field(default, alias=alias))


def _optional(reads: Any, alias: str | None) -> Any:
    return (reads | None, Field(None, alias=alias))


def given(kind: type, section: BaseModel) -> dict[str, Any]:
    """The fields of an object of a class as a section of a file sets them."""
    found: dict[str, Any] = {}
    for item in known_fields(kind).values():
        if item.fact.kind == FACTORS:
            values = {key: getattr(section, each.name) for key, each in factors().items()}
            found[item.name] = {k: value for k, value in values.items() if value is not None}
            continue
        value = getattr(section, item.name)
        if item.fact.also:
            found |= {} if value is None else dict(zip(item.names, value, strict=True))
        elif value is not None:
            found[item.name] = value
    return found


def plain(item: Any) -> dict[str, Any]:
    """An object as a section of a file has it, without what is as usual."""
    found: dict[str, Any] = {}
    for known in known_fields(type(item)).values():
        values = tuple(getattr(item, name) for name in known.names)
        if values == known.defaults:
            continue
        if known.fact.kind == FACTORS:
            found |= {name: _number(values[0][name]) for name in sorted(values[0])}
        elif (value := KINDS[known.fact.kind].writes(*values)) is not None:
            found[known.key] = value
    return found
