"""The past of an instance from a log, on the instance's clock."""

from __future__ import annotations

import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from event_lines import job_new, job_start, job_status
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import Cluster, Host, InputError, Instance, Job, RunningJob, read_history
from slotwise.model.display import WEEK
from slotwise.solver.forecast.history import NO_LIMIT
from slotwise.solver.forecast.of_instance import forecast

DATA = Path(__file__).parents[1] / "data"
#: number, submit, wait, run time, processors, limit, user
RECORDS = ((1, 0, 5, 60, 3, 90, 7), (2, 10, 0, 30, 2, -1, 8), (3, 20, 50, 99, 1, 80, 7))


def _swf(tmp_path, records=RECORDS, header="", name="log.swf"):
    lines = [
        f"{number} {submit} {wait} {run} {procs} -1 -1 {procs} {limit} -1 1 {user} 1 1 1 1 -1 -1"
        for number, submit, wait, run, procs, limit, user in records
    ]
    path = tmp_path / name
    path.write_text("\n".join(["; MaxProcs: 4", *([header] if header else []), *lines, ""]))
    return path


def _instance(now=1000, origin=None, users=("user7",)):
    running = tuple(
        RunningJob(Job(f"r{user}", user=user, run_limit=99), now, {"pool": 1}) for user in users
    )
    return Instance(Cluster((Host("pool", 4),)), running=running, now=now, origin=origin)


def test_columns_of_an_swf_log(tmp_path):
    found = read_history(_swf(tmp_path), _instance())
    jobs = found.jobs
    assert jobs.submit.tolist() == [10, 0, 20]
    assert jobs.start.tolist() == [10, 5, 70]
    assert jobs.run_time.tolist() == [30, 60, 80]  # the last is cut to its limit
    assert jobs.limit.tolist() == [NO_LIMIT, 90, 80]
    assert jobs.slots.tolist() == [2, 3, 1]
    numbers = found.numbers(["user7", "user8", "nobody", "no one", "nobody"])
    assert numbers[:2] == jobs.user[1::-1].tolist()
    assert numbers[2] == numbers[4] != numbers[3]  # two unknown users are two users
    assert max(numbers[2:]) < 0
    assert jobs.user[2] == jobs.user[1] != jobs.user[0]
    assert found.like(1) == Job("1", slots=3, user="user7", run_limit=90, submit=0)
    assert found.remarks == ()


def test_only_what_had_ended_by_the_instances_now(tmp_path):
    found = read_history(_swf(tmp_path), _instance(now=65))
    assert found.jobs.end.tolist() == [40, 65]
    assert len(read_history(_swf(tmp_path), _instance(now=64)).jobs) == 1


def test_jobs_that_did_not_run_are_counted_and_said(tmp_path):
    path = _swf(tmp_path, (*RECORDS, (4, 30, 5, 0, 3, 90, 7), (5, 30, 5, -1, 3, 90, 7)))
    found = read_history(path, _instance())
    assert len(found.jobs) == 3
    assert found.remarks == (f"{path}: 2 of 5 jobs have no run that ended, and are not counted",)


def test_a_log_that_begins_later_on_an_unknown_clock_is_moved_by_whole_weeks(tmp_path):
    found = read_history(_swf(tmp_path), _instance(now=0))
    assert (found.jobs.end % WEEK).tolist() == [40, 65, 150]
    assert -WEEK <= found.jobs.end[-1] <= 0
    assert "moved by -1 weeks" in found.remarks[0]


def test_a_log_that_ended_long_ago_is_moved_by_whole_weeks(tmp_path):
    now = 10 * WEEK + 500
    found = read_history(_swf(tmp_path), _instance(now=now))
    assert found.jobs.end.tolist() == [10 * WEEK + end for end in (40, 65, 150)]
    assert "moved by +10 weeks" in found.remarks[0]
    assert read_history(_swf(tmp_path), _instance(now=3 * WEEK)).remarks == ()


def test_clocks_that_are_said_are_kept_to(tmp_path):
    begin = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())
    path = _swf(tmp_path, header=f"; UnixStartTime: {begin}")
    found = read_history(path, _instance(now=900, origin="2024-03-01T00:00:00+00:00"))
    assert found.jobs.end.tolist() == [40, 65, 150]
    found = read_history(path, _instance(now=4500, origin="2024-03-01T00:00:00+01:00"))
    assert found.jobs.end.tolist() == [3640, 3665, 3750]
    with pytest.raises(InputError, match="had ended by the instance's now"):
        read_history(path, _instance(now=0, origin="2024-02-29T00:00:00+00:00"))


def test_strange_users_are_remarked_and_known_ones_not(tmp_path):
    path = _swf(tmp_path)
    assert (
        "none of the instance's users" in read_history(path, _instance(users=("eve",))).remarks[0]
    )
    assert read_history(path, _instance(users=("eve", "user8"))).remarks == ()


def test_a_log_where_nothing_has_run_is_one_clear_message(tmp_path):
    for records in ((), ((1, 0, -1, -1, 3, 90, 7),)):
        with pytest.raises(InputError, match="no job of this log has ended"):
            read_history(_swf(tmp_path, records), _instance())


def test_foreign_files_are_one_clear_message(tmp_path):
    instance = tmp_path / "x.yaml"
    instance.write_text("format: slotwise/1\nhosts: []\n")
    with pytest.raises(InputError, match="is an instance file, not"):
        read_history(instance, _instance())
    with pytest.raises(InputError, match="No such file"):
        read_history(tmp_path / "none.swf", _instance())


def test_malformed_records_are_refused_or_remarked(tmp_path):
    path = _swf(tmp_path)
    path.write_text(path.read_text() + "1 2 3\n")
    with pytest.raises(InputError, match="must have 18 columns, not 3"):
        read_history(path, _instance())
    found = read_history(path, _instance(), keep_going=True)
    assert len(found.jobs) == 3
    assert "must have 18 columns, not 3" in found.remarks[0]


def test_a_packed_log_is_read(tmp_path):
    path = _swf(tmp_path)
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_history(packed, _instance()).jobs.end.tolist() == [40, 65, 150]


def test_a_job_of_lsb_events_has_the_slots_it_held_else_those_it_asked_for(tmp_path):
    lines = [
        *(job_new(number, 1000, slots=3) for number in (1, 2)),
        job_start(1, 1010, "a", "a", "b", "b"),
        job_start(2, 1020),  # on no host that is named
        *(job_status(number, 1050 + number, 64) for number in (1, 2)),
    ]
    path = tmp_path / "lsb.events"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    found = read_history(path, _instance(now=0, origin="1970-01-01T01:00:00+00:00"))
    assert found.jobs.slots.tolist() == [4, 3]


def test_lsb_acct_and_lsb_events_of_real_clusters():
    for path in (DATA / "acct/lsb.acct.small-cluster", DATA / "lsf/lsb.events"):
        found = read_history(path, _instance(now=0, origin="2030-01-01T00:00:00+00:00"))
        jobs = found.jobs
        assert len(jobs) > 10
        assert (jobs.submit <= jobs.start).all()
        assert (jobs.start <= jobs.end).all()
        assert (jobs.end[:-1] <= jobs.end[1:]).all()
        assert -WEEK <= jobs.end[-1] <= 0
        assert (jobs.slots >= 1).all()


def test_jobs_of_the_instance_do_not_stand_in_its_own_history_as_ended(tmp_path):
    """Without recorded waits all three would have ended; two of them wait or run by now."""
    records = tuple(
        (n, submit, -1, run, procs, limit, user)
        for n, submit, _, run, procs, limit, user in RECORDS
    )
    log = _swf(tmp_path, records)
    bare = _instance()
    assert read_history(log, bare).jobs.submit.tolist() == [10, 0, 20]
    waiting = Job("1", slots=3, user="user7", submit=0)
    running = RunningJob(Job("3", slots=1, user="user7", submit=20), 30, {"pool": 1})
    found = read_history(log, replace(bare, pending=(waiting,), running=(running,)))
    assert found.jobs.submit.tolist() == [10]
    assert any("2 jobs of it wait or run in the instance" in remark for remark in found.remarks)
    # A job of the same name from elsewhere is another one.
    other = replace(bare, pending=(replace(waiting, submit=500),))
    assert len(read_history(log, other).jobs) == 3


def test_a_record_of_a_job_of_the_instance_is_known_by_its_id_and_submission(tmp_path):
    """Other slots, a submission without seconds, one that nobody says; not another user's."""
    path = _swf(tmp_path, ((1, 400, -1, 5, 3, 90, 7), (2, 430, -1, 5, 3, 90, 8)))
    for job, left in (
        (Job("1", slots=1, user="user7", submit=400), [430]),
        (Job("1", slots=3, user="user7", submit=360), [430]),
        (Job("1", slots=3, user="user7"), [430]),
        (Job("1", slots=3, user="user8"), [400, 430]),
        (Job("1", slots=3, user="user7", submit=900), [400, 430]),
    ):
        found = read_history(path, replace(_instance(), pending=(job,)))
        assert found.jobs.submit.tolist() == left
        assert [found.like(row).submit for row in range(len(left))] == left


def test_a_log_of_which_all_jobs_wait_or_run_is_refused(tmp_path):
    path = _swf(tmp_path, ((1, 400, -1, 5, 3, 90, 7),))
    waiting = replace(_instance(), pending=(Job("1", user="user7", submit=400),))
    with pytest.raises(InputError, match="wait or run in the instance"):
        read_history(path, waiting)


@examples(40)
@given(
    st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 200), st.integers(1, 4)),
        min_size=6,
        max_size=25,
    ),
    st.integers(200, 500),
    st.integers(1, 100),
)
def test_how_long_a_job_of_the_instance_runs_by_the_log_changes_no_forecast(jobs, now, other):
    """Waits are not recorded; the jobs run one behind the other, so most have not ended by then."""
    with TemporaryDirectory() as folder:
        logs = [[], []]
        running, pending, free = [], [], 0
        for number, (submit, ran, slots) in enumerate(sorted(jobs), start=1):
            start = max(submit, free)
            free = start + ran
            known = free <= now
            for log, seconds in zip(logs, (ran, ran if known else other), strict=True):
                log.append((number, submit, -1, seconds, slots, 300, number % 3))
            job = Job(str(number), slots, user=f"user{number % 3}", run_limit=300, submit=submit)
            if not known and start < now:
                running.append(RunningJob(job, start, {"pool": slots}))
            elif not known and submit <= now:
                pending.append(job)
        here = Instance(
            Cluster((Host("pool", 4),)), running=tuple(running), pending=tuple(pending), now=now
        )
        paths = [_swf(Path(folder), log, name=f"{n}.swf") for n, log in enumerate(logs)]
        try:
            one, two = (forecast(here, path, samples=5).samples.tolist() for path in paths)
        except InputError:
            assume(False)  # nothing has ended by then
        assert one == two
