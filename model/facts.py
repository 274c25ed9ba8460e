"""What is known of a field of the model beside its Python type and default, stated at the field.

From the facts of a class follow the keys of instance files and their JSON Schema, what is written,
the checks of objects made in memory and what is imported of LSF's configuration.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, get_type_hints


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of one field; ``Annotated[int, Fact("count", "CHUNK_JOB_SIZE")]``."""

    #: How it is read, checked and written, by name (:mod:`.formats.fields`).
    kind: str
    #: Its name in files, LSF's own where LSF has one; "" for the Python name.
    key: str = ""
    #: Other names of the key.
    aka: tuple[str, ...] = ()
    #: Other fields that the same key sets.
    also: tuple[str, ...] = ()
    #: The file of LSF's that sets it, "" for the one that the class stands for.
    place: str = ""
    #: Whether a queue may have a value of its own.
    by_queue: bool = False


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field with its fact."""

    name: str
    #: Its name in files.
    key: str
    fact: Fact
    #: Its own and of those beside it.
    defaults: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that the key sets, in order."""
        return (self.name, *self.fact.also)

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.defaults[0] is MISSING


def known_fields(kind: type) -> Mapping[str, KnownField]:
    """The fields of a class of the model that have a fact, by name, in order."""
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
