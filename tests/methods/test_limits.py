"""Every slot limit of TBR-10, now and in the future, and the other limits of lsb.resources."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from judging import host, job, problem, running
from sampling import pairwise, some
from slotwise import Instance, Job, Limit, Queue, Scope, User, UserGroup
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate_schedule

ALL, EACH = Scope(("all",)), Scope(("all",), each=True)
BOB = {"user": "bob"}
OTHER = {"queue": "other"}
PROJECT = {"project": "q"}


def slots(amount: float = 4, **scopes: Any) -> dict[str, Any]:
    """A Limit section of `amount` slots."""
    return {"limits": (Limit("L", {"slots": amount}, **scopes),)}


def queue(**limits: Any) -> dict[str, Any]:
    """A limit of the queue `default`, beside a queue without any."""
    return {"queues": (Queue("default", **limits), Queue("other"))}


#: Name, instance fields, what makes a job that the limit does not count (None: nothing does), and
#: how the limit is named. Each leaves 4 of the 12 slots of the only host, which has 4 processors.
LIMITS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, str]] = {
    "SLOTS": (slots(), None, "limit L (slots)"),
    "SLOTS USERS": (slots(users=Scope(("ann",))), BOB, "limit L (slots)"),
    "SLOTS USERS ~": (slots(users=Scope(("all",), excluded=("bob",))), BOB, "limit L (slots)"),
    "SLOTS PER_USER": (slots(users=EACH), BOB, "limit L (slots of ann)"),
    "SLOTS QUEUES": (slots(queues=Scope(("default",))), OTHER, "limit L (slots)"),
    "SLOTS PER_QUEUE": (slots(queues=EACH), OTHER, "limit L (slots of default)"),
    "SLOTS PROJECTS": (slots(projects=Scope(("default",))), PROJECT, "limit L (slots)"),
    "SLOTS PER_PROJECT": (slots(projects=EACH), PROJECT, "limit L (slots of default)"),
    "SLOTS HOSTS": (slots(hosts=Scope(("A",))), None, "limit L (slots)"),
    "SLOTS PER_HOST": (slots(hosts=EACH), None, "under limit L (slots)"),
    "SLOTS PER_USER PER_QUEUE": (
        slots(users=EACH, queues=EACH),
        OTHER,
        "limit L (slots of ann/default)",
    ),
    "SLOTS_PER_PROCESSOR": (
        {"limits": (Limit("L", slots_per_processor=0.8, hosts=EACH),)},
        None,
        "under limit L (slots)",
    ),
    "JOBS": (
        {"limits": (Limit("L", {"jobs": 1.0}, users=Scope(("ann",))),)},
        BOB,
        "limit L (jobs): needs 1",
    ),
    "MXJ": ({"hosts": (host("A", 4, ncpus=12),)}, None, "needs 4 free slots (now 2)"),
    "JL/U": (
        {"hosts": (host("A", 12, ncpus=4, user_slots=4),)},
        BOB,
        "under JL/U slots of user ann",
    ),
    "PJOB_LIMIT": (queue(processor_slots=0.8), OTHER, "under PJOB_LIMIT of queue default"),
    "HJOB_LIMIT": (queue(host_slots=4), OTHER, "under HJOB_LIMIT of queue default"),
    "QJOB_LIMIT": (queue(queue_slots=4), OTHER, "QJOB_LIMIT of default"),
    "UJOB_LIMIT": (queue(user_slots=4), BOB, "UJOB_LIMIT of default for user ann"),
    "MAX_JOBS": ({"users": (User("ann", max_slots=4),)}, BOB, "MAX_JOBS of ann"),
    "MAX_JOBS default": (
        {"users": (User("default", max_slots=4), User("bob", max_slots=12))},
        BOB,
        "MAX_JOBS of default ann",
    ),
    "MAX_JOBS group": (
        {"users": (User("g", max_slots=4),), "groups": (UserGroup("g", ("ann", "eve")),)},
        BOB,
        "MAX_JOBS of g",
    ),
    "MAX_JOBS group@": (
        {"users": (User("g@", max_slots=4),), "groups": (UserGroup("g", ("ann", "bob")),)},
        BOB,
        "MAX_JOBS of g@ ann",
    ),
    "JL/P": ({"users": (User("ann", processor_slots=0.8),)}, BOB, "under JL/P of ann"),
}


def limited(fields: dict[str, Any], *jobs: Job) -> Instance:
    """Two slots of ann run until second 100."""
    more = {"hosts": (host("A", 12, ncpus=4),), "queues": (Queue("default"), Queue("other"))}
    busy = (running("r", {"A": 2}, user="ann"),)
    return problem(*jobs, running=busy, **{**more, **fields})


@pytest.mark.behaviour("TBR-10", "LOP-03")
@pytest.mark.parametrize("method", ["time-based", "optimal"])
@pytest.mark.parametrize("kind", some(LIMITS, 12))
def test_limit_binds_now_and_in_the_future(kind: str, method: str) -> None:
    """`a` waits for the running job, `b` for `a`; free slots there are all the time."""
    fields, _, reason = LIMITS[kind]
    instance = limited(fields, job("a", 4, user="ann"), job("b", 4, user="ann"))
    found = plan(instance, method, effort=10)
    assert (found["a"].start, found["b"].start) == (100, 200)
    assert reason in found["a"].waits_for
    assert found["b"].waits_for.endswith("free when a ends")
    assert sw.validate(instance, found) == []


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize("kind", [kind for kind, case in LIMITS.items() if case[1] is not None])
def test_limit_leaves_others_alone(kind: str) -> None:
    fields, free, _ = LIMITS[kind]
    instance = limited(
        fields, job("a", 4, user="ann"), job("free", 4, **{"user": "ann", **(free or {})})
    )
    found = plan(instance, "time-based")
    assert (found["a"].start, found["free"].start) == (100, 0)


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize(
    "fields",
    [
        {"limits": (Limit("L", slots_per_processor=0.6, hosts=EACH),)},
        queue(processor_slots=0.6),
        {"users": (User("ann", processor_slots=0.6),)},
    ],
    ids=["SLOTS_PER_PROCESSOR", "PJOB_LIMIT", "JL/P"],
)
def test_slots_by_processor_round_up(fields: dict[str, Any]) -> None:
    """0.6 on 4 processors are 2.4, which makes 3 slots: one beside the two that run."""
    found = plan(limited(fields, job("a", 1, user="ann"), job("b", 1, user="ann")), "time-based")
    assert (found["a"].start, found["b"].start) == (0, 100)


@pytest.mark.behaviour("TBR-10")
def test_slots_per_processor_without_per_host_is_ignored() -> None:
    fields = {"limits": (Limit("L", slots_per_processor=0.1, users=EACH),)}
    assert plan(limited(fields, job("a", 4, user="ann")), "time-based")["a"].start == 0


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize(
    ("method", "of", "scoped"),
    pairwise(
        ["greedy", "time-based", "optimal", "milp"],
        [("apps", "application"), ("lic_projects", "license_project")],
        [
            (Scope(("a",)), (0, 100, 0, 0)),
            (Scope(("a", "b")), (0, 100, 200, 0)),
            (Scope(("all",), excluded=("b",)), (0, 100, 0, 0)),
            (EACH, (0, 100, 0, 0)),
        ],
    ),
)
def test_limits_of_application_profiles_and_licence_projects(
    method: Any, of: tuple[str, str], scoped: tuple[Scope, tuple[int, ...]]
) -> None:
    """APPS counts the profiles together, PER_APP each; jobs without a profile never count."""
    (kind, field), (scope, starts) = of, scoped
    named: list[dict[str, Any]] = [{field: name} for name in ("a", "a", "b", "")]
    scopes: dict[str, Any] = {kind: scope}
    jobs = [replace(job(f"{n}", 2), **of) for n, of in enumerate(named)]
    instance = problem(
        *jobs,
        hosts=(host("A", 12),),
        applications=(sw.Application("a"), sw.Application("b")),
        limits=(Limit("L", {"slots": 3.0}, **scopes),),
    )
    assert sw.loads(sw.dump(instance)) == instance
    found = plan(instance, method)
    for item, start in zip(jobs, starts, strict=True):
        said = found[item.id].start
        assert said == start or (said is None and method == "greedy")
    assert not any("bug" in note for note in found.notes)
    run = sw.simulate(instance, cycle=0)
    assert [run[item.id].start for item in jobs] == [*starts]
    assert not validate_schedule(instance, run)


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_a_percentage_of_the_memory_of_each_host(method: Any) -> None:
    """10 % of 249 MB is 25 MB after rounding (10.1)."""
    instance = problem(
        job("a", 1, "rusage[mem=25]"),
        job("b", 1, "rusage[mem=1]"),
        job("c", 1, "rusage[mem=26]"),
        job("d", 1),
        hosts=(host("A", 12, amounts={"mem": 249.0}),),
        limits=(Limit("L", hosts=EACH, percentages={"mem": 10.0}),),
    )
    assert sw.loads(sw.dump(instance)).limits == instance.limits
    found = plan(instance, method)
    assert [found[name].start for name in "abd"] == [0, 100, 0]
    assert [item.job for item in found.unplaced] == ["c"]
    assert not any("bug" in note for note in found.notes)
    wide = sw.dump(instance).replace("PER_HOST", "HOSTS")
    with pytest.raises(sw.InputError, match="a percentage needs PER_HOST"):
        sw.loads(wide)
