"""Past jobs asked about with what was known then, and what that comes to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import InputError
from slotwise.model.workload import Workload, canonical
from slotwise.solver.budget import OutOfTime
from slotwise.solver.forecast.backtest import (
    Replayed,
    answer,
    backtest,
)
from slotwise.solver.replay import POLICIES, replay
from slotwise.solver.replay.engine import synthetic

PROCS = 4
JOB = st.tuples(st.integers(0, 40), st.integers(1, 30), st.integers(1, 30), st.integers(1, PROCS))
LOG = replace(synthetic(600, 32, load=1.05, seed=2), source="synthetic")


def _log(jobs) -> Workload:
    """Numbered in the order of submission, so that a change of later jobs renames none."""
    submit, run, request, size = zip(*sorted(jobs, key=lambda job: job[0]), strict=True)
    return canonical(Workload.of(submit, run, request, size), PROCS)


def _replayed(log, policy="easy", procs=PROCS):
    return Replayed.of(replay(log, policy=policy, procs=procs))


@pytest.fixture(scope="module")
def asked():
    replayed = _replayed(LOG, procs=32)
    return replayed, backtest(replayed, jobs=40, samples=15, seed=3)


@pytest.mark.parametrize("policy", POLICIES)
@examples(25)
@given(st.lists(JOB, min_size=2, max_size=14), st.data())
def test_nothing_that_came_after_the_moment_of_asking_changes_an_answer(policy, jobs, data):
    """Who came later, and how long jobs ran on that had not ended yet, is changed at will."""
    first = _replayed(_log(jobs), policy)
    log, row = first.log, data.draw(st.integers(0, len(jobs) - 1))
    now = int(log.submit[row])
    if POLICIES[policy].default_schedule_after == "timestamp":
        row = int(np.flatnonzero(log.submit == now)[-1])
    changed = []
    for place in range(row + 1):
        submit, run, request, size = (
            int(column[place]) for column in (log.submit, log.run_time, log.req_time, log.procs)
        )
        start = int(first.start[place])
        if start + run >= now:
            run = data.draw(st.integers(max(1, now - start), max(1, now - start, request)))
        changed.append((submit, run, request, size))
    more = data.draw(st.lists(JOB, max_size=6))
    changed += [(now + submit + 1, *rest) for submit, *rest in more]
    other = _replayed(_log(changed), policy)
    begun = first.start[: row + 1] < now
    assert (other.start[: row + 1][begun] == first.start[: row + 1][begun]).all()
    assert answer(other, row, 3, 7) == answer(first, row, 3, 7)


def test_a_log_where_nobody_waited_is_one_clear_message():
    with pytest.raises(InputError, match="there is nothing to forecast"):
        backtest(_replayed(_log([(t, 1, 1, 1) for t in range(20)])))
    with pytest.raises(InputError, match="at least 1"):
        backtest(_replayed(LOG, procs=32), jobs=0)


@pytest.mark.parametrize("workers", [1, 2])
def test_stopped_before_the_first_answer_there_is_none(asked, workers):
    replayed, _ = asked
    with pytest.raises(OutOfTime):
        backtest(replayed, jobs=4, samples=3, workers=workers, stop=lambda: True)
