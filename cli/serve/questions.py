"""Questions of requests: a short queue, one worker, an end to each."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, ClassVar

from ...model.errors import SlotwiseError
from ..process import BackgroundWork

#: Maximum number of questions that wait, and of those of one client.
MAX_WAITING = 16
MAX_OF_ONE = 4
#: Wall-clock seconds of one question.
TIME_LIMIT = 10.0
#: Seconds after which a question that has waited is dropped.
MAX_WAIT = 60.0


class TooManyQuestions(SlotwiseError):
    """The queue is full. of_one: it is full for this client alone."""

    def __init__(self, text: str, *, of_one: bool) -> None:
        super().__init__(text)
        self.of_one = of_one


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that waits for the worker."""

    call: Callable[[threading.Event], Any]
    client: str
    future: Future[Any]
    #: Monotonic second at which it came.
    since: float


@dataclass(slots=True)
class QuestionQueue(BackgroundWork):
    """Answers questions in the order in which they came, in a thread of its own."""

    PATIENCE: ClassVar[float] = 2.0
    max_waiting: int = MAX_WAITING
    #: Questions answered, and refused.
    answered: int = 0
    refused: int = 0
    _queue: SimpleQueue[WaitingCall | None] = field(default_factory=SimpleQueue)
    _clients: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def _wake(self) -> None:
        self._queue.put(None)

    @property
    def waiting(self) -> int:
        """Return the number of questions that wait or are being answered."""
        return self._clients.total()

    def ask(self, call: Callable[[threading.Event], Any], client: str) -> Future[Any]:
        """Queue a call, which gets the event that stops it; raise TooManyQuestions if it is full.

        client: name or address of the one who asks.
        """
        with self._lock:
            if self._clients[client] >= MAX_OF_ONE:
                self.refused += 1
                raise TooManyQuestions(
                    f"{MAX_OF_ONE} of your questions are already waiting: try again later",
                    of_one=True,
                )
            if self.waiting >= self.max_waiting:
                self.refused += 1
                raise TooManyQuestions(
                    f"{self.waiting} questions are already waiting: try again later", of_one=False
                )
            self._clients[client] += 1
        question = WaitingCall(call, client, Future(), time.monotonic())
        self._queue.put(question)
        return question.future

    def _run(self) -> None:
        while not self.stopping.is_set():
            question = self._queue.get()
            if question is not None:
                self._answer(question)

    def _answer(self, question: WaitingCall) -> None:
        future = question.future
        found, error = None, None
        if future.set_running_or_notify_cancel():
            try:
                if time.monotonic() - question.since > MAX_WAIT:
                    text = "the question waited too long: try again later"
                    raise TooManyQuestions(text, of_one=False)
                found = question.call(self.stopping)
            except Exception as failure:
                error = failure
        with self._lock:
            self.answered += 1
            self._clients[question.client] -= 1
            self._clients += Counter()  # drops clients without a question
        if error is not None:
            future.set_exception(error)
        elif not future.cancelled():
            future.set_result(found)
