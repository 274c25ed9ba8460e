"""``slotwise import slurm``: what a Slurm cluster does now, by what its commands printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from .declare import command, option
from .import_snapshot import parse_now, print_notes, with_contradictions
from .output import Written, keep_inputs

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.sources.slurm.seen import SlurmState


@dataclass(frozen=True, slots=True)
class SlurmListings:
    """Files with the output of Slurm's commands, and the time of the output."""

    folder: Path = option(
        ..., "Folder with what Slurm's commands printed, in files of any name.", "--from"
    )
    now: str | None = option(
        None,
        "When the commands ran, ISO 8601 with zone. Default: from the records, in UTC.",
        metavar="STAMP",
    )


@command
def slurm_files(listings: SlurmListings, written: Written) -> None:
    """Turn the output of Slurm's squeue, sinfo, scontrol, sacctmgr and sshare into an instance.

    Each file is JSON or text, as the command has printed it: squeue --json (or scontrol show job -d
    -o), scontrol show node, partition, config, reservation, licenses and assoc_mgr, sacctmgr -P
    show qos and assoc, sshare -a -l -P, sprio -l, sdiag. What no method takes into account is
    named for the jobs it touches.

    Exit codes: 0 done, 2 bad input.
    """
    made = instance_of_folder(listings.folder, listings.now)
    keep_inputs(written.output, sorted(filter(Path.is_file, listings.folder.glob("*"))))
    written.write(made)


def instance_of_folder(folder: Path, now: str | None) -> Instance:
    """Return the instance of a folder, with notes on stderr; now: as --now. Raises InputError."""
    from ..model.sources.slurm.folder import read_folder

    return instance_of(read_folder(folder), None if now is None else parse_now(now))


def instance_of(seen: SlurmState, now: datetime | None) -> Instance:
    """Return the instance of the printed texts; notes go to stderr.

    now: the instant; None: as the records have it.
    Raises InputError with everything that makes no instance.
    """
    from ..model.errors import InputError
    from ..model.sources.slurm.assemble import assemble
    from ..model.sources.slurm.folder import printed_at
    from ..solver.plausibility.gate import of_slurm, unexplained

    if now is None:
        time = printed_at(seen)
        if time is None:
            raise InputError("no input says when it was printed: give sdiag, or --now")
        now = datetime.fromtimestamp(time, UTC)
    made = assemble(seen, now)
    print_notes(made.notes)
    said = of_slurm(made.instance, seen, int(now.timestamp()))
    return with_contradictions(made.instance, list(unexplained(made.instance, said)))
