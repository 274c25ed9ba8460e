"""docs/views.md: its commands run, and it names every view and every reason."""

from __future__ import annotations

import re
from pathlib import Path

from slotwise.cli.main import app
from slotwise.model.pending import Pending
from typer.testing import CliRunner

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = (DOCS / "views.md").read_text("utf-8")
#: What the values of switches name.
NAMED = {"-u": "user", "-q": "queue", "-m": "host"}


def test_it_names_every_view_and_what_each_takes() -> None:
    known = CliRunner().invoke(app, ["show", "nosuch", "--example", "headline"])
    (views,) = re.findall(r"use one of (.*) \(of Slurm", str(known.exception))
    for view in views.split(", "):
        (row,) = re.findall(rf"^\| `{view}` \|.*$", TEXT, flags=re.MULTILINE)
        told = re.findall(r"-[a-z]\b", row.rsplit(" | ", 1)[1])
        for switch in told:
            name = NAMED.get(switch, "")
            value = ["nosuch"] if name else []
            done = CliRunner().invoke(app, ["show", view, "--example", "headline", switch, *value])
            assert str(done.exception) == f"unknown {name} 'nosuch'" if name else not done.exit_code


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
