"""A plan whose cycle is run once more looks for no place again that must be the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from long_ways import every_search
from sampling import some
from slotwise import Instance
from slotwise.model.generate import generate
from slotwise.solver.scheduler.next_cycle import plan_next_cycle


def full(seed: int) -> Instance:
    """A cluster with units, memory and limits, on which some jobs start and most wait."""
    found = generate(hosts=24, running=96, pending=40, load=(0.95, 1.0)[seed % 2], seed=seed)
    queues = tuple(replace(queue, backfill=seed % 3 > 0) for queue in found.queues)
    return replace(found, queues=queues)


@pytest.mark.parametrize("seed", some([6, *range(6), *range(7, 12)], 1))
def test_the_plan_is_that_of_searches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = full(seed)
    plan = plan_next_cycle(instance, "time-based")
    every_search(monkeypatch)
    assert plan_next_cycle(instance, "time-based") == plan
