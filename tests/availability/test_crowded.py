"""Windows that are remembered to be too crowded refuse what a look at every host refuses."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from sampling import some
from slotwise import Plan
from slotwise.model.generate import generate
from slotwise.solver.availability.profile import FullWindows
from slotwise.solver.placement import earliest
from slotwise.solver.scheduler.next_cycle import plan_next_cycle

Window = tuple[int, int, int, int]


def refused(windows: list[Window], at: int, duration: int | None, slots: int, until: int) -> bool:
    return any(
        at <= begin and (duration is None or last < at + duration) and free < slots
        for begin, last, free, heeded in windows
        if heeded <= until
    )


@pytest.mark.parametrize("seed", some(range(30), 10))
def test_a_window_is_refused_where_it_reaches_over_all_of_a_crowded_one(seed: int) -> None:
    rng = Random(seed)
    plain = FullWindows()
    held = plain.extended()
    of_plain: list[Window] = []
    of_held: list[Window] = []
    for _ in range(rng.randint(0, 40)):
        begin, slots = rng.randint(0, 50), rng.randint(0, 8)
        last, until = begin + rng.randint(0, 20), rng.randint(0, 60)
        if rng.random() < 0.5:
            plain.add(begin, last, slots)
            of_plain.append((begin, last, slots, 0))
        else:
            held.up_to(until).add(begin, last, slots)
            of_held.append((begin, last, slots, until))
    at = np.arange(60)
    for duration in (None, 1, 5, 17):
        for slots in (1, 4, 9):
            found = plain.infeasible_mask(at, duration, slots).tolist()
            assert found == [refused(of_plain, time, duration, slots, 0) for time in at.tolist()]
            until = rng.randint(0, 60)
            every = of_plain + of_held
            found = held.up_to(until).infeasible_mask(at, duration, slots).tolist()
            assert found == [refused(every, time, duration, slots, until) for time in at.tolist()]
    held.clear()
    both = held.infeasible_mask(at, 5, 9).tolist()
    assert both == [refused(of_plain, time, 5, 9, 0) for time in at.tolist()]


def planned(seed: int) -> Plan:
    instance = generate(hosts=30, per_enclosure=4, running=110, pending=90, load=1.0, seed=seed)
    return plan_next_cycle(instance, "time-based")


@pytest.mark.parametrize("seed", some(range(12), 1))
def test_plans_are_those_of_a_search_that_remembers_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [0]
    can_start = earliest.can_start

    def counted(*args: object) -> object:
        asked[0] += 1
        return can_start(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(earliest, "can_start", counted)
    remembered, few = planned(seed), asked[0]
    monkeypatch.setattr(earliest, "record_full_window", lambda *_: None)
    asked[0] = 0
    assert planned(seed) == remembered
    assert few < asked[0]
