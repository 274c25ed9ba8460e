"""``slotwise check`` and ``examples``: instance files, and shipped ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..model.errors import InputError, Problem, report
from ..model.escaping import printable
from ..model.slurm_words import unit_words
from .declare import argument, command, option, taking, values_of
from .options import example_names
from .output import Written
from .process import Exit
from .source import Source
from .tables import paragraph

if TYPE_CHECKING:
    from ..model.instance import Instance


TextOrJson = Literal["text", "json"]
TEXT_OR_JSON = option("text", "text or json.")


@command
def check(
    files: list[Path] | None = argument(
        None, "Instance files, YAML or JSON; - for standard input.", show_default=False
    ),
    changes: Path | None = option(
        None, "Also a file of changes over time, against each of them (docs/changes.md)."
    ),
    *,
    source: Annotated[Source, taking("example live timeout")],
    schema: bool = option(
        False, "Print the JSON Schema of instance files; with the word changes, of changes files."
    ),
    format: TextOrJson = TEXT_OR_JSON,
) -> None:
    """Check instance files: print `ok` for each valid file, or all errors of the file.

    Exit codes: 0 all valid, 2 some invalid.
    """
    if schema:
        typer.echo(json.dumps(_schema([str(file) for file in files or ()]), indent=2))
        return
    sources = [replace(source, file=file) for file in files or ()] or [source]
    if not sources[0].is_given:
        raise InputError("no instance is given: give a file, or --cluster for this machine")
    found = [_checked(each, changes) for each in sources]
    if format == "json":
        typer.echo(json.dumps([item.to_dict() for item in found], indent=2))
    else:
        for item in found:
            item.tell()
    if any(item.problems for item in found):
        sys.exit(Exit.BAD_INPUT)


@dataclass(frozen=True)
class Checked:
    """Result of the check of one file."""

    file: str
    #: The instance of the file, None if the file has problems.
    instance: Instance | None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    #: Number of changes in the file; None: other files.
    changes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, fit for JSON."""
        said = {
            name: [asdict(problem) for problem in problems]
            for name, problems in (("problems", self.problems), ("warnings", self.warnings))
        }
        return {"file": self.file, "ok": not self.problems, **said, **self._counts()}

    def tell(self) -> None:
        """Print problems and warnings on stderr, and one line on stdout for a valid file."""
        from ..solver.pending_reasons import counted

        for line in report(self.problems):
            typer.echo(f"slotwise: {printable(line)}", err=True)
        for line in report(self.warnings):
            typer.echo(f"slotwise: warning: {printable(line)}", err=True)
        if self.problems:
            return
        counts = self._counts()
        words = unit_words(self.instance) if self.instance else {"host": "host", "slot": "slot"}
        changes = f", {counted(counts['changes'], 'change')}" if "changes" in counts else ""
        typer.echo(
            f"{printable(self.file)}: ok ({counted(counts['hosts'], words['host'])}, "
            f"{counted(counts['slots'], words['slot'])}, {counts['running']} running, "
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


def _schema(words: list[str]) -> dict[str, Any]:
    """Return the JSON Schema of a kind of file; raise InputError for another word."""
    from ..model.formats import changes_schema, json_schema

    if words not in ([], ["changes"]):
        raise InputError([Problem(f"accepts only the word changes, not {words}", "--schema")])
    return changes_schema() if words else json_schema()


def _checked(source: Source, changes: Path | None) -> Checked:

    file = source.name
    try:
        instance, warnings = source.read_with_warnings()
        happens = _changes(changes, instance)
    except InputError as error:
        return Checked(file, None, tuple(error.problems))
    refused = [Problem(f"job {job}: {why}", file) for job, why in _without_a_share(instance)]
    return Checked(file, instance, warnings=(*warnings, *refused), changes=happens)


def _changes(path: Path | None, instance: Instance) -> int | None:
    """Return the number of changes in a file; raise InputError with all its errors."""
    if path is None:
        return None
    from ..model.formats.changes import load_changes

    return len(load_changes(path, instance))


def _without_a_share(instance: Instance) -> Iterator[tuple[str, str]]:
    """Yield each pending job that cannot start without a fairshare account, with the reason."""
    from ..solver.fairshare.priority_order import admissions

    for job, found in admissions(instance).items():
        if found.refused:
            yield job, found.refused


@command
def examples(
    name: str | None = argument(
        None, "Print this example's file.", autocompletion=example_names, show_default=False
    ),
    format: TextOrJson = TEXT_OR_JSON,
) -> None:
    """List the bundled examples with their purpose, or print one."""
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


@dataclass(frozen=True, slots=True)
class Generated:
    """Properties of a random instance; fields of ``model.generate.generate``."""

    hosts: int = option(100, "Hosts of 16 slots and 64 GB.", min=1)
    running: int = option(500, "Running jobs.", min=0)
    pending: int = option(50, "Pending jobs.", min=0)
    load: float = option(0.92, "Share of slots in use.", min=0.0, max=1.0)
    gpus: int = option(0, "GPUs of each host.", min=0)
    seed: int = option(0, "The same seed gives the same file.", min=0)


@command
def generate(asked: Generated, written: Written) -> None:
    """Make a random instance: hosts in enclosures and racks, running jobs, a mixed queue."""
    from ..model.generate import generate as make

    written.write(make(**values_of(asked)))
