"""Allocations of plain words are read by a short way: it says what the long one says."""

from __future__ import annotations

import random

import pytest
from slotwise.model.formats import names

PIECES = (
    "a",
    "n1",
    "2*",
    "1*b",
    "0*c",
    "*",
    "[1-2]",
    "(",
    ")",
    ",",
    " ",
    "\t",
    "٣*d",
    "12345678901*e",
    "2*n[1-3]",
    "n[08-11]x",
    "m[3-1]",
    "[٣-٥]",
)


def both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    def read() -> object:
        try:
            return list(names.allocation(text).items())
        except ValueError as error:
            return str(error)

    short = read()
    with monkeypatch.context() as patch:
        patch.setattr(names, "_plain_allocation", lambda _: {})
        patch.setattr(names, "_one_range", lambda _: ())
        return short, read()


def test_the_short_way_says_what_the_long_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    read = 0
    for _ in range(3000):
        text = "".join(draw.choices(PIECES, k=draw.randint(0, 6)))
        short, long = both_ways(text, monkeypatch)
        assert short == long, text
        read += isinstance(short, list) and len(short) > 1
    assert read > 100


def test_one_range_is_what_several_brackets_would_make_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(6)
    ranges = 0
    for _ in range(3000):
        text = "".join(draw.choices((*PIECES, "[", "]", "-", "7", "08", "[1-4]"), k=4))
        short, long = both_ways(text, monkeypatch)
        assert short == long, text
        ranges += isinstance(short, list) and len(short) > 2
    assert ranges > 20
