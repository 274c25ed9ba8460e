"""The page in a real browser: elements, interactions, no complaint in the console, pictures.

Debian's chromium and chromedriver, driven by selenium; skipped with a message where there are none.
Screenshots are left in .cache/screenshots for people to look at.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from report.lab import compared, data_of, hostile_instance
from report.test_contrast import AA, contrast
from slotwise.cli.report.data import Report, report_of_comparison, report_of_simulation
from slotwise.cli.report.page import page
from slotwise.model.cluster import Cluster, Host
from slotwise.model.generate import generate
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.solver.advice.compare import Comparison
from slotwise.solver.advice.explain import explain
from slotwise.solver.fairshare.reports import ShareSeries
from slotwise.solver.scheduler.simulation import simulate

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
SCREENSHOTS = Path(__file__).resolve().parents[2] / ".cache" / "screenshots"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--window-size=1440,1800", "--hide-scrollbars", "--force-device-scale-factor=1"),
)

#: The planned bar of most slots: its job, and where its middle is in the chart.
TALLEST_BAR = """
    document.getElementById("gantt").scrollIntoView({ block: "center" });
    const S = Slotwise, state = S.gantt.state;
    const bar = state.view.bars.filter((bar) => bar[1] === 0).sort((a, b) => b[4] - a[4])[0];
    const row = state.rows.findIndex((row) => row.host === bar[2]);
    const middle = (bar[3] + bar[4] / 2) / S.data.hosts[bar[2]][1] - 0.5;
    const time = S.axisTime((bar[5] + bar[6]) / 2);
    const at = (n) => S.gantt.chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [time, n]);
    const band = Math.abs(at(row)[1] - at(row - 1)[1]);
    return [S.data.jobs[bar[0]].id, at(row)[0], at(row)[1] + band * 0.86 * middle];
"""
#: How much time the Gantt chart shows.
WIDTH = """
    const zoom = Slotwise.gantt.chart.getOption().dataZoom[0];
    return zoom.endValue - zoom.startValue;
"""

pytestmark = [
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="no browser: apt-get install chromium chromium-driver, to check the report in one",
    ),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    yield driver
    driver.quit()


def twenty_hosts() -> Report:
    """A cluster of 20 hosts with racks and memory, two of its jobs explained."""
    return compared(generate(hosts=20, running=30, pending=8, seed=5), 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The file of a report of 20 hosts, and its data."""
    text = page(twenty_hosts())
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


def until(holds: Callable[[], bool]) -> None:
    """Wait for what the page does in its own time; AssertionError after ten seconds."""
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come true")


def said(browser: Any) -> str:
    return str(find(browser, "#said").get_attribute("textContent"))


def drawn(browser: Any, name: str) -> bool:
    """Whether the canvas of a chart has more than one colour."""
    return bool(
        browser.execute_script(
            """const canvas = document.querySelector(`#${arguments[0]} canvas`);
            const dots = new Uint32Array(canvas.getContext("2d")
              .getImageData(0, 0, canvas.width, canvas.height).data.buffer);
            return new Set(dots).size > 4;""",
            name,
        )
    )


def test_everything_is_there_and_drawn(opened: Any, small: tuple[Path, Any]) -> None:
    titles = [item.text for item in opened.find_elements("css selector", "h2")]
    assert titles[:2] == ["When each job starts, by method", "Hosts"]
    assert {"Comparison", "Free slots and memory"} <= set(titles)
    assert find(opened, "html").get_attribute("data-ready") == "yes"
    for name in ("starts", "gantt", "free-slots", "free-memory"):
        assert drawn(opened, name), name
    rows = opened.find_elements("css selector", "#comparison tbody tr")
    jobs = small[1]["comparison"]["jobs"]
    starts = ("greedy_estimate", "greedy_simulated", "time_based_estimate", "optimal_estimate")
    now = [row["job"] for row in jobs if {row[name] for name in starts} == {small[1]["now"]}]
    assert 0 < len(now) < len(jobs)
    assert [row.get_attribute("data-job") for row in rows] == [
        *(row["job"] for row in jobs if row["job"] not in now),
        *now,
    ]
    assert opened.execute_script("return performance.getEntriesByType('resource').length") == 0
    picture(opened, "20-hosts-light")


def test_methods_switch_and_their_difference_is_counted(
    opened: Any, small: tuple[Path, Any]
) -> None:
    for name in ("greedy", "time-based", "optimal"):
        find(opened, f"label[for=view-{name}]").click()
        view = next(view for view in small[1]["views"] if view["name"] == name)
        assert find(opened, "#meaning").text == view["meaning"]
        assert opened.execute_script("return Slotwise.gantt.state.view.name") == name
    assert not find(opened, "#against").is_displayed()
    find(opened, "label[for=view-difference]").click()
    jobs = small[1]["comparison"]["jobs"]
    known = [row for row in jobs if row["sooner_by"] is not None]
    earlier = sum(row["optimal_estimate"] < row["greedy_simulated"] for row in known)
    later = sum(row["optimal_estimate"] > row["greedy_simulated"] for row in known)
    assert find(opened, "#meaning").text.startswith(
        f"optimal against greedy: {earlier} earlier, {later} later,"
    )
    picture(opened, "20-hosts-difference")


def test_a_job_is_chosen_in_the_table_and_explained(opened: Any, small: tuple[Path, Any]) -> None:
    (job, advice), *_ = small[1]["advice"].items()
    find(opened, f'button.name[data-job="{job}"]').click()
    panel = find(opened, "#job")
    assert panel.find_element("css selector", "h3").text == job
    assert "Why not earlier" in panel.text
    assert advice["obstacles"][0]["reason"] in panel.text
    helps = panel.find_elements("css selector", "#helps li")
    assert len(helps) == len(advice["suggestions"])
    for shown, suggestion in zip(helps, advice["suggestions"], strict=True):
        assert suggestion["change"] in shown.text
    assert find(opened, "tr.chosen").get_attribute("data-job") == job
    assert said(opened).startswith(job)


def test_a_bar_is_chosen_with_the_mouse_and_tells_on_hovering(opened: Any) -> None:
    """A bar of a planned job, at the place where the chart says that it is."""
    from selenium.webdriver import ActionChains

    job, x, y = opened.execute_script(TALLEST_BAR)
    chart = find(opened, "#gantt")
    size = chart.size
    point = (round(x - size["width"] / 2), round(y - size["height"] / 2))
    ActionChains(opened).move_to_element_with_offset(chart, *point).pause(0.4).perform()
    tip = find(opened, "#gantt .tip")
    assert job in tip.text
    assert "planned on" in tip.text
    ActionChains(opened).move_to_element_with_offset(chart, *point).click().perform()
    assert find(opened, "#job h3").text == job


def test_the_keyboard_goes_through_rows_and_jobs(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    chart = find(opened, "#gantt")
    opened.execute_script("arguments[0].focus()", chart)
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
    assert find(opened, "#job h3").text == chosen
    wide = opened.execute_script(WIDTH)
    chart.send_keys("+")
    assert opened.execute_script(WIDTH) == pytest.approx(wide / 2, rel=0.02)
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


def column(browser: Any, number: int) -> list[str]:
    cells = browser.find_elements("css selector", f"#comparison tbody td:nth-child({number})")
    return [cell.text for cell in cells]


def test_the_comparison_sorts_and_filters(opened: Any, small: tuple[Path, Any]) -> None:
    jobs = small[1]["comparison"]["jobs"]
    head = opened.find_elements("css selector", "#comparison thead tr:first-child th")
    head[1].click()
    until(lambda: head[1].get_attribute("aria-sort") == "ascending")
    assert [int(text) for text in column(opened, 2)] == sorted(row["slots"] for row in jobs)
    head[1].click()
    until(lambda: head[1].get_attribute("aria-sort") == "descending")
    assert [int(text) for text in column(opened, 2)] == sorted(
        (row["slots"] for row in jobs), reverse=True
    )
    wanted = jobs[0]["job"]
    box = find(opened, 'input[aria-label="Filter Job"]')
    box.send_keys(wanted)
    until(lambda: len(column(opened, 1)) < len(jobs))
    assert column(opened, 1) == sorted(
        (row["job"] for row in jobs if wanted in row["job"]), key=column(opened, 1).index
    )
    assert wanted in column(opened, 1)


def test_tables_behind_the_pictures_have_the_same(opened: Any, small: tuple[Path, Any]) -> None:
    summary = find(opened, "#behind-gantt summary")
    opened.execute_script("arguments[0].click()", summary)
    find(opened, '#behind-gantt input[type="search"]').send_keys("planned")
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


def nothing_hangs_over(browser: Any) -> None:
    """Once the page has been drawn anew for a window of another width."""
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    until(lambda: browser.execute_script(wide) <= 0)


def test_dark_and_narrow(opened: Any) -> None:
    light = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    find(opened, "#theme").click()
    dark = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert light != dark
    assert drawn(opened, "gantt")
    picture(opened, "20-hosts-dark")
    opened.set_window_size(640, 1600)
    nothing_hangs_over(opened)
    picture(opened, "20-hosts-narrow")
    opened.set_window_size(500, 1600)
    nothing_hangs_over(opened)
    card = find(opened, "section[aria-labelledby=gantt-title]").rect
    for control in opened.find_elements("css selector", ".switch, .tools button"):
        if control.is_displayed():
            assert control.rect["x"] + control.rect["width"] <= card["x"] + card["width"]
    picture(opened, "20-hosts-phone")
    find(opened, "#theme").click()


@pytest.mark.slow
def test_five_thousand_hosts(browser: Any, tmp_path: Path) -> None:
    """Aggregated at first; a rack and an enclosure unfold down to the bars of hosts."""
    instance = generate(hosts=5000, running=11500, pending=60, seed=3)
    plan = sw.plan(instance, "time-based")
    comparison = Comparison((), replace(plan, method="greedy"), plan, plan)
    report = report_of_comparison("big.json", instance, comparison, {})
    file = tmp_path / "big.html"
    file.write_text(page(report), encoding="utf-8")
    browser.set_window_size(1440, 1400)
    browser.get(file.as_uri())
    chart = find(browser, "#gantt")
    assert chart.get_attribute("data-rows") == "79"
    assert chart.get_attribute("data-bars") == "0"
    assert drawn(browser, "gantt")
    picture(browser, "5000-hosts-light")
    browser.execute_script("Slotwise.gantt.toggle(0); Slotwise.gantt.toggle(1)")
    assert chart.get_attribute("data-rows") == str(79 + 4 + 16)
    assert int(chart.get_attribute("data-bars")) > 16
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
    for name in ("gantt", "use", "shares"):
        assert drawn(browser, name), name
    find(browser, "label[for=shown-of-shares-priorities]").click()
    option = "echarts.getInstanceByDom(document.getElementById('shares')).getOption()"
    assert browser.execute_script(f"return {option}.yAxis[0].name") == "dynamic priority"
    assert len(browser.find_elements("css selector", "#simulation tbody tr")) == len(result.jobs)
    picture(browser, "simulation")
    assert browser.get_log("browser") == []


def test_jobs_named_as_properties_of_objects_are_jobs(browser: Any, tmp_path: Path) -> None:
    """The first explained job in the order of planning is shown at once, numbers or not."""
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
    file = tmp_path / "properties.html"
    file.write_text(page(replace(report, advice=later)), encoding="utf-8")
    browser.get(file.as_uri())
    assert find(browser, "#job h3").text == "10"
    for name in (*names, "toString"):
        button = find(browser, f"#comparison button.name[data-job='{name}']")
        browser.execute_script("arguments[0].click()", button)
        assert find(browser, "#job h3").text == name
        helped = "What would help" in find(browser, "#job").text
        assert helped is (name in later)
        assert "function" not in find(browser, "#job").text
    assert browser.get_log("browser") == []


def test_hostile_names_stay_text_in_the_browser(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "hostile.html"
    file.write_text(page(compared(hostile_instance(), 1)), encoding="utf-8")
    browser.get(file.as_uri())
    for button in browser.find_elements("css selector", "#comparison button.name"):
        browser.execute_script("arguments[0].click()", button)
    for name in ("gantt", "free"):
        browser.execute_script(f"document.querySelector('#behind-{name} summary').click()")
    browser.execute_script("Slotwise.gantt.show(Slotwise.data.views[0], Slotwise.data.views[1])")
    strange = (
        "return document.querySelectorAll('img, svg, script[src], [onerror], [onload]').length"
    )
    assert browser.execute_script(strange) == 0
    assert browser.get_log("browser") == []


def test_names_on_bars_are_readable_in_light_and_dark(opened: Any) -> None:
    """Chosen or beside a chosen one: the colours that the page itself draws with."""
    for _ in range(2):
        pairs = opened.execute_script("return Slotwise.gantt.labelColours()")
        assert len(pairs) > 60
        assert all(contrast(fill, words) >= AA for fill, words in pairs)
        find(opened, "#theme").click()


def test_a_running_job_is_said(opened: Any, small: tuple[Path, Any]) -> None:
    _, data = small
    job = next(job for job in data["jobs"] if job["state"] == "running")
    opened.execute_script("Slotwise.choose(arguments[0])", job["id"])
    assert re.search(r"running, \d+ slots? on \d+ hosts?, end", said(opened))
    listed = find(opened, "ul[aria-label='Running jobs']").get_attribute("textContent")
    assert f"Job {job['id']} runs: " in listed


def test_all_rows_are_printed_in_light_and_nothing_is_cut(opened: Any) -> None:
    """A4 upright and lying: as wide as the paper, every row of the table, the theme back after."""
    find(opened, "#theme").click()
    theme = "return document.documentElement.dataset.theme"
    dark = opened.execute_script(theme)
    opened.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert opened.execute_script(theme) == "light"
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    for width in (703, 1031):
        opened.set_window_size(width, 1400)
        nothing_hangs_over(opened)
        cut = opened.execute_script(
            """const wide = document.querySelectorAll("table.sortable, .chart canvas");
            const end = document.documentElement.clientWidth;
            return [...wide].filter((each) => each.getBoundingClientRect().right > end).length"""
        )
        assert cut == 0
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    opened.execute_script("dispatchEvent(new Event('afterprint'))")
    assert opened.execute_script(theme) == dark
    find(opened, "#theme").click()
