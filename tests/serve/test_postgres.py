"""The store on a real PostgreSQL, where its programs and psycopg are installed."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from slotwise.cli.serve.score import score_of
from slotwise.cli.serve.store import Store, StoreError
from slotwise.model.errors import InputError
from store_cases import NOON, job, poll

pytestmark = pytest.mark.slow


def programs() -> Path | None:
    """The folder of initdb and pg_ctl."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of our own, on a socket alone; it refuses to run as root."""
    pytest.importorskip("psycopg")
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed")
    home = Path("/tmp") / f"slotwise-pg-{os.getpid()}"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(*words: str) -> None:
        subprocess.run([*as_user, *words], check=True, cwd=home, capture_output=True, timeout=120)

    data = str(home / "data")
    options = f"-k {home} -c listen_addresses= -c fsync=off"
    run(str(folder / "initdb"), "-D", data, "-U", "tester", "-A", "trust", "-N")
    start = (str(folder / "pg_ctl"), "-D", data, "-w", "-l", str(home / "log"), "-o", options)
    run(*start, "start")
    try:
        yield f"postgresql+psycopg://tester@/postgres?host={home}"
    finally:
        run(str(folder / "pg_ctl"), "-D", data, "-w", "-m", "immediate", "stop")
        shutil.rmtree(home, ignore_errors=True)


def test_a_database_holds_what_a_file_holds(url: str, tmp_path: Path) -> None:
    polls = [
        poll(0, job("7[3]", likely=NOON + 900), job("'; --"), job("é")),
        poll(60, job("7[3]", likely=NOON + 9000), running={("é", NOON - 600): NOON + 50}),
        poll(120, job("é"), running={("7[3]", NOON - 600): NOON + 100}),
        poll(9000, job("é")),
    ]
    answers = []
    with pytest.raises(InputError, match="must be a store"):
        Store.open(url, create=False)
    for target in (url, tmp_path / "s.db"):
        for first in (0, 2):  # it is opened again between two polls
            with Store.open(target) as store:
                for state in polls[first : first + 2]:
                    store.record(state)
        with Store.open(target, create=False) as store:
            assert store.outcome("'; --", NOON - 590, NOON + 20, NOON + 30)
            histories = [store.history(name) for name in ("7[3]", "'; --", "é")]
            answers.append((histories, store.summary(), score_of(store).groups, store.prune(60)))
            assert store.history("'; --") == ()
    assert answers[0] == answers[1]


def test_a_lost_server_is_one_error_and_the_poll_comes_again(url: str) -> None:
    with Store.open(url) as store:
        last = store.summary().last_poll or NOON
        others = "from pg_stat_activity where pid <> pg_backend_pid()"
        with Store.open(url) as other, other._transaction(writes=False) as connection:  # noqa: SLF001
            connection.exec_driver_sql(f"select pg_terminate_backend(pid) {others}")
        state = poll(last - NOON + 10, job("9", likely=NOON + 99_999))
        try:
            store.record(state)
        except StoreError:
            store.record(state)
        assert store.history("9")[0].state == "pending"


def test_an_unreachable_server_is_one_message_without_the_password() -> None:
    with pytest.raises(InputError, match=r"u:\*\*\*@localhost:1/x: cannot be opened: ") as failed:
        Store.open("postgresql+psycopg://u:secret@localhost:1/x")
    assert "secret" not in str(failed.value)
