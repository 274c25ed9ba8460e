"""What other versions of LSF, and volclava, print; and what is not known of their clusters."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from event_lines import job_new, job_start, job_status
from slotwise import Cluster, Host, Instance, Queue, UserGroup
from slotwise.model.sources.acct import parse_acct
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.assemble import Assembled, assemble
from slotwise.model.sources.lsf_state.bhosts import SeenHost
from slotwise.model.sources.lsf_state.bjobs import SeenJob
from slotwise.model.sources.lsf_state.bqueues import SeenQueue
from slotwise.model.sources.lsf_state.event_log import Moment, cut
from slotwise.model.sources.lsf_state.log_records import parse_events
from slotwise.model.sources.lsf_state.seen import Seen

NOW = datetime(2026, 11, 23, 11, tzinfo=UTC)


def _at(day: int, hour: int) -> int:
    return int(datetime(2026, 11, day, hour, tzinfo=UTC).timestamp())


def _job(id: str, **given: object) -> SeenJob:
    return SeenJob(id, slots=1, queue="q", run_limit=3600, **given)  # type: ignore[arg-type]


def _assembled(*jobs: SeenJob, queues: list[SeenQueue] | None = None) -> Assembled:
    return assemble(
        Seen(list(jobs), hosts=[SeenHost("h1", slots=4, total={"mem": 9000.0})], queues=queues), NOW
    )


@pytest.mark.behaviour("CFG-04")
def test_of_requirements_only_what_nobody_described_goes() -> None:
    wanted = "select[nfpgas>0 && mem>5] rusage[fpga=1,mem=4000] span[ptile=2]"
    found = _assembled(_job("1", res_req=wanted), _job("2", res_req="select[nfpgas>0]"))
    assert [job.res_req for job in found.instance.pending] == [
        ("select[mem>5] rusage[mem=4000] span[ptile=2]",),
        (),
    ]
    text = "\n".join(found.notes)
    assert "omitted a part of the requirements of 1 pending job: unknown resource" in text
    assert "omitted the requirements of 1 pending job: unknown resource" in text


@pytest.mark.behaviour("CFG-04")
def test_users_of_a_queue_may_be_a_group_of_the_operating_system() -> None:
    staff, closed = SeenQueue("q", users="staff bert"), SeenQueue("q", users="all ~ann")
    found = _assembled(_job("1", user="ann"), _job("2", user="bert"), queues=[staff])
    assert [job.id for job in found.instance.pending] == ["1", "2"]
    assert any("USERS of queue q names staff" in note for note in found.notes)
    group = Instance(
        Cluster(()), queues=(Queue("q", users=("ext",)),), groups=(UserGroup("ext", ()),)
    )
    jobs = Seen([_job("1", user="ann")], hosts=[SeenHost("h1", slots=4)])
    external = assemble(jobs, NOW, replace(group, cluster=Cluster((Host("h1", 4),))))
    assert len(external.instance.pending) == 1
    refused = _assembled(_job("1", user="ann"), _job("2", user="bert"), queues=[closed])
    assert [job.id for job in refused.instance.pending] == ["2"]


@pytest.mark.behaviour("CFG-04")
def test_a_requirement_of_a_queue_that_does_not_go_with_what_runs_there_is_left_out() -> None:
    queue = SeenQueue("q", res_req="1*{select[mem>=0]} + 15*{span[ptile=4]}")
    runs = _job("7", status="RUN", start=_at(23, 10), allocation={"h1": 1})
    found = _assembled(runs, queues=[queue])
    assert found.instance.queues[0].res_req == ""
    assert any(
        note.startswith("omitted RES_REQ of queue q: the terms request 16") for note in found.notes
    )
    assert [run.job.id for run in found.instance.running] == ["7"]


def test_later_reasons_for_a_closed_host() -> None:
    found = assemble(Seen(hosts=[SeenHost("h1", slots=4, status="closed_New_Word")]), NOW)
    assert found.instance.cluster.hosts[0].status == "closed"


NO_LIMITS = " ".join(["-1"] * 11)


def _lava_new(number: int, options: int, tail: str, *, more: str = "") -> str:
    """JOB_NEW in the order of volclava's writeJobNew; more: behind options2 and idx."""
    limits = NO_LIMITS.split()
    limits[9] = "3600"
    return (
        f'"JOB_NEW" "22" 100 {number} 1001 {options} 2 100 0 0 0 0 0 "ann" {" ".join(limits)} "" '
        f'  1.00 18 "normal" "span[hosts=1]" "h1" "x" "" "" "" "" "/home/ann" "100.{number}" '
        f'1 "h2" "" "" {tail} "sleep 1" 0 "" "default" 2 "X86_64" "" 0 0 {more}"" "" "" 30 "" ""'
    )


def _events(*lines: str, at: int | None = None) -> Moment:
    bad = BadRecords()
    records = list(parse_events(lines, bad, {}))
    assert bad.problems == []
    return cut(records, at)


@pytest.mark.behaviour("CFG-04")
def test_events_of_volclava() -> None:
    start = '"JOB_START" "22" 110 1 4 0 0 1.0 2 "h2" "h2" "" "" 0 0 "select[type==any]"'
    ends = '"JOB_STATUS" "22" 150 1 64 0 0 1.0000 150 0 0 0 0 0'
    one, two, three = _events(
        _lava_new(1, 2, '"name"'),
        _lava_new(2, 2 | 0x40000000, '"post job" "name[1-2]"'),
        start,
        ends,
        at=120,
    ).jobs
    assert (one.status, one.allocation, one.run_limit, one.priority) == ("RUN", {"h2": 2}, 3600, 30)
    assert (one.hosts, one.res_req, one.project) == ("h2", "span[hosts=1]", "default")
    assert (two.id, three.id, two.status, one.real_run_time) == ("2[1]", "2[2]", "PEND", 40)
    blocks = _lava_new(3, 2, '"name"').replace(' "" 0 0 ""', ' "" 4 0 1234 ""')
    assert blocks.count("1234") == 1
    assert _events(blocks).jobs[0].priority == 30


@pytest.mark.behaviour("CFG-04", "LOP-02")
@pytest.mark.parametrize(("factor", "run", "cpu"), [("100.00", 180, 120), ("0.00", 18000, 12000)])
def test_limits_of_volclava_are_seconds_of_a_host_of_factor_1(
    factor: str, run: int, cpu: int
) -> None:
    """As a live one logged bsub -W 3 on hosts of CPU factor 100."""
    limits = NO_LIMITS.split()
    limits[9], limits[0] = "3600", "-1"
    line = _lava_new(1, 2, '"name"')
    found = line.replace(" ".join(limits), " ".join(["12000", *limits[1:9], "18000", limits[10]]))
    (job,) = _events(found.replace("  1.00 ", f" {factor} ")).jobs
    assert (job.run_limit, job.cpu_limit) == (run, cpu)


@pytest.mark.behaviour("CFG-04")
def test_finished_jobs_of_volclava() -> None:
    usage = "1.5 0.5 " + " ".join(["-1"] * 17)

    def line(options: int, tail: str) -> str:
        return (
            f'"JOB_FINISH" "22" 200 7 1001 {options} 2 100 0 0 110 "ann" "normal" "" "" {tail} '
            f'"h1" "x" "" "" "" "100.7" 0 2 "h2" "h2" 64 1.0 "name" "cmd" {usage} "" "default" '
            '0 2 "" 3 0 0 "" ""'
        )

    log = parse_acct([line(2, '""'), line(2 | 0x40000000, '"" "post"')])
    assert log.problems == ()
    for job in log.jobs:
        assert (job.id.split("#")[0], job.hosts, job.end - job.start) == ("7[3]", {"h2": 2}, 90)
        assert (job.cpu_time, job.run_limit, job.charged) == (2.0, None, "")


@pytest.mark.behaviour("CFG-04")
def test_a_job_is_requeued_after_its_end() -> None:
    """As volclava's clean() does: JOB_STATUS says that it exited, then comes JOB_REQUEUE."""
    lines = (
        job_new(1, 100, name="a[1-2]"),
        job_start(1, 110, "a", idx=1),
        job_status(1, 120, 32, idx=1),
        '"JOB_REQUEUE" "10.108" 121 1 1',
        job_start(1, 140, "b", idx=1),
        job_status(1, 190, 64, idx=1),
    )
    assert [job.id for job in _events(*lines, at=120).jobs] == ["1[2]"]
    waits = {job.id: job for job in _events(*lines, at=130).jobs}["1[1]"]
    assert (waits.status, waits.start, waits.real_run_time) == ("PEND", None, 50)
    moment = _events(*lines, at=150)
    runs = {job.id: job for job in moment.jobs}["1[1]"]
    assert (runs.status, runs.allocation, moment.unknown) == ("RUN", {"b": 1}, 0)
    cleaned = (*lines[:3], '"JOB_CLEAN" "10.108" 121 1 1', *lines[3:])
    assert [job.id for job in _events(*cleaned, at=150).jobs] == ["1[2]"]


@pytest.mark.behaviour("CFG-04")
def test_migrated_and_modified_jobs_ask_for_other_hosts() -> None:
    new = job_new(1, 100, hosts='1 "a"')
    assert _events(new).jobs[0].hosts == "a"
    assert _events(new, '"MIG" "10.108" 110 1 2 "b" "c" 1001 0 "ann"').jobs[0].hosts == "b c"
    bmod = f'"JOB_MODIFY2" "10.108" 141 "1" 4 0 0 0 "ann" 1 18 0 0 0 0 0 1 "d" {NO_LIMITS} "/home"'
    assert _events(new, bmod).jobs[0].hosts == "d"
    bmod = f'"JOB_MODIFY2" "10.108" 141 "1" 0 0 4 0 "ann" 1 18 0 0 0 0 0 {NO_LIMITS} "/home"'
    assert _events(new, bmod).jobs[0].hosts == ""


@pytest.mark.parametrize(
    ("condition", "waiting"),
    [
        ("done(1)", True),
        ("1", True),
        ("started(1)", False),
        ("started(2)", True),
        ("done(9)", False),
        ('done("prep one")', True),
        ("ended(prep*) && started(1)", True),
        ("done(9) || done(1)", False),
        ("exit(1) || done(2)", True),
        ("done(2[1])", True),
        ("", False),
    ],
)
def test_dependencies_of_a_log(condition: str, waiting: bool) -> None:
    quoted = condition.replace('"', '""')
    waits = job_new(3, 102).replace(' 0 "" "" "" "cmd"', f' 0 "{quoted}" "" "" "cmd"')
    moment = _events(
        job_new(1, 100), job_new(2, 101, name="prep one"), job_start(1, 103, "a"), waits
    )
    assert {job.id: job.dependent for job in moment.jobs}["3"] is waiting


#: As a site's accounting reader quotes it (LSF 5.1), names changed.
OF_5 = (
    '"JOB_FINISH" "5.1" 1089407406 699195 283 33554482 1 1089290023 0 0 1089406862 "ann" "8nm" "" '
    '"" "" "h15" "prog" "" "b.txt" "e.txt" "1089290023.699195" 0 1 "t79" 64 3.3 "" "prog 362" '
    "277.210000 17.280000 0 0 -1 0 0 927804 87722 0 0 0 -1 0 0 0 0 0 -1 "
    '"" "default" 0 1 "" "" 0 310424 339112 "" "" ""'
)


@pytest.mark.behaviour("CFG-04")
def test_finished_jobs_of_older_versions() -> None:
    later = OF_5.replace('"5.1"', '"7.06"')
    later += ' "sla" 0 "" "" "" -1 "/ann" "lic" "app" "" -1 "" "" 0'
    log = parse_acct([OF_5, later])
    assert log.problems == ()
    one, two = log.jobs
    assert (one.hosts, one.user, one.end - one.start) == ({"t79": 1}, "ann", 544)
    assert (one.application, one.charged, one.run_limit) == ("", "", None)
    assert (two.application, two.charged) == ("app", "/ann")
    assert parse_acct([OF_5.replace('"5.1"', '"9.1"')]).problems  # of later ones all is due
