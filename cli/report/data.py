"""All that a report shows, as plain data that knows neither HTML nor a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from ...model.display import HOUR, AsData, data_of, duration_text, short_clock_text
from ...model.duration import expected_duration
from ...model.instance import Instance
from ...model.omissions import sentences
from ...model.plan import Plan
from ...solver.advice.comparison import ComparedJob, Comparison
from ...solver.advice.diagnosis.records import Diagnosis, Remedy, WaitingJob
from ...solver.advice.explain import Explanation
from ...solver.advice.likely import FreeOverTime, free_over_time_of_each
from ...solver.fairshare.reports import SharePoint
from ...solver.outlook.outlook import plan_states, words_of
from ...solver.pending_reasons import counted
from ...solver.scheduler.metrics import measure
from ...solver.scheduler.records import JobRecord, Simulation
from .bars import (
    Bar,
    Changes,
    Load,
    RowGroup,
    Stretch,
    bars,
    host_groups,
    load_changes,
    loads,
    opened_within,
    planned_stretches,
    running_stretches,
    step_columns,
)

#: Points of one curve.
MAX_POINTS = 600
#: Share accounts that are drawn: those with the most slots over time.
MAX_ACCOUNTS = 12


@dataclass(frozen=True, slots=True)
class UseOverTime(AsData):
    """From each time (seconds) until the next: slots in use, jobs that wait, slots they ask for."""

    #: Instants in seconds.
    times: tuple[int, ...] = ()
    #: Slots in use at each instant.
    slots: tuple[float, ...] = ()
    #: Number of waiting jobs at each instant.
    waiting: tuple[float, ...] = ()
    #: Slots requested by waiting jobs at each instant.
    asked: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class AccountCurve(AsData):
    """A share account over time; times in seconds, shares as parts of one."""

    policy: str
    account: str
    #: Share that the account should have, from 0 to 1.
    target: float
    times: tuple[int, ...]
    #: Share of the slots in use at each instant, from 0 to 1.
    shares: tuple[float, ...]
    #: Dynamic priority at each instant.
    priorities: tuple[float, ...]


def use_over_time(records: Iterable[JobRecord]) -> UseOverTime:
    """Return the use of the cluster over time, from starts, ends and submissions."""
    changes: dict[int, list[int]] = {}

    def add(time: int, column: int, amount: int) -> None:
        changes.setdefault(time, [0, 0, 0])[column] += amount

    for record in records:
        for since, until, where in record.held:
            add(since, 0, sum(where.values()))
            if until is not None:
                add(until, 0, -sum(where.values()))
        if record.status != "future" and (record.start is None or record.submit < record.start):
            add(record.submit, 1, 1)
            add(record.submit, 2, record.slots)
            if record.start is not None:
                add(record.start, 1, -1)
                add(record.start, 2, -record.slots)
    if not changes:
        return UseOverTime()
    times = np.array(sorted(changes), dtype=np.int64)
    levels = np.cumsum([changes[int(time)] for time in times], axis=0).astype(float)
    return UseOverTime(*step_columns(times, levels, MAX_POINTS))


def account_curves(points: Sequence[SharePoint]) -> list[AccountCurve]:
    """Return the largest accounts with share, target and priority in every cycle."""
    by_account: dict[tuple[str, str], list[SharePoint]] = {}
    for point in points:
        by_account.setdefault((point.policy, point.account), []).append(point)
    largest = sorted(
        by_account, key=lambda key: (-sum(point.slots for point in by_account[key]), key)
    )
    return [_curve(by_account[key]) for key in sorted(largest[:MAX_ACCOUNTS])]


def _curve(points: Sequence[SharePoint]) -> AccountCurve:
    step = -(-len(points) // MAX_POINTS)
    kept = [*points[::step]]
    if kept[-1] is not points[-1]:
        kept.append(points[-1])
    return AccountCurve(
        kept[0].policy,
        kept[0].account,
        round(kept[0].target, 6),
        tuple(point.time for point in kept),
        tuple(round(point.share, 6) for point in kept),
        tuple(round(point.priority, 6) for point in kept),
    )


def plain(record: JobRecord, origin: str | None) -> dict[str, Any]:
    """Return a job of a simulation as a row of the report's table."""
    wanted = ("job", "user", "queue", "slots", "submit", "start", "end", "wait", "status")
    found = record.to_dict(origin)
    return {name: found[name] for name in (*wanted, "backfilled", "reason")}


#: Rows that a chart opens with.
MAX_ROWS = 48
#: Bars of hosts that a report carries; of more it has the loads of groups alone.
MAX_BARS = 150_000
TOO_MANY = (
    "There are too many bars for one page: rows of hosts are empty, and groups show their load."
)
#: Pending jobs, or jobs of a simulation, that the tables list.
MAX_JOBS = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """One of the pictures between which the reader switches."""

    #: "as configured" and "possible" of a comparison; else "greedy", "time-based", "optimal",
    #: "milp" or "simulation".
    name: str
    #: A sentence.
    meaning: str
    #: Planned and reserved intervals, without the running jobs.
    stretches: tuple[Stretch, ...]
    #: Greedy estimate of the job, "no sooner than".
    estimates: Mapping[str, int] = field(default_factory=dict)
    free: FreeOverTime | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """Content of a report; times in seconds from the origin."""

    kind: str
    name: str
    instance: Instance
    #: Intervals of running jobs, shown in every view.
    running: tuple[Stretch, ...]
    views: tuple[View, ...]
    comparison: Comparison | None = None
    plan: Plan | None = None
    #: Explanations by job id, for the jobs that were examined.
    advice: Mapping[str, Explanation] = field(default_factory=dict)
    #: The diagnosis of starving jobs, None if none was requested.
    diagnosis: Diagnosis | None = None
    notes: tuple[str, ...] = ()
    #: Numbers of the comparison.
    metrics: Mapping[str, Any] = field(default_factory=dict)
    #: A record each of the table of a simulation.
    jobs: tuple[Mapping[str, Any], ...] = ()
    use: UseOverTime | None = None
    accounts: tuple[AccountCurve, ...] = ()
    #: By the name of a time, the jobs without it, each with the word for that.
    missing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Whether a limit kept the planner from examining every job.
    cut: bool = False

    @property
    def refused(self) -> bool:
        """Whether the judge objects to a plan that is shown."""
        return any(found.refused for found in (self.plan, self.comparison) if found is not None)


def reserved_stretches(plan: Plan) -> tuple[Stretch, ...]:
    """Return the intervals that a plan reserves now for later starts."""
    return tuple(
        Stretch(item.job, "reserved", plan.now, None, item.reserved)
        for item in plan
        if item.reserved
    )


def views_of_starts(instance: Instance, comparison: Comparison) -> tuple[View, ...]:
    """Return the views of the starts as configured and of the possible starts."""
    configured = tuple(comparison.outlook.configured.values())
    possible = tuple(comparison.optimal)
    free = free_over_time_of_each(instance, (configured, possible))
    meanings = (
        "The scheduler is simulated from now on, as the cluster is configured.",
        "All jobs are planned together, each at its earliest start in priority order.",
    )
    return tuple(
        View(name, meaning, planned_stretches(entries), free=found)
        for name, meaning, entries, found in zip(
            ("as configured", "possible"), meanings, (configured, possible), free, strict=True
        )
    )


def view_of_plan(instance: Instance, plan: Plan) -> View:
    """Return the view of a plan; greedy has starts of now and reserved slots only."""
    (free,) = free_over_time_of_each(instance, [tuple(plan)])
    estimates = {item.job: item.estimate for item in plan if item.estimate is not None}
    meaning = {
        "greedy": "Greedy reservation: jobs that start now, and its reservations (hatched).",
        "time-based": "Time-based reservation: job by job in priority order, first fit.",
        "optimal": "All jobs are planned together, each at its earliest start.",
    }.get(plan.method, "Starts found by mixed-integer programming.")
    held = reserved_stretches(plan) if plan.method == "greedy" else ()
    stretches = (*planned_stretches(plan), *held)
    return View(plan.method, meaning, stretches, estimates, free)


def report_of_comparison(
    name: str,
    instance: Instance,
    comparison: Comparison,
    advice: Mapping[str, Explanation],
    notes: Sequence[str] = (),
) -> Report:
    """Return the report of a comparison: predicted starts and the three methods."""
    likely: tuple[str, ...] = ()
    if comparison.forecast is not None:
        likely = (f"Likely starts are medians by the history, simulated by {comparison.run_by}.",)
    return Report(
        "comparison",
        name,
        instance,
        running_stretches(instance),
        views_of_starts(instance, comparison),
        comparison=comparison,
        advice=advice,
        notes=(*likely, *comparison.remarks, *notes, *_listed(len(comparison))),
        missing=comparison.missing_starts(partial(short_clock_text, instance)),
        cut=comparison.cut,
    )


def report_of_plan(
    name: str,
    instance: Instance,
    plan: Plan,
    advice: Mapping[str, Explanation],
    notes: Sequence[str] = (),
    states: Mapping[str, tuple[str, str]] | None = None,
) -> Report:
    """Return the report of a plan; states: of jobs without a start, computed if None."""
    states = plan_states(instance, plan) if states is None else states
    return Report(
        "plan",
        name,
        instance,
        running_stretches(instance),
        (view_of_plan(instance, plan),),
        plan=plan,
        advice=advice,
        notes=(*plan.notes, *notes, *_listed(len(instance.pending))),
        missing={"start": words_of(plan, states)},
        cut=plan.cut,
    )


def _listed(count: int) -> Iterator[str]:
    """Yield a note if the tables omit some of this many jobs."""
    if count > MAX_JOBS:
        yield f"The tables list the first {MAX_JOBS:,} of {count:,} jobs."


def report_of_bare_plan(
    name: str, instance: Instance, plan: Plan, notes: Sequence[str] = ()
) -> Report:
    """Return the report of a plan that has only the hosts of its jobs, not their requests."""
    entries = tuple(replace(item, terms=(), alternative=0) for item in plan)
    drawn = report_of_plan(name, instance, replace(plan, reservations=entries), {}, notes, {})
    return replace(drawn, plan=plan)


def report_of_simulation(
    name: str, result: Simulation, points: Sequence[SharePoint] = ()
) -> Report:
    """Return the report of a simulation: allocations of jobs, use and shares over time."""
    instance = result.instance
    before = {run.job.id for run in instance.running}
    stretches = [
        Stretch(record.job, "running" if record.job in before else "planned", since, until, where)
        for record in result.jobs
        for since, until, where in record.held
    ]
    notes = [*result.notes, *sentences(result.omissions), *_listed(len(result.jobs))]
    if not result.complete:
        notes.append(f"The simulation was stopped at second {result.time}.")
    view = View(
        "simulation",
        f"The scheduler loop with {result.settings.reservation} reservation.",
        tuple(stretch for stretch in stretches if stretch.kind != "running"),
    )
    return Report(
        "simulation",
        name,
        instance,
        tuple(stretch for stretch in stretches if stretch.kind == "running"),
        (view,),
        notes=tuple(notes),
        missing={
            "start": {
                record.job: "not started"
                for record in result.jobs[:MAX_JOBS]
                if record.start is None
            }
        },
        metrics=measure(result).to_dict(),
        jobs=tuple(plain(record, instance.origin) for record in result.jobs[:MAX_JOBS]),
        use=use_over_time(result.jobs),
        accounts=tuple(account_curves(points)),
    )


@dataclass(frozen=True, slots=True)
class Chart:
    """A view made ready to be drawn."""

    groups: tuple[RowGroup, ...]
    opened: frozenset[int]
    #: Number of hosts.
    bars: tuple[Bar, ...]
    #: Load of every group, at the end of all hosts.
    loads: tuple[Load, ...]
    #: Seconds at which the planned part of the picture begins.
    begin: int
    #: Second at which the chart ends.
    end: int


def chart(
    report: Report,
    view: View,
    *,
    bare: bool = False,
    before: Changes | None = None,
) -> Chart:
    """Return the bars and loads of one view with the running jobs.

    bare: without bars. before: changes of the load by the running jobs, None if unknown.
    """
    cluster = report.instance.cluster
    index = cluster.host_index()
    slots = [host.slots for host in cluster.hosts]
    groups = host_groups(cluster)
    if before is None:
        before = load_changes(report.running, groups, index, len(slots))
    begin, end = time_range(report)
    return Chart(
        groups,
        opened_within(groups, len(slots), MAX_ROWS),
        () if bare else tuple(bars([*report.running, *view.stretches], index, slots)),
        tuple(loads(view.stretches, groups, index, slots, before)),
        begin,
        end,
    )


def time_range(report: Report) -> tuple[int, int]:
    """Return the initial range of a picture: from now to the last known planned end."""
    now = report.instance.now
    ends = [
        time
        for view in report.views
        for stretch in view.stretches
        for time in (stretch.start, stretch.finish)
        if time is not None
    ]
    later = [time for time in ends if time > now]
    if not later:
        later = [
            stretch.finish for stretch in report.running if stretch.finish and stretch.finish > now
        ]
    return now, max(later, default=now + HOUR)


def as_records(report: Report) -> dict[str, Any]:
    """Return the report as plain data for JSON; `assets/model.js` reads it."""
    instance = report.instance
    most = max(sum(len(stretch.allocation) for stretch in view.stretches) for view in report.views)
    bare = most + sum(len(stretch.allocation) for stretch in report.running) > MAX_BARS
    cluster = instance.cluster
    hosts = len(cluster.hosts)
    before = load_changes(report.running, host_groups(cluster), cluster.host_index(), hosts)
    charts = [chart(report, view, bare=bare, before=before) for view in report.views]
    first = charts[0]
    jobs = _jobs(report)
    number = {job["id"]: place for place, job in enumerate(jobs)}
    drawn = not bare and max(len(item.bars) for item in charts) <= MAX_BARS

    def rectangles(found: Sequence[Bar], running: bool) -> list[list[Any]]:
        kept = [bar for bar in found if (bar.kind == "running") == running] if drawn else []
        return [
            [number[b.job], int(b.kind == "reserved"), b.host, b.first, b.count, b.start, b.finish]
            for b in kept
        ]

    return {
        **data_of(report, "kind name"),
        "title": instance.name or report.name,
        **data_of(instance, "description now origin"),
        **data_of(first, "begin end"),
        "hosts": [[host.name, host.slots, host.status] for host in instance.cluster.hosts],
        "groups": [[g.name, g.type, g.parent, list(g.hosts), list(g.own)] for g in first.groups],
        "opened": sorted(first.opened),
        "jobs": jobs,
        "running": rectangles(first.bars, running=True),
        "barsLeftOut": not drawn,
        "views": [
            {
                **data_of(view, "name meaning"),
                "bars": rectangles(found.bars, running=False),
                **data_of(found, "loads"),
                **data_of(view, "estimates free"),
            }
            for view, found in zip(report.views, charts, strict=True)
        ],
        "comparison": None if report.comparison is None else report.comparison.to_dict(MAX_JOBS),
        **data_of(report, "plan advice"),
        "notes": [*report.notes, *([] if drawn else [TOO_MANY])],
        **data_of(report, "metrics records=jobs use accounts"),
    }


def _jobs(report: Report) -> list[dict[str, Any]]:
    """Return every job that the charts may name: running, pending, future."""
    instance = report.instance
    states = [(run.job, "running") for run in instance.running]
    states += [(job, "pending") for job in instance.pending]
    states += [(job, "future") for job in instance.future]
    return [
        {
            **data_of(job, "id user queue slots"),
            "state": state,
            "submit": job.submit,
            "duration": expected_duration(instance, job),
        }
        for job, state in states
    ]


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
