"""With every shortcut of the loop switched off at once, each job starts as it does with them."""

from __future__ import annotations

from typing import get_args

import pytest
from combined_loop import changes_of, workload
from long_ways import nothing_remembered, of_many_hosts
from sampling import pairwise, some
from slotwise import Instance, Plan, Reservation
from slotwise.model.generate import generate
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate


def starts(found: Plan) -> list[tuple[str, int | None, int | None, dict[str, int]]]:
    return [(item.job, item.start, item.estimate, dict(item.allocation)) for item in found]


def site(seed: int) -> Instance:
    return generate(
        hosts=6,
        per_enclosure=3,
        running=12,
        pending=9,
        load=0.9,
        gpus=seed % 2,
        array=3 * (seed % 3 == 0),
        seed=seed,
    )


@pytest.mark.parametrize("seed", some([4, 1, 0, 3, 2, 5], 1))
def test_every_start_is_the_same_without_shortcuts(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_many_hosts(monkeypatch)
    instance = site(seed)
    plans = [starts(plan(instance, method)) for method in ("greedy", "time-based")]
    methods = [name for name in get_args(Reservation) if name != "optimal"]
    runs = [dict(simulate(instance, reservation=name).starts) for name in methods]
    assert any(start for run in runs for start in run.values())
    nothing_remembered(monkeypatch)
    assert [starts(plan(instance, method)) for method in ("greedy", "time-based")] == plans
    assert [dict(simulate(instance, reservation=name).starts) for name in methods] == runs


@pytest.mark.parametrize("seed", some([1, 0, 2, 3], 1))
def test_a_crowded_site_backfills_and_gathers_memory_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Greedy reservations by the hundred, which jobs backfill and which wait for memory."""
    instance = generate(hosts=24, per_enclosure=4, running=90, pending=40, load=0.97, seed=seed)
    of_many_hosts(monkeypatch)
    quick = simulate(instance, reservation="greedy", until="2h", keep_log=True)
    assert any("backfilled" in record for record in quick.log)
    nothing_remembered(monkeypatch)
    slow = simulate(instance, reservation="greedy", until="2h", keep_log=True)
    assert (dict(slow.starts), slow.log) == (dict(quick.starts), quick.log)


@pytest.mark.parametrize(
    ("seed", "method"), some(pairwise(range(9), ["none", "greedy", "time-based"]), 3)
)
def test_jobs_of_a_deep_queue_are_passed_over_without_a_trace(
    seed: int, method: Reservation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would find a job that is passed over though its attempt starts, reserves or says anything."""
    deep = generate(hosts=5, per_enclosure=3, running=10, pending=40, load=0.95, seed=seed)
    sites = [(deep, ()), (site := workload(seed), changes_of(site, seed))]

    def logs() -> list[object]:
        runs = [
            simulate(it, reservation=method, changes=changes, until=7200, keep_log=True)
            for it, changes in sites
        ]
        return [(list(run.jobs), run.log, run.notes) for run in runs]

    of_many_hosts(monkeypatch)
    quick = logs()
    of_many_hosts(monkeypatch, 1 << 30)
    assert logs() == quick
