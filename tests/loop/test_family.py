"""What LSF's open family does otherwise, by the switch ``family``; and hosts without slots."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import host, instance, job
from slotwise import Instance, Queue
from slotwise.solver import planning
from slotwise.solver.planning import plan as plan_of
from slotwise.solver.validate import validate

#: All but the one that obeys rules of Slurm.
METHODS = tuple(name for name in planning.METHODS if name != "slurm")


def both(problem: Instance) -> tuple[Instance, Instance]:
    """The same cluster of LSF, and of its open family."""
    return problem, replace(problem, params=replace(problem.params, family="volclava"))


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize("method", METHODS)
def test_limits_per_processor_count_mxj_as_processors(method: str) -> None:
    """Two processors, four slots: PJOB_LIMIT 1 leaves LSF's queue two slots, and theirs four."""
    problem = instance(
        host("a", 4, ncpus=2),
        queues=(Queue("q", processor_slots=1),),
        pending=(job("p", 4, minutes=10),),
    )
    lsf, lava = both(problem)
    assert [item.job for item in plan_of(lsf, method).unplaced] == ["p"]
    planned = plan_of(lava, method)
    assert planned["p"].start == 0
    assert validate(lava, planned) == []
    assert {item.check for item in validate(lsf, planned)} == {"limit"}
