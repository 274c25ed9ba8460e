"""The rules that decide a schedule, each on a queue small enough to follow by hand."""

import pytest
from slotwise import InputError
from slotwise.model.formats.sealed import CHECKPOINT
from slotwise.model.workload import Workload
from slotwise.solver.replay import Checkpoint, Replay, measure, replay
from slotwise.solver.replay.engine import ProcessorProfile
from slotwise.solver.scheduler.events import EventKind, EventQueue
from slotwise.solver.scheduler.metrics import bounded_slowdown
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


def test_extra_processors_may_be_used_beyond_the_shadow():
    """The head needs 3 of 4 at time 10, so one processor is free for a long job."""
    jobs = [(0, 10, 10, 3), (1, 5, 5, 3), (2, 99, 99, 1)]
    assert starts(jobs, "easy") == [0, 10, 2]


def test_sjbf_tries_the_shortest_request_first():
    """One processor comes free at 3: by arrival the third job takes it, by length the fourth."""
    jobs = [(0, 10, 10, 3), (0, 3, 3, 1), (1, 5, 5, 4), (2, 7, 7, 1), (2, 4, 4, 1)]
    assert starts(jobs, "easy") == [0, 0, 10, 3, 15]
    assert starts(jobs, "easy-sjbf") == [0, 0, 10, 15, 3]


def test_a_submission_is_scheduled_before_an_end_at_the_same_time():
    """At 5 a small job arrives and the first ends early: after the arrival the head's shadow is
    still 10, so the small job passes it; looked at together, the head goes first."""
    jobs = [(0, 5, 10, 3), (1, 5, 5, 4), (5, 5, 5, 1)]
    assert starts(jobs, "easy", schedule_after="event") == [0, 10, 5]
    assert starts(jobs, "easy", schedule_after="timestamp") == [0, 5, 10]
    assert starts(jobs, "easy") == [0, 10, 5]


def test_a_planned_end_frees_processors_for_a_submission_at_that_time():
    """At 10 one job ends as planned and one early; the submission, which comes first, may use
    the processors of the former and does not know of the latter."""
    jobs = [(0, 10, 10, 2), (0, 10, 20, 2), (1, 5, 5, 4), (10, 5, 5, 2)]
    assert starts(jobs, "easy") == [0, 0, 15, 10]
    assert starts(jobs, "easy", schedule_after="timestamp") == [0, 0, 10, 15]


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


def test_replan_does_not_look_before_all_ends_of_a_timestamp():
    jobs = [(0, 5, 10, 3), (1, 5, 5, 4), (5, 5, 5, 1)]
    assert starts(jobs, "replan") == [0, 5, 10]
    assert starts(jobs, "replan", schedule_after="event") == [0, 10, 5]


def test_jobs_that_cannot_run_are_left_out_and_counted():
    log = Workload.of([0, 0, 0, 0, 5], [0, 5, 5, 5, 9], [5, 0, 5, 5, 4], [1, 1, 0, 9, 2])
    result = replay(log, policy="fcfs", procs=4)
    assert result.workload.job.tolist() == [5]
    assert result.end.tolist() == [9], "the run is cut to the request"
    assert dict(result.workload.left_out) == {
        "run time not positive": 1,
        "requested time not positive": 1,
        "requested processors not positive": 1,
        "more than the machine's 4 processors": 1,
    }


def test_canonical_order_is_by_submission_then_number():
    log = Workload.of([7, 3, 3], [1, 1, 1], [1, 1, 1], [1, 1, 1], job=[1, 9, 2])
    result = replay(log, policy="fcfs", procs=1)
    assert result.columns()["job"].tolist() == [2, 9, 1]
    assert result.start.tolist() == [3, 4, 7]


def test_metrics_by_hand():
    """Waits 0, 10 and 15 - of runs 10, 5 and 20 on 4 processors."""
    jobs = [(0, 10, 10, 3), (0, 5, 5, 4), (0, 20, 20, 1)]
    result = replay(Workload.of(*zip(*jobs, strict=True)), policy="fcfs", procs=4)
    assert result.wait.tolist() == [0, 10, 15]
    slowdown = bounded_slowdown(result.wait, result.workload.run_time)
    assert slowdown.tolist() == [1.0, 1.5, 1.75]
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
    with pytest.raises(InputError, match="no job that can be replayed"):
        measure(replay(Workload.of([], [], [], []), procs=1))


def test_stop_gives_what_is_known():
    log = Workload.of(range(0, 2000, 2), [1] * 1000, [1] * 1000, [1] * 1000)
    result = replay(log, procs=1, should_stop=lambda: True)
    assert not result.complete
    assert 0 < int((result.start >= 0).sum()) < 1000


def test_bad_arguments_are_refused():
    log = Workload.of([0], [1], [1], [1])
    with pytest.raises(InputError, match="unknown policy 'lifo': use one of fcfs, easy, "):
        replay(log, policy="lifo", procs=1)
    with pytest.raises(InputError, match="choose event or timestamp"):
        replay(log, procs=1, schedule_after="sometimes")
    with pytest.raises(InputError, match="MaxProcs"):
        replay(log)
    with pytest.raises(InputError, match="at least 1"):
        replay(log, procs=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "nonsense", "is not a checkpoint"),
        (lambda text: "[]", "is not a checkpoint"),
        (lambda text: text.replace('"easy"', '"lifo"'), "damaged"),
        (lambda text: text.replace(f'"version":{CHECKPOINT.version}', '"version":9'), "version 9"),
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


def test_events_come_by_time_then_kind_then_order_of_pushing():
    queue = EventQueue()
    for time, kind, job in [
        (5, EventKind.START, 1),
        (5, EventKind.END, 9),
        (5, EventKind.END, 2),
        (4, 2, 3),
    ]:
        queue.push(time, kind, job)
    queue.push(5, EventKind.SUBMIT, 7)
    copy = EventQueue(*queue.state())
    order = [[source.pop()[3] for _ in range(5)] for source in (queue, copy)]
    assert order == [[3, 7, 9, 2, 1]] * 2
    assert not queue


@pytest.mark.parametrize(
    ("taken", "times", "free"),
    [
        ([(2, 5, 3)], [0, 2, 5], [4, 1, 4]),
        ([(0, 5, 3)], [0, 5], [1, 4]),
        ([(0, 5, 3), (5, 9, 3)], [0, 9], [1, 4]),
        ([(0, 5, 3), (2, 8, 1)], [0, 2, 5, 8], [1, 0, 3, 4]),
        ([(0, 5, 3), (2, 8, 1), (2, 8, -1)], [0, 5], [1, 4]),
    ],
)
def test_profile_keeps_the_shortest_list_of_steps(taken, times, free):
    profile = ProcessorProfile([0], [4])
    for start, end, procs in taken:
        profile.take(start, end, procs)
    assert (profile.times, profile.free) == (times, free)


def test_profile_finds_the_earliest_window():
    profile = ProcessorProfile([0, 5, 8, 12], [1, 3, 0, 4])
    assert profile.earliest(1, 8, 0) == 0
    assert profile.earliest(1, 9, 0) == 12, "the window would reach into the full step"
    assert profile.earliest(3, 3, 0) == 5
    assert profile.earliest(3, 4, 0) == 12
    assert profile.earliest(2, 1, 6) == 6
    assert profile.earlier(3, 3, 0, 20) == 5
    assert profile.earlier(4, 2, 0, 12) == 12
    profile.forget_before(6)
    assert profile.times == [5, 8, 12]


def test_a_reservation_of_a_replay_that_is_stopped_is_no_start():
    """At second 2 the head, which needs all, has a place at 10; who has not come has none."""
    log = Workload.of(*zip(*QUEUE, strict=True), max_procs=4)
    session = Replay(log, policy="conservative", procs=4)
    while session.now < 2:
        session.advance(1)
    assert session.result().start.tolist() in ([0, -1, -1, -1], [0, -1, 2, -1])
    assert not session.result().complete


def test_a_synthetic_log_asks_for_no_less_than_it_runs():
    log = synthetic(2000, 64, seed=5)
    assert (log.req_time % 60 == 0).all()
    ratio = log.req_time / log.run_time
    assert ratio.min() >= 1
    assert ratio.max() <= 5 + 60 / log.run_time.min()
    assert 2.5 < ratio.mean() < 3.5
    assert (log.procs <= 32).all()
