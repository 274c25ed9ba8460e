"""What commands and logs of one cluster disagree in: domains, cut names, errors, btop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from event_lines import job_new, job_start
from slotwise import Instance, load
from slotwise.cli.main import app
from slotwise.model.formats.names import Domains
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.event_log import cut
from slotwise.model.sources.lsf_state.log_records import parse_events
from slotwise.solver.fairshare.priority_order import priority_order
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


def test_a_site_s_names_come_first(tmp_path: Path) -> None:
    site = (
        "format: slotwise/1\nhosts: [{name: a.site.org, slots: 4}, {name: b.site.org, slots: 4}]\n"
    )
    jobs = bjobs({"JOBID": "1", "ALLOC_SLOT": "2*a", **RUNS})
    found, told = imported(tmp_path, jobs, bhosts("a", "b"), site)
    assert [host.name for host in found.cluster.hosts] == ["a.site.org", "b.site.org"]
    assert found.running[0].allocation == {"a.site.org": 2}
    assert "the site does not know" not in told


def test_what_is_unclear_stays_apart() -> None:
    known = Domains(["a.x.org", "a.y.org", "b", "10.0.0.1"])
    assert [known.known(name) for name in ("a", "b.x.org", "c", "a.z.org", "10.0.0.2", "10")] == [
        "a", "b", "c", "a.z.org", "10.0.0.2", "10",
    ]  # fmt: skip
    assert Domains(["a.x.org"]).known("a.y.org") == "a.y.org"


def test_a_job_that_bjobs_does_not_find_stops_nothing(tmp_path: Path) -> None:
    jobs = bjobs({"JOBID": "7", "ERROR": "Job <7> is not found"}, {"JOBID": "2", **WAITS})
    found, told = imported(tmp_path, jobs, bhosts("a", "b"))
    assert [job.id for job in found.pending] == ["2"]
    assert "bjobs says of one job only: Job <7> is not found" in told


def test_cut_names_say_which_command_does_not_cut(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(bhosts("*3.cluster.site.o"))
    result = CliRunner().invoke(app, ["import", "snapshot", "--bhosts", str(tmp_path / "hosts")])
    assert "its name is truncated: give the output of bhosts -w" in str(result.exception)


def moved(number: int, time: int, position: int, base: int) -> str:
    return f'"JOB_MOVE" "10.108" {time} 1501 {number} {position} {base} 0 "ann"'


def test_btop_and_bbot_of_a_log_count_in_the_order(tmp_path: Path) -> None:
    lines = [job_new(n, 1_600_000_000 + n) for n in (1, 2, 3, 4, 5)]
    lines.append(job_start(1, 1_600_000_010, "a"))
    lines.append(moved(4, 1_600_000_020, 1, 1))  # 4 2 3 5
    lines.append(moved(2, 1_600_000_021, 1, 2))  # 4 3 5 2
    lines.append(moved(5, 1_600_000_022, 1, 1))  # 5 4 3 2
    lines.append(moved(1, 1_600_000_023, 1, 1))  # it runs
    bad = BadRecords()
    moment = cut(parse_events(lines, bad, {}), None)
    assert bad.count == 0
    assert [job.queued_as is not None for job in moment.jobs] == [False, True, False, True, True]
    (tmp_path / "lsb.events").write_text("\n".join(lines) + "\n")
    path = tmp_path / "o.yaml"
    given = ["import", "events", str(tmp_path / "lsb.events"), "-o", str(path)]
    assert CliRunner().invoke(app, given).exit_code == 0
    assert [job.id for job in priority_order(load(path))] == ["5", "4", "3", "2"]


def test_a_place_that_is_none_is_told() -> None:
    bad = BadRecords()
    list(parse_events([moved(1, 1_600_000_000, 0, 1), moved(1, 1_600_000_000, 1, 3)], bad, {}))
    assert bad.count == 2
    assert (
        "position must be 1 or more and base 1 (top) or 2 (bottom), not " in bad.problems[0].message
    )
