"""Many objects made of columns are those that calls make."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from itertools import repeat

import pytest
from slotwise import Job, RunningJob
from slotwise.model.compact import objects_of


@pytest.mark.parametrize("kind", [Job, RunningJob])
def test_what_is_made_of_columns_needs_nothing_after_its_fields(kind: type) -> None:
    assert not hasattr(kind, "__post_init__")


def test_jobs_of_columns_are_those_of_calls() -> None:
    defaults = {field.name: repeat(field.default, 2) for field in fields(Job)}
    made = objects_of(Job, 2, {**defaults, "id": ["1", "2"], "slots": [4, 8], "user": ["u", "v"]})
    assert made == [Job("1", 4, user="u"), Job("2", 8, user="v")]
    assert hash(made[0]) == hash(Job("1", 4, user="u"))
    with pytest.raises(FrozenInstanceError):
        made[0].slots = 2  # type: ignore[misc]


def test_a_missing_column_is_a_defect() -> None:
    with pytest.raises(AssertionError):
        objects_of(RunningJob, 1, {"start": [0], "allocation": [{}]})
