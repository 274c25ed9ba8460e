#!/usr/bin/env python3
"""The requirements of a dependency group (PEP 735), for any pip: ``.ci/groups.py dev``.

From pip 25.1 on ``pip install --group dev`` does the same.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GROUPS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]


def group(name: str) -> list[str]:
    """The requirements of a group, each once, those of the groups that it includes among them."""
    found: dict[str, None] = {}
    for entry in GROUPS[name]:
        more = [entry] if isinstance(entry, str) else group(entry["include-group"])
        found |= dict.fromkeys(more)
    return sorted(found)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in group(sys.argv[1])))
