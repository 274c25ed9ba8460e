"""``slotwise show VIEW``: an instance as LSF's own commands would show it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .cells import printable
from .options import Example, read_instance
from .view_options import ViewOptions

if TYPE_CHECKING:
    from ..model.instance import Instance
    from ..solver.loop.snapshot import Snapshot

View = Literal[
    "bhosts", "bhpart", "bjobs", "bmgroup", "bqueues", "bresources", "bugroup"
]  # fmt: skip
Alloc = Literal["lsf", "rms"]
ViewFormat = Literal["text", "json", "csv", "lsf-json"]
#: Views of jobs and hosts are of the time after the cycle, the others of the time before.
AFTER = ("bjobs", "bhosts")


def show(
    view: Annotated[View, typer.Argument(help="Which command's table.", show_default=False)],
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Instance file, YAML or JSON; - for standard input.", show_default=False
        ),
    ] = None,
    example: Example = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Only this job, host, queue, group, …; may be repeated."),
    ] = None,
    long: Annotated[
        bool,
        typer.Option("-l", help="bjobs, bhosts, bqueues: all of each; bugroup: shares."),
    ] = False,
    recursive: Annotated[
        bool, typer.Option("-r", help="Share accounts of every level, not of the top alone.")
    ] = False,
    pending: Annotated[bool, typer.Option("-p", help="bjobs: pending jobs alone.")] = False,
    shared: Annotated[bool, typer.Option("-s", help="bhosts: shared resources.")] = False,
    cycle: Annotated[
        bool | None,
        typer.Option(
            "--cycle/--no-cycle",
            help="After or before the scheduling cycle at the instance's now. "
            "Default: after for bjobs and bhosts, before for the others.",
            show_default=False,
        ),
    ] = None,
    alloc: Annotated[
        Alloc, typer.Option("--alloc", help="bjobs -l: form of a future allocation.")
    ] = "lsf",
    format: Annotated[
        ViewFormat,
        typer.Option("--format", help="lsf-json: as bjobs, bhosts and bqueues print -json."),
    ] = "text",
) -> None:
    """Show jobs, hosts, queues, groups or partitions, as of the instance's now."""
    from ..solver.loop.snapshot import snapshot_of

    instance = read_instance(file, example)
    _check_names(instance, view, name or [], shared=shared)
    asked = ViewOptions(tuple(name or ()), long or recursive, recursive, pending, shared, alloc)
    after = view in AFTER if cycle is None else cycle
    moment: Snapshot = snapshot_of(instance, after_cycle=after, hosts=view in AFTER)
    sys.stdout.write(_rendered(view, moment, asked, format))


def _rendered(view: View, moment: Snapshot, asked: ViewOptions, format: ViewFormat) -> str:
    from . import host_views, job_views, queue_views, share_views

    if format == "lsf-json":
        from .lsf_json import lsf_json

        return lsf_json(view, moment, asked)
    render = {
        "bhosts": host_views.bhosts,
        "bhpart": share_views.bhpart,
        "bjobs": job_views.bjobs,
        "bmgroup": host_views.bmgroup,
        "bqueues": queue_views.bqueues,
        "bresources": host_views.bresources,
        "bugroup": share_views.bugroup,
    }[view]
    text = render(moment, asked, format)
    return printable(text) if format == "text" else text


def _check_names(instance: Instance, view: View, names: list[str], *, shared: bool) -> None:
    from ..model.errors import InputError, Problem, nearest

    cluster = instance.cluster
    jobs = [*(item.job.id for item in instance.running), *(job.id for job in instance.pending)]
    kind, known = {
        "bhosts": ("host", [host.name for host in cluster.hosts]),
        "bhpart": ("host partition", [partition.name for partition in instance.partitions]),
        "bjobs": ("unfinished job", jobs),
        "bmgroup": ("host group", [group.name for group in cluster.groups]),
        "bqueues": ("queue", [queue.name for queue in instance.queues]),
        "bresources": ("reservation usage of", [u.resource for u in instance.reservation_usage]),
        "bugroup": ("user group", [group.name for group in instance.groups]),
    }[view]
    if view == "bhosts" and shared:
        kind, known = "shared resource", [item.name for item in cluster.shared]
    problems = [
        Problem(f"there is no {kind} '{name}'{nearest(name, known)}")
        for name in names
        if name not in known
    ]
    if problems:
        raise InputError(problems)
