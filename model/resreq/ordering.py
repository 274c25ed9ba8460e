"""The order in which hosts are tried, and the classes of hosts that same[] keeps together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import ResreqError
from .syntax import OrderKey
from .table import BoolArray, FloatArray, HostTable, IntArray

#: LSF's order where none is given.
DEFAULT_ORDER = (OrderKey("r15s"), OrderKey("pg"))
#: Run queue lengths are compared normalised by the CPU factor, as (length + 1) / factor.
NORMALISED = frozenset({"r15s", "r1m", "r15m"})


def order_hosts(
    keys: Sequence[OrderKey] | None, table: HostTable, mask: BoolArray | None = None
) -> IntArray:
    """Positions of the chosen hosts, best first (REQ-10).

    Hosts are sorted by the rightmost key first and the leftmost last, each time from best to worst
    by the index's own sense: less is better for an index that grows with load, more is better for
    anything else; `reverse` turns that round. Equal hosts stay in configuration order, those that
    lack the resource go behind the others, and hosts that are not ok to the very end.
    mask: the hosts to order, all where None. Raises ResreqError for a key that is no number.
    """
    columns = [_column(key, table) for key in reversed(tuple(keys) if keys else DEFAULT_ORDER)]
    chosen = np.arange(len(table)) if mask is None else np.flatnonzero(mask)
    by = [column[chosen] for column in columns]
    by.append((~table.ok[chosen]).astype(np.float64))
    order: IntArray = chosen[np.lexsort(by)]
    return order


def _column(key: OrderKey, table: HostTable) -> FloatArray:
    if table.kind(key.resource) != "numeric":
        raise ResreqError(f"hosts cannot be ordered by {key.resource}, which is no number")
    column = table.number(key.resource)
    if key.resource in NORMALISED:
        column = (column + 1) / table.number("cpuf")
    ascending = table.vocabulary.rises(key.resource) != key.reverse
    return column if ascending else -column


def same_classes(
    names: Sequence[str], table: HostTable, mask: BoolArray | None = None
) -> list[IntArray]:
    """Groupings of hosts for a same section, shape (hosts,) each: a class per host, -1 for none.

    A job must lie inside one class of one grouping (PLC-04). Where every host in `mask` has every
    resource there is one grouping: equal in all. Where hosts lack some, agreement in any one will
    do: the groupings then are "equal in all" and "equal in this one" for each resource.
    """
    candidates = np.ones(len(table), dtype=bool) if mask is None else mask
    columns = [_codes(name, table) for name in names]
    groupings = [columns]
    if len(columns) > 1 and any((column[candidates] < 0).any() for column in columns):
        groupings += [[column] for column in columns]
    return [_labels(chosen) for chosen in groupings]


def _codes(name: str, table: HostTable) -> IntArray:
    if table.kind(name) == "string":
        return table.text(name).code
    column = table.number(name)
    code = np.full(len(table), -1, dtype=np.int64)
    has = ~np.isnan(column)
    code[has] = np.unique(column[has], return_inverse=True)[1]
    return code


def _labels(columns: Sequence[IntArray]) -> IntArray:
    stacked = np.stack(columns, axis=1)
    whole = (stacked >= 0).all(axis=1)
    labels = np.full(len(stacked), -1, dtype=np.int64)
    if whole.any():
        labels[whole] = np.unique(stacked[whole], axis=0, return_inverse=True)[1].ravel()
    return labels
