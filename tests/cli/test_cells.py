"""Texts of others in tables and CSV: nothing runs, and nothing is hidden."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from slotwise import dump_json
from slotwise.cli.main import app
from slotwise.cli.output import write_records
from slotwise.cli.tables import (
    Column,
    ListingRow,
    csv_rows,
    csv_text,
    listing_text,
    text_table,
)
from slotwise.model.escaping import csv_cell, printable, raw_csv
from typer.testing import CliRunner

FORMULAS = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("x")', "-1+1", "+1 2"]
UNSEEN = ["\x1b[31m", "\0", "\x7f", "\x9b", "\u202e", "\u200b", "\ufeff", "\u2028", "\ud800"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_that_begins_a_formula_gets_an_apostrophe(tmp_path: Path, text: str) -> None:
    shown = f"'{text}".replace("\r", "\\r")
    assert csv_cell(text) == shown
    out = tmp_path / "out.csv"
    write_records([{"job": text}], out)
    for written in (
        csv_text(["a"], [{"a": text}]),
        csv_rows(["a"], [[text]]),
        out.read_bytes().decode(),
    ):
        (_, (cell,)) = csv.reader(io.StringIO(written, newline=""))
        assert cell == shown
    with raw_csv():
        assert csv_cell(text) == text


@pytest.mark.parametrize("value", [-5, 1.5, None, "-5", "+1.5", "-1e-7", "plain", "", "a=b", "1-2"])
def test_numbers_and_other_texts_stay(value: object) -> None:
    assert csv_cell(value) is value


@given(st.text())
def test_what_is_shown_can_be_seen(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    assert shown.count("\n") == text.count("\n")
    shown.encode()
    assert not any(char in shown for char in UNSEEN)


@pytest.mark.parametrize("unseen", UNSEEN)
def test_tables_show_unseen_characters(unseen: str) -> None:
    escaped = unseen.encode("unicode_escape").decode()
    listing = listing_text([Column("A")], [ListingRow((f"x{unseen}y",))])
    for text in (listing, text_table(["A"], [[f"x{unseen}y"]], "<")):
        assert unseen[0] not in text
        assert escaped in text


def test_names_that_begin_a_formula_in_views_and_plans(tmp_path: Path) -> None:
    """What the reader lets through as a name may still be a formula."""
    instance = sw.load(sw.example("headline"))
    (job,) = instance.pending
    path = tmp_path / "x.json"
    path.write_text(dump_json(replace(instance, pending=(replace(job, user="@SUM", id="-x"),))))
    run = CliRunner()
    shown = run.invoke(app, ["show", "bjobs", str(path), "--format", "csv"])
    assert "'-x,'@SUM," in shown.stdout
    plan = ["solve", str(path), "--method", "greedy", "--format", "csv"]
    assert "\n'-x," in run.invoke(app, plan).stdout
    assert "\n-x," in run.invoke(app, ["--raw-csv", *plan]).stdout
