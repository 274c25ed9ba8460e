"""Whether a value in memory has the type that its field declares, and that type in words."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

Fits = Callable[[Any], bool]

_PLAIN: dict[Any, tuple[Fits, str]] = {
    int: (lambda value: type(value) is int, "a whole number"),
    float: (lambda value: isinstance(value, float) or type(value) is int, "a number"),
    bool: (lambda value: type(value) is bool, "True or False"),
    str: (lambda value: isinstance(value, str), "a text"),
    type(None): (lambda value: value is None, "None"),
}


def fits(hint: Any) -> Fits:
    """What says whether a value is of the type; True is no number, 4 is one where 4.0 is."""
    if hint in _PLAIN:
        return _PLAIN[hint][0]
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        choices = [fits(choice) for choice in inner]
        return lambda value: any(choice(value) for choice in choices)
    if kind is tuple and inner[1:] == (...,):
        item = fits(inner[0])
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    if kind is tuple:
        items = [fits(part) for part in inner]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(items)
            and all(part(each) for part, each in zip(items, value, strict=True))
        )
    if kind is frozenset:
        member = fits(inner[0])
        return lambda value: isinstance(value, frozenset) and all(map(member, value))
    if kind in (Mapping, dict):
        key, content = fits(inner[0]), fits(inner[1])
        return lambda value: (
            isinstance(value, (dict, Mapping))  # the first is quick to tell
            and all(map(key, value))
            and all(map(content, value.values()))
        )
    if isinstance(hint, type) and is_dataclass(hint):
        parts = {name: fits(part) for name, part in get_type_hints(hint).items()}
        return lambda value: (
            isinstance(value, hint)
            and all(part(getattr(value, name)) for name, part in parts.items())
        )
    return lambda value: isinstance(value, hint)


def words(hint: Any) -> str:
    """The type as a message names it."""
    if hint in _PLAIN:
        return _PLAIN[hint][1]
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, types.UnionType):
        return " or ".join(words(choice) for choice in inner)
    if kind is tuple and inner[1:] == (...,):
        return f"a tuple, each part {words(inner[0])}"
    if kind is tuple:
        return f"a tuple of {' and '.join(words(part) for part in inner)}"
    if kind is frozenset:
        return f"a frozenset, each member {words(inner[0])}"
    if kind in (Mapping, dict):
        return f"a mapping of {words(inner[0])} to {words(inner[1])}"
    return f"an object of class {hint.__name__}"


def all_printable(value: Any) -> bool:
    """Whether every text within a value is surely of printable characters; quick."""
    kind = type(value)
    if kind is str:
        return bool(value.isprintable())
    if kind is dict:
        return all(map(all_printable, value)) and all(map(all_printable, value.values()))
    if kind is tuple:
        return all(map(all_printable, value))
    return kind is int or kind is float or kind is bool or value is None


def texts(value: Any) -> Iterator[str]:
    """Every text within a value."""
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
