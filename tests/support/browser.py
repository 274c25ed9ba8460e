"""A headless browser for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
#: Where tests leave pictures of pages.
SCREENSHOTS = Path(__file__).resolve().parents[2] / ".cache" / "screenshots"
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--window-size=1440,1800", "--hide-scrollbars", "--force-device-scale-factor=1"),
)
#: Marks of tests that need the browser; one worker has it.
MARKS = (
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="no browser: apt-get install chromium chromium-driver, to check the pages in one",
    ),
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """Yield a browser with a profile in this folder; the test is skipped without selenium."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    yield driver
    driver.quit()
