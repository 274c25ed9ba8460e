"""What a comparison and a plan come to in words: sentences, cautions, the date once, LSF's view."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from loop_starts import simulated_starts
from slotwise import JobOutlook, Plan, PlannedJob, Unplaced
from slotwise.cli.main import app
from slotwise.model.display import WrittenTimes
from slotwise.model.objective import objective_named
from slotwise.solver.advice.sentences import (
    configuration_of,
    outlook_sentences,
    plan_sentences,
    proof_sentence,
)
from slotwise.solver.rules.omitted import RUN_OUT, WITHOUT
from typer.testing import CliRunner

HOUR = 3600
TUTORIAL = Path(sw.__file__).parent / "instances" / "tutorial"


@cache
def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def mill(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The cluster of the tutorial at nine o'clock."""
    folder = tmp_path_factory.mktemp("mill")
    shutil.copytree(TUTORIAL, folder, dirs_exist_ok=True)
    site, now = str(folder / "site.yaml"), str(folder / "now.yaml")
    run("import", "lsf", str(folder / "conf"), "-o", site)
    printed = ("--bjobs", str(folder / "jobs.json"), "--bhosts", str(folder / "hosts.json"))
    moment = ("--now", "2026-03-02T09:00:00+01:00")
    run("import", "snapshot", "--site", site, *printed, *moment, "-o", now)
    return now


def row(name: str, sooner: int | None, slots: int = 1, **more: Any) -> JobOutlook:
    """A job that could start so many seconds sooner than as configured; None: it has no start."""
    if sooner is None:
        return JobOutlook(name, slots, more.pop("state", "impossible"), None, **more)
    start = 10 * HOUR
    return JobOutlook(name, slots, "starts", start + sooner, possible=start, **more)


def plan(*items: PlannedJob, **more: Any) -> Plan:
    given: dict[str, Any] = {"method": "optimal", "objective": "lexicographic", "status": "optimal"}
    return Plan(**{**given, "now": 0, "reservations": items, **more})


def proved(count: int, of: int) -> Plan:
    items = (PlannedJob(str(n), n, proved=n < count) for n in range(of))
    return plan(*items, status="optimal" if count == of else "feasible")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (proved(7, 7), "All 7 starts are proved the earliest in priority order."),
        (proved(2, 2), "Both starts are proved the earliest in priority order."),
        (proved(1, 1), "The one start is proved the earliest in priority order."),
        (proved(5, 7), "5 of 7 starts are proved the earliest in priority order."),
        (proved(1, 2), "1 of 2 starts is proved the earliest in priority order."),
        (proved(0, 2), "No start is proved the earliest in priority order."),
        (proved(0, 0), "No job has a start."),
        (
            replace(proved(2, 2), objective="makespan"),
            f"Proved: no plan has a smaller {objective_named('makespan').meaning} "
            "(objective makespan).",
        ),
        (
            replace(proved(1, 2), objective="makespan"),
            "1 of 2 starts is proved the earliest.",
        ),
    ],
)
def test_what_is_proved_is_a_sentence(found: Plan, sentence: str) -> None:
    assert proof_sentence(found) == sentence


def test_an_outlook_says_who_could_start_earlier_and_what_that_costs_whom() -> None:
    """Would find: the gain of one job and the loss of another as one sum, a gain of seconds."""
    ahead = [row(str(n), -HOUR, 2, ahead_of="110", proved=True) for n in (113, 114)]
    rows = [row("110", 2 * HOUR, 12), row("111", 0), *ahead, row("115", -1800, 2, proved=True)]
    rows += [row("116", 119, 2, min_gain=120), row("117", -HOUR, 2)]  # too little; not proved
    _, changes, total = outlook_sentences(rows, proved(6, 7), "BACKFILL in queue normal")
    assert changes == (
        "As configured (BACKFILL in queue normal): job 110 could start 2h earlier; jobs 113 and "
        "114 start before job 110 of higher priority."
    )
    assert total == (
        "With every job at its earliest start in priority order, 1 job would wait 2h less "
        "(24 slot-hours) and 3 jobs would wait 2h 30m more (5 slot-hours)."
    )
    assert outlook_sentences([], proved(0, 0), "x") == ("Nothing is pending.",)


def test_jobs_without_a_start_are_counted_by_the_reason() -> None:
    rows = [row("a", 0), row("b", None), row("c", None), row("d", None, state="unknown end")]
    _, changes, impossible, unknown = outlook_sentences(rows, proved(2, 2), "x")
    assert changes.endswith(": every job starts at its planned time.")
    assert impossible == "2 jobs cannot start on this cluster: b and c."
    assert unknown == "1 job waits for an event at an unknown time: d."


def test_a_plan_says_what_it_is_and_claims() -> None:
    greedy = plan(
        PlannedJob("a", 0),
        PlannedJob("b", None, estimate=5),
        PlannedJob("c", None),
        method="greedy",
        status="heuristic",
        unplaced=(Unplaced("d", "too large"),),
    )
    first, places = plan_sentences(greedy)
    assert first.startswith(
        "Greedy reservation: 1 job starts now, 1 job waits with an estimate, 1 job waits without "
        "an estimate."
    )
    assert places == "1 job has no place."
    exact = plan(PlannedJob("a", 30, proved=True), value=30.0, bound=30.0)
    assert plan_sentences(exact)[1] == (
        "Method optimal, objective lexicographic: value 30, bound 30 "
        "(sum of the seconds from now to each start)."
    )


def test_the_configuration_names_the_queues() -> None:
    instance = sw.load(sw.example("headline"))
    queue = sw.Queue("bare")

    def of(*queues: sw.Queue) -> str:
        return configuration_of(replace(instance, queues=queues), "greedy")

    reserving = replace(queue, slot_reserve=5)
    assert of(queue) == "no queue reserves, no BACKFILL"
    assert of(reserving) == "greedy reservation in queue bare, no BACKFILL"
    assert of(replace(reserving, name="q", backfill=True), queue) == (
        "greedy reservation in queue q, BACKFILL in queue q"
    )
    two = [replace(reserving, name=name, backfill=True) for name in "pq"]
    assert of(*two) == "greedy reservation in every queue, BACKFILL in every queue"
    assert of(*two, queue) == "greedy reservation in 2 of 3 queues, BACKFILL in 2 of 3 queues"


def test_the_tutorials_cautions_name_the_setting_and_the_queue(mill: str) -> None:
    """By hand: reservations last for five cycles; without that limit 110 starts at 11:30."""
    instance = sw.load(mill)
    text = " ".join(run("compare", mill, "--methods").split())
    setting = "SLOT_RESERVE = MAX_RESERVE_TIME[5] in queue normal"
    assert f"(job 110 starts 13:30, not 11:30: {setting})" in text
    assert f"because of: {RUN_OUT} (job 110 starts 12:30" in text
    for method, start in (("time-based", "13:30"), ("optimal", "12:30")):
        clock = WrittenTimes.of(instance, [instance.now + HOUR])
        assert clock.text(simulated_starts(instance, method)["110"]) == start
        assert clock.text(simulated_starts(WITHOUT[RUN_OUT](instance), method)["110"]) == "11:30"
    found = json.loads(run("compare", mill, "--methods", "--format", "json"))
    assert [line[:3] for line in found["cautions"]] == ["[1]", "[2]"]
    assert found["summary"][0] == "All 7 starts are proved the earliest in priority order."
    gains = sum(item["earlier_by"] * item["slots"] for item in found["jobs"]) / HOUR
    assert f"less ({gains:.1f} slot-hours)" in found["summary"][2]
    saved = sum(item["sooner_by"] * item["slots"] for item in found["jobs"]) / HOUR
    assert sum(item["slot_hours"] for item in found["jobs"]) == pytest.approx(saved)


def test_the_date_is_said_once_where_all_times_fall_on_one_day(mill: str) -> None:
    for command in (("compare",), ("solve",), ("explain",), ("ask",)):
        more = {"explain": ("110",), "ask": ("-n 2 -W 30",)}.get(command[0], ())
        shown = run(*command, mill, *more)
        assert shown.count("2026-03-02") == 1, shown
        assert "Times are of 2026-03-02." in shown


def test_every_command_writes_one_time_alike(mill: str) -> None:
    """Job 110 starts at 13:30:11 as configured: no table rounds it."""
    for command in (("compare",), ("compare", "--methods"), ("solve",)):
        assert "13:30:11" in run(*command, mill), command
    assert "13:30:11" in run("explain", mill, "110")


@pytest.mark.parametrize(
    "column", ["ESTIMATED_START_TIME", "ESTART_TIME", "ESTIMATED_SIM_START_TIME", "ESSTART_TIME"]
)
def test_an_estimate_of_lsf_is_read_under_each_of_its_names(mill: str, column: str) -> None:
    folder = Path(mill).parent
    listed = json.loads((folder / "jobs.json").read_text(encoding="utf-8"))
    job = next(item for item in listed["RECORDS"] if item["JOBID"] == "110")
    del job["ESTIMATED_START_TIME"]
    job[column] = "Mar  2 12:00"
    (folder / "other.json").write_text(json.dumps(listed), encoding="utf-8")
    out = folder / "other.yaml"
    printed = ("--bjobs", str(folder / "other.json"), "--site", str(folder / "site.yaml"))
    run("import", "snapshot", *printed, "--now", "2026-03-02T09:00:00+01:00", "-o", str(out))
    made = sw.load(out)
    starts = {item.job: item.start for item in made.lsf_says}
    assert starts["110"] == made.now + 3 * HOUR
    assert starts["111"] is None
