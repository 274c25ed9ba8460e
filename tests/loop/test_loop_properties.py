"""What holds for every simulation: no rule broken, no job lost, the same again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import Instance, Job
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate_schedule

quick = examples(60)


def jobs_of(instance: Instance) -> tuple[Job, ...]:
    """Pending and future jobs."""
    return (*instance.pending, *instance.future)


@pytest.mark.behaviour("LOP-01", "LOP-03", "TBR-10", "RSV-07", "RSV-09")
@quick
@given(workloads(), st.sampled_from(METHODS))
def test_no_rule_is_broken_at_any_time(instance: Instance, method: str) -> None:
    result = simulate(instance, reservation=method, keep_log=True)
    assert validate_schedule(instance, result) == []


@quick
@given(workloads(), st.sampled_from(METHODS))
def test_every_job_that_can_start_does(instance: Instance, method: str) -> None:
    result = simulate(instance, reservation=method)
    assert [record.job for record in result.jobs] == [
        *(item.job.id for item in instance.running),
        *(job.id for job in jobs_of(instance)),
    ]
    assert result.complete
    alone = {
        job.id: simulate(replace(instance, running=(), pending=(job,), future=()))[job.id]
        for job in jobs_of(instance)
    }
    for record in result.jobs[len(instance.running) :]:
        if record.status == "pending":
            assert alone[record.job].status == "pending"
            assert record.reason
        else:
            assert record.status == "done"
            assert record.wait is not None
            assert record.wait >= 0


@quick
@given(workloads(), st.sampled_from(METHODS))
def test_idle_cycles_change_nothing(instance: Instance, method: str) -> None:
    lean = simulate(instance, reservation=method)
    full = simulate(instance, reservation=method, skip_idle=False, until=lean.time)
    assert [replace(job) for job in lean.jobs] == list(full.jobs)
    assert lean.cycles <= full.cycles


@quick
@given(workloads(), st.sampled_from(METHODS))
def test_the_same_again(instance: Instance, method: str) -> None:
    first = simulate(instance, reservation=method, keep_log=True)
    again = simulate(instance, reservation=method, keep_log=True)
    assert (first.jobs, first.log) == (again.jobs, again.log)


@quick
@given(workloads())
def test_a_cycle_at_every_event_breaks_no_rule_either(instance: Instance) -> None:
    result = simulate(instance, reservation="time-based", cycle=0, keep_log=True)
    assert validate_schedule(instance, result) == []
    assert result.complete
