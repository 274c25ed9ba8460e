"""``slotwise import lsf``: a configuration directory as an instance."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ..model.errors import InputError
from .options import Rusage, tell
from .output import Notation, Output, write_instance
from .paths import file_argument, file_option

At = Annotated[
    str | None,
    typer.Option(
        help="Time for #if time(…), ISO 8601 with zone; it becomes `now`. "
        "Default: the present time, for conditions only.",
        show_default=False,
    ),
]
Hosts = Annotated[
    Path | None,
    file_option(
        help="What `lshosts -w` printed: processors and memory of hosts. "
        "Default: CONFDIR/lshosts if it is there.",
        show_default=False,
    ),
]
Processors = Annotated[
    list[str] | None,
    typer.Option(
        help="Processors of hosts where no file says them: N for all, or HOST=N; repeatable.",
        show_default=False,
        metavar="[HOST=]N",
    ),
]


def lsf(
    confdir: Annotated[
        Path | None,
        file_argument(
            help="Directory with lsf.conf, lsf.cluster.NAME, lsb.queues and the like.",
            show_default=False,
        ),
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="The shipped fictitious site instead.")
    ] = False,
    cluster: Annotated[
        str, typer.Option(help="Cluster, where the directory has several.", show_default=False)
    ] = "",
    at: At = None,
    user: Annotated[str, typer.Option(help="User for #if user(…).", show_default=False)] = "",
    lshosts: Hosts = None,
    ncpus: Processors = None,
    rusage: Rusage = None,
    output: Output = None,
    format: Notation = None,
) -> None:
    """Turn a directory of LSF configuration into an instance (docs/import.md).

    What has no counterpart, and what may change answers, is said on standard error.

    Exit codes: 0 done, 2 bad input.
    """
    from ..model.formats.lsf import site_document
    from ..model.formats.units import parse_stamp

    if (confdir is None) == (not example):
        raise InputError("give a directory of LSF configuration, or --example")
    if confdir is None:
        from ..instances import site

        confdir = site()
    try:
        moment = parse_stamp(at) if at is not None else None
    except ValueError as error:
        raise InputError(f"--at: {error}") from None
    found = site_document(
        confdir,
        cluster=cluster,
        at=moment,
        present=datetime.now().astimezone(),
        user=user,
        lshosts=lshosts,
        ncpus=_processors(ncpus or []),
        rusage=rusage or "",
    )
    for note in found.notes:
        tell(f"note: {note}")
    instance, warnings = found.instance()
    for warning in warnings:
        tell(f"warning: {warning}")
    write_instance(instance, output, format)


def _processors(words: list[str]) -> dict[str, int]:
    """``16`` or ``hostA=16`` each; InputError for anything else."""
    from ..model.formats.names import expand_range

    found: dict[str, int] = {}
    for word in words:
        host, _, count = word.rpartition("=")
        if not (count.isascii() and count.isdigit() and 0 < len(count) < 7 and int(count)):
            raise InputError(f"--ncpus: must be N or HOST=N with N of 1 or more, not {word!r}")
        try:
            names = expand_range(host) if host else ("",)
        except ValueError as error:
            raise InputError(f"--ncpus: {error}") from None
        found.update(dict.fromkeys(names, int(count)))
    return found
