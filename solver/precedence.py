"""Times at which dependency conditions (bsub -w) can hold, from starts and ends of jobs.

All jobs are assumed to succeed, so that a condition without ``!`` can only become true with time:
at the largest time under ``&&``, the smallest under ``||`` and the k-th under a count. Tests that
such times cannot express are reported as omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ..model.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobIndex,
    Negation,
    StatusTest,
    dependency_cycle,
    parse_dependency,
    waiting_order,
)
from ..model.duration import expected_finish, is_killed, may_be_killed
from ..model.instance import Instance
from ..model.job import Job
from ..model.pending import Pending

#: LSF's texts for a job whose condition does not hold yet, and for one whose condition never will.
NOT_YET = Pending.DEPENDENCY.words
NEVER_SATISFIED = Pending.DEPENDENCY_NEVER.words
#: Omissions of plans for conditions, in words.
EXIT = "failures of jobs (exit, post_err, numexit in -w): success is assumed"
KILLED = "failures of jobs that are killed before they end (done in -w): success is assumed"
EXTERNAL = "external() in start conditions (-w)"
NOT = "'!' in start conditions (-w)"
COUNT = "later changes of a count in a start condition (-w)"
#: Omissions that the simulation decides by itself.
LEFT_OPEN = (EXIT, KILLED, NOT, COUNT)
NO_END = "waits for the end of job {}, which is unknown (no run limit)"
UNKNOWN = "a start condition (-w) on unknown jobs"


@dataclass(frozen=True, slots=True)
class Known:
    """A condition that can hold from a second on; None: the time is unknown."""

    #: Second of the event, None if never.
    time: int | None
    #: Reason of the event, in words.
    why: str = ""
    #: The running job that starts or ends then, "" if it is none.
    job: str = ""


@dataclass(frozen=True, slots=True)
class After:
    """A condition that can hold `lag` seconds after a pending job ends, or starts if `start`."""

    job: str
    start: bool = False
    lag: int = 0
    #: Whether any end counts, even of a job that is killed before it starts (ended, exit).
    by_kill: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """A condition that can hold when `count` of its parts can."""

    parts: tuple[Event, ...]
    count: int


Event: TypeAlias = "Known | After | Several"
#: Events of tests that are not "done", without a job, by their words.
STARTED, ENDED = After("", start=True), After("", by_kill=True)
_BY_WORD: Mapping[str, After] = {
    **dict.fromkeys(("started", "numrun", "numstart"), STARTED),
    **dict.fromkeys(("ended", "exit", "post_err", "numended", "numexit"), ENDED),
}
#: Function that returns when a job starts or ends, by an :class:`After` without its lag; None:
#: never, or unknown.
When: TypeAlias = Callable[[After], int | None]


def earliest(event: Event, when: When) -> int | None:
    """Return the first second at which a condition can hold, None if never."""
    match event:
        case Known(time):
            return time
        case After(lag=lag):
            time = when(event)
            return None if time is None else time + lag
        case Several(parts, count):
            if count <= 0:
                return min((0, *(t for p in parts if (t := earliest(p, when)) is not None)))
            times = sorted(t for part in parts if (t := earliest(part, when)) is not None)
            return times[count - 1] if count <= len(times) else None


def jobs_of(event: Event) -> tuple[str, ...]:
    """Return the pending jobs that decide when a condition can hold."""
    match event:
        case Known():
            return ()
        case After(job):
            return (job,)
        case Several(parts):
            return tuple(dict.fromkeys(job for part in parts for job in jobs_of(part)))


def afters_of(event: Event) -> tuple[After, ...]:
    """Return the starts and ends that decide when a condition can hold."""
    match event:
        case Known():
            return ()
        case After():
            return (event,)
        case Several(parts):
            return tuple(dict.fromkeys(item for part in parts for item in afters_of(part)))


def known_times(event: Event) -> set[int]:
    """Return the known seconds at which some part of a condition becomes true."""
    match event:
        case Known(time):
            return set() if time is None else {time}
        case After():
            return set()
        case Several(parts):
            return {time for part in parts for time in known_times(part)}


def unknown_in(event: Event) -> str:
    """Return why a condition can never hold: the first part with an unknown time.

    If all parts have to hold, a part that never can; else one that still may.
    """
    match event:
        case Known(None, why):
            return why
        case Several(parts, count):
            found = [why for part in parts if (why := unknown_in(part))]
            binding = [why for why in found if (why == NEVER_SATISFIED) == (count == len(parts))]
            return next(iter(binding or found), "")
        case _:
            return ""


#: Kill times of no job.
NOBODY: Mapping[str, int] = {}


def from_starts(
    event: Event, durations: Mapping[str, int | None], killed: Mapping[str, int] = NOBODY
) -> Event:
    """Return the event by starts alone, with each end replaced by start and duration.

    killed: the second at which jobs end at last (-t), by job id.
    """
    match event:
        case Known() | After(start=True):
            return event
        case After(job, lag=lag):
            duration, end = durations.get(job), killed.get(job)
            over = None if duration is None else After(job, True, lag + duration)
            if end is None:
                return over or Known(None, NO_END.format(job))
            at_last = _several([After(job, True), Known(end + lag)], 2)
            return at_last if over is None else _several([over, at_last], 1)
        case Several(parts, count):
            return _several([from_starts(part, durations, killed) for part in parts], count)


@dataclass(frozen=True, slots=True)
class Awaited:
    """Event that the condition of a job waits for."""

    #: When the condition can hold.
    event: Event
    #: Parts of the condition that the event omits.
    left_out: tuple[str, ...] = ()


#: Number of conditions between two checks of the clock.
POLLED = 1_000


@dataclass(frozen=True, slots=True)
class Precedence:
    """The conditions of the pending jobs of an instance, by job id; jobs without one have none."""

    releases: Mapping[str, Awaited] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.releases)

    @classmethod
    def of(cls, instance: Instance, poll: Callable[[], None] = lambda: None) -> Precedence:
        """Return the events that the pending jobs of an instance wait for.

        poll: called repeatedly; what it raises ends the work.
        """
        asking = [job for job in instance.pending if job.dependency]
        if not asking:
            return NOTHING
        reader = _Conditions(instance)
        found = {}
        for at, job in enumerate(asking):
            if at % POLLED == 0:
                poll()
            found[job.id] = reader.release(job)
        waits_for = _waits_for(found)
        while stuck := dependency_cycle(waits_for):
            for name in set(stuck) & set(found):
                found[name] = Awaited(Known(None, NEVER_SATISFIED))
                waits_for[name] = ()
        return cls(found)

    def waits_for(self) -> dict[str, tuple[str, ...]]:
        """Return the pending jobs on which each job depends."""
        return _waits_for(self.releases)

    def ordered(self, order: Sequence[str]) -> list[str]:
        """Return the jobs with each job after the jobs that it depends on, otherwise in the
        given order.
        """
        return waiting_order(order, self.waits_for()) if self else list(order)

    def omitted_rules(self) -> dict[str, tuple[str, ...]]:
        """Return the omissions of plans with the jobs that they touch, including dependent jobs."""
        found: dict[str, set[str]] = {
            name: set(release.left_out) for name, release in self.releases.items()
        }
        for name in self.ordered(list(self.releases)) if any(found.values()) else ():
            for other in jobs_of(self.releases[name].event):
                found[name] |= found.get(other, set())
        touched: dict[str, list[str]] = {}
        for name, rules in found.items():
            for rule in sorted(rules):
                touched.setdefault(rule, []).append(name)
        return {rule: tuple(names) for rule, names in touched.items()}


def _waits_for(releases: Mapping[str, Awaited]) -> dict[str, tuple[str, ...]]:
    """Return the predecessors of each pending job; equal ones share one tuple."""
    shared: dict[int, tuple[str, ...]] = {}
    found = {}
    for name, release in releases.items():
        key = id(release.event)
        if key not in shared:
            shared[key] = jobs_of(release.event)
        found[name] = shared[key]
    return found


NOTHING = Precedence()


class _Conditions:
    """Reads conditions against one instance."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._roster = JobIndex.of(instance)
        self._running = {item.job.id: item for item in instance.running}
        self._pending = {job.id: job for job in instance.pending}
        self._left_out: dict[str, None] = {}
        #: Events of all of several jobs, and their omissions, by the identity of the tuple of
        #: names, which is kept alive for that.
        self._together: dict[tuple[int, After], tuple[tuple[str, ...], Event, tuple[str, ...]]] = {}

    def release(self, job: Job) -> Awaited:
        """Return when a job becomes eligible by its condition."""
        self._left_out = {}
        try:
            condition = parse_dependency(job.dependency)
        except DependencyError:
            return Awaited(Known(None, NEVER_SATISFIED))
        event = _later(self._event(condition, job), job.think_time)
        return Awaited(event, tuple(self._left_out))

    def _event(self, condition: Condition, job: Job) -> Event:
        match condition:
            case AllOf(parts):
                return _several([self._event(part, job) for part in parts])
            case AnyOf(parts):
                return _several([self._event(part, job) for part in parts], 1)
            case Negation():
                return self._assumed(NOT)
            case StatusTest():
                return self._test(condition, job)

    def _assumed(self, rule: str) -> Known:
        """Return the event of a test that a plan assumes to hold now."""
        self._left_out[rule] = None
        return Known(self._instance.now)

    def _test(self, test: StatusTest, job: Job) -> Event:
        names = self._roster.resolve(test.job, job)
        if test.word == "external":
            return self._assumed(EXTERNAL)
        if not names:
            return self._assumed(UNKNOWN)
        if test.word.startswith("num"):
            return self._count(test, names)
        if test.word in ("exit", "post_err"):
            self._left_out[EXIT] = None
        return self._all(names, _BY_WORD.get(test.word, After("")))

    def _all(self, names: tuple[str, ...], kind: After) -> Event:
        """Return when all of several jobs have started or ended; equal names give the identical
        event.
        """
        key = id(names), kind
        if key not in self._together:
            before, self._left_out = self._left_out, {}
            event = _several(self._times(names, kind))
            self._together[key] = names, event, tuple(self._left_out)
            self._left_out = before
        _, event, left_out = self._together[key]
        self._left_out |= dict.fromkeys(left_out)
        return event

    def _count(self, test: StatusTest, names: Sequence[str]) -> Event:
        """Return when the count of an array's elements first fulfils the test."""
        word, total = test.word, len(names)
        if word == "numpend":  # As many jobs have started as must no longer be pending.
            return self._falling(test, names)
        if word == "numhold":
            return self._assumed(COUNT)
        least, may_fall = _least(test, total)
        if word == "numexit":
            self._left_out[EXIT] = None
        if may_fall or (word in ("numrun", "numstart") and least > 0):
            self._left_out[COUNT] = None
        if least > total:
            return Known(None, NEVER_SATISFIED)
        return _several(self._times(names, _BY_WORD.get(word, After(""))), least)

    def _falling(self, test: StatusTest, names: Sequence[str]) -> Event:
        total = len(names)
        number = test.number
        if number is None or test.operator not in ("==", "<=", "<"):
            return self._assumed(COUNT)
        most = number - 1 if test.operator == "<" else number
        if most < 0:
            return Known(None, NEVER_SATISFIED)
        if test.operator == "==" and most:
            self._left_out[COUNT] = None
        return _several(self._times(names, STARTED), max(0, total - most))

    def _times(self, names: Iterable[str], kind: After) -> list[Event]:
        return [self._time(name, kind) for name in names]

    def _time(self, name: str, kind: After) -> Event:
        """Return when one job starts or has ended."""
        must_succeed = not (kind.start or kind.by_kill)
        if name in self._pending:
            if must_succeed and may_be_killed(self._instance, self._pending[name]):
                self._left_out[KILLED] = None
            return replace(kind, job=name)
        run = self._running.get(name)
        if run is None:  # The job is submitted later.
            return self._assumed(UNKNOWN)
        if kind.start:
            return Known(run.start, job=name)
        finish = expected_finish(self._instance, run)
        if must_succeed and finish is not None and is_killed(self._instance, run):
            self._left_out[KILLED] = None
            return Known(None, f"job {name} is killed before it ends", name)
        unknown = "suspended" if run.suspended else "no run limit"
        why = f"waits for the end of job {name}, which is unknown ({unknown})"
        return Known(finish, "" if finish is not None else why, name)


def _least(test: StatusTest, total: int) -> tuple[int, bool]:
    """Return the minimum count from which a test is true, and whether a larger count may end
    that.
    """
    number = total if test.number is None else test.number
    match test.operator:
        case ">":
            return number + 1, False
        case ">=":
            return number, False
        case "==":
            return number, number < total
        case _:
            return 0, True


def _several(parts: Sequence[Event], count: int | None = None) -> Event:
    """Return the event of all of the parts, or of `count` of them, simplified."""
    wanted = len(parts) if count is None else count
    if len(parts) == 1 and wanted == 1:
        return parts[0]
    several = Several(tuple(parts), wanted)
    if parts and all(isinstance(part, Known) for part in parts):
        time = earliest(several, lambda _: None)
        return Known(time, unknown_in(several) if time is None else "", _job_at(parts, time))
    if wanted == len(parts) and any(isinstance(p, Known) and p.time is None for p in parts):
        return Known(None, unknown_in(several), _job_at(parts, None))
    return several


def _job_at(parts: Sequence[Event], time: int | None) -> str:
    """Return a running job that starts or ends at a known time, "" if there is none."""
    return max((p.job for p in parts if isinstance(p, Known) and p.time == time), default="")


def _later(event: Event, lag: int) -> Event:
    """Return the event this many seconds later."""
    if not lag:
        return event
    match event:
        case Known(time):
            return replace(event, time=None if time is None else time + lag)
        case After(lag=before):
            return replace(event, lag=before + lag)
        case Several(parts, count):
            return Several(tuple(_later(part, lag) for part in parts), count)
