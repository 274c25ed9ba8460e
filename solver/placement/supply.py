"""Capacity of hosts for one term: slots by label class, suitable GPUs, slots of running terms.

Slots of each term of a compound requirement for a running job (REQ-14). LSF does not record them.
Terms take their slots in the order of the allocation, each on hosts that it may have; if that
fails, the first distribution that respects those hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.cluster import Gpus, Host
from ...model.display import some
from ...model.gpu_request import GpuRequest
from ..availability.demand import TermCapacity, TermDemand, UnitDemand
from ..availability.profile import FEW_HOSTS
from ..availability.resources import Allocation, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Supply:
    """Hosts that have at least one free slot for the term, in candidate order.

    All arrays have one row per host; under span[block] one row per block that fits on a host.
    """

    #: Host index of each row.
    hosts: IntArray
    #: Maximum slots on each row, all > 0.
    caps: IntArray
    #: Slots that every row but the last must hold, None for any number (no span).
    blocks: IntArray | None
    #: Compute unit of each row (all 0 without cu[]).
    units: IntArray
    #: Rows that may come first in the allocation, None for any.
    first: BoolArray | None
    #: Whether a host may have several rows.
    several: bool = False

    def take(self, rows: BoolArray | IntArray) -> Supply:
        """Return the supply with these rows only, in the order given."""
        return Supply(
            self.hosts[rows],
            self.caps[rows],
            None if self.blocks is None else self.blocks[rows],
            self.units[rows],
            None if self.first is None else self.first[rows],
            self.several,
        )

    def with_caps(self, caps: IntArray) -> Supply:
        """Return the supply with other caps; hosts with a cap of 0 are dropped."""
        return replace(self, caps=caps).take(caps > 0)

    @property
    def uniform(self) -> bool:
        """Return whether all hosts have blocks of one size (or no span restricts them)."""
        return self.blocks is None or bool((self.blocks == self.blocks[:1]).all())

    @property
    def block(self) -> int:
        """Return the size of a block if it is uniform; without span every slot is one."""
        return 1 if self.blocks is None or not self.blocks.size else int(self.blocks[0])


def supplies(term: TermDemand, capacity: TermCapacity, slots: int) -> Iterator[Supply]:
    """Yield the hosts to choose from: all of them, or one label class of same[] after another.

    Label arrays are tried in their order, labels in the order of their first host. Classes with
    fewer than `slots` slots are skipped.
    """
    everyone = _eligible(term, capacity, slots)
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


def _eligible(term: TermDemand, capacity: TermCapacity, slots: int) -> Supply:
    hosts = _with_slots(term.candidates, capacity.caps)
    for group in capacity.groups:
        if group.slots == 0 or group.hosts == 0:
            hosts = hosts[~group.mask[hosts]]
    units = np.zeros_like(hosts)
    if term.unit is not None:
        units = term.unit.unit_of[hosts]
        usable = units >= 0
        if term.unit.excl and capacity.idle is not None:
            usable &= ~busy_units(term.unit, capacity.idle)[units]
        hosts, units = hosts[usable], units[usable]
    blocks: IntArray | None = None
    if term.one_host:
        # All slots on one host are one block of that size, without a remainder.
        blocks = np.full(hosts.size, slots, dtype=np.int64)
    elif term.ptile is not None:
        blocks = term.ptile[hosts]
    first = None if term.first_hosts is None else term.first_hosts[hosts]
    if capacity.first is not None:
        first = capacity.first[hosts] if first is None else first & capacity.first[hosts]
    supply = Supply(hosts, capacity.caps[hosts], blocks, units, first)
    return supply if term.block == 1 else _in_blocks(supply, term.block, slots)


def _with_slots(candidates: IntArray, caps: IntArray) -> IntArray:
    """Return the candidates with a slot, in their order."""
    if FEW_HOSTS < len(caps) == len(candidates) and bool((candidates[1:] > candidates[:-1]).all()):
        return np.flatnonzero(caps > 0)  # All hosts as configured: no need to look each up.
    return candidates[caps[candidates] > 0]


def _in_blocks(supply: Supply, block: int, slots: int) -> Supply:
    """Return one row for each block of a host, the last with its rest, so that blocks are hosts."""
    caps = np.minimum(supply.caps, slots)
    rows = -(-caps // block)
    by_row = supply.take(np.repeat(np.arange(caps.size), rows))
    place = np.arange(by_row.caps.size) - np.repeat(np.cumsum(rows) - rows, rows)
    left = np.minimum(np.repeat(caps, rows) - place * block, block)
    return replace(by_row, caps=left, blocks=np.full_like(left, block), several=True)


def busy_units(unit: UnitDemand, idle: BoolArray) -> BoolArray:
    """Return the units in which any host has work, including hosts that are not candidates
    (PLC-11).
    """
    owned = unit.unit_of[~idle & (unit.unit_of >= 0)]
    return np.bincount(owned, minlength=len(unit.names)) > 0


#: Maximum number of hosts in a sentence.
_SHOWN = 3


def suits(request: GpuRequest, host: Host) -> bool | None:
    """Return whether the GPUs of a host suit a request, None if the host gives too little data."""
    if host.gpu_count is None:
        return False
    return request.suited(host.gpus or Gpus(int(host.gpu_count)))


def unsuitable(request: GpuRequest, hosts: Sequence[Host]) -> str:
    """Return text about the requested GPUs and those of the hosts."""
    wrong = [host for host in hosts if host.gpus and suits(request, host) is False]
    kinds = dict.fromkeys(_kind(host.gpus) for host in wrong if host.gpus)
    if not kinds:
        bare = [host.name for host in hosts if host.gpu_count is None]
        none = "no host has GPUs" if len(bare) == len(hosts) else f"{some(bare)} have no GPUs"
        return f"requests {request.wanted()}; {none}"
    more = f" and {len(kinds) - _SHOWN} other kinds" if len(kinds) > _SHOWN else ""
    return f"requests {request.wanted()}; hosts have {', '.join(list(kinds)[:_SHOWN])}{more}"


def _kind(gpus: Gpus) -> str:
    mem = "" if gpus.mem is None else f" ({gpus.mem / 1024:g}G)"
    return f"{gpus.model or 'GPUs'}{mem}"


#: Number of hosts of an allocation beyond which only the order of the allocation counts.
MAX_HOSTS = 200


def split_over_terms(
    allocation: Allocation, counts: Sequence[int], allowed: Sequence[BoolArray]
) -> list[Allocation]:
    """Return one part for each term. counts: slots of each; allowed: maximum by host, [H]."""
    parts = _in_order(allocation, counts)
    if len(allocation) > MAX_HOSTS or _within(parts, allowed):
        return parts
    return _searched(list(allocation.items()), tuple(counts), allowed) or parts


def _in_order(allocation: Allocation, counts: Sequence[int]) -> list[Allocation]:
    parts: list[Allocation] = []
    left = dict(allocation)
    for count in counts:
        part: Allocation = {}
        for host in list(left):
            taken = min(count, left[host])
            if taken:
                part[host] = taken
                count -= taken
                left[host] -= taken
                if not left[host]:
                    del left[host]
        parts.append(part)
    return parts


def _within(parts: Sequence[Allocation], allowed: Sequence[BoolArray]) -> bool:
    return all(mask[host] for part, mask in zip(parts, allowed, strict=True) for host in part)


def _searched(
    hosts: list[tuple[int, int]], counts: tuple[int, ...], allowed: Sequence[BoolArray]
) -> list[Allocation] | None:
    """Return a distribution found host by host, largest shares of the earlier terms first."""
    dead: set[tuple[int, tuple[int, ...]]] = set()

    def step(at: int, left: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        if at == len(hosts):
            return None if any(left) else []
        if (at, left) in dead:
            return None
        host, slots = hosts[at]
        open_to = tuple(n if mask[host] else 0 for n, mask in zip(left, allowed, strict=True))
        for shares in _shares(slots, open_to):
            rest = step(at + 1, tuple(n - share for n, share in zip(left, shares, strict=True)))
            if rest is not None:
                return [shares, *rest]
        dead.add((at, left))
        return None

    rows = step(0, counts)
    if rows is None:
        return None
    return [
        {host: row[term] for (host, _), row in zip(hosts, rows, strict=True) if row[term]}
        for term in range(len(counts))
    ]


def _shares(slots: int, most: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not most:
        if slots == 0:
            yield ()
        return
    for share in range(min(slots, most[0]), -1, -1):
        for rest in _shares(slots - share, most[1:]):
            yield (share, *rest)
