"""The order kept from cycle to cycle is the one made anew, and turns left out say nothing."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from sampling import some
from slotwise import Cluster, Host, HostPartition, Instance, Job, Queue, UserGroup
from slotwise.solver.fairshare.dispatch_order import DispatchOrder, order_policy
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

GROUPS = (UserGroup("g", ("u0", "u1", "u2"), (("u0", 3), ("default", 1))),)
SHARES = (("g", 3), ("default", 1))
PLAIN = Queue("a", 5)
CASES = {
    "queue": (replace(PLAIN, user_shares=SHARES), Queue("b", 5), Queue("c", 9)),
    "set": (replace(PLAIN, user_shares=SHARES, fairshare_queues=("b",)), Queue("b", 9), Queue("c")),
    "ordered": (
        replace(PLAIN, user_shares=SHARES, fairshare_queues=("b",), dispatch_order="QUEUE"),
        Queue("b", 9),
        Queue("c"),
    ),
    "pool": (
        replace(PLAIN, slot_pool="P", slot_share=30, user_shares=SHARES),
        Queue("b", 5, slot_pool="P", slot_share=50),
        Queue("c", 2),
    ),
    "priority in pool": (
        replace(PLAIN, slot_pool="P", slot_share=30, use_priority_in_pool=True),
        Queue("b", 5, slot_pool="P", slot_share=50, use_priority_in_pool=True),
        Queue("c", 2),
    ),
    "partition": (PLAIN, Queue("b", 9, user_shares=SHARES), Queue("c", 2)),
}


def case(name: str) -> Instance:
    hosts = tuple(Host(f"h{number}", 8) for number in range(4))
    partitions = (HostPartition("HP", ("h0", "h1"), SHARES),) if name == "partition" else ()
    return Instance(Cluster(hosts), CASES[name], groups=GROUPS, partitions=partitions)


def walk(order: DispatchOrder, draw: random.Random, now: int) -> list[tuple[object, ...]]:
    """Everything that is offered; some of it starts."""
    said: list[tuple[object, ...]] = []
    while (offer := order.next()) is not None:
        said.append((offer.job.id, offer.hosts, offer.max_slots, offer.ineligibility, offer.why))
        if not offer.ineligibility and draw.random() < 0.3:
            order.started(offer.job, {f"h{draw.randrange(4)}": offer.job.slots}, now)
        else:
            order.skipped(offer.job)
    return said


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", some(range(6), 2))
def test_told_once_is_as_told_in_every_cycle(name: str, seed: int) -> None:
    draw = random.Random(seed)
    one, other = order_policy(case(name)), order_policy(case(name))
    waiting: dict[str, Job] = {}
    runs: dict[str, Job] = {}
    arrivals = 0
    for cycle in range(14):
        now = 60 * cycle
        for _ in range(draw.choice((0, 2, 5, 40))):
            job = Job(
                draw.choice(("", "x")) + str(arrivals),
                draw.randint(1, 3),
                user=f"u{draw.randrange(6)}",
                queue=draw.choice("abc"),
                priority=draw.choice((0, 0, 5)),
                submit=draw.randint(0, now),
            )
            waiting[job.id] = job
            arrivals += 1
            one.submitted(job, 0, arrivals)
        for gone in draw.sample(sorted(waiting), min(len(waiting), draw.choice((0, 1, 20)))):
            one.withdrawn(waiting.pop(gone))
        for ended in draw.sample(sorted(runs), len(runs) // 2):
            one.ended(ended, now)
            other.ended(ended, now)
            again = runs.pop(ended)
            if draw.random() < 0.3:  # sent back to the queue, behind its equals
                waiting[ended] = again
                arrivals += 1
                one.submitted(again, 0, arrivals)
        more = [replace(job, slots=1, max_slots=2) for job in runs.values() if draw.random() < 0.2]
        one.begin_cycle(now, more)
        other.begin(now, [*waiting.values(), *more])
        luck = draw.random()
        said = walk_both(one, other, luck, now)
        for job in list(waiting):
            if job in one.ledger.entries:
                runs[job] = waiting.pop(job)
        assert said or not (waiting or more)
    assert one.to_state() == other.to_state()


def walk_both(one: DispatchOrder, other: DispatchOrder, luck: float, now: int) -> bool:
    first, second = (walk(order, random.Random(luck), now) for order in (one, other))
    assert first == second
    return bool(first)


def test_a_cycle_without_a_free_slot_looks_at_no_pending_job() -> None:
    """However many wait: the turns of a full cluster are those of newcomers, which need none."""
    instance = replace(
        case("queue"),
        pending=tuple(Job(str(n), 8, queue="a", run_limit=9000, submit=0) for n in range(300)),
    )
    session = Session(instance, settings_for(instance, skip_idle=False))
    session.begin()
    looked: list[int] = []
    session.advance()
    looked.append(len(session.cycle.progress.examined))
    for _ in range(3):
        session.advance()
        looked.append(len(session.cycle.progress.examined))
    assert looked == [5, 0, 0, 0]  # four start, and one finds nothing
    assert all(record.reason for record in session.result().jobs if record.status == "pending")
