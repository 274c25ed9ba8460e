"""``slotwise resreq`` as people and scripts see it (REQ-09, REQ-20)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner, Result

INSTANCE = """
format: slotwise/1
name: three
hosts:
  - {name: hostA, slots: 4, type: linux, mem: 120, RESOURCES: [cs], load: {r15s: 0.5}}
  - {name: hostB, slots: 4, type: AIX, mem: 30}
  - {name: hostC, slots: 4, type: linux, mem: 300, RESOURCES: ["!bigmem"]}
"""


@pytest.fixture
def instance(tmp_path: Path) -> str:
    path = tmp_path / "three.yaml"
    path.write_text(INSTANCE)
    return str(path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["resreq", *arguments])


def answer(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--format", "json")
    found: dict[str, Any] = json.loads(result.stdout)
    assert list(found) == ["valid", "message", "position", "normal", "hosts"]
    assert result.exit_code == (0 if found["valid"] else 2)
    return found


@pytest.mark.behaviour("REQ-09")
@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("select[type==local]", 0, "Resource requirement string is valid."),
        ("", 0, "Resource requirement string is valid."),
        ("select[type==local] rusage[mem==3] order[]", 0, "Resource requirement string is valid."),
        ("2*{cs} + 1*{span[x]}", 0, "Resource requirement string is valid."),
        (
            "select[type==local] select[hname=abc]",
            255,
            'Error near "select": duplicate section. Job not submitted.',
        ),
        (
            "mem>5 select[cs]",
            255,
            'Error near "select": duplicate section. Job not submitted.',
        ),
        (
            "mem > 5 &&",
            255,
            'Error near "&&": the selection is incomplete. Job not submitted.',
        ),
        (
            "linux rusage[mem=1] microcs73",
            255,
            'Error near "microcs73": the selection must come first or be in select[]. '
            "Job not submitted.",
        ),
    ],
)
def test_check_of_the_selection_alone(text: str, code: int, sentence: str) -> None:
    result = run("--check-select", *([text] if text else []))
    assert (result.exit_code, result.stdout) == (code, sentence + "\n")


@pytest.mark.behaviour("REQ-20")
def test_hosts_in_order_and_why_the_others_do_not_match(instance: str) -> None:
    result = run("mem > 50 order[-mem] extra", "--against", instance, "--from", "hostA")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "select[mem>50] order[-mem]",
        "note: 'extra' is outside the sections and is ignored, as LSF does",
        "1 of 3 hosts match, best first:",
        "  1. hostA",
        "not chosen:",
        "  hostB  mem>50 is false: mem is 30; its type is AIX, that of the submission host linux",
        "  hostC  it accepts only jobs that name bigmem",
    ]


@pytest.mark.behaviour("REQ-20")
def test_an_error_is_underlined_and_exits_with_2() -> None:
    result = run("select[mem > 50 & swp > 10]")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "slotwise: the selection cannot be followed by '&'; expected '&&' for and",
        "  select[mem > 50 & swp > 10]",
        "                  ^",
    ]


@pytest.mark.behaviour("REQ-08", "PLC-08")
def test_strict_lenient_and_a_leading_minus() -> None:
    assert answer("cs:fs")["normal"] == "select[cs && fs]"
    assert not answer("cs:fs", "--strict")["valid"]
    text = "cu[balance:usablecuslots=2]"
    assert not answer(text)["valid"]
    assert answer(text, "--lenient")["normal"] == "cu[usablecuslots=2:balance]"
    assert answer("-fs:mem=100")["normal"] == "select[!fs && mem>=100]"
    assert answer("-hpux > -1")["normal"] == "select[-hpux>-1]"


@pytest.mark.behaviour("REQ-04")
def test_an_unknown_submission_host_is_refused(instance: str) -> None:
    result = run("cs", "--against", instance, "--from", "nohost")
    assert result.exit_code != 0
    alone = run("cs", "--from", "hostA")
    assert str(alone.exception) == "--from-host names a host of an instance: also give --against"


@pytest.mark.behaviour("REQ-13")
def test_the_unit_of_the_cluster_is_the_unit_of_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "unit.yaml"
    path.write_text(INSTANCE + "params: {LSF_UNIT_FOR_LIMITS: GB}\n")
    found = answer("mem>1 && mem*2>3 rusage[mem=2:lic=1]", "--against", str(path))
    assert found["valid"] is False  # no lic
    found = answer("mem>1 && mem*2>3 rusage[mem=2]", "--against", str(path))
    assert found["normal"] == "select[mem>1 && mem*2>3] rusage[mem=2]"
    assert "mem>1 is false: mem is 0.1171875" in run("mem>1", "--against", str(path)).stdout


@pytest.mark.behaviour("PLC-05", "REQ-09")
def test_hosts_outside_all_units_are_said_to_be_so(tmp_path: Path) -> None:
    path = tmp_path / "units.yaml"
    path.write_text(
        INSTANCE + "params: {COMPUTE_UNIT_TYPES: enclosure rack}\n"
        "compute_units: [{name: e1, type: enclosure, members: hostA}, "
        "{name: r1, type: rack, members: e1}]\n"
    )
    for requirement, unit in (("cu[]", "enclosure"), ("mem>0 cu[type=rack]", "rack")):
        assert answer(requirement, "--against", str(path))["hosts"] == ["hostA"]
        told = run(requirement, "--against", str(path)).stdout.splitlines()
        assert f"  hostB  it is in no compute unit of type {unit}" in told
    wrong = run("cu[type=cabinet]", "--against", str(path))
    assert "unknown compute unit type 'cabinet'" in str(wrong.exception)
