"""Tables of names and facts, each in a file in the folder of its module: cells parted by tabs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources


def rows(package: str, name: str, columns: int) -> Iterator[list[str]]:
    """Yield the cells of each row below the titles; cells missing at its end are empty."""
    text = (resources.files(package) / name).read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        yield [*line.split("\t"), *[""] * columns][:columns]
