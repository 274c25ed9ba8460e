"""What the strings of the documents mean, and what is refused (REQ-01 … REQ-20)."""

from __future__ import annotations

import pytest
from slotwise import ResourceDefinition
from slotwise.model.input_limits import limited
from slotwise.model.resreq import (
    Compound,
    Options,
    ResreqError,
    Simple,
    Vocabulary,
    parse,
    parse_with_notes,
    print_requirement,
)
from slotwise.model.resreq.syntax import Binary, Cu, Name, Number, OrderKey, Span, Unary

#: Strings of the documents and their normal form.
EXAMPLES = {
    "swp > 15 && hpux order[ut]": "select[swp>15 && hpux] order[ut]",
    "select[swp > 15]": "select[swp>15]",
    "select[hpux] order[r15m]": "select[hpux] order[r15m]",
    "rusage[tmp=50:duration=60]": "rusage[tmp=50:duration=60]",
    "type==any": "select[type==any]",
    "select[((type==LINUX2.4 && r1m < 2.0)||(type==AIX && r1m < 1.0))]": (
        "select[type==LINUX2.4 && r1m<2.0 || type==AIX && r1m<1.0]"
    ),
    "select[((hname==hostA && mem > 50)||(hname==hostB && mem > 100))]": (
        "select[hname==hostA && mem>50 || hname==hostB && mem>100]"
    ),
    "select[type==any] rusage[mem=10,dynamic_rsrc=10:duration=2:decay=1]": (
        "select[type==any] rusage[mem=10,dynamic_rsrc=10:duration=2:decay=1]"
    ),
    "select [swp > 15 && maxmem > 100] rusage[mem = 100] ": (
        "select[swp>15 && maxmem>100] rusage[mem=100]"
    ),
    "select[os_version=='4.2' || cpu_type=='unknown']": (
        "select[os_version=='4.2' || cpu_type=='unknown']"
    ),
    "select[(swp > 50 && type == MIPS) || (swp > 35 && type == ALPHA)]": (
        "select[swp>50 && type==MIPS || swp>35 && type==ALPHA]"
    ),
    "select[((2*r15s + 3*r1m + r15m) / 6 < 1.0) && !fs && (cpuf > 4.0)]": (
        "select[(2*r15s+3*r1m+r15m)/6<1.0 && !fs && cpuf>4.0]"
    ),
    "avail_scratch > 200 && swap > 50": "select[avail_scratch>200 && swp>50]",
    "defined(avail_scratch) && avail_scratch > 100 && swap > 100": (
        "select[defined(avail_scratch) && avail_scratch>100 && swp>100]"
    ),
    "bigmem": "select[bigmem]",
    "select[swp>15] rusage[mem=100]": "select[swp>15] rusage[mem=100]",
    "swp > 15 rusage[mem=100]": "select[swp>15] rusage[mem=100]",
    "rusage[mem=100] select[swp >15]": "select[swp>15] rusage[mem=100]",
    "(r15s * 2 + r15m) < 3.0 && !(type == IBMAIX4) || fs": (
        "select[r15s*2+r15m<3.0 && !(type==IBMAIX4) || fs]"
    ),
    "!swp": "select[!swp]",
    "type == local": "select[type==local]",
    "type != local": "select[type!=local]",
    "r15s < 1.0 || model ==local && swp <= 10": "select[r15s<1.0 || model==local && swp<=10]",
    "(r15s < 1.0 || model == local) && swp <= 10": (
        "select[(r15s<1.0 || model==local) && swp<=10]"
    ),
    "type==any rusage[mem=1024]": "select[type==any] rusage[mem=1024]",
    "select[type==any]rusage[mem=1024]": "select[type==any] rusage[mem=1024]",
    "status==ok": "select[status==ok]",
    "select[type == X86_64]": "select[type==X86_64]",
    "order[swp:r1m:tmp:r15s]": "order[swp:r1m:tmp:r15s]",
    "order[mem]": "order[mem]",
    "order[-mem:ut]": "order[-mem:ut]",
    "rusage[mem=50:duration=100:decay=1]": "rusage[mem=50:duration=100:decay=1]",
    "rusage[tmp=30:duration=30:decay=1]": "rusage[tmp=30:duration=30:decay=1]",
    "rusage[mem=20, license=1:duration=2]": "rusage[mem=20,license=1:duration=2]",
    "rusage[mem=20:swp=50:duration=1h, license=1:duration=2]": (
        "rusage[mem=20:swp=50:duration=60,license=1:duration=2]"
    ),
    "rusage[swp=20:duration=2h:decay=1, license=1:duration=2]": (
        "rusage[swp=20:duration=120:decay=1,license=1:duration=2]"
    ),
    "rusage[mem=20:duration=30:decay=1, lic=1:duration=30]": (
        "rusage[mem=20:duration=30:decay=1,lic=1:duration=30]"
    ),
    "rusage[app_lic_v201=1||app_lic_v15=1]": "rusage[app_lic_v201=1||app_lic_v15=1]",
    "rusage[mem=20:app_lic_v201=1||mem=20:swp=50:app_lic_v15=1]": (
        "rusage[mem=20:app_lic_v201=1||mem=20:swp=50:app_lic_v15=1]"
    ),
    "rusage[mem=20:app_lic_v201=1 ||mem=(50 10):duration=(10),swp=50:app_lic_v15=1]": (
        "rusage[mem=20:app_lic_v201=1||mem=(50 10):duration=(10),swp=50:app_lic_v15=1]"
    ),
    "rusage[r1m=0.5:mem=20:swp=40]": "rusage[r1m=0.5:mem=20:swp=40]",
    "rusage[swp=100,license=1]": "rusage[swp=100,license=1]",
    "select[type==any] rusage[swp=100:mem=40:duration=60]": (
        "select[type==any] rusage[swp=100:mem=40:duration=60]"
    ),
    "select[type==any] rusage[mem=20||mem=10:swp=20]": (
        "select[type==any] rusage[mem=20||mem=10:swp=20]"
    ),
    "span[hosts=1]": "span[hosts=1]",
    "span[hosts=-1]": "span[hosts=-1]",
    "span[ptile=4]": "span[ptile=4]",
    "span[ptile='!']": "span[ptile='!']",
    "span[ptile='!',HP:8,SGI:8,LINUX:2] same[type]": (
        "span[ptile='!',HP:8,SGI:8,LINUX:2] same[type]"
    ),
    "span[ptile='!',PC1133:4,PC233:2] same[model]": (
        "span[ptile='!',PC1133:4,PC233:2] same[model]"
    ),
    "select[type==SGI6 || type==SOL7] same[type]": "select[type==SGI6 || type==SOL7] same[type]",
    "select[type==any] same[type:model]": "select[type==any] same[type:model]",
    "cu[maxcus=2:type=enclosure]": "cu[type=enclosure:maxcus=2]",
    "cu[balance:maxcus=4:type=enclosure]": "cu[type=enclosure:maxcus=4:balance]",
    "cu[excl:maxcus=8:usablecuslots=10]": "cu[maxcus=8:usablecuslots=10:excl]",
    "cu[balance:pref=minavail]": "cu[pref=minavail:balance]",
    "cu[pref=config]": "cu[pref=config]",
    "2*{select[type==X86_64] rusage[licA=1] span[hosts=1]} + 8*{select[type==any]}": (
        "2*{select[type==X86_64] rusage[licA=1] span[hosts=1]} + 8*{select[type==any]}"
    ),
    (
        "2*{rusage[mem=(400 350):duration=(10 15):decay=(0 1)]}"
        " + 2*{rusage[mem=300:duration=10:decay=1]}"
    ): (
        "2*{rusage[mem=(400 350):duration=(10 15):decay=(0 1)]}"
        " + 2*{rusage[mem=300:duration=10:decay=1]}"
    ),
}

#: Strings that must be refused, the token to blame and a word of what is expected.
REFUSED = {
    "type==anyrusage[mem=1024]": ("anyrusage", "a blank between 'any' and rusage"),
    "rusage[mem=(200 300):duration=(2 3)]": ("mem", ""),
    "cu[balance:type=rack:usablecuslots=20]": ("usablecuslots", "one of them"),
    "2*{[mem=200:duration=20:decay=1]} + 2*{cs}": ("[", "select[], order[]"),
    "2*{select[cs]} + 2*{cu[excl]}": ("excl", "maxcus"),
    "2*{rusage[a=1||b=1]}": ("||", ""),
    "{cs} + 2*{fs}": ("{", "a count"),
    "2*{cs} 3*{fs}": ("3*{fs}", "'+'"),
    "0*{cs}": ("0", "1 or more"),
    "rusage[mem=1:mem=2]": ("mem", "give it once"),
    "rusage[mem=1,mem=2]": ("mem", "give it once"),
    "rusage[mem=-1]": ("-1", "0 or more"),
    "rusage[mem=10GX]": ("10GX", "a plain number"),
    "rusage[lic=10GB]": ("10GB", "a plain number"),
    "rusage[mem=1:duration=5x]": ("5x", "minutes"),
    "rusage[swp=(3 2):duration=(5)]": ("swp", "swp=1"),
    "rusage[mem=(3 2):duration=(5):tmp=1]": ("mem", "a comma between the resources"),
    "rusage[mem=(3 2)]": ("mem", ""),
    "span[hosts=2]": ("2", "1 or -1"),
    "span[ptile=0]": ("0", "1 or more"),
    "span[ptile=!]": ("!", "quotes"),
    "span[ptile='!',HP:8]": ("span", "same[type] or same[model]"),
    "span[hots=1]": ("hots", "ptile"),
    "order[mem,ut]": (",", "':' between names"),
    "order[type]": ("type", ""),
    "cu[pref=fit]": ("fit", "bestfit"),
    "cu[maxcus=0]": ("0", "1 or more"),
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


@pytest.mark.behaviour("REQ-01", "REQ-02", "REQ-03", "REQ-10", "REQ-11", "REQ-18", "REQ-20")
@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_of_the_documents_have_their_normal_form(text: str) -> None:
    requirement = parse(text)
    assert print_requirement(requirement) == EXAMPLES[text]
    assert parse(EXAMPLES[text]) == requirement


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


@pytest.mark.behaviour("REQ-02")
def test_precedence_is_that_of_c() -> None:
    simple = parse("a || b && c == d + e * -f")
    assert isinstance(simple, Simple)
    product = Binary("*", Name("e"), Unary("-", Name("f")))
    equal = Binary("==", Name("c"), Binary("+", Name("d"), product))
    assert simple.select == Binary("||", Name("a"), Binary("&&", Name("b"), equal))


@pytest.mark.behaviour("REQ-02", "REQ-08")
def test_comparisons_chain_in_ordinary_syntax_only() -> None:
    assert parse("1 < mem == 1") == parse("(1 < mem) == 1")
    with pytest.raises(ResreqError, match="'&&', '\\|\\|' or the end"):
        parse("1 < mem == 1", strict=True)


@pytest.mark.behaviour("REQ-03")
@pytest.mark.parametrize(
    ("alias", "name"), [("swap", "swp"), ("idle", "it"), ("login", "ls"), ("cpu", "r1m")]
)
def test_aliases(alias: str, name: str) -> None:
    text = "{0} > 1 order[{0}] rusage[{0}=1]"
    assert parse(text.format(alias)) == parse(text.format(name))


@pytest.mark.behaviour("REQ-08")
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("mem=50", "select[mem==50]"),
        ("!(!mg)", "select[!(!mg)]"),
        ("inf > 3 && nanx", "select[inf>3 && nanx]"),
        ("'swp>100'", "select[swp>100]"),
        ('"swp>100"', "select[swp>100]"),
        ("defined(mg)", "select[defined(mg)]"),
        ("rusage[mem=100] select[swp >15]", "select[swp>15] rusage[mem=100]"),
    ],
)
def test_strict_syntax_accepts(text: str, normal: str) -> None:
    assert print_requirement(parse(text, strict=True)) == normal


@pytest.mark.behaviour("REQ-08")
@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("!!mg", "!"),
        ("defined( mg )", "mg"),
        ("select[mem>0] select[maxmem>0]", "select"),
        ("select[mg:bigmem]", ":"),
        ("linux:qscw", ":"),
        ("select['swp>100']", "'swp>100'"),
        ('select["swp>100"]', '"swp>100"'),
        ("linux rusage[mem=16000] microcs73", "microcs73"),
        ("mem < 16384 && select[AMD64]", "mem < 16384 &&"),
        ("rusage[mem=2000] linux", "linux"),
        ("type==anyrusage[mem=1024]", "anyrusage"),
        ("SELECT[mem>0]", "SELECT"),
        ("os_version=='4\\n'", "'4\\n'"),
        ("type + 1 == 2", "+"),
        ("server + 1 == 2", "server"),
        ("server > 0", "server"),
        ("-server", "-"),
        ("rusage[ncpus=1]", "ncpus"),
        ("rusage[cpuf=1]", "cpuf"),
        ("007 < mem", "007"),
        ("foo[bar]", "foo"),
    ],
)
def test_strict_syntax_refuses(text: str, token: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text, strict=True)
    assert caught.value.token == token


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


@pytest.mark.behaviour("REQ-01", "REQ-08")
@pytest.mark.parametrize(
    ("text", "normal", "ignored"),
    [
        ("linux rusage[mem=16000] microcs73", "select[linux] rusage[mem=16000]", "microcs73"),
        ("rusage[mem=2000] linux", "rusage[mem=2000]", "linux"),
    ],
)
def test_text_that_ordinary_syntax_ignores_is_reported(
    text: str, normal: str, ignored: str
) -> None:
    parsed = parse_with_notes(text, Options())
    assert print_requirement(parsed.requirement) == normal
    assert parsed.notes == (f"'{ignored}' is outside the sections and is ignored, as LSF does",)


@pytest.mark.behaviour("REQ-08")
@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("linux:qscw", "select[linux && qscw]"),
        ("cs:-fs:mem=50", "select[cs && !fs && mem>=50]"),
        ("r1m=1.0:it=5", "select[r1m<=1.0 && it>=5]"),
        ("type=AIX", "select[type==AIX]"),
        ("mem = 50", "select[mem>=50]"),
        ("!!cs", "select[!(!cs)]"),
    ],
)
def test_ordinary_syntax_keeps_the_older_forms(text: str, normal: str) -> None:
    assert print_requirement(parse(text)) == normal


@pytest.mark.behaviour("REQ-08", "REQ-10")
def test_the_restricted_form_follows_the_sense_of_a_user_index() -> None:
    rising = Vocabulary.of_definitions([ResourceDefinition("qload", increasing=True)])
    assert parse("qload=5", vocabulary=rising) == parse("qload<=5")
    assert parse("qload=5") == parse("qload>=5")


@pytest.mark.behaviour("REQ-10")
def test_order_keys() -> None:
    simple = parse("order[-swp:cpu:]")
    assert isinstance(simple, Simple)
    assert simple.order == (OrderKey("swp", reverse=True), OrderKey("r1m"))
    assert parse("order[ ]") == Simple()


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


@pytest.mark.behaviour("RSV-07", "REQ-11")
def test_alternatives_carry_several_resources_and_phases() -> None:
    simple = parse("rusage[mem=20||mem=(10 5):duration=(1),swp=20:lic=1:duration=5]")
    assert isinstance(simple, Simple)
    assert simple.rusage is not None
    assert [r.resource for r in simple.rusage.reservations(0)] == ["mem"]
    assert [(r.resource, r.initial) for r in simple.rusage.reservations(1)] == [
        ("mem", 10),
        ("swp", 20),
        ("lic", 1),
    ]


@pytest.mark.behaviour("REQ-11")
@pytest.mark.parametrize("text", ["rusage[mem]", "rusage[ncpus=1]", "rusage[duration=5]"])
def test_what_has_no_amount_reserves_nothing(text: str) -> None:
    simple = parse(text)
    assert isinstance(simple, Simple)
    assert simple.rusage is not None
    assert simple.rusage.reservations() == ()


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


@pytest.mark.behaviour("REQ-18")
@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("hosts=1", Span(hosts=1)),
        ("hosts=-1", Span(hosts=-1)),
        ("ptile=3", Span(ptile=3)),
        ("ptile='!'", Span(ptile_max=True)),
        ("hosts=1:ptile=2", Span(ptile=2)),
    ],
)
def test_span(text: str, span: Span) -> None:
    simple = parse(f"span[{text}]")
    assert isinstance(simple, Simple)
    assert simple.span == span


@pytest.mark.behaviour("PLC-08")
def test_balance_with_usablecuslots_only_when_asked_for() -> None:
    simple = parse("cu[balance:type=rack:usablecuslots=20]", lenient=True)
    assert isinstance(simple, Simple)
    assert simple.cu == Cu(type="rack", usablecuslots=20, balance=True)


@pytest.mark.behaviour("REQ-14")
def test_compound_terms_and_counts() -> None:
    compound = parse("2*{cs order[ut]} + 3 * {rusage[mem=5]} + {span[ptile=2]}")
    assert isinstance(compound, Compound)
    assert [term.count for term in compound.terms] == [2, 3, None]
    assert compound.terms[1].requirement == parse("rusage[mem=5]")
    assert parse(print_requirement(compound)) == compound


@pytest.mark.behaviour("REQ-20")
@pytest.mark.parametrize(
    "text",
    ["2*{select[cs]} + 4*{rusage[mem==1]}", "  'select[mem >> 5]'  ", "order[ut] span[ptile=x]"],
)
def test_places_are_those_of_the_whole_string(text: str) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text)
    error = caught.value
    assert error.text == text
    assert error.position is not None
    assert error.token in text[error.position :]
    assert text[error.position - 1] in "=>"


@pytest.mark.behaviour("REQ-02")
def test_a_list_of_a_thousand_hosts_is_no_deep_recursion() -> None:
    text = "||".join(f"hname==host{n}" for n in range(2000))
    with limited(requirement=100_000):
        assert parse(print_requirement(parse(text))) == parse(text)


@pytest.mark.behaviour("REQ-02")
@pytest.mark.parametrize(
    "text", ["(" * 5000 + "1" + ")" * 5000, "!" * 3000 + "1", "1" + "+1" * 3000]
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ResreqError, match="levels deep"):
        parse(text)


@pytest.mark.behaviour("REQ-02", "REQ-07")
def test_literals_keep_the_text_that_a_string_comparison_needs() -> None:
    simple = parse("os_version==4.20")
    assert isinstance(simple, Simple)
    assert simple.select == Binary("==", Name("os_version"), Number(4.2, "4.20"))


@pytest.mark.behaviour("REQ-20")
@pytest.mark.parametrize("text", ["1e-21", "1.2345678901234567e-10", "1e-297", "0.1", "2.5e-7"])
def test_small_numbers_print_whole(text: str) -> None:
    assert parse(print_requirement(parse(text))) == parse(text)


def test_numbers_of_more_digits_than_are_read_back_are_refused() -> None:
    with pytest.raises(ResreqError, match="more than 300 digits"):
        parse("1e-300")
