"""The progress bar of ``slotwise replay`` and ``simulate``: jobs, jobs/s and simulated time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(
    title: str, total: int, state: Callable[[], tuple[int, int]]
) -> Iterator[Callable[[], None]]:
    """A function that shows where the simulation is: on a terminal's stderr, else it does nothing.

    total: jobs in all. state: jobs so far and the simulated second.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:,.0f} jobs/s  simulated {task.fields[days]:.1f} days"),
    )
    already, begun = state()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, completed=already, rate=0.0, days=0.0)

        def show() -> None:
            elapsed = bar.tasks[task].elapsed or 1e-9
            done, now = state()
            rate, days = (done - already) / elapsed, (now - begun) / 86400
            bar.update(task, completed=done, rate=rate, days=days)

        yield show
