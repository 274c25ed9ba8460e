"""A log served in fast motion: the score of the store is that of a backtest, by another path."""

from dataclasses import replace

import pytest
from slotwise.model.display import DAY
from slotwise.model.workload import Workload
from slotwise.solver.accuracy.measures import Accuracy
from slotwise.solver.forecast.backtest import (
    Replayed,
    accuracies,
    backtest,
    calibration_of,
    reliability,
)
from slotwise.solver.replay import replay
from store_cases import scored
from traces import log

#: Methods of a store, and the estimators of a backtest that are the same.
SAME = {
    "as configured": "by limits",
    "likely, uncalibrated": "forecast",
    "likely": "calibrated",
}
#: Fields that calibrated bounds touch; the forecast rounds them to seconds, a backtest does not.
ROUNDED = {"loss_late", "by_late", "by_early"}


def part(whole: Workload, first: int, last: int) -> Workload:
    """The jobs submitted between two seconds."""
    rows = (whole.submit >= first) & (whole.submit < last)
    columns = {name: column[rows] for name, column in whole.columns().items()}
    return replace(whole, **columns)


def check(excerpt: Workload, questions: int, samples: int) -> None:
    result = replay(excerpt, policy="easy")
    replayed = Replayed.of(result)
    asked = backtest(replayed, jobs=questions, samples=samples, seed=5)
    scores, calibration = scored(replayed, asked.row.tolist(), samples=samples, seed=5)
    expected = {(group.by, group.group): group for group in accuracies(replayed, asked)}
    found = {(group.by, group.group): group for group in scores["size"].groups}
    assert len(found) > 3
    assert found.keys() == {key for key in expected if key[0] != "queue"}
    for key in found:
        assert found[key].jobs == expected[key].jobs
        assert found[key].mean_wait == expected[key].mean_wait
        theirs = {item.estimator: item for item in expected[key].estimators}
        ours = {item.estimator: item for item in found[key].estimators}
        assert ours.keys() == SAME.keys()
        for mine, other in SAME.items():
            same(ours[mine], theirs[other])
    assert scores["method"].groups == (found["all", ""],)
    assert calibration == calibration_of(asked)
    for ours_row, row in zip(scores["method"].reliability, reliability(asked), strict=True):
        assert ours_row[:2] == row[:2]
        assert ours_row[2] == pytest.approx(row[2], abs=1 / questions)


def same(mine: Accuracy, other: Accuracy) -> None:
    """All measures are equal to the bit, but for what is rounded."""
    theirs = other.to_dict()
    rounded = {name for name in ROUNDED if theirs[name] is not None and mine.estimator == "likely"}
    for name, value in theirs.items():
        if name in rounded:
            close = 1.0 if name == "loss_late" else 1 / other.jobs
            assert getattr(mine, name) == pytest.approx(value, abs=close), name
        elif name != "estimator":
            assert getattr(mine, name) == value, name


def test_an_excerpt_served_in_fast_motion_has_the_score_of_a_backtest():
    whole = log("KTH-SP2")
    begin = int(whole.submit[4000])
    check(part(whole, begin, begin + 4 * DAY), 24, 3)


@pytest.mark.slow
def test_a_month_served_in_fast_motion_has_the_score_of_a_backtest():
    whole = log("KTH-SP2")
    begin = int(whole.submit[4000])
    check(part(whole, begin, begin + 30 * DAY), 120, 20)
