"""Listings that fit the terminal: a table if it is wide enough, else a card for each row."""

from __future__ import annotations

import io
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from ..model.display import duration_text
from ..model.escaping import csv_lines, printable
from ..model.plan import allocation_text
from ..model.slurm_words import family_text, title_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from ..model.instance import Instance


#: State of a job, the most urgent last; each state has a colour.
State = Literal["now", "later", "unproved", "unplaced", ""]
COLOURS: Mapping[State, str] = {
    "now": "green",
    "later": "cyan",
    "unproved": "yellow",
    "unplaced": "red",
    "": "",
}
#: Width and height where nothing tells: output into a file or a pipe.
_USUAL = (160, 50)
#: Text is read line by line: no wider than this, however wide the terminal is.
TEXT_WIDTH = 160
#: Hosts of an allocation that are shown one by one.
_MAX_HOSTS = 4
#: Lines of a page that are not rows: the titles, what stands below.
_FRAME = 10
_LINES_OF_A_CARD = 2
_MIN_ROWS = 5
#: Width of the output from which the widest column of a table may break, and its least width.
WIDE, LEAST = 140, 20
_BLANK = "\N{NO-BREAK SPACE}"
#: Blanks within a duration or a date with its time.
_PARTS = re.compile(r"(?<=\d[dhm]) (?=\d+[hms]\b)|(?<=\d-\d\d) (?=\d\d:)")
#: Begin of the later lines of a card.
_LATER = "    "
#: Characters at both ends of a table.
_EDGES = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title; in a card its line and its label."""

    #: A title of two lines: the first one is over all neighbours that have it, too.
    title: str
    line: int = 0
    #: Title of the column, in lower case unless it is an option; None: title of the field.
    label: str | None = None
    #: Shown in the colour of the row's state.
    marked: bool = False
    #: Texts that stand in a card without the label.
    bare: Collection[str] = ()
    #: Whether its texts end below each other.
    right: bool = False

    @property
    def group(self) -> str:
        """Return the title over this column and its neighbours, "" if there is none."""
        return self.title.rpartition("\n")[0]

    @property
    def name(self) -> str:
        """Return the title of this column alone."""
        return self.title.rpartition("\n")[2]


@dataclass(frozen=True, slots=True)
class ListingRow:
    """The texts of a row, one for each column, and what becomes of its job."""

    cells: tuple[str, ...]
    state: State = ""


@dataclass(frozen=True, slots=True)
class TableStyle:
    """Layout of a listing as a table; widths in characters."""

    max_width: int = 10_000
    #: Blanks between two columns.
    between: int = 3
    #: Row below the others and a rule, a text for each column; () if there is none.
    foot: tuple[str, ...] = ()


LISTING = TableStyle()


def terminal_width() -> int:
    """Return the width of the output: COLUMNS, the terminal's width, or 160."""
    return max(shutil.get_terminal_size(_USUAL).columns, 40)


#: Signs from nothing to full.
_HEIGHTS = "·▁▂▃▄▅▆▇█"


def strip_text(shares: Iterable[float]) -> str:
    """Return a sign for each share of 1, as high as the share."""
    top = len(_HEIGHTS) - 1
    return "".join(_HEIGHTS[min(top, math.ceil(share * top))] for share in shares)


def hosts_text(allocation: Mapping[str, int], wide: bool = False) -> str:
    """Return an allocation, a long one as ``64 slots on 32 hosts: 2*n00653 … 2*n00825``.

    wide: never short.
    """
    if wide or len(allocation) <= _MAX_HOSTS:
        return allocation_text(allocation)
    hosts = list(allocation)
    first, last = (f"{allocation[host]}*{host}" for host in (hosts[0], hosts[-1]))
    return f"{sum(allocation.values())} slots on {len(hosts)} hosts: {first} … {last}"


def paragraph(
    text: str, indent: str = "", instance: Instance | None = None, width: int = TEXT_WIDTH
) -> str:
    """Return a text in lines that fit, with a final newline; indent: of lines 2 and later.

    instance: the text is in the words of its scheduler. width: maximum length of a line.
    """
    if instance is not None and instance.params.scheduler.has_own_words:
        text = family_text(instance, text)
    return filled(printable(text), min(terminal_width(), width), "", indent) + "\n"


def paragraphs(texts: Iterable[str], instance: Instance, width: int = TEXT_WIDTH) -> str:
    """Return paragraphs in the words of the instance's scheduler."""
    return "".join(paragraph(text, instance=instance, width=width) for text in texts)


def filled(text: str, width: int, first: str, later: str) -> str:
    """Return lines of at most `width` characters; a longer word is a line of its own.

    first, later: the indents, less where they would take half of a line.
    """
    if len(later) > width // 2:
        later = "    "
    return textwrap.fill(
        _PARTS.sub(_BLANK, text),
        width,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    ).replace(_BLANK, " ")


def as_cards(
    columns: Sequence[Column],
    rows: Sequence[ListingRow],
    width: int,
    style: TableStyle = LISTING,
) -> bool:
    """Whether a line of `width` characters is too narrow for these rows side by side."""
    needed = sum(_needed_widths(columns, rows, width, style))
    return needed > _width_left(columns, width, style)


def _width_left(columns: Sequence[Column], width: int, style: TableStyle) -> int:
    """Return the characters that a line has for the texts of these columns."""
    return min(width, style.max_width) - style.between * (len(columns) - 1) - _EDGES


def _needed_widths(
    columns: Sequence[Column], rows: Sequence[ListingRow], width: int, style: TableStyle
) -> list[int]:
    """Return for each column the width at which no text is broken.

    From `WIDE` on the widest columns may break between words, each down to `LEAST`.
    """
    from rich.cells import cell_len

    widths = []
    for place, column in enumerate(columns):
        cells = [*(row.cells for row in rows), *([style.foot] if style.foot else [])]
        lines = {line for row in cells for line in printable(row[place]).split("\n")}
        widths.append(max(map(cell_len, {column.name, *lines})))
    for group, places in _groups(columns):
        have = sum(widths[place] for place in places) + style.between * (len(places) - 1)
        widths[places[-1]] += max(0, cell_len(group) - have)
    left = _width_left(columns, width, style)
    excess = sum(widths) - left if min(width, style.max_width) >= WIDE else 0
    for place in sorted(range(len(widths)), key=widths.__getitem__, reverse=True):
        texts = (_PARTS.sub(_BLANK, printable(row.cells[place])) for row in rows)
        words = (word for text in texts for word in re.split("[ \n]", text))
        least = max(LEAST, cell_len(columns[place].name), *map(cell_len, words))
        taken = max(0, min(excess, widths[place] - least))
        widths[place], excess = widths[place] - taken, excess - taken
    return widths


def _groups(columns: Sequence[Column]) -> Iterator[tuple[str, list[int]]]:
    """Yield the titles over several columns, each with the places of its columns."""
    for group, members in groupby(enumerate(columns), key=lambda item: item[1].group):
        if group:
            yield group, [place for place, _ in members]


def page_of(
    columns: Sequence[Column], rows: Sequence[ListingRow], style: TableStyle = LISTING
) -> int:
    """Return the number of rows that fit on one page of the terminal."""
    cards = as_cards(columns, rows, terminal_width(), style)
    lines = _LINES_OF_A_CARD if cards else 1
    return max(_MIN_ROWS, (max(shutil.get_terminal_size(_USUAL).lines, 10) - _FRAME) // lines)


def listing_text(
    columns: Sequence[Column],
    rows: Sequence[ListingRow],
    style: TableStyle = LISTING,
    instance: Instance | None = None,
) -> str:
    """Return the rows as text as wide as the terminal; colours only on a terminal.

    instance: the words are those of its scheduler.
    """
    if instance is not None and instance.params.scheduler.has_own_words:
        columns, rows = _in_words(instance, columns, rows)
    return rendered(columns, rows, terminal_width(), style)


def _in_words(
    instance: Instance, columns: Sequence[Column], rows: Sequence[ListingRow]
) -> tuple[list[Column], list[ListingRow]]:

    titles = [replace(item, title=title_text(instance, item.title)) for item in columns]
    return titles, [
        replace(row, cells=tuple(family_text(instance, cell) for cell in row.cells)) for row in rows
    ]


def rendered(
    columns: Sequence[Column],
    rows: Sequence[ListingRow],
    width: int,
    style: TableStyle = LISTING,
) -> str:
    """Return `listing_text` for lines of `width` characters with every word whole."""
    from rich.console import Console

    shown: Iterable[RenderableType]
    cards, above = as_cards(columns, rows, width, style), ""
    if cards:
        foot = [ListingRow(style.foot)] if style.foot else []
        shown = _cards(columns, [*rows, *foot], width)
    else:
        widths = _needed_widths(columns, rows, width, style)
        above = _group_titles(columns, widths, style)
        shown = [_table(columns, rows, widths, style)]
    buffer = io.StringIO()
    # Square brackets belong to requirements here, not to markup.
    console = Console(
        file=buffer,
        width=width,
        force_terminal=True if sys.stdout.isatty() else None,
        markup=False,
        emoji=False,
        highlight=False,
    )
    for item in shown:
        console.print(item, soft_wrap=cards)  # cards have their lines already
    lines = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines())
    return above + lines.replace(_BLANK, " ").strip("\n") + "\n\n"


def _group_titles(columns: Sequence[Column], widths: Sequence[int], style: TableStyle) -> str:
    """Return the titles over several columns with a newline, "" if there is none."""
    line = ""
    for group, places in _groups(columns):
        begin = _EDGES // 2 + sum(width + style.between for width in widths[: places[0]])
        span = sum(widths[place] for place in places) + style.between * (len(places) - 1)
        title = f" {group} ".center(span, "─") if len(places) > 1 else group.rjust(span)
        line = line.ljust(begin) + (title if len(title) <= span else group.center(span))
    return f"{line}\n" if line else ""


def _table(
    columns: Sequence[Column], rows: Sequence[ListingRow], widths: Sequence[int], style: TableStyle
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE if style.foot else box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, style.between - 2),
        show_footer=bool(style.foot),
    )
    foot = style.foot or [""] * len(columns)
    for column, wide, last in zip(columns, widths, foot, strict=True):
        table.add_column(
            column.name,
            last,
            overflow="fold",
            width=wide,
            justify="right" if column.right else "left",
        )
    for row in rows:
        colour = COLOURS[row.state]
        cells = zip(columns, row.cells, strict=True)
        table.add_row(
            *(
                Text(_PARTS.sub(_BLANK, printable(cell)), style=colour if column.marked else "")
                for column, cell in cells
            )
        )
    return table


def _cards(
    columns: Sequence[Column], rows: Sequence[ListingRow], width: int
) -> list[RenderableType]:
    """Return each row as lines of ``label value`` pairs under its name."""
    from rich.text import Text

    found: list[RenderableType] = []
    for row in rows:
        text = Text("\n".join(_card(columns, row, width)))
        text.stylize(f"bold {COLOURS[row.state]}".strip(), 0, len(row.cells[0].split("\n")[0]))
        found.append(text)
    return found


def _card(columns: Sequence[Column], row: ListingRow, width: int) -> list[str]:
    lines: dict[int, list[str]] = {}
    for column, cell in zip(columns, row.cells, strict=True):
        title = column.title.replace("\n", " ")
        own = title if title.startswith("-") else title.lower()
        label = own if column.label is None else column.label
        if cell:
            held = printable(cell).replace("\n", " ")
            alone = column is columns[0] or not label or held in column.bare
            pair = held if alone else f"{label} {held}"
            # A label is not parted from its value, unless one line cannot hold both.
            most = width if column is columns[0] else width - len(_LATER)
            glued = not column.line and len(pair) <= most
            lines.setdefault(column.line, []).append(pair.replace(" ", _BLANK) if glued else pair)
    texts = []
    for line, parts in sorted(lines.items()):
        text = filled("  ".join(parts), width, _LATER if line else "", _LATER)
        texts += text.split("\n")
    return texts


def text_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    sides: str,
    instance: Instance | None = None,
) -> str:
    """Return columns two blanks apart, aligned by `sides` (``<`` or ``>``); None is a dash.

    instance: the titles are in the words of its scheduler.
    """
    if instance is not None and instance.params.scheduler.has_own_words:
        columns = [title_text(instance, title) for title in columns]
    texts = [list(columns), *([dashed(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = (
        "  ".join(
            f"{text:{side}{width}}" for text, side, width in zip(row, sides, widths, strict=True)
        )
        for row in texts
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def dashed(value: object) -> str:
    """Return a value as text, ``-`` for None."""
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


def mapped(data: Any, change: Callable[[Any], Any]) -> Any:
    """Return data with each value in its mappings and lists changed; keys stay."""
    if isinstance(data, Mapping):
        return {key: mapped(value, change) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [mapped(item, change) for item in data]
    return change(data)


def json_text(data: Any) -> str:
    """Return data as indented JSON with a final newline."""
    return json.dumps(data, indent=2) + "\n"


def json_records(records: Iterable[Mapping[str, Any]]) -> str:
    """Return a JSON list of objects."""
    return json_text(list(records))


def csv_rows(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a CSV header and a line for each row; None is empty."""
    return "".join(csv_lines(columns, rows))


def view_text(
    format: str,
    columns: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    sides: str,
    empty: str | None = None,
    instance: Instance | None = None,
    whole: Iterable[Mapping[str, Any]] | None = None,
) -> str:
    """Return the records as JSON, CSV with titles in lower case, or a table.

    empty: text instead of a table without rows. whole: records for JSON, if it has others.
    """
    if format == "json":
        return json_records(records if whole is None else whole)
    rows = [[record[name] for name in columns] for record in records]
    if format == "csv":
        return csv_rows([column.lower() for column in columns], rows)
    return text_table(columns, rows, sides, instance) if rows or empty is None else empty


def lower_keys(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records with keys in lower case."""
    return ({key.lower(): value for key, value in record.items()} for record in records)


def csv_text(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return CSV with a header; allocations are as ``2*hostA 3*hostB``."""
    cells = ([_cell(row.get(name, "")) for name in columns] for row in rows)
    return "".join(csv_lines(columns, cells))


def _cell(value: Any) -> Any:
    """Return an allocation as text, several terms joined by ``+``, and names by spaces."""
    if isinstance(value, dict):
        return allocation_text(value)
    if isinstance(value, list | tuple):
        names = [item for item in value if isinstance(item, str)]
        return " ".join(names) if names else " + ".join(map(allocation_text, value))
    return value


def plain_metric(name: str, value: object) -> str:
    """Return a time in seconds with 3 decimals (from a minute on also in words), a ratio with 4."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return printable(str(value))
    if not name.endswith(("wait", "error", "delay")):
        return f"{value:.4f}"
    said = f"  ({duration_text(round(value))})" if value >= 60 else ""
    return f"{value:.3f} s{said}"
