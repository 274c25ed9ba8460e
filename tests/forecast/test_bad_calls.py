"""Calls of forecasts with what makes no sense: one InputError, nothing accepted in silence."""

from __future__ import annotations

import numpy as np
import pytest
import slotwise as sw
from forecast_lab import past_of
from slotwise import History

HISTORY = History(past_of(*((0, 100, 2, 90 * n, 90 * n, 90 * n + 50) for n in range(-30, -1))))


def _headline():
    return sw.load(sw.example("headline"))


def test_all_that_is_wrong_in_one_report():
    with pytest.raises(sw.InputError) as caught:
        sw.Drawing(samples="x", workers=0, calibration="nofile", seed=None)
    assert len(caught.value.problems) == 4


def test_whole_numbers_of_numpy_are_taken():
    found = sw.forecast(_headline(), HISTORY, samples=np.int64(3), seed=np.int64(1))
    same = sw.forecast(_headline(), HISTORY, samples=3, seed=1)
    assert found.samples.tolist() == same.samples.tolist()


@pytest.mark.parametrize("history", [None, 3, ["log"]])
def test_what_is_no_history(history):
    with pytest.raises(sw.InputError, match="history must be"):
        sw.forecast(_headline(), history)


@pytest.mark.parametrize("level", [-0.1, 1.5, float("nan"), "x", None, True])
def test_levels(level):
    found = sw.forecast(_headline(), HISTORY, samples=2)
    with pytest.raises(sw.InputError, match="level must be a number from 0 to 1"):
        found.quantile(level)
    assert (found.quantile(0) <= found.quantile(1)).all()


@pytest.mark.parametrize("request_", [None, 5, {"slots": 1}])
def test_what_a_planner_is_asked(request_):
    with pytest.raises(sw.InputError, match="request must be a Job or a bsub line"):
        sw.Planner(_headline()).ask(request_)
