"""The house is measured by `benchmarks/house.py`; how many files one plan enters only falls."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_structure import ROOT, sources

#: Files that planning the headline instance enters (`python benchmarks/house.py`): lowered with the
#: number, and never raised.
ENTERED = 100


def test_the_headline_plan_enters_no_more_files() -> None:
    program = "import json, house; print(json.dumps(house.entered(*house.HEADLINE)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True,
    )  # fmt: skip
    calls, switches = json.loads(done.stdout)
    assert len(calls) <= ENTERED
    assert switches >= len(calls)
    assert all((ROOT / name).exists() for name in calls)


def test_lines_of_code_proper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No docstring, comment or blank line counts; a text that is a value does."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from house import code_lines

    path = tmp_path / "file.py"
    path.write_text(
        '"""What it is.\n\nMore.\n"""\n\n# Why.\nX = """a\n\nb"""  # so\n\n\n'
        'class A:\n    """One."""\n\n    #: Seconds.\n    y: int = 1\n\n'
        "    def f(self):\n        return (\n            # one\n            1\n        )\n"
    )
    assert code_lines(path) == 3 + 1 + 1 + 1 + 3


def test_no_comment_of_a_module_stands_above_nothing() -> None:
    """What a part of a file is about is in the docstring of the file."""
    alone = re.compile(r"^(?:# .*\n)+\n", re.MULTILINE)
    files = [path for path in sources().values() if alone.search(path.read_text(encoding="utf-8"))]
    assert not files
