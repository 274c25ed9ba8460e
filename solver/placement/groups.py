"""Caps over sets of hosts (GroupCap): which of them can bind, and what they decide at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..availability.arrays import Allocation, BoolArray
from ..availability.demand import GroupCap
from .supply import Supply


@dataclass(frozen=True, slots=True)
class BindingGroup:
    """A group cap over the rows of a supply. slots, hosts: None where that part cannot bind."""

    rows: BoolArray
    slots: int | None
    hosts: int | None


def binding(
    groups: Iterable[GroupCap], supply: Supply, slots: int
) -> tuple[BindingGroup, ...] | None:
    """The caps that may bind a placement of `slots` slots; None if one rules it out.

    A cap over all hosts of the supply bounds only the total, which is known, and under a uniform
    span also the number of hosts.
    """
    bounds = []
    for group in groups:
        rows = group.mask[supply.hosts]
        covers = bool(rows.all())
        size = np.unique(supply.hosts[rows]).size if supply.several else np.count_nonzero(rows)
        most = min(slots, int(supply.caps[rows].sum()))
        cap = group.slots if group.slots is not None and group.slots < most else None
        hosts = group.hosts if group.hosts is not None and group.hosts < min(size, slots) else None
        if covers and cap is not None:
            return None
        if covers and hosts is not None and _counts_hosts(supply):
            if -(-slots // supply.block) > hosts:
                return None
            hosts = None
        if cap is not None or hosts is not None:
            bounds.append(BindingGroup(rows, cap, hosts))
    return tuple(bounds)


def _counts_hosts(supply: Supply) -> bool:
    """Whether the number of slots says how many hosts there are."""
    return supply.blocks is not None and supply.uniform and not supply.several


def obeys(allocation: Allocation, supply: Supply, bounds: Iterable[BindingGroup]) -> bool:
    """Whether an allocation keeps within the caps."""
    slots = np.zeros(int(supply.hosts.max()) + 1, dtype=np.int64)
    slots[list(allocation)] = list(allocation.values())
    amounts = slots[supply.hosts]
    if supply.several:  # each host once, at its first row
        amounts[
            ~np.isin(np.arange(amounts.size), np.unique(supply.hosts, return_index=True)[1])
        ] = 0
    return all(
        (bound.slots is None or int(amounts[bound.rows].sum()) <= bound.slots)
        and (bound.hosts is None or np.count_nonzero(amounts[bound.rows]) <= bound.hosts)
        for bound in bounds
    )


def absorbed(supply: Supply, bounds: tuple[BindingGroup, ...]) -> Supply | None:
    """The supply with nested or disjoint slot caps folded into the hosts' own caps.

    Exact where any number of slots may go to any host (no span, no units): then filling hosts in
    order, each as far as all its groups allow, reaches the most slots there can be. None where
    that does not hold (host caps, groups that cross).
    """
    if supply.blocks is not None or any(bound.hosts is not None for bound in bounds):
        return None
    nested = sorted(bounds, key=lambda bound: np.count_nonzero(bound.rows))
    for index, inner in enumerate(nested):
        for outer in nested[index + 1 :]:
            common = inner.rows & outer.rows
            if common.any() and (common != inner.rows).any():
                return None
    if supply.first is not None and supply.first.any():
        row = int(np.flatnonzero(supply.first)[0])
        supply = supply.take(np.r_[row, np.delete(np.arange(supply.hosts.size), row)])
        nested = [_moved_first(bound, row) for bound in nested]
    caps = supply.caps.copy()
    for bound in nested:
        inside = caps[bound.rows]
        before = np.cumsum(inside) - inside
        caps[bound.rows] = np.clip((bound.slots or 0) - before, 0, inside)
    return supply.with_caps(caps)


def fewest_hosts_first(supply: Supply) -> Supply:
    """The hosts with the largest caps first (after a first execution host): fewest hosts used."""
    rows = np.argsort(-supply.caps, kind="stable")
    if supply.first is not None and supply.first.any():
        able = np.flatnonzero(supply.first)
        row = able[np.argmax(supply.caps[able])]
        rows = np.r_[row, rows[rows != row]]
    return supply.take(rows)


def _moved_first(bound: BindingGroup, row: int) -> BindingGroup:
    rows = np.r_[bound.rows[row], np.delete(bound.rows, row)]
    return BindingGroup(rows, bound.slots, bound.hosts)
