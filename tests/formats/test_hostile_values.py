"""Values that were accepted or crashed once: tags, brackets, states of hosts, control signs."""

from __future__ import annotations

import json

import pytest
from slotwise import InputError, dump, loads
from slotwise.model.formats.bsub import parse_bsub
from slotwise.model.formats.names import expand_range
from slotwise.model.resreq import ResreqError, parse


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        loads(text, "x.yaml")
    return [str(problem) for problem in caught.value.problems]


def with_host(entry: str) -> str:
    return f"format: slotwise/1\nhosts:\n  - {{name: a, slots: 1, {entry}}}\n"


@pytest.mark.parametrize(
    "value",
    [
        "!!timestamp foo",
        "!!bool foo",
        '!!int ""',
        "!!str 5",
        "!!float 1",
        "!x y",
        "! z",
        "!!set {a}",
    ],
)
def test_tags_are_refused_as_anchors_are(value: str) -> None:
    (told,) = problems(
        f"format: slotwise/1\ndescription: {value}\nhosts: [{{name: a, slots: 1}}]\n"
    )
    assert told.startswith("x.yaml:2: tags (!!int, !x) are not supported: write the plain value")


@pytest.mark.parametrize("value", ["!!map {name: a, slots: 1}", "&x {name: a, slots: 1}"])
def test_tags_and_anchors_of_lists_and_mappings_too(value: str) -> None:
    (told,) = problems(f"format: slotwise/1\nhosts: [{value}]\n")
    assert "are not supported" in told


def test_brackets_multiply_up_to_32_in_one_name() -> None:
    assert expand_range("a[1-2]b[x,y]c") == ("a1bxc", "a1byc", "a2bxc", "a2byc")
    assert expand_range("a" + "[1]" * 32) == ("a" + "1" * 32,)
    for many in (33, 20_000):
        with pytest.raises(ValueError, match="has more than 32 ranges in one name"):
            expand_range("a" + "[1]" * many)


@pytest.mark.parametrize(
    "name", ["a[[1]]", "a[1][", "a]1[", "a[", "a]", "a[1-2]]", "[[[[1]]]]", "a[" * 5000]
)
def test_brackets_that_do_not_pair_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="has a bad range"):
        expand_range(name)


def test_brackets_that_multiply_beyond_the_bound_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 200,000 names"):
        expand_range("a[0-9][0-9][0-9][0-9][0-9][0-9]")


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        ("OK", "did you mean 'ok'?"),
        ("foo", "known are ok, "),
        ("unavial", "did you mean 'unavail'?"),
    ],
)
def test_unknown_states_of_hosts_are_refused(status: str, hint: str) -> None:
    (told,) = problems(with_host(f"status: {status}"))
    assert f"unknown host status '{status}'" in told
    assert hint in told


@pytest.mark.parametrize("status", ["ok", "closed", "closed_Adm", "closed_adm", "unavail", "down"])
def test_known_states_of_hosts_are_read(status: str) -> None:
    instance = loads(with_host(f"status: {status}"))
    assert instance.cluster.hosts[0].status == status
    assert loads(dump(instance)) == instance


STRANGE = ["\x1b[31m", "\x00", "\x7f", "\x85", "\u200b", "\u202e", "\ufeff", "\u00ad", "\U000e0041"]
PLACES = {
    "name": lambda bad: {"name": bad},
    "description": lambda bad: {"description": bad},
    "hosts[0].type": lambda bad: {"hosts": [{"name": "a", "slots": 1, "type": bad}]},
    "hosts[0].name": lambda bad: {"hosts": [{"name": "a" + bad, "slots": 1}]},
    "pending[0].user": lambda bad: {"pending": [{"id": "p", "user": bad}]},
    "pending[0].project": lambda bad: {"pending": [{"id": "p", "project": "x" + bad}]},
    "pending[0].bsub": lambda bad: {"pending": [{"id": "p", "bsub": f"-P x{bad}"}]},
    "pending[0].res_req": lambda bad: {"pending": [{"id": "p", "res_req": f"type=='{bad}'"}]},
    "queues[0].DESCRIPTION": lambda bad: {"queues": [{"name": "q", "DESCRIPTION": bad}]},
    "host_groups": lambda bad: {"host_groups": {"g" + bad: "a"}},
}


@pytest.mark.parametrize("bad", STRANGE)
@pytest.mark.parametrize("place", PLACES)
def test_control_and_format_characters_are_refused_everywhere(place: str, bad: str) -> None:
    document = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 1}]}
    told = problems(json.dumps(document | PLACES[place](bad)))
    assert any(f"U+{ord(bad[0]):04X}" in text and place in text for text in told)
    assert all(text.isprintable() for text in told)


def test_line_breaks_are_for_texts_and_not_for_names() -> None:
    text = "format: slotwise/1\ndescription: |\n  one\n  two\n"
    assert loads(text + "hosts: [{name: a, slots: 1}]\n").description == "one\ntwo\n"
    (told,) = problems(with_host('type: "x\\ny"'))
    assert "U+000A" in told


def test_every_strange_place_is_reported_beside_the_other_problems() -> None:
    told = problems(
        'format: slotwise/1\nname: "a\\e"\nhosts: [{name: a, slots: 1, typ: x}]\n'
        'pending: [{id: p, weight: -1, user: "\\e"}]\n'
    )
    assert [text.split(": ")[1] for text in told] == [
        "name",
        "hosts[0].typ",
        "pending[0].user",
        "pending[0].weight",
    ]


@pytest.mark.parametrize("bad", STRANGE)
def test_requirements_and_bsub_lines_alone_are_checked_too(bad: str) -> None:
    with pytest.raises(ResreqError, match=r"U\+"):
        parse(f"type=='a{bad}'")
    with pytest.raises(InputError, match=r"U\+"):
        parse_bsub(f"-P 'a{bad}'")
