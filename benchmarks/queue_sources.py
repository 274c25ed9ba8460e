"""The queues that benchmarks of pools measure: snapshots in a folder, or cut out of SWF logs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from queue_cuts import LENGTHS, cut_queues
from slotwise.model.instance import Instance
from slotwise.model.objective import objective_named
from slotwise.model.sources.trace import load_pool
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.pool import PoolProblem
from slotwise.solver.optimal.pool_bounds import pool_of
from slotwise.solver.problem import PlanningProblem


def parser_of_queues(description: str | None) -> argparse.ArgumentParser:
    """A parser of the options that say which queues to measure."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("sources", type=Path, nargs="+", metavar="FOLDER | LOG ...")
    add_options(parser)
    return parser


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that select queues."""
    parser.add_argument("--cut", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lengths", type=int, nargs=2, help="of the queues that are cut out")
    parser.add_argument("--half", choices=["choose", "report", "both"], default="both")
    parser.add_argument("--only", nargs="*", default=[])


def queues_of(options: argparse.Namespace) -> Iterator[tuple[str, Instance]]:
    """What to measure, by name."""
    if options.cut:
        first = 1 if options.half == "report" else 0
        step = 1 if options.half == "both" else 2
        classes = [tuple(options.lengths)] if options.lengths else LENGTHS
        every = cut_queues(options.sources, options.cut, options.seed, classes)
        for instance in islice(every, first, None, step):
            if not options.only or instance.name in options.only:
                yield instance.name, instance
        return
    for folder in options.sources:
        for file in sorted(folder.glob("*.json")):
            if not options.only or file.stem in options.only:
                yield file.stem, load_pool(file)


def pool_problem(instance: Instance) -> PoolProblem:
    """The least sum of starts of its jobs, as a problem of one pool."""
    problem = PlanningProblem.of(instance)
    alone = {demand.job.id: instance.now for demand in problem.demands}
    costs = Costs.of(objective_named("total-start"), problem.demands, instance.now)
    found = pool_of(problem, problem.demands, costs, alone)
    assert found is not None
    return found.pool
