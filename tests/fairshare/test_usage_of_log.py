"""Past usage summed up from finished jobs, against sums by hand (FSH-03, QBF-07)."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fairshare.lab import cluster
from slotwise import Instance, Job, Params, Queue, RunningJob, UserGroup
from slotwise.model.sources.finished_jobs import FinishedJob
from slotwise.solver.fairshare.reports import PastUsage

#: Seconds since 1970 of the instance's second 0.
ZERO = 1_000_000
NOW = 50_000
FACTORS = Params(run_time_factor=0.7, enable_hist_run_time=True)
SHARED = Queue("q", user_shares=(("ann", 1), ("ben", 1)))


def finished(name: str, start: int, end: int, user: str = "ann", **more: object) -> FinishedJob:
    """A job over [start, end) of the instance, on three slots of h1, with 600 s of CPU time."""
    job = FinishedJob(
        name, user, "q", "default", ZERO, 0, ZERO + start, ZERO + end, 3, 3, {"h1": 3}, "", None,
        600.0, 64,
    )  # fmt: skip
    return replace(job, **more)  # type: ignore[arg-type]


def summed(instance: Instance, *jobs: FinishedJob) -> tuple[Instance, int]:
    usage = PastUsage(instance, ZERO)
    for job in jobs:
        usage.add(job)
    return usage.instance_with_usage(), usage.counted


def decayed(seconds: float) -> float:
    """What is left of usage after so long: a tenth after HIST_HOURS (5)."""
    return float(0.1 ** (seconds / (5 * 3600)))


def spread(cpu: float, start: int, end: int) -> float:
    """The CPU time used evenly over [start, end), each second decayed until now, by sums."""
    return math.fsum(cpu / (end - start) * decayed(NOW - at - 0.5) for at in range(start, end))


@pytest.mark.behaviour("FSH-03")
def test_cpu_time_is_spread_over_the_run_and_run_time_counts_from_the_end() -> None:
    instance = Instance(cluster(10), (SHARED,), params=FACTORS, now=NOW)
    jobs = (
        finished("1", 10_000, 20_000),
        finished("2", 30_000, 30_500, cpu_time=100.0),
        finished("3", 40_000, NOW, user="ben"),
    )
    found, counted = summed(instance, *jobs)
    ann, ben = found.share_usage
    assert counted == 3
    assert (ann.policy, ann.account, ann.stamp) == ("q", "ann", NOW)
    assert ann.cpu_time == pytest.approx(
        spread(600, 10_000, 20_000) + spread(100, 30_000, 30_500), abs=2e-3
    )
    assert ann.historical_run_time == pytest.approx(
        10_000 * decayed(30_000) + 500 * decayed(19_500), abs=2e-3
    )
    assert ben.cpu_time == pytest.approx(spread(600, 40_000, NOW), abs=2e-3)
    assert ben.historical_run_time == pytest.approx(10_000)


@pytest.mark.behaviour("FSH-03")
def test_a_job_without_length_leaves_its_cpu_time_at_its_end() -> None:
    instance = Instance(cluster(10), (SHARED,), params=FACTORS, now=NOW)
    found, _ = summed(instance, finished("1", 20_000, 20_000))
    (ann,) = [use for use in found.share_usage if use.account == "ann"]
    assert ann.cpu_time == pytest.approx(600 * decayed(30_000), abs=2e-3)
    assert ann.historical_run_time == 0


@pytest.mark.behaviour("FSH-03")
def test_who_does_not_count() -> None:
    """No start, an end after now, a job that runs again, a user or a queue without shares."""
    again = RunningJob(Job("9", user="ann", queue="q"), NOW - 1, {"h1": 1})
    instance = Instance(
        cluster(10), (SHARED, Queue("other")), params=FACTORS, now=NOW, running=(again,)
    )
    one = finished("1", 40_000, NOW)
    left_out = (
        replace(finished("2", 0, 10), start=0),
        finished("3", 40_000, NOW + 1),
        finished("9", 10, 20),
        finished("4", 10, 20, user="eve"),
        finished("5", 10, 20, queue="other"),
    )
    assert summed(instance, *left_out)[1] == 0
    found, number = summed(instance, one, *left_out)
    alone, _ = summed(instance, one)
    assert number == 1
    assert found.share_usage == alone.share_usage


@pytest.mark.behaviour("QBF-07")
def test_slots_of_a_pool_add_up_over_the_run() -> None:
    queues = tuple(Queue(name, 50, slot_pool="P", slot_share=50) for name in "ab")
    instance = Instance(cluster(10), queues, params=FACTORS, now=NOW)
    jobs = (finished("1", 40_000, 41_000, queue="a"), finished("2", 45_000, 47_000, queue="a"))
    found, _ = summed(instance, *jobs)
    (use,) = found.pool_usage
    assert (use.queue, use.stamp) == ("a", NOW)
    expected = spread(3 * 1000, 40_000, 41_000) + spread(3 * 2000, 45_000, 47_000)
    assert use.slot_seconds == pytest.approx(expected, abs=2e-3)
    fresh, _ = summed(instance, finished("1", NOW - 10, NOW, queue="b"))
    assert [item.queue for item in fresh.pool_usage] == ["b"]
    assert fresh.pool_usage[0].slot_seconds == pytest.approx(spread(30, NOW - 10, NOW), abs=2e-3)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize(
    ("charged", "account"),
    [
        ("", "one/ann"),  # the first of the user's accounts
        ("/two/ann", "two/ann"),
        ("two/ann", "two/ann"),
        ("/elsewhere/two/ann", "two/ann"),  # a tree of which this one is a part
        ("/elsewhere/ann", "one/ann"),
        ("/two/ben", "one/ann"),  # another user's
    ],
)
def test_the_account_that_the_log_names(charged: str, account: str) -> None:
    groups = tuple(UserGroup(name, ("ann",), (("ann", 1),)) for name in ("one", "two"))
    queue = Queue("q", user_shares=(("one", 1), ("two", 1)))
    instance = Instance(cluster(10), (queue,), params=FACTORS, now=NOW, groups=groups)
    found, counted = summed(instance, finished("1", 40_000, NOW, charged=charged))
    assert counted == 1
    used = [use.account for use in found.share_usage if use.cpu_time]
    assert account in used
    other = {"one/ann": "two/ann", "two/ann": "one/ann"}[account]
    assert other not in used
