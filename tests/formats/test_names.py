"""Host ranges, lists, allocations and preference marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import HostRequest
from slotwise.model.formats.names import allocation, compress, host_requests, names, tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hostA", ["hostA"]),
        ("n[001-003]", ["n001", "n002", "n003"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[1,3,7-8]", ["n1", "n3", "n7", "n8"]),
        ("host[A-C]", ["hostA", "hostB", "hostC"]),
        ("r[1-2]n[1-2]-ib", ["r1n1-ib", "r1n2-ib", "r2n1-ib", "r2n2-ib"]),
        ("(hostA hg1)", ["hostA", "hg1"]),
        ("a, b c", ["a", "b", "c"]),
        (["a", "n[1-2]", 7], ["a", "n1", "n2", "7"]),
    ],
)
def test_names(text: object, expected: list[str]) -> None:
    assert list(names(text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n[3-1]", "falls: write the smaller number first"),
        ("n[1-]", "bad range"),
        ("n[]", "bad range"),
        ("n[0-999999999]", "more than 200,000 names"),
        ("n[1-1000][1-1000]", "more than 200,000 names"),
        ({"a": 1}, "must be names"),
        ([["a"]], "must be a list of names"),
    ],
)
def test_no_names(text: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        names(text)


@given(st.lists(st.integers(0, 1200), min_size=1, unique=True), st.sampled_from([0, 1, 3, 5]))
def test_compressed_names_expand_to_the_same(numbers: list[int], width: int) -> None:
    hosts = [f"n{number:0{width}d}-ib" for number in numbers]
    assert list(names(compress(hosts))) == hosts


def test_long_runs_become_one_range() -> None:
    assert compress([f"n{number:03d}" for number in range(1, 129)]) == ["n[001-128]"]


@pytest.mark.behaviour("TBR-06")
@pytest.mark.parametrize(
    "given",
    [
        "2*hostA 3*hostB hostC",
        {"hostA": 2, "hostB": 3, "hostC": 1},
        ["2*hostA", "3*hostB", "hostC"],
    ],
)
def test_allocations(given: object) -> None:
    found = allocation(given)
    assert list(found.items()) == [("hostA", 2), ("hostB", 3), ("hostC", 1)]


def test_an_allocation_takes_ranges() -> None:
    assert allocation("2*n[1-3]") == allocation({"n[1-3]": 2}) == {"n1": 2, "n2": 2, "n3": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0*a", "1 or more"),
        ("x*a", "must be like 2\\*hostA"),
        ({"a": 1.5}, "1 or more"),
        ({"a": True}, "1 or more"),
        ("a a", "has a twice: give all its slots as one number"),
        (7.5, "must be slots on hosts"),
    ],
)
def test_no_allocations(given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        allocation(given)


@pytest.mark.behaviour("PLC-12")
def test_host_requests_have_levels_and_marks() -> None:
    wanted, excluded = host_requests("hostA+2 hg1! n[1-2]+ x!+3 ~hostB")
    assert wanted == (
        HostRequest("hostA", 2),
        HostRequest("hg1", 0, True),
        HostRequest("n1", 1),
        HostRequest("n2", 1),
        HostRequest("x", 3, True),
    )
    assert excluded == ("hostB",)
    for text in ("+2", "~a!", "a+x", "!"):
        with pytest.raises(ValueError, match="is no host"):
            host_requests(text)


def test_brackets_keep_their_content_together() -> None:
    assert tokens("n[1, 2] b") == ("n[1, 2]", "b")
