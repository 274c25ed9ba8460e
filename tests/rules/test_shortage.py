"""Reasons as data: numbers that change with the instant are numbers, not pieces of a text."""

from __future__ import annotations

import slotwise as sw
from loop_lab import host, instance, job, running
from slotwise import Limit
from slotwise.model.pending import Pending, Reason, bjobs_text, over, sentence
from slotwise.solver.pending_reasons import find_shortage
from slotwise.solver.problem import PlanningProblem

FEW = Pending.FEW_SLOTS


def _has(*parts: str | float, kind: Pending = FEW) -> Reason:
    return Reason.of(kind, *parts)


def test_reasons_that_are_alike_differ_in_numbers_alone() -> None:
    first, second = _has("needs 4, has ", 1), _has("needs 4, has ", 3)
    assert first.alike == second.alike
    assert first.alike != _has("needs 5, has ", 1).alike
    assert first.alike != _has("needs 4, has ", 1, kind=Pending.RUSAGE).alike
    assert over([first, second, first]) == "needs 4, has 1 to 3"
    assert over([first, first]) == sentence(first) == "needs 4, has 1"


def test_one_reason_is_said_by_bjobs_by_us_and_over_a_stretch() -> None:
    few, more = (Reason.counting(FEW, "needs 4 free slots", number) for number in (0, 3))
    assert bjobs_text(few) == "Not enough job slot(s)"
    assert sentence(few) == "needs 4 free slots (has 0)"
    assert sentence(few, "now") == "needs 4 free slots (now 0)"
    assert over([few, more]) == "needs 4 free slots (has 0 to 3)"


def test_fractions_and_large_numbers_are_written_out() -> None:
    amounts = [_has("has ", 0.5, " of mem"), _has("has ", 1234567.0, " of mem")]
    assert over(amounts) == "has 0.5 to 1234567 of mem"


def test_joined_reasons_keep_their_numbers() -> None:
    both = [Reason.joined([_has("has ", n), _has("lacks ", 9 - n, " MB")]) for n in (2, 5)]
    assert over(both) == "has 2 to 5; lacks 4 to 7 MB"


def _needs(res_req: str, slots: int) -> str:
    """Why so many slots do not start on two idle hosts of four beside a full one."""
    problem = instance(
        *(host("A", 4), host("B", 4), host("C", 4)),
        running=(running("r", {"C": 4}, 60),),
        pending=(job("j", slots, res_req, minutes=5),),
    )
    planning = PlanningProblem.of(problem)
    return sentence(find_shortage(planning, planning.demands[0], planning.base, 0))


def test_blocks_that_are_there_and_a_rest_that_is_not_are_told_apart() -> None:
    assert _needs("span[ptile=4]", 12) == "needs 3 hosts with 4 free slots each (has 2)"
    assert _needs("span[ptile=4]", 10) == (
        "needs 2 hosts with 4 free slots each and one with 2, has no other for the 2"
    )
    assert _needs("span[block=4]", 12) == "needs 3 blocks of 4 free slots (has 2)"
    assert _needs("span[block=4]", 10) == (
        "needs 2 blocks of 4 free slots and one of 2, has no place for the 2"
    )


def test_a_number_in_a_name_is_no_number_that_changes() -> None:
    """A limit whose name reads like a reason: it stays as it is in every reason."""
    limits = (Limit("has 7", {"slots": 2}),)
    problem = instance(host("A", 8), limits=limits, pending=(job("j", 3, minutes=5),))
    planning = PlanningProblem.of(problem)
    found = find_shortage(planning, planning.demands[0], planning.base, 0)
    assert found.kind is Pending.LIMIT_CLUSTER
    assert found.parts == ("needs 3 slots under limit has 7 (slots), which leaves ", 2)


def test_explain_puts_instants_of_one_reason_together() -> None:
    """Slots come back one job at a time: one obstacle, with the range of what is free."""
    problem = instance(
        host("A", 4),
        running=tuple(running(f"r{n}", {"A": 1}, 10 * n) for n in (1, 2, 3, 4)),
        pending=(job("j", 4, minutes=5),),
    )
    (obstacle,) = sw.explain(problem, "j").obstacles
    assert obstacle.reason == "needs 4 free slots (has 0 to 3)"
    assert (obstacle.first, obstacle.until, obstacle.instants) == (0, 2400, 4)
