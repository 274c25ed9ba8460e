"""Plans of jobs that wait for others (bsub -w): case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from slotwise import Cluster, Host, Instance, Job, Method, Plan, Queue, RunningJob
from slotwise.model.pending import Pending
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")


def site(*pending: Job, running: tuple[RunningJob, ...] = (), slots: int = 4) -> Instance:
    """One host; what runs holds it from second 0."""
    return Instance(Cluster((Host("a", slots),)), running=running, pending=pending)


def runs(name: str, slots: int, limit: int | None, **more: object) -> RunningJob:
    job = Job(name, slots, run_limit=limit, **more)  # type: ignore[arg-type]
    return RunningJob(job, 0, {"a": slots})


def starts(found: Plan) -> dict[str, int | None]:
    return {item.job: item.start if item.start is not None else item.estimate for item in found}


@pytest.mark.behaviour("DEP-05")
@pytest.mark.parametrize("method", METHODS)
def test_without_a_known_end_there_is_no_start(method: Method) -> None:
    waits = Job("2", 1, run_limit=50, dependency="done(1)")
    behind = Job("3", 1, run_limit=50, dependency="ended(2)")
    found = plan(site(waits, behind, running=(runs("1", 2, None),)), method)
    reasons = {item.job: item.reason for item in found.unplaced}
    assert reasons["2"] == "waits for the end of job 1, which is unknown (no run limit)"
    assert "2" in reasons["3"]
    assert found.status in ("infeasible", "heuristic")


@pytest.mark.behaviour("DEP-04")
@pytest.mark.parametrize("method", METHODS)
def test_a_circle_never_starts(method: Method) -> None:
    instance = site(
        Job("2", 1, run_limit=9, dependency="done(3)"),
        Job("3", 1, run_limit=9, dependency="done(2)"),
    )
    found = plan(instance, method)
    assert {item.reason for item in found.unplaced} == {Pending.DEPENDENCY_NEVER.words}
    assert {item.job for item in found.unplaced} == {"2", "3"}


@pytest.mark.behaviour("DEP-03")
@pytest.mark.parametrize(
    ("condition", "start", "named"),
    [
        ("exit(1)", 200, "failures of jobs"),
        ("post_err(1) && done(1)", 200, "failures of jobs"),
        ("exit(1, != 0) || done(1)", 200, "failures of jobs"),
        ('external(1, "ok")', 0, "external()"),
        ("!done(1)", 0, "'!' in start conditions"),
        ("done(77)", 0, "on unknown jobs"),
        ("done(77) && done(1)", 200, "on unknown jobs"),
        ("numrun(1, 1)", 0, "later changes of a count"),
    ],
)
def test_what_a_plan_cannot_know_is_named_and_never_proved(
    condition: str, start: int, named: str
) -> None:
    waits = Job("2", 1, run_limit=50, dependency=condition)
    behind = Job("3", 1, run_limit=50, dependency="done(2)")
    instance = site(waits, behind, Job("4", 1, run_limit=5), running=(runs("1", 2, 200),))
    for method in ("optimal", "milp"):
        found = plan(instance, method)  # type: ignore[arg-type]
        assert found["2"].start == start
        assert not found["2"].proved
        assert not found["3"].proved
        assert found["4"].proved
        assert found.status == "feasible"
        assert any(named in item.what for item in found.omissions)


@pytest.mark.behaviour("DEP-05")
def test_the_cycle_looks_at_jobs_that_wait_behind_all_others() -> None:
    """As LSF does: what waits for others takes nothing that another could have now."""
    queues = (Queue("high", priority=90), Queue("low", priority=10))
    instance = replace(
        site(
            Job("2", 4, queue="high", run_limit=50, dependency="done(1)"),
            Job("3", 2, queue="low", run_limit=500),
            running=(runs("1", 2, 100, queue="low"),),
        ),
        queues=queues,
    )
    found = plan(instance, "time-based")
    assert starts(found) == {"3": 0, "2": 500}
    # In order of priority the other comes first: what is minimised is its start.
    assert starts(plan(instance)) == {"2": 100, "3": 150}


@pytest.mark.behaviour("DEP-05")
def test_the_order_of_planning_puts_a_job_behind_those_it_waits_for() -> None:
    instance = site(
        Job("2", 1, priority=9, dependency="done(5)", run_limit=5),
        Job("3", 1, priority=5, run_limit=5),
        Job("5", 1, priority=1, run_limit=5),
        Job("6", 1, priority=0, run_limit=5),
    )
    assert [job.id for job in priority_order(instance)] == ["3", "5", "2", "6"]


@pytest.mark.behaviour("DEP-02")
def test_counts_of_an_array() -> None:
    elements = [Job(f"7[{n}]", 1, run_limit=10 * n, name="a") for n in (1, 2, 3)]
    for condition, start in (
        ("numdone(7, >= 2)", 20),
        ("numended(7, *)", 30),
        ("numdone(7, > 2)", 30),
        ("numpend(7, == 0)", 0),
        ("done(7)", 30),
        ("done(7[1])", 10),
        ("done(a[1-2])", 20),
        ("started(7) && numdone(a, 3)", 30),
    ):
        found = plan(site(*elements, Job("8", 1, run_limit=5, dependency=condition)))
        assert found["8"].start == start, condition


@pytest.mark.behaviour("DEP-02")
def test_element_to_element() -> None:
    first = [Job(f"7[{n}]", 1, run_limit=10 * n, name="a") for n in (1, 2, 3)]
    second = [Job(f"8[{n}]", 1, run_limit=5, dependency="done(a[*])") for n in (1, 2, 3)]
    found = plan(site(*first, *second, slots=6))
    assert [found[f"8[{n}]"].start for n in (1, 2, 3)] == [10, 20, 30]


@pytest.mark.behaviour("DEP-06")
def test_think_time_passes_after_the_condition() -> None:
    waits = Job("2", 1, run_limit=5, dependency="ended(1)", think_time=30)
    for method in ("time-based", "optimal", "milp"):
        found = plan(site(waits, running=(runs("1", 2, 200),)), method)  # type: ignore[arg-type]
        assert found["2"].start == 230


@pytest.mark.behaviour("DEP-05")
def test_a_margin_is_kept_between_a_job_and_the_next_of_its_chain() -> None:
    instance = site(Job("2", 1, run_limit=50), Job("3", 1, run_limit=50, dependency="done(2)"))
    found = plan(instance, margin=7)
    assert found["3"].start == 57
    assert validate(instance, found) == []
