"""What would start a job sooner: changes that are tried one by one, by planning the job again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...model.duration import expected_finish
from ...model.formats.submit import refusals
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Simple
from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..placement.earliest import can_start, earliest_start
from .job_edits import (
    is_compound,
    limit_text,
    section,
    with_limit,
    with_queue,
    with_section,
    with_slots,
)
from .what_if import Asker, Outlook, PlanView

#: Other jobs that are tried away, running and pending ones each.
MOST_OTHERS = 10
#: Suggestions of one kind that are shown: the best starts.
MOST_OF_A_KIND = 2
MINUTE = 60


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change under which the job starts earlier, found by planning it again.

    change: what would have to be otherwise. gain: seconds sooner, None where it never started.
    """

    change: str
    start: int
    gain: int | None
    allocation: dict[str, int]


@dataclass(frozen=True, slots=True)
class Idea:
    """A change to try; of equal starts of one kind the first one tried is shown."""

    kind: str
    change: str
    outlook: Outlook


def job_text(job: str) -> str:
    """``job 17``, or the name alone where it is one."""
    return f"job {job}" if job[:1].isdigit() else job


def suggest(
    forecast: Asker, view: PlanView, demand: Demand, now_planned: Outlook
) -> tuple[tuple[Suggestion, ...], int]:
    """The changes that start the job sooner, the largest gain first, and how many were tried."""
    limit = FOREVER if now_planned.start is None else now_planned.start
    tried = 0
    by_kind: dict[str, list[Idea]] = {}
    for idea in _ideas(forecast, view, demand, limit):
        tried += 1
        start = idea.outlook.start
        if start is not None and start < limit:
            known = by_kind.setdefault(idea.kind, [])
            if all(start != other.outlook.start for other in known):
                known.append(idea)
        if forecast.cancel.is_set():
            break
    found: list[Suggestion] = []
    for ideas in by_kind.values():
        ideas.sort(key=lambda idea: idea.outlook.start or 0)
        for idea in ideas[:MOST_OF_A_KIND]:
            start = idea.outlook.start or 0
            gain = None if now_planned.start is None else now_planned.start - start
            found.append(Suggestion(idea.change, start, gain, dict(idea.outlook.allocation)))
    found.sort(key=lambda suggestion: suggestion.start)
    return tuple(found), tried


def _ideas(forecast: Asker, view: PlanView, demand: Demand, limit: int) -> Iterator[Idea]:
    job = demand.job
    for kind, change, edited in _job_edits(forecast.instance, job):
        if next(refusals(forecast.instance, edited), None) is None:
            yield Idea(kind, change, _outlook(forecast, view, edited, limit))
    yield from _backfill(view, demand, limit)
    if forecast.ahead(job):
        yield Idea("first", "if it were first in line", forecast.outlook(job, first=True))
    yield from _other_jobs(forecast, view, demand, limit)


def _outlook(forecast: Asker, view: PlanView, edited: Job, limit: int) -> Outlook:
    """Its start; not planned again where it cannot be before `limit` even alone."""
    if forecast.method == "optimal":
        demand = forecast.demand(view, edited)
        alone = earliest_start(view.problem.base, demand) if len(demand.terms) == 1 else None
        if len(demand.terms) == 1 and (alone is None or alone.time >= limit):
            return Outlook(edited, None)
    return forecast.outlook(edited)


# --- the job asked for in another way -------------------------------------------------------------


def _job_edits(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    """(kind, what it is, the job) for every change of the job's own options."""
    if not is_compound(job):
        yield from _other_shapes(instance, job)
        for slots in fewer(job.slots):
            yield "slots", f"with -n {slots}", with_slots(job, slots)
        for text, edited in _less_memory(job):
            yield "memory", f"with rusage[{text}]", edited
    if job.exclusive:
        yield "exclusive", "without -x", replace(job, exclusive=False)
    if job.hosts:
        yield "hosts", "without -m", replace(job, hosts=())
    if job.begin is not None and job.begin > instance.now:
        yield "begin", "without -b", replace(job, begin=None)
    for queue in instance.queues:
        if queue.name != job.queue:
            yield "queue", f"in queue {queue.name}", with_queue(job, queue.name)


def _other_shapes(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    requirement = effective_requirement(instance, job).requirement
    assert isinstance(requirement, Simple)
    span = requirement.span
    if span is not None:
        free = with_section(job, "span", None)
        if effective_requirement(instance, free).requirement != replace(requirement, span=None):
            free = with_section(job, "span", "hosts=-1")
        yield "span", "without span[]", free
        for tile in tiles(instance, job):
            if tile != span.ptile:
                text = f"span[ptile={tile}]"
                yield "ptile", f"with {text}", with_section(job, "span", text[5:-1])
    for name in ("cu", "same", "select"):
        if section(job, name) is not None:
            yield name, f"without {name}[]", with_section(job, name, None)
    cu = section(job, "cu")
    if cu is not None and ":" in cu:
        for word in cu.split(":"):
            rest = ":".join(other for other in cu.split(":") if other != word)
            yield "cu", f"with cu[{rest}]", with_section(job, "cu", rest)
    if requirement.cu is not None and requirement.cu.maxcus is not None and cu is not None:
        for most in range(requirement.cu.maxcus + 1, requirement.cu.maxcus + 3):
            text = re.sub(r"maxcus\s*=\s*\d+", f"maxcus={most}", cu)
            yield "cu", f"with cu[{text}]", with_section(job, "cu", text)


def tiles(instance: Instance, job: Job) -> list[int]:
    """ptile values worth a try: divisors of -n that fit on some host, the largest first."""
    most = max((host.slots for host in instance.cluster.hosts), default=0)
    return [n for n in range(min(most, job.slots), 0, -1) if job.slots % n == 0]


def fewer(slots: int) -> list[int]:
    """Smaller values of -n, in falling order: all where they are few, else by about a tenth."""
    found: list[int] = []
    while slots > 1:
        slots = slots - 1 if slots <= 16 else min(slots - 1, slots * 9 // 10)
        found.append(slots)
    return found


def _less_memory(job: Job) -> Iterator[tuple[str, Job]]:
    """The job with three quarters, half, a quarter of its memory, where it asks for one amount."""
    rusage = section(job, "rusage")
    match = re.search(r"\bmem\s*=\s*(\d+(?:\.\d+)?)([A-Za-z]*)", rusage or "")
    if rusage is None or match is None:
        return
    for share in (0.75, 0.5, 0.25):
        text = f"{rusage[: match.start()]}mem={float(match[1]) * share:g}{match[2]}"
        text += rusage[match.end() :]
        yield text, with_section(job, "rusage", text)


def _backfill(view: PlanView, demand: Demand, limit: int) -> Iterator[Idea]:
    """The longest run limit under which the job starts at once, or else as soon as one lets it."""
    for time in view.profile.candidate_times(demand.earliest):
        if time >= limit:
            return
        longest = longest_limit(view.profile, demand, time)
        if longest is None:
            continue
        job = with_limit(demand.job, longest)
        shorter = replace(demand, job=job, duration=longest)
        start = earliest_start(view.profile, shorter)
        if start is not None and start.time < limit:
            change = f"with -W {limit_text(longest)} or less (backfill)"
            where = view.problem.named(start.allocation)
            yield Idea("limit", change, Outlook(job, start.time, start.finish(shorter), where))
            return


def longest_limit(profile: Profile, demand: Demand, time: int) -> int | None:
    """The longest duration (whole minutes, in seconds) that fits at `time`; None if none does.

    Shorter than the job's own. What ends before a later reservation starts does not meet it.
    """
    own = FOREVER if demand.duration is None else demand.duration
    gaps = [start - time for start in profile.later_starts if start > time]
    whole = sorted({gap // MINUTE * MINUTE for gap in gaps if MINUTE <= gap < own})

    def fits(seconds: int) -> bool:
        return can_start(profile, replace(demand, duration=seconds), time)

    if not whole or not fits(whole[0]):
        return None
    low, high = 0, len(whole) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(whole[middle]) else (low, middle - 1)
    return whole[low]


# --- other jobs -----------------------------------------------------------------------------------


def _other_jobs(forecast: Asker, view: PlanView, demand: Demand, limit: int) -> Iterator[Idea]:
    """Running jobs that end now, pending jobs that are not there; the jobs before it move too."""
    instance, job = forecast.instance, demand.job
    for gone in _in_the_way(instance, view, demand, limit):
        running = tuple(item for item in instance.running if item.job.id != gone)
        outlook = forecast.beside(replace(instance, running=running)).outlook(job)
        yield Idea("running", f"if {job_text(gone)} ended now", outlook)
    before = sorted(
        (other for other in view.planned if other.start.time < limit),
        key=lambda other: -other.demand.slots,
    )
    for other in before[:MOST_OTHERS]:
        gone = other.demand.job.id
        pending = tuple(item for item in instance.pending if item.id != gone)
        outlook = forecast.beside(replace(instance, pending=pending)).outlook(job)
        yield Idea("pending", f"if {job_text(gone)} (before it in line) were not there", outlook)


def _in_the_way(instance: Instance, view: PlanView, demand: Demand, limit: int) -> list[str]:
    """Running jobs on hosts that the job may use: those that end at its start, then the largest."""
    hosts = instance.cluster.hosts
    usable = {hosts[int(host)].name for term in demand.terms for host in term.candidates}
    found: list[tuple[bool, int, str]] = []
    for running in instance.running:
        slots = sum(count for host, count in running.allocation.items() if host in usable)
        finish = expected_finish(instance, running)
        if slots and finish != instance.now:
            found.append((finish != limit, -slots, running.job.id))
    return [job for *_, job in sorted(found)[:MOST_OTHERS]]
