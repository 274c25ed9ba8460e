"""Dependency conditions (-w) of the jobs of a moment, as far as they are still open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    Negation,
    StatusTest,
    parse_dependency,
    written,
)
from ..instance import Instance
from ..job import Job
from ..roster import Roster
from .bjobs import SeenJob
from .dependencies import same_job
from .remarks import Remarks

_ENDED = ("DONE", "EXIT")


def still_open(
    instance: Instance, seen: Sequence[SeenJob], notes: Remarks, *, gone: bool
) -> Instance:
    """The instance with what its jobs still wait for.

    seen: all jobs of the moment, with those that have ended. gone: whether any other job has ended,
    as it was meant to: a log knows, a list of jobs does not. What cannot be known is a remark.
    """
    if not any(job.dependency for job in (*instance.pending, *instance.future)):
        return instance
    reader = _OpenConditions(instance, seen, gone=gone)
    pending, future = (
        tuple(map(reader.of, instance.pending)),
        tuple(map(reader.of, instance.future)),
    )
    for what, jobs in reader.unknown.items():
        notes.touch(what, jobs, count=len(jobs))
    return replace(instance, pending=pending, future=future)


class _OpenConditions:
    """unknown: what cannot be known, and of which jobs."""

    def __init__(self, instance: Instance, seen: Sequence[SeenJob], *, gone: bool) -> None:
        self._roster = Roster.of(instance)
        self._gone = gone
        self._ended = [job for job in seen if job.status in _ENDED]
        self._satisfied = {
            job.id for job in seen if job.dependency and not job.dependent and job.reason
        }
        self.unknown: dict[str, list[str]] = {}

    def of(self, job: Job) -> Job:
        """A job with what it still waits for."""
        if not job.dependency:
            return job
        if job.id in self._satisfied:  # LSF itself says that it waits for something else
            return replace(job, dependency="")
        try:
            condition = parse_dependency(job.dependency)
        except DependencyError:
            self._note(f"a start condition that cannot be read ({job.dependency})", job)
            return replace(job, dependency="")
        rest = self._rest(condition, job)
        if rest is False:
            self._note("a start condition (-w) that can never hold", job)
            return job
        return replace(job, dependency="" if rest is True else written(rest))

    def _note(self, what: str, job: Job) -> None:
        self.unknown.setdefault(what, []).append(job.id)

    def _rest(self, condition: Condition, job: Job) -> Condition | bool:
        """What of a condition is open; True or False where nothing is."""
        match condition:
            case AllOf(parts):
                left = [self._rest(part, job) for part in parts]
                if any(part is False for part in left):
                    return False
                open_still = [part for part in left if not isinstance(part, bool)]
                return _joined(AllOf, open_still) or True
            case AnyOf(parts):
                left = [self._rest(part, job) for part in parts]
                if any(part is True for part in left):
                    return True
                open_still = [part for part in left if not isinstance(part, bool)]
                return _joined(AnyOf, open_still) or False
            case Negation(part):
                inner = self._rest(part, job)
                return not inner if isinstance(inner, bool) else Negation(inner)
            case StatusTest():
                return self._test(condition, job)

    def _test(self, test: StatusTest, job: Job) -> Condition | bool:
        names = self._roster.meant(test.job, job)
        if test.word == "external":
            return test
        counts = test.word.startswith("num")
        if counts and names:
            self._note("how many elements of an array have ended (a count in -w)", job)
            return True
        if names:
            return test
        ended = [item.status for item in self._ended if _is(test, item)]
        if ended:
            return _held(test, ended)
        return (test.word not in ("exit", "post_err")) if self._gone else test


def _is(test: StatusTest, item: SeenJob) -> bool:
    number, _, element = item.id.partition("[")
    wanted = test.job.elements
    inside = not wanted or (element.rstrip("]").isdigit() and int(element.rstrip("]")) in wanted)
    return number.isdigit() and inside and same_job(test.job.name, int(number), item.name)


def _held(test: StatusTest, ended: Sequence[str]) -> bool:
    """Whether a test holds of jobs that have ended."""
    failed = ended.count("EXIT")
    by_word: Mapping[str, bool] = {
        "exit": failed == len(ended),
        "post_err": False,
        "done": not failed,
        "post_done": not failed,
    }
    return by_word.get(test.word, True)


def _joined(kind: type[AllOf | AnyOf], parts: Sequence[Condition]) -> Condition | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return kind(tuple(parts))
