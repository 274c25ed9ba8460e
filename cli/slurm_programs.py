"""What Slurm's programs printed, here or in files (``slotwise import slurm``), as an instance."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import InputError
from ..model.omissions import Omission
from .declare import command, option
from .import_snapshot import parse_now, print_notes, with_contradictions
from .output import Written, check_apart
from .scheduler import Asking, Scheduler, output_of

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..model.sources.lsf_state.values import Text
    from ..model.sources.slurm.seen import SlurmState


@dataclass(frozen=True, slots=True)
class SlurmListings:
    """Files with the output of Slurm's commands, and the time of the output."""

    folder: Path = option(
        ..., "Folder with the output of Slurm's commands, in files of any name.", "--from"
    )
    now: str | None = option(
        None,
        "When the commands ran, ISO 8601 with zone. Default: from the records, in UTC.",
        metavar="STAMP",
    )


@command
def slurm_files(listings: SlurmListings, written: Written) -> None:
    """Turn the output of Slurm's squeue, sinfo, scontrol, sacctmgr and sshare into an instance.

    Each file is JSON or text as printed by the command: squeue --json (or scontrol show job -d
    -o), scontrol show node, partition, config, reservation, licenses and assoc_mgr, sacctmgr -P
    show qos and assoc, sshare -a -l -P, sprio -l, sdiag. Rules that no method takes into account
    are named, with the jobs that they affect.

    Exit codes: 0 done, 2 bad input.
    """
    made = instance_of_folder(listings.folder, listings.now)
    check_apart(
        {"--output": written.output}, sorted(filter(Path.is_file, listings.folder.glob("*")))
    )
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
    from ..model.sources.slurm.assemble import assemble
    from ..model.sources.slurm.folder import printed_at
    from ..solver.plausibility.gate import said_by_slurm, unexplained

    if now is None:
        time = printed_at(seen)
        if time is None:
            raise InputError("no listing has a time: give the output of sdiag, or --now")
        now = datetime.fromtimestamp(time, UTC)
    made = assemble(seen, now)
    print_notes(made.notes)
    said = said_by_slurm(made.instance, seen, int(now.timestamp()))
    return with_contradictions(made.instance, list(unexplained(made.instance, said)))


#: The forms of each command, the best first. scontrol has JSON from 23.02 on, but not all fields;
#: v0.0.42 (24.11 to 26.05) has how jobs share their nodes, which v0.0.45 lacks.
COMMANDS = {
    "jobs": (
        ("squeue", "--all", "--json=v0.0.42"),
        ("squeue", "--all", "--json"),
        ("scontrol", "show", "job", "-d", "-o"),
    ),
    "nodes": (("scontrol", "show", "node", "-o"),),
    "partitions": (("scontrol", "show", "partition", "-o"),),
    "config": (("scontrol", "show", "config"),),
    "reservations": (("scontrol", "show", "reservation", "-o"),),
    "licences": (("scontrol", "show", "licenses", "-o"),),
    "diagnosis": (("sdiag",),),
    "qos": (("sacctmgr", "-P", "show", "qos"),),
    "associations": (
        ("sacctmgr", "-P", "show", "assoc", "tree", "format=Cluster,Account,User,ParentName,"
         "GrpTRES,GrpJobs,GrpTRESMins,GrpTRESRunMins,GrpWall,MaxJobs,MaxTRES,MaxTRESPerNode,"
         "MaxTRESMins,MaxWall"),
    ),
    "shares": (("sshare", "-a", "-l", "-P"),),
    "priorities": (("sprio", "-l"),),
}  # fmt: skip
#: Without these nothing is known.
NEEDED = ("jobs", "nodes", "partitions", "config")
#: Messages of sacctmgr, sshare and sprio on a cluster without accounting or multifactor priority.
_NO_ACCOUNTING = re.compile(
    r"supported (?:accounting_storage|priority)\s+plugin|accounting storage is disabled"
)
#: What sacctmgr, sshare and sprio print.
_OF_ACCOUNTING = ("qos", "associations", "shares", "priorities")
#: Seconds to wait for each of the others.
OPTIONAL_TIMEOUT = 30.0
#: Variables that Slurm's commands get of the environment, with those of Slurm.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SLURM_CONF")


def slurm_now(programs: Mapping[str, str], asking: Asking) -> Instance:
    """Return the cluster as Slurm's programs print it; notes go to stderr.

    programs: the absolute paths of those that are there. One that is not needed and fails is named
    on stderr, and as an omission. Raises InputError if a needed one fails, or prints what makes no
    instance, and for options that mean nothing with Slurm.
    """
    from ..model.sources.slurm.folder import read_texts

    if asking.site is not None or asking.rusage:
        raise InputError(
            "--site and --rusage apply to LSF only: Slurm's programs print its configuration"
        )
    now = datetime.now().astimezone().replace(microsecond=0)
    texts: list[Text] = []
    lost: list[Omission] = []
    for name in COMMANDS:
        try:
            text = _asked(name, programs, asking.timeout)
        except InputError as error:
            if name in NEEDED:
                raise
            first = error.problems[0]
            lost.append(Omission(first.message, first.source))
            print_notes([f"{problem}: passed over" for problem in error.problems])
            continue
        texts += [] if text is None else [text]
    seen = read_texts(texts, "the output of Slurm's programs", zone=now.tzinfo)
    if seen.now is not None:
        now = datetime.fromtimestamp(seen.now, now.tzinfo)
    made = instance_of(seen, now)
    return replace(made, omissions=(*made.omissions, *lost))


def _asked(name: str, programs: Mapping[str, str], timeout: float) -> Text | None:
    """Return the output of a command; empty for accounting if there is none."""
    environment = {key: value for key, value in os.environ.items() if key in _KEPT}
    environment["LC_ALL"] = "C"
    needed = name in NEEDED
    limit = timeout if needed else min(timeout, OPTIONAL_TIMEOUT)
    try:
        return output_of(COMMANDS[name], programs, limit, environment, needed=needed)
    except InputError as error:
        if name in _OF_ACCOUNTING and _NO_ACCOUNTING.search(str(error)):
            return None
        raise


SLURM = Scheduler(
    "Slurm",
    ("squeue", "scontrol"),
    tuple(dict.fromkeys(words[0] for forms in COMMANDS.values() for words in forms)),
    "add Slurm's directory of programs, or run the commands where they are and take "
    "`slotwise import slurm`",
    "Run it where squeue works (slurmctld up, slurm.conf or SLURM_CONF found), or give the files "
    "of `slotwise import slurm`.",
    slurm_now,
)
