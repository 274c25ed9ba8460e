"""Accounting records: real ones, malformed ones, and what the loop makes of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Cluster, Host, InputError, Instance
from slotwise.cli.main import app
from slotwise.model.sources.acct import Requirements, parse_acct, read_acct, split
from slotwise.model.sources.trace import from_acct, from_swf
from slotwise.model.workload import Workload
from slotwise.solver.scheduler.simulation import simulate
from typer.testing import CliRunner

ACCT = Path(__file__).parents[1] / "data" / "acct"
GOOD = (ACCT / "lsb.acct.small-cluster").read_text().splitlines()[0]


def test_older_records_may_end_earlier() -> None:
    jobs = read_acct(ACCT / "lsb.acct.older").jobs
    assert [(job.id, job.res_req, sum(job.hosts.values())) for job in jobs] == [
        ("513431", "span[hosts=1]", 4),
        ("513433", "span[hosts=1]", 4),
    ]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        (3, "x", "jobId must be a whole number, not 'x' (field 4)"),
        (2, "1e9", "eventTime"),
        (6, "-4", "must be 0 or more, not 101 and -4"),
        (7, "1743910037", "must be submitted, started and finished in this order"),
        (22, "999", "numAskedHosts must be a list length from 0 to 124, not 999"),
        (1, '"ten"', "version"),
    ],
)
def test_one_field_at_a_time(field: int, value: str, says: str) -> None:
    words = [f'"{w}"' if not w.lstrip("-").replace(".", "").isdigit() else w for w in split(GOOD)]
    words[field] = value
    problems = parse_acct([GOOD, " ".join(words)]).problems
    assert [problem.line for problem in problems] == [2]
    assert says in problems[0].message


@pytest.mark.behaviour("CFG-04")
def test_a_small_skew_of_clocks_is_repaired_and_counted() -> None:
    words = [f'"{w}"' if not w.lstrip("-").replace(".", "").isdigit() else w for w in split(GOOD)]
    job = parse_acct([GOOD]).jobs[0]
    for submit, problems in ((job.start + 3, 0), (job.start + 300, 0), (job.start + 301, 1)):
        words[7] = str(submit)
        log = parse_acct([" ".join(words)])
        assert (len(log.problems), log.repaired) == (problems, 1 - problems)
        assert [job.start for job in log.jobs] == [submit] * (1 - problems)
        assert sum("clocks differ" in line for line in log.remarks) == 1 - problems


def test_fifty_malformed_records_each_with_its_line() -> None:
    words = GOOD.split(" ")
    lines = []
    for number in range(50):
        lines += [GOOD, " ".join(words[: 5 + number])]
    log = parse_acct(lines)
    assert [problem.line for problem in log.problems] == list(range(2, 101, 2))
    assert len(log.jobs) == 50
    assert [job.id for job in log.jobs[:3]] == ["101", "101#2", "101#3"]


@given(st.text(max_size=200))
def test_any_text_is_read_or_reported(text: str) -> None:
    log = parse_acct(text.splitlines())
    asked = [line for line in text.splitlines() if line.strip() and line.strip()[0] != "#"]
    assert len(log.jobs) + len(log.problems) + sum(log.passed_over.values()) == len(asked)


def test_records_whose_requirement_cannot_be_read_are_left_out_and_counted() -> None:
    """On a cluster that is given: of others the part that can be heeded is asked for."""
    log = read_acct(ACCT / "lsb.acct.small-cluster")
    cluster = from_acct(log.jobs).instance
    jobs = [
        replace(job, res_req=text)
        for job, text in zip(
            (job for job in log.jobs if job.start and job.hosts),
            ["rusage[x=1] span[hosts=1]", "select[mem>?]", ""],
            strict=False,
        )
    ]
    found = from_acct(jobs, cluster=cluster)
    assert [job.res_req for job in found.instance.future] == [("span[hosts=1]",), ()]
    assert found.left_out == {
        "job whose requirement cannot be read: select[mem>?]": 1,
        "part of the requirement rusage[x=1] span[hosts=1]": 1,
    }
    assert len(simulate(found.instance).starts) == 2


def test_swf_over_hosts() -> None:
    log = Workload.of([0, 0, 5], [60, 60, 60], [90, 90, 90], [6, 3, 4], max_procs=7)
    instance = from_swf(log, hosts=2)
    assert [host.slots for host in instance.cluster.hosts] == [4, 3]
    assert simulate(instance, cycle=0).starts == {"1": 0, "2": 60, "3": 60}
    with pytest.raises(InputError, match="--hosts"):
        from_swf(log)


def test_the_command_refuses_and_goes_on(tmp_path: Path) -> None:
    runner = CliRunner()
    path = str(ACCT / "lsb.acct.missing-fields")
    refused = runner.invoke(app, ["simulate", path])
    assert isinstance(refused.exception, InputError)
    jobs = tmp_path / "jobs.json"
    done = runner.invoke(app, ["simulate", path, "--keep-going", "--jobs", str(jobs)])
    assert done.exit_code == 0
    assert done.stderr.count("warning") == 5
    assert [record["job"] for record in json.loads(jobs.read_text())] == ["386"]


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({}, "span[hosts=1]"),
        ({"mem": 4000.0}, "select[mem>1000] rusage[mem=1000] span[hosts=1]"),
        ({"swp": 4000.0}, "span[hosts=1]"),
    ],
)
def test_memory_counts_where_the_site_tells_that_of_its_hosts(
    told: dict[str, float], kept: str
) -> None:
    site = Instance(Cluster((Host("a", 4, amounts=told),)))
    found, gone = Requirements(site).of("select[mem>1000] rusage[mem=1000] span[hosts=1]", 1)
    assert " ".join((found or "").split()) == kept
    assert bool(gone) == ("mem" not in told)
