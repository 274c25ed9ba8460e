"""Status of a report: one line in red, amber or green, and three figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ...model.display import HOUR, duration_text
from ...model.plan import Plan
from ...solver.advice.comparison import ComparedJob, Comparison
from ...solver.advice.diagnosis.records import Diagnosis, Remedy, WaitingJob
from ...solver.pending_reasons import counted
from .data import Report

#: Levels: jobs are stuck; something could be better; all jobs start at their earliest; nothing to
#: judge.
Level: TypeAlias = Literal["bad", "warn", "good", "plain"]


@dataclass(frozen=True, slots=True)
class Status:
    """The status above the page: number of jobs concerned, gain by one change, cost for others."""

    level: Level
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it counts; before it what it is as configured, behind it of how many."""

    #: The number, as text.
    value: str
    #: What the number counts.
    what: str
    more: str
    before: str = ""
    of: str = ""
    #: Id of the section of the page that has the details, "" if there is none.
    leads_to: str = ""


def status_of(report: Report) -> Status:
    """Return the status above a report."""
    if report.refused:
        return Status("bad", ("The validator rejects a plan that is shown here",))
    if report.comparison is not None:
        return _of_comparison(report, report.comparison)
    if report.plan is not None:
        return _of_plan(report.plan)
    started, jobs = report.metrics.get("started", 0), report.metrics.get("jobs", 0)
    level: Level = "plain" if started == jobs else "warn"
    return Status(level, (f"{started} of {counted(jobs, 'job')} started in the simulation",))


def figures_of(report: Report) -> tuple[Figure, ...]:
    """Return the three figures below the status line."""
    if report.comparison is not None:
        return tuple(_figures_of_comparison(report, report.comparison))
    if report.plan is not None:
        return tuple(_figures_of_plan(report, report.plan))
    return tuple(_figures_of_simulation(report.metrics))


def _of_comparison(report: Report, comparison: Comparison) -> Status:
    if not comparison.jobs:
        return Status("good", ("Nothing waits",))
    found = _Concerned.of(report.diagnosis, comparison)
    if found.stuck:
        many = len(found.stuck)
        head = f"{counted(many, 'job')} {'is' if many == 1 else 'are'} stuck"
        return Status("bad", (head, *_by_changes(found.stuck_items, many)))
    if found.held:
        many = len(found.held)
        head = f"{counted(many, 'job')} would start earlier with one change"
        return Status("warn", (head, *_by_changes(found.held, many)))
    if found.sooner:
        return Status("warn", tuple(_by_planning(found.sooner, comparison)))
    if comparison.cut or (report.diagnosis is not None and report.diagnosis.cut):
        return Status("warn", ("Not everything was examined in time",))
    if found.undated:
        many = len(found.undated)
        verb = "has" if many == 1 else "have"
        return Status("warn", (f"{counted(many, 'job')} {verb} no known start",))
    return Status("good", _as_early_as_known(comparison))


def _as_early_as_known(comparison: Comparison) -> tuple[str, ...]:
    """Return the sentence that no job could start earlier, or how much of it is proved."""
    total, proved = len(comparison), sum(row.proved for row in comparison)
    one = total == 1
    who = "The one job starts" if one else f"All {total} jobs start"
    if proved == total:
        return f"{who} as early as {'it' if one else 'they'} can", "proved"
    return (
        f"{who} as early as in the plan",
        f"{proved} of {total} proved",
    )


@dataclass(frozen=True, slots=True)
class _Concerned:
    """The jobs by what is the matter with them."""

    #: Ids of those that starve or cannot start here.
    stuck: tuple[str, ...] = ()
    #: Findings of the diagnosis on these jobs.
    stuck_items: tuple[WaitingJob, ...] = ()
    #: Jobs that do not starve and that one change brings forward.
    held: tuple[WaitingJob, ...] = ()
    #: Other jobs that could start earlier in the plan of all jobs.
    sooner: tuple[ComparedJob, ...] = ()
    #: Ids of those whose start is not known.
    undated: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, diagnosis: Diagnosis | None, comparison: Comparison) -> _Concerned:
        """Return the status from the diagnosis, or from the outlook alone if there is none."""
        never = [row.job for row in comparison if row.state == "impossible"]
        undated = [row.job for row in comparison if row.state in ("starts if", "unknown end")]
        sooner = tuple(row for row in comparison if row.earlier_by)
        if diagnosis is None:
            return cls(tuple(never), sooner=sooner, undated=tuple(undated))
        stuck = [item.job for item in diagnosis.starving]
        names = dict.fromkeys((*stuck, *never, *diagnosis.impossible))
        return cls(
            tuple(names),
            tuple(item for item in diagnosis.jobs if item.job in names),
            tuple(item for item in diagnosis.jobs if item.job not in names and item.remedies),
            sooner,
            tuple(undated),
        )


def _by_changes(items: Sequence[WaitingJob], many: int) -> Iterator[str]:
    """Yield the effect of one change on these jobs and others; many: number of jobs in the
    status.
    """
    firsts = [(item, item.remedies[0]) for item in items if item.remedies]
    if not firsts:
        yield "no single change that was tried helps"
        return
    one = len({remedy.key for _, remedy in firsts}) == 1
    gains = [remedy.gain for _, remedy in firsts if remedy.gain is not None]
    who = "it" if many == 1 else "them" if len(firsts) == many else f"{len(firsts)} of them"
    change = "1 change" if one else "one change each"
    if gains:
        yield f"{change} saves {duration_text(sum(gains))} for {who}"
    else:
        yield f"{change} lets {who} start"
    yield _of_others({item.job for item in items}, [remedy for _, remedy in firsts], one)


def _of_others(concerned: set[str], remedies: Sequence[Remedy], one: bool) -> str:
    """Return which other jobs the changes delay."""
    losers = [
        {*(item.job for item in remedy.cost.longer), *remedy.cost.lost} - concerned
        for remedy in remedies
    ]
    if one or not any(losers):
        many = len(set().union(*losers))
        return f"{many} other{'' if many == 1 else 's'} wait{'s' if many == 1 else ''} longer"
    free = sum(not found for found in losers)
    return f"{free} of the {len(remedies)} delay no other job"


def _by_planning(sooner: Sequence[ComparedJob], comparison: Comparison) -> Iterator[str]:
    """Yield the effect of planning all jobs together on some jobs, and on the others."""
    many = len(sooner)
    gain = duration_text(sum(row.earlier_by or 0 for row in sooner))
    yield f"{counted(many, 'job')} {'is' if many == 1 else 'are'} held back"
    yield f"planning all jobs together saves {gain} for {'it' if many == 1 else 'them'}"
    late = sum(row.is_ahead for row in comparison)
    yield f"{late} other{'' if late == 1 else 's'} start{'s' if late == 1 else ''} later"


def _of_plan(plan: Plan) -> Status:
    left = len(plan.unplaced)
    if left:
        verb = "has" if left == 1 else "have"
        return Status("warn", (f"{counted(left, 'job')} {verb} no start", f"method {plan.method}"))
    planned = f"{counted(len(plan), 'job')} planned by {plan.method}"
    proved = sum(item.proved for item in plan)
    done = len(plan) > 0 and proved == len(plan)
    return Status("good" if done else "plain", (planned, f"{proved} of {len(plan)} starts proved"))


def _figures_of_comparison(report: Report, comparison: Comparison) -> Iterator[Figure]:
    total = len(comparison)
    before, after = (_now(report, comparison, name) for name in ("as_configured", "possible"))
    more = f"as configured → possible, of {total}"
    yield Figure(after, "jobs start now", more, before=before)
    yield _waiting(comparison)
    proved = sum(row.proved for row in comparison)
    settings = len(comparison.outlook.cautions())
    more = f"{counted(settings, 'setting')} not modelled" if settings else "in priority order"
    yield Figure(
        *(str(proved), "starts proved the earliest", more),
        of=str(total),
        leads_to="limits" if settings else "",
    )


def _now(report: Report, comparison: Comparison, name: str) -> str:
    """Return how many of the examined jobs start now; "–" if none was examined."""
    unknown = sum(word == "not examined" for word in report.missing[name].values())
    now = sum(getattr(row, name) == comparison.now for row in comparison)
    if unknown == len(comparison):
        return "–"
    return f"≥ {now}" if unknown else str(now)


def _waiting(comparison: Comparison) -> Figure:
    """Return the waits of the jobs from now on, as configured and as possible."""
    known = [row for row in comparison if row.sooner_by is not None]
    what = "of remaining waiting time"
    if not known:
        return Figure("–", what, "no start is known")
    waits = [
        [(getattr(row, name) - comparison.now, row.slots) for row in known]
        for name in ("as_configured", "possible")
    ]
    before, after = (sum(wait for wait, _ in each) for each in waits)
    hours = [sum(wait * slots for wait, slots in each) / HOUR for each in waits]
    more = f"{hours[0]:,.0f} → {hours[1]:,.0f} slot-hours"
    if len(known) < len(comparison):
        more += f", {len(known)} of {len(comparison)} jobs"
    left = duration_text(after) if after else "none"
    return Figure(left, what, more, before=duration_text(before) if before else "none")


def _figures_of_plan(report: Report, plan: Plan) -> Iterator[Figure]:
    words = report.missing["start"].values()
    unknown = sum(word in ("no date", "not examined") for word in words)
    if plan.method == "greedy" and not plan.cut:  # it gives estimates, not starts
        unknown = 0
    now = sum(item.start == plan.now for item in plan)
    yield Figure(
        *(str(now), "jobs start now", f"method {plan.method}, {plan.objective}"),
        of=str(len(report.instance.pending)),
    )
    left = len(plan.unplaced)
    more = f"{left} without a start" if left else f"status {plan.status}"
    yield Figure(
        *(str(len(plan) - unknown), "jobs planned", more), of=str(len(report.instance.pending))
    )
    proved = sum(item.proved for item in plan)
    yield Figure(str(proved), "starts proved the earliest", "in priority order", of=str(len(plan)))


def _figures_of_simulation(metrics: Any) -> Iterator[Figure]:
    def seconds(name: str) -> str:
        value = metrics.get(name)
        return "–" if value is None else duration_text(round(value))

    done = metrics.get("started", 0), metrics.get("jobs", 0)
    back = f"{metrics.get('backfilled', 0)} backfilled"
    yield Figure(str(done[0]), "jobs started", back, of=str(done[1]))
    idle = f"{100 * metrics.get('idle_while_waiting', 0.0):.1f} % idle while jobs waited"
    yield Figure(f"{100 * metrics.get('utilisation', 0.0):.1f} %", "of the slots in use", idle)
    yield Figure(seconds("mean_wait"), "mean wait", f"95th percentile {seconds('p95_wait')}")
