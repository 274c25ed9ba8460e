"""Many kinds of constraint at once: no exception, valid plans, and methods in their right order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from agreement_cases import KINDS, MINUTE, draft
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import Cluster, Host, Instance, Job, Limit, Plan, Queue, RunningJob, Scope
from slotwise.model.generate import generate
from slotwise.solver.advice.comparison import compare
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.validate import validate

EFFORT = 2.0


@st.composite
def mixed(drawn: st.DrawFn) -> Instance:
    """Up to five kinds of constraint, jobs without an end or too large, a second queue."""
    random = np.random.default_rng(drawn(st.integers(0, 10**6)))
    it = draft(random)
    for name in drawn(st.lists(st.sampled_from(sorted(KINDS)), max_size=5, unique=True)):
        KINDS[name](it, random)
    if drawn(st.integers(0, 4)) == 0:
        it.jobs[-1]["run_limit"] = None
    if drawn(st.integers(0, 9)) == 0 and "compound" not in it.sections[-1]:
        it.jobs[-1] |= {"slots": 30, "max_slots": None}
    if drawn(st.integers(0, 9)) == 0:
        it.jobs[0]["resizable"] = True
    instance = it.build()
    if drawn(st.booleans()):
        urgent = replace(instance.queues[0], name="urgent", priority=50)
        last = replace(instance.pending[-1], queue="urgent")
        instance = replace(
            instance,
            queues=(*instance.queues, urgent),
            pending=(*instance.pending[:-1], last),
        )
    return replace(instance, pending=instance.pending[: drawn(st.integers(0, 3))])


def _starts(instance: Instance, found: Plan) -> list[float]:
    """Starts in priority order, infinite for a job without one."""
    entries = (found.get(d.job.id) for d in PlanningProblem.of(instance).demands)
    return [float("inf") if e is None or e.start is None else e.start for e in entries]


@examples(25)
@given(mixed())
def test_plans_are_valid_and_in_order(instance: Instance) -> None:
    literal = plan(instance, "time-based")
    for heuristic in (plan(instance, "greedy"), literal):
        assert validate(instance, heuristic, as_lsf=True) == []
    best = plan(instance, "optimal", as_lsf=True, effort=EFFORT)
    assert validate(instance, best, as_lsf=True) == []
    assert _starts(instance, best) <= _starts(instance, literal)
    total = plan(instance, "optimal", objective="total-start", as_lsf=True, effort=EFFORT)
    assert validate(instance, total, as_lsf=True) == []
    if len(total.reservations) == len(best.reservations) and total.bound is not None:
        assert total.bound <= min(total.value or 0, best.value or 0) + 1e-6
    rows = compare(instance, effort=EFFORT, methods=True)
    assert validate(instance, rows.optimal) == []
    assert len(rows.jobs) == len(instance.pending)


@pytest.mark.parametrize("seed", range(3))
def test_small_generated_clusters(seed: int) -> None:
    instance = generate(hosts=3 + seed, per_enclosure=2, running=5, pending=4, seed=seed)
    for method in ("greedy", "time-based", "optimal"):
        found = plan(instance, method, as_lsf=True, effort=EFFORT)
        assert validate(instance, found, as_lsf=True) == []


def _pending(cluster: Cluster, *jobs: Job, **more: object) -> Instance:
    return replace(Instance(cluster, pending=jobs), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_an_earlier_job_changes_its_alternative_for_a_later_one(method: str) -> None:
    """The first job takes 150 MB indefinitely, unless a later start asks for the other way."""
    cluster = Cluster((Host("a", 4, amounts={"mem": 300.0}),))
    first = Job("p", res_req=("rusage[mem=150||mem=(200 50):duration=2]",), run_limit=10 * MINUTE)
    second = Job("q", res_req=("rusage[mem=200]",), run_limit=10 * MINUTE)
    found = plan(_pending(cluster, first, second), method)
    assert [entry.start for entry in found] == [0, 2 * MINUTE]
    assert all(entry.proved for entry in found)


def test_an_exclusive_unit_does_not_hide_other_refusals() -> None:
    queue = Queue("default", exclusive="CU[enclosure]", slots=(1, None, 2))
    base = generate(hosts=2, per_enclosure=1, running=0, pending=0)
    job = Job("p", 4, res_req=("cu[excl]",), run_limit=MINUTE)
    found = plan(
        replace(base, queues=(queue,), pending=(job,), params=Instance(base.cluster).params)
    )
    assert "PROCLIMIT" in found.unplaced[0].reason


@pytest.mark.parametrize("hosts", [Scope(("all",), each=True), Scope(("a", "b"))])
def test_a_limit_on_jobs_of_hosts_counts_a_compound_job_once(hosts: Scope) -> None:
    """The second job shares no host with the first, and neither with one that runs."""
    cluster = Cluster((Host("a", 3), Host("b", 3), Host("c", 3)))
    text = ("1*{} + 2*{span[hosts=1]}",)
    jobs = [Job(name, 3, res_req=text, run_limit=MINUTE) for name in ("p", "q", "r")]
    limit = Limit("one", {"jobs": 1.0}, hosts=hosts)
    running = (RunningJob(replace(jobs[2], id="s"), 0, {"c": 3}),)
    instance = _pending(cluster, *jobs[:2], limits=(limit,), running=running)
    later = 0 if hosts.each else MINUTE
    for method in ("time-based", "optimal", "milp"):
        found = plan(instance, method)
        assert validate(instance, found) == []
        assert [entry.start for entry in found] == [0, later], method
        assert len(found["p"].allocation) == 1
