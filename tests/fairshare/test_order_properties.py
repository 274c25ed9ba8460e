"""The order on random workloads: nothing lost, books balanced, checkpoints exact."""

import json
from dataclasses import replace

import pytest
from fairshare.lab import Lab, cluster, instance, jobs
from hypothesis import given
from hypothesis import strategies as st
from slotwise import HostPartition, Instance, Job, Params, Queue, RunningJob, UserGroup
from slotwise.model.shares import queue_sets
from slotwise.solver.fairshare.accounts import ShareTree
from slotwise.solver.fairshare.dispatch_order import order_policy

GROUPS = (
    UserGroup("g1", ("a", "b", "c"), (("a", 2), ("default", 1))),
    UserGroup("g2", ("c", "d")),
    UserGroup("g3", ("g1", "e"), (("g1", 3), ("others", 1))),
)
LISTS = st.sampled_from(
    [
        (("default", 1),),
        (("a", 5), ("others", 2)),
        (("g1", 3), ("d", 1), ("e", 1)),
        (("g3", 2), ("g2", 1), ("a", 4)),
        (("g2@", 2), ("default", 3)),
    ]
)


@st.composite
def workloads(draw):
    fair = draw(LISTS)
    mode = draw(st.sampled_from(["fcfs", "queue", "cross", "partition", "pool"]))
    machines = cluster(*draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    shares = {"slot_pool": "P", "slot_share": draw(st.sampled_from([10, 30, 50]))}
    queues = {
        "fcfs": [Queue("p", 2), Queue("q", 1)],
        "queue": [Queue("p", 2, user_shares=fair), Queue("q", 2)],
        "cross": [Queue("p", 2, user_shares=fair, fairshare_queues=("q",)), Queue("q", 3)],
        "partition": [Queue("p", 2), Queue("q", 1)],
        "pool": [Queue("p", 2, user_shares=fair, **shares), Queue("q", 1, **shares)],
    }[mode]
    partitions = (HostPartition("P", ("h1",), fair),) if mode == "partition" else ()
    params = Params(
        enable_hist_run_time=draw(st.booleans()),
        committed_run_time_factor=draw(st.sampled_from([0.0, 0.5])),
        run_time_decay=draw(st.booleans()),
        run_time_in_slots=draw(st.booleans()),
        hist_hours=draw(st.sampled_from([0.0, 0.01, 5.0])),
    )
    pending = tuple(
        Job(
            str(number),
            draw(st.integers(1, 3)),
            user=draw(st.sampled_from("abcde")),
            queue=draw(st.sampled_from("pq")),
            submit=draw(st.integers(0, 5)) * 30,
            run_time=draw(st.integers(1, 200)),
            run_limit=draw(st.sampled_from([None, 300])),
        )
        for number in range(draw(st.integers(1, 14)))
    )
    return Instance(
        machines, tuple(queues), groups=GROUPS, partitions=partitions, params=params,
        pending=pending,
    )  # fmt: skip


@pytest.mark.behaviour("FSH-06", "FSH-10", "QBF-08")
@given(workloads())
def test_nothing_is_lost_and_the_books_balance(problem):
    """Every job that can start does; counters are what runs; all ends at nothing."""
    lab = Lab(problem)
    capacity = sum(host.slots for host in problem.cluster.hosts)
    tree_of = next(iter(lab.order.trees.values()), None)
    for now in range(0, 6000, 60):
        lab.cycle(now)
        used = sum(sum(allocation.values()) for _, allocation in lab.running.values())
        assert used <= capacity
        if tree_of is not None:
            charged = sum(
                charge.slots
                for entry in lab.order.ledger.entries.values()
                for charge in entry.charges
                if charge.tree is tree_of
            )
            assert tree_of.root.slots == charged
            leaves = [a for a in tree_of.root.walk() if not a.children and a.parent]
            assert sum(leaf.slots for leaf in leaves) == charged
        for use in lab.order.pools.values():
            assert sum(use.in_use.values()) == used
    has_policy = {name: item.master for item in queue_sets(problem) for name in item.queues}
    stuck = [
        job
        for job in lab.pending.values()
        if job.slots <= capacity
        and not problem.partitions
        and (
            job.queue not in has_policy or lab.order.trees[has_policy[job.queue]].accounts(job.user)
        )
    ]
    assert stuck == []
    for tree in lab.order.trees.values():
        usage = tree.usage(tree.root, 6000)
        if not lab.running:
            assert (usage.slots, usage.reserved) == (0, 0)
            assert usage.run_time == pytest.approx(0, abs=1e-6)
            assert usage.committed_run_time == pytest.approx(0, abs=1e-6)


@given(workloads(), st.integers(1, 8))
def test_a_checkpoint_goes_on_as_the_run_would_have(problem, stop):
    """State through JSON in the middle: the same starts and the same counters afterwards."""
    whole, part = Lab(problem), Lab(problem)
    for now in range(0, stop * 60, 60):
        whole.cycle(now)
        part.cycle(now)
    state = json.loads(json.dumps(part.order.to_state()))
    running = tuple(RunningJob(job, 0, held) for job, held in part.running.values())
    part.order = order_policy(replace(problem, running=running), state=state)
    assert part.order.to_state() == whole.order.to_state()
    for now in range(stop * 60, stop * 60 + 600, 60):
        whole.cycle(now)
        part.cycle(now)
    assert part.starts == whole.starts
    assert part.order.to_state() == whole.order.to_state()


@pytest.mark.behaviour("FSH-06", "FSH-10")
@pytest.mark.parametrize("flat", [True, False])
def test_a_dispatch_looks_at_the_accounts_on_its_way_alone(monkeypatch, flat):
    """Priorities worked out for a dispatch: as many as levels, whatever the number of users."""
    calls = 0
    priority = ShareTree.priority

    def counted(self, account, now):
        nonlocal calls
        calls += 1
        return priority(self, account, now)

    monkeypatch.setattr(ShareTree, "priority", counted)
    found = set()
    for count in (20, 2000):
        names = [f"u{number}" for number in range(count)]
        halves = (names[: count // 2], names[count // 2 :])
        groups = tuple(
            UserGroup(f"g{n}", tuple(half), (("default", 1),)) for n, half in enumerate(halves)
        )
        top = (("default", 1),) if flat else (("g0", 2), ("g1", 1))
        queue = Queue("default", user_shares=top)
        order = order_policy(instance(queue, groups=() if flat else groups, slots=9999))
        order.begin(0, jobs(" ".join(names)))
        order.next()
        calls = 0
        for _ in range(10):
            order.started(order.next().job, {"h1": 1}, 0)
        order.next()
        found.add(calls)
    # One for each account that is weighed anew, one for the offer.
    assert found == ({20} if flat else {30})


@given(
    shares=st.lists(st.integers(1, 9), min_size=2, max_size=5),
    text=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    refuse=st.sets(st.integers(0, 40)),
)
def test_the_heap_gives_what_a_plain_search_gives(shares, text, refuse):
    """Against a literal reading: highest shares / (1 + slots), ties to the earliest job."""
    names = "abcde"[: len(shares)]
    pending = jobs(" ".join(names[i % len(names)] for i in text))
    problem = instance(Queue("default", user_shares=tuple(zip(names, shares, strict=True))))
    order = order_policy(problem)
    order.begin(0, pending)
    used = dict.fromkeys(names, 0)
    left = list(pending)
    while left:
        best = min(
            {job.user: job for job in reversed(left)}.values(),
            key=lambda job: (-shares[names.index(job.user)] / (1 + used[job.user]), int(job.id)),
        )
        offer = order.next()
        assert offer.job == best
        left.remove(best)
        if int(best.id) in refuse:
            order.skipped(best)
        else:
            order.started(best, {"h1": 1}, 0)
            used[best.user] += 1
    assert order.next() is None
