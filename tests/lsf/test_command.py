"""``slotwise import lsf`` as a person calls it, and the commands of docs/import.md."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from forked import slotwise
from lsf.lab import CLUSTER, write
from slotwise import load

_PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text("utf-8")
_DOC = _PAGE.partition("## The configuration: import lsf")[2].partition("\n## ")[0]
_COMMANDS = [
    line.removeprefix("$ slotwise ").partition("  # ")[0]
    for block in re.findall(r"```console\n(.*?)```", _DOC, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ slotwise ")
]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return slotwise(*arguments, cwd=folder)


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    write(tmp_path / "conf", {})
    assert len(_COMMANDS) == 5
    for command in _COMMANDS:
        done = run(shlex.split(command), tmp_path)
        assert done.returncode == 0, (command, done.stderr)
    assert load(tmp_path / "harbour.yaml").name == "harbour"
    assert load(tmp_path / "site.yaml").name == "c"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either a configuration directory or --example"),
        (["nowhere"], "nowhere: cannot be read: No such file or directory"),
        (
            ["conf/lsb.hosts"],
            "conf/lsb.hosts: is a file, not a directory: give the directory that contains ",
        ),
        (
            ["empty"],
            "empty: has no LSF configuration: none of lsf.conf, lsf.cluster.NAME, lsb.",
        ),
        (["--example", "site"], "has several clusters (harbour, quay): select one with --cluster"),
        (["conf", "--cluster", "d"], "conf: has no lsf.cluster.d"),
        (["conf", "--at", "noon"], "--at: 'noon' is not an ISO 8601 time such as "),
        (["conf", "--ncpus", "hostA=x"], "--ncpus: must be N or HOST=N with N of 1 or more"),
        (["conf", "--lshosts", "no"], "no: cannot be read: No such file or directory"),
    ],
)
def test_bad_calls_are_one_line_and_code_2(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    write(tmp_path / "conf", {})
    (tmp_path / "empty").mkdir()
    done = run(["import", "lsf", *arguments, "-o", "out.yaml"], tmp_path)
    errors = [line for line in done.stderr.splitlines() if "note: " not in line]
    assert (done.returncode, len(errors), done.stdout) == (2, 1, "")
    assert message in errors[0]
    assert not (tmp_path / "out.yaml").exists()


def test_a_long_list_of_errors_is_cut_with_a_count(tmp_path: Path) -> None:
    rows = "".join(f"h{n} ! ! 1\n" for n in range(300))
    write(tmp_path / "conf", {"lsf.cluster.c": CLUSTER.replace("hostA ", rows + "hostA ")})
    done = run(["import", "lsf", "conf"], tmp_path)
    errors = [line for line in done.stderr.splitlines() if "note: " not in line]
    assert done.returncode == 2
    assert len(errors) == 51
    assert errors[0].startswith("slotwise: conf/lsf.cluster.c:4: Host: has 4 cells, its table 5 ")
    assert errors[-1] == "slotwise: and 250 more problems (300 in all)"
