"""Columns of the limits of Slurm's QOS and associations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from . import slurm_values as values

#: Columns of limits that the model has: on TRES, on numbers of jobs, and who share one.
MODELLED = (
    ("grptres", "grpjobs", "group"),
    ("maxtrespu", "maxjobspu", "user"),
    ("maxtrespa", "maxjobspa", "account"),
    ("", "maxjobs", "jobs"),
)
#: Limits on the number of submitted jobs, with the fields of those that share one within a row.
ON_SUBMISSION: Mapping[str, tuple[str, ...]] = {
    "grpsubmit": (), "maxsubmitpu": ("user",), "maxsubmitpa": ("account",), "maxsubmit": ("user",)
}  # fmt: skip
#: Limits of each job by itself: a job beyond one never starts.
OF_ONE_JOB = ("maxtres", "maxtrespn", "maxtresmins", "maxwall", "mintres")
#: Further columns that may hold jobs back, which no method obeys. Limits on submission hold none.
HOLDING = re.compile(r"(?:grp|max|min|usagethres)(?!\w*submit)|limitfactor")
#: Parts of the longer names of columns, with the shorter forms.
_SHORTER = {
    "(?:perjob|pj)$": "", "peruser": "pu", "peraccount": "pa", "pernode": "pn",
    "wallduration": "wall", "submitjobs": "submit", "thresh(?:old)?": "thres",
}  # fmt: skip


def _tres(cell: str) -> dict[str, float]:
    """Return the amounts of a cell by TRES; raise ValueError for what is none."""
    for part in cell.split(","):
        if "=" not in part and not values.blank(part) and part.strip() not in ("N", "-1"):
            raise ValueError(f"{part.strip()!r} is not an amount such as cpu=8 or gres/gpu=2")
    return values.tres(cell)


#: Columns that are read, in small letters, each with its reader.
READERS: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys((*OF_ONE_JOB, *(tres for tres, _, _ in MODELLED)), _tres),
    **dict.fromkeys(("priority", "usagefactor", *ON_SUBMISSION), values.number),
    **dict.fromkeys((count for _, count, _ in MODELLED), values.number),
    "maxwall": values.seconds,
}


def column_name(name: str) -> str:
    """Return the name of a column in lower case, in the shorter of its forms."""
    key = name.replace(" ", "").lower()
    for long, short in _SHORTER.items():
        key = re.sub(long, short, key)
    return key
