"""The pictures of README and docs show what the program draws now."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

from slotwise.cli.main import app
from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parents[1] / "docs"


def _pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_pictures", DOCS / "make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_pictures"] = module
    spec.loader.exec_module(module)
    return module


def test_no_picture_is_stale() -> None:
    """What each is drawn of is what it was when `make pictures` drew it."""
    kept = json.loads((DOCS / "pictures.json").read_text("utf-8"))
    known = dict(_pictures().digests())
    stale = sorted(name for name in known if kept.get(name) != known[name])
    assert stale == [], "make pictures"
    assert set(kept) == set(known)
    assert all((DOCS / name).is_file() for name in kept)


def test_the_picture_of_the_readme_is_what_the_program_draws(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    command = ["report", "--example", "joint-wins", "--explain", "0", "--animate", str(drawn)]
    assert CliRunner().invoke(app, [*command, "-o", str(tmp_path / "page.html")]).exit_code == 0
    assert (DOCS / "joint-wins.svg").read_text("utf-8") == drawn.read_text("utf-8")


def test_every_picture_of_the_pages_is_there() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    for page in pages:
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).is_file(), (page.name, link)
