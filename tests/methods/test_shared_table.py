"""The loop that tells which omissions count takes over the plan's table, and finds the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import pytest
import slotwise as sw
from long_ways import new_tables, tables_served
from paired_features import case, features_of
from sampling import some
from slotwise.model.generate import generate
from slotwise.solver.resolve import Resolver

#: Cases in which a time-based plan names an omission and no time differs between the instances.
SHARED = (0, 3, 5, 8, 9, 16, 23, 25, 43, 57)


@pytest.mark.parametrize("seed", some(SHARED, 3))
def test_the_plan_is_that_with_a_new_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = case(features_of(seed), seed).instance
    served = tables_served(monkeypatch)
    plan = sw.plan(instance, "time-based")
    assert any(served)
    new_tables(monkeypatch)
    assert sw.plan(instance, "time-based") == plan


def test_running_jobs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop looks up no request of a running job that the plan has looked up."""
    instance = generate(hosts=8, running=20, pending=6, seed=1)
    running = {item.job.id for item in instance.running}
    counts: Counter[str] = Counter()
    asked = Resolver.asked

    def counted(self: Resolver, job: sw.Job) -> Hashable:
        counts[job.id] += job.id in running
        return asked(self, job)

    monkeypatch.setattr(Resolver, "asked", counted)
    sw.plan(instance, "time-based")
    shared = counts.total()
    counts.clear()
    new_tables(monkeypatch)
    sw.plan(instance, "time-based")
    assert counts.total() >= shared + len(running)
