"""A folder of what a scheduler printed, where a command takes an instance file."""

from __future__ import annotations

from pathlib import Path

import pytest
from forked import slotwise
from sampling import pairwise

DATA = Path(__file__).parents[1] / "data"
COMMANDS = (
    *("compare", "diagnose", "explain", "check", "show bjobs", "top", "solve", "slots", "simulate"),
)


@pytest.fixture
def folder(scheduler: str, tmp_path: Path) -> Path:
    if scheduler == "slurm":
        return DATA / "slurm" / "live"
    for name in ("bhosts.json", "bjobs-running-two-hosts.json", "bqueues.json"):
        (tmp_path / name).write_bytes((DATA / "lsf" / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize(("scheduler", "command"), pairwise(["slurm", "lsf"], COMMANDS))
def test_it_is_the_instance_that_snapshot_makes_of_it(
    folder: Path, command: str, tmp_path: Path
) -> None:
    """Finds a command that refuses a folder, or reads it otherwise than `snapshot --from`."""
    made = tmp_path / "made.yaml"
    done = slotwise("snapshot", "--from", folder, "-o", made)
    assert done.returncode == 0, done.stderr
    of_folder, of_file = (slotwise(*command.split(), path) for path in (folder, made))
    assert of_folder.returncode == of_file.returncode == 0, of_folder.stderr
    assert of_folder.stdout.replace(str(folder), str(made)) == of_file.stdout
