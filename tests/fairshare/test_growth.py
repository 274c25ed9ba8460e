"""FSH-15: a wish to grow has its turn by fairshare priority, like any pending job."""

from dataclasses import replace

import pytest
from loop_lab import host, instance, job, run, running
from slotwise import HostPartition, Instance, Params, Queue, Simulation

SLOTS_ONLY = Params(cpu_time_factor=0, run_time_factor=0, run_job_factor=1)
SHARES = (("u1", 1), ("u2", 10))
FAIR = Queue("q", 10, user_shares=SHARES)


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
