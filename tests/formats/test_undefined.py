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


@pytest.mark.parametrize(
    ("section", "entry"),
    [
        ("pending", {"id": "x", "slots": 1, "hosts": "b"}),
        ("pending", {"id": "x", "slots": 1, "res_req": "select[nosuch > 1]"}),
        ("pending", {"id": "x", "slots": 1, "res_req": "cu[type=rack]"}),
        ("running", {"id": "x", "slots": 1, "start": 0, "allocation": "1*b"}),
        ("limits", {"name": "l", "SLOTS": 3, "HOSTS": "b"}),
        ("host_groups", {"name": "g", "members": "b"}),
        ("host_partitions", {"name": "hp", "HOSTS": "b", "USER_SHARES": "[u, 1]"}),
        ("advance_reservations", {"name": "r", "start": 0, "end": 9, "allocation": "1*b"}),
    ],
)
def test_only_the_broken_definition_is_reported(section: str, entry: dict[str, Any]) -> None:
    document = copy.deepcopy(WHOLE)
    if section == "host_groups":
        document[section] = {entry["name"]: entry["members"]}
    else:
        document[section] = [*document.get(section, []), entry]
    del document["hosts"][1]["name"]
    assert problems(document) == ["hosts[1].name"]


def test_what_is_wrong_anyway_is_reported_beside_it() -> None:
    document = copy.deepcopy(WHOLE)
    del document["hosts"][1]["name"]
    document["limits"] = [{"name": "l"}]
    assert problems(document) == ["hosts[1].name", "limits[0]"]


def test_an_entry_that_keeps_its_name_still_defines_it() -> None:
    document = copy.deepcopy(WHOLE)
    document["hosts"][1]["slots"] = "many"
    document["pending"] = [{"id": "x", "slots": 1, "hosts": "b c"}]
    assert problems(document) == ["hosts[1].slots", "pending[0].hosts"]


def test_with_whole_definitions_it_is_an_error() -> None:
    document = copy.deepcopy(WHOLE)
    document["pending"] = [{"id": "x", "slots": 1, "queue": "nosuch"}]
    assert problems(document) == ["pending[0].queue"]
