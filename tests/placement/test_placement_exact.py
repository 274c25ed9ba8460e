"""The placement methods against enumeration on random tiny rooms."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from placement_cases import Case, tiny_cases

from slotwise.solver.demand import Allocation, Room, TermDemand
from slotwise.solver.placement import fits, place, place_most
from slotwise.solver.placement.cpsat import solve
from slotwise.solver.placement.groups import binding
from slotwise.solver.placement.reference import placements, units_used, valid
from slotwise.solver.placement.supply import supplies

quick = settings(max_examples=500, deadline=None)


def by_model(term: TermDemand, room: Room, slots: int) -> Allocation | None:
    """The CP-SAT answer, label class after label class as place() goes."""
    for supply in supplies(term, room, slots):
        bounds = binding(room.groups, supply, slots)
        if bounds is not None:
            found = solve(supply, term.unit, room, slots, bounds)
            if found is not None:
                return found
    return None


def concentrates(term: TermDemand) -> bool:
    unit = term.unit
    return unit is not None and (
        unit.maxcus is not None or unit.balance or unit.pref == "bestfit"
    )


def check_order(term: TermDemand, held: Allocation) -> None:
    """First host first, units together, candidate order inside a unit."""
    hosts = list(held)
    if term.first_hosts is not None:
        assert term.first_hosts[hosts[0]]
    rank = {int(host): position for position, host in enumerate(term.candidates)}
    later = hosts if term.first_hosts is None else hosts[1:]
    units = [0 if term.unit is None else int(term.unit.unit_of[host]) for host in hosts]
    blocks = [unit for n, unit in enumerate(units) if n == 0 or units[n - 1] != unit]
    assert len(blocks) == len(set(blocks))
    for before, after in zip(later, later[1:], strict=False):
        if term.unit is None or term.unit.unit_of[before] == term.unit.unit_of[after]:
            assert rank[before] < rank[after]


def fewest(term: TermDemand, room: Room, slots: int) -> int:
    """Fewest units by enumeration in the first label class that has a placement."""
    for labels in term.same or (None,):
        every: dict[int, int] = {}
        for host in term.candidates:
            if room.caps[host]:
                every.setdefault(0 if labels is None else int(labels[host]), 0)
        for label in every:
            inside = [
                int(h) for h in term.candidates if labels is None or int(labels[h]) == label >= 0
            ]
            narrow = replace(term, same=(), candidates=term.candidates[:0])
            if not inside:
                continue
            narrow = replace(narrow, candidates=term.candidates[[h in inside for h in term.candidates]])
            counts = [len(units_used(term, held)) for held in placements(narrow, room, slots)]
            if counts:
                return min(counts)
    raise AssertionError("no placement at all")


def check(case: Case) -> None:
    term, room = case
    possible = next(placements(term, room, term.slots), None) is not None
    found = place(term, room)
    assert (found is not None) == possible
    assert fits(term, room) == possible
    if found is not None:
        assert sum(found.values()) == term.slots
        assert valid(term, room, found)
        check_order(term, found)
        if concentrates(term):
            assert len(units_used(term, found)) == fewest(term, room, term.slots)


@pytest.mark.behaviour("PLC-01", "PLC-02", "PLC-03", "PLC-04", "PLC-07", "PLC-08", "PLC-09")
@quick
@given(tiny_cases())
def test_place_equals_enumeration(case: Case) -> None:
    check(case)


@quick
@given(tiny_cases(grouped=True))
def test_place_equals_enumeration_under_group_caps(case: Case) -> None:
    check(case)


@settings(max_examples=250, deadline=None)
@given(tiny_cases(grouped=True))
def test_model_equals_combinatorial_method(case: Case) -> None:
    term, room = case
    ungrouped = replace(room, groups=())
    for place_room in (room, ungrouped):
        modelled, combined = by_model(term, place_room, term.slots), place(term, place_room)
        assert (modelled is None) == (combined is None)
        if modelled is not None and combined is not None:
            assert sum(modelled.values()) == term.slots
            assert valid(term, place_room, modelled)
            check_order(term, modelled)
            if concentrates(term):
                assert len(units_used(term, modelled)) == len(units_used(term, combined))
