"""Replay policies of one's own: the order of the queue, and who may be backfilled."""

from __future__ import annotations

import numpy as np
import pytest
from slotwise import InputError
from slotwise.solver.forecast.backtest import Replayed, backtest
from slotwise.solver.replay import (
    Checkpoint,
    QueuePolicy,
    QueueView,
    Replay,
    policy_names,
    replay,
)
from slotwise.solver.replay import policies as own
from slotwise.solver.replay.engine import synthetic


class ByArrival(QueuePolicy):
    """First come, first served: what EASY does."""

    name = "by-arrival"

    def order(self, waiting: QueueView, now: int) -> object:
        return waiting.submit


class ByRequest(ByArrival):
    """Shortest request first."""

    name = "by-request"

    def order(self, waiting: QueueView, now: int) -> object:
        return waiting.req_time


class NoBackfill(ByArrival):
    """In order of arrival, and nothing overtakes."""

    name = "no-backfill"

    def may_backfill(self, waiting: QueueView, now: int) -> object:
        return np.zeros(len(waiting), dtype=bool)


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_arrival_is_easy_and_without_backfill_fcfs(seed: int) -> None:
    log = synthetic(600, 32, load=1.1, seed=seed)
    for policy, known in ((ByArrival(), "easy"), (NoBackfill(), "fcfs")):
        for after in ("event", "timestamp"):
            ours = replay(log, policy=policy, procs=32, schedule_after=after)
            theirs = replay(log, policy=known, procs=32, schedule_after=after)
            assert ours.start.tolist() == theirs.start.tolist()


def test_a_stopped_replay_goes_on_with_its_policy() -> None:
    log = synthetic(400, 16, load=1.1)
    whole = replay(log, policy=ByRequest(), procs=16)
    session = Replay(log, ByRequest(), 16)
    session.advance(300)
    saved = Checkpoint.from_json(session.checkpoint().to_json())
    again = Replay.resume(log, saved, policy=ByRequest())
    while again.advance():
        pass
    assert again.result().start.tolist() == whole.start.tolist()
    with pytest.raises(InputError, match="unknown policy 'by-request'"):
        Replay.resume(log, saved)
    with pytest.raises(InputError, match="is of policy by-request, not by-arrival"):
        Replay.resume(log, saved, policy=ByArrival())


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        (lambda waiting: 3, "order must give one number for each of"),
        (lambda waiting: waiting.submit[:0], "of shape"),
        (lambda waiting: np.array(["a"] * len(waiting)), "order must give one number"),
        (lambda waiting: np.full(len(waiting), np.nan), "order must give one number"),
    ],
)
def test_an_order_that_is_none_is_refused(given: object, wrong: str) -> None:
    class Broken(QueuePolicy):
        name = "broken"

        def order(self, waiting: QueueView, now: int) -> object:
            return given(waiting)  # type: ignore[operator]

    with pytest.raises(InputError, match=f"policy broken: .*{wrong}"):
        replay(synthetic(20, 4), policy=Broken(), procs=4)


@pytest.mark.parametrize("policy", [3, object(), None])
def test_what_is_no_policy_is_refused(policy: object) -> None:
    with pytest.raises(InputError, match="must be a QueuePolicy"):
        replay(synthetic(20, 4), policy=policy, procs=4)  # type: ignore[arg-type]


def test_packages_name_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy of an installed package has its name everywhere; a broken one says whose it is."""
    from importlib.metadata import EntryPoint

    points = [
        EntryPoint("by-request", f"{__name__}:ByRequest", own.ENTRY_POINTS),
        EntryPoint("gone", "no.such.module:Policy", own.ENTRY_POINTS),
    ]
    monkeypatch.setattr(own, "entry_points", lambda group: points)
    assert policy_names()[-2:] == ("by-request", "gone")
    log = synthetic(100, 8, load=1.1)
    named = replay(log, policy="by-request", procs=8)
    assert named.start.tolist() == replay(log, policy=ByRequest(), procs=8).start.tolist()
    with pytest.raises(InputError, match=r"policy gone .no.such.module:Policy.: No module"):
        replay(log, policy="gone", procs=8)


def test_forecasts_run_the_queue_by_the_policy() -> None:
    """A backtest of the order of arrival answers as one of EASY; another order otherwise."""
    log = synthetic(300, 16, load=1.2)
    found = {
        name: backtest(Replayed.of(replay(log, policy=policy, procs=16)), jobs=12, samples=5)
        for name, policy in (("own", ByArrival()), ("easy", "easy"), ("saf", "saf"))
    }
    assert found["own"].quantiles.tolist() == found["easy"].quantiles.tolist()
    assert found["saf"].quantiles.tolist() != found["easy"].quantiles.tolist()
