"""Jobs in a simulation whose dependency condition (bsub -w) is not satisfied yet.

A job is not considered, nor does it stand in its queue, before its condition holds. Jobs succeed
unless their run limit, or bkill, ends them. What is asked of jobs that nobody knows, and
external(), is taken to hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any

from ...model.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobIndex,
    Negation,
    StatusTest,
    compare,
    parse_dependency,
    status_tests,
)
from ...model.duration import granted_run_limit
from ...model.instance import Instance
from ...model.job import Job
from ..precedence import NEVER_SATISFIED, NOT_YET
from .job_state import DONE, FUTURE, KILLED, PENDING, JobState, JobStates

#: Exit codes of jobs that their run limit (SIGUSR2) or bkill (SIGINT) killed.
EXIT_BY_LIMIT, EXIT_BY_KILL = 140, 130
_GONE = (DONE, KILLED)


class ConditionState(Enum):
    """The state of a condition: satisfied, not yet satisfied, or never satisfiable."""

    YES = 1
    NOT_YET = 0
    NEVER = -1


class Dependents:
    """The submitted jobs with an unsatisfied dependency."""

    def __init__(self, instance: Instance, states: JobStates, jobs: Sequence[Job]) -> None:
        self._states = states
        self._instance = instance
        self._roster = JobIndex(jobs, last_only=instance.params.job_dep_last_sub)
        self._followers: dict[str, dict[int, None]] = defaultdict(dict)
        self._read: dict[int, str] = {}
        #: By number.
        self.waiting: dict[int, JobState] = {}
        #: Jobs whose dependency is satisfied and whose think time has not passed.
        self.ready: set[int] = set()
        #: Instant (seconds) since when the condition of a job is known to be unsatisfiable, by job.
        self.orphans: dict[int, int] = {}

    def knows(self, state: JobState) -> bool:
        """Return whether a job waits for its present condition, which bmod may have changed."""
        return self.waiting.get(state.number) is not None and self._read.get(state.number) == (
            state.job.dependency
        )

    def take(self, state: JobState) -> None:
        """Add a job, which waits until it is released."""
        self.waiting[state.number] = state
        self._read[state.number] = state.job.dependency
        self.orphans.pop(state.number, None)
        state.reason = state.reason or NOT_YET
        state.current_reason = NOT_YET
        for test in self._tests(state.job):
            for name in self._roster.resolve(test.job, state.job):
                self._followers[name][state.number] = None

    def release(self, state: JobState) -> None:
        """Remove a job that waits for no other job any more."""
        self.waiting.pop(state.number, None)
        self.orphans.pop(state.number, None)
        self.ready.discard(state.number)
        state.current_reason = ""

    def may_be_eligible(self, state: JobState) -> bool:
        """Whether a job may be eligible now."""
        return state.number in self.ready or self.holds(state.job) is ConditionState.YES

    def moved(self, name: str) -> list[tuple[JobState, ConditionState]]:
        """Return the waiting jobs that depend on a job that has just started or ended, each with
        its state.
        """
        found = []
        for number in self._followers.get(name, ()):
            state = self.waiting.get(number)
            if state is not None and number not in self.ready:
                found.append((state, self.holds(state.job)))
        return found

    def orphan_grace(self, state: JobState) -> int | None:
        """Return the seconds after which a job with an unsatisfiable condition is killed, None if
        it is never killed.
        """
        return 0 if state.job.orphan_term else self._instance.params.orphan_grace

    def holds(self, job: Job) -> ConditionState:
        """Return the current state of the condition of a job."""
        if not job.dependency:
            return ConditionState.YES
        try:
            return self._value(parse_dependency(job.dependency), job)
        except DependencyError:
            return ConditionState.NEVER

    def released(self, state: JobState, now: int) -> int:
        """Return the instant at which the dependency of a job was satisfied, from which its wait
        counts.
        """
        held = self.held_since(state.job)
        if held is None:
            return now if state.number in self.waiting else state.job.submit
        return max(state.job.submit, min(now, held + state.job.think_time))

    def held_since(self, job: Job) -> int | None:
        """Return since when the condition of a job has held; None if unknown or if it does not
        hold.
        """
        try:
            return self._since(parse_dependency(job.dependency), job)
        except DependencyError:
            return None

    def _since(self, condition: Condition, job: Job) -> int | None:
        match condition:
            case AllOf(parts):
                known = [self._since(part, job) for part in parts]
                return None if None in known else max(time for time in known if time is not None)
            case AnyOf(parts):
                some = [self._since(part, job) for part in parts]
                return min((time for time in some if time is not None), default=None)
            case StatusTest() if self._value(condition, job) is ConditionState.YES:
                if condition.word == "external" or condition.word.startswith("num"):
                    return None
                names = self._roster.resolve(condition.job, job)
                states = [state for n in names if (state := self._states.find(n)) is not None]
                begun = condition.word == "started"
                times = [state.start if begun else state.end for state in states]
                return (
                    None
                    if None in times
                    else max((t for t in times if t is not None), default=None)
                )
        return None

    def _tests(self, job: Job) -> Iterable[StatusTest]:
        try:
            return status_tests(parse_dependency(job.dependency)) if job.dependency else ()
        except DependencyError:
            return ()

    def _value(self, condition: Condition, job: Job) -> ConditionState:
        match condition:
            case AllOf(parts):
                return _every([self._value(part, job) for part in parts])
            case AnyOf(parts):
                values = [self._value(part, job) for part in parts]
                return max(values, key=lambda value: value.value)
            case Negation(part):
                value = self._value(part, job)
                # A condition that remains satisfied makes its negation impossible.
                return (
                    ConditionState.NEVER
                    if value is ConditionState.YES and _lasts(part)
                    else _opposite(value)
                )
            case StatusTest():
                names = self._roster.resolve(condition.job, job)
                states = [state for n in names if (state := self._states.find(n)) is not None]
                return self._test(condition, states)

    def _test(self, test: StatusTest, states: Sequence[JobState]) -> ConditionState:
        if test.word == "external" or not states:
            return ConditionState.YES
        if test.word.startswith("num"):
            return _count(test, states)
        return _every([_one(test, state, self._code(state)) for state in states])

    def _code(self, state: JobState) -> int:
        """Return the exit code of a killed job."""
        limit = granted_run_limit(self._instance, state.job)
        known = limit is not None and state.start is not None and state.end is not None
        by_limit = known and (state.end or 0) - (state.start or 0) >= (limit or 0)
        killed = None if state.start is None else state.killed_at(state.start)
        # A job killed by -t gets the signal of a job that reached its run limit.
        by_limit |= killed is not None and (state.end or 0) >= killed
        return EXIT_BY_LIMIT if by_limit else EXIT_BY_KILL

    def to_state(self) -> dict[str, Any]:
        """Return the jobs with unsatisfied dependencies, as plain data."""
        return {
            "waiting": list(self.waiting),
            "ready": sorted(self.ready),
            "orphans": list(self.orphans.items()),
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore the state that :meth:`to_state` returned, after the jobs are loaded."""
        for number in saved["waiting"]:
            self.take(self._states.activate(number))
        self.ready = set(saved["ready"])
        self.orphans = dict(saved["orphans"])
        for number in self.orphans:
            self.waiting[number].current_reason = NEVER_SATISFIED


def _every(values: Sequence[ConditionState]) -> ConditionState:
    return min(values, key=lambda value: value.value)


def _opposite(value: ConditionState) -> ConditionState:
    return ConditionState.NOT_YET if value is ConditionState.YES else ConditionState.YES


def _lasts(condition: Condition) -> bool:
    """Return whether a condition that holds once holds for good."""
    return not any(
        test.word in ("numpend", "numrun", "numstart", "numhold") or test.operator != ">="
        for test in status_tests(condition)
        if test.word.startswith("num")
    )


def _one(test: StatusTest, state: JobState, code: int) -> ConditionState:
    """Evaluate a test of one job; code: its exit code if it failed."""
    gone, failed = state.status in _GONE, state.status == KILLED
    match test.word:
        case "started":
            if state.start is not None:
                return ConditionState.YES
            return ConditionState.NEVER if gone else ConditionState.NOT_YET
        case "ended":
            return ConditionState.YES if gone else ConditionState.NOT_YET
        case "exit":
            if not gone:
                return ConditionState.NOT_YET
            right = test.number is None or compare(code, test.operator, test.number)
            return ConditionState.YES if failed and right else ConditionState.NEVER
        case "post_err":
            return ConditionState.NEVER if gone else ConditionState.NOT_YET
        case _:
            if not gone:
                return ConditionState.NOT_YET
            return ConditionState.NEVER if failed else ConditionState.YES


def _count(test: StatusTest, states: Sequence[JobState]) -> ConditionState:
    """Evaluate a count of the elements of an array."""
    total = len(states)
    done = sum(state.status == DONE for state in states)
    failed = sum(state.status == KILLED for state in states)
    waiting = sum(state.status in (PENDING, FUTURE) for state in states)
    left = total - done - failed
    # The present count, and the smallest and largest count that it can still reach.
    now, low, high = {
        "numdone": (done, done, done + left),
        "numexit": (failed, failed, failed + left),
        "numended": (done + failed, done + failed, total),
        "numpend": (waiting, 0, waiting),
        "numhold": (0, 0, 0),
    }.get(test.word, (left - waiting, 0, left))
    number = total if test.number is None else test.number
    if compare(now, test.operator, number):
        return ConditionState.YES
    later = any(compare(count, test.operator, number) for count in range(low, high + 1))
    return ConditionState.NOT_YET if later else ConditionState.NEVER
