"""What the candidate hosts can give to one term, one way of agreeing (same[]) at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..availability.arrays import BoolArray, IntArray
from ..availability.demand import Room, TermDemand, UnitDemand


@dataclass(frozen=True, slots=True)
class Supply:
    """Hosts that can hold at least one slot of the term, in candidate order.

    All arrays have one row a host, under span[block] one row a block that a host has room for.
    hosts: host indices. caps: slots each row can hold, all > 0.
    blocks: slots that every row but the last must hold, None for any number (no span).
    units: compute unit of each (all 0 without cu[]). first: rows that may come first in the
    allocation, None for any. several: a host may have several rows.
    """

    hosts: IntArray
    caps: IntArray
    blocks: IntArray | None
    units: IntArray
    first: BoolArray | None
    several: bool = False

    def take(self, rows: BoolArray | IntArray) -> Supply:
        """The same, with these rows only, in the order given."""
        return Supply(
            self.hosts[rows],
            self.caps[rows],
            None if self.blocks is None else self.blocks[rows],
            self.units[rows],
            None if self.first is None else self.first[rows],
            self.several,
        )

    def with_caps(self, caps: IntArray) -> Supply:
        """The same hosts with other caps; hosts left with none are dropped."""
        return replace(self, caps=caps).take(caps > 0)

    @property
    def uniform(self) -> bool:
        """Whether every host holds blocks of one size (or no span says otherwise)."""
        return self.blocks is None or bool((self.blocks == self.blocks[:1]).all())

    @property
    def block(self) -> int:
        """The size of a block where it is uniform; without span every slot is one."""
        return 1 if self.blocks is None or not self.blocks.size else int(self.blocks[0])


def supplies(term: TermDemand, room: Room, slots: int) -> Iterator[Supply]:
    """The hosts to choose from: all of them, or one label class of same[] after another.

    Label arrays are tried in their order, labels in the order of their first host. Classes that
    cannot hold `slots` in sum are left out.
    """
    everyone = _eligible(term, room, slots)
    if not term.same:
        if int(everyone.caps.sum()) >= slots:
            yield everyone
        return
    for labels in term.same:
        own = labels[everyone.hosts]
        names, at, inverse = np.unique(own, return_index=True, return_inverse=True)
        sums = np.bincount(inverse, weights=everyone.caps, minlength=names.size)
        for index in np.argsort(at):
            if names[index] >= 0 and sums[index] >= slots:
                yield everyone.take(inverse == index)


def _eligible(term: TermDemand, room: Room, slots: int) -> Supply:
    hosts = term.candidates[room.caps[term.candidates] > 0]
    for group in room.groups:
        if group.slots == 0 or group.hosts == 0:
            hosts = hosts[~group.mask[hosts]]
    units = np.zeros_like(hosts)
    if term.unit is not None:
        units = term.unit.unit_of[hosts]
        usable = units >= 0
        if term.unit.excl and room.idle is not None:
            usable &= ~busy_units(term.unit, room.idle)[units]
        hosts, units = hosts[usable], units[usable]
    blocks: IntArray | None = None
    if term.one_host:
        # All slots on one host are one block of that size, and no remainder.
        blocks = np.full(hosts.size, slots, dtype=np.int64)
    elif term.ptile is not None:
        blocks = term.ptile[hosts]
    first = None if term.first_hosts is None else term.first_hosts[hosts]
    if room.first is not None:
        first = room.first[hosts] if first is None else first & room.first[hosts]
    supply = Supply(hosts, room.caps[hosts], blocks, units, first)
    return supply if term.block == 1 else _in_blocks(supply, term.block, slots)


def _in_blocks(supply: Supply, block: int, slots: int) -> Supply:
    """One row for each block of a host, the last one what is left of it: then blocks are hosts."""
    caps = np.minimum(supply.caps, slots)
    rows = -(-caps // block)
    by_row = supply.take(np.repeat(np.arange(caps.size), rows))
    place = np.arange(by_row.caps.size) - np.repeat(np.cumsum(rows) - rows, rows)
    left = np.minimum(np.repeat(caps, rows) - place * block, block)
    return replace(by_row, caps=left, blocks=np.full_like(left, block), several=True)


def busy_units(unit: UnitDemand, idle: BoolArray) -> BoolArray:
    """Units with work on any of their hosts, candidates or not (PLC-11)."""
    owned = unit.unit_of[~idle & (unit.unit_of >= 0)]
    return np.bincount(owned, minlength=len(unit.names)) > 0
