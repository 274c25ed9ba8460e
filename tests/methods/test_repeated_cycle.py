"""A plan whose cycle is run once more looks for no place again that must be the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.model.generate import generate
from slotwise.solver.placement.earliest import Start
from slotwise.solver.scheduler import reserving
from slotwise.solver.scheduler.cycle_state import RepeatedCycle
from slotwise.solver.scheduler.next_cycle import plan_next_cycle


def full(seed: int) -> Instance:
    """A cluster with units, memory and limits, on which some jobs start and most wait."""
    found = generate(hosts=24, running=96, pending=40, load=(0.95, 1.0)[seed % 2], seed=seed)
    queues = tuple(replace(queue, backfill=seed % 3 > 0) for queue in found.queues)
    return replace(found, queues=queues)


def never(*_: object) -> None:
    """Nothing is known from before."""


@pytest.mark.parametrize("seed", some(range(12), 2))
def test_the_plan_is_that_of_searches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = full(seed)
    plan = plan_next_cycle(instance, "time-based")
    with monkeypatch.context() as patch:
        patch.setattr(RepeatedCycle, "previous_start", never)
        assert plan_next_cycle(instance, "time-based") == plan


def test_behind_the_last_start_nothing_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One job that starts before all that wait: the second cycle has what the first found."""
    looked: list[str] = []
    search = reserving.earliest_unreserved_start

    def noting(cycle: object, state: object, *given: object, **more: object) -> Start | None:
        looked.append(state.job.id)  # type: ignore[attr-defined]
        return search(cycle, state, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(reserving, "earliest_unreserved_start", noting)
    jobs = [Job(str(n), 2, run_limit=600 * (n + 1), queue="q") for n in (0, 2, 3, 4)]
    instance = Instance(
        Cluster((Host("h", 5),)),
        (Queue("q", slot_reserve=10),),
        running=(RunningJob(Job("r", 3, run_limit=3600, queue="q"), 0, {"h": 3}),),
        pending=tuple(jobs),
    )
    plan = plan_next_cycle(instance, "time-based")
    assert plan["0"].start == 0
    assert all(item.start for item in plan if item.job != "0")
    assert sorted(looked) == ["2", "3", "4"]
