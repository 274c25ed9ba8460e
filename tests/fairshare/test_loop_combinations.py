"""Fairshare in the loop beside reservation, backfill, limits and memory, on random workloads."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import (
    Change,
    HostPartition,
    HostStatus,
    Instance,
    Limit,
    Params,
    Queue,
    Resize,
    Scope,
    UserGroup,
)
from slotwise.model.share_rules import share_problems
from slotwise.model.shares import partition_hosts, queue_sets
from slotwise.solver.fairshare.accounts import Consumption, Factors, dynamic_priority
from slotwise.solver.fairshare.reports import ShareSeries
from slotwise.solver.scheduler.checkpoints import load, save
from slotwise.solver.scheduler.history import snapshot_of
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session, simulate
from slotwise.solver.validate import validate_schedule

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


@pytest.mark.behaviour("LOP-01", "LOP-03", "FSH-06", "FSH-08", "FSH-09", "QBF-08", "TBR-12")
@quick
@given(fair_workloads(), st.sampled_from(METHODS))
def test_no_rule_is_broken_and_no_job_lost(instance, method):
    result = simulate(instance, reservation=method, keep_log=True)
    assert validate_schedule(instance, result) == []
    assert result.complete
    assert [record.job for record in result.jobs] == [
        *(item.job.id for item in instance.running),
        *(job.id for job in jobs_of(instance)),
    ]
    for record in result.jobs:
        if record.status == "pending":
            alone = next(job for job in jobs_of(instance) if job.id == record.job)
            only = simulate(replace(instance, running=(), pending=(alone,), future=()))
            assert only[record.job].status == "pending"
            assert record.reason
        elif record.job not in {item.job.id for item in instance.running}:
            assert record.status == "done"


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


RUN_AND_SLOTS = Params(
    mbd_sleep_time=30, cpu_time_factor=0, run_time_factor=50.0, enable_hist_run_time=True
)


@pytest.mark.behaviour("FSH-02", "FSH-03", "FSH-06")
@quick
@given(workloads(), st.booleans())
def test_the_priority_given_is_that_of_the_raw_history(base, history):
    """The printed priority, worked out again from starts, ends and the formula alone."""
    queue = Queue("default", user_shares=(("ann", 3), ("bob", 2)))
    params = replace(RUN_AND_SLOTS, enable_hist_run_time=history)
    jobs = tuple(replace(job, queue="default", resizable=False) for job in base.future)
    instance = replace(base, queues=(queue,), future=jobs, pending=(), params=params)
    running = tuple(
        replace(item, job=replace(item.job, queue="default", user="bob")) for item in base.running
    )
    instance = replace(instance, running=running)
    result = simulate(instance, reservation="none", keep_log=True)
    records = {record.job: record for record in result.jobs}
    factors = Factors.of(params, queue)
    shares = dict(queue.user_shares or ())
    begun = {item.job.id for item in instance.running}
    for entry in result.log:
        now, earlier = entry["time"], set(begun)
        for name in entry.get("started", ()):
            user = records[name].user
            usage = _usage(records, user, now, earlier, factors)
            expected = dynamic_priority(shares[user], usage, factors)
            printed = float(PRIORITY.search(entry["why"][name])[1])
            assert printed == pytest.approx(expected, abs=0.0006)
            earlier.add(name)


def _usage(records, user, now, earlier, factors) -> Consumption:
    run = history = slots = 0.0
    for record in records.values():
        if record.user != user or record.start is None:
            continue
        end = record.end if record.end is not None else float("inf")
        if (record.start < now or record.job in earlier) and end > now:
            run += now - record.start
            slots += record.procs
        elif record.start < now and factors.hist_run_time:
            hours = (now - end) / 3600
            history += (end - record.start) * 10 ** (-hours / factors.hist_hours)
    return Consumption(run_time=run, historical_run_time=history, slots=int(slots))


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


@st.composite
def changes(draw, instance: Instance) -> list[Change]:
    """Hosts that go down, close and come back, and jobs that are given other sizes."""
    hosts = [host.name for host in instance.cluster.hosts]
    jobs = [*(item.job.id for item in instance.running), *(job.id for job in instance.future)]
    found: list[Change] = []
    for _ in range(draw(st.integers(0, 4))):
        time = draw(st.integers(0, 900))
        host = draw(st.sampled_from(hosts))
        if draw(st.booleans()):
            sizes = {host: draw(st.integers(1, 3))}
            found.append(Resize(time, draw(st.sampled_from(jobs)), sizes))
        else:
            found.append(HostStatus(time, host, draw(st.sampled_from(["down", "closed", "ok"]))))
    return [*found, *(HostStatus(1000, host, "ok") for host in hosts)]


@pytest.mark.behaviour("FSH-04", "FSH-15", "QBF-05", "LOP-06")
@quick
@given(st.data())
def test_the_books_are_what_runs_whatever_happens(data):
    """Slots of every account and pool after each cycle, counted again from the running jobs."""
    instance = data.draw(fair_workloads())
    if data.draw(st.booleans()):
        first, second = instance.queues
        preempts = not (first.slot_pool or second.slot_pool)
        second = replace(second, preemptive=("default",) if preempts else None)
        instance = replace(instance, queues=(first, second))

    inside = {p.name: partition_hosts(instance.cluster, p) for p in instance.partitions}
    queues_of = {policy.master: policy.queues for policy in queue_sets(instance)}

    def counted(tree, jobs) -> int:
        """Slots that a policy counts, of pairs of a job and its allocation."""
        return sum(
            slots
            for job, allocation in jobs
            if tree.accounts(job.user, job.group)
            for host, slots in allocation.items()
            if host in inside.get(tree.name, ()) or job.queue in queues_of.get(tree.name, ())
        )

    def check(record, world):
        order = world.order
        running = [(state, world.named(state.allocation)) for state in world.running.values()]
        held = [(item.state.job, world.named(item.reserved)) for item in record.reservations]
        for tree in order.trees.values():
            slots = counted(tree, [(state.job, allocation) for state, allocation in running])
            leaves = [account for account in tree.root.walk() if not account.children]
            assert tree.root.slots == sum(leaf.slots for leaf in leaves) == slots
            reserved = sum(leaf.reserved for leaf in leaves)
            assert tree.root.reserved == reserved == counted(tree, held)
            for account in tree.root.walk():
                usage = tree.usage(account, world.now)
                assert min(usage.run_time, usage.committed_run_time, usage.cpu_time) > -1e-6
                assert min(account.slots, account.reserved, account.memory + 1e-6) >= 0
        for use in order.pools.values():
            for queue in use.pool.queues:
                mine = [a for s, a in running if s.job.queue == queue and s.status != "preempted"]
                assert use.in_use[queue] == sum(sum(a.values()) for a in mine)

    method = data.draw(st.sampled_from(METHODS))
    simulate(
        instance,
        reservation=method,
        recorder=check,
        changes=data.draw(changes(instance)),
        until=9000,
    )


@pytest.mark.behaviour("VEW-01", "VEW-02")
@quick
@given(fair_workloads())
def test_a_moment_adds_up(instance):
    """After the cycle: jobs and slots are all there, and nothing more than there is is held."""
    jobs = tuple(replace(job, submit=0) for job in instance.future)
    instance = replace(instance, pending=jobs, future=())
    before, after = (snapshot_of(instance, after_cycle=cycle) for cycle in (False, True))
    assert before.instance == instance
    assert not any(before.holds(job.id) for job in jobs)
    ids = {item.job.id for item in after.instance.running} | set(after.waiting)
    assert ids == {item.job.id for item in instance.running} | {job.id for job in jobs}
    for host in instance.cluster.hosts:
        used = sum(item.allocation.get(host.name, 0) for item in after.instance.running)
        held = sum(after.holds(job.id).get(host.name, 0) for job in after.instance.pending)
        load = after.hosts[host.name]
        assert load.slots == held
        assert used + held <= host.slots
        if "mem" in host.amounts:
            assert load.total["mem"] + load.reserved["mem"] == pytest.approx(host.amounts["mem"])
    assert all(waiting.reason for waiting in after.waiting.values())


@pytest.mark.behaviour("VEW-04")
def test_the_loop_feeds_the_series():
    from slotwise.instances import example
    from slotwise.model.formats import load as read

    series = ShareSeries()
    instance = read(example("fairshare-chargeback"))
    simulate(instance, recorder=lambda record, world: series.record(world.order, record.time))
    first = {point.account: point for point in series.points if point.time == 0}
    engineers = first["big_servers/eng_users"]
    assert (engineers.slots, engineers.share, engineers.target) == (7, 0.7, 0.7)
    assert {point.slots for point in series.points if point.time == series.points[-1].time} == {0}


@quick
@given(fair_workloads(), st.sampled_from(METHODS))
def test_turns_that_are_left_out_change_nothing(instance: Instance, method: str) -> None:
    lean = simulate(instance, reservation=method, keep_log=True)
    session = Session(instance, settings_for(instance, reservation=method), keep_log=True)
    session.cycle.whole_walks = True
    session.begin()
    while session.advance():
        pass
    whole = session.result()
    assert lean.jobs == whole.jobs
    assert lean.log == whole.log
