"""Slot reservations in the loop: greedy and time-based, future allocations, backfill (TBR rows)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, cluster, estimates, held, host, instance, job, run, running
from slotwise import (
    AdvanceReservation,
    Application,
    ComputeUnit,
    HostGroup,
    HostPartition,
    HostRequest,
    InputError,
    Limit,
    Params,
    Queue,
    Resize,
    Scope,
)

RESERVE = Queue("q", 40, slot_reserve=1000)


def first_allocation(result, name: str) -> dict[str, int]:
    for entry in result.log:
        for item in entry["reservations"]:
            if item["job"] == name:
                return item["allocation"]
    raise AssertionError(f"{name} was never reserved for")


@pytest.mark.behaviour("TBR-01")
def test_the_first_n_get_a_future_allocation_the_others_greedy() -> None:
    problem = instance(
        host("A", 4),
        host("B", 4),
        queues=(RESERVE,),
        running=(running("r1", {"A": 3}, 60), running("r2", {"B": 3}, 120)),
        pending=tuple(job(f"p{n}", 4, minutes=30) for n in range(3)),
        params=Params(time_reserve_numjobs=1),
    )
    methods = {item["job"]: item["method"] for item in run(problem).log[0]["reservations"]}
    assert methods == {"p0": "time-based", "p1": "greedy"}
    off = run(replace(problem, params=Params()))
    assert {item["method"] for item in off.log[0]["reservations"]} == {"greedy"}
    more = run(problem, top=2)
    methods = {item["job"]: item["method"] for item in more.log[0]["reservations"]}
    assert methods == {"p0": "time-based", "p1": "time-based", "p2": "greedy"}


@pytest.mark.behaviour("TBR-02", "TBR-05", "TBR-09", "GRD-04")
def test_headline_estimates_and_starts() -> None:
    """Greedy says FT(job4) and starts at FT(job1); time-based says FT(job1) and keeps to it."""
    problem = sw.load(sw.example("headline"))
    greedy, planned = run(problem, "greedy"), run(problem, "time-based")
    assert (greedy["job5"].estimate, greedy["job5"].start) == (2 * HOUR, 3 * HOUR)
    assert greedy["job5"].error == HOUR
    assert (planned["job5"].estimate, planned["job5"].start) == (3 * HOUR, 3 * HOUR)
    assert first_allocation(planned, "job5") == {"hostA": 2, "hostC": 2, "hostD": 2}
    assert planned["job5"].hosts == {"hostA": 2, "hostC": 2, "hostD": 2}
    assert {at for _, at in estimates(planned, "job5")} == {3 * HOUR}


@pytest.mark.behaviour("TBR-07", "TBR-08", "TBR-06")
def test_worked_examples_one_and_two() -> None:
    qat = run(sw.load(sw.example("qat-time-based")), "time-based")
    assert held(qat, "11898")[0][1] == {"qat26": 2}
    assert qat["11898"].estimate == qat["11898"].start == 12 * HOUR
    sierra = run(sw.load(sw.example("sierra-nodes")), "time-based")
    name = next(record.job for record in sierra.jobs if record.wait)
    assert sierra[name].start == 10 * HOUR
    assert held(sierra, name)[0][1] == {"sierra2": 2, "sierra3": 2}
    assert sierra[name].hosts == {"sierra0": 2, "sierra2": 2, "sierra3": 2}


@pytest.mark.behaviour("TBR-03")
@pytest.mark.parametrize(
    ("of_job", "of_queue", "of_application", "end"),
    [
        ({"run_limit": 600}, {"run_limit": 1200}, {"run_limit": 1800}, 600),
        ({}, {"run_limit": 1200}, {"run_limit": 1800}, 1800),
        ({}, {"run_limit": 1200}, {}, 1200),
        ({}, {}, {"run_limit": 1800, "run_time": 2400}, 1800),
        ({"cpu_limit": 3000}, {}, {"run_time": 2400}, 2400),
        ({"cpu_limit": 3000}, {}, {}, 3000),
        ({}, {}, {}, None),
    ],
)
def test_what_a_running_job_frees_when(
    of_job: dict, of_queue: dict, of_application: dict, end: int | None
) -> None:
    problem = instance(
        host("A", 4),
        queues=(replace(RESERVE, **of_queue),),
        running=(running("r", {"A": 4}, application="app", **of_job),),
        pending=(job("p", 1, run_limit=60),),
        applications=(Application("app", **of_application),),
    )
    result = run(problem, "time-based", until=10)
    assert result["p"].estimate == end


@pytest.mark.behaviour("TBR-04", "GRD-07")
def test_a_job_without_a_place_is_skipped_and_the_rest_go_on() -> None:
    """p1 waits for a job without a run limit; once that is gone, p2 has to go behind p1."""
    problem = instance(
        host("A", 4),
        host("B", 4),
        queues=(RESERVE,),
        running=(
            running("endless", {"A": 2}, run_time=20 * MINUTE),
            running("r", {"B": 4}, 60),
        ),
        pending=(job("p1", 8, minutes=30), job("p2", 4, "select[hname==B]", minutes=30)),
    )
    problem = replace(problem, running=(replace(problem.running[0]), problem.running[1]))
    result = run(problem, "time-based")
    first = {item["job"]: item for item in result.log[0]["reservations"]}
    assert first["p1"]["method"] == "greedy"
    assert "no place" in first["p1"]["fallback"]
    assert first["p2"]["estimate"] == HOUR
    later = dict(estimates(result, "p2"))
    assert later[20 * MINUTE] == 90 * MINUTE
    assert (result["p1"].start, result["p2"].start) == (HOUR, 90 * MINUTE)


@pytest.mark.behaviour("TBR-05")
def test_host_order_changes_the_allocation_but_not_the_start() -> None:
    def with_order(order: str):
        return instance(
            host("A", 4, load={"r15s": 0.0 if order == "AB" else 1.0}),
            host("B", 4, load={"r15s": 0.5}),
            queues=(RESERVE,),
            running=(running("job1", {"A": 2, "B": 2}, 60),),
            pending=(job("job2", 6, minutes=30),),
        )

    one, other = (run(with_order(order), "time-based") for order in ("AB", "BA"))
    assert first_allocation(one, "job2") == {"A": 4, "B": 2}
    assert first_allocation(other, "job2") == {"B": 4, "A": 2}
    assert one["job2"].estimate == other["job2"].estimate == HOUR


@pytest.mark.behaviour("TBR-11")
def test_a_compound_requirement_starts_with_its_last_term() -> None:
    problem = instance(
        cluster=cluster(host("A", 2, type="X"), host("B", 2, type="Y"), host("C", 2, type="Y")),
        queues=(RESERVE,),
        running=(running("r1", {"A": 2}, 30), running("r2", {"B": 1, "C": 1}, 60)),
        pending=(job("p", 5, "1*{select[type==X]}+4*{select[type==Y]}", minutes=30),),
    )
    result = run(problem, "time-based")
    assert result["p"].estimate == result["p"].start == HOUR
    assert result["p"].hosts == {"A": 1, "B": 2, "C": 2}


@pytest.mark.behaviour("TBR-12")
def test_of_several_partitions_the_earliest_estimate_is_kept() -> None:
    problem = instance(
        cluster=cluster(host("A", 4), host("B", 4)),
        queues=(RESERVE,),
        running=(
            running("r1", {"A": 4}, 60, user="ann"),
            running("r2", {"B": 4}, 30, user="ann"),
        ),
        pending=(job("p", 4, minutes=10, user="ann"),),
        partitions=(
            HostPartition("one", ("A",), (("ann", 1),)),
            HostPartition("two", ("B",), (("ann", 1),)),
        ),
    )
    result = run(problem, "time-based")
    assert [item["job"] for item in result.log[0]["reservations"]] == ["p"]
    assert result["p"].estimate == 30 * MINUTE
    assert result["p"].hosts == {"B": 4}


@pytest.mark.behaviour("TBR-13")
def test_reservations_try_units_as_configured_dispatch_as_asked() -> None:
    units = tuple(ComputeUnit(n, "rack", (h,)) for n, h in (("u1", "A"), ("u2", "B")))
    where = cluster(
        host("A", 6), host("B", 6), units=units, unit_types=("rack",), default_unit_type="rack"
    )
    problem = instance(
        cluster=where,
        queues=(RESERVE,),
        running=(running("r1", {"A": 5}, 60), running("r2", {"B": 4}, 60)),
        pending=(job("p", 3, "cu[pref=maxavail:maxcus=1]", minutes=10),),
    )
    result = run(problem, "time-based")
    assert first_allocation(result, "p") == {"A": 3}
    at_once = run(replace(problem, pending=(job("p", 1, "cu[pref=maxavail]", minutes=10),)))
    assert at_once["p"].hosts == {"B": 1}


@pytest.mark.behaviour("TBR-13")
def test_what_is_held_counts_as_available_for_the_preference_of_units() -> None:
    """Of six free slots of A two are held: no job runs on them, and B has five."""
    units = tuple(ComputeUnit(f"u{n}", "rack", (n,)) for n in ("B", "A", "C"))
    where = cluster(
        *(host("B", 5), host("A", 6), host("C", 4)),
        units=units,
        unit_types=("rack",),
        default_unit_type="rack",
    )
    asked = (HostRequest("A"), HostRequest("C"))
    big = replace(job("big", 4, "span[ptile=2]", minutes=60), hosts=asked)
    problem = instance(
        cluster=where,
        queues=(RESERVE,),
        running=(running("r", {"C": 4}, 60),),
        pending=(big, job("p", 1, "cu[pref=maxavail:maxcus=1]", minutes=10)),
    )
    result = run(problem, "greedy")
    assert held(result, "big")[0][1] == {"A": 2}
    assert result["p"].hosts == {"A": 1}


@pytest.mark.behaviour("TBR-14")
def test_a_resized_running_job_frees_its_present_size() -> None:
    problem = instance(
        host("A", 8),
        queues=(RESERVE,),
        running=(running("r", {"A": 4}, 60), running("s", {"A": 2}, 120)),
        future=(job("p", 6, minutes=10, submit=10 * MINUTE),),
    )
    small = run(problem, "time-based")
    grown = run(problem, "time-based", changes=[Resize(60, "r", {"A": 6})])
    shrunk = run(problem, "time-based", changes=[Resize(60, "r", {"A": 2})])
    assert small["p"].estimate == grown["p"].estimate == HOUR
    assert held(small, "p")[0][1] == {"A": 2}
    assert held(grown, "p")[0][1] == {}
    assert shrunk["p"].estimate == HOUR
    assert held(shrunk, "p")[0][1] == {"A": 4}


@pytest.mark.behaviour("TBR-15")
def test_not_with_job_chunking() -> None:
    problem = instance(host("A", 4), queues=(replace(RESERVE, chunk_job_size=4),))
    with pytest.raises(InputError, match="CHUNK_JOB_SIZE"):
        run(problem, "time-based")
    assert run(problem, "greedy").complete


@pytest.mark.behaviour("TBR-16")
def test_a_host_that_has_just_accepted_a_job_is_out_for_the_interval() -> None:
    """The estimate flickers while A is out: only B counts, which is free later."""
    problem = instance(
        host("A", 4),
        host("B", 4),
        queues=(RESERVE,),
        running=(
            replace(running("r1", {"A": 2}, 120), start=-HOUR),
            replace(running("r2", {"B": 4}, 180), start=-HOUR),
        ),
        pending=(job("first", 1, minutes=30), job("p", 4, minutes=10)),
        params=Params(job_accept_interval=2),
    )
    result = run(problem, "time-based", skip_idle=False)
    assert result["first"].hosts == {"A": 1}
    assert estimates(result, "p")[:4] == [
        (0, 2 * HOUR),
        (60, 2 * HOUR),
        (120, HOUR),
        (180, HOUR),
    ]
    assert result["p"].start == HOUR


@pytest.mark.behaviour("TBR-16")
def test_one_job_a_host_and_interval() -> None:
    problem = instance(
        host("A", 4),
        host("B", 4),
        pending=tuple(job(f"p{n}", 1, minutes=30) for n in range(4)),
        params=Params(job_accept_interval=1),
    )
    result = run(problem)
    assert [result[f"p{n}"].start for n in range(4)] == [0, 0, 60, 60]
    assert [result[f"p{n}"].hosts for n in range(4)] == [{"A": 1}, {"B": 1}] * 2


@pytest.mark.behaviour("TBR-17", "GRD-02")
def test_reservation_by_start_time_picks_the_group_that_is_free_first() -> None:
    def problem(by_start_time: bool):
        return instance(
            cluster=cluster(
                host("A", 8, strings={"os": "x"}),
                host("B", 4, strings={"os": "y"}),
                groups=(HostGroup("g", ("A",)),),
                resources=(sw_string("os"),),
            ),
            queues=(RESERVE,),
            running=(running("r1", {"A": 5}, 60), running("r2", {"B": 2}, 30)),
            pending=(job("p", 4, "same[os]", minutes=10),),
            params=Params(reserve_by_starttime=by_start_time),
        )

    largest, earliest = run(problem(False), "greedy"), run(problem(True), "greedy")
    assert held(largest, "p")[0][1] == {"A": 3}
    assert largest["p"].estimate == HOUR
    assert held(earliest, "p")[0][1] == {"B": 2}
    assert earliest["p"].estimate == 30 * MINUTE


def sw_string(name: str):
    from slotwise.model.cluster import ResourceDefinition

    return ResourceDefinition(name, kind="string")


@pytest.mark.behaviour("TBR-18")
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_backfill_example(method: str) -> None:
    """8:30: two slots for an hour fit before 10:00; for two hours they do not."""
    problem = sw.load(sw.example("backfill"))
    result = run(problem, method)
    assert result["job2"].estimate == 2 * HOUR
    assert held(result, "job2")[0][1] == {"hostA": 1}
    assert (result["job3"].start, result["job3"].end) == (30 * MINUTE, 90 * MINUTE)
    # The joint plan has room for it in any case.
    assert result["job3"].backfilled is (method != "optimal")
    assert result["job2"].start == 2 * HOUR
    assert result["job4"].start == 3 * HOUR


@pytest.mark.behaviour("TBR-18")
def test_the_whole_day_of_the_backfill_example() -> None:
    """From 8:00 on: job2 reserves three slots at once and starts at 10:00."""
    problem = instance(
        host("A", 4),
        queues=(replace(RESERVE, backfill=True),),
        future=(
            job("job1", 1, minutes=120, submit=0),
            job("job2", 4, minutes=60, submit=10 * MINUTE),
            job("job3", 2, minutes=60, submit=30 * MINUTE),
            job("late", 2, minutes=120, submit=30 * MINUTE),
        ),
    )
    result = run(problem, "greedy")
    assert held(result, "job2")[0] == (10 * MINUTE, {"A": 3}, {})
    assert result["job2"].estimate == 2 * HOUR
    assert result.starts == {"job1": 0, "job2": 2 * HOUR, "job3": 30 * MINUTE, "late": 3 * HOUR}


@pytest.mark.behaviour("TBR-18")
def test_backfill_needs_its_queue_and_a_run_limit_on_both_sides() -> None:
    bf = Queue("bf", 10, backfill=True)
    queues = (RESERVE, bf, Queue("plain", 5))

    def at(*pending, limit: int | None = 60):
        return run(
            instance(
                host("A", 4),
                queues=queues,
                running=(running("r", {"A": 2}, limit, run_time=HOUR),),
                pending=(job("big", 4, minutes=30), *pending),
            ),
            "greedy",
        )

    exactly = at(job("x", 1, minutes=60, queue="bf"))
    assert exactly["x"].start == 0
    over = at(job("x", 1, run_limit=HOUR + 1, queue="bf"))
    assert over["x"].start == HOUR + 30 * MINUTE
    assert at(job("x", 1, minutes=10, queue="plain"))["x"].start > 0
    assert at(job("x", 1, run_time=600, queue="bf"))["x"].start > 0
    assert at(job("x", 1, minutes=10, queue="bf"), limit=None)["x"].start > 0


@pytest.mark.behaviour("TBR-18")
def test_borrowed_slots_count_for_both_in_user_totals_and_once_on_the_host() -> None:
    """MAX 4 slots of the user: r2 + reserved 2 leave nothing to borrow; another user may."""
    limits = (Limit("u", {"slots": 4.0}, users=Scope(("all",), each=True)),)
    queues = (replace(RESERVE, host_slots=4), Queue("bf", 10, backfill=True))

    def at(user: str):
        return run(
            instance(
                host("A", 4),
                queues=queues,
                running=(running("r", {"A": 2}, 60, user="ann"),),
                pending=(
                    job("big", 4, minutes=30, user="ann"),
                    job("x", 1, minutes=10, queue="bf", user=user),
                ),
                limits=limits,
            ),
            "greedy",
        )

    assert at("ann")["x"].start > 0
    assert at("bob")["x"].start == 0


@pytest.mark.behaviour("TBR-18", "GRD-01")
def test_what_is_lent_counts_towards_what_a_job_reserves() -> None:
    """Of four slots two are lent until 20 min; the two that B has from 10 min on are too many."""
    problem = instance(
        *(host("A", 4), host("B", 4)),
        queues=(replace(RESERVE, backfill=True),),
        running=(
            running("r1", {"A": 1}, 120),
            running("r2", {"B": 2}, 40, run_time=10 * MINUTE),
            running("r3", {"B": 2}, 180),
        ),
        pending=(job("big", 4, minutes=60), job("x", 2, minutes=20)),
    )
    result = run(problem, "greedy")
    kept = {time: slots for time, slots, _ in held(result, "big")}
    assert (kept[0], kept[10 * MINUTE]) == ({"A": 1}, {"A": 1, "B": 1})
    assert (result["x"].backfilled, result["big"].hosts) == (True, {"A": 3, "B": 1})


@pytest.mark.behaviour("LOP-05")
def test_every_cycle_records_what_the_first_jobs_are_told() -> None:
    result = run(sw.load(sw.example("headline")), "time-based", skip_idle=False)
    told = estimates(result, "job5")
    sat_out = 180 // 21  # MAX_RESERVE_TIME[20]: every 21st session
    assert len(told) == 180 - sat_out
    entry = result.log[0]["reservations"][0]
    assert entry == {
        "job": "job5",
        "method": "time-based",
        "estimate": 3 * HOUR,
        "reserved": {"hostA": 1, "hostD": 1},
        "allocation": {"hostA": 2, "hostC": 2, "hostD": 2},
    }
    record = result["job5"]
    assert (record.estimated_at, record.estimate_by, record.error) == (0, "time-based", 0)


def test_the_loop_agrees_with_the_planner_on_one_snapshot() -> None:
    """The first cycle's time-based estimates are the time-based plan's starts."""
    from slotwise.model.generate import generate

    problem = generate(hosts=24, running=80, pending=12, seed=3)
    plan = sw.plan(problem, "time-based", jobs=12)
    result = run(problem, "time-based", top=12, until=0)
    started = result.starts
    compared = 0
    for item in plan:
        if item.job in started and item.start == 0:
            continue
        record = result[item.job]
        if record.estimate_by == "time-based" and item.method == "time-based":
            compared += 1
            assert record.estimate >= item.start
    assert compared > 3


@pytest.mark.behaviour("TBR-18", "TBR-19")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
def test_a_short_job_backfills_where_its_longer_equal_meets_an_advance_reservation(
    method: str,
) -> None:
    """Two slots of A are lent by big, one of B is free until second 1,000."""
    big = replace(job("big", 4, minutes=60), hosts=(HostRequest("A"),))
    problem = instance(
        *(host("A", 4), host("B", 4)),
        queues=(replace(RESERVE, slot_reserve=10_000, backfill=True),),
        running=(running("r", {"A": 2}, 34), running("s", {"B": 3}, 100)),
        pending=(big, job("long", 3, minutes=30), job("short", 3, minutes=8)),
    )
    kept = AdvanceReservation("w", 1000, 1500, {"B": 1})
    problem = replace(problem, advance_reservations=(kept,))
    found = run(problem, method, cycle=60)
    assert (found["short"].start, found["short"].backfilled) == (0, True)
    assert found["big"].start == 34 * MINUTE
    assert found["long"].start == 94 * MINUTE
