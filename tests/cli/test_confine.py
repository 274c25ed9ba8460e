"""What people need who run Slotwise for strangers: --confine, --strict-limits, --debug."""

from __future__ import annotations

import os
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from confining import Run, lies_outside, within
from slotwise.cli.main import app
from slotwise.model.input_limits import STRICT, USUAL, InputLimits, limits
from typer.testing import CliRunner

RUNNER = CliRunner()


def test_the_folder_of_the_cells_of_a_sweep(run: Run, inputs: dict[str, str]) -> None:
    study = within(Path.cwd(), {"STUDY": inputs["STUDY"]})["STUDY"]
    lies_outside(run("sweep", study, "--workers", "1", "--into", "../cells"), "../cells")
    assert not Path("../cells").exists()
    assert run("sweep", study, "--workers", "1", "--into", "cells").exit_code == 0


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "../none"])
def test_no_include_and_no_config_leads_outside(
    target: str, run: Run, inputs: dict[str, str]
) -> None:
    """Whether there is such a file or not: nobody learns that."""
    Path("../secret").write_text("Begin Queue\nQUEUE_NAME = hidden\nEnd Queue\n")
    conf = Path(shutil.copytree(inputs["CONF"], "conf"))
    assert run("import", "lsf", "conf").exit_code == 0
    queues = conf / "lsb.queues"
    before = "Begin Queue\nQUEUE_NAME = q\nEnd Queue\n"
    up = target if target.startswith("/") else f"../{target}"
    queues.write_text(f"#INCLUDE {up}\n{before}")
    done = run("import", "lsf", "conf")
    assert f"the included file {up!r} is outside the folder of --confine" in str(done.exception)
    assert "hidden" not in done.output + str(done.exception)
    (conf / "more").write_text("")
    queues.write_text(f"#INCLUDE more\n{before}")
    assert run("import", "lsf", "conf").exit_code == 0
    queues.unlink()
    queues.symlink_to(os.path.abspath(target))
    lies_outside(run("import", "lsf", "conf"), "conf/lsb.queues")
    Path("site.yaml").write_text("format: slotwise/1\nconfig: ../\n")
    assert "is outside" in str(run("check", "site.yaml").stderr)


def test_a_study_names_no_file_outside(run: Run) -> None:
    for keys in ("site: ../secret.yaml", "log: ../secret.swf, hosts: 4", "log: ../none, hosts: 4"):
        case = f"cases:\n  - {{name: a, {keys}}}\n"
        Path("study.yaml").write_text(f"format: slotwise-study/1\n{case}")
        done = run("sweep", "study.yaml", "--workers", "1")
        assert "is outside" in str(done.exception), done.output


def test_within_the_folder_all_is_as_ever(run: Run) -> None:
    assert run("solve", "own.yaml", "--method", "greedy").exit_code == 0
    assert run("solve", "--example", "headline", "--method", "greedy").exit_code == 0
    assert run("simulate", "own.yaml", "--jobs", "jobs.csv").exit_code == 0
    assert Path("jobs.csv").exists()
    text = Path("own.yaml").read_text()
    line = ["--confine", ".", "simulate", "-"]
    assert RUNNER.invoke(app, line, input=text).exit_code == 0
    Path("sub").mkdir()
    missing = RUNNER.invoke(app, ["--confine", "none", "check", "own.yaml"])
    assert "none: is not a folder (--confine)" in str(missing.exception)


def test_strict_limits_are_tighter_and_the_others_still_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for field in fields(InputLimits):
        assert getattr(STRICT, field.name) < getattr(USUAL, field.name)
    seen: list[InputLimits] = []

    def look(*_: object, **__: object) -> tuple[str, ...]:
        seen.append(limits())
        return ()

    monkeypatch.setattr("slotwise.cli.check.shipped", look, raising=False)
    monkeypatch.setattr("slotwise.instances.examples", look)
    for words in (["--strict-limits"], ["--strict-limits", "--max-jobs", "7"], []):
        RUNNER.invoke(app, [*words, "examples"])
    assert seen[0] == STRICT
    assert (seen[1].jobs, seen[1].hosts) == (7, STRICT.hosts)
    assert seen[2] == USUAL


def test_debug_shows_no_control_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from slotwise.cli import main

    bad = tmp_path / "a\x1b]0;title\x07.yaml"
    monkeypatch.setattr("sys.argv", ["slotwise", "--debug", "check", str(bad)])
    monkeypatch.setattr("slotwise.cli.check._look", None, raising=False)
    monkeypatch.setattr("slotwise.model.formats.reading.file_bytes", lambda *_: 1 / 0, raising=True)
    monkeypatch.setattr("sys.argv", ["slotwise", "--debug", "solve", str(bad)])
    with pytest.raises(SystemExit):
        main.main()
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "\x1b" not in said
    assert "\x07" not in said
