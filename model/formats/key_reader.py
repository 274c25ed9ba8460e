"""What reads one value of an instance file: the type that its key has in :mod:`.document`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, TypeAdapter


def reader(kind: Any) -> Callable[[Any], Any]:
    """What reads a type of :mod:`.fields`."""
    found: Callable[[Any], Any] = TypeAdapter(kind).validator.validate_python
    return found


def key_reader(section: type[BaseModel], key: str, *, many: bool = False) -> Callable[[Any], Any]:
    """What reads one key of a section of the document; many: a list of its values."""
    info = section.model_fields[key]
    kind: Any = info.annotation
    if info.metadata:
        kind = Annotated[kind, *info.metadata]
    return reader(list[kind] if many else kind)
