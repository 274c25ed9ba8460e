"""A search is stopped even where the wish to stop comes before it has begun."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from ortools.sat.python import cp_model
from slotwise.solver.budget import Budget
from slotwise.solver.optimal import backends


class DeafAtFirst(cp_model.CpSolver):
    """Hears the third call to stop only, as a solver that is still setting up."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.heard = threading.Event()
        self.stopped = False

    def solve(self, *_: Any) -> Any:
        self.stopped = self.heard.wait(20)
        return cp_model.UNKNOWN

    def stop_search(self) -> None:
        self.calls += 1
        if self.calls >= 3:
            self.heard.set()

    @property
    def response_proto(self) -> Any:
        return SimpleNamespace(deterministic_time=0.0)

    def status_name(self, status: Any = None) -> str:
        return "UNKNOWN"


def test_the_wish_to_stop_is_repeated_until_it_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cp_model, "CpSolver", DeafAtFirst)
    cancel = threading.Event()
    cancel.set()
    budget = Budget(None, cancel=cancel)
    status, solver = backends.run(cp_model.CpModel(), budget, seconds=300.0, effort=1.0)
    assert status == "UNKNOWN"
    assert isinstance(solver, DeafAtFirst)
    assert solver.stopped
