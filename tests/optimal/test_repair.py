"""Room for one more job by moving few: places that the model allows, and others stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise.model.cluster import Cluster, Host
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.model.queue import Queue
from slotwise.solver.optimal.lexicographic import make_room
from slotwise.solver.placement.earliest import Start, hold_start, start_at, still_free
from slotwise.solver.problem import PlanningProblem

few = examples(150)


@few
@given(instances(most_hosts=4, most_jobs=6), st.data())
def test_places_are_free_beside_each_other(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    changes = problem.base.changes()
    profile = problem.base.copy()
    settled = []
    for demand in problem.demands[:-1]:
        time = max(demand.earliest, data.draw(st.sampled_from(changes)))
        start = start_at(profile, demand, time) if demand.terms else None
        if start is not None:
            hold_start(profile, demand, start)
            settled.append((demand, start))
    if not problem.demands or not problem.demands[-1].terms:
        return
    last = problem.demands[-1]
    time = max(last.earliest, data.draw(st.sampled_from(changes)))
    placed = make_room(problem.base, settled, last, time)
    if placed is None:
        assert start_at(profile, last, time) is None or settled, "alone it is simply placed"
        return
    asked = {demand.job.id: start.time for demand, start in settled} | {last.job.id: time}
    assert {job: start.time for job, start in placed.items()} == asked
    demands = {demand.job.id: demand for demand in problem.demands}
    profile = problem.base.copy()
    for job, start in placed.items():
        assert still_free(profile, demands[job], start)
        hold_start(profile, demands[job], start)


def test_only_who_is_in_the_way_moves() -> None:
    """A job of one host comes to the only host that is large enough; who has it moves away."""
    hosts = (Host("a", 4), Host("b", 2), Host("c", 2))
    jobs = [Job("x", 2, run_limit=10), Job("y", 2, run_limit=10)]
    new = Job("new", 4, res_req=("span[hosts=1]",), run_limit=10)
    problem = PlanningProblem.of(
        Instance(Cluster(hosts), queues=(Queue("default"),), pending=(*jobs, new, Job("z", 1)))
    )
    x, y, last, more = problem.demands
    settled = [(x, Start(0, ({0: 2},))), (y, Start(0, ({1: 2},)))]
    placed = make_room(problem.base, settled, last, 0)
    assert placed is not None
    assert [placed[name].allocation for name in ("new", "y", "x")] == [{0: 4}, {1: 2}, {2: 2}]
    settled = [(demand, placed[demand.job.id]) for demand in (x, y, last)]
    assert make_room(problem.base, settled, more, 0) is None, "all slots are taken"
