"""What is drawn, as data: rows that fold, bars on lanes, loads of groups, free amounts, curves."""

from __future__ import annotations

import random

import pytest
import slotwise as sw
from report.lab import HOUR, racks
from slotwise import Cluster, Host, Instance, Job, RunningJob
from slotwise.cli.report.bars import (
    MAX_STEPS,
    Bar,
    ChartRow,
    Load,
    Stretch,
    bars,
    host_groups,
    loads,
    opened_within,
    ticks,
    visible_rows,
)
from slotwise.cli.report.data import (
    chart,
    report_of_comparison,
    report_of_plan,
    report_of_simulation,
    use_over_time,
)
from slotwise.solver.advice.comparison import compare
from slotwise.solver.advice.likely import free_over_time_of_each
from slotwise.solver.scheduler.continuation import simulated_placements, simulated_starts
from slotwise.solver.scheduler.simulation import simulate


def test_compute_units_are_a_tree_and_hosts_outside_come_last() -> None:
    groups = host_groups(racks())
    assert [(g.name, g.type, g.parent, g.hosts, g.own) for g in groups] == [
        ("rack1", "rack", None, (0, 1, 2, 3), ()),
        ("enc1", "enclosure", 0, (0, 1), (0, 1)),
        ("enc2", "enclosure", 0, (2, 3), (2, 3)),
        ("other hosts", "hosts", None, (4,), (4,)),
    ]
    assert groups[0].groups == [1, 2]


def test_rows_show_what_is_open_and_nothing_below_what_is_folded() -> None:
    groups = host_groups(racks())
    folded = visible_rows(groups, 5, frozenset())
    assert folded == [ChartRow("group", 0, 0), ChartRow("group", 3, 0)]
    # An open group in a folded one stays hidden.
    assert visible_rows(groups, 5, frozenset({1})) == folded
    assert visible_rows(groups, 5, frozenset({0, 2})) == [
        ChartRow("group", 0, 0),
        ChartRow("group", 1, 1),
        ChartRow("group", 2, 1),
        ChartRow("host", 2, 2),
        ChartRow("host", 3, 2),
        ChartRow("group", 3, 0),
    ]


@pytest.mark.parametrize(("most", "rows"), [(1, 2), (4, 2), (5, 5), (8, 5), (9, 9)])
def test_groups_open_level_by_level_as_far_as_there_is_room(most: int, rows: int) -> None:
    groups = host_groups(racks())
    assert len(visible_rows(groups, 5, opened_within(groups, 5, most))) == rows


@pytest.mark.parametrize("count", [1, 40, 41, 1000, 5000, 5001])
def test_hosts_without_units_are_cut_into_runs_where_they_are_many(count: int) -> None:
    cluster = Cluster(tuple(Host(f"n{number}", 1) for number in range(count)))
    groups = host_groups(cluster)
    assert (groups == ()) == (count <= 40)
    if groups:
        assert len(groups) <= 100
        assert [host for group in groups for host in group.own] == list(range(count))


def drawn(*stretches: Stretch, slots: int = 4) -> list[Bar]:
    return bars(stretches, {"a": 0, "b": 1}, [slots, slots])


def test_a_job_is_one_bar_a_host_and_keeps_its_slots_from_start_to_finish() -> None:
    found = drawn(
        Stretch("1", "running", -60, 100, {"a": 2, "b": 4}),
        Stretch("2", "planned", 100, None, {"a": 4}),
    )
    assert found == [
        Bar("1", "running", 0, 0, 2, -60, 100),
        Bar("2", "planned", 0, 0, 4, 100, None),
        Bar("1", "running", 1, 0, 4, -60, 100),
    ]


def test_a_job_is_split_where_free_lanes_lie_apart() -> None:
    found = drawn(
        Stretch("left", "running", 0, 10, {"a": 1}),
        Stretch("middle", "running", 0, 90, {"a": 2}),
        Stretch("right", "running", 0, 10, {"a": 1}),
        Stretch("later", "planned", 10, 20, {"a": 2}),
    )
    assert [bar for bar in found if bar.job == "later"] == [
        Bar("later", "planned", 0, 0, 1, 10, 20),
        Bar("later", "planned", 0, 3, 1, 10, 20),
    ]


def test_what_is_held_lies_on_free_lanes_and_more_than_the_host_has_goes_on_top() -> None:
    found = drawn(
        Stretch("runs", "running", 0, 10, {"a": 3}),
        Stretch("waits", "reserved", 0, 50, {"a": 1}),
        Stretch("too", "running", 5, 10, {"a": 2}),
        slots=4,
    )
    by_job = {bar.job: [(b.first, b.count) for b in found if b.job == bar.job] for bar in found}
    assert by_job == {"runs": [(0, 3)], "too": [(3, 1), (4, 1)], "waits": [(3, 1)]}


def test_nothing_is_drawn_of_what_takes_no_time_or_no_slots() -> None:
    assert drawn(Stretch("1", "planned", 5, 5, {"a": 1}), Stretch("2", "planned", 5, 9, {})) == []


@pytest.mark.parametrize("seed", range(25))
def test_bars_of_random_plans_overlap_nowhere_and_stay_within_the_host(seed: int) -> None:
    """Jobs that fit a host at every instant share no lane at any instant."""
    draw = random.Random(seed)
    slots = draw.randint(1, 9)
    used = [0] * 60
    held = []
    for number in range(40):
        start, count = draw.randrange(50), draw.randint(1, slots)
        finish = None if draw.random() < 0.1 else start + draw.randint(1, 10)
        window = range(start, 60 if finish is None else min(60, finish))
        if all(used[t] + count <= slots for t in window):
            for t in window:
                used[t] += count
            held.append(Stretch(str(number), "planned", start, finish, {"a": count}))
    found = bars(held, {"a": 0}, [slots])
    for t in range(60):
        lanes = [
            lane
            for bar in found
            if bar.start <= t and (bar.finish is None or t < bar.finish)
            for lane in range(bar.first, bar.first + bar.count)
        ]
        assert len(lanes) == len(set(lanes)) == used[t]
        assert all(0 <= lane < slots for lane in lanes)


def test_loads_add_up_by_kind_for_each_group_and_for_all() -> None:
    cluster = racks()
    groups = host_groups(cluster)
    found = loads(
        [
            Stretch("r", "running", -10, 100, {"n1": 2, "n3": 1}),
            Stretch("p", "planned", 50, None, {"n2": 4}),
            Stretch("h", "reserved", 0, 60, {"n1": 4}),
        ],
        groups,
        cluster.host_index(),
        [4] * 5,
    )
    rack, enc1, enc2, other, everything = found
    assert enc1 == Load((-10, 0, 50, 60, 100), (2, 2, 2, 2, 0), (0, 0, 4, 4, 4), (0, 4, 2, 0, 0))
    assert enc2 == Load((-10, 100), (1, 0), (0, 0), (0, 0))
    assert other == Load()
    assert rack == everything
    assert rack.running == (3, 3, 3, 3, 0)


def test_very_many_steps_become_means_that_keep_the_area() -> None:
    held = [Stretch(str(n), "running", 10 * n, 10 * n + 5, {"a": 2}) for n in range(3000)]
    (load,) = loads(held, (), {"a": 0}, [4])
    assert len(load.times) <= MAX_STEPS
    area = sum(
        level * (end - begin)
        for level, begin, end in zip(load.running, load.times, load.times[1:], strict=False)
    )
    assert area == pytest.approx(3000 * 5 * 2, rel=0.01)


def test_free_slots_and_memory_of_a_plan_are_those_of_the_profile() -> None:
    instance = Instance(
        Cluster(
            (
                Host("a", 4, amounts={"mem": 1000.0}),
                Host("b", 4, amounts={"mem": 500.0}),
                Host("c", 8, amounts={"mem": 800.0}, status="down"),
            )
        ),
        running=(
            RunningJob(Job("r", 3, run_limit=100, res_req=("rusage[mem=200]",)), 0, {"a": 3}),
        ),
        pending=(
            Job("p", 4, run_limit=50, res_req=("rusage[mem=300] span[hosts=1] select[mem>900]",)),
        ),
    )
    plan = sw.plan(instance, "time-based")
    assert plan["p"].start == 100
    (found,) = free_over_time_of_each(instance, (plan,))
    assert found.times == (0, 100, 150)
    assert found.slots == (5, 4, 8)
    assert found.memory == (1300, 1200, 1500)


def test_no_memory_curve_where_no_host_has_memory() -> None:
    instance = sw.load(sw.example("headline"))
    assert free_over_time_of_each(instance, ((),))[0].memory is None


@pytest.mark.parametrize("name", ["headline", "backfill", "joint-wins", "cu-racks"])
def test_places_of_the_loop_have_the_starts_that_the_comparison_shows(name: str) -> None:
    instance = sw.load(sw.example(name))
    placed = simulated_placements(instance, "greedy")
    assert {item.job: item.start for item in placed} == simulated_starts(instance, "greedy")
    jobs = {job.id: job for job in instance.pending}
    for item in placed:
        assert sum(item.allocation.values()) >= jobs[item.job].slots
    comparison = compare(instance, effort=1.0, methods=True)
    starts = {row.job: row.greedy_simulated for row in comparison}
    assert {job: start for job, start in starts.items() if start is not None} == {
        job: item.start for job, item in comparison.loop["greedy"].items()
    }


def test_a_chart_of_greedy_shows_what_it_holds_for_later() -> None:
    instance = sw.load(sw.example("headline"))
    plan = sw.plan(instance, "greedy")
    report = report_of_plan("x", instance, plan, {})
    (greedy,) = report.views
    held = [s for s in greedy.stretches if s.kind == "reserved"]
    assert [(s.job, s.start, s.finish) for s in held] == [("job5", 0, None)]
    assert held[0].allocation == plan["job5"].reserved
    assert greedy.estimates == {"job5": 2 * HOUR}


def test_the_two_charts_of_a_comparison_are_those_of_the_outlook() -> None:
    """Example joint-wins: as configured `large` starts two hours later than possible."""
    instance = sw.load(sw.example("joint-wins"))
    comparison = compare(instance, effort=1.0)
    report = report_of_comparison("x", instance, comparison, {})
    found = {
        view.name: {s.job: (s.start, s.finish, dict(s.allocation)) for s in view.stretches}
        for view in report.views
    }
    outlook = comparison.outlook
    assert found == {
        "as configured": {
            row.job: (row.as_configured, row.as_configured_end, dict(row.as_configured_on))
            for row in outlook
        },
        "possible": {
            item.job: (item.start, item.finish, dict(item.allocation))
            for item in comparison.optimal
        },
    }
    assert found["as configured"]["large"][0] == 2 * HOUR
    assert found["possible"]["large"][0] == 0
    assert [chart(report, view).end for view in report.views] == [5 * HOUR, 5 * HOUR]


def test_every_planned_slot_is_drawn_once() -> None:
    instance = sw.load(sw.example("ctc-sp2-queue-100"))
    plan = sw.plan(instance, "time-based")
    report = report_of_plan("x", instance, plan, {})
    found = chart(report, report.views[0])
    area: dict[str, int] = {}
    for bar in found.bars:
        area[bar.job] = area.get(bar.job, 0) + bar.count
    asked = {item.job: sum(item.allocation.values()) for item in plan if item.start is not None}
    runs = {run.job.id: run.slots for run in instance.running}
    ended = {s.job for s in report.running if s.finish is not None and s.finish <= s.start}
    assert area == {**{k: v for k, v in runs.items() if k not in ended}, **asked}
    hosts = instance.cluster.hosts
    assert all(bar.first + bar.count <= hosts[bar.host].slots for bar in found.bars)


def test_use_of_a_simulation_counts_slots_and_waiting_jobs() -> None:
    instance = Instance(
        Cluster((Host("a", 2),)),
        running=(RunningJob(Job("r", 2, run_limit=100), 0, {"a": 2}),),
        pending=(Job("p", 1, run_limit=50), Job("q", 2, run_limit=50)),
    )
    result = simulate(instance, cycle=0)
    found = use_over_time(result.jobs)
    assert found.times == (0, 100, 150, 200)
    assert found.slots == (2, 1, 2, 0)
    assert found.waiting == (2, 1, 0, 0)
    assert found.asked == (3, 2, 0, 0)
    report = report_of_simulation("x", result)
    assert [(s.job, s.kind, s.start, s.finish) for s in report.views[0].stretches] == [
        ("p", "planned", 100, 150),
        ("q", "planned", 150, 200),
    ]
    assert report.metrics["started"] == 2


def test_ticks_count_from_now_or_stand_on_the_clock() -> None:
    plain = Instance(Cluster(()), now=1000)
    assert ticks(plain, 1000, 1000 + 3 * HOUR, 4) == [
        (1000, "now"),
        (1000 + HOUR, "1h"),
        (1000 + 2 * HOUR, "2h"),
        (1000 + 3 * HOUR, "3h"),
    ]
    dated = Instance(Cluster(()), origin="2026-03-01T08:20:00+01:00")
    assert ticks(dated, 0, 4 * HOUR, 4) == [
        (2400, "03-01 09:00"),
        (6000, "03-01 10:00"),
        (9600, "03-01 11:00"),
        (13200, "03-01 12:00"),
    ]
