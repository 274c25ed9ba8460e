"""Changes made in memory meet the rules of files of changes, before anything is simulated."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import (
    EarlyEnd,
    HostStatus,
    Kill,
    LoadReport,
    Modification,
    Moved,
    NewJob,
    QueueSwitch,
    Release,
    Resize,
    dump_changes,
)
from slotwise.model.formats.changes import loads_changes

INSTANCE = sw.instance(
    [sw.Host("h1", 4), sw.Host("h2", 4)],
    queues=(sw.Queue("default"), sw.Queue("night", run_limit_max=3600)),
    running=(sw.RunningJob(sw.Job("r1", 2, run_limit=600), 0, {"h1": 2}),),
    pending=(
        sw.Job("p1", 2, run_limit=600),
        sw.Job("p2", 4, run_limit=600),
        sw.Job("long", 1, run_limit=9000),
        sw.Job("longer", 1, run_limit=9000),
    ),
    future=(sw.Job("f1", 1, run_limit=600, submit=500),),
    now=10,
)
SOUND: list[Any] = [
    HostStatus(20, "h2", "closed"),
    HostStatus(90, "h2", "open"),
    LoadReport(30, "h1", {"r1m": 0.5, "mem": 100.0}),
    Resize(40, "r1", {"h1": 1}),
    Release(50, "r1", {"h1": 1}),
    NewJob(sw.Job("n", 2, run_limit=60, submit=20)),
    Modification(60, "p2", {"slots": 2, "max_slots": 3, "run_limit": None}),
    Modification(30, "n", {"hosts": (sw.HostRequest("h1"),)}),
    Moved(61, "p2", "top"),
    QueueSwitch(62, "p2", "night"),
    Kill(70, "p1"),
    EarlyEnd(80, "r1"),
]


def job(**fields: Any) -> NewJob:
    return NewJob(replace(sw.Job("n", 1, run_limit=60, submit=10), **fields))


def modified(**fields: Any) -> Modification:
    return Modification(10, "p1", fields)


def told(*changes: Any) -> list[str]:
    with pytest.raises(sw.InputError) as caught:
        sw.simulate(INSTANCE, changes=list(changes))
    return [str(problem) for problem in caught.value.problems]


#: What is wrong, the path after changes[0], and a part of what is said.
WRONG: dict[str, tuple[Any, str, str]] = {
    "a text": ("down h1", "", "must be one of HostStatus"),
    "a job": (sw.Job("x"), "", "must be one of"),
    "slots of a new job as text": (job(slots="2"), ".job.slots", ""),
    "no slots": (job(slots=0), ".job.slots", "1 slot or more"),
    "negative run limit": (job(run_limit=-60), ".job.run_limit", "more than 0"),
    "new job of no class": (NewJob("x"), ".job", "must be a Job"),  # type: ignore[arg-type]
    "new job that is none": (NewJob(None), ".job", "must be a Job"),  # type: ignore[arg-type]
    "id of a job there is": (job(id="p1"), ".job.id", "job p1 is already defined"),
    "id of no type": (job(id=[]), ".job.id", ""),
    "id that runs": (job(id="r1"), ".job.id", "already"),
    "submit before now": (job(submit=5), ".job.submit", "is before"),
    "submit as text": (job(submit="now"), ".job.submit", ""),
    "unknown application": (job(application="a"), ".job.application", "unknown application"),
    "unknown queue of a new job": (job(queue="nite"), ".job.queue", "did you mean 'night'"),
    "unknown host of -m": (job(hosts=(sw.HostRequest("h9"),)), ".job.hosts", "unknown host"),
    "unreadable requirement": (job(res_req=("span[",)), ".job.res_req", ""),
    "unreadable layout": (job(extsched="RMS[x=1]"), ".job.extsched", ""),
    "above its queue's maximum": (job(queue="night", run_limit=7200), ".job.run_limit", ""),
    "status": (HostStatus(10, "h1", "dwon"), ".status", "did you mean 'down'"),
    "status of no type": (HostStatus(10, "h1", None), ".status", ""),  # type: ignore[arg-type]
    "unknown host": (HostStatus(10, "h3", "down"), ".host", "unknown host"),
    "host of no type": (HostStatus(10, 1, "down"), ".host", ""),  # type: ignore[arg-type]
    "time as text": (HostStatus("x", "h1", "down"), ".time", "whole number"),  # type: ignore[arg-type]
    "time as fraction": (Kill(10.5, "p1"), ".time", ""),  # type: ignore[arg-type]
    "time as truth": (Kill(True, "p1"), ".time", ""),
    "before now": (Kill(9, "p1"), ".time", "is before"),
    "load that is not a number": (LoadReport(10, "h1", {"ut": float("nan")}), ".values", ""),
    "load without end": (LoadReport(10, "h1", {"r1m": float("inf")}), ".values", ""),
    "load as text": (LoadReport(10, "h1", {"ut": "1"}), ".values", ""),  # type: ignore[dict-item]
    "negative memory": (LoadReport(10, "h1", {"mem": -1.0}), ".values", "0 or more"),
    "no load": (LoadReport(10, "h1", {}), ".values", "must be values such as"),
    "load of no type": (LoadReport(10, "h1", None), ".values", ""),  # type: ignore[arg-type]
    "field": (modified(zork=3), ".fields", "'zork' is not a field of a job"),
    "misspelt field": (modified(slot=3), ".fields", "did you mean 'slots'"),
    "another id": (modified(id="q"), ".fields", "'id'"),
    "no fields": (modified(), ".fields", "must be fields of a job such as"),
    "fields of no type": (Modification(10, "p1", None), ".fields", ""),  # type: ignore[arg-type]
    "field of no name": (Modification(10, "p1", {1: 2}), ".fields", ""),  # type: ignore[dict-item]
    "modified slots": (modified(slots=-2), ".fields.slots", "1 slot or more"),
    "modified slots as text": (modified(slots="2"), ".fields.slots", ""),
    "modified range": (modified(slots=4, max_slots=2), ".fields.slots", ""),
    "modified queue": (modified(queue="nope"), ".fields.queue", "unknown queue"),
    "modified limit": (modified(run_limit=0), ".fields.run_limit", "more than 0"),
    "modified hosts": (modified(hosts="h1"), ".fields.hosts", ""),
    "modified requirement": (modified(res_req=("rusage[x=1]",)), ".fields.res_req", ""),
    "too long for the new queue": (
        Modification(10, "p1", {"queue": "night", "run_limit": 7200}),
        ".fields.run_limit",
        "",
    ),
    "switched to an unknown queue": (QueueSwitch(10, "p1", "nite"), ".queue", "'night'"),
    "switched to a queue of short jobs": (QueueSwitch(20, "long", "night"), ".queue", "1h at most"),
    "modified to a queue of short jobs": (
        Modification(20, "longer", {"queue": "night"}),
        ".fields",
        "1h at most",
    ),
    "only the most": (modified(max_slots=1), ".fields", ""),
    "unknown job": (Kill(10, "p3"), ".job", "unknown job 'p3'"),
    "job of no type": (EarlyEnd(10, 7), ".job", ""),  # type: ignore[arg-type]
    "not yet submitted": (Moved(20, "f1", "top"), ".job", "submitted later"),
    "direction": (Moved(10, "p1", "sideways"), ".to", "must be one of top, bottom"),  # type: ignore[arg-type]
    "no allocation": (Resize(10, "r1", None), ".allocation", ""),  # type: ignore[arg-type]
    "allocation on an unknown host": (Resize(10, "r1", {"h9": 1}), ".allocation", "unknown host"),
    "no slot there": (Resize(10, "r1", {"h1": 0}), ".allocation", ""),
    "slots as text": (Release(10, "r1", {"h1": "1"}), ".slots", ""),  # type: ignore[dict-item]
    "fewer than none": (Release(10, "r1", {"h1": -1}), ".slots", ""),
}


def test_what_is_right_is_taken_and_could_be_written() -> None:
    result = sw.simulate(INSTANCE, changes=SOUND)
    assert result["n"].start is not None
    assert sw.simulate(INSTANCE, changes=tuple(SOUND)).jobs == result.jobs
    some = [change for change in SOUND if change.time != 60]  # a file says not "no run limit"
    again = loads_changes(dump_changes(some, INSTANCE), INSTANCE)
    assert sw.simulate(INSTANCE, changes=some).jobs == sw.simulate(INSTANCE, changes=again).jobs


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_told_with_its_place(name: str) -> None:
    change, path, says = WRONG[name]
    (problem,) = told(change)
    assert problem.startswith(f"changes[0]{path}: ")
    assert says in problem
    assert "job0" not in problem


def test_all_are_told_at_once_each_with_its_number() -> None:
    kept = [NewJob(sw.Job("n", 2, run_limit=60, submit=20)), Kill(70, "p1")]
    mistakes = list(WRONG.values())
    found = told(*kept, *(change for change, _, _ in mistakes))
    for number, (_, path, _) in enumerate(mistakes, len(kept)):
        assert [line for line in found if line.startswith(f"changes[{number}]{path}")], number


@pytest.mark.parametrize("changes", [None, "changes.yaml", 3, {"down": "h1"}, HostStatus])
def test_what_is_no_list_of_changes_is_refused(changes: Any) -> None:
    with pytest.raises(sw.InputError, match=r"^changes: must be a list or a tuple of changes"):
        sw.simulate(INSTANCE, changes=changes)


def test_what_one_change_leaves_wrong_is_said_once_and_chains_count() -> None:
    found = told(modified(slots=-2), Modification(20, "p1", {"priority": 3}))
    assert len(found) == 1
    assert told(
        Modification(30, "p1", {"queue": "night"}), Modification(20, "p1", {"run_limit": 9000})
    ) == told(Modification(30, "p1", {"queue": "night"}), modified(run_limit=9000))
    sw.simulate(INSTANCE, changes=[Modification(20, "n", {"slots": 2}), job(), Kill(30, "n")])


def test_a_broken_instance_is_told_first() -> None:
    broken = replace(INSTANCE, pending=(sw.Job("p1", -4),))
    with pytest.raises(sw.InputError, match=r"pending\[0\]\.slots"):
        sw.simulate(broken, changes=None)  # type: ignore[arg-type]


GARBAGE: tuple[Any, ...] = (
    *(None, -1, 0, 1.5, 10**20, True, float("nan"), "", "x", "\x1b[2J", "\ud800", "p1", "h1"),
    *((), [], {}, set(), ("x", 1), {"x": "y"}, {1: 2}, {"mem": None}, object(), {"slots": []}),
    *(b"bytes", 1j, {"a": {"b": 1}}, frozenset({1}), sw.Job("p"), sw.Host, {"h1": 1}),
)


@given(st.data())
@examples(200)
def test_whatever_stands_in_a_field_there_is_a_report_or_a_result(data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(SOUND) - 1))
    name = data.draw(st.sampled_from([field.name for field in fields(SOUND[number])]))
    value = data.draw(st.sampled_from(GARBAGE))
    changes = [*SOUND]
    if data.draw(st.booleans()) and isinstance(SOUND[number], (NewJob, Modification)):
        inner = data.draw(st.sampled_from([field.name for field in fields(sw.Job)]))
        old = SOUND[number]
        value = (
            replace(old.job, **{inner: value})
            if name == "job" and isinstance(old, NewJob)
            else {inner: value}
        )
    changes[number] = replace(SOUND[number], **{name: value})
    problems: tuple[sw.Problem, ...] = ()
    try:
        sw.simulate(INSTANCE, changes=changes)
    except sw.InputError as error:
        problems = error.problems
    assert all(problem.path.startswith("changes[") for problem in problems)
