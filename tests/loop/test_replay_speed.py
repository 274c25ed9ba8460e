"""Speed, memory and scaling, in processor time and with room for a slow and busy machine."""

import time

import pytest
from slotwise.solver.replay import POLICIES, replay
from synthetic_log import synthetic

#: Those with recorded starts and a speed that is kept.
WITH_REFERENCE = [name for name in POLICIES if name not in ("saf", "wfp3", "f1")]

pytestmark = pytest.mark.slow


def seconds(log, policy):
    begun = time.process_time()
    assert replay(log, policy=policy).complete
    return time.process_time() - begun


@pytest.mark.parametrize("policy", WITH_REFERENCE)
def test_the_cost_of_a_job_does_not_grow_with_the_trace(policy):
    """Eight times the jobs at the same load: at most half as much again for each job."""
    short, long = (synthetic(jobs, 1000, load=0.7, seed=3) for jobs in (10_000, 80_000))
    once = min(seconds(short, policy) for _ in range(3)) / len(short)
    assert seconds(long, policy) / len(long) <= 1.5 * once


def test_the_synthetic_workload_is_reproducible_and_as_heavy_as_asked():
    log = synthetic(20_000, 1000, load=0.8, seed=1)
    assert log.digest() == synthetic(20_000, 1000, load=0.8, seed=1).digest()
    assert log.digest() != synthetic(20_000, 1000, load=0.8, seed=2).digest()
    asked = (log.procs * log.run_time).sum() / (1000 * (log.submit[-1] - log.submit[0]))
    assert asked == pytest.approx(0.8, abs=0.04)
