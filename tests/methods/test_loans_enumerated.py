"""Guaranteed pools and their loans: the methods against every plan of small sites."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from loan_enumerator import Lending, lending_instance
from loop_lab import HOUR
from slotwise.model.plan import Method
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate

pytestmark = pytest.mark.behaviour("GUA-01")

EXACT: tuple[Method, ...] = ("optimal", "milp")
METHODS: tuple[Method, ...] = ("greedy", "time-based", *EXACT)


def nothing_false_is_proved(seed: int) -> Counter[str]:
    """How many starts there are, how many are proved, and how many of those only loans give."""
    there, seen = Lending(lending_instance(seed)), Counter[str]()
    instance, right = there.instance, there.lexicographic()
    lenders = tuple(replace(pool, loans=None) for pool in instance.guaranteed_pools)
    without = Lending(replace(instance, guaranteed_pools=lenders)).lexicographic()
    for method in METHODS:
        found = plan(instance, method)
        told = seed, method, right, found.notes
        assert not any("bug" in note for note in found.notes), told
        assert there.keeps(there.planned(found), whole=True), told
        if method not in EXACT:  # these prove no more than that a job starts now
            assert not any(item.proved and item.start != 0 for item in found), told
            continue
        starts = {job: item.start if (item := found.get(job)) else None for job in right}
        late = False  # whether a job before starts later than it might: loans are named
        for job, start in starts.items():
            item = found.get(job)
            proved = item is not None and item.proved
            seen["starts"] += start is not None
            seen["proved"] += proved
            seen["lent"] += proved and start != without[job]
            # The next cycle gives loans last: who needs none is before who is first.
            assert not proved or start == right[job] or (late and start == instance.now), (
                job,
                told,
            )
            late |= start != right[job]
        if found.status in ("optimal", "infeasible"):
            assert starts == right, told
            seen["optimal"] += 1
    result = simulate(instance, until=HOUR)
    assert there.keeps(there.happened(result), whole=True), (seed, right)
    return seen


#: The first is a site of which something was wrong once: a class with a guarantee of 0 ran.
@pytest.mark.parametrize("seed", [63, 0, 1, 2, 3, 4])
def test_nothing_false_is_proved_of_loans(seed: int) -> None:
    nothing_false_is_proved(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_nothing_false_is_proved_of_a_thousand_sites_with_loans(part: int) -> None:
    seen = Counter[str]()
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        seen += nothing_false_is_proved(seed)
    assert seen["proved"] > seen["starts"] / 2
    assert seen["lent"] > seen["proved"] / 20
