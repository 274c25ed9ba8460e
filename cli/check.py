"""``slotwise check``, ``schema`` and ``examples``: instance files, their form, and shipped ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..model.escaping import printable
from .options import example_names, file_argument, file_option, read_with_warnings
from .output import Notation, Output, write_instance
from .process import Exit
from .tables import paragraph

if TYPE_CHECKING:
    from ..model.errors import Problem
    from ..model.instance import Instance


Format = Annotated[Literal["text", "json"], typer.Option("--format", help="text or json.")]


def check(
    files: Annotated[
        list[Path],
        file_argument(
            help="Instance files, YAML or JSON; - for standard input.", show_default=False
        ),
    ],
    changes: Annotated[
        Path | None,
        file_option(
            help="Also a file of changes over time, against each of them (docs/changes.md).",
            show_default=False,
        ),
    ] = None,
    format: Format = "text",
) -> None:
    """Check instance files: one line `ok` a file, or everything that is wrong with it.

    Exit codes: 0 all are right, 2 some are not.
    """
    found = [_checked(file, changes) for file in files]
    if format == "json":
        typer.echo(json.dumps([item.to_dict() for item in found], indent=2))
    else:
        for item in found:
            item.tell()
    if any(item.problems for item in found):
        sys.exit(Exit.BAD_INPUT)


@dataclass(frozen=True)
class Checked:
    """What is said of one file."""

    file: Path
    #: None where there are problems.
    instance: Instance | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    changes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data, fit for JSON."""
        said = {
            name: [asdict(problem) for problem in problems]
            for name, problems in (("problems", self.problems), ("warnings", self.warnings))
        }
        return {"file": str(self.file), "ok": not self.problems, **said, **self._counts()}

    def tell(self) -> None:
        """Problems and warnings on standard error, a good file as one line on standard output."""
        from ..model.errors import report
        from ..solver.pending_reasons import counted

        for line in report(self.problems):
            typer.echo(f"slotwise: {printable(line)}", err=True)
        for line in report(self.warnings):
            typer.echo(f"slotwise: warning: {printable(line)}", err=True)
        if self.problems:
            return
        counts = self._counts()
        changes = f", {counted(counts['changes'], 'change')}" if "changes" in counts else ""
        typer.echo(
            f"{printable(str(self.file))}: ok ({counted(counts['hosts'], 'host')}, "
            f"{counted(counts['slots'], 'slot')}, {counts['running']} running, "
            f"{counted(counts['pending'], 'pending job')}{changes})"
        )

    def _counts(self) -> dict[str, int]:
        if self.instance is None:
            return {}
        hosts = self.instance.cluster.hosts
        return {
            "hosts": len(hosts),
            "slots": sum(host.slots for host in hosts),
            "running": len(self.instance.running),
            "pending": len(self.instance.pending),
            **({} if self.changes is None else {"changes": self.changes}),
        }


def _checked(file: Path, changes: Path | None) -> Checked:
    from ..model.errors import InputError, Problem

    try:
        instance, warnings = read_with_warnings(file)
        happens = _changes(changes, instance)
    except InputError as error:
        return Checked(file, None, tuple(error.problems))
    refused = [Problem(f"job {job}: {why}", str(file)) for job, why in _without_a_share(instance)]
    return Checked(file, instance, warnings=(*warnings, *refused), changes=happens)


def _changes(path: Path | None, instance: Instance) -> int | None:
    """How many changes a file has; InputError with everything that is wrong with it."""
    if path is None:
        return None
    from ..model.formats.changes import load_changes

    return len(load_changes(path, instance))


def _without_a_share(instance: Instance) -> Iterator[tuple[str, str]]:
    """Pending jobs that no fairshare policy lets start, and why."""
    from ..solver.fairshare.priority_order import admissions

    for job, found in admissions(instance).items():
        if found.refused:
            yield job, found.refused


def schema(
    of: Annotated[
        Literal["instance", "changes"],
        typer.Argument(help="Instance files, or files of changes over time."),
    ] = "instance",
) -> None:
    """Print the JSON Schema of instance files, or of files of changes."""
    from ..model.formats import changes_schema, json_schema

    found = json_schema() if of == "instance" else changes_schema()
    typer.echo(json.dumps(found, indent=2))


def examples(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Print this example's file.", autocompletion=example_names, show_default=False
        ),
    ] = None,
    format: Format = "text",
) -> None:
    """List the shipped examples with what each shows, or print one."""
    from ..instances import description, example
    from ..instances import examples as names

    if name is not None:
        typer.echo(example(name).read_text(encoding="utf-8"), nl=False)
        return
    shipped = names()
    if format == "json":
        listed = [{"name": item, "description": description(item)} for item in shipped]
        typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    width = max(len(item) for item in shipped)
    for item in shipped:
        typer.echo(paragraph(f"{item:{width}}  {description(item)}", " " * (width + 2)), nl=False)


def generate(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of 16 slots and 64 GB.")] = 100,
    per_enclosure: Annotated[int, typer.Option(min=1, help="Hosts in an enclosure.")] = 16,
    racks: Annotated[
        int | None, typer.Option(min=1, help="Racks. Default: one for four enclosures.")
    ] = None,
    running: Annotated[int, typer.Option(min=0, help="Running jobs.")] = 500,
    pending: Annotated[int, typer.Option(min=0, help="Pending jobs.")] = 50,
    load: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of slots in use.")] = 0.92,
    memory: Annotated[bool, typer.Option(help="Hosts have memory and jobs reserve it.")] = True,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs of each host.")] = 0,
    array: Annotated[
        int, typer.Option(min=0, help="Elements of some pending jobs, which are arrays then.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same file.")] = 0,
    output: Output = None,
    format: Notation = None,
) -> None:
    """Make a random instance: hosts in enclosures and racks, running jobs, a mixed queue."""
    from ..model.generate import generate as make

    enclosures = -(-hosts // per_enclosure)
    per_rack = 4 if racks is None else -(-enclosures // racks)
    instance = make(
        hosts=hosts,
        per_enclosure=per_enclosure,
        per_rack=per_rack,
        running=running,
        pending=pending,
        load=load,
        memory=memory,
        gpus=gpus,
        array=array,
        seed=seed,
    )
    write_instance(instance, output, format)
