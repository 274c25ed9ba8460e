"""Objectives in whole units, and the terms that models make of them: right to the unit."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Cluster, Host, Instance, Job
from slotwise.model.objective import objective_named, objectives
from slotwise.solver.budget import Budget
from slotwise.solver.milp.model import PlacementModel
from slotwise.solver.optimal.costs import DIGITS, Costs, coarser
from slotwise.solver.optimal.interval_model import MAX_TOTAL, IntervalModel
from slotwise.solver.problem import PlanningProblem

#: What a joint plan may minimise.
SUMS = [name for name, objective in objectives().items() if not objective.in_order]

JOBS = (
    Job("a", run_limit=700, submit=-90, deadline=650, weight=2.5),
    Job("b", run_limit=4, submit=-7, deadline=40, weight=1 / 3),
    Job("c", run_limit=61, weight=5e-5, deadline=10),
)


def problem(*jobs: Job, hosts: int = 3) -> PlanningProblem:
    cluster = Cluster(tuple(Host(f"h{n}", 1) for n in range(hosts)))
    return PlanningProblem.of(Instance(cluster, pending=jobs), due_dates=True)


def costs_of(name: str, planning: PlanningProblem) -> Costs:
    return Costs.of(objective_named(name), planning.demands, planning.instance.now)


def true_value(name: str, starts: dict[str, int]) -> Fraction:
    objective = objective_named(name)
    return objective.value([objective.cost(j, j.run_limit, 0).at(starts[j.id]) for j in JOBS])


@pytest.mark.parametrize("name", SUMS)
@given(st.lists(st.integers(0, 10**6), min_size=3, max_size=3))
def test_totals_are_exact(name: str, times: list[int]) -> None:
    costs = costs_of(name, problem(*JOBS))
    starts = dict(zip("abc", times, strict=True))
    assert costs.value(costs.total(starts), 3) == float(true_value(name, starts))


def test_many_run_times_keep_units_short() -> None:
    """The least common multiple of a thousand run times has thousands of digits."""
    jobs = tuple(Job(str(n), run_limit=5000 + 7 * n) for n in range(1000))
    costs = costs_of("slowdown", problem(*jobs))
    assert costs.unit.numerator.bit_length() < 400
    starts = {job.id: 3 * number for number, job in enumerate(jobs)}
    objective = objective_named("slowdown")
    right = objective.value(
        [objective.cost(job, job.run_limit, 0).at(starts[job.id]) for job in jobs]
    )
    assert costs.value(costs.total(starts), 1000) == pytest.approx(float(right), rel=1e-15)


@pytest.mark.parametrize("name", SUMS)
@given(st.lists(st.integers(0, 3000), min_size=3, max_size=3), st.integers(0, 10**7))
def test_within_a_total_good_plans_cost_the_same_and_others_no_more(
    name: str, delays: list[int], total: int
) -> None:
    costs = costs_of(name, problem(*JOBS))
    least = {"a": 5, "b": 0, "c": 30}
    total = max(total, costs.total(least))
    starts = {job: least[job] + delay for job, delay in zip("abc", delays, strict=True)}
    true, within = costs.total(starts), costs.within(least, total)
    for short in (within.total(starts), within.beyond(least).total(starts)):
        assert short <= true
        assert (short == true) if true <= total else (short > total)


@given(
    st.lists(st.integers(0, 1 << 90), min_size=1, max_size=5).filter(any),
    st.integers(0, 100),
)
def test_numbers_lose_only_what_does_not_fit(numbers: list[int], excess: int) -> None:
    most = 1 << 60
    largest = max(numbers) << excess
    short = coarser(numbers, largest, most)
    assert largest >> short.bits <= most
    pairs = list(zip(numbers, short.numbers, strict=True))
    assert all(0 <= true - (cut << short.bits) < 1 << short.bits for true, cut in pairs)
    assert short.bits == 0 or largest > most // 2
    lost = max(Fraction(true - (cut << short.bits), true or 1) for true, cut in pairs)
    assert short.faithful == (lost <= Fraction(1, 1 << DIGITS))


@pytest.mark.parametrize("weight", [1e15, 3.3e14, 0.1234567890123])
def test_the_interval_model_stays_within_64_bits(weight: float) -> None:
    planning = problem(Job("a", run_limit=10**6, weight=weight), Job("b", run_limit=10**6))
    costs = costs_of("weighted", planning)
    starts = {"a": 10**6, "b": 10**6}
    total = costs.total(starts)
    model = IntervalModel(planning, list(planning.demands), costs, {"a": 0, "b": 0}, 10**7, total)
    assert model.model.proto.objective.coeffs
    spans = [model.model.proto.variables[v].domain[-1] for v in model.model.proto.objective.vars]
    coefficients = list(model.model.proto.objective.coeffs)
    assert sum(c * s for c, s in zip(coefficients, spans, strict=True)) <= MAX_TOTAL
    for job in model.jobs:
        model.model.add(job.start == 10**6)
    answer = model.solve(Budget(effort=5.0), {}, seconds=5.0)
    assert total - (total >> DIGITS) <= answer.bound <= total


@pytest.mark.parametrize(("whole", "limit"), [(True, 90), (False, 90.5)])
def test_the_integer_program_counts_the_largest_cost(whole: bool, limit: float) -> None:
    planning = problem(*JOBS)
    demands = {demand.job.id: demand for demand in planning.demands}
    model = PlacementModel(planning.base, [(demands[job], [0, 10]) for job in "ab"])
    model.minimise_largest({"a": {0: 100, 10: limit}, "b": {0: 7, 10: 120}}, whole=whole)
    outcome, placed = model.solve(Budget(effort=5.0), seconds=5.0)
    assert outcome.value == pytest.approx(limit)
    assert {job: start.time for job, start in placed.items()} == {"a": 10, "b": 0}


def test_so_many_bits_are_nine_digits() -> None:
    """A part in two to DIGITS moves the ninth digit by half at most, one bit less would not do."""
    assert 2.0**-DIGITS <= 0.5e-9 < 2.0 ** -(DIGITS - 1)
