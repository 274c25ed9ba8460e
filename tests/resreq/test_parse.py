"""What the strings of the documents mean, and what is refused (REQ-01 … REQ-20)."""

from __future__ import annotations

import pytest
from slotwise import ResourceDefinition
from slotwise.model.resreq import (
    ResreqError,
    Simple,
    Vocabulary,
    parse,
    print_requirement,
)
from slotwise.model.resreq.syntax import (
    Cu,
)

#: Strings that must be refused, the token to blame and a word of what is expected.
REFUSED = {
    "type==anyrusage[mem=1024]": ("anyrusage", "a blank between 'any' and rusage"),
    "rusage[mem=(200 300):duration=(2 3)]": ("mem", ""),
    "cu[balance:type=rack:usablecuslots=20]": ("usablecuslots", "one of the two"),
    "2*{[mem=200:duration=20:decay=1]} + 2*{cs}": ("[", "select[], order[]"),
    "2*{select[cs]} + 2*{cu[excl]}": ("excl", "maxcus"),
    "2*{rusage[a=1||b=1]}": ("||", ""),
    "{cs} + 2*{fs}": ("{", "a count"),
    "2*{cs} 3*{fs}": ("3*{fs}", "'+'"),
    "0*{cs}": ("0", "at least 1"),
    "rusage[mem=1:mem=2]": ("mem", "each once"),
    "rusage[mem=1,mem=2]": ("mem", "each once"),
    "rusage[mem=-1]": ("-1", "0 or more"),
    "rusage[mem=10GX]": ("10GX", "a plain number"),
    "rusage[lic=10GB]": ("10GB", "a plain number"),
    "rusage[mem=1:duration=5x]": ("5x", "minutes"),
    "rusage[swp=(3 2):duration=(5)]": ("swp", "swp=number"),
    "rusage[mem=(3 2):duration=(5):tmp=1]": ("mem", "a comma between them"),
    "rusage[mem=(3 2)]": ("mem", ""),
    "span[hosts=2]": ("2", "hosts=1 or hosts=-1"),
    "span[ptile=0]": ("0", "at least 1"),
    "span[ptile=!]": ("!", "quotes"),
    "span[ptile='!',HP:8]": ("span", "same[type] or same[model]"),
    "span[hots=1]": ("hots", "ptile"),
    "order[mem,ut]": (",", "':' between names"),
    "order[type]": ("type", ""),
    "cu[pref=fit]": ("fit", "bestfit"),
    "cu[maxcus=0]": ("0", "at least 1"),
    "mem > 50 & swp > 10": ("&", "'&&' for and"),
    "mem > 50 and swp > 10": ("and", "'&&' for and"),
    "mem=>60": (">", "'>='"),
    "mem > ": ("", "a value"),
    "mem > (5": ("", "')'"),
    "select[mem > 5": ("[", "']'"),
    "mem > 5]": ("]", "select[]"),
    "Select[mem > 5]": ("Select", "select[]"),
    "select[hname=='hostA]": ("'", "closing"),
    "type": ("", "a comparison"),
    "type + 1": ("+", "a comparison"),
    "linux == type": ("type", "type==linux"),
    "defined(mem)": ("mem", "lsf.shared"),
    "defined mem": ("mem", "an operator"),
    "order[ut] order[mem]": ("order", "one order[]"),
}


@pytest.mark.behaviour("REQ-01", "REQ-11", "REQ-14", "REQ-18", "REQ-20", "PLC-08", "RSV-09")
@pytest.mark.parametrize("text", REFUSED)
def test_errors_name_the_place_the_token_and_what_was_expected(text: str) -> None:
    token, expected = REFUSED[text]
    with pytest.raises(ResreqError) as caught:
        parse(text)
    error = caught.value
    assert error.token == token
    assert expected in error.message
    assert error.position is not None
    assert error.text[error.position :].startswith(token)
    caret = str(error).splitlines()[-1]
    assert caret.index("^") == error.position + 2


@pytest.mark.behaviour("REQ-20")
def test_a_long_string_is_shown_around_the_place() -> None:
    text = " && ".join(f"hname!=host{n}" for n in range(200)) + " && mem >> 5 && cs"
    with pytest.raises(ResreqError) as caught:
        parse(text)
    line, carets = caught.value.underlined().splitlines()
    assert len(line) < 100
    assert line[carets.index("^")] == ">"
    assert text[caught.value.position or 0] == ">"


@pytest.mark.behaviour("REQ-02", "REQ-08")
def test_comparisons_chain_in_ordinary_syntax_only() -> None:
    assert parse("1 < mem == 1") == parse("(1 < mem) == 1")
    with pytest.raises(ResreqError, match="'&&', '\\|\\|' or the end"):
        parse("1 < mem == 1", strict=True)


@pytest.mark.behaviour("REQ-08")
def test_user_booleans_in_strict_syntax() -> None:
    definitions = (
        ResourceDefinition("fs", kind="boolean"),
        ResourceDefinition("os", kind="string"),
    )
    vocabulary = Vocabulary.of_definitions(definitions)
    assert parse("fs && !fs || fs", strict=True, vocabulary=vocabulary)
    for text in ("fs + 1 == 2", "fs > 0", "os + 1", "!os", "rusage[fs=1]", "rusage[os=1]"):
        with pytest.raises(ResreqError):
            parse(text, strict=True, vocabulary=vocabulary)
    assert parse("fs + 1 == 2", vocabulary=vocabulary)


@pytest.mark.behaviour("RSV-03", "RSV-04", "RSV-09")
@pytest.mark.parametrize(
    ("text", "phases"),
    [
        ("mem=100:duration=60", [(100, 0, 3600, False)]),
        ("mem=100:duration=60m", [(100, 0, 3600, False)]),
        ("mem=100:duration=1h", [(100, 0, 3600, False)]),
        ("mem=100:duration=3600s", [(100, 0, 3600, False)]),
        ("mem=(100):duration=(1h)", [(100, 0, 3600, False)]),
        ("mem=100:duration=1.5", [(100, 0, 90, False)]),
        ("mem=100:duration=60:decay=1", [(100, 0, 3600, True)]),
        ("mem=100:duration=60:decay=2", [(100, 0, 3600, False)]),
        ("mem=100:decay=1", [(100, 0, None, False)]),
        ("mem=(50 10):duration=(10)", [(50, 0, 600, False), (10, 600, None, False)]),
        (
            "mem=(400 350):duration=(10 15):decay=(0 1)",
            [(400, 0, 600, False), (350, 600, 1500, True)],
        ),
        (
            "mem=(400 350):duration=(10s 15h):decay=(1 0 1)",
            [(400, 0, 10, True), (350, 10, 54010, False)],
        ),
    ],
)
def test_durations_decays_and_phases(text: str, phases: list[tuple[float, int, int, bool]]) -> None:
    simple = parse(f"rusage[{text}]")
    assert isinstance(simple, Simple)
    assert simple.rusage is not None
    (held,) = simple.rusage.reservations()
    assert [(p.amount, p.start, p.end, p.decay) for p in held.phases] == phases


@pytest.mark.behaviour("REQ-13")
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("mem > 2 rusage[mem=3:swp=1:tmp=5]", "select[mem>2048] rusage[mem=3072:swp=1024:tmp=5]"),
        ("4 < swap", "select[4096<swp]"),
        ("mem + swp > 3 && tmp > 3", "select[mem/1024+swp/1024>3 && tmp>3]"),
        ("mem=2", "select[mem>=2048]"),
        ("!mem", "select[!mem]"),
    ],
)
def test_unit_for_limits(text: str, normal: str) -> None:
    assert print_requirement(parse(text, unit="GB")) == normal
    assert parse(normal) == parse(text, unit="GB")


@pytest.mark.behaviour("PLC-08")
def test_balance_with_usablecuslots_only_when_asked_for() -> None:
    simple = parse("cu[balance:type=rack:usablecuslots=20]", lenient=True)
    assert isinstance(simple, Simple)
    assert simple.cu == Cu(type="rack", usablecuslots=20, balance=True)


@pytest.mark.behaviour("REQ-02")
@pytest.mark.parametrize(
    "text", ["(" * 5000 + "1" + ")" * 5000, "!" * 3000 + "1", "1" + "+1" * 3000]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ResreqError, match="levels deep"):
        parse(text)


@pytest.mark.behaviour("REQ-20")
@pytest.mark.parametrize("text", ["1e-21", "1.2345678901234567e-10", "1e-297", "0.1", "2.5e-7"])
def test_small_numbers_print_whole(text: str) -> None:
    assert parse(print_requirement(parse(text))) == parse(text)


def test_numbers_of_more_digits_than_are_read_back_are_refused() -> None:
    with pytest.raises(ResreqError, match="too long"):
        parse("1e-300")
