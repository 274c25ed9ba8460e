"""The rules that decide a schedule, each on a queue small enough to follow by hand."""

from slotwise.solver.replay.engine import ProcessorProfile


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
