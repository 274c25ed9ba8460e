"""Many objects made of columns are those that calls make."""

from __future__ import annotations

import pytest
from slotwise import Job, RunningJob


@pytest.mark.parametrize("kind", [Job, RunningJob])
def test_what_is_made_of_columns_needs_nothing_after_its_fields(kind: type) -> None:
    assert not hasattr(kind, "__post_init__")
