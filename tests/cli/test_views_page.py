"""docs/views.md: its commands run, and it names every view and every reason."""

from __future__ import annotations

import re
from pathlib import Path

from slotwise.cli.show import VIEWS
from slotwise.model.pending import Pending

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "views.md").read_text("utf-8")


def test_it_names_every_view_and_what_each_takes() -> None:
    for view, letters in VIEWS.items():
        (row,) = re.findall(rf"^\| `{view}` \|.*$", TEXT, flags=re.MULTILINE)
        assert set(re.findall(r"(?<=-)[a-z]\b", row.rsplit(" | ", 1)[1])) <= set(letters)


def test_it_names_every_reason() -> None:
    """Kin of Limit sections and per-CPU limits are told by their first words."""
    told = re.sub(r"\s+", " ", TEXT)
    for kind in Pending:
        words = kind.words.format("slots" if kind.name.startswith("LIMIT") else "mem")
        short = (kind.words.split(" limit defined ")[0], kind.words.split("per-CPU")[0])
        left_out = ("POSTPONED", "PARTITION_PRIORITY")
        assert (
            kind.name in left_out
            or words in told
            or any(part != kind.words and part.format("slots") in told for part in short)
        ), kind
