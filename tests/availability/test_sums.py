"""Amounts in use by instant: what is kept, what more rows change, what is forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from slotwise.solver.availability import usage
from slotwise.solver.availability.usage import Sums


def test_an_instant_is_known_once_it_is_kept() -> None:
    found = Sums(2)
    assert found.at(5) is None
    found.keep(5, np.array([1.0, 2.0]))
    known = found.at(5)
    assert known is not None
    assert known.tolist() == [1.0, 2.0]
    assert found.at(6) is None


def test_more_instants_than_there_was_room_for() -> None:
    found = Sums(1)
    for time in range(100):
        found.keep(time, np.array([float(time)]))
    for time in range(100):
        known = found.at(time)
        assert known is not None
        assert known.tolist() == [float(time)]


def test_too_many_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_KEPT", 3)
    found = Sums(1)
    for time in range(4):
        found.keep(time, np.array([float(time)]))
    assert [found.at(time) is not None for time in range(4)] == [False, False, False, True]
