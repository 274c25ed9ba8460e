"""What other versions of LSF, and volclava, print; and what is not known of their clusters."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from slotwise.model.lsf_state.assemble import Assembled, Seen, assemble
from slotwise.model.lsf_state.bhosts import SeenHost, read_bhosts
from slotwise.model.lsf_state.bjobs import SeenJob, read_bjobs
from slotwise.model.lsf_state.bqueues import SeenQueue, read_bqueues
from slotwise.model.lsf_state.records import Text
from slotwise.model.lsf_state.tables import limit_row
from slotwise.model.lsf_state.values import PrintedTimes

NOW = datetime(2026, 11, 23, 11, tzinfo=UTC)
CALENDAR = PrintedTimes(NOW)

#: volclava's long form: limits side by side (prtResourceLimit of cmd.prt.c), hosts with counts.
VOLCLAVA = """
Job <201>, Job Name <j1>, User <ann>, Project <default>, Status <RUN>, Queue <normal>, Command <x>
Mon Nov 23 10:00:00: Submitted from host <h1>, CWD <$HOME>, 3-6 Processors Requested;

 CPULIMIT                 RUNLIMIT                
 10.0 min                 240.0 min               
Mon Nov 23 10:00:05: Started on 3 Hosts/Processors <2*h1> <1*h2>, Execution Home </home/ann>;

Job <202>, User <bert>, Project <default>, Status <PEND>, Queue <normal>, Command <x>
Mon Nov 23 10:01:00: Submitted from host <h1>, CWD <$HOME>, Specified Start Time <Mon Nov 23 18:00:\
00>, Specified Termination Time <Tue Nov 24 06:00:00>, Exclusive Execution;

 RUNLIMIT                
 60.0 min                
 PENDING REASONS:
 The job has a specified start time: 1 host;

Job <203>, User <bert>, Project <default>, Status <PEND>, Queue <normal>, Command <x>
Mon Nov 23 10:02:00: Submitted from host <h1>, CWD <$HOME>, Dependency Condition <done(201)>;
 PENDING REASONS:
 Job dependency condition not satisfied: 1 host;
"""  # noqa: W291


def _at(day: int, hour: int) -> int:
    return int(datetime(2026, 11, day, hour, tzinfo=UTC).timestamp())


@pytest.mark.behaviour("CFG-04")
def test_jobs_of_volclava() -> None:
    one, two, three = read_bjobs(Text(VOLCLAVA, "jobs.txt"), CALENDAR)
    assert (one.cpu_limit, one.run_limit, one.allocation) == (600, 14400, {"h1": 2, "h2": 1})
    assert (two.run_limit, two.begin, two.deadline) == (3600, _at(23, 18), _at(24, 6))
    assert (two.slots, two.exclusive, two.dependent, three.dependent) == (1, True, False, True)


@pytest.mark.parametrize(
    ("names", "row", "found"),
    [
        (" RUNLIMIT ", " 60.0 min of h1", {"RUNLIMIT": "60.0 min of h1"}),
        (
            " CPULIMIT                 RUNLIMIT",
            " 20 min of IBM350         342800 min of IBM350",
            {"CPULIMIT": "20 min of IBM350", "RUNLIMIT": "342800 min of IBM350"},
        ),
        ("CPULIMIT RUNLIMIT PROCLIMIT", "1.0 min  2.0 min  1 4 64", 3),
        ("RUNLIMIT PROCLIMIT", " 01:00:00   8", {"RUNLIMIT": "01:00:00", "PROCLIMIT": "8"}),
        (" FILELIMIT MEMLIMIT", "  20000 K   5000 K", {}),
        ("", "1", {}),
    ],
)
def test_limits_side_by_side(names: str, row: str, found: object) -> None:
    limits = limit_row(names, row)
    if found == 3:
        found = {"CPULIMIT": "1.0 min", "RUNLIMIT": "2.0 min", "PROCLIMIT": "1 4 64"}
    assert limits == found


@pytest.mark.behaviour("CFG-04")
def test_limits_of_a_queue_side_by_side() -> None:
    text = """
QUEUE: normal
  -- For normal jobs.

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30   20  Open:Active       -    -    -    -    60    50    10     0     0    4

DEFAULT LIMITS:
 RUNLIMIT
 60.0 min

MAXIMUM LIMITS:
 CPULIMIT                 RUNLIMIT                 PROCLIMIT
 6000.0 min               1440.0 min               1 4 64
SCHEDULING POLICIES:  PREEMPTIVE
"""
    (queue,) = read_bqueues(Text(text, "queues.txt"))
    assert (queue.run_limit, queue.run_limit_max, queue.cpu_limit) == (3600, 86400, 360000)
    assert queue.tasks == (1, 4, 64)
    seen = Seen(hosts=[SeenHost("h1", slots=4)], queues=[queue])
    assert "queue normal is PREEMPTIVE: answers may differ" in "\n".join(assemble(seen, NOW).notes)


@pytest.mark.behaviour("CFG-04")
def test_a_load_beyond_its_threshold_is_marked_in_front() -> None:
    text = """HOST  h2
STATUS           CPUF  JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV DISPATCH_WINDOW
closed_Busy      60.00     2     16      3      3      0      0      0      -

 CURRENT LOAD USED FOR SCHEDULING:
                r15s   r1m  r15m    ut    pg    io   ls    it   tmp   swp   mem  slots
 Total           1.0  *7.1   0.0   91%   0.0     0    0 10080   84G *3.9G 60.1G     13
 Reserved        0.0   0.0   0.0    0%   0.0     0    0     0    0M    0M    0M      -
"""
    (host,) = read_bhosts(Text(text, "hosts.txt"))
    assert (host.total["r1m"], host.total["swp"]) == (7.1, pytest.approx(3.9 * 1024))


def _job(id: str, **given: object) -> SeenJob:
    return SeenJob(id, slots=1, queue="q", run_limit=3600, **given)  # type: ignore[arg-type]


def _assembled(*jobs: SeenJob, queues: list[SeenQueue] | None = None) -> Assembled:
    return assemble(Seen(list(jobs), hosts=[SeenHost("h1", slots=4)], queues=queues), NOW)


@pytest.mark.behaviour("CFG-04")
def test_jobs_that_wait_for_others_are_left_out() -> None:
    found = _assembled(_job("1"), _job("2", dependent=True), _job("3", dependent=True))
    assert [job.id for job in found.instance.pending] == ["1"]
    assert any("2 pending jobs that wait for other jobs" in note for note in found.notes)


@pytest.mark.behaviour("CFG-04")
def test_of_requirements_only_what_nobody_described_goes() -> None:
    wanted = "select[ngpus>0 && mem>5] rusage[ngpus_physical=1,mem=4000] span[ptile=2]"
    found = _assembled(_job("1", res_req=wanted), _job("2", res_req="select[ngpus>0]"))
    assert [job.res_req for job in found.instance.pending] == [
        ("select[mem>5] rusage[mem=4000] span[ptile=2]",),
        (),
    ]
    text = "\n".join(found.notes)
    assert "left out a part of the requirements of 1 pending job: no resource is called" in text
    assert "left out the requirements of 1 pending job: no resource is called" in text


@pytest.mark.behaviour("CFG-04")
def test_users_of_a_queue_may_be_a_group_of_the_operating_system() -> None:
    staff, closed = SeenQueue("q", users="staff bert"), SeenQueue("q", users="all ~ann")
    found = _assembled(_job("1", user="ann"), _job("2", user="bert"), queues=[staff])
    assert [job.id for job in found.instance.pending] == ["1", "2"]
    assert any("USERS of queue q names staff" in note for note in found.notes)
    refused = _assembled(_job("1", user="ann"), _job("2", user="bert"), queues=[closed])
    assert [job.id for job in refused.instance.pending] == ["2"]


@pytest.mark.behaviour("CFG-04")
def test_a_queue_that_only_jobs_tell_of_takes_their_kind() -> None:
    found = _assembled(_job("1", exclusive=True))
    assert [(job.id, job.exclusive) for job in found.instance.pending] == [("1", True)]


def test_later_reasons_for_a_closed_host() -> None:
    found = assemble(Seen(hosts=[SeenHost("h1", slots=4, status="closed_New_Word")]), NOW)
    assert found.instance.cluster.hosts[0].status == "closed"
