"""Bounds of total start over hosts: alone, one pool of slots, several pools, whole jobs.

    python benchmarks/host_bounds.py [--hosts 200] [--pending 50] [--seeds 0 1]
                                     [--seconds 30 | --effort 60]

On generated clusters with compute units and memory; sums of starts in seconds after now, beside the
plan that takes job by job where it first fits. With --seconds, the best plan in so
many (of the clock) and its gap; with --effort in so many deterministic units, which other work on
the machine does not change. CPU s are seconds of the processor.
"""

from __future__ import annotations

import argparse
import time

from slotwise.model.generate import generate
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.first_fit import plan_first_fit
from slotwise.solver.optimal.pool_bounds import bound_of_pools, solve_as_pool
from slotwise.solver.optimal.start_model import bound_of_starts
from slotwise.solver.optimal.weighted import earliest_alone
from slotwise.solver.planning import plan
from slotwise.solver.problem import PlanningProblem


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--pending", type=int, default=50)
    parser.add_argument("--load", type=float, default=0.97)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--seconds", type=float, default=0, help="for a plan of each, 0 for none")
    parser.add_argument("--effort", type=float, help="deterministic limit instead of --seconds")
    options = parser.parse_args()
    bounds = ("slots", "several pools", "whole jobs")
    print(
        "| seed | first fit | alone |", *(f"{name} | CPU s |" for name in bounds), "plan | gap % |"
    )
    print("|" + "---:|" * 11)
    for seed in options.seeds:
        instance = generate(
            hosts=options.hosts,
            running=5 * options.hosts,
            pending=options.pending,
            load=options.load,
            seed=seed,
        )
        problem = PlanningProblem.of(instance)
        costs = Costs.of(objective_named("total-start"), problem.demands, instance.now)
        alone = earliest_alone(problem)
        first = [item for item in plan_first_fit(problem) if item.start is not None]
        value = sum((item.start or 0) - instance.now for item in first)
        known = [time for item in first for time in (item.start, item.finish) if time is not None]
        begun = time.process_time()
        slots = solve_as_pool(
            problem, problem.demands, costs, alone, Budget(time_limit=30), lambda *_: None
        ).bound
        middle = time.process_time()
        several = bound_of_pools(problem, problem.demands, costs, alone, known, Budget())
        end = time.process_time()
        low = max(costs.total(alone), slots or 0, several or 0)
        most = costs.total({item.job: item.start or 0 for item in first})
        whole = bound_of_starts(
            problem, problem.demands, costs, alone, (low, most), Budget(effort=60)
        )
        done = time.process_time()
        planned = ("-", "-")
        if options.seconds or options.effort:
            seconds = options.seconds if options.effort is None else None
            found = plan(
                instance, objective="total-start", time_limit=seconds, effort=options.effort
            )
            best, low = found.value or 0.0, found.bound or 0.0
            planned = (f"{best:.0f}", f"{100 * (best - low) / max(1.0, best):.1f}")
        print(
            f"| {seed} | {value} | {costs.total(alone)} | {slots} | {middle - begun:.1f} | "
            f"{several} | {end - middle:.1f} | "
            f"{whole and whole.bound} | {done - end:.1f} | {planned[0]} | {planned[1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
