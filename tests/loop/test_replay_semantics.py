"""The rules that decide a schedule, each on a queue small enough to follow by hand."""

import re

import pytest
from slotwise import InputError
from slotwise.model.workload import Workload
from slotwise.solver.replay import Checkpoint, Replay, measure, replay
from synthetic_log import synthetic


def starts(jobs, policy, procs=4, **options):
    """`jobs` are (submit, run, request, size)."""
    log = Workload.of(*zip(*jobs, strict=True))
    return replay(log, policy=policy, procs=procs, **options).start.tolist()


# A holds 3 of 4 until 10 by its request; H needs all 4.
QUEUE = [(0, 10, 10, 3), (1, 5, 5, 4), (2, 8, 8, 1), (3, 9, 9, 1)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("fcfs", [0, 10, 15, 15]), ("easy", [0, 10, 2, 15]), ("conservative", [0, 10, 2, 15])],
)
def test_backfilling_lets_only_those_pass_who_do_not_delay_the_head(policy, expected):
    """The third job ends exactly at the head's reservation; the fourth would end after it."""
    assert starts(QUEUE, policy) == expected


def test_sjbf_tries_the_shortest_request_first():
    """One processor comes free at 3: by arrival the third job takes it, by length the fourth."""
    jobs = [(0, 10, 10, 3), (0, 3, 3, 1), (1, 5, 5, 4), (2, 7, 7, 1), (2, 4, 4, 1)]
    assert starts(jobs, "easy") == [0, 0, 10, 3, 15]
    assert starts(jobs, "easy-sjbf") == [0, 0, 10, 15, 3]


def test_conservative_keeps_promises_that_replanning_breaks():
    """At 3 the second job ends early. The fourth was promised 3 and keeps it; planned anew in
    order of arrival, the third takes the machine and the fourth waits longer than promised."""
    jobs = [(0, 3, 3, 1), (0, 3, 4, 1), (2, 1, 1, 2), (2, 1, 1, 1)]
    assert starts(jobs, "conservative", procs=2) == [0, 0, 4, 3]
    assert starts(jobs, "replan", procs=2) == [0, 0, 3, 4]


def test_conservative_compresses_at_ends_that_come_as_planned_too():
    """A job moved in one pass can leave room for an earlier one, which only the next pass uses:
    the third job gets from 9 to 7 when the second or the last ends exactly as planned."""
    jobs = [(1, 3, 6, 2), (1, 3, 3, 1), (2, 6, 6, 2), (3, 2, 2, 1)]
    assert starts(jobs, "conservative", procs=2) == [1, 4, 7, 4]


def test_metrics_by_hand():
    """Waits 0, 10 and 15 - of runs 10, 5 and 20 on 4 processors."""
    jobs = [(0, 10, 10, 3), (0, 5, 5, 4), (0, 20, 20, 1)]
    result = replay(Workload.of(*zip(*jobs, strict=True)), policy="fcfs", procs=4)
    assert result.wait.tolist() == [0, 10, 15]
    metrics = measure(result)
    assert metrics.mean_wait == pytest.approx(25 / 3)
    assert metrics.median_wait == 10
    assert metrics.mean_bounded_slowdown == pytest.approx(4.25 / 3)
    assert metrics.utilisation == pytest.approx((30 + 20 + 20) / (4 * 35))


def test_metrics_need_a_finished_replay():
    session = Replay(Workload.of([0, 1], [5, 5], [5, 5], [1, 1]), "easy", 1)
    session.advance(2)
    partial = session.result()
    assert not partial.complete
    assert partial.start.tolist() == [0, -1]
    with pytest.raises(InputError, match="stopped before its end"):
        measure(partial)
    with pytest.raises(InputError, match="no job to replay"):
        measure(replay(Workload.of([], [], [], []), procs=1))


def test_bad_arguments_are_refused():
    log = Workload.of([0], [1], [1], [1])
    with pytest.raises(InputError, match="unknown policy 'lifo': use one of fcfs, easy, "):
        replay(log, policy="lifo", procs=1)
    with pytest.raises(InputError, match="must be event or timestamp"):
        replay(log, procs=1, schedule_after="sometimes")
    with pytest.raises(InputError, match="MaxProcs"):
        replay(log)
    with pytest.raises(InputError, match="1 processor or more"):
        replay(log, procs=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "nonsense", "is not a checkpoint"),
        (lambda text: "[]", "is not a checkpoint"),
        (lambda text: text.replace('"easy"', '"lifo"'), "damaged"),
        (lambda text: re.sub(r'"version":\d+', '"version":9', text), "version 9"),
        (lambda text: text.replace('"free":0', '"free":1'), "damaged"),
    ],
)
def test_a_damaged_checkpoint_is_refused(change, message):
    log = Workload.of([0, 1], [5, 5], [5, 5], [1, 1])
    session = Replay(log, "easy", 1)
    session.advance(2)
    text = change(session.checkpoint().to_json())
    with pytest.raises(InputError, match=message):
        Replay.resume(log, Checkpoint.from_json(text))


def test_a_checkpoint_of_another_log_is_refused():
    saved = Replay(Workload.of([0], [5], [5], [1]), "easy", 1).checkpoint()
    with pytest.raises(InputError, match="another log"):
        Replay.resume(Workload.of([0], [6], [6], [1]), saved)


def test_a_synthetic_log_asks_for_no_less_than_it_runs():
    log = synthetic(2000, 64, seed=5)
    assert (log.req_time % 60 == 0).all()
    ratio = log.req_time / log.run_time
    assert ratio.min() >= 1
    assert ratio.max() <= 5 + 60 / log.run_time.min()
    assert 2.5 < ratio.mean() < 3.5
    assert (log.procs <= 32).all()
