"""The commands explain and ask, and the page about them: what it shows is what they print."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
import slotwise as sw
from slotwise.cli.main import app, main
from typer.testing import CliRunner

LINE = "-n 8 -W 2:00 -R 'span[ptile=4]'"


def output(*arguments: str) -> str:
    """Standard output of a command that succeeds."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.stdout


def failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    """Standard error of a command that ends with exit code 2 and prints nothing else."""
    monkeypatch.setattr(sys, "argv", ["slotwise", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    assert ended.value.code == 2
    assert captured.out == ""
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("name", ["tutorial", "headline", "slurm-live", "site"])
def test_explain_without_a_job_lists_the_pending_jobs(name: str) -> None:
    """A job is missing from the list, or a format has other jobs than the table."""
    ids = [job.id for job in sw.load(sw.example(name)).pending]
    table = output("explain", "--example", name).splitlines()[2:]
    assert [line.split()[0] for line in table[: len(ids)]] == ids
    record = json.loads(output("explain", "--example", name, "--format", "json"))
    assert [job["job"] for job in record["pending"]] == ids
    rows = csv.DictReader(io.StringIO(output("explain", "--example", name, "--format", "csv")))
    assert [row["job"] for row in rows] == ids


def test_explain_as_csv() -> None:
    text = output("explain", "--example", "headline", "job5", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["part"] for row in rows] == [
        *("obstacle", *["suggestion"] * 5, "pending", "pending")
    ]
    assert (rows[-1]["reason"], rows[-1]["allocation"]) == (
        "Not enough job slot(s)",
        "hostA hostD",
    )
    assert rows[1]["allocation"] == "1*hostA"


def test_explain_a_job_that_starts_now() -> None:
    assert output("explain", "--example", "joint-wins", "small") == (
        "small starts now as configured, ends +2h, on 2*a1\n"
        "possible: now, proved the earliest, on 2*a1\n"
        "LSF's greedy estimate: now\n"
    )


@pytest.mark.parametrize("front", ["", "bsub "])
def test_ask_as_json(front: str, tmp_path: Path) -> None:
    file = tmp_path / "headline.yaml"
    file.write_text(sw.example("headline").read_text("utf-8"), encoding="utf-8")
    text = output(
        "ask", str(file), front + LINE, "--ptile", "1,2", "--ptile", "none", "--format", "json"
    )
    record = json.loads(text)
    assert record["line"]["start"] == 14400
    assert [item["ptile"] for item in record["alternatives"]] == ["", "2", "1"]
    assert record["alternatives"][-1]["start"] is None


def test_ask_by_the_exact_method() -> None:
    text = output("ask", "--example", "headline", LINE, "--method", "optimal", "--effort", "5")
    assert text.startswith("the job starts +4h as configured")
    assert "(optimal, proved the earliest)" in text


def test_nothing_to_explore() -> None:
    text = output("ask", "--example", "joint-wins", "-n 1 -W 0:10", "--explore")
    assert text.startswith("the job starts now")
    assert "no alternative starts earlier" in text


@pytest.mark.parametrize(
    "words",
    [
        ("-n", "4", "-W", "1:00", "-R", "span[ptile=2] rusage[mem=1]"),
        ("bsub", "-n4", "-W", "1:00", "-R", "span[ptile=2] rusage[mem=1]", "./a.out", "--verbose"),
    ],
)
def test_a_line_may_be_given_as_its_words(words: tuple[str, ...]) -> None:
    whole = output("ask", "--example", "headline", "-n 4 -W 1:00 -R 'span[ptile=2] rusage[mem=1]'")
    assert output("ask", "--example", "headline", *words) == whole
    file = str(sw.example("headline"))
    assert output("ask", file, *words) == whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "--example", "headline", "job7"], "unknown pending job 'job7'"),
        (["explain", "nosuch.yaml", "1"], "No such file"),
        (["ask", "--example", "headline"], "give a bsub line"),
        (
            ["ask", "--example", "headline", "-n 4", "--exlore"],
            "unknown option '--exlore' (did you mean '--explore'?)",
        ),
        (["ask", "--example", "headline", "-n", "4", "-Z", "3"], "bsub line: -Z: unknown option"),
        (
            ["ask", "--example", "headline", "-n 4 -W 1:00", "-R", "rusage[mem=1]"],
            "give the whole line in quotes, or no quotes around '-n 4 -W 1:00'",
        ),
        (
            ["ask", "--example", "headline", "-Rspan[ptile=2] rusage[mem=1]", "-n", "4"],
            "give the whole line in quotes",
        ),
        (
            ["ask", "--example", "headline", "site.yaml", "-n 4"],
            "site.yaml: give an instance file or --example, not both",
        ),
        (
            ["ask", "--example", "headline", "-n", "4", "./a.out", "--seeds", "3"],
            "if it belongs to the job, quote the whole line",
        ),
        (["ask", "--example", "headline", "-n 0 -W x"], "bsub line: -n: must be 1 slot or more"),
        (["ask", "--example", "headline", "-n 4 -q no"], "bsub line: -q: unknown queue 'no'"),
        (["ask", "--example", "headline", "-n 4", "--slots", "x"], "--slots: must be whole"),
        (
            ["ask", "--example", "headline", "-n 4", "--limit", "1:99"],
            "--limit: must be a duration",
        ),
    ],
)
def test_bad_input(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert message in failed(monkeypatch, capsys, *arguments)


@pytest.mark.behaviour("SUB-06")
@pytest.mark.parametrize("words", [["bsub"], []])
def test_bsub_alone_reads_the_job_from_standard_input(words: list[str]) -> None:
    script = "#!/bin/sh\n#BSUB -n 8 -W 2:00\n#BSUB -n 4\n#BSUB -R 'span[ptile=4]'\nrun\n"
    done = CliRunner().invoke(app, ["ask", "--example", "headline", *words], input=script)
    assert done.exit_code == 0, done.output
    assert "the job starts +4h" in done.stdout
    assert "ignored: -n 4 (given twice: the first counts, -n 8)" in done.stdout
    assert CliRunner().invoke(app, ["ask", "--example", "headline", *words], input="").exit_code


@pytest.mark.behaviour("SUB-01")
def test_the_form_of_a_note_is_safe_for_a_terminal() -> None:
    script = "#!/bin/sh\n# BSUB -n 4 \x1b[31m\n#BSUB -n 2\n"
    done = CliRunner().invoke(app, ["ask", "--example", "headline"], input=script)
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stdout
