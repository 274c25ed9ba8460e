"""Comparison of the starts of every pending job: as configured, estimated, possible, and by
method.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ...model.errors import InputError, nearest
from ...model.instance import Instance
from ...model.objective import ObjectiveName, objective_named
from ...model.omissions import Omission
from ...model.plan import Method, Plan, PlannedJob
from ...model.progress import OnProgress
from ..budget import Budget
from ..forecast.history import History
from ..outlook.outlook import configured_within, outlook_of
from ..outlook.records import Outlook
from ..planning import grace_of, nothing_planned, plan
from ..scheduler.continuation import rules_that_move, simulated_placements
from .comparison import COMPARED, ComparedJob, Comparison
from .likely import USUAL, Drawing, Forecaster, StartQuantiles
from .sentences import configuration_of

#: Maximum number of pending jobs for simulations with methods other than the configured one.
MAX_SIMULATED = 100
#: Shares of the remaining seconds for the steps of a comparison, in their order; simulations by
#: other methods have the rest.
CONFIGURED_SHARE, FORECAST_SHARE, OPTIMAL_SHARE = 0.3, 0.3, 0.6
#: Shares of the remaining seconds for the plans by greedy and time-based reservation.
GREEDY_SHARE, TIME_BASED_SHARE = 0.2, 0.3


def compare(
    instance: Instance,
    *,
    methods: bool | Collection[str] | None = None,
    objective: ObjectiveName = "lexicographic",
    time_limit: float | None = None,
    effort: float | None = None,
    workers: int | None = None,
    as_lsf: bool = False,
    margin: int = 0,
    cancel: threading.Event | None = None,
    on_progress: OnProgress | None = None,
    history: History | str | Path | None = None,
    drawing: Drawing = USUAL,
) -> Comparison:
    """Return the starts of every pending job as configured, estimated and possible.

    methods: those to compare, by a plan and, if at most :data:`MAX_SIMULATED` jobs wait, a
    simulation; True: all, False: none, None: :func:`default_methods`. objective, effort, workers,
    as_lsf: as in `plan`. time_limit: wall seconds of the whole; None: only the optimal plan has its
    limit. margin: of each plan, in seconds; simulations have none. cancel: set it to stop; jobs not
    examined by then are marked. history: finished jobs, or a log of them, for forecast starts.
    drawing: their settings. Raises InputError for a bad history or method.
    """
    compared = _requested(instance, methods)
    forecaster = Forecaster.of(instance, history, drawing, None, cancel)
    cancel = cancel or threading.Event()
    whole = Budget(time_limit, cancel=cancel, grace=grace_of(time_limit))
    configured = configured_within(instance, whole, CONFIGURED_SHARE)
    took = whole.elapsed()
    plans = _estimates(instance, compared, margin, whole)
    likely = None if forecaster is None else forecaster.all(whole.time_share(FORECAST_SHARE))
    options = {"objective": objective, "effort": effort, "workers": workers, "as_lsf": as_lsf}
    optimal = (nothing_planned if _no_time(whole, took) else plan)(
        instance,
        "optimal",
        **options,  # type: ignore[arg-type]
        time_limit=whole.time_share(OPTIMAL_SHARE if compared else 1.0),
        margin=margin,
        cancel=cancel,
        on_progress=on_progress,
    )
    loop, stopped = _run_on(instance, _simulated(instance, compared, objective), whole)
    rest = Budget(whole.time_share(1.0), cancel=cancel, grace=whole.grace)
    outlook = outlook_of(instance, configured, optimal, rest)
    cut = stopped or outlook.cut or any(made.cut for made in plans.values())
    return Comparison(
        _rows(outlook, compared, plans, loop),
        outlook,
        methods=compared,
        configuration=configuration_of(instance, configured.method),
        greedy=plans.get("greedy"),
        time_based=plans.get("time-based"),
        loop=loop,
        moving=_moving(instance, optimal, loop, whole),
        cut=cut or _is_short(likely, instance),
        forecast=likely,
        remarks=() if forecaster is None else forecaster.remarks,
        run_by="" if forecaster is None else forecaster.run_by,
    )


def _no_time(whole: Budget, took: float) -> bool:
    """Return whether too little time is left for another plan.

    took: seconds that a similar computation took. On large clusters, even a small plan exceeds the
    grace period.
    """
    return whole.late() or (took > whole.grace and whole.left() < took)


def default_methods(instance: Instance) -> tuple[Method, ...]:
    """Return the methods that are compared if none are named: greedy and optimal.

    (): the instance has the settings of a scheduler, whose starts are of more interest.
    """
    reserves = any(queue.reserve_cycles is not None or queue.backfill for queue in instance.queues)
    if reserves or instance.params.of_slurm or instance.lsf_says:
        return ()
    return ("greedy", "optimal")


def _requested(instance: Instance, methods: bool | Collection[str] | None) -> tuple[Method, ...]:
    """Return the compared methods in the order of the columns; raise InputError for another one."""
    if methods is None:
        return default_methods(instance)
    if isinstance(methods, bool):
        return COMPARED if methods else ()
    for name in methods:
        if name not in COMPARED:
            raise InputError(
                f"methods: there is no method {name!r}{nearest(str(name), COMPARED)}; there are "
                f"{', '.join(COMPARED)}"
            )
    return tuple(name for name in COMPARED if name in methods)


def _estimates(
    instance: Instance, methods: Sequence[Method], margin: int, whole: Budget
) -> dict[Method, Plan]:
    """Return the compared plans by greedy and time-based reservation, each within its share of the
    time.
    """
    begun = whole.elapsed()
    plans: dict[Method, Plan] = {}
    shares: dict[Method, float] = {"greedy": GREEDY_SHARE, "time-based": TIME_BASED_SHARE}
    for method in (each for each in methods if each in shares):
        late = _no_time(whole, whole.elapsed() - begun)
        plans[method] = (nothing_planned if late else plan)(
            instance,
            method,
            time_limit=whole.time_share(shares[method]),
            margin=margin,
            cancel=whole.cancel,
        )
    return plans


def _is_short(likely: Mapping[str, StartQuantiles] | None, instance: Instance) -> bool:
    """Return whether the time did not suffice for all requested forecasts."""
    if likely is None:
        return False
    return len(likely) < len(instance.pending) or any(item.cut for item in likely.values())


def _moving(
    instance: Instance,
    optimal: Plan,
    loop: Mapping[str, Mapping[str, PlannedJob]],
    whole: Budget,
) -> tuple[Omission, ...]:
    """Return the rules by which the scheduler starts jobs at other times than the optimal plan."""
    if "optimal" not in loop or whole.stopped() or optimal.cut:
        return ()
    planned = {item.job: item.start for item in optimal}
    simulated = loop["optimal"]
    if all(_start(simulated.get(job)) == start for job, start in planned.items()):
        return ()
    budget = Budget(whole.time_share(1.0), cancel=whole.cancel)
    return rules_that_move(instance, planned, "optimal", budget)


def _simulated(
    instance: Instance, methods: Sequence[Method], objective: ObjectiveName
) -> tuple[Method, ...]:
    """Return the methods to simulate in addition to the configured one."""
    wanted: tuple[Method, ...] = COMPARED
    if len(instance.pending) > MAX_SIMULATED:
        wanted = ("greedy",)
    elif not objective_named(objective).in_order:
        # A dispatch cycle plans in dispatch order, with any objective.
        wanted = ("greedy", "time-based")
    return tuple(method for method in methods if method in wanted)


def _run_on(
    instance: Instance, methods: Sequence[str], whole: Budget
) -> tuple[dict[str, dict[str, PlannedJob]], bool]:
    """Return the simulated starts by each method, by job, and whether a run was stopped."""
    loop: dict[str, dict[str, PlannedJob]] = {}
    cut = False
    for done, method in enumerate(methods):
        budget = Budget(whole.time_share(1.0 / (len(methods) - done)), cancel=whole.cancel)
        loop[method] = {
            item.job: item for item in simulated_placements(instance, method, budget=budget)
        }
        cut = cut or budget.stopped()
    return loop, cut


def _rows(
    outlook: Outlook,
    methods: Sequence[Method],
    plans: Mapping[Method, Plan],
    loop: Mapping[str, Mapping[str, PlannedJob]],
) -> tuple[ComparedJob, ...]:
    """Return the compared jobs in dispatch order."""
    rows = []
    for base in outlook:
        best = None if outlook.plan is None else outlook.plan.get(base.job)
        starts: dict[str, int | None] = {}
        if "greedy" in plans:
            starts["greedy_estimate"] = _estimate(plans["greedy"].get(base.job))
        if "time-based" in plans:
            item = plans["time-based"].get(base.job)
            starts |= {
                "time_based_estimate": _start(item),
                "time_based_no_sooner": _no_sooner(item),
            }
        if "optimal" in methods:
            starts["optimal_estimate"] = base.possible
        for method, placed in loop.items():
            starts[f"{method.replace('-', '_')}_simulated"] = _start(placed.get(base.job))
        rows.append(ComparedJob.of(base, best, **starts))
    return tuple(rows)


def _estimate(item: PlannedJob | None) -> int | None:
    """Return the greedy estimate of a start: now, or the earliest instant."""
    if item is None:
        return None
    return item.start if item.estimate is None else item.estimate


def _no_sooner(item: PlannedJob | None) -> int | None:
    """Return the time-based estimate of a start for which the method fell back to greedy."""
    return item.estimate if item is not None and item.start is None else None


def _start(item: PlannedJob | None) -> int | None:
    return None if item is None else item.start
