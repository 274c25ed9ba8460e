"""What commands and logs of one cluster disagree in: domains, cut names, errors, btop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slotwise import InputError, Instance, load
from slotwise.cli.main import app
from typer.testing import CliRunner

HEAD = "HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV\n"


def bhosts(*names: str) -> str:
    """Plain bhosts of hosts with 4 slots."""
    return HEAD + "".join(f"{n:<18} ok  -  4  0  0  0  0  0\n" for n in names)


def bjobs(*records: dict[str, str]) -> str:
    common = {"JOBINDEX": "0", "USER": "ann", "QUEUE": "q", "RUNTIMELIMIT": "60.0"}
    common["SUBMIT_TIME"] = "Apr 12 18:10:00 2026"
    rows = [item if "ERROR" in item else common | item for item in records]
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(rows), "RECORDS": rows})


def imported(path: Path, jobs: str, hosts: str, site: str = "") -> tuple[Instance, str]:
    """The instance, and what was told."""
    (path / "jobs").write_text(jobs)
    (path / "hosts").write_text(hosts)
    (path / "site.yaml").write_text(site)
    given = ["--bjobs", path / "jobs", "--bhosts", path / "hosts", "-o", path / "o.yaml"]
    given += ["--site", path / "site.yaml"] if site else []
    result = CliRunner().invoke(app, ["import", "snapshot", *map(str, given)])
    assert result.exit_code == 0, (result.stderr, result.exception)
    return load(path / "o.yaml"), " ".join(result.stderr.split())


RUNS = {"STAT": "RUN", "START_TIME": "Apr 12 18:10:00 2026", "RUN_TIME": "600 second(s)"}
WAITS = {"STAT": "PEND", "NREQ_SLOT": "6", "ASKED_HOSTS": "b.site.org! a.site.org+2"}


@pytest.mark.behaviour("CFG-01")
def test_a_domain_makes_no_other_host(tmp_path: Path) -> None:
    jobs = bjobs({"JOBID": "1", "ALLOC_SLOT": "2*a.site.org", **RUNS}, {"JOBID": "2", **WAITS})
    found, told = imported(tmp_path, jobs, bhosts("a", "b"))
    assert [host.name for host in found.cluster.hosts] == ["a", "b"]
    assert found.running[0].allocation == {"a": 2}
    asked = [(host.name, host.preference, host.first) for host in found.pending[0].hosts]
    assert asked == [("b", 0, True), ("a", 2, False)]
    assert "only one name has a domain: a.site.org and a, b.site.org and b" in told


def moved(number: int, time: int, position: int, base: int) -> str:
    return f'"JOB_MOVE" "10.108" {time} 1501 {number} {position} {base} 0 "ann"'


def test_a_place_that_is_none_is_told(tmp_path: Path) -> None:
    log = tmp_path / "lsb.events"
    log.write_text("\n".join([moved(1, 1_600_000_000, 0, 1), moved(1, 1_600_000_000, 1, 3)]))
    found = CliRunner().invoke(app, ["import", "events", str(log)])
    assert isinstance(found.exception, InputError)
    told = [problem.message for problem in found.exception.problems]
    place = "position must be 1 or more and base 1 (top) or 2 (bottom), not "
    assert [place in message for message in told] == [True, True]
