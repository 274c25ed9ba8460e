"""The pages of instance files name every key of the format, and their example is right."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from slotwise import loads
from slotwise.model.formats import json_schema

_DOCS = Path(__file__).parents[2] / "docs"
_TEXT = (_DOCS / "instances.md").read_text("utf-8")
_PAGES = "\n".join(path.read_text("utf-8") for path in sorted(_DOCS.glob("instances*.md")))


def _keys(schema: Any) -> set[str]:
    found = set(schema.get("properties", ()))
    for part in schema.get("$defs", {}).values():
        found |= _keys(part)
    return found


def test_every_key_is_described() -> None:
    words = set(re.findall(r"[A-Za-z_/]+", _PAGES))
    assert _keys(json_schema()) - words == set()


def test_the_example_is_an_instance() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", _TEXT, re.DOTALL)
    assert loads(example).pending[0].slots == 6
