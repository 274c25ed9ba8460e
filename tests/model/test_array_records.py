"""Arrays and conditions over many jobs: counted before they are made, looked at as classes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import InputError, loads
from slotwise.model.dependency import (
    JobReference,
    parse_dependency,
)
from slotwise.model.input_limits import limited
from slotwise.model.job import parse_spec, ranges_of
from slotwise.solver.precedence import Precedence


def text_of(*pending: dict[str, object], **more: object) -> str:
    hosts = [{"name": "h", "slots": 8}]
    params = {"MAX_JOB_ARRAY_SIZE": 2_000_000}
    return json.dumps(
        {"format": "slotwise/1", "hosts": hosts, "params": params, "pending": pending, **more}
    )


def test_as_many_as_the_limit_are_read_and_the_limit_can_be_raised() -> None:
    text = text_of({"id": 1, "array": "1-30"}, {"id": 2, "array": "1-9:2"})
    with limited(elements=35):
        assert len(loads(text).pending) == 35
    with limited(elements=34), pytest.raises(InputError, match="more than 34 elements"):
        loads(text)


def test_a_running_element_does_not_count_the_array_of_its_line() -> None:
    running = [
        {"id": f"1[{n}]", "bsub": '-J "a[1-30]"', "start": 0, "allocation": {"h": 1}}
        for n in (1, 2, 3)
    ]
    with limited(elements=40):
        assert len(loads(text_of({"id": 2, "array": "1-10"}, running=running)).running) == 3


ranges = st.builds(
    lambda first, length, step: f"{first}-{first + length}:{step}",
    st.integers(1, 60),
    st.integers(0, 30),
    st.integers(1, 4),
)


@given(st.lists(ranges, min_size=1, max_size=5))
def test_ranges_are_joined_as_the_numbers_that_they_stand_for(parts: list[str]) -> None:
    numbers = set()
    for part in parts:
        first, rest = part.split("-")
        last, step = map(int, rest.split(":"))
        numbers |= set(range(int(first), last + 1, step))
    assert parse_spec(",".join(parts)).ranges == ranges_of(numbers)


def test_elements_of_a_reference_are_no_list_of_numbers() -> None:
    """Twenty thousand references to as many elements each fit into a megabyte of text."""
    (test,) = [parse_dependency("done(a[1-20000:3,7])")]
    assert test.job.ranges == (range(1, 20_001, 3), range(7, 8))  # type: ignore[union-attr]
    with pytest.raises(InputError, match="names more than 25,000 elements"):
        parse_dependency("done(a[1-300000,1-300000:2])")


references = st.builds(
    JobReference,
    st.sampled_from(["a", "a*", "ab", "*", "b*", "c*", "3", "3*", "5"]),
    st.booleans(),
    st.sampled_from([(), (range(1, 2),), (range(2, 3), range(1, 3))]),
    st.booleans(),
)


def test_conditions_over_the_same_names_are_one() -> None:
    """300 conditions over 3,000 names were a list of 900,000."""
    named = [{"id": n, "bsub": f'-J "a{n}"'} for n in range(1, 31)]
    asking = [{"id": n, "bsub": f"-J b{n} -w 'done(\"a*\")'"} for n in range(101, 111)]
    instance = loads(text_of(*named, *asking))
    found = Precedence.of(instance)
    assert len(found.releases) == 10
    assert len({id(item.event) for item in found.releases.values()}) == 1
    assert len({id(names) for names in found.waits_for().values()}) == 1
    with limited(names=299), pytest.raises(InputError, match="more than 299 jobs"):
        loads(text_of(*named, *asking))
    with limited(names=300):
        assert loads(text_of(*named, *asking)) == instance
