"""When a planned job starts and ends: now, -b, the duration chain, windows (TBR-03, TBR-19).

Dependency conditions (-w): no job starts before its condition is true by the plan's own times. All
jobs are assumed to succeed. Unknown tests - external(), ``!``, unknown jobs, a count that falls
again - may be assumed true; a test for failure counts as the end of the job.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from ...model.dependency import (
    AllOf,
    AnyOf,
    Condition,
    DependencyError,
    JobReference,
    Negation,
    StatusTest,
    parse_dependency,
)
from ...model.job import NO_RUN_LIMIT, Job
from ...model.objective import takes_due_dates
from ...model.windows import open_periods
from . import reservations
from .facts import Facts, Violation


def starts(facts: Facts) -> Iterator[Violation]:
    """Yield starts before now or before -b."""
    now = facts.instance.now
    for holding in facts.planned:
        if holding.start < now:
            yield holding.violation("start", f"it starts at {holding.start} s, now is {now} s")
        begin = holding.job.begin
        if begin is not None and holding.start < begin:
            text = f"it starts at {holding.start} s, -b allows no start before {begin} s"
            yield holding.violation("start", text)


def deadlines(facts: Facts) -> Iterator[Violation]:
    """Yield starts of jobs that cannot run up to their limit before -t, except under
    IGNORE_DEADLINE.
    """
    if takes_due_dates(facts.plan.objective, facts.plan.method):
        return
    for holding in facts.planned:
        end = holding.job.deadline
        if end is None:
            continue
        limit = limit_of(facts, holding.job)
        if holding.start >= end:
            text = f"it starts at {holding.start} s, its termination time (-t) is {end} s"
            yield holding.violation("deadline", text)
        elif facts.queues[holding.job.queue].ignore_deadline or limit is None:
            continue
        elif holding.start + limit > end:
            text = f"it starts at {holding.start} s and may run {limit} s, -t is {end} s"
            yield holding.violation("deadline", text)


def limit_of(facts: Facts, job: Job) -> int | None:
    """Return the seconds of run time, else of CPU time, after which a job is killed; None if no
    limit.

    The application's limits precede the queue's, and never exceed its maximum.
    """
    queue = facts.queues[job.queue]
    found = next((a for a in facts.instance.applications if a.name == job.application), None)
    run, cpu = (None, None) if found is None else (found.run_limit, found.cpu_limit)
    choices = (
        (job.run_limit, run, queue.run_limit, queue.run_limit_max),
        (job.cpu_limit, cpu, None, queue.cpu_limit),
    )
    for asked, of_application, default, most in choices:
        if asked == NO_RUN_LIMIT:
            continue
        if asked is not None:
            return asked
        limits = [n for n in (of_application, default, most) if n is not None]
        if limits:
            return limits[0] if most is None else min(limits[0], most)
    return None


def finishes(facts: Facts) -> Iterator[Violation]:
    """Yield finishes that differ from start plus expected duration; None is right if unknown
    (TBR-03).
    """
    for entry, job in facts.entries():
        if entry.start is None:
            if entry.finish is not None:
                text = f"job {job.id}: it finishes at {entry.finish} s without a start"
                yield Violation("finish", text, job.id, "", entry.finish)
            continue
        right = facts.finish_of(job, entry.start)
        if job.id in facts.plan.suspended and right is not None:  # it ends later
            right = None if entry.finish is None else max(right, entry.finish)
        if entry.finish != right:
            text = f"it finishes at {_at(entry.finish)}, its expected duration gives {_at(right)}"
            yield Violation("finish", f"job {job.id}: {text}", job.id, "", entry.start)


def _at(time: int | None) -> str:
    return "no known time" if time is None else f"{time} s"


def dispatch_windows(facts: Facts) -> Iterator[Violation]:
    """Yield starts outside DISPATCH_WINDOW of the queue or of a host, unless `as_lsf`."""
    if facts.as_lsf:
        return
    for holding in facts.planned:
        window = facts.queues[holding.job.queue].dispatch_window
        if not _open(facts, window, holding.start, holding.start + 1):
            text = f"it starts at {holding.start} s, outside DISPATCH_WINDOW {window} of queue"
            yield holding.violation("dispatch-window", f"{text} {holding.job.queue}")
        for host in holding.allocation:
            if not takes_starts(facts, host, holding.start):
                window = facts.hosts[host].windows
                text = f"it starts at {holding.start} s, outside DISPATCH_WINDOW {window} of host"
                yield holding.violation("dispatch-window", f"{text} {host}", host)


def takes_starts(facts: Facts, host: str, time: int) -> bool:
    """Return whether a host's DISPATCH_WINDOW allows a start at that second; always for LSF's
    estimate.
    """
    return facts.as_lsf or _open(facts, facts.hosts[host].windows, time, time + 1)


def run_windows(facts: Facts) -> Iterator[Violation]:
    """Yield jobs that do not fit inside one RUN_WINDOW of their queue, unless `as_lsf`."""
    if facts.as_lsf:
        return
    for holding in facts.planned:
        window = facts.queues[holding.job.queue].run_window
        # A job without a known end is stopped as the window closes.
        finish = holding.start + 1 if holding.finish is None else holding.finish
        if not _open(facts, window, holding.start, finish):
            text = f"it runs from {holding.start} s to {_at(holding.finish)}"
            text = f"{text}, not within RUN_WINDOW {window} of queue {holding.job.queue}"
            yield holding.violation("run-window", text)


def reserved_times(facts: Facts) -> Iterator[Violation]:
    """Yield jobs with -U outside the active time of their reservation, or of a user without
    access.
    """
    for holding in facts.planned:
        if not holding.job.reservation:
            continue
        job, windows = holding.job, reservations.windows_of(facts, holding.job)
        if not windows:
            continue
        name = f"advance reservation {job.reservation}"
        if not any(window.start <= holding.start < window.end for window in windows):
            text = f"job {job.id}: it starts at {holding.start} s, when {name} is not active"
            yield Violation("reservation", text, job.id, "", holding.start)
        users = {user for each in windows[0].users for user in (each, *facts.members(each))}
        if not users & {job.user, "all"}:
            text = f"job {job.id}: {name} is not for user {job.user}"
            yield Violation("reservation", text, job.id, "", holding.start)


def _open(facts: Facts, window: str, start: int, finish: int) -> bool:
    if not window or start >= finish:
        return True
    return open_periods(window, facts.instance.origin, start, finish) == ((start, finish),)


_INFINITE = math.inf


def dependencies(facts: Facts) -> Iterator[Violation]:
    """Yield planned jobs that start although their dependency condition does not hold."""
    if not any(holding.job.dependency for holding in facts.planned):
        return
    times = Times(facts)
    for holding in facts.planned:
        job = holding.job
        if not job.dependency:
            continue
        facts.poll()
        try:
            condition = parse_dependency(job.dependency)
        except DependencyError:
            text = f"job {job.id}: its dependency condition cannot be read"
            yield Violation("dependency", text, job.id, "", holding.start)
            continue
        if not times.holds(condition, job, holding.start - job.think_time):
            text = f"it starts at {holding.start} s, before {job.dependency} holds"
            yield Violation("dependency", f"job {job.id}: {text}", job.id, "", holding.start)


class Times:
    """Start and end of the jobs of a plan; infinite if they never happen or are unknown."""

    def __init__(self, facts: Facts) -> None:
        self.latest = facts.instance.params.job_dep_last_sub
        self.begins: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self.jobs: list[Job] = []
        for job in facts.instance.pending:
            self.begins[job.id] = self.ends[job.id] = _INFINITE
        for holding in (*facts.running, *facts.planned):
            finish = holding.finish
            self.begins[holding.job.id] = holding.start
            self.ends[holding.job.id] = _INFINITE if finish is None else finish
        self.jobs = [item.job for item in facts.instance.running]
        self.jobs += [*facts.instance.pending, *facts.instance.future]

    def holds(self, condition: Condition, asker: Job, time: float) -> bool:
        """Return whether a condition is true at a second."""
        match condition:
            case AllOf(parts):
                return all(self.holds(part, asker, time) for part in parts)
            case AnyOf(parts):
                return any(self.holds(part, asker, time) for part in parts)
            case Negation():
                return True
            case StatusTest():
                return self._passes(condition, self.meant(condition.job, asker), time)

    def _passes(self, test: StatusTest, names: list[str], time: float) -> bool:
        if test.word in ("external", "numhold") or not names:
            return True
        if any(name not in self.begins for name in names):
            return all(self._one(test, name, time) for name in names if name in self.begins)
        started = sum(self.begins[name] <= time for name in names)
        ended = sum(self.ends[name] <= time for name in names)
        wanted = len(names) if test.number is None else test.number
        at_least: Callable[[int], bool] = {
            ">": lambda count: count > wanted,
            ">=": lambda count: count >= wanted,
            "==": lambda count: count >= wanted,
        }.get(test.operator, lambda count: True)
        match test.word:
            case "started":
                return started == len(names)
            case "numrun" | "numstart":
                return at_least(started)
            case "numdone" | "numended" | "numexit":
                return at_least(ended)
            case "numpend":
                waiting = len(names) - started
                if test.number is None or test.operator in (">", ">=", "!="):
                    return True
                return waiting < wanted if test.operator == "<" else waiting <= wanted
            case _:
                return ended == len(names)

    def _one(self, test: StatusTest, name: str, time: float) -> bool:
        """Return whether one of several jobs satisfies a test at `time`."""
        if test.word.startswith("num"):
            return True
        return (self.begins if test.word == "started" else self.ends)[name] <= time

    def meant(self, reference: JobReference, asker: Job) -> list[str]:
        """Return the jobs that a reference denotes: by number, else the user's own jobs of that
        name.
        """
        own, own_index = _split(asker.id)
        numbers = [] if reference.quoted else self._of_number(reference.name)
        named = numbers or self._of_name(reference, asker, own) or self._of_number(reference.name)
        wanted = list(reference.elements)
        if reference.each and own_index is not None:
            wanted = [own_index]
        if not wanted:
            return [job.id for job in named]
        found = []
        for number in dict.fromkeys(_split(job.id)[0] for job in named):
            inside = {_split(j.id)[1] or 0: j.id for j in named if _split(j.id)[0] == number}
            if any(index not in inside for index in wanted):
                return []
            found += [inside[index] for index in wanted]
        return found

    def _of_number(self, number: str) -> list[Job]:
        return [job for job in self.jobs if _split(job.id)[0] == number]

    def _of_name(self, reference: JobReference, asker: Job, own: str) -> list[Job]:
        starred = reference.name.endswith("*")
        found: list[Job] = []
        # An array has one submission: the earliest of its elements, at the position of the last.
        submitted: dict[str, list[int]] = {}
        for place, job in enumerate(self.jobs):
            number = _split(job.id)[0]
            name = job.name.split("[")[0]
            same = name.startswith(reference.name[:-1]) if starred else name == reference.name
            named = bool(name) and same and job.user == asker.user and number != own
            if named or number == own:
                times = submitted.setdefault(number, [job.submit, place])
                times[:] = min(times[0], job.submit), place
            if named:
                found.append(job)
        here = submitted.pop(own, None)
        before = {n: at for n, at in submitted.items() if here is None or at < here} or submitted
        if before and self.latest and not starred:
            last = max(before, key=lambda number: before[number])
            before = {last: before[last]}
        return [job for job in found if _split(job.id)[0] in before]


def _split(name: str) -> tuple[str, int | None]:
    """Return array and index of an element such as ``7[3]``."""
    match = re.fullmatch(r"(.+)\[(\d{1,9})\]", name)
    return (match[1], int(match[2])) if match else (name, None)
