"""What starts, ends, reservations, resizes and suspensions do to an account's priority."""

import json
import math
from dataclasses import replace

import pytest
from fairshare.lab import SLOTS_ONLY, instance, jobs
from slotwise import Cluster, Host, Instance, Job, Params, Queue, RunningJob
from slotwise.solver.fairshare.dispatch_order import order_policy


@pytest.mark.behaviour("FSH-04")
def test_reserved_slots_count_like_slots_in_use():
    problem = instance(Queue("default", user_shares=(("a", 3), ("b", 2))))
    order = order_policy(problem)
    order.begin(0, jobs("a a b"))
    first = order.next()
    order.reserved(first.job, {"h1": 6}, 0)
    order.skipped(first.job)
    assert order.next().job.user == "b"
    (a,) = order.trees["default"].accounts("a")
    assert (a.slots, a.reserved) == (0, 6)
    order.started(first.job, {"h1": 8}, 60)
    assert (a.slots, a.reserved) == (8, 0)


@pytest.mark.behaviour("FSH-15")
def test_resizing_counts_at_once():
    problem = instance(
        Queue("default", user_shares=(("a", 1), ("b", 1))),
        running=(
            RunningJob(Job("r", 2, user="a"), 0, {"h1": 2}),
            RunningJob(Job("s", 3, user="b"), 0, {"h1": 3}),
        ),
    )
    order = order_policy(problem)
    order.begin(0, jobs("b a"))
    assert order.next().job.user == "a"
    order.resized("r", {"h1": 6}, 0)
    assert order.next().job.user == "a", "an offer stands until it is answered"
    order.begin(0, jobs("b a"))
    assert order.next().job.user == "b"
    order.resized("r", {"h1": 1}, 10)
    order.begin(10, jobs("b a"))
    assert order.next().job.user == "a"


RUN_ONLY = Params(cpu_time_factor=0, run_time_factor=1, run_job_factor=0)


def priority_of(order, user: str, now: int) -> float:
    (account,) = order.trees["default"].accounts(user)
    return order.trees["default"].priority(account, now)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize("history", [False, True])
def test_historical_run_time(history):
    """Without it priority leaps when the job ends; with it, it climbs as history decays."""
    problem = instance(
        Queue("default", user_shares=(("a", 1),)),
        params=replace(RUN_ONLY, enable_hist_run_time=history),
        running=(RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),),
    )
    order = order_policy(problem)
    assert priority_of(order, "a", 7200) == pytest.approx(1 / 2)
    order.ended("r", 7200)
    assert priority_of(order, "a", 7200) == pytest.approx(1 / 2 if history else 100)
    later = 7200 + 5 * 3600
    assert priority_of(order, "a", later) == pytest.approx(1 / 0.2 if history else 100)


@pytest.mark.behaviour("FSH-03")
def test_run_time_of_running_jobs_decays_where_asked():
    """An hour that counts as (1 - 10 ** (-1/2)) * 2 / ln 10 hours with HIST_HOURS of 2.

    When the job ends with ENABLE_HIST_RUN_TIME what is left of it goes on decaying; the run time
    of another job of the account is not touched.
    """
    shares = (("a", 1),)
    both = tuple(RunningJob(Job(name, user="a"), 0, {"h1": 1}) for name in "rs")
    decayed = (1 - 10**-0.5) * 2 / math.log(10)
    for history in (False, True):
        params = replace(RUN_ONLY, run_time_decay=True, hist_hours=2, enable_hist_run_time=history)
        order = order_policy(
            instance(Queue("default", user_shares=shares), params=params, running=both)
        )
        assert priority_of(order, "a", 3600) == pytest.approx(1 / (2 * decayed))
        order.ended("r", 3600)
        kept = decayed if history else 0.0
        assert priority_of(order, "a", 3600) == pytest.approx(1 / (decayed + kept))
        order.ended("s", 3600)
        later = 3600 + 2 * 3600
        expected = 1 / (2 * decayed / 10) if history else 100
        assert priority_of(order, "a", later) == pytest.approx(expected)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize(
    ("job_limit", "queue_limit", "committed"),
    [(7200, None, 2), (7200, 3600, 2), (None, 3600, 1), (None, None, 0)],
)
def test_committed_run_time_drops_priority_at_once(job_limit, queue_limit, committed):
    """(committed - run) x 1 + run x 1 = committed, from the start until the job ends."""
    problem = instance(
        Queue("default", user_shares=(("a", 1),), run_limit=queue_limit),
        params=replace(RUN_ONLY, committed_run_time_factor=1),
        running=(RunningJob(Job("r", user="a", run_limit=job_limit), 0, {"h1": 1}),),
    )
    order = order_policy(problem)
    for now in (0, 900, 3000):
        hours = committed if committed else now / 3600
        assert priority_of(order, "a", now) == pytest.approx(1 / max(hours, 0.01))
    order.ended("r", 3000)
    assert priority_of(order, "a", 3000) == pytest.approx(100)


def test_run_time_in_slots_is_a_switch():
    running = (RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),)
    queue = Queue("default", user_shares=(("a", 1),))
    for in_slots, hours in ((False, 1), (True, 4)):
        params = replace(RUN_ONLY, run_time_in_slots=in_slots)
        order = order_policy(instance(queue, params=params, running=running))
        assert priority_of(order, "a", 3600) == pytest.approx(1 / hours)
        order.resized("r", {"h1": 2}, 3600)
        assert priority_of(order, "a", 7200) == pytest.approx(1 / (6 if in_slots else 2))


def test_suspension_stops_the_clock_and_keeps_the_slots():
    queue = Queue("default", user_shares=(("a", 1),))
    running = (RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),)
    order = order_policy(instance(queue, params=RUN_ONLY, running=running))
    order.suspended("r", 3600)
    assert priority_of(order, "a", 9999) == pytest.approx(1)
    order.resumed("r", 10_000)
    assert priority_of(order, "a", 13_600) == pytest.approx(1 / 2)
    (account,) = order.trees["default"].accounts("a")
    assert (account.slots, order.trees["default"].usage(account, 13_600).cpu_time > 0) == (4, True)


@pytest.mark.behaviour("FSH-03")
def test_cpu_time_is_assumed_measured_and_decayed():
    queue = Queue("default", user_shares=(("a", 1),))
    running = (RunningJob(Job("r", 2, user="a"), 0, {"h1": 2}),)
    params = Params(hist_hours=0)
    order = order_policy(instance(queue, params=params, running=running))
    (account,) = order.trees["default"].accounts("a")

    def cpu(now: int) -> float:
        return order.trees["default"].usage(account, now).cpu_time

    assert cpu(600) == pytest.approx(1200)
    order.ledger.cpu_used("r", 900, 600)
    assert cpu(600) == pytest.approx(900)
    order.ended("r", 700, cpu_time=1000)
    assert cpu(5000) == pytest.approx(1000)
    known = Job("r", 2, user="a", run_time=100, cpu_time=50)
    order = order_policy(instance(queue))
    order.started(known, {"h1": 2}, 0)
    (account,) = order.trees["default"].accounts("a")
    assert cpu(100) == pytest.approx(50, rel=0.02)
    order.ended("r", 100)
    assert cpu(100 + 5 * 3600) == pytest.approx(5, rel=0.02)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize("hist_hours", [0.0, 5.0])
@pytest.mark.parametrize("run_time", [None, 3600, 36_000])
def test_cpu_time_of_a_running_job_is_what_it_has_used_so_far(
    run_time: int | None, hist_hours: float
) -> None:
    """1800 s in the hour until now, whatever is said of its end; then half a second a second."""
    job = Job("r", 4, user="a", cpu_time=1800, run_time=run_time)
    problem = instance(
        Queue("default", user_shares=(("a", 1),)),
        params=Params(hist_hours=hist_hours),
        running=(RunningJob(job, 6400, {"h1": 4}),),
        now=10_000,
    )
    order = order_policy(problem)
    tree = order.trees["default"]
    (account,) = tree.accounts("a")

    def cpu(now: int) -> float:
        return tree.usage(account, now).cpu_time

    assert cpu(10_000) == pytest.approx(1800)
    assert cpu(10_200) == pytest.approx(1900, rel=1e-3 if not hist_hours else 0.03)
    again = order_policy(problem, state=json.loads(json.dumps(order.to_state())))
    for policy in (order, again):
        tree = policy.trees["default"]
        (account,) = tree.accounts("a")
        policy.resized("r", {"h1": 8}, 10_200)
        before = cpu(10_600)
        policy.ended("r", 10_600)
        assert cpu(10_600) == before
        assert before == pytest.approx(2100, rel=1e-3 if not hist_hours else 0.1)
        # Requeued, it goes on as it was: what it had used says nothing of the whole.
        policy.started(job, {"h1": 4}, 10_600)
        policy.ended("r", 10_800)
        assert cpu(10_800) == pytest.approx(2200, rel=1e-3 if not hist_hours else 0.1)


def test_what_a_job_says_of_now_leaves_the_past_of_another_alone() -> None:
    """r stands still from now on and says its CPU time; s has run beside it for half an hour."""
    queue = Queue("default", user_shares=(("a", 1),))
    first = RunningJob(Job("r", user="a", cpu_time=100), 0, {"h1": 1}, suspended=True)
    second = RunningJob(Job("s", user="a"), 1800, {"h1": 1})
    params = Params(hist_hours=0)
    problem = instance(queue, params=params, running=(first, second), now=3600)
    order = order_policy(problem)
    (account,) = order.trees["default"].accounts("a")
    usage = order.trees["default"].usage(account, 3600)
    assert (usage.run_time, usage.cpu_time) == pytest.approx((3600 + 1800, 100 + 1800))
    usage = order.trees["default"].usage(account, 3700)
    assert (usage.run_time, usage.cpu_time) == pytest.approx((3600 + 1900, 100 + 1900))


def test_a_job_that_has_just_begun_says_nothing_of_its_average() -> None:
    job = Job("r", 3, user="a", cpu_time=7, run_time=100)
    queue = Queue("default", user_shares=(("a", 1),))
    params = Params(hist_hours=0)
    order = order_policy(
        instance(queue, params=params, running=(RunningJob(job, 0, {"h1": 3}),), now=0)
    )
    (account,) = order.trees["default"].accounts("a")
    assert order.trees["default"].usage(account, 0).cpu_time == pytest.approx(7)
    assert order.trees["default"].usage(account, 10).cpu_time == pytest.approx(37)


@pytest.mark.behaviour("FSH-05")
def test_the_plug_in_moves_the_order():
    """a and b hold a slot each, but a's job holds eight times the memory of its slot."""
    queue = Queue("default", user_shares=(("a", 1), ("b", 1)))
    running = tuple(
        RunningJob(Job(f"r{user}", user=user, res_req=(f"rusage[mem={mem}]",)), 0, {f"h{user}": 1})
        for user, mem in {"a": 8000, "b": 1000}.items()
    )
    machines = Cluster(tuple(Host(f"h{user}", 8, amounts={"mem": 8000.0}) for user in "ab"))
    params = replace(SLOTS_ONLY, fairshare_adjustment="memory", fairshare_adjustment_factor=0.5)
    order = order_policy(Instance(machines, (queue,), running=running, params=params))
    assert priority_of(order, "a", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 8))
    assert priority_of(order, "b", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 1))
    order.begin(0, jobs("a b"))
    assert order.next().job.user == "b"
    order.ended("ra", 9)
    assert priority_of(order, "a", 9) == pytest.approx(1)
