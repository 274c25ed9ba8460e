"""What LSF says of a job, a host or a queue counts in whatever form it was printed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from printed_listings import snapshot
from slotwise import InputError, Instance, Job
from slotwise.cli.main import app
from slotwise.model.omissions import Omission
from slotwise.solver.planning import plan
from submitted import submitted_job
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("CFG-04")
NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
HEAD = "HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV"


def hosts(*rows: str) -> str:
    """Plain bhosts."""
    return "\n".join([HEAD, *rows]) + "\n"


def waits(*reasons: str, more: str = "", first: str = "", parts: str = "", events: str = "") -> str:
    """A job in the long form, not wrapped."""
    lines = [
        f"Job <2>, User <bob>, Project <p>, Status <PEND>, Queue <q>,{first} Command <x>",
        f"Mon Mar 16 09:05:00: Submitted from host <l>, CWD </x>, 4 Task(s){more};",
        *([events] if events else []),
        *([" PENDING REASONS:"] if reasons else []),
        *(f" {reason}" for reason in reasons),
        "",
        " RUNLIMIT",
        " 30.0 min",
        parts,
        "-" * 78,
    ]
    return "\n".join(lines) + "\n"


def record(**fields: str) -> str:
    """The same of -json."""
    given = {"JOBID": "2", "STAT": "PEND", "USER": "bob", "QUEUE": "q", "NREQ_SLOT": "4"}
    given |= {"RUNTIMELIMIT": "30.0", "SUBMIT_TIME": "Mar 16 09:05", "COMBINED_RESREQ": "-"}
    given |= {"JOB_PRIORITY": "-", "SPECIFIED_START_TIME": "-", "ASK_HOSTS": "", "DEPENDENCY": ""}
    return json.dumps({"COMMAND": "bjobs", "JOBS": 1, "RECORDS": [given | fields]})


def touching(it: Instance) -> tuple[Omission, ...]:
    """What touches a start, but for what no bqueues was given to say."""
    return tuple(
        item
        for item in it.omissions
        if item.jobs != () and "no input describes the queues" not in item.what
    )


def made(**texts: str | list[str]) -> Instance:
    return snapshot(NOW, **texts)


OPEN = hosts("a  ok - 8 0 0 0 0 0", "b  ok - 8 0 0 0 0 0")
REASON = "User has reached the per-user job slot limit of the queue;"
LATER = "Mon Mar 16 15:00:00:"


@pytest.mark.parametrize(
    "text",
    [
        waits(REASON),
        waits("Job slot limit reached: 1 host;", REASON),
        waits(events=f"{LATER} Job will start no sooner than indicated time stamp;"),
        waits(events=f"{LATER} Will be started;"),
        waits(events=f"{LATER} Estimated Job Start Time; alloc=4*a"),
        waits(parts=f"\n ESTIMATION:\n {LATER} Estimated start time of the job;"),
        record(PEND_REASON=REASON),
        record(ESTIMATED_START_TIME="Mar 16 15:00"),
        record(ESSTART_TIME="Mar 16 15:00"),
    ],
)
def test_what_the_scheduler_says_of_a_start_is_weighed(text: str) -> None:
    it = made(bjobs=text, bhosts=OPEN)
    (said,) = it.lsf_says
    assert REASON.strip(";") in said.reason or said.start == 5 * 3600
    assert [item.jobs for item in it.omissions if "here the next cycle" in item.what] == [("2",)]
    assert not plan(it, "greedy")["2"].proved


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        (record(EXCLUSIVE="Y"), "exclusive", True),
        (record(EXCLUSIVE="N"), "exclusive", False),
        (waits(more=", Exclusive Execution"), "exclusive", True),
        (record(RSVID="bob#1"), "reservation", "bob#1"),
        (waits(first=" Reservation <bob#1>,"), "reservation", "bob#1"),
        (record(JOB_GROUP="/ris/a"), "job_group", "/ris/a"),
        (waits(first=" Job Group </ris/a>,"), "job_group", "/ris/a"),
        (record(SERVICE_CLASS="gold"), "service_class", "gold"),
        (waits(first=" Service Class <gold>,"), "service_class", "gold"),
        (record(ESTIMATED_RUN_TIME="10.0"), "estimated_run_time", 600),
        (waits(parts=" ESTIMATED_RUNTIME:\n 10.0 min"), "estimated_run_time", 600),
        (waits(parts=" ESTIMATED_RUNTIME: 10.0 min"), "estimated_run_time", 600),
        (waits(parts=" ESTIMATED_RUNTIME\n 10.0 min of h"), "estimated_run_time", 600),
        (waits(parts=" STAGING DETAILS:\n x"), "unheeded", ("STAGING DETAILS",)),
        (waits(parts=" SCHEDULING PARAMETERS:\n x"), "unheeded", ()),
    ],
)
def test_a_fact_of_a_job_is_read_or_told(text: str, field: str, value: Any) -> None:
    assert getattr(made(bjobs=text, bhosts=OPEN).pending[0], field) == value


def test_slots_reserved_where_no_queue_reserves_are_told() -> None:
    text = waits(events=f"{LATER} Reserved <3> job slots on host(s) <3*a>;")
    told = [item.what for item in made(bjobs=text, bhosts=OPEN).omissions]
    assert any("slots are reserved for job 2; no queue reserves here" in what for what in told)


@pytest.mark.parametrize(
    ("column", "printed", "read"),
    [
        *(("JOB_GROUP", "/ris/a/", "/ris/a"), ("JOB_GROUP", "/", ""), ("JOB_GROUP", "-", "")),
        *(("JOB_GROUP", "/r//a", None), ("JOB_GROUP", "ris a", None)),
        *(("SERVICE_CLASS", "[x]", None), ("RESERVATION", "a b", None)),
    ],
)
def test_a_name_of_a_listing_can_be_read_back(column: str, printed: str, read: str | None) -> None:
    it = made(bjobs=record(**{column: printed}), bhosts=OPEN)
    assert getattr(it.pending[0], column.lower()) == (read or "")
    told = [item.jobs for item in it.omissions if f"job 2: {column}: " in item.what]
    assert told == [("2",)] * (read is None)
    assert sw.loads(sw.dump(it)) == it


@pytest.mark.parametrize("asked", ["rusage[mem=2000]", "select[swp>5 && tmp>1]", "select[ut<0.5]"])
def test_what_no_listing_prints_of_hosts_is_unknown(asked: str) -> None:
    """Neither is the job told that it can never start, nor is its start proved."""
    it = made(bjobs=record(COMBINED_RESREQ=asked), bhosts=OPEN)
    found = plan(it, "optimal", effort=5)
    assert found["2"].start == it.now
    assert not found["2"].proved
    assert {item.jobs for item in touching(it)} == {("2",)}
    later = submitted_job(it, f'bsub -q q -R "{asked}" -W 10 x')
    assert "which no input gives for the hosts" in later.unheeded[0]
    found = plan(replace(it, pending=(later,)), "optimal", effort=5)
    assert found[later.id].start == it.now
    assert not found[later.id].proved


def test_a_host_that_its_load_has_closed_is_told(tmp_path: Path) -> None:
    it = made(bjobs=record(), bhosts=hosts("a  closed_Busy - 8 0 0 0 0 0"))
    assert not plan(it, "optimal", effort=5)["2"].proved
    long = (
        "HOST  a\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV DISPATCH_WINDOW\n"
        "closed_Busy 1.0 - 8 0 0 0 0 0 -\n\n     ut  mem\n Total {} 4G\n Reserved 0% 0M\n\n"
        "     ut  mem\n loadSched 50% -\n loadStop - -\n"
    )
    assert touching(made(bjobs=record(), bhosts=long.format("91%"))) == ()  # its own threshold
    assert len(touching(made(bjobs=record(), bhosts=long.format("9%")))) == 1


LONG_QUEUE = """
QUEUE: q
  -- text

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30   20  {status}     -    -    -    -     {counts}

USERS:  {users}
HOSTS:  {hosts}
Maximum slot reservation time: 600 seconds
"""
PLAIN_QUEUE = (
    "QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP\n"
    "q                30  {status}      -    -    -    -     {counts}\n"
)
JSON_QUEUE = (
    '{{"COMMAND":"bqueues","QUEUES":1,"RECORDS":[{{"QUEUE_NAME":"q","PRIO":"30",'
    '"STATUS":"{status}"}}]}}'
)


@pytest.mark.parametrize("form", [LONG_QUEUE, PLAIN_QUEUE, JSON_QUEUE])
@pytest.mark.parametrize("status", ["Closed:Active", "Closed:Inact", "Open:Active"])
def test_a_closed_queue_takes_no_jobs_and_starts_those_it_has(form: str, status: str) -> None:
    counts = "4     4     0     0     0    0" if form is LONG_QUEUE else "4     4     0     0"
    text = form.format(status=status, users="all", hosts="all", counts=counts)
    it = made(bjobs=record(), bhosts=OPEN, bqueues=text)
    (queue,) = it.queues
    assert (queue.open, queue.active) == ("Open" in status, "Inact" not in status)
    found = plan(it, "greedy")
    assert ("2" in {item.job for item in found}) == queue.active
    later = Job("9", queue="q", run_limit=60)
    if queue.open:
        assert sw.ask(it, later).line.start is not None or not queue.active
    else:
        with pytest.raises(InputError, match="queue q is closed"):
            sw.ask(it, later)


WINDOW = "DISPATCH_WINDOW:  {}\n"


def one_host(state: str, used: int = 0, window: str = "-") -> str:
    """The long form of one host with 8 slots."""
    row = f"{state} 1.0 - 8 {used} {used} 0 0 0 {window}"
    return f"HOST  a\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV DISPATCH_WINDOW\n{row}\n\n"


def one_queue(state: str, window: str = "") -> str:
    """The long form of the queue, with a window or without."""
    text = LONG_QUEUE.format(status=state, users="all", hosts="all", counts="4 4 0 0 0 0")
    return text + (WINDOW.format(window) if window else "")


@pytest.mark.parametrize(
    ("host", "queue", "told"),
    [
        (one_host("closed_Full"), one_queue("Open:Active"), "it has free slots"),
        (hosts("a closed_Full - 8 0 0 0 0 0"), one_queue("Open:Active"), "it has free slots"),
        (one_host("closed_Excl"), one_queue("Open:Active"), "no job that runs there is exclusive"),
        (one_host("closed_cu_Excl"), one_queue("Open:Active"), "no running job has compute units"),
        (
            one_host("closed_Wind"),
            one_queue("Open:Active"),
            "no input gives the time when it opens",
        ),
        (one_host("closed_Wind", window="8-20"), one_queue("Open:Active"), "is open now"),
        (one_host("ok", window="20-8"), one_queue("Open:Active"), "is closed now"),
        (one_host("closed_Wind", window="20-8"), one_queue("Open:Active"), ""),
        (one_host("busy"), one_queue("Open:Active"), "closed_Busy for a"),
        (one_host("ok"), one_queue("Open:Inact_Win"), "no input gives its windows"),
        (one_host("ok"), one_queue("Open:Inact_Win", "8-20"), "its windows are open now"),
        (one_host("ok"), one_queue("Open:Active", "20-8"), "its DISPATCH_WINDOW is closed now"),
        (one_host("ok"), one_queue("Open:Inact_Win", "20-8"), ""),
        (one_host("ok"), "", "no input describes the queues"),
    ],
)
def test_a_state_that_nothing_read_bears_out_is_told(host: str, queue: str, told: str) -> None:
    """Neither a waiting job nor one that is asked about later has a proved start by it."""
    it = made(bjobs=record(), bhosts=host, bqueues=[queue] if queue else [])
    found = plan(it, "optimal", effort=5)
    assert [told in item.what for item in it.omissions if item.jobs != ()] == [True] * bool(told)
    assert not told or all(not item.proved for item in found)
    assert told or found["2"].start == 10 * 3600
    later = replace(it, pending=(submitted_job(it, "bsub -q q -W 10 x"),))
    assert all(item.proved != bool(told) for item in plan(later, "optimal", effort=5))


@pytest.mark.parametrize("queue", ["", PLAIN_QUEUE.format(status="Open:Active", counts="4 4 0 0")])
def test_what_no_bqueues_says_refuses_no_job(queue: str) -> None:
    alone = waits(more=", Exclusive Execution")
    it = made(bjobs=alone, bhosts=OPEN, bqueues=[queue] if queue else [])
    assert [job.id for job in it.pending] == ["2"]
    assert submitted_job(it, "bsub -q q -x -W 10 x").exclusive


@pytest.mark.parametrize("asked", ["-gpu num=1", "-R rusage[ngpus_physical=1]"])
def test_gpus_that_no_listing_prints_are_unknown_to_jobs_asked_about_later(asked: str) -> None:
    it = made(bjobs=record(), bhosts=OPEN)
    later = submitted_job(it, f"bsub -q q {asked} -W 10 x")
    assert "GPUs, which no input gives for the hosts" in later.unheeded
    found = plan(replace(it, pending=(later,)), "greedy")
    assert (found[later.id].start, found[later.id].proved) == (it.now, False)


@pytest.mark.parametrize(("name", "unit"), [("mem", "M"), ("lic", "")])
def test_what_is_reserved_by_no_job_is_told_to_jobs_asked_about_later(name: str, unit: str) -> None:
    host = one_host("ok") + f"     {name}\n Total 0{unit}\n Reserved 4000{unit}\n"
    queue = one_queue("Open:Active")
    it = made(bjobs=record(COMBINED_RESREQ=f"rusage[{name}=1]"), bhosts=host, bqueues=queue)
    assert any("reserved on a belong to no job" in item.what for item in it.omissions)
    later = submitted_job(it, f"bsub -q q -R rusage[{name}=1] -W 10 x")
    for job in (it.pending[0], later):
        assert not plan(replace(it, pending=(job,)), "greedy")[job.id].proved


def test_windows_that_no_listing_prints_are_told() -> None:
    text = PLAIN_QUEUE.format(status="Open:Inact_Win", counts="4 4 0 0")
    it = made(bjobs=record(), bhosts=OPEN, bqueues=text)
    (told,) = [item for item in it.omissions if "Inact_Win" in item.what]
    assert (told.jobs, told.queues) == (None, ("q",))  # those that are asked about later too


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("all", []),
        ("all hosts used by the OpenLava system", []),
        ("a+2 others+1", [("a", 2), ("b", 1)]),
        ("a\n        b", [("a", 0), ("b", 0)]),
        ("a/+3 others", [("a", 3), ("b", 0)]),
    ],
)
def test_hosts_of_a_queue(text: str, wanted: list[tuple[str, int]]) -> None:
    given = LONG_QUEUE.format(
        status="Open:Active", users="ann\n        bob", hosts=text, counts="4 4 0 0 0 0"
    )
    it = made(bjobs=record(), bhosts=OPEN, bqueues=given)
    assert [(item.name, item.preference) for item in it.queues[0].hosts] == wanted
    assert it.queues[0].users == ("ann", "bob")


def test_slots_reserved_for_a_job_that_waits_are_waited_for() -> None:
    rows = (
        (LONG_QUEUE, "4     1     0     0     0    3"),
        (PLAIN_QUEUE, "4     1     0     0"),
    )
    for form, counts in rows:
        text = form.format(status="Open:Active", users="all", hosts="all", counts=counts)
        it = made(bjobs=record(), bhosts=OPEN, bqueues=text)
        assert not any("slots waited for" in item.what for item in it.omissions)


def test_jobs_that_are_held_or_of_an_array_in_one_row_are_not_missed() -> None:
    array = record(JOB_NAME="x[1-3]", NREQ_SLOT="1")
    text = LONG_QUEUE.format(status="Open:Active", users="all", hosts="all", counts="3 3 0 0 0 0")
    assert touching(made(bjobs=array, bhosts=OPEN, bqueues=text)) == ()
    for counts in ("4 4 0 0 0 0", "4 0 0 0 4 0"):
        text = LONG_QUEUE.format(status="Open:Active", users="all", hosts="all", counts=counts)
        assert touching(made(bjobs=record(STAT="PSUSP"), bhosts=OPEN, bqueues=text)) == ()


def test_a_held_job_is_named_where_somebody_asks_for_it(tmp_path: Path) -> None:
    """explain, diagnose and --job say that it is held, and no plan is less proved by it."""
    it = made(bjobs=record(STAT="PSUSP"), bhosts=OPEN)
    (held,) = (item for item in it.omissions if item.unplanned)
    assert held.unplanned == ("2",)
    assert held.jobs == ()
    file = str(tmp_path / "held.yaml")
    Path(file).write_text(sw.dump(it))
    again = sw.load(file)
    assert again.omissions == it.omissions
    said = "job 2 was read but is not planned: in state PSUSP, held until `bresume` releases it"
    for ask in (
        lambda: sw.explain(again, "2"),
        lambda: sw.diagnose(again, jobs=["2"]),
        lambda: CliRunner().invoke(app, ["solve", file, "--job", "2"], catch_exceptions=False),
    ):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(caught.value) == said
    with pytest.raises(InputError, match="unknown pending job '3'"):
        sw.explain(again, "3")
    waits = made(bjobs=record(DEPENDENCY="-", JOBID="7", STAT="PSUSP"), bhosts=OPEN)
    assert [item.unplanned for item in waits.omissions if item.unplanned] == [("7",)]


RUNS = (
    "Job <1>, User <ann>, Project <p>, Status <RUN>, Queue <q>, Command <x>\n"
    "Mon Mar 16 09:00:00: Submitted from host <l>, CWD </x>, 8 Task(s){};\n"
    "Mon Mar 16 09:00:01: Started 8 Task(s) on Host(s) <8*{}>;\n\n RUNLIMIT\n 120.0 min\n"
)


def test_a_name_that_a_table_cuts_is_the_host_that_begins_so() -> None:
    whole = "node-with-a-long-name-17"
    text = RUNS.format("", whole)
    rows = [f"{whole[:18]} ok              -      8      8      8      0      0      0"]
    it = made(bjobs=text, bhosts="\n".join([HEAD, *rows]))
    assert [host.name for host in it.cluster.hosts] == [whole]
    assert touching(it) == ()
    with pytest.raises(InputError, match="is listed twice: bhosts truncates names"):
        made(bjobs=text, bhosts="\n".join([HEAD, *rows, *rows]))


LONG_HOST = (
    "HOST  {0}\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV DISPATCH_WINDOW\n"
    "ok 1.0 - 16 {1} {1} 0 0 0 -\n\n     mem\n Total 32.0G\n Reserved {2}\n\n"
    "     lic\n Total {3}\n Reserved {4}\n"
)


def test_shared_resources_are_shared_however_they_are_printed() -> None:
    both = LONG_HOST.format("a", 0, "0M", 3, 1) + LONG_HOST.format("b", 0, "0M", 3, 1)
    asks = record(COMBINED_RESREQ="rusage[lic=2]")
    listed = "RESOURCE     TOTAL   RESERVED   LOCATION\nlic    3    1.0    a\n        b\n"
    for texts in ([both], [both, listed]):
        it = made(bjobs=asks, bhosts=texts)
        assert [(item.name, item.amount) for item in it.cluster.shared] == [("lic", 4)]
        assert plan(it, "greedy")["2"].start == it.now
    differ = LONG_HOST.format("a", 0, "0M", 3, 1) + LONG_HOST.format("b", 0, "0M", 4, 0)
    it = made(bjobs=asks, bhosts=differ)
    assert [host.amounts["lic"] for host in it.cluster.hosts] == [4, 4]
    assert it.cluster.shared == ()


@pytest.mark.parametrize(
    ("reserved", "per_slot", "contradicts"),
    [("32.0G", True, False), ("4096M", False, False), ("9000M", False, True)],
)
def test_reserved_memory_says_what_rusage_counts_for(
    reserved: str, per_slot: bool, contradicts: bool
) -> None:
    runs = RUNS.format(", Requested Resources <rusage[mem=4096]>", "a")
    host = LONG_HOST.format("a", 8, reserved, 4, 0)
    it = made(bjobs=runs, bhosts=host)
    assert it.params.reserve_per_slot == per_slot
    assert any("belong to no job" in item.what for item in it.omissions) == contradicts
    for family in ("OpenLava Project 3.3", "volclava 1.0.0"):  # a guess where figures say nothing
        it = made(bjobs=runs, bhosts=host, lsid=family)
        guesses = [item for item in it.omissions if "rusage[mem] is counted" in item.what]
        assert (guesses == []) != contradicts
        assert it.params.reserve_per_slot == (per_slot or (contradicts and "Open" in family))
        told = snapshot(NOW, None, "--rusage", "host", bjobs=runs, bhosts=host, lsid=family)
        assert not told.params.reserve_per_slot


def test_a_scheduler_is_known_by_words_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """Where lsid does not say it; it decides who may backfill, for one."""
    text = LONG_QUEUE.format(status="Open:Active", users="all", hosts="all", counts="4 4 0 0 0 0")
    assert made(bjobs=record(), bhosts=OPEN, bqueues=text).params.family == "LSF"
    own = text + "SCHEDULING POLICIES:  BACKFILL  FAIRSAHRE\n"
    assert made(bjobs=record(), bhosts=OPEN, bqueues=own).params.family == "volclava"
    assert "inferred: the scheduler is volclava" in capsys.readouterr().err
    its = text.replace("HOSTS:  all", "HOSTS:  all hosts used by the OpenLava system")
    assert made(bjobs=record(), bhosts=OPEN, bqueues=its).params.family == "OpenLava"


def test_what_is_wrong_with_every_record_is_said_once() -> None:
    records = [{"HOST": "", "STATUS": "ok"}] * 50
    with pytest.raises(InputError) as error:
        made(bhosts=json.dumps({"COMMAND": "bhosts", "RECORDS": records}))
    assert [item.message for item in error.value.problems] == [
        "has no HOST_NAME (and 49 more of this kind)"
    ]
