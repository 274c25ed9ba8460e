"""The pictures of README and docs, made by the program itself, and whether they are stale.

``make pictures`` draws them all: the Gantt charts, the sliding one and the page of the terminal by
the program, the pages of the report and of the site in headless Chromium. Beside them
docs/pictures.json keeps for each a digest of what it is drawn of; `tests/test_pictures.py`
compares. With ``--only NAME`` one is drawn; with ``--measure`` nothing is written: a report of
5,000 hosts is made and opened five times, and its size and the times that the browser took are
printed (docs/report.md).

Needs Debian's chromium and chromium-driver, selenium and Pillow (with matplotlib).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
DIGESTS = DOCS / "pictures.json"
#: A cluster of 5,000 hosts.
LARGE = ("--hosts", "5000", "--running", "11500", "--pending", "100", "--seed", "3")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-device-scale-factor=1"),
)
#: What the picture of 5,000 hosts shows: racks, one of them open down to the hosts of an enclosure.
UNFOLD = "Slotwise.gantt.fold(0); Slotwise.gantt.toggle(0); Slotwise.gantt.toggle(1);"
DARK = "Slotwise.setTheme('dark');"


@dataclass(frozen=True)
class Drawing:
    """A picture that ``slotwise report`` draws by an option of its own."""

    name: str
    option: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Screen:
    """A page of the report as a browser shows it."""

    name: str
    #: "" for the generated cluster of 5,000 hosts.
    example: str
    size: tuple[int, int]
    script: str = ""


#: The page of the terminal: its picture, its size, and the job that is chosen in it.
TOP, TOP_SIZE, TOP_JOB = "top.svg", (112, 24), "201"
#: The first page of the site: its picture, its size, and what it is built from, without the lists
#: of pages, which grow.
SITE, SITE_SIZE, SITE_FROM = "site.png", (1440, 900), ("index.md", "conf.py", "_static/site.css")

#: The board of the service, its size, and the simulated cluster that it shows for some seconds.
BOARD, BOARD_SIZE, BOARD_SECONDS = "serve.png", (1280, 660), 25
BOARD_OPTIONS = ("--example", "tutorial", "--port", "0", "--every", "1s", "--for", "2m")

QUICK = ("--effort", "2", "--explain", "0")
DRAWINGS = (
    Drawing("joint-wins.svg", "--animate", QUICK),
    Drawing("joint-wins-time-based.png", "--png", ("--method", "time-based", *QUICK)),
    Drawing("joint-wins-optimal.png", "--png", ("--method", "optimal", *QUICK)),
)
SCREENS = (
    Screen("report.png", "site", (1280, 800)),
    Screen("report-dark.png", "kth-sp2-queue-20", (1440, 900), DARK),
    Screen("report-phone.png", "site", (390, 1100)),
    Screen("report-5000.png", "", (1280, 700), UNFOLD),
)


def slotwise(*arguments: str) -> None:
    """Run the program; its messages are shown."""
    subprocess.run([sys.executable, "-m", "slotwise", *arguments], check=True)


def digests() -> Mapping[str, str]:
    """Of each picture what it is drawn of, as far as that shows in what a small example gives.

    A picture of a page hangs on the first screen of example joint-wins: its elements, the words of
    its jobs, its bars, styles and scripts. One that the program draws itself is drawn anew.
    """
    import slotwise as sw
    from slotwise.cli.report.about import About
    from slotwise.cli.report.animation import animation_svg
    from slotwise.cli.report.data import as_records, report_of_comparison, report_of_plan
    from slotwise.cli.report.page import SCRIPTS, STYLES, asset
    from slotwise.cli.report.screen import screen_html
    from slotwise.cli.serve.api import ASSETS, page_bytes

    instance = sw.load(sw.example("joint-wins"))
    comparison = sw.compare(instance, methods=True, effort=2.0)
    advice = {"large": sw.explain(instance, "large")}
    found = sw.diagnose(instance)
    report = replace(
        report_of_comparison("joint-wins", instance, comparison, advice), diagnosis=found
    )
    about, data = About(report), as_records(report)
    words = {row.job: about.detail(row.job).to_dict() for row in about.rows}
    drawn = json.dumps([words, data["hosts"], data["running"], data["views"]])
    parts = (screen_html(about), drawn, asset("report.html"), *map(asset, (*STYLES, *SCRIPTS)))
    figure = (DOCS.parent / "cli" / "report" / "figure.py").read_text("utf-8")
    known = {screen.name: _digest(*parts, repr(screen)) for screen in SCREENS}
    known["joint-wins.svg"] = _digest(animation_svg(report))
    known[TOP] = _digest(top_page())
    known[BOARD] = _digest(page_bytes("board", "").decode(), *map(_asset_text, ASSETS))
    texts = ((DOCS / name).read_text("utf-8") for name in SITE_FROM)
    known[SITE] = _digest(*(text.split("```{toctree}")[0] for text in texts))
    for method in ("time-based", "optimal"):
        plan = sw.plan(instance, method, effort=2.0)
        records = json.dumps(as_records(report_of_plan("joint-wins", instance, plan, {})))
        known[f"joint-wins-{method}.png"] = _digest(records, figure)
    return known


def _asset_text(name: str) -> str:
    from slotwise.cli.serve.api import asset_bytes

    return asset_bytes(name).decode()


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:32]


@contextmanager
def chromium(width: int, height: int) -> Iterator[Any]:
    """A headless browser with a window of that size and a profile of its own."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver") or "chromedriver")
        driver = webdriver.Chrome(options=options, service=service)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            yield driver
        finally:
            driver.quit()


def make_report(folder: Path, example: str) -> Path:
    """The page of an example, or of the generated cluster; made once."""
    page = folder / f"{example or 'large'}.html"
    if page.exists():
        return page
    if example:
        slotwise("report", "--example", example, "--effort", "2", "-o", str(page))
        return page
    instance = folder / "instance.json"
    slotwise("generate", *LARGE, "-o", str(instance))
    options = ("--method", "time-based", "--explain", "0")
    slotwise("report", str(instance), *options, "-o", str(page))
    return page


def picture(page: Path, screen: Screen) -> None:
    """Open the page, run a script on it, and keep what is to be seen."""
    with chromium(*screen.size) as browser:
        browser.get(page.as_uri())
        browser.execute_script(f"Slotwise.setTheme('light'); {screen.script}")
        browser.save_screenshot(str(DOCS / screen.name))
    make_small(DOCS / screen.name)


def top_page() -> str:
    """What `slotwise top` shows of the example site, as SVG in a font of the reader's own."""
    import asyncio
    import os
    import re
    from threading import Event
    from unittest.mock import patch

    import slotwise as sw
    from slotwise.cli.listing import JobChoice, listed
    from slotwise.cli.source import WatchedSource
    from slotwise.cli.top.page import TopApp
    from textual.widgets import DataTable

    class Still(TopApp):
        """The page without its clock."""

        def _tick(self) -> None:
            pass

    instance = sw.load(sw.example("site"))
    source = WatchedSource(lambda: (instance, []), "now.yaml")
    with patch.dict(os.environ):
        os.environ.pop("NO_COLOR", None)  # a picture has colours
        app = Still(source, JobChoice(), None, 60.0)
    app.listing = listed(instance, (), 60.0, Event(), lambda part: None)
    app.answers = dict.fromkeys((job.id for job in instance.pending), "")
    app.answers[TOP_JOB] = sw.explain(instance, TOP_JOB, method="time-based")

    async def drawn() -> str:
        async with app.run_test(size=TOP_SIZE) as pilot:
            app.show_listing()
            table = app.query_one(DataTable)
            table.move_cursor(row=table.get_row_index(TOP_JOB))
            await pilot.pause()
            app.query_one("#status").update(f"read 12s ago; {app.listing.note}")
            await pilot.pause()
            return app.export_screenshot(title="slotwise top now.yaml")

    found = re.sub(r"@font-face \{.*?\}\s*", "", asyncio.run(drawn()), flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", found.replace("Fira Code", "DejaVu Sans Mono"))


def draw_site(folder: Path) -> None:
    """The first page of the site in a browser."""
    command = (sys.executable, "-m", "sphinx", "-q", "-b", "html", str(DOCS), str(folder / "site"))
    subprocess.run(command, check=True)
    with chromium(*SITE_SIZE) as browser:
        browser.get((folder / "site" / "index.html").as_uri())
        browser.save_screenshot(str(DOCS / SITE))
    make_small(DOCS / SITE)


def draw_board() -> None:
    """The board of a simulated cluster, some seconds after its start."""
    command = [sys.executable, "-m", "slotwise", "serve", *BOARD_OPTIONS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        address = service.stdout.readline().strip()
        with chromium(*BOARD_SIZE) as browser:
            browser.get(address)
            browser.execute_script("Slotwise.setTheme('light');")
            time.sleep(BOARD_SECONDS)
            while "earlier" not in browser.find_element("id", "status").text:  # being planned
                time.sleep(0.1)
            browser.save_screenshot(str(DOCS / BOARD))
        service.terminate()
    make_small(DOCS / BOARD)


def make_small(path: Path) -> None:
    """A screenshot with at most 200 colours, a third of its size; text stays as sharp."""
    from PIL import Image

    with Image.open(path) as image:
        small = image.convert("RGB").quantize(200, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def measure(page: Path, times: int = 5) -> None:
    """Print the size of a page, and how long the browser takes until all of it is drawn."""
    print(f"{page.stat().st_size / 1e6:.2f} MB")
    timing = "const [at] = performance.getEntriesByType('navigation'); return at.loadEventEnd"
    with chromium(1440, 1400) as browser:
        for _ in range(times):
            browser.get("about:blank")
            browser.get(page.as_uri())
            print(f"opened in {browser.execute_script(timing) / 1000:.2f} s")


def draw(folder: Path, names: set[str]) -> None:
    """Draw these pictures, and keep the digests of what they are drawn of."""
    for drawing in DRAWINGS:
        if drawing.name in names:
            output = ("-o", str(folder / "unused.html"), drawing.option, str(DOCS / drawing.name))
            slotwise("report", "--example", "joint-wins", *drawing.arguments, *output)
    for screen in SCREENS:
        if screen.name in names:
            picture(make_report(folder, screen.example), screen)
    if TOP in names:
        (DOCS / TOP).write_text(top_page(), encoding="utf-8")
    if BOARD in names:
        draw_board()
    if SITE in names:
        draw_site(folder)
    old = json.loads(DIGESTS.read_text("utf-8")) if DIGESTS.exists() else {}
    known = {name: digest for name, digest in digests().items() if name in names}
    DIGESTS.write_text(json.dumps(old | known, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    for name in sorted(names):
        print(f"docs/{name}: {(DOCS / name).stat().st_size / 1000:.0f} kB")


def main() -> None:
    """Draw the pictures, or print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--measure", action="store_true", help="size and time at 5,000 hosts")
    parser.add_argument("--only", action="append", metavar="NAME", help="draw this picture alone")
    asked = parser.parse_args()
    every = {item.name for item in (*DRAWINGS, *SCREENS)} | {TOP, BOARD, SITE}
    if wrong := set(asked.only or ()) - every:
        parser.error(f"no picture {', '.join(sorted(wrong))}: there are {', '.join(sorted(every))}")
    with tempfile.TemporaryDirectory() as folder:
        if asked.measure:
            measure(make_report(Path(folder), ""))
        else:
            draw(Path(folder), set(asked.only or every))


if __name__ == "__main__":
    main()
