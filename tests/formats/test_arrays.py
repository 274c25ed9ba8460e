"""Job arrays in instance files: one entry however many elements (ARR-01, ARR-02, ARR-05)."""

from __future__ import annotations

import json
import time

import pytest
from slotwise import InputError
from slotwise.model.formats import dump, dump_json, loads, to_document
from submitted import submission

_HEAD = "format: slotwise/1\nhosts: [{name: n1, slots: 8}]\n"


def _pending(*entries: str) -> str:
    return _HEAD + "pending:\n" + "".join(f"  - {entry}\n" for entry in entries)


@pytest.mark.behaviour("ARR-02")
@pytest.mark.parametrize(
    "entry",
    [
        '{id: 101, name: a, array: "1-10:2,15%4", slots: 2, run_limit: 1h}',
        '{id: 101, name: a, array: "[1-10:2,15]%4", slots: 2, run_limit: 1h}',
        """{id: 101, bsub: '-J "a[1-10:2,15]%4" -n 2 -W 60'}""",
        """{id: 101, bsub: "-Ja[15,1-10:2]%4 -n2 -W 60"}""",
        '{id: 101, name: a, array: "1-10:2,15", array_limit: 4, slots: 2, run_limit: 1h}',
        """{id: 101, bsub: '-J "a[1-10:2,15]" -n 2 -W 60', array_limit: 4}""",
    ],
)
def test_elements_are_jobs(entry: str) -> None:
    instance = loads(_pending("{id: 7}", entry))
    assert [job.id for job in instance.pending[1:]] == [f"101[{n}]" for n in (1, 3, 5, 7, 9, 15)]
    assert {
        (job.name, job.slots, job.run_limit, job.submit, job.array_limit)
        for job in instance.pending[1:]
    } == {("a", 2, 3600, 0, 4)}


@pytest.mark.behaviour("ARR-05")
def test_one_entry_is_written() -> None:
    given = _pending("{id: 7}", '{id: 101, array: "1-9:2,15%4", name: a}', "{id: '9[4]'}")
    instance = loads(given)
    for text in (dump(instance), dump_json(instance)):
        again = loads(text)
        assert again == instance
        assert {dump(again), dump_json(again)} >= {text}
    pending = to_document(instance)["pending"]
    assert [entry["id"] for entry in pending] == ["7", "101", "9[4]"]
    assert pending[1]["array"] == "1-9:2,15%4"


@pytest.mark.behaviour("ARR-01")
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{id: 1, array: 1-1001}", "pending[1].array: Array index too large. Job not submitted"),
        ("{id: 1, bsub: '-J a[1-1001]'}", "pending[1].bsub: Array index too large"),
        ("{id: 1, array: 0-3}", "indices must be 1 or more (0"),
        ("{id: 1, array: 5-3}", "indices must be in ascending order"),
        ("{id: 1, array: x}", "'x' is not an index"),
        ("{id: 1, array: 1-3%0}", "the number of elements after % must be 1 or more"),
        ("{id: 1, array_limit: 1}", "array_limit: job 1 is no element of an array"),
        ("{id: 1, array: true}", "must be the elements of an array"),
        ("{id: 1, bsub: '-J a[1-'}", "-J: 'a[1-' is not a job array such as"),
        ("{id: '1[2]', array: 1-3}", "job 1[2] is one element"),
        ("{id: 1, array: 1-500, queue: nix}", "pending[1].queue: unknown queue 'nix'"),
    ],
)
def test_refused(entry: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        loads(_pending("{id: 7, array: 1-9}", entry))
    (problem,) = refused.value.problems  # one of all elements
    assert said in str(problem)
    assert problem.line == 5


def test_what_runs_is_one_element() -> None:
    running = "running:\n  - {id: %s, start: 0, allocation: 1*n1, bsub: '-J a[1-9]%%2'}\n"
    (item,) = loads(_HEAD + running % "'1[4]'").running
    assert (item.job.id, item.job.name, item.job.array_limit) == ("1[4]", "a", 2)
    with pytest.raises(InputError, match="a running job is one element"):
        loads(_HEAD + running % "1")


@pytest.mark.behaviour("ARR-02")
def test_a_line_submits_elements() -> None:
    found = submission(loads(_pending("{id: 7, array: 1-3}")), '-J "a[1-100]%10" -W 60 x')
    assert (len(found.jobs), found.jobs[2].id, found.jobs[2].array_limit) == (100, "8[3]", 10)
    with pytest.raises(InputError, match="Array index too large"):
        submission(loads(_pending("{id: 7}")), '-J "a[1-2000]" -W 60 x')


@pytest.mark.behaviour("ARR-05")
def test_ten_thousand_elements_load_fast() -> None:
    document = {
        "format": "slotwise/1",
        "hosts": [{"name": "n1", "slots": 8}],
        "params": {"MAX_JOB_ARRAY_SIZE": 10000},
        "pending": [{"id": 1, "array": "1-10000%50", "run_limit": 3600}],
    }
    begun = time.process_time()
    instance = loads(json.dumps(document))
    assert time.process_time() - begun < 2
    assert len(instance.pending) == 10000
