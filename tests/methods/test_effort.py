"""Deterministic effort, time limits and cancellation of the exact methods."""

from __future__ import annotations

import json

import pytest
from slotwise.model.generate import generate
from slotwise.solver.planning import plan

BUSY = generate(hosts=16, running=60, pending=8, load=0.97, seed=5)


@pytest.mark.parametrize("objective", ["lexicographic", "total-start"])
def test_the_same_effort_gives_the_same_bytes(objective: str) -> None:
    plans = [plan(BUSY, "optimal", objective=objective, effort=0.5) for _ in range(2)]
    assert json.dumps(plans[0].to_dict()) == json.dumps(plans[1].to_dict())
