"""``slotwise ask``: when would this bsub line start, and what would start sooner?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cells import printable
from .exits import Exit
from .explain import MethodOption
from .options import Effort, Example, FormatOption, PlanTimeLimit, read_instance

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.advice.ask import Answer, Choice, Choices

#: The line may begin with a minus, so unknown options are arguments and -h is none.
SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
#: Columns of a table: option and title.
COLUMNS = {"slots": "-n", "ptile": "PTILE", "limit": "-W", "cu": "CU", "queue": "QUEUE"}

Listed = list[str] | None
User = Annotated[str, typer.Option(help="Who submits: limits and queues depend on it.")]
FromHost = Annotated[str, typer.Option("--from", help="Submission host, for type==local.")]


def ask(
    instance_file: Annotated[
        str | None,
        typer.Argument(metavar="[INSTANCE]", help="Instance file; left out with --example."),
    ] = None,
    line: Annotated[
        str | None,
        typer.Argument(metavar="LINE", help="bsub line in quotes, with or without bsub in front."),
    ] = None,
    example: Example = None,
    slots: Annotated[Listed, typer.Option(help="Alternatives for -n: 4,8.")] = None,
    ptile: Annotated[Listed, typer.Option(help="Alternatives for span[ptile]: 1,2,none.")] = None,
    limit: Annotated[Listed, typer.Option(help="Alternatives for -W: 1:00,2:00.")] = None,
    cu: Annotated[Listed, typer.Option(help="Alternatives for cu[]: maxcus=1,none.")] = None,
    queue: Annotated[Listed, typer.Option(help="Alternatives for -q: short,long.")] = None,
    explore: Annotated[
        bool, typer.Option("--explore", help="Choose alternatives and show those that are sooner.")
    ] = False,
    user: User = "user",
    from_host: FromHost = "",
    method: MethodOption = "time-based",
    time_limit: PlanTimeLimit = None,
    effort: Effort = None,
    format: FormatOption = "text",
) -> None:
    """When a bsub line would start if it were submitted now, as the last of its queue.

    Listed alternatives are tried in every combination and shown by start. Exit codes: 0 done, 2
    bad input, 3 stopped early.
    """
    from ..model.errors import InputError
    from ..solver.advice.ask import Choices
    from ..solver.advice.ask import ask as ask_for
    from .stopping import cancel_on_signal

    if example is not None and line is None:
        instance_file, line = None, instance_file
    if line is None:
        raise InputError("give a bsub line in quotes: slotwise ask INSTANCE 'bsub -n 8 -W 2:00'")
    instance = read_instance(None if instance_file is None else Path(instance_file), example)
    given = {"slots": slots, "ptile": ptile, "limit": limit, "cu": cu, "queue": queue}
    lists = {name: texts for name, texts in given.items() if texts}
    choices: Choices | None = Choices.read(**lists) if lists else None
    with cancel_on_signal() as cancel:
        answer = ask_for(
            instance,
            line,
            choices=choices,
            explore=explore,
            user=user,
            from_host=from_host,
            method=method,
            time_limit=time_limit,
            effort=effort,
            cancel=cancel,
        )
    typer.echo(answer_output(instance, answer, format), nl=False)
    if cancel.is_set():
        raise typer.Exit(Exit.STOPPED)


def answer_output(instance: Instance, answer: Answer, format: str) -> str:
    """An answer in one of the output formats, with a final newline."""
    import json

    from ..model.time_text import with_stamps
    from .tables import csv_text

    record = answer.to_dict()
    if format == "json":
        return json.dumps(record, indent=2) + "\n"
    if format == "csv":
        rows = [record["line"], *record["alternatives"]]
        for row, asked in zip(rows, ["yes"] + [""] * len(rows), strict=False):
            row["as_asked"] = asked
        columns = ("as_asked", *COLUMNS, "start", "finish", "allocation", "waits_for")
        columns = tuple(with_stamps(dict.fromkeys(columns), answer.origin, ("start", "finish")))
        return csv_text(columns, [{name: row[name] for name in columns} for row in rows])
    return _text(instance, answer)


def _text(instance: Instance, answer: Answer) -> str:
    from ..model.time_text import clock_text, duration_text
    from .explain import placed_text

    outlook = answer.line.outlook
    lines = [printable(placed_text(instance, "the line", outlook, answer.method))]
    if outlook.waits_for:
        lines.append(printable(outlook.waits_for))
    if answer.alternatives:
        lines.append(_table(instance, answer))
    elif answer.explored:
        lines.append(f"nothing tried starts sooner ({answer.tried} alternatives)")
    if answer.explored and answer.alternatives:
        best = answer.alternatives[0].outlook.start
        sooner = ""
        if best is not None and outlook.start is not None:
            sooner = f", the best {duration_text(outlook.start - best)} sooner"
        at = clock_text(instance, best)
        shown = len(answer.alternatives)
        lines.append(f"{answer.tried} alternatives tried, {shown} start sooner: {at}{sooner}")
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"


def _table(instance: Instance, answer: Answer) -> str:
    from .tables import new_table, table_text

    shown = new_table("START", "WAIT", "FINISH", *COLUMNS.values(), "HOSTS")
    rows = [answer.line, *answer.alternatives]
    infinite = float("inf")
    rows.sort(key=lambda i: infinite if i.outlook.start is None else i.outlook.start)
    for item in rows:
        shown.add_row(*_cells(instance, item, asked=item is answer.line))
    return table_text(shown)


def _cells(instance: Instance, item: Choice, *, asked: bool) -> list[str]:
    from ..model.time_text import clock_text, duration_text
    from .tables import hosts_text

    outlook = item.outlook
    options = [item.shown[name] for name in COLUMNS]
    if outlook.start is None:
        return ["never", "", "", *options, outlook.waits_for]
    wait = duration_text(outlook.start - instance.now)
    where = hosts_text(outlook.allocation) + ("  (as asked)" if asked else "")
    start, finish = clock_text(instance, outlook.start), clock_text(instance, outlook.finish)
    return [start, wait, finish, *options, where]
