"""Queues that the benchmarks cut out of logs: a moment is the replay's, the draw is the seed's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from synthetic_log import synthetic

PROCESSORS = 24


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch):
    """The benchmarks' module, as their scripts import it."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    yield __import__("queue_cuts")
    sys.modules.pop("queue_cuts", None)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An overfull log in the Standard Workload Format."""
    jobs = synthetic(400, PROCESSORS, load=3, seed=3)
    columns = (jobs.job, jobs.submit, jobs.run_time, jobs.procs, jobs.req_time)
    path = tmp_path / "busy.swf"
    rows = [f"; MaxProcs: {PROCESSORS}"]
    for number, submit, run, size, asked in zip(*(c.tolist() for c in columns), strict=True):
        fields = [number, submit, -1, run, size, -1, -1, size, asked, *[-1] * 9]
        rows.append(" ".join(map(str, fields)))
    path.write_text("\n".join(rows) + "\n")
    return path


def test_cuts_follow_the_seed_and_hold_every_length(cuts, log: Path) -> None:
    def drawn(seed: int) -> list[tuple[str, int]]:
        return [(i.name, len(i.pending)) for i in cuts.cut_queues([log], 12, seed)]

    first = drawn(1)
    assert len(first) == 12
    assert first == drawn(1)
    assert first != drawn(2)
    assert len(set(first)) == 12
    played = cuts.PlayedLog.of(log)
    classes = [pair for pair in cuts.LENGTHS if len(played.moments(*pair)) >= 12]
    assert len(classes) >= 2
    for shortest, longest in classes:
        assert sum(shortest <= count <= longest for _, count in first) >= 3
