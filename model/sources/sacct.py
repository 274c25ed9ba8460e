"""Finished jobs of Slurm's accounting: ``sacct -P``, one row a job, read as lsb.acct is.

``sacct -a -X -P -o JobID,User,Account,Partition,Submit,Eligible,Start,End,State,Timelimit,
AllocTRES,ReqTRES,NodeList`` has all that is read. Times without a zone are taken as UTC;
``SLURM_TIME_FORMAT=%s`` prints seconds since 1970.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC

from ..formats.sniff import SACCT_HEADER
from . import slurm_values as values
from .finished_jobs import FinishedJob

#: Required columns, each with columns that may replace it.
_NEEDED = (
    *(("start",), ("end",), ("state",), ("submit",), ("nodelist",)),
    ("alloctres", "alloccpus", "ncpus"),
)
#: ``517_3``, ``12+1``, ``8``; a step has a point behind it.
_ID = re.compile(r"(\d{1,10})(?:_(\d{1,9}))?(?:\+\d{1,9})?")
#: States of jobs that have not finished.
_ALIVE = ("PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", "CONFIGURING", "COMPLETING")
#: The status of a job that is done, and of one that has exited (lsb.acct).
_DONE, _EXIT = 64, 32


def is_header(line: str) -> bool:
    """Return whether a line is the first one of ``sacct -P``."""
    return SACCT_HEADER.match(line) is not None


class SacctTable:
    """Reads rows by the columns of their first line."""

    def __init__(self, header: str) -> None:
        self.names = [name.strip().lower() for name in header.strip().rstrip("|").split("|")]
        missing = ["/".join(group) for group in _NEEDED if not set(group) & set(self.names)]
        #: Error in the first line, "" if none.
        self.wrong = f"has no column {', '.join(missing)}: give them to sacct -o" if missing else ""

    def finished(self, line: str) -> tuple[int, int, FinishedJob] | str:
        """Return number, array index and job of a row, or why it has no finished job.

        Raises ValueError for an unreadable row.
        """
        cells = line.strip("\n").split("|")
        if len(cells) < len(self.names):
            raise ValueError(f"has {len(cells)} columns, the first line has {len(self.names)}")
        row = dict(zip(self.names, (cell.strip() for cell in cells), strict=False))
        shown = row.get("jobid") or row.get("jobidraw", "")
        found = _ID.fullmatch(shown)
        if found is None:
            return "step" if re.match(r"\d+(?:_\d+)?(?:\+\d+)?\.", shown) else "pending"
        if row["state"].upper().startswith(_ALIVE):
            return "unfinished"
        number, index = int(found[1]), int(found[2] or 0)
        raw = row.get("jobidraw", "")
        if found[2] == "0" and raw.isdigit():  # index 0 stands for no array
            number = int(raw)
        return number, index, _job(row)


def _job(row: Mapping[str, str]) -> FinishedJob:
    times = {name: _time(row, name) for name in ("submit", "eligible", "start", "end")}
    held = values.tres(row.get("alloctres", "")) or values.tres(row.get("reqtres", ""))
    count = values.whole(row.get("alloccpus") or row.get("ncpus"))
    cpus = int(held.get("cpu", count or 0)) or 1
    nodes = values.host_list(row.get("nodelist", ""))
    nodes = () if any("assigned" in name.lower() for name in nodes) else nodes
    limit = values.seconds(row.get("timelimit")) if row.get("timelimit") else None
    status = _DONE if row["state"].upper().startswith("COMPLETED") else _EXIT
    start = times["start"] if nodes else 0
    return FinishedJob(
        "",
        user=row.get("user") or "user",
        queue=row.get("partition", "").partition(",")[0] or "default",
        project=row.get("account") or "default",
        submit=times["submit"] or start or times["end"],
        begin=times["eligible"] if times["eligible"] > times["submit"] else 0,
        start=start,
        end=times["end"],
        slots=cpus,
        max_slots=cpus,
        hosts=_shared_out(nodes, cpus),
        res_req=_requirement(held, len(nodes), cpus),
        run_limit=None if limit is None or math.isinf(limit) else int(limit),
        cpu_time=0.0,
        status=status,
    )


def _time(row: Mapping[str, str], name: str) -> int:
    return values.stamp(row.get(name), UTC) or 0


def _shared_out(nodes: tuple[str, ...], cpus: int) -> dict[str, int]:
    """Return CPUs by node: sacct has their sum, which is divided evenly."""
    share, rest = divmod(cpus, len(nodes)) if nodes else (0, 0)
    return {name: max(1, share + (place < rest)) for place, name in enumerate(nodes)}


def _requirement(held: Mapping[str, float], nodes: int, cpus: int) -> str:
    """Return the memory of a node, and CPUs of a node if all have the same number."""
    parts = []
    if held.get("mem"):
        parts.append(f"rusage[mem={held['mem'] / max(1, nodes):g}]")
    if nodes == 1:
        parts.append("span[hosts=1]")
    elif nodes and cpus % nodes == 0:
        parts.append(f"span[ptile={cpus // nodes}]")
    return " ".join(parts)
