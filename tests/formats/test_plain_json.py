"""JSON without a look at each value says what a close look says."""

from __future__ import annotations

import pytest
from slotwise import InputError
from slotwise.model.formats import source_text
from slotwise.model.input_limits import InputLimits, limited

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


def said(text: str) -> object:
    try:
        return source_text.parse(text, "file", json_text=True)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("bounds", [InputLimits(), InputLimits(value=60, nesting=5)])
def test_as_a_close_look(text: str, bounds: InputLimits, monkeypatch: pytest.MonkeyPatch) -> None:
    with limited(bounds):
        quick = said(text)
        monkeypatch.setattr(source_text, "_plain_json", lambda _: vars(source_text)["_DOUBTFUL"])
        assert quick == said(text)
