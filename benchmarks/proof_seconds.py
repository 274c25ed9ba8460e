"""How far the bound of a pool gets in so many seconds of the processor, from one and the same plan.

    python benchmarks/proof_seconds.py FOLDER [--seconds 8] [--only NAME ...]
    python benchmarks/proof_seconds.py LOG ... --cut 24 [--seed 1] [--half report] [--lengths A B]

The queues are those of snapshots.py. The plan is made by so many rounds of the search for plans,
the same on every machine; then only the bound is worked on, by one process; seconds are of the
processor: a busy machine makes no difference. Total start.
"""

from __future__ import annotations

import time
from itertools import islice

from queue_sources import parser_of_queues, pool_problem, queues_of
from slotwise.solver.optimal.pool.bounds import Incumbent
from slotwise.solver.optimal.pool.problem import Decoder, best_rule
from slotwise.solver.optimal.pool.prover import prove
from slotwise.solver.optimal.pool.search import improve

#: Rounds of the search that makes the plan.
EFFORT = 100


def main() -> None:
    """Measure and print the table."""
    parser = parser_of_queues(__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    print("| snapshot | jobs | plan | bound | gap % |\n|---|---:|---:|---:|---:|")
    gaps = []
    for name, instance in queues_of(options):
        pool = pool_problem(instance)
        plan = Decoder(pool).plan(best_rule(pool)[1])
        incumbent = Incumbent(pool, plan, pool.value(pool.alone))
        for _ in islice(improve(incumbent, 1), EFFORT):
            pass
        begun = time.process_time()
        for _ in prove(incumbent):
            if incumbent.proved or time.process_time() - begun > options.seconds:
                break
        value, bound = incumbent.value, incumbent.bound
        gaps.append(100 * (value - bound) / max(1, value))
        print(f"| {name} | {len(pool)} | {value} | {bound} | {gaps[-1]:.2f} |", flush=True)
    if gaps:
        print(f"\nMean gap {sum(gaps) / len(gaps):.2f} %, worst {max(gaps):.2f} %.")


if __name__ == "__main__":
    main()
