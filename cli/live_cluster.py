"""The scheduler of this machine, asked now: ``--cluster`` of any command, ``slotwise snapshot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import InputError, Problem
from .declare import command, option
from .import_snapshot import Listings
from .output import Written, keep_inputs
from .scheduler import TIMEOUT, Asking, NoAnswer, Scheduler

if TYPE_CHECKING:
    from ..model.instance import Instance


def schedulers() -> tuple[Scheduler, ...]:
    """Return the known schedulers; the first one with all its programs is used."""
    from .lsf_programs import LSF
    from .slurm_programs import SLURM

    return (LSF, SLURM)


def scheduler_here() -> tuple[Scheduler, dict[str, str]]:
    """Return the scheduler of this machine, and its programs by name.

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
    """Return the cluster of this machine as it is now; notes go to stderr.

    What was not read is an omission of the instance as well. Raises InputError if there is no
    scheduler, if it does not answer, or if what it prints makes no instance.
    """
    scheduler, programs = scheduler_here()
    try:
        return scheduler.ask(programs, asking)
    except NoAnswer as error:
        wrong = f"the {scheduler.name} of this machine does not answer: {error}"
        raise InputError(wrong, hint=scheduler.down) from None


def printed_instance(how: Listings) -> Instance:
    """Return the instance of what the commands of either scheduler printed; notes go to stderr."""
    from ..model.sources.lsf_state.folder import NoListingError
    from .slurm_programs import instance_of_folder

    try:
        return how.instance(how.site)
    except NoListingError:
        if how.folder is None or how.files:
            raise
        return instance_of_folder(how.folder, how.now)


@command
def snapshot(
    how: Listings,
    *,
    timeout: float | None = option(
        None, "Seconds to wait for each of the scheduler's commands; default 120.", min=1.0
    ),
    written: Written,
) -> None:
    """Write an instance of the cluster of this machine, or of saved output of its commands.

    Without files, run the scheduler's commands. LSF: bjobs, bhosts, bqueues and, if available,
    bhpart, lsid, bparams, bugroup, bmgroup, busers, lshosts, blimits, bjgroup, brsvs, bsla,
    bresources -g -l, bhosts -aff, bjobs -aps and bjobs -A. Slurm: squeue, scontrol, sinfo, sdiag,
    sacctmgr, sshare and sprio. Other commands do the same with --cluster in place of FILE.

    With files, run no command. Each file is JSON or text as printed by the command; options may
    be repeated. Printed priorities are checked against the formula, and differences are reported.
    --from also takes the output of Slurm's commands.

    Exit codes: 0 done, 2 bad input, a missing command, or output that gives no instance.
    """
    if how.is_given:
        if timeout is not None:
            raise InputError([Problem("needs a live scheduler: remove --timeout", "--timeout")])
        folder = () if how.folder is None else how.folder.glob("*")
        keep_inputs(written.output, [*how.files, *filter(Path.is_file, folder)])
        written.write(printed_instance(how))
        return
    if how.now is not None:
        raise InputError([Problem("applies only to saved output: give --from or --bjobs", "--now")])
    written.write(cluster_now(Asking(timeout or TIMEOUT, how.site, how.rusage or "")))
