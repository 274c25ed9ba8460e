"""Metrics as text."""

from __future__ import annotations

import pytest
from slotwise.cli.tables import plain_metric


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mean_wait", 59.4, "59.400 s"),
        ("mean_wait", 60.0, "60.000 s  (1m)"),
        ("mean_absolute_error", 4260.25, "4260.250 s  (1h 11m)"),
        ("utilisation", 61.5, "61.5000"),
        ("jobs", 61, "61"),
        ("mean_wait", None, "-"),
    ],
)
def test_times_are_said_in_seconds_and_as_people_do(name: str, value: object, text: str) -> None:
    assert plain_metric(name, value) == text
