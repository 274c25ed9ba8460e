"""Models on a time grid: the grid of all starts loses nothing, any other one gives lower bounds."""

from __future__ import annotations

from random import Random

import pytest
from enumerated_instances import instance as draw
from enumerated_plans import Table
from sampling import some
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.interval_model import IntervalModel, TimeGrid, grid_of
from slotwise.solver.optimal.pool_bounds import pools_of
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.problem import PlanningProblem

MOST = 300


def test_coarser_grids_keep_the_residues_of_a_plan_first() -> None:
    grid = TimeGrid(600, (0, 10, 300, 590))
    found = [each.residues for each in grid.coarser([0, 900, 1500])]
    assert found == [(300,), (0, 300), grid.residues]


@pytest.mark.parametrize("block", some(range(8), 2))
def test_no_plan_costs_less_than_a_grid_says(block: int) -> None:
    """The grid of all starts finds the cost of the best plan, grids of other units no more."""
    seen = 0
    for seed in range(block * 25, block * 25 + 25):
        random, table = Random(seed), Table(draw(Random(seed)))
        problem = PlanningProblem.of(table.instance)
        demands = list(problem.demands)
        if (
            table.size() > MOST
            or problem.omitted_rules
            or not IntervalModel.fits(demands, Budget(effort=5))
        ):
            continue
        best = table.least("total-start")
        alone = earliest_alone(problem)
        if best is None or len(alone) < len(demands):
            continue
        costs = Costs.of(objective_named("total-start"), demands, table.instance.now)
        total, horizon = int(best * costs.unit) + 5000, 10**5
        exact = grid_of(problem, demands, alone)
        unit = random.randint(2, 200)
        other = TimeGrid(unit, tuple(sorted(random.sample(range(unit), random.randint(1, 2)))))
        for grid in (exact, other, *exact.coarser([0])):
            pools = pools_of(problem.base, demands, Budget())
            model = IntervalModel(
                problem, demands, costs, alone, horizon, total, lambda: None, grid, pools
            )
            answer = model.solve(Budget(effort=2), {}, seconds=60)
            assert costs.value(answer.bound, len(demands)) <= best
            if grid == exact and answer.status == "OPTIMAL":
                assert costs.value(answer.bound, len(demands)) == best
                seen += 1
    assert seen
