"""The pages in a real browser at three sizes: live, by keyboard, stale, with hostile names.

Debian's chromium and chromedriver, driven by selenium, as in tests/report/test_browser.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from browser import MARKS, SCREENSHOTS, chromium
from report.test_browser import BEYOND
from serve.service_lab import joint_wins
from slotwise import Instance

HOSTILE = "<img/src=x/onerror=alert(1)>"
SIZES = {"desk": (1440, 900), "tablet": (820, 1100), "phone": (390, 844)}

pytestmark = [pytest.mark.slow, *MARKS]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def written(path: Path, text: str) -> None:
    """Write a file whole."""
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)


def hostile() -> Instance:
    """Two jobs of which one has a user name that is markup wherever it is not taken for text."""
    found = joint_wins()
    small, large = found.pending
    return replace(found, pending=(replace(small, user=HOSTILE), large))


@contextmanager
def serving(*words: str) -> Iterator[str]:
    """The address of a service, which is ended even if a test fails."""
    command = [sys.executable, "-m", "slotwise", "serve", *words, "--port", "0", "--for", "10m"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a service, and its file."""
    file = tmp_path_factory.mktemp("service") / "now.yaml"
    written(file, sw.dump(hostile()))
    with serving(str(file)) as address:
        yield address, file


def until(holds: Callable[[], Any]) -> Any:
    """Wait for what the page does in its own time; AssertionError after twenty seconds."""
    for _ in range(400):
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come true")


def text_of(browser: Any, selector: str) -> str:
    """The text of an element, "" until there is one."""
    script = f"return document.querySelector({selector!r})?.textContent ?? ''"
    return str(browser.execute_script(script))


def sized(browser: Any, name: str) -> None:
    width, height = SIZES[name]
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def picture(browser: Any, name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    assert browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


@pytest.mark.parametrize("size", SIZES)
def test_board_and_job_fit_and_take_names_for_text(
    browser: Any, service: tuple[str, Path], size: str
) -> None:
    address, _ = service
    sized(browser, size)
    browser.get(address)
    rows = "return document.querySelectorAll('#jobs tbody tr').length"
    until(lambda: browser.execute_script(rows) == 2 and "10:" not in text_of(browser, "#status"))
    until(lambda: "held back" in text_of(browser, "#jobs"))
    assert HOSTILE in text_of(browser, "#jobs tbody tr")
    assert "could start earlier" in text_of(browser, "#status")
    assert browser.execute_script("return document.querySelectorAll('img, svg').length") == 0
    assert browser.execute_script(BEYOND) == []
    picture(browser, f"board-{size}")
    browser.execute_script("document.querySelector('#jobs tbody tr:nth-child(2) a').click()")
    until(lambda: "11:00" in text_of(browser, "#big"))
    until(lambda: "Planning" not in text_of(browser, "#helps"))
    assert "bmod" in text_of(browser, "#helps")
    assert browser.execute_script("return document.querySelectorAll('.bars .me').length") == 2
    assert browser.execute_script(BEYOND) == []
    picture(browser, f"job-{size}")
    assert browser.get_log("browser") == []


def test_the_board_is_live_and_says_when_it_is_stale(
    browser: Any, service: tuple[str, Path]
) -> None:
    address, file = service
    sized(browser, "desk")
    browser.get(address)
    until(lambda: "held back" in text_of(browser, "#jobs"))
    found = hostile()
    more = replace(found.pending[1], id="newest")
    written(file, sw.dump(replace(found, pending=(*found.pending, more))))
    until(lambda: "newest" in text_of(browser, "#jobs"))
    written(file, "hosts: [")
    until(lambda: "These times are" in text_of(browser, "#status"))
    until(lambda: "~" in text_of(browser, "#jobs td.st"))
    written(file, sw.dump(hostile()))
    until(lambda: "could start earlier" in text_of(browser, "#status"))
    until(lambda: "newest" not in text_of(browser, "#jobs"))


def test_a_question_by_keyboard_filters_and_themes(browser: Any, service: tuple[str, Path]) -> None:
    address, _ = service
    browser.get(address)
    until(lambda: "held back" in text_of(browser, "#jobs"))
    box = browser.find_element("id", "line")
    box.send_keys("bsub -n 2 -W 60\n")
    until(lambda: "As configured" in text_of(browser, "#answer"))
    box.clear()
    box.send_keys("bsub -q nowhere -n 2\n")
    until(lambda: "nowhere" in text_of(browser, "#answer [role=alert]"))
    browser.find_element("id", "find").send_keys("large")
    until(lambda: text_of(browser, "#count").startswith("1 of 2"))
    browser.execute_script("document.querySelector('#jobs thead button').click()")
    until(lambda: browser.execute_script("return !!document.querySelector('[aria-sort]')"))
    before = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    browser.find_element("id", "theme").click()
    after = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert before != after
    browser.get(f"{address}score")
    until(lambda: "--store FILE" in text_of(browser, "#score"))
    assert [line for line in browser.get_log("browser") if "400" not in line["message"]] == []


#: Elements that end beyond their card; what scrolls or is for screen readers alone may.
OUT_OF_CARD = """return [...document.querySelectorAll('.card *')].filter((item) => {
  const box = item.getBoundingClientRect(), card = item.closest('.card').getBoundingClientRect();
  return box.width && box.right > card.right + 1 && !item.closest('.scroll, .vh, svg, thead');
}).map((item) => item.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_pages_of_a_started_job_the_score_and_the_api_fit_and_log_nothing(
    browser: Any, size: str
) -> None:
    """A 404 in the log for each job that has started, and cells beyond a phone."""
    words = ("--example", "tutorial", "--every", "1s", "--speed", "200")
    sized(browser, size)
    browser.get("about:blank")
    browser.get_log("browser")  # of a service that has ended
    with serving(*words) as address:
        browser.get(f"{address}api")
        until(lambda: text_of(browser, "#api h2"))
        assert (browser.execute_script(BEYOND), browser.execute_script(OUT_OF_CARD)) == ([], [])
        until(lambda: worst(browser, address))
        job = text_of(browser, "#worst a")
        assert (browser.execute_script(BEYOND), browser.execute_script(OUT_OF_CARD)) == ([], [])
        picture(browser, f"score-{size}")
        for name, title in ((job, "Started"), ("77", "Job 77")):
            browser.get(f"{address}job/{name}")
            until(lambda: "planning" not in text_of(browser, "#poll") and "Job" in browser.title)
            until(partial(shows, browser, title))
            found = browser.execute_script(BEYOND), browser.execute_script(OUT_OF_CARD)
            assert found == ([], []), name
        assert browser.get_log("browser") == []


def shows(browser: Any, text: str) -> bool:
    return text in text_of(browser, "main")


def worst(browser: Any, address: str) -> str:
    """The first of the worst jobs of the score, "" before one has started."""
    browser.get(f"{address}score")
    time.sleep(1.0)
    return text_of(browser, "#worst a")


def test_a_question_is_asked_for_the_chosen_user_and_queue(browser: Any, tmp_path: Path) -> None:
    found = joint_wins()
    queues = (sw.Queue("first"), sw.Queue("owned", users=("ana",)))
    pending = tuple(replace(job, queue="first") for job in found.pending)
    params = replace(found.params, default_queue="first")
    running = tuple(replace(run, job=replace(run.job, queue="first")) for run in found.running)
    state = replace(found, queues=queues, pending=pending, running=running, params=params)
    file = tmp_path / "now.yaml"
    written(file, sw.dump(state))
    sized(browser, "desk")
    with serving(str(file)) as address:
        browser.get(address)
        until(lambda: "held back" in text_of(browser, "#jobs"))
        fields = "return [document.getElementById('as').value, document.getElementById('to').value]"
        assert browser.execute_script(fields) == ["user", "first"]
        until(lambda: "For user user in queue first" in text_of(browser, "#fits"))
        box = browser.find_element("id", "as")
        box.clear()
        box.send_keys("ana\t", "owned")  # by keyboard alone
        until(lambda: "For user ana in queue owned" in text_of(browser, "#fits"))
        assert "bsub -q owned" in text_of(browser, "#fits")
        browser.find_element("id", "line").send_keys("bsub -n 2\n")
        until(lambda: "in queue owned, as user ana" in text_of(browser, "#answer"))
