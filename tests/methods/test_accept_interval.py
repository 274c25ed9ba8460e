"""JOB_ACCEPT_INTERVAL between planned jobs, against every choice of starts and places (TBR-16)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from loop_lab import HOUR, MINUTE, host, job
from loop_lab import instance as small
from slotwise import Instance, Job, Params, Plan, Planner, Queue, RunningJob
from slotwise.solver.advice.ask import ask
from slotwise.solver.advice.explain import explain
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

STEP = 30
pytestmark = pytest.mark.behaviour("TBR-16")
#: Slots by host.
Place = dict[str, int]


def places(instance: Instance, slots: int) -> Iterator[Place]:
    """All ways to lay so many slots on the hosts."""
    hosts = instance.cluster.hosts
    for counts in product(*(range(min(item.slots, slots) + 1) for item in hosts)):
        if sum(counts) == slots:
            pairs = zip(hosts, counts, strict=True)
            yield {item.name: count for item, count in pairs if count}


def interval_of(instance: Instance, item: Job) -> int:
    own = instance.queue(item.queue).job_accept_interval
    cycles = instance.params.job_accept_interval if own is None else own
    return cycles * instance.params.mbd_sleep_time


Taken = list[tuple[Job, int, Place, bool]]


def goes(instance: Instance, taken: Taken, item: Job, start: int, place: Place) -> bool:
    """Whether a job may start there beside the others: slots, and one job a host and interval."""
    assert item.run_limit is not None
    for where in instance.cluster.hosts:
        if where.name not in place:
            continue
        here = [other for other in taken if where.name in other[2]]
        for other, began, _, planned in here:
            own, theirs = interval_of(instance, item), interval_of(instance, other)
            if began == start and planned:
                if own and theirs:
                    return False
            elif began <= start < began + own or (planned and start < began < start + theirs):
                return False
        for moment in [start, *(began for _, began, _, _ in here)]:
            if start <= moment < start + item.run_limit:
                used = sum(
                    on[where.name]
                    for other, began, on, _ in here
                    if began <= moment < began + (other.run_limit or 0)
                )
                if used + place[where.name] > where.slots:
                    return False
    return True


def fits(instance: Instance, taken: Taken, rest: list[tuple[Job, int]]) -> bool:
    """Whether jobs at these starts have places."""
    if not rest:
        return True
    (item, start), *others = rest
    return any(
        goes(instance, taken, item, start, place)
        and fits(instance, [*taken, (item, start, place, True)], others)
        for place in places(instance, item.slots)
    )


def running_of(instance: Instance) -> Taken:
    return [(run.job, run.start, dict(run.allocation), False) for run in instance.running]


def earliest(instance: Instance, before: list[tuple[Job, int]], item: Job) -> int:
    """The earliest start of a job with the starts of the jobs before it kept."""
    last = 20 * HOUR
    for start in range(0, last, STEP):
        if fits(instance, running_of(instance), [*before, (item, start)]):
            return start
    raise AssertionError("no start")


def least(instance: Instance) -> dict[str, int]:
    """The lexicographic optimum."""
    starts: list[tuple[Job, int]] = []
    for item in instance.pending:
        starts.append((item, earliest(instance, starts, item)))
    return {item.id: start for item, start in starts}


def drawn(seed: int, *, mixed: bool) -> Instance:
    """One to three hosts, what runs there, and two to four jobs; all times multiples of STEP."""
    draw = Random(seed)
    hosts = [host(f"h{n}", draw.randint(1, 3)) for n in range(draw.randint(1, 3))]
    running = []
    for item in hosts:
        if draw.random() < 0.5:
            limit = STEP * draw.randint(1, 12)
            began = -STEP * draw.randint(0, 2)
            ran = Job(f"r{item.name}", 1, queue="q", run_limit=limit - began)
            running.append(RunningJob(ran, began, {item.name: 1}))
    total = sum(item.slots for item in hosts)
    names = ("q", "w") if mixed else ("q",)
    pending = [
        Job(
            f"p{n}",
            draw.randint(1, min(3, total)),
            queue=draw.choice(names),
            run_limit=STEP * draw.randint(1, 6),
            submit=-100 + n,
        )
        for n in range(draw.randint(2, 4))
    ]
    queues = (Queue("q"), Queue("w", job_accept_interval=draw.choice([0, 2]))) if mixed else None
    params = Params(job_accept_interval=draw.choice([0, 1]) if mixed else 1, mbd_sleep_time=60)
    return small(
        *hosts, queues=queues, running=tuple(running), pending=tuple(pending), params=params
    )


def no_objection(instance: Instance, found: Plan, *, as_lsf: bool = False) -> None:
    assert validate(instance, found, as_lsf=as_lsf) == []
    assert not any("bug" in note for note in found.notes)


def lexicographic_is_right(instance: Instance) -> None:
    right = least(instance)
    found = plan(instance, "optimal", effort=40)
    no_objection(instance, found)
    assert {item.job: item.start for item in found} == right
    assert found.status == "optimal"
    assert all(item.proved for item in found)


def other_searches_claim_nothing_false(instance: Instance) -> None:
    """milp in order: bounds with the starts before kept; objectives: no bound above the best."""
    found = plan(instance, "milp", effort=10)
    no_objection(instance, found)
    starts = [(item, found[item.id].start) for item in instance.pending]
    for number, (item, start) in enumerate(starts):
        first = earliest(instance, starts[:number], item)
        assert start is not None
        bound = found[item.id].bound
        assert bound is None or bound <= first <= start
        assert not found[item.id].proved or start == first


def plans_of_the_cycle_keep_it(instance: Instance) -> None:
    for method in ("greedy", "time-based"):
        found = plan(instance, method)
        no_objection(instance, found, as_lsf=True)
    assert all(item.start is not None for item in found)
    for method in ("greedy", "time-based", "optimal"):
        taken = running_of(instance)
        starts = simulate(instance, reservation=method, cycle=0, top=9)
        begun = sorted(
            (starts[item.id].start, not interval_of(instance, item), item.id, item)
            for item in instance.pending
        )
        for start, _, name, item in begun:
            place = dict(starts[name].hosts)
            # The order of one second is the loop's: only what is too close is looked at.
            assert goes(instance, taken, item, start, place), (method, name)
            taken.append((item, start, place, True))


@pytest.mark.parametrize("mixed", [False, True], ids=["one interval", "two"])
def test_no_start_is_earlier_and_nothing_false_is_proved(mixed: bool) -> None:
    for seed in range(5):
        instance = drawn(seed, mixed=mixed)
        lexicographic_is_right(instance)
        plans_of_the_cycle_keep_it(instance)
        if seed % 4 == 0:
            other_searches_claim_nothing_false(instance)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("mixed", [False, True], ids=["one interval", "two"])
def test_no_start_is_earlier_and_nothing_false_is_proved_on_many(mixed: bool, block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        instance = drawn(seed, mixed=mixed)
        lexicographic_is_right(instance)
        plans_of_the_cycle_keep_it(instance)
        other_searches_claim_nothing_false(instance)


def nobody_moves_later(seed: int) -> None:
    """What was told stays possible when a job comes, or one that waits goes: nobody moves later."""
    instance = drawn(seed, mixed=bool(seed % 2))
    draw = Random(seed)
    planner = Planner(instance, "time-based", tolerance=0)
    told = {item.job: item.start for item in planner.plan()}
    for number in range(4):
        kind = draw.choice(["submit", "submit", "cancel", "advance"])
        if kind == "submit":
            slots = draw.randint(1, min(2, sum(item.slots for item in instance.cluster.hosts)))
            planner.submit(
                Job(f"n{number}", slots, queue="q", run_limit=STEP * 3, priority=number + 1)
            )
        elif kind == "cancel" and planner.instance.pending:
            planner.cancel(draw.choice(planner.instance.pending).id)
        else:
            planner.advance(planner.instance.now + draw.choice([STEP, 2 * STEP]))
        found = planner.plan()
        assert validate(planner.instance, found, as_lsf=True) == []
        now = {item.job: item.start for item in found}
        for name, start in told.items():
            if name in now:
                assert start is not None
                assert now[name] is not None, (seed, kind, name)
                assert now[name] <= max(start, planner.instance.now), (seed, kind, name)
        told = {name: min(start, told.get(name, start)) for name, start in now.items()}


def test_what_was_told_is_kept() -> None:
    for seed in range(28, 38):
        nobody_moves_later(seed)


@pytest.mark.slow
def test_what_was_told_is_kept_on_many() -> None:
    for seed in range(5000, 6500):
        nobody_moves_later(seed)


def asking_is_planning(seed: int) -> None:
    """What ask, a planner and explain say of a job is its start in the plan with it."""
    instance = drawn(seed, mixed=bool(seed % 2))
    line = f"bsub -q q -n 1 -W {1 + seed % 4} x"
    found = ask(instance, line, method="time-based").line.answer
    with_it = replace(instance, pending=(*instance.pending, found.job))
    planned = plan(with_it, "time-based")
    assert found.start == planned[found.job.id].start
    assert Planner(instance, "time-based").ask(line).start == found.start
    assert explain(with_it, found.job.id, method="time-based").answer.start == found.start


def test_all_questions_have_one_answer() -> None:
    for seed in range(4):
        asking_is_planning(seed)


@pytest.mark.slow
def test_all_questions_have_one_answer_on_many() -> None:
    for seed in range(3000, 4000):
        asking_is_planning(seed)


def three_jobs(slots: int = 4) -> Instance:
    """A host that takes one job a minute, and three jobs that it has room for."""
    return small(
        host("n1", slots),
        pending=tuple(job(str(n), 1, minutes=60) for n in (1, 2, 3)),
        params=Params(job_accept_interval=1, mbd_sleep_time=60),
    )


@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_a_host_takes_one_job_in_each_interval(method: str) -> None:
    instance = three_jobs()
    found = plan(instance, method, **({"effort": 5} if method == "optimal" else {}))
    assert [item.start for item in found] == [0, 60, 120]
    assert [item.start for item in found] == list(simulate(instance, cycle=0).starts.values())
    assert [item.proved for item in found] == [method == "optimal"] * 3
    interval = "JOB_ACCEPT_INTERVAL"
    said = f"one job per host each 60 s ({interval}); free when {interval} of n1 is over"
    assert found["3"].waits_for == said


@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_explain_and_ask_know_when_the_host_takes_the_next_job(method: str) -> None:
    instance = three_jobs()
    for name, start in (("2", 60), ("3", 120)):
        found = explain(instance, name, method=method)
        assert found.answer.start == start
        assert all("JOB_ACCEPT_INTERVAL" in item.reason for item in found.obstacles)
        first = [item for item in found.suggestions if "first in the dispatch order" in item.change]
        # 60 s less are no gain: it is below two dispatch cycles.
        assert [item.start for item in first] == ([0] if start == 120 else [])
    assert ask(instance, "bsub -q q -n 1 -W 60 x", method=method).line.answer.start == 180


def test_a_start_keeps_off_the_host_as_long_as_the_queue_of_the_next_job_says() -> None:
    """b may follow a at once, since its queue has no interval; a may not follow b."""
    queues = (Queue("slow"), Queue("quick", job_accept_interval=0))
    one = job("a", 1, minutes=60, queue="slow")
    two = job("b", 1, minutes=60, queue="quick")
    for pending, starts in (((one, two), {"a": 0, "b": 0}), ((two, one), {"a": 60, "b": 0})):
        ordered = tuple(replace(item, submit=n) for n, item in enumerate(pending))
        instance = small(
            host("n1", 2),
            queues=queues,
            pending=ordered,
            params=Params(job_accept_interval=1),
        )
        found = plan(instance, "time-based")
        assert {item.job: item.start for item in found} == starts
        # In one second any order of the two will do for a plan of all together.
        best = plan(instance, "optimal", effort=5)
        assert {item.start for item in best} == {0}
        no_objection(instance, best)


def test_what_runs_keeps_the_host_closed() -> None:
    new = RunningJob(Job("r", 1, queue="q", run_limit=HOUR), -20, {"n1": 1})
    instance = replace(three_jobs(), running=(new,))
    for method in ("time-based", "optimal", "milp"):
        found = plan(instance, method, **({} if method == "time-based" else {"effort": 5}))
        assert found["1"].start == 40
        no_objection(instance, found, as_lsf=method == "time-based")
    early = replace(found, reservations=(replace(found["1"], start=MINUTE // 2),))
    assert "accept-interval" in {item.check for item in validate(instance, early)}
