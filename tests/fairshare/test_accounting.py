"""What starts, ends, reservations, resizes and suspensions do to an account's priority."""

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


def test_run_time_in_slots_is_a_switch():
    running = (RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),)
    queue = Queue("default", user_shares=(("a", 1),))
    for in_slots, hours in ((False, 1), (True, 4)):
        params = replace(RUN_ONLY, run_time_in_slots=in_slots)
        order = order_policy(instance(queue, params=params, running=running))
        assert priority_of(order, "a", 3600) == pytest.approx(1 / hours)
        order.resized("r", {"h1": 2}, 3600)
        assert priority_of(order, "a", 7200) == pytest.approx(1 / (6 if in_slots else 2))


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
