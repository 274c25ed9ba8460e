"""Each policy equals its short and slow statement on small random workloads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from replay_reference import reference_starts
from slotwise.model.workload import Workload
from slotwise.solver.replay import POLICIES, Replay, replay

#: Those of the literature have a literal replay of their own (test_queue_policies.py).
WITH_REFERENCE = [name for name in POLICIES if name not in ("saf", "wfp3", "f1")]

SWITCHES = ("event", "timestamp")


@st.composite
def workloads(draw):
    """Up to 10 jobs close together, many of them at the same time or ending as planned."""
    procs = draw(st.integers(1, 6))
    horizon = draw(st.sampled_from((2, 8, 20)))
    jobs = []
    for _ in range(draw(st.integers(1, 10))):
        request = draw(st.integers(1, 8))
        run = draw(st.one_of(st.just(request), st.integers(1, request)))
        jobs.append((draw(st.integers(0, horizon)), run, request, draw(st.integers(1, procs))))
    return sorted(jobs, key=lambda job: job[0]), procs


def workload(jobs):
    return Workload.of(*zip(*jobs, strict=True))


@pytest.mark.parametrize("schedule_after", SWITCHES)
@pytest.mark.parametrize("policy", WITH_REFERENCE)
@examples(60)
@given(case=workloads())
def test_equals_the_reference(policy, schedule_after, case):
    jobs, procs = case
    result = replay(workload(jobs), policy=policy, procs=procs, schedule_after=schedule_after)
    assert result.start.tolist() == reference_starts(jobs, procs, policy, schedule_after)


@pytest.mark.parametrize("schedule_after", SWITCHES)
@pytest.mark.parametrize("policy", WITH_REFERENCE)
def test_of_two_that_end_together_the_first_that_was_set_to_start_ends_first(
    policy, schedule_after
):
    """Job 4 is set to start at 3 long before job 1, whose start is moved there."""
    jobs = [(0, 3, 4, 2), (0, 2, 3, 3), (0, 3, 3, 2), (0, 1, 1, 4), (0, 2, 3, 1), (0, 1, 1, 2)]
    result = replay(workload(jobs), policy=policy, procs=4, schedule_after=schedule_after)
    assert result.start.tolist() == reference_starts(jobs, 4, policy, schedule_after)
    if (policy, schedule_after) == ("conservative", "event"):
        assert result.start.tolist() == [0, 3, 0, 5, 3, 6]


@pytest.mark.parametrize("policy", WITH_REFERENCE)
@examples(30)
@given(case=workloads(), events=st.integers(0, 30), schedule_after=st.sampled_from(SWITCHES))
def test_resumed_anywhere_equals_one_run(policy, case, events, schedule_after):
    jobs, procs = case
    log = workload(jobs)
    whole = replay(log, policy=policy, procs=procs, schedule_after=schedule_after)
    first = Replay(log, policy, procs, schedule_after)
    first.advance(events)
    second = Replay.resume(log, first.checkpoint())
    for session in (first, second):
        while session.advance(3):
            pass
    assert first.result().start.tolist() == whole.start.tolist()
    assert second.result().start.tolist() == whole.start.tolist()
    assert first.checkpoint().to_json() == second.checkpoint().to_json()


@pytest.mark.parametrize("policy", WITH_REFERENCE)
@examples(40)
@given(case=workloads(), schedule_after=st.sampled_from(SWITCHES))
def test_a_schedule_is_sound(policy, case, schedule_after):
    """Nobody starts before the submission, and the machine is never overbooked."""
    jobs, procs = case
    result = replay(workload(jobs), policy=policy, procs=procs, schedule_after=schedule_after)
    assert result.complete
    assert np.all(result.wait >= 0)
    for moment in result.start:
        running = (result.start <= moment) & (moment < result.end)
        assert result.workload.procs[running].sum() <= procs


@examples(40)
@given(case=workloads(), schedule_after=st.sampled_from(SWITCHES))
def test_a_conservative_reservation_never_moves_later(case, schedule_after):
    jobs, procs = case
    session = Replay(workload(jobs), "conservative", procs, schedule_after)
    promised: dict[int, int] = {}
    more = True
    while more:
        more = session.advance(1)
        for job, start in enumerate(session.reservations()):
            if start >= 0:
                assert start <= promised.get(job, start)
                promised[job] = start
    assert len(promised) == len(jobs)


@examples(40)
@given(case=workloads())
def test_easy_does_not_delay_the_first_job_that_has_to_wait(case):
    """With requests that are the true run times, it starts no later than under FCFS."""
    jobs, procs = case
    exact = workload([(submit, request, request, size) for submit, _, request, size in jobs])
    fcfs = replay(exact, policy="fcfs", procs=procs).start
    head = int(np.argmax(fcfs > exact.submit))  # the first job, if nobody has to wait
    assert replay(exact, policy="easy", procs=procs).start[head] <= fcfs[head]
