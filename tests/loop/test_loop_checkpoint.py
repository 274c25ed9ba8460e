"""A simulation that is stopped, saved and gone on with ends as one that was not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import Instance
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate

quick = examples(40)


@quick
@given(workloads(), st.sampled_from(METHODS), st.integers(0, 8), st.integers(1, 4))
def test_going_on_from_a_checkpoint(
    instance: Instance, method: str, steps: int, again: int
) -> None:
    whole = simulate(instance, reservation=method, keep_log=True)
    session = Session(instance, settings_for(instance, reservation=method), keep_log=True)
    session.begin()
    for _ in range(steps):
        session.advance()
    session = load(save(session), instance)
    for _ in range(again):
        session.advance()
    session = load(save(session), instance)
    while session.advance():
        pass
    result = session.result()
    assert result.jobs == whole.jobs
    assert result.log == whole.log
    assert result.cycles == whole.cycles
