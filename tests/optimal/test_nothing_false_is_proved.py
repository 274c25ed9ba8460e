"""Where a model is too large, a probe is not decided or the effort is tiny: no false proof.

Every plan is held against the enumeration of all joint placements: a start said to be proved is the
right one, a bound lies nowhere above it, and `optimal` or `infeasible` is said of no other plan.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from brute_force import lexicographic_starts
from hypothesis import given
from hypothesis_profiles import examples
from random_instances import instances
from sampling import some
from slotwise import Host, Instance, Job, Plan, RunningJob
from slotwise.solver.availability.demand import Demand
from slotwise.solver.availability.profile import Profile
from slotwise.solver.budget import Budget
from slotwise.solver.optimal import interval_model, lexicographic
from slotwise.solver.optimal.backends import ModelSizeLimit
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.placement.earliest import Start, start_at
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

few = examples(25)


def check_claims(instance: Instance, found: Plan) -> None:
    """Nothing that the plan says of itself is false."""
    assert validate(instance, found) == []
    right = lexicographic_starts(instance)
    planned = {item.job: item for item in found.reservations}
    agrees = True  # the jobs before this one are where they should be
    for job in instance.pending:
        item = planned.get(job.id)
        start = None if item is None else item.start
        if item is not None and item.start is not None and agrees:
            expected = right[job.id]
            assert expected is not None
            assert item.start >= expected
            assert item.bound is not None
            assert item.bound <= expected
            assert not item.proved or item.start == expected
        agrees = agrees and start == right[job.id]
    if found.status in ("optimal", "infeasible"):
        assert agrees
    assert (found.status == "infeasible") <= bool(found.unplaced)


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_model_that_is_too_large_refutes_nothing(instance: Instance) -> None:
    """No room for a pair: every settled job is kept where it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelSizeLimit, "max_pairs", lambda _: 0)
        check_claims(instance, plan(instance, "optimal", effort=20))


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_probe_that_is_not_decided_refutes_nothing(instance: Instance) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JointPlacement, "solve", lambda *_, **__: ("UNKNOWN", {}))
        check_claims(instance, plan(instance, "optimal", effort=20))


@few
@given(instances(most_hosts=4, most_jobs=3))
def test_a_tiny_effort_proves_nothing_false(instance: Instance) -> None:
    for effort in (0.0, 1e-6, 1e-3):
        check_claims(instance, plan(instance, "optimal", effort=effort))


@pytest.mark.parametrize("objective", some(["total-start", "weighted", "makespan", "slowdown"], 2))
@pytest.mark.parametrize("pairs", [1, 1200])
@pytest.mark.parametrize("effort", [1e-6, 0.02, 5.0])
def test_bounds_of_the_other_objectives_hold_whatever_model_fits(
    objective: str, pairs: int, effort: float
) -> None:
    """joint-wins with each size of model and effort: bound <= best <= value; the best is known."""
    instance = sw.load(sw.example("joint-wins"))
    best = plan(instance, "optimal", objective=objective, effort=20).value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interval_model, "WORTH", pairs)
        patch.setattr(ModelSizeLimit, "max_pairs", lambda _: pairs)
        found = plan(instance, "optimal", objective=objective, effort=effort)
    assert validate(instance, found) == []
    assert best is not None
    assert found.value is not None
    assert found.value >= best - 1e-9
    assert found.bound is None or found.bound <= best + 1e-9
    assert found.status != "optimal" or found.value == pytest.approx(best)


def test_jobs_kept_where_they_are_leave_the_question_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The large job could start at 0 if the small one moved; it may not move, so: not proved."""
    monkeypatch.setattr(ModelSizeLimit, "max_pairs", lambda _: 0)
    # The small job where the time-based plan puts it, in the middle of the idle enclosure.
    instance = sw.load(sw.example("joint-wins"))
    found = plan(instance, "optimal", effort=10)
    large = found["large"]
    assert large.start == 7200
    assert (large.bound, large.proved) == (0, False)
    assert found.status == "feasible"
    assert "the limit of one step of the search" in large.fallback


def test_an_undecided_probe_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JointPlacement, "solve", lambda *_, **__: ("UNKNOWN", {}))
    instance = sw.load(sw.example("joint-wins"))
    large = plan(instance, "optimal", effort=10)["large"]
    assert (large.start, large.bound, large.proved) == (7200, 0, False)
    assert "the limit of one step of the search" in large.fallback


def test_without_any_effort_what_lies_before_is_left_open() -> None:
    found = plan(sw.load(sw.example("joint-wins")), "optimal", effort=0.0)
    small, large = found["small"], found["large"]
    assert (small.start, small.bound, small.proved) == (0, 0, True), "nothing lies before now"
    assert (large.start, large.bound, large.proved) == (7200, 0, False)
    assert large.fallback == "not proved: the search limit was reached"
    assert (found.status, found.bound) == ("feasible", None)


@pytest.mark.parametrize(("feasible", "bound"), [(True, 0), (False, 7200)])
def test_a_search_that_ends_between_two_instants_keeps_what_it_has(
    monkeypatch: pytest.MonkeyPatch, feasible: bool, bound: int
) -> None:
    """Of 0, 3600 and 5000 the last is asked first, and then no effort is left.

    Feasible there: found, and the two before are open. Refuted there: so are those before.
    """
    instance = sw.load(sw.example("joint-wins"))
    asked: list[int] = []

    def tried(base: Profile, demand: Demand, time: int) -> Start | None:
        asked.append(time)
        return start_at(base, demand, time) if feasible else None

    monkeypatch.setattr(lexicographic, "start_at", tried)
    monkeypatch.setattr(Budget, "exhausted", lambda _: bool(asked))
    ends = {"e1": 3600, "e2": 5000}
    busy = tuple(
        RunningJob(Job(f"on {name}", run_limit=end), 0, {name: 1}) for name, end in ends.items()
    )
    cluster = instance.cluster
    hosts = (*cluster.hosts, *(Host(name, 1) for name in ends))
    instance = replace(
        instance, cluster=replace(cluster, hosts=hosts), running=(*instance.running, *busy)
    )
    large = plan(instance, "optimal", effort=10)["large"]
    assert asked[0] == max(asked) == 5000
    assert (large.start, large.bound) == (5000 if feasible else 7200, bound)
    assert large.proved == (not feasible)
    assert large.fallback == ("not proved: the search limit was reached" if feasible else "")
