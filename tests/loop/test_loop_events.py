"""The loop's own rules: order, ends, limits, load, hosts that fail, preemption, size (LOP, RSV)."""

from __future__ import annotations

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, host, instance, job, run, running
from slotwise import (
    HostStatus,
    InputError,
    LoadReport,
    Queue,
    Resize,
    Thresholds,
)


@pytest.mark.behaviour("LOP-01")
def test_every_job_that_does_not_start_has_a_reason() -> None:
    problem = instance(
        host("A", 2, 100),
        running=(running("r", {"A": 1}, 10),),
        pending=(
            job("wide", 2, minutes=5),
            job("huge", 9, minutes=5),
            job("odd", 1, "select[nosuch==1]", minutes=5),
            job("fits", 1, minutes=5),
        ),
    )
    result = run(problem)
    assert "2 free slots" in result["wide"].reason
    assert "does not fit on this cluster" in result["huge"].reason
    assert "nosuch" in result["odd"].reason
    assert result["fits"].reason == ""
    assert (result["huge"].status, result["odd"].status) == ("pending", "pending")
    assert result.complete


@pytest.mark.behaviour("SUB-04")
@pytest.mark.parametrize("limit", [None, 10])
def test_a_job_beyond_its_estimate_is_expected_at_its_limit(limit: int | None) -> None:
    """Nobody is killed for an estimate; without a limit the end is unknown then."""
    problem = instance(
        host("A", 1),
        queues=(Queue("q", slot_reserve=1000),),
        pending=(
            job("over", 1, estimated_run_time=100, run_time=400, minutes=limit),
            job("p", 1, minutes=1),
        ),
    )
    result = run(problem, "time-based")
    told = [entry["reservations"][0]["estimate"] for entry in result.log if entry["reservations"]]
    assert list(dict.fromkeys(told)) == [100] + ([] if limit is None else [600])
    assert result["p"].start == 420


@pytest.mark.behaviour("RSV-11", "LOP-07")
def test_beyond_load_sched_nothing_starts_beyond_load_stop_jobs_stand_still() -> None:
    """Queue: r1m 1/3; host: pg 10/20. Load comes and goes by reports."""
    queue = Queue("q", thresholds=Thresholds(sched={"r1m": 1.0}, stop={"r1m": 3.0}))
    problem = instance(
        host("A", 4, thresholds=Thresholds(sched={"pg": 10.0}, stop={"pg": 20.0})),
        queues=(queue,),
        pending=(job("p1", 1, minutes=10),),
        future=(job("p2", 1, minutes=10, submit=100),),
    )
    changes = [
        LoadReport(60, "A", {"r1m": 2.0}),
        LoadReport(180, "A", {"r1m": 3.5}),
        LoadReport(300, "A", {"r1m": 0.5, "pg": 15.0}),
        LoadReport(420, "A", {"pg": 0.0}),
    ]
    result = run(problem, changes=changes)
    assert result["p2"].start == 420
    assert (result["p1"].start, result["p1"].end) == (0, 600 + 240)
    assert result["p1"].suspensions == 1
    stopped = [entry["time"] for entry in result.log if "p1" in entry.get("preempted", [])]
    resumed = [entry["time"] for entry in result.log if "p1" in entry.get("resumed", [])]
    assert (stopped, resumed) == ([180], [420])


@pytest.mark.behaviour("RSV-12")
def test_load_reasons_name_indices_only_where_the_queue_has_thresholds() -> None:
    def reason(queue: Queue) -> str:
        problem = instance(
            host("A", 4, 50, load={"r1m": 5.0}, thresholds=Thresholds(sched={"r1m": 1.0})),
            queues=(queue,),
            pending=(job("p", 1, minutes=1),),
        )
        return run(problem)["p"].reason

    assert "r1m" in reason(Queue("q"))
    hidden = reason(Queue("q", res_req="rusage[mem=1]"))
    assert "r1m" not in hidden
    assert "load of 1 host" in hidden
    shown = Queue("q", res_req="rusage[mem=1]", thresholds=Thresholds(sched={"r1m": 2.0}))
    assert "r1m beyond loadSched" in reason(shown)


@pytest.mark.behaviour("LOP-06")
def test_a_preempted_job_keeps_its_memory_and_estimates_may_be_late() -> None:
    queues = (Queue("q", 10), Queue("high", 50, preemptive=("*",), slot_reserve=100))
    problem = instance(
        host("A", 2, 100),
        queues=queues,
        pending=(job("low", 2, "rusage[mem=80]", minutes=60),),
        future=(
            job("fat", 1, "rusage[mem=50]", minutes=10, queue="high", submit=60),
            job("thin", 1, "rusage[mem=10]", minutes=10, queue="high", submit=120),
        ),
    )
    result = run(problem, "time-based")
    assert result["thin"].start == 120
    assert result["low"].suspensions == 1
    assert result["fat"].start is not None
    assert result["fat"].start >= HOUR


@pytest.mark.behaviour("TBR-14")
def test_growth_keeps_to_hosts_of_the_same_kind_and_takes_a_single_slot() -> None:
    """B is of another model, C has one slot left when the short job has ended."""
    problem = instance(
        *(host("A", 2, model="x"), host("B", 4, model="y"), host("C", 4, model="x")),
        running=(running("r", {"B": 4, "C": 1}, 5), running("s", {"C": 3}, 100)),
        pending=(job("grows", 2, "same[model]", max_slots=6, minutes=60, resizable=True),),
    )
    result = run(problem)
    assert result["grows"].start == 0
    assert result["grows"].hosts == {"A": 2, "C": 1}
    assert [entry["time"] for entry in result.log if "resized" in entry] == [300]


@pytest.mark.behaviour("TBR-14")
def test_a_job_of_whole_blocks_does_not_grow_by_less() -> None:
    problem = instance(
        *(host("A", 2), host("B", 2)),
        running=(running("r", {"B": 1}, 5), running("s", {"B": 1}, 30)),
        pending=(job("grows", 2, "span[ptile=2]", max_slots=4, minutes=60, resizable=True),),
    )
    result = run(problem)
    assert result["grows"].hosts == {"A": 2, "B": 2}
    assert [entry["time"] for entry in result.log if "resized" in entry] == [30 * MINUTE]


def test_a_resize_that_cannot_be_is_reported() -> None:
    problem = instance(host("A", 4), running=(running("r", {"A": 2}, 10),))
    changes = [Resize(60, "r", {"A": 9}), Resize(60, "nobody", {"A": 1})]
    result = run(problem, changes=changes)
    assert len(result.notes) == 2
    assert "not have this many" in result.notes[0]


@pytest.mark.behaviour("LOP-07")
def test_changes_that_make_no_sense_are_named_together() -> None:
    changes = (HostStatus(5, "Z", "down"), HostStatus(9, "A", "broken"))
    with pytest.raises(InputError) as caught:
        sw.simulate(instance(host("A", 1)), changes=changes)
    assert [str(problem) for problem in caught.value.problems] == [
        "changes[0].host: unknown host or host group 'Z'",
        "changes[1].status: must be one of ok, closed, down, open, up, not 'broken' "
        "(did you mean 'open'?)",
    ]
