"""The earliest start of one job: exact against a scan of every minute; what may never delay it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from judging import job, problem, running
from random_instances import MINUTE, instances
from slotwise import AdvanceReservation, Instance, Plan, loads
from slotwise.solver.placement.earliest import allocate_start, earliest_start, start_at
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.validate import validate


@st.composite
def busy_instances(draw: st.DrawFn, windows: bool = False) -> Instance:
    """Random instances; some with an advance reservation and a dispatch window of ten minutes."""
    instance = draw(instances(most_hosts=5, most_jobs=4))
    if not windows:
        return instance
    first = instance.cluster.hosts[0]
    start = MINUTE * draw(st.integers(0, 6))
    kept = AdvanceReservation("kept", start, start + 3 * MINUTE, {first.name: first.slots})
    (queue,) = instance.queues
    opening = draw(st.sampled_from(["", "0:00-0:10", "0:04-0:08", "0:03-0:05 0:12-0:20"]))
    pending = tuple(
        replace(item, begin=draw(st.sampled_from([None, None, 2 * MINUTE])))
        for item in instance.pending
    )
    return replace(
        instance,
        pending=pending,
        advance_reservations=(kept,),
        queues=(replace(queue, dispatch_window=opening),),
    )


@pytest.mark.behaviour("TBR-02")
@examples(80)
@given(st.booleans().flatmap(busy_instances))
def test_the_search_finds_the_first_minute_at_which_the_job_fits(instance: Instance) -> None:
    """Beside what runs and the jobs before it; every time here is a whole minute."""
    problem = PlanningProblem.of(instance, as_lsf=False)
    profile = problem.base.copy()
    horizon = 60 * MINUTE
    for demand in problem.demands:
        found = earliest_start(profile, demand)
        fitting = (
            time
            for time in range(demand.earliest, horizon, MINUTE)
            if not demand.impossible and start_at(profile, demand, time) is not None
        )
        first = next(fitting, None)
        if found is not None and found.time >= horizon:
            assert first is None
        else:
            assert (None if found is None else found.time) == first
        if found is not None:
            allocate_start(profile, demand, found)


def start_of(found: Plan, name: str) -> float:
    planned = found.get(name)
    return float("inf") if planned is None or planned.start is None else planned.start


@examples(40)
@given(busy_instances(), st.integers(0, 4), st.booleans())
def test_a_free_host_more_never_delays_the_first_job(
    instance: Instance, like: int, in_unit: bool
) -> None:
    cluster = instance.cluster
    model = cluster.hosts[like % len(cluster.hosts)]
    added = replace(model, name="new")
    units = cluster.units
    if in_unit:
        units = (*units[:-1], replace(units[-1], hosts=(*units[-1].hosts, "new")))
    larger = replace(cluster, hosts=(*cluster.hosts, added), units=units)
    name = instance.pending[0].id
    for method in ("time-based", "optimal"):
        before = plan(instance, method, effort=20)
        after = plan(replace(instance, cluster=larger), method, effort=20)
        assert start_of(after, name) <= start_of(before, name)


@examples(30)
@given(busy_instances(), st.integers(1, 3))
def test_a_raised_priority_never_delays_the_job_in_the_optimum(
    instance: Instance, position: int
) -> None:
    assume(position < len(instance.pending))
    raised = instance.pending[position]
    jobs = tuple(
        replace(item, priority=1) if item.id == raised.id else item for item in instance.pending
    )
    before = plan(instance, "optimal", effort=60)
    after = plan(replace(instance, pending=jobs), "optimal", effort=60)
    assume(all(item.proved for found in (before, after) for item in found))
    assert after.reservations == () or start_of(after, raised.id) <= start_of(before, raised.id)


@examples(30)
@given(busy_instances(), st.integers(1, 3))
def test_a_raised_priority_never_delays_the_job_in_time_based_plans(
    instance: Instance, position: int
) -> None:
    """Without memory phases, whose ends are not instants for it (TBR-02)."""
    assume(position < len(instance.pending))
    plain = tuple(
        replace(item, res_req=tuple(text for text in item.res_req if "duration" not in text))
        for item in instance.pending
    )
    raised = plain[position]
    jobs = tuple(replace(item, priority=1) if item.id == raised.id else item for item in plain)
    before = plan(replace(instance, pending=plain), "time-based")
    after = plan(replace(instance, pending=jobs), "time-based")
    assert start_of(after, raised.id) <= start_of(before, raised.id)


@examples(25)
@given(st.booleans().flatmap(busy_instances))
def test_a_job_that_does_not_start_now_says_what_it_waits_for(instance: Instance) -> None:
    for method in ("greedy", "time-based", "optimal"):
        found = plan(instance, method, effort=20)
        assert validate(instance, found, as_lsf=method != "optimal") == []
        for item in found:
            assert (item.waits_for == "") == (item.start == instance.now)
        assert all(item.reason for item in found.unplaced)


@pytest.mark.behaviour("GRD-01", "TBR-02")
def test_a_range_of_slots_takes_what_there_is_now_and_is_planned_with_its_minimum() -> None:
    instance = problem(job("j", 2, max_slots=8))
    for method in ("greedy", "time-based", "optimal"):
        assert plan(instance, method, effort=5)["j"].allocation == {"A": 4, "B": 4}
    busy = (running("r", {"A": 4, "B": 4, "C": 3}),)
    for method in ("time-based", "optimal"):
        found = plan(problem(job("j", 2, max_slots=8), running=busy), method, effort=5)["j"]
        assert (found.start, sum(found.allocation.values())) == (100, 2)


@pytest.mark.behaviour("PLC-05")
def test_the_finest_unit_type_is_the_default_unless_another_is_marked() -> None:
    """A rack of two enclosures: cu[maxcus=1] is one enclosure, or the rack where it is marked."""
    text = """
format: slotwise/1
params: {COMPUTE_UNIT_TYPES: "%s"}
hosts: [{name: "n[1-2]", slots: 4}]
compute_units:
  - {name: enc1, type: enclosure, members: n1}
  - {name: enc2, type: enclosure, members: n2}
  - {name: rack, type: rack, members: enc1 enc2}
pending: [{id: j, slots: 8, run_limit: 1h, res_req: "cu[maxcus=1]"}]
"""
    for types, fits in (
        ("enclosure rack", False),
        ("enclosure! rack", False),
        ("enclosure rack!", True),
    ):
        assert ("j" in plan(loads(text % types), effort=5)) == fits
