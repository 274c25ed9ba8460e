"""check, examples, import pool and generate as a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slotwise import InputError, example, load, loads
from slotwise import examples as names
from slotwise.cli.main import app
from slotwise.model.formats import changes_schema, json_schema
from typer.testing import CliRunner, Result

_SNAPSHOT = Path(__file__).parents[1] / "data" / "snapshots" / "KTH-SP2_q10_0.json"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.behaviour("CFG-02")
def test_check_reports_everything_and_goes_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("format: slotwise/1\nhosts:\n  - {name: a, slots: -1, foo: 1}\n")
    odd = tmp_path / "odd.yaml"
    odd.write_text(
        "format: slotwise/1\nhosts: [{name: a, slots: 1}]\nqueues:\n  - name: a\n"
        "    SLOT_RESERVE: MAX_RESERVE_TIME[5]\n    RESOURCE_RESERVE: MAX_RESERVE_TIME[5]\n"
    )
    run = _run("check", str(bad), str(tmp_path / "none.yaml"), str(odd))
    assert run.exit_code == 2
    assert [line.split(" ", 2)[0] for line in run.stdout.splitlines()] == [f"{odd}:"]
    messages = run.stderr.splitlines()
    assert messages[:3] == [
        f"slotwise: {bad}:3: hosts[0].slots: must be 0 or more, not -1",
        f"slotwise: {bad}:3: hosts[0].foo: unknown key 'foo'",
        f"slotwise: {tmp_path / 'none.yaml'}: cannot be read: No such file or directory",
    ]
    assert messages[3].startswith(f"slotwise: warning: {odd}:5: queues[0].SLOT_RESERVE: ")
    assert len(messages) == 4


def test_check_reads_standard_input() -> None:
    run = CliRunner().invoke(app, ["check", "-"], input=example("headline").read_bytes())
    assert run.stdout == "-: ok (4 hosts, 16 slots, 4 running, 1 pending job)\n"
    run = CliRunner().invoke(app, ["check", "-"], input=b"\xff")
    assert (run.exit_code, run.stderr) == (
        2,
        "slotwise: <stdin>: is not UTF-8 text: byte 0 is 0xff; save the file as UTF-8\n",
    )


def test_schema_is_printed_as_json() -> None:
    assert json.loads(_run("check", "--schema").stdout) == json_schema()
    assert json.loads(_run("check", "--schema", "changes").stdout) == changes_schema()
    assert isinstance(_run("check", "--schema", "x.yaml").exception, InputError)


def test_examples_are_listed_and_printed() -> None:
    listing = [line for line in _run("examples").stdout.splitlines() if line[0] != " "]
    assert [line.split()[0] for line in listing] == list(names())
    assert all(len(line.split()) > 5 for line in listing)
    printed = _run("examples", "headline").stdout
    assert printed == example("headline").read_text("utf-8")
    assert loads(printed) == load(example("headline"))
    assert isinstance(_run("examples", "nothing").exception, InputError)


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_a_snapshot_becomes_a_file(tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"KTH-SP2_q10_0.{suffix}"
    assert _run("import", "pool", str(_SNAPSHOT), "-o", str(output)).exit_code == 0
    assert loads(_run("import", "pool", str(_SNAPSHOT)).stdout) == load(output)
    assert load(output).pending[0].id == "151"


def test_no_part_of_a_file_is_left(tmp_path: Path) -> None:
    output = tmp_path / "no" / "where.yaml"
    run = _run("import", "pool", str(_SNAPSHOT), "-o", str(output))
    assert isinstance(run.exception, InputError)
    assert list(tmp_path.iterdir()) == []


def test_generate_gives_the_same_bytes_for_a_seed(tmp_path: Path) -> None:
    arguments = ("generate", "--hosts", "20", "--running", "30", "--pending", "5")
    first, second, other = (_run(*arguments, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == second != other
    output = tmp_path / "a.json"
    assert _run(*arguments, "--seed", "1", "-o", str(output)).exit_code == 0
    assert load(output) == loads(first)
