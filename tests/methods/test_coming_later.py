"""Plans of jobs that cannot be considered yet (-w, -b), of estimates below limits, and the loop."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from long_ways import no_work_for_conditions
from loop_starts import simulated_starts
from sampling import some
from slotwise import (
    Application,
    Cluster,
    Host,
    Instance,
    Job,
    Method,
    Params,
    Plan,
    Queue,
    RunningJob,
)
from slotwise.solver.advice.explain import explain
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.next_cycle import PLACED_BEHIND
from slotwise.solver.validate import validate
from waiting_cases import waiting_case

MINUTE = 60
METHODS: tuple[Method, ...] = ("greedy", "time-based", "optimal", "milp")
KINDS: tuple[dict[str, bool | None], ...] = (
    {},
    {"backfill": False},
    {"backfill": None, "begins": True},
    {"estimates": True, "backfill": None},
    {"estimates": True, "begins": True, "fails": True},
)


def site(*pending: Job, slots: int = 4, running: tuple[RunningJob, ...] = ()) -> Instance:
    return Instance(
        Cluster((Host("A", slots),)),
        queues=(Queue("q", backfill=True),),
        applications=(Application("a", run_time=MINUTE),),
        params=Params(time_reserve_numjobs=9),
        running=running,
        pending=pending,
    )


def job(number: str, slots: int, minutes: int | None, **more: object) -> Job:
    limit = None if minutes is None else minutes * MINUTE
    return Job(number, slots, queue="q", run_limit=limit, **more)  # type: ignore[arg-type]


def starts(found: Plan) -> dict[str, int]:
    return {item.job: item.start for item in found if item.start is not None}


def differences(seed: int, kind: dict[str, bool | None]) -> int:
    """A plan against its own loop: how many starts differ, each with a rule that is named."""
    instance = waiting_case(seed, **kind)  # type: ignore[arg-type]
    found, loop = plan(instance, "time-based"), simulated_starts(instance, "time-based")
    assert validate(instance, found) == [], seed
    assert not any("bug" in note for note in found.notes), (seed, found.notes)
    moved = 0
    for item in instance.pending:
        said = found.get(item.id)
        if said is not None and said.start is None:
            continue  # nothing but "no sooner than" was said
        start = None if said is None else said.start
        if start != loop.get(item.id):
            moved += 1
            named = [o for o in found.omissions if o.jobs is not None and item.id in o.jobs]
            assert any(o.effect for o in named), (seed, kind, item.id, start, loop.get(item.id))
    return moved


@pytest.mark.behaviour("DEP-05", "PAI-04")
@pytest.mark.parametrize("kind", some(KINDS, 3))
def test_the_loop_starts_jobs_that_wait_as_planned(kind: dict[str, bool | None]) -> None:
    for seed in range(7_000, 7_004):
        differences(seed, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(8))
def test_the_loop_starts_many_jobs_that_wait_as_planned(
    part: int, kind: dict[str, bool | None]
) -> None:
    moved = sum(differences(seed, kind) for seed in range(100 * part, 100 * part + 100))
    assert moved < (60 if kind.get("fails") else 25)


@pytest.mark.behaviour("DEP-05", "PAI-04")
@pytest.mark.parametrize("more", [{"begin": MINUTE}, {"dependency": "done(1)"}])
def test_what_starts_before_a_job_comes_does_so_without_it(more: dict[str, object]) -> None:
    instance = site(
        job("2", 4, 1, **more),
        job("1", 1, 1),
        job("3", 1, 3),
        job("4", 4, 1),
    )
    found = plan(instance, "time-based")
    assert starts(found) == {"1": 0, "3": 0, "2": 180, "4": 240}
    assert starts(found) == simulated_starts(instance, "time-based")


@pytest.mark.behaviour("DEP-05", "PAI-04")
def test_who_is_let_go_by_a_start_has_a_turn_in_the_next_cycle() -> None:
    """By then the job behind it has taken its slot."""
    pending = (job("1", 1, 5), job("2", 2, 2, dependency="started(1)"), job("3", 1, 9))
    instance = replace(site(*pending, slots=2), queues=(Queue("q"),))
    found = plan(instance, "time-based")
    assert starts(found) == {"1": 0, "3": 0, "2": 540}
    assert starts(found) == simulated_starts(instance, "time-based")


@pytest.mark.behaviour("DEP-05", "PAI-04")
@pytest.mark.parametrize("word", ["done", "ended", "started", "post_done"])
def test_behind_a_job_without_a_start_nothing_has_one(word: str) -> None:
    """Job 1 never ends; job 2 needs all slots, and has an estimate by greedy reservation alone."""
    instance = site(
        job("1", 1, None),
        job("2", 2, 2),
        job("3", 1, 1, dependency=f"{word}(2)"),
        job("4", 1, 1, dependency="done(3)"),
        slots=2,
    )
    found = plan(instance, "time-based")
    assert found.get("2") is None or found["2"].start is None
    assert starts(found) == {"1": 0}
    reasons = {item.job: item.reason for item in found.unplaced}
    assert "depends on jobs without a start: 2" in reasons["3"]
    assert "depends on jobs without a start: 3" in reasons["4"]
    assert not any("bug" in note for note in found.notes)


def test_where_it_would_take_long_jobs_come_behind_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_work_for_conditions(monkeypatch)
    pending = (job("2", 2, 2, dependency="done(1)"), job("1", 2, 1), job("3", 2, 1), job("4", 2, 5))
    instance = site(*pending, slots=2)
    found, loop = plan(instance, "time-based"), simulated_starts(instance, "time-based")
    assert loop["2"] == MINUTE
    assert starts(found)["2"] > MINUTE
    assert any(PLACED_BEHIND in o.name and "2" in (o.jobs or ()) for o in found.omissions)


@pytest.mark.behaviour("DEP-01")
@pytest.mark.parametrize("method", METHODS)
def test_an_array_has_one_submission_time_whichever_of_it_runs(method: Method) -> None:
    """Element 1 of array 5 runs, and nothing says since when it waited; array 7 came later."""
    array = (job("5[2]", 1, 9, name="a", submit=-900), job("5[3]", 1, 9, name="a", submit=-900))
    later = (job("7[2]", 1, 1, name="a", submit=-500),)
    asks = job("8", 1, 1, dependency="done(a)", submit=-400)
    old = RunningJob(job("5[1]", 1, 9, name="a", submit=0), -60, {"A": 1})
    new = RunningJob(job("7[1]", 1, 3, name="a", submit=-500), -60, {"A": 1})
    instance = site(*array, *later, asks, slots=9, running=(old, new))
    found = plan(instance, method, effort=5)
    said = found["8"]
    assert (said.estimate if said.start is None else said.start) == 2 * MINUTE
    assert validate(instance, found) == []
    assert simulated_starts(instance, "time-based")["8"] == 2 * MINUTE


def running(minutes: int | None, **more: object) -> RunningJob:
    return RunningJob(job("9", 2, minutes, **more), -2 * MINUTE, {"A": 2})


PASSED: tuple[tuple[RunningJob, int | None], ...] = (
    (running(10, estimated_run_time=MINUTE), 8 * MINUTE),
    (running(10, estimated_run_time=2 * MINUTE), 8 * MINUTE),
    (running(10, estimated_run_time=3 * MINUTE), MINUTE),
    (replace(running(10), finish=-MINUTE), 8 * MINUTE),
    (running(1), 1),
    (running(1, estimated_run_time=30), 1),
    (running(None, application="a"), None),
    (running(None, estimated_run_time=MINUTE), None),
)


@pytest.mark.behaviour("SUB-04")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("runs", "start"), PASSED)
def test_a_running_job_beyond_its_estimate_is_expected_at_its_limit(
    runs: RunningJob, start: int | None, method: Method
) -> None:
    waits = job("1", 2, 1), job("2", 1, 1, dependency="done(9)")
    instance = site(*waits, slots=2, running=(runs,))
    found = plan(instance, method, effort=5)
    if method != "greedy":
        assert starts(found).get("1") == start
        assert start is not None or "2" not in starts(found)
    assert simulated_starts(instance, "time-based").get("1") == start


@pytest.mark.behaviour("TBR-18", "SUB-04")
@pytest.mark.parametrize("others", [0, 1])
def test_a_reservation_is_kept_by_the_limit(others: int) -> None:
    """Job 101 (-W 4 -We 3) may not have the slot that 100 needs in 3 minutes, under a limit too."""
    held = (("900", "u", "A", 2), ("901", "v", "A", 1), ("902", "v", "B", 1))
    instance = Instance(
        Cluster((Host("A", 4), Host("B", 1))),
        queues=(Queue("q", backfill=True, user_slots=4),),
        running=tuple(
            RunningJob(job(name, slots, 3, user=user), 0, {host: slots})
            for name, user, host, slots in held
        ),
        pending=(
            job("100", 4, 3, user="v", submit=-9),
            job("101", 1, 4, user="v", submit=-8, estimated_run_time=3 * MINUTE),
            *(job("104", 1, 3, user="u", submit=-7),)[:others],
        ),
    )
    found = plan(instance, "time-based")
    assert (found["100"].start, found["101"].start) == (180, 360)
    assert simulated_starts(instance, "time-based")["101"] == 360


@pytest.mark.behaviour("TBR-18", "SUB-04")
def test_a_limit_as_long_as_the_estimate_is_suggested() -> None:
    runs = RunningJob(job("9", 3, 3), 0, {"A": 3})
    hurries = job("101", 1, 4, estimated_run_time=3 * MINUTE)
    instance = site(job("100", 4, 3), hurries, running=(runs,))
    said = explain(instance, "101", method="time-based")
    assert said.answer.start == 6 * MINUTE
    assert [(item.change, item.start) for item in said.suggestions if "-W" in item.change] == [
        ("with -W 0:03 or less (backfill)", 0)
    ]


def no_job_is_delayed_by_one_behind(seed: int) -> None:
    """A job at the end of the line, in plan and loop, where estimates are below limits."""
    draw = random.Random(seed)
    given = waiting_case(seed, estimates=True, backfill=draw.choice((True, None)))
    lowest = min(given.queues, key=lambda queue: queue.priority)
    pending = tuple(replace(item, dependency="") for item in given.pending)
    minutes = draw.randint(2, 6)
    last = Job(
        "999",
        draw.randint(1, 2),
        user="z",
        queue=lowest.name,
        run_limit=minutes * MINUTE,
        estimated_run_time=draw.randint(1, minutes) * MINUTE,
    )
    alone = replace(given, pending=pending)
    both = replace(given, pending=(*pending, last))
    for before, after in (
        (starts(plan(alone, "time-based")), starts(plan(both, "time-based"))),
        (simulated_starts(alone, "time-based"), simulated_starts(both, "time-based")),
    ):
        for name, start in before.items():
            assert after.get(name, 1 << 40) <= start, (seed, name, start, after.get(name))


@pytest.mark.behaviour("TBR-18", "PAI-05")
def test_no_job_is_delayed_by_one_behind_it() -> None:
    for seed in range(4):
        no_job_is_delayed_by_one_behind(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_of_many_no_job_is_delayed_by_one_behind_it(part: int) -> None:
    for seed in range(100 * part, 100 * part + 100):
        no_job_is_delayed_by_one_behind(seed)
