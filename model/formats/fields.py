"""Types of instance-file fields: how text becomes a value, and what the JSON Schema says of it.

Kinds of fields: how the key of a file is read, how it is written, and what memory may hold. A field
of the model names its kind (:class:`..facts.Fact`). The types are those of :mod:`.fields`, which
also have the JSON Schema.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from functools import cache, partial
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainValidator,
    Strict,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
    create_model,
)

from ..changes import STATUSES
from ..cluster import BUILTIN_AMOUNTS, HOST_STATUSES, Gpus
from ..configuration import Params
from ..display import MINUTE, strange_character
from ..errors import nearest
from ..facts import KnownField, known_fields
from ..input_limits import check_length
from ..job import LARGEST_INDEX, ArraySpec, HostRequest, Job, parse_spec
from ..omissions import Change, OmissionMark
from ..resreq.syntax import DIALECTS
from . import guarantee_text, names, text, units

MOST = 2**31 - 1

_ELEMENT = re.compile(r"([^\[\]]+)\[\d{1,10}\](?:#\d{1,10})?")

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "number"}
_NAME: dict[str, Any] = {"type": ["string", "integer"]}
_WORDS: dict[str, Any] = {
    "anyOf": [{"type": ["string", "integer"]}, {"type": "array", "items": _NAME}]
}
_DURATION: dict[str, Any] = {"type": ["number", "string"], "examples": ["2h", "90m", "2:00"]}


def _name(value: object) -> object:
    if isinstance(value, str) and (wrong := strange_character(value, "")):
        raise ValueError(wrong)
    return str(value) if type(value) is int else value


def _host_status(value: object) -> str:
    if isinstance(value, str) and value in HOST_STATUSES:
        return value
    hint = nearest(str(value), HOST_STATUSES) or f": known are {', '.join(HOST_STATUSES[:5])} …"
    raise ValueError(f"unknown host status {value!r}{hint}")


def _new_name(value: object) -> str:
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ValueError(f"must be a name, not {value!r}")
    return names.check_name(str(value))


def is_simple_id(value: object) -> bool:
    """Whether a value is the id of a job as it stands: letters and digits."""
    return type(value) is str and value.isalnum()


def _job_id(value: object) -> str:
    """Return a job id: a name, or an array element such as ``123[4]``."""
    if type(value) is str and is_simple_id(value):
        return value
    if isinstance(value, str) and (element := _ELEMENT.fullmatch(value)):
        names.check_name(element[1])
        return value
    return _new_name(value)


def _elements(value: object) -> ArraySpec:
    """Return the elements of an array; the maximum index is checked with the parameters."""
    if isinstance(value, ArraySpec):
        return value
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise ValueError(f"must be the elements of an array such as 1-1000:2%50, not {value!r}")
    return parse_spec(str(value), LARGEST_INDEX, first=0)


def _number(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and -1e15 < value < 1e15:
        return float(value)
    raise ValueError(f"must be a number, not {value!r}")


def _amount(value: object) -> float:
    number = _number(value)
    if number < 0:
        raise ValueError(f"must be 0 or more, not {value!r}")
    return number


def _places(value: object) -> float | tuple[tuple[float, tuple[str, ...]], ...]:
    return text.resource_map(value) if isinstance(value, str) else _amount(value)


def _positive(value: object) -> float:
    number = _number(value)
    if number <= 0:
        raise ValueError(f"must be more than 0, not {value!r}")
    return number


def _size(value: object, info: ValidationInfo) -> float:
    return units.parse_size(value, base=(info.context or {}).get("base", 1024))


class Percent(float):
    """A limit as percent of what each host has."""


_PERCENT = re.compile(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*")


def _limit_size(value: object, info: ValidationInfo) -> float:
    if isinstance(value, str) and (found := _PERCENT.fullmatch(value)):
        if not 0 <= float(found[1]) <= 100:
            raise ValueError(f"must be 0% to 100%, not {value!r}")
        return Percent(found[1])
    context = info.context or {}
    return units.parse_size(value, context.get("unit", 1.0), context.get("base", 1024))


def _stamp(value: object) -> str:
    stamp = units.parse_stamp(value)
    return value.strip() if isinstance(value, str) else stamp.isoformat()


def _slots(value: object) -> tuple[int, int | None]:
    """Parse ``6`` or ``6,12`` (bsub -n)."""
    if type(value) is int:
        least, most = value, None
    else:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list) or not 1 <= len(parts) <= 2:
            raise ValueError(f"must be a number of slots such as 6, or 6,12, not {value!r}")
        try:
            found = [int(str(part).strip()) for part in parts]
        except ValueError:
            message = f"must be a number of slots such as 6, or 6,12, not {value!r}"
            raise ValueError(message) from None
        least, most = found[0], found[1] if len(found) == 2 else None
    if least < 1 or least > MOST or (most is not None and most > MOST):
        raise ValueError(f"must be 1 slot or more, not {value!r}")
    if most is not None and most < least:
        raise ValueError(f"must be min,max with min at most max, not {value!r}")
    return least, most


def _max_slots(value: object) -> int | str:
    if value == "!" or (type(value) is int and 0 <= value <= MOST):
        return value
    raise ValueError(
        f"must be a number of slots, or '!' for the number of processors, not {value!r}"
    )


def _queue_position(value: object) -> tuple[int, int]:
    match value:
        case (int(time), int(place)) if max(abs(time), abs(place)) <= MOST:
            return time, place
    raise ValueError(f"must be seconds and a position such as [120, -1], not {value!r}")


def _elapsed(value: object) -> int:
    seconds = units.parse_duration(value)
    if seconds < 0:
        raise ValueError(f"must be 0 or more, not {value!r}")
    return seconds


def _hosts_only(value: object) -> tuple[HostRequest, ...]:
    wanted, excluded = names.host_requests(value)
    if excluded:
        raise ValueError(f"~{excluded[0]} is accepted only in HOSTS of a queue: use select[]")
    return wanted


def _requirements(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError(f"must be a requirement such as 'span[ptile=2]' or a list, not {value!r}")


def _options(value: object) -> tuple[str, ...]:
    found = (value,) if isinstance(value, str) else value
    if isinstance(found, (list, tuple)):
        texts = tuple(text for text in found if isinstance(text, str) and text.strip())
        if len(texts) == len(found):
            return texts
    raise ValueError(f"must be options of bsub such as '-w done(1)', not {value!r}")


def _dialect(value: object) -> str:
    text = str(value) if isinstance(value, (int, float, str)) else ""
    if text.removesuffix(".0") in DIALECTS:
        return text.removesuffix(".0")
    raise ValueError(f"must be {' or '.join(DIALECTS)}, the version of LSF, not {value!r}")


def _windows(value: object) -> str:
    from ..windows import parse_windows

    if not isinstance(value, str):
        raise ValueError(f"must be a window such as (19:00-7:00), not {value!r}")
    check_length(value)
    parse_windows(value)
    return value.strip()


Text: TypeAlias = Annotated[str, Strict()]
Name: TypeAlias = Annotated[str, BeforeValidator(_name), Strict(), WithJsonSchema(_NAME)]
NewName: TypeAlias = Annotated[str, PlainValidator(_new_name), WithJsonSchema(_NAME)]
JobId: TypeAlias = Annotated[str, PlainValidator(_job_id), WithJsonSchema(_NAME)]
Elements: TypeAlias = Annotated[
    ArraySpec,
    PlainValidator(_elements),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["1-1000:2%50"]}),
]
HostNames: TypeAlias = Annotated[
    tuple[str, ...], PlainValidator(names.plain_names), WithJsonSchema(_WORDS)
]
Names: TypeAlias = Annotated[tuple[str, ...], PlainValidator(names.names), WithJsonSchema(_WORDS)]
Dialect: TypeAlias = Annotated[
    str, PlainValidator(_dialect), WithJsonSchema({"enum": [*DIALECTS, 7, 10.1]})
]
#: A text of one line.
Line: TypeAlias = Annotated[str, BeforeValidator(_name), Strict(), WithJsonSchema(_TEXT)]
Words: TypeAlias = Annotated[tuple[str, ...], PlainValidator(names.tokens), WithJsonSchema(_WORDS)]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=MOST)]
CountOrNone: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=MOST)]
Whole: TypeAlias = Annotated[int, Strict(), Field(ge=-MOST, le=MOST)]
Number: TypeAlias = Annotated[float, PlainValidator(_number), WithJsonSchema(_NUMBER)]
Amount: TypeAlias = Annotated[
    float, PlainValidator(_amount), WithJsonSchema({"type": "number", "minimum": 0})
]
YesNo: TypeAlias = Annotated[
    bool, PlainValidator(text.yes_no), WithJsonSchema({"enum": ["Y", "N", "y", "n", True, False]})
]
#: Duration in seconds if the number has no unit.
Duration: TypeAlias = Annotated[
    int, PlainValidator(text.positive_duration), WithJsonSchema(_DURATION)
]
Instant: TypeAlias = Annotated[
    int | datetime, PlainValidator(units.parse_instant), WithJsonSchema(_DURATION)
]
#: An ISO 8601 stamp with a zone, kept in the words it was given in.
Stamp: TypeAlias = Annotated[str, PlainValidator(_stamp), WithJsonSchema({"type": "string"})]
Size: TypeAlias = Annotated[
    float, PlainValidator(_size), WithJsonSchema({"type": ["number", "string"]})
]
LimitSize: TypeAlias = Annotated[
    float, PlainValidator(_limit_size), WithJsonSchema({"type": ["number", "string"]})
]
Slots: TypeAlias = Annotated[
    tuple[int, int | None],
    PlainValidator(_slots),
    WithJsonSchema({"type": ["integer", "string", "array"], "minimum": 1}),
]
MaxSlots: TypeAlias = Annotated[
    int | str, PlainValidator(_max_slots), WithJsonSchema({"type": ["integer", "string"]})
]
#: An amount, or amounts with the hosts that share each.
Places: TypeAlias = Annotated[
    float | tuple[tuple[float, tuple[str, ...]], ...],
    PlainValidator(_places),
    WithJsonSchema({"type": ["number", "string"], "minimum": 0, "examples": [5, "5@[a b] 9@[c]"]}),
]
Allocation: TypeAlias = Annotated[
    dict[str, int],
    PlainValidator(names.allocation),
    WithJsonSchema({"type": ["string", "array", "object"]}),
]
#: Slots of hosts in memory: a mapping of any class.
Held: TypeAlias = Annotated[
    dict[str, int],
    PlainValidator(
        lambda slots: names.allocation(dict(slots) if isinstance(slots, Mapping) else slots)
    ),
]
HostGpus: TypeAlias = Annotated[
    Gpus | None, PlainValidator(text.gpus), WithJsonSchema({"type": ["integer", "object"]})
]
ResourceAmounts: TypeAlias = Annotated[
    dict[str, float],
    PlainValidator(text.resource_amounts),
    WithJsonSchema({"type": ["string", "object"]}),
]
UnitTypes: TypeAlias = Annotated[
    tuple[tuple[str, ...], str | None], PlainValidator(text.unit_types), WithJsonSchema(_WORDS)
]
PerScope: TypeAlias = Annotated[
    Any, PlainValidator(partial(text.scope, each=True)), WithJsonSchema(_WORDS)
]
AllScope: TypeAlias = Annotated[
    Any, PlainValidator(partial(text.scope, each=False)), WithJsonSchema(_WORDS)
]


Writes = Callable[..., Any]


def _shortest(value: float) -> float | int:
    """Return a whole number without a decimal point."""
    return int(value) if value == int(value) else value


def _joined(words: tuple[str, ...]) -> str | None:
    return " ".join(words) or None


def _requests(*hosts: Any) -> Any:
    return text.requests(*hosts) or []


def _texts(value: Any) -> Any:
    return text.requirements(value) if isinstance(value, tuple) else value


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class FieldKind:
    """One kind of fields."""

    #: Type of the key in a file.
    reads: Any
    #: Returns the value in a file for the fields of a key; None omits the key.
    writes: Writes = _same
    #: Type that reads what memory holds, None for `reads`.
    checks: Any = None
    #: Whether memory is checked as a file has it, by `writes`.
    as_file: bool = False
    #: Whether LSF's files have a number.
    number: bool = False


def _choice(known: Sequence[str]) -> Any:
    """Return the type of a text that is one of these."""

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise ValueError(f"must be one of {', '.join(known)}, not {value!r}{hint}")
        return value

    return Annotated[str, PlainValidator(read)]


def _load(values: Any) -> dict[str, float]:
    """Return load indices as numbers; sizes (MB) are not negative."""
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f'must be values such as {{"r1m": 2.5}}, not {reprlib.repr(values)}')
    read = {reader(Name)(name): _number(value) for name, value in values.items()}
    for name in BUILTIN_AMOUNTS:
        if read.get(name, 0) < 0:
            raise ValueError(f"{name} must be 0 or more (MB), not {read[name]:g}")
    return read


def _job_fields(given: Any) -> Any:
    """Return the fields of a job change; their values are checked in the changed job."""
    if not isinstance(given, Mapping) or not given:
        said = reprlib.repr(given)
        raise ValueError(f'must be fields of a job such as {{"slots": 4}}, not {said}')
    known = [item.name for item in fields(Job) if item.name != "id"]
    for name in given:
        if name not in known:
            hint = nearest(name, known) if isinstance(name, str) else ""
            raise ValueError(f"{reprlib.repr(name)} is not a field of a job that can change{hint}")
    return given


def _or_none(reads: Callable[[Any], str]) -> Callable[[Any], str]:
    """Return a reader that also takes an empty text, which it keeps."""
    return lambda value: "" if value == "" else reads(value)


def _form(reads: Callable[..., Any], schema: dict[str, Any]) -> Any:
    """Return the type of keys that a function reads, with their JSON Schema."""
    return Annotated[Any, PlainValidator(reads), WithJsonSchema(schema)]


KINDS: dict[str, FieldKind] = {
    "name": FieldKind(Name),
    "new_name": FieldKind(NewName),
    "job_id": FieldKind(JobId),
    "job_group": FieldKind(_form(names.check_job_group, _NAME)),
    "text": FieldKind(Text),
    "line": FieldKind(Line),
    "requirement": FieldKind(Text),
    "job_group_or_none": FieldKind(_form(_or_none(names.check_job_group), _NAME)),
    "words": FieldKind(Words, _joined),
    "listed_words": FieldKind(Words, list),
    "names": FieldKind(Names, _joined),
    "listed_names": FieldKind(Names, list, checks=tuple[Name, ...]),
    "members": FieldKind(Names, names.words_text),
    "host_words": FieldKind(Words, names.words_text, checks=tuple[Name, ...]),
    "job_ids": FieldKind(tuple[JobId, ...], list),
    "cells": FieldKind(dict[Name, Line], dict),
    "change": FieldKind(Change),
    "omission_mark": FieldKind(OmissionMark),
    "host_change": FieldKind(_choice(STATUSES)),
    "direction": FieldKind(_choice(("top", "bottom"))),
    "load": FieldKind(Annotated[dict[str, float], PlainValidator(_load)], dict),
    "job_fields": FieldKind(Annotated[Any, PlainValidator(_job_fields)]),
    "flag": FieldKind(YesNo, lambda value: "Y" if value else "N"),
    "boolean": FieldKind(YesNo),
    "whole": FieldKind(Whole, number=True),
    "count": FieldKind(CountOrNone, number=True),
    "count_from_1": FieldKind(Count, number=True),
    "number": FieldKind(Number, _shortest, number=True),
    "amount": FieldKind(Amount, _shortest, number=True),
    "positive": FieldKind(
        _form(_positive, {"type": "number", "exclusiveMinimum": 0}), _shortest, number=True
    ),
    "percent": FieldKind(Number, _shortest, number=True),
    "minutes": FieldKind(
        _form(partial(text.positive_duration, unit=MINUTE), _DURATION),
        text.minutes,
        checks=Duration,
    ),
    "seconds": FieldKind(Duration),
    "own_run_limit": FieldKind(
        _form(text.own_run_limit, _DURATION), text.own_run_limit_text, checks=Duration
    ),
    "elapsed": FieldKind(_form(_elapsed, _DURATION)),
    "instant": FieldKind(Instant),
    "stamp": FieldKind(Instant),
    "gpu_req": FieldKind(Line),
    "gpu_syntax": FieldKind(_form(text.gpu_syntax, {"enum": ["extend", "Y", "N"]})),
    "aps_formula": FieldKind(
        _form(
            text.absolute_priority,
            {"type": ["string", "object"], "examples": ["WEIGHT[[JPRIORITY, 1] [QPRIORITY, 10]]"]},
        ),
        str,
        as_file=True,
    ),
    "aps_stated": FieldKind(
        _form(text.stated_priority, {"type": "string", "examples": ["system=10", "admin=2.5"]}),
        str,
        as_file=True,
    ),
    "priority_growth": FieldKind(
        _form(text.priority_growth, {"type": "string", "examples": ["3/20"]}),
        text.priority_growth_text,
        as_file=True,
    ),
    "windows": FieldKind(_form(_windows, _TEXT)),
    "dialect": FieldKind(Dialect),
    "host_status": FieldKind(_form(_host_status, {"enum": list(HOST_STATUSES)})),
    "machine": FieldKind(_form(_or_none(_new_name), _NAME)),
    "resource_kind": FieldKind(Literal["numeric", "string", "boolean"]),
    "family": FieldKind(Literal["LSF", "OpenLava", "volclava", "Slurm"]),
    "unit": FieldKind(Literal["KB", "MB", "GB", "TB", "PB"]),
    "dispatch_order": FieldKind(Literal["QUEUE", ""]),
    "exclusive": FieldKind(_form(text.exclusive, {"type": ["string", "boolean"]})),
    "cycles": FieldKind(
        _form(
            text.reserve_time,
            {"type": "string", "pattern": r"^\s*MAX_RESERVE_TIME\s*\[\s*\d+\s*\]\s*$"},
        ),
        text.cycles,
        as_file=True,
    ),
    "shares": FieldKind(
        _form(text.user_shares, {"type": ["string", "object", "array"]}), text.write_user_shares
    ),
    "thresholds": FieldKind(
        _form(
            text.thresholds,
            {"type": "object", "additionalProperties": {"type": ["string", "number"]}},
        ),
        text.write_thresholds,
        as_file=True,
    ),
    "bounds": FieldKind(_form(text.reservation_limits, _TEXT), text.bounds, as_file=True),
    "processor_limit": FieldKind(
        _form(text.processor_limit, {"type": ["integer", "string", "array"]}),
        text.processor_limit_text,
        as_file=True,
    ),
    "queue_hosts": FieldKind(_form(names.host_requests, _WORDS), _requests, as_file=True),
    "goals": FieldKind(
        _form(guarantee_text.goals, _WORDS), guarantee_text.goals_text, as_file=True
    ),
    "access": FieldKind(
        _form(guarantee_text.access, {"type": ["string", "object"]}),
        guarantee_text.access_text,
        as_file=True,
    ),
    "pool_type": FieldKind(_form(guarantee_text.pool_type, _TEXT)),
    "distribution": FieldKind(
        _form(guarantee_text.distribution, {"type": ["string", "object"]}),
        guarantee_text.distribution_text,
        as_file=True,
    ),
    "loans": FieldKind(_form(guarantee_text.loans, _TEXT), guarantee_text.loans_text, as_file=True),
    "hosts": FieldKind(_form(_hosts_only, _WORDS), _requests, as_file=True),
    "requirements": FieldKind(
        _form(_requirements, {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}),
        _texts,
        as_file=True,
    ),
    "options": FieldKind(
        _form(_options, {"anyOf": [_TEXT, {"type": "array", "items": _TEXT}]}), _texts, as_file=True
    ),
    "queue_position": FieldKind(
        _form(
            _queue_position,
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        ),
        list,
    ),
    "allocation": FieldKind(Allocation, names.allocation_text, checks=Held),
    "run_limit": FieldKind(_form(text.run_limit, _DURATION), text.run_limit_text),
    "preemption": FieldKind(_form(text.preemption, _TEXT), text.preemption_text, as_file=True),
}
#: Kind of the field that has a queue's own values of parameters of the cluster, by name.
FACTORS = "factors"
_PLAIN_DEFAULTS = (str, bool, int, float)


def factors() -> dict[str, KnownField]:
    """Return the parameters that a queue may override, by key."""
    return {item.key: item for item in known_fields(Params).values() if item.fact.by_queue}


def entry(name: str, kind: type, base: type[BaseModel], says: str, **more: Any) -> Any:
    """Return the section model of a class; `more` are keys in addition to its fields."""
    keys: dict[str, Any] = {}
    for item in known_fields(kind).values():
        if item.fact.kind == FACTORS:
            for key, factor in factors().items():
                keys[factor.name] = _optional(KINDS[factor.fact.kind].reads, key)
        else:
            keys[item.name] = _key(item)
    names = {other: item.key for item in known_fields(kind).values() for other in item.fact.aka}
    made = create_model(
        name, __base__=base, __doc__=says, __module__=base.__module__, **(keys | more)
    )
    made.lsf_names = {**getattr(base, "lsf_names", {}), **names}  # type: ignore[attr-defined]
    return made


def _key(item: KnownField) -> Any:
    default = item.defaults[0]
    reads = KINDS[item.fact.kind].reads
    alias = item.key if item.key != item.name else None
    plain = isinstance(default, _PLAIN_DEFAULTS) or default == ()
    if item.required or item.fact.kind == "allocation":  # what holds nothing holds no slots
        return (reads, Field(alias=alias))
    if item.fact.also or not plain or item.fact.kind == "stamp":
        return _optional(reads, alias)
    return (reads, Field(default, alias=alias))


def _optional(reads: Any, alias: str | None) -> Any:
    return (reads | None, Field(None, alias=alias))


def given(kind: type, section: BaseModel) -> dict[str, Any]:
    """Return the fields of an object as a section of a file sets them."""
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


def plain(item: Any, defaults: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return an object as a section of a file, without default values.

    defaults: by field, values in place of the defaults of its class.
    """
    found: dict[str, Any] = {}
    kind: type = type(item)
    for known, look, default in _looks(kind):
        value = look(item)
        if value == default if known.name not in defaults else value == defaults[known.name]:
            continue
        if known.fact.kind == FACTORS:
            found |= {name: _shortest(value[name]) for name in sorted(value)}
            continue
        writes = KINDS[known.fact.kind].writes
        text = value if writes is _same else writes(*value) if known.fact.also else writes(value)
        if text is not None:
            found[known.key] = text
    return found


@cache
def _looks(kind: Hashable) -> tuple[tuple[KnownField, Callable[[Any], Any], Any], ...]:
    """Return the fields of a class, with a getter and the default of each; pairs as tuples."""
    assert isinstance(kind, type)
    return tuple(
        (
            known,
            attrgetter(*known.names),
            # An allocation is written if it is empty too: a file must have one.
            MISSING
            if known.fact.kind == "allocation"
            else known.defaults
            if known.fact.also
            else known.defaults[0],
        )
        for known in known_fields(kind).values()
    )


def reader(kind: Any) -> Callable[[Any], Any]:
    """Return the reader for a type of :mod:`.fields`."""
    found: Callable[[Any], Any] = TypeAdapter(kind).validator.validate_python
    return found


def key_reader(section: type[BaseModel], key: str, *, many: bool = False) -> Callable[[Any], Any]:
    """Return the reader of one key of a section of the document; many: for a list of its values."""
    info = section.model_fields[key]
    kind: Any = info.annotation
    if info.metadata:
        kind = Annotated[kind, *info.metadata]
    return reader(list[kind] if many else kind)
