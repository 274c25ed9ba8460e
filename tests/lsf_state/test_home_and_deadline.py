"""The submission host and -t of jobs, from bjobs, lsb.events and lsb.acct (PAI-07, PAI-08)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from event_lines import job_new as _new
from slotwise import Job, loads
from slotwise.cli.main import app
from typer.testing import CliRunner

SITE = (
    "format: slotwise/1\n"
    "hosts: [{name: h1, slots: 4, type: X86}, {name: h2, slots: 4, type: PPC}]\n"
    "queues: [{name: q}]\n"
)


def _imported(path: Path, command: str, *words: str) -> Job:
    site = path / "site.yaml"
    site.write_text(SITE)
    result = CliRunner().invoke(app, ["import", command, *words, "--site", str(site)])
    assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
    (job,) = loads(result.stdout).pending
    return job


@pytest.mark.behaviour("PAI-08")
@pytest.mark.parametrize(("host", "known"), [("h1", "h1"), ("h2.site.org", "h2"), ("login1", "")])
def test_bjobs_tells_the_submission_host(tmp_path: Path, host: str, known: str) -> None:
    """Of a host that is none of the cluster's nothing is known."""
    long = "Job <5>, User <ann>, Project <p>, Status <PEND>, Queue <q>, Command <x>\n"
    long += f"Fri May 10 17:21:26: Submitted from host <{host}>, CWD <$HOME>, 4 Task(s), "
    long += "Specified Termination Time <Fri May 10 19:00:00>;\n"
    columns = {"JOBID": "5", "STAT": "PEND", "USER": "ann", "QUEUE": "q", "FROM_HOST": host}
    columns |= {"SUBMIT_TIME": "May 10 17:21", "SPECIFIED_TERMINATE_TIME": "May 10 19:00"}
    listing = json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [columns]})
    for name, text in (("long.txt", long), ("list.json", listing)):
        file = tmp_path / name
        file.write_text(text)
        words = ("--bjobs", str(file), "--now", "2024-05-10T18:00:00Z")
        job = _imported(tmp_path, "snapshot", *words)
        assert (job.from_host, job.deadline) == (known, H)


H = 3600


def test_events_tell_host_termination_time_and_bmod(tmp_path: Path) -> None:
    no_limits = " ".join(["-1"] * 11)

    def seen(*more: str) -> tuple[str, int | None, int | None]:
        log = tmp_path / "lsb.events"
        log.write_text("\n".join([_new(1, 100, deadline=900, begin=200, from_host="h1"), *more]))
        job = _imported(tmp_path, "events", str(log), "--at", "150")
        begin, end = (None if time is None else time + 150 for time in (job.begin, job.deadline))
        return job.from_host, begin, end

    assert seen() == ("h1", 200, 900)
    bmod = '"JOB_MODIFY2" "10.108" 141 "1" 0 0 0 1501 "ann" 120 18 0 {} {} 0 0 {} -1 "/"'
    for begin, end, wanted in ((0, 0, (200, 900)), (0, 700, (200, 700)), (-2, -2, (None, None))):
        assert seen(bmod.format(begin, end, no_limits))[1:] == wanted
