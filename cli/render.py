"""Plans and comparisons as tables, JSON and CSV."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..model.allocation import allocation_text
from ..model.time_text import clock_text, duration_text, short_clock_text, with_stamps
from .cells import printable
from .tables import csv_text, new_table, table_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan
    from ..solver.advice.compare import Comparison


#: What the word "feasible" means to someone who waits for an answer.
_ENDED_EARLY = "The search was ended before all was proved: a longer --time-limit may find better."


#: The columns of a plan as CSV, and those of them that are times.
_COLUMNS = (
    *("job", "start", "finish", "allocation", "method", "bound", "proved", "waits_for"),
    *("estimate", "reserved", "fallback", "alternative", "needs_backfill", "terms"),
)
_TIMES = ("start", "finish", "bound", "estimate")


def plan_output(instance: Instance, plan: Plan, format: str) -> str:
    """A plan in one of the output formats, with a final newline."""
    record = plan.to_dict()
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    if format == "csv":
        rows = list(record["reservations"])
        rows += [{"job": item["job"], "waits_for": item["reason"]} for item in record["unplaced"]]
        return csv_text(list(with_stamps(dict.fromkeys(_COLUMNS), plan.origin, _TIMES)), rows)
    return _plan_text(instance, plan)


def _plan_text(instance: Instance, plan: Plan) -> str:
    shows_estimate = any(item.start is None for item in plan)
    columns = ["JOB", "START", "WHERE" if not shows_estimate else "WHERE / RESERVED NOW", "STATUS"]
    table = new_table(*columns, "WAITS FOR")
    for item in plan:
        if item.start is None:
            clock = clock_text(instance, item.estimate)
            start = "no estimate" if item.estimate is None else f"no sooner than {clock}"
            where = allocation_text(item.reserved)
        else:
            start, where = clock_text(instance, item.start), allocation_text(item.allocation)
        status = item.fallback or (
            "proved"
            if item.proved
            else f"not before {clock_text(instance, item.bound)}"
            if item.bound is not None
            else item.method
        )
        needs = f"needs BACKFILL in queue {item.needs_backfill}" if item.needs_backfill else ""
        reason = "; ".join(filter(None, (item.waits_for, needs)))
        table.add_row(item.job, start, where, status, reason)
    for missing in plan.unplaced:
        when = "no place found" if plan.status == "feasible" else "never"
        table.add_row(missing.job, when, "", "", missing.reason)
    lines = [table_text(table), _summary(plan)]
    return "".join(lines)


def _summary(plan: Plan) -> str:
    text = f"{plan.method}, {plan.objective}: {plan.status}"
    if plan.value is not None:
        text += f", value {plan.value:.15g}"
    if plan.bound is not None:
        text += f", bound {plan.bound:.15g}"
    ended = [_ENDED_EARLY] if _may_improve(plan) else []
    return printable("\n".join([text, *ended, *plan.notes]) + "\n")


def comparison_output(instance: Instance, comparison: Comparison, format: str) -> str:
    """A comparison in one of the output formats, with a final newline."""
    if format == "json":
        return json.dumps(comparison.to_dict(), indent=2) + "\n"
    if format == "csv":
        return csv_text(comparison.columns(), comparison.to_records())
    return _comparison_text(instance, comparison)


def _comparison_text(instance: Instance, comparison: Comparison) -> str:
    real = comparison.really
    columns = ["JOB", "SLOTS", "GREEDY", "REALLY", "TIME-BASED", *(["REALLY"] if real else [])]
    table = new_table(*columns, "OPTIMAL", *(["REALLY"] if real else []), "GAIN")
    for title in ("PROVED", "WHERE", "WAITS FOR"):
        table.add_column(title)
    for row in comparison:

        def clock(time: int | None, missing: str = "?" if comparison.cut else "never") -> str:
            return missing if time is None else short_clock_text(instance, time)

        cells = [clock(row.greedy_estimate, "no estimate"), clock(row.greedy_start)]
        cells += [clock(row.time_based), *([clock(row.time_based_start)] if real else [])]
        cells += [clock(row.optimal), *([clock(row.optimal_start)] if real else [])]
        proved = "yes" if row.proved else "no" if row.optimal is not None else ""
        gain = "" if row.gain is None else duration_text(row.gain)
        where = allocation_text(row.allocation)
        note = row.waits_for + (f" ({row.fallback})" if row.fallback else "")
        if row.needs_backfill:
            note += f" (needs BACKFILL in queue {row.needs_backfill})"
        table.add_row(row.job, str(row.slots), *cells, gain, proved, where, note.strip())
    ended = [_ENDED_EARLY] if _may_improve(comparison.optimal) else []
    notes = "".join(f"{printable(note)}\n" for note in [*ended, *comparison.notes()])
    return table_text(table) + _footer(instance, comparison) + notes


def _footer(instance: Instance, comparison: Comparison) -> str:
    from ..solver.shortage import counted

    gains = [row.gain for row in comparison if row.gain is not None]
    proved = counted(sum(row.proved for row in comparison), "start")
    lending = sum(queue.backfill for queue in instance.queues)
    all_reserve = all(queue.reserve_cycles is None for queue in instance.queues)
    where = ", reserving in every queue" if all_reserve else ""
    queues = counted(len(instance.queues), "queue")
    return (
        f"{len(comparison.jobs)} pending; {proved} proved the earliest; against greedy as this "
        f"cluster is configured (BACKFILL in {lending} of {queues}{where}): "
        f"{duration_text(sum(gains))} of waiting saved in all.\n"
        f"{'Times count from now. ' if instance.origin is None else ''}"
        "GREEDY is LSF's estimate (no sooner than), REALLY the start that a method gives when the "
        "loop runs on.\n"
    )


def _may_improve(plan: Plan) -> bool:
    """Whether a longer search may prove more: nothing but its end kept it from that."""
    return plan.status == "feasible" and not plan.left_out and not plan.rounded
