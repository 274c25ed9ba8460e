"""``--checkpoint`` and ``--checkpoint-every``: where and how often a run leaves its state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from .atomic import check_output, whole_file

CheckpointEvery = Annotated[
    str | None,
    typer.Option(
        help="Also write --checkpoint every so often (0.5s, 60s, 5m): kill -9 costs no more.",
        metavar="TIME",
        show_default=False,
    ),
]


@dataclass(slots=True)
class Checkpoints:
    """Writes the state of a run to `path` every `every` seconds (None: only when asked to).

    clock: seconds that only go forward.
    """

    path: Path | None
    every: float | None = None
    clock: Callable[[], float] = time.monotonic
    _due: float = field(init=False)

    def __post_init__(self) -> None:
        self._due = self.clock() + (self.every or 0.0)

    @classmethod
    def of(cls, path: Path | None, every: str | None) -> Checkpoints:
        """From the two options; InputError where the path or the time makes no sense."""
        from ..model.errors import InputError

        if path is not None:
            check_output(path)
        if every is None:
            return cls(path)
        if path is None:
            raise InputError("--checkpoint-every needs --checkpoint FILE")
        return cls(path, _seconds(every))

    def when_due(self, state: Callable[[], str]) -> None:
        """Write what `state` gives if it is time to."""
        if self.every is not None and self.clock() >= self._due:
            self.write(state())
            self._due = self.clock() + self.every

    def write(self, state: str) -> None:
        """Replace the file as a whole; InputError if it cannot be written."""
        assert self.path is not None
        with whole_file(self.path) as file:
            file.write(state.encode())


def _seconds(text: str) -> float:
    from ..model.errors import InputError
    from ..model.formats.units import parse_interval

    try:
        return parse_interval(text)
    except ValueError as error:
        raise InputError(f"--checkpoint-every: {error}") from None
