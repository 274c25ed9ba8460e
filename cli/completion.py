"""What the shell may complete: names of examples, and of the pending jobs of an instance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..model.errors import SlotwiseError

if TYPE_CHECKING:
    from ..model.instance import Instance


def example_names(incomplete: str) -> list[str]:
    """The shipped examples that begin so."""
    from ..instances import examples

    return [name for name in examples() if name.startswith(incomplete)]


def pending_jobs(context: typer.Context, incomplete: str) -> list[str]:
    """The pending jobs that begin so, of the instance that the line names before them."""
    instance = _instance(context.params)
    jobs = () if instance is None else instance.pending
    return [job.id for job in jobs if job.id.startswith(incomplete)]


def _instance(given: dict[str, Any]) -> Instance | None:
    from ..model.formats import load

    for source in _sources(given):
        with suppress(SlotwiseError, OSError):
            return load(source)
    return None


def _sources(given: dict[str, Any]) -> Iterator[Path]:
    from ..instances import example

    if given.get("example"):
        with suppress(SlotwiseError):
            yield example(given["example"])
    for name in ("file", "instance_file"):
        if given.get(name) and str(given[name]) != "-":
            yield Path(given[name])
