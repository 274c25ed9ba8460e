"""Options of public job headers, each read whole and none read as another (SUB-02).

tests/data/bsub-lines.txt: the options of job scripts in public repositories, names shortened.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from slotwise.model.formats.bsub import bsub_line

LINES = (Path(__file__).parents[1] / "data" / "bsub-lines.txt").read_text().splitlines()


@pytest.mark.behaviour("SUB-02")
@pytest.mark.parametrize("line", LINES)
def test_a_real_line_is_read(line: str) -> None:
    found = bsub_line(line)
    assert found.problems == []
    words = shlex.split(line)
    if "-n" in words:
        assert found.fields["slots"] == int(words[words.index("-n") + 1])
    assert len(found.fields.get("res_req", ())) == sum(word.startswith("-R") for word in words)


@pytest.mark.behaviour("SUB-03")
def test_requirements_add_up_and_other_options_stand_once() -> None:
    found = bsub_line("-R 'select[mem>1]' -R 'rusage[mem=1]' -o a -o b -n 2")
    assert (found.problems, len(found.fields["res_req"])) == ([], 2)
    assert bsub_line("-n 2 -n 4").notes
