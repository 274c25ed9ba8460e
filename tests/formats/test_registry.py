"""The registry of file formats: each file is recognised, and a new one needs no line elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import Cluster, Host, InputError, Instance, Job, load
from slotwise.cli.main import app
from slotwise.model.formats.file_format import Contents, ReadOptions
from slotwise.model.sources import registry
from typer.testing import CliRunner

DATA = Path(__file__).resolve().parents[1] / "data"
RUNNER = CliRunner()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (sw.example("headline"), "instance"),
        (sw.example("cluster-1000"), "instance"),
        (DATA / "traces" / "KTH-SP2.swf.gz", "swf"),
        (DATA / "acct" / "lsb.acct.small-cluster", "acct"),
        (Path("nowhere.swf"), "swf"),
        (Path("nowhere.yaml"), "instance"),
        (Path("nowhere"), "swf"),
    ],
)
def test_a_file_is_recognised(path: Path, name: str) -> None:
    assert registry.format_of(path).name == name


def test_names_and_options_are_ones_that_the_commands_know() -> None:
    formats = registry.file_formats()
    names = [item.name for item in formats]
    assert len(set(names)) == len(names)
    known = set(ReadOptions.__dataclass_fields__)
    assert all(item.takes <= known for item in formats)


def test_a_file_that_is_not_there_is_refused_by_every_format(tmp_path: Path) -> None:
    for item in registry.file_formats():
        options = ReadOptions(hosts=1) if "hosts" in item.takes else ReadOptions()
        with pytest.raises(InputError, match="nowhere"):
            item.read(tmp_path / "nowhere", options)


@dataclass(frozen=True)
class SlotList:
    """A toy: ``slots: 1 2 3``, jobs on one host of four slots."""

    name: str = "slotlist"
    kind: str = "a list of slots"
    takes: frozenset[str] = frozenset()

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".slots"

    def read(self, path: Path, options: ReadOptions) -> Contents:
        words = path.read_text().removeprefix("slots:").split()
        jobs = tuple(
            Job(str(number), int(word), run_limit=60) for number, word in enumerate(words, 1)
        )
        return Contents(Instance(Cluster((Host("A", 4),)), pending=jobs), ("read as a toy",))


def test_a_new_format_is_one_class_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = registry.file_formats()
    monkeypatch.setattr(registry, "file_formats", lambda: (SlotList(), *before))
    source, output = tmp_path / "x.slots", tmp_path / "x.yaml"
    source.write_text("slots: 3 2 1")
    simulated = RUNNER.invoke(app, ["simulate", str(source), "--format", "csv"])
    assert simulated.exit_code == 0
    assert "read as a toy" in simulated.stderr
    assert "slotlist" in RUNNER.invoke(app, ["import", "--help"]).stdout
    imported = RUNNER.invoke(app, ["import", "slotlist", str(source), "-o", str(output)])
    assert imported.exit_code == 0
    assert [job.slots for job in load(output).pending] == [3, 2, 1]
    for command in ("solve", "compare", "check", "diagnose", "explain", "ask", "report", "show"):
        words = {"explain": ["2"], "ask": ["bsub -n 2"], "report": ["-o", str(tmp_path / "r.html")]}
        view = ["bjobs"] if command == "show" else []
        read = RUNNER.invoke(app, [command, *view, str(source), *words.get(command, [])])
        assert (read.exit_code, read.exception) == (0, None), command
        assert "read as a toy" in read.stderr, command
    refused = RUNNER.invoke(app, ["simulate", str(source), "--hosts", "3"])
    assert "--hosts: does not apply to a list of slots" in str(refused.exception)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"queue": [], "procs": 4}', "pool"),
        ('{"format":"slotwise-checkpoint","procs":4}', "swf"),
        ('"JOB_FINISH" "10.1" 1600000000 101 0 33816658 1\n', "acct"),
        ("format: slotwise/1\nhosts: []\n", "instance"),
    ],
)
def test_a_file_without_a_telling_name_is_recognised(tmp_path: Path, text: str, name: str) -> None:
    file = tmp_path / "f"
    file.write_text(text)
    assert registry.format_of(file).name == name
