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
    Stretch,
    bars,
    host_groups,
    loads,
    opened_within,
    visible_rows,
)
from slotwise.cli.report.data import (
    report_of_plan,
    report_of_simulation,
    use_over_time,
)
from slotwise.solver.scheduler.simulation import simulate


@pytest.mark.parametrize(("most", "rows"), [(1, 2), (4, 2), (5, 5), (8, 5), (9, 9)])
def test_groups_open_level_by_level_as_far_as_there_is_room(most: int, rows: int) -> None:
    groups = host_groups(racks())
    assert len(visible_rows(groups, 5, opened_within(groups, 5, most))) == rows


def drawn(*stretches: Stretch, slots: int = 4) -> list[Bar]:
    return bars(stretches, {"a": 0, "b": 1}, [slots, slots])


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


def test_very_many_steps_become_means_that_keep_the_area() -> None:
    held = [Stretch(str(n), "running", 10 * n, 10 * n + 5, {"a": 2}) for n in range(3000)]
    (load,) = loads(held, (), {"a": 0}, [4])
    assert len(load.times) <= MAX_STEPS
    area = sum(
        level * (end - begin)
        for level, begin, end in zip(load.running, load.times, load.times[1:], strict=False)
    )
    assert area == pytest.approx(3000 * 5 * 2, rel=0.01)


def test_a_chart_of_greedy_shows_what_it_holds_for_later() -> None:
    instance = sw.load(sw.example("headline"))
    plan = sw.plan(instance, "greedy")
    report = report_of_plan("x", instance, plan, {})
    (greedy,) = report.views
    held = [s for s in greedy.stretches if s.kind == "reserved"]
    assert [(s.job, s.start, s.finish) for s in held] == [("job5", 0, None)]
    assert held[0].allocation == plan["job5"].reserved
    assert greedy.estimates == {"job5": 2 * HOUR}


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
