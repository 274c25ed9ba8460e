"""Plans of jobs that wait for others (bsub -w): against every start tried, and case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest
from precedence_cases import case, lexicographic, plans
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Method, Plan, Queue, RunningJob
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.precedence import NEVER_SATISFIED
from slotwise.solver.validate import validate

#: The latest start of a plan that is tried.
LAST = 12
METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")


def exact(instance: Instance, method: Method, objective: str) -> Plan:
    if method == "milp":
        return plan(instance, method, objective=objective, time_limit=60)  # type: ignore[arg-type]
    return plan(instance, method, objective=objective, effort=3)  # type: ignore[arg-type]


def nothing_false_is_proved(seed: int, jobs: int) -> int:
    """All methods against every plan; how many plans were proved."""
    given = case(seed, jobs=jobs)
    instance = given.instance
    order = [job.id for job in priority_order(instance)]
    right = lexicographic(given, order)
    tried = list(plans(given, LAST))
    ends = {job.id: job.run_limit or 0 for job in instance.pending}
    weights = {job.id: job.weight for job in instance.pending}
    proved = 0
    for method in METHODS[:2]:
        found = plan(instance, method)
        assert validate(instance, found) == [], (seed, method)
        assert not any("bug" in note for note in found.notes), (seed, method, found.notes)
    for method in METHODS[2:]:
        found = exact(instance, method, "lexicographic")
        assert validate(instance, found) == [], (seed, method)
        assert found.status == "optimal", (seed, method, found.notes)
        assert [found[name].start for name in order] == right, (seed, method)
        for objective, least in (
            ("total-start", min((float(sum(p.values())) for p in tried), default=None)),
            (
                "weighted",
                min((sum(weights[n] * t for n, t in p.items()) for p in tried), default=None),
            ),
            (
                "makespan",
                min((float(max(t + ends[n] for n, t in p.items())) for p in tried), default=None),
            ),
        ):
            found = exact(instance, method, objective)
            assert validate(instance, found) == [], (seed, method, objective)
            assert found.value is not None
            if least is None:
                continue
            late = any((item.start or 0) > LAST for item in found)
            if found.status == "optimal":
                proved += 1
                assert found.value <= least + 1e-6, (seed, method, objective)
                assert late or found.value == pytest.approx(least), (seed, method, objective)
            assert found.bound is None or found.bound <= least + 1e-6, (seed, method, objective)
    return proved


@pytest.mark.behaviour("DEP-02")
@pytest.mark.behaviour("DEP-03")
@pytest.mark.behaviour("DEP-05")
@pytest.mark.parametrize("seed", some(range(0, 40, 4), 4))
def test_nothing_false_is_proved_of_jobs_that_wait(seed: int) -> None:
    assert nothing_false_is_proved(seed, 3) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_nothing_false_is_proved_of_many_jobs_that_wait(part: int) -> None:
    proved = sum(
        nothing_false_is_proved(seed, 3) for seed in range(100 + 100 * part, 200 + 100 * part)
    )
    proved += sum(
        nothing_false_is_proved(seed, 4) for seed in range(5000 + 10 * part, 5010 + 10 * part)
    )
    assert proved >= 600


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
    assert {item.reason for item in found.unplaced} == {NEVER_SATISFIED}
    assert {item.job for item in found.unplaced} == {"2", "3"}


@pytest.mark.behaviour("DEP-03")
@pytest.mark.parametrize(
    ("condition", "start", "named"),
    [
        ("exit(1)", 200, "whether a job fails"),
        ("post_err(1) && done(1)", 200, "whether a job fails"),
        ("exit(1, != 0) || done(1)", 200, "whether a job fails"),
        ('external(1, "ok")', 0, "external()"),
        ("!done(1)", 0, "'!' in start conditions"),
        ("done(77)", 0, "on unknown jobs"),
        ("done(77) && done(1)", 200, "on unknown jobs"),
        ("numrun(1, 1)", 0, "a count of a start condition"),
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


@pytest.mark.behaviour("DEP-01")
@pytest.mark.parametrize("word", ["done", "ended", "post_done", ""])
def test_all_words_for_an_end(word: str) -> None:
    condition = f"{word}(1)" if word else "1"
    instance = site(Job("2", 1, run_limit=5, dependency=condition), running=(runs("1", 2, 80),))
    found = plan(instance)
    assert found["2"].start == 80
    assert found["2"].proved


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
