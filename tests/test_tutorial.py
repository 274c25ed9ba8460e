"""The administrator's tutorial: its commands run in order and print what the page shows."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from all_commands import all_commands
from forked import slotwise
from slotwise import example, load
from slotwise.cli.main import app
from slotwise.model.formats.changes import loads_changes
from typer.main import get_command
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial-administrator.md").read_text(encoding="utf-8")
#: Each command with what is shown below it.
BLOCKS = re.findall(r"```console\n\$ (slotwise .*)\n((?:.*\n)*?)```", PAGE)
#: Jobs that have ended, for a forecast.
LOG = ROOT / "tests" / "data" / "acct" / "lsb.acct.small-cluster"
#: The words before and behind --example NAME that a command needs.
WORDS: dict[tuple[str, ...], tuple[list[str], list[str]]] = {
    ("ask",): ([], ["bsub -n 2 -W 1:00"]),
    ("resreq",): (["select[mem>1]"], []),
    ("show",): (["bjobs"], []),
    ("top",): (["--once"], []),
    ("serve",): (["--port", "0", "--for", "1s"], []),
    ("whatif",): (["--vary", "reservation=none,greedy", "--workers", "1"], []),
    ("report",): (["-o", "page.html"], ["--effort", "0.1", "--explain", "0"]),
    ("simulate",): (["--until", "2h"], []),
    ("forecast",): (["--samples", "5", "--history", str(LOG)], []),
}


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = line.split()
    assert words[0] == "slotwise"
    return slotwise(*words[1:], cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the tutorial, and what its commands have made of them."""
    place = tmp_path_factory.mktemp("tutorial") / "mill"
    shutil.copytree(ROOT / "instances" / "tutorial", place)
    for line, shown in BLOCKS:
        done = run(line, place)
        assert done.returncode == 0, done.stderr
        printed = (done.stdout + done.stderr).strip("\n")
        assert printed == shown.strip("\n"), line
    return place


@pytest.mark.behaviour("CFG-01", "CFG-04", "TBR-02")
def test_the_commands_print_what_is_shown(folder: Path) -> None:
    assert len(BLOCKS) == 4
    made = load(folder / "now.yaml")
    assert (len(made.running), len(made.pending)) == (8, 7)
    big = next(job for job in made.pending if job.id == "110")
    assert (big.slots, made.now - big.submit) == (12, 90 * 60)


def test_the_example_is_what_the_commands_make(folder: Path) -> None:
    """The shipped file and the folder that it comes from would drift apart."""
    shipped = replace(load(example("tutorial")), description="", name="mill")
    assert shipped == load(folder / "now.yaml")


@pytest.mark.parametrize("command", list(all_commands()), ids=" ".join)
def test_every_command_with_a_cluster_takes_the_example(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A command that has --example refuses it, or one that reads an instance has no --example."""
    monkeypatch.chdir(tmp_path)
    named = get_command(app)
    for word in command:
        named = named.get_command(None, word)  # type: ignore[attr-defined]
    options = {name for parameter in named.params for name in parameter.opts}
    reads_a_cluster = "--timeout" in options and command[-1] != "snapshot"
    assert ("--example" in options) >= reads_a_cluster
    if "--example" not in options:
        return
    before, behind = WORDS.get(command, ([], []))
    done = CliRunner().invoke(app, [*command, *before, "--example", "tutorial", *behind])
    assert done.exit_code == 0, (done.output, done.exception)


@pytest.mark.parametrize("line", re.findall(r"\| `(slotwise [^`]*now\.yaml[^`]*)` \|", PAGE))
def test_the_commands_behind_it_run(folder: Path, line: str) -> None:
    words = line.replace('"bsub -n 8 -W 1:00"', "BSUB").split()
    arguments = [word.replace("BSUB", "bsub -n 8 -W 1:00") for word in words[1:]]
    done = slotwise(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_links_lead_somewhere() -> None:
    for page in ("tutorial-administrator.md", "changes.md"):
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#]+)", text):
            assert (ROOT / "docs" / link).exists(), link


def test_the_changes_of_their_page_are_right() -> None:
    text = (ROOT / "docs" / "changes.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    instance = load(ROOT / "instances" / "headline.yaml")
    assert len(loads_changes(shown, instance)) == len(yaml.safe_load(shown)["changes"])
    keys = re.findall(r"^\| (`[^|]*`) \|", text, flags=re.MULTILINE)
    from slotwise.model.formats.changes import ACTIONS

    assert set(re.findall(r"`(\w+)`", " ".join(keys))) == set(ACTIONS)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("slotwise import lsf config -o site.yaml", "config"),
        ("slotwise import snapshot --bjobs job.json -o now.yaml", "job.json"),
        ("slotwise compare nwo.yaml", "nwo.yaml"),
        ("slotwise compare jobs.json", "slotwise import snapshot --bjobs"),
        ("slotwise import snapshot --bjobs hosts.json -o now2.yaml", "bhosts"),
        ("slotwise simulate now.yaml --changes jobs.json", "jobs.json"),
        ("slotwise explain now.yaml 101x", "101x"),
    ],
)
def test_slips_of_a_newcomer_end_in_a_message(folder: Path, line: str, says: str) -> None:
    done = run(line, folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 3
