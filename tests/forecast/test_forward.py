"""A pool run forward from a moment: the rest of the replay, if all is known."""

from __future__ import annotations

import numpy as np
import pytest
from forecast_lab import asked_of, coming_of, world_in_replay
from hypothesis import given
from hypothesis import strategies as st
from replay_reference import reference_starts
from slotwise.model.workload import Workload
from slotwise.solver.forecast.arrivals import NOBODY
from slotwise.solver.forecast.history import NO_START, ints
from slotwise.solver.forecast.moment import PoolWorld
from slotwise.solver.replay import POLICIES, replay
from slotwise.solver.replay.engine import synthetic
from slotwise.solver.replay.policies import OF_LITERATURE

PROCS = 5
JOBS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(1, 12), st.integers(1, PROCS)),
    min_size=1,
    max_size=14,
)
#: Of `conservative` the promises made before the moment are not known, so it may plan otherwise.
FORGETFUL = [name for name in POLICIES if name not in ("conservative", *OF_LITERATURE)]


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
    start = ints(reference_starts(rows, PROCS, policy, after))
    row = data.draw(st.integers(0, len(log) - 1))
    if after == "timestamp":  # who else comes at that second must be known
        row = int(np.flatnonzero(log.submit == log.submit[row])[-1])
    world, known, coming = world_in_replay(log, start, PROCS, row, policy)
    found = world.starts(log.run_time[known], coming)
    assert found.tolist() == start[known[world.asked]].tolist()


def test_who_waits_is_looked_at_together():
    """A plan ends at the second of the submission: the shortest is the newcomer, and fits."""
    jobs = [(17, 8, 8, 4), (17, 1, 2, 2), (17, 1, 1, 4), (17, 1, 2, 3), (25, 1, 1, 1)]
    log = _log(jobs)
    start = replay(log, policy="easy-sjbf").start
    world, known, coming = world_in_replay(log, start, PROCS, len(jobs) - 1, "easy-sjbf")
    assert world.starts(log.run_time[known], coming).tolist() == [25, 26, 27, 25]


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


def test_a_running_job_past_its_limit_ends_at_once_and_frees_its_slots_then():
    world = PoolWorld(1000, 4, asked_of((0, 100, 4, 130), (0, 50, 4, -1)), ints([1]))
    assert world.starts(ints([130, 50]), NOBODY).tolist() == [1000]
    # Drawn to run on: no slot is free before it ends.
    assert world.starts(ints([190, 50]), NOBODY).tolist() == [1060]


def test_a_job_without_a_limit_is_planned_for_ever_and_ends_as_drawn():
    jobs = asked_of((0, -1, 3, 10), (0, 100, 4, -1), (0, 90, 1, -1), (0, -1, 1, -1))
    world = PoolWorld(1000, 4, jobs, ints([1, 2, 3]))
    # The head waits indefinitely as far as anybody knows, so all may overtake it that fit.
    assert world.starts(ints([60, 100, 90, 7]), NOBODY).tolist() == [1090, 1000, 1090 + 100]


def test_a_job_that_is_too_large_never_starts_and_holds_nobody_who_comes():
    world = PoolWorld(0, 4, asked_of((0, 10, 5, -1)), ints([0]))
    assert world.starts(ints([10]), NOBODY).tolist() == [NO_START]
    world = PoolWorld(0, 4, asked_of((0, 10, 4, 0), (0, 10, 1, -1)), ints([1]))
    assert world.starts(ints([10, 10]), coming_of((1, 5, 5, 9), (2, 5, 5, 1))).tolist() == [10]


def test_who_comes_may_overtake_only_as_the_policy_says():
    jobs = asked_of((0, 100, 3, 0), (0, 50, 4, -1))
    world = PoolWorld(0, 4, jobs, ints([1]))
    assert world.starts(ints([30, 50]), coming_of((5, 20, 60, 1))).tolist() == [30]
    # One that says 60 and runs 60 fits before the head's planned start at 100, which comes early.
    assert world.starts(ints([30, 50]), coming_of((5, 60, 60, 1))).tolist() == [65]
    fcfs = PoolWorld(0, 4, jobs, ints([1]), "fcfs")
    assert fcfs.starts(ints([30, 50]), coming_of((5, 60, 60, 1))).tolist() == [30]
