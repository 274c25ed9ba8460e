"""Dependency conditions (-w) of an instance: they can be read, and no jobs wait in a circle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..dependency import DependencyError, StatusTest, compare, parse_dependency, status_tests
from ..instance import Instance
from ..job import Job
from ..polling import Poll, never, polled
from ..roster import Roster, circle, predecessors
from .finding import Finding


def check_conditions(instance: Instance, poll: Poll = never) -> Iterator[Finding]:
    """What is wrong with the conditions of jobs that wait."""
    sections = (("pending", instance.pending), ("future", instance.future))
    asking = [
        (section, index, job)
        for section, jobs in sections
        for index, job in enumerate(polled(jobs, poll))
        if job.dependency
    ]
    if not asking:
        return
    roster = Roster.of(instance)
    waits_for: dict[str, tuple[str, ...]] = {}
    for section, index, job in asking:
        problems = list(_problems(roster, job))
        yield from (Finding((section, index, "dependency"), text) for text in problems)
        waits_for[job.id] = () if problems else predecessors(roster, job)
    if stuck := circle(waits_for):
        section, index, _ = next(item for item in asking if item[2].id == stuck[0])
        chain = " waits for ".join(stuck)
        message = f"can never hold: job {chain}"
        yield Finding((section, index, "dependency"), message)


def condition_problems(instance: Instance, job: Job) -> Iterator[str]:
    """What is wrong with the condition of one more job of an instance."""
    if job.dependency:
        instance = replace(instance, pending=(*instance.pending, job))
        yield from _problems(Roster.of(instance), job)


def _problems(roster: Roster, job: Job) -> Iterator[str]:
    try:
        condition = parse_dependency(job.dependency)
    except DependencyError as error:
        yield error.problems[0].message
        return
    for test in status_tests(condition):
        names = roster.meant(test.job, job)
        if job.id in names:
            yield f"{test.text}: the job would wait for itself"
        elif test.word.startswith("num") and names and not _possible(test, len(names)):
            yield f"{test.text}: can never hold, there are {len(names)}"


def _possible(test: StatusTest, total: int) -> bool:
    """Whether some count of so many elements would do."""
    if test.number is None:
        return True
    return any(compare(count, test.operator, test.number) for count in range(total + 1))
