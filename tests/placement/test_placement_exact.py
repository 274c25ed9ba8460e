"""The placement methods against enumeration on random tiny rooms."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis_profiles import examples
from placement_cases import Case, tiny_cases
from placement_reference import placements, units_used, valid
from slotwise.solver.availability.demand import TermCapacity, TermDemand
from slotwise.solver.availability.resources import Allocation
from slotwise.solver.placement import fits, place, place_most
from slotwise.solver.placement.choose import exact_for
from slotwise.solver.placement.cpsat import binding, solve
from slotwise.solver.placement.supply import supplies

quick = examples(500)


def by_model(term: TermDemand, capacity: TermCapacity, slots: int) -> Allocation | None:
    """The CP-SAT answer, label class after label class as place() goes."""
    answers: list[Allocation] = []
    for supply in supplies(term, capacity, slots):
        bounds = binding(capacity.groups, supply, slots)
        if bounds is not None:
            found = solve(supply, term.unit, capacity, slots, bounds)
            if found is not None:
                answers.append(found)
    if concentrates(term):
        return min(answers, key=lambda held: len(units_used(term, held)), default=None)
    return answers[0] if answers else None


def concentrates(term: TermDemand) -> bool:
    unit = term.unit
    return unit is not None and (unit.maxcus is not None or unit.balance or unit.pref == "bestfit")


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
    for before, after in pairwise(later):
        if term.unit is None or term.unit.unit_of[before] == term.unit.unit_of[after]:
            assert rank[before] < rank[after]


def fewest(term: TermDemand, capacity: TermCapacity, slots: int) -> int:
    """Fewest units by enumeration over all label classes."""
    return min(len(units_used(term, held)) for held in placements(term, capacity, slots))


def first_units(term: TermDemand, capacity: TermCapacity, slots: int) -> set[int]:
    """The first combination of the fewest units, in the order in which units are tried."""
    unit = term.unit
    assert unit is not None
    free = capacity.caps if capacity.free_now is None else capacity.free_now
    sign = {"maxavail": -1, "minavail": 1, "bestfit": 1}.get(unit.pref, 0)

    def rank(owner: int) -> tuple[int, int, int]:
        liked = 0 if unit.preference is None else -int(unit.preference[owner])
        return liked, sign * int(free[unit.unit_of == owner].sum()), owner

    least = fewest(term, capacity, slots)
    for inside in label_classes(term, capacity):
        narrow = replace(term, same=(), candidates=np.array(inside, dtype=np.int64))
        sets = [units_used(term, held) for held in placements(narrow, capacity, slots)]
        sets = [used for used in sets if len(used) == least]
        if sets:
            return set(min(sets, key=lambda used: sorted(rank(owner) for owner in used)))
    raise AssertionError("no placement at all")


def label_classes(term: TermDemand, capacity: TermCapacity) -> list[list[int]]:
    """Hosts that agree, array after array, classes in the order of their first host.

    Hosts outside of all units are no candidates where units are asked for.
    """
    alive = [int(host) for host in term.candidates if capacity.caps[host]]
    if term.unit is not None:
        alive = [host for host in alive if term.unit.unit_of[host] >= 0]
    if not term.same:
        return [alive]
    return [
        [host for host in alive if labels[host] == label]
        for labels in term.same
        for label in dict.fromkeys(int(labels[host]) for host in alive)
        if label >= 0
    ]


def check(case: Case) -> None:
    term, capacity = case
    possible = next(placements(term, capacity, term.slots), None) is not None
    found = place(term, capacity)
    assert (found is not None) == possible
    assert fits(term, capacity) == possible
    if found is not None:
        assert sum(found.values()) == term.slots
        assert valid(term, capacity, found)
        check_order(term, found)
        if concentrates(term):
            assert len(units_used(term, found)) == fewest(term, capacity, term.slots)
            if term.first_hosts is None:  # which has the first word otherwise
                assert set(units_used(term, found)) == first_units(term, capacity, term.slots)


@pytest.mark.behaviour("PLC-01", "PLC-02", "PLC-03", "PLC-04", "PLC-07", "PLC-08", "PLC-09")
@quick
@given(tiny_cases())
def test_place_equals_enumeration(case: Case) -> None:
    check(case)


@quick
@given(tiny_cases(grouped=True))
def test_place_equals_enumeration_under_group_caps(case: Case) -> None:
    check(case)


@examples(250)
@given(tiny_cases(grouped=True))
def test_model_equals_combinatorial_method(case: Case) -> None:
    term, capacity = case
    ungrouped = replace(capacity, groups=())
    for place_room in (capacity, ungrouped):
        modelled, combined = by_model(term, place_room, term.slots), place(term, place_room)
        assert (modelled is None) == (combined is None)
        if modelled is not None and combined is not None:
            assert sum(modelled.values()) == term.slots
            assert valid(term, place_room, modelled)
            check_order(term, modelled)
            if concentrates(term):
                assert len(units_used(term, modelled)) == len(units_used(term, combined))


def range_by_enumeration(term: TermDemand, capacity: TermCapacity) -> int | None:
    """How many slots a range gets by the rules of place_most, by trying every number."""

    def possible(slots: int, where: TermCapacity) -> bool:
        return next(placements(term, where, slots), None) is not None

    unit = term.unit
    if unit is not None and unit.balance:
        return term.slots if possible(term.slots, capacity) else None
    if unit is not None and unit.maxcus is not None:
        sizes = range(term.slots, term.max_slots + 1)  # the minimum, or more where only more fit
        base = next((found for n in sizes if (found := place(term, capacity, n)) is not None), None)
        if base is None:
            return None
        used = units_used(term, base)
        inside = np.isin(unit.unit_of, list(used))
        capacity = replace(capacity, caps=np.where(inside, capacity.caps, 0))
    counts = [n for n in range(term.slots, term.max_slots + 1) if possible(n, capacity)]
    if not counts or term.max_slots in counts:
        return max(counts, default=None)
    alive = [int(h) for h in term.candidates if capacity.caps[h]]
    tiles = set() if term.ptile is None else {int(term.ptile[h]) for h in alive}
    if term.block > 1:
        tiles = {term.block}
    if len(tiles) == 1 and not term.one_host:
        whole = [n for n in counts if n % min(tiles) == 0]
        counts = whole or counts
    return max(counts)


@pytest.mark.behaviour("PLC-02", "PLC-07", "PLC-14")
@examples(200)
@given(tiny_cases(hosts=5))
def test_range_gets_as_many_slots_as_the_rules_allow(case: Case) -> None:
    term, capacity = case
    found = place_most(term, capacity)
    expected = range_by_enumeration(term, capacity)
    assert (None if found is None else sum(found.values())) == expected
    if found is not None:
        assert valid(term, capacity, found)


@pytest.mark.behaviour("PLC-07")
@quick
@given(tiny_cases())
def test_first_combination_in_unit_order(case: Case) -> None:
    """Of the fewest units, the combination whose units come first in configuration order."""
    term, capacity = case
    unit = term.unit
    assume(unit is not None)
    assert unit is not None
    term = replace(
        term,
        same=(),
        first_hosts=None,
        unit=replace(unit, pref="config", maxcus=3, preference=None),
    )
    # The model that decides the other cases promises the number of units, not which.
    assume(all(exact_for(supply, term.unit) for supply in supplies(term, capacity, term.slots)))
    found = place(term, capacity)
    sets = [
        tuple(sorted(units_used(term, held))) for held in placements(term, capacity, term.slots)
    ]
    assert (found is not None) == bool(sets)
    if found is not None:
        count = min(len(units) for units in sets)
        assert tuple(sorted(units_used(term, found))) == min(s for s in sets if len(s) == count)
