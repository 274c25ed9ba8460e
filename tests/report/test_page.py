"""The page: the numbers of `compare --format json`, names as text, nothing from outside."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from report.lab import HOSTILE, Elements, compared, data_of, hostile_instance
from slotwise import ComparedJob
from slotwise.cli.report import about, data
from slotwise.cli.report.about import About, html_of
from slotwise.cli.report.data import MAX_BARS, Report, report_of_plan, report_of_simulation
from slotwise.cli.report.page import page
from slotwise.model.display import duration_text, smallest_difference
from slotwise.model.generate import generate
from slotwise.solver.advice.diagnosis.records import page_of
from slotwise.solver.fairshare.reports import ShareSeries
from slotwise.solver.scheduler.simulation import simulate

VENDOR = Path(str(resources.files("slotwise.cli.report"))) / "assets" / "vendor"


def report_of(name: str, explained: int = 0) -> Report:
    return compared(sw.load(sw.example(name)), explained)


@pytest.mark.parametrize("name", ["headline", "joint-wins", "backfill", "kth-sp2-queue-10"])
def test_the_data_of_the_page_is_that_of_compare_as_json(name: str) -> None:
    report = report_of(name)
    assert report.comparison is not None
    found = data_of(page(report))
    assert found["comparison"] == json.loads(json.dumps(report.comparison.to_dict()))


@pytest.mark.parametrize("method", ["all", "greedy"])
def test_the_tables_list_a_bounded_number_of_jobs(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Would find a page that grows with the elements of an array."""
    for module in (data, about):
        monkeypatch.setattr(module, "MAX_JOBS", 3)
    instance = sw.load(sw.example("kth-sp2-queue-10"))
    report = compared(instance, 0)
    if method != "all":
        report = report_of_plan("plan", instance, sw.plan(instance, method), {})
    found = data_of(page(report))
    assert len(found["about"]) == 3
    assert "The tables list the first 3 of 10 jobs." in found["notes"]
    if method == "all":
        whole = compared(instance, 0).comparison
        assert whole is not None
        assert [row["job"] for row in found["comparison"]["jobs"]] == [row.job for row in whole][:3]


def _waiting_first(records: Sequence[dict[str, Any]], now: int) -> list[dict[str, Any]]:
    keys = ("as_configured", "possible")
    waiting = [record for record in records if any(record[key] != now for key in keys)]
    return [*waiting, *(record for record in records if record not in waiting)]


@pytest.mark.parametrize("name", ["headline", "backfill", "kth-sp2-queue-10"])
def test_the_tables_of_the_page_say_the_same_without_any_script(name: str) -> None:
    """Cells sort by the very seconds that JSON has, written as `compare` writes them.

    "backfill" has clock times. Jobs that start now anyway come behind those that wait.
    """
    report = report_of(name)
    assert report.comparison is not None
    clock, words = About(report).clock, About(report).words
    tables = Elements(page(report)).cells
    records = _waiting_first(report.comparison.to_records(), report.instance.now)
    assert len(tables["comparison"]) - 1 == len(tables["reasons"]) - 1 == len(records)
    marks = report.comparison.cautions().marks
    keys = ["as_configured", "possible"]
    keys += [
        f"{method}_{kind}"
        for method in ("greedy", "time_based", "optimal")
        for kind in ("estimate", "simulated")
    ]
    for cells, why, record in zip(
        tables["comparison"][1:], tables["reasons"][1:], records, strict=True
    ):
        assert cells[0][0] == why[0][0] == record["job"]
        assert cells[1] == (str(record["slots"]), str(record["slots"]))
        for key, (text, order) in zip(keys, cells[2:10], strict=True):
            if record[key] is None:
                assert text == words[key][record["job"]]
                assert float(order or 0) > 1e15
            else:
                assert order == str(record[key])
                method = key.removesuffix("_estimate").replace("_", "-")
                method = "optimal" if key == "possible" else method
                mark = marks.get((method, record["job"]), "")
                shown = clock.short(record[key])
                if key == "possible" and (record["sooner_by"] or 0) < 0:
                    shown = _ahead(record["ahead_of"])
                assert text == f"{shown} {mark}".strip()
        if record["earlier_by"] is not None:
            said = duration_text(record["earlier_by"])
            assert cells[10] == (said, str(record["earlier_by"]))
        assert why[3][0] == (
            "yes" if record["proved"] else "no" if record["possible"] is not None else ""
        )
        assert why[5][0].startswith(record["waits_for"])


@pytest.mark.parametrize("name", ["headline", "backfill", "kth-sp2-queue-10"])
def test_the_slim_table_has_the_outlook_the_longest_wait_first(name: str) -> None:
    report = report_of(name)
    assert report.comparison is not None
    clock, words = About(report).clock, About(report).words
    rows = Elements(page(report)).cells["picks"][1:]
    found = {cells[0][0]: cells for cells in rows}
    assert sorted(found) == sorted(row.job for row in report.comparison)
    for row in report.comparison:
        _, _, slots, configured, possible, sooner, _ = found[row.job]
        assert slots[0] == str(row.slots)
        for key, (text, order) in (("as_configured", configured), ("possible", possible)):
            time = getattr(row, key)
            if time is None:
                assert text == words[key][row.job]
            else:
                shown = clock.short(time, _beside(row))
                if key == "possible" and (row.sooner_by or 0) < 0:
                    shown = _ahead(row.ahead_of)
                assert (int(order or -1), text) == (time, shown)
        assert sooner[0] == (duration_text(row.earlier_by) if row.earlier_by else "–")
    waits = [float(cells[3][1] or 0) for cells in rows]
    assert waits == sorted(waits, reverse=True)


def _ahead(job: str) -> str:
    """The possible start in words: no cell has one later than as configured."""
    return f"ahead of {job}" if job else "no earlier"


def _beside(row: ComparedJob) -> int:
    return smallest_difference((row.as_configured, row.possible))


def test_why_not_earlier_and_what_would_help_are_those_of_explain() -> None:
    instance = sw.load(sw.example("headline"))
    found = data_of(page(compared(instance, 1)))
    assert found["advice"] == {
        "job5": json.loads(json.dumps(sw.explain(instance, "job5").to_dict()))
    }


def test_bars_of_the_data_are_the_allocations_of_the_plans() -> None:
    report = report_of("joint-wins")
    found = data_of(page(report))
    assert report.comparison is not None
    starts = {
        "as configured": report.comparison.outlook.configured.values(),
        "possible": report.comparison.optimal,
    }
    assert [view["name"] for view in found["views"]] == list(starts)
    for view in found["views"]:
        drawn: dict[str, dict[str, int]] = {}
        times = {}
        for job, kind, host, _, count, start, finish in view["bars"]:
            name, on = found["jobs"][job]["id"], found["hosts"][host][0]
            assert kind == 0
            drawn.setdefault(name, {})
            drawn[name][on] = drawn[name].get(on, 0) + count
            times[name] = (start, finish)
        plan = tuple(starts[view["name"]])
        assert drawn == {item.job: dict(item.allocation) for item in plan}
        assert times == {item.job: (item.start, item.finish) for item in plan}


def test_a_simulation_has_its_curves_and_its_jobs() -> None:
    instance = sw.load(sw.example("fairshare-groups"))
    series = ShareSeries()
    result = simulate(
        instance, recorder=lambda record, world: series.record(world.order, record.time)
    )
    report = report_of_simulation("x", result, series.points)
    found = data_of(page(report))
    starts = {record["job"]: record["start"] for record in found["records"]}
    assert starts == {record.job: record.start for record in result.jobs}
    last = {point.account: point.share for point in series.points}
    assert {curve["account"]: curve["shares"][-1] for curve in found["accounts"]} == {
        account: round(share, 6) for account, share in last.items()
    }
    assert max(found["use"]["slots"]) <= sum(host[1] for host in found["hosts"])


def test_hostile_names_are_text_wherever_they_stand() -> None:
    text = page(compared(hostile_instance(), 1))
    elements = Elements(text).found
    assert not [tag for tag, _ in elements if tag in ("img", "iframe", "link")]
    assert not [values for tag, values in elements if tag == "svg" and "onload" in values]
    assert not [key for _, values in elements for key in values if key.startswith("on")]
    # Scripts: ours and the data, no other.
    scripts = [values for tag, values in elements if tag == "script"]
    assert [values.get("id") for values in scripts if values.get("type")] == ["data"]
    assert len(scripts) == text.count("</script>") == 10
    found = data_of(text)
    known = {job["id"] for job in found["jobs"]}
    assert {HOSTILE[0], HOSTILE[2], HOSTILE[3]} <= known
    assert found["hosts"][0][0] == HOSTILE[0]
    # Characters without a look of their own are shown, as in every table.
    assert "\\u202egnp\\u2028x" in known
    assert "\u202e" not in text
    buttons = [values["data-job"] for tag, values in elements if values.get("class") == "name"]
    assert HOSTILE[0] in buttons


def test_the_page_loads_nothing_and_its_policy_forbids_it() -> None:
    text = page(report_of("headline"))
    elements = Elements(text).found
    loads = [
        (tag, key, value)
        for tag, values in elements
        for key, value in values.items()
        if key in ("src", "srcset", "action", "data", "poster")
        or (key == "href" and not str(value).startswith("#"))
    ]
    assert loads == []
    policy = next(v["content"] for t, v in elements if t == "meta" and "http-equiv" in v)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    bodies = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies]
    assert len(hashes) == 9
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "@import" not in text
    assert "url(http" not in text


def test_libraries_are_the_released_files_that_their_list_names() -> None:
    listed = re.findall(
        r"^\| `([^`]+)` .*`([0-9a-f]{64})` \|$", (VENDOR / "README.md").read_text(), re.MULTILINE
    )
    code = {file.name for file in VENDOR.iterdir() if file.suffix in (".js", ".css")}
    assert {name for name, _ in listed} == code
    for name, digest in listed:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_scripts_of_ours_are_short() -> None:
    for file in VENDOR.parent.glob("*.*"):
        assert len(file.read_text(encoding="utf-8").splitlines()) <= 500, file.name


def test_the_same_input_gives_the_same_bytes() -> None:
    assert page(report_of("backfill", 1)) == page(report_of("backfill", 1))


def test_every_chart_has_a_name_and_every_control_a_label() -> None:
    for report in (report_of("cu-racks"), report_of("fairshare-pool")):
        elements = Elements(page(report)).found
        ids = [values["id"] for _, values in elements if "id" in values]
        assert len(ids) == len(set(ids))
        for _, values in elements:
            if values.get("role") in ("img", "application"):
                assert values["aria-label"]
            if "aria-labelledby" in values:
                assert values["aria-labelledby"] in ids
        assert "behind-gantt" in ids
        radios = [v for t, v in elements if t == "input" and v["type"] == "radio"]
        assert {v["name"] for v in radios} <= {"view", "job"}
        assert len([tag for tag, _ in elements if tag == "label"]) == len(radios)
        assert all(v["aria-label"] for t, v in elements if t == "input" and v not in radios)


@pytest.mark.slow
def test_five_thousand_hosts_stay_below_ten_megabytes() -> None:
    """All three views at their worst: each as large as one by time-based planning."""
    instance = generate(hosts=5000, running=11500, pending=100, seed=3)
    report = report_of_plan("big.json", instance, sw.plan(instance, "time-based"), {})
    text = page(report)
    found = data_of(text)
    view = json.dumps(found["views"][0], separators=(",", ":"))
    assert len(text.encode()) + 2 * len(view) < 10_000_000
    assert len(found["groups"]) == 313 + 79
    assert not found["barsLeftOut"]


def test_of_too_many_bars_the_loads_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_BARS > 36_000
    monkeypatch.setattr("slotwise.cli.report.data.MAX_BARS", 3)
    found = data_of(page(report_of("headline")))
    assert found["barsLeftOut"]
    assert found["running"] == []
    assert found["views"][0]["loads"][-1]["running"]
    assert any("too many" in note for note in found["notes"])


def test_where_nothing_is_pending_the_page_says_so() -> None:
    instance = sw.load(sw.example("headline"))
    text = page(compared(replace(instance, pending=()), 0))
    assert "No job is pending" in text
    assert "No job is pending" not in page(report_of("headline"))


def test_the_verdict_and_the_first_screen_are_those_of_diagnose_and_explain() -> None:
    """Example "large-starves" of the documents: what starves, one change, what it costs."""
    instance = sw.load(sw.example("headline"))
    found = sw.diagnose(instance)
    report = replace(compared(instance, 1), diagnosis=found)
    text = page(report)
    assert html_of(page_of(instance, found)) in text
    assert text.index('id="status"') < text.index('id="verdict"')
    about = data_of(text)["about"]["job5"]
    (explained,) = report.advice.values()
    clock = About(report).clock
    assert about["why"] == [
        [f"{clock.short(o.first)} – {clock.short(o.until)}", o.reason]
        for o in explained.obstacles
        if o.until is not None
    ]
    assert 'id="verdict"' not in page(compared(instance))
