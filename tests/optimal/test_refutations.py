"""Refutations: counts at two instants, and what was refuted before; right where they refute."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_instances import instances
from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.solver.availability.demand import Demand
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.optimal.refutation import NoGoods, blocks_of, is_overfull, most_pieces
from slotwise.solver.problem import PlanningProblem

few = examples(150)
Starts = tuple[int, ...]


def counts(problem: PlanningProblem, times: Starts) -> bool:
    """Whether the counts at two instants refute."""
    base = problem.base
    asked = [(d, at, blocks_of(base, d, at)) for d, at in zip(problem.demands, times, strict=True)]
    points = sorted({*times, *base.later_starts})
    return is_overfull(base, asked, points)


def status(problem: PlanningProblem, times: Starts) -> str:
    asked = list(zip(problem.demands, times, strict=True))
    return JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)[0]


@few
@given(instances(most_hosts=4, most_jobs=4), st.data())
def test_what_counts_refute_the_model_refutes(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    changes = problem.base.changes()
    times = tuple(
        max(demand.earliest, data.draw(st.sampled_from(changes))) for demand in problem.demands
    )
    if counts(problem, times):
        assert status(problem, times) == "INFEASIBLE"


def in_units(hosts: tuple[Host, ...], size: int) -> Cluster:
    """Compute units of so many hosts each."""
    names = [host.name for host in hosts]
    units = tuple(
        ComputeUnit(f"u{at}", "enclosure", tuple(names[at : at + size]))
        for at in range(0, len(names), size)
    )
    return Cluster(hosts, unit_types=("enclosure",), default_unit_type="enclosure", units=units)


@st.composite
def crowded(draw: st.DrawFn) -> tuple[PlanningProblem, Starts]:
    """Hosts that fill up and empty, small jobs that take nearly all, blocks behind them."""
    hosts = tuple(Host(f"h{number}", draw(st.integers(2, 5))) for number in range(4))
    running = tuple(
        RunningJob(
            Job(f"on {host.name}", slots=used, run_limit=draw(st.sampled_from([10, 20]))),
            0,
            {host.name: used},
        )
        for host in hosts
        if (used := draw(st.integers(0, host.slots)))
    )
    shapes = [
        "",
        "",
        "span[ptile=2]",
        "span[ptile=3]",
        "span[hosts=1]",
        "cu[maxcus=1]",
        "cu[maxcus=2]",
    ]
    spans = st.sampled_from(shapes)
    jobs, times = [], []
    for number in range(draw(st.integers(2, 5))):
        span = draw(spans)
        jobs.append(
            Job(
                f"j{number}",
                slots=draw(st.integers(1, 6)),
                res_req=(span,) if span else (),
                run_limit=draw(st.sampled_from([10, 20, 30])),
            )
        )
        times.append(draw(st.sampled_from([0, 0, 10, 20])))
    instance = Instance(
        in_units(hosts, 2), queues=(Queue("default"),), running=running, pending=tuple(jobs)
    )
    return PlanningProblem.of(instance), tuple(times)


@examples(200)
@given(crowded())
def test_what_counts_refute_where_it_is_crowded(case: tuple[PlanningProblem, Starts]) -> None:
    problem, times = case
    if counts(problem, times):
        assert status(problem, times) == "INFEASIBLE"


@examples(300)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(0, 8),
)
def test_most_pieces_is_the_most_of_all_ways(
    hosts: list[tuple[int, int]], size: int, spare: int
) -> None:
    """Every way of leaving `spare` slots over at the first instant, tried one by one."""
    first, second = (np.array(column, dtype=float) for column in zip(*hosts, strict=True))
    stay = np.minimum(first, second).astype(int)
    ways = product(*(range(most + 1) for most in stay.tolist()))
    right = max(
        sum((int(free) - used) // size for free, used in zip(second, way, strict=True))
        for way in ways
        if int(stay.sum()) - sum(way) <= spare
    )
    assert most_pieces(first, second, size, float(spare)) == right


def model_says(problem: PlanningProblem, asked: list[tuple[Demand, int]]) -> str:
    return JointPlacement(problem.base, asked).solve(Budget(), seconds=20, effort=20)[0]


@few
@given(instances(most_hosts=4, most_jobs=6), st.data())
def test_what_is_refuted_again_the_model_refutes(instance: Instance, data: st.DataObject) -> None:
    problem = PlanningProblem.of(instance)
    demands = [demand for demand in problem.demands if demand.terms]
    if len(demands) < 2:
        return
    changes = problem.base.changes()

    def some_time(demand: Demand) -> int:
        return max(demand.earliest, data.draw(st.sampled_from(changes)))

    settled = [(demand, some_time(demand)) for demand in demands[: len(demands) // 2]]
    others = demands[len(demands) // 2 :]
    beside = [(demand.job.id, time) for demand, time in settled]
    no_goods = NoGoods(problem.base, problem.demands)
    for demand in others:
        time = some_time(demand)
        if model_says(problem, [*settled, (demand, time)]) == "INFEASIBLE":
            no_goods.note(beside, demand, time)
    for demand in others:
        time = some_time(demand)
        if no_goods.refute(beside, demand, time):
            assert model_says(problem, [*settled, (demand, time)]) == "INFEASIBLE"


def refuted(less: Job, more: Job, at: int = 0, *, limits: tuple[Limit, ...] = ()) -> bool:
    """Whether a job refuted at 100 beside a settled one refutes another at `at`."""
    hosts = tuple(Host(f"h{n}", 8, type="AB"[n % 2], amounts={"mem": 64.0}) for n in range(4))
    settled = Job("settled", slots=2, run_limit=50, user="ann")
    problem = PlanningProblem.of(
        Instance(
            Cluster(hosts),
            queues=(Queue("default"),),
            pending=(settled, less, more),
            limits=limits,
        )
    )
    first, second = (d for d in problem.demands if d.job.id in ("less", "more"))
    no_goods = NoGoods(problem.base, problem.demands)
    no_goods.note([("settled", 0)], first, 100)
    assert not no_goods.refute([("settled", 50)], second, at), "another start is another question"
    assert not no_goods.refute([], second, at), "with fewer beside it there may be room"
    return no_goods.refute([("settled", 0), ("late", 30)], second, at)


def job(name: str, slots: int, text: str = "", limit: int = 100, user: str = "user") -> Job:
    return Job(name, slots, res_req=(text,) if text else (), run_limit=limit, user=user)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("", "cu[maxcus=1]"),
        ("", "span[ptile=2] rusage[mem=3]"),
        ("rusage[mem=2]", "rusage[mem=(9 2):duration=(1)]"),
        ("rusage[mem=(2 1):duration=(1)]", "span[hosts=1] rusage[mem=2]"),
        ("span[hosts=1]", "span[ptile=4]"),
        ("span[ptile=2]", "span[ptile=2] same[type]"),
        ("same[type]", "same[type]"),
    ],
)
def test_who_asks_for_no_less(less: str, more: str) -> None:
    assert refuted(job("less", 4, less), job("more", 4, more, limit=200), 100)
    assert refuted(job("less", 4, less), job("more", 4, more, limit=200), 0)
    assert not refuted(job("less", 4, less), job("more", 4, more, limit=199), 0), "ends before"
    assert not refuted(job("less", 4, less), job("more", 4, more, limit=300), 101), "begins late"


def test_a_limit_refuses_others_only_where_it_can_bind() -> None:
    """A limit on each user: what stopped one need not stop another, unless it has room for all."""
    few = Limit("few", {"slots": 5}, users=Scope(("all",), each=True))
    many = Limit("many", {"slots": 50}, users=Scope(("all",), each=True))
    one, other = job("less", 4, user="ann"), job("more", 4, user="ben")
    assert not refuted(one, other, 100, limits=(few,))
    assert refuted(one, other, 100, limits=(many,))
    assert refuted(one, job("more", 4, user="ann"), 100, limits=(few,))
    assert not refuted(one, job("more", 3), 100), "fewer slots"
