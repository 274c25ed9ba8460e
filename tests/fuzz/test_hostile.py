"""Twenty thousand hostile inputs and forty pairs of commands, the same ones on every run.

``make fuzz`` runs millions of the ones and thousands of the others.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from fuzz import pairs
from sampling import some

SEED = 20260301
PARTS, INPUTS = 8, 20_000


def hostile() -> Any:
    spec = importlib.util.spec_from_file_location("hostile", Path(__file__).with_name("hostile.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", some(range(PARTS), 1))
def test_every_input_is_read_or_refused(part: int) -> None:
    each = INPUTS // PARTS
    target = hostile()
    counts, failed = target.run(SEED, part * each, each)
    assert failed == []
    assert sum(counts.values()) == each
    kinds = {kind.rpartition(" ")[0] for kind in counts}
    assert kinds == {make.__name__ for make, _ in target.TARGETS}
    for kind in kinds - {"a_checkpoint", "a_log", "an_event_log"}:  # logs report, never refuse
        assert counts[f"{kind} refused"] > 0
        assert counts[f"{kind} accepted"] > 0
    assert counts["a_checkpoint refused"] > 50 * counts["a_checkpoint accepted"]


def test_folders_lines_settings_and_stores_are_read_or_refused() -> None:
    """No reader of them raises anything but its own error: exit 70 cannot come from an input."""
    target = hostile()
    counts, failed = target.run(SEED, 0, 300, target.READERS)
    assert failed == []
    assert {kind.partition(" ")[0] for kind in counts} == {
        make.__name__ for make, _ in target.READERS
    }
    assert all(counts[f"{make.__name__} refused"] for make, _ in target.READERS)
    assert target.run(911, 10_778, 1, target.READERS)[1] == []  # a store whose schema is no text


@pytest.mark.parametrize("part", some(range(4), 1))
def test_what_a_command_writes_the_next_one_reads(part: int) -> None:
    """Forty pairs of commands, the same ones on every run."""
    counts, failed = pairs.pairs(SEED, part * 10, 10)
    assert failed == []
    assert sum(counts.values()) == 10
    assert set(counts) <= {target.__name__ for target in pairs.TARGETS}
