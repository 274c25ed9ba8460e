"""Rules that a plan leaves out are named where they change a start, and nowhere else (LOP-05)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from loop_lab import MINUTE, host, job, running
from loop_lab import instance as small
from loop_starts import simulated_starts
from sampling import some
from slotwise import AdvanceReservation, HostRequest, Instance, Plan, Queue, Thresholds
from slotwise.model.display import clock_text
from slotwise.model.omissions import Omission
from slotwise.solver.advice.ask import ask
from slotwise.solver.advice.explain import explain
from slotwise.solver.planning import plan
from slotwise.solver.rules.omitted import FEW_LOOK_AHEAD, WITHOUT
from slotwise.solver.scheduler import continuation as moved_starts

pytestmark = pytest.mark.behaviour("LOP-05", "TBR-19")
NAMED = re.compile(
    r"(?:^|; )(?P<rules>[^()]*(?:\(-b\)|\(held, borrowed\))?[^()]*) \((?P<what>[^()]*)\)"
)
TOLD = re.compile(
    r"job (?P<job>\S+) (?:starts (?P<start>.+)|does not start), not (?P<planned>[^:]+)"
    r"(?:: (?P<setting>.+ in queue [ab]|LSB_TIME_RESERVE_NUMJOBS .+))?"
)


def workload(draw: random.Random, *, rich: bool) -> Instance:
    """Two queues, BACKFILL on or off, one to four hosts; rich: memory and limits too."""
    hosts = [host(f"h{n}", draw.randint(1, 4), 400.0) for n in range(draw.randint(1, 4))]
    queues = (
        Queue("a", priority=draw.choice([1, 2]), backfill=draw.random() < 0.5),
        Queue("b", priority=draw.choice([1, 3]), backfill=draw.random() < 0.5),
    )
    if rich:
        first = replace(
            queues[0],
            queue_slots=draw.choice([None, 4]),
            resource_reserve=draw.choice([None, 100]),
        )
        queues = (first, queues[1])
    runs = [
        replace(
            running(f"r{item.name}", {item.name: draw.randint(1, item.slots)}, draw.randint(1, 20)),
        )
        for item in hosts
        if draw.random() < 0.7
    ]
    runs = [replace(run, job=replace(run.job, queue=draw.choice("ab"))) for run in runs]
    asks: list[tuple[str, ...]] = [(), (), (), ("span[ptile=1]",), ("span[hosts=1]",)]
    asks += [("rusage[mem=100]",), ("rusage[mem=50] span[ptile=2]",)] if rich else []
    pending = [
        job(
            f"p{n}",
            draw.randint(1, 5),
            *draw.choice(asks),
            minutes=draw.randint(1, 12),
            user=draw.choice(["ann", "bob"]),
            queue=draw.choice("ab"),
            submit=-20 + n,
        )
        for n in range(draw.randint(1, 5))
    ]
    return small(*hosts, queues=queues, running=tuple(runs), pending=tuple(pending))


def windows(draw: random.Random, it: Instance) -> Instance:
    """A dispatch window that is shut for some minutes."""
    first = draw.randint(1, 20)
    text = f"0:{first:02d}-23:00"
    queues = (replace(it.queues[0], dispatch_window=text), *it.queues[1:])
    return replace(it, queues=queues)


def set_aside(draw: random.Random, it: Instance) -> Instance:
    chosen = draw.choice(it.cluster.hosts)
    begin = draw.randint(0, 10) * MINUTE
    kept = AdvanceReservation("kept", begin, begin + 10 * MINUTE, {chosen.name: chosen.slots})
    return replace(it, advance_reservations=(kept,))


def begins(draw: random.Random, it: Instance) -> Instance:
    pending = tuple(
        replace(item, begin=draw.choice([None, 5 * MINUTE, 12 * MINUTE])) for item in it.pending
    )
    return replace(it, pending=pending)


def intervals(draw: random.Random, it: Instance) -> Instance:
    return replace(it, params=replace(it.params, job_accept_interval=draw.choice([1, 2])))


def preempts(draw: random.Random, it: Instance) -> Instance:
    first, second = it.queues
    queues = (replace(first, priority=5, preemptive=("b",)), replace(second, backfill=False))
    return replace(it, queues=queues)


def some_reserve(draw: random.Random, it: Instance) -> Instance:
    first, second = it.queues
    return replace(it, queues=(replace(first, slot_reserve=draw.choice([1, 1000])), second))


def ranges(draw: random.Random, it: Instance) -> Instance:
    pending = tuple(replace(item, max_slots=item.slots + draw.randint(0, 2)) for item in it.pending)
    return replace(it, pending=pending)


def shares(draw: random.Random, it: Instance) -> Instance:
    fair = (("ann", 1), ("bob", draw.randint(1, 9)))
    return replace(it, queues=tuple(replace(queue, user_shares=fair) for queue in it.queues))


RULES = (windows, set_aside, begins, intervals, preempts, some_reserve, ranges, shares)


def names_of(found: Plan) -> list[tuple[list[str], re.Match[str]]]:
    """The rules that a plan names, with what they do to a job."""
    notes = [note for note in found.notes if note.startswith("not modelled: ")]
    assert len(notes) <= 1
    named = []
    for item in NAMED.finditer(notes[0].removeprefix("not modelled: ") if notes else ""):
        told = TOLD.fullmatch(item["what"])
        assert told is not None, notes
        named.append((item["rules"].split("; "), told))
    assert bool(notes) == bool(named)
    return named


def right(it: Instance) -> int:
    """The notes of the time-based plan against the loop with each rule and without; how many."""
    found = plan(it, "time-based")
    starts = simulated_starts(it, "time-based")
    planned: dict[str, int | None] = {
        item.job: item.start for item in found if item.start is not None
    }
    planned |= {item.job: None for item in found.unplaced}
    other = {name for name, start in planned.items() if starts.get(name) != start}
    named = names_of(found)
    assert bool(named) == bool(other), (found.notes, other)
    for rules, told in named:
        name, start = told["job"], starts.get(told["job"])
        assert name in other
        assert told["start"] == (None if start is None else clock_text(it, start))
        before = planned[name]
        assert told["planned"] == ("never" if before is None else clock_text(it, before))
        for rule in rules:
            assert rule in found.left_out
            if len(rules) == 1 and rule in WITHOUT:
                # It moves the job in the loop, or else misleads the plan.
                plain = WITHOUT[rule](it)
                told_plainly = plan(plain, "time-based").get(name)
                assert (
                    simulated_starts(plain, "time-based").get(name) != start
                    or (None if told_plainly is None else told_plainly.start) != before
                ), rule
    return len(named)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_is_named_where_it_changes_a_start_and_nowhere_else(
    rule: Callable[[random.Random, Instance], Instance],
) -> None:
    for seed in range(8):
        draw = random.Random(seed)
        right(rule(draw, workload(draw, rich=False)))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("rich", [False, True], ids=["slots", "rich"])
def test_a_rule_is_named_where_it_changes_a_start_on_many(
    rule: Callable[[random.Random, Instance], Instance], rich: bool
) -> None:
    for seed in range(1000, 1200):
        draw = random.Random(seed)
        right(rule(draw, workload(draw, rich=rich)))


def test_what_the_next_cycle_starts_is_proved_whatever_slot_pools_say() -> None:
    """The pool gives the queue of four slots two: one job starts in the loop, one waits."""
    pooled = {"slot_pool": "P", "hosts": (HostRequest("h0"),)}
    queues = (Queue("a", slot_share=50, **pooled), Queue("b", slot_share=50, **pooled))
    it = small(
        host("h0", 4),
        queues=queues,
        pending=(
            job("one", 2, minutes=10, queue="a"),
            job("two", 2, minutes=10, queue="b"),
            job("more", 2, minutes=10, queue="a"),
        ),
    )
    found = plan(it, "optimal", effort=5)
    begun = {name for name, start in simulated_starts(it, "greedy").items() if start == 0}
    assert begun == {"one", "two"}
    assert {item.job for item in found if item.proved} == begun
    (note,) = found.notes
    assert note.startswith(
        "not modelled: the slots that slot pools grant a queue (affects more at +10m)"
    )


def test_memory_thresholds_leave_starts_proved_that_no_other_job_delays() -> None:
    limits = Thresholds({"mem": 100.0})
    it = small(
        host("h0", 2, 400.0),
        queues=(Queue("q", thresholds=limits),),
        running=(running("r", {"h0": 1}, 10, res_req=("rusage[mem=350]",)),),
        pending=(job("p", 1, "rusage[mem=50]", minutes=5),),
    )
    found = plan(it, "optimal", effort=5)
    assert (found.status, found["p"].start, found["p"].proved) == ("optimal", 600, True)
    assert (found.notes, found.left_out) == ((), ())
    # Two jobs that the threshold keeps from each other: a joint plan might do better.
    pair = tuple(job(name, 1, "rusage[mem=350]", minutes=5) for name in ("p", "s"))
    both = plan(replace(it, pending=pair), "optimal", effort=5)
    assert [item.start for item in both] == [600, 900]
    assert [item.proved for item in both] == [True, False]
    assert both.status == "feasible"
    rule = "loadSched of memory together with other planned jobs"
    assert both.notes == (f"not modelled: {rule} (affects s)",)
    assert both.left_out == (rule,)


def test_where_the_loop_takes_too_long_all_rules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    it = workload(random.Random(3), rich=False)
    fair = (("ann", 1), ("bob", 3))
    it = replace(it, queues=tuple(replace(queue, user_shares=fair) for queue in it.queues))
    monkeypatch.setattr(moved_starts, "MAX_ATTEMPTS", 0)
    found = plan(it, "time-based")
    assert found.left_out
    assert found.notes == (f"not modelled: {'; '.join(found.left_out)}",)


@pytest.mark.behaviour("TBR-01")
@pytest.mark.parametrize("most", some([1, 2], 1))
def test_a_plan_for_more_jobs_than_a_cycle_looks_ahead_for_says_so(most: int) -> None:
    """Named where the loop with LSB_TIME_RESERVE_NUMJOBS starts a job otherwise, nowhere else."""
    moved = 0
    for seed in range(12):
        draw = random.Random(seed)
        it = workload(draw, rich=False)
        twice = tuple(
            replace(item, id=f"{item.id}{twin}", run_limit=draw.randint(1, 30) * MINUTE)
            for twin in "ab"
            for item in it.pending
        )
        params = replace(it.params, time_reserve_numjobs=most)
        it = replace(it, params=params, pending=twice)
        found = plan(it, "time-based")
        planned = {item.job: item.start for item in found if item.start is not None}
        few, everyone = (simulated_starts(it, "time-based", jobs=jobs) for jobs in (most, None))
        assert bool(names_of(found)) == (planned != few), seed
        assert (FEW_LOOK_AHEAD in found.left_out) >= (planned == everyone != few), seed
        assert (FEW_LOOK_AHEAD in found.left_out) <= (everyone != few), seed
        moved += FEW_LOOK_AHEAD in found.left_out
        # Who says how many means it.
        assert FEW_LOOK_AHEAD not in plan(it, "time-based", jobs=most).left_out
    assert moved >= 1


@pytest.mark.behaviour("TBR-18")
def test_no_job_is_said_to_need_backfill_that_the_loop_starts_without() -> None:
    """The loop may give a job other slots than the plan, which nobody holds."""
    needy = 0
    for seed in (*range(24), 220, 237):
        it = workload(random.Random(seed), rich=seed % 2 == 1)
        found = plan(it, "optimal", effort=5)
        starts = simulated_starts(it, "time-based")
        for item in found:
            if item.needs_backfill:
                needy += 1
                assert item.start is not None
                assert starts.get(item.job, math.inf) > item.start, seed
    assert needy


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("jobs", [None, ("p",)])
@pytest.mark.parametrize("where", ["", "bjobs.json"])
def test_what_an_instance_leaves_out_stays_where_the_loop_agrees(
    where: str, jobs: tuple[str, ...] | None
) -> None:
    """The loop does not know it either: that it starts the job as planned says nothing."""
    missing = Omission("bhosts counts more slots than the jobs hold", where, jobs=jobs)
    waiting = job("p", 3, minutes=10)
    runs = running("r", {"h0": 2}, 60)
    it = replace(small(host("h0", 4), running=(runs,), pending=(waiting,)), omissions=(missing,))
    for method in ("greedy", "time-based", "optimal"):
        found = plan(it, method, effort=None if method != "optimal" else 5)
        assert found.left_out == (missing.name,)
        assert not any(item.proved for item in found)
    assert explain(it, "p", method="time-based").answer.omissions == (missing,)
    assert ask(
        it, f"-q {it.queues[0].name} -n 3 -W 10", method="time-based"
    ).line.answer.omissions == (() if jobs else (missing,))
