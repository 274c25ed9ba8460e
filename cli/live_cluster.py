"""The scheduler of this machine, asked now: ``--cluster`` of any command, ``slotwise snapshot``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..model.errors import InputError, Problem
from .declare import command, option, taking
from .import_snapshot import Listings
from .output import Written

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


def schedulers() -> tuple[Scheduler, ...]:
    """Those that are known; the first of which all that is needed is there is asked."""
    from .lsf_programs import COMMANDS, NEEDED, lsf_now

    programs = dict.fromkeys(words[0] for forms in COMMANDS.values() for words in forms)
    hint = (
        "set LSF's environment (profile.lsf), or run the commands where they are and take "
        "`slotwise import snapshot`"
    )
    return (Scheduler("LSF", NEEDED, tuple(programs), hint, lsf_now),)


def scheduler_here() -> tuple[Scheduler, dict[str, str]]:
    """The scheduler of this machine, and its programs by name.

    Raises InputError if there is none, or a part of one.
    """
    from ..solver.processes import path_of

    partly: list[Problem] = []
    known = schedulers()
    for scheduler in known:
        found = {name: path for name in scheduler.programs if (path := path_of(name)) is not None}
        missing = [name for name in scheduler.needed if name not in found]
        if not missing:
            return scheduler, found
        if found:
            wrong = f"is not on the PATH: {scheduler.hint}"
            partly += [Problem(wrong, name) for name in missing]
    if partly:
        raise InputError(partly)
    wanted = "; ".join(f"no {', '.join(one.needed)} ({one.name}): {one.hint}" for one in known)
    raise InputError(f"no scheduler is on the PATH: {wanted}")


def cluster_now(asking: Asking) -> Instance:
    """The cluster of this machine as it is now; notes go to stderr.

    What was not read is an omission of the instance as well. Raises InputError if there is no
    scheduler, or if what it prints makes no instance.
    """
    scheduler, programs = scheduler_here()
    return scheduler.ask(programs, asking)


@command
def snapshot(
    how: Annotated[Listings, taking("site rusage")],
    *,
    timeout: float = option(TIMEOUT, "Seconds to wait for each command.", min=1.0),
    written: Written,
) -> None:
    """Make an instance of the LSF cluster of this machine, as it is now.

    Runs bjobs, bhosts, bqueues and, where they are there, bhpart, lsid, bparams, bugroup, bmgroup,
    busers, lshosts, blimits and bjgroup. Other commands do the same with --cluster in place of
    FILE; `slotwise import` takes files of another machine.

    Exit codes: 0 done, 2 a command is missing or its output makes no instance.
    """
    written.write(cluster_now(Asking(timeout, how.site, how.rusage or "")))
