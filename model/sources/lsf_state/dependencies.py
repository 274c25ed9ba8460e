"""Dependency conditions (bsub -w): whether a job still waits for others.

What is told of other jobs is only whether they have not begun, run, or have gone, so of a condition
such as ``done(123) && started("prep*")`` it is asked whether it *can* hold by now. A job that has
gone is taken to have ended as it was meant to.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ...dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobIndex,
    Negation,
    StatusTest,
    parse_dependency,
    written,
)
from ...instance import Instance
from ...job import Job
from .bjobs import ENDED, SeenJob
from .values import Remarks

#: ``done(123)``, ``ended("my job")``, ``numdone(7[1-4], > 3)``, or a job alone (which means done).
_REFERENCE = re.compile(
    r"(?:(\w+)\s*\(\s*)?(?:\"([^\"]*)\"|'([^']*)'|(\d+(?:\[[^\]]*\])?|[\w.*-]+))"
)
_WORDS = frozenset({"done", "ended", "exit", "started", "post_done", "post_err", "external"})


def waits(condition: str, status: Callable[[str], Iterable[str]]) -> bool:
    """Return whether a condition cannot hold yet.

    status: the states of the unfinished jobs of a name or number (with ``*``, or elements), empty
    if all have finished. In a condition with ``||`` or ``!`` one reference that holds is enough.
    """
    unmet = [
        any(state != "RUN" or word != "started" for state in status(name))
        for word, name in references(condition)
    ]
    return bool(unmet) and (all(unmet) if re.search(r"\|\||!", condition) else any(unmet))


def references(condition: str) -> list[tuple[str, str]]:
    """Return function and job of each reference: ``("done", "123")``."""
    found: list[tuple[str, str]] = []
    for match in _REFERENCE.finditer(condition):
        word, name = match[1] or "done", match[2] or match[3] or match[4] or ""
        if name.lower() in _WORDS or not name:
            continue
        found.append((word.lower(), name))
    return found


def same_job(wanted: str, number: int, name: str) -> bool:
    """Return whether a reference denotes the job of this number or name (elements aside)."""
    bare = wanted.partition("[")[0]
    if bare.isdigit():
        return int(bare) == number
    return bool(name) and fnmatch.fnmatchcase(name.partition("[")[0], bare)


def still_open(
    instance: Instance, seen: Sequence[SeenJob], notes: Remarks, *, gone: bool
) -> Instance:
    """Return the instance with the unsatisfied dependencies of its jobs.

    seen: all jobs of that instant, including finished ones. gone: whether any other job has
    finished successfully; a log shows that, a list of jobs does not. Unknown states become remarks.
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
    """The conditions of pending jobs that may still be open."""

    def __init__(self, instance: Instance, seen: Sequence[SeenJob], *, gone: bool) -> None:
        self._roster = JobIndex.of(instance)
        self._gone = gone
        self._ended = [job for job in seen if job.status in ENDED]
        self._satisfied = {
            job.id for job in seen if job.dependency and not job.dependent and job.reason
        }
        #: Unknown conditions, each with the jobs that wait for it.
        self.unknown: dict[str, list[str]] = {}

    def of(self, job: Job) -> Job:
        """Return a job with its unsatisfied dependencies."""
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
            self._note("a start condition (-w) that can never be satisfied", job)
            return job
        return replace(job, dependency="" if rest is True else written(rest))

    def _note(self, what: str, job: Job) -> None:
        self.unknown.setdefault(what, []).append(job.id)

    def _rest(self, condition: Condition, job: Job) -> Condition | bool:
        """Return the open part of a condition; True or False if nothing is open."""
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
        names = self._roster.resolve(test.job, job)
        if test.word == "external":
            return test
        if test.word.startswith("num") and names:
            self._note("the number of ended elements of an array (a count in -w)", job)
            return True
        if names:
            return test
        ended = [item.status for item in self._ended if _is(test, item)]
        if ended:
            return _held(test, ended)
        return (test.word not in ("exit", "post_err")) if self._gone else test


def _is(test: StatusTest, item: SeenJob) -> bool:
    number, _, element = item.id.partition("[")
    wanted, index = test.job.ranges, element.rstrip("]")
    inside = not wanted or (index.isdigit() and any(int(index) in part for part in wanted))
    return number.isdigit() and inside and same_job(test.job.name, int(number), item.name)


def _held(test: StatusTest, ended: Sequence[str]) -> bool:
    """Return whether a test holds for jobs that have finished."""
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
