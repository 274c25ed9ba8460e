"""The benchmarks' limit in seconds of the processor: its clock alone says when a plan stops."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

PATIENCE = 60.0


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch):
    """The benchmarks' module, as their scripts import it."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    yield __import__("processor_limit")
    sys.modules.pop("processor_limit", None)


def test_the_event_comes_with_the_clock_that_is_given(limits) -> None:
    now = [100.0]
    looks = []

    def clock() -> float:
        looks.append(now[0])
        return now[0]

    with limits.processor_limit(5, clock=clock, tick=0.001) as over:
        now[0] = 104.9
        until = time.monotonic() + PATIENCE
        while looks[-3:] != [104.9] * 3 and time.monotonic() < until:
            time.sleep(0.001)
        assert looks[-3:] == [104.9] * 3
        assert not over.is_set()
        now[0] = 105.0
        assert over.wait(PATIENCE)


def test_nothing_looks_on_after_the_end(limits) -> None:
    now = [0.0]
    with limits.processor_limit(5, clock=lambda: now[0], tick=0.001) as over:
        pass
    now[0] = 6.0
    assert not over.wait(0.05)


def test_sleep_is_not_counted(limits) -> None:
    """The default clock is the processor's: a process that waits is not stopped."""
    with limits.processor_limit(3600) as over:
        assert not over.wait(0.2)
    with limits.processor_limit(0.0, tick=0.001) as over:
        assert over.wait(PATIENCE)
