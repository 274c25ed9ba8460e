"""The page while it is in front: keys, what changes in the file, and plans that come in."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...model.display import duration_text
from ...model.errors import SlotwiseError
from ..listing import Listing
from ..watched import WatchedSource, explained
from .screen import TopPage, page_size, screen_lines
from .terminal import LiveTerminal
from .view import TopView
from .work import Background, Task, listed

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...solver.advice.explain import Explanation

#: Seconds between two checks of the file and of the terminal's size.
TICK = 0.25


@dataclass(frozen=True, slots=True)
class TopOptions:
    """Options of the live page."""

    #: Seconds after which the state is read again though the file is the same; None: never.
    every: float | None
    #: Wall seconds of each plan and of each explanation.
    time_limit: float


@dataclass(slots=True)
class _Requested:
    """A requested explanation."""

    instance: Instance
    job: str
    task: Task[Explanation]


@dataclass(slots=True)
class LivePage:
    """The state of a page that is in front."""

    source: WatchedSource
    options: TopOptions
    terminal: LiveTerminal
    background: Background
    view: TopView
    #: Seconds that only go forward.
    clock: Callable[[], float] = time.monotonic
    _listing: Listing | None = None
    #: Errors of the last read of the state.
    _problem: str = ""
    _planning: Task[Listing] | None = None
    #: State of the file at the last plan; below, the begin and the end of that plan.
    _stamp: tuple[int, ...] | None = None
    _began: float = 0.0
    _read_at: float = 0.0
    _asked: _Requested | None = None
    #: The lines of the explanation at a width.
    _text: tuple[int, list[str]] = field(default=(0, []))

    def run(self) -> None:
        """Show the page until a key ends it; raise InputError if the first state is unreadable."""
        while True:
            self._collect()
            self._plan_if_due()
            width, height = self.terminal.size
            page = self._page(width)
            self.terminal.show(screen_lines(page, width, height))
            for key in self.terminal.keys(TICK):
                if not self._press(key, self._page(width), width, height):
                    return

    def _collect(self) -> None:
        """Show the listing that the background thread has computed, or keep its error.

        Does nothing before it is done. The error is raised if there is no earlier listing.
        """
        if self._planning is None or not self._planning.future.done():
            return
        done, self._planning = self._planning.future, None
        self._read_at = self.clock()
        try:
            self._listing, self._problem = done.result(), ""
        except (SlotwiseError, OSError) as error:
            if self._listing is None:
                raise
            self._problem = str(error)

    def _plan_if_due(self) -> None:
        if self._planning is not None:
            return
        stamp = self.source.stamp()
        every = self.options.every
        late = every is not None and self.clock() - self._read_at >= every
        if stamp != self._stamp or late:
            self._stamp, self._began = stamp, self.clock()
            limit = self.options.time_limit
            self._planning = self.background.begin(
                lambda cancel: listed(self.source, lambda: limit, cancel)
            )

    def _press(self, key: str, page: TopPage, width: int, height: int) -> bool:
        """Handle a key; return False if the page ends."""
        jobs = () if self._listing is None else self._listing.jobs
        seen = page_size(page, width, height)
        self.view, action = self.view.pressed(key, jobs, seen, len(page.text))
        if action == "quit":
            return False
        if action == "refresh":
            self._stamp = None
        elif action == "repaint":
            self.terminal.show(screen_lines(page, width, height), force=True)
        elif action == "explain" and self._listing is not None:
            self._explain(self._listing.instance, self.view.job)
        return True

    def _explain(self, instance: Instance, job: str) -> None:
        known = self._asked
        if known is not None and known.instance is instance and known.job == job:
            return
        if known is not None:
            known.task.cancel.set()
        limit = self.options.time_limit
        task = self.background.begin(lambda cancel: explained(instance, job, limit, cancel))
        self._asked, self._text = _Requested(instance, job, task), (0, [])

    def _page(self, width: int) -> TopPage:
        text: list[str] = []
        if self.view.mode == "explain" and self._asked is not None:
            text = self._explanation(self._asked, width)
        return TopPage(
            self.source.title, self.view, self._listing, self._status(), bool(self._problem), text
        )

    def _explanation(self, asked: _Requested, width: int) -> list[str]:
        """Return the lines of the explanation, wrapped again if the terminal width has changed."""
        from ..explain import explanation_output

        if not asked.task.future.done():
            return [f"job {asked.job}: planning what would start it earlier …"]
        if self._text[0] != width:
            try:
                found = asked.task.future.result()
                lines = explanation_output(asked.instance, found, "text").splitlines()
            except SlotwiseError as error:
                lines = str(error).splitlines()
            self._text = (width, lines)
        listing = self._listing
        if listing is not None and listing.instance is not asked.instance:
            return ["(of an earlier state: q and Enter explain the job again)", *self._text[1]]
        return self._text[1]

    def _status(self) -> str:
        now = self.clock()
        parts = []
        if self._problem:
            parts.append(f"stale, {self._ago(now)}: {' / '.join(self._problem.splitlines())}")
        if self._planning is not None:
            what = "planning again" if self._listing is not None else "reading and planning"
            parts.append(f"{what} ({int(now - self._began)} s) …")
        elif not self._problem:
            parts.append(self._ago(now))
        if self._listing is not None and not self._problem:
            parts += ["the limit came before every job was examined"] * self._listing.truncated
            parts += _warning(self._listing.warnings)
            parts += [self._listing.note] if self._listing.note else []
        return "; ".join(parts)

    def _ago(self, now: float) -> str:
        return f"read {duration_text(int(now - self._read_at))} ago"


def _warning(lines: Sequence[str]) -> list[str]:
    """Return the first warning, and the number of warnings."""
    more = f" (1 of {len(lines)}: slotwise check lists them)" if len(lines) > 1 else ""
    return [f"warning: {line}{more}" for line in lines[:1]]


def live(source: WatchedSource, options: TopOptions, view: TopView) -> None:
    """Show the page until a key ends it. Raises InputError if the state cannot be read."""
    terminal = LiveTerminal()
    with Background(terminal.wake) as background, terminal:
        try:
            LivePage(source, options, terminal, background, view).run()
        except (KeyboardInterrupt, EOFError):  # Ctrl-C ends it as q does; so does a lost terminal
            return
