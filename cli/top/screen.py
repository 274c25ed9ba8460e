"""The page as lines of a terminal of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...model.display import iso_time, wall_clock
from ...model.escaping import printable
from ...model.slurm_words import family_text
from ...solver.pending_reasons import counted
from ..listing import HELD_BACK, NOW, WAITS, ListedJob, Listing, cell_of
from ..tables import COLOURS
from .view import KEYS, TopView

if TYPE_CHECKING:
    from rich.text import Text

    from ...model.instance import Instance

#: The columns with their titles and the most characters of each; 0: all that is left.
_COLUMNS = {
    "job": ("JOB", 16),
    "user": ("USER", 10),
    "queue": ("QUEUE", 10),
    "slots": ("SLOTS", 6),
    "state": ("STATE", 12),
    "configured": ("AS CONFIGURED", 13),
    "possible": ("POSSIBLE", 10),
    "waits for": ("WAITS FOR", 0),
}
#: Columns that are dropped for the last one, in this order, and the least that it takes.
_OPTIONAL, _LEAST = ("queue", "user", "slots"), 12
_RIGHT = ("slots", "configured", "possible")
#: Lines above the table and below it, of a page of few lines too, and the height that is low.
_FRAME, _LOW_FRAME, _LOW = 5, 4, 9
#: Lines about the chosen job, at most.
_MAX_ABOUT = 7
#: Lines of the table that stay, however much there is to say of the chosen job.
_MIN_TABLE = 4
#: Characters of a path.
_MAX_TITLE = 30
_KEYS_LINE = "Enter explain  s sort  r reverse  f filter  / find  R refresh  h help  q quit"


@dataclass(frozen=True, slots=True)
class TopPage:
    """Content of the page to be painted."""

    #: The name of the file.
    title: str
    view: TopView
    #: The listed jobs, None until the first plan is there.
    listing: Listing | None = None
    #: Current or last action of the program, or its error.
    status: str = ""
    #: The listing is of an earlier state than the file's, which could not be read.
    stale: bool = False
    #: The lines of the explanation, in the colours of a terminal.
    text: Sequence[str] = ()

    def words(self, text: str) -> str:
        """Return a text in the words of the instance's scheduler."""
        return text if self.listing is None else family_text(self.listing.instance, text)

    @property
    def rows(self) -> list[ListedJob]:
        """Return the listed jobs, in order."""
        return [] if self.listing is None else self.view.choice.of(self.listing.jobs)


def page_size(page: TopPage, width: int, height: int) -> int:
    """Return how many rows, or lines of a text, are visible together."""
    if page.view.mode in ("explain", "help"):
        return max(1, height - 4)
    return _table_lines(height, len(_about(page, width)))


def _table_lines(height: int, about: int) -> int:
    return max(1, height - _frame(height) - min(about, _about_lines(height)))


def _frame(height: int) -> int:
    return _FRAME if height >= _LOW else _LOW_FRAME


def _about_lines(height: int) -> int:
    """Return the number of lines for the chosen job."""
    return max(0, min(_MAX_ABOUT, height - _frame(height) - _MIN_TABLE))


def screen_lines(page: TopPage, width: int, height: int) -> list[Text]:
    """Return exactly `height` lines of at most `width` characters."""
    head = [*_head(page)][: 2 if height >= _LOW else 1]
    if page.view.mode == "help":
        body = [_cropped(f"  {key:<28} {page.words(what)}") for key, what in KEYS.items()]
        body += [_cropped(""), *(_cropped(page.words(line)) for line in _meanings(width))]
        body = body[page.view.scroll :]
    elif page.view.mode == "explain":
        body = [_coloured(line) for line in page.text[page.view.scroll :]]
    else:
        body = _table(page, width, height)
    seen = max(0, height - len(head) - 2)
    body = [*body[:seen], *(_cropped("") for _ in range(seen - len(body)))]
    status = _cropped(f" {page.status}", "bold red" if page.stale else "")
    lines = [*head, *body, status, _cropped(f" {page.words(_keys_line(page))}", "dim")][-height:]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def listed_lines(page: TopPage, width: int) -> list[Text]:
    """Return every row and the general notes, without the lines of keys and of one job."""
    rows = page.rows
    lines = [*_head(page), *_rows(page, rows, width, None)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.rstrip()
    return lines


def _head(page: TopPage) -> Iterator[Text]:
    title = _cropped("").append(" slotwise top ", style="bold reverse")
    listing = page.listing
    if page.stale:
        title.append(" STALE ", style="bold red")
    title.append(f" {_end_of(printable(page.title))}", style="bold")
    if listing is None:
        yield from (title, _cropped(""))
        return
    title.append(f"  {_size(listing.instance)}")
    yield title
    states = ", ".join(f"{many} {state}" for state, many in _in_order(listing.states))
    line = _cropped(f" {len(listing.jobs)} pending: {states}" if states else " no job is pending")
    if more := page.view.choice.text():
        line.append(f"  [{len(page.rows)} listed: {printable(more)}]", style="bold")
    yield line


def _end_of(path: str) -> str:
    """Return a path, only its end if the path is long."""
    return path if len(path) <= _MAX_TITLE else f"…{path[1 - _MAX_TITLE :]}"


def _in_order(states: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    first = ("impossible", HELD_BACK, WAITS, "starts if", "unknown end", "not examined", NOW)
    for state in first:
        if state in states:
            yield state, states[state]


def _size(instance: Instance) -> str:
    hosts = instance.cluster.hosts
    parts = [counted(len(hosts), "host"), counted(sum(host.slots for host in hosts), "slot")]
    parts.append(f"{len(instance.running)} running")
    if instance.origin is not None:
        found = wall_clock(instance.origin, instance.now)
        as_of = iso_time(instance.origin, instance.now) if found is None else f"{found:%d %b %H:%M}"
        parts.insert(0, f"as of {as_of}")
    return family_text(instance, ", ".join(parts))


def _table(page: TopPage, width: int, height: int) -> list[Text]:
    if page.listing is None:
        return []
    rows, about = page.rows, _about(page, width)
    seen = _table_lines(height, len(about))
    at = page.view.row_of(rows)
    first = at // seen * seen
    lines = _rows(page, rows[first : first + seen], width, at - first)
    lines += [_cropped("")] * (seen + 1 - len(lines))
    return [*lines, *(_cropped(text) for text in about[: _about_lines(height)])]


def _about(page: TopPage, width: int) -> list[str]:
    """Return the lines about the chosen job, under the table."""
    from textwrap import wrap

    rows = page.rows
    if not rows:
        some = page.listing is not None and page.listing.jobs
        return ["  No pending job is like that: Esc shows all."] if some else []
    found = []
    for text in rows[page.view.row_of(rows)].lines:
        found += wrap(printable(text), width - 4, initial_indent="  ", subsequent_indent="    ")
    return found


def _rows(page: TopPage, rows: Sequence[ListedJob], width: int, chosen: int | None) -> list[Text]:
    """Return a title and a line a job; the widths are those of all rows of the listing."""
    titles = {name: page.words(title) for name, (title, _) in _COLUMNS.items()}
    widths = _widths(page.rows, titles, width)
    lines = [_line({name: titles[name] for name in widths}, widths, " ", "bold")]
    for number, item in enumerate(rows):
        cells = {name: printable(cell_of(item, name)) for name in widths}
        mark = ">" if number == chosen else " "
        style = f"{COLOURS[item.colour]} {'reverse' if number == chosen else ''}".strip()
        lines.append(_line(cells, widths, mark, style))
    return lines


def _widths(rows: Sequence[ListedJob], titles: Mapping[str, str], width: int) -> dict[str, int]:
    """Return the columns that fit, with their widths."""
    from rich.cells import cell_len

    wanted = {}
    for name, (_, most) in _COLUMNS.items():
        longest = max((cell_len(printable(cell_of(item, name))) for item in rows), default=0)
        wanted[name] = max(len(titles[name]), min(longest, most) if most else longest)
    last = wanted.pop("waits for")
    for name in (*_OPTIONAL, ""):
        rest = width - 1 - sum(wanted.values()) - len(wanted) * 2
        if rest >= min(last, _LEAST) or not name:
            break
        del wanted[name]
    return wanted | ({"waits for": min(rest, last)} if rest >= 4 else {})


def _line(cells: dict[str, str], widths: dict[str, int], mark: str, style: str) -> Text:
    from rich.text import Text

    line = Text(mark, style=style)
    for place, (name, wide) in enumerate(widths.items()):
        line.append("  " * bool(place))
        cell = Text(cells[name])
        cell.truncate(wide, overflow="ellipsis")
        cell.align("right" if name in _RIGHT else "left", wide)
        line.append_text(cell)
    return line


def _keys_line(page: TopPage) -> str:
    mode = page.view.mode
    if mode == "words":
        return f"/{page.view.choice.words}_   (Enter: done, Esc: all)"
    if mode == "filter":
        return "only the chosen job's: u user   q queue   s state   (a: all jobs)"
    if mode == "table":
        return _KEYS_LINE
    return "Up Down PgUp PgDn scroll   q or Esc back"


def _meanings(width: int) -> Iterable[str]:
    """Yield the meaning of the columns."""
    from textwrap import wrap

    texts = (
        "AS CONFIGURED: time until the simulated scheduler starts it; POSSIBLE: the earliest in "
        "priority order, if nothing but hosts and limits stood in its way. ?: a rule that is not "
        "modelled may change it; the lines below the table name it.",
        f'STATE: "{HELD_BACK}" could start earlier than it will, "{WAITS}" could not. "starts if": '
        'after something that has no date; "impossible": it fits nowhere on this cluster.',
    )
    for text in texts:
        yield from wrap(text, width - 4, initial_indent="  ", subsequent_indent="  ")


def _cropped(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(printable(text), style=style, no_wrap=True)


def _coloured(line: str) -> Text:
    from rich.text import Text

    return Text.from_ansi(line, no_wrap=True)
