"""Files of changes: what they may say, what is wrong with one told all at once, and round trips."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import slotwise as sw
import yaml
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import (
    Change,
    EarlyEnd,
    HostRequest,
    HostStatus,
    InputError,
    Instance,
    Job,
    Kill,
    LoadReport,
    Modification,
    Moved,
    NewJob,
    QueueSwitch,
    Release,
    Resize,
    dump_changes,
    from_document,
)
from slotwise.cli.main import app
from slotwise.model.formats import changes_schema
from slotwise.model.formats.changes import loads_changes, require_sound_changes
from typer.testing import CliRunner

SITE: dict[str, Any] = {
    "format": "slotwise/1",
    "origin": "2026-03-02T08:00:00+01:00",
    "now": 60,
    "params": {"DEFAULT_QUEUE": "day"},
    "hosts": [{"name": "host[A-D]", "slots": 4, "mem": 8192}],
    "host_groups": {"hg": "hostA hostB"},
    "queues": [{"name": "day"}, {"name": "night", "RUNLIMIT": 60, "PROCLIMIT": 8}],
    "running": [{"id": "r1", "start": 0, "allocation": "2*hostA 2*hostB", "run_limit": 3600}],
    "pending": [{"id": "p1", "slots": 2}, {"id": "p2", "slots": 2}],
    "future": [{"id": "f1", "slots": 2, "submit": 7200}],
}
INSTANCE = from_document(SITE)
EXAMPLE = Path(sw.__file__).parent / "instances" / "changes" / "headline.yaml"


def read(*entries: dict[str, Any], instance: Instance = INSTANCE) -> tuple[Change, ...]:
    document = {"format": "slotwise-changes/1", "changes": list(entries)}
    return loads_changes(json.dumps(document), instance)


@pytest.mark.behaviour("LOP-07", "RSV-11")
@pytest.mark.parametrize(
    ("entry", "change"),
    [
        ({"at": "10m", "down": "hostA"}, HostStatus(600, "hostA", "down")),
        ({"at": 600, "up": "hostA"}, HostStatus(600, "hostA", "up")),
        ({"at": "1h30m", "close": "hostA"}, HostStatus(5400, "hostA", "closed")),
        ({"at": "0:10", "open": "hostA"}, HostStatus(600, "hostA", "open")),
        ({"at": "2026-03-02T09:00:00+01:00", "ok": "hostA"}, HostStatus(3600, "hostA", "ok")),
        (
            {"at": 60, "load": {"host": "hostC", "values": {"r1m": 2.5}, "mem": "2G"}},
            LoadReport(60, "hostC", {"r1m": 2.5, "mem": 2048.0}),
        ),
        (
            {"at": 60, "resize": {"job": "r1", "allocation": "3*hostA"}},
            Resize(60, "r1", {"hostA": 3}),
        ),
        ({"at": 60, "release": {"job": "r1", "slots": "hostA"}}, Release(60, "r1", {"hostA": 1})),
        ({"at": 60, "end": "r1"}, EarlyEnd(60, "r1")),
        ({"at": 60, "bkill": "p1"}, Kill(60, "p1")),
        ({"at": 60, "btop": "p2"}, Moved(60, "p2", "top")),
        ({"at": 60, "bbot": "p1"}, Moved(60, "p1", "bottom")),
        (
            {"at": 60, "bswitch": {"job": "p1", "queue": "night"}},
            QueueSwitch(60, "p1", "night"),
        ),
        (
            {"at": 60, "bmod": {"job": "p1", "bsub": "-n 3,4 -W 30"}},
            Modification(60, "p1", {"slots": 3, "max_slots": 4, "run_limit": 1800}),
        ),
        (
            {"at": 60, "bmod": {"job": "p1", "bsub": "-q night", "priority": 3}},
            Modification(60, "p1", {"queue": "night", "priority": 3}),
        ),
        (
            {"at": 90, "submit": {"id": "n1", "bsub": "-n 2 -W 5 -q night"}},
            NewJob(Job("n1", 2, queue="night", run_limit=300, submit=90)),
        ),
        ({"at": 90, "submit": {"id": 7}}, NewJob(Job("7", 1, queue="day", submit=90))),
    ],
)
def test_what_an_entry_means(entry: dict[str, Any], change: Change) -> None:
    assert read(entry) == (change,)
    jsonschema.Draft202012Validator(changes_schema()).validate(
        {"format": "slotwise-changes/1", "changes": [entry]}
    )


WRONG = """\
format: slotwise-changes/1
changes:
  - {at: 10m, down: hostE}
  - {at: 10m, dwon: hostA}
  - {at: soon, up: hostA}
  - {at: 10m, bkill: p3}
  - {at: 10m, bswitch: {job: p1, queue: nite}}
  - {at: 10m, submit: {id: p1, slots: 1}}
  - {at: 10m, btop: f1}
  - {at: 10m, resize: {job: r1, allocation: 2*hostX}}
  - {at: 10m, bmod: {job: p1, bsub: '-n 0'}}
  - {at: 10m, bmod: {job: p1}}
  - {at: 10m, down: hostA, up: hostB}
  - {at: 10m}
  - {at: 30s, up: hostA}
  - {at: 10m, load: {host: hostA}}
  - {at: 10m, bmod: {job: p2, bsub: '-q night -n 9'}}
  - {at: 10m, submit: {id: n1, bsub: '-R "span[hosts=2]"'}}
  - {at: 10m, submit: {id: n2, submit: 5}}
  - {at: 10m, release: {job: r1, slots: 0*hostA}}
  - {down: hostA}
  - {at: 10m, bmod: {job: p1, slots: 2, bsub: '-n 2'}}
  - {at: 2026-03-02T09:00:00, up: hostA}
"""
SAID = [
    "changes.yaml:3: changes[0].down: unknown host or host group 'hostE' (did you mean '",
    "changes.yaml:4: changes[1].dwon: unknown key 'dwon' (did you mean 'down'?)",
    "changes.yaml:5: changes[2].at: must be a time such as",
    "changes.yaml:6: changes[3].bkill: unknown job 'p3'",
    "changes.yaml:7: changes[4].bswitch.queue: unknown queue 'nite' (did you mean 'night'?)",
    "changes.yaml:8: changes[5].submit.id: job p1 is already defined: give each job its own id",
    "changes.yaml:9: changes[6].btop: job f1 is submitted later, at second 7200",
    "changes.yaml:10: changes[7].resize.allocation: unknown host 'hostX' (did you mean",
    "changes.yaml:11: changes[8].bmod.bsub: -n: must be 1 slot or more",
    "changes.yaml:12: changes[9].bmod: changes nothing: give bsub",
    "changes.yaml:13: changes[10]: has down and up: split it into 2 entries",
    "changes.yaml:14: changes[11]: has no action: give one of down, up, close",
    "changes.yaml:15: changes[12].at: second 30 is before the instance's now, second 60",
    "changes.yaml:16: changes[13].load: reports nothing",
    "changes.yaml:17: changes[14].bmod",
    "changes.yaml:18: changes[15].submit",
    "changes.yaml:19: changes[16].submit.submit: the entry has its time in `at`: remove this key",
    "changes.yaml:20: changes[17].release.slots: ",
    "changes.yaml:21: changes[18].at: the key 'at' is missing",
    "changes.yaml:22: changes[19].bmod.slots: slots is already given in the bsub line",
    "changes.yaml:23: changes[20].at: '2026-03-02T09:00:00' has no time zone",
]


@pytest.mark.behaviour("LOP-07", "CFG-02")
def test_everything_that_is_wrong_is_told_at_once_with_line_and_path() -> None:
    with pytest.raises(InputError) as caught:
        loads_changes(WRONG, INSTANCE, "changes.yaml")
    said = [str(problem) for problem in caught.value.problems]
    assert [line[: len(wanted)] for line, wanted in zip(said, SAID, strict=True)] == SAID


def test_a_wrong_kind_of_file_is_one_line(tmp_path: Path) -> None:
    instance = sw.example("headline")
    with pytest.raises(InputError) as caught:
        sw.load_changes(instance, INSTANCE)
    (problem,) = caught.value.problems
    assert "is an instance file, not a file of changes over time" in problem.message
    with pytest.raises(InputError) as caught:
        sw.load(EXAMPLE)
    (problem,) = caught.value.problems
    assert "is a file of changes over time, not an instance file" in problem.message
    packed = tmp_path / "changes.json"
    packed.write_text(json.dumps(yaml.safe_load(EXAMPLE.read_text())))
    with pytest.raises(InputError, match="is a file of changes over time"):
        sw.load(packed)


STATUSES = ("ok", "closed", "down", "open", "up")
TIMES = st.integers(60, 10**6)
HOSTS = st.sampled_from(["hostA", "hostB", "hostC", "hostD"])
OLD = st.sampled_from(["r1", "p1", "p2"])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "res_req": st.sampled_from([(), ("span[hosts=1]",), ("order[ut]", "rusage[mem=5]")]),
        "run_limit": st.integers(1, 10**6),
        "cpu_limit": st.integers(1, 10**6),
        "begin": st.integers(0, 10**6),
        "priority": st.integers(0, 99),
        "project": st.sampled_from(["default", "x"]),
        "hosts": st.sampled_from([(), (HostRequest("hostA", 2), HostRequest("hg"))]),
        "resizable": st.booleans(),
    },
)
SIZES = st.tuples(st.integers(1, 4), st.none() | st.integers(4, 8))


@st.composite
def modifications(draw: st.DrawFn) -> Modification:
    fields = draw(FIELDS)
    if draw(st.booleans()) or not fields:
        fields["slots"], fields["max_slots"] = draw(SIZES)
    return Modification(draw(TIMES), draw(OLD), fields)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Change, ...]:
    allocations = st.dictionaries(HOSTS, st.integers(1, 4), min_size=1)
    loads = st.dictionaries(
        st.sampled_from(["r1m", "ut", "mem", "tmp"]), st.floats(0, 1e6), min_size=1
    )
    kinds = st.one_of(
        st.builds(
            HostStatus, TIMES, HOSTS, st.sampled_from(["ok", "closed", "down", "open", "up"])
        ),
        st.builds(LoadReport, TIMES, HOSTS, loads),
        st.builds(Resize, TIMES, OLD, allocations),
        st.builds(Release, TIMES, OLD, allocations),
        st.builds(EarlyEnd, TIMES, OLD),
        st.builds(Kill, TIMES, OLD),
        st.builds(Moved, TIMES, OLD, st.sampled_from(["top", "bottom"])),
        st.builds(QueueSwitch, TIMES, OLD, st.sampled_from(["day", "night"])),
        modifications(),
    )
    found = draw(st.lists(kinds, max_size=8))
    for number in range(draw(st.integers(0, 3))):
        job = Job(f"n{number}", draw(st.integers(1, 8)), queue="day", submit=draw(TIMES))
        found.append(NewJob(job))
    return tuple(sorted(found, key=lambda change: change.time))


def _sound(some: tuple[Change, ...]) -> bool:
    """Not so where a job comes into a queue that takes none as long as it is made."""
    try:
        require_sound_changes(some, INSTANCE)
    except InputError:
        return False
    return True


@given(changes().filter(_sound))
@examples(60)
def test_what_is_written_reads_back(some: tuple[Change, ...]) -> None:
    text = dump_changes(some, INSTANCE)
    again = loads_changes(text, INSTANCE)
    assert len(again) == len(some)
    assert all(change in again for change in some)
    assert [change.time for change in again] == [change.time for change in some]
    assert loads_changes(dump_changes(again, INSTANCE), INSTANCE) == again
    document = json.loads(json.dumps(yaml.safe_load(text)))
    jsonschema.Draft202012Validator(changes_schema()).validate(document)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1200),
            st.integers(0, 12),
            st.text("[]{}:,-*\"'\\n 0a@~%é\x00", max_size=6),
        ),
        min_size=1,
        max_size=4,
    )
)
@examples(150)
def test_a_mutated_file_is_read_or_reported(edits: list[tuple[int, int, str]]) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for at, length, other in edits:
        text = text[:at] + other + text[at + length :]
    instance = sw.load(sw.example("headline"))
    try:
        found = loads_changes(text, instance, "changes.yaml")
    except InputError:
        return
    assert loads_changes(dump_changes(found, instance), instance) == found


@pytest.mark.parametrize(
    "entry",
    [
        "{at: 10m, down: 'h[1-999999999]'}",
        pytest.param("{at: 10m, down: 'h[1-199999] g[1-199999]'}", marks=pytest.mark.slow),
        "{at: 10m, down: 'host[A'}",
        "{at: 99999999999999999999, up: hostA}",
        "{at: 10m, load: {host: hostA, values: {r1m: 1e400}}}",
        "{at: 10m, submit: {id: x, bsub: '-n 99999999999'}}",
        "{at: 10m, bmod: {job: p1, bsub: '-b 25:61'}}",
        "{at: 10m, resize: {job: r1, allocation: '9999999999*hostA'}}",
        "{at: 10m, bmod: {job: p1, slots: null}}",
        "{at: 10m, end: null}",
        "{at: 10m, submit: null}",
        "{at: [1], up: hostA}",
        "[]",
        "null",
    ],
)
def test_odd_values_are_reported(entry: str) -> None:
    with pytest.raises(InputError) as caught:
        loads_changes(f"format: slotwise-changes/1\nchanges:\n  - {entry}\n", INSTANCE, "c.yaml")
    assert all(str(problem).startswith("c.yaml") for problem in caught.value.problems)


@pytest.mark.behaviour("LOP-07", "RSV-11")
def test_the_shipped_changes_drive_a_simulation(tmp_path: Path) -> None:
    """The command, the library and a run that was stopped and gone on with say the same."""
    runner = CliRunner()
    file, jobs = sw.example("headline"), tmp_path / "jobs.json"
    done = runner.invoke(
        app,
        [
            *("simulate", str(file), "--changes", str(EXAMPLE)),
            *("--jobs", str(jobs), "--format", "json"),
        ],
    )
    assert done.exit_code == 0, done.output
    records = {record["job"]: record for record in json.loads(jobs.read_text())}
    instance = sw.load(file)
    result = sw.simulate(instance, changes=sw.load_changes(EXAMPLE, instance))
    assert {name: record["start"] for name, record in records.items()} == {
        **result.starts,
        **{record.job: None for record in result.jobs if record.start is None},
    }
    assert json.loads(done.stdout)["notes"] == list(result.notes) == []
    assert records["job3"]["requeues"] == 1
    assert records["urgent"]["status"] == "killed"
    assert records["job5"]["run_time"] == 1800
    text = runner.invoke(app, ["simulate", str(file), "--changes", str(EXAMPLE)])
    assert "killed" in text.stdout
    checked = runner.invoke(app, ["check", str(file), "--changes", str(EXAMPLE)])
    assert "9 changes" in checked.stdout


def test_a_bad_file_of_changes_ends_in_its_report(tmp_path: Path) -> None:
    file = tmp_path / "changes.yaml"
    file.write_text("format: slotwise-changes/1\nchanges: [{at: 1h, down: hostZ}]\n")
    for command in ("simulate", "check"):
        found = CliRunner().invoke(
            app, [command, str(sw.example("headline")), "--changes", str(file)]
        )
        if command == "simulate":
            assert isinstance(found.exception, InputError)
        assert found.exit_code != 0
        said = str(found.exception) if command == "simulate" else found.stderr
        assert "changes.yaml:2: changes[0].down: unknown host" in said


@pytest.mark.behaviour("SUB-01")
def test_a_job_script_counts_from_the_folder_of_the_changes(tmp_path: Path) -> None:
    (tmp_path / "job.lsf").write_text("#!/bin/sh\n#BSUB -n 2 -W 30\nrun\n")
    file = tmp_path / "changes.yaml"
    head = "format: slotwise-changes/1\nchanges: [{at: 60, submit: "
    file.write_text(head + "{id: n1, script: job.lsf, user: ann}}]\n")
    (change,) = sw.load_changes(file, INSTANCE)
    assert isinstance(change, NewJob)
    assert (change.job.slots, change.job.run_limit, change.job.submit) == (2, 1800, 60)
    file.write_text(
        "format: slotwise-changes/1\nchanges: [{at: 60, submit: {id: n1, script: other.lsf}}]\n"
    )
    with pytest.raises(InputError, match=r"other\.lsf: cannot be read"):
        sw.load_changes(file, INSTANCE)
