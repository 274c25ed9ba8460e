"""Forms of requirement that were read wrongly once: each says at least what was asked."""

from __future__ import annotations

import pytest
from slotwise import Cluster, Host, InputError, ResourceDefinition
from slotwise.model.resreq import (
    HostTable,
    Options,
    ResreqError,
    Simple,
    Vocabulary,
    merge_levels,
    parse,
    parse_with_notes,
    print_requirement,
    select_mask,
)

ORDINARY = Options()
SEVEN = Options(dialect="7")


def normal(text: str) -> str:
    return print_requirement(parse(text))


def refusal(text: str, options: Options = ORDINARY) -> ResreqError:
    with pytest.raises(ResreqError) as caught:
        parse_with_notes(text, options)
    return caught.value


def place(text: str, options: Options = ORDINARY) -> str:
    """What the error points at, from its first sign on."""
    error = refusal(text, options)
    assert error.position is not None
    return text[error.position :]


def hosts(text: str, **local: str) -> list[str]:
    cluster = Cluster(
        hosts=(
            Host("a", 1, type="x86", booleans=frozenset({"gpu"}), exclusive=frozenset({"big"})),
            Host("b", 1, type="arm", strings={"os": "4"}, amounts={"mem": 100.0}),
            Host("c", 1, type="x86", amounts={"mem": 50.0, "score": 1.0}),
        ),
        resources=(
            ResourceDefinition("gpu", kind="boolean"),
            ResourceDefinition("big", kind="boolean"),
            ResourceDefinition("os", kind="string"),
            ResourceDefinition("score"),
        ),
    )
    table = HostTable(cluster)
    requirement = parse(text, vocabulary=table.vocabulary)
    assert isinstance(requirement, Simple)
    mask = select_mask(requirement.select, table, **local)  # type: ignore[arg-type]
    return [host.name for host, chosen in zip(cluster.hosts, mask, strict=True) if chosen]


@pytest.mark.behaviour("RSV-05")
@pytest.mark.parametrize(
    ("job", "queue"),
    [
        ("rusage[tmp=100:duration=20, swp=5]", "rusage[tmp=300:duration=10]"),
        ("rusage[swp=5, tmp=100:duration=20]", "rusage[tmp=300:duration=10]"),
        ("rusage[tmp=100:duration=20]", "rusage[tmp=300:duration=10, swp=5]"),
        ("rusage[tmp=100:duration=20, swp=5]", "rusage[mem=1, tmp=300:duration=10]"),
        ("rusage[tmp=100:duration=20 || tmp=100:duration=30]", "rusage[tmp=300:duration=10]"),
    ],
)
def test_the_duration_of_the_queue_is_a_ceiling_for_every_usage_string(
    job: str, queue: str
) -> None:
    with pytest.raises(InputError, match="duration 20 min exceeds 10 min of the queue"):
        merge_levels(parse(job), None, parse(queue))


@pytest.mark.behaviour("RSV-05")
def test_a_duration_within_that_of_the_queue_is_allowed_beside_other_strings() -> None:
    merged = merge_levels(
        parse("rusage[tmp=100:duration=5, swp=5:duration=90]"),
        None,
        parse("rusage[tmp=300:duration=10]"),
    )
    shown = print_requirement(merged.requirement)
    assert shown == "rusage[tmp=100:duration=5,swp=5:duration=90]"


@pytest.mark.behaviour("REQ-01")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mem<16384 && select[AMD64]", "select[mem<16384 && AMD64]"),
        ("mem<16384 select[AMD64]", "select[mem<16384 && AMD64]"),
        ("mem<5 || select[a && b]", "select[mem<5 || a && b]"),
        ("a || b && select[c || d]", "select[a || b && (c || d)]"),
        ("select[a || b] && c", "select[(a || b) && c]"),
        ("select[a] || select[b] order[ut]", "select[a || b] order[ut]"),
        ("select[a] select[b]", "select[a && b]"),
        ("select[a] && order[ut]", "select[a] order[ut]"),
        ("order[ut] && select[a]", "select[a] order[ut]"),
        ("2*{mem<5 && select[a]} + {b}", "2*{select[mem<5 && a]} + {select[b]}"),
    ],
)
def test_a_selection_beside_a_select_section_holds_too_in_lsf_7(text: str, expected: str) -> None:
    assert print_requirement(parse(text, dialect="7")) == expected


@pytest.mark.parametrize("text", ["mem<5 && select[a]", "mem<5 select[a]", "select[a] && b"])
def test_strict_syntax_has_no_text_beside_a_select_section(text: str) -> None:
    assert "is outside the sections" in refusal(text, Options(strict=True)).what


def test_an_error_in_a_joined_selection_points_into_the_whole_string() -> None:
    assert place("mem<5 && select[swp>>3] order[ut]", SEVEN) == ">3] order[ut]"


def test_what_is_ignored_beside_the_sections_is_said() -> None:
    notes = parse_with_notes("rusage[mem=1] linux", Options()).notes
    assert notes == ("'linux' is outside the sections and is ignored, as LSF does",)
    assert parse_with_notes("mem<5 select[a]", SEVEN).notes == (
        "'mem<5' precedes select[…]: both must hold",
    )


@pytest.mark.behaviour("REQ-02")
def test_a_minus_before_a_lone_name_means_not() -> None:
    assert normal("-gpu") == normal("select[ - gpu ]") == "select[!gpu]"
    assert normal("(-mem)") == "select[(-mem)]"
    assert normal("-gpu rusage[mem=1]") == "select[!gpu] rusage[mem=1]"
    assert hosts("-gpu") == ["b", "c"]
    for arithmetic in ("(-mem)", "-mem<0", "-(mem)", "mem-mem"):
        assert parse(normal(arithmetic)) == parse(arithmetic)
    assert parse("(-mem)") != parse("-mem")


def test_a_minus_on_a_boolean_among_operators_is_said_to_be_no_not() -> None:
    known = Vocabulary(booleans=frozenset({"gpu"}))
    notes = parse_with_notes("-gpu && mem>5", Options(vocabulary=known)).notes
    assert notes == ("-gpu is true where gpu is: write !gpu for not",)
    assert not parse_with_notes("-mem<5", Options(vocabulary=known)).notes


@pytest.mark.behaviour("REQ-04", "REQ-05", "REQ-06")
def test_defined_names_its_resource() -> None:
    assert hosts("defined(big)") == ["a"]
    assert hosts("defined(os)", local_type="x86") == ["b"]
    assert hosts("!defined(os)", local_type="arm") == ["c"]
    assert hosts("defined(score)", local_type="arm") == []


@pytest.mark.behaviour("REQ-11")
@pytest.mark.parametrize("written", ["1E-3", "1e-3", ".1E-2", "+1.0e-3", "0.001"])
def test_exponents_are_read(written: str) -> None:
    assert normal(f"rusage[lic={written}]") == "rusage[lic=0.001]"
    assert normal(f"lic={written}") in ("select[lic>=0.001]", "select[lic>=1.0e-3]")


@pytest.mark.behaviour("REQ-02")
@pytest.mark.parametrize(
    ("written", "printed"),
    [("1E-3", "0.001"), ("1e3", "1000.0"), ("2.5E+1", "25.0"), (".5e1", "5.0"), ("1.5", "1.5")],
)
def test_selections_read_exponents_and_print_them_out(written: str, printed: str) -> None:
    assert normal(f"mem>{written}") == f"select[mem>{printed}]"
    assert parse(normal(f"mem>{written}"), strict=True) == parse(normal(f"mem>{written}"))


def test_strict_syntax_has_no_exponents() -> None:
    assert "strict syntax" in refusal("mem>1e3", Options(strict=True)).what


@pytest.mark.behaviour("RSV-03")
@pytest.mark.parametrize(
    "text",
    [
        "rusage[mem=5:duration=0]",
        "rusage[mem=5:duration=0s]",
        "rusage[mem=5:duration=0.001]",
        "rusage[mem=(5 4):duration=(0 5)]",
        "rusage[mem=(5 4):duration=(5 0)]",
    ],
)
def test_a_duration_of_nothing_is_refused(text: str) -> None:
    error = refusal(text)
    assert "duration must be 1s or more" in error.what
    assert place(text).startswith("0")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("rusage[type=1]", "type is a string: rusage of it reserves nothing"),
        ("same[mem]", "same[mem]: mem is not static, hosts may differ in it at any time"),
        ("same[type:ut]", "same[ut]: ut is not static, hosts may differ in it at any time"),
        ("select[ut<50]", "ut is a fraction from 0 to 1: 50 is beyond it"),
        ("select[50 > ut]", "ut is a fraction from 0 to 1: 50 is beyond it"),
        ("ut=5", "ut is a fraction from 0 to 1: 5 is beyond it"),
        (
            "rusage[durtion=5:mem=5]",
            "durtion is assumed to be a resource (did you mean 'duration'?)",
        ),
        ("rusage[mem=5:dcay=1]", "dcay is assumed to be a resource (did you mean 'decay'?)"),
    ],
)
def test_what_can_have_no_effect_is_noted(text: str, note: str) -> None:
    assert note in parse_with_notes(text, Options()).notes


@pytest.mark.parametrize(
    "text", ["same[type:model]", "same[maxmem]", "select[ut<0.5]", "select[ut<1]", "ut*100<50"]
)
def test_what_has_an_effect_is_not_noted(text: str) -> None:
    assert parse_with_notes(text, Options()).notes == ()


def test_durations_of_static_shared_resources_are_noted() -> None:
    known = Vocabulary(numbers=frozenset({"lic", "dyn"}), static_shared=frozenset({"lic"}))
    options = Options(vocabulary=known)
    note = "lic is a static shared resource: duration and decay do not apply"
    assert parse_with_notes("rusage[lic=1:duration=5]", options).notes == (note,)
    assert parse_with_notes("rusage[dyn=1:duration=5, lic=1]", options).notes == ()


def test_strict_syntax_refuses_rusage_of_a_string() -> None:
    assert "is a string" in refusal("rusage[type=1]", Options(strict=True)).what


@pytest.mark.behaviour("REQ-20")
@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("linux==type", "type", "type==linux"),
        ("mem>5 && 'a b'!=model", "model", "model!='a b'"),
        ("5<hname", "hname", "hname>5"),
        ("(linux==type)", "type)", "type==linux"),
        ("rusage[mem=5||]", "||]", "a resource on both sides of '||'"),
        ("rusage[||mem=5]", "||mem=5]", "a resource on both sides of '||'"),
        ("rusage[mem=5||||lic=1]", "||||lic=1]", "a resource on both sides of '||'"),
        ("rusage[mem=5,,]", ",,]", "a resource on both sides of ','"),
        ("rusage[mem=5,,lic=1]", ",,lic=1]", "a resource on both sides of ','"),
        ("mem<>50", "<>50", "'!='"),
        ("mem <> 50", "<> 50", "'!='"),
        ("rusage[mem:100]", ":100]", "'=': mem=100"),
        ("rusage[mem 100]", "100]", "'=': mem=100"),
        ("rusage[mem>100]", ">100]", "'=': mem=100"),
    ],
)
def test_messages_point_at_the_place_and_say_what_would_be_right(
    text: str, at: str, says: str
) -> None:
    assert place(text) == at
    assert says in refusal(text).expected


def test_a_misspelt_duration_is_recognised_where_all_names_are_known() -> None:
    known = Vocabulary(complete=True)
    error = refusal("rusage[mem=5:durtion=5]", Options(vocabulary=known))
    assert "did you mean 'duration'?" in error.what
