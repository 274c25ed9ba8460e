"""Every method plans in the order of absolute priority, beside arrays and conditions (APS-01)."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import MINUTE, host, instance, job
from slotwise import Instance, Method, Params, Queue
from slotwise.model.absolute_priority import AbsolutePriority, StatedPriority
from slotwise.model.job import JobGroup

pytestmark = pytest.mark.behaviour("APS-01")

METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")
FORMULA = AbsolutePriority.parse("WEIGHT[[JPRIORITY, 1] [QPRIORITY, 10]]")
QUEUES = (Queue("q", 3, aps_priority=FORMULA, queue_group=("low",)), Queue("low", 1))


def site(**more: object) -> Instance:
    """One slot; an array, a job that waits for it, a system priority in the lower queue."""
    jobs = (
        *(job(f"1[{n}]", minutes=10, priority=40, array_limit=1, submit=1) for n in (1, 2)),
        job("2", minutes=10, priority=90, dependency="done(1[1])", submit=2),
        job("3", minutes=10, priority=59, queue="low", submit=3),
        job("4", minutes=10, queue="low", aps=StatedPriority("system", 1.0), job_group="/g"),
        job("5", minutes=10, priority=60, aps=StatedPriority("admin", 10.0), job_group="/g"),
    )
    params = Params(max_user_priority=100)
    groups = (JobGroup("/g", 1),)
    found = instance(host("A", 1), queues=QUEUES, pending=jobs, params=params, job_groups=groups)
    return replace(found, now=10, **more)  # type: ignore[arg-type]


#: By value: 4 (system), 2 (120, waits), 5 (100), 1 (70), 3 (69); 2 comes behind 1[1].
ORDER = ["4", "5", "1[1]", "2", "1[2]", "3"]


@pytest.mark.parametrize("method", METHODS)
def test_plans_are_in_the_order_of_now(method: Method) -> None:
    problem = site()
    found = sw.plan(problem, method=method)
    starts = {item.job: item.start for item in found.reservations if item.start is not None}
    assert not sw.validate(problem, found)
    assert sorted(starts, key=starts.__getitem__)[: len(ORDER)] == ORDER[: len(starts)]
    if method in ("optimal", "milp"):
        assert starts["2"] == 10 + 30 * MINUTE


def test_a_job_left_out_as_behind_comes_behind_by_the_judges_reading() -> None:
    """first_in_order keeps the jobs with the highest values; another choice is refused."""
    problem = site()
    found = sw.plan(problem, method="time-based")
    kept = [item for item in found.reservations if item.job not in ("1[2]", "3")]
    part = replace(found, reservations=tuple(kept), behind=2)
    assert not [item for item in sw.validate(problem, part) if "behind the others" in item.message]
    kept = [item for item in found.reservations if item.job not in ("5", "3")]
    part = replace(part, reservations=tuple(kept))
    (told,) = [item for item in sw.validate(problem, part) if "behind the others" in item.message]
    assert told.job == "5"
