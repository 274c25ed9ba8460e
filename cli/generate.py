"""``slotwise generate``: random instances that look like real clusters."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import Notation, Output, write_instance


def generate(
    hosts: Annotated[int, typer.Option(min=1, help="Hosts of 16 slots and 64 GB.")] = 100,
    per_enclosure: Annotated[int, typer.Option(min=1, help="Hosts in an enclosure.")] = 16,
    racks: Annotated[
        int | None, typer.Option(min=1, help="Racks. Default: one for four enclosures.")
    ] = None,
    running: Annotated[int, typer.Option(min=0, help="Running jobs.")] = 500,
    pending: Annotated[int, typer.Option(min=0, help="Pending jobs.")] = 50,
    load: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of slots in use.")] = 0.92,
    memory: Annotated[bool, typer.Option(help="Hosts have memory and jobs reserve it.")] = True,
    gpus: Annotated[int, typer.Option(min=0, help="GPUs of each host.")] = 0,
    array: Annotated[
        int, typer.Option(min=0, help="Elements of some pending jobs, which are arrays then.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same file.")] = 0,
    output: Output = None,
    format: Notation = None,
) -> None:
    """Make a random instance: hosts in enclosures and racks, running jobs, a mixed queue."""
    from ..model.generate import generate as make

    enclosures = -(-hosts // per_enclosure)
    per_rack = 4 if racks is None else -(-enclosures // racks)
    instance = make(
        hosts=hosts,
        per_enclosure=per_enclosure,
        per_rack=per_rack,
        running=running,
        pending=pending,
        load=load,
        memory=memory,
        gpus=gpus,
        array=array,
        seed=seed,
    )
    write_instance(instance, output, format)
