"""Tables, CSV and allocations as text, shared by the commands."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..model.allocation import allocation_text
from .cells import csv_cell, printable

if TYPE_CHECKING:
    from rich.table import Table

#: Hosts of an allocation that a table shows; the other formats have all of them.
MOST_HOSTS = 8


def new_table(*titles: str) -> Table:
    """A plain table with these columns."""
    from rich import box
    from rich.table import Table

    class PlainTable(Table):
        """Cells show what they hold, control characters too."""

        def add_row(self, *cells: Any, **options: Any) -> None:
            shown = (printable(cell) if isinstance(cell, str) else cell for cell in cells)
            super().add_row(*shown, **options)

    table = PlainTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def table_text(table: Table) -> str:
    """The table as text, as wide as the terminal and in colour only on one."""
    import shutil
    import sys

    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((160, 40)).columns if terminal else 160
    buffer = io.StringIO()
    # Square brackets belong to requirements here, not to markup.
    console = Console(
        file=buffer, width=max(width, 80), force_terminal=terminal, markup=False, emoji=False
    )
    console.print(table)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a header; allocations as ``2*hostA 3*hostB``."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(flat(row))
    return buffer.getvalue()


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as cells of CSV, with its allocations as text."""
    return {key: csv_cell(_cell(value)) for key, value in record.items()}


def _cell(value: Any) -> Any:
    """An allocation as text, those of several terms joined by ``+``."""
    if isinstance(value, dict):
        return allocation_text(value)
    if isinstance(value, list):
        return " + ".join(map(allocation_text, value))
    return value


def hosts_text(allocation: Mapping[str, int]) -> str:
    """An allocation, cut where it is long: ``16*n1 16*n2 … (64 hosts)``."""
    if len(allocation) <= MOST_HOSTS:
        return allocation_text(allocation)
    shown = dict(islice(allocation.items(), 2))
    return f"{allocation_text(shown)} … ({len(allocation)} hosts)"
