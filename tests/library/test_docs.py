"""Every block of docs/library.md is run, in order, and prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import slotwise as sw

PAGE = Path(__file__).resolve().parents[2] / "docs" / "library.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_block_prints_what_stands_below_it() -> None:
    space: dict[str, Any] = {}
    printed = ""
    compared = 0
    for kind, body in BLOCK.findall(TEXT):
        if kind == "python":
            assert not printed, "the output of the block before is not shown"
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(body, str(PAGE), "exec", dont_inherit=True), space)
            printed = output.getvalue()
        else:
            assert kind == "text"
            assert body == printed
            printed = ""
            compared += 1
    assert not printed
    assert compared >= 7


def test_names_and_links_of_the_page_exist() -> None:
    for name in set(re.findall(r"\bsw\.(\w+)", TEXT)):
        assert hasattr(sw, name), name
    for link in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link
