"""GPUs of Slurm's jobs: no job shares one, so that plans by whole GPUs are exact."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("SLU-01")
TEXTS = {
    "nodes.txt": "NodeName=g1 CPUTot=8 Gres=gpu:a100:2 RealMemory=900 State=IDLE\n",
    "part.txt": "PartitionName=gpu Default=YES MaxTime=60 Nodes=g1 State=UP PriorityTier=1\n",
    "config.txt": "Configuration data as of 2026-11-26T23:53:41\nSelectType = select/cons_tres\n"
    "SelectTypeParameters = CR_CORE\n",
    "sdiag.txt": "sdiag output at Thu Nov 26 23:53:41 2026 (1795737221)\n",
    "jobs.txt": "".join(
        f"JobId={n} UserId=a(1) Priority={9 - n} Partition=gpu JobState=PENDING TimeLimit=10 "
        f"NumNodes=1-1 NumCPUs=1 NumTasks=1 TRES=cpu=1,node=1 TresPerNode=gres/gpu:1\n"
        for n in (1, 2, 3)
    ),
}


@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_jobs_with_gpus_are_proved(method: str) -> None:
    found = instance_of(TEXTS)
    plan = sw.plan(found, method)
    assert [plan[job].start - found.now for job in "123"] == [0, 0, 600]
    assert all(plan[job].proved for job in "123")
    assert not any("GPU" in item.what for item in plan.omissions)


def test_a_new_job_with_gpus_is_proved() -> None:
    asked = sw.ask(instance_of(TEXTS), "sbatch -n1 -t 5 --gres=gpu:1", method="optimal")
    assert asked.line.answer.proved
    assert not any("GPU" in item.what for item in asked.omissions)


def test_jobs_of_lsf_may_share_theirs() -> None:
    found = instance_of(TEXTS)
    plan = sw.plan(replace(found, params=replace(found.params, family="LSF")), "optimal")
    assert any("may share GPUs" in item.what for item in plan.omissions)
