"""Absolute priorities as ``bjobs -aps`` and ``bqueues -l`` print them (APS-01)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ...absolute_priority import AbsolutePriority, StatedPriority
from ...absolute_rules import absolute_problems
from ...instance import Instance
from ...job import Job
from ...shares import aps_groups
from . import values
from .reading import Reading
from .values import Remarks, Text

#: The head of bjobs -aps.
HEAD = re.compile(r"^\s*JOBID(?:\s+[A-Z_]{2,})*\s+APS\s*$", re.MULTILINE)
#: Names of the factors and their parts in bqueues -l.
_PRINTED = {
    "FAIRSHARE": "FS",
    "RESOURCE": "RSRC",
    "PROCESSORS": "PROC",
    "MEMORY": "MEM",
    "SWAP": "SWAP",
    "WORK": "WORK",
    **dict.fromkeys(("JOB PRIORITY", "JPRIORITY"), "JPRIORITY"),
    **dict.fromkeys(("QUEUE PRIORITY", "QPRIORITY"), "QPRIORITY"),
    **dict.fromkeys(("APPLICATION", "APP", "APPLICATION PRIORITY"), "APP"),
    **dict.fromkeys(("USER GROUP", "UG", "USER GROUP PRIORITY"), "UG"),
    **dict.fromkeys(("USER", "USER PRIORITY"), "USER"),
}
_ROW = re.compile(r"\s*([A-Z][A-Z ]*?)\s{1,}(\S+)\s+(\S+)\s+(\S+)\s*")
_SYSTEM = re.compile(r"\((-?\d{1,12}(?:\.\d{1,9})?)\)")
_VALUE = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
#: Formula whose values are all alike, below what is printed: jobs go by their own addends.
_CONSTANT = AbsolutePriority({"QPRIORITY": 1e-9})
#: Maximum error of a printed value, which has two decimals.
ROUNDING = 0.011


def stated(text: str) -> StatedPriority | None:
    """Return a system priority as bjobs prints it, ``(10)``, else None."""
    match = _SYSTEM.fullmatch(text.strip())
    value = float(match[1]) if match else 0.0
    return StatedPriority("system", value) if value else None


def read_aps(text: Text, reading: Reading) -> dict[str, str]:
    """Return the column APS of bjobs -aps by job id; the id of an element has its index."""
    found: dict[str, str] = {}
    head = False
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if HEAD.match(line):
            head = True
            continue
        if not head or len(words) < 3:
            continue
        id, printed = words[0], words[-1]
        reading.at(f"job {id}", number)
        if not values.is_name(id):
            reading.lost(f"{id!r} is no id of a job")
        elif printed == "-" or _VALUE.fullmatch(printed) or stated(printed):
            index = re.search(r"\[(\d{1,10})\](?=\s)", line)
            found[f"{id}[{index[1]}]" if index and "[" not in id else id] = printed
        else:
            reading.unknown(f"APS {printed!r} is no absolute priority", name="APS")
    return found


def printed_formula(lines: Sequence[str]) -> AbsolutePriority | None:
    """Return the formula below ``APS_PRIORITY:`` of bqueues -l, if there is one."""
    weights: dict[str, float] = {}
    limits: dict[str, float] = {}
    delays: list[str] = []
    for line in lines:
        match = _ROW.fullmatch(line)
        name = _PRINTED.get(" ".join(match[1].split())) if match else None
        if match is None or name is None:
            if weights or not line.strip().startswith("WEIGHT"):
                break
            continue
        for cell, into in ((match[2], weights), (match[3], limits)):
            if _VALUE.fullmatch(cell) and float(cell):
                into[name] = float(cell)
        if re.fullmatch(r"\d{1,9}[smh]?", match[4]):
            delays.append(f"[{name}, {match[4]}]")
    if not weights:
        return None
    text = f"{AbsolutePriority(weights, limits)} GRACE_PERIOD[{' '.join(delays)}]"
    return AbsolutePriority.parse(text) if delays else AbsolutePriority(weights, limits)


def with_absolute(instance: Instance, printed: Mapping[str, str], notes: Remarks) -> Instance:
    """Return the instance with the system priorities of bjobs -aps; missing facts become notes."""
    ordered = {name for group in aps_groups(instance) for name in group.queues}
    unknown: dict[str, None] = {}
    values_of: dict[str, str] = {}

    def settled(jobs: Iterable[Job]) -> tuple[Job, ...]:
        found = []
        for job in jobs:
            text = printed.get(job.id, "-")
            if text != "-" and job.queue not in ordered:
                unknown[job.queue] = None
                values_of[job.id] = text
            elif job.aps is None and (aps := stated(text)) is not None:
                job = replace(job, aps=aps)
            found.append(job)
        return tuple(found)

    instance = replace(instance, pending=settled(instance.pending))
    before = len(notes.omissions)
    if unknown:
        kept = _in_printed_order(instance, unknown, values_of)
        order = "first come, first served" if kept is None else "in the printed order"
        instance = kept or instance
        notes.touch(
            f"bjobs -aps shows absolute priorities in {', '.join(unknown)}, and nothing says by "
            f"which formula: here these jobs go {order} (lsb.queues has it)"
        )
    return replace(instance, omissions=(*instance.omissions, *notes.omissions[before:]))


def _in_printed_order(
    instance: Instance, queues: Collection[str], values_of: Mapping[str, str]
) -> Instance | None:
    """Return the instance with the values of bjobs -aps as constants, in a formula that adds
    nothing visible; None if its queues may not have absolute priority.

    values_of: printed values by job id.
    """

    def with_value(job: Job) -> Job:
        text = values_of.get(job.id)
        if text is None or (job.aps is not None and job.aps.kind == "system"):
            return job
        value = 0.0 if stated(text) else float(text)
        return replace(job, aps=StatedPriority("admin", value) if value else stated(text))

    kept = replace(
        instance,
        pending=tuple(map(with_value, instance.pending)),
        queues=tuple(
            replace(queue, aps_priority=_CONSTANT) if queue.name in queues else queue
            for queue in instance.queues
        ),
    )
    return None if any(absolute_problems(kept)) else kept
