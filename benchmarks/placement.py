"""How long one placement takes on so many hosts in units of 16, with requests in proportion.

Run: python benchmarks/placement.py [--hosts 5000]. Times are in milliseconds: `fits` is what the
earliest-start search calls some 15 times a job, `place` is called once (medians); CP-SAT is its
model alone, of the processor and once, for the same question.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from slotwise.solver.availability.demand import GroupCap, TermCapacity, TermDemand, UnitDemand
from slotwise.solver.placement import cpsat, fits, place
from slotwise.solver.placement.supply import supplies

PER_UNIT, SLOTS, SEED, ROUNDS = 16, 32, 7, 15
#: Hosts for which the requests below are written.
WRITTEN_FOR = 5_000


def scenarios(hosts: int) -> dict[str, tuple[TermDemand, TermCapacity]]:
    """Terms by name, each with the room of a busy cluster (about a third of the slots free)."""

    def part_of(amount: int) -> int:
        return max(1, amount * hosts // WRITTEN_FOR)

    draw = np.random.default_rng(SEED)
    free = np.where(draw.random(hosts) < 0.4, SLOTS, draw.integers(0, SLOTS // 2, hosts))
    unit_of = np.arange(hosts, dtype=np.int64) // PER_UNIT
    names = tuple(f"cu{c}" for c in range(int(unit_of[-1]) + 1))
    room = TermCapacity(free, idle=free == SLOTS, free_now=free)
    kinds = draw.integers(0, 4, hosts)
    uneven = draw.choice(np.array([16, 32]), hosts)
    part = GroupCap(np.arange(hosts) < hosts // 2, slots=part_of(14_000))

    def term(slots: int, ptile: Any = None, same: bool = False, **cu: Any) -> TermDemand:
        return TermDemand(
            slots=part_of(slots),
            max_slots=part_of(slots),
            candidates=draw.permutation(hosts),
            ptile=np.full(hosts, ptile) if isinstance(ptile, int) else ptile,
            same=(kinds,) if same else (),
            unit=UnitDemand(unit_of, names, **cu) if cu else None,
        )

    few = GroupCap(np.arange(hosts) % 7 < 3, slots=part_of(500))
    tight = TermCapacity(free, (few,), room.idle, room.free_now)
    capped = TermCapacity(free, (part,), room.idle, room.free_now)
    return {
        "no span": (term(4_000), room),
        "ptile": (term(4_010, 16), room),
        "ptile, same": (term(4_010, 16, same=True), room),
        "ptile, units in order": (term(4_010, 16, pref="minavail"), room),
        "ptile, maxcus": (term(4_010, 16, maxcus=part_of(40)), room),
        "ptile, maxcus, impossible": (term(4_010, 16, maxcus=part_of(10)), room),
        "usablecuslots": (term(4_010, 16, usablecuslots=100, maxcus=part_of(40)), room),
        "balance": (term(4_010, 16, balance=True), room),
        "balance, excl, impossible": (term(4_010, 16, balance=True, excl=True), room),
        "uneven ptile, maxcus": (term(4_000, uneven, maxcus=part_of(40)), room),
        "no span under a group cap": (term(30_000), capped),
        "ptile under a group cap (model)": (term(30_000, 16), capped),
        "same with maxcus (model)": (term(4_010, 16, maxcus=part_of(40)), tight),
        "uneven, usablecuslots (model)": (term(4_000, uneven, usablecuslots=100), room),
    }


def median_ms(call: Callable[[], object]) -> float:
    """Median wall time of a few calls, the first one left out."""
    call()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1_000


def by_model(term: TermDemand, room: TermCapacity) -> float:
    """Processor time of CP-SAT alone for one placement."""
    begun = time.process_time()
    for supply in supplies(term, room, term.slots):
        bounds = cpsat.binding(room.groups, supply, term.slots)
        if bounds is not None and cpsat.solve(supply, term.unit, room, term.slots, bounds):
            break
    return (time.process_time() - begun) * 1_000


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=5_000)
    options = parser.parse_args()
    by_model(*scenarios(16)["ptile"])  # the import of OR-tools
    print(f"{'term':34}{'fits':>10}{'place':>10}{'CP-SAT':>10}  found")
    for name, (term, room) in scenarios(options.hosts).items():
        found = place(term, room) is not None
        fit = median_ms(lambda term=term, room=room: fits(term, room))  # type: ignore[misc]
        full = median_ms(lambda term=term, room=room: place(term, room))  # type: ignore[misc]
        model = by_model(term, room)
        print(f"{name:34}{fit:10.2f}{full:10.2f}{model:10.2f}  {'yes' if found else 'no'}")


if __name__ == "__main__":
    main()
