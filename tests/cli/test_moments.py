"""Views of a moment of a simulation: one truth with `simulate`; bhist, busers, blimits."""

import json
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import workloads
from slotwise import InputError, example
from slotwise.cli.main import app
from slotwise.solver.scheduler.history import STATES, follow, snapshot_at
from slotwise.solver.scheduler.simulation import simulate
from typer.testing import CliRunner


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", *arguments])
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def data(*arguments: str) -> Any:
    return json.loads(shown(*arguments, "--format", "json"))


@examples(40)
@given(workloads(), st.sampled_from(["none", "greedy", "time-based"]), st.data())
def test_a_moment_of_a_random_simulation(problem: Any, method: str, data: Any) -> None:
    whole = simulate(problem, reservation=method)
    at = data.draw(st.integers(problem.now, whole.time))
    moment = snapshot_at(problem, at, reservation=method)
    running = {item.job.id: item.start for item in moment.instance.running}
    assert running == {
        r.job: r.start
        for r in whole.jobs
        if r.start is not None and r.start <= at and (r.end is None or at < r.end)
    }
    waiting = {job.id for job in moment.instance.pending}
    assert waiting == {
        r.job
        for r in whole.jobs
        if (r.submit <= at or r.job in {job.id for job in problem.pending})
        and (r.start is None or r.start > at)
    }
    assert all(moment.waiting[name].reasons for name in waiting)
    everyone = {*running, *waiting, *(r.job for r in moment.finished)}
    assert everyone | {job.id for job in moment.instance.future} == {r.job for r in whole.jobs}


def test_at_in_every_view() -> None:
    lines = shown("bjobs", "--example", "headline", "--at", "+2h", "--reservation", "greedy", "-lp")
    assert "-15m: Reserved <5> job slots on host(s) <2*hostA 2*hostC 1*hostD>;" in lines
    assert " Job slot limit reached: hostB;\n Not enough job slot(s): hostD;\n" in lines
    hosts = {row["HOST_NAME"]: row for row in data("bhosts", "--example", "headline", "--at", "2h")}
    assert [(h["RUN"], h["RSV"]) for h in hosts.values()] == [(0, 2), (4, 0), (1, 2), (3, 1)]
    queue = data("bqueues", "--example", "headline", "--at", "7200")[0]
    assert (queue["RUN"], queue["RSV"], queue["PEND"]) == (8, 5, 1)
    (user,) = data("busers", "--example", "headline", "--at", "2h")
    assert (user["NJOBS"], user["RUN"], user["RSV"], user["PEND"]) == (14, 8, 5, 1)


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("+200h", "--at: second 720000 is after the simulation, which ends at second 14400 (+4h)"),
        ("soon", "--at: must be a time such as 2h"),
        ("2026-01-01T00:00:00Z", "--at: the instance has no origin"),
    ],
)
def test_bad_times(at: str, words: str) -> None:
    assert words in refused("bjobs", "--example", "headline", "--at", at)
    assert words in refused("bhist", "--example", "headline", "--at", at)


def test_before_the_beginning(tmp_path: Path) -> None:
    file = tmp_path / "late.yaml"
    file.write_text("format: slotwise/1\nnow: 100\nhosts: [{name: a, slots: 1}]\n")
    words = "--at: second 99 is before the simulation, which begins at second 100"
    assert words in refused("bjobs", str(file), "--at", "99")


def test_stamps_are_instants_of_an_instance_with_an_origin() -> None:
    by_clock = shown("bjobs", "--example", "qat-time-based", "--at", "2026-01-05T17:39:13Z")
    origin = sw.load(example("qat-time-based")).origin
    assert origin is not None
    assert by_clock == shown("bjobs", "--example", "qat-time-based", "--at", "+2h")


def test_arguments_where_lsf_takes_them() -> None:
    assert shown("bhosts", "-l", "--example", "headline", "hostA").startswith("HOST  hostA\n")
    assert shown("bhosts", str(example("headline")), "hostA", "hostB").count("host") == 2
    text = shown("bjobs", "-u", "all", "-p", "--example", "headline", "job5")
    assert text.splitlines()[1:] == [
        "job5   user  PEND  parallel  -          -          -         now",
        " Job slot limit reached: 2 hosts;",
        " Not enough job slot(s): 2 hosts;",
    ]
    assert shown("bqueues", "--example", "site", "normal").splitlines()[1].startswith("normal ")
    assert len(data("bqueues", "--example", "site", "all")) == len(sw.load(example("site")).queues)
    running = data("bjobs", "-r", "-m", "hostB", "--example", "headline")
    assert [row["job"] for row in running] == ["job3"]
    assert data("bjobs", "-q", "normal", "-u", "carol", "--example", "slot-limits") != []
    ended = data("bjobs", "-d", "--example", "headline", "--at", "4h", "job1", "job5")
    assert [(row["job"], row["status"], row["end"]) for row in ended] == [
        ("job1", "DONE", 10800),
        ("job5", "DONE", 14400),
    ]
    assert shown("bjobs", "-d", "--example", "headline") == "No finished job found\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bjob"], "unknown view 'bjob' (did you mean 'bjobs'?): use one of bhist, bhosts"),
        (["bhosts", "hosta"], "unknown host 'hosta' (did you mean 'hostA'?)"),
        (["bhosts", "-u", "all"], "-u: does not apply to bhosts, which has -l, -s"),
        (["bqueues", "paralel"], "unknown queue 'paralel' (did you mean 'parallel'?)"),
        (["bjobs", "-q", "paralel"], "unknown queue 'paralel' (did you mean 'parallel'?)"),
        (["bjobs", "-u", "usr"], "unknown user 'usr' (did you mean 'user'?)"),
        (["bjobs", "-m", "hostX"], "unknown host 'hostX' (did you mean 'host"),
        (["busers", "usr"], "unknown user 'usr' (did you mean 'user'?)"),
        (["bhist", "job9"], "unknown job 'job9' (did you mean 'job"),
        (["blimits", "x"], "unknown limit 'x'"),
        (["bjobs", "--reservations", "2"], "--reservations needs --at"),
        (
            ["bjobs", "--at", "1h", "--no-cycle"],
            "--cycle and --no-cycle apply only to the instance's now",
        ),
    ],
)
def test_what_is_not_there_is_named(arguments: list[str], words: str) -> None:
    assert words in refused(*arguments, "--example", "headline")


def test_bhist_tells_what_happened(tmp_path: Path) -> None:
    """Example 1 of the documents; its reservation runs out every 20 cycles, here in none."""
    text = example("qat-time-based").read_text()
    assert "MAX_RESERVE_TIME[20]" in text
    file = tmp_path / "qat.yaml"
    file.write_text(text.replace("MAX_RESERVE_TIME[20]", "MAX_RESERVE_TIME[2000]"))
    assert shown("bhist", str(file), "-l", "11898") == (
        "Job <11898>, User <user1>, Project <default>\n"
        "Mon Jan 05 15:39:13: Submitted, to Queue <qat>, 6 Processors Requested, "
        "Requested Resources <span[ptile=2]>;\n"
        " RUNLIMIT\n"
        " 840.0 min\n"
        "Mon Jan 05 15:39:13: Reserved <2> job slots on host(s) <2*qat26>;\n"
        "Mon Jan 05 15:39:13: Pending: Job slot limit reached: qat24, qat25;\n"
        "Tue Jan 06 01:39:13: Reserved <4> job slots on host(s) <2*qat24 2*qat26>;\n"
        "Tue Jan 06 01:39:13: Pending: Job slot limit reached: qat25;\n"
        "Tue Jan 06 03:39:13: Dispatched to 6 Hosts/Processors <2*qat24> <2*qat25> <2*qat26>;\n"
        "Tue Jan 06 17:39:13: Done successfully;\n"
        "\n"
        "Summary of time in seconds spent in various states by  Tue Jan 06 17:39:13\n"
        "PEND   PSUSP  RUN    USUSP  SSUSP  UNKWN  TOTAL\n"
        "43200  0      50400  0      0      0      93600\n"
    )
    lines = shown("bhist", "--example", "qat-time-based", "-l", "11898").splitlines()
    assert "Mon Jan 05 15:59:13: Released its reservation;" in lines


@examples(40)
@given(workloads(), st.sampled_from(["none", "greedy", "time-based"]))
def test_histories_agree_with_the_records(problem: Any, method: str) -> None:
    """Seconds of each state counted from the records; every job that waited says why."""
    whole = simulate(problem, reservation=method)
    found, until = follow(problem, reservation=method)
    assert until == whole.time
    records = {record.job: record for record in whole.jobs}
    assert {item.job.id for item in found} == set(records)
    for item in found:
        record = records[item.job.id]
        times = [event.time for event in item.events]
        assert times == sorted(times)
        assert tuple(item.seconds) == STATES
        end = until if record.end is None else record.end
        assert item.total == max(0, end - record.submit)
        if record.suspensions == record.requeues == 0 and record.start is not None:
            assert item.seconds["PEND"] == record.start - record.submit
            assert item.seconds["RUN"] == end - record.start
        if record.reason and not record.backfilled:
            assert any(event.reasons for event in item.events)


def test_suspended_and_killed_jobs(tmp_path: Path) -> None:
    file = tmp_path / "preempt.yaml"
    file.write_text(
        "format: slotwise/1\n"
        "params: {MBD_SLEEP_TIME: 10}\n"
        "hosts: [{name: a, slots: 1}]\n"
        "queues:\n"
        "- {name: low, PRIORITY: 1, PREEMPTION: 'PREEMPTABLE'}\n"
        "- {name: high, PRIORITY: 9, PREEMPTION: 'PREEMPTIVE'}\n"
        "running: [{id: l, queue: low, start: 0, run_limit: 1h, allocation: 1*a}]\n"
        "future: [{id: h, queue: high, submit: 600, run_limit: 10m, run_time: 20m}]\n"
    )
    low, high = data("bhist", str(file))
    assert low["seconds"]["SSUSP"] == high["seconds"]["RUN"] == 600
    assert [event["event"] for event in low["events"]] == [
        *("submitted", "dispatched", "suspended", "resumed", "done"),
    ]
    assert high["events"][-1]["event"] == "killed"
    text = shown("bhist", "-l", str(file), "h")
    assert "TERM_RUNLIMIT: job killed after reaching LSF run time limit;" in text


SITE = """format: slotwise/1
params: {DEFAULT_QUEUE: q}
hosts: [{name: a, slots: 8, mem: 1000}, {name: b, slots: 8, mem: 1000}]
shared_resources: [{name: lic, amount: 4}]
queues: [{name: q}]
user_groups: [{name: g, members: [ann, bob]}]
users: [{name: ann, MAX_JOBS: 6}, {name: g, JL/P: 1}, {name: default, MAX_JOBS: 3}]
limits:
- {name: each, PER_USER: all, SLOTS: 5, JOBS: 2}
- {name: onhost, PER_HOST: a, MEM: 500}
- {name: tools, USERS: g, QUEUES: q, RESOURCE: "[lic,3]"}
- {name: idle, PROJECTS: p, SLOTS: 9}
running:
- {id: "1", user: ann, start: 0, run_limit: 1h, allocation: 2*a 1*b,
   res_req: "rusage[mem=100:lic=1]"}
- {id: "2", user: bob, start: 0, run_limit: 1h, allocation: 1*a, res_req: "rusage[mem=50]"}
pending:
- {id: "3", user: eve, queue: q, bsub: "-n 2 -W 60 -m a -R rusage[mem=400]"}
"""


@pytest.fixture
def site(tmp_path: Path) -> str:
    file = tmp_path / "site.yaml"
    file.write_text(SITE)
    return str(file)


def test_busers(site: str) -> None:
    assert [line.split() for line in shown("busers", site).splitlines()] == [
        ["USER/GROUP", "JL/P", "MAX", "NJOBS", "PEND", "RUN", "SSUSP", "USUSP", "RSV"],
        ["ann", "-", "6", "3", "0", "3", "0", "0", "0"],
        ["bob", "-", "3", "1", "0", "1", "0", "0", "0"],
        ["eve", "-", "3", "2", "2", "0", "0", "0", "0"],
        ["g", "1", "-", "4", "0", "4", "0", "0", "0"],
    ]


def test_blimits(site: str) -> None:
    assert shown("blimits", site) == (
        "INTERNAL RESOURCE LIMITS:\n\n"
        "NAME    USERS  QUEUES  HOSTS  PROJECTS  SLOTS      MEM  TMP  SWP  JOBS\n"
        "each    ann    -       -      -           3/5        -    -    -   1/2\n"
        "each    bob    -       -      -           1/5        -    -    -   1/2\n"
        "onhost  -      -       a      -             -  150/500    -    -     -\n"
        "\n"
        "EXTERNAL RESOURCE LIMITS:\n\n"
        "NAME   USERS  QUEUES  HOSTS  PROJECTS  lic\n"
        "tools  g      q       -      -         1/3\n"
    )
    everything = shown("blimits", "-a", site)
    assert "eve" in everything
    assert "idle    -      -       -      p           0/9" in everything
    assert shown("blimits", "-u", "bob", site, "each").count("bob") == 1
    assert shown("blimits", "-c", site, "tools") == (
        "Begin Limit\n"
        "NAME                = tools\n"
        "USERS               = g\n"
        "QUEUES              = q\n"
        "RESOURCE            = [lic, 3]\n"
        "End Limit\n"
    )
    assert shown("blimits", "--example", "headline") == "No limit is configured.\n"
    assert "Resource (mem) limit defined on host and/or host group has been reached: a;" in shown(
        "bjobs", "-lp", site
    )


@pytest.mark.parametrize("format", ["json", "csv"])
@pytest.mark.parametrize("view", ["busers", "blimits", "bhist"])
def test_the_same_as_data(site: str, view: str, format: str) -> None:
    text = shown(view, site, "--format", format)
    rows = json.loads(text) if format == "json" else text.splitlines()
    assert len(rows) >= 3
