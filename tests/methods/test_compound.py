"""Compound requirements: term by term as LSF does it, together in the exact methods."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from brute_force import lexicographic_starts, unplaced
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from judging import host, job, problem, running
from random_instances import MINUTE, instances
from slotwise import Cluster, Instance, Job, loads
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

HOUR = 3600
BIG = frozenset({"big"})
ONE_AND_FOUR_BIG = "1*{select[type==any]} + 4*{select[big]}"


@pytest.mark.behaviour("TBR-11", "REQ-14")
def test_the_slowest_term_decides() -> None:
    """Each term as a job of its own: two hours and three; together three."""
    instance = sw.load(sw.example("compound-terms"))
    (whole,) = instance.pending
    terms = (
        replace(whole, id="first", slots=1, res_req=("select[big] rusage[mem=32768]",)),
        replace(whole, id="second", slots=4, res_req=("select[!big] span[ptile=2]",)),
    )
    alone = [
        plan(replace(instance, pending=(term,)), "time-based")[term.id].start for term in terms
    ]
    assert alone == [2 * HOUR, 3 * HOUR]
    for method in ("time-based", "optimal"):
        planned = plan(instance, method, effort=10)["job5"]
        assert planned.start == 3 * HOUR
        assert planned.allocation == {"large": 1, "small1": 2, "small3": 2}


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(
    ("slots", "expected"), [(1, {"B": 1}), (2, {"B": 1, "A": 1}), (5, {"B": 1, "A": 4})]
)
def test_the_last_count_may_be_left_out(slots: int, expected: dict[str, int]) -> None:
    cluster = Cluster((host("A"), host("B", booleans=BIG), host("C")))
    instance = problem(job("j", slots, "1*{select[big]} + {select[!big]}"), cluster=cluster)
    assert plan(instance, "time-based")["j"].allocation == expected


@pytest.mark.behaviour("REQ-14")
def test_only_the_exact_methods_go_back_to_an_earlier_term() -> None:
    """The first term takes a slot of A, which the second needs whole, though B would do."""
    cluster = Cluster((host("A", booleans=BIG), host("B"), host("C", booleans=BIG)))
    busy = running("r", {"C": 4})
    instance = problem(job("j", 5, ONE_AND_FOUR_BIG), cluster=cluster, running=(busy,))
    literal = plan(instance, "time-based")["j"]
    assert (literal.start, literal.allocation) == (100, {"A": 4, "C": 1})
    assert literal.waits_for.startswith(
        "its terms together: each fits alone, but not all at the same time"
    )
    exact = plan(instance, "optimal", effort=10)["j"]
    assert (exact.start, exact.allocation, exact.proved) == (0, {"A": 4, "B": 1}, True)


@pytest.mark.behaviour("REQ-14", "GRD-07")
def test_terms_that_never_fit_one_after_another_are_no_obstacle_to_the_optimum() -> None:
    instance = problem(
        job("j", 5, ONE_AND_FOUR_BIG), cluster=Cluster((host("A", booleans=BIG), host("B")))
    )
    fallback = plan(instance, "time-based")["j"]
    assert (fallback.method, fallback.start) == ("greedy", None)
    assert "its terms together" in fallback.fallback
    found = plan(instance, "optimal", effort=10)
    assert (found.status, found["j"].start) == ("optimal", 0)
    assert validate(instance, found) == []


@pytest.mark.behaviour("REQ-14", "TBR-02")
def test_an_instant_that_fits_is_found_though_later_ones_do_not() -> None:
    """When X has a third slot free the first term takes X, and the second has nowhere to go."""
    cluster = Cluster((host("X", 3, booleans=BIG), host("Y", 3)))
    instance = problem(
        job("j", 5, "3*{span[hosts=1]} + 2*{select[big]}"),
        cluster=cluster,
        running=(
            running("r1", {"Y": 3}, run_limit=50),
            running("r2", {"X": 1}, run_limit=100),
        ),
    )
    planned = plan(instance, "time-based")["j"]
    assert (planned.start, planned.allocation) == (50, {"Y": 3, "X": 2})


COMPOUND = st.sampled_from(
    [
        "1*{select[type==any]} + 1*{select[type==X]}",
        "2*{span[hosts=1]} + 1*{rusage[mem=100]}",
        "1*{select[type==X]} + 2*{span[ptile=1]}",
        "1*{rusage[mem=100]} + 1*{rusage[mem=100]}",
        "1*{select[type==Y]} + {select[type==X]}",
    ]
)


@st.composite
def compound_instances(draw: st.DrawFn) -> Instance:
    """A random instance whose first or last job has a compound requirement."""
    instance = draw(instances(most_hosts=4, most_jobs=1))
    text = draw(COMPOUND)
    slots = 3 if text.startswith("2*") or "+ 2*" in text else 2
    compound = Job("c", slots, res_req=(text,), run_limit=MINUTE * draw(st.integers(1, 6)))
    first = draw(st.booleans())
    (other,) = instance.pending
    pending = (replace(compound, submit=-20), other) if first else (other, compound)
    return replace(instance, pending=pending)


@pytest.mark.behaviour("REQ-14")
@examples(40)
@given(compound_instances())
def test_optimum_with_compound_jobs_equals_brute_force(instance: Instance) -> None:
    found = plan(instance, "optimal", effort=60)
    assert validate(instance, found) == []
    expected = lexicographic_starts(instance)
    starts = {item.job: item.start for item in found.reservations}
    assert starts == {name: start for name, start in expected.items() if start is not None}
    assert unplaced(found) == {name for name, start in expected.items() if start is None}
    literal = plan(instance, "time-based")
    assert validate(instance, literal, as_lsf=True) == []


def test_terms_of_a_running_job_know_the_host_it_came_from() -> None:
    """type==local means the type of its submission host, in pending and running jobs alike."""
    text = """
format: slotwise/1
hosts: [{name: a1, slots: 4, type: A, mem: 1000M}, {name: b1, slots: 4, type: B, mem: 1000M}]
running:
  - id: r
    slots: 4
    from_host: b1
    run_limit: 1h
    start: 0
    allocation: 2*a1 2*b1
    res_req: "2*{select[type==TYPE] rusage[mem=100]} + 2*{select[type==any] rusage[mem=400]}"
pending: [{id: p, slots: 1, res_req: "rusage[mem=700]", run_limit: 10m}]
"""
    for written in ("local", "B"):
        for method in ("time-based", "optimal"):
            planned = sw.plan(loads(text.replace("TYPE", written)), method)["p"]
            assert (planned.start, dict(planned.allocation)) == (0, {"b1": 1}), written
