"""Placement by counts: refutes only what the model refutes, and decides racks of whole hosts."""

from __future__ import annotations

from random import Random

import pytest
from brute_force import is_valid
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from sampling import some
from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Queue, RunningJob
from slotwise.solver.budget import Budget
from slotwise.solver.optimal import lexicographic
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.optimal.refutation import ClassCounts, blocks_of
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem
from slotwise.solver.validate import validate

few = examples(100)
LIMITS = {"seconds": 20.0, "effort": 20.0}


def check(problem: PlanningProblem, times: list[int]) -> tuple[str, bool]:
    """What counts say, held against the model; and whether they led to places."""
    pairs = list(zip(problem.demands, times, strict=True))
    asked = [(job, time, blocks_of(problem.base, job, time)) for job, time in pairs]
    counts = ClassCounts(problem.base, asked)
    status, found = counts.solve(Budget(), **LIMITS)
    right, _ = JointPlacement(problem.base, pairs).solve(Budget(), **LIMITS)
    assert status in ("FEASIBLE", right)
    placed = counts.placed(found) if status == "FEASIBLE" else None
    if placed is not None:
        assert right == "FEASIBLE"
        entries = tuple(problem.planned(job, placed[job.job.id], "optimal") for job, _ in pairs)
        assert is_valid(problem.instance, entries)
        assert all(placed[job.job.id].time == time for job, time in pairs)
    return right, placed is not None


@few
@given(instances(most_hosts=4, most_jobs=4), st.data())
def test_counts_are_a_relaxation(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    if any(len(demand.terms) != 1 for demand in problem.demands):
        return
    changes = st.sampled_from(problem.base.changes())
    check(problem, [max(job.earliest, data.draw(changes)) for job in problem.demands])


def racks(seed: int, *, exclusive: bool = False, racks: int = 3, each: int = 3) -> Instance:
    """Racks of identical hosts that jobs take whole, in one rack, in two or anywhere."""
    random = Random(seed)
    names = [f"h{number}" for number in range(racks * each)]
    units = tuple(
        ComputeUnit(f"rack{number}", "rack", tuple(names[number * each : (number + 1) * each]))
        for number in range(racks)
    )
    running = tuple(
        RunningJob(
            Job(f"on {name}", slots=2, queue="q", run_limit=random.choice((50, 80, 120))),
            0,
            {name: 2},
        )
        for name in names
        if random.random() < 0.6
    )
    places = ("", "cu[type=rack:maxcus=1]", "cu[type=rack:maxcus=2]")
    pending = tuple(
        Job(
            f"p{number}",
            slots=2 * random.randint(1, each),
            queue="q",
            res_req=(f"span[ptile=2] {random.choice(places)}",),
            run_limit=random.choice((20, 40, 70, 100)),
            exclusive=exclusive,
        )
        for number in range(5)
    )
    cluster = Cluster(
        tuple(Host(name, 2) for name in names),
        unit_types=("rack",),
        default_unit_type="rack",
        units=units,
    )
    return Instance(cluster, queues=(Queue("q", exclusive="Y"),), running=running, pending=pending)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("seed", some(range(25), 8))
def test_of_whole_hosts_in_racks_counts_say_all(seed: int, exclusive: bool) -> None:
    """At any starts: places wherever the model finds some."""
    problem = PlanningProblem.of(racks(seed, exclusive=exclusive))
    random = Random(seed)
    for _ in range(4):
        times = [random.choice(problem.base.changes()[:4]) for _ in problem.demands]
        right, placed = check(problem, times)
        assert placed == (right == "FEASIBLE")


@pytest.mark.parametrize("seed", some(range(12), 5))
def test_racks_of_whole_hosts_are_proved_without_a_model_over_hosts(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the starts are those that the model over hosts proves."""
    instance = racks(seed, racks=4, each=4)
    with monkeypatch.context() as patch:
        patch.setattr(lexicographic, "FEWER", 10**9)
        slow = plan(instance, "optimal", effort=60)
    monkeypatch.setattr(lexicographic, "FEWER", 1)
    monkeypatch.setattr(JointPlacement, "__init__", None)
    found = plan(instance, "optimal", effort=60)
    assert validate(instance, found) == []
    assert (found.status, slow.status) == ("optimal", "optimal")
    assert [item.start for item in found] == [item.start for item in slow]
