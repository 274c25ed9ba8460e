"""lsb.events, lsb.acct and SWF: records, moments, past usage, wrong kinds, memory."""

from __future__ import annotations

import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from event_lines import job_new as _new
from event_lines import job_start as _start
from event_lines import job_status as _status
from slotwise import InputError, Problem, load, loads
from slotwise.cli.main import app
from slotwise.model.formats.reading import kind_of
from slotwise.model.input_limits import limited
from slotwise.model.sources.acct import FinishedJob, read_acct
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.event_log import Moment, cut
from slotwise.model.sources.lsf_state.log_records import LogRecord, parse_events
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.reports import PastUsage
from typer.testing import CliRunner

DATA = Path(__file__).parents[1] / "data"
EVENTS = DATA / "lsf" / "lsb.events"
ACCT = DATA / "acct" / "lsb.acct.small-cluster"
SWF = DATA / "traces" / "KTH-SP2.swf.gz"


def _run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(item) for item in arguments])
    if isinstance(result.exception, InputError):
        return 2, result.stdout, str(result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def _parse(*lines: str) -> tuple[list[LogRecord], list[Problem]]:
    bad = BadRecords()
    return list(parse_events(lines, bad, {}, "lsb.events")), bad.problems


def _moment(*lines: str, at: int | None = None, later: bool = False) -> Moment:
    records, problems = _parse(*lines)
    assert problems == []
    return cut(records, at, later=later)


def test_what_a_submission_says() -> None:
    moment = _moment(
        _new(7, 100, options=0x42 | 0x4000000, slots=4, most=8, res_req="span[ptile=2]", limit=3600,
             group="g", priority=50, hosts='2 "hostA+1" "hg"', app="fluent", port="4711 "),
        _new(8, 101, name="array[1-5:2]%2"),
    )  # fmt: skip
    job, *elements = moment.jobs
    assert (job.id, job.slots, job.max_slots, job.exclusive) == ("7", 4, 8, True)
    assert (job.res_req, job.run_limit, job.group) == ("span[ptile=2]", 3600, "g")
    assert (job.priority, job.hosts, job.application) == (50, "hostA+1 hg", "fluent")
    assert [item.id for item in elements] == ["8[1]", "8[3]", "8[5]"]


def test_what_happens_to_jobs() -> None:
    lines = (
        _new(1, 100, limit=600), _start(1, 110, "a", "a", "b"),
        _new(2, 120), _new(3, 130, name="x[1-2]"),
        '"JOB_SWITCH" "10.108" 140 1501 2 "night" 0 "ann"',
        '"JOB_MODIFY2" "10.108" 141 "2" 262144 0 0 1501 "ann" 120 18 6 0 0 -65535 0 '
        '"span[hosts=1]" -1 -1 -1 -1 -1 -1 -1 -1 -1 7200 -1 "/home/ann"',
        _start(3, 150, "4*b", idx=2), _status(3, 155, 2, idx=1),
        _status(1, 160, 16), _status(1, 190, 4),
        '"JOB_RESIZE_NOTIFY_START" "10.108" 191 1 0 5 1 "2*c"',
        '"JOB_RESIZE_RELEASE" "10.108" 192 1 0 6 1 "a"',
        '"HOST_CTRL" "10.108" 193 2 "b" 0 "root" "broken"',
        '"QUEUE_CTRL" "10.108" 194 4 "night" 0 "root" ""',
        '"QUEUE_CTRL" "10.108" 194 2 "day" 0 "root" ""',
        _status(1, 210, 64), _status(1, 211, 192), _status(9, 212, 4),
    )  # fmt: skip
    at = _moment(*lines, at=200)
    by_id = {job.id: job for job in at.jobs}
    assert {id: job.status for id, job in by_id.items()} == {
        "1": "RUN", "2": "PEND", "3[1]": "PSUSP", "3[2]": "RUN",
    }  # fmt: skip
    one, two = by_id["1"], by_id["2"]
    assert one.allocation == {"a": 1, "b": 1, "c": 2}
    assert (one.run_time, one.real_run_time) == (200 - 110 - 30, 210 - 110 - 30)
    assert (two.queue, two.slots, two.res_req, two.run_limit) == ("night", 6, "span[hosts=1]", 7200)
    assert by_id["3[2]"].allocation == {"b": 4}
    assert {host.name: (host.slots, host.status) for host in at.hosts} == {
        "a": (2, "ok"), "b": (5, "closed_Adm"), "c": (2, "ok"),
    }  # fmt: skip
    assert (at.idle_queues, at.closed_queues, at.unknown) == (["night"], ["day"], 1)
    suspended = _moment(*lines, at=170)
    assert {j.id: j.status for j in suspended.jobs}["1"] == "USUSP"
    end = _moment(*lines)
    assert {job.id for job in end.jobs} == {"2", "3[1]", "3[2]"}


ANY_SLOTS = 2**31 - 2
NO_LIMITS = " ".join(["-1"] * 11)


@pytest.mark.parametrize(
    ("record", "is_now"),
    [
        (f'"1" 0 0 0 0 "ann" 1 18 {ANY_SLOTS} 0 0 -65535 0 {NO_LIMITS}', ()),
        (f'"1" 2 0 0 0 "ann" 1 18 {ANY_SLOTS} 0 0 -65535 0 "night" {NO_LIMITS}', ("queue",)),
        (f'"1" 3 0 0 0 "ann" 1 18 8 0 0 0 0 "name" "night" {NO_LIMITS}', ("queue", "slots")),
        (f'"1" 4 0 0 0 "ann" 1 18 {ANY_SLOTS} 0 0 0 0 2 "a" "b" {NO_LIMITS}', ()),
        (
            f'"1" 262151 0 0 0 "ann" 1 18 8 0 0 0 0 "n" "night" 1 "a" "span[hosts=1]" {NO_LIMITS}',
            ("queue", "slots", "res_req"),
        ),
        (f'"1" 0 0 262144 0 "ann" 1 18 {ANY_SLOTS} 0 0 0 0 {NO_LIMITS}', ("no res_req",)),
        (
            f'"1" 0 0 0 0 "ann" 1 18 {ANY_SLOTS} 0 0 0 0 -1 -1 -1 -1 -1 -1 -1 -1 -1 900 -1',
            ("run_limit",),
        ),
    ],
)
def test_a_modification_has_the_fields_that_its_options_name(
    record: str, is_now: tuple[str, ...]
) -> None:
    """As volclava writes them: jobName, queue, hosts and resReq stand there only if modified."""
    new = _new(1, 100, limit=600, res_req="span[ptile=2]")
    (job,) = _moment(new, f'"JOB_MODIFY2" "10.108" 141 {record} "/home/ann"', at=150).jobs
    (before,) = _moment(new, at=150).jobs
    changed = {"queue": "night", "slots": 8, "res_req": "span[hosts=1]", "run_limit": 900}
    if "no res_req" in is_now:
        changed["res_req"], is_now = "", ("res_req",)
    for name, value in changed.items():
        assert getattr(job, name) == (value if name in is_now else getattr(before, name))


def test_a_log_that_was_switched_repeats_its_jobs() -> None:
    lines = (_new(1, 100), _start(1, 110, "a"), _new(1, 100), _start(1, 110, "a"))
    moment = _moment(*lines)
    assert [(job.id, job.start) for job in moment.jobs] == [("1", 110)]
    assert [(host.name, host.slots) for host in moment.hosts] == [("a", 1)]


def test_many_bad_records_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "lsb.events"
    file.write_text(EVENTS.read_text() + '"JOB_NEW" "10.108" x\n' * 400)
    code, _, said = _run("import", "events", file)
    lines = said.splitlines()
    assert code == 2
    assert len(lines) == 52  # 50 records, how many more, and what --keep-going does
    assert lines[0].startswith(f"{file}:666: the record has no jobId")
    assert "400" in said
    code, text, said = _run("import", "events", file, "--keep-going")
    assert code == 0
    assert len(loads(text).cluster.hosts) > 10
    assert len(said.splitlines()) < 65


SITE = """
format: slotwise/1
origin: 2022-02-03T18:00:00+00:00
now: {now}
params: {{ENABLE_HIST_RUN_TIME: Y, HIST_HOURS: {hours}}}
hosts: [{{name: h, slots: 40}}]
queues:
  - {{name: sender, FAIRSHARE: "USER_SHARES[[default,1]]"}}
"""
ZERO = 1643911200


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize("hours", [0, 5])
def test_a_years_accounting_gives_past_usage(tmp_path: Path, hours: int) -> None:
    site, out = tmp_path / "site.yaml", tmp_path / "out.yaml"
    site.write_text(SITE.format(now=7200, hours=hours))
    code, _, said = _run("import", "acct", ACCT, "--usage-for", site, "-o", out)
    jobs = [
        job
        for job in read_acct(ACCT).jobs
        if job.start and job.end <= ZERO + 7200 and job.queue == "sender"
    ]
    assert len(jobs) > 50
    assert (code, said) == (0, f"slotwise: {len(jobs)} finished jobs count for {site}\n")
    (usage,) = load(out).share_usage
    cpu = run = 0.0
    decay = math.log(10) / (hours * 3600) if hours else 0.0
    for job in jobs:
        since = ZERO + 7200 - job.end
        run += (job.end - job.start) * math.exp(-decay * since)
        if job.start < job.end:  # the integral, a second at a time
            seconds = np.arange(job.start, job.end)
            cpu += job.cpu_time * float(np.exp(-decay * (ZERO + 7200 - seconds - 0.5)).mean())
        cpu += job.cpu_time * math.exp(-decay * since) if job.start == job.end else 0.0
    assert (usage.policy, usage.account, usage.stamp) == ("sender", "simuser", 7200)
    assert usage.cpu_time == pytest.approx(cpu, abs=2e-3)
    assert usage.historical_run_time == pytest.approx(run, abs=1e-2)


def test_usage_of_partitions_pools_and_charged_accounts() -> None:
    instance = loads(
        "format: slotwise/1\nparams: {HIST_HOURS: 0}\n"
        "hosts: [{name: 'h[1-2]', slots: 8}]\n"
        "user_groups: [{name: g, members: a b, USER_SHARES: '[default,1]'},"
        " {name: f, members: a, USER_SHARES: '[default,1]'}]\n"
        "host_partitions: [{name: P, HOSTS: h1, USER_SHARES: '[g,1] [f,1]'}]\n"
        "queues: [{name: q}]\n"
    )
    job = FinishedJob(
        "1", "a", "q", "p", 0, 0, 10, 110, 4, 4, {"h1": 3, "h2": 1}, "", None, 80.0, 64
    )
    for charged, account in (("", "g/a"), ("/f/a", "f/a"), ("/P/f/a", "f/a")):
        past = PastUsage(_at(instance, 200), 0)
        past.add(_charged(job, charged))
        (usage,) = past.instance_with_usage().share_usage
        assert (usage.policy, usage.account, usage.cpu_time) == ("P", account, 60.0)
    pool = loads(
        "format: slotwise/1\nparams: {HIST_HOURS: 0}\nhosts: [{name: h1, slots: 8}]\n"
        "queues: [{name: q, SLOT_POOL: p, SLOT_SHARE: 50, HOSTS: h1},"
        " {name: r, SLOT_POOL: p, SLOT_SHARE: 50, HOSTS: h1}]\n"
    )
    past = PastUsage(_at(pool, 200), 0)
    past.add(job)
    found = past.instance_with_usage()
    assert [(item.queue, item.slot_seconds) for item in found.pool_usage] == [("q", 400.0)]


def _at(instance, now):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(instance, now=now)


def _charged(job: FinishedJob, path: str) -> FinishedJob:
    from dataclasses import replace

    return replace(job, charged=path)


def test_a_moment_of_a_fairshare_cluster_has_its_past(tmp_path: Path) -> None:
    """Summed up from the log, priorities are those of a loop that saw every job end."""
    site, out = tmp_path / "site.yaml", tmp_path / "now.yaml"
    site.write_text(SITE.format(now=0, hours=5))
    at = 1643911763
    code, _, said = _run("import", "acct", ACCT, "--at", at, "--site", site, "-o", out)
    assert code == 0, said
    instance = load(out)
    assert instance.now == at - ZERO
    tree = order_policy(instance).trees["sender"]
    found = tree.usage(tree.account(("simuser",)), instance.now)
    # The same by booking every start and end of the log.
    from dataclasses import replace

    from slotwise.model.job import Job

    empty = replace(instance, running=(), pending=(), share_usage=(), now=-200_000)
    order = order_policy(empty)
    jobs = [job for job in read_acct(ACCT).jobs if job.start and job.start <= at]
    happenings = sorted(
        [(job.start, 1, job) for job in jobs]
        + [(j.end, 0 if j.end > j.start else 2, j) for j in jobs],
        key=lambda item: (item[0], item[1]),
    )
    for time, what, job in happenings:
        if time > at:
            continue
        if what == 1:
            made = Job(job.id, user=job.user, queue=job.queue, cpu_time=job.cpu_time,
                       run_time=max(job.end - job.start, 1))  # fmt: skip
            order.started(made, job.hosts, time - ZERO)
        else:
            order.ended(job.id, time - ZERO, job.cpu_time)
    tree = order.trees["sender"]
    expected = tree.usage(tree.account(("simuser",)), at - ZERO)
    assert found.cpu_time == pytest.approx(expected.cpu_time, rel=1e-3)
    assert found.historical_run_time == pytest.approx(expected.historical_run_time, rel=1e-3)
    assert (found.slots, found.run_time) == (expected.slots, expected.run_time)


@pytest.mark.parametrize("command", [("solve",), ("simulate",), ("import", "swf")])
@pytest.mark.parametrize("file", [EVENTS, DATA / "lsf" / "bjobs-done.json"])
def test_a_wrong_kind_of_file_is_one_line(command: tuple[str, ...], file: Path) -> None:
    code, _, said = _run(*command, file)
    assert code == 2
    assert len(said.splitlines()) == 1
    assert said.startswith(f"{file}: is ")
    assert "slotwise import" in said


def test_a_plan_as_lsf_s_allocation_planner_writes_it(tmp_path: Path) -> None:
    source = tmp_path / "i.yaml"
    source.write_text(
        "format: slotwise/1\nname: montreal\norigin: 2018-03-29T15:07:50+00:00\n"
        "hosts: [{name: host0, slots: 23}]\n"
        "running: [{id: 1, start: 0, run_limit: 600, allocation: 23*host0}]\n"
        "pending: [{id: 172024, slots: 23, run_limit: 600}, {id: 172025, slots: 4, run_limit: 60},"
        " {id: 172026, slots: 24}]\n"
    )
    file = tmp_path / "lsb.allocation.plan.json"
    code, _, _ = _run("solve", source, "--method", "time-based", "--lsf-plan", file)
    assert code == 0
    plan = json.loads(file.read_text())
    assert (plan["TIMESTAMP"], plan["NUM_PLANS"]) == ("Mar 29 15:07:50 2018", "2")
    # The record of the documents' sample (10.1 planned_scheduling_allocation).
    assert plan["PLANS"][0] == {
        "JOB_ID": "montreal@172024",
        "RANK": "1",
        "START_TIME": "1522336670",
        "START_TIME_H": "Mar 29 15:17:50 2018",
        "FINISH_TIME": "1522337270",
        "FINISH_TIME_H": "Mar 29 15:27:50 2018",
        "ALLOC": [{"HOST": "host0", "RSRC": [{"NAME": "slots", "AMOUNT": 23}]}],
    }
    assert plan["PLANS"][1]["RANK"] == "2"
    assert kind_of(file) == "plan"


def test_a_long_log_takes_the_memory_of_its_busiest_moment() -> None:
    """Thousands of jobs, ten at a time: what is kept does not grow with the log."""

    def lines(jobs: int):  # type: ignore[no-untyped-def]
        for n in range(jobs):
            yield _new(n, 100 + n)
            yield _start(n, 101 + n, "a")
            yield '"JOB_START_ACCEPT" "10.108" 1643910038 101 3942 3942 0 "" -1 "" -1 -1'
            if n >= 10:
                yield _status(n - 10, 102 + n, 64)

    peaks = []
    for jobs in (1000, 2000):
        tracemalloc.start()
        moment = cut(parse_events(lines(jobs), BadRecords(), {}), None)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert len(moment.jobs) == 10
        assert moment.hosts[0].slots == 11
    assert peaks[1] < 1.2 * peaks[0] + 100_000


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 0 0 60 2 -1 -1 2 -1 -1 1 1 1 1 1 -1 -1 -1", "1 × requested time not positive"),
        ("1 0 0 60 9 -1 -1 9 90 -1 1 1 1 1 1 -1 -1 -1", "more than the machine's 4 processors"),
    ],
)
def test_why_no_job_of_an_swf_log_can_be_replayed(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: 4\n{line}\n")
    for command in (
        ("import", "swf", path, "--policy", "easy", "--at", "10"),
        ("simulate", path, "--hosts", "1"),
    ):
        code, _, told = _run(*command)
        assert (code, says in told) == (2, True)


def test_a_moment_after_the_last_event_is_told(tmp_path: Path) -> None:
    at = tmp_path / "at.yaml"
    code, _, said = _run("import", "events", EVENTS, "--at", "2030-01-01T00:00:00Z", "-o", at)
    assert code == 0
    assert "the log ends earlier, at 2022-" in said
    assert "the log ends before" not in _run("import", "events", EVENTS, "-o", at)[2]


def test_elements_that_are_there_at_one_time_are_counted() -> None:
    """Each array has fewer elements than are read; records of ended ones make room."""
    lines = [_new(number, 100 + number, name="a[1-60]") for number in (1, 2)]
    records = list(parse_events(lines, BadRecords(), {}))
    assert len(cut(records, None).jobs) == 120
    with limited(elements=100), pytest.raises(InputError, match="job 2: has more than 100"):
        cut(records, None)
