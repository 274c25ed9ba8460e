"""The screen pictures of README and docs, made by the program itself in headless Chromium.

``make pictures`` writes docs/report.png, docs/report-5000.png and the two of docs/how-it-works.md.
With ``--measure`` nothing is written: a report of 5,000 hosts is made and opened five times, and
its size and the times that the browser took are printed (benchmarks of docs/report.md).

Needs Debian's chromium and chromium-driver, and selenium (of the extra `dev`).
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
#: A cluster of 20 hosts in whose queue the optimum saves hours, and one of 5,000.
SMALL = ("--hosts", "20", "--running", "30", "--pending", "12", "--seed", "5")
LARGE = ("--hosts", "5000", "--running", "11500", "--pending", "100", "--seed", "3")
#: The job whose explanation the first picture shows.
CHOSEN = "p9"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--force-device-scale-factor=1"),
)


@contextmanager
def chromium(width: int, height: int) -> Iterator[Any]:
    """A headless browser with a window of that size and a profile of its own."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for flag in (*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(shutil.which("chromedriver") or "chromedriver")
        driver = webdriver.Chrome(options=options, service=service)
        try:
            yield driver
        finally:
            driver.quit()


def make_report(folder: Path, cluster: tuple[str, ...], explained: int) -> Path:
    """The page of a generated cluster."""
    instance, page = folder / "instance.json", folder / "report.html"
    slotwise = [sys.executable, "-m", "slotwise"]
    subprocess.run([*slotwise, "generate", *cluster, "-o", str(instance)], check=True)
    options = ("--effort", "20", "--explain", str(explained), "-o", str(page))
    subprocess.run([*slotwise, "report", str(instance), *options], check=True)
    return page


def picture(page: Path, output: Path, script: str, size: tuple[int, int]) -> None:
    """Open the page, run a script on it, and keep what is to be seen."""
    with chromium(*size) as browser:
        browser.get(page.as_uri())
        browser.execute_script(script)
        browser.save_screenshot(str(output))
    print(f"{output.relative_to(DOCS.parent)}: {output.stat().st_size / 1000:.0f} kB")


def measure(page: Path, times: int = 5) -> None:
    """Print the size of a page, and how long the browser takes until all of it is drawn."""
    print(f"{page.stat().st_size / 1e6:.2f} MB")
    timing = "const [at] = performance.getEntriesByType('navigation'); return at.loadEventEnd"
    with chromium(1440, 1400) as browser:
        for _ in range(times):
            browser.get("about:blank")
            browser.get(page.as_uri())
            print(f"opened in {browser.execute_script(timing) / 1000:.2f} s")


def main() -> None:
    """Write the pictures, or print the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--measure", action="store_true", help="size and time at 5,000 hosts")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if asked.measure:
            measure(make_report(Path(folder), LARGE, 0))
            return
        for method in ("time-based", "optimal"):
            drawn = ("--png", str(DOCS / f"joint-wins-{method}.png"))
            options = ("--method", method, "--effort", "2", "--explain", "0", *drawn)
            command = ("report", "--example", "joint-wins", *options, "-o", f"{folder}/page.html")
            subprocess.run([sys.executable, "-m", "slotwise", *command], check=True)
        small = make_report(Path(folder), SMALL, 2)
        choose = f"""
            document.querySelector('label[for="view-difference"]').click();
            Slotwise.choose("{CHOSEN}");
            document.querySelector("#gantt-title").closest("section").scrollIntoView();
        """
        picture(small, DOCS / "report.png", choose, (1280, 1130))
        large = make_report(Path(folder), LARGE, 0)
        unfold = "Slotwise.gantt.toggle(0); Slotwise.gantt.toggle(3);"
        unfold += "document.querySelector('#gantt-title').closest('section').scrollIntoView();"
        picture(large, DOCS / "report-5000.png", unfold, (1280, 1010))


if __name__ == "__main__":
    main()
