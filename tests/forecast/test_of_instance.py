"""Forecasts of instances: which are pools, in which order jobs come, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forecast_lab import cluster, site_history
from sampling import some
from slotwise import (
    Job,
)
from slotwise.solver.forecast.of_instance import forecast


@pytest.mark.parametrize("seed", some(range(3), 1))
@pytest.mark.parametrize("limited", [True, False])
def test_over_hosts_some_jobs_alone_are_answered_as_beside_all_others(seed, limited):
    """Also beside a job that fits nowhere, which is a line of its own and changes no other."""
    instance = cluster(seed, fair=bool(seed % 2))
    if not limited:
        first, *rest = instance.pending
        instance = replace(instance, pending=(replace(first, run_limit=None), *rest))
    history = site_history(instance)
    whole = forecast(instance, history, samples=4)
    few = whole.names[1::3]
    alone = forecast(instance, history, samples=4, jobs=list(few))
    rows = [whole.names.index(name) for name in few]
    assert alone.names == few
    assert alone.samples.tolist() == whole.samples[rows].tolist()
    assert alone.by_limits.tolist() == whole.by_limits[rows].tolist()
    hopeless = Job("huge", 1000, user="u0", queue="normal", run_limit=60 if limited else None)
    beside = forecast(replace(instance, pending=(*instance.pending, hopeless)), history, samples=4)
    others = [beside.names.index(name) for name in whole.names]
    assert beside.samples[others].tolist() == whole.samples.tolist()
    assert np.isinf(beside.waits[beside.names.index("huge")]).all()
