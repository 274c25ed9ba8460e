"""Sequences whose items are made anew when they are asked for: a million jobs need no objects."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import TypeVar, overload

T = TypeVar("T")


class OnDemand(Sequence[T]):
    """Like a tuple of the items: equal to one that has the same, and never changed."""

    __slots__ = ()

    @abstractmethod
    def item(self, place: int) -> T:
        """The item at `place`, which is within the sequence."""

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        if isinstance(place, slice):
            return tuple(self.item(index) for index in range(*place.indices(len(self))))
        return self.item(range(len(self))[place])

    def __iter__(self) -> Iterator[T]:
        return map(self.item, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (tuple, OnDemand)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Joined(OnDemand[T]):
    """Several sequences, one after another."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, *parts: Sequence[T]) -> None:
        self._parts = tuple(part for part in parts if len(part))
        self._ends = list(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def item(self, place: int) -> T:
        """The item at `place`."""
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part] + len(self._parts[part])]

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._parts)
