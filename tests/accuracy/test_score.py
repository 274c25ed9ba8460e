"""The measures by hand, and which estimates of a job count in which line of a table."""

import numpy as np
import pytest
from slotwise.cli.serve.polls import JobEstimate, PolledState
from slotwise.cli.serve.score import Score, score_of
from slotwise.cli.serve.store import Store
from slotwise.model.display import DAY, HOUR, MINUTE
from slotwise.solver.accuracy.measures import Accuracy, accuracy
from slotwise.solver.accuracy.score import HORIZON_NAMES


def line(found: Score, method: str, group: str = "") -> Accuracy:
    (chosen,) = [item for item in found.groups if item.group == group]
    return next(item for item in chosen.estimators if item.estimator == method)


def test_an_estimate_without_a_start_counts_nowhere():
    truth = np.array([10, 20])
    found = accuracy("x", truth, np.array([np.inf, 30.0]))
    assert (found.jobs, found.mean_error) == (1, 10)
    bounds = (np.array([1.0, 2.0]), np.array([40.0, np.inf]))
    assert accuracy("x", truth, np.array([30.0, 30.0]), *bounds).jobs == 1
    assert accuracy("x", truth, np.full(2, np.inf)) == Accuracy("x", 0, None, None)


def waiting(name: str, at: int, slots: int = 1, queue: str = "q", **starts: int) -> JobEstimate:
    return JobEstimate(name, 0, "u", queue, slots, **{n: at + t for n, t in starts.items()})


@pytest.fixture(scope="module")
def store():
    """Job a waits two days, its estimate comes closer; b starts at once; c has no start yet."""
    with Store.open(":memory:") as opened:
        states = [
            (0, [waiting("a", 0, 4, "long", as_configured=2 * HOUR)]),
            (HOUR, [waiting("a", HOUR, 4, "long", as_configured=3 * DAY, printed=5 * MINUTE)]),
            (DAY, [waiting("a", DAY, 4, "long", as_configured=DAY + HOUR, printed=5 * MINUTE)]),
            (2 * DAY - 60, [waiting("b", 2 * DAY - 60, as_configured=0), waiting("c", 0)]),  # no a
        ]
        for at, pending in states:
            opened.record(PolledState(at, False, tuple(pending)))
        running = {("a", 0): 2 * DAY, ("b", 0): 2 * DAY - 90}
        alive = PolledState(2 * DAY, False, (waiting("a", 2 * DAY, 4), waiting("b", 2 * DAY)), {})
        opened.record(alive)
        opened.record(PolledState(2 * DAY + 60, False, (waiting("c", 0, likely=9),), running))
        yield opened


def test_a_job_counts_once_in_a_line(store: Store):
    found = line(score_of(store), "as configured")
    # a by its first estimate, 46 hours too early; b started in the minute in which it was asked.
    assert (found.jobs, found.mean_error, found.bias) == (2, 23 * HOUR, -23 * HOUR)
    assert line(score_of(store), "printed").mean_error == 2 * DAY - HOUR - 5 * MINUTE


def test_a_horizon_is_the_estimated_wait(store: Store):
    found = score_of(store, "horizon")
    errors = {
        group.group: line(found, "as configured", group.group).mean_error
        for group in found.groups[1:]
        if group.group != "under 10m"
    }
    assert errors == {"1h-4h": 2 * DAY - 2 * HOUR, "1d-7d": DAY + HOUR}
    assert [group.group for group in found.groups[1:]] == [
        name for name in HORIZON_NAMES if name in ("under 10m", "1h-4h", "1d-7d")
    ]
