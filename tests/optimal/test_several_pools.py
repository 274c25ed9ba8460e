"""The bound from several pools is one: never above the best plan, and as high as it should be."""

from __future__ import annotations

from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_plans import Table
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Queue
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.pool_bounds import bound_of_pools
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem

MOST = 300
KNOWN = range(0, 4001, 100)


def bound(instance: Instance, objective: str = "total-start") -> tuple[float | None, int]:
    """The bound in the objective's own unit, and what jobs would cost alone, in units."""
    problem = PlanningProblem.of(instance)
    costs = Costs.of(objective_named(objective), problem.demands, instance.now)
    alone = earliest_alone(problem)
    demands = [demand for demand in problem.demands if demand.job.id in alone]
    found = bound_of_pools(problem, demands, costs, alone, KNOWN, Budget())
    return None if found is None else costs.value(found, len(demands)), costs.total(alone)


@pytest.mark.parametrize("block", some(range(8), 3))
def test_no_plan_costs_less_than_the_bound(block: int) -> None:
    seen = 0
    for seed in range(block * 12, block * 12 + 12):
        table = Table(draw(Random(seed)))
        if table.size() > MOST or PlanningProblem.of(table.instance).omitted_rules:
            continue
        best = table.least("total-start")
        found, _ = bound(table.instance)
        if best is not None and found is not None:
            assert found <= best + 1e-6
            seen += 1
    assert seen


@pytest.mark.parametrize("seed", [23387, 24205, 36943])
def test_hosts_of_different_ptile_need_not_be_many(seed: int) -> None:
    """span[ptile='!'], 4 slots and memory for each host: so many hosts as the largest allow."""
    instance = draw(Random(seed))
    best, (found, _) = Table(instance).least("total-start"), bound(instance)
    assert best is not None
    assert found is None or found <= best


def test_a_job_that_may_be_smaller_than_its_block_has_none_for_certain() -> None:
    """span[ptile=2] and one slot or two: nothing is said of it, and nothing breaks."""
    request = "span[ptile=2] rusage[mem=100/job,swp=50]"
    job = Job("p", slots=1, max_slots=2, res_req=(request,), run_limit=60)
    hosts = (Host(name, 2, amounts={"mem": 300.0, "swp": 300.0}) for name in ("h0", "h1"))
    assert bound(crowd(*hosts, jobs=[job])) == (None, 0)


def crowd(*hosts: Host, jobs: list[Job]) -> Instance:
    return Instance(Cluster(hosts), queues=(Queue("default"),), pending=tuple(jobs))


def many(count: int, slots: int, *res_req: str, length: int = 1000) -> list[Job]:
    return [
        Job(f"p{number}", slots=slots, res_req=res_req, run_limit=length) for number in range(count)
    ]


#: Four jobs one after another: 0 + 1000 + 2000 + 3000; what a grid may lose of it.
IN_TURN, LOSS = 6000, 0.8


@pytest.mark.parametrize(
    ("instance", "why"),
    [
        (crowd(Host("a", 4), Host("b", 4), jobs=many(4, 8)), "slots"),
        (crowd(Host("a", 5), Host("b", 5), jobs=many(4, 6, "span[ptile=3]")), "blocks"),
        (
            crowd(
                Host("a", 8, amounts={"mem": 10.0}),
                Host("b", 8, amounts={"mem": 1.0}),
                jobs=many(4, 1, "rusage[mem=9]"),
            ),
            "memory in pieces",
        ),
        (
            crowd(
                Host("a", 4, amounts={"mem": 90.0}),
                Host("b", 8, amounts={"mem": 1.0}),
                jobs=many(4, 4, "rusage[mem=2]"),
            ),
            "slots of hosts with memory",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_runs_one_at_a_time_is_known_to(instance: Instance, why: str) -> None:
    found, alone = bound(instance)
    assert alone == 0, why
    assert found is not None
    assert LOSS * IN_TURN < found <= IN_TURN


def test_blocks_that_do_not_fit_together_into_a_host_are_not_counted_as_if_they_did() -> None:
    """Two blocks of 5 and three of 4 are 22 of 24 slots, and no host of 8 has one of each."""
    hosts = (Host(name, 8) for name in "abc")
    jobs = [
        Job("p5", slots=10, res_req=("span[ptile=5]",), run_limit=1000),
        Job("p4", slots=12, res_req=("span[ptile=4]",), run_limit=1000),
    ]
    found, _ = bound(crowd(*hosts, jobs=jobs))
    assert found is not None
    assert 0 < found <= 1000


def test_where_nothing_is_short_there_is_nothing_to_say() -> None:
    assert bound(crowd(Host("a", 9), jobs=many(2, 4))) == (None, 0)
    compound = Job("c", slots=2, res_req=("1*{} + 1*{}",), run_limit=5)
    with_compound = bound(crowd(Host("a", 1), Host("b", 1), jobs=[compound, *many(3, 2)]))[0]
    assert with_compound == bound(crowd(Host("a", 1), Host("b", 1), jobs=many(3, 2)))[0]
    assert bound(crowd(Host("a", 2), jobs=many(3, 2)), "makespan")[0] is None


def test_blocks_of_span_block_may_share_a_host() -> None:
    """Four blocks on one host take the memory of a host once: all four jobs may run at once."""
    host = Host("a", 32, amounts={"mem": 8.0})
    found, _ = bound(crowd(host, jobs=many(4, 8, "span[block=2] rusage[mem=2]")))
    assert found in (None, 0)
