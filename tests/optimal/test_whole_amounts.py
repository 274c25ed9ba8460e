"""Amounts as whole numbers: nothing that fits is refuted, nothing that does not is let in."""

from __future__ import annotations

import pytest
from judging import host, job, problem
from slotwise.solver.planning import plan


@pytest.mark.parametrize("objective", ["lexicographic", "total-start"])
@pytest.mark.parametrize(("last", "now"), [("0.333", True), ("0.3335", False)])
def test_fractions_of_memory_are_added_exactly(objective: str, last: str, now: bool) -> None:
    """0.3333 twice and 0.333 are 0.9996 of 1; with 0.3335 they are 1.0001."""
    asked = [f"rusage[mem={amount}]" for amount in ("0.3333", "0.3333", last)]
    waiting = tuple(job(f"j{number}", 1, asks) for number, asks in enumerate(asked))
    instance = problem(*waiting, hosts=(host("A", amounts={"mem": 1.0}),))
    found = plan(instance, "optimal", objective=objective, effort=10)
    assert (max(item.start or 0 for item in found) == 0) is now
    assert found.status == "optimal"
