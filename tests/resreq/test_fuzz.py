"""Any string is either a requirement that prints and parses back, or one clear error (REQ-20)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ground_cluster import cluster
from hypothesis import given
from hypothesis import strategies as st
from slotwise import InputError
from slotwise.model.resreq import (
    HostTable,
    Requirement,
    ResreqError,
    Simple,
    combine,
    merge_levels,
    parse,
    print_requirement,
    select_mask,
)
from slotwise.model.resreq.partly import check_select

TABLE = HostTable(cluster())

NAMES = st.sampled_from(["mem", "swp", "tmp", "r1m", "cs", "lic", "score", "os_version", "_x9"])
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str), st.sampled_from(["0.5", "5.", "1.50", "0.0001", "123456789012"])
)
BLANK = st.sampled_from(["", " ", "  "])


def spaced(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(part for one in parts for part in (BLANK, one))).map("".join)


TESTS = st.one_of(
    NUMBERS,
    NAMES,
    st.sampled_from(["type==any", "hname!=host-1.a", "os_version == '4.2'", "defined(lic)"]),
    st.sampled_from(['model == "x y"', "type > LINUX2.4", "status==ok"]),
)
SIGNS = st.sampled_from(["||", "&&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/"])


def _deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        spaced(inner, SIGNS, inner),
        spaced(st.just("("), inner, st.just(")")),
        st.tuples(st.sampled_from("!-"), inner).map("".join),
    )


EXPRESSIONS = st.recursive(TESTS, _deeper, max_leaves=10)
KEYS = st.tuples(st.sampled_from(["", "-"]), NAMES).map("".join)
TIMES = st.tuples(st.integers(0, 999).map(str), st.sampled_from(["", "s", "m", "h"])).map("".join)
AMOUNT = spaced(NAMES, st.just("="), NUMBERS)
DURATION = TIMES.map(lambda time: f":duration={time}")
DECAY = st.sampled_from([":decay=0", ":decay=1", ""])
PLAIN_USAGE = st.tuples(
    st.lists(AMOUNT, min_size=1, max_size=3).map(":".join), st.one_of(st.just(""), DURATION), DECAY
).map("".join)
PHASES = st.lists(st.integers(0, 500), min_size=2, max_size=4).flatmap(
    lambda values: st.lists(TIMES, min_size=len(values) - 1, max_size=len(values)).map(
        lambda times: (
            f"mem=({' '.join(map(str, sorted(values, reverse=True)))}):duration=({' '.join(times)})"
        )
    )
)
ALTERNATIVE = st.lists(st.one_of(PLAIN_USAGE, PHASES), min_size=1, max_size=2).map(",".join)
RUSAGE = st.lists(ALTERNATIVE, min_size=1, max_size=2).map("||".join)
SPAN = st.sampled_from(["hosts=1", "hosts=-1", "ptile=3", "ptile='!'", "ptile = 2"])
CU = st.lists(
    st.sampled_from(
        ["type=rack", "pref=minavail", "maxcus=3", "usablecuslots=0", "balance", "excl"]
    ),
    unique=True,
    max_size=4,
).map(":".join)


def section(name: str, body: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return spaced(st.just(name), st.just("["), body, st.just("]"))


SECTIONS = [
    section("order", st.lists(KEYS, max_size=3).map(":".join)),
    section("rusage", RUSAGE),
    section("span", SPAN),
    section("same", st.lists(NAMES, max_size=2).map(":".join)),
    section("cu", CU),
]
SIMPLE = st.tuples(
    st.one_of(st.just(""), EXPRESSIONS, section("select", EXPRESSIONS)),
    st.lists(st.sampled_from(range(5)), unique=True, max_size=5).flatmap(
        lambda chosen: st.tuples(*(SECTIONS[index] for index in chosen)).map(" ".join)
    ),
).map(" ".join)
COMPOUND = st.lists(st.tuples(st.integers(1, 9), SIMPLE), min_size=1, max_size=3).map(
    lambda terms: " + ".join(f"{count}*{{{body}}}" for count, body in terms)
)
REQUIREMENTS = st.one_of(SIMPLE, SIMPLE, COMPOUND)
SECTION_NAMES = ["select", "order", "rusage", "span", "same", "cu"]
#: Pieces of the language in no sensible order.
SOUP = st.lists(
    st.one_of(
        st.sampled_from(list("[]{}()'\":,=!-") + SECTION_NAMES + ["||", "&&", "=="]),
        st.sampled_from(["duration", "decay", "ptile", "hosts", "2*{", "mem=", "defined(", " + "]),
        NAMES,
        NUMBERS,
        BLANK,
    ),
    max_size=25,
).map("".join)


def error_of(read: Callable[[], object]) -> InputError | None:
    """The error that reading raises, None when it raises none."""
    try:
        read()
    except InputError as error:
        return error
    return None


def read(text: str, *, strict: bool = False) -> None:
    """Read one string; a mistake must be told with a place inside the string."""
    error = error_of(lambda: parse(text, strict=strict))
    if error is not None:
        assert isinstance(error, ResreqError)
        assert "\n" not in error.what
        assert error.position is None or 0 <= error.position <= len(text)
        assert str(error)
        return
    requirement = parse(text, strict=strict)
    printed = print_requirement(requirement)
    assert parse(printed) == requirement
    assert print_requirement(parse(printed)) == printed
    if isinstance(requirement, Simple):
        unknown = error_of(lambda: select_mask(requirement.select, TABLE))
        assert unknown is None or isinstance(unknown, ResreqError)


@pytest.mark.behaviour("REQ-20")
@given(REQUIREMENTS, st.booleans())
def test_strings_of_the_grammar(text: str, strict: bool) -> None:
    read(text, strict=strict)


@pytest.mark.behaviour("REQ-20")
@given(SOUP, st.booleans())
def test_pieces_of_the_language_in_any_order(text: str, strict: bool) -> None:
    read(text, strict=strict)
    check_select(text)


@pytest.mark.behaviour("REQ-20")
@given(st.binary(max_size=60))
def test_raw_bytes(data: bytes) -> None:
    read(data.decode("latin-1"))
    read(data.decode("utf-8", "surrogateescape"))


@pytest.mark.behaviour("REQ-20")
@given(REQUIREMENTS, st.data())
def test_one_character_changed(text: str, data: st.DataObject) -> None:
    if text:
        at = data.draw(st.integers(0, len(text) - 1))
        char = data.draw(st.sampled_from("[]{}()'\":,|&=!<>-+*/.;$%^~\\ 7a\n\0"))
        read(text[:at] + char + text[at + 1 :])


@pytest.mark.behaviour("REQ-12", "REQ-15", "REQ-16", "REQ-20")
@given(st.lists(SIMPLE, max_size=2), SIMPLE, REQUIREMENTS, REQUIREMENTS)
def test_merged_requirements_print_and_parse_back(
    options: list[str], application: str, queue: str, compound: str
) -> None:
    def merged(job: list[str]) -> Requirement:
        levels = [combine(strings).requirement for strings in (job, [application], [queue])]
        return merge_levels(*levels).requirement

    for job in (options, [compound]):
        if error_of(lambda job=job: merged(job)) is None:  # type: ignore[misc]
            assert parse(print_requirement(merged(job))) == merged(job)
