"""docs/compatibility.md says what the marks of the tests say."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: A row of the table: id, and whether tests prove it.
ROW = re.compile(r"^\| ([A-Z]{3}-\d{2}) \| .*? \| (not yet|\d+ tests?) \|", flags=re.MULTILINE)


def statuses(text: str) -> dict[str, bool]:
    return {name: status != "not yet" for name, status in ROW.findall(text)}


def test_the_committed_table_is_not_stale(behaviours: dict[str, int] | None) -> None:
    """Rows and their status agree with a fresh collection; the numbers of tests may differ."""
    maker = runpy.run_path(str(DOCS / "make_compatibility.py"))
    fresh = statuses(maker["table"](maker["collect"]() if behaviours is None else behaviours))
    committed = statuses((DOCS / "compatibility.md").read_text(encoding="utf-8"))
    assert set(committed) == set(maker["rows"]())
    assert committed == fresh, "run `make docs`"


def test_every_row_has_a_group_and_one_sentence() -> None:
    maker = runpy.run_path(str(DOCS / "make_compatibility.py"))
    headings = maker["groups"]()
    for name, row in maker["rows"]().items():
        assert re.fullmatch(r"[A-Z]{3}-\d{2}", name)
        assert name[:3] in headings
        assert set(row) <= {"title", "differs"}
        assert not row["title"].endswith(".")
