"""Rules for the fields of the model's classes.

There is no separate list of rules: the types that read a key of an instance file (:mod:`.document`)
check the field in memory. A value whose form in a file differs (two fields in one key, LSF's own
texts) is encoded first.
"""

from __future__ import annotations

import math
import reprlib
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from operator import attrgetter, is_
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ..cluster import (
    BUILTIN_AMOUNTS,
    Cluster,
    ComputeUnit,
    Host,
    HostGroup,
    SharedResource,
)
from ..configuration import (
    CONSUMERS,
    Limit,
    ReservationUsage,
    Scope,
)
from ..display import strange_character
from ..errors import nearest
from ..facts import KnownField, known_fields
from ..instance import (
    Instance,
)
from ..job import HostRequest, Job, RunningJob
from . import document as d
from . import fields as f
from . import text
from .document import explain
from .fields import KINDS, factors, key_reader, reader
from .units import format_size

Fits = Callable[[Any], bool]

_PLAIN: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    type(None): "None",
    Any: "any value",
}


@cache
def fits(hint: Any) -> Fits:
    """Return a predicate for values of a type; True is not a number, 4 is one where 4.0 is."""
    config = ConfigDict(strict=True, revalidate_instances="always", arbitrary_types_allowed=True)
    if not is_dataclass(hint):
        return TypeAdapter(hint, config=config).validator.isinstance_python
    within = fits(tuple[hint])  # a class takes no configuration
    return lambda value: within((value,))


def words(hint: Any) -> str:
    """Return the type of a value as messages name it."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return " or ".join(words(choice) for choice in inner)
    if kind is Literal:
        return " or ".join(map(repr, inner))
    if kind is tuple and inner[1:] == (...,):
        return f"a tuple, each part {words(inner[0])}"
    if kind is tuple:
        return f"a tuple ({', '.join(words(part) for part in inner)})"
    if kind is frozenset:
        return f"a frozenset, each member {words(inner[0])}"
    if kind in (Mapping, dict):
        return f"a mapping of {words(inner[0])} to {words(inner[1])}"
    return f"an object of class {hint.__name__}"


def all_printable(value: Any) -> bool:
    """Return whether every text within a value is certainly printable; a fast test."""
    kind = type(value)
    if kind is str:
        return bool(value.isprintable())
    if kind is dict:
        return all(map(all_printable, value)) and all(map(all_printable, value.values()))
    if kind is tuple:
        return all(map(all_printable, value))
    return kind is int or kind is float or kind is bool or value is None


def texts(value: Any) -> Iterator[str]:
    """Yield every text within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, frozenset, set)):
        for item in value:
            yield from texts(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif is_dataclass(value):
        for part in fields(value):
            yield from texts(getattr(value, part.name))


#: Exceptions that encoding a value of the wrong type may raise.
_UNWRITABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
#: Types for which equal values of equal type are identical in meaning.
_SCALARS = frozenset({str, int, float, bool})


@dataclass(frozen=True, slots=True, eq=False)
class FieldRule:
    """Rule for one field, or for two that share one key of a file."""

    #: Names of the fields that share the rule.
    names: tuple[str, ...]
    #: Values that need no check.
    defaults: tuple[Any, ...]
    #: Reader of the file's form; raises ValueError with a sentence for an invalid value.
    reads: Callable[[Any], Any]
    #: Predicates for the declared types of the fields.
    fit: tuple[Fits, ...]
    #: Names of these types, for messages.
    kinds: tuple[str, ...]
    #: Encoder of the value for a file, None: unchanged.
    writes: Callable[[Any], Any] | None = None

    def fault(self, item: Any) -> tuple[str, str] | None:
        """Return the name of the invalid field of `item` and its error, None if there is none."""
        values = tuple(getattr(item, name) for name in self.names)
        if all(map(is_, values, self.defaults)) or values == ({},) == self.defaults:
            return None
        name, several = self.names[0], len(values) > 1
        if not all_printable(values):
            strange = next(filter(None, map(strange_character, texts(values))), "")
            if strange:
                return name, strange
        misfit = next((n for n, fit in enumerate(self.fit) if not fit(values[n])), None)
        if several and misfit is not None:
            return self._of_type(misfit, values)
        try:
            given = values[0] if self.writes is None else self.writes(item)
        except _UNWRITABLE:
            return self._of_type(0, values)
        try:
            read = self.reads(given)
        except ValidationError as error:
            return name, explain(error)[0].message
        except ValueError as error:
            return name, str(error)
        except _UNWRITABLE:
            return self._of_type(0, values)
        if misfit is not None:
            return self._of_type(misfit, values)
        if read == (values if several else values[0]):
            return None
        pairs = zip(self.names, read if several else (read,), values, strict=True)
        name, right, value = next(item for item in pairs if item[1] != item[2])
        return name, f"must be {reprlib.repr(right)}, not {reprlib.repr(value)}"

    def _of_type(self, at: int, values: tuple[Any, ...]) -> tuple[str, str]:
        return self.names[at], f"must be {self.kinds[at]}, not {reprlib.repr(values[at])}"


@dataclass(frozen=True, slots=True)
class _Special:
    names: tuple[str, ...]
    reads: Callable[[Any], Any]
    writes: Callable[[Any], Any] | None = None


def _single(name: str, kind: Any, writes: Callable[[Any], Any] | None = None) -> _Special:
    """Return the rule of a field with another reader than its key, or that is encoded first."""
    return _Special((name,), reader(kind), writes)


def _slots(job: Job) -> Any:
    return job.slots if job.max_slots is None else f"{job.slots},{job.max_slots}"


def _run_limits(limits: tuple[Any, Any]) -> tuple[int | None, int | None]:
    default, most = limits
    for value in (default, most):
        if value is not None:
            text.positive_duration(value)
    if default is not None and most is not None:
        text.run_limit(text.run_limit_text(default, most))
    return default, most


def _amounts(amounts: Any) -> dict[str, float]:
    """Return checked amounts by resource: sizes for mem, swp and tmp, numbers for others."""
    if not isinstance(amounts, Mapping):
        raise ValueError(f"must map strings to numbers, not {reprlib.repr(amounts)}")
    return {
        _NAME(name): _SIZE(_size(value)) if name in BUILTIN_AMOUNTS else _AMOUNT(value)
        for name, value in amounts.items()
    }


def _limited(amounts: Any) -> dict[str, float]:
    found = _amounts({name: value for name, value in amounts.items() if name not in _COUNTED})
    counted = {name: value for name, value in amounts.items() if name in _COUNTED}
    return {**{name: _AMOUNT(value) for name, value in counted.items()}, **found}


def _percentages(amounts: Any) -> dict[str, float]:
    for name, value in amounts.items():
        if name not in BUILTIN_AMOUNTS:
            raise ValueError(f"must have percentages of mem, swp or tmp only, not of {name!r}")
        if _AMOUNT(value) > 100:
            raise ValueError(f"must be 0% to 100%, not {value}%")
    return {name: _AMOUNT(value) for name, value in amounts.items()}


def _size(value: Any) -> Any:
    """Return a size; one that is too large for a plain number gets a unit."""
    return format_size(value) if type(value) in (int, float) and 1e15 <= value < math.inf else value


def _factors(factors: Any) -> dict[str, float]:
    for name in factors:
        if name not in _FACTORS:
            hint = nearest(str(name), _FACTORS) or f": use {', '.join(_FACTORS)}"
            raise ValueError(f"unknown factor {name!r}{hint}")
    return {name: _FACTORS[name](value) for name, value in factors.items()}


def _scope(value: Any) -> Scope | None:
    if not isinstance(value, Scope):
        return None
    return text.scope([*value.names, *(f"~{name}" for name in value.excluded)], value.each)


def _hosts(requests: Any) -> Any:
    return text.requests(requests) or []


_COUNTED = ("slots", "jobs")
_NAME, _SIZE, _AMOUNT = reader(f.Name), reader(f.Size), reader(f.Amount)
_JOB_SLOTS = reader(f.Slots)
_FACTORS = {key: reader(KINDS[item.fact.kind].reads) for key, item in factors().items()}
_METHODS = get_args(d.Document.model_fields["reservation_usage"].annotation)[1]

_SPECIAL: dict[type, tuple[_Special, ...]] = {
    Host: (
        _single("name", f.NewName),
        _Special(("amounts",), _amounts),
        _single("booleans", frozenset[f.Name]),
        _single("exclusive", frozenset[f.Name]),
        _single("gpus", f.HostGpus | None, lambda host: text.gpus_text(host.gpus)),
    ),
    HostGroup: (_single("name", f.NewName), _single("members", tuple[f.Name, ...])),
    ComputeUnit: (
        _single("hosts", tuple[f.Name, ...]),
        _single("parent", f.Name | None),
    ),
    SharedResource: (
        _single("amount", f.Amount),
        _single("hosts", frozenset[f.Name] | None),
    ),
    Job: (_Special(("slots", "max_slots"), _JOB_SLOTS, _slots),),
    HostRequest: (),
    Limit: (
        _Special(("amounts",), _limited),
        _Special(("percentages",), _percentages),
        *(_Special((item.field,), _scope) for item in CONSUMERS),
    ),
    ReservationUsage: (_single("resource", f.Name), _single("method", _METHODS)),
    Cluster: (
        _Special(
            ("unit_types", "default_unit_type"),
            reader(f.UnitTypes),
            lambda cluster: [
                f"{name}!" if name == cluster.default_unit_type else name
                for name in cluster.unit_types
            ],
        ),
    ),
}


def _of_fact(section: type[BaseModel] | None, known: KnownField) -> _Special:
    """Return the rule of a field by the kind in its fact."""
    kind = KINDS.get(known.fact.kind)
    if kind is None:
        return _Special((known.name,), _factors)
    look = attrgetter(*known.names)
    if known.fact.kind == "run_limit":
        return _Special(known.names, _run_limits, look)
    if kind.as_file:
        several = len(known.names) > 1
        return _Special(
            known.names,
            reader(kind.reads),
            lambda item: kind.writes(*look(item)) if several else kind.writes(look(item)),
        )
    if kind.checks is not None:
        return _single(known.name, kind.checks | None)
    return _Special(
        known.names, reader(kind.reads) if section is None else key_reader(section, known.name)
    )


_OF_INSTANCE = frozenset({"name", "description", "origin", "now"})
#: Fields that contain objects with rules of their own.
_OBJECTS: dict[type, frozenset[str]] = {
    Cluster: frozenset({"hosts", "groups", "units", "resources", "shared"}),
    RunningJob: frozenset({"job"}),
    Instance: frozenset(field.name for field in fields(Instance)) - _OF_INSTANCE,
}


def _is_plain(value: Any) -> bool:
    """Return whether equal values of its type are identical in meaning."""
    kind = type(value)
    return kind in _SCALARS or (kind is tuple and all(type(part) is str for part in value))


@dataclass(frozen=True, slots=True)
class ClassRules:
    """The rules of one class of the model."""

    #: Rules of the fields of the class.
    rules: tuple[FieldRule, ...]
    #: Default of each field, MISSING if it has none.
    usual: Mapping[str, Any]
    #: Function that returns all fields with a rule; names, defaults and rules are in `beside`.
    look: Callable[[Any], tuple[Any, ...]]
    #: Fields whose check needs their value only: name, default and rule.
    beside: tuple[tuple[str, Any, FieldRule], ...]

    def wrong(
        self, item: Any, sound: set[tuple[FieldRule, type, Any]]
    ) -> dict[FieldRule, tuple[str, str]]:
        """Return every rule that `item` breaks, with the field and the error; sound: values found
        valid before.

        Numbers of numpy in its fields are replaced by equal Python numbers.
        """
        broken: dict[FieldRule, tuple[str, str]] = {}
        for value, (name, usual, rule) in zip(self._plain(item), self.beside, strict=True):
            if value is usual or rule in broken:
                continue
            if isinstance(value, np.ndarray):
                kind = rule.kinds[rule.names.index(name)]
                broken[rule] = name, f"must be {kind}, not an array of numpy (shape {value.shape})"
                continue
            key = (rule, type(value), value) if _is_plain(value) and not rule.names[1:] else None
            if key is not None and key in sound:
                continue
            if fault := _fault(rule, item):
                broken[rule] = fault
            elif key is not None:
                sound.add(key)
        return broken

    def _plain(self, item: Any) -> tuple[Any, ...]:
        """Return the fields of an object with numpy numbers converted to Python's."""
        values = self.look(item)
        changed = False
        for value, (name, usual, _) in zip(values, self.beside, strict=True):
            if value is not usual and type(value) not in _SCALARS:
                plain = without_numpy(value)
                if plain is not value:
                    object.__setattr__(item, name, plain)
                    changed = True
        return self.look(item) if changed else values


def without_numpy(value: Any) -> Any:
    """Return a value with numpy's numbers replaced, also inside tuples and mappings.

    A whole number in a column of floats, as a data frame makes of a column with gaps, becomes an
    int.
    """
    if isinstance(value, np.generic):
        number = value.item()
        return int(number) if isinstance(number, float) and number.is_integer() else number
    if type(value) is tuple and value:
        parts = tuple(map(without_numpy, value))
        return value if all(map(is_, parts, value)) else parts
    if type(value) is dict and value:
        found = {key: without_numpy(part) for key, part in value.items()}
        return value if all(map(is_, found.values(), value.values())) else found
    return value


def _fault(rule: FieldRule, item: Any) -> tuple[str, str] | None:
    """Return the error of a rule; an array, which has no truth value, is never a valid value."""
    try:
        return rule.fault(item)
    except ValueError:
        for name, kind in zip(rule.names, rule.kinds, strict=True):
            if _holds_array(getattr(item, name)):
                return name, f"must be {kind}, not an array"
        raise


def _holds_array(value: Any) -> bool:
    """Return whether a value is or contains an array of numpy or the like."""
    if isinstance(value, Mapping):
        return any(map(_holds_array, value.values()))
    if isinstance(value, (tuple, list)):
        return any(map(_holds_array, value))
    if is_dataclass(value):
        return any(_holds_array(getattr(value, field.name)) for field in fields(value))
    return hasattr(value, "__array__")


#: Rules of each class, made on first use.
_RULES: dict[type, ClassRules] = {}


def class_rules(kind: type) -> ClassRules:
    """Return the cached rules of a class of the model."""
    if kind not in _RULES:
        rules = _rules_of(kind)
        usual = _usual(kind)
        named = [(name, rule) for rule in rules for name in rule.names]
        _RULES[kind] = ClassRules(
            rules,
            usual,
            attrgetter(*(name for name, _ in named)),
            tuple((name, usual[name], rule) for name, rule in named),
        )
    return _RULES[kind]


def _usual(kind: type) -> dict[str, Any]:
    """Return the default of each field of a class, MISSING if the field is required."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }


def _rules_of(kind: type) -> tuple[FieldRule, ...]:
    hints = get_type_hints(kind)
    usual = _usual(kind)
    section = d.FORMS.get(kind)
    known = known_fields(kind).values()
    special = (*_SPECIAL.get(kind, ()), *(_of_fact(section, item) for item in known))
    named = {name for item in special for name in item.names} | _OBJECTS.get(kind, frozenset())
    plain = [
        _Special((name,), key_reader(section, name))
        for name in usual
        if name not in named and section is not None
    ]
    return tuple(
        FieldRule(
            item.names,
            tuple(usual[name] for name in item.names),
            item.reads,
            tuple(fits(hints[name]) for name in item.names),
            tuple(words(hints[name]) for name in item.names),
            item.writes,
        )
        for item in (*plain, *special)
    )
