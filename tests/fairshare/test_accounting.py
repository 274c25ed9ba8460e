"""What starts, ends, reservations, resizes and suspensions do to an account's priority."""

import json
from dataclasses import replace

import pytest
from fairshare.lab import SLOTS_ONLY, instance, jobs
from slotwise import Cluster, Host, Instance, Job, Params, Queue, RunningJob
from slotwise.solver.fairshare.dispatch_order import order_policy

RUN_ONLY = Params(cpu_time_factor=0, run_time_factor=1, run_job_factor=0)


def priority_of(order, user: str, now: int) -> float:
    (account,) = order.trees["default"].accounts(user)
    return order.trees["default"].priority(account, now)


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


@pytest.mark.behaviour("FSH-05")
def test_the_plug_in_moves_the_order():
    """a and b hold a slot each, but a's job holds eight times the memory of its slot."""
    queue = Queue("default", user_shares=(("a", 1), ("b", 1)))
    running = tuple(RunningJob(Job(f"r{u}", user=u), 0, {"h1": 1}) for u in "ab")
    machines = Cluster((Host("h1", 8, amounts={"mem": 8000.0}),))
    params = replace(SLOTS_ONLY, fairshare_adjustment="memory", fairshare_adjustment_factor=0.5)
    problem = Instance(machines, (queue,), running=running, params=params)
    order = order_policy(problem, memory={"ra": 8000.0, "rb": 1000.0})
    assert priority_of(order, "a", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 8))
    assert priority_of(order, "b", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 1))
    order.begin(0, jobs("a b"))
    assert order.next().job.user == "b"
    order.ended("ra", 9)
    assert priority_of(order, "a", 9) == pytest.approx(1)
