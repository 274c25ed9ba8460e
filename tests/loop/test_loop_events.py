"""The loop's own rules: order, ends, limits, load, hosts that fail, preemption, size (LOP, RSV)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import HOUR, MINUTE, cluster, held, host, instance, job, run, running
from slotwise import (
    AdvanceReservation,
    HostStatus,
    InputError,
    LoadReport,
    Params,
    Queue,
    ReservationUsage,
    Resize,
    ResourceDefinition,
    SharedResource,
    Thresholds,
)


@pytest.mark.behaviour("LOP-01", "LOP-04")
def test_queue_priority_is_strict_then_job_priority_then_submission() -> None:
    queues = (Queue("q", 10), Queue("high", 20))
    problem = instance(
        host("A", 1),
        queues=queues,
        running=(running("r", {"A": 1}, 1),),
        pending=(
            job("late", 1, minutes=1, submit=-5),
            job("early", 1, minutes=1, submit=-9),
            job("urgent", 1, minutes=1, submit=-1, priority=7),
            job("higher", 1, minutes=1, submit=0, queue="high"),
        ),
    )
    starts = run(problem).starts
    assert sorted(starts, key=starts.__getitem__) == ["r", "higher", "urgent", "early", "late"]


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


@pytest.mark.behaviour("LOP-02")
def test_jobs_end_when_they_are_done_or_killed_estimates_use_the_limit() -> None:
    problem = instance(
        host("A", 1),
        queues=(Queue("q", slot_reserve=100, run_limit_max=3 * HOUR),),
        pending=(
            job("short", 1, minutes=60, run_time=90),
            job("long", 1, minutes=10, run_time=HOUR),
            job("last", 1),
        ),
    )
    result = run(problem, "time-based")
    assert (result["short"].end, result["short"].status) == (90, "done")
    assert (result["long"].start, result["long"].end) == (120, 120 + 10 * MINUTE)
    assert result["long"].status == "killed"
    assert result["long"].estimate == HOUR
    assert result["last"].start == 720
    assert (result["last"].run_time, result["last"].status) == (3 * HOUR, "done")


@pytest.mark.behaviour("LOP-02")
def test_a_job_without_any_limit_never_frees_anything() -> None:
    problem = instance(host("A", 1), pending=(job("endless", 1), job("next", 1, minutes=1)))
    result = run(problem)
    assert (result["endless"].start, result["endless"].end) == (0, None)
    assert result["next"].status == "pending"
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


@pytest.mark.behaviour("RSV-01", "RSV-02")
def test_what_decays_is_available_again_bit_by_bit() -> None:
    """30 MB fall to 0 in 30 minutes: 20 are left after 10, so that 10 more fit then."""
    where = cluster(host("A", 4, amounts={"tmp": 40.0}))
    problem = instance(
        cluster=where,
        pending=(
            job("first", 1, "rusage[tmp=30:duration=30:decay=1]", minutes=60),
            job("ten", 1, "rusage[tmp=10]", minutes=60),
            job("next", 1, "rusage[tmp=10]", minutes=60),
            job("last", 1, "rusage[tmp=20]", minutes=60),
        ),
    )
    starts = run(problem).starts
    assert starts == {"first": 0, "ten": 0, "next": 10 * MINUTE, "last": 30 * MINUTE}


@pytest.mark.behaviour("RSV-01", "RSV-03")
def test_duration_without_decay_holds_all_and_then_nothing() -> None:
    def start(rusage: str) -> int | None:
        problem = instance(
            host("A", 4, 100),
            pending=(job("first", 1, rusage, minutes=60), job("p", 1, "rusage[mem=50]", minutes=1)),
        )
        return run(problem)["p"].start

    assert start("rusage[mem=80:duration=30]") == 30 * MINUTE
    assert start("rusage[mem=80:duration=90s]") == 120
    assert start("rusage[mem=80:decay=1]") == HOUR
    assert start("rusage[mem=80:duration=30:decay=2]") == 30 * MINUTE
    assert start("rusage[mem=80:duration=30:decay=1]") == 12 * MINUTE


@pytest.mark.behaviour("RSV-01")
def test_a_reserved_load_index_is_added_to_the_load() -> None:
    queue = Queue("q", thresholds=Thresholds(sched={"ut": 0.5}))
    problem = instance(
        host("A", 4, load={"ut": 0.2}),
        queues=(queue,),
        pending=tuple(job(f"p{n}", 1, "rusage[ut=0.2]", minutes=10) for n in range(3)),
    )
    starts = run(problem).starts
    assert [starts[f"p{n}"] for n in range(3)] == [0, 0, 10 * MINUTE]


@pytest.mark.behaviour("RSV-07")
def test_the_second_alternative_where_the_first_is_not_there() -> None:
    problem = instance(
        host("A", 4, 50, amounts={"swp": 100.0}),
        pending=tuple(job(f"p{n}", 1, "rusage[mem=40||mem=10:swp=60]", minutes=9) for n in (1, 2)),
        future=(job("p3", 1, "rusage[mem=40||mem=10:swp=60]", minutes=9, submit=1),),
    )
    result = run(problem)
    assert [result[f"p{n}"].alternative for n in (1, 2, 3)] == [0, 1, 0]
    assert [result[f"p{n}"].start for n in (1, 2, 3)] == [0, 0, 9 * MINUTE]


@pytest.mark.behaviour("RSV-08", "RSV-10")
@pytest.mark.parametrize(("method", "together"), [("PER_JOB", 4), ("PER_HOST", 2), ("PER_SLOT", 1)])
def test_how_often_a_licence_counts(method: str, together: int) -> None:
    """Four licences; jobs of two hosts and four slots take 1, 2 or 4 of them."""
    where = cluster(
        *(host(name, 8) for name in "AB"),
        resources=(ResourceDefinition("lic"),),
        shared=(SharedResource("lic", 4.0),),
    )
    problem = instance(
        cluster=where,
        reservation_usage=(ReservationUsage("lic", method),),
        pending=tuple(job(f"p{n}", 4, "span[ptile=2] rusage[lic=1]", minutes=9) for n in range(4)),
    )
    starts = run(problem).starts
    assert sum(start == 0 for start in starts.values()) == together


@pytest.mark.behaviour("RSV-10")
def test_duration_means_nothing_for_a_static_shared_resource() -> None:
    where = cluster(
        host("A", 4), resources=(ResourceDefinition("lic"),), shared=(SharedResource("lic", 1.0),)
    )
    problem = instance(
        cluster=where,
        pending=tuple(job(f"p{n}", 1, "rusage[lic=1:duration=1]", minutes=9) for n in (1, 2)),
    )
    assert run(problem).starts == {"p1": 0, "p2": 9 * MINUTE}


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


@pytest.mark.behaviour("RSV-11")
def test_load_that_is_reserved_counts_from_none_on_hosts_that_report_no_load() -> None:
    """Two jobs that reserve a load of .6 each: more than 1.0, where the queue stops."""
    queue = Queue("q", thresholds=Thresholds(sched={"r1m": 1.0}))
    waiting = tuple(job(f"p{n}", 1, "rusage[r1m=0.6]", minutes=10) for n in range(3))
    result = run(instance(host("A", 4), queues=(queue,), pending=waiting))
    assert result.starts == {"p0": 0, "p1": 0, "p2": 600}


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
    assert "load of 1 hosts" in hidden
    shown = Queue("q", res_req="rusage[mem=1]", thresholds=Thresholds(sched={"r1m": 2.0}))
    assert "r1m beyond loadSched" in reason(shown)


@pytest.mark.behaviour("LOP-07")
def test_hosts_go_down_and_come_back() -> None:
    """A job on a host that fails waits again and runs from its beginning; closed hosts run on."""
    problem = instance(
        host("A", 2),
        host("B", 2),
        pending=(job("p1", 2, minutes=10), job("p2", 2, minutes=10)),
        future=(job("p3", 2, minutes=10, submit=60),),
    )
    changes = [
        HostStatus(300, "A", "down"),
        HostStatus(310, "B", "closed"),
        HostStatus(1200, "A", "ok"),
    ]
    result = run(problem, changes=changes)
    assert (result["p1"].start, result["p1"].end, result["p1"].requeues) == (1200, 1800, 1)
    assert result["p1"].hosts == {"A": 2}
    assert (result["p2"].start, result["p2"].end, result["p2"].requeues) == (0, 600, 0)
    assert result["p3"].start == 1800
    with pytest.raises(InputError, match="unknown host 'Z'"):
        run(problem, changes=[HostStatus(1, "Z", "down")])


def test_a_host_that_is_down_at_the_start_takes_nothing() -> None:
    problem = instance(
        host("A", 4, status="unavail"), host("B", 1), pending=(job("p", 1, minutes=1),)
    )
    assert run(problem)["p"].hosts == {"B": 1}


@pytest.mark.behaviour("LOP-06")
def test_a_preemptive_queue_suspends_lower_jobs_that_go_on_later() -> None:
    queues = (
        Queue("q", 10),
        Queue("lowest", 5, preemptable=("*",)),
        Queue("high", 50, preemptive=("*",)),
    )
    problem = instance(
        host("A", 4),
        queues=queues,
        pending=(
            job("n", 2, minutes=60),
            job("l1", 1, minutes=60, queue="lowest"),
            job("l2", 1, minutes=60, queue="lowest"),
        ),
        future=(job("h", 2, minutes=10, queue="high", submit=600),),
    )
    result = run(problem)
    assert (result["h"].start, result["h"].end) == (600, 1200)
    assert (result["n"].end, result["n"].suspensions) == (HOUR, 0)
    for name in ("l1", "l2"):
        assert (result[name].end, result[name].suspensions) == (HOUR + 600, 1)


@pytest.mark.behaviour("LOP-06")
def test_as_few_as_needed_the_latest_started_first_and_never_backfill_queues() -> None:
    queues = (
        Queue("q", 10),
        Queue("bf", 1, backfill=True),
        Queue("high", 50, preemptive=("q",)),
    )
    problem = instance(
        host("A", 3),
        queues=queues,
        pending=(job("old", 1, minutes=60), job("b", 1, minutes=60, queue="bf")),
        future=(
            job("new", 1, minutes=60, submit=120),
            job("h", 1, minutes=10, queue="high", submit=600),
        ),
    )
    result = run(problem)
    assert result["h"].start == 600
    suspended = {record.job for record in result.jobs if record.suspensions}
    assert suspended == {"new"}


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


@pytest.mark.behaviour("FSH-15", "TBR-14")
def test_a_resizable_job_grows_into_what_is_free() -> None:
    problem = instance(
        host("A", 4),
        host("B", 4),
        running=(running("r", {"A": 2, "B": 4}, 5),),
        pending=(job("grows", 2, max_slots=5, minutes=60, resizable=True),),
    )
    result = run(problem)
    assert result["grows"].start == 0
    assert result["grows"].hosts == {"A": 4, "B": 1}
    assert [entry["time"] for entry in result.log if "resized" in entry] == [300]


@pytest.mark.behaviour("TBR-14")
def test_growth_keeps_to_the_span_and_to_what_others_hold() -> None:
    queues = (Queue("q", 10, slot_reserve=1000),)
    problem = instance(
        host("A", 2),
        host("B", 2),
        host("C", 2),
        queues=queues,
        running=(running("r", {"B": 2, "C": 2}, 5),),
        pending=(job("grows", 2, "span[ptile=2]", max_slots=6, minutes=60, resizable=True),),
    )
    assert run(problem)["grows"].hosts == {"A": 2, "B": 2, "C": 2}
    odd = replace(problem, pending=(replace(problem.pending[0], max_slots=5),))
    assert run(odd)["grows"].hosts == {"A": 2, "B": 2, "C": 1}
    waiting = replace(problem, future=(job("wide", 4, minutes=10, submit=30),))
    result = run(waiting, "time-based")
    assert result["wide"].start == 300


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
    assert "not so many slots" in result.notes[0]


@pytest.mark.behaviour("TBR-19")
def test_windows_hold_in_the_loop() -> None:
    """Dispatch from 1:00; run window 2:00-3:00, into which an hour and a half does not fit."""
    queues = (
        Queue("q", 10, dispatch_window="1:00-5:00"),
        Queue("w", 5, run_window="2:00-3:00"),
    )
    problem = instance(
        host("A", 8),
        queues=queues,
        pending=(
            job("d", 1, minutes=10),
            job("r", 1, minutes=60, queue="w"),
            job("never", 1, minutes=90, queue="w"),
            job("open", 1, queue="w", run_time=90 * MINUTE),
        ),
    )
    result = run(problem, until=40 * HOUR)
    assert result["d"].start == HOUR
    assert result["r"].start == 2 * HOUR
    assert result["never"].status == "pending"
    assert "run window" in result["never"].reason
    assert (result["open"].start, result["open"].suspensions) == (2 * HOUR, 1)
    assert result["open"].end == 26 * HOUR + 30 * MINUTE


@pytest.mark.behaviour("GRD-06", "LOP-01")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
@pytest.mark.parametrize("skip_idle", [True, False])
def test_slots_are_let_go_once_a_run_would_meet_an_advance_reservation(
    method: str, skip_idle: bool
) -> None:
    """The job of 10 minutes may run on them until 20 minutes are over, from 11 on it may not."""
    problem = instance(
        host("A", 2),
        queues=(Queue("q", slot_reserve=1000),),
        running=(running("r", {"A": 1}, 60, queue="q"),),
        pending=(job("wide", 2, minutes=10, queue="q"),),
        future=(job("short", 1, minutes=5, queue="q", submit=30),),
        advance_reservations=(AdvanceReservation("ar", 20 * MINUTE, 30 * MINUTE, {"A": 1}),),
    )
    result = run(problem, method, skip_idle=skip_idle)
    assert (result["short"].start, result["wide"].start) == (11 * MINUTE, HOUR)


def test_only_slots_that_are_set_aside_later_are_free() -> None:
    """Who ends before that has a turn, and holds or backfills on them."""
    problem = instance(
        host("A", 2),
        queues=(Queue("q", 2), Queue("low", 1)),
        running=(running("r", {"A": 1}, 60, queue="q"),),
        pending=(job("wide", 2, minutes=60, queue="q"), job("short", 1, minutes=5, queue="low")),
        advance_reservations=(AdvanceReservation("ar", 20 * MINUTE, 30 * MINUTE, {"A": 1}),),
    )
    assert run(problem, "greedy")["short"].start == 0


@pytest.mark.behaviour("TBR-19")
def test_advance_reservations_are_kept_free() -> None:
    problem = instance(
        host("A", 4),
        pending=(job("long", 2, minutes=60), job("short", 2, minutes=30)),
        advance_reservations=(AdvanceReservation("ar", 30 * MINUTE, HOUR, {"A": 3}),),
    )
    result = run(problem)
    assert result.starts == {"short": 0, "long": HOUR}


@pytest.mark.behaviour("LOP-01")
def test_selections_see_what_is_available_now() -> None:
    problem = instance(
        host("A", 4, 100),
        host("B", 4, 90),
        pending=tuple(
            job(f"p{n}", 1, "select[mem>50] order[mem] rusage[mem=45]", minutes=10)
            for n in range(3)
        ),
    )
    result = run(problem)
    # The order and the selection hold for a whole cycle; A is then too small for the third.
    assert [result[f"p{n}"].hosts for n in range(3)] == [{"A": 1}, {"A": 1}, {"B": 1}]
    late = replace(problem, future=(job("p3", 1, "select[mem>50]", minutes=5, submit=1),))
    assert run(late)["p3"].start == 10 * MINUTE


def test_a_begin_time_is_kept() -> None:
    problem = instance(host("A", 1), pending=(job("p", 1, minutes=1, begin=1000),))
    result = run(problem)
    assert (result["p"].start, result["p"].submit) == (1020, 0)


def test_exclusive_jobs_have_their_hosts_alone() -> None:
    problem = instance(
        host("A", 4),
        host("B", 4),
        queues=(Queue("q", exclusive="Y"),),
        running=(running("r", {"A": 1}, 10),),
        pending=(job("x", 1, minutes=20, exclusive=True), job("p", 4, minutes=5)),
    )
    result = run(problem)
    assert (result["x"].start, result["x"].hosts) == (0, {"B": 1})
    assert result["p"].start == 10 * MINUTE


@pytest.mark.behaviour("LOP-04", "FSH-06")
def test_fairshare_decides_the_order() -> None:
    queue = Queue("q", user_shares=(("ann", 1), ("bob", 1)))
    problem = instance(
        host("A", 1),
        queues=(queue,),
        pending=(
            *(job(f"a{n}", 1, minutes=10, user="ann", submit=-9) for n in range(3)),
            job("b", 1, minutes=10, user="bob", submit=-1),
            job("c", 1, minutes=10, user="carl", submit=-2),
        ),
        params=Params(mbd_sleep_time=60),
    )
    result = run(problem)
    starts = result.starts
    assert sorted(starts, key=starts.__getitem__) == ["a0", "b", "a1", "a2"]
    assert "no share" in result["c"].reason
    assert held(result, "c") == []


@pytest.mark.behaviour("LOP-07")
def test_changes_that_make_no_sense_are_named_together() -> None:
    changes = (HostStatus(5, "Z", "down"), HostStatus(9, "A", "broken"))
    with pytest.raises(InputError) as caught:
        run(instance(host("A", 1)), changes=changes)
    assert [str(problem) for problem in caught.value.problems] == [
        "change at 5 s: unknown host 'Z'",
        "change at 9 s: unknown status 'broken': use one of ok, closed, down, open, up",
    ]
