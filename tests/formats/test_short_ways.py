"""What is read by a short way says what the long one says: columns of jobs, JSON, allocations."""

from __future__ import annotations

import copy
import random
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from slotwise import InputError, Job, RunningJob, from_document
from slotwise.model.formats import build as columns
from slotwise.model.formats import document as d
from slotwise.model.formats import loads_with_warnings, names, source_text, to_document
from slotwise.model.formats.build import take_columns
from slotwise.model.generate import generate
from slotwise.model.input_limits import InputLimits, limited

_COMPLETE = Path(__file__).parent / "complete.yaml"
VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 1.0, 2.5, 2**40, "a", "5", "2h", "n[1-3]", "", "~a", "\x1b"),
    *("2026-03-01T08:00:00Z", "-n 4 -W 1:00", "rusage[mem=1]", [], [1, 2], ["a", "b"], {"a": 1}),
)
KEYS = (*d.RunningEntry.model_fields, "unknown")


def mutated(rng: random.Random) -> dict[str, Any]:
    """A document of which some values of jobs are others, gone, or new."""
    document = copy.deepcopy(rng.choice(_kinds()))
    for _ in range(rng.randint(1, 3)):
        jobs = document.get(rng.choice(("running", "pending")), [])
        job = rng.choice(jobs) if jobs else {}
        key = rng.choice(KEYS)
        if rng.random() < 0.2:
            job.pop(key, None)
        elif rng.random() < 0.1 and jobs:
            jobs.append(copy.deepcopy(rng.choice(jobs)))
        else:
            job[key] = copy.deepcopy(rng.choice(VALUES))
    return document


@cache
def _kinds() -> tuple[dict[str, Any], dict[str, Any]]:
    """A document with every key and a generated one."""
    made = to_document(generate(hosts=8, running=6, pending=6, seed=3))
    return yaml.safe_load(_COMPLETE.read_text("utf-8")), made


def answer(document: dict[str, Any]) -> object:
    try:
        return from_document(document)
    except InputError as error:
        return error.problems


def test_columns_say_what_entries_say(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(11)
    read = by_columns = 0
    for _ in range(40):
        document = mutated(rng)
        by_columns += len(take_columns(document)[1]) > 0
        short = answer(document)
        with monkeypatch.context() as patch:
            patch.setattr(columns, "take_columns", lambda data: (data, {}))
            long = answer(document)
        assert short == long, document
        read += not isinstance(short, tuple)
    assert read > 4
    assert by_columns > 20


def test_jobs_of_files_have_the_defaults_of_jobs() -> None:
    usual = {f.name: f.default for f in (*fields(Job), *fields(RunningJob))}
    own = {"id", "slots", "queue", "priority", "bsub", "script", "array", "start", "allocation"}
    for name, info in d.RunningEntry.model_fields.items():
        if name not in own:
            assert info.default == usual[name], name


@pytest.mark.parametrize("sign", ["\\u001b", "\x7f", "\u202e", "\\t", "é"])
def test_signs_that_may_be_strange_are_looked_at(sign: str) -> None:
    """Where a text of JSON is plain ASCII its values are not examined once more."""
    text = '{"format": "slotwise/1", "hosts": [{"name": "a", "slots": 1, "type": "%s"}]}'
    assert loads_with_warnings(text % "x")[0].cluster.hosts[0].type == "x"
    if sign == "é":
        assert loads_with_warnings(text % sign)[0].cluster.hosts[0].type == "é"
        return
    with pytest.raises(InputError, match=r"contains the \w+ character U\+"):
        loads_with_warnings(text % sign)


TEXTS = (
    '{"a": 1, "b": [1, {"c": "x"}], "d": null}',
    '{"a": ":", "b": ":x"}',
    '{"a": ":", "a" : 2}',
    '{"a": 1, "a": 2}',
    '{"a": [{"b": 1, "b": 1}], "c": ":"}',
    '{"a" :1,"a" :2,"c":":","d":":"}',
    '{"a": "with \\":1\\" inside", "b": 2}',
    '{"a": 1, "\\u0061": 2}',
    "[]",
    '"text"',
    '{"a": NaN}',
    '{"a": 1,}',
    '{"a": "' + "x" * 100 + '"}',
    '{"a": [[[[[[[1]]]]]]]}',
    '{"' + "k" * 100 + '": 1}',
    '{"a":' + " " * 100 + "1}",
)


def parsed(text: str) -> object:
    try:
        return source_text.parse(text, "file", json_text=True)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bounds", [InputLimits(), InputLimits(value=60, nesting=5)])
def test_as_a_close_look(text: str, bounds: InputLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(bounds):
        quick = parsed(text)
        monkeypatch.setattr(source_text, "_plain_json", lambda _: vars(source_text)["_DOUBTFUL"])
        assert quick == parsed(text)


PIECES = (
    "a",
    "n1",
    "2*",
    "1*b",
    "0*c",
    "*",
    "[1-2]",
    "(",
    ")",
    ",",
    " ",
    "\t",
    "٣*d",
    "12345678901*e",
    "2*n[1-3]",
    "n[08-11]x",
    "m[3-1]",
    "[٣-٥]",
)


def both_ways(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[object, object]:
    def read() -> object:
        try:
            return list(names.allocation(text).items())
        except ValueError as error:
            return str(error)

    short = read()
    with monkeypatch.context() as patch:
        patch.setattr(names, "_plain_allocation", lambda _: {})
        patch.setattr(names, "_one_range", lambda _: ())
        return short, read()


def test_the_short_way_says_what_the_long_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    read = 0
    for _ in range(3000):
        text = "".join(draw.choices(PIECES, k=draw.randint(0, 6)))
        short, long = both_ways(text, monkeypatch)
        assert short == long, text
        read += isinstance(short, list) and len(short) > 1
    assert read > 100


def test_one_range_is_what_several_brackets_would_make_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(6)
    ranges = 0
    for _ in range(3000):
        text = "".join(draw.choices((*PIECES, "[", "]", "-", "7", "08", "[1-4]"), k=4))
        short, long = both_ways(text, monkeypatch)
        assert short == long, text
        ranges += isinstance(short, list) and len(short) > 2
    assert ranges > 20
