"""What users and operators do while a simulation runs, each against what it must bring (LOP-07)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import MINUTE, host, instance, job, run, running
from sampling import some
from slotwise import (
    EarlyEnd,
    HostStatus,
    InputError,
    Instance,
    Kill,
    Modification,
    Moved,
    NewJob,
    Queue,
    QueueSwitch,
    Release,
    Simulation,
)
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

TWO_QUEUES = (Queue("q", priority=5), Queue("fast", priority=9, run_limit=20 * MINUTE))


def one_host(*pending: object, slots: int = 2, **more: object) -> Instance:
    """Each job of ten minutes takes the whole host, so they run one after another."""
    return instance(host("A", slots), pending=pending, **more)  # type: ignore[arg-type]


def line(*names: str, **more: object) -> Instance:
    jobs = [job(name, 2, minutes=10, submit=-9 + n) for n, name in enumerate(names)]
    return one_host(*jobs, **more)


def order(result: Simulation) -> list[str]:
    starts = result.starts
    return sorted(starts, key=starts.__getitem__)


@pytest.mark.behaviour("LOP-07")
def test_a_switched_job_waits_in_its_new_queue() -> None:
    problem = line("a", "b", "c", queues=TWO_QUEUES)
    result = run(problem, changes=[QueueSwitch(60, "c", "fast")])
    assert order(result) == ["a", "c", "b"]
    assert result["c"].queue == "fast"
    with pytest.raises(InputError, match="unknown queue 'slow'"):
        run(problem, changes=[QueueSwitch(60, "c", "slow")])


@pytest.mark.behaviour("LOP-07", "LOP-02")
def test_a_new_run_limit_holds_for_jobs_that_wait_and_that_run() -> None:
    jobs = [job("a", 2, minutes=30), job("b", 2, minutes=30)]
    changes = [Modification(60, name, {"run_limit": 5 * MINUTE}) for name in "ab"]
    result = run(one_host(*jobs), changes=changes)
    assert (result["a"].end, result["b"].start, result["b"].end) == (300, 300, 600)
    overdue = run(one_host(*jobs), changes=[Modification(600, "a", {"run_limit": 300})])
    assert overdue["a"].end == 600
    longer = [replace(jobs[0], run_time=40 * MINUTE), jobs[1]]
    result = run(one_host(*longer), changes=[Modification(60, "a", {"run_limit": 3600})])
    assert (result["a"].status, result["a"].end) == ("done", 2400)
    assert run(one_host(*longer))["a"].status == "killed"


@pytest.mark.behaviour("LOP-07")
def test_a_job_before_its_begin_time_can_be_changed_and_killed() -> None:
    late = job("late", 2, minutes=10, begin=3000)
    sooner = run(one_host(late), changes=[Modification(60, "late", {"begin": 600})])
    assert sooner["late"].start == 600
    later = run(one_host(late), changes=[Modification(60, "late", {"begin": 6000})])
    assert later["late"].start == 6000
    killed = run(one_host(late), changes=[Kill(60, "late")])
    assert (killed["late"].status, killed["late"].start) == ("killed", None)


@pytest.mark.behaviour("LOP-07", "TBR-14")
def test_released_slots_are_free_at_once() -> None:
    problem = instance(
        host("A", 4),
        running=(running("r", {"A": 4}, 60),),
        pending=(job("p", 3, minutes=10),),
    )
    result = run(problem, changes=[Release(120, "r", {"A": 3})])
    assert (result["p"].start, result["r"].hosts, result["r"].end) == (120, {"A": 1}, 3600)
    for slots in ({"A": 4}, {"A": 5}):
        left = run(problem, changes=[Release(120, "r", slots)])
        assert len(left.notes) == 1
        assert left["p"].start == 3600


COMMANDS = (
    NewJob(job("new", 1, minutes=5, submit=130)),
    Moved(140, "d", "top"),
    Modification(150, "c", {"slots": 1, "max_slots": None, "run_limit": 120}),
    QueueSwitch(160, "b", "fast"),
    Kill(170, "e"),
    Modification(180, "a", {"run_limit": 240}),
    EarlyEnd(500, "b"),
    HostStatus(520, "A", "down"),
    HostStatus(560, "A", "up"),
    Kill(700, "nobody"),
)


@pytest.mark.behaviour("LOP-07", "LOP-05")
@pytest.mark.parametrize("method", ["none", "greedy", "time-based"])
@pytest.mark.parametrize("fairshare", some([False, True], 1))
def test_a_checkpoint_anywhere_among_changes_changes_nothing(method: str, fairshare: bool) -> None:
    shares = (("user", 1),) if fairshare else None
    queues = tuple(replace(queue, user_shares=shares) for queue in TWO_QUEUES)
    problem = line(*"abcde", queues=queues)
    settings = settings_for(problem, reservation=method)

    def session() -> Session:
        fresh = Session(problem, settings, changes=COMMANDS, keep_log=True)
        fresh.begin()
        return fresh

    whole = session()
    steps = 0
    while whole.advance():
        steps += 1
    wanted = whole.result()
    for stop in range(steps + 1):
        part = session()
        for _ in range(stop):
            part.advance()
        text = save(part)
        again = load(text, problem, changes=COMMANDS)
        assert save(again) == text
        while again.advance():
            pass
        assert again.result() == wanted
    with pytest.raises(InputError, match="other changes"):
        load(save(session()), problem, changes=COMMANDS[:-1])
