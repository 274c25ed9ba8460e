"""The live page: the table of pending jobs, the explanation of one, keys; on Textual."""

from __future__ import annotations

import time
from asyncio import get_running_loop
from collections.abc import Callable, Iterator
from dataclasses import replace
from signal import SIGTERM
from threading import Event as Flag
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_args

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.events import Event, Key
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import Worker, WorkerState, get_current_worker

from ...model.display import duration_text, iso_time, wall_clock
from ...model.errors import SlotwiseError, report
from ...model.escaping import printable
from ...model.slurm_words import family_text
from ...solver.pending_reasons import counted
from ..listing import FILTERS, Column, JobChoice, ListedJob, Listing, cell_of, listing_of
from ..tables import COLOURS
from ..watched import WatchedSource, explained

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.progress import OnProgress, Progress

SORTS: Final[tuple[Column, ...]] = get_args(Column)
TITLES: Final = {
    "job": "JOB", "user": "USER", "queue": "QUEUE", "slots": "SLOTS", "state": "STATE",
    "configured": "AS CONFIGURED", "possible": "POSSIBLE", "waits for": "WAITS FOR",
}  # fmt: skip
#: Seconds between two checks of the file.
TICK = 0.25


def listed(source: WatchedSource, limit: Callable[[], float | None], cancel: Flag) -> Listing:
    """Read the state and plan it; limit: gives the wall seconds, once the state is read."""
    from ...solver.outlook.outlook import outlook

    instance, warnings = source.read()
    found = outlook(instance, time_limit=limit(), cancel=cancel)
    return listing_of(instance, found, report(warnings))


def head_lines(title: str, listing: Listing | None, choice: JobChoice) -> Iterator[str]:
    """Yield the file with the size of its cluster, and the number of jobs in each state."""
    if listing is None:
        yield printable(title)
        return
    instance, hosts = listing.instance, listing.instance.cluster.hosts
    parts = [counted(len(hosts), "host"), counted(sum(host.slots for host in hosts), "slot")]
    parts.append(f"{len(instance.running)} running")
    if instance.origin is not None:
        found = wall_clock(instance.origin, instance.now)
        as_of = iso_time(instance.origin, instance.now) if found is None else f"{found:%d %b %H:%M}"
        parts.insert(0, f"as of {as_of}")
    yield f"{printable(title)}  {family_text(instance, ', '.join(parts))}"
    states = ", ".join(f"{many} {state}" for state, many in sorted(listing.states.items()))
    more = f"  [{len(choice.of(listing.jobs))} listed: {choice.text()}]" if choice.text() else ""
    yield (
        f"{len(listing.jobs)} pending: {states}{printable(more)}" if states else "no job is pending"
    )


#: Shown until the explanation is there.
PLANNING: Final = "planning what would start it earlier"


class Explained(ModalScreen[None]):
    """The explanation of a job, or the keys, in front of the table."""

    BINDINGS: ClassVar = [Binding("escape,q,enter,h", "dismiss", "back")]

    def __init__(self, text: str | Callable[[Flag, OnProgress], str]) -> None:
        super().__init__()
        self._source = text

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(f"{PLANNING} …", id="text"))
        yield Footer()

    def on_mount(self) -> None:
        if callable(self._source):
            self._plan(self._source)
        else:
            self.query_one("#text", Static).update(Text(self._source))

    @work(thread=True, exclusive=True)
    def _plan(self, source: Callable[[Flag, OnProgress], str]) -> None:
        shown = self.query_one("#text", Static)

        def show(done: Progress) -> None:
            self.app.call_from_thread(shown.update, Text(f"{PLANNING}: {done}"))

        try:
            text = source(_cancelled(), show)
        except SlotwiseError as error:
            text = str(error)
        self.app.call_from_thread(shown.update, Text.from_ansi(text))


def _cancelled() -> Any:
    """Return the present worker as the event that stops a plan."""
    worker = get_current_worker()

    class _WorkerFlag(Flag):
        def is_set(self) -> bool:
            return worker.is_cancelled

    return _WorkerFlag()


#: Further keys that move the chosen row, each with the action of the table.
_MOVES: Final = {
    "j": "cursor_down",
    "k": "cursor_up",
    "space": "page_down",
    "g": "scroll_top",
    "G": "scroll_bottom",
}


class TopApp(App[None]):
    """Pending jobs with their starts, planned again whenever their source changes."""

    CSS = """
    #status {height: 1}
    #about {height: auto; max-height: 7}
    #words {display: none}
    DataTable {overflow-x: hidden; scrollbar-size-vertical: 1}
    VerticalScroll {scrollbar-size: 0 0}
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("enter,e", "explain", "explain"),
        Binding("s", "sort(1)", "sort"),
        Binding("S", "sort(-1)", show=False),
        Binding("r", "reverse", "reverse"),
        Binding("f", "filter", "filter: then u, q or s; a: all"),
        Binding("slash", "words", "find"),
        Binding("escape", "everything", "all"),
        Binding("R", "refresh", "refresh"),
        Binding("h,question_mark", "help", "help"),
        Binding("q,ctrl+c", "quit", "quit"),
        *(Binding(key, f"move('{step}')", show=False) for key, step in _MOVES.items()),
    ]

    def __init__(
        self, source: WatchedSource, choice: JobChoice, every: float | None, time_limit: float
    ) -> None:
        super().__init__()
        self.source, self.choice = source, choice
        self.every, self.time_limit = every, time_limit
        self.listing: Listing | None = None
        self.problem, self.signalled = "", 0
        self._stamp: tuple[int, ...] | None = None
        self._began = self._read_at = time.monotonic()
        self._planning: Worker[Listing] | None = None
        self._filtering = False

    def compose(self) -> ComposeResult:
        """Build the page."""
        yield Static(id="head")
        yield DataTable(cursor_type="row", zebra_stripes=False)
        yield Static(id="about")
        yield Input(placeholder="words", id="words")
        yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to watch the source; SIGTERM ends the page as q does."""
        get_running_loop().add_signal_handler(SIGTERM, self._end_by, SIGTERM)
        self.set_interval(TICK, self._tick)
        self._tick()

    def _end_by(self, number: int) -> None:
        self.signalled = number
        self.exit()

    def _tick(self) -> None:
        late = self.every is not None and time.monotonic() - self._read_at >= self.every
        if self._planning is None and (late or self.source.stamp() != self._stamp):
            self._stamp, self._began = self.source.stamp(), time.monotonic()
            self._planning = self._plan()
        for status in self.query("#status").results(Static):  # none is left while the page ends
            status.update(Text(self._status()))

    @work(thread=True, exit_on_error=False)
    def _plan(self) -> Listing:
        return listed(self.source, lambda: self.time_limit, _cancelled())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show the listing that has been planned, or keep the one before with its error."""
        if event.worker is not self._planning or not event.worker.is_finished:
            return
        self._planning, self._read_at = None, time.monotonic()
        if event.state is WorkerState.SUCCESS:
            self.listing, self.problem = event.worker.result, ""
            self.show_listing()
        else:
            self.problem = str(event.worker.error)
            if self.listing is None:
                self.exit(return_code=2)

    def _status(self) -> str:
        ago = f"read {duration_text(int(time.monotonic() - self._read_at))} ago"
        parts = [f"stale, {ago}: {self.problem}"] if self.problem else []
        if self._planning is not None:
            what = "reading and planning" if self.listing is None else "planning again"
            parts.append(f"{what} ({int(time.monotonic() - self._began)} s) …")
        if self.listing is not None and not self.problem:
            parts += [ago, self.listing.note, *(f"warning: {w}" for w in self.listing.warnings[:1])]
            parts += ["the limit came before every job was examined"] * self.listing.truncated
        return "; ".join(printable(part) for part in parts if part)

    def on_resize(self) -> None:
        """Give the last column the rest of the width."""
        self.show_listing()

    def show_listing(self) -> None:
        """Show the head and the rows of the listing."""
        listing, table = self.listing, self.query_one(DataTable)
        head = "\n".join(head_lines(self.source.title, listing, self.choice))
        self.query_one("#head", Static).update(Text(head))
        if listing is None:
            return
        kept = self._job()
        jobs = self.choice.of(listing.jobs)
        rows = [[printable(cell_of(item, name)) for name in TITLES] for item in jobs]
        titles = [family_text(listing.instance, title) for title in TITLES.values()]
        widths = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
        # The last column has the rest of the width; each cell has a blank at both sides.
        widths[-1] = max(self.size.width - sum(width + 2 for width in widths[:-1]) - 3, 12)
        table.clear(columns=True)
        for title, width in zip(titles, widths, strict=True):
            table.add_column(title, width=width)
        for item, cells in zip(jobs, rows, strict=True):
            style = COLOURS[item.colour]
            table.add_row(*(Text(cell, style, overflow="ellipsis") for cell in cells), key=item.job)
        if kept is not None and kept.job in table.rows:
            table.move_cursor(row=table.get_row_index(kept.job))

    def _job(self) -> ListedJob | None:
        rows = [] if self.listing is None else self.choice.of(self.listing.jobs)
        at = self.query_one(DataTable).cursor_row
        return rows[min(at, len(rows) - 1)] if rows else None

    @on(DataTable.RowHighlighted)
    def _about(self) -> None:
        job = self._job()
        text = (
            "No pending job is like that: Esc shows all." if job is None else "\n".join(job.lines)
        )
        self.query_one("#about", Static).update(Text(printable(text)))

    def action_move(self, step: str) -> None:
        """Move the chosen row as the table does with a key of its own."""
        getattr(self.query_one(DataTable), f"action_{step}")()

    def _choose(self, **changes: Any) -> None:
        self.choice = replace(self.choice, **changes)
        self.show_listing()

    def action_sort(self, step: int) -> None:
        """Sort by the next column, or the one before."""
        at = SORTS.index(self.choice.sort) + step
        self._choose(sort=SORTS[at % len(SORTS)], reverse=False)

    def action_reverse(self) -> None:
        """Reverse the order."""
        self._choose(reverse=not self.choice.reverse)

    def action_everything(self) -> None:
        """List all jobs in priority order."""
        self.query_one("#words", Input).value = ""
        self._done()
        self._choose(sort="priority", reverse=False, only={}, words="")

    def action_filter(self) -> None:
        """Take the next letter as the column by which the chosen job filters."""
        self._filtering = True

    async def on_event(self, event: Event) -> None:
        """Take the letter of a filter before it is a key."""
        if self._filtering and isinstance(event, Key):
            self._filtering, job, key = False, self._job(), event.character
            name = {name[0]: name for name in FILTERS}.get(key or "")
            if key == "a":
                self._choose(only={}, words="")
            elif name and job is not None:
                self._choose(only={**self.choice.only, name: getattr(job, name)})
            return
        await super().on_event(event)

    def action_words(self) -> None:
        """Let the user type words."""
        words = self.query_one("#words", Input)
        words.display = True
        words.focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._choose(words=event.value)

    @on(Input.Submitted)
    def _done(self) -> None:
        self.query_one("#words", Input).display = False
        self.query_one(DataTable).focus()

    @property
    def failure(self) -> str:
        """Return why the first state could not be read, "" if it was."""
        return "" if self.listing is not None else self.problem

    def action_refresh(self) -> None:
        """Read and plan again now."""
        self._stamp = None

    @on(DataTable.RowSelected)
    def action_explain(self) -> None:
        """Explain the chosen job."""
        from ..explain import explanation_output

        job, listing = self._job(), self.listing
        if job is None or listing is None:
            return
        of: Instance = listing.instance

        def text(cancel: Flag, show: OnProgress) -> str:
            found = explained(of, job.job, self.time_limit, cancel, show)
            return explanation_output(of, found, "text")

        self.push_screen(Explained(text))

    def action_help(self) -> None:
        """Show the keys and what the columns mean."""
        self.push_screen(Explained(HELP))


HELP = """\
Enter, e  explain the chosen job         s, S  sort by the next column, the last
r         reverse the order              f     then u, q or s: only that user,
/         only rows with words                 queue or state; a: all
R         read and plan again            Esc   all jobs in priority order
j, k, g, G, space: move                  q     quit

AS CONFIGURED: time until the simulated scheduler starts it. POSSIBLE: the
earliest in priority order. ?: a rule that is not modelled may change it.
STATE: "held back" could start earlier than it will, "waits" could not;
"starts if": after something without a date; "impossible": it fits nowhere on
this cluster.
"""
