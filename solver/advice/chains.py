"""What a chain of dependency conditions (bsub -w) waits for: its critical path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...model.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    Negation,
    StatusTest,
    parse_dependency,
)
from ...model.duration import expected_finish
from ...model.instance import Instance
from ...model.job import Job
from ...model.roster import Roster

#: Links that are followed.
MOST_LINKS = 1000


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One job of a critical path: the next one waits for its end, or for its start.

    start, finish: seconds, None where nobody knows. by_start: the next waits for its start.
    at_once: it starts when its own condition holds, so that what it waits for decides.
    """

    job: str
    start: int | None
    finish: int | None
    by_start: bool = False
    at_once: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"job": self.job, "start": self.start, "finish": self.finish}


#: A time at which something holds, and the job whose start or end that is.
_Binding = tuple[float, str, bool]
_NEVER = float("inf")


def critical_path(
    instance: Instance, job: Job, times: Mapping[str, tuple[int, int | None]]
) -> tuple[ChainLink, ...]:
    """The jobs that decide when `job` may start, the first one first; () where it waits for none.

    times: start and end (seconds) of pending jobs, as planned. Of several jobs that a condition
    names it is the one that lets it hold. The path ends at a job that waits for nothing, or that
    starts later than its condition lets it: what it waits for is something else.
    """
    pending = {other.id: other for other in (*instance.pending, job)}
    known = {
        run.job.id: (run.start, expected_finish(instance, run)) for run in instance.running
    } | dict(times)
    jobs = (*(run.job for run in instance.running), *pending.values(), *instance.future)
    finder = _Finder(Roster(jobs, last_only=instance.params.job_dep_last_sub), known)
    path: list[ChainLink] = []
    at: Job | None = job
    while at is not None and at.dependency and len(path) < MOST_LINKS:
        found = finder.binding(at)
        if found is None or found[1] in {link.job for link in path}:
            break
        time, name, by_start = found
        at = pending.get(name)
        start, finish = known.get(name, (None, None))
        binds = at is not None and bool(at.dependency) and start is not None
        own = finder.binding(at) if at is not None and binds else None
        at_once = own is not None and start is not None and start <= own[0] + at.think_time  # type: ignore[union-attr]
        path.append(ChainLink(name, start, finish, by_start, at_once))
        if not at_once or time == _NEVER:
            break
    return tuple(reversed(path))


class _Finder:
    def __init__(self, roster: Roster, known: Mapping[str, tuple[int | None, int | None]]) -> None:
        self._roster = roster
        self._known = known

    def binding(self, job: Job) -> _Binding | None:
        """When the condition of a job holds, and which start or end that is."""
        try:
            return self._of(parse_dependency(job.dependency), job)
        except DependencyError:
            return None

    def _of(self, condition: Condition, job: Job) -> _Binding | None:
        match condition:
            case AllOf(parts):
                return max(self._each(parts, job), key=_when, default=None)
            case AnyOf(parts):
                found = [self._of(part, job) for part in parts]
                if any(item is None for item in found):
                    return None  # one part may hold now
                return min((item for item in found if item is not None), key=_when)
            case Negation():
                return None
            case StatusTest():
                return self._test(condition, job)

    def _each(self, parts: Sequence[Condition], job: Job) -> Iterator[_Binding]:
        for part in parts:
            if (found := self._of(part, job)) is not None:
                yield found

    def _test(self, test: StatusTest, job: Job) -> _Binding | None:
        names = [name for name in self._roster.meant(test.job, job) if name in self._known]
        if test.word in ("external", "numhold") or not names:
            return None
        by_start = test.word in ("started", "numrun", "numstart", "numpend")
        found = sorted(
            ((_NEVER if (t := self._known[n][not by_start]) is None else t), n, by_start)
            for n in names
        )
        if not test.word.startswith("num") or test.number is None or test.word == "numpend":
            return found[-1]
        count = test.number + (test.operator == ">")
        return found[count - 1] if 1 <= count <= len(found) else None


def _when(binding: _Binding) -> float:
    return binding[0]
