"""Forecasts that are calibrated by a backtest of their own history first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from slotwise import Calibration, Cluster, History, Host, InputError, Instance, Job, Params, Queue
from slotwise.solver.budget import OutOfTime
from slotwise.solver.forecast.backtest import Replayed, backtest, calibration_of
from slotwise.solver.forecast.forecast import UNCALIBRATED
from slotwise.solver.forecast.history import Ended, history_of, numbered
from slotwise.solver.forecast.of_instance import (
    SimulatedLog,
    check_drawing,
    forecast,
    past_of_history,
)
from slotwise.solver.replay import replay

SLOTS, LAST = 8, 60_000


def ended(count: int, seed: int = 0) -> list[Ended]:
    """Jobs of four users that use any part of their limits."""
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(0, 220 * count, count)).tolist()
    found = []
    for number, time in enumerate(submit):
        limit = int(draw.integers(2, 12)) * 100
        slots, user = int(draw.integers(1, 6)), f"user{draw.integers(4)}"
        job = Job(str(number), slots, user=user, run_limit=limit, submit=time)
        start = time + int(draw.integers(0, 500))
        found.append(Ended(job, start, start + max(1, int(limit * draw.uniform(0.05, 1)))))
    return found


def now(hosts: tuple[Host, ...] = (Host("pool", SLOTS),)) -> Instance:
    """A few jobs wait on an empty cluster."""
    pending = tuple(Job(f"p{n}", 5, user=f"user{n}", run_limit=900, submit=LAST) for n in range(4))
    return Instance(Cluster(hosts), pending=pending, now=LAST)


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(ended(200))


def test_the_factors_are_those_of_a_backtest_of_the_same_log(history: History) -> None:
    order = sorted(ended(200), key=lambda item: item.job.submit)
    workload, names = numbered(
        [item.job for item in order],
        [item.end - item.start for item in order],
        [item.job.run_limit or 0 for item in order],
    )
    past = Replayed.of(replay(workload, policy="fcfs", procs=SLOTS), names)
    expected = calibration_of(backtest(past, jobs=40, samples=20, seed=3))
    told: list[int] = []
    options = {"samples": 20, "seed": 3, "policy": "fcfs"}
    found = forecast(now(), history, calibrate=40, tell=told.append, **options)
    assert found.calibration == expected
    assert expected.forecasts == len(told) == 40
    assert expected.late != 1
    again = forecast(now(), history, calibration=expected, **options)
    assert again.records() == found.records()
    raw = forecast(now(), history, **options)
    assert (raw.samples == found.samples).all()
    assert raw.records() != found.records()


def test_over_hosts_the_history_is_run_by_the_loop() -> None:
    site = replace(
        now((Host("a", 4), Host("b", 4))),
        queues=(Queue("default", 20, user_shares=(("default", 1),)),),
        params=Params(mbd_sleep_time=20),
        now=LAST,
        pending=(Job("p", 4, user="user1", run_limit=900, submit=LAST),),
    )
    history = history_of(ended(90))
    past = past_of_history(site, history, "easy")
    assert isinstance(past, SimulatedLog)
    assert len(past.log) == 90
    found = forecast(site, history, calibrate=25, samples=4)
    assert found.calibration == calibration_of(backtest(past, jobs=25, samples=4))
    assert found.calibration.forecasts == 25


def test_what_is_refused(history: History) -> None:
    for wrong in (0, -1, 1.5, True, "20"):
        with pytest.raises(InputError, match="calibrate must be a whole number"):
            forecast(now(), history, calibrate=wrong)  # type: ignore[arg-type]
    for right in (1, 60, np.int64(3), None):
        check_drawing(1, 0, 1, UNCALIBRATED, right)
    for wrong in (0, -1, 1.5, True, "20"):
        with pytest.raises(InputError, match=f"precision must be whole .* more, not {wrong!r}$"):
            check_drawing(1, 0, 1, UNCALIBRATED, wrong)
    with pytest.raises(InputError, match="give one of them"):
        forecast(now(), history, calibrate=20, calibration=Calibration(0.9, 1.1, 30))


def test_a_history_where_nobody_waits_says_so(history: History) -> None:
    wide = replace(now(), cluster=Cluster((Host("pool", 1000),)))
    found = forecast(wide, history, calibrate=20, samples=20)
    assert found.calibration.forecasts == 0
    (remark,) = found.remarks
    assert remark.startswith(
        "warning: not calibrated: the history: no job after the first quarter waited"
    )


def test_stopped_while_it_calibrates_there_is_no_answer(history: History) -> None:
    told: list[int] = []
    with pytest.raises(OutOfTime):
        forecast(
            now(),
            history,
            calibrate=40,
            samples=5,
            tell=told.append,
            should_stop=lambda: len(told) > 2,
        )
    assert told == [1, 2, 3]
