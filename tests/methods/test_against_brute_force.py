"""Every method on random instances against literal references and the independent judge."""

from __future__ import annotations

from dataclasses import replace

import pytest
from brute_force import lexicographic_starts, unplaced
from hypothesis import given
from hypothesis_profiles import examples
from left_out import METHODS, differences
from random_instances import instances
from slotwise import Instance
from slotwise.solver.advice.comparison import compare
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

FEW = examples(40)
MANY = examples(400)


def check_optimal(instance: Instance) -> None:
    found = plan(instance, "optimal", effort=60)
    assert validate(instance, found) == []
    assert found.status == ("infeasible" if found.unplaced else "optimal")
    expected = lexicographic_starts(instance)
    starts = {item.job: item.start for item in found.reservations}
    assert starts == {job: start for job, start in expected.items() if start is not None}
    assert unplaced(found) == {job for job, start in expected.items() if start is None}


@FEW
@given(instances(most_hosts=4, most_jobs=2))
def test_optimal_equals_brute_force(instance: Instance) -> None:
    check_optimal(instance)


@pytest.mark.slow
@MANY
@given(instances(most_hosts=4, most_jobs=3))
def test_optimal_equals_brute_force_on_many(instance: Instance) -> None:
    check_optimal(instance)


@pytest.mark.behaviour("TBR-02")
@FEW
@given(instances(most_hosts=5, most_jobs=3))
def test_greedy_and_time_based_equal_the_literal_references(instance: Instance) -> None:
    for method in METHODS:
        rule, differing = differences(instance, method)
        assert rule or not differing


@pytest.mark.behaviour("TBR-04")
@examples(40)
@given(instances(most_hosts=6, most_jobs=4))
def test_each_time_based_start_is_the_earliest_beside_the_jobs_before_it(
    instance: Instance,
) -> None:
    """Job by job: with the earlier jobs as running ones, the next job is a first job again."""
    found = plan(instance, "time-based")
    assert validate(instance, found, as_lsf=True) == []
    planned = {item.job: item for item in found.reservations}
    for job in instance.pending:
        item = planned.get(job.id)
        if item is None or item.start is None:
            continue
        alone = plan(replace(instance, pending=(job,)), "time-based")[job.id]
        assert alone.start is not None
        assert item.start >= alone.start


@examples(24)
@given(instances(most_hosts=6, most_jobs=4))
def test_every_plan_is_valid_and_optimal_is_never_later_than_time_based(
    instance: Instance,
) -> None:
    comparison = compare(instance, effort=60, methods=True)
    for found in (comparison.greedy, comparison.time_based, comparison.optimal):
        assert validate(instance, found, as_lsf=found.method != "optimal") == []
    for row in comparison:
        if row.time_based_estimate != row.optimal_estimate:
            assert row.optimal_estimate is not None
            assert row.time_based_estimate is None or row.optimal_estimate < row.time_based_estimate
            break
