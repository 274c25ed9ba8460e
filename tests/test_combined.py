"""Rules that seldom stand together, against trying everything (:mod:`combined_enumerator`)."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from combined_enumerator import Case
from combined_instances import case
from sampling import some
from slotwise import Instance, Plan, PlannedJob
from slotwise.solver.advice.ask import ask
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

#: Combinations of forms, and of starts, beyond which nothing is enumerated.
MOST, MAX_STARTS = 3_000, 1_000
#: Deterministic effort: of proofs, and of searches, which spend all of it.
EFFORT, SEARCH = 40, 2
OBJECTIVES = ("total-start", "makespan", "weighted", "slowdown")
#: Weights that no whole numbers of 64 bits hold together.
WEIGHTS = (0.0, 1e-6, 0.1, 1 / 3, 1.0, 7.0, 1e9, 1e15)
#: What the judge says of a plan's claims and tie-breaks, not of its places.
CLAIMS = {"value", "status", "bound", "proved", "cu-fewest"}


def drawn(seed: int) -> Case | None:
    """The case of a seed; None where it has too many forms."""
    found = case(Random(seed))
    forms = math.prod(max(1, len(forms)) for forms in found.forms.values())
    return found if forms <= MOST else None


def starts(found: Plan) -> dict[str, int | None]:
    """Each job's start, None where it has none."""
    return {item.job: item.start for item in found} | {item.job: None for item in found.unplaced}


def no_objection(found: Plan) -> bool:
    return not any("bug" in note for note in found.notes)


def lexicographic_is_right(it: Case, method: str) -> Plan:
    found = plan(it.instance, method, effort=EFFORT)
    assert it.faults(found) == []
    assert no_objection(found)
    # Where the scheduler may do otherwise than any plan, starts are not simply proved.
    assert set(found.left_out) <= {"more slots of its range for a job"}
    right = it.lexicographic()
    assert starts(found) == right
    known = "infeasible" if None in right.values() else "optimal"
    assert found.status == known or (found.left_out and found.status == "feasible")
    return found


def objective_is_right(it: Case, objective: str) -> None:
    best = it.least(objective, MAX_STARTS)
    if best == -1:
        return
    found = plan(it.instance, "optimal", objective=objective, effort=SEARCH)
    assert it.faults(found) == []
    assert no_objection(found)
    if best is None:
        assert found.status in ("infeasible", "feasible")
        return
    assert found.unplaced == ()
    assert found.value is not None
    assert found.value >= best - 1e-6
    assert found.bound is None or found.bound <= best + 1e-6
    assert found.status != "optimal" or found.value == pytest.approx(best)


def moved(it: Case, item: PlannedJob, random: Random) -> PlannedJob:
    """A planned job a little sooner or later, or with slots on another host."""
    assert item.start is not None
    if len(it.asks[item.job]) > 1 or random.random() < 0.5:
        by = random.choice([-120, -60, -30, 60, 120])
        finish = None if item.finish is None else item.finish + by
        return replace(item, start=item.start + by, finish=finish)
    one, other = random.choice(list(item.allocation)), random.choice(list(it.hosts))
    count = random.choice([1, item.allocation[one]])
    slots = {host: item.allocation.get(host, 0) for host in {**item.allocation, other: 0}}
    slots[one] -= count
    slots[other] += count
    return replace(item, allocation={host: n for host, n in slots.items() if n}, terms=())


def judges_agree(it: Case, found: Plan, random: Random) -> None:
    """The judge refuses what the enumerator refuses, and nothing else, of plans gone wrong."""
    for _ in range(6 if found.reservations else 0):
        items = [replace(item, proved=False, bound=None, exact_fit="") for item in found]
        number = random.randrange(len(items))
        items[number] = moved(it, items[number], random)
        wrong = replace(found, reservations=tuple(items), status="heuristic", bound=None)
        objections = validate(it.instance, wrong)
        faults = it.faults(wrong)
        assert not faults or objections, faults
        assert faults or all(item.check in CLAIMS for item in objections), objections


def without_windows(instance: Instance) -> Instance:
    """What estimates look at: no windows, no advance reservations, no begin times."""
    hosts = tuple(replace(host, windows="") for host in instance.cluster.hosts)
    return replace(
        instance,
        cluster=replace(instance.cluster, hosts=hosts),
        queues=tuple(replace(q, dispatch_window="", run_window="") for q in instance.queues),
        pending=tuple(replace(job, begin=None) for job in instance.pending),
        advance_reservations=(),
    )


def the_first_cycle_is_the_plan(it: Case) -> None:
    instance = without_windows(it.instance)
    found = plan(instance, "time-based")
    assert no_objection(found)
    first = simulate(instance, reservation="time-based", cycle=60, until=1)
    begun = {item.job for item in first.jobs if item.start == instance.now}
    now = {item.job for item in found if item.start == instance.now}
    assert begun & {job.id for job in instance.pending} == now


def nothing_left_out_is_proved(it: Case) -> None:
    """Who may preempt is proved no start that fewer running jobs would bring forward; -gpu none."""
    instance = it.instance
    first, second = instance.queues
    queues = (
        replace(first, preemptive=("b",), priority=3),
        replace(second, backfill=False, priority=1),
    )
    running = tuple(run for run in instance.running if run.job.queue == first.name)
    without = replace(instance, queues=queues, running=running)
    it_without = Case(without, it.asks, it.host_windows, it.dispatch, it.run)
    found = plan(replace(instance, queues=queues), "optimal", effort=EFFORT)
    assert no_objection(found)
    head = it_without.order[0]
    sooner = it_without.lexicographic()[head.id] if head.queue == first.name else None
    item = found.get(head.id)
    if sooner is not None:
        assert item is None or not item.proved or item.start is None or item.start <= sooner
        assert item is not None or found.status != "infeasible"
    asking = tuple(replace(job, gpu="num=1") for job in instance.pending)
    unheeded = plan(replace(instance, pending=asking), "optimal", effort=EFFORT)
    assert unheeded.status != "optimal"
    assert not any(item.proved for item in unheeded)


def asking_is_planning(it: Case) -> None:
    """What `ask` says of a line is the start of that job, submitted now as the last one."""
    job = it.order[-1]
    if job.begin or job.hosts or job.max_slots or job.run_limit is None:
        return
    pending = tuple(other for other in it.instance.pending if other is not job)
    rest = replace(it.instance, pending=pending)
    last = replace(job, submit=rest.now, queued_as=None, priority=0)
    whole = Case(replace(rest, pending=(*pending, last)), it.asks, it.host_windows)
    whole.dispatch, whole.run = it.dispatch, it.run
    line = f"bsub -n {job.slots} -W {job.run_limit // 60} -q {job.queue} -P {job.project}"
    line += f" -Lp {job.license_project}" if job.license_project else ""
    line += " -x" if job.exclusive else ""
    line += f' -R "{job.res_req[0]}"' if job.res_req else ""
    said = ask(rest, line, user=job.user, method="optimal", effort=EFFORT).line.answer
    assert said.start == whole.lexicographic()[job.id]


def all_right(seed: int) -> None:
    it = drawn(seed)
    if it is None:
        return
    found = lexicographic_is_right(it, "optimal")
    judges_agree(it, found, Random(seed))
    if seed % 4 == 0:
        objective_is_right(it, OBJECTIVES[seed // 4 % 4])
    if seed % 4 == 1:
        lexicographic_is_right(it, "milp")
    if seed % 4 == 2:
        the_first_cycle_is_the_plan(it)
    if seed % 4 == 3:
        nothing_left_out_is_proved(it)
        asking_is_planning(it)


@pytest.mark.behaviour("TBR-02", "TBR-19", "REQ-14", "RSV-07", "RSV-10", "PLC-02", "PLC-11")
@pytest.mark.parametrize("block", some(range(4), 1))
def test_rules_that_seldom_meet_agree_with_the_enumerator(block: int) -> None:
    for seed in range(block * 15, block * 15 + 15):
        all_right(seed)


def weighed(seed: int) -> Case | None:
    """The case of a seed with weights far apart."""
    it = drawn(seed)
    if it is None:
        return None
    random = Random(seed)
    pending = tuple(replace(job, weight=random.choice(WEIGHTS)) for job in it.instance.pending)
    instance = replace(it.instance, pending=pending)
    return Case(instance, it.asks, it.host_windows, it.dispatch, it.run)


def values_are_right(seed: int) -> None:
    it = weighed(seed)
    if it is not None:
        objective_is_right(it, "weighted" if seed % 3 else "slowdown")


@pytest.mark.parametrize("block", some(range(4), 1))
def test_weights_and_slowdown_are_exact(block: int) -> None:
    for seed in range(400 + block * 10, 410 + block * 10):
        values_are_right(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_weights_and_slowdown_are_exact_on_many(block: int) -> None:
    for seed in range(6_000 + block * 50, 6_050 + block * 50):
        values_are_right(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_rules_that_seldom_meet_agree_with_the_enumerator_on_many(block: int) -> None:
    for seed in range(1_000 + block * 100, 1_100 + block * 100):
        all_right(seed)
