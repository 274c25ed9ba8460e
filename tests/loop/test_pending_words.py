"""LSF's words for why a job is pending, a case a reason, with exactly the hosts where it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from loop_lab import HOUR, cluster, host, instance, job, running
from slotwise import (
    AdvanceReservation,
    ComputeUnit,
    HostPartition,
    HostRequest,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    Scope,
    SharedResource,
    Thresholds,
    User,
    UserGroup,
)
from slotwise.model.job import JobGroup
from slotwise.model.pending import LOAD_WORDS, Pending, bjobs_text
from slotwise.model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, ServiceClass
from slotwise.solver.scheduler.history import snapshot_of

LONG = 600  # minutes


def texts(problem: Instance, name: str = "", *, cycle: bool = True) -> list[str]:
    """The reasons of a pending job after the cycle, as bjobs -l prints them."""
    moment = snapshot_of(problem, after_cycle=cycle)
    name = name or problem.pending[0].id
    assert name in {item.id for item in moment.instance.pending}
    return [bjobs_text(reason) for reason in moment.waiting[name].reasons]


def waits(*hosts: Any, pending: Job | None = None, **more: Any) -> Instance:
    """Hosts A (4 slots), B (4 slots) where none are given, and one job j."""
    return instance(*(hosts or (host("A"), host("B"))), pending=(pending or job("j"),), **more)


def full(name: str = "A", slots: int = 4, **more: Any) -> Any:
    return running(f"r{name}", {name: slots}, LONG, **more)


def queue(**more: Any) -> tuple[Queue, ...]:
    return (Queue("q", **more),)


SHARES = (("ann", 1),)
UNITS = {
    "unit_types": ("enc",),
    "default_unit_type": "enc",
    "units": (ComputeUnit("e1", "enc", ("A", "B")), ComputeUnit("e2", "enc", ("C", "D"))),
}
FOUR = tuple(host(name) for name in "ABCD")


def in_units(*asks: str, slots: int, sizes: tuple[int, ...] = (), **more: Any) -> Instance:
    """Units of the hosts A, B and C, D, with Z in none; sizes: units of one host each instead."""
    where = cluster(*FOUR, host("Z"), **UNITS)
    if sizes:
        hosts = [host(f"h{number}", size) for number, size in enumerate(sizes)]
        units = tuple(ComputeUnit(f"e{n}", "enc", (f"h{n}",)) for n in range(len(sizes)))
        where = cluster(*hosts, **{**UNITS, "units": units})
    more = {"queues": queue(exclusive="CU[enc]"), **more}
    return instance(cluster=where, pending=(job("j", slots, *asks, minutes=60),), **more)


def every(names: str, **amounts: float) -> Limit:
    return Limit("l", amounts, **{names: Scope(("all",), each=True)})


CASES: list[tuple[str, Instance, list[str]]] = [
    ("START_TIME", waits(pending=job("j", begin=HOUR)), ["Job's start time not reached"]),
    (
        "ARRAY_ELEMENTS",
        waits(
            running=(running("7[1]", {"A": 1}, LONG),),
            pending=job("7[2]", array_limit=1),
        ),
        ["Job array has reached its running element limit"],
    ),
    (
        "JOB_GROUP",
        waits(
            running=(running("r", {"A": 1}, LONG, job_group="/a/b"),),
            pending=job("j", job_group="/a/c"),
            job_groups=(JobGroup("/a", 1),),
        ),
        ["The specified job group has reached its job limit"],
    ),
    (
        "GUARANTEE",
        waits(
            pending=job("j", 2),
            service_classes=(ServiceClass("sc"),),
            guaranteed_pools=(
                GuaranteedPool("gp", distribution=(Guarantee("sc", GuaranteedAmount(7.0)),)),
            ),
        ),
        ["Resources of guaranteed resource pool (gp) are reserved for its owners"],
    ),
    (
        "DEPENDENCY",
        waits(running=(full(),), pending=job("j", dependency="done(rA)")),
        ["Job dependency condition not satisfied"],
    ),
    (
        "DEPENDENCY_NEVER",
        waits(running=(full(),), pending=job("j", dependency="!started(rA)")),
        ["Dependency condition invalid or never satisfied"],
    ),
    (
        "QUEUE_INACTIVE",
        waits(queues=queue(active=False)),
        ["The queue is inactivated by the administrator"],
    ),
    (
        "QUEUE_WINDOW dispatch",
        waits(queues=queue(dispatch_window="5:00-6:00"), origin="2026-01-05T00:00:00+00:00"),
        ["The queue is inactivated by its time windows"],
    ),
    (
        "QUEUE_WINDOW run",
        waits(queues=queue(run_window="5:00-6:00"), origin="2026-01-05T00:00:00+00:00"),
        ["The queue is inactivated by its time windows"],
    ),
    (
        "QUEUE_WINDOW_CLOSES",
        waits(
            pending=job("j", minutes=90),
            queues=queue(run_window="0:00-1:00"),
            origin="2026-01-05T00:00:00+00:00",
        ),
        ["Job will not finish before queue's run window is closed"],
    ),
    (
        "QUEUE_PROCLIMIT",
        waits(pending=job("j", 3), queues=queue(slots=(1, None, 2))),
        ["Job no longer satisfies queue PROCLIMIT configuration"],
    ),
    (
        "QUEUE_SLOTS",
        waits(running=(full(slots=2),), queues=queue(queue_slots=2)),
        ["The queue has reached its job slot limit"],
    ),
    (
        "QUEUE_SLOTS_PARALLEL",
        waits(running=(full(slots=2),), pending=job("j", 2), queues=queue(queue_slots=3)),
        ["The queue has not enough job slots for the parallel job"],
    ),
    (
        "QUEUE_SLOTS_PARALLEL over the terms of a compound requirement",
        waits(
            pending=job("j", 4, "2*{select[ncpus>0]}+2*{select[ncpus>0]}"),
            queues=queue(queue_slots=3),
        ),
        ["The queue has not enough job slots for the parallel job"],
    ),
    (
        "QUEUE_USER_SLOTS",
        waits(running=(full(slots=2),), queues=queue(user_slots=2)),
        ["User has reached the per-user job slot limit of the queue"],
    ),
    (
        "QUEUE_USER_SLOTS_PARALLEL",
        waits(running=(full(slots=2),), pending=job("j", 2), queues=queue(user_slots=3)),
        ["Not enough per-user job slots of the queue for the parallel job"],
    ),
    (
        "USER_SLOTS",
        waits(running=(full(slots=2),), users=(User("user", 2),)),
        ["The user has reached his/her job slot limit"],
    ),
    (
        "USER_SLOTS_PARALLEL",
        waits(running=(full(slots=2),), pending=job("j", 2), users=(User("user", 3),)),
        ["The user has not enough job slots for the parallel job"],
    ),
    (
        "GROUP_SLOTS",
        waits(
            running=(full(slots=2, user="bob"),),
            users=(User("g", 2),),
            groups=(UserGroup("g", ("user", "bob")),),
        ),
        ["One of the user's groups has reached its job slot limit"],
    ),
    (
        "GROUP_SLOTS_PARALLEL",
        waits(
            running=(full(slots=2, user="bob"),),
            pending=job("j", 2),
            users=(User("g", 3),),
            groups=(UserGroup("g", ("user", "bob")),),
        ),
        ["One of user's groups has not enough job slots for the parallel job"],
    ),
    (
        "NO_SHARE",
        waits(queues=queue(user_shares=SHARES)),
        ["User is not defined in the fairshare policy of the queue"],
    ),
    (
        "REFUSED",
        waits(pending=job("j", exclusive=True)),
        ["System is unable to schedule the job"],
    ),
    (
        "REQUIREMENT",
        waits(pending=job("j", 1, "select[hname=='A']"), running=(full(),)),
        ["Job's resource requirements not satisfied: B", "Job slot limit reached: A"],
    ),
    (
        "QUEUE_REQUIREMENT",
        waits(queues=queue(res_req="select[hname!='B']"), running=(full(),)),
        ["Queue's resource requirements not satisfied: B", "Job slot limit reached: A"],
    ),
    (
        "the queue's type of the submission host",
        waits(
            host("A", type="X"),
            host("B", type="Y"),
            pending=job("j", from_host="A"),
            queues=queue(res_req="select[type==local]"),
            running=(full(),),
        ),
        ["Queue's resource requirements not satisfied: B", "Job slot limit reached: A"],
    ),
    (
        "both select",
        waits(
            *FOUR,
            pending=job("j", 1, "select[hname!='D']"),
            queues=queue(res_req="select[hname!='B' && hname!='C']"),
            running=(full(),),
        ),
        [
            "Queue's resource requirements not satisfied: B, C",
            "Job's resource requirements not satisfied: D",
            "Job slot limit reached: A",
        ],
    ),
    (
        "OTHER_TYPE",
        waits(
            host("A", type="X"),
            host("B", type="Y"),
            pending=job("j", from_host="A"),
            running=(full(),),
        ),
        ["Not the same type as the submission host: B", "Job slot limit reached: A"],
    ),
    (
        "NOT_OF_QUEUE and NOT_ASKED_FOR",
        waits(
            *FOUR,
            pending=job("j", hosts=(HostRequest("A"), HostRequest("D"))),
            queues=queue(hosts=(HostRequest("A"), HostRequest("B"), HostRequest("C"))),
            running=(full(),),
        ),
        [
            "Not usable to the queue: D",
            "Not specified in job submission: B, C",
            "Job slot limit reached: A",
        ],
    ),
    (
        "FIRST_HOST",
        waits(
            pending=job("j", hosts=(HostRequest("A", first=True), HostRequest("B"))),
            running=(full(),),
        ),
        [
            "The specified first execution host is not eligible for this job at this time",
            "Job slot limit reached: A",
        ],
    ),
    (
        "states of hosts",
        waits(
            host("A", status="closed"),
            host("B", status="closed_Adm"),
            host("C", status="unavail"),
            host("D", status="unreach"),
            host("E", status="lockU"),
            host("F", status="closed_LIM"),
        ),
        [
            "Load information unavailable: C, F",
            "Unable to reach slave batch server: D",
            "Host is locked by LSF administrator: E",
            "Closed by LSF administrator: A, B",
        ],
    ),
    (
        "HOST_WINDOW",
        waits(
            host("A", windows="5:00-6:00"),
            host("B", windows="5:00-7:00"),
            origin="2026-01-05T00:00:00+00:00",
        ),
        ["Dispatch windows closed: A, B"],
    ),
    ("HOST_FULL", waits(running=(full("A"), full("B"))), ["Job slot limit reached: A, B"]),
    (
        "FEW_SLOTS",
        waits(pending=job("j", 4, "span[hosts=1]"), running=(full("A", 1), full("B", 3))),
        ["Not enough job slot(s): A, B"],
    ),
    (
        "FEW_SLOTS and HOST_FULL",
        waits(pending=job("j", 4), running=(full("A", 4), full("B", 3))),
        ["Job slot limit reached: A", "Not enough job slot(s): B"],
    ),
    (
        "FEW_SLOTS together",
        waits(pending=job("j", 9)),
        ["Not enough job slot(s): A, B"],
    ),
    (
        "FEW_SLOTS of a job larger than every host",
        waits(pending=job("j", 5, "span[hosts=1]")),
        ["Not enough job slot(s): A, B"],
    ),
    (
        "QUEUE_PER_HOST",
        waits(host("A"), running=(full(slots=2),), queues=queue(host_slots=2)),
        ["Queue's per-host job slot limit reached: A"],
    ),
    (
        "QUEUE_PER_CPU",
        waits(host("A", ncpus=4), running=(full(slots=2),), queues=queue(processor_slots=0.5)),
        ["Queue's per-CPU job slot limit reached: A"],
    ),
    (
        "USER_PER_CPU",
        waits(host("A", ncpus=4), running=(full(slots=2),), users=(User("user", None, 0.5),)),
        ["User's per-CPU job slot limit reached: A"],
    ),
    (
        "GROUP_PER_CPU",
        waits(
            host("A", ncpus=4),
            running=(full(slots=2),),
            users=(User("g", None, 0.5),),
            groups=(UserGroup("g", ("user",)),),
        ),
        ["User group's per-CPU job slot limit reached: A"],
    ),
    (
        "HOST_PER_USER",
        waits(host("A", user_slots=2), running=(full(slots=2),)),
        ["Host's per-user job slot limit reached: A"],
    ),
    (
        "PARTITION",
        waits(partitions=(HostPartition("p", ("A", "B"), SHARES),)),
        ["The user has no access to the host partition: A, B"],
    ),
    (
        "JUST_ACCEPTED",
        waits(running=(full("A", 1), full("B", 1)), params=Params(job_accept_interval=1)),
        ["Just started a job recently: A, B"],
    ),
    (
        "SPAN",
        waits(pending=job("j", 6, "span[ptile=2]")),
        ["Not enough processors to meet the job's spanning requirement"],
    ),
    (
        "QUEUE_SPAN",
        waits(pending=job("j", 6), queues=queue(res_req="span[ptile=2]")),
        ["Not enough processors to meet the queue's spanning requirement"],
    ),
    (
        "same",
        waits(host("A", type="X"), host("B", type="Y"), pending=job("j", 6, "same[type]")),
        ["Not enough processors to meet the job's spanning requirement"],
    ),
    (
        "EXCLUSIVE",
        waits(host("A"), running=(full(slots=1, exclusive=True),), queues=queue(exclusive="Y")),
        ["Running an exclusive job: A"],
    ),
    (
        "NOT_ALONE",
        waits(
            host("A"),
            pending=job("j", exclusive=True),
            running=(full(slots=1),),
            queues=queue(exclusive="Y"),
        ),
        ["Job's requirement for exclusive execution not satisfied: A"],
    ),
    (
        "RESERVATION_INACTIVE",
        waits(
            host("A"),
            pending=replace(job("j", 2, minutes=60), reservation="u#1"),
            advance_reservations=(
                AdvanceReservation("u#1", HOUR, 2 * HOUR, {"A": 3}, users=("all",)),
            ),
        ),
        ["The advance reservation of the job is not active"],
    ),
    (
        "RESERVED",
        waits(
            host("A"),
            pending=job("j", 2, minutes=60),
            advance_reservations=(AdvanceReservation("u#1", 0, HOUR, {"A": 3}),),
        ),
        ["Not enough job slot(s) while advance reservation is active: A"],
    ),
    (
        "NO_UNIT",
        in_units("cu[type=enc]", slots=1, running=(full("A"), full("B"), full("C"), full("D"))),
        [
            "Host does not belong to a compute unit of the required type: Z",
            "Job slot limit reached: A, B, C, D",
        ],
    ),
    (
        "UNIT_EXCLUSIVE",
        in_units(
            "cu[type=enc]",
            slots=1,
            running=(full("A", 1, res_req=("cu[excl]",)), full("C"), full("D")),
        ),
        [
            "Host does not belong to a compute unit of the required type: Z",
            "A compute unit containing the host is used exclusively: A, B",
            "Job slot limit reached: C, D",
        ],
    ),
    (
        "UNIT_OCCUPIED",
        in_units("cu[excl]", slots=1, running=(full("A", 1), full("D", 1))),
        [
            "Host does not belong to a compute unit of the required type: Z",
            "CU-level exclusive job cannot start since CU is occupied: A, B, C, D",
        ],
    ),
    (
        "UNITS_MAXCUS",
        in_units("cu[maxcus=1]", slots=9),
        [
            "Host does not belong to a compute unit of the required type: Z",
            "Maxcus cannot be satisfied",
        ],
    ),
    (
        "UNITS_BALANCE",
        in_units("cu[balance]", slots=11, sizes=(8, 4)),
        ["Balance cannot be satisfied"],
    ),
    (
        "UNIT_USABLE",
        in_units("cu[usablecuslots=5]", slots=13, sizes=(4, 8, 4)),
        ["Not enough usable slots on the host's compute unit: h0, h2"],
    ),
    (
        "LOAD",
        waits(
            host("A", load={"r1m": 3.0}),
            host("B", load={"r1m": 3.0, "ut": 0.99}),
            queues=queue(thresholds=Thresholds({"r1m": 2.0, "ut": 0.9})),
        ),
        ["The 1 min effective CPU queue length (r1m) is beyond threshold: A, B"],
    ),
    (
        "LOAD in general (RSV-12)",
        waits(
            host("A", load={"r1m": 3.0}, thresholds=Thresholds({"r1m": 2.0})),
            queues=queue(res_req="select[ncpus>0]"),
        ),
        ["Load threshold reached: A"],
    ),
    (
        "LOAD of a site's index",
        waits(
            host("A", load={"scratch": 1.0}),
            queues=queue(thresholds=Thresholds({"scratch": 5.0})),
        ),
        ["External load index (scratch) is beyond threshold: A"],
    ),
    (
        "RUSAGE",
        waits(
            host("A", mem=100),
            host("B", mem=50),
            pending=job("j", 1, "rusage[mem=60]"),
            running=(full("A", 1, res_req=("rusage[mem=60]",)),),
        ),
        ["Job's requirements for reserving resource (mem) not satisfied: A, B"],
    ),
    (
        "QUEUE_RUSAGE",
        waits(
            host("A", mem=100),
            running=(full("A", 1),),
            queues=queue(res_req="rusage[mem=60]"),
        ),
        ["Queue's requirements for reserving resource (mem) not satisfied: A"],
    ),
    (
        "RUSAGE of a licence",
        waits(
            cluster=cluster(*FOUR, shared=(SharedResource("lic", 1.0, frozenset("ABC")),)),
            pending=job("j", 1, "rusage[lic=1]"),
            running=(full("A", 1, res_req=("rusage[lic=1]",)),),
        ),
        ["Job's requirements for reserving resource (lic) not satisfied: A, B, C, D"],
    ),
    (
        "LIMIT_USER",
        waits(running=(full(slots=2),), limits=(every("users", slots=2),)),
        ["Resource (slots) limit defined on user or user group has been reached"],
    ),
    (
        "LIMIT_QUEUE",
        waits(running=(full(slots=2),), limits=(every("queues", slots=2),)),
        ["Resource (slots) limit defined on queue has been reached"],
    ),
    (
        "LIMIT_PROJECT",
        waits(running=(full(slots=2),), limits=(every("projects", slots=2),)),
        ["Resource (slots) limit defined on project has been reached"],
    ),
    (
        "LIMIT_CLUSTER",
        waits(
            host("A", mem=100),
            pending=job("j", 1, "rusage[mem=5]"),
            limits=(Limit("mem_limit1", {"mem": 4.0}),),
        ),
        ["Resource (mem) limit defined cluster-wide has been reached"],
    ),
    (
        "LIMIT_HOST",
        waits(running=(full(slots=2), full("B", 2)), limits=(every("hosts", slots=2),)),
        ["Resource (slots) limit defined on host and/or host group has been reached: A, B"],
    ),
    (
        "JOBS_USER",
        waits(running=(full(slots=2),), limits=(every("users", jobs=1),)),
        ["JOBS limit defined for the user or user group has been reached"],
    ),
    (
        "JOBS_QUEUE",
        waits(running=(full(slots=2),), limits=(every("queues", jobs=1),)),
        ["JOBS limit defined for the queue has been reached"],
    ),
    (
        "JOBS_PROJECT",
        waits(running=(full(slots=2),), limits=(every("projects", jobs=1),)),
        ["JOBS limit defined for the project has been reached"],
    ),
    *(
        (
            name,
            waits(
                running=(full(slots=2, application="a"),),
                pending=job("j", application="a"),
                applications=(sw.Application("a"),),
                limits=(every("apps", **amounts),),
            ),
            [words],
        )
        for name, amounts, words in (
            (
                "LIMIT_APP",
                {"slots": 2},
                "Resource (slots) limit defined on application has been reached",
            ),
            ("JOBS_APP", {"jobs": 1}, "JOBS limit defined for the application has been reached"),
        )
    ),
    *(
        (
            name,
            waits(
                running=(full(slots=2, license_project="a"),),
                pending=job("j", license_project="a"),
                limits=(every("lic_projects", **amounts),),
            ),
            [words],
        )
        for name, amounts, words in (
            (
                "LIMIT_LICENSE_PROJECT",
                {"slots": 2},
                "Resource (slots) limit defined on license project has been reached",
            ),
            (
                "JOBS_LICENSE_PROJECT",
                {"jobs": 1},
                "JOBS limit defined for the license project has been reached",
            ),
        )
    ),
    (
        "JOBS_CLUSTER",
        waits(running=(full(slots=2),), limits=(Limit("l", {"jobs": 1.0}),)),
        ["JOBS limit defined cluster-wide has been reached"],
    ),
    (
        "JOBS_HOST",
        waits(running=(full(), full("B", 1)), limits=(every("hosts", jobs=1),)),
        [
            "Job slot limit reached: A",
            "JOBS limit defined on host or host group has been reached: B",
        ],
    ),
]


@pytest.mark.behaviour("LOP-01", "VEW-01")
@pytest.mark.parametrize(("problem", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_words_and_hosts(problem: Instance, expected: list[str]) -> None:
    assert texts(problem) == expected


def test_slot_pools_say_that_the_queue_has_its_part() -> None:
    """Four of eight slots are a queue's half; another queue waits for the other half."""
    parts = (Queue("q", 9, slot_pool="P", slot_share=50.0),)
    parts += (Queue("low", 1, slot_pool="P", slot_share=50.0),)
    jobs = tuple(job(f"l{n}", queue="low") for n in range(9))
    one = instance(host("A"), host("B"), running=(full(),), pending=(job("j"), *jobs), queues=parts)
    assert texts(one) == ["The queue has reached its job slot limit"]
    two = instance(host("A"), running=(full("A", 3),), pending=(job("j", 2),), queues=parts)
    assert texts(two) == ["The queue has not enough job slots for the parallel job"]


def test_every_reason_has_a_case() -> None:
    """A word of the table that no state shows would be dead."""
    said = {text.split(": ")[0] for _, _, expected in CASES for text in expected}
    shown = {kind for kind in Pending if any(_says(kind, text) for text in said)}
    elsewhere = {Pending.NEW, Pending.POSTPONED, Pending.PARTITION_PRIORITY}
    assert set(Pending) - shown - elsewhere == set()


def _says(kind: Pending, text: str) -> bool:
    if kind is Pending.LOAD:
        return text == kind.words or text in LOAD_WORDS.values()
    head, _, tail = kind.words.partition("{}")
    return text.startswith(head) and text.endswith(tail)


def test_hosts_of_a_partition_without_a_share_for_the_user() -> None:
    """Those hosts alone have the reason; the others have theirs."""
    partitions = (HostPartition("P", ("A",), (("ben", 1),)),)
    problem = waits(
        partitions=partitions,
        running=(running("rB", {"B": 4}, LONG),),
        pending=job("j", user="ann"),
    )
    said = texts(problem)
    assert [text.rpartition(": ")[2] for text in said] == ["A", "B"]
