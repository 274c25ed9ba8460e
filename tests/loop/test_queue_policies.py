"""Replay policies of one's own: the order of the queue, and who may be backfilled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from slotwise import InputError
from slotwise.model.workload import Workload
from slotwise.solver.forecast.backtest import Replayed, backtest
from slotwise.solver.replay import (
    Checkpoint,
    QueuePolicy,
    QueueView,
    Replay,
    measure,
    policy_names,
    replay,
)
from slotwise.solver.replay import policies as own
from synthetic_log import synthetic


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


def literal(log: Workload, procs: int, order: QueuePolicy) -> list[int]:
    """EASY in the order of a policy, second by second, as its description says."""
    start = [-1] * len(log)
    submit, run, asked, size = (
        column.tolist() for column in (log.submit, log.run_time, log.req_time, log.procs)
    )

    def running(now: int) -> list[int]:
        return [j for j in range(len(log)) if 0 <= start[j] <= now < start[j] + run[j]]

    def free(now: int) -> int:
        return procs - sum(size[j] for j in running(now))

    now = submit[0]
    while -1 in start:
        queue = [j for j in range(len(log)) if start[j] < 0 and submit[j] <= now]
        queue.sort(key=lambda j: (order_of(order, log, j, now), j))
        while queue and size[queue[0]] <= free(now):
            start[queue.pop(0)] = now
        if queue:
            shadow, extra = reservation(queue[0], now, running(now), start, asked, size, procs)
            for job in queue[1:]:
                ends_in_time = now + asked[job] <= shadow
                if size[job] <= free(now) and (ends_in_time or size[job] <= extra):
                    extra -= 0 if ends_in_time else size[job]
                    start[job] = now
        now += 1
    return start


def order_of(policy: QueuePolicy, log: Workload, job: int, now: int) -> float:
    here = slice(job, job + 1)
    one = QueueView(*(getattr(log, name)[here] for name in QueueView.__slots__))
    return float(np.asarray(policy.order(one, now))[0])


def reservation(
    head: int,
    now: int,
    running: Sequence[int],
    start: list[int],
    asked: list[int],
    size: list[int],
    procs: int,
) -> tuple[int, int]:
    """The first planned end at which the head fits, and what is free then beside it."""
    for shadow in sorted({start[j] + asked[j] for j in running}):
        left = procs - sum(size[j] for j in running if start[j] + asked[j] > shadow)
        if left >= size[head]:
            return shadow, left - size[head]
    raise AssertionError("the machine is large enough")


@pytest.mark.parametrize("policy", [own.SmallestArea(), own.Wfp3(), own.F1(), ByRequest()])
def test_orders_of_the_literature_as_a_literal_replay_has_them(policy: QueuePolicy) -> None:
    random = np.random.default_rng(7)
    for _ in range(6):
        count = 25
        submit = np.sort(random.integers(0, 60, count))
        run = random.integers(1, 12, count)
        log = Workload.of(
            submit, run, run * random.integers(1, 3, count), random.integers(1, 6, count)
        )
        found = replay(log, policy=policy, procs=6, schedule_after="timestamp")
        assert found.start.tolist() == literal(found.workload, 6, policy)


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
    with pytest.raises(InputError, match="has policy by-request, not by-arrival"):
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
        name: backtest(Replayed.of(replay(log, policy=policy, procs=16)), jobs=8, samples=3)
        for name, policy in (("own", ByArrival()), ("easy", "easy"), ("saf", "saf"))
    }
    assert found["own"].quantiles.tolist() == found["easy"].quantiles.tolist()
    assert found["saf"].quantiles.tolist() != found["easy"].quantiles.tolist()


def test_saf_serves_the_mean_slowdown_better_than_arrival() -> None:
    """As its authors found: on an overfull machine the mean slowdown falls by a good part."""
    log = synthetic(1500, 64, load=1.0, seed=3)
    slowdown = {
        policy: measure(replay(log, policy=policy, procs=64)).mean_bounded_slowdown
        for policy in ("easy", "saf")
    }
    assert slowdown["saf"] < 0.7 * slowdown["easy"]
