"""The rules that decide a schedule, each on a queue small enough to follow by hand."""

from slotwise.solver.replay.engine import ProcessorProfile, synthetic


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


def test_a_synthetic_log_asks_for_no_less_than_it_runs():
    log = synthetic(2000, 64, seed=5)
    assert (log.req_time % 60 == 0).all()
    ratio = log.req_time / log.run_time
    assert ratio.min() >= 1
    assert ratio.max() <= 5 + 60 / log.run_time.min()
    assert 2.5 < ratio.mean() < 3.5
    assert (log.procs <= 32).all()
