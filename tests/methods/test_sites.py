"""What sites of today schedule by, in one instance: the exact methods against every plan tried."""

from __future__ import annotations

from collections import Counter

import absolute_reference
import pytest
from loop_lab import host, instance, job
from site_cases import Everything, SiteCase, case
from slotwise.model.instance import AdvanceReservation
from slotwise.model.plan import Method
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate, validate_schedule

METHODS: tuple[Method, ...] = ("optimal", "milp")


def order_of(given: SiteCase) -> list[str]:
    """The order of the jobs; where no share and no condition decides, by a reading of its own."""
    order = [job.id for job in priority_order(given.instance)]
    if not given.kinds & {"fairshare", "-w"}:
        assert order == [job.id for job in absolute_reference.order(given.instance)]
    return order


def nothing_false_is_proved(seed: int) -> Counter[str]:
    """How many starts there are, and how many of them are proved."""
    given = case(seed)
    instance, seen = given.instance, Counter[str]()
    order = order_of(given)
    right = Everything(given).lexicographic(order)
    for method in ("greedy", "time-based", *METHODS):
        found = plan(instance, method, **({"effort": 5} if method == "optimal" else {}))
        told = seed, method, sorted(given.kinds), found.notes
        # What LSF's own estimate leaves out is no fault of one.
        assert validate(instance, found, as_lsf=method not in METHODS) == [], told
        assert not any("bug" in note for note in found.notes), told
        if method not in METHODS:
            continue
        starts = {item.job: item.start for item in found if item.start is not None}
        for item in found:
            if item.start is None:
                continue
            seen["starts"] += 1
            seen["proved"] += item.proved
            assert not item.proved or item.start == right[item.job], (*told, item, right)
        if found.status == "optimal":
            seen["optimal"] += 1
            assert starts == {name: time for name, time in right.items() if time is not None}, told
    result = simulate(instance, reservation="time-based", keep_log=True, until=7200)
    faults = validate_schedule(instance, result)
    if (
        result.omissions
    ):  # of a pool that a reservation takes hosts from: jobs wait that could start
        faults = [item for item in faults if item.check != "idle"]
    assert faults == [], (seed, result.omissions)
    return seen


@pytest.mark.behaviour("APS-01", "GUA-01", "AFF-01", "GRP-01")
#: Among them sites of which something was wrong once.
@pytest.mark.parametrize("seed", [0, 1, 2, 1190, 3064, 3098])
def test_nothing_false_is_proved_where_they_meet(seed: int) -> None:
    nothing_false_is_proved(seed)


@pytest.mark.behaviour("ARV-01")
def test_greedy_gives_no_start_behind_an_estimate_in_a_reservation_either() -> None:
    """b is estimated and not planned: c, which waits for it, has no start in its reservation."""
    booked = AdvanceReservation("u#0", 600, 1200, {"A": 1}, users=("user",))
    problem = instance(
        host("A", 3),
        pending=(
            job("a", 2, minutes=2),
            job("b", 2, minutes=2),
            job("c", 1, minutes=5, dependency="done(b)", reservation="u#0"),
        ),
        advance_reservations=(booked,),
    )
    found = plan(problem, "greedy")
    assert validate(problem, found, as_lsf=True) == []
    assert found["b"].start is None
    assert (found["c"].start, found["c"].estimate) == (None, 600)
    assert plan(problem, "optimal")["c"].start == 600


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_nothing_false_is_proved_of_two_thousand(part: int) -> None:
    seen = Counter[str]()
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        seen += nothing_false_is_proved(seed)
    assert seen["proved"] > seen["starts"] / 2
