"""The site and what the wheel installs beside the package: made from the program as it is now."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import slotwise as sw
from slotwise.model.formats import json_schema

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import make_pictures  # noqa: E402
import make_reference  # noqa: E402


def built(builder: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]
    done = subprocess.run(
        [*command, str(DOCS), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_completions_are_those_of_the_program() -> None:
    """`make docs` brings them up to date."""
    for shell, name in make_reference.COMPLETIONS.items():
        assert (DOCS / "completions" / name).read_text("utf-8") == make_reference.completion(shell)


@pytest.mark.slow
def test_the_man_page_is_that_of_the_program(tmp_path: Path) -> None:
    """`make docs` brings it up to date."""
    made = built("man", tmp_path) / "slotwise.1"
    kept = DOCS / "man" / "slotwise.1"
    # The first lines name the version of the writer.
    assert made.read_text("utf-8").splitlines()[2:] == kept.read_text("utf-8").splitlines()[2:]


def test_the_wheel_installs_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    installed = project["tool"]["setuptools"]["data-files"]
    files = {file for files in installed.values() for file in files}
    names = {f"docs/completions/{name}" for name in make_reference.COMPLETIONS.values()}
    assert files == {"docs/*.md", "docs/man/slotwise.1", *names}
    assert all(list(ROOT.glob(file)) for file in files)


def test_pages_that_help_texts_name_are_there() -> None:
    named = re.findall(r"docs/[\w-]+\.md", make_reference.commands_page())
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_command_key_and_name_has_its_place_in_the_reference() -> None:
    commands = make_reference.commands_page()
    for name in ("solve", "compare", "explain", "ask", "report", "simulate", "replay", "show"):
        assert f"## slotwise {name}\n" in commands
    assert "## slotwise import lsf\n" in commands
    assert "- `--time-limit" in commands
    keys = make_reference.instances_page()
    for entry in json_schema()["$defs"].values():
        assert all(f"| `{key}` |" in keys for key in entry.get("properties", ()))
    pages = make_reference.library_pages()
    assert max(text.count("autoclass::") for text in pages.values()) <= 20
    library = "\n".join(pages.values())
    for name in dir(sw):
        thing = getattr(sw, name)
        if isinstance(thing, type) or callable(thing):
            assert f"slotwise.{name}\n" in library


def test_every_page_is_in_the_contents() -> None:
    index = (DOCS / "index.md").read_text("utf-8").splitlines()
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    pages |= {f"dev/{page.stem}" for page in (DOCS / "dev").glob("*.md")}
    assert pages - set(index) == set()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("html", tmp_path_factory.mktemp("site"))


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_can_be_searched(site: Path) -> None:
    assert "searchindex" in (site / "search.html").read_text("utf-8")
    for page in (
        "index",
        "tutorial-job",
        "how-it-works",
        "reference/commands",
        "reference/library",
    ):
        assert (site / f"{page}.html").exists()
    # Nothing is fetched from elsewhere when a page is read, but for the formulas.
    text = (site / "tutorial-job.html").read_text("utf-8")
    assert '<script src="http' not in text


#: By how much a page, then a block of code that is not within something that scrolls, is wider than
#: the window; the longest lines of code that have to be scrolled.
WIDER = """
    const wide = document.documentElement.clientWidth;
    const seen = (item) => item.getClientRects().length > 0;
    const code = [...document.querySelectorAll("pre")].filter(seen);
    const longest = (text) => text.split("\\n").reduce((a, b) => b.length > a.length ? b : a);
    return [
      document.documentElement.scrollWidth - wide,
      Math.max(0, ...code.map((item) => item.getBoundingClientRect().right - wide)),
      code.filter((item) => item.scrollWidth > item.clientWidth + 1)
        .map((item) => longest(item.textContent)),
    ];
"""


@pytest.mark.slow
@pytest.mark.skipif(
    shutil.which("chromium") is None or shutil.which("chromedriver") is None,
    reason="no browser: apt-get install chromium chromium-driver, to look at the site in one",
)
@pytest.mark.xdist_group("browser")
def test_the_site_in_a_browser(site: Path) -> None:
    """No page scrolls sideways at three widths, no sample at 1,440; search works offline."""
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 40
    with make_pictures.chromium(1440, 900) as browser:
        for width in (1440, 768, 390):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            for page in pages:
                browser.get(page.as_uri())
                over, beyond, scrolled = browser.execute_script(WIDER)
                assert (over, beyond) == (0, 0), (width, page.name)
                assert width < 1440 or scrolled == [], page.name
        browser.get(f"{(site / 'search.html').as_uri()}?q=fairshare")
        results = browser.find_element("css selector", "#search-results")
        for _ in range(200):
            if "matching" in results.text:
                break
            time.sleep(0.05)
        found = [link.text for link in results.find_elements("css selector", "li a")]
        assert "Fairshare" in found
