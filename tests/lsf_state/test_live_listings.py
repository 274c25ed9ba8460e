"""What a live cluster of LSF's family printed at one moment of each recorded run.

volclava 2.2 on five virtual hosts: the listings beside the logs in tests/data/ground/live, taken
while jobs ran and waited. Without configuration the commands tell all that the files do.
"""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from printed_listings import snapshot
from slotwise import Instance
from slotwise.model.formats.lsf import site_document
from slotwise.solver.scheduler.simulation import simulate

pytestmark = pytest.mark.behaviour("CFG-04")
LIVE = Path(__file__).parents[1] / "data" / "ground" / "live"
#: Of each recording the queues that it ran under.
RUNS = {"x2": "x", "x3": "x", "r1": "r1", "r3": "r3", "r4": "r4", "w1": "w1"}
#: The forms that are read of commands with several.
READ = ("bjobs -u all -UF", "bhosts -l", "bhosts -s", "bqueues -l")
REFERENCE = datetime(2026, 11, 27, 1, tzinfo=UTC)


@cache
def printed(run: str) -> dict[str, list[str]]:
    """The listings of a run, by command."""
    text = (LIVE / f"{run}.listings").read_text("utf-8")
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    found: dict[str, list[str]] = {}
    for words, part in zip(parts[::2], parts[1::2], strict=True):
        if words in READ or words.split()[0] not in ("bjobs", "bhosts", "bqueues"):
            found.setdefault(words.split()[0], []).append(part)
    return found


def both(run: str, folder: Path) -> tuple[Instance, Instance]:
    """The moment with the site's configuration, and without."""
    shutil.copytree(LIVE / "site", folder, dirs_exist_ok=True)
    shutil.copy(LIVE / f"{RUNS[run]}.queues", folder / "lsb.queues")
    site, _ = site_document(folder, present=REFERENCE).instance()
    with_files, without = (
        snapshot(REFERENCE, base, dated=False, **printed(run)) for base in (site, None)
    )
    return with_files, without


@pytest.mark.parametrize("run", RUNS)
def test_a_cluster_tells_what_its_files_do(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same starts, nothing called a contradiction, and the same jobs touched by what is not."""
    with_files, without = both(run, tmp_path)
    assert "contradicts itself" not in capsys.readouterr().err
    starts = [simulate(it) for it in (with_files, without)]
    for job in without.pending:
        first, second = (found[job.id].start for found in starts)
        assert first == second, (run, job.id)
    assert len(without.pending) >= 5
    assert [job.id for job in with_files.pending] == [job.id for job in without.pending]
    assert [item.what for item in with_files.omissions if item.jobs != ()] == [
        item.what for item in without.omissions if item.jobs != ()
    ]
