"""The exact earliest start of one job on large clusters: seconds a step, side by side in one run.

    python benchmarks/single_job.py [--hosts 5000] [--running 20000]

Reports for several shapes of job: resolving the instance (once), then the exact search by
bisection beside a linear sweep over all instants, which must agree.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from slotwise.model.generate import generate
from slotwise.model.job import Job
from slotwise.solver.placement.earliest import can_start, earliest_start
from slotwise.solver.resolve import Resolver

SHAPES = {
    "plain": (),
    "ptile": ("span[ptile=16]",),
    "maxcus": ("span[ptile=16] cu[maxcus=40]",),
    "balance": ("span[ptile=16] cu[balance]",),
    "memory": ("span[ptile=8] rusage[mem=40000]",),
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=5000)
    parser.add_argument("--running", type=int, default=20000)
    parser.add_argument("--share", type=float, default=0.1, help="share of all slots wanted")
    options = parser.parse_args()
    instance = generate(hosts=options.hosts, running=options.running, pending=0, load=0.92, seed=1)
    begun = time.perf_counter()
    resolver = Resolver.of(instance)
    base = resolver.profile()
    print(f"{options.hosts} hosts, {options.running} running jobs")
    print(f"resolve and build the profile: {time.perf_counter() - begun:.3f} s")
    print(f"{'job':8} {'start':>8} {'first ms':>9} {'search ms':>10} {'sweep ms':>9} {'ratio':>6}")
    slots = int(options.share * 16 * options.hosts)
    for name, requirement in SHAPES.items():
        job = Job(name, slots, queue="normal", user="user1", res_req=requirement, run_limit=3600)
        demand = resolver.demand(replace(job))
        first = _timed(lambda demand=demand: earliest_start(base, demand))[1]
        start, search = _timed(lambda demand=demand: earliest_start(base, demand))
        assert start is not None
        times = base.candidate_times(demand.earliest)
        swept, sweep = _timed(
            lambda demand=demand, times=times: next(t for t in times if can_start(base, demand, t))
        )
        assert swept == start.time
        measured = f"{first:9.1f} {search:10.1f} {sweep:9.0f} {sweep / search:6.0f}"
        print(f"{name:8} {start.time:8} {measured}")


def _timed(call):  # type: ignore[no-untyped-def]
    begun = time.perf_counter()
    value = call()
    return value, 1000 * (time.perf_counter() - begun)


if __name__ == "__main__":
    main()
