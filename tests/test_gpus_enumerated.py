"""GPUs in every method against the enumerator, which reads -gpu for itself (:mod:`enumerator`)."""

from __future__ import annotations

from random import Random

import pytest
from enumerated_plans import Table
from gpu_instances import SharingTable, exclusive_gpus, shared_gpus
from sampling import some
from slotwise.solver.planning import plan
from slotwise.solver.rules.rule_book import SHARED_GPUS
from slotwise.solver.validate import validate
from test_enumerated import EFFORT, MOST, all_right, starts


@pytest.mark.behaviour("GPU-02", "GPU-03")
@pytest.mark.parametrize("block", some(range(10), 2))
def test_every_method_agrees_with_the_enumerator_about_gpus(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        all_right(seed, exclusive_gpus)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_every_method_agrees_with_the_enumerator_about_gpus_of_many(block: int) -> None:
    for seed in range(1_000 + block * 50, 1_050 + block * 50):
        all_right(seed, exclusive_gpus)


def nothing_false_where_jobs_share(seed: int) -> int:
    """Proved starts are right even if sharing jobs share as much as they can; how many there are.

    Places are those of jobs that have their GPUs for themselves, which every cluster can give.
    """
    drawn = shared_gpus(Random(seed))
    table, generous = Table(drawn), SharingTable(drawn)
    if table.size() > MOST:
        return 0
    best = generous.lexicographic()
    proved = 0
    for method in ("optimal", "milp"):
        found = plan(drawn, method, effort=EFFORT)
        assert validate(drawn, found) == []
        assert table.faults(found) == []
        for entry in found:
            if entry.proved:
                assert entry.start == best[entry.job], (method, entry)
                proved += 1
            assert entry.bound is None or best[entry.job] is None or entry.bound <= best[entry.job]
        if found.status in ("optimal", "infeasible"):
            assert starts(found) == best, method
    return proved


@pytest.mark.behaviour("GPU-03")
def test_nothing_false_is_proved_where_jobs_share_gpus() -> None:
    assert sum(map(nothing_false_where_jobs_share, range(25))) > 15


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_nothing_false_is_proved_where_jobs_share_gpus_of_many(block: int) -> None:
    for seed in range(1_000 + block * 50, 1_050 + block * 50):
        nothing_false_where_jobs_share(seed)


@pytest.mark.behaviour("GPU-03")
def test_sharing_is_named_where_a_job_waits_for_gpus() -> None:
    named = [
        item
        for seed in range(40)
        for item in plan(shared_gpus(Random(seed)), "optimal", effort=EFFORT).omissions
        if item.what == SHARED_GPUS.what
    ]
    assert len(named) > 5
