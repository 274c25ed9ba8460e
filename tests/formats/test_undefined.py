"""A name that is not defined proves nothing where the definitions cannot be read."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from slotwise import InputError, from_document

#: Everything that is referred to below is defined here; each case breaks its definition.
WHOLE: dict[str, Any] = {
    "format": "slotwise/1",
    "hosts": [{"name": "a", "slots": 4}, {"name": "b", "slots": 4}],
    "queues": [{"name": "q", "PRIORITY": 1}, {"name": "p", "PRIORITY": 2}],
    "params": {"DEFAULT_QUEUE": "q"},
    "pending": [{"id": "j", "slots": 1}],
}


def problems(document: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as caught:
        from_document(document)
    return [problem.path for problem in caught.value.problems]


def test_an_entry_that_keeps_its_name_still_defines_it() -> None:
    document = copy.deepcopy(WHOLE)
    document["hosts"][1]["slots"] = "many"
    document["pending"] = [{"id": "x", "slots": 1, "hosts": "b c"}]
    assert problems(document) == ["hosts[1].slots", "pending[0].hosts"]
