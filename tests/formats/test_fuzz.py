"""Whatever stands in a file, the answer is an instance or one InputError."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from parsed_bsub import parse_bsub
from slotwise import InputError, Instance, Job, dump, from_document, load, loads
from slotwise.model.sources.trace import from_snapshot

_HERE = Path(__file__).parent
_COMPLETE = yaml.safe_load((_HERE / "complete.yaml").read_text("utf-8"))
_TEXT = dump(load(_HERE / "complete.yaml"))
_CASES = yaml.safe_load((_HERE / "broken_instances.yaml").read_text("utf-8"))
_BROKEN = [
    yaml.safe_load(case["text"])
    for case in _CASES
    if "not YAML" not in case["problems"][0] and "mapping" not in case["problems"][0]
]

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["2h", "4G", "n[1-", "all ~x", "cu[", "~", "1*", "2026-01-01T00:00:00Z", "[[a,1]]"]
    )
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


def _answer(read: Any, *arguments: Any) -> None:
    answer: Any
    try:
        answer = read(*arguments)
    except InputError as error:
        answer = error
    if isinstance(answer, InputError):
        assert answer.problems
        assert all(problem.message for problem in answer.problems)
    else:
        assert isinstance(answer, Instance)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@examples(300)
def test_random_bytes(tmp_path_factory: Any, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    file.write_bytes(content)
    _answer(load, file)


@given(st.data())
@examples(150)
def test_a_valid_text_with_a_piece_changed(data: Any) -> None:
    start = data.draw(st.integers(0, len(_TEXT)))
    length = data.draw(st.integers(0, 20))
    piece = data.draw(
        st.text(max_size=10) | st.sampled_from(["[", "{", "- ", ": ", "*a", "&a ", "\t", "? "])
    )
    _answer(loads, _TEXT[:start] + piece + _TEXT[start + length :])


def _places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in items:
        found.append((*place, key))
        if isinstance(inner, (dict, list)):
            found += _places(inner, (*place, key))
    return found


@given(st.lists(st.tuples(st.sampled_from(_places(_COMPLETE)), _VALUES), min_size=1, max_size=3))
@examples(150)
def test_a_valid_document_with_values_changed(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    document = copy.deepcopy(_COMPLETE)
    for place, value in changes:
        inner = document
        for part in place[:-1]:
            if isinstance(inner, (dict, list)):
                try:
                    inner = inner[part]
                except (KeyError, IndexError, TypeError):
                    break
        else:
            if isinstance(inner, dict) or (inner and isinstance(inner, list)):
                last = place[-1]
                inside = isinstance(inner, dict) or (isinstance(last, int) and last < len(inner))
                inner[last if inside else 0] = value
    _answer(from_document, document)


@given(_VALUES)
@examples(150)
def test_any_data_is_a_document_or_an_error(data: Any) -> None:
    _answer(from_document, data)
    _answer(from_snapshot, data)


@given(st.sampled_from(_BROKEN), st.sampled_from(_BROKEN))
@examples(60)
def test_two_broken_documents_in_one(first: dict[str, Any] | None, second: Any) -> None:
    _answer(loads, json.dumps((first or {}) | (second or {}), default=str))


@given(
    st.text(max_size=40)
    | st.lists(
        st.sampled_from(
            ["-n", "-R", "-W", "-m", "-b", "-x", "4", "2:00", "a", "'", "-J", "x[1-3]", "-w"]
        )
    ).map(" ".join)
)
@example("-n")
@examples(300)
def test_any_bsub_line(line: str) -> None:
    """Refused, or the fields of a job that make sense, with the word bsub in front or without."""
    with suppress(InputError):
        fields = parse_bsub(line)
        job = Job("j", **fields)
        assert 1 <= job.slots <= job.most_slots
        assert job.run_limit is None or job.run_limit >= 0
        assert parse_bsub(f"bsub {line}") == fields
