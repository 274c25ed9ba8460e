"""A pool run forward from a moment: the rest of the replay, if all is known."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import world_in_replay
from hypothesis import given
from hypothesis import strategies as st
from replay_reference import reference_starts
from slotwise.model.workload import Workload
from slotwise.solver.replay import POLICIES, replay
from synthetic_log import synthetic

PROCS = 5
JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 12), st.integers(1, PROCS)),
    min_size=1,
    max_size=14,
)
#: Of `conservative` the promises made before the moment are not known, so it may plan otherwise.
FORGETFUL = [name for name in POLICIES if name not in ("conservative", "saf", "wfp3", "f1")]


def _log(jobs) -> Workload:
    submit, run, request, size = zip(*sorted(jobs, key=lambda job: job[0]), strict=True)
    return Workload.of(submit, np.minimum(run, request), request, size, max_procs=PROCS)


@pytest.mark.parametrize("policy", FORGETFUL)
@given(JOBS, st.data())
def test_run_forward_from_any_submission_as_the_reference_goes_on(policy, jobs, data):
    log = _log(jobs)
    columns = (log.submit, log.run_time, log.req_time, log.procs)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    after = POLICIES[policy].default_schedule_after
    start = np.array(reference_starts(rows, PROCS, policy, after), dtype=np.int64)
    row = data.draw(st.integers(0, len(log) - 1))
    if after == "timestamp":  # who else comes at that second must be known
        row = int(np.flatnonzero(log.submit == log.submit[row])[-1])
    world, known, coming = world_in_replay(log, start, PROCS, row, policy)
    found = world.starts(log.run_time[known], coming)
    assert found.tolist() == start[known[world.asked]].tolist()


@pytest.mark.parametrize("policy", FORGETFUL)
def test_run_forward_from_submissions_of_a_long_log(policy):
    log = synthetic(400, 32, load=1.0, seed=3)
    start = replay(log, policy=policy).start
    for row in range(10, 400, 13):
        world, known, coming = world_in_replay(log, start, 32, row, policy)
        found = world.starts(log.run_time[known], coming)
        assert found.tolist() == start[known[world.asked]].tolist()


@given(JOBS, st.data())
def test_conservative_keeps_within_the_pool(jobs, data):
    log = _log(jobs)
    start = replay(log, policy="conservative").start
    row = data.draw(st.integers(0, len(log) - 1))
    world, known, coming = world_in_replay(log, start, PROCS, row, "conservative")
    begun = start[known].copy()
    begun[world.asked] = world.starts(log.run_time[known], coming)
    assert (begun[world.asked] >= world.now).all()
    ends = begun + log.run_time[known]
    for time in begun[world.asked].tolist():
        assert log.procs[known][(begun <= time) & (time < ends)].sum() <= PROCS
