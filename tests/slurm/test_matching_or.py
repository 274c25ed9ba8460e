"""Constraints such as ``[a|b]``: all nodes of a job have one of the features."""

from __future__ import annotations

import pytest
import slotwise as sw

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("SLU-01")


CLUSTER = {
    "nodes.txt": "".join(
        f"NodeName=n{n} CPUTot=4 ThreadsPerCore=1 RealMemory=900 "
        f"State={'MIXED' if n in (1, 3) else 'IDLE'} "
        f"CPUAlloc={4 if n in (1, 3) else 0} ActiveFeatures={'a' if n < 3 else 'b'}{more}\n"
        for n, more in ((1, ""), (2, ",x"), (3, ",x"), (4, ",x"))
    ),
    "part.txt": "PartitionName=main Default=YES MaxTime=60 Nodes=n[1-4] State=UP PriorityTier=1\n",
    "config.txt": "Configuration data as of 2026-11-26T23:53:41\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CPU\nSchedulerParameters = bf_resolution=1,bf_window_linear=1\n",
    "sdiag.txt": "sdiag output at Thu Nov 26 23:53:41 2026 (1795737221)\n",
}


def with_job(constraint: str, tasks: int = 8) -> dict[str, str]:
    """One a is busy for 5 minutes, one b for 10; a job requests two whole nodes."""
    running = "".join(
        f"JobId={n} UserId=a(1) Priority=9 Partition=main JobState=RUNNING TimeLimit={limit} "
        f"NumNodes=1 NumCPUs=4 NumTasks=4 StartTime=2026-11-26T23:53:41 NodeList=n{n} "
        "TRES=cpu=4,node=1\n"
        for n, limit in ((1, 5), (3, 10))
    )
    pending = (
        "JobId=9 UserId=a(1) Priority=9 Partition=main JobState=PENDING TimeLimit=10 "
        f"NumNodes=2-2 NumCPUs={tasks} NumTasks={tasks} NtasksPerN:B:S:C=4:0:*:* "
        f"TRES=cpu={tasks},node=2 Features={constraint}\n"
    )
    return {**CLUSTER, "jobs.txt": running + pending}


@pytest.mark.parametrize(
    ("constraint", "start", "nodes"),
    [
        ("[a|b]", 300, {"n1", "n2"}),
        ("[b|a]", 300, {"n1", "n2"}),
        ("x&[a|b]", 600, {"n3", "n4"}),
        ("a|b", 0, {"n2", "n4"}),
        ("[x|b]", 0, {"n2", "n4"}),  # every b has x
    ],
)
def test_every_method_plans_nodes_of_one_feature(
    constraint: str, start: int, nodes: set[str]
) -> None:
    found = instance_of(with_job(constraint))
    assert not sw.plan(found, "greedy").refused
    for method in ("optimal", "milp", "time-based", "slurm"):
        plan = sw.plan(found, method)
        assert not plan.refused, method
        assert plan["9"].start == found.now + start, method
        assert set(plan["9"].allocation) == nodes, method
    assert sw.plan(found)["9"].proved
    assert sw.explain(found, "9").answer.start == found.now + start
    assert sw.from_document(sw.to_document(found)) == found


def test_a_new_job_uses_the_resource_of_the_cluster() -> None:
    found = instance_of(with_job("[a|b]"))
    line = "sbatch -N2 --ntasks-per-node=4 -t 10 -C [a|b]"
    asked = sw.ask(found, line)
    assert not any("-C" in item.what for item in asked.omissions)
    allocation = asked.line.answer.allocation
    assert set(allocation) in ({"n1", "n2"}, {"n3", "n4"})
    other = sw.ask(instance_of(with_job("a")), line)  # its cluster has no such resource
    assert any("-C [a|b]" in item.what for item in other.omissions)
