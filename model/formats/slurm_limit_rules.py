"""Consistency of the limits of Slurm's QOS and associations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..errors import nearest
from ..instance import Instance
from ..slurm_limits import HOLDING, READERS, column_name
from .document import Finding, Location

#: Columns without a limit.
_OTHERS = ("partition", "flags", "qos", "defqos")


def slurm_limit_findings(instance: Instance) -> Iterator[Finding]:
    """Yield what is wrong in ``slurm_limits``: rows, columns and cells."""
    above = {row.account: row.parent for row in instance.slurm_limits if not row.user}
    seen = set()
    for index, row in enumerate(instance.slurm_limits):
        place: Location = ("slurm_limits", index)
        if row.of not in ("qos", "association"):
            yield Finding((*place, "of"), f"must be qos or association, not {row.of!r}")
        cells = {column_name(name): cell for name, cell in row.values.items()}
        partition = cells.get("partition", "") if row.of != "qos" else ""
        key = (row.of, row.name, row.account, row.user, partition)
        if key in seen:
            yield Finding(place, "is already defined: give each QOS and association one row")
        seen.add(key)
        if not row.user and _is_circular(row.account, above):
            yield Finding((*place, "parent"), f"account {row.account} is above itself")
        elif row.parent and row.parent not in above:
            yield Finding((*place, "parent"), f"no row is of account {row.parent!r}", warning=True)
        for name, cell in row.values.items():
            column = column_name(name)
            if column not in (*READERS, *_OTHERS) and not HOLDING.match(column):
                close = nearest(name, (*READERS, *_OTHERS))
                yield Finding((*place, "values", name), f"unknown column{close}")
            try:
                READERS.get(column, str)(cell)
            except ValueError as error:
                yield Finding((*place, "values", name), str(error))


def _is_circular(account: str, above: Mapping[str, str]) -> bool:
    """Whether the accounts above an account are a circle. above: account above each account."""
    passed = set[str]()
    while account and account not in passed:
        passed.add(account)
        account = above.get(account, "")
    return bool(account)
