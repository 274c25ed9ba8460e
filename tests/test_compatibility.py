"""docs/compatibility.md says what the marks of the tests say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_committed_table_is_not_stale(behaviours: dict[str, int] | None) -> None:
    """It is what a fresh collection gives."""
    maker = runpy.run_path(str(DOCS / "make_compatibility.py"))
    fresh = maker["table"](maker["collect"]() if behaviours is None else behaviours)
    assert (DOCS / "compatibility.md").read_text(encoding="utf-8") == fresh, "run `make docs`"
    assert "not yet" not in fresh


def test_every_row_has_a_group_and_one_sentence() -> None:
    maker = runpy.run_path(str(DOCS / "make_compatibility.py"))
    headings = maker["groups"]()
    for name, row in maker["rows"]().items():
        assert re.fullmatch(r"[A-Z]{3}-\d{2}", name)
        assert name[:3] in headings
        assert set(row) <= {"title", "differs"}
        assert not row["title"].endswith(".")


@pytest.mark.parametrize("change", ["text", "name"])
def test_what_is_kept_of_the_docs_depends_on_content_and_names(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = runpy.run_path(str(DOCS / "kept.py"))
    for name in ("digest", "is_made", "keep"):
        monkeypatch.setitem(kept[name].__globals__, "ROOT", tmp_path)
        monkeypatch.setitem(kept[name].__globals__, "RECORD", tmp_path / ".cache" / "docs.json")
    file = tmp_path / "cli" / "a.py"
    file.parent.mkdir()
    file.write_text("one")
    key = kept["digest"](["cli"], "page")
    assert not kept["is_made"]("page.md", key)
    kept["keep"]("page.md", key)
    assert kept["is_made"]("page.md", kept["digest"](["cli"], "page"))
    assert not kept["is_made"]("other.md", key)
    assert kept["digest"](["cli"], "other page") != key
    file.write_text("two") if change == "text" else file.rename(file.with_name("b.py"))
    assert kept["digest"](["cli"], "page") != key
