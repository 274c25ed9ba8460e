"""The live page: the table of pending jobs, the explanation of one, keys; on Textual."""

from __future__ import annotations

import time
from asyncio import get_running_loop
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from signal import SIGTERM
from threading import Event as Flag
from typing import Any, ClassVar, Final, get_args

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container, VerticalScroll
from textual.events import Event, Key
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import Worker, WorkerState, get_current_worker

from ...model.display import DAY, day_clock_text, duration_text
from ...model.errors import SlotwiseError, report
from ...model.escaping import printable
from ...model.instance import Instance
from ...model.progress import Progress
from ...model.slurm_words import family_text
from ...solver.advice.explain import Explanation
from ..explain import explanation_output
from ..listing import FILTERS, Column, JobChoice, ListedJob, Listing, cell_of, listed
from ..outlook_text import explained
from ..slots import slots_text
from ..source import WatchedSource
from ..tables import COLOURS
from .about import (
    PLANNING,
    WIDE,
    commands_of,
    head_lines,
    job_lines,
    news,
    titles,
)

SORTS: Final[tuple[Column, ...]] = get_args(Column)
#: Seconds between two checks of the file, and for which a job is chosen before it is explained.
TICK, REST = 0.25, 0.5


class TextScreen(ModalScreen[None]):
    """A text in front of the table; of a job or a question it changes as the answer comes."""

    BINDINGS: ClassVar = [Binding("escape,q,enter,h,w", "dismiss", "back")]

    def __init__(self, key: str, text: str) -> None:
        super().__init__()
        self.key, self._text = key, text

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static(Text.from_ansi(self._text), id="text"))
        yield Footer()

    def show(self, text: str) -> None:
        """Show another text."""
        self.query_one("#text", Static).update(Text.from_ansi(text))


class Listed(Message):
    """A listing, planned as a whole or in part."""

    def __init__(self, listing: Listing) -> None:
        super().__init__()
        self.listing = listing


class Answered(Message):
    """The answer to a question on a state of the cluster, or how far it is.

    key: the explained job, or SLOTS. answer: a text, or the explanation; None: it was stopped.
    """

    def __init__(self, of: Instance, key: str, answer: Explanation | str | None) -> None:
        super().__init__()
        self.of, self.key, self.answer = of, key, answer


#: Key of the question which slots are free; no job has this id.
SLOTS: Final = " slots"


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
    #body {layout: vertical}
    #side {height: auto; max-height: 50%}
    .wide #body {layout: horizontal}
    .wide #side {width: 66; height: 100%; max-height: 100%; padding: 0 0 0 2}
    #words {display: none}
    DataTable {overflow-x: hidden; scrollbar-size-vertical: 1}
    DataTable {min-height: 4; height: 1fr; width: 1fr}
    VerticalScroll {scrollbar-size: 0 0}
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("enter,e", "explain", "explain"),
        Binding("s", "sort(1)", "sort"),
        Binding("S", "sort(-1)", show=False),
        Binding("r", "reverse", show=False),
        Binding("f", "filter", "filter"),
        Binding("slash", "words", "find"),
        Binding("escape", "everything", show=False),
        Binding("t", "times", "times"),
        Binding("w", "slots", "free slots"),
        Binding("n", "seen", show=False),
        Binding("R", "refresh", show=False),
        *(Binding(str(number), f"copy({number})", show=False) for number in range(1, 4)),
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
        #: The planned state since which changes are shown.
        self.seen: Listing | None = None
        self.problem, self.signalled = "", 0
        self._stamp: tuple[int, ...] | None = None
        self._began = self._read_at = time.monotonic()
        self._planning: Worker[None] | None = None
        self._filtering = False
        #: Answers on the present state, by key.
        self.answers: dict[str, Explanation | str] = {}

    def compose(self) -> ComposeResult:
        """Build the page."""
        yield Static(id="head")
        with Container(id="body"):
            yield DataTable(cursor_type="row", zebra_stripes=False)
            yield VerticalScroll(Static(id="about"), id="side", can_focus=False)
        yield Input(placeholder="words", id="words")
        yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to watch the source; SIGTERM ends the page as q does."""
        get_running_loop().add_signal_handler(SIGTERM, self._end_by, SIGTERM)
        self.query_one(DataTable).focus()
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
    def _plan(self) -> None:
        instance, warnings = self.source.read()
        cancel = _cancelled()

        def publish(listing: Listing) -> None:
            if not cancel.is_set():
                self.post_message(Listed(listing))

        publish(listed(instance, report(warnings), self.time_limit, cancel, publish))

    @on(Listed)
    def _take(self, event: Listed) -> None:
        """Show a listing; answers on another state are dropped."""
        if self.listing is None or event.listing.instance is not self.listing.instance:
            self.answers = {}
        self.listing, self.problem = event.listing, ""
        self.show_listing()

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Take the end of a plan; after an error the listing before it remains."""
        if event.worker is not self._planning or not event.worker.is_finished:
            return
        self._planning, self._read_at = None, time.monotonic()
        if event.state is WorkerState.SUCCESS:
            self.seen = self.seen or self.listing
            self.show_listing()
        else:
            self.problem = str(event.worker.error)
            if self.listing is None:
                self.exit(return_code=2)

    def _status(self) -> str:
        ago = f"read {duration_text(int(time.monotonic() - self._read_at))} ago"
        parts = [f"stale, {ago}: {self.problem}"] if self.problem else []
        if self._planning is not None:
            what = "reading and planning" if self.listing is None else "planning"
            parts.append(f"{what} ({int(time.monotonic() - self._began)} s) …")
        if self.listing is not None and not self.problem:
            parts += [ago, self.listing.note, *(f"warning: {w}" for w in self.listing.warnings[:1])]
            parts += [
                "the limit was reached before every job was examined"
            ] * self.listing.truncated
        return "; ".join(printable(part) for part in parts if part)

    def on_resize(self) -> None:
        """Put the chosen job right of or below the table, and use the whole width."""
        self.set_class(self.size.width >= WIDE, "wide")
        self.call_after_refresh(self.show_listing)

    def show_listing(self) -> None:
        """Show the head and the rows of the listing."""
        listing, table = self.listing, self.query_one(DataTable)
        lines = list(head_lines(self.source.title, listing, self.choice))
        if self.seen is not None and listing is not None and (text := news(self.seen, listing)):
            since = day_clock_text(listing.instance, self.seen.instance.now)
            lines.append(printable(f"since {since}: {text}"))
        head = "\n".join(lines)
        self.query_one("#head", Static).update(Text(head, no_wrap=True, overflow="ellipsis"))
        if listing is None:
            return
        kept = self._job()
        jobs, names = self.choice.of(listing.jobs), titles(self.size.width)
        rows = [[printable(self._cell(item, name)) for name in names] for item in jobs]
        heads = [family_text(listing.instance, title) for title in names.values()]
        widths = [max(map(cell_len, column)) for column in zip(heads, *rows, strict=True)]
        # The last column has the rest of the width; each cell has a blank at both sides.
        widths[-1] = max(table.size.width - sum(width + 2 for width in widths[:-1]) - 3, 12)
        table.clear(columns=True)
        for title, width in zip(heads, widths, strict=True):
            table.add_column(title, width=width)
        for item, cells in zip(jobs, rows, strict=True):
            style = COLOURS[item.colour]
            table.add_row(*(Text(cell, style, overflow="ellipsis") for cell in cells), key=item.job)
        if kept is not None and kept.job in table.rows:
            table.move_cursor(row=table.get_row_index(kept.job))
        self._about()

    def _cell(self, item: ListedJob, name: str) -> str:
        """Return the text of a column; of what is not planned yet that it is being planned."""
        text = cell_of(item, name, self.choice.by_clock)
        is_open = text == "not examined" or (text == "-" and name == "possible")
        return "planning …" if is_open and self._planning is not None else text

    def _job(self) -> ListedJob | None:
        rows = [] if self.listing is None else self.choice.of(self.listing.jobs)
        for table in self.query(DataTable) if rows else ():  # none is left while the page ends
            return rows[min(table.cursor_row, len(rows) - 1)]
        return None

    @on(DataTable.RowHighlighted)
    def _about(self) -> None:
        """Show the sentences on the chosen job, and explain it if it stays the chosen one."""
        job, listing = self._job(), self.listing
        text = "No pending job matches: Esc shows all."
        if job is not None and listing is not None:
            answer = self.answers.get(job.job, "")
            commands = commands_of(listing.instance, job.job, answer)
            text = "\n".join(job_lines(listing.instance, job, answer, commands))
        self.query_one("#about", Static).update(Text(printable(text)))
        if job is not None and listing is not None and job.job not in self.answers:
            self.answers[job.job] = ""
            self._answer(job.job, partial(self._explanation, listing.instance, job.job))

    def _explanation(self, of: Instance, job: str, cancel: Flag) -> Explanation | str:
        """Return the explanation of a job that is still the chosen one after a rest."""
        time.sleep(REST)
        if cancel.is_set():
            return ""

        def show(done: Progress) -> None:
            self.post_message(Answered(of, job, f"{PLANNING}: {done}"))

        return explained(of, job, self.time_limit, cancel, show)

    @work(thread=True, exit_on_error=False, exclusive=True, group="answers")
    def _answer(self, key: str, make: Callable[[Flag], Explanation | str]) -> None:
        """Answer a question in a thread; one that is put meanwhile stops it."""
        assert self.listing is not None
        of, cancel = self.listing.instance, _cancelled()
        try:
            answer = make(cancel)
        except SlotwiseError as error:
            answer = printable(str(error))
        self.post_message(Answered(of, key, None if cancel.is_set() else answer))

    @on(Answered)
    def _show_answer(self, event: Answered) -> None:
        if self.listing is None or event.of is not self.listing.instance:
            return
        if event.answer is None:
            self.answers.pop(event.key, None)
            return
        self.answers[event.key] = event.answer
        job, screen = self._job(), self.screen
        if job is not None and job.job == event.key:
            self._about()
        if isinstance(screen, TextScreen) and screen.key == event.key:
            screen.show(self._whole(event.key))

    def _whole(self, key: str) -> str:
        """Return what the page of a job, or of free slots, says now."""
        answer = self.answers.get(key, "")
        if not isinstance(answer, str):
            assert self.listing is not None
            return explanation_output(self.listing.instance, answer, "text")
        known = [] if self.listing is None else [j for j in self.listing.jobs if j.job == key]
        lines = [printable(line) for job in known for line in job.lines]
        return "\n".join([*lines, answer or f"{PLANNING} …"])

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

    def action_seen(self) -> None:
        """Show what changes from now on."""
        self.seen = self.listing
        self.show_listing()

    def action_times(self) -> None:
        """Write times of the clock, or counted from now."""
        self._choose(by_clock=not self.choice.by_clock)

    @on(DataTable.RowSelected)
    def action_explain(self) -> None:
        """Show the whole explanation of the chosen job."""
        job = self._job()
        if job is not None:
            self.push_screen(TextScreen(job.job, self._whole(job.job)))

    def action_slots(self) -> None:
        """Show what could start now without delaying any job."""
        from ...solver.advice.slots import slots

        if self.listing is None:
            return
        of = self.listing.instance

        def text(cancel: Flag) -> str:
            found = slots(of, until=DAY, time_limit=self.time_limit, cancel=cancel)
            return slots_text(of, found, False)

        self.answers[SLOTS] = "trying what could start now …"
        self._answer(SLOTS, text)
        # The question has stopped the explanation of the chosen job.
        self.push_screen(TextScreen(SLOTS, self._whole(SLOTS)), lambda _: self._about())

    def action_copy(self, number: int) -> None:
        """Copy the command of a change that would help."""
        job, listing = self._job(), self.listing
        if job is None or listing is None:
            return
        lines = commands_of(listing.instance, job.job, self.answers.get(job.job, ""))
        line = lines[number - 1] if number <= len(lines) else ""
        if line:
            self.copy_to_clipboard(line)
        self.notify(f"copied: {line}" if line else f"{number} has no line to copy", markup=False)

    def action_help(self) -> None:
        """Show the keys and what the columns mean."""
        self.push_screen(TextScreen("", HELP))


HELP = """\
Enter, e  explain the chosen job         s, S  sort by the next column, the last
r         reverse the order              f     then u, q or s: only that user,
/         only rows with words                 queue or state; a: all
R         read and plan again            Esc   all jobs in priority order
t         times of the clock, or         w     what could start now
          counted from now               1-3   copy a line that would help
n         mark the state as seen         q     quit
                                         j, k, g, G, space: move

CONFIGURED: when the simulated scheduler starts it. COULD START: the earliest
in priority order. ?: a rule that is not modelled may change it.
STATE: "held back" could start earlier than it will, "waits" could not;
"starts if": after something without a date; "impossible": it fits nowhere on
this cluster. [███··]: slots in use now; 24h: over the next 24 hours, if every
job runs to its limit and no job is submitted.
"""
