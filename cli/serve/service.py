"""The parts of the service together: poller, planner, board, questions, and what they count."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import Any, ClassVar

from ...model.display import DAY, WrittenTimes, iso_time
from ...model.errors import InputError, SlotwiseError, UnknownNameError
from ...model.formats.submit import UNNAMED
from ...model.input_limits import STRICT, limited
from ...model.instance import Instance
from ...model.job import Job
from ...model.omissions import sentences
from ..outlook_text import explained
from ..process import BackgroundWork
from .access import Access, Viewer
from .board import Board, BoardState
from .notices import Notifier
from .planning import PlannerThread, Poller
from .score import StoreKeeper

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


#: Answers that are kept for further requests.
MAX_KEPT = 200
#: Characters of the bsub line, and of the job script, of a question.
MAX_LINE, MAX_SCRIPT = 4_096, 65_536
#: Largest number of slots, and of seconds, that a question may ask for.
MAX_NUMBER = 10**9


@dataclass(slots=True)
class RequestCounters:
    """Counters of requests for metrics."""

    #: Requests by status code.
    by_status: dict[int, int] = field(default_factory=dict)
    #: Wall-clock seconds of all requests together.
    seconds: float = 0.0
    #: Open streams of events.
    streams: int = 0


@dataclass(slots=True)
class Service:
    """The running service. Requests read `board.state` and put questions."""

    title: str
    board: Board
    planner: PlannerThread
    poller: Poller
    access: Access
    questions: QuestionQueue = field(default_factory=QuestionQueue)
    #: Keeps and reads estimates, None without a store.
    store: StoreKeeper | None = None
    #: Delivers moved starts, None without a receiver.
    notifier: Notifier | None = None
    requests: RequestCounters = field(default_factory=RequestCounters)
    #: Seconds since 1970.
    clock: Callable[[], float] = time.time
    _answered: OrderedDict[tuple[Any, ...], Any] = field(default_factory=OrderedDict)

    @property
    def every(self) -> float:
        """Return the seconds between two polls."""
        return self.poller.breaker.every

    def start(self) -> None:
        """Start the threads."""
        self.planner.start()
        self.questions.start()
        if self.notifier is not None:
            self.notifier.start()
        self.poller.start()

    def stop(self) -> None:
        """Stop the threads; the poll and the plan in flight are lost."""
        self.poller.stopping.set()
        self.questions.stopping.set()
        self.planner.stop()
        self.questions.stop()
        self.poller.stop()
        if self.notifier is not None:
            self.notifier.stop()
        if self.store is not None:
            self.store.close()

    def is_stale(self, state: BoardState) -> bool:
        """Whether the times of a state are stale now."""
        return state.is_stale(self.clock(), self.every)

    def explain(self, instance: Instance, number: int, job: str, client: str) -> Future[Any]:
        """Explain a pending job of a state; raise TooManyQuestions if too many wait.

        number: of the poll that read the instance.
        """
        made = partial(explanation_record, instance, job)
        return self._kept((number, "explain", job), made, client)

    def slots(
        self, instance: Instance, number: int, queue: str, user: str, client: str
    ) -> Future[Any]:
        """Find what could start now; options as of explain."""
        made = partial(slots_record, instance, queue, user)
        return self._kept((number, "slots", queue, user), made, client)

    def _kept(
        self, key: tuple[Any, ...], make: Callable[[threading.Event], Any], client: str
    ) -> Future[Any]:
        """Return an answer by its key, known or to be made."""
        if key in self._answered:
            done: Future[Any] = Future()
            done.set_result(self._answered[key])
            return done

        def call(cancel: threading.Event) -> Any:
            found = make(cancel)
            if not cancel.is_set():
                self._answered[key] = found
                while len(self._answered) > MAX_KEPT:
                    self._answered.popitem(last=False)
            return found

        return self.questions.ask(call, client)

    def ask(self, instance: Instance, asked: AskedJob, viewer: Viewer, client: str) -> Future[Any]:
        """Find when a job would start; raise TooManyQuestions if too many wait.

        Raises UnknownNameError for a change of a job that is not pending, or not seen.
        """
        user = viewer.user or asked.user
        if asked.job:
            seen = {job.id: job for job in instance.pending if viewer.sees(job.user)}
            if asked.job not in seen:
                raise UnknownNameError("this job is not pending: give a pending job")
            job = seen[asked.job]
            return self.questions.ask(partial(changed_record, instance, job, asked), client)
        return self.questions.ask(lambda cancel: ask_record(instance, asked, user, cancel), client)


@dataclass(frozen=True, slots=True)
class AskedJob:
    """The body of a question: a bsub or sbatch line, the text of a job script, or a pending job
    with another number of slots or another run limit.
    """

    #: A bsub line, with or without the word bsub; "" with a script alone.
    line: str = ""
    #: Text of the job script that it reads.
    script: str | None = None
    #: User who would submit it; if a proxy names the user, that one counts.
    user: str = UNNAMED
    #: Queue of a line or script that names none; "": the default queue.
    queue: str = ""
    #: Whether other requests are tried that start earlier.
    explore: bool = False
    #: Id of a pending job, and what it would ask for, None: as it does; the limit in seconds.
    job: str = ""
    slots: int | None = None
    run_limit: int | None = None

    @classmethod
    def of(cls, record: object) -> AskedJob:
        """Return the question of a JSON body; raise InputError with everything that is wrong."""
        if not isinstance(record, dict):
            raise InputError('the body must be an object such as {"line": "bsub -n 8"}')
        text, number = (str,), (int, type(None))
        kinds: dict[str, tuple[type, ...]] = {"job": text, "slots": number, "run_limit": number}
        kinds |= {"line": text, "script": (str, type(None)), "user": text, "queue": text}
        kinds["explore"] = (bool,)
        wrong = [f"unknown key {key!r}: use {', '.join(kinds)}" for key in record.keys() - kinds]
        wrong += [
            f"{key}: {type(record[key]).__name__} is not accepted"
            for key, kind in kinds.items()
            if key in record and type(record[key]) not in kind
        ]
        if wrong:
            raise InputError("; ".join(map(str, wrong)))
        found = cls(**record)
        has_line = bool(found.line.strip() or (found.script or "").strip())
        numbers = [item for item in (found.slots, found.run_limit) if item is not None]
        if has_line == bool(found.job):
            raise InputError("give a job, or else a line, a script or both")
        if bool(numbers) != bool(found.job) or any(not 0 < n <= MAX_NUMBER for n in numbers):
            raise InputError(f"slots and run_limit must be 1 to {MAX_NUMBER}, and need a job")
        if len(found.line) > MAX_LINE:
            raise InputError(f"line must have at most {MAX_LINE} characters, not {len(found.line)}")
        if (size := len(found.script or "")) > MAX_SCRIPT:
            raise InputError(f"script must have at most {MAX_SCRIPT} characters, not {size}")
        if not 0 < len(found.user) <= 64:
            raise InputError(f"user must have 1 to 64 characters, not {len(found.user)}")
        return found


def ask_record(
    instance: Instance, asked: AskedJob, user: str, cancel: threading.Event
) -> dict[str, Any]:
    """Return when a job would start, as data and as the sentences of `slotwise ask`."""
    from ...solver.advice.ask import ask
    from ..outlook_text import answer_sentences

    queue = asked.queue and instance.queue(asked.queue).name
    params = replace(instance.params, default_queue=queue or instance.params.default_queue)
    with limited(STRICT):
        found = ask(
            replace(instance, params=params),
            asked.line.strip(),
            script=asked.script,
            script_name="the script" if asked.script else "",
            explore=asked.explore,
            user=user,
            time_limit=TIME_LIMIT,
            cancel=cancel,
        )
    return {"answer": found.to_dict(), "lines": answer_sentences(instance, found)}


def changed_record(
    instance: Instance, job: Job, asked: AskedJob, cancel: threading.Event
) -> dict[str, Any]:
    """Return when a pending job would start with a change of its request, and its commands."""
    from ...solver.advice.suggestions import limit_text, refusal, with_limit, with_slots
    from ...solver.advice.what_if import WhatIfPlanner
    from ..outlook_text import command_of, placed_text

    edited, changes = job, []
    if asked.slots is not None:
        edited = with_slots(edited, asked.slots)
        changes.append(f"with -n {asked.slots}")
    if asked.run_limit is not None:
        edited = with_limit(edited, asked.run_limit)
        changes.append(f"with -W {limit_text(asked.run_limit)}")
    if refused := refusal(instance, edited, job):
        raise InputError(refused)
    asker = WhatIfPlanner(instance, time_limit=TIME_LIMIT, cancel=cancel)
    found = asker.answer_with_omissions(edited)
    clock = WrittenTimes.of(instance, [found.start, found.finish])
    answer = {
        "start": found.start,
        "start_time": iso_time(instance.origin, found.start),
        "on": dict(found.allocation),
        "waits_for": found.waits_for,
        "commands": [command_of(instance, job.id, change) for change in changes],
    }
    text = placed_text(clock, f"job {job.id}", found, asker.method)
    return {"answer": answer, "lines": [text, *sentences(found.omissions, of_one=True)]}


def slots_record(
    instance: Instance, queue: str, user: str, cancel: threading.Event
) -> dict[str, Any]:
    """Return what could start now without delaying any job."""
    from ...solver.advice.slots import slots

    options: dict[str, Any] = {"queue": queue, "user": user, "until": DAY}
    return slots(instance, time_limit=TIME_LIMIT, cancel=cancel, **options).to_dict()


def explanation_record(instance: Instance, job: str, cancel: threading.Event) -> dict[str, Any]:
    """Return why a job waits and what would help, with a line to paste for each suggestion."""
    from ..outlook_text import command_of

    found = explained(instance, job, TIME_LIMIT, cancel)
    commands = [command_of(instance, job, item.change) for item in found.suggestions]
    return {"explanation": found.to_dict(), "commands": commands}
