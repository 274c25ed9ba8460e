"""What holds for every simulation: no rule broken, no job lost, the same again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import Instance
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate_schedule

quick = examples(60)


@pytest.mark.behaviour("LOP-01", "LOP-03", "TBR-10", "RSV-07", "RSV-09")
@quick
@given(workloads(), st.sampled_from(METHODS))
def test_no_rule_is_broken_at_any_time(instance: Instance, method: str) -> None:
    result = simulate(instance, reservation=method, keep_log=True)
    assert validate_schedule(instance, result) == []


@quick
@given(workloads(), st.sampled_from(METHODS))
def test_idle_cycles_change_nothing(instance: Instance, method: str) -> None:
    lean = simulate(instance, reservation=method)
    full = simulate(instance, reservation=method, skip_idle=False, until=lean.time)
    assert [replace(job) for job in lean.jobs] == list(full.jobs)
    assert lean.cycles <= full.cycles


@quick
@given(workloads())
def test_a_cycle_at_every_event_breaks_no_rule_either(instance: Instance) -> None:
    result = simulate(instance, reservation="time-based", cycle=0, keep_log=True)
    assert validate_schedule(instance, result) == []
    assert result.complete
