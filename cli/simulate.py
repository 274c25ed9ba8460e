"""``slotwise simulate``: the scheduler loop over hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .checkpointing import CheckpointEvery
from .options import (
    CheckpointFile,
    DefaultLimitOption,
    Example,
    FormatOption,
    JobsFile,
    KeepGoing,
    ResumeFile,
)
from .paths import file_argument, file_option
from .simulate_loop import LoopOptions, run_loop
from .stdin_file import from_stdin

Input = Annotated[
    Path | None,
    file_argument(
        help="Instance file (YAML, JSON), lsb.acct, or an SWF log with --hosts or --cluster; "
        "logs plain or gzipped; - for standard input.",
        callback=from_stdin,
        show_default=False,
    ),
]
Reservation = Annotated[
    str | None,
    typer.Option(
        help="How pending jobs reserve: a method of docs/reservation-methods.md. "
        "Default: as configured.",
        metavar="METHOD",
    ),
]
Top = Annotated[
    int | None,
    typer.Option(
        "--reservations",
        min=1,
        help="Jobs that get a future allocation. Default: LSB_TIME_RESERVE_NUMJOBS, else 4.",
    ),
]
CycleLength = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Seconds between cycles, 0 for one at every event. Default: MBD_SLEEP_TIME; of "
        "lsb.acct what fits its starts best.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(help="Stop at this second, or after a time (7d, 12h).", metavar="TIME"),
]
ClusterFile = Annotated[
    Path | None,
    file_option(help="Instance whose hosts and queues run a log.", show_default=False),
]
Events = Annotated[
    Path | None,
    file_option(
        help="lsb.events of the same cluster: when hosts came, closed and opened.",
        callback=from_stdin,
        show_default=False,
    ),
]
Changes = Annotated[
    Path | None,
    file_option(
        help="Changes over time: hosts, loads, sizes, new jobs, bkill and the like "
        "(docs/changes.md).",
        show_default=False,
    ),
]
HostCount = Annotated[
    int | None, typer.Option(min=1, help="Spread the processors of an SWF log over N hosts.")
]
CycleLog = Annotated[
    Path | None,
    file_option(help="Write every cycle, one JSON object a line.", show_default=False),
]
Shares = Annotated[
    Path | None,
    file_option(
        help="Write priorities and shares over time, in the formats of --jobs.",
        show_default=False,
    ),
]
#: An option of `slotwise replay`: understood only to say so.
Moved = Annotated[str | None, typer.Option(hidden=True)]


def simulate(
    file: Input = None,
    example: Example = None,
    reservation: Reservation = None,
    top: Top = None,
    cycle: CycleLength = None,
    until: Until = None,
    cluster: ClusterFile = None,
    hosts: HostCount = None,
    events: Events = None,
    changes: Changes = None,
    jobs: JobsFile = None,
    cycle_log: CycleLog = None,
    shares: Shares = None,
    format: FormatOption = "text",
    keep_going: KeepGoing = False,
    default_limit: DefaultLimitOption = None,
    checkpoint: CheckpointFile = None,
    checkpoint_every: CheckpointEvery = None,
    resume: ResumeFile = None,
    policy: Moved = None,
    procs: Moved = None,
    schedule_after: Moved = None,
) -> None:
    """Run a cluster cycle by cycle as an LSF-style scheduler would; print the metrics.

    To replay an SWF log on one pool of processors see `slotwise replay`.

    Exit codes: 0 done, 2 bad input, 3 stopped early (go on with --resume).
    """
    source = _source(file, example)
    _refuse_moved(source, policy=policy, procs=procs, schedule_after=schedule_after)
    options = LoopOptions(
        reservation=reservation,
        top=top,
        cycle=cycle,
        until=until,
        cluster=cluster,
        hosts=hosts,
        events=events,
        changes=changes,
        log=cycle_log,
        shares=shares,
        jobs=jobs,
        format=format,
        keep_going=keep_going,
        default_limit=default_limit,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        resume=resume,
    )
    run_loop(source, options, example)


def _source(file: Path | None, example: str | None) -> Path:
    """The one file that is meant."""
    from ..instances import example as example_path
    from ..model.errors import InputError

    if (file is None) == (example is None):
        raise InputError(
            "give a log, an instance file or --example NAME (`slotwise examples` lists them)"
        )
    if example is not None:
        return example_path(example)
    assert file is not None
    return file


def _refuse_moved(source: Path, **moved: str | None) -> None:
    """One line that says where an option of the replay has its place."""
    from ..model.errors import InputError

    given = [
        f"--{name.replace('_', '-')} {value}" for name, value in moved.items() if value is not None
    ]
    if given:
        raise InputError(
            f"{' '.join(given)} belongs to the replay of an SWF log on one pool of processors: "
            f"slotwise replay {source} {' '.join(given)}"
        )
