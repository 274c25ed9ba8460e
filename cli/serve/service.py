"""The parts of the service together: poller, planner, board, questions, and what they count."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ...model.display import DAY
from ...model.errors import InputError
from ...model.input_limits import STRICT, limited
from ..watched import explained
from .access import Access, Viewer
from .board import Board, BoardState
from .planning import PlannerThread
from .poller import Poller
from .questions import TIME_LIMIT, QuestionQueue

if TYPE_CHECKING:
    from ...model.instance import Instance
    from .keeping import StoreKeeper

#: Answers that are kept for further requests.
MAX_KEPT = 200
#: Characters of the bsub line, and of the job script, of a question.
MAX_LINE, MAX_SCRIPT = 4_096, 65_536


@dataclass(slots=True)
class RequestCounters:
    """Counters of requests for metrics."""

    #: Requests by status code.
    by_status: dict[int, int] = field(default_factory=dict)
    #: Wall seconds of all requests together.
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
        self.poller.start()

    def stop(self) -> None:
        """Stop the threads; the poll and the plan in flight are lost."""
        self.poller.stopping.set()
        self.questions.stopping.set()
        self.planner.stop()
        self.questions.stop()
        self.poller.stop()
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
        """Find when a job would start; raise TooManyQuestions if too many wait."""
        user = viewer.user or asked.user
        return self.questions.ask(lambda cancel: ask_record(instance, asked, user, cancel), client)


@dataclass(frozen=True, slots=True)
class AskedJob:
    """The body of a question: a bsub or sbatch line, or the text of a job script."""

    #: A bsub line, with or without the word bsub; "" with a script alone.
    line: str = ""
    #: Text of the job script that it reads.
    script: str | None = None
    #: User who would submit it; if a proxy names the user, that one counts.
    user: str = "user"
    #: Whether other requests are tried that start earlier.
    explore: bool = False

    @classmethod
    def of(cls, record: object) -> AskedJob:
        """Return the question of a JSON body; raise InputError with everything that is wrong."""
        if not isinstance(record, dict):
            raise InputError('the body must be an object such as {"line": "bsub -n 8"}')
        kinds = {"line": str, "script": (str, type(None)), "user": str, "explore": bool}
        wrong = [f"unknown key {key!r}: use {', '.join(kinds)}" for key in record.keys() - kinds]
        wrong += [
            f"{key}: {type(record[key]).__name__} is not accepted"
            for key, kind in kinds.items()
            if key in record and not isinstance(record[key], kind)  # type: ignore[arg-type]
        ]
        if wrong:
            raise InputError("; ".join(map(str, wrong)))
        found = cls(**record)
        if not found.line.strip() and not (found.script or "").strip():
            raise InputError("give a bsub line or a job script")
        if len(found.line) > MAX_LINE:
            raise InputError(f"line: {len(found.line)} characters, at most {MAX_LINE} are accepted")
        if len(found.script or "") > MAX_SCRIPT:
            raise InputError(f"script: more than {MAX_SCRIPT} characters")
        if not 0 < len(found.user) <= 64:
            raise InputError("user: a name of 1 to 64 characters is accepted")
        return found


def ask_record(
    instance: Instance, asked: AskedJob, user: str, cancel: threading.Event
) -> dict[str, Any]:
    """Return when a job would start, as data and as the sentences of `slotwise ask`."""
    from ...solver.advice.ask import ask
    from ..outlook_text import answer_sentences

    with limited(STRICT):
        found = ask(
            instance,
            asked.line.strip(),
            script=asked.script,
            script_name="the script" if asked.script else "",
            explore=asked.explore,
            user=user,
            time_limit=TIME_LIMIT,
            cancel=cancel,
        )
    return {"answer": found.to_dict(), "lines": answer_sentences(instance, found)}


def slots_record(
    instance: Instance, queue: str, user: str, cancel: threading.Event
) -> dict[str, Any]:
    """Return what could start now without delaying any job."""
    from ...solver.advice.slots import slots

    options: dict[str, Any] = {"queue": queue, "user": user, "until": DAY}
    return slots(instance, time_limit=TIME_LIMIT, cancel=cancel, **options).to_dict()


def explanation_record(instance: Instance, job: str, cancel: threading.Event) -> dict[str, Any]:
    """Return why a job waits and what would help, with a line to paste for each suggestion."""
    from ..brief import command_of

    found = explained(instance, job, TIME_LIMIT, cancel)
    commands = [command_of(instance, job, item.change) for item in found.suggestions]
    return {"explanation": found.to_dict(), "commands": commands}
