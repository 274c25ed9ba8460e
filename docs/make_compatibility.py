"""Write docs/compatibility.md from docs/behaviours.yaml and the `behaviour` marks of the tests.

Run by `make docs`. A row counts as proved when at least one test carries its mark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DOCS = Path(__file__).resolve().parent
TABLE = DOCS / "compatibility.md"

INTRODUCTION = """\
# What Slotwise does as LSF does

This page lists the behaviours of LSF and Slurm that Slotwise reproduces, with the differences.
A test proves a behaviour if it is marked with the id of that behaviour and fails without it. If
the documents are silent or disagree, [semantics.md](dev/semantics.md) records our decision.
"""
MADE = "`make docs` makes this page from `docs/behaviours.yaml` and the marks of the tests.\n"


def rows() -> dict[str, dict[str, str]]:
    """The checklist: row id to title and, where something differs, `differs`."""
    data = yaml.safe_load((DOCS / "behaviours.yaml").read_text(encoding="utf-8"))
    return {
        name: {"title": row} if isinstance(row, str) else row for name, row in data["rows"].items()
    }


def groups() -> dict[str, str]:
    """Group (the letters of a row id) to its heading, in order."""
    data = yaml.safe_load((DOCS / "behaviours.yaml").read_text(encoding="utf-8"))
    found: dict[str, str] = data["groups"]
    return found


def collect() -> dict[str, int]:
    """Number of tests that carry each row's mark, by a collection of the whole test suite."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "behaviours.json"
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", ""]
        command += ["-p", "no:cacheprovider", "--behaviours", str(output)]
        done = subprocess.run(
            command, cwd=DOCS.parent, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"the tests cannot be collected:\n{done.stdout}{done.stderr}")
        counts: dict[str, int] = json.loads(output.read_text(encoding="utf-8"))
    return counts


def table(counts: Mapping[str, int]) -> str:
    """The whole document."""
    known = rows()
    unknown = sorted(set(counts) - set(known))
    if unknown:
        raise SystemExit(f"marks of tests that no row has: {', '.join(unknown)}")
    proved = sum(1 for name in known if counts.get(name))
    count = f"Tests prove {proved} of the {len(known)} behaviours on this page.\n"
    parts = [INTRODUCTION, MADE, count]
    link = "[Disagreements](dev/live-recordings.md#where-slotwise-and-volclava-22-disagree)"
    parts.append(f"{link} lists the decisions in which volclava 2.2 differs from Slotwise.\n")
    for letters, heading in groups().items():
        lines = [f"## {letters} · {heading}", "", "| row | behaviour | proved by | what differs |"]
        lines.append("|---|---|---|---|")
        lines += [
            _line(name, row, counts.get(name, 0))
            for name, row in known.items()
            if name.startswith(letters)
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join([*parts, versions()])


def versions() -> str:
    """The rules of Slurm that changed between versions, from their table."""
    from slotwise.model import slurm_version
    from slotwise.model.slurm_version import VersionRule

    rules = [rule for rule in vars(slurm_version).values() if isinstance(rule, VersionRule)]
    lines = [
        "## Versions of Slurm",
        "",
        "`model/slurm_version.py` lists the rules of Slurm that depend on its version. If "
        "the version is unknown, jobs are planned by the rules of 22.05.",
        "",
        "| from | to | what | source |",
        "|---|---|---|---|",
    ]
    for rule in sorted(rules, key=lambda rule: rule.first):
        first, end = (_release(number) for number in (rule.first, rule.end))
        until = f"before {end}" if rule.end[0] < 100 else "now"
        lines.append(f"| {first} | {until} | {rule.what} | {rule.source} |")
    return "\n".join(lines) + "\n"


def _release(number: tuple[int, int, int]) -> str:
    year, month, micro = number
    return f"{year:02}.{month:02}" + (f".{micro}" if micro else "")


def _line(name: str, row: Mapping[str, Any], count: int) -> str:
    by = "tests" if count else "not yet"
    cells = (name, row["title"], by, row.get("differs", ""))
    return "| " + " | ".join(str(cell).strip().replace("|", "\\|") for cell in cells) + " |"


def main() -> None:
    """Write the document, unless it was made from these tests and rows before."""
    import kept

    sources = ("tests", "pyproject.toml", "docs/behaviours.yaml", "docs/make_compatibility.py")
    sources = (*sources, "model/slurm_version.py")
    if not kept.is_made("table", kept.digest((*sources, f"docs/{TABLE.name}"))):
        TABLE.write_text(table(collect()), encoding="utf-8")
        kept.keep("table", kept.digest((*sources, f"docs/{TABLE.name}")))


if __name__ == "__main__":
    main()
