"""What users and operators do while a simulation runs, each against what it must bring (LOP-07)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from loop_lab import MINUTE, host, instance, job, run, running
from sampling import some
from slotwise import (
    Change,
    EarlyEnd,
    HostStatus,
    InputError,
    Instance,
    Kill,
    LoadReport,
    Modification,
    Moved,
    NewJob,
    Params,
    Queue,
    QueueSwitch,
    Release,
    Resize,
    Simulation,
    Thresholds,
    measure,
)
from slotwise.model.changes import STATUSES, status_after
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


@pytest.mark.behaviour("ARR-01", "LOP-07")
def test_bmod_of_the_limit_of_an_array_is_named_and_the_rest_of_it_done() -> None:
    """It changed nothing and nobody said so."""
    elements = [job(f"7[{n}]", 1, minutes=10, array_limit=1) for n in (1, 2, 3)]
    fields = {"array_limit": 3, "run_limit": 5 * MINUTE}
    changes = (Modification(60, "7[2]", fields), Modification(60, "7[3]", {"array_limit": 1}))
    result = run(one_host(*elements), changes=changes)
    assert [result.starts[f"7[{n}]"] for n in (1, 2, 3)] == [0, 10 * MINUTE, 15 * MINUTE]
    (note,) = result.notes
    assert "7[2] at 60 s" in note
    assert "how many elements of its array may run at once stays as it is" in note


@pytest.mark.behaviour("LOP-07")
@pytest.mark.parametrize(
    ("commands", "wanted"),
    [
        ([], "abcd"),
        ([Moved(60, "d", "top")], "adbc"),
        ([Moved(60, "b", "bottom")], "acdb"),
        ([Moved(60, "c", "top"), Moved(70, "d", "top")], "adcb"),
        ([Moved(60, "b", "bottom"), Moved(60, "c", "bottom")], "adbc"),
        ([Moved(60, "d", "top"), Moved(61, "d", "bottom")], "abcd"),
        ([Moved(60, "a", "bottom")], "abcd"),
        ([Moved(60, "b", "bottom"), NewJob(job("e", 2, minutes=10, submit=90))], "acdbe"),
        ([Modification(60, "d", {"priority": 7})], "adbc"),
        ([Moved(60, "b", "top"), Modification(61, "c", {"priority": 7})], "acbd"),
        ([Kill(60, "b")], "acd"),
        ([EarlyEnd(120, "a"), Kill(120, "b")], "acd"),
    ],
)
@pytest.mark.parametrize("fairshare", [False, True])
def test_the_order_of_waiting_jobs(commands: list[Change], wanted: str, fairshare: bool) -> None:
    """The same in the quick order and where share accounts decide among users."""
    shares = (("user", 1),) if fairshare else None
    problem = line(*"abcd", queues=(Queue("q", user_shares=shares),))
    result = run(problem, changes=commands)
    assert "".join(order(result)) == wanted
    runs_already = commands == [Moved(60, "a", "bottom")]
    assert len(result.notes) == runs_already


@pytest.mark.behaviour("LOP-07")
def test_btop_stays_within_queue_and_priority() -> None:
    problem = one_host(
        job("a", 2, minutes=10, submit=-9),
        job("high", 2, minutes=10, priority=5, submit=-8),
        job("b", 2, minutes=10, submit=-7),
        job("f", 2, minutes=10, queue="fast", submit=-6),
        queues=TWO_QUEUES,
    )
    assert order(run(problem, changes=[Moved(60, "b", "top")])) == ["f", "high", "b", "a"]


@pytest.mark.behaviour("LOP-07")
def test_an_end_a_kill_and_their_records() -> None:
    problem = line("a", "b", "c")
    result = run(problem, changes=[EarlyEnd(120, "a"), Kill(180, "b"), Kill(200, "c")])
    assert (result["a"].status, result["a"].start, result["a"].end) == ("done", 0, 120)
    assert (result["b"].status, result["b"].start, result["b"].end) == ("killed", 120, 180)
    assert (result["c"].status, result["c"].start, result["c"].end) == ("killed", 180, 200)
    waiting = run(problem, changes=[Kill(180, "b")])
    assert (waiting["b"].status, waiting["b"].start, waiting["b"].end) == ("killed", None, 180)
    found = measure(waiting)
    assert (found.killed, found.pending, found.started) == (1, 0, 2)
    # Slots that are free while somebody waits: none, as b does not wait any longer.
    alone = run(line("a", "b"), changes=[Kill(180, "b")])
    assert measure(alone).idle_while_waiting == 0.0


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
@pytest.mark.parametrize(
    ("fields", "start", "hosts"),
    [
        ({"slots": 1, "max_slots": None}, 60, {"B": 1}),
        ({"res_req": ("span[ptile=1]",)}, 600, {"A": 1, "B": 1}),
        ({"begin": 1000}, 1020, {"A": 2}),
        ({"begin": 30}, 600, {"A": 2}),
    ],
)
def test_what_a_modified_job_asks_for_counts_from_then_on(
    fields: dict[str, object], start: int, hosts: dict[str, int]
) -> None:
    problem = instance(
        host("A", 2), host("B", 1), pending=(job("a", 2, minutes=10), job("b", 2, minutes=10))
    )
    problem = replace(problem, params=Params(mbd_sleep_time=60))
    result = run(problem, changes=[Modification(50, "b", fields)])
    assert (result["b"].start, result["b"].hosts) == (start, hosts)


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


@pytest.mark.parametrize("first", STATUSES)
@pytest.mark.parametrize("then", STATUSES)
def test_closing_and_being_down_are_separate(first: str, then: str) -> None:
    """A closed host that comes back is still closed; one that opens while down is still down."""
    known = {
        ("closed", "down", "up"): "closed",
        ("down", "closed", "open"): "down",
        ("down", "open"): "down",
        ("closed", "up"): "closed",
        ("closed", "down", "ok"): "ok",
        ("down", "closed", "up"): "closed",
    }
    for steps, wanted in known.items():
        state = "ok"
        for step in steps:
            state = status_after(state, step)
        assert state == wanted
    both = status_after(status_after("ok", first), then)
    assert status_after(status_after(both, "up"), "open") == "ok"


@pytest.mark.behaviour("LOP-07")
def test_a_closed_host_that_was_down_takes_nothing_until_it_is_opened() -> None:
    changes = [
        HostStatus(10, "A", "closed"),
        HostStatus(60, "A", "down"),
        HostStatus(300, "A", "up"),
        HostStatus(900, "A", "open"),
    ]
    result = run(one_host(job("a", 2, minutes=10)), changes=changes)
    assert (result["a"].requeues, result["a"].start) == (1, 900)


@pytest.mark.behaviour("RSV-11")
def test_reported_load_suspends_and_lets_go_on() -> None:
    busy = Queue("q", thresholds=Thresholds(sched={"r1m": 1.0}, stop={"r1m": 2.0}))
    problem = instance(
        host("A", 2, load={"r1m": 0.1}),
        queues=(busy,),
        pending=(job("a", 1, minutes=10), job("b", 1, minutes=10, begin=200)),
    )
    changes = [LoadReport(120, "A", {"r1m": 3.0}), LoadReport(300, "A", {"r1m": 0.1})]
    result = run(problem, changes=changes)
    assert (result["a"].suspensions, result["a"].end) == (1, 600 + 180)
    assert result["b"].start == 300


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


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Kill(60, "x"), "there is no such job"),
        (Kill(5000, "a"), "it has ended"),
        (Moved(60, "a", "top"), "it does not wait then"),
        (QueueSwitch(60, "a", "fast"), "it runs already"),
        (Modification(60, "a", {"slots": 1}), "only its run limit"),
        (EarlyEnd(60, "b"), "it does not run then"),
        (Kill(30, "later"), "it is not submitted yet"),
        (Resize(60, "b", {"A": 1}), "it does not run then"),
    ],
)
def test_what_means_nothing_is_left_out_with_a_note(command: Change, why: str) -> None:
    problem = line("a", "b", queues=TWO_QUEUES)
    problem = replace(problem, future=(job("later", 2, minutes=10, submit=90),))
    result = run(problem, changes=[command, LoadReport(5000, "A", {})])
    (note,) = result.notes
    assert why in note
    assert f"at {command.time} s" in note
    assert result.starts == run(problem).starts


def test_changes_happen_in_the_order_of_time_whatever_their_order_in_the_list() -> None:
    problem = line(*"abcd")
    commands = [Moved(60, "d", "top"), Moved(90, "c", "top"), Kill(120, "b")]
    results = {
        tuple(run(problem, changes=list(some)).starts.items())
        for some in (commands, commands[::-1], [commands[1], commands[2], commands[0]])
    }
    assert len(results) == 1
    assert all(a.time <= b.time for a, b in pairwise(commands))
