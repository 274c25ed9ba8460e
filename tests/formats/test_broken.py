"""Broken instance files: all that is wrong is said, each with file, line, path and remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from slotwise import InputError, from_document, load, loads

_CASES = yaml.safe_load(Path(__file__).with_name("broken_instances.yaml").read_text("utf-8"))


def _parameters() -> list[Any]:
    return [
        pytest.param(
            case,
            id=case["name"].replace(" ", "-"),
            marks=[pytest.mark.behaviour("CFG-02", *case.get("rows", ()))],
        )
        for case in _CASES
    ]


@pytest.mark.parametrize("case", _parameters())
def test_exactly_these_problems(case: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        loads(case["text"], "f.yaml", format="yaml")
    assert [str(problem) for problem in caught.value.problems] == case["problems"]


def test_there_are_many_kinds() -> None:
    messages = {problem for case in _CASES for problem in case["problems"]}
    assert len(_CASES) >= 100
    assert len(messages) >= 100


def test_plain_data_has_no_lines() -> None:
    with pytest.raises(InputError) as caught:
        from_document({"format": "slotwise/1", "hosts": [{"name": "a", "slot": 1, "slots": 1}]})
    assert str(caught.value) == "hosts[0].slot: unknown key 'slot' (did you mean 'slots'?)"


@pytest.mark.parametrize("indent", [None, 1, 2, "\t"])
def test_json_has_lines_too(indent: int | str | None) -> None:
    document = {
        "format": "slotwise/1",
        "hosts": [{"name": "a", "slots": 1}],
        "pending": [{"id": 1, "slots": 0}],
    }
    text = json.dumps(document, indent=indent)
    with pytest.raises(InputError) as caught:
        loads(text, "f.json")
    (problem,) = caught.value.problems
    assert problem.path == "pending[0].slots"
    assert problem.line == text[: text.index('"slots": 0')].count("\n") + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,}', "f.json:1: not JSON: "),
        ('{"a":\n "NaN", "b":\n -Infinity}', "f.json:3: -Infinity is no number"),
        ('{"a": 1,\n"name": "a",\n"name": "b"}', "f.json:3: name: the key 'name' is given twice"),
        ("[" * 100_000, "f.json: nested too deeply"),
        ("1" * 5000, "f.json: has a value that cannot be read: "),
    ],
)  # fmt: skip
def test_broken_json(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(text, "f.json", format="json")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "is not UTF-8 text: byte 0 is 0xff; save the file as UTF-8"),
        (b"a: \x00", "not YAML: "),
        (b"- " * 50_000, "f.yaml:1: nested too deeply"),
        (b"[" * 50_000, "f.yaml:1: nested too deeply"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "f.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load(file)
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = r"nowhere\.yaml: cannot be read: No such file or directory"
    with pytest.raises(InputError, match=missing):
        load(tmp_path / "nowhere.yaml")
    with pytest.raises(InputError, match="directory"):
        load(tmp_path)
