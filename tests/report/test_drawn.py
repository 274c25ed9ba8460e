"""What a page draws: the animation of its bars, and the data of bars, loads and groups."""

from __future__ import annotations

import random
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import slotwise as sw
from forked import slotwise
from report.lab import HOSTILE, HOUR, compared, hostile_instance, racks
from slotwise import Cluster, Host, InputError, Instance, Job, RunningJob
from slotwise.cli.report.animation import MAX_HOSTS, animation_svg
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
from slotwise.model.generate import generate
from slotwise.solver.scheduler.simulation import simulate

SVG = "{http://www.w3.org/2000/svg}"


def drawn(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text)
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
    assert not [key for element in root.iter() for key in element.attrib if key.startswith("on")]
    return root


def words(root: ElementTree.Element) -> list[str]:
    return ["".join(item.itertext()) for item in root.iter(f"{SVG}text")]


def test_the_same_jobs_slide_from_where_they_are_to_where_they_could_be() -> None:
    """joint-wins: `small` goes to b1, then `large` from 2h to now on a1 and a2 together."""
    text = animation_svg(compared(sw.load(sw.example("joint-wins"))))
    root = drawn(text)
    said = words(root)
    assert {"Scheduler today", "large starts in 2h"} <= set(said)
    assert {"Possible", "large starts now, 2h earlier"} <= set(said)
    assert "small runs on hosts where large could run" in said
    assert "Both starts are proved the earliest." in said
    assert said.count("large") == said.count("small") == 2
    parts = {
        group.attrib["class"]: "".join(group.itertext())
        for group in root.iter(f"{SVG}g")
        if "class" in group.attrib
    }
    away = dict(re.findall(r"@keyframes (m\d+)\{0%,\d+%\{transform:(translate[^}]+)\}", text))
    moves = {parts[name]: move for name, move in away.items()}
    assert moves == {"large": "translate(136.0px,0.0px)", "small": "translate(0.0px,-127.0px)"}
    # Without motion the picture is its result; light and dark follow the reader.
    assert text.count("transform:none") == 2
    assert "@media(prefers-reduced-motion:no-preference)" in text
    assert "@media(prefers-color-scheme:dark)" in text


def test_names_are_text_and_nothing_is_loaded() -> None:
    text = animation_svg(compared(hostile_instance()))
    root = drawn(text)
    assert any(HOSTILE[0].startswith(word.rstrip("…")) for word in words(root) if word)
    assert not re.search(r"url\(|@import|href", text)


def test_of_many_hosts_those_with_jobs_that_move_are_drawn() -> None:
    report = compared(generate(hosts=24, running=40, pending=4, seed=7))
    root = drawn(animation_svg(report))
    names = {host.name for host in report.instance.cluster.hosts}
    assert len(names & set(words(root))) == MAX_HOSTS


def test_one_plan_is_refused(tmp_path: Path) -> None:
    instance = sw.load(sw.example("headline"))
    report = report_of_plan("x", instance, sw.plan(instance, "time-based"), {})
    with pytest.raises(InputError, match="shows two plans"):
        animation_svg(report)
    path = tmp_path / "x.svg"
    done = slotwise("report", "--example", "headline", "--method", "greedy", "--animate", str(path))
    assert done.returncode == 2
    assert "two plans" in done.stderr
    assert not path.exists()


@pytest.mark.parametrize(("most", "rows"), [(1, 2), (4, 2), (5, 5), (8, 5), (9, 9)])
def test_groups_open_level_by_level_as_far_as_there_is_room(most: int, rows: int) -> None:
    groups = host_groups(racks())
    assert len(visible_rows(groups, 5, opened_within(groups, 5, most))) == rows


def bars_of(*stretches: Stretch, slots: int = 4) -> list[Bar]:
    return bars(stretches, {"a": 0, "b": 1}, [slots, slots])


def test_what_is_held_lies_on_free_lanes_and_more_than_the_host_has_goes_on_top() -> None:
    found = bars_of(
        Stretch("runs", "running", 0, 10, {"a": 3}),
        Stretch("waits", "reserved", 0, 50, {"a": 1}),
        Stretch("too", "running", 5, 10, {"a": 2}),
        slots=4,
    )
    by_job = {bar.job: [(b.first, b.count) for b in found if b.job == bar.job] for bar in found}
    assert by_job == {"runs": [(0, 3)], "too": [(3, 1), (4, 1)], "waits": [(3, 1)]}


def test_nothing_is_drawn_of_what_takes_no_time_or_no_slots() -> None:
    assert bars_of(Stretch("1", "planned", 5, 5, {"a": 1}), Stretch("2", "planned", 5, 9, {})) == []


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
