"""Jobs submitted about together, and what they say about each other."""

from __future__ import annotations

from forecast_lab import asked_of, past_of
from slotwise.solver.forecast.jobs import ints
from slotwise.solver.forecast.runtimes import Batches, Ratios, RatioSettings

KIND = (1, 100, 2)
WAITS = -1
DAY = 86_400


def _ended(submit, run, kind=KIND, waited=5):
    return (*kind, submit, submit + waited, submit + waited + run)


def _mates(jobs, submit, *, known=None, running=(), most=10, apart=3_600):
    past = past_of(*jobs)
    here = asked_of(*((*KIND, elapsed) for elapsed in running), submit=submit - 7)
    rows = Batches(past, {KIND: ints(range(len(past)))}).mates(
        KIND, submit, len(past) if known is None else known, here, most, apart
    )
    return [past.submit[rows[0]].tolist(), rows[1].tolist()]


def test_mates_are_those_submitted_nearest_before_and_after():
    jobs = [_ended(submit, 10) for submit in (0, 4_999, 5_010, 5_300, 9_000)]
    assert _mates(jobs, 5_000) == [[4_999, 5_010, 5_300], []]
    assert _mates(jobs, 5_000, most=2) == [[4_999, 5_010], []]
    assert _mates(jobs, 5_000, apart=4_000) == [[4_999, 5_010, 5_300, 9_000], []]
    assert _mates(jobs, 50_000) == [[], []]


def test_running_mates_are_among_the_nearest():
    jobs = [_ended(submit, 10) for submit in (4_999, 5_010)]
    assert _mates(jobs, 5_000, running=(3, 40), most=3) == [[4_999], [0, 1]]


def test_what_has_not_ended_yet_is_no_mate():
    jobs = [_ended(4_999, 900), _ended(5_000, 10)]
    assert _mates(jobs, 5_001, known=1) == [[5_000], []]


def test_a_kind_without_a_past_has_no_mates():
    past = past_of(_ended(0, 10))
    ended, running = Batches(past, {}).mates(KIND, 0, 1, asked_of(), 10, DAY)
    assert (len(ended), len(running)) == (0, 0)


def _share_of(run, past, jobs, settings, known=5 * DAY):
    """How often the last of the jobs is drawn to run so long."""
    found = Ratios(past_of(*past), settings).draw(jobs, known, 4_000, 0)[-1]
    return float((found == run).mean())


def test_a_batch_weighs_one_a_job_beside_strays():
    past = [_ended(DAY, 90)] * 20 + [_ended(3 * DAY, 10)] * 2
    job = (*KIND, WAITS)
    settings = RatioSettings(alike_weight=3.0)
    of_kind = _share_of(10, past, asked_of(job, submit=4 * DAY), settings)
    assert 0 < of_kind < 0.5
    of_batch = _share_of(10, past, asked_of(job, submit=3 * DAY + 60), settings)
    assert abs(of_batch - (2 + 3 * of_kind) / 5) < 0.03


def test_mates_that_still_run_make_a_batch_longer():
    past = [_ended(DAY, 90)] * 20 + [_ended(3 * DAY, 10)] * 2
    waiting, running = (*KIND, WAITS), (*KIND, 50)
    few = RatioSettings(alike_weight=1e-6)
    alone = _share_of(90, past, asked_of(waiting, submit=3 * DAY), few)
    beside = _share_of(90, past, asked_of(running, running, waiting, submit=3 * DAY), few)
    assert alone < 0.01
    assert abs(beside - 0.5) < 0.03  # two ended at 10, two have outrun that


def test_a_batch_of_none_is_the_kind():
    past = [_ended(3 * DAY, 10)] * 3 + [_ended(3 * DAY, 90, (2, 100, 2))] * 9
    near, far = (asked_of((*KIND, WAITS), submit=time) for time in (3 * DAY, 9 * DAY))
    none = RatioSettings(max_batch=0)
    assert _share_of(10, past, near, none) == _share_of(10, past, far, none)
    assert _share_of(10, past, near, none) < _share_of(10, past, near, RatioSettings())
