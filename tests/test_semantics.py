"""docs/dev/semantics.md: every decision names a test, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "dev" / "semantics.md").read_text(encoding="utf-8")
#: Sections that tell how a part works, beside those that decide.
ACCOUNTS = ("The loop", "Fairshare: the interface", "bsub lines and job scripts", "The service")


def test_every_named_test_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", TEXT))
    defined = {
        name
        for file in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(named) > 40
    assert named - defined == set()


def test_every_decision_names_a_test() -> None:
    sections = re.split(r"^## ", TEXT, flags=re.MULTILINE)
    decided = "".join(item for item in sections if item.partition("\n")[0] not in ACCOUNTS)
    decisions = re.split(r"^- ", decided, flags=re.MULTILINE)[1:]
    assert len(decisions) > 100
    assert [item.partition("\n")[0] for item in decisions if "`test_" not in item] == []
