"""FSH-15: a wish to grow has its turn by fairshare priority, like any pending job."""

from dataclasses import replace

import pytest
from loop_lab import HOUR, host, instance, job, run, running
from slotwise import HostPartition, Instance, Params, Queue, Simulation

SLOTS_ONLY = Params(cpu_time_factor=0, run_time_factor=0, run_job_factor=1)
SHARES = (("u1", 1), ("u2", 10))
FAIR = Queue("q", 10, user_shares=SHARES)
METHODS = pytest.mark.parametrize("method", ["none", "greedy", "time-based", "optimal"])


def two(*queues: Queue, **more: object) -> Instance:
    """u1's job started first; both are at one slot and would have four; four are free."""
    jobs = tuple(
        running(name, {"A": 1}, 60, user=user, max_slots=4, resizable=True)
        for name, user in (("r1", "u1"), ("r2", "u2"))
    )
    return instance(
        host("A", 6), queues=queues or (FAIR,), running=jobs, params=SLOTS_ONLY, **more
    )  # fmt: skip


def sizes(result: Simulation, *names: str) -> tuple[int, ...]:
    """Slots that jobs held at their end."""
    return tuple(result[name].procs for name in names)


@pytest.mark.behaviour("FSH-15", "FSH-06")
@METHODS
def test_the_user_with_more_shares_grows_first(method: str) -> None:
    """10 shares: u2 takes three of four slots, u1 the last."""
    assert sizes(run(two(), method, until=60), "r1", "r2") == (2, 4)
    first_come = two(Queue("q", 10))
    assert sizes(run(first_come, method, until=60), "r1", "r2") == (4, 2)


def test_first_come_first_served_growth_goes_by_job_priority() -> None:
    problem = two(Queue("q", 10))
    first, second = problem.running
    second = replace(second, job=replace(second.job, priority=5))
    assert sizes(run(replace(problem, running=(first, second)), until=60), "r1", "r2") == (2, 4)


@pytest.mark.behaviour("FSH-15", "FSH-06")
@pytest.mark.parametrize("method", ["none", "greedy", "time-based"])
def test_growth_and_pending_jobs_of_others_go_by_priority(method: str) -> None:
    """u2's wish comes before u1's job of four slots, and after it where the shares are turned."""
    wide = job("wide", 4, user="u1", minutes=60)
    problem = replace(two(), pending=(wide,), running=two().running[1:])
    busy = running("busy", {"A": 1}, 60, user="u1")
    problem = replace(problem, running=(*problem.running, busy))
    result = run(problem, method, until=60)
    assert (result["r2"].procs, result["wide"].start) == (4, None)
    turned = replace(problem, queues=(replace(FAIR, user_shares=(("u1", 10), ("u2", 1))),))
    result = run(turned, method, until=60)
    assert (result["r2"].procs, result["wide"].start) == (1, 0)


@pytest.mark.behaviour("FSH-15")
def test_each_slot_gained_counts_before_the_next_turn() -> None:
    """Equal shares: u1's first wish makes u2 the next, so u1's second job stays as it is."""
    jobs = (
        running("a1", {"A": 1}, 60, user="u1", max_slots=3, resizable=True),
        running("a2", {"A": 1}, 60, user="u1", max_slots=3, resizable=True),
        running("b1", {"A": 1}, 60, user="u2", max_slots=3, resizable=True),
        running("b2", {"A": 1}, 60, user="u2", max_slots=3, resizable=True),
    )
    queue = Queue("q", user_shares=(("u1", 1), ("u2", 1)))
    problem = instance(host("A", 8), queues=(queue,), running=jobs, params=SLOTS_ONLY)
    assert sizes(run(problem, until=60), "a1", "a2", "b1", "b2") == (3, 1, 3, 1)


@pytest.mark.behaviour("FSH-08", "FSH-15")
def test_growth_in_a_partition_goes_by_its_shares() -> None:
    """On A shares decide; B is in no partition, and no job grows out of the one that it is in."""
    problem = two(Queue("q", 10), partitions=(HostPartition("P", ("A",), SHARES),))
    assert sizes(run(problem, until=60), "r1", "r2") == (2, 4)
    hosts = (host("A", 2), host("B", 4))
    problem = replace(problem, cluster=replace(problem.cluster, hosts=hosts))
    result = run(problem, until=60)
    assert (result["r1"].hosts, result["r2"].hosts) == ({"A": 1}, {"A": 1})


@pytest.mark.behaviour("QBF-08", "FSH-15")
def test_growth_in_a_pool_leaves_the_other_queue_its_part() -> None:
    """Ten slots at 50 and 50: the job grows to five, beside five of the other queue's jobs."""
    queues = (
        Queue("p", 20, slot_pool="P", slot_share=50),
        Queue("q", 10, slot_pool="P", slot_share=50),
    )
    grows = running("r", {"A": 1}, 60, max_slots=10, resizable=True, queue="p")
    small = tuple(job(f"s{n}", 1, minutes=60) for n in range(9))
    problem = instance(
        host("A", 10), queues=queues, running=(grows,), pending=small, params=SLOTS_ONLY
    )
    result = run(problem, until=60)
    assert result["r"].procs == 5
    assert [result[f"s{n}"].start for n in range(9)] == [0] * 5 + [None] * 4
    alone = run(replace(problem, pending=()), until=60)
    assert alone["r"].procs == 10


@pytest.mark.behaviour("FSH-15", "TBR-14")
@METHODS
def test_growth_takes_nothing_that_is_held(method: str) -> None:
    """wide waits for 6 of 6 slots from the end of busy; under a reservation nothing grows."""
    queue = replace(FAIR, slot_reserve=1000)
    busy = running("busy", {"A": 2}, 10, user="u2")
    grows = running("r", {"A": 1}, 30, user="u2", max_slots=4, resizable=True)
    wide = job("wide", 6, user="u1", minutes=60)
    problem = instance(
        host("A", 7), queues=(queue,), running=(busy, grows), pending=(wide,), params=SLOTS_ONLY
    )
    equal = replace(
        problem, queues=(replace(queue, user_shares=(("u1", 10), ("u2", 1))),)
    )  # fmt: skip
    result = run(equal, method)
    if method == "none":
        assert result["r"].procs == 4
    else:
        assert (result["r"].procs, result["wide"].start) == (1, 600)
    assert result["wide"].end == result["wide"].start + HOUR
