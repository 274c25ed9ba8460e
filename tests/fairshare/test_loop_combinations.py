"""Fairshare in the loop beside reservation, backfill, limits and memory, on random workloads."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import (
    HostPartition,
    Instance,
    Limit,
    Scope,
    UserGroup,
)
from slotwise.model.share_rules import share_problems
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate

quick = examples(25)
MODES = ("queue", "cross", "ordered", "partition", "all hosts", "pool", "pool and queue")
GROUPS = (
    UserGroup("g", ("ann", "cat"), (("ann", 2), ("default", 1))),
    UserGroup("top", ("g", "bob"), (("g", 4), ("others", 1))),
)
LISTS = (
    (("default", 1),),
    (("ann", 7), ("others", 1)),
    (("g", 3), ("bob", 1)),
    (("g@", 2), ("default", 3)),
    (("top", 5), ("ann", 2)),
)
#: Lists under which -G g names an account.
WITH_G = LISTS[2:]


@st.composite
def fair_workloads(draw, modes=MODES) -> Instance:
    """A workload of the loop's own tests, with shares, a limit of users and three users."""
    base = draw(workloads())
    mode = draw(st.sampled_from(modes))
    shares = draw(st.sampled_from(LISTS))
    first, second = base.queues
    pool = {"slot_pool": "P"}
    partitions: tuple[HostPartition, ...] = ()
    if mode == "queue":
        first = replace(first, user_shares=shares)
    elif mode in ("cross", "ordered"):
        order = "QUEUE" if mode == "ordered" else ""
        first = replace(first, user_shares=shares, fairshare_queues=("high",), dispatch_order=order)
    elif mode == "partition":
        partitions = (HostPartition("HP", (base.cluster.hosts[0].name,), shares),)
    elif mode == "all hosts":
        partitions = (HostPartition("HP", ("all",), (("default", 1),)),)
    else:
        own = shares if mode == "pool and queue" else None
        first = replace(first, **pool, slot_share=draw(st.sampled_from([20, 50])), user_shares=own)
        second = replace(second, **pool, slot_share=50)
    params = replace(
        base.params,
        enable_hist_run_time=draw(st.booleans()),
        committed_run_time_factor=draw(st.sampled_from([0.0, 1.0])),
        run_time_in_slots=draw(st.booleans()),
        run_time_decay=draw(st.booleans()),
        hist_hours=draw(st.sampled_from([0.0, 0.05, 5.0])),
        fairshare_adjustment=draw(st.sampled_from(["", "memory"])),
        fairshare_adjustment_factor=1.0,
    )
    users = draw(st.lists(st.sampled_from(["ann", "bob", "cat"]), min_size=8, max_size=8))
    chosen = draw(st.lists(st.booleans(), min_size=8, max_size=8))
    by_group = shares in WITH_G and mode != "all hosts"
    future = tuple(
        replace(job, user=user, group="g" if by_group and asks and user != "bob" else "")
        for job, user, asks in zip(base.future, users, chosen, strict=False)
    )
    running = tuple(replace(r, job=replace(r.job, user=users[-1])) for r in base.running)
    limits = base.limits
    if draw(st.booleans()):
        limits += (Limit("few", {"jobs": 2.0}, users=Scope(("all",), each=True)),)
    found = replace(
        base, queues=(first, second), partitions=partitions, groups=GROUPS, params=params,
        future=future, running=running, limits=limits,
    )  # fmt: skip
    assert share_problems(found) == []
    return found


def jobs_of(instance):
    """Pending and future jobs."""
    return (*instance.pending, *instance.future)


PRIORITY = re.compile(r"first job of \S+/\S+, dynamic priority (\d+\.\d{3}) \((.+)\)")
CONTEST = re.compile(r"\S+ (\d+\.\d{3})(?: (before|level with) \S+ (\d+\.\d{3})| alone)")


@pytest.mark.behaviour("FSH-06", "FSH-11")
@quick
@given(fair_workloads(), st.sampled_from(METHODS))
def test_every_dispatch_is_explained(instance, method):
    """Each start says why; one that a share tree decided, what it compared at each level."""
    fair = {"default"} if instance.queues[0].user_shares else set()
    if instance.queues[0].fairshare_queues or "all" in str(instance.partitions):
        fair = {"default", "high"}
    queue_of = {job.id: job.queue for job in jobs_of(instance)}
    for entry in simulate(instance, reservation=method, keep_log=True).log:
        planned = {item["job"] for item in entry["reservations"]}
        assert set(entry.get("why", {})) == set(entry.get("started", ()))
        for name in entry.get("started", ()):
            why = entry["why"][name]
            chosen = PRIORITY.search(why)
            assert chosen or (queue_of[name] not in fair and "first in order of queue" in why)
            for contest in chosen[2].split(", ") if chosen else ():
                first, word, second = CONTEST.fullmatch(contest).groups()
                assert word is None or float(first) >= float(second)
                assert word != "level with" or first == second
            assert why.startswith("backfilled: ") == (name in entry.get("backfilled", ()))
            assert name not in planned


@pytest.mark.behaviour("LOP-05", "QBF-07")
@quick
@given(fair_workloads(), st.sampled_from(["greedy", "time-based"]), st.integers(1, 6))
def test_a_checkpoint_keeps_the_accounts(instance, method, steps):
    whole = simulate(instance, reservation=method)
    session = Session(instance, settings_for(instance, reservation=method))
    session.begin()
    for _ in range(steps):
        session.advance()
    session = load(save(session), instance)
    while session.advance():
        pass
    assert session.result().jobs == whole.jobs
