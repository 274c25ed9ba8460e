"""Listings: tables and cards, short allocations, exact gains, one page, chosen jobs, colours."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace

import pytest
import slotwise as sw
from forked import slotwise
from hypothesis import given
from hypothesis import strategies as st
from sampling import pairwise, some
from slotwise.cli.main import app, main
from slotwise.cli.tables import Column, ListingRow, listing_text
from slotwise.model.display import duration_text, smallest_difference
from slotwise.model.generate import generate
from typer.testing import CliRunner

COLUMNS = (
    *(Column("JOB"), Column("START NOW"), Column("SLOTS")),
    *(Column("WHY NOT", line=1, label=""), Column("WHERE", line=1, label="on")),
)
WORDS = st.text("abcxyz019*", min_size=1, max_size=30)


@pytest.fixture
def width(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    def set_to(columns: int, lines: int = 50) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))

    return set_to


def printed(*arguments: str, text: str | None = None) -> str:
    done = CliRunner().invoke(app, list(arguments), input=text)
    assert done.exit_code == 0, done.output
    return done.stdout


def longest(text: str) -> int:
    return max(map(len, text.splitlines()))


@pytest.mark.parametrize(
    ("columns", "example"),
    some(pairwise([60, 80, 100, 109], ["kth-sp2-queue-10", "qat-time-based", "joint-wins"]), 2),
)
def test_nothing_is_wider_than_a_narrow_terminal(width, columns: int, example: str) -> None:  # type: ignore[no-untyped-def]
    width(columns)
    jobs = [job.id for job in sw.load(sw.example(example)).pending]
    for command in (
        ("compare", "--example", example, "--effort", "1"),
        ("solve", "--example", example, "--method", "time-based"),
        ("explain", "--example", example, jobs[-1]),
        ("ask", "--example", example, "-n 2 -W 1:00", "--slots", "1,2,4"),
    ):
        text = printed(*command)
        assert longest(text) <= columns, text
        if command[0] in ("compare", "solve"):
            assert all(re.search(rf"^ ?{job}\b", text, re.MULTILINE) for job in jobs)


@given(
    rows=st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=5),
    columns=st.integers(40, 200),
)
def test_every_cell_is_there_whole_in_tables_and_cards(
    rows: list[tuple[str, ...]], columns: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        text = listing_text(COLUMNS, [ListingRow(row) for row in rows])
    assert longest(text) <= columns
    # A cell too wide for its column goes on below; its letters stay in order.
    for row in rows:
        for cell in row:
            letters = iter(re.sub(r"\s", "", text))
            assert all(letter in letters for letter in cell)


@given(start=st.integers(0, 10**7), gain=st.integers(0, 10**7))
def test_rounding_never_hides_a_difference(start: int, gain: int) -> None:
    beside = smallest_difference((start, start + gain))
    assert beside == gain
    shown = duration_text(start, beside), duration_text(start + gain, beside)
    # What the text of the gain keeps of it (its two largest units) is seen in the times too.
    assert (shown[0] == shown[1]) == (gain == 0)


@pytest.mark.parametrize(("columns", "lines"), some([(80, 40), (160, 40), (200, 60)], 1))
def test_a_queue_of_a_hundred_jobs_is_one_page(width, columns: int, lines: int) -> None:  # type: ignore[no-untyped-def]
    width(columns, lines)
    command = ("solve", "--example", "ctc-sp2-queue-100", "--method", "time-based")
    text = printed(*command)
    assert len(text.splitlines()) <= lines
    left = re.search(r"(\d+) more jobs are not shown, starting", text)
    assert left is not None
    every = printed(*command, "--top", "0")
    assert "not shown" not in every
    shown = [job.id for job in sw.load(sw.example("ctc-sp2-queue-100")).pending]
    seen = [job for job in shown if re.search(rf"^ ?{job} ", text, re.MULTILINE)]
    assert len(seen) + int(left[1]) == 100
    assert all(re.search(rf"^ ?{job} ", every, re.MULTILINE) for job in shown)


def test_chosen_jobs_in_every_format() -> None:
    common = ("solve", "--example", "kth-sp2-queue-10", "--method", "time-based")
    plan = sw.plan(sw.load(sw.example("kth-sp2-queue-10")), "time-based")
    by_start = sorted(plan, key=lambda item: item.start or 0)

    def jobs(*options: str) -> list[str]:
        record = json.loads(printed(*common, "--format", "json", *options))
        return [item["job"] for item in record["reservations"]]

    everyone = [item.job for item in plan]
    assert jobs() == everyone
    two = ("--job", "168", "--job", "151")
    assert jobs(*two) == ["151", "168"]
    rows = printed(*common, "--format", "csv", *two).splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == ["151", "168"]
    assert jobs("--sort", "start") == [item.job for item in by_start]
    assert jobs("--sort", "start", "--top", "3") == [item.job for item in by_start[:3]]
    assert jobs("--sort", "slots", "--top", "1") == ["162"]
    assert jobs("--only", "now") == []
    assert jobs("--only", "later") == everyone


def test_comparisons_sort_by_gain() -> None:
    common = ("compare", "--example", "kth-sp2-queue-10", "--effort", "3", "--format", "json")
    rows = json.loads(printed(*common, "--sort", "gain"))["jobs"]
    gains = [row["sooner_by"] for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > gains[-1]
    assert [row["job"] for row in json.loads(printed(*common))["jobs"]][:2] == ["151", "153"]


def test_a_job_that_is_not_there_is_refused() -> None:
    done = CliRunner().invoke(app, ["solve", "--example", "headline", "--job", "job6"])
    assert isinstance(done.exception, sw.InputError)
    assert "unknown pending job 'job6' (did you mean 'job5'?)" in str(done.exception)


def test_colours_mean_what_becomes_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    rows = [ListingRow(("j", "s"), state) for state in ("now", "later", "unproved", "unplaced")]
    shown = (Column("JOB", marked=True), Column("START"))
    coloured = listing_text(shown, rows)
    assert all(f"\x1b[{code}m" in coloured for code in (32, 36, 33, 31))
    monkeypatch.setenv("NO_COLOR", "1")
    plain = listing_text(shown, rows)
    assert not any(f"\x1b[{code}m" in plain for code in (32, 36, 33, 31))


def test_a_generated_cluster_at_eighty_columns(width) -> None:  # type: ignore[no-untyped-def]
    width(80)
    instance = generate(hosts=8, running=20, pending=8, load=0.97, seed=5)
    named = replace(instance.pending[0], id="a-job-with-a-very-long-name-" + "x" * 70)
    instance = replace(instance, pending=(named, *instance.pending[1:]))
    text = printed("solve", "-", "--method", "time-based", "--top", "0", "--wide",
                   text=sw.dump(instance))  # fmt: skip
    wider = [line for line in text.splitlines() if len(line) > 80]
    assert wider == [named.id]  # whole, for it is one word


def test_a_fault_of_our_own_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("p1")

    monkeypatch.setattr("slotwise.cli.source.read_source", broken)
    for arguments, traceback in ((["compare", "x"], False), (["--debug", "compare", "x"], True)):
        monkeypatch.setattr("sys.argv", ["slotwise", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 70
        told = capsys.readouterr().err
        assert ("Traceback" in told) is traceback
        assert told.splitlines()[-1].startswith("slotwise: an internal error of slotwise: KeyError")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("slotwise compare --example joint-w", ["joint-wins"]),
        ("slotwise compare --example joint-wins --job la", ["large"]),
        ("slotwise explain FILE s", ["small"]),
        ("slotwise explain nowhere.yaml s", []),
    ],
)
def test_completion_of_examples_and_jobs(words: str, found: list[str]) -> None:
    words = words.replace("FILE", str(sw.example("joint-wins")))
    completing = {
        "_SLOTWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = slotwise(before=lambda: os.environ.update(completing))
    assert done.stdout.split() == found
    assert done.stderr == ""


def test_standard_input_for_every_log_and_instance() -> None:
    text = sw.example("headline").read_text(encoding="utf-8")
    assert "<stdin>" in printed("simulate", "-", text=text)
    swf = "; MaxProcs: 4\n1 0 0 60 2 -1 -1 2 60 -1 1 1 1 1 1 1 -1 -1\n"
    assert "<stdin>" in printed("replay", "-", text=swf)
    assert json.loads(printed("import", "swf", "-", "--at", "10", "--format", "json", text=swf))
    assert json.loads(printed("generate", "--hosts", "1", "--format", "json"))
    assert json.loads(printed("check", "-", "--format", "json", text=text))[0]["ok"] is True
    assert "headline" in {item["name"] for item in json.loads(printed("examples", "--format=json"))}
    for command in (["replay", "-"], ["import", "swf", "-"]):
        done = CliRunner().invoke(app, command, input="a b c\n")
        assert isinstance(done.exception, sw.InputError)
        assert str(done.exception).startswith("<stdin>:1: ")
    done = CliRunner().invoke(app, ["import", "acct", "-", "-"], input="")
    assert "- is given twice" in str(done.exception)
