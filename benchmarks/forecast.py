"""What forecasts cost: a pool, and hosts with the whole loop.

    python benchmarks/forecast.py [--samples 100] [--workers 2] [--arrivals 500]

The pool: 100 waiting jobs, 200 samples in one process. The hosts: 1,000 of 16 slots in compute
units, 5,000 running and 50 waiting jobs with memory, a limit a user and fairshare (a generated
cluster that is full), a history of three days with so many arrivals a day. Seconds of the wall
clock, and of the
processor for one sample in this process; starts by limits and likely, so that two runs can be seen
to be the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from slotwise.model.cluster import Cluster, Host
from slotwise.model.generate import generate
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.solver.forecast.forecast import Forecasts
from slotwise.solver.forecast.history import Ended, History, history_of
from slotwise.solver.forecast.of_instance import forecast

HOUR, DAY = 3600, 86_400
LIMITS = (1, 2, 4, 8, 12, 24)


def pool(waiting: int = 100, procs: int = 1000, seed: int = 0) -> Instance:
    """A full pool and a queue."""
    draw = np.random.default_rng(seed)
    running = tuple(
        RunningJob(
            Job(f"r{n}", 10, user=f"user{draw.integers(1, 20)}", run_limit=24 * HOUR, submit=-DAY),
            -int(draw.integers(12 * HOUR)),
            {"pool": 10},
        )
        for n in range(procs // 10)
    )
    pending = tuple(
        Job(
            str(n),
            int(draw.choice((1, 8, 16, 64, 256))),
            user=f"user{draw.integers(1, 20)}",
            run_limit=int(draw.choice(LIMITS)) * HOUR,
            submit=n - 1000,
        )
        for n in range(waiting)
    )
    return Instance(Cluster((Host("pool", procs),)), running=running, pending=pending)


def hosts(seed: int = 1) -> Instance:
    """A full cluster of 1,000 hosts, with shares."""
    found = generate(hosts=1000, running=5000, pending=50, load=1.0, seed=seed)
    shares = (("default", 1),)
    return replace(found, queues=tuple(replace(q, user_shares=shares) for q in found.queues))


def past(a_day: int, days: int = 3, seed: int = 1, res_req: tuple[str, ...] = ()) -> History:
    """Ended jobs of the users of both."""
    draw = np.random.default_rng(seed)
    ended = []
    for number in range(a_day * days):
        limit = int(draw.choice(LIMITS)) * HOUR
        ran = int(limit * draw.uniform(0.05, 0.95))
        start = -int(draw.integers(ran, days * DAY + ran))
        job = Job(
            f"h{number}",
            int(draw.choice((1, 2, 4, 8, 16, 32))),
            user=f"user{draw.integers(1, 20)}",
            queue="normal",
            res_req=res_req,
            run_limit=limit,
            submit=start - 60,
        )
        ended.append(Ended(job, start, start + ran))
    return history_of(ended)


def _timed(draw: Callable[[], Forecasts]) -> tuple[Forecasts, float, float]:
    wall, own = time.perf_counter(), time.process_time()
    found = draw()
    return found, time.perf_counter() - wall, time.process_time() - own


def _tell(name: str, found: Forecasts, seconds: float, more: str = "") -> None:
    limits, likely = int(found.by_limits.max()), float(np.median(found.likely))
    samples = found.samples.shape[1]
    print(f"{name:<6} {samples:>4} samples {seconds:>7.1f} s{more}   by limits {limits}, "
          f"likely {likely:.0f}")  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--arrivals", type=int, default=500, help="a day")
    asked = parser.parse_args()
    found, wall, own = _timed(lambda: forecast(pool(), past(asked.arrivals), samples=200))
    _tell("pool", found, wall, f" ({own:.1f} s of the processor)")
    instance, log = hosts(), past(asked.arrivals, res_req=("rusage[mem=2048]",))
    found, wall, own = _timed(lambda: forecast(instance, log, samples=5))
    _tell("hosts", found, wall, f" ({own / 6:.2f} s of the processor a run)")
    found, wall, _ = _timed(
        lambda: forecast(instance, log, samples=asked.samples, workers=asked.workers)
    )
    _tell("hosts", found, wall, f" on {asked.workers} processes")


if __name__ == "__main__":
    main()
