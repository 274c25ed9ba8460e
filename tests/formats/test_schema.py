"""The JSON Schema describes what the reader takes."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml
from slotwise import check, example, examples, to_document
from slotwise.instances import description
from slotwise.model.formats import json_schema, load_with_warnings

_HERE = Path(__file__).parent


@cache
def _validator() -> jsonschema.Draft202012Validator:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", examples())
def test_every_shipped_instance_is_right(name: str) -> None:
    file = example(name)
    text = file.read_text("utf-8")
    plain = json.dumps(yaml.safe_load(text), default=datetime.isoformat)
    _validator().validate(json.loads(plain))
    instance, warnings = load_with_warnings(file)
    assert warnings == ()
    assert not [*check(file), *check(instance)]
    assert instance.name == name
    assert description(name).endswith(".")
    _validator().validate(to_document(instance))


def test_unknown_keys_and_wrong_types_do_not_fit() -> None:
    validator = _validator()
    cases = yaml.safe_load((_HERE / "broken_instances.yaml").read_text("utf-8"))
    wanted = {"unknown section", "unknown host key", "unknown queue key", "wrong type"}
    wanted |= {"section wrong type", "negative slots", "no hosts", "wrong version", "usage method"}
    for case in cases:
        if case["name"] in wanted:
            assert not validator.is_valid(yaml.safe_load(case["text"])), case["name"]
