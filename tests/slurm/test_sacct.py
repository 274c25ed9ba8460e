"""sacct -P as a log of finished jobs: for import acct, replays and forecasts."""

from __future__ import annotations

from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError
from slotwise.model.sources.acct import parse_acct, read_acct

from tests.slurm.test_import import instance_of, run, texts_of

pytestmark = pytest.mark.behaviour("SLU-04")
HEADER = (
    "JobID|JobIDRaw|User|Account|Partition|Submit|Eligible|Start|End|State|Timelimit|AllocTRES|"
    "ReqTRES|NodeList\n"
)
ROWS = (
    "8|8|ann|physics|main|2026-11-26T10:00:00|2026-11-26T10:00:00|2026-11-26T10:05:00|"
    "2026-11-26T10:35:00|COMPLETED|01:00:00|billing=8,cpu=8,mem=4G,node=2|cpu=8,mem=4G|n[1-2]\n"
    "8.batch|8.batch||physics||2026-11-26T10:05:00|2026-11-26T10:05:00|2026-11-26T10:05:00|"
    "2026-11-26T10:35:00|COMPLETED||cpu=4|cpu=4|n1\n"
    "9_3|11|bob|physics|main,hi|2026-11-26T10:00:00|2026-11-26T10:01:00|2026-11-26T10:05:00|"
    "2026-11-26T10:06:00|TIMEOUT|00:01:00|cpu=3,mem=10M|cpu=3|n1\n"
    "9_0|10|bob|physics|main|2026-11-26T10:00:00|2026-11-26T10:00:00|2026-11-26T10:05:00|"
    "2026-11-26T10:06:00|FAILED|UNLIMITED|cpu=1|cpu=1|n1\n"
    "12|12|cid|chem|main|2026-11-26T10:00:00|2026-11-26T10:00:00|None|2026-11-26T10:20:00|"
    "CANCELLED by 0|00:10:00||cpu=2|None assigned\n"
    "13|13|cid|chem|main|2026-11-26T10:00:00|2026-11-26T10:00:00|2026-11-26T10:30:00|Unknown|"
    "RUNNING|00:10:00|cpu=2|cpu=2|n3\n"
    "14_[1-9]|14|cid|chem|main|2026-11-26T10:00:00|Unknown|Unknown|Unknown|PENDING|00:10:00||"
    "cpu=2|None assigned\n"
)
TEN = 1795687200  # 2026-11-26T10:00:00Z


def test_rows_are_finished_jobs() -> None:
    log = parse_acct((HEADER + ROWS).splitlines(), "sacct.txt")
    assert log.problems == ()
    assert [job.id for job in log.jobs] == ["8", "9[3]", "10", "12"]
    assert log.passed_over == {"step": 1, "unfinished": 1, "pending": 1}
    wide, task, _, cancelled = log.jobs
    assert (wide.submit, wide.start, wide.end) == (TEN, TEN + 300, TEN + 2100)
    assert (wide.slots, wide.hosts, wide.run_limit) == (8, {"n1": 4, "n2": 4}, 3600)
    assert wide.res_req == "rusage[mem=2048] span[ptile=4]"
    assert (wide.user, wide.project, wide.queue, wide.status) == ("ann", "physics", "main", 64)
    assert (task.begin, task.status, task.queue) == (TEN + 60, 32, "main")
    assert (cancelled.start, cancelled.hosts) == (0, {})


def test_a_header_without_a_column_and_a_short_row_are_refused() -> None:
    with pytest.raises(InputError, match="has no column state: add them to sacct -o"):
        parse_acct(["JobID|Submit|Start|End|NCPUS|NodeList"], "log")
    log = parse_acct([HEADER, "8|8|ann"], "log")
    assert "must have 14 columns like line 1, not 3" in str(log.problems[0])


def test_history_and_import_take_it(tmp_path: Path) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(HEADER + ROWS)
    assert len(read_acct(path).jobs) == 4
    target = tmp_path / "then.yaml"
    code, said = run("import", "acct", path, "--at", str(TEN + 330), "-o", target)
    assert code == 0, said
    found = sw.load(target)
    assert {item.job.id: dict(item.allocation) for item in found.running} == {
        "8": {"n1": 4, "n2": 4}, "9[3]": {"n1": 3}, "10": {"n1": 1}
    }  # fmt: skip
    assert [job.id for job in found.pending] == ["12"]


def test_forecasts_take_it_as_history(tmp_path: Path) -> None:
    rows = "".join(
        f"{n}|{TEN + n}|{TEN + n}|{TEN + n + 300}|COMPLETED|2|00:30:00|main|root|n1\n"
        for n in range(1, 60)
    )
    path = tmp_path / "sacct.txt"
    path.write_text(f"JobID|Submit|Start|End|State|NCPUS|Timelimit|Partition|User|NodeList\n{rows}")
    few = sw.Drawing(samples=5)
    line = "sbatch -n1 --mem=10 -t 20"
    answer = sw.ask(instance_of(texts_of("live")), line, history=path, drawing=few)
    assert answer.forecast
