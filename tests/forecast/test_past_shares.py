"""What had been used by a moment of a simulated log, against the loop's own accounts then."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sampling import some
from slotwise import (
    Cluster,
    Host,
    HostPartition,
    HostRequest,
    HostStatus,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    ShareUsage,
)
from slotwise.solver.fairshare.dispatch_order import DispatchOrder, order_policy
from slotwise.solver.forecast.backtest import answer
from slotwise.solver.forecast.of_instance import SimulatedLog
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

SHARES = (("u0", 3), ("u1", 1), ("default", 1))
COUNTED = Params(
    mbd_sleep_time=10,
    run_time_factor=0.7,
    cpu_time_factor=0.7,
    enable_hist_run_time=True,
    run_time_decay=True,
    hist_hours=0.5,
    default_queue="normal",
)


def jobs(count: int, seed: int) -> tuple[Job, ...]:
    """Jobs of four users, of which some say their CPU time."""
    draw = np.random.default_rng(seed)
    submit = np.sort(draw.integers(1000, 1000 + 130 * count, count)).tolist()
    return tuple(
        Job(
            f"j{n}",
            int(draw.integers(1, 6)),
            user=f"u{draw.integers(4)}",
            queue="normal" if draw.random() < 0.8 else "high",
            run_limit=int(draw.integers(3, 12)) * 100,
            run_time=int(draw.integers(50, 600)),
            cpu_time=float(draw.integers(50, 900)) if n % 3 == 0 else None,
            submit=time,
        )
        for n, time in enumerate(submit)
    )


def shared(kind: str) -> Instance:
    """A cluster where something ran before, and usage is stated or not."""
    high = Queue("high", 50, preemptive=("normal",) if kind == "preemption" else None)
    fills = kind != "preemption"  # nobody preempts jobs of a queue that backfills
    normal = Queue("normal", 20, backfill=fills, user_shares=() if kind in _OTHER else SHARES)
    queues = (high, normal)
    partitions = (HostPartition("all", ("a",), SHARES),) if kind == "partition" else ()
    if kind == "pool":
        both = (HostRequest("a"), HostRequest("b"))
        queues = (
            Queue("high", 50, slot_pool="P", slot_share=30, hosts=both),
            Queue("normal", 20, slot_pool="P", slot_share=70, hosts=both),
        )
    before = Job("r", 2, user="u1", queue="normal", run_limit=900, run_time=700, submit=600)
    return Instance(
        Cluster((Host("a", 4), Host("b", 4))),
        queues=queues,
        running=(RunningJob(before, 700, {"a": 2}),),
        future=jobs(60, len(kind)),
        partitions=partitions,
        params=COUNTED,
        share_usage=(ShareUsage("normal", "u0", 500.0, 300.0, stamp=900),) * (kind == "stated"),
        now=1000,
    )


_OTHER = ("partition", "pool")
_KINDS = ("shares", "stated", "preemption", "down", *_OTHER)


def run(kind: str, until: int | None = None) -> Session:
    """The loop over it, to the end or to a second."""
    instance = shared(kind)
    changes = [HostStatus(3000, "a", "down"), HostStatus(4000, "a", "ok")] if kind == "down" else []
    session = Session(instance, settings_for(instance), changes=changes, until=until)
    session.begin()
    while session.advance():
        pass
    return session


def used(order: DispatchOrder, now: int) -> dict[str, tuple[float, ...]]:
    """What every account and pool has used, and what decides between the accounts."""
    found: dict[str, tuple[float, ...]] = {}
    for name, tree in order.trees.items():
        for account in tree.root.walk():
            use = tree.usage(account, now)
            numbers = (use.cpu_time, use.historical_run_time, use.run_time, use.slots)
            found["/".join((name, *account.path))] = tuple(map(float, numbers))
    for use in order.pools.values():
        for queue, meter in use.accumulated.items():
            found[queue] = (meter.at(now, use.decay),)
    return {name: numbers for name, numbers in found.items() if any(numbers)}


def while_preempted(found: SimulatedLog) -> list[int]:
    """A job that comes while another is preempted, if any does."""
    held = [record.held for record in found.records]
    gaps = [(one[1], two[0]) for where in held for one, two in pairwise(where)]
    within = [
        row
        for row, time in enumerate(found.log.submit.tolist())
        if any(begin < time <= end for begin, end in gaps if begin is not None)
    ]
    return within[:1]


@pytest.mark.parametrize("kind", some(_KINDS, 4))
def test_shares_at_the_moment_are_those_of_the_loop(kind: str) -> None:
    whole = run(kind)
    found = SimulatedLog.of(whole.result(), whole.given, "log")
    compared = preempted = 0
    for row in (30, 12, 45, *while_preempted(found)):
        now = int(found.log.submit[row])
        here = run(kind, until=now - 1).world
        assert isinstance(here.order, DispatchOrder)
        expected = used(here.order, now)
        got = used(order_policy(found.instance(row)), now)
        assert got.keys() == expected.keys()
        stopped = bool(here.subsets.suspended)
        for name, numbers in expected.items():
            # One that was preempted waits here, and its slots and run time are no account's.
            count = 2 if stopped else len(numbers)
            assert got[name][:count] == pytest.approx(numbers[:count], rel=1e-6, abs=1e-6), name
        compared += len(expected)
        preempted += stopped
    assert compared >= 6
    assert preempted or kind != "preemption"


def test_other_processes_count_the_same() -> None:
    whole = run("shares")
    found = SimulatedLog.of(whole.result(), whole.given, "log")
    before = found.instance(40).share_usage
    copy = pickle.loads(pickle.dumps(found))
    assert copy.instance(20).share_usage == found.instance(20).share_usage != before
    assert copy.instance(40).share_usage == before


def test_what_was_used_before_decides_who_is_next() -> None:
    """Of two users who ask for the whole cluster again and again, the one with less use is next."""
    site = Instance(
        Cluster((Host("a", 4),)),
        queues=(Queue("normal", 20, user_shares=(("u0", 1), ("u1", 1))),),
        future=tuple(
            Job(name, 4, user=user, queue="normal", run_limit=500, run_time=500, submit=submit)
            for name, user, submit in (
                *(("1", "u0", 0), ("2", "u0", 510), ("3", "u1", 1010), ("4", "u1", 1400)),
                ("5", "u0", 1405),
            )
        ),
        params=replace(COUNTED, hist_hours=50),
    )
    session = Session(site, settings_for(site))
    session.begin()
    while session.advance():
        pass
    log = SimulatedLog.of(session.result(), session.given, "log")
    truth = log.start.tolist()
    assert truth[3] < truth[4]  # u1 has used less so far
    by_limits, *_ = answer(log, 4, 2, 0)
    assert by_limits == pytest.approx(truth[4] - 1405, abs=20)
