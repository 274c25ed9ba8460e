"""The measures by hand, and which estimates of a job count in which line of a table."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slotwise.cli.main import app
from slotwise.model.display import DAY, HOUR, MINUTE
from slotwise.solver.accuracy.measures import HORIZON_NAMES, Accuracy, accuracy
from store_cases import NOON, job, poll, stored
from typer.testing import CliRunner


def scored(store: Path, by: str = "method") -> list[dict[str, Any]]:
    """The groups of `score`."""
    command = ["score", str(store), "--by", by, "--format", "json"]
    groups: list[dict[str, Any]] = json.loads(CliRunner().invoke(app, command).stdout)["groups"]
    return groups


def line(found: list[dict[str, Any]], method: str, group: str = "") -> dict[str, Any]:
    (chosen,) = [item for item in found if item["group"] == group]
    return next(item for item in chosen["estimators"] if item["estimator"] == method)


def test_an_estimate_without_a_start_counts_nowhere():
    truth = np.array([10, 20])
    found = accuracy("x", truth, np.array([np.inf, 30.0]))
    assert (found.jobs, found.mean_error) == (1, 10)
    bounds = (np.array([1.0, 2.0]), np.array([40.0, np.inf]))
    assert accuracy("x", truth, np.array([30.0, 30.0]), *bounds).jobs == 1
    assert accuracy("x", truth, np.full(2, np.inf)) == Accuracy("x", 0, None, None)


def waiting(name: str, at: int, **starts: int) -> Any:
    return job(name, NOON, **{n: NOON + at + t for n, t in starts.items()})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Job a waits two days, its estimate comes closer; b starts at once; c has no start yet."""
    states = [
        (0, [waiting("a", 0, as_configured=2 * HOUR)]),
        (HOUR, [waiting("a", HOUR, as_configured=3 * DAY, printed=5 * MINUTE)]),
        (DAY, [waiting("a", DAY, as_configured=DAY + HOUR, printed=5 * MINUTE)]),
        (2 * DAY - 60, [waiting("b", 2 * DAY - 60, as_configured=0), waiting("c", 0)]),  # no a
        (2 * DAY, [waiting("a", 2 * DAY), waiting("b", 2 * DAY)]),
    ]
    polls = [poll(at, *pending) for at, pending in states]
    running = {("a", NOON): NOON + 2 * DAY, ("b", NOON): NOON + 2 * DAY - 90}
    last = poll(2 * DAY + 60, waiting("c", 0, likely=9), running=running)
    return stored(tmp_path_factory.mktemp("score") / "score.db", *polls, last)


def test_a_job_counts_once_in_a_line(store: Path):
    found = line(scored(store), "as configured")
    # a by its first estimate, 46 hours too early; b started in the minute in which it was asked.
    assert (found["jobs"], found["mean_error"], found["bias"]) == (2, 23 * HOUR, -23 * HOUR)
    assert line(scored(store), "printed")["mean_error"] == 2 * DAY - HOUR - 5 * MINUTE


def test_a_horizon_is_the_estimated_wait(store: Path):
    found = scored(store, "horizon")
    names = [group["group"] for group in found[1:]]
    assert names == [name for name in HORIZON_NAMES if name in ("under 10m", "1h-4h", "1d-7d")]
    errors = {
        name: line(found, "as configured", name)["mean_error"]
        for name in names
        if name != "under 10m"
    }
    assert errors == {"1h-4h": 2 * DAY - 2 * HOUR, "1d-7d": DAY + HOUR}
