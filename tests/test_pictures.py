"""The pictures of README and docs show what the program draws now."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import slotwise as sw
from report.lab import compared
from slotwise.cli.report.animation import animation_svg

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


def test_the_picture_of_the_readme_is_what_the_program_draws() -> None:
    instance = sw.load(sw.example("joint-wins"))
    assert (DOCS / "joint-wins.svg").read_text("utf-8") == animation_svg(compared(instance))


def test_every_picture_of_the_pages_is_there() -> None:
    pages = [DOCS.parent / "README.md", *DOCS.glob("*.md")]
    for page in pages:
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).is_file(), (page.name, link)
