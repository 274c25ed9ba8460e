"""Every command of the README does what it says.

`test_documents.py` runs its console blocks and its Python; here are the ones that want a cluster,
and those of the table of questions.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import slotwise as sw
from forked import slotwise

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(r"^\| (.+\?) \| `(slotwise .+)` \|$", README, re.MULTILINE)
#: What a question's answer has to name.
ANSWERS = {
    "compare": "job5",
    "diagnose": "waiting job",
    "explain": "needs 3 hosts with 2 free slots each",
    "ask": "24 alternatives tried",
    "report": "wrote report.html",
    "forecast": "20 samples",
    "simulate": "jobs",
    "whatif": "queues.parallel.BACKFILL=Y",
    "replay": "utilisation",
    "resreq": "hostA",
}


def log(path: Path) -> Path:
    """Forty small jobs of four users in SWF."""
    lines = ["; MaxProcs: 16", "; UnixStartTime: 1700000000"]
    for n in range(1, 41):
        ran, slots = 600 + 37 * (n % 11), 1 + n % 8
        lines.append(
            f"{n} {n * 120} 60 {ran} {slots} -1 -1 {slots} 1800 -1 1 {1 + n % 4} 1 -1 1 -1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_ten_questions_have_ten_commands() -> None:
    assert len(QUESTIONS) == 10
    assert {line.split()[1] for _, line in QUESTIONS} == set(ANSWERS)


@pytest.mark.parametrize(
    "line",
    [
        # Variants are run by processes, which takes the longest.
        pytest.param(line, marks=[pytest.mark.slow] if line.split()[1] == "whatif" else [])
        for _, line in QUESTIONS
    ],
)
def test_the_command_of_a_question_answers_it(line: str, tmp_path: Path) -> None:
    """FILE is the example headline, JOB its job, LOG a small log; a forecast draws few futures."""
    stands = {"FILE": str(sw.example("headline")), "JOB": "job5"}
    stands["LOG"] = str(log(tmp_path / "log.swf"))
    words = [stands.get(word, word) for word in shlex.split(line)[1:]]
    few = ("--samples", "20") if words[0] == "forecast" else ()
    done = slotwise(*words, *few, cwd=tmp_path, together=True)
    assert done.returncode == 0, done.stdout
    assert ANSWERS[words[0]] in " ".join(done.stdout.split())


#: What LSF's commands print on a machine with one host and one waiting job.
LISTINGS = {
    "bhosts": "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\nh ok - 4 0 0 0 0 0\n",
    "bqueues": (
        "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
        "long 30 Open:Active - - - - 2 2 0 0\n"
    ),
    "bjobs": json.dumps(
        {
            "COMMAND": "bjobs",
            "JOBS": 1,
            "RECORDS": [
                {
                    **{"JOBID": "1", "STAT": "PEND", "USER": "u", "QUEUE": "long"},
                    **{"SUBMIT_TIME": "Mar  1 08:00 2026", "NREQ_SLOT": "2"},
                }
            ],
        }
    ),
}


def test_the_three_commands_with_a_cluster_work_where_bjobs_and_bhosts_do(tmp_path: Path) -> None:
    """The very lines of the README, one after the other in one folder."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in LISTINGS.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
        script = folder / name
        show = f"print(open({str(script)!r} + '.txt').read())"
        script.write_text(f"#!{sys.executable}\n{show}\n", encoding="utf-8")
        script.chmod(0o755)
    block = README.split("## With your cluster")[1]
    lines = re.findall(r"^\$ (slotwise [^#\n]+?) +# your .*$", block, re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["diagnose", "report", "snapshot"]
    for line in lines:
        done = slotwise(
            *shlex.split(line)[1:],
            cwd=tmp_path,
            before=lambda: os.environ.update(PATH=str(folder)),
            together=True,
        )
        assert done.returncode == 0, done.stdout
    assert sw.load(tmp_path / "now.yaml").pending
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    (line,) = re.findall(r"`(slotwise top .+?)`", block)
    done = slotwise(
        *shlex.split(line)[1:],
        cwd=tmp_path,
        before=lambda: os.environ.update(PATH=str(folder)),
        together=True,
    )
    assert done.returncode == 0, done.stdout
    assert "1 pending: 1 starts now" in done.stdout


def test_the_first_two_sections_have_three_commands_each() -> None:
    blocks = re.findall(r"^```console\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert [block.count("$ slotwise ") for block in blocks] == [3, 3]
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert code.count("print(sw.") == 3
