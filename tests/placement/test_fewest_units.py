"""Jobs moved to fewer or earlier compute units: as if each were tried beside all others anew."""

from __future__ import annotations

from random import Random

from slotwise import Cluster, ComputeUnit, Host, Instance, Job, Queue
from slotwise.solver.availability.demand import Demand
from slotwise.solver.placement.earliest import Start, allocate_start, find_same_start
from slotwise.solver.placement.holding import with_fewest_units
from slotwise.solver.placement.single import units_of
from slotwise.solver.problem import PlanningProblem


def literal(
    problem: PlanningProblem, demands: list[Demand], starts: dict[str, Start]
) -> dict[str, Start]:
    """Every job, again and again, beside all others held from nothing."""
    found = dict(starts)
    moved = True
    while moved:
        moved = False
        for demand in demands:
            term, mine = demand.terms[0], found[demand.job.id]
            if term.unit is None:
                continue
            profile = problem.base.copy()
            for other in demands:
                if other is not demand:
                    allocate_start(profile, other, found[other.job.id])
            again = find_same_start(profile, demand, mine)
            used = units_of(term, mine.allocation)
            if again is not None:
                units = units_of(term, again.allocation)
                if (len(units), units) < (len(used), used):
                    found[demand.job.id], moved = again, True
    return found


def scattered(problem: PlanningProblem, rng: Random) -> dict[str, Start]:
    """Each job at a random instant on random free slots."""
    free: dict[tuple[int, int], int] = {}
    starts = {}
    for demand in problem.demands:
        time = rng.randrange(0, 3) * 60
        held = range(time, time + (demand.duration or 0), 60)
        allocation: dict[int, int] = {}
        hosts = list(range(8))
        rng.shuffle(hosts)
        for host in hosts:
            capacity = min(free.get((host, instant), 4) for instant in held)
            take = min(
                capacity, demand.terms[0].slots - sum(allocation.values()), rng.randint(1, 4)
            )
            if take > 0:
                allocation[host] = take
        if sum(allocation.values()) == demand.terms[0].slots:
            starts[demand.job.id] = Start(time, (dict(sorted(allocation.items())),))
            for host, slots in allocation.items():
                for instant in held:
                    free[host, instant] = free.get((host, instant), 4) - slots
    return starts


def crowd(rng: Random) -> PlanningProblem:
    """Up to seven jobs on four racks of two hosts of four slots."""
    hosts = tuple(Host(f"h{number}", 4) for number in range(8))
    units = tuple(
        ComputeUnit(f"u{number}", "rack", (f"h{2 * number}", f"h{2 * number + 1}"))
        for number in range(4)
    )
    jobs = tuple(
        Job(
            f"j{number}",
            rng.randint(1, 8),
            queue="q",
            run_limit=60 * rng.randint(1, 3),
            res_req=(
                rng.choice(["cu[pref=bestfit]", "cu[maxcus=3]", "cu[balance]", "span[hosts=-1]"]),
            ),
        )
        for number in range(rng.randint(2, 7))
    )
    return PlanningProblem.of(
        Instance(
            Cluster(hosts, unit_types=("rack",), default_unit_type="rack", units=units),
            (Queue("q", 1),),
            pending=jobs,
        )
    )


def test_half_by_half_is_as_one_by_one() -> None:
    moved = 0
    for seed in range(80):
        rng = Random(seed)
        problem = crowd(rng)
        starts = scattered(problem, rng)
        demands = [demand for demand in problem.demands if demand.job.id in starts]
        found = with_fewest_units(problem.base, demands, starts)
        assert found == literal(problem, demands, starts)
        moved += found != starts
    assert moved >= 40
