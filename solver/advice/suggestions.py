"""What would start a job sooner: changes that are tried one by one, by planning the job again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...model.cluster import DEAD_STATUSES, Host
from ...model.duration import expected_finish
from ...model.formats.submit import refusals
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Simple
from ...model.resreq.vocabulary import UNITS
from ...model.time_text import with_stamps
from ..availability.demand import Demand
from ..availability.profile import FOREVER
from ..placement.earliest import earliest_start
from .job_edits import (
    cut_short,
    gpu_edits,
    is_compound,
    limit_text,
    memory_edit,
    section,
    with_limit,
    with_queue,
    with_section,
    with_slots,
)
from .smallest import fewer, is_useful, ladder, more, smallest_changes
from .what_if import Asker, Outlook, PlanView

#: Other jobs that are tried away, running and pending ones each.
MOST_OTHERS = 10
#: Hosts that are down or closed that are tried open, each by itself.
MOST_HOSTS = 6
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

    def to_dict(self, origin: str | None) -> dict[str, Any]:
        """Plain data, the start in seconds, an ISO stamp beside it where there is an origin."""
        found = {"change": self.change, "start": self.start, "gain": self.gain}
        return with_stamps({**found, "allocation": self.allocation}, origin, ("start",))


@dataclass(frozen=True, slots=True)
class Idea:
    """A change with what it gives; useful: whether it leaves enough of what was asked."""

    kind: str
    change: str
    outlook: Outlook
    useful: bool = True


@dataclass(slots=True)
class Trials:
    """Changes of one job, each planned again by the method itself; `tried` counts them.

    limit: seconds, the start that a change has to beat.
    """

    forecast: Asker
    view: PlanView
    demand: Demand
    limit: int
    tried: int = 0

    def count(self) -> None:
        """One more change that is tried."""
        self.tried += 1

    def outlook(self, edited: Job) -> Outlook:
        """The start of the job asked for in another way, none where it is refused or cut short.

        An exact plan is left out where the job could not start before the limit even alone.
        """
        forecast = self.forecast
        self.count()
        refused = next(refusals(forecast.instance, edited), None) or cut_short(
            forecast.instance, edited, self.demand.job.queue
        )
        if refused or forecast.stopped():
            return Outlook(edited, None)
        if forecast.method == "optimal":
            demand = forecast.demand(self.view, edited)
            if len(demand.terms) == 1:
                alone = earliest_start(self.view.problem.base, demand)
                if alone is None or alone.time >= self.limit:
                    return Outlook(edited, None)
        return forecast.sooner(edited, self.limit)

    def numbers(
        self, asked: int, values: Sequence[int], edit: Callable[[int], Job]
    ) -> list[tuple[int, Outlook]]:
        """The smallest changes of a number, for the best starts."""
        known: dict[int, Outlook] = {}

        def outlook_of(value: int) -> Outlook:
            if value not in known:
                known[value] = self.outlook(edit(value))
            return known[value]

        found = list(smallest_changes(asked, values, outlook_of, self.limit))
        return [] if self.forecast.refrained else found

    def limits(self) -> list[tuple[int, Outlook]]:
        """The longest run limits (minutes, shorter than its own) with which it starts sooner."""
        job, now = self.demand.job, self.view.problem.instance.now
        own = self.demand.runs
        # Without a limit of its own: nothing changes any more behind the last event.
        seconds = self.view.profile.changes()[-1] - now + MINUTE if own is None else own
        asked = -(-seconds // MINUTE)
        return self.numbers(asked, ladder(asked), lambda n: with_limit(job, n * MINUTE))


def job_text(job: str) -> str:
    """``job 17``, or the name alone where it is one."""
    return f"job {job}" if job[:1].isdigit() else job


def suggest(
    forecast: Asker, view: PlanView, demand: Demand, now_planned: Outlook
) -> tuple[tuple[Suggestion, ...], int]:
    """The changes that start the job sooner, the largest gain first, and how many were tried.

    Changes that leave little of what was asked come last.
    """
    limit = FOREVER if now_planned.start is None else now_planned.start
    trials = Trials(forecast, view, demand, limit)
    return best_of(_ideas(trials), now_planned, forecast.cancel.is_set), trials.tried


def best_of(
    ideas: Iterable[Idea], now_planned: Outlook, stopped: Callable[[], bool]
) -> tuple[Suggestion, ...]:
    """Those that start sooner than planned, the best of each kind, the largest gain first."""
    limit = FOREVER if now_planned.start is None else now_planned.start
    by_kind: dict[str, list[Idea]] = {}
    for idea in ideas:
        start = idea.outlook.start
        if start is not None and start < limit:
            known = by_kind.setdefault(idea.kind, [])
            if all(start != other.outlook.start for other in known):
                known.append(idea)
        if stopped():
            break
    found: list[tuple[bool, Suggestion]] = []
    for alike in by_kind.values():
        alike.sort(key=lambda idea: (not idea.useful, idea.outlook.start or 0))
        for idea in alike[:MOST_OF_A_KIND]:
            start = idea.outlook.start or 0
            gain = None if now_planned.start is None else now_planned.start - start
            shown = Suggestion(idea.change, start, gain, dict(idea.outlook.allocation))
            found.append((not idea.useful, shown))
    found.sort(key=lambda item: (item[0], item[1].start))
    return tuple(suggestion for _, suggestion in found)


def _ideas(trials: Trials) -> Iterator[Idea]:
    forecast, job = trials.forecast, trials.demand.job
    for kind, change, edited in _job_edits(forecast.instance, job):
        yield Idea(kind, change, trials.outlook(edited))
    if not is_compound(job):
        yield from _numbers(trials)
    for minutes, outlook in trials.limits():
        change = f"with -W {limit_text(minutes * MINUTE)} or less (backfill)"
        own = trials.demand.runs
        useful = own is None or is_useful(minutes, -(-own // MINUTE))
        yield Idea("limit", change, outlook, useful)
    if forecast.ahead(job):
        trials.tried += 1
        yield Idea("first", "if it were first in line", forecast.outlook(job, first=True))
    yield from _other_jobs(trials)
    yield from closed_hosts(forecast, job, trials.limit, trials.count)


# --- numbers --------------------------------------------------------------------------------------


def _numbers(trials: Trials) -> Iterator[Idea]:
    """Fewer slots, another ptile, less memory: the smallest change for each start."""
    instance, job = trials.forecast.instance, trials.demand.job
    slots = trials.numbers(job.slots, fewer(job.slots), lambda n: with_slots(job, n))
    for count, outlook in slots:
        yield Idea("slots", f"with -n {count}", outlook, is_useful(count, job.slots))
    requirement = effective_requirement(instance, job).requirement
    assert isinstance(requirement, Simple)
    if requirement.span is not None:
        yield from _tiles(trials, requirement.span.ptile)
    memory = memory_edit(job, UNITS[instance.params.unit_for_limits])
    if memory is not None:
        asked, edit = memory
        for amount, outlook in trials.numbers(asked, ladder(asked), edit):
            text = section(outlook.job, "rusage")
            yield Idea("memory", f"with rusage[{text}]", outlook, is_useful(amount, asked))


def _tiles(trials: Trials, own: int | None) -> Iterator[Idea]:
    """Fewer and more slots a host, the nearest first; all values where there is none of its own."""
    instance, job = trials.forecast.instance, trials.demand.job
    most = min(max((host.slots for host in instance.cluster.hosts), default=0), job.slots)
    start = most + 1 if own is None else min(own, most + 1)
    near: list[tuple[int, Outlook]] = []
    for values in (fewer(start), more(start, most)):
        near += trials.numbers(start, values, lambda n: with_section(job, "span", f"ptile={n}"))
    for tile, outlook in sorted(near, key=lambda item: abs(item[0] - start)):
        yield Idea("ptile", f"with span[ptile={tile}]", outlook)


# --- the job asked for in another way -------------------------------------------------------------


def _job_edits(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    """(kind, what it is, the job) for every change of the job's own options."""
    if not is_compound(job):
        yield from other_shapes(instance, job)
    if job.exclusive and not job.whole_hosts:
        yield "exclusive", "without -x", replace(job, exclusive=False)
    if job.hosts:
        yield "hosts", "without -m", replace(job, hosts=())
    for change, text in gpu_edits(job):
        yield "gpu", change, replace(job, gpu=text)
    if job.extsched:
        yield "extsched", "without -ext", replace(job, extsched="")
    if job.begin is not None and job.begin > instance.now:
        yield "begin", "without -b", replace(job, begin=None)
    if job.dependency:
        yield "dependency", "without -w", replace(job, dependency="")
    for queue in instance.queues:
        if queue.name != job.queue:
            yield "queue", f"in queue {queue.name}", with_queue(job, queue.name)


def other_shapes(instance: Instance, job: Job) -> Iterator[tuple[str, str, Job]]:
    """(section, what is changed, the job) for less of span, cu, same and select.

    Of a job with a requirement that is not compound.
    """
    requirement = effective_requirement(instance, job).requirement
    assert isinstance(requirement, Simple)
    span = requirement.span
    if span is not None:
        free = with_section(job, "span", None)
        if effective_requirement(instance, free).requirement != replace(requirement, span=None):
            free = with_section(job, "span", "hosts=-1")
        yield "span", "without span[]", free
    yield from _other_units(job, requirement)
    for name in ("same", "select"):
        if section(job, name) is not None:
            yield name, f"without {name}[]", with_section(job, name, None)


def _other_units(job: Job, requirement: Simple) -> Iterator[tuple[str, str, Job]]:
    """Less of cu[], the smallest change first: of those with one start it is the one shown."""
    cu = section(job, "cu")
    if cu is None:
        return
    if requirement.cu is not None and requirement.cu.maxcus is not None:
        for most in range(requirement.cu.maxcus + 1, requirement.cu.maxcus + 3):
            text = re.sub(r"maxcus\s*=\s*\d+", f"maxcus={most}", cu)
            yield "cu", f"with cu[{text}]", with_section(job, "cu", text)
    if ":" in cu:
        for word in cu.split(":"):
            rest = ":".join(other for other in cu.split(":") if other != word)
            yield "cu", f"with cu[{rest}]", with_section(job, "cu", rest)
    yield "cu", "without cu[]", with_section(job, "cu", None)


def tiles(instance: Instance, job: Job) -> list[int]:
    """ptile values worth a try: divisors of -n that fit on some host, the largest first."""
    most = max((host.slots for host in instance.cluster.hosts), default=0)
    return [n for n in range(min(most, job.slots), 0, -1) if job.slots % n == 0]


# --- other jobs -----------------------------------------------------------------------------------


def _other_jobs(trials: Trials) -> Iterator[Idea]:
    """Running jobs that end now, pending jobs that are not there; the jobs before it move too."""
    forecast, view, limit = trials.forecast, trials.view, trials.limit
    instance, job = forecast.instance, trials.demand.job
    if forecast.stopped():
        return
    for gone in _in_the_way(instance, view, trials.demand, limit):
        if forecast.stopped():
            return
        trials.tried += 1
        running = tuple(item for item in instance.running if item.job.id != gone)
        outlook = forecast.beside(replace(instance, running=running)).outlook(job)
        yield Idea("running", f"if {job_text(gone)} ended now", outlook)
    needed = set(forecast.needed(job))
    ahead = [other for other in forecast.ahead(job) if other not in needed]
    for gone in _before_it(ahead, view, limit):
        if forecast.stopped():
            return
        trials.tried += 1
        pending = tuple(item for item in instance.pending if item.id != gone)
        outlook = forecast.beside(replace(instance, pending=pending)).outlook(job)
        yield Idea("pending", f"if {job_text(gone)} (before it in line) were not there", outlook)


def _before_it(ahead: Sequence[Job], view: PlanView, limit: int) -> list[str]:
    """Pending jobs before it: those that start before it would, the largest first, then the others.

    One that starts later, or has no start, may still keep slots that its window would reach into.
    """
    sooner = {other.demand.job.id for other in view.planned if other.start.time < limit}
    ordered = sorted(ahead, key=lambda other: (other.id not in sooner, -other.slots))
    return [other.id for other in ordered[:MOST_OTHERS]]


def _in_the_way(instance: Instance, view: PlanView, demand: Demand, limit: int) -> list[str]:
    """Running jobs: those that end at its start, then on hosts that it may use, then the largest.

    On other hosts one may hold what the job waits for too: a licence, a limit, a whole unit.
    """
    hosts = instance.cluster.hosts
    usable = {hosts[int(host)].name for term in demand.terms for host in term.candidates}
    found: list[tuple[bool, bool, int, str]] = []
    for running in instance.running:
        slots = sum(count for host, count in running.allocation.items() if host in usable)
        finish = expected_finish(instance, running)
        if finish != instance.now:
            found.append((finish != limit, not slots, -slots, running.job.id))
    return [job for *_, job in sorted(found)[:MOST_OTHERS]]


# --- hosts ----------------------------------------------------------------------------------------


def closed_hosts(
    forecast: Asker, job: Job, limit: int, count: Callable[[], None] = lambda: None
) -> Iterator[Idea]:
    """Hosts that are down or closed, opened: all of them, and single ones where that helps.

    count: called for each that is tried. All of them together only where that beats single ones.
    """
    instance = forecast.instance
    closed = [host for host in instance.cluster.hosts if not host.takes_jobs]
    if not closed or forecast.stopped():
        return
    count()
    together = forecast.beside(_opened(instance, closed)).outlook(job)
    if together.start is None or together.start >= limit:
        return
    best = limit
    if len(closed) > 1:
        largest = sorted(
            closed, key=lambda host: (host.name not in together.allocation, -host.slots)
        )
        for host in largest[:MOST_HOSTS]:
            count()
            outlook = forecast.beside(_opened(instance, [host])).outlook(job)
            yield Idea("hosts back", _if_back([host]), outlook)
            best = best if outlook.start is None else min(best, outlook.start)
    if together.start < best:
        yield Idea("hosts back", _if_back(closed), together)


def _opened(instance: Instance, hosts: Sequence[Host]) -> Instance:
    names = {host.name for host in hosts}
    opened = (
        replace(host, status="ok") if host.name in names else host
        for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=tuple(opened)))


def _if_back(hosts: Sequence[Host]) -> str:
    """``if n2 came back (it is unavail)``; of many hosts their number."""
    if len(hosts) > 1:
        return f"if all {len(hosts)} hosts that are down or closed took jobs again"
    host = hosts[0]
    verb = "came back" if host.status in DEAD_STATUSES else "were opened"
    return f"if {host.name} {verb} (it is {host.status})"
