"""How many starts a better plan may still use after the prices, for models of what is left.

    python benchmarks/starts_left.py FOLDER [--only NAME ...]
    python benchmarks/starts_left.py LOG ... --cut 24 [--seed 1] [--half report] [--lengths A B]

The queues are those of snapshots.py. A plan of a few rounds, the prices of the prover, and
of the starts up to the plan's last one those that cost more than a better plan can afford are
struck out. Total start; no clock decides anything.
"""

from __future__ import annotations

from itertools import islice

from queue_sources import parser_of_queues, pool_problem, queues_of
from slotwise.solver.optimal.pool import prover
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.pricing import achievable_starts
from slotwise.solver.optimal.pool.problem import Decoder, Ints, PoolProblem, best_rule
from slotwise.solver.optimal.pool.search import improve

#: Rounds of the search that makes the plan.
EFFORT = 150


def main() -> None:
    """Measure and print the table."""
    parser = parser_of_queues(__doc__)
    options = parser.parse_args()
    print("| queue | jobs | kinds | starts | left | of the middle kind |")
    print("|---|---:|---:|---:|---:|---:|", flush=True)
    for name, instance in queues_of(options):
        pool = pool_problem(instance)
        incumbent = Incumbent(pool, Decoder(pool).plan(best_rule(pool)[1]), 0)
        for _ in islice(improve(incumbent, 1), EFFORT):
            pass
        every = achievable_starts(pool, incumbent.last, prover.MAX_INSTANTS // len(pool.groups))
        cells = "too many to list | - | -" if every is None else _left(incumbent, pool, every)
        print(f"| {name} | {len(pool)} | {len(pool.groups)} | {cells} |", flush=True)


def _left(incumbent: Incumbent, pool: PoolProblem, every: Ints) -> str:
    """Starts up to the plan's last one, those that are left, and of the kind in the middle."""
    root = prover.Root(
        incumbent, [every[every >= int(pool.alone[g.members[0]])] for g in pool.groups]
    )
    before = sum(map(len, root.domains))
    for fineness in (prover.QUICK, prover.FINE):
        for _ in root.tighten(fineness):
            pass
    left = sorted(map(len, root.domains))
    return f"{before} | {sum(left)} | {left[len(left) // 2]}"


if __name__ == "__main__":
    main()
