"""``slotwise serve --notify``: moved starts as lines of JSON for a command or a URL of the site."""

from __future__ import annotations

import os
import shlex
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPException
from subprocess import TimeoutExpired
from typing import TypeAlias
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ...model.errors import InputError, Problem
from ...solver.processes import TooMuchOutput, path_of, run_program
from ..process import BackgroundWork
from .answers import dumped, moved_record
from .board import BoardState

#: Maximum number of lines that wait, and of those delivered together.
MAX_WAITING, MAX_TOGETHER = 10_000, 1_000
#: Wall-clock seconds of an attempt, and the waits before further attempts.
SECONDS, WAITS = 30.0, (2.0, 20.0)
#: Bytes that a command may print; they are dropped.
MAX_PRINTED = 1 << 20

#: Delivers lines; raises Undelivered.
Deliver: TypeAlias = Callable[[bytes], None]


class Undelivered(Exception):
    """Lines were not accepted; its text has no part of the command or URL."""


class _NoRedirects(HTTPRedirectHandler):
    """Reports a redirect as an error: lines go to the named URL alone."""

    def redirect_request(self, *_: object) -> None:
        return None


def delivery_to(target: str) -> Deliver:
    """Return the delivery to a command or URL; raise InputError if it is neither."""

    def wrong(text: str) -> InputError:
        return InputError([Problem(text, "--notify")])

    if "://" in target.partition(" ")[0]:
        try:
            url = urlsplit(target)
            is_url = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            is_url = False
        if not is_url or not target.isascii() or not target.isprintable() or " " in target:
            raise wrong("is not a URL: https://HOST/PATH or http://HOST/PATH is accepted")
        if url.username is not None:
            raise wrong("a user or password in the URL is not accepted")
        return partial(_post, target)
    try:
        words = shlex.split(target)
    except ValueError as error:
        raise wrong(f"is not a command: {str(error).lower()}") from None
    path = path_of(words[0]) if words else None
    if path is None:
        raise wrong(f"program not found: {words[0]!r}" if words else "is not a command or URL")
    return partial(_run, path, words[1:])


def _run(path: str, words: Sequence[str], lines: bytes) -> None:
    """Give lines to a command on its standard input."""
    environment = dict(os.environ)
    try:
        done = run_program(
            path, words, timeout=SECONDS, environment=environment, most=MAX_PRINTED, given=lines
        )
    except TimeoutExpired:
        raise Undelivered(f"the command did not end within {SECONDS:g} s") from None
    except TooMuchOutput:
        raise Undelivered(f"the command printed more than {MAX_PRINTED} bytes") from None
    except OSError as error:
        raise Undelivered(f"the command did not start: {error.strerror}") from None
    if done.code:
        raise Undelivered(f"the command exited with status {done.code}")


def _post(url: str, lines: bytes) -> None:
    """Send lines to a URL; only a status from 200 to 299 is success."""
    headers = {"content-type": "application/x-ndjson", "user-agent": "slotwise"}
    try:
        request = Request(url, data=lines, headers=headers)
        build_opener(_NoRedirects).open(request, timeout=SECONDS).close()
    except HTTPError as error:
        raise Undelivered(f"the server answered with status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        text = getattr(cause, "strerror", None) or type(cause).__name__
        raise Undelivered(f"the server cannot be reached: {text}") from None


@dataclass(slots=True)
class Notifier(BackgroundWork):
    """A listener of the board that delivers each move of a start once, in a thread of its own."""

    deliver: Deliver
    #: Prints one line.
    tell: Callable[[str], None]
    #: Lines delivered, and lost.
    sent: int = 0
    lost: int = 0
    _lines: deque[bytes] = field(default_factory=deque)
    _news: threading.Event = field(default_factory=threading.Event)
    #: Number of the last planned state.
    _number: int = 0
    _is_failing: bool = False

    def __call__(self, state: BoardState) -> None:
        """Queue the moves of a state that was planned as a whole."""
        planned = state.planned
        if planned is None or planned.number == self._number:
            return
        rows = {row.job.id: row.planned for row in state.rows if row.planned}
        for row in rows.values():
            change = row.change
            is_examined = row.number == planned.number
            if is_examined and change is not None and change.is_move and change.at == row.at:
                record = moved_record(row, row.start, change, planned.instance)
                self._lines.append(dumped(record) + b"\n")
        self._number = planned.number
        while len(self._lines) > MAX_WAITING:
            self._lines.popleft()
            self._lose(1, f"more than {MAX_WAITING} were queued")
        if self._lines:
            self._news.set()

    def _wake(self) -> None:
        self._news.set()

    def _run(self) -> None:
        while not self.stopping.is_set():
            self._news.wait()
            self._news.clear()
            while self._lines and not self.stopping.is_set():
                count = min(len(self._lines), MAX_TOGETHER)
                self.deliver_together([self._lines.popleft() for _ in range(count)])

    def deliver_together(self, lines: Sequence[bytes]) -> None:
        """Deliver lines; after the last attempt they are lost."""
        for wait in (*WAITS, None):
            try:
                self.deliver(b"".join(lines))
            except Undelivered as error:
                if wait is None or self.stopping.wait(wait):
                    self._lose(len(lines), str(error))
                    return
            else:
                self.sent += len(lines)
                if self._is_failing:
                    self.tell("--notify: moved starts are delivered again")
                self._is_failing = False
                return

    def _lose(self, count: int, cause: str) -> None:
        """Count lost lines; the first of several losses in a row is printed."""
        self.lost += count
        if not self._is_failing:
            self.tell(f"--notify: notifications of moved starts were dropped: {cause}")
        self._is_failing = True
