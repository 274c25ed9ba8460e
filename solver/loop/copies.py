"""A session entered once and copied as often as wanted, so that each copy can go its own way.

To enter thousands of running jobs takes many times as long as to copy what came of it. What never
changes, and what equal jobs have in common, is shared by all copies; they have to be used one
after another, since the requests of a cycle are among it.
"""

from __future__ import annotations

import io
import pickle
from types import FunctionType
from typing import Any

from ...model.collection import no_collection
from ..availability.free_now import HeldPart
from ..availability.resources import ResourceTable
from ..budget import Budget
from ..world.requests import Requests, Shape
from .simulation import Session

#: What copies share although it is not frozen: it grows, and what is in it stays as it is.
_SHARED = (Requests, ResourceTable, Shape, Budget, FunctionType)


class Entered:
    """A session that has begun and run no cycle yet, from which others can go on."""

    def __init__(self, session: Session) -> None:
        """What becomes of `session` afterwards makes no difference."""
        text = io.BytesIO()
        writer = _Writer(text)
        with no_collection():
            writer.dump(session)
        self._text, self._shared = text.getvalue(), writer.shared

    def copy(self) -> Session:
        """A session of its own."""
        with no_collection():
            session = _Reader(io.BytesIO(self._text), self._shared).load()
        assert isinstance(session, Session)
        return session


def _shared(place: int) -> Any:
    """What stands in a text for a thing that is shared; a reader looks the thing up."""
    raise LookupError(place)


class _Writer(pickle.Pickler):
    """Writes all but what is shared, of which it writes the place in a list, once for each."""

    def __init__(self, text: io.BytesIO) -> None:
        super().__init__(text, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []
        self._place: dict[int, int] = {}
        self._whole_kinds: dict[type, bool] = {}

    def reducer_override(self, item: Any) -> Any:
        """The place of a thing that is shared; any other is written as usual."""
        kind = type(item)
        share = self._whole_kinds.get(kind)
        if share is None:
            share = self._whole_kinds[kind] = _is_frozen(kind) or issubclass(kind, _SHARED)
        if share and item is not _shared:
            return _shared, (self._share(item),)
        if kind is HeldPart:  # where and how often it holds: only the amount changes
            for column in (item.hosts, item.times):
                self._share(column)
        place = self._place.get(id(item))
        return NotImplemented if place is None else (_shared, (place,))

    def _share(self, item: object) -> int:
        place = self._place.setdefault(id(item), len(self.shared))
        if place == len(self.shared):
            self.shared.append(item)
        return place


class _Reader(pickle.Unpickler):
    """Reads what :class:`_Writer` wrote."""

    def __init__(self, text: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(text)
        self._shared = shared

    def find_class(self, module: str, name: str) -> Any:
        """What a name stands for: :func:`_shared` for a look into the list."""
        found = super().find_class(module, name)
        return self._shared.__getitem__ if found is _shared else found


def _is_frozen(kind: type) -> bool:
    params = getattr(kind, "__dataclass_params__", None)
    return params is not None and bool(params.frozen)
