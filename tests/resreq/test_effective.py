"""The requirement of a job of an instance: all levels and parameters (REQ-13 … REQ-16, RSV-06)."""

from __future__ import annotations

import pytest
from slotwise import (
    Application,
    Cluster,
    Host,
    InputError,
    Instance,
    Job,
    Params,
    Queue,
    ReservationUsage,
    ResourceDefinition,
)
from slotwise.model.resreq import effective_requirement, print_requirement
from slotwise.solver.planning import plan


def instance(queue: Queue, params: Params | None = None) -> Instance:
    return Instance(
        Cluster(
            (Host("a", 4),), resources=(ResourceDefinition("qload", increasing=True, dynamic=True),)
        ),
        queues=(queue,),
        applications=(Application("app", res_req="order[mem]", slots=(1, 5, None)),),
        reservation_usage=(ReservationUsage("lic", "PER_JOB"), ReservationUsage("x", "PER_HOST")),
        params=params or Params(),
    )


def effective(job: Job, queue: Queue, params: Params | None = None) -> str:
    return print_requirement(effective_requirement(instance(queue, params), job).requirement)


@pytest.mark.behaviour("REQ-12", "REQ-15")
def test_all_levels() -> None:
    queue = Queue("default", res_req="mem>5 order[pg] rusage[mem=3]")
    job = Job("1", res_req=("cs", "rusage[mem=2]"), application="app")
    assert effective(job, queue) == "select[cs && mem>5] order[mem] rusage[mem=2]"


@pytest.mark.behaviour("REQ-16", "RSV-08")
def test_per_job_resources_of_the_queue_go_to_the_first_term() -> None:
    queue = Queue("default", res_req="rusage[lic=1:x=1]")
    job = Job("1", slots=3, res_req=("1*{cs} + {fs}",))
    assert effective(job, queue) == (
        "1*{select[cs] rusage[lic=1:x=1]} + 2*{select[fs] rusage[x=1]}"
    )


@pytest.mark.behaviour("RSV-06")
def test_resrsv_limit_of_the_queue_and_its_warnings() -> None:
    queue = Queue("default", res_req="rusage[mem=5]", resrsv_limit={"mem": (10, 20)})
    merged = effective_requirement(instance(queue), Job("1", res_req=("cs",)))
    assert print_requirement(merged.requirement) == "select[cs]"
    assert "RES_REQ of the queue is ignored" in merged.warnings[0]
    with pytest.raises(InputError, match="outside RESRSV_LIMIT"):
        effective(Job("1", res_req=("rusage[mem=30]",)), queue)


@pytest.mark.behaviour("REQ-20")
def test_equal_jobs_are_merged_once() -> None:
    problem = instance(Queue("default", res_req="mem>5"))
    first = effective_requirement(problem, Job("1", res_req=("cs",)))
    assert effective_requirement(problem, Job("2", res_req=("cs",))) is first


@pytest.mark.behaviour("REQ-19")
def test_a_plan_reads_ncpus_as_slots_when_told_to() -> None:
    hosts = Cluster((Host("few", 8, ncpus=2), Host("many", 2, ncpus=16)))
    job = Job("1", res_req=("ncpus>4",), run_limit=60)
    for by_slot, name in ((False, "many"), (True, "few")):
        params = Params(parallel_sched_by_slot=by_slot)
        planned = plan(Instance(hosts, pending=(job,), params=params), method="time-based")["1"]
        assert dict(planned.allocation) == {name: 1}
