"""Polls: sources, the breaker, stale states, and what has changed between two of them."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from asgi_client import get
from serve.service_lab import joint_wins, lab
from slotwise import Host, Instance, Job, RunningJob
from slotwise.cli.serve.planning import LONGEST_WAIT, WHOLE_EVERY, Breaker
from slotwise.cli.serve.polls import LivingCluster, SnapshotFolder, living_cluster, state_source
from slotwise.cli.source import Source
from slotwise.model.errors import InputError
from slotwise.solver.outlook.outlook import StepLimits, outlook


def written(path: Path, instance: Instance, at: int) -> None:
    path.write_text(sw.dump(instance), encoding="utf-8")
    os.utime(path, (at, at))


def test_the_newest_readable_snapshot_of_a_folder_counts(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path)
    with pytest.raises(InputError, match="has no snapshot: add a file whose name ends in"):
        folder.read()
    written(tmp_path / "1.yaml", replace(joint_wins(), name="first"), 100)
    written(tmp_path / "2.yaml", replace(joint_wins(), name="second"), 200)
    (tmp_path / "notes.txt").write_text("no snapshot")
    stamp = folder.stamp()
    assert folder.read()[0].name == "second"
    (tmp_path / "3.yaml").write_text("half written: [")
    os.utime(tmp_path / "3.yaml", (300, 300))
    instance, warnings = folder.read()
    assert instance.name == "second"
    assert "3.yaml: skipped, an older snapshot is shown" in str(warnings[0])
    assert folder.stamp() != stamp
    (tmp_path / "1.yaml").unlink()
    (tmp_path / "2.yaml").unlink()
    with pytest.raises(InputError, match=r"3\.yaml"):
        folder.read()


def test_sources_of_the_command(tmp_path: Path) -> None:
    file = tmp_path / "now.yaml"
    written(file, joint_wins(), 100)
    watched = state_source(Source(file=file), 60.0)
    assert len(watched.stamp()) == 3
    assert isinstance(state_source(Source(file=tmp_path), 60.0), SnapshotFolder)
    assert state_source(Source(example="tutorial"), 60.0).title == "tutorial"
    assert state_source(Source(live=True), 60.0).stamp() == ()
    with pytest.raises(InputError, match=r"standard input \(-\) repeatedly: give a file"):
        state_source(Source(file=Path("-")), 60.0)


def test_the_breaker_asks_less_and_less_often() -> None:
    breaker = Breaker(10.0)
    waits = []
    for _ in range(12):
        breaker.failed()
        waits.append(breaker.wait)
    assert waits[:6] == [10, 10, 10, 20, 40, 80]
    assert waits[-1] == LONGEST_WAIT
    assert breaker.is_open
    breaker.succeeded()
    assert (breaker.wait, breaker.is_open) == (10, False)
    slow = Breaker(3600.0, failures=50)
    assert slow.wait == 3600


def test_a_failed_poll_keeps_the_last_state_marked_stale() -> None:
    broken = InputError("bjobs gave no answer in 30 s")
    here = lab(joint_wins(), broken, broken, joint_wins())
    before = get(here.app, "/jobs").data
    here.poll()
    after = get(here.app, "/jobs").data
    assert after["jobs"] == before["jobs"]
    assert after["state"]["stale"]
    assert after["state"]["problem"] == "bjobs gave no answer in 30 s"
    here.poll()
    assert here.service.board.state.failures == 2
    here.poll()
    again = get(here.app, "/jobs").data["state"]
    assert (again["stale"], again["problem"], here.service.poller.failures) == (False, "", 2)


def test_a_fault_of_ours_does_not_end_the_polls(capsys: pytest.CaptureFixture[str]) -> None:
    here = lab(joint_wins(), ZeroDivisionError("x"), joint_wins())
    here.poll()
    assert "an internal error of slotwise" in here.service.board.state.problem
    assert "ZeroDivisionError" in capsys.readouterr().err
    here.poll()
    assert here.service.board.state.problem == ""


def test_nothing_is_read_again_while_the_file_is_the_same(tmp_path: Path) -> None:
    here = lab(joint_wins())
    source = here.service.poller.source
    poller = here.service.poller
    poller.poll((1,))
    reads = source.reads  # type: ignore[attr-defined]
    here.now[0] += 5
    poller.poll((1,))
    assert source.reads == reads  # type: ignore[attr-defined]
    polled = here.service.board.state.polled
    assert polled is not None
    assert polled.read_at == 1005.0
    poller.poll((2,))
    assert source.reads == reads + 1  # type: ignore[attr-defined]


def full() -> Instance:
    """One host, full for two hours; two jobs wait."""
    return Instance(
        sw.Cluster((Host("a", 2),)),
        running=(RunningJob(Job("r", 2, run_limit=7200), 0, {"a": 2}),),
        pending=(Job("1", 2, run_limit=3600), Job("2", 2, run_limit=3600)),
        origin="2026-03-02T09:00:00+00:00",
    )


def test_changes_and_their_reasons() -> None:
    first = full()
    freed = replace(
        first,
        now=600,
        running=(),
        pending=(*first.pending, Job("3", 2, run_limit=60, submit=300)),
    )
    queued = replace(first, now=1200, running=(RunningJob(first.pending[0], 600, {"a": 2}),))
    queued = replace(queued, pending=(freed.pending[1], freed.pending[2]))
    here = lab(first, freed, queued)
    assert all(row["changed"] is None for row in get(here.app, "/jobs").data["jobs"])
    here.poll()
    rows = {row["job"]: row["changed"] for row in get(here.app, "/jobs").data["jobs"]}
    assert rows["1"]["text"] == "1h 50m earlier, after job r finished"
    assert (rows["2"]["kind"], rows["2"]["by"]) == ("earlier", 6600)
    assert rows["3"]["kind"] == "new"
    here.poll()
    rows = {row["job"]: row["changed"] for row in get(here.app, "/jobs").data["jobs"]}
    assert rows["2"]["kind"] == "earlier", "a start that is where it was keeps its last change"
    moves = get(here.app, "/jobs/2").data["moves"]
    assert [move["as_configured"] for move in moves] == [4200, 10800]


def test_jobs_that_are_not_planned_yet_keep_their_starts() -> None:
    first = full()
    later = replace(first, now=60, pending=(*first.pending, Job("3", 2, run_limit=60, submit=30)))
    here = lab(first, later)
    service = here.service
    service.poller.poll(())
    rows = {row["job"]: row for row in get(here.app, "/jobs").data["jobs"]}
    assert rows["1"]["of_earlier_state"]
    assert rows["1"]["as_configured"] == 7200
    assert (rows["3"]["state"], rows["3"].get("as_configured")) == ("not examined", None)
    polled = service.board.state.polled
    assert polled is not None
    service.planner.limits = StepLimits(first=0.0)
    seen: list[set[bool]] = []
    service.board.listen(lambda state: seen.append({row.of_earlier_state for row in state.rows}))
    service.planner.plan(polled)
    assert seen[0] == {True, False}, "the first starts come before the rest"
    assert seen[-1] == {False}
    rows = {row["job"]: row for row in get(here.app, "/jobs").data["jobs"]}
    assert rows["3"]["as_configured"] == 14400


def test_a_newer_state_ends_the_simulation_of_an_older_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Jobs that were not examined keep their starts, in the store too."""
    first = full()
    second, third = replace(first, now=60), replace(first, now=120, running=())
    here = lab(first, second, third, store=":memory:")
    service = here.service
    planner, polls = service.planner, []
    for _ in range(2):
        service.poller.poll(())
        polls.append(service.board.state.polled)
    older, newer = polls
    assert older is not None
    assert newer is not None
    monkeypatch.setattr("slotwise.cli.serve.planning.MIN_RUN", 0.0)
    planner.give(newer)
    planner.plan(older)
    rows = {row["job"]: row for row in get(here.app, "/jobs").data["jobs"]}
    assert [(row["as_configured"], row["of_earlier_state"]) for row in rows.values()] == [
        (7200, True),
        (10800, True),
    ]
    assert [item["as_configured"] for item in get(here.app, "/jobs/1").data["history"]] == [7200]
    planner.plan(newer)
    rows = {row["job"]: row for row in get(here.app, "/jobs").data["jobs"]}
    assert [(row["as_configured"], row["of_earlier_state"]) for row in rows.values()] == [
        (120, False),
        (3720, False),
    ]
    history = get(here.app, "/jobs/2").data["history"]
    assert [item["as_configured"] for item in history] == [3720, 10800]
    service.stop()


def test_a_simulation_takes_half_of_the_time_between_two_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a deep queue it took all of the time, and no plan was ever made; a file that does not
    change would have lost its late starts: one that was cut is run again if nothing new comes.
    """
    here = lab(full())
    polled, planner = here.service.board.state.polled, here.service.planner
    assert polled is not None
    seconds: list[float] = []

    def steps(instance: Instance, publish: object, limits: StepLimits, **stops: object) -> object:
        seconds.append(limits.configured)
        return replace(outlook(instance), cut=len(seconds) < 4)

    monkeypatch.setattr("slotwise.solver.outlook.outlook.starts_in_steps", steps)
    planner.every = 20.0
    planner.plan(polled)
    clock = time.monotonic
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: clock() + WHOLE_EVERY)
        planner.plan(polled)  # now and then a simulation runs on, so that late starts are known
    planner.every = 0.1
    planner.start()
    planner.give(replace(polled, number=9))
    while planner.counters.plans < 5:  # the laboratory has planned once
        planner.stopping.wait(0.01)
    planner.stop()
    assert seconds == [10.0, StepLimits().configured, 0.05, StepLimits().configured]


def test_a_plan_that_fails_leaves_the_board(capsys: pytest.CaptureFixture[str]) -> None:
    here = lab(joint_wins())
    planner = here.service.planner
    bad = replace(joint_wins(), pending=(Job("x", 1, queue="nowhere"),))
    polled = here.service.board.state.polled
    assert polled is not None
    planner.start()
    planner.give(replace(polled, number=9, instance=bad))
    while not planner.counters.failures:
        planner.stopping.wait(0.01)
    planner.give(replace(polled, number=10))
    while planner.counters.plans < 2:
        planner.stopping.wait(0.01)
    planner.stop()
    assert not planner.is_alive
    assert here.service.board.state.unplanned == ""
    capsys.readouterr()


def test_the_cluster_of_an_example_goes_on() -> None:
    now = [0.0]

    def cluster() -> LivingCluster:
        made = living_cluster("tutorial", 60.0)
        made.clock = lambda: now[0]
        return made

    one, other = cluster(), cluster()
    states = []
    for second in (0.0, 10.0, 30.0):
        now[0] = second
        states.append(one.read()[0])
    now[0] = 0.0
    other.read()
    now[0] = 30.0
    assert other.read()[0].running == states[-1].running, "it does not depend on the polls"
    assert [state.now for state in states] == [0, 600, 1800]
    ids = [
        {job.id for job in state.pending} | {r.job.id for r in state.running} for state in states
    ]
    assert ids[0] != ids[-1], "a newcomer sees it move within 30 seconds"
    for state in states:
        assert all(job.run_time is None for job in state.pending)
        assert all(run.job.run_time is None for run in state.running)
        assert not state.future
    assert len(outlook(states[-1], time_limit=5.0)) == len(states[-1].pending)


def test_an_example_without_pending_jobs_lives_too() -> None:
    now = [0.0]
    empty = replace(joint_wins(), pending=(), running=())
    cluster = LivingCluster("empty", empty, 3600.0, clock=lambda: now[0])
    cluster.read()
    now[0] = 24.0
    found, _ = cluster.read()
    assert found.now == empty.now + 86_400
    assert found.running
