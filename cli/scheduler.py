"""A scheduler that can be asked for the state of its cluster: what there is of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.instance import Instance

#: Seconds to wait for each program if none are given.
TIMEOUT = 120.0


@dataclass(frozen=True, slots=True)
class Asking:
    """How a scheduler is asked."""

    #: Seconds to wait for each program.
    timeout: float = TIMEOUT
    #: The site's configuration.
    site: Path | None = None
    #: "slot" or "host", what rusage[mem] counts for; empty for what the site or the programs say.
    rusage: str = ""


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler that can be asked for the state of its cluster."""

    name: str
    #: The programs without which nothing is known, and all that are asked.
    needed: tuple[str, ...]
    programs: tuple[str, ...]
    #: How they come to be on the PATH, and what else there is.
    hint: str
    #: Asks the programs, by their absolute paths. Raises InputError if there is no state.
    ask: Callable[[Mapping[str, str], Asking], Instance]
