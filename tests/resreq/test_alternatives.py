"""Alternatives in braces: plans use the first one and name the others (REQ-21)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from slotwise import InputError, Instance, loads, outlook
from slotwise.cli.main import app
from slotwise.model.formats import loads_with_warnings
from slotwise.model.formats.encode import dump, dump_json
from slotwise.model.resreq import (
    Options,
    ResreqError,
    Simple,
    effective_requirement,
    parse,
    parse_with_notes,
    print_requirement,
)
from slotwise.model.resreq.partly import hostless
from slotwise.model.resreq.syntax import every
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("REQ-21")

TEXT = "{select[hname==A]} || {select[hname==B] span[hosts=1]}@5"
SITE = """
format: slotwise/1
now: 3h
hosts: [{name: A, slots: 2}, {name: B, slots: 2}, {name: C, slots: 2}]
queues: [{name: q, RES_REQ: "OF_QUEUE"}]
running:
  - {id: 9, bsub: "-q q -n 2 -W 4:00", allocation: {A: 2}, start: 2h}
pending:
  - {id: 10, submit: 1h, JOB}
  - {id: 11, bsub: "-q q -n 2 -W 60 -R hname==B", submit: 2h}
  - {id: 12, bsub: "-q q -n 2 -W 60 -R hname==C", submit: 2h}
"""
FORMS = [
    f"bsub: \"-q q -n 2 -W 60 -R '{TEXT}'\"",
    f'queue: q, slots: 2, run_limit: 1h, res_req: "{TEXT}"',
]


def site(job: str, of_queue: str = "") -> Instance:
    return loads(SITE.replace("JOB", job).replace("OF_QUEUE", of_queue))


@pytest.mark.parametrize(
    ("text", "delays", "normal"),
    [
        (TEXT, [5], TEXT),
        ("{select[a]}||{select[b]}", [None], "{select[a]} || {select[b]}"),
        (
            "'{} || {2*{select[a]}+{cu[maxcus=2]}} @ 60'",
            [60],
            "{} || {2*{select[a]} + {cu[maxcus=2]}}@60",
        ),
        (
            "{2*{a}+{b}}||{same[type]}@1||{rusage[mem=5]}@2",
            [1, 2],
            "{2*{select[a]} + {select[b]}} || {same[type]}@1 || {rusage[mem=5]}@2",
        ),
    ],
)
def test_they_are_read_and_printed(text: str, delays: list[int | None], normal: str) -> None:
    found = parse(text)
    assert [item.delay for item in found.later] == delays
    assert parse(print_requirement(found)) == found
    assert print_requirement(found) == normal


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("{a} ||", 6),
        ("{a} || b", 7),
        ("{a}@x||{b}", 3),
        ("{a}||{b}@-5", 8),
        ("{a}||{b}@1.5", 8),
        ("{a}||{b} + {c}", 9),
        ("2*{a}||{b}", 5),
        ("{a}||{b", 5),
        ("{a}||{select[mem>]}@5", 17),
        ("{rusage[mem=1||mem=2]}||{b}", 13),
        ("{a}||{cu[excl]}", 9),
    ],
)
def test_mistakes_have_their_place(text: str, position: int) -> None:
    with pytest.raises(ResreqError) as caught:
        parse(text)
    assert caught.value.position == position


def test_they_are_of_lsf_10_and_alone_in_a_level() -> None:
    with pytest.raises(ResreqError, match="LSF 7 has no alternatives in braces"):
        parse("{a} || {b}", dialect="7")
    with pytest.raises(InputError, match="cannot be one of several -R options"):
        site(f"queue: q, res_req: ['{TEXT}', 'mem>1']")


def test_unusual_delays_are_noted() -> None:
    notes = "; ".join(parse_with_notes("{a}@3 || {b}@9 || {c}@2", Options()).notes)
    assert "the delay @3 of the first alternative is ignored" in notes
    assert "shorter than the one before it" in notes
    assert "2 (after 9 min), 3 (after 2 min)" in notes


def test_other_levels_are_merged_into_each() -> None:
    found = site(FORMS[0], of_queue="select[mem>=0] rusage[tmp=1]")
    merged = effective_requirement(found, found.pending[0]).requirement
    assert len(every(merged)) == 2
    for one in every(merged):
        assert isinstance(one, Simple)
        assert "tmp=1" in print_requirement(one)
        assert "mem>=0" in print_requirement(one)
    found = site(FORMS[0], of_queue="{type==any} || {mem>5}@9")
    merged_with = effective_requirement(found, found.pending[0])
    assert merged_with.requirement == parse(TEXT)
    assert any("alternatives of the queue are ignored" in text for text in merged_with.warnings)


@pytest.mark.parametrize("later", ["{2*{mem>1}+4*{mem>2}}", "{cu[type=nowhere]}"])
def test_each_is_checked_with_the_job(later: str) -> None:
    with pytest.raises(InputError, match=r"terms ask for 6 slots|COMPUTE_UNIT_TYPES"):
        site(f"queue: q, slots: 2, res_req: '{{type==any}} || {later}'")


def test_a_note_about_a_queue_is_not_repeated_and_hides_no_mistake() -> None:
    text = SITE.replace("JOB", "queue: q, slots: 2").replace("OF_QUEUE", TEXT)
    notes = [item.message for item in loads_with_warnings(text)[1]]
    assert len([note for note in notes if "alternative 1 only" in note]) == 1
    wrong = SITE.replace("JOB", "queue: q, slots: 2, res_req: 'cu[maxcus=1]'")
    with pytest.raises(InputError, match="COMPUTE_UNIT_TYPES"):
        loads(wrong.replace("OF_QUEUE", "affinity[core(1,same=numa)]"))


@pytest.mark.parametrize("job", FORMS)
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_they_are_named_and_nothing_they_touch_is_proved(job: str, method: str) -> None:
    """Job 11 needs the host of the second alternative; job 12 needs another one."""
    instance = site(job)
    for text in (dump(instance), dump_json(instance)):
        assert loads(text).pending[0].res_req == instance.pending[0].res_req
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert not validate(instance, found)
    first, other = found["10"], found["11"]
    assert not first.proved
    assert not first.proved_if
    assert not other.proved
    named = [item for item in found.omissions if "alternatives of -R" in item.what]
    assert named
    assert all(item.touches("10") and not item.touches("12") for item in named)
    if method == "optimal":
        assert other.proved_if == ("10",)
        assert found["12"].proved
        assert first.allocation == {"A": 2}


def test_of_a_queue_they_concern_its_jobs() -> None:
    found = site("queue: q, slots: 2, run_limit: 1h", of_queue=TEXT)
    named = [item for item in plan(found).omissions if "alternatives of -R" in item.what]
    assert named[0].jobs == ("10", "11", "12")


def test_without_a_host_for_the_first_it_is_said_which() -> None:
    instance = site(FORMS[0].replace("hname==A", "hname==Z"))
    found = plan(instance, "optimal", effort=1)
    (gone,) = found.unplaced
    assert "under its first alternative, the only one in plans" in gone.reason
    said = outlook(instance)["10"]
    assert said.state == "starts if"
    assert "a later alternative of its -R fits" in said.condition
    assert not found["11"].proved
    assert found["12"].proved


def test_what_a_running_one_holds_is_unknown() -> None:
    instance = site(FORMS[0])
    (run,) = instance.running
    text = "{rusage[mem=1]} || {rusage[mem=9]}"
    moved = replace(run, job=replace(run.job, res_req=(text,)))
    found = plan(replace(instance, running=(moved,)), "optimal", effort=1)
    assert not any(item.proved for item in found)


def test_a_log_without_hosts_leaves_them_out() -> None:
    assert hostless("{mem>1} || {span[hosts=1]}@5", 2) == ("", ("alternatives",))


def test_the_command_explains_them(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(SITE.replace("JOB", FORMS[0]).replace("OF_QUEUE", ""))
    done = CliRunner().invoke(app, ["resreq", TEXT, "--against", str(file)])
    assert "alternative 2 (after 5 min pending): select[hname==B] span[hosts=1]" in done.stdout
    assert done.exit_code == 0
    assert "1. B" in done.stdout
    done = CliRunner().invoke(app, ["resreq", TEXT, "--against", str(file), "--format", "json"])
    record = json.loads(done.stdout)
    assert record["hosts"] == [["A"], ["B"]]
    assert [item["delay"] for item in record["alternatives"]] == [None, 5]
    wrong = CliRunner().invoke(app, ["resreq", "--check-select", "{mem>1} || {select[mem>]}@5"])
    assert wrong.exit_code == 255
