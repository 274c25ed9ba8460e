"""Broken instance files: all that is wrong is said, each with file, line, path and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from slotwise import InputError, load, loads

_CASES = yaml.safe_load(Path(__file__).with_name("broken_instances.yaml").read_text("utf-8"))


def test_there_are_many_kinds() -> None:
    messages = {problem for case in _CASES for problem in case["problems"]}
    assert len(_CASES) >= 100
    assert len(messages) >= 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,}', "f.json:1: not JSON: "),
        ('{"a":\n "NaN", "b":\n -Infinity}', "f.json:3: -Infinity is not a number"),
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
