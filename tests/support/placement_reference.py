"""Placement by enumeration: every way to hand out the slots, each checked word by word.

Slow (hosts <= 6), and sharing no code with the methods it judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from slotwise.solver.availability.demand import TermCapacity, TermDemand, UnitDemand
from slotwise.solver.availability.resources import Allocation


def placements(term: TermDemand, capacity: TermCapacity, slots: int) -> Iterator[Allocation]:
    """All valid placements of exactly `slots` slots, hosts in index order."""
    hosts = sorted(int(host) for host in term.candidates)
    for amounts in product(*(range(int(capacity.caps[host]) + 1) for host in hosts)):
        if sum(amounts) == slots:
            held = {h: n for h, n in zip(hosts, amounts, strict=True) if n}
            if valid(term, capacity, held):
                yield held


def valid(term: TermDemand, capacity: TermCapacity, held: Allocation) -> bool:
    """Whether slots by host keep every rule of the term; the order of the hosts does not count."""
    return (
        all(host in term.candidates and 0 < n <= capacity.caps[host] for host, n in held.items())
        and (not term.one_host or len(held) == 1)
        and (term.one_host or _tiled(term, held))
        and (not term.same or any(_agree([int(a[h]) for h in held]) for a in term.same))
        and (term.first_hosts is None or any(term.first_hosts[host] for host in held))
        and all(
            (group.slots is None or sum(n for h, n in held.items() if group.mask[h]) <= group.slots)
            and (group.hosts is None or sum(bool(group.mask[h]) for h in held) <= group.hosts)
            for group in capacity.groups
        )
        and (term.unit is None or _units_valid(term, term.unit, capacity, held))
    )


def units_used(term: TermDemand, held: Allocation) -> frozenset[int]:
    """The units that a placement uses."""
    return frozenset() if term.unit is None else frozenset(int(term.unit.unit_of[h]) for h in held)


def _tiled(term: TermDemand, held: Allocation) -> bool:
    """Every host has exactly its ptile, but one may have fewer (PLC-02)."""
    if term.block > 1:
        return sum(n % term.block > 0 for n in held.values()) <= 1
    if term.ptile is None:
        return True
    short = [host for host, n in held.items() if n < term.ptile[host]]
    return len(short) <= 1 and all(n <= term.ptile[host] for host, n in held.items())


def _agree(labels: list[int]) -> bool:
    return len(set(labels)) == 1 and labels[0] >= 0


def _units_valid(
    term: TermDemand, unit: UnitDemand, capacity: TermCapacity, held: Allocation
) -> bool:
    slots: Counter[int] = Counter()
    hosts: Counter[int] = Counter()
    for host, amount in held.items():
        slots[int(unit.unit_of[host])] += amount
        hosts[int(unit.unit_of[host])] += -(-amount // term.block) if term.block > 1 else 1
    if -1 in slots or (unit.maxcus is not None and len(slots) > unit.maxcus):
        return False
    if unit.usablecuslots and sum(n < unit.usablecuslots for n in slots.values()) > 1:
        return False
    if unit.balance:
        ptile = 1 if term.ptile is None else max(int(term.ptile[host]) for host in held)
        parts = (hosts if ptile > 1 or term.block > 1 else slots).values()
        if max(parts) - min(parts) > 1:
            return False
    if unit.excl and capacity.idle is not None:
        return all(
            capacity.idle[host] for host, c in enumerate(unit.unit_of.tolist()) if c in slots
        )
    return True
