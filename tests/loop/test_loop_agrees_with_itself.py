"""The loop over rules that seldom stand together: whatever it leaves out changes no start.

Turns behind a full cluster, cycles in which nothing could change, and stops from which it goes on
are three ways to do less; each is held against a run that does everything. What comes of it is put
before the judge of plans.
"""

from __future__ import annotations

from functools import partial
from random import Random

import pytest
from combined_loop import changes_of, workload
from long_ways import every_turn
from sampling import pairwise, some
from slotwise import Change, Instance
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate
from slotwise.solver.validate import validate_schedule

#: Seconds: three quarters of an hour after the first jobs came.
HORIZON = 2700
METHODS = ("none", "greedy", "time-based")


def _resumed(
    site: Instance, changes: tuple[Change, ...], method: str, until: int, random: Random
) -> dict[str, int]:
    """Starts of a run that is stopped, written down and read again every few cycles."""
    settings = settings_for(site, reservation=method)
    session = Session(site, settings, changes=changes, until=until)
    session.begin()
    while session.advance():
        if random.random() < 0.3:
            session = load(save(session), site, changes=changes)
    return session.result().starts


def _agrees(
    seed: int, method: str, monkeypatch: pytest.MonkeyPatch, *, changed: bool = False
) -> None:
    site = workload(seed)
    changes = changes_of(site, seed) if changed else ()
    lean = simulate(site, reservation=method, until=HORIZON, changes=changes)
    until = min(lean.time, HORIZON)
    expected = {job: at for job, at in lean.starts.items() if at < until}

    def others() -> dict[str, dict[str, int]]:
        resumed = _resumed(site, changes, method, until, Random(seed))
        run = partial(simulate, site, reservation=method, until=until, changes=changes)
        idle = run(skip_idle=False).starts
        with monkeypatch.context() as patched:
            every_turn(patched)
            whole = run().starts
        return {"resumed": resumed, "idle cycles": idle, "whole walks": whole}

    for name, starts in others().items():
        assert {job: at for job, at in starts.items() if at < until} == expected, name


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize(("seed", "method"), some(pairwise(range(12), METHODS), 6))
def test_what_is_left_out_changes_no_start(
    seed: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agrees(seed, method, monkeypatch)


@pytest.mark.behaviour("LOP-07")
@pytest.mark.parametrize(("seed", "method"), some(pairwise(range(100, 108), METHODS), 3))
def test_nor_where_hosts_and_jobs_are_changed_on_the_way(
    seed: int, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agrees(seed, method, monkeypatch, changed=True)


@pytest.mark.parametrize(("seed", "method"), some(pairwise(range(12), METHODS), 8))
def test_the_judge_finds_nothing_in_what_happened(seed: int, method: str) -> None:
    site = workload(seed)
    result = simulate(site, reservation=method, until=2 * HORIZON)
    assert not validate_schedule(site, result)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("block", range(1000, 5000, 100))
def test_over_many_more(block: int, changed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(block, block + 100):
        for method in METHODS:
            _agrees(seed, method, monkeypatch, changed=changed)
