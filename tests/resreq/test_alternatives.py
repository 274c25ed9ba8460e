"""Alternatives in braces: plans use the first one and name the others (REQ-21)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError, Instance, loads, outlook
from slotwise.cli.main import app
from slotwise.model.formats import dump, dump_json, loads_with_warnings
from slotwise.model.formats.plan_file import plan_record, read_plan
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
from slotwise.model.resreq.syntax import every, openings
from slotwise.solver.optimal import alternatives
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate, validate_schedule
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("REQ-21")

HOUR = 3600
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
    with pytest.raises(InputError, match="make it the only -R option"):
        site(f"queue: q, res_req: ['{TEXT}', 'mem>1']")


def test_unusual_delays_are_noted() -> None:
    notes = "; ".join(parse_with_notes("{a}@3 || {b}@9 || {c}@2", Options()).notes)
    assert "the delay @3 of the first alternative is ignored" in notes
    assert "shorter than the one before it" in notes
    assert openings(parse("{a}@3 || {b}@9 || {c}@2 || {d}")) == (0, 540, 540, 540)


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
    with pytest.raises(InputError, match=r"terms request 6 slots|COMPUTE_UNIT_TYPES"):
        site(f"queue: q, slots: 2, res_req: '{{type==any}} || {later}'")


def test_a_note_about_a_queue_is_not_repeated_and_hides_no_mistake() -> None:
    unusual = "{select[hname==A]}@3 || {select[hname==B]}"
    text = SITE.replace("JOB", "queue: q, slots: 2").replace("OF_QUEUE", unusual)
    notes = [item.message for item in loads_with_warnings(text)[1]]
    assert len([note for note in notes if "delay @3 of the first" in note]) == 1
    wrong = SITE.replace("JOB", "queue: q, slots: 2, res_req: 'cu[maxcus=1]'")
    with pytest.raises(InputError, match="COMPUTE_UNIT_TYPES"):
        loads(wrong.replace("OF_QUEUE", "affinity[core(1,same=numa)]"))


@pytest.mark.parametrize("job", FORMS)
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal", "milp"])
def test_each_method_takes_the_first_that_starts_the_job_soonest(job: str, method: str) -> None:
    """Job 10 waits since an hour, so its second alternative is open; host A is full until later."""
    instance = site(job)
    for text in (dump(instance), dump_json(instance)):
        assert loads(text).pending[0].res_req == instance.pending[0].res_req
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert not validate(instance, found, as_lsf=method in ("greedy", "time-based"))
    first, other = found["10"], found["11"]
    assert (first.start, first.allocation, first.requirement_alternative) == (3 * HOUR, {"B": 2}, 1)
    assert not [item for item in found.omissions if "alternatives" in item.what]
    assert read_plan(plan_record(found.to_dict(), instance), instance, "plan")["10"] == first
    if method in ("optimal", "milp"):
        assert (first.proved, other.proved, found["12"].proved) == (True, True, True)
        assert other.start == 4 * HOUR


@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
@pytest.mark.parametrize("delay", [121, 150])
def test_no_alternative_is_used_before_its_delay(method: str, delay: int) -> None:
    """Submitted at 1h, and host A is free from 6h on."""
    text = TEXT.replace("@5", f"@{delay}")
    instance = site(f"queue: q, slots: 2, run_limit: 1h, res_req: '{text}'")
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert not validate(instance, found, as_lsf=method == "time-based")
    opens = HOUR + 60 * delay
    item = found["10"]
    assert item.requirement_alternative == 1
    assert item.start is not None
    assert item.start >= opens
    if method in ("optimal", "milp"):
        assert item.start == opens
        assert item.proved
    wrong = replace(item, start=opens - 60, finish=opens - 60 + HOUR)
    moved = replace(found, reservations=(wrong,), unplaced=())
    alone = replace(instance, pending=instance.pending[:1])
    said = [fault.message for fault in validate(alone, moved, as_lsf=True)]
    assert any(f"alternative 2 of -R opens at {opens} s" in text for text in said), said


@pytest.mark.parametrize("cycle", [0, 60])
@pytest.mark.parametrize("reservation", ["none", "greedy", "time-based", "optimal"])
@pytest.mark.parametrize("delay", [5, 130])
def test_the_loop_tries_them_in_order(delay: int, reservation: str, cycle: int) -> None:
    text = TEXT.replace("@5", f"@{delay}")
    instance = site(f"queue: q, slots: 2, run_limit: 1h, res_req: '{text}'")
    instance = replace(instance, pending=instance.pending[:1])
    result = simulate(instance, reservation=reservation, cycle=cycle, keep_log=True)  # type: ignore[arg-type]
    record = next(item for item in result.jobs if item.job == "10")
    assert record.start == max(3 * HOUR, HOUR + 60 * delay)
    assert (record.hosts, record.requirement_alternative) == ({"B": 2}, 1)
    assert not validate_schedule(instance, result)
    assert not [item for item in result.omissions if "alternatives" in item.what]
    early = replace(record, requirement_alternative=5)
    assert validate_schedule(instance, replace(result, jobs=(result.jobs[0], early)))


@pytest.mark.parametrize("condition", ["", "done(1)"])
@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_of_too_many_choices_it_is_said_that_not_all_were_examined(
    method: str, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a limit of 5 plans jobs behind the second keep their first alternative, named."""
    monkeypatch.setattr(alternatives, "MAX_PLANS", 5)
    jobs = "".join(
        f"  - {{id: {number}, queue: q, run_limit: 1h, res_req: '{TEXT}', submit: 2h}}\n"
        for number in range(1, 6)
    )
    waits = f"  - {{id: 6, queue: q, run_limit: 1h, dependency: '{condition}', submit: 2h}}\n"
    text = SITE.partition("pending:")[0].replace("OF_QUEUE", "") + "pending:\n" + jobs
    instance = loads(text + waits if condition else text)
    found = plan(instance, method, effort=1)  # type: ignore[arg-type]
    assert not validate(instance, found, as_lsf=method != "optimal")
    named = [item for item in found.omissions if "alternatives of -R" in item.what]
    assert named
    assert not any(named[0].touches(name) for name in ("1",))
    assert named[0].touches("5")
    assert found["1"].start == 3 * HOUR
    assert not found["5"].proved
    if condition and method == "optimal":
        assert any("not every choice" in note for note in found.notes)
        assert not any(item.proved for item in found)


def test_it_is_said_which_alternative_was_used(tmp_path: Path) -> None:
    file = tmp_path / "site.yaml"
    file.write_text(SITE.replace("JOB", FORMS[0]).replace("OF_QUEUE", ""))
    done = CliRunner().invoke(app, ["explain", str(file), "10"])
    assert done.stdout.count("by alternative 2 of its -R") == 2
    said = outlook(site(FORMS[0]))["10"]
    assert said.alternatives == (1, 1)


@pytest.mark.parametrize("method", ["configured", "time-based", "optimal"])
def test_each_says_what_is_in_its_way(method: str) -> None:
    """Host A is full until 6h; host B is free, and the second alternative opens at 3:10."""
    instance = site(FORMS[0].replace("@5", "@130"))
    instance = replace(instance, pending=instance.pending[:1])
    found = sw.explain(instance, "10", method=method, effort=1)  # type: ignore[arg-type]
    assert found.answer.start == 3 * HOUR + 600
    assert [(row.first, row.until, row.reason) for row in found.obstacles] == [
        (3 * HOUR, 3 * HOUR + 600, "alternative 1 of its -R: needs 2 free slots (has 0)"),
        (3 * HOUR, 3 * HOUR + 600, "alternative 2 of its -R, which is not open yet"),
    ]
    assert found.outlook is not None
    assert found.outlook.alternatives == (1, 1)
    asked = sw.ask(instance, f"bsub -q q -n 2 -W 60 -R '{TEXT}'", method=method, effort=1)  # type: ignore[arg-type]
    # Its own second alternative opens at 3:05; only the optimal plan keeps B free for job 10 then.
    starts = {"optimal": 4 * HOUR + 600}
    assert asked.start == starts.get(method, 3 * HOUR + 300)
    assert asked.line.allocation == {"B": 2}
    omitted = (*asked.omissions, *found.answer.omissions)
    assert not [item.what for item in omitted if "alternatives" in item.what]


def test_a_closed_host_of_a_later_one_may_come_back() -> None:
    """No host is Z; B is closed."""
    job = FORMS[0].replace("hname==A", "hname==Z")
    text = SITE.replace("JOB", job).replace("OF_QUEUE", "")
    closed = loads(text.replace("{name: B, slots: 2}", "{name: B, slots: 2, status: closed_Adm}"))
    said = outlook(closed)["10"]
    assert said.state == "starts if"
    assert said.condition.startswith("B is opened or returns")


def test_of_a_queue_they_are_those_of_its_jobs() -> None:
    instance = site("queue: q, slots: 2, run_limit: 1h", of_queue=TEXT)
    instance = replace(instance, pending=instance.pending[:2])
    found = plan(instance, "optimal", effort=1)
    assert not validate(instance, found)
    assert [(item.requirement_alternative, item.proved) for item in found] == [(1, True)] * 2


def test_a_place_under_a_later_one_is_a_place() -> None:
    instance = site(FORMS[0].replace("hname==A", "hname==Z"))
    for method in ("time-based", "optimal", "milp"):
        found = plan(instance, method, effort=1)  # type: ignore[arg-type]
        assert (found["10"].start, found["10"].requirement_alternative) == (3 * HOUR, 1)
    assert outlook(instance)["10"].state == "starts"
    nowhere = site(FORMS[0].replace("hname==A", "hname==Z").replace("hname==B", "hname==Y"))
    assert outlook(nowhere)["10"].state == "impossible"
    (gone,) = plan(nowhere, "optimal", effort=1).unplaced
    assert "hname==Z" in gone.reason


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
