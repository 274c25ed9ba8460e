"""A log of jobs for a pool of processors, made by a seed."""

from __future__ import annotations

import numpy as np
from slotwise.model.display import DAY, MINUTE
from slotwise.model.workload import Workload


def synthetic(jobs: int, procs: int, *, load: float = 0.8, seed: int = 0) -> Workload:
    """Return `jobs` synthetic jobs for a machine of `procs` processors with about `load` of it
    requested on average.

    Sizes are log-uniform up to half the machine, run times log-uniform from a minute to a day,
    requests 1 to 5 times the run time in full minutes, submissions a Poisson process. The same
    arguments give the same workload on every machine with the same numpy.
    """
    random = np.random.default_rng(seed)
    size = np.exp2(random.uniform(0, np.log2(max(2, procs // 2)), jobs)).astype(np.int64)
    run = np.exp(random.uniform(np.log(MINUTE), np.log(DAY), jobs)).astype(np.int64)
    request = -(-(run * random.uniform(1, 5, jobs)).astype(np.int64) // 60) * 60
    work_per_job = DAY / np.log(DAY // MINUTE) * (procs / 2) / np.log(max(2, procs // 2))
    gaps = random.exponential(work_per_job / (procs * load), jobs)
    return Workload.of(
        np.cumsum(gaps).astype(np.int64), run, np.maximum(run, request), size, max_procs=procs
    )
