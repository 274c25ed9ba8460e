"""Plans and comparisons as tables, JSON and CSV."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..model.allocation import allocation_text
from ..model.time_text import clock_text, duration_text
from .cells import printable
from .tables import csv_text, new_table, table_text

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.plan import Plan
    from ..solver.advice.compare import Comparison


#: What the word "feasible" means to someone who waits for an answer.
_ENDED_EARLY = "The search was ended before all was proved: a longer --time-limit may find better."


def plan_output(instance: Instance, plan: Plan, format: str) -> str:
    """A plan in one of the output formats, with a final newline."""
    record = plan.to_dict()
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    if format == "csv":
        rows = list(record["reservations"])
        rows += [{"job": item["job"], "waits_for": item["reason"]} for item in record["unplaced"]]
        columns = (
            *("job", "start", "finish", "allocation", "method", "bound", "proved"),
            *("waits_for", "estimate", "reserved", "fallback", "alternative"),
        )
        return csv_text(columns, rows)
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
        table.add_row(item.job, start, where, status, item.waits_for)
    for missing in plan.unplaced:
        table.add_row(missing.job, "never", "", "", missing.reason)
    lines = [table_text(table), _summary(plan)]
    return "".join(lines)


def _summary(plan: Plan) -> str:
    text = f"{plan.method}, {plan.objective}: {plan.status}"
    if plan.value is not None:
        text += f", value {plan.value:.15g}"
    if plan.bound is not None:
        text += f", bound {plan.bound:.15g}"
    ended = [_ENDED_EARLY] if plan.status == "feasible" else []
    return printable("\n".join([text, *ended, *plan.notes]) + "\n")


def comparison_output(instance: Instance, comparison: Comparison, format: str) -> str:
    """A comparison in one of the output formats, with a final newline."""
    from ..solver.rules.pending_reasons import counted

    records = comparison.to_records()
    if format == "json":
        record: dict[str, Any] = {"jobs": records, "status": comparison.optimal.status}
        if comparison.optimal.notes:
            record["notes"] = list(comparison.optimal.notes)
        return json.dumps(record, indent=2) + "\n"
    if format == "csv":
        from ..solver.advice.compare import ComparedJob

        return csv_text([field.name for field in fields(ComparedJob)], records)
    table = new_table("JOB", "SLOTS", "GREEDY", "REALLY", "TIME-BASED", "OPTIMAL", "GAIN")
    for title in ("PROVED", "WHERE", "WAITS FOR"):
        table.add_column(title)
    for row in comparison:
        times = [row.greedy_estimate, row.greedy_start, row.time_based, row.optimal]
        cells = [_since(time) for time in times]
        proved = "yes" if row.proved else "no" if row.optimal is not None else ""
        gain = "" if row.gain is None else duration_text(row.gain)
        where = allocation_text(row.allocation)
        note = row.waits_for + (f" ({row.fallback})" if row.fallback else "")
        table.add_row(row.job, str(row.slots), *cells, gain, proved, where, note)
    gains = [row.gain for row in comparison if row.gain is not None]
    proved = counted(sum(row.proved for row in comparison), "start")
    total = (
        f"{len(comparison.jobs)} pending; {proved} proved the earliest; "
        f"against greedy as it really runs: {duration_text(sum(gains))} of waiting saved in all.\n"
        "Times count from now. GREEDY is LSF's estimate (no sooner than), REALLY what greedy "
        "reservation gives in the end.\n"
    )
    ended = [_ENDED_EARLY] if comparison.optimal.status == "feasible" else []
    notes = [*ended, *comparison.optimal.notes]
    return table_text(table) + total + "".join(f"{printable(note)}\n" for note in notes)


def _since(time: int | None) -> str:
    return "never" if time is None else "now" if time == 0 else duration_text(time)
