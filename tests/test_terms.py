"""The count of words that the style of the project avoids."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .test_structure import ROOT


@pytest.fixture(scope="module")
def lint() -> ModuleType:
    """The script of the docs."""
    spec = importlib.util.spec_from_file_location("terms", ROOT / "docs" / "terms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["terms"] = module
    spec.loader.exec_module(module)
    return module


def test_words_are_found_in_comments_names_messages_and_pages(
    lint: ModuleType, tmp_path: Path
) -> None:
    known = lint.terms()
    code = tmp_path / "a.py"
    code.write_text(
        '"""What runs\nstays."""\n# It comes free.\nMOST_JOBS = 1\nbeside_others = {"beside": 2}\n'
        'print(f"beside {beside_others}")\n'
    )
    found = lint.counts_of(code, known)
    expected = {"what runs": 1, "comes free, becomes free": 1, "MOST_, LEAST_, FEWEST_": 1}
    assert {word: found[word] for word in expected} == expected
    assert found["beside (what runs)"] == 2  # the name and the message, not the key
    page = tmp_path / "a.md"
    page.write_text("What\nruns, `what runs`.\n\n```\nwhat runs\n```\n")
    assert lint.counts_of(page, known)["what runs"] == 1


def test_a_count_may_fall_and_not_rise(lint: ModuleType) -> None:
    known = lint.terms()
    limits = {("a.py", "what runs"): 2, ("b.py", "what runs"): 1}
    assert lint.risen({("a.py", "what runs"): 2}, limits, known) == []
    (line,) = lint.risen({("b.py", "what runs"): 2}, limits, known)
    assert "running jobs" in line
    assert lint.risen({("c.py", "place (of a job)"): 9}, limits, known) == []  # warns only
    moved = {("b.py", "what runs"): 3}
    assert lint.risen_in_all(moved, limits, known) == []
    assert lint.risen_in_all({**moved, ("c.py", "what runs"): 1}, limits, known)
