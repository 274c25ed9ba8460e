"""The store: what it keeps of polls, the starts that it derives, and that no kill damages it."""

import json
import os
import signal
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise.cli.main import app
from slotwise.cli.serve import database
from slotwise.cli.serve.polls import JobEstimate, PolledState
from slotwise.cli.serve.store import LoggedStart, Store
from slotwise.model.errors import InputError
from store_cases import NOON, job, poll
from typer.testing import CliRunner


@pytest.fixture
def store(tmp_path: Path):
    with Store.open(tmp_path / "score.db") as opened:
        yield opened


def times(store: Store, name: str = "1") -> list[int]:
    return [item.at - NOON for one in store.history(name) for item in one.estimates]


def test_jobs_that_one_poll_did_not_list_come_back(store: Store):
    """A listing may be partial; nothing is lost, and no run is counted twice."""
    keys = [(name, NOON - 600) for name in "1234"]
    store.record(poll(0, job("1"), job("2"), job("3"), job("4", likely=NOON + 900)))
    store.record(poll(60, running={keys[2]: NOON + 30}))
    assert store.history("4")[0].state == "gone"
    store.record(poll(120))
    found = store.record(poll(180, job("1"), job("4"), running=dict.fromkeys(keys[1:3], NOON + 30)))
    assert found.started == {keys[1]: NOON + 30}
    assert [(one.state, one.started) for n in "1234" for one in store.history(n)] == [
        ("pending", None),
        ("running", NOON + 30),
        ("running", NOON + 30),
        ("pending", None),
    ]
    assert store.history("3")[0].finished is None
    # Job 3 is requeued while no poll listed it.
    store.record(poll(240))
    store.record(poll(300, job("3")))
    assert [one.state for one in store.history("3")] == ["finished", "pending"]


def test_an_id_that_is_used_again_is_another_job(store: Store):
    store.record(poll(0, job("7[3]", NOON - 900)))
    store.record(poll(60, job("7[3]", NOON + 30), running={("7[3]", NOON - 900): NOON + 5}))
    assert [(item.submit - NOON, item.started) for item in store.history("7[3]")] == [
        (-900, NOON + 5),
        (30, None),
    ]


def test_a_requeued_job_begins_another_attempt(store: Store):
    store.record(poll(0, job()))
    store.record(poll(60, running={("1", NOON - 600): NOON + 50}))
    store.record(poll(120, job()))
    store.record(poll(180, running={("1", NOON - 600): NOON + 150}))
    found = store.history("1")
    assert [(item.attempt, item.started) for item in found] == [(1, NOON + 50), (2, NOON + 150)]
    # A log has both runs; each goes to its attempt.
    runs = [(NOON + 52, NOON + 100), (NOON + 152, NOON + 900)]
    assert store.add_outcomes([LoggedStart("1", NOON - 600, *run) for run in runs]) == 2
    assert [(item.started, item.finished) for item in store.history("1")] == runs


def test_a_log_says_what_no_poll_saw(store: Store):
    """A job that started and ended between two polls; bjobs has minutes, the log has seconds."""
    store.record(poll(0, job(submit=NOON - 600, likely=NOON + 100)))
    store.record(poll(600))
    assert store.first_estimates("likely") == []
    assert store.outcome("1", NOON - 571, NOON + 70, NOON + 90)
    assert not store.outcome("1", NOON - 500, NOON + 70, NOON + 90)  # another job of this id
    assert not store.outcome("9", NOON - 600, NOON + 70, NOON + 90)
    (item,) = store.first_estimates("likely")
    assert (item.starts["likely"], item.started) == (NOON + 100, NOON + 70)
    assert store.history("1")[0].state == "finished"


def test_a_job_that_a_log_ends_without_a_start_has_none(store: Store):
    store.record(poll(0, job()))
    assert store.outcome("1", NOON - 600, None, NOON + 30)
    assert store.history("1")[0].state == "gone"
    assert store.first_estimates("likely") == []
    store.record(poll(60))
    assert store.history("1")[0].finished == NOON + 30


def test_it_goes_on_after_it_was_closed(tmp_path: Path):
    one = job(likely=NOON + 900)
    with Store.open(tmp_path / "s.db") as store:
        store.record(poll(0, one, job("2")))
    with Store.open(tmp_path / "s.db") as store:
        assert store.record(poll(10, one, job("2"))).kept == 0
        store.record(poll(20, running={("1", one.submit): NOON + 15}))
        summary = store.summary()
    assert (summary.polls, summary.first_poll, summary.last_poll) == (3, NOON, NOON + 20)
    assert (summary.jobs, summary.started) == ({"running": 1, "gone": 1}, 1)


YEAR = 365 * 86400
#: A job at a poll: None, it is not there; a start that is estimated, or at which it runs.
SEEN = st.one_of(st.none(), st.tuples(st.booleans(), st.sampled_from((10**8, 2 * 10**8))))
POLLS = st.lists(
    st.tuples(
        st.sampled_from((0, 1, 10, 59, 3599, 3601, 90 * 86400, YEAR, -1, -59, -3601, -YEAR)),
        st.tuples(SEEN, SEEN),
        st.booleans(),
    ),
    max_size=9,
)


@given(polls=POLLS)
def test_no_state_is_lost_by_a_clock_that_jumps(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[int, tuple[Any, Any], bool]]
):
    """Each state is kept whole, and what was kept stays, also over a restart."""
    path, at = tmp_path_factory.mktemp("store") / "s.db", 0
    store, before, waited = Store.open(path, keep=86400), {"1": [], "2": []}, set()
    for number, (jump, seen, reopens) in enumerate(polls, 1):
        at += jump
        there = {name: found for name, found in zip("12", seen, strict=True) if found is not None}
        pending = [job(n, likely=NOON + start) for n, (runs, start) in there.items() if not runs]
        running = {(n, NOON - 600): NOON + start for n, (runs, start) in there.items() if runs}
        store.record(poll(at, *pending, running=running))
        if reopens:
            store.close()
            store = Store.open(path, keep=86400)
        assert store.summary().polls == number
        waited |= {item.job for item in pending}
        for name, (runs, start) in there.items():
            last = store.history(name)[-1] if name in waited else None
            if runs and last is not None:
                assert last.state == "running"
                assert last.started is not None
            elif last is not None:
                assert (last.state, last.estimates[-1].starts["likely"]) == (
                    "pending",
                    NOON + start,
                )
        for name, kept in before.items():
            now = [item for one in store.history(name) for item in one.estimates]
            assert [(item.at, item.starts) for item in now[: len(kept)]] == kept
            before[name] = [(item.at, item.starts) for item in now]
    store.close()


def test_prune_keeps_what_is_alive_and_what_is_new(store: Store):
    store.record(poll(0, job("1"), job("2"), job("3")))
    store.record(poll(60, job("2"), running={("1", NOON - 600): NOON + 1}))
    store.record(poll(120, job("2")))
    store.record(poll(100_000, job("2"), job("4")))
    store.record(poll(100_060, job("2")))
    assert store.prune(86_400) == 2
    assert [bool(store.history(name)) for name in "1234"] == [False, True, False, True]
    assert store.record(poll(100_070, job("2"))).kept == 0


def test_text_of_a_job_is_never_part_of_a_statement(store: Store):
    for name in ("'; DROP TABLE jobs; --", 'a"b', "%s", ":x", "é\u2028\x00"):
        store.record(poll(0, job(name)))
        assert [item.job for item in store.history(name)] == [name]
    assert store.summary().jobs["pending"] == 1  # the others left


@pytest.mark.parametrize("content", [b"jobs:\n- id: 7\n" * 20, b"\0" * 5000])
def test_a_file_that_is_none_is_refused_and_stays_itself(tmp_path: Path, content: bytes):
    path = tmp_path / "cluster.yaml"
    path.write_bytes(content)
    with pytest.raises(
        InputError,
        match=r"must be a store, not a file of another kind: give the "
        "file that",
    ):
        Store.open(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_stays_itself(tmp_path: Path):
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as other:
        other.execute("create table jobs (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="SQLite file of another program"):
        Store.open(path)
    assert path.read_bytes() == before


def test_no_store_is_made_to_read_one(tmp_path: Path):
    with pytest.raises(InputError, match="No such file or directory; give the file"):
        Store.open(tmp_path / "scroe.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_store_is_refused(tmp_path: Path):
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, *(job(str(number)) for number in range(500))))
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\x07" * 4096 * 3
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"is damaged: .*restore a copy, or move the file"):
        Store.open(path)


def test_a_store_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path):
    """As in a folder that is read-only: SQLite cannot make its other files."""
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, job("1")))
    Path(f"{path}-wal").mkdir()
    with pytest.raises(InputError, match=r"cannot be opened: ") as raised:
        Store.open(path)
    assert "damaged" not in str(raised.value)


def test_a_store_of_the_first_version_migrates(tmp_path: Path):
    """Its estimates had the time of the state as their order."""
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, job(likely=NOON + 600)))
        store.record(poll(10, job(likely=NOON + 6000)))
    with sqlite3.connect(path) as plain:
        plain.executescript(
            "alter table estimates drop column quantiles; alter table estimates rename to old;"
            "create table estimates (job_key integer not null, at integer not null, as_configured,"
            " estimate, possible, printed, likely, early, late, quantiles text not null,"
            " primary key (job_key, at)); insert into estimates select job_key, at, as_configured,"
            " estimate, possible, printed, likely, early, late, '' from old order by poll desc;"
            "drop table old; update meta set value = '1' where name = 'version'"
        )
    with Store.open(path) as store:
        assert store.record(poll(20, job(likely=NOON + 6000))).kept == 0
        assert store.record(poll(-20, job(likely=NOON + 90_000))).kept == 1
        assert times(store) == [0, 10, -20]


def test_a_store_of_the_second_version_gets_causes(tmp_path: Path):
    """It had no causes of moves."""
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, job(as_configured=NOON + 600)))
    with sqlite3.connect(path) as plain:
        plain.executescript(
            "alter table estimates drop column because;"
            "update meta set value = '2' where name = 'version'"
        )
    with Store.open(path) as store:
        store.record(poll(10, job(as_configured=NOON + 6000, because="job 7 finished")))
        (kept,) = store.history("1")
        assert [item.because for item in kept.estimates] == ["", "job 7 finished"]


def test_a_newer_store_is_refused_and_an_older_one_migrates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, job()))
    newer = database.VERSION + 1
    with monkeypatch.context() as patch:
        patch.setattr("slotwise.cli.serve.store.VERSION", newer)
        step = {
            database.VERSION: lambda c: c.exec_driver_sql("alter table jobs add column why text")
        }
        patch.setattr("slotwise.cli.serve.store.STEPS", step)
        with Store.open(path) as store:
            assert store.record(poll(10, job())).kept == 0
    with sqlite3.connect(path) as plain:
        assert "why" in [row[1] for row in plain.execute("pragma table_info(jobs)")]
    with pytest.raises(InputError, match=rf"version {newer}: this slotwise reads up to version"):
        Store.open(path)


def test_states_of_another_clock_are_refused(store: Store):
    store.record(poll(0, job()))
    with pytest.raises(InputError, match="times must be dates, as in the store"):
        store.record(replace(poll(10), dated=False))
    assert store.summary().polls == 1


def test_a_store_in_memory_and_readers_of_other_threads():
    from concurrent.futures import ThreadPoolExecutor

    with Store.open(":memory:") as store, ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(store.history, "1") for _ in range(40)]
        for second in range(20):
            store.record(poll(second, job(likely=NOON + 600 * second)))
            readers.append(pool.submit(store.history, "1"))
        assert all(len(reader.result()) <= 1 for reader in readers)
        assert len(times(store)) == 20


def write_until_killed(path: Path, told: int) -> NoReturn:
    """Record poll after poll, and report the second of each to a pipe once it is kept."""
    try:
        store = Store.open(path)
        second = (store.summary().last_poll or 0) + 1
        os.write(told, b"%d\n" % (second - 1))
        while True:
            starts = 10**6 * (1 + second % 2)
            jobs = (JobEstimate(str(n), 1, "u", "q", 1, likely=starts) for n in range(50))
            store.record(PolledState(second, True, tuple(jobs)))
            os.write(told, b"%d\n" % second)
            second += 1
    finally:
        os._exit(1)


def kill_while_it_writes(path: Path, kills: int) -> None:
    """Each time: the store opens, has every poll that was reported, and whole ones only."""
    for number in range(kills):
        reading, told = os.pipe()
        writer = os.fork()
        if not writer:
            write_until_killed(path, told)
        os.close(told)
        with os.fdopen(reading) as lines:
            seconds = [int(lines.readline()), int(lines.readline())]  # it opened, and kept one
            time.sleep(0.013 * ((number + 3) % 17))
            os.kill(writer, signal.SIGKILL)
            assert os.waitstatus_to_exitcode(os.waitpid(writer, 0)[1]) == -signal.SIGKILL
            seconds += [int(line) for line in lines if line[-1] == "\n"]
        with Store.open(path) as store:
            last = store.summary().last_poll or 0
            assert last - seconds[-1] in (0, 1)
            for name in ("0", "49"):
                kept = [item.at for one in store.history(name) for item in one.estimates]
                assert kept == list(range(1, last + 1))
    assert last >= kills


def test_a_killed_process_loses_the_poll_in_flight_at_most(tmp_path: Path):
    kill_while_it_writes(tmp_path / "s.db", 5)


@pytest.mark.slow
def test_200_kills(tmp_path: Path):
    kill_while_it_writes(tmp_path / "s.db", 200)


def forecast_store(path: Path, jobs: int) -> None:
    """Jobs that waited twice as long as their P90, each asked once."""
    with Store.open(path) as store:
        for number in range(jobs):
            at = 10_000 * number
            quantiles = tuple(NOON + at + 1000 * step for step in range(1, 10))
            asked = replace(job(str(number), NOON + at), quantiles=quantiles)
            store.record(poll(at, asked))
            store.record(poll(at + 9999, running={asked.key: NOON + at + 18_000}))


@pytest.mark.parametrize("jobs", [19, 40])
def test_forecasts_are_calibrated_by_a_store_once_it_suffices(tmp_path: Path, jobs: int):
    path = tmp_path / "s.db"
    forecast_store(path, jobs)
    log = tmp_path / "log.swf"
    log.write_text("1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n")
    line = f"forecast --example headline --history {log} --calibration {path} --samples 4"
    found = CliRunner().invoke(app, [*line.split(), "--format", "json"])
    assert found.exit_code == 0
    if jobs < 20:
        said = "not calibrated: 19 of its forecasts have a known start, 20 are needed"
    else:
        said = "calibrated by 40 forecasts of it"
    factors = json.loads(found.stdout)["calibration"]
    assert (factors["forecasts"], factors["late"] > 1.2) == (jobs, jobs >= 20)
    assert f"{path}: {said}" in found.stderr


def test_jobs_are_pruned_by_the_polls_themselves(tmp_path: Path):
    with Store.open(tmp_path / "s.db", keep=3600) as store:
        for hour in range(6):
            store.record(poll(3600 * hour, job(str(hour))))
        assert [bool(store.history(str(hour))) for hour in range(6)] == [False] * 3 + [True] * 3


def test_one_process_writes_a_store(tmp_path: Path):
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.record(poll(0, job("1")))
        with pytest.raises(InputError, match="another `slotwise serve` writes this store"):
            Store.open(path)
        with Store.open(path, create=False) as reader:
            assert reader.history("1")
        store.record(poll(100, job("2")))
    with Store.open(path) as store:
        assert store.history("2")
