"""The loop over rules that seldom stand together: whatever it leaves out changes no start.

Turns behind a full cluster, cycles in which nothing could change, and stops from which it goes on
are three ways to do less; each is held against a run that does everything.
"""

from __future__ import annotations

from random import Random

import pytest
from combined_loop import workload
from slotwise.model.instance import Instance
from slotwise.solver.loop.checkpoints import load, save
from slotwise.solver.loop.cycle import Cycle
from slotwise.solver.loop.simulation import Session, simulate
from slotwise.solver.methods.registry import settings_for

#: Seconds: three quarters of an hour after the first jobs came.
HORIZON = 2700
METHODS = ("none", "greedy", "time-based")


def _resumed(site: Instance, method: str, until: int, random: Random) -> dict[str, int]:
    """Starts of a run that is stopped, written down and read again every few cycles."""
    settings = settings_for(site, reservation=method)
    session = Session(site, settings, until=until)
    session.begin()
    while session.advance():
        if random.random() < 0.3:
            session = load(save(session), site)
    return session.result().starts


def _agrees(seed: int, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    site = workload(seed)
    lean = simulate(site, reservation=method, until=HORIZON)
    until = min(lean.time, HORIZON)
    expected = {job: at for job, at in lean.starts.items() if at < until}

    def others() -> dict[str, dict[str, int]]:
        resumed = _resumed(site, method, until, Random(seed))
        idle = simulate(site, reservation=method, skip_idle=False, until=until).starts
        with monkeypatch.context() as patched:
            patched.setattr(Cycle, "_nothing_left", lambda _cycle: False)
            whole = simulate(site, reservation=method, until=until).starts
        return {"resumed": resumed, "idle cycles": idle, "whole walks": whole}

    for name, starts in others().items():
        assert {job: at for job, at in starts.items() if at < until} == expected, name


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(40))
def test_what_is_left_out_changes_no_start(
    seed: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agrees(seed, method, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(1000, 5000, 100))
def test_over_many_more(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(block, block + 100):
        for method in METHODS:
            _agrees(seed, method, monkeypatch)
