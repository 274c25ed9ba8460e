"""A simulation that is stopped, saved and gone on with ends as one that was not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import Cluster, Host, InputError, Instance, Job
from slotwise.model.formats.sealed import CHECKPOINT, seal_checkpoint
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


def test_a_checkpoint_of_something_else_is_refused() -> None:
    instance = Instance(Cluster((Host("A", 1),)), pending=(Job("j"),))
    session = Session(instance, settings_for(instance))
    session.begin()
    text = save(session)
    with pytest.raises(InputError, match="another instance"):
        load(text, replace(instance, now=instance.now + 1))
    with pytest.raises(InputError, match="no checkpoint"):
        load("{}", instance)
    with pytest.raises(InputError, match="no checkpoint"):
        load("not json", instance)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 1}, f"version 1; this is version {CHECKPOINT.version}"),
        ({"states": [{"number": 0}]}, "is damaged"),
        ({"settings": {"reservation": "greedy", "x": 1}}, "is damaged"),
        ({"now": "soon"}, "is damaged"),
        ({"pending": [99]}, "is damaged"),
        ({"order": None, "events": 7}, "is damaged"),
    ],
)
def test_a_damaged_checkpoint_is_refused(change: dict[str, Any], says: str) -> None:
    instance = Instance(Cluster((Host("A", 1),)), pending=(Job("j"),))
    session = Session(instance, settings_for(instance))
    session.begin()
    session.advance()
    saved = json.loads(save(session))
    for name in ("format", "engine", "checksum"):
        saved.pop(name)
    version = change.pop("version", saved.pop("version"))
    text = seal_checkpoint("loop", saved | change)
    text = text.replace(f'"version":{CHECKPOINT.version}', f'"version":{version}')
    with pytest.raises(InputError, match=says):
        load(text, instance, source="point.json")
    del saved["instance"]
    with pytest.raises(InputError, match="is damaged"):
        load(seal_checkpoint("loop", saved), instance, source="point.json")
