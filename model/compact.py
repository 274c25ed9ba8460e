"""Many objects in little memory: integer tables, names by hash, lists made on demand."""

from __future__ import annotations

import gc
from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate, chain, repeat
from typing import Any, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray


@contextmanager
def no_collection() -> Iterator[None]:
    """Suspend garbage collection while very many objects are made; it takes a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


Made = TypeVar("Made")


def objects_of(kind: type[Made], count: int, columns: Mapping[str, Iterable[object]]) -> list[Made]:
    """Return objects of a frozen dataclass with slots, from the values of every field.

    Several times as fast as one call for each; the class has no `__post_init__`.
    """
    assert columns.keys() == {field.name for field in fields(cast("Any", kind))}
    made = [*map(object.__new__, repeat(kind, count))]
    for name, values in columns.items():
        deque(map(getattr(kind, name).__set__, made, values), maxlen=0)
    return made


def freeze_objects() -> None:
    """Exempt all objects made so far from garbage collection until the process ends."""
    gc.freeze()


def never_free(item: object) -> None:
    """Keep an object until the process ends, which then does not free it: of an instance with
    150,000 jobs that takes 0.3 s.
    """
    kept: list[object] = [item]
    kept.append(kept)  # a cycle that no collection sees once it is frozen
    freeze_objects()


#: Number of rows that are packed together.
BLOCK = 1024
#: Type codes of columns, each with its largest value.
_KINDS = tuple((kind, 256 ** array(kind).itemsize - 1) for kind in "BHIQ")

Row = tuple[int | None, ...]
#: A packed column: its minimum, and the differences from it. A difference of 0 means no number.
_Packed = tuple[int, Sequence[int]]


class IntTable:
    """A table of integers; an appended row never changes.

    Rows are packed in blocks. Each column of a block keeps its minimum, and the differences from it
    in 1, 2, 4 or 8 bytes (as objects if they are larger).
    """

    __slots__ = ("_blocks", "_open")

    def __init__(self) -> None:
        self._blocks: list[tuple[_Packed, ...]] = []
        self._open: list[Row] = []

    def append(self, *row: int | None) -> None:
        """Append a row; None: no number."""
        self._open.append(row)
        if len(self._open) >= BLOCK:
            self._pack()

    def extend(self, rows: Iterable[Row]) -> None:
        """Append several rows."""
        self._open.extend(rows)
        if len(self._open) >= BLOCK:
            self._pack()

    def _pack(self) -> None:
        """Pack the first rows that are not packed yet, in whole blocks."""
        whole = len(self._open) // BLOCK * BLOCK
        for first in range(0, whole, BLOCK):
            rows = self._open[first : first + BLOCK]
            self._blocks.append(tuple(map(_packed, zip(*rows, strict=True))))
        del self._open[:whole]

    def __len__(self) -> int:
        return len(self._blocks) * BLOCK + len(self._open)

    def __getitem__(self, place: int) -> Row:
        block, at = divmod(place, BLOCK)
        if block == len(self._blocks):
            return self._open[at]
        return tuple(
            [base + codes[at] if codes[at] else None for base, codes in self._blocks[block]]
        )

    def blocks(self) -> Iterator[list[Row]]:
        """Yield all rows in order, in lists of one block each."""
        for block in self._blocks:
            yield list(zip(*map(_unpacked, block), strict=True))
        if self._open:
            yield list(self._open)

    def __iter__(self) -> Iterator[Row]:
        return (row for rows in self.blocks() for row in rows)

    def column(self, number: int, none: int = 0) -> NDArray[np.int64]:
        """Return one column; none: the value for rows without a number."""

        def values() -> Iterator[int]:
            for block in self._blocks:
                base, codes = block[number]
                yield from (base + code if code else none for code in codes)
            for row in self._open:
                value = row[number]
                yield none if value is None else value

        return np.fromiter(values(), np.int64, len(self))


def _packed(values: Sequence[int | None]) -> _Packed:
    known = [value for value in values if value is not None]
    base = min(known, default=0) - 1
    codes = [0 if value is None else value - base for value in values]
    most = max(codes)
    kind = next((kind for kind, limit in _KINDS if most <= limit), None)
    return base, tuple(codes) if kind is None else array(kind, codes)


def _unpacked(column: _Packed) -> Iterator[int | None]:
    base, codes = column
    return (base + code if code else None for code in codes)


def narrow(column: NDArray[np.int64]) -> NDArray[Any]:
    """Return the numbers in half the bytes if they fit, else unchanged."""
    half = column.astype(np.int32)
    return half if np.array_equal(half, column) else column


#: Mask of the bits of a hash that are kept.
_PART = (1 << 32) - 1


class NamePlaces:
    """Index of a list of names by their hashes. name_at: returns the name at a position."""

    __slots__ = ("_hashes", "_name_at", "_places")

    def __init__(self, names: Iterable[str], name_at: Callable[[int], str]) -> None:
        values = np.fromiter((hash(name) & _PART for name in names), dtype=np.uint32)
        self._places = np.argsort(values, kind="stable").astype(np.int32)
        self._hashes = values[self._places]
        self._name_at = name_at

    def first(self, name: str) -> int | None:
        """Return the first position of a name, None if it is not in the list."""
        return next(self._all(name), None)

    def twice(self) -> str | None:
        """Return a name that occurs more than once, None if all differ."""
        for at in np.flatnonzero(self._hashes[1:] == self._hashes[:-1]).tolist():
            name = self._name_at(int(self._places[at]))
            if len(list(self._all(name))) > 1:
                return name
        return None

    def _all(self, name: str) -> Iterator[int]:
        # A value of another type would make numpy convert the whole array.
        value = np.uint32(hash(name) & _PART)
        for at in range(int(np.searchsorted(self._hashes, value)), len(self._hashes)):
            if self._hashes[at] != value:
                return
            place = int(self._places[at])
            if self._name_at(place) == name:
                yield place


T = TypeVar("T")


class OnDemand(Sequence[T]):
    """A read-only sequence of items built on demand, equal to a tuple of equal items."""

    __slots__ = ()

    @abstractmethod
    def item(self, place: int) -> T:
        """Return the item at `place`, a valid index of the sequence."""

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
    """A concatenation of several sequences."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, *parts: Sequence[T]) -> None:
        self._parts = tuple(part for part in parts if len(part))
        self._ends = list(accumulate(map(len, self._parts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def item(self, place: int) -> T:
        """Return the item at `place`, a valid index of the concatenation."""
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part] + len(self._parts[part])]

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._parts)
