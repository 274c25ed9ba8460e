"""With every shortcut of the loop switched off at once, each job starts as it does with them."""

from __future__ import annotations

from typing import get_args

import pytest
from sampling import some
from slotwise import Instance, Plan, Reservation
from slotwise.model.generate import generate
from slotwise.solver.planning import plan
from slotwise.solver.scheduler import cycle, cycle_state, reserved_profile
from slotwise.solver.scheduler.simulation import simulate


def switch_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept up to date or remembered: profiles, repeated cycles, cycles left out."""
    future = reserved_profile.PlannedProfiles
    monkeypatch.setattr(future, "add", lambda self, *_: self.invalidate())
    monkeypatch.setattr(future, "add_reservation", lambda self, *_: self.invalidate())
    monkeypatch.setattr(cycle_state.RepeatedCycle, "previous_start", lambda *_: None)
    monkeypatch.setattr(cycle, "can_any_start", lambda *_: True)
    monkeypatch.setattr(cycle, "is_last_cycle_valid", lambda *_: False)


def starts(found: Plan) -> list[tuple[str, int | None, int | None, dict[str, int]]]:
    return [(item.job, item.start, item.estimate, dict(item.allocation)) for item in found]


def site(seed: int) -> Instance:
    return generate(
        hosts=6,
        per_enclosure=3,
        running=12,
        pending=9,
        load=0.9,
        gpus=seed % 2,
        array=3 * (seed % 3 == 0),
        seed=seed,
    )


@pytest.mark.parametrize("seed", some([4, 1, 0, 3, 2, 5], 1))
def test_every_start_is_the_same_without_shortcuts(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = site(seed)
    plans = [starts(plan(instance, method)) for method in ("greedy", "time-based")]
    methods = [name for name in get_args(Reservation) if name != "optimal"]
    runs = [dict(simulate(instance, reservation=name).starts) for name in methods]
    assert any(start for run in runs for start in run.values())
    switch_off(monkeypatch)
    assert [starts(plan(instance, method)) for method in ("greedy", "time-based")] == plans
    assert [dict(simulate(instance, reservation=name).starts) for name in methods] == runs
