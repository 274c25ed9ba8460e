"""Metadata of model fields in addition to Python type and default, stated at each field.

From these facts follow the keys of instance files, their JSON Schema, writing, the checks of
objects in memory and the import of LSF's configuration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, get_type_hints

#: The kind of names of hosts, host groups and compute units, as messages have it.
HOST = "host or host group"
#: The kind of names of users and user groups, and the words that stand for several users.
USER = "user"
USERS = (USER, "all", "default", "others")


@dataclass(frozen=True, slots=True)
class Fact:
    """Metadata of one field, as in ``Annotated[int, Fact("count", "CHUNK_JOB_SIZE")]``."""

    #: Kind of value, which determines reading, checks and writing (:mod:`.formats.fields`).
    kind: str
    #: Key in files: LSF's name if there is one; "" if it is the Python name.
    key: str = ""
    #: Alternative keys.
    aka: tuple[str, ...] = ()
    #: Further fields that the key sets.
    also: tuple[str, ...] = ()
    #: LSF's file with the parameter, "" for the default file of the class.
    place: str = ""
    #: Whether a queue may have its own value.
    by_queue: bool = False
    #: Kind of what it names, and words that stand for none of them (:mod:`.formats.rules`).
    refers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field with its Fact."""

    #: Python name of the field.
    name: str
    #: Key in files.
    key: str
    #: Rule for the values of the field.
    fact: Fact
    #: Defaults of the fields that the key sets, in order.
    defaults: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the fields that the key sets, in order."""
        return (self.name, *self.fact.also)

    @property
    def required(self) -> bool:
        """Return whether the field has no default."""
        return self.defaults[0] is MISSING


def known_fields(kind: type) -> Mapping[str, KnownField]:
    """Return the fields of a model class that have a Fact, by name, in order."""
    return _known_fields(kind)


@cache
def _known_fields(kind: Hashable) -> Mapping[str, KnownField]:
    assert isinstance(kind, type)
    hints = get_type_hints(kind, include_extras=True)
    usual = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }
    found = {}
    for name, hint in hints.items():
        for fact in getattr(hint, "__metadata__", ()):
            if isinstance(fact, Fact):
                defaults = tuple(usual[each] for each in (name, *fact.also))
                found[name] = KnownField(name, fact.key or name, fact, defaults)
    return found
