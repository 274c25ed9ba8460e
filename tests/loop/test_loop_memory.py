"""Memory held for pending jobs, as exact timelines (MEM rows)."""

from __future__ import annotations

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, cluster, held, host, instance, job, run, running
from slotwise import Params, Queue, ResourceDefinition
from slotwise.model.formats import loads_with_warnings

RESERVE = Queue("q", 40, resource_reserve=1000)


@pytest.mark.behaviour("MEM-02")
def test_no_memory_is_held_without_a_slot() -> None:
    problem = instance(
        host("A", 1, 500),
        host("B", 2, 100),
        queues=(RESERVE,),
        running=(running("r", {"A": 1}, 10, res_req=("rusage[mem=10]",)),),
        pending=(job("big", 1, "rusage[mem=400]", minutes=60),),
    )
    result = run(problem)
    assert held(result, "big") == []
    assert result["big"].start == 10 * MINUTE


@pytest.mark.behaviour("MEM-03")
def test_only_memory_accumulates_and_without_its_duration() -> None:
    """Scratch is not held while the job waits, so another takes it - and while it is short nothing
    is held at all; memory is held in full for as long as the job waits, whatever its duration.
    """
    where = cluster(
        host("A", 4, 500, amounts={"scratch": 10.0}), resources=(ResourceDefinition("scratch"),)
    )
    problem = instance(
        cluster=where,
        queues=(RESERVE, Queue("other", 1)),
        running=(running("r", {"A": 1}, 60, res_req=("rusage[mem=300]",)),),
        pending=(
            job("big", 1, "rusage[mem=400:duration=10:decay=1,scratch=8]", minutes=60),
            job("s", 1, "rusage[scratch=8]", minutes=5, queue="other"),
        ),
    )
    result = run(problem, skip_idle=False)
    assert result["s"].start == 0
    assert held(result, "big") == [
        (time, {"A": 1}, {"A": 200.0}) for time in (0, *range(5 * MINUTE, HOUR, MINUTE))
    ]
    assert result["big"].start == HOUR


@pytest.mark.behaviour("MEM-04", "GRD-06")
def test_after_n_cycles_everything_is_released_for_one_session() -> None:
    """MAX_RESERVE_TIME[5]: cycles 0-4 hold, cycle 5 does not, then five cycles again."""
    problem = instance(
        host("A", 4, 500),
        queues=(Queue("q", 40, resource_reserve=5), Queue("other", 1)),
        running=(running("r", {"A": 1}, 60, res_req=("rusage[mem=300]",)),),
        pending=(job("big", 1, "rusage[mem=400]", minutes=60),),
        future=(job("passer", 1, "rusage[mem=100]", minutes=90, queue="other", submit=100),),
    )
    result = run(problem, skip_idle=False, until=2 * HOUR)
    times = [time for time, _, _ in held(result, "big")]
    assert times[:10] == [0, 60, 120, 180, 240, 360, 420, 480, 540, 600]
    assert result["passer"].start == 300
    amounts = {time: memory["A"] for time, _, memory in held(result, "big")}
    assert amounts[240] == 200.0
    assert amounts[360] == 100.0


@pytest.mark.behaviour("MEM-05")
def test_both_parameters_in_one_queue() -> None:
    """An error is reported, SLOT_RESERVE is ignored: memory is held, as RESOURCE_RESERVE says."""
    text = """
format: slotwise/1
hosts: [{name: A, slots: 4, mem: 500}]
queues:
  - {name: q, SLOT_RESERVE: "MAX_RESERVE_TIME[2]", RESOURCE_RESERVE: "MAX_RESERVE_TIME[9]"}
running: [{id: r, queue: q, start: 0, run_limit: 60m, res_req: "rusage[mem=300]", allocation: 1*A}]
pending: [{id: big, queue: q, run_limit: 60m, res_req: "rusage[mem=400]"}]
"""
    problem, warnings = loads_with_warnings(text, "both.yaml")
    assert any("SLOT_RESERVE" in str(warning) for warning in warnings)
    result = run(problem, skip_idle=False)
    times = [time for time, _, _ in held(result, "big")]
    assert times[:10] == [*range(0, 9 * 60, 60), 600]
    assert held(result, "big")[0][2] == {"A": 200.0}


@pytest.mark.behaviour("MEM-06")
@pytest.mark.parametrize(
    ("modules", "holds"),
    [
        (("schmod_default", "schmod_fcfs"), False),
        (("schmod_default", "schmod_reserve"), True),
        (None, True),
    ],
)
def test_sequential_jobs_need_the_reserve_module(
    modules: tuple[str, ...] | None, holds: bool
) -> None:
    problem = instance(
        host("A", 4, 500),
        queues=(RESERVE,),
        running=(running("r", {"A": 1}, 60, res_req=("rusage[mem=300]",)),),
        pending=(job("big", 1, "rusage[mem=400]", minutes=60),),
        params=Params(modules=modules),
    )
    assert bool(held(run(problem), "big")) is holds


@pytest.mark.behaviour("MEM-07", "TBR-18")
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_memory_backfill_sequential(method: str) -> None:
    """The guide's example: who is done within 300 minutes may use the held memory."""
    result = run(sw.load(sw.example("memory-backfill")), method)
    at_once = {name for name, start in result.starts.items() if start == 0}
    assert at_once == {"job1", "job2", "job5", "job7"}
    assert result["job5"].backfilled
    assert not result["job7"].backfilled
    assert held(result, "job3")[0][2] == {"hostA": 200.0}
    assert held(result, "job6") == []
    assert result["job3"].start == 300 * MINUTE
    assert result["job4"].start == result["job6"].start == 300 * MINUTE


@pytest.mark.behaviour("MEM-07", "TBR-18")
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_memory_backfill_parallel(method: str) -> None:
    """Four slots and 100 MB a slot: two slots and 200 MB are held; 50 MB for 100 minutes fit."""
    result = run(sw.load(sw.example("memory-backfill-parallel")), method)
    assert {name for name, start in result.starts.items() if start == 0} == {
        "job1",
        "job2",
        "job5",
    }
    assert held(result, "job3")[0][2] == {"hostA": 200.0}
    assert result["job3"].start == result["job4"].start == 300 * MINUTE
