"""Snapshots of a pool of processors as instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slotwise import InputError, example, load
from slotwise.model.sources.trace import from_snapshot, load_pool

_FILE = Path(__file__).parents[1] / "data" / "snapshots" / "KTH-SP2_q10_0.json"
_DATA = json.loads(_FILE.read_text())

pytestmark = pytest.mark.behaviour("CFG-04")


def test_the_shipped_queue_is_this_snapshot() -> None:
    shipped, made = load(example("kth-sp2-queue-10")), load_pool(_FILE)
    assert (shipped.cluster, shipped.running, shipped.pending) == (
        made.cluster,
        made.running,
        made.pending,
    )


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (
            {"procs": 0},
            ["procs: must be 1 or more, not 0"],
        ),
        ({"procs": 90}, ["running: must use at most 90 processors (procs), not 97"]),
        ({"free": 4}, ["free: must be 3, as the running jobs use the others, not 4"]),
        ({"queue": None}, ["queue: must be a list, not None"]),
        ({"queue": [7]}, ["queue[0]: must be a mapping of keys to values, not 7"]),
        (
            {"queue": [{"id": 17, "procs": -1, "req_s": "x", "run_s": 1}]},
            [
                "queue[0].procs: must be 1 or more, not -1",
                "queue[0].req_s: must be a whole number, not 'x'",
                "queue[0].waited_s: the key 'waited_s' is missing",
            ],
        ),
        (
            {"queue": [{"id": 17, "procs": 1, "req_s": 1, "run_s": 1, "waited_s": 0}]},
            ["queue[0].id: job 17 is already defined: give each job its own id"],
        ),
    ],
)  # fmt: skip
def test_broken_snapshots(change: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        from_snapshot(_DATA | change)
    assert [str(problem) for problem in caught.value.problems] == problems


def test_what_is_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be a snapshot"):
        from_snapshot([1])
    with pytest.raises(InputError) as caught:
        from_snapshot({"procs": 4})
    assert [problem.path for problem in caught.value.problems] == ["running", "queue"]
    with pytest.raises(InputError, match="is already an instance"):
        load_pool(example("theta-queue-50"))
    with pytest.raises(InputError, match="No such file"):
        load_pool(tmp_path / "x.json")
