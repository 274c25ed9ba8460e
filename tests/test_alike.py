"""One definition says which jobs are alike: what it leaves out of a job changes no answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from slotwise import (
    AdvanceReservation,
    Application,
    Cluster,
    ComputeUnit,
    Gpus,
    Host,
    HostRequest,
    InputError,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
    SharedResource,
    User,
)
from slotwise.model.absolute_priority import StatedPriority
from slotwise.model.job import JobGroup
from slotwise.model.resreq import effective_requirement
from slotwise.model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, ServiceClass
from slotwise.solver import alike
from slotwise.solver.availability.demand import Demand
from slotwise.solver.problem import PlanningProblem, profile_of_running
from slotwise.solver.resolve import Resolver
from slotwise.solver.validation import facts

#: Values of each field of a job that the jobs of `base` do not have.
VALUES: dict[str, tuple[Any, ...]] = {
    "id": ("12", "7[9]", "8[9]"),
    "slots": (3, 4),
    "max_slots": (4,),
    "user": ("v",),
    "queue": ("night",),
    "res_req": (("rusage[mem=600]",), ("span[ptile=1]",), ("rusage[lic=1]",), ("select[mem>900]",)),
    "run_limit": (120, 600),
    "cpu_limit": (90,),
    "run_time": (30,),
    "cpu_time": (20.0,),
    "submit": (-50,),
    "begin": (60,),
    "deadline": (5000,),
    "priority": (9,),
    "has_fixed_priority": (True,),
    "weight": (3.0,),
    "project": ("p",),
    "license_project": ("lp",),
    "group": ("g",),
    "application": ("app",),
    "hosts": ((HostRequest("b"),), (HostRequest("c", 1, first=True), HostRequest("others"))),
    "exclusive": (True,),
    "resizable": (True,),
    "from_host": ("a", "b"),
    "gpu": ("num=1",),
    "extsched": ("RMS[nodes=2]",),
    "queued_as": ((-5, 0),),
    "requeued": (True,),
    "unheeded": (("-sla gold",),),
    "assumed": [("2 gpu of every task",)],
    "estimated_run_time": (45,),
    "name": ("n",),
    "dependency": ("done(31)",),
    "think_time": (30,),
    "orphan_term": (True,),
    "array_limit": (1,),
    "whole_hosts": (True,),
    "job_group": ("/x/y",),
    "reservation": ("u#0",),
    "aps": (StatedPriority("admin", 2.0),),
    "service_class": ("sc",),
    "requirement_alternative": (0, 1),
}
#: Of a running job.
RUNNING_VALUES: dict[str, tuple[Any, ...]] = {
    "job": (),  # all of VALUES
    "start": (-20,),
    "allocation": ({"b": 1},),
    "finish": (75,),
    "alternative": (1,),
    "suspended": (True,),
}


def base() -> Iterator[Job]:
    """Jobs in which fields have a meaning that they do not have in others."""
    first = Job("11", run_limit=100, user="u", queue="day")
    yield first
    yield replace(first, id="7[3]")
    yield replace(first, id="9[3]")
    yield replace(first, exclusive=True)
    yield replace(first, slots=2)
    yield replace(first, res_req=("cu[maxcus=1]",), slots=2)
    yield replace(first, res_req=("1*{select[type==local]} + 1*{rusage[mem=100]}",), slots=2)
    yield replace(first, res_req=("{rusage[mem=100]} || {rusage[mem=600]}@1",))
    yield replace(first, res_req=("rusage[mem=(300 100):duration=(1 1)||mem=100]",))


def site(*pending: Job, running: tuple[RunningJob, ...] = ()) -> Instance:
    """Where every field of a job that may matter does."""
    hosts = (
        Host("a", 4, type="X", amounts={"mem": 1000.0, "lic": 1.0}, gpus=Gpus(2), user_slots=3),
        Host("b", 2, type="Y", amounts={"mem": 800.0}),
        Host("c", 2, type="X", amounts={"mem": 1000.0}, gpus=Gpus(1)),
    )
    units = (ComputeUnit("e1", "enc", ("a",)), ComputeUnit("e2", "enc", ("b", "c")))
    each = Scope(("all",), each=True)
    return Instance(
        Cluster(
            hosts,
            unit_types=("enc",),
            default_unit_type="enc",
            units=units,
            shared=(SharedResource("float", 1.0),),
        ),
        queues=(
            Queue("day", 20, backfill=True, slot_reserve=10),
            Queue("night", 10, exclusive="Y", queue_slots=5, run_limit=300, slots=(1, 1, 3)),
        ),
        running=running,
        pending=pending,
        applications=(Application("app", res_req="rusage[float=1]", cpu_limit=80),),
        users=(User("v", max_slots=2),),
        job_groups=(JobGroup("/x", 1),),
        advance_reservations=(AdvanceReservation("u#0", 500, 900, {"a": 1}, users=("u",)),),
        service_classes=(ServiceClass("sc"),),
        guaranteed_pools=(
            GuaranteedPool(
                "gp", distribution=(Guarantee("sc", GuaranteedAmount(2.0)),), hosts=("a",)
            ),
        ),
        limits=(
            Limit("projects", {"slots": 3}, projects=each),
            Limit("licence projects", {"slots": 3}, lic_projects=each),
        ),
        params=Params(mbd_sleep_time=30),
    )


def elements() -> tuple[Job, ...]:
    """Of two arrays, with limits."""
    given = {"run_limit": 100, "user": "u", "queue": "day", "name": "e", "array_limit": 1}
    return Job("7[1]", **given), Job("8[1]", **given)  # type: ignore[arg-type]


def varied() -> Iterator[tuple[str, Job, Job]]:
    """A field, a job, and the same with another value there."""
    for job in base():
        for name, values in VALUES.items():
            for value in values:
                if getattr(job, name) != value:
                    yield name, job, replace(job, **{name: value})


def test_every_field_is_varied() -> None:
    """A new field needs values here that matter where it may matter."""
    assert set(VALUES) == {item.name for item in fields(Job)}
    assert set(RUNNING_VALUES) == {item.name for item in fields(RunningJob)}


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no job is like another, to the methods and to the judge."""
    monkeypatch.setattr(alike, "asked", lambda job, *_: job.id)
    monkeypatch.setattr(alike, "merged", lambda job: job.id)
    monkeypatch.setattr(alike, "spans", lambda job: job.id)
    monkeypatch.setattr(Demand, "kind", property(lambda demand: demand.job.id))
    monkeypatch.setattr(facts, "_asked", lambda job: job.id)
    monkeypatch.setattr(facts, "_TAKEN", lambda run: run.job.id)
    monkeypatch.setattr(facts, "_ENDING", lambda run: run.job.id)


def free(instance: Instance) -> Any:
    """What running jobs leave at every instant, by the names of resources, limits and licences."""
    resolver = Resolver.of(instance)
    found, table = profile_of_running(resolver), resolver.table
    falls = {name: [run.job.id for run in runs] for name, runs in _falls(instance, resolver)}
    points = sorted({instance.now, *found.changes()})
    return (
        {
            of.name: [found.free(at, point).tolist() for point in points]
            for at, of in enumerate(table.host_resources)
        },
        {
            of.name: [found.free_in_pool(at, point) for point in points]
            for at, of in enumerate(table.pools)
        },
        falls,
    )


def _falls(instance: Instance, resolver: Resolver) -> Iterator[tuple[int, list[RunningJob]]]:
    problem = PlanningProblem.without_demands(instance, resolver)
    for time in range(-20, 200):
        if found := problem.holding_less_from(time):
            yield time, found


def refused(job: Job) -> bool:
    """Whether bsub would not have taken it, so that it cannot run."""
    try:
        effective_requirement(site(job), job)
    except InputError:
        return True
    return False


def pairs_of(field: str) -> Iterator[Instance]:
    """Two pending jobs, and two that run, which differ in one field."""
    for name, one, other in varied():
        if name == field and not refused(other):
            twin = other.id
            if name != "id":
                twin = one.id.replace("3]", "4]") if "[" in one.id else "21"
            pending = (one, replace(other, id=twin), replace(one, id="77"))
            ran = [replace(job, id=job.id.replace("[", "[1")) for job in pending[:2]]
            ran = [job if "[" in job.id else replace(job, id=f"4{job.id}") for job in ran]
            running = (
                RunningJob(Job("31", user="u", queue="day", run_limit=50), 0, {"b": 1}),
                RunningJob(ran[0], -10, {"a": ran[0].slots}),
                RunningJob(ran[1], -10, {"c": ran[1].slots}),
            )
            yield site(*pending, *elements(), running=running)


def running_pairs() -> Iterator[Instance]:
    """Two jobs that run and differ in one field of a running job."""
    for job in base():
        for name, values in RUNNING_VALUES.items():
            for value in values if name != "alternative" or "||" in "".join(job.res_req) else ():
                one = RunningJob(replace(job, id=f"4{job.id}"), -10, {"a": job.slots})
                other = replace(one, job=replace(job, id=job.id.replace("3]", "4]")))
                other = replace(replace(other, allocation={"c": job.slots}), **{name: value})
                yield site(replace(job, id="77"), *elements(), running=(one, other))


@pytest.mark.behaviour("PAI-06")
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_field_of_a_running_job_changes_nothing_that_another_holds(
    step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [*running_pairs(), *(pair for field in VALUES for pair in pairs_of(field))]
    instances = [*pairs_of("id"), *pairs[::step]]
    together = [free(instance) for instance in instances]
    alone(monkeypatch)
    for instance, found in zip(instances, together, strict=True):
        assert free(instance) == found, instance.running
