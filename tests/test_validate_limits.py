"""The judge on slot limits of hosts, queues, users and lsb.resources, in the future too."""

from typing import Any

import pytest
from judging import Case, faults, host, job, problem, running
from slotwise import (
    Cluster,
    Job,
    Limit,
    Queue,
    ResourceDefinition,
    Scope,
    SharedResource,
    User,
    UserGroup,
)

ALL = Scope(("all",))
EACH = Scope(("all",), each=True)
TEAM = (UserGroup("team", ("ann", "sub")), UserGroup("sub", ("bob",)))


def of(user: str, name: str, slots: int, **more: Any) -> Job:
    return job(name, slots, user=user, **more)


CASES = [
    Case(
        "JL/U",
        problem(
            of("ann", "j", 2),
            of("bob", "k", 2),
            hosts=(host("A", 8, user_slots=2), host("B")),
            running=(running("r", {"A": 1}, user="ann"),),
        ),
        {"j": (100, {"A": 2}), "k": (0, {"A": 2})},
        {"j": (99, {"A": 2}), "k": (0, {"A": 2})},
        ("limit: job j: 3 slots on host A at 99 s, JL/U for user ann allows 2",),
    ),
    Case(
        "PJOB_LIMIT, half a slot a processor",
        problem(
            job("j", 2),
            job("k", 1),
            hosts=(host("A", 4, ncpus=3),),
            queues=(Queue("default", processor_slots=0.5),),
        ),
        {"j": (0, {"A": 2}), "k": (100, {"A": 1})},
        {"j": (0, {"A": 2}), "k": (50, {"A": 1})},
        ("limit: job k: 3 slots on host A at 50 s, PJOB_LIMIT of queue default allows 2",),
    ),
    Case(
        "HJOB_LIMIT",
        problem(job("j", 3), queues=(Queue("default", host_slots=2),)),
        {"j": (0, {"A": 2, "B": 1})},
        {"j": (0, {"A": 3})},
        ("limit: job j: 3 slots on host A at 0 s, HJOB_LIMIT of queue default allows 2",),
    ),
    Case(
        "QJOB_LIMIT",
        problem(
            job("j", 3),
            job("k", 3, queue="other"),
            queues=(Queue("default", queue_slots=4), Queue("other")),
            running=(running("r", {"A": 2}),),
        ),
        {"j": (100, {"B": 3}), "k": (0, {"C": 3})},
        {"j": (99, {"B": 3}), "k": (0, {"C": 3})},
        ("limit: job j: 5 slots at 99 s, QJOB_LIMIT of queue default allows 4",),
    ),
    Case(
        "UJOB_LIMIT",
        problem(
            of("ann", "j", 3),
            of("ann", "k", 2),
            of("bob", "l", 3),
            queues=(Queue("default", user_slots=4),),
        ),
        {"j": (0, {"A": 3}), "k": (100, {"B": 2}), "l": (0, {"C": 3})},
        {"j": (0, {"A": 3}), "k": (0, {"B": 2}), "l": (0, {"C": 3})},
        ("limit: jobs j, k: 5 slots at 0 s, UJOB_LIMIT of queue default for user ann allows 4",),
    ),
    Case(
        "MAX_JOBS of a user",
        problem(
            of("ann", "j", 2),
            of("bob", "k", 2),
            users=(User("ann", 3), User("bob", 2)),
            running=(running("r", {"B": 2}, user="ann"),),
        ),
        {"j": (100, {"A": 2}), "k": (0, {"A": 2})},
        {"j": (0, {"A": 2}), "k": (0, {"A": 2})},
        ("limit: job j: 4 slots at 0 s, MAX_JOBS of ann allows 3",),
    ),
    Case(
        "MAX_JOBS of a group together",
        problem(of("ann", "j", 2), of("bob", "k", 2), users=(User("team", 3),), groups=TEAM),
        {"j": (0, {"A": 2}), "k": (100, {"B": 2})},
        {"j": (0, {"A": 2}), "k": (1, {"B": 2})},
        ("limit: job k: 4 slots at 1 s, MAX_JOBS of team allows 3",),
    ),
    Case(
        "MAX_JOBS of each member",
        problem(
            of("ann", "j", 2),
            of("bob", "k", 2),
            of("bob", "l", 2),
            users=(User("team@", 3),),
            groups=TEAM,
        ),
        {"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (100, {"C": 2})},
        {"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (1, {"C": 2})},
        ("limit: job l: 4 slots at 1 s, MAX_JOBS of bob allows 3",),
    ),
    Case(
        "MAX_JOBS of everybody not listed",
        problem(
            of("ann", "j", 3),
            of("bob", "k", 1),
            of("bob", "l", 2),
            users=(User("default", 2), User("ann", 9)),
        ),
        {"j": (0, {"A": 3}), "k": (0, {"B": 1}), "l": (100, {"B": 2})},
        {"j": (0, {"A": 3}), "k": (0, {"B": 1}), "l": (0, {"B": 2})},
        ("limit: jobs k, l: 3 slots at 0 s, MAX_JOBS of bob allows 2",),
    ),
    Case(
        "JL/P, rounded up",
        problem(
            of("ann", "j", 1, max_slots=4),
            hosts=(host("A", ncpus=3),),
            users=(User("ann", None, 0.5),),
        ),
        {"j": (0, {"A": 2})},
        {"j": (0, {"A": 3})},
        ("limit: job j: 3 slots on host A at 0 s, JL/P of ann allows 2",),
    ),
    Case(
        "SLOTS of users and queues together",
        problem(
            of("ann", "j", 2),
            of("bob", "k", 2),
            of("eve", "l", 4),
            limits=(Limit("few", {"slots": 3}, users=Scope(("ann", "bob")), queues=ALL),),
        ),
        {"j": (0, {"A": 2}), "k": (100, {"B": 2}), "l": (0, {"C": 4})},
        {"j": (0, {"A": 2}), "k": (99, {"B": 2}), "l": (0, {"C": 4})},
        ("limit: job k: 4 slots at 99 s, limit few allows 3",),
    ),
    Case(
        "SLOTS of each user but one",
        problem(
            of("ann", "j", 2),
            of("ann", "k", 2),
            of("bob", "l", 4),
            limits=(Limit("each", {"slots": 3}, users=Scope(("all",), True, ("bob",))),),
        ),
        {"j": (0, {"A": 2}), "k": (100, {"B": 2}), "l": (0, {"C": 4})},
        {"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (0, {"C": 4})},
        ("limit: jobs j, k: 4 slots at 0 s, limit each for ann allows 3",),
    ),
    Case(
        "SLOTS of each queue and project",
        problem(
            job("j", 2, project="p"),
            job("k", 2, project="q"),
            job("l", 2, project="p"),
            limits=(Limit("pq", {"slots": 3}, queues=EACH, projects=EACH),),
        ),
        {"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (100, {"C": 2})},
        {"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (99, {"C": 2})},
        ("limit: job l: 4 slots at 99 s, limit pq for default p allows 3",),
    ),
    Case(
        "SLOTS of each licence project; no project is none of them",
        problem(
            job("j", 2, license_project="p"),
            job("k", 2, license_project="q"),
            job("l", 2, license_project="p"),
            job("m", 2),
            job("n", 2),
            limits=(Limit("lp", {"slots": 3}, lic_projects=EACH),),
        ),
        {
            **{"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (100, {"A": 2})},
            **{"m": (0, {"C": 2}), "n": (0, {"C": 2})},
        },
        {
            **{"j": (0, {"A": 2}), "k": (0, {"B": 2}), "l": (99, {"A": 2})},
            **{"m": (0, {"C": 2}), "n": (0, {"C": 2})},
        },
        ("limit: job l: 4 slots at 99 s, limit lp for p allows 3",),
    ),
    Case(
        "SLOTS of some hosts together",
        problem(job("j", 4), limits=(Limit("ab", {"slots": 3}, hosts=Scope(("A", "B"))),)),
        {"j": (0, {"A": 1, "B": 2, "C": 1})},
        {"j": (0, {"A": 2, "B": 2})},
        ("limit: job j: 4 slots at 0 s, limit ab allows 3",),
    ),
    Case(
        "SLOTS of each host",
        problem(
            job("j", 4), limits=(Limit("h", {"slots": 3}, hosts=Scope(("all",), True, ("C",))),)
        ),
        {"j": (0, {"C": 4})},
        {"j": (0, {"A": 4})},
        ("limit: job j: 4 slots on host A at 0 s, limit h allows 3",),
    ),
    Case(
        "SLOTS_PER_PROCESSOR, rounded up",
        problem(
            job("j", 1, max_slots=4),
            hosts=(host("A", ncpus=3),),
            limits=(Limit("pp", slots_per_processor=0.5, hosts=EACH),),
        ),
        {"j": (0, {"A": 2})},
        {"j": (0, {"A": 3})},
        ("limit: job j: 3 slots on host A at 0 s, limit pp allows 2",),
    ),
    Case(
        "JOBS",
        problem(job("j", 4), job("k", 1), limits=(Limit("one", {"jobs": 1}, users=EACH),)),
        {"j": (0, {"A": 4}), "k": (100, {"B": 1})},
        {"j": (0, {"A": 4}), "k": (50, {"B": 1})},
        ("limit: job k: 2 jobs at 50 s, limit one for user allows 1",),
    ),
    Case(
        "JOBS of each host",
        problem(job("j", 2), job("k", 1), limits=(Limit("one", {"jobs": 1}, hosts=EACH),)),
        {"j": (0, {"A": 2}), "k": (0, {"B": 1})},
        {"j": (0, {"A": 2}), "k": (0, {"A": 1})},
        ("limit: jobs j, k: 2 jobs on host A at 0 s, limit one allows 1",),
    ),
    Case(
        "JOBS of one host: a job elsewhere counts for nothing",
        problem(
            job("j", 2),
            job("k", 1),
            job("l", 1),
            limits=(Limit("one", {"jobs": 1}, hosts=Scope(("A",))),),
        ),
        {"j": (0, {"A": 2}), "k": (100, {"A": 1}), "l": (0, {"B": 1})},
        {"j": (0, {"A": 2}), "k": (50, {"A": 1}), "l": (0, {"B": 1})},
        ("limit: job k: 2 jobs at 50 s, limit one allows 1",),
    ),
    Case(
        "MEM over hosts, by phases",
        problem(
            job("j", 2, "rusage[mem=300]"),
            hosts=tuple(host(name, amounts={"mem": 1000.0}) for name in "AB"),
            limits=(Limit("m", {"mem": 800.0}, users=ALL),),
            running=(running("r", {"A": 1}, "rusage[mem=(500 100):duration=(1)]"),),
        ),
        {"j": (60, {"A": 1, "B": 1})},
        {"j": (59, {"A": 1, "B": 1})},
        ("limit: job j: 1100 mem at 59 s, limit m allows 800",),
    ),
    Case(
        "MEM of each host",
        problem(
            job("j", 1, "rusage[mem=300]"),
            hosts=tuple(host(name, amounts={"mem": 1000.0}) for name in "AB"),
            limits=(Limit("m", {"mem": 700.0}, hosts=EACH),),
            running=(running("r", {"A": 1}, "rusage[mem=500]"),),
        ),
        {"j": (0, {"B": 1})},
        {"j": (0, {"A": 1})},
        ("limit: job j: 800 mem on host A at 0 s, limit m allows 700",),
    ),
    Case(
        "a licence",
        problem(
            job("j", 1, "rusage[lic=2]"),
            cluster=Cluster(
                (host("A"),),
                resources=(ResourceDefinition("lic"),),
                shared=(SharedResource("lic", 9),),
            ),
            limits=(Limit("l", {"lic": 3}, queues=ALL),),
            running=(running("r", {"A": 1}, "rusage[lic=2]"),),
        ),
        {"j": (100, {"A": 1})},
        {"j": (0, {"A": 1})},
        ("limit: job j: 4 lic at 0 s, limit l allows 3",),
    ),
]


@pytest.mark.behaviour("TBR-10", "LOP-03")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_limits(case: Case) -> None:
    assert case.outcome() == ([], list(case.said))


@pytest.mark.behaviour("TBR-10")
def test_a_limit_that_running_jobs_alone_exceed_blames_only_who_adds_to_it() -> None:
    instance = problem(
        job("j", 1),
        job("k", 1, user="eve"),
        limits=(Limit("u", {"slots": 2}, users=EACH),),
        running=(running("r", {"A": 3}),),
    )
    assert faults(instance, {"j": (100, {"B": 1}), "k": (0, {"B": 1})}) == []
    assert faults(instance, {"j": (0, {"B": 1}), "k": (0, {"B": 1})}) == [
        "limit: job j: 4 slots at 0 s, limit u for user allows 2"
    ]


def test_slots_per_processor_without_per_host_is_ignored() -> None:
    limits = (Limit("pp", slots_per_processor=0.1, hosts=ALL),)
    assert faults(problem(job("j", 4), limits=limits), {"j": (0, {"A": 4})}) == []
