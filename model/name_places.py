"""Where names stand in a long list, found over their hashes alone: 8 bytes a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

#: What of a hash is kept.
_PART = (1 << 32) - 1


class NamePlaces:
    """name_at: the name at a place of the list, so that it need not be kept here."""

    __slots__ = ("_hashes", "_name_at", "_places")

    def __init__(self, names: Iterable[str], name_at: Callable[[int], str]) -> None:
        values = np.fromiter((hash(name) & _PART for name in names), dtype=np.uint32)
        self._places = np.argsort(values, kind="stable").astype(np.int32)
        self._hashes = values[self._places]
        self._name_at = name_at

    def first(self, name: str) -> int | None:
        """The first place of a name, None where it is not in the list."""
        return next(self._all(name), None)

    def twice(self) -> str | None:
        """A name that is there more than once, None where there is none."""
        for at in np.flatnonzero(self._hashes[1:] == self._hashes[:-1]).tolist():
            name = self._name_at(int(self._places[at]))
            if len(list(self._all(name))) > 1:
                return name
        return None

    def _all(self, name: str) -> Iterator[int]:
        value = np.uint32(hash(name) & _PART)  # of the same type, or all are copied to compare
        for at in range(int(np.searchsorted(self._hashes, value)), len(self._hashes)):
            if self._hashes[at] != value:
                return
            place = int(self._places[at])
            if self._name_at(place) == name:
                yield place
