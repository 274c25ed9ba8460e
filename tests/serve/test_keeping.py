"""What the service keeps in its store, and its forecasts by a log."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from asgi_client import get
from serve.service_lab import by_header, lab
from slotwise import Host, Instance, Job, RunningJob

NAMED = by_header("X-User")
#: 40 jobs one after another, each of a quarter of its limit.
SWF = "; MaxProcs: 2\n; UnixStartTime: 1772400000\n" + "".join(
    f"{n} {1800 * n} 0 900 2 -1 -1 2 3600 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 41)
)


def waiting(now: int, *, started: bool = False) -> Instance:
    """One host, full for two hours; job 1 of ana waits, or has started at 600."""
    first = Job("1", 2, run_limit=3600, user="ana")
    full = RunningJob(Job("r", 2, run_limit=7200), 0, {"a": 2})
    return Instance(
        sw.Cluster((Host("a", 2),)),
        running=(RunningJob(first, 600, {"a": 2}),) if started else (full,),
        pending=() if started else (first,),
        origin="2026-03-02T09:00:00+00:00",
        now=now,
    )


def test_estimates_are_kept_and_shown_with_what_happened(tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    here = lab(waiting(0), waiting(300), waiting(900, started=True), access=NAMED, store=store)
    before = get(here.app, "/jobs/1", x_user="ana").data
    assert [(row["at"], row["as_configured"]) for row in before["history"]] == [(0, 7200)]
    here.poll()
    here.poll()
    gone = get(here.app, "/jobs/1", x_user="ana")
    assert gone.status == 404
    (row,) = gone.data["history"]
    assert row["started_time"] == "2026-03-02T09:10:00+00:00"
    assert get(here.app, "/jobs/1", x_user="ben").data["history"] == []
    here.service.stop()
    again = lab(waiting(1200, started=True), access=NAMED, store=store)
    assert get(again.app, "/jobs/1", x_user="ana").data["history"] == [row]
    told = get(again.app, "/accuracy?by=queue", x_user="ana").data["accuracy"]
    (first,) = [i for i in told["groups"][0]["estimators"] if i["estimator"] == "as configured"]
    assert (first["jobs"], first["mean_error"]) == (1, 6600)
    (point,) = told["compared"]
    assert (point["job"], point["estimated"], point["waited"]) == ("1", 7200, 600)
    others = get(again.app, "/accuracy?by=queue", x_user="ben").data["accuracy"]
    assert others == {**told, "compared": []}, "a named user sees the points of own jobs alone"
    wrong = get(again.app, "/accuracy?by=user", x_user="ana")
    assert (wrong.status, wrong.data["error"][:14]) == (400, "by must be one")
    again.service.stop()


@pytest.mark.parametrize(
    ("user", "because"), [("ana", "another job finished"), ("", "job 7 finished")]
)
def test_a_compared_start_has_the_cause_of_its_largest_move(
    user: str, because: str, tmp_path: Path
) -> None:
    """Nothing under Because, the cause of a move the other way, or an id of a job of others."""
    first = waiting(0)
    first = replace(first, running=(replace(first.running[0], job=Job("7", 2, run_limit=7200)),))
    late = Job("8", 2, run_limit=600, user="ben")
    freed = replace(first, now=300, running=(RunningJob(late, 300, {"a": 2}),))
    states = (
        first,
        freed,
        replace(waiting(960, started=True), running=(RunningJob(first.pending[0], 900, {"a": 2}),)),
    )
    here = lab(*states, store=str(tmp_path / "store.sqlite"), access=NAMED if user else None)
    here.poll()
    here.poll()
    found = get(here.app, "/accuracy", **({"x_user": user} if user else {})).data["accuracy"]
    (point,) = found["compared"]
    assert (point["estimated"], point["waited"], point["because"]) == (7200, 900, because)
    assert point["by_method"]["as configured"] == 7200
    here.service.stop()


def test_causes_of_moves_outlast_the_service_and_name_no_job_of_others(tmp_path: Path) -> None:
    """The running job 7 ends early; a second service has only the store."""
    store = str(tmp_path / "store.sqlite")
    first = waiting(0)
    first = replace(first, running=(replace(first.running[0], job=Job("7", 2, run_limit=7200)),))
    late = Job("8", 2, run_limit=600, user="ben")
    freed = replace(first, now=300, running=(RunningJob(late, 300, {"a": 2}),))
    here = lab(first, freed, store=store, access=NAMED)
    here.poll()
    here.service.stop()
    change = {"kind": "earlier", "by": 6300, "because": "another job finished"}
    for state in (replace(freed, now=330), replace(freed, now=360, pending=())):
        again = lab(state, store=store, access=NAMED)
        assert get(again.app, "/jobs/1", x_user="ana").data["history"][0]["change"] == change
        again.service.stop()


def test_a_store_that_fails_leaves_the_board_and_health_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state that is not kept is shown; the next one that is kept ends the trouble."""
    here = lab(waiting(900), store=str(tmp_path / "s.db"))
    for thread in ("planning.PlannerThread", "planning.Poller"):
        monkeypatch.setattr(f"slotwise.cli.serve.{thread}.is_alive", True)
    polled = here.service.board.state.polled
    assert polled is not None
    assert get(here.app, "/healthz").status == 200
    with sqlite3.connect(tmp_path / "s.db") as other:
        other.execute("alter table meta rename to away")
    with pytest.raises(sw.SlotwiseError, match="the store failed: no such table: meta"):
        here.service.planner.plan(replace(polled, number=2))
    told = get(here.app, "/healthz")
    assert (told.status, told.data["status"][:25]) == (503, "estimates are not stored:")
    row = get(here.app, "/jobs").data["jobs"][0]
    assert row["as_configured"] == 7200
    with sqlite3.connect(tmp_path / "s.db") as other:
        other.execute("alter table away rename to meta")
    here.service.planner.plan(replace(polled, number=3))
    assert get(here.app, "/healthz").status == 200


def test_a_state_of_the_past_is_kept_with_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    """The start that it shows is kept too."""
    here = lab(waiting(1500), waiting(900, started=True), store=":memory:")
    here.poll()
    assert [row["started"] for row in get(here.app, "/jobs/1").data["history"]] == [600]
    assert "this state is 10m earlier than the last one" in capsys.readouterr().err


def test_forecasts_by_a_log(tmp_path: Path) -> None:
    log = tmp_path / "done.swf"
    log.write_text(SWF)
    here = lab(waiting(60), log=log)
    row = get(here.app, "/jobs").data["jobs"][0]
    assert 0 < row["likely"] < row["as_configured"], "jobs end before their limits"
    assert row["one_in_ten_by"] <= row["likely"] <= row["nine_in_ten_by"]
    log.unlink()
    here.poll()
    found = get(here.app, "/jobs").data
    assert "likely" not in found["jobs"][0]
    assert found["warnings"][0].startswith("no forecast: ")
