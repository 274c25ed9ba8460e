"""State of the board: rows of pending jobs, the plan behind them, and differences of two polls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...model.display import duration_text
from ...model.duration import expected_duration, two_cycles
from ..listing import ListedJob, Listing
from .polls import Polled, shifted

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.job import Job
    from ...solver.advice.likely import StartQuantiles
    from ...solver.outlook.outlook import JobOutlook as PredictedStart
    from ...solver.outlook.outlook import Outlook as PredictedJobs

#: Kind of a change of a row: earlier, later, a new job, or a start that is known or lost now.
ChangeKind: TypeAlias = Literal["earlier", "later", "new", "other"]
#: Maximum number of job events that the sentence about one changed start names.
MAX_NAMED = 2


@dataclass(frozen=True, slots=True)
class RowChange:
    """The last change of a pending job between two polls."""

    kind: ChangeKind
    #: Seconds by which the start moved, 0 if it is not a move.
    by: int
    #: What happened between the polls that may be the reason, "" if nothing is known.
    because: str
    #: Time of the state with the change, in seconds of the service's clock.
    at: int
    #: Jobs that the reason names.
    named: tuple[str, ...] = ()
    #: The start before, as it was reported last; None if there was none.
    before: int | None = None

    @property
    def is_move(self) -> bool:
        """Whether it is reported."""
        return self.kind != "new"

    @property
    def text(self) -> str:
        """Return ``2h 18m earlier, after job 10528 finished``."""
        if self.kind == "new":
            return "new"
        what = f"{duration_text(self.by)} {self.kind}" if self.by else "changed"
        return f"{what}, after {self.because}" if self.because else what


@dataclass(frozen=True, slots=True)
class PollEvents:
    """Events between two polls, each with the jobs by id; hosts of jobs where they ran or run."""

    came: frozenset[str] = frozenset()
    #: Pending jobs that run now, with their hosts.
    started: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Running jobs that have gone, with their hosts.
    finished: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: Pending jobs that have gone without a known start.
    left: frozenset[str] = frozenset()
    #: Running jobs with another run limit or another size, with their hosts.
    altered: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def between(cls, before: Instance, after: Instance) -> PollEvents:
        """Return the events between two states of one cluster."""
        ran = {run.job.id: run for run in before.running}
        runs = {run.job.id: run for run in after.running}
        waited = {job.id for job in before.pending}
        waits = {job.id for job in after.pending}
        hosts = {name: frozenset(run.allocation) for name, run in (ran | runs).items()}
        return cls(
            frozenset(waits - waited - ran.keys()),
            {name: hosts[name] for name in runs.keys() - ran.keys()},
            {name: hosts[name] for name in ran.keys() - runs.keys()},
            frozenset(waited - waits - runs.keys()),
            {
                name: hosts[name]
                for name in ran.keys() & runs.keys()
                if expected_duration(before, ran[name].job)
                != expected_duration(after, runs[name].job)
                or ran[name].allocation != runs[name].allocation
            },
        )


@dataclass(frozen=True, slots=True)
class KnownStart:
    """The start of a job as configured in one state; times in seconds of the service's clock."""

    #: Time of the state.
    at: int
    #: The start, None if there is none.
    start: int | None

    def move_to(self, now: KnownStart, min_gain: int) -> int:
        """Return the seconds by which the start is later in another state, negative: earlier.

        A difference below `min_gain` is 0, and so is that of a job that is due in both states.
        """
        if self.start is None or now.start is None:
            return 0
        is_due = self.start == self.at and now.start == now.at
        moved = now.start - self.start
        return 0 if is_due or abs(moved) < min_gain else moved


def change_of(
    reported: KnownStart | None, row: PlannedRow, min_gain: int, events: PollEvents, ahead: set[str]
) -> RowChange | None:
    """Return the change of a job's start as configured; None if it has not changed.

    reported: as it was reported last, None: it is new. ahead: new jobs that go before it.
    """
    if reported is None:
        return RowChange("new", 0, "", row.at)
    now = KnownStart(row.at, row.start)
    moved = reported.move_to(now, min_gain)
    kind: ChangeKind = "later" if moved > 0 else "earlier" if moved else "other"
    if not moved and (reported.start is None) == (now.start is None):
        return None
    earlier = moved < 0 or reported.start is None
    where = row.predicted.as_configured_on.keys()
    because, named = _reason(where, events, ahead, earlier=earlier)
    return RowChange(kind, abs(moved), because, row.at, named, reported.start)


#: Events as words, "" if there are none, and the jobs that they name.
_Reason: TypeAlias = tuple[str, tuple[str, ...]]


def _reason(
    where: Collection[str], events: PollEvents, ahead: set[str], *, earlier: bool
) -> _Reason:
    """Return the events that may have moved a start, the likeliest first.

    where: hosts of the start. Events there come first, then those anywhere.
    """
    releasing = (("finished", events.finished), ("changed", events.altered))
    taking = (("started", events.started), ("changed", events.altered))
    for what, found in releasing if earlier else taking:
        near = [job for job, hosts in found.items() if hosts.intersection(where)]
        if near:
            return _named(near, what)
    if earlier and events.left:
        return _named(events.left, "left the queue")
    if not earlier and ahead:
        return _named(ahead, "was submitted")
    for what, found in releasing if earlier else taking:
        if found:
            return _named(found, what)
    return "", ()


def _named(jobs: Iterable[str], what: str) -> _Reason:
    names = sorted(jobs)
    if len(names) == 1:
        return f"job {names[0]} {what}", (names[0],)
    more, first = len(names) - MAX_NAMED, tuple(names[:MAX_NAMED])
    shown = " and ".join(first) if more <= 0 else ", ".join(first)
    rest = f" and {more} more" if more > 0 else ""
    return f"jobs {shown}{rest} {what.replace('was ', 'were ')}", first


#: Names of the predicted starts of a job.
STARTS = ("as_configured", "estimate", "possible")
#: Intervals without a successful poll after which times are stale.
STALE_AFTER = 3


#: Moves of a job's starts that are kept without a store, and jobs that wait no longer.
MAX_MOVES, MAX_LEFT = 100, 500


@dataclass(frozen=True, slots=True)
class StartMove:
    """The starts predicted for a job by one state; times in seconds of the service's clock."""

    #: Time of the state.
    at: int
    as_configured: int | None
    possible: int | None
    #: Median of the forecast.
    likely: int | None = None
    #: Change of the start as configured since it was reported last, None if it did not move.
    change: RowChange | None = None

    def differs(self, other: StartMove) -> bool:
        """Whether a start differs from that of another state."""
        mine = self.as_configured, self.possible, self.likely
        return mine != (other.as_configured, other.possible, other.likely)


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """The starts predicted for a pending job from the state of one poll."""

    listed: ListedJob
    predicted: PredictedStart
    #: Number of the poll.
    number: int
    #: Time of the state; this and all other times are seconds of the service's clock: since 1970,
    #: or of the instance if its time is abstract.
    at: int
    #: Second 0 of the instance on the service's clock, and as an ISO stamp if it has a date.
    zero: int
    origin: str | None
    #: Number of the poll from which the possible start is.
    possible_of: int
    #: Forecast start, None without a history.
    likely: StartQuantiles | None = None
    #: Last change of the start.
    change: RowChange | None = None
    #: Changes of the job's starts over the polls, the latest last.
    moves: tuple[StartMove, ...] = ()

    @property
    def start(self) -> int | None:
        """Return the start as configured, in seconds of the service's clock."""
        return self.of(self.predicted.as_configured)

    @property
    def reported(self) -> KnownStart:
        """Return the start as configured as it was reported last."""
        move = next((item for item in reversed(self.moves) if item.change), self.moves[0])
        return KnownStart(move.at, move.as_configured)

    def of(self, time: int | None) -> int | None:
        """Return a time of the instance in seconds of the service's clock."""
        return None if time is None else time + self.zero


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A pending job of the newest poll."""

    job: Job
    #: Its predicted starts, None before the first plan with this job.
    planned: PlannedRow | None
    #: Whether the starts are those of an earlier poll.
    of_earlier_state: bool = False
    #: Number of the newest poll.
    newest: int = 0


@dataclass(frozen=True, slots=True)
class BoardState:
    """What the service knows at one instant; every answer is made from one such state."""

    #: Number of the state; a new one has a larger number.
    version: int = 0
    #: The newest poll that succeeded, None before the first.
    polled: Polled | None = None
    #: Rows in priority order.
    rows: tuple[BoardRow, ...] = ()
    #: The last answer with a plan of possible starts, and its poll.
    predicted: PredictedJobs | None = None
    predicted_of: Polled | None = None
    #: The last poll that has been planned, and its answer, which may lack possible starts.
    planned: Polled | None = None
    latest: PredictedJobs | None = None
    #: Whether a newer state is being planned.
    planning: bool = False
    #: Message of the last poll if it failed, "" if it succeeded.
    problem: str = ""
    #: Failed polls in a row.
    failures: int = 0
    #: Message of the last plan if it failed, "" if it succeeded.
    unplanned: str = ""
    #: Why there is no forecast though there is a log, "" if there is one.
    not_forecast: str = ""
    #: The last starts of the jobs that wait no longer, the latest of these jobs last.
    left: Mapping[str, PlannedRow] = field(default_factory=dict)
    #: Serialised answers by name; filled on demand, dropped with the state.
    answers: dict[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    def is_stale(self, now: float, every: float) -> bool:
        """Whether no poll has succeeded for some intervals; now: seconds since 1970."""
        if self.polled is None:
            return True
        return bool(self.problem) or now - self.polled.read_at > STALE_AFTER * every + 1.0

    def row(self, job: str) -> BoardRow | None:
        """Return the row of a pending job, None if it is not pending."""
        return next((row for row in self.rows if row.job.id == job), None)


class Board:
    """The current state; threads replace it, requests only read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state = BoardState()
        #: Rows by job: of the newest answer, completed by those of earlier ones.
        self._rows: Mapping[str, PlannedRow] = {}
        #: Rows of the last whole plan, by job.
        self._whole: Mapping[str, PlannedRow] = {}
        self._listeners: list[Callable[[BoardState], None]] = []

    @property
    def state(self) -> BoardState:
        """Return the current state."""
        return self._state

    def listen(self, listener: Callable[[BoardState], None]) -> None:
        """Call a function with every new state, in the thread that made it."""
        self._listeners.append(listener)

    def polled(self, polled: Polled, *, same: bool) -> None:
        """Take a successful poll. same: its state has been planned already."""
        with self._lock:
            found = replace(self._state, polled=polled, problem="", failures=0)
            if not same:
                left = self._left(polled)
                rows = _composed(polled, self._rows)
                found = replace(found, rows=rows, left=left, planning=True)
            self._swap(found)

    def _left(self, polled: Polled) -> dict[str, PlannedRow]:
        """Return the rows of the jobs that wait no longer, those of a poll among them."""
        waiting = {job.id for job in polled.instance.pending}
        found = {**self._state.left, **self._rows}
        gone = [job for job in found if job not in waiting]
        return {job: found[job] for job in gone[-MAX_LEFT:]}

    def failed(self, problem: str, failures: int) -> None:
        """Take a failed poll: the last state remains, with the message."""
        with self._lock:
            self._swap(replace(self._state, problem=problem, failures=failures))

    def unplanned(self, problem: str) -> None:
        """Take a plan that failed: rows keep the starts of an earlier state."""
        with self._lock:
            self._swap(replace(self._state, planning=False, unplanned=problem))

    def not_forecast(self, problem: str) -> None:
        """Take the message of a forecast that was not possible, "": it was possible."""
        with self._lock:
            if self._state.not_forecast != problem:
                self._swap(replace(self._state, not_forecast=problem))

    def planned(
        self,
        polled: Polled,
        listing: Listing,
        found: PredictedJobs,
        likely: Mapping[str, StartQuantiles] | None = None,
        *,
        last: bool,
    ) -> None:
        """Take the starts of a poll. last: no more of this poll will follow.

        Without a plan of possible starts those of an earlier poll remain; so do all starts of jobs
        that were not examined. Both are marked as such. likely:
        forecasts by job, None without a history.
        """
        rows = {row.predicted.job: row for row in _rows(polled, listing, found, likely or {})}
        with self._lock:
            if found.plan is None:
                before = self._rows
                rows = {job: _completed(row, before.get(job)) for job, row in rows.items()}
            if last:
                rows = self._whole = self._with_changes(polled, rows)
            self._rows = rows
            newest = self._state.polled or polled
            state = replace(self._state, rows=_composed(newest, self._rows))
            if last:
                planning = newest.number != polled.number
                state = replace(
                    state, planned=polled, latest=found, planning=planning, unplanned=""
                )
            if last and found.plan is not None:
                state = replace(state, predicted=found, predicted_of=polled)
            self._swap(state)

    def starts(self, polled: Polled) -> list[PredictedStart]:
        """Return the starts on the board for the jobs of a poll, on its clock."""
        found = []
        for row in self._rows.values():
            shift = row.zero - polled.zero
            starts = {name: getattr(row.predicted, name) for name in STARTS}
            moved: dict[str, Any] = shifted(starts, shift)
            found.append(replace(row.predicted, **moved) if shift else row.predicted)
        return found

    def causes(self) -> dict[str, str]:
        """Return what moved starts in the last planned state, by job."""
        changes = {job: row.change for job, row in self._rows.items() if row.change is not None}
        return {j: item.because for j, item in changes.items() if item.at == self._rows[j].at}

    def _with_changes(
        self, polled: Polled, rows: Mapping[str, PlannedRow]
    ) -> dict[str, PlannedRow]:
        """Return the rows of a whole plan with what has changed since the last whole plan."""
        before, known = self._state.planned, self._whole
        if before is None:
            return {job: replace(row, moves=_moved(None, row)) for job, row in rows.items()}
        events = PollEvents.between(before.instance, polled.instance)
        starts = {job: inf if row.start is None else row.start for job, row in rows.items()}
        came = events.came & starts.keys()
        min_gain = two_cycles(polled.instance)
        ahead: set[str] = set()
        found: dict[str, PlannedRow] = {}
        for job, row in rows.items():
            old = known.get(job)
            if row.number != polled.number:  # not examined now
                found[job] = row
                continue
            before_it = (new for new in came if starts[new] < starts[job])
            reported = None if old is None else old.reported
            change = change_of(reported, row, min_gain, events, ahead.union(before_it))
            if job in came:
                ahead.add(job)
            moves = _moved(old, row, change)
            if change is None and old is not None:
                change = old.change
            found[job] = replace(row, change=change, moves=moves)
        return found

    def _swap(self, state: BoardState) -> None:
        """Replace the state and tell the listeners; the lock is held."""
        self._state = replace(state, version=self._state.version + 1, answers={})
        for listener in self._listeners:
            listener(self._state)


def _rows(
    polled: Polled, listing: Listing, found: PredictedJobs, likely: Mapping[str, StartQuantiles]
) -> Iterator[PlannedRow]:
    zero = polled.zero
    at = polled.instance.now + zero
    for listed, predicted in zip(listing.jobs, found, strict=True):
        quantiles = likely.get(predicted.job)
        number, origin = polled.number, polled.instance.origin
        yield PlannedRow(listed, predicted, number, at, zero, origin, number, likely=quantiles)


def _moved(
    before: PlannedRow | None, row: PlannedRow, change: RowChange | None = None
) -> tuple[StartMove, ...]:
    """Return how the starts of a job have moved until this row."""
    moves = () if before is None else before.moves
    likely = None if row.likely is None else row.of(row.likely.likely)
    move = StartMove(row.at, row.start, row.of(row.predicted.possible), likely, change)
    if moves and not move.differs(moves[-1]):
        return moves
    return (*moves[-MAX_MOVES:], move)


def _completed(row: PlannedRow, before: PlannedRow | None) -> PlannedRow:
    """Return a row of the first steps; one that is not examined yet keeps its former starts."""
    if before is None:
        return row
    if row.predicted.state == "not examined":
        return before
    predicted = row.predicted
    possible = before.of(before.predicted.possible)
    if predicted.possible is None and possible is not None:
        on = before.predicted.possible_on
        predicted = replace(predicted, possible=possible - row.zero, possible_on=on)
        row = replace(row, possible_of=before.possible_of)
    likely = before.likely if row.likely is None else row.likely
    return replace(
        row, predicted=predicted, likely=likely, change=before.change, moves=before.moves
    )


def _composed(polled: Polled, rows: Mapping[str, PlannedRow]) -> tuple[BoardRow, ...]:
    """Return the pending jobs of a poll with their rows, in the order of the last plan.

    New jobs come last until they are planned.
    """
    place = {job: at for at, job in enumerate(rows)}
    pending = sorted(polled.instance.pending, key=lambda job: place.get(job.id, len(place)))
    found = []
    for job in pending:
        row = rows.get(job.id)
        older = row is not None and row.number != polled.number
        found.append(BoardRow(job, row, older, polled.number))
    return tuple(found)
