"""Weights of any size and number of digits: nothing is lost, nothing overflows, nothing forged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from sampling import some
from slotwise import Cluster, Host, InputError, Instance, Job, Plan
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

WEIGHTED = ("weighted", "tardiness")
EXACT = ("optimal", "milp")


def cluster(hosts: int, *jobs: Job) -> Instance:
    """Hosts of one slot: with one of them, a pool."""
    return Instance(Cluster(tuple(Host(f"h{n}", 1) for n in range(hosts))), pending=jobs)


def queue(*weights: float, hosts: int = 1) -> Instance:
    """Jobs of 60, 61, 62, ... minutes."""
    jobs = (Job(str(n), run_limit=3600 + 60 * n, weight=weight) for n, weight in enumerate(weights))
    return cluster(hosts, *jobs)


def true_cost(objective: str, job: Job, start: int) -> Fraction:
    """Straight from the definitions, in fractions; weights are the floats they are."""
    run = job.run_limit or 0
    if objective == "weighted":
        return Fraction(job.weight) * start
    if objective == "slowdown":
        return max(Fraction(1), Fraction(start - job.submit + run, max(run, 10)))
    late = 0 if job.deadline is None else max(0, start + run - job.deadline)
    return Fraction(job.weight) * late


def schedules(instance: Instance) -> Iterator[list[tuple[Job, int]]]:
    """Every order of the one-slot jobs on every choice of hosts, without gaps."""
    hosts = range(len(instance.cluster.hosts))
    for order in permutations(instance.pending):
        for places in product(hosts, repeat=len(order)):
            free = dict.fromkeys(hosts, 0)
            starts = []
            for job, host in zip(order, places, strict=True):
                starts.append((job, free[host]))
                free[host] += job.run_limit or 0
            yield starts


def value_of(objective: str, starts: list[tuple[Job, int]]) -> Fraction:
    total = sum((true_cost(objective, job, start) for job, start in starts), Fraction(0))
    return total / len(starts) if objective == "slowdown" else total


def check(instance: Instance, objective: str, found: Plan) -> Fraction:
    """The plan keeps the rules and its claims are true; the optimum."""
    assert validate(instance, found) == []
    best = min(value_of(objective, starts) for starts in schedules(instance))
    jobs = {job.id: job for job in instance.pending}
    own = value_of(objective, [(jobs[item.job], item.start or 0) for item in found])
    assert found.value == pytest.approx(float(own), rel=1e-15)
    assert own >= best
    assert found.bound is not None
    assert found.bound <= float(best) * (1 + 1e-15)
    if found.status == "optimal":
        assert own - best <= best / 10**9
        assert found.bound == pytest.approx(float(own), rel=1e-9)
    return best


WEIGHTS = [
    (1, 1e-4, 5e-5),
    (1 / 3, 1, 2),
    (1 / 3, 1e-6, 1e6),
    (1e9, 1, 3),
    (1e9, 1e9, 1e9),
    (1e9, 1e9 + 1, 1e9 + 2),
    (1e15, 1e15, 3e15),
    (40632408.41, 7.25, 1),
    (0.12345678901234568, 3.14159265358979, 2.718281828459045),
    (1e-12, 2e-12, 3e-13),
    (0, 0, 1e-7),
]


@pytest.mark.parametrize(("weights", "hosts", "method"), some(product(WEIGHTS, [1, 2], EXACT), 7))
def test_awkward_weights_are_proved(method: str, hosts: int, weights: tuple[float, ...]) -> None:
    instance = queue(*weights, hosts=hosts)
    found = plan(instance, method, objective="weighted", time_limit=20)
    best = check(instance, "weighted", found)
    assert found.status == "optimal"
    assert found.value == pytest.approx(float(best), rel=1e-15)
    assert found.notes == ()


@pytest.mark.parametrize("method", some(EXACT, 1))
def test_weights_too_far_apart_are_said_to_be(method: str) -> None:
    """Two jobs of 1e15 must trade, so that nothing is small beside 1e-5: no nine digits fit."""
    instance = queue(1e15, 3.3e14, 1e-9, 7e-10)
    found = plan(instance, method, objective="weighted", time_limit=4)
    check(instance, "weighted", found)
    if found.status != "optimal":
        assert found.rounded
        assert "a longer limit does not help" in found.notes[0]


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("objective", WEIGHTED)
@pytest.mark.parametrize("method", EXACT)
def test_a_weight_that_is_none(method: str, objective: str, weight: float) -> None:
    instance = cluster(1, Job("a", run_limit=60, weight=weight, deadline=500))
    with pytest.raises(InputError, match="job a: weight"):
        plan(instance, method, objective=objective)


weights = st.one_of(
    st.floats(0, 1e6),
    st.floats(1e-9, 1e9),
    st.integers(0, 5).map(float),
    st.decimals(0, 1000, places=3).map(float),
    st.sampled_from([1e15, 1e-6, 1 / 3, 1 / 7, 1e9]),
)
durations = st.one_of(st.integers(1, 20), st.integers(1, 30 * 86400))


@st.composite
def queues(draw: st.DrawFn) -> Instance:
    """Two to four jobs on one or two slots."""
    jobs = (
        Job(
            str(number),
            run_limit=draw(durations),
            weight=draw(weights),
            deadline=draw(st.none() | st.integers(0, 86400)),
            submit=-draw(st.integers(0, 86400)),
        )
        for number in range(draw(st.integers(2, 4)))
    )
    return cluster(draw(st.integers(1, 2)), *jobs)


@examples(30)
@given(queues(), st.sampled_from([*WEIGHTED, "slowdown"]), st.sampled_from(EXACT))
def test_any_weights_against_all_schedules(instance: Instance, objective: str, method: str) -> None:
    if objective != "tardiness":  # elsewhere -t is not a due date: it ends jobs
        plain = (replace(job, deadline=None) for job in instance.pending)
        instance = replace(instance, pending=tuple(plain))
    found = plan(instance, method, objective=objective, time_limit=3)
    best = check(instance, objective, found)
    if found.status == "feasible" and found.rounded:
        assert found.value is not None
        assert found.value == pytest.approx(float(best), rel=1e-6)
