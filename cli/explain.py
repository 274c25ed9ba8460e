"""``slotwise explain``: why a job does not start earlier, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .cells import printable
from .exits import Exit
from .options import Effort, Example, FormatOption, PlanTimeLimit, read_instance

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.explain import Explanation
    from ..solver.advice.what_if import Outlook

#: Hosts of a pending reason that are named; of more, their number.
MOST_HOSTS = 8

MethodOption = Annotated[
    Literal["time-based", "optimal"],
    typer.Option(help="What plans: time-based as LSF would say, or the exact method."),
]


def explain(
    instance_file: Annotated[
        str | None,
        typer.Argument(metavar="[INSTANCE]", help="Instance file; left out with --example."),
    ] = None,
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help="Identifier of a pending job.")
    ] = None,
    example: Example = None,
    method: MethodOption = "time-based",
    time_limit: PlanTimeLimit = None,
    effort: Effort = None,
    format: FormatOption = "text",
) -> None:
    """Why a pending job does not start earlier, and what would start it sooner.

    Every suggestion has been planned before it is shown. Exit codes: 0 done, 2 bad input, 3 stopped
    early.
    """
    from ..model.errors import InputError
    from ..solver.advice.explain import explain as explain_job
    from .stopping import cancel_on_signal

    if example is not None and job is None:
        instance_file, job = None, instance_file
    if job is None:
        raise InputError("give a pending job: slotwise explain INSTANCE JOB")
    instance = read_instance(None if instance_file is None else Path(instance_file), example)
    with cancel_on_signal() as cancel:
        found = explain_job(
            instance, job, method=method, time_limit=time_limit, effort=effort, cancel=cancel
        )
    typer.echo(explanation_output(instance, found, format), nl=False)
    if cancel.is_set():
        raise typer.Exit(Exit.STOPPED)


def explanation_output(instance: Instance, found: Explanation, format: str) -> str:
    """An explanation in one of the output formats, with a final newline."""
    import json

    from ..model.time_text import with_stamps
    from .tables import csv_text

    record = found.to_dict()
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    if format == "csv":
        columns = ("part", "from", "until", "reason", "start", "gain", "change", "allocation")
        stamped = with_stamps(dict.fromkeys(columns), found.origin, ("from", "until", "start"))
        return csv_text(list(stamped), _rows(record))
    return _text(instance, found)


def _rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [{"part": "obstacle", **item} for item in record["obstacles"]]
    rows += [{"part": "suggestion", **item} for item in record["suggestions"]]
    rows += [
        {"part": "pending", "reason": item["reason"], "allocation": " ".join(item["hosts"])}
        for item in record["pending_reasons"]
    ]
    return rows + [
        {
            "part": "contest",
            "from": item["ahead_from"],
            "from_time": item.get("ahead_from_time"),
            "reason": f"{item['level']}: {item['account']} {item['priority']:.3f} behind "
            f"{item['rival']} {item['rival_priority']:.3f}",
        }
        for item in record["contests"]
    ]


def _text(instance: Instance, found: Explanation) -> str:
    from ..model.time_text import clock_text, duration_text
    from ..solver.shortage import counted
    from .tables import hosts_text, new_table, table_text

    lines = [printable(placed_text(instance, found.outlook.job.id, found.outlook, found.method))]
    if found.outlook.start is None:
        lines.append(printable(found.outlook.waits_for))
    lines += _said(instance, found)
    if found.obstacles:
        shown = new_table("FROM", "UNTIL", "WHY NOT")
        for item in found.obstacles:
            until = "" if item.until is None else clock_text(instance, item.until)
            shown.add_row(clock_text(instance, item.first), until, item.reason)
        lines.append(table_text(shown))
    if found.suggestions:
        shown = new_table("START", "SOONER BY", "WHAT WOULD HELP", "HOSTS")
        for change in found.suggestions:
            gain = "" if change.gain is None else duration_text(change.gain)
            where = hosts_text(change.allocation)
            shown.add_row(clock_text(instance, change.start), gain, change.change, where)
        lines.append(table_text(shown))
    elif found.outlook.start != instance.now:
        lines.append(f"nothing that was tried starts it sooner ({counted(found.tried, 'change')})")
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


def _said(instance: Instance, found: Explanation) -> Iterator[str]:
    """What bjobs says of the job, and which accounts come before its own."""
    from ..model.time_text import clock_text
    from ..solver.advice.contests import ASSUMED

    if found.reasons:
        said = (reason.text(counted=len(reason.hosts) > MOST_HOSTS) for reason in found.reasons)
        yield printable(f"bjobs says: {'; '.join(said)}")
    for item in found.contests:
        time = item.ahead_from
        ahead = (
            "not ahead within 30d" if time is None else f"ahead from {clock_text(instance, time)}"
        )
        yield printable(
            f"{item.path}: {item.account} {item.priority:.3f} behind {item.rival} "
            f"{item.rival_priority:.3f}; {ahead}"
        )
    if found.contests:
        yield f"({ASSUMED})"


def placed_text(instance: Instance, who: str, outlook: Outlook, method: str) -> str:
    """``job5 starts +3h, ends +4h, on 2*hostA 2*hostC 2*hostD (time-based)``."""
    from ..model.time_text import clock_text
    from .tables import hosts_text

    if outlook.start is None:
        return f"{who} never starts ({method})"
    end = "never ends" if outlook.finish is None else f"ends {clock_text(instance, outlook.finish)}"
    proved = ", proved the earliest" if outlook.proved else ""
    start = clock_text(instance, outlook.start)
    where = hosts_text(outlook.allocation)
    return f"{who} starts {start}, {end}, on {where} ({method}{proved})"
