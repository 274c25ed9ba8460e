"""The page in a real browser: elements, interactions, no complaint in the console, pictures.

Debian's chromium and chromedriver, driven by selenium; skipped with a message where there are none.
Screenshots are left in .cache/screenshots for people to look at.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from browser import MARKS, SCREENSHOTS, chromium
from report.lab import compared, data_of, hostile_instance
from slotwise import Cluster, Host, Instance, Job, RunningJob
from slotwise.cli.report.about import About
from slotwise.cli.report.data import (
    Report,
    report_of_comparison,
    report_of_plan,
    report_of_simulation,
)
from slotwise.cli.report.page import page
from slotwise.model.generate import generate
from slotwise.solver.advice.diagnosis.diagnose import diagnose
from slotwise.solver.advice.explain import explain
from slotwise.solver.fairshare.reports import ShareSeries
from slotwise.solver.scheduler.simulation import simulate

#: How much time the picture shows.
WIDTH = "const [from, to] = Slotwise.gantt.state.range; return to - from;"
#: What reaches beyond the right edge of the window and is not inside something that scrolls or cuts
#: within it: the tags.
BEYOND = """
    const wide = document.documentElement.clientWidth;
    const kept = (item) => {
      for (let box = item.parentElement; box; box = box.parentElement) {
        const inside = box.getBoundingClientRect().right <= wide + 0.5;
        if (inside && getComputedStyle(box).overflowX !== "visible") return true;
      }
      return false;
    };
    const seen = (item) => item.getClientRects().length > 0;
    return [...document.querySelectorAll("body *")]
      .filter((item) => seen(item) && item.getBoundingClientRect().right > wide + 0.5)
      .filter((item) => !kept(item)).map((item) => item.outerHTML.slice(0, 200));
"""
#: Tables that have to be scrolled sideways.
SCROLLED = """
    return [...document.querySelectorAll(".jbox, .scroll")]
      .filter((box) => box.getClientRects().length && box.scrollWidth > box.clientWidth + 1)
      .map((box) => box.querySelector("table").id);
"""

pytestmark = [*MARKS]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def twenty_hosts() -> Report:
    """A cluster of 20 hosts with racks and memory, two of its jobs explained."""
    return compared(generate(hosts=20, running=30, pending=8, seed=5), 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The file of a report of 20 hosts with its diagnosis, and its data."""
    report = twenty_hosts()
    text = page(replace(report, diagnosis=diagnose(report.instance, most=1)))
    file = tmp_path_factory.mktemp("small") / "report.html"
    file.write_text(text, encoding="utf-8")
    return file, data_of(text)


@pytest.fixture
def opened(browser: Any, small: tuple[Path, Any]) -> Iterator[Any]:
    """The browser with that report; at the end nothing may stand in its console."""
    browser.set_window_size(1440, 1800)
    browser.get(small[0].as_uri())
    yield browser
    assert browser.get_log("browser") == []


def picture(browser: Any, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    assert browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def pressed(browser: Any, selector: str) -> str:
    """Click an element of the chart, and again if it was redrawn meanwhile; return its title."""
    from selenium.common.exceptions import StaleElementReferenceException

    for _ in range(20):
        with suppress(StaleElementReferenceException):
            item = find(browser, selector)
            title: str = item.get_attribute("title")
            item.click()
            return title
    raise AssertionError(f"{selector} is redrawn without end")


def until(holds: Callable[[], bool]) -> None:
    """Wait for what the page does in its own time; AssertionError after ten seconds."""
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true")


def said(browser: Any) -> str:
    return str(find(browser, "#said").get_attribute("textContent"))


def bars(browser: Any, style: str) -> list[str]:
    """Names of the jobs that are drawn in one way."""
    return browser.execute_script(  # type: ignore[no-any-return]
        "return [...document.querySelectorAll(`#gantt .b.${arguments[0]}`)]"
        ".map((bar) => bar.title.split(' ')[0])",
        style,
    )


def test_the_first_screen_is_one_screen(opened: Any, small: tuple[Path, Any]) -> None:
    """Line, figures, picture, table and the chosen job at 1,440 by 900 without scrolling."""
    opened.set_window_size(1440, 900 + opened.execute_script("return outerHeight - innerHeight"))
    until(lambda: opened.execute_script("return innerHeight") == 900)
    for part in ("#status", ".figs", "#gantt", "#picks", "#job"):
        box = find(opened, part).rect
        assert box["y"] >= 0
        assert part == "#picks" or box["y"] + box["height"] <= 900, part
    assert find(opened, "html").get_attribute("data-ready") == "yes"
    rows = opened.find_elements("css selector", "#picks tbody tr")
    jobs = {row["job"]: row for row in small[1]["comparison"]["jobs"]}
    assert len(rows) == len(jobs)
    first = rows[0].get_attribute("data-job")
    assert find(opened, "#job h2").text == f"Job {first}"
    placed = next(job for job, row in jobs.items() if (row["possible"] or 0) > small[1]["now"])
    find(opened, f'#picks tr[data-job="{placed}"] .pick').click()
    assert set(bars(opened, "chosen")) == {placed}
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    picture(opened, "20-hosts-light")


def test_the_picture_shows_either_plan_and_what_is_sooner(
    opened: Any, small: tuple[Path, Any]
) -> None:
    from selenium.webdriver.common.keys import Keys

    opened.execute_script("Slotwise.choose(null); Slotwise.gantt.fold(9)")
    jobs = small[1]["comparison"]["jobs"]
    sooner = {row["job"] for row in jobs if (row["sooner_by"] or 0) > 0}
    assert set(bars(opened, "sooner")) == sooner
    assert "as configured" in find(opened, "#key").text
    find(opened, "#view-1").send_keys(Keys.ARROW_LEFT)
    assert opened.execute_script("return Slotwise.gantt.state.view.name") == "as configured"
    assert said(opened).startswith("as configured: ")
    assert bars(opened, "sooner") == []
    planned = {row["job"] for row in jobs if row["as_configured"] is not None}
    assert set(bars(opened, "planned")) == planned
    assert "possible" in find(opened, "#key").text


def test_a_job_is_chosen_in_the_table_and_explained(opened: Any, small: tuple[Path, Any]) -> None:
    from selenium.webdriver.common.keys import Keys

    (job, advice), *_ = small[1]["advice"].items()
    find(opened, f'#picks tr[data-job="{job}"] .pick').click()
    panel = find(opened, "#job")
    assert panel.find_element("css selector", "h2").text == f"Job {job}"
    assert "Why not earlier" in panel.text
    assert advice["obstacles"][0]["reason"] in panel.text
    about = small[1]["about"][job]
    assert [word.text for word in panel.find_elements("css selector", ".words dt")] == [
        word for word, _ in about["words"]
    ]
    for start in about["starts"]:
        assert f"{start['what']}\n{start['time']}" in panel.text
    shown = panel.find_elements("css selector", ".fix > li")
    assert len(shown) == len(about["helps"]) > 0
    assert all(line in shown[0].text for line in about["helps"][0]["lines"])
    assert about["helps"][0]["costs"] in shown[0].text
    assert said(opened).startswith(job)
    # The jobs are one radio group: an arrow chooses the next one.
    find(opened, f'#picks input[value="{job}"]').send_keys(Keys.ARROW_DOWN)
    other = opened.execute_script("return Slotwise.chosen")
    assert other != job
    assert panel.find_element("css selector", "h2").text == f"Job {other}"


def test_a_bar_is_chosen_with_the_mouse_and_has_a_title(opened: Any) -> None:
    opened.execute_script("Slotwise.choose(null); Slotwise.gantt.fold(9)")
    title = pressed(opened, "#gantt .b.sooner, #gantt .b.planned")
    job = title.split(" ")[0]
    assert "planned on" in title
    assert find(opened, "#job h2").text == f"Job {job}"
    assert find(opened, "#picks input:checked").get_attribute("value") == job


def test_the_keyboard_goes_through_rows_and_jobs(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    chart = find(opened, "#gantt")
    opened.execute_script("Slotwise.gantt.fold(9); arguments[0].focus()", chart)
    before = int(chart.get_attribute("data-rows"))
    chart.send_keys(Keys.ARROW_DOWN)
    assert "enclosure enc1" in said(opened)
    chart.send_keys(Keys.ENTER)
    assert "folded" in said(opened)
    assert int(chart.get_attribute("data-rows")) == before - 16
    chart.send_keys(Keys.ENTER)
    assert int(chart.get_attribute("data-rows")) == before
    chart.send_keys(Keys.ARROW_DOWN)
    assert said(opened).startswith("n00001, 16 slots")
    chart.send_keys(Keys.ARROW_RIGHT)
    chosen = opened.execute_script("return Slotwise.chosen")
    assert find(opened, "#job h2").text == f"Job {chosen}"
    wide = opened.execute_script(WIDTH)
    chart.send_keys("+")
    assert opened.execute_script(WIDTH) == pytest.approx(wide / 2, rel=0.02)
    chart.send_keys(Keys.HOME)
    assert opened.execute_script(WIDTH) == wide
    chart.send_keys(Keys.ESCAPE)
    assert opened.execute_script("return Slotwise.chosen") is None


def test_fold_and_unfold_buttons(opened: Any) -> None:
    chart = find(opened, "#gantt")
    find(opened, "#fold").click()
    assert chart.get_attribute("data-rows") == "1"
    assert chart.get_attribute("data-bars") == "0"
    find(opened, "#unfold-one").click()
    assert chart.get_attribute("data-rows") == "3"
    find(opened, "#unfold-one").click()
    assert chart.get_attribute("data-rows") == "23"
    pressed(opened, "#gantt .row.group")
    assert chart.get_attribute("data-rows") == "1"


def column(browser: Any, table: str, number: int) -> list[str]:
    cells = browser.find_elements("css selector", f"#{table} tbody td:nth-child({number})")
    return [cell.get_attribute("textContent") for cell in cells if cell.is_displayed()]


def test_the_slim_table_sorts_and_finds(opened: Any, small: tuple[Path, Any]) -> None:
    jobs = small[1]["comparison"]["jobs"]
    head = opened.find_elements("css selector", "#picks thead th button")
    head[2].click()
    assert [int(text) for text in column(opened, "picks", 3)] == sorted(r["slots"] for r in jobs)
    head[2].click()
    slots = sorted((row["slots"] for row in jobs), reverse=True)
    assert [int(text) for text in column(opened, "picks", 3)] == slots
    sorted_by = opened.find_elements("css selector", "#picks th[aria-sort]")
    assert [item.get_attribute("aria-sort") for item in sorted_by] == ["descending"]


def test_folds_open_by_their_links_and_their_tables_sort_and_filter(
    opened: Any, small: tuple[Path, Any]
) -> None:
    find(opened, "a.whole").click()
    assert find(opened, "#verdict .answer").is_displayed()
    find(opened, "#methods > summary").click()
    jobs = small[1]["comparison"]["jobs"]
    head = opened.find_elements("css selector", "#comparison thead tr:first-child th")
    opened.execute_script("arguments[0].click()", head[1])
    until(lambda: head[1].get_attribute("aria-sort") == "ascending")
    slots = sorted(row["slots"] for row in jobs)
    assert [int(text) for text in column(opened, "comparison", 2)] == slots
    wanted = jobs[0]["job"]
    find(opened, '#methods input[aria-label="Filter Job"]').send_keys(wanted)
    until(lambda: len(column(opened, "comparison", 1)) < len(jobs))
    assert wanted in column(opened, "comparison", 1)
    name = find(opened, f'#comparison button.name[data-job="{wanted}"]')
    opened.execute_script("arguments[0].click()", name)
    assert find(opened, "#job h2").text == f"Job {wanted}"


def test_the_table_behind_the_picture_has_the_same(opened: Any, small: tuple[Path, Any]) -> None:
    find(opened, "#behind-gantt > summary").click()
    box = '#behind-gantt input[type="search"]'
    until(lambda: len(opened.find_elements("css selector", box)) == 1)
    find(opened, box).send_keys("planned")
    rows = opened.find_elements("css selector", "#behind-gantt tbody tr")
    found = {}
    for row in rows:
        cells = [cell.text for cell in row.find_elements("css selector", "td")]
        found[cells[0]] = (int(cells[4]), int(cells[5]))
    expected = {
        row["job"]: (sum(row["possible_on"].values()), len(row["possible_on"]))
        for row in small[1]["comparison"]["jobs"]
        if row["possible"] is not None
    }
    assert found == expected


def open_all(browser: Any) -> None:
    browser.execute_script(
        "for (const fold of document.querySelectorAll('details')) fold.open = true"
    )


def fitted(browser: Any, width: int) -> None:
    """The page at a width of the window, drawn anew."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    until(lambda: browser.execute_script("return innerWidth") == width)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_reaches_beyond_the_window(opened: Any, theme: str) -> None:
    """At four widths, every fold open; tables need no scrolling sideways from 1,280 on."""
    opened.execute_script(f"Slotwise.setTheme('{theme}')")
    open_all(opened)
    try:
        for width in (1440, 1280, 768, 390):
            fitted(opened, width)
            until(lambda: opened.execute_script(BEYOND) == [])
            nothing_hangs_over(opened)
            slim = opened.execute_script(SCROLLED)
            assert slim == [] if width >= 1280 else "picks" not in slim
            picture(opened, f"20-hosts-{width}-{theme}")
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


LONG = "analysis-of-a-very-long-name_without.any-space-in-it-2026-11-27"
ONE_HOST = Cluster((Host(LONG, 4),))


def queue_of(*jobs: Job) -> Instance:
    """A host on which a job runs for two hours, and these jobs."""
    busy = RunningJob(Job("r", 2, run_limit=7200), 0, {LONG: 2})
    return Instance(ONE_HOST, running=(busy,), pending=jobs, name=LONG)


#: Instances at the edges of what there is.
EDGES: dict[str, Callable[[], Instance]] = {
    "no jobs": queue_of,
    "one job": lambda: queue_of(Job("1", 4, run_limit=3600)),
    "all start now": lambda: queue_of(*(Job(str(n), 1, run_limit=60 * n) for n in (1, 2))),
    "never": lambda: queue_of(Job("1", 5, run_limit=3600)),
    "long names": lambda: queue_of(
        *(Job(f"{LONG}-{n}", 3, run_limit=3600, user=LONG[:40]) for n in range(3))
    ),
    "500 jobs": lambda: generate(hosts=40, running=60, pending=500, seed=2),
}


@pytest.mark.parametrize(
    "name",
    [
        e if e in ("no jobs", "long names") else pytest.param(e, marks=pytest.mark.slow)
        for e in EDGES
    ],
)
def test_nothing_reaches_beyond_the_window_of_any_report(
    browser: Any, tmp_path: Path, name: str
) -> None:
    """At four widths, light, dark and printed, every fold open."""
    instance = EDGES[name]()
    seconds = 4.0 if len(instance.pending) > 100 else None
    comparison = sw.compare(instance, time_limit=seconds, effort=None if seconds else 0.2)
    report = report_of_comparison(f"{LONG}.yaml", instance, comparison, {})
    found = diagnose(instance, most=1, time_limit=seconds)
    file = tmp_path / "edge.html"
    file.write_text(page(replace(report, diagnosis=found)), encoding="utf-8")
    browser.get(file.as_uri())
    open_all(browser)
    try:
        for width in (1440, 1280, 768, 390):
            fitted(browser, width)
            for theme in ("light", "dark"):
                browser.execute_script(f"Slotwise.setTheme('{theme}')")
                until(lambda: browser.execute_script(BEYOND) == [])
            nothing_hangs_over(browser)
            assert width < 1280 or browser.execute_script(SCROLLED) == []
        picture(browser, f"edge-{name.replace(' ', '-')}")
        browser.execute_script("dispatchEvent(new Event('beforeprint'))")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        for width in (1047, 718):
            fitted(browser, width)
            until(lambda: browser.execute_script(BEYOND) == [])
            nothing_hangs_over(browser)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert browser.get_log("browser") == []


def nothing_hangs_over(browser: Any) -> None:
    """Once the page has been drawn anew for a window of another width."""
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(lambda: browser.execute_script(wide) <= 0)


def test_the_theme_is_switched(opened: Any) -> None:
    light = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    find(opened, "#theme").click()
    dark = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert light != dark
    picture(opened, "20-hosts-dark")
    find(opened, "#theme").click()


def test_on_a_phone_the_order_is_line_table_picture(opened: Any) -> None:
    try:
        fitted(opened, 390)
        tops = [find(opened, part).rect["y"] for part in ("#status", "#picks", "#gantt", "#job")]
        assert tops == sorted(tops)
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
def test_five_thousand_hosts(browser: Any, tmp_path: Path) -> None:
    """Aggregated at first; a rack and an enclosure unfold down to the bars of hosts."""
    instance = generate(hosts=5000, running=11500, pending=60, seed=3)
    report = report_of_plan("big.json", instance, sw.plan(instance, "time-based"), {})
    file = tmp_path / "big.html"
    file.write_text(page(report), encoding="utf-8")
    browser.set_window_size(1440, 1400)
    browser.get(file.as_uri())
    chart = find(browser, "#gantt")
    find(browser, "#fold").click()
    assert chart.get_attribute("data-rows") == "79"
    assert chart.get_attribute("data-bars") == "0"
    picture(browser, "5000-hosts-light")
    browser.execute_script("Slotwise.gantt.toggle(0); Slotwise.gantt.toggle(1)")
    assert chart.get_attribute("data-rows") == str(79 + 4 + 16)
    assert int(chart.get_attribute("data-bars")) > 16
    browser.execute_script("Slotwise.gantt.fold(9)")
    assert int(chart.get_attribute("data-rows")) > 5000
    # Of very many rows those in view alone are elements of the page.
    rows = browser.find_elements("css selector", "#gantt .row")
    assert 10 < len(rows) < 100
    browser.execute_script("arguments[0].scrollTop = arguments[0].scrollHeight", chart)
    last = report.instance.cluster.hosts[-1].name
    until(lambda: last in find(browser, "#gantt .rows").get_attribute("textContent"))
    picture(browser, "5000-hosts-unfolded")
    assert browser.get_log("browser") == []


def test_a_simulation(browser: Any, tmp_path: Path) -> None:
    series = ShareSeries()
    instance = sw.load(sw.example("fairshare-groups"))
    result = simulate(
        instance, recorder=lambda record, world: series.record(world.order, record.time)
    )
    file = tmp_path / "simulation.html"
    file.write_text(page(report_of_simulation("x", result, series.points)), encoding="utf-8")
    browser.set_window_size(1440, 1800)
    browser.get(file.as_uri())
    assert int(find(browser, "#gantt").get_attribute("data-bars")) > 0
    open_all(browser)
    for name, curves in (("use", 3), ("shares", 2 * len({p.account for p in series.points}))):
        assert len(browser.find_elements("css selector", f"#{name} path.line")) == curves
    assert browser.execute_script(BEYOND) == []
    assert len(browser.find_elements("css selector", "#simulation tbody tr")) == len(result.jobs)
    picture(browser, "simulation")
    assert browser.get_log("browser") == []


def test_jobs_named_as_properties_of_objects_are_jobs(browser: Any, tmp_path: Path) -> None:
    """The first job of the table is shown at once, whatever it is called."""
    names = ("constructor", "valueOf", "10", "9")
    instance = Instance(
        Cluster((Host("h", 4),)),
        running=(RunningJob(Job("r", 4, run_limit=3600), 0, {"h": 4}),),
        pending=(
            *(Job(name, 4, run_limit=3600, submit=-int(name == "10")) for name in names),
            Job("toString", 9),
        ),
    )
    report = compared(instance)
    later = {job: explain(instance, job) for job in ("9", "10")}
    (first,) = [row.job for row in About(replace(report, advice=later)).rows][:1]
    file = tmp_path / "properties.html"
    file.write_text(page(replace(report, advice=later)), encoding="utf-8")
    browser.get(file.as_uri())
    assert find(browser, "#job h2").text == f"Job {first}"
    for name in (*names, "toString"):
        button = find(browser, f"#comparison button.name[data-job='{name}']")
        browser.execute_script("arguments[0].click()", button)
        assert find(browser, "#job h2").text == f"Job {name}"
        asked = f"slotwise explain lab.yaml {name}" in find(browser, "#job").text
        assert asked is (name not in later)
        assert "function" not in find(browser, "#job").text
    assert browser.get_log("browser") == []


def test_hostile_names_stay_text_in_the_browser(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(page(compared(hostile_instance(), 1)), encoding="utf-8")
    browser.get(file.as_uri())
    for button in browser.find_elements("css selector", "#comparison button.name"):
        browser.execute_script("arguments[0].click()", button)
    open_all(browser)
    browser.execute_script("Slotwise.gantt.show(Slotwise.data.views[0])")
    ours = ":not(.load):not(.plot svg)"
    strange = (
        f"return document.querySelectorAll('img, svg{ours}, script[src], [onerror], [onload]')"
        ".length"
    )
    assert browser.execute_script(strange) == 0
    assert browser.get_log("browser") == []


def test_a_running_job_is_said(opened: Any, small: tuple[Path, Any]) -> None:
    _, data = small
    job = next(job for job in data["jobs"] if job["state"] == "running")
    opened.execute_script("Slotwise.choose(arguments[0])", job["id"])
    assert re.search(r"running, \d+ slots? on \d+ hosts?, end", said(opened))
    listed = find(opened, "ul[aria-label='Running jobs']").get_attribute("textContent")
    assert f"Job {job['id']} runs: " in listed


@pytest.mark.slow
def test_all_is_printed_in_light_and_nothing_is_cut(opened: Any) -> None:
    """A4 lying and upright: folds open, legend and heads there, every row, the theme back after."""
    find(opened, "#theme").click()
    theme = "return document.documentElement.dataset.theme"
    dark = opened.execute_script(theme)
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert opened.execute_script(theme) == "light"
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for width in (1047, 718):
            fitted(opened, width)
            until(lambda: opened.execute_script(BEYOND) == [])
            nothing_hangs_over(opened)
        for part in ("#key", "#picks thead th button", "#verdict .answer", "#comparison"):
            assert find(opened, part).is_displayed()
        assert not find(opened, "#theme").is_displayed()
        assert not find(opened, ".seg").is_displayed()
    finally:
        opened.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert opened.execute_script(theme) == dark
    assert not find(opened, "#verdict").get_attribute("open")
    find(opened, "#theme").click()
