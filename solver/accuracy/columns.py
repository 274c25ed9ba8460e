"""Arrays of one length as the columns of a table."""

from __future__ import annotations

from dataclasses import fields
from typing import Self


class Columns:
    """Arrays of one length, the rows of which can be picked."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def pick(self, rows: object) -> Self:
        """Return only these rows: a mask, row numbers, or a slice."""
        names = [item.name for item in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: getattr(self, name)[rows] for name in names})
