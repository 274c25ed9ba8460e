"""Queue-based fairshare: entitlements, redistribution, other queues, and use over time."""

from dataclasses import replace

import pytest
from fairshare.lab import Lab, cluster
from slotwise import Cluster, Host, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.model.shares import pools
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.stages import entitlements, host_slots, surplus

MANY = 1000


@pytest.mark.behaviour("QBF-02", "QBF-03", "QBF-04", "QBF-06")
@pytest.mark.parametrize(
    ("total", "shares", "wanted", "expected"),
    [
        (12, [50, 30, 20], None, [6, 4, 2]),
        (15, [50, 30, 20], None, [8, 5, 2]),
        (15, [50, 30, 20], [MANY, 0, MANY], [11, 0, 4]),
        (15, [50, 30, 20], [0, 0, MANY], [0, 0, 15]),
        (15, [30, 30, 30], None, [5, 5, 5]),
        (21, [50, 30, 20], None, [11, 7, 3]),
        (21, [10] * 10, None, [3] * 7 + [0] * 3),
        # The queue that has used least of its share first: the second table of QBF-06.
        (21, [20, 30, 50], None, [5, 7, 9]),
    ],
)
def test_entitlements_of_the_documents(total, shares, wanted, expected):
    assert entitlements(total, shares, wanted) == expected


@pytest.mark.behaviour("QBF-03")
def test_redistribution_is_a_round_of_the_same_rule():
    """15 slots, the second idle: 8 and 3; of the 4 left 2 and 1; the last to the first."""
    shares, wanted = [50, 30, 20], [MANY, 0, MANY]
    assert entitlements(15, shares, wanted, redistribute=False) == [8, 0, 3]
    assert entitlements(4, shares, wanted, redistribute=False) == [2, 0, 1]
    assert entitlements(1, shares, wanted, redistribute=False) == [1, 0, 0]


def pool_queues(**shares: float) -> tuple[Queue, ...]:
    """Queues of pool P in falling priority."""
    return tuple(
        Queue(name, 50 - index, slot_pool="P", slot_share=share)
        for index, (name, share) in enumerate(shares.items())
    )


def flood(*queues: str, count: int = 40, start: int = 0, run_time: int = 600) -> list[Job]:
    names = (queue for queue in queues for _ in range(count))
    return [
        Job(str(start + number), queue=queue, run_time=run_time)
        for number, queue in enumerate(names)
    ]


def lab_of(slots: tuple[int, ...], *queues: Queue, **fields) -> Lab:
    return Lab(Instance(cluster(*slots), queues, **fields))


@pytest.mark.behaviour("QBF-02", "QBF-03", "QBF-04", "QBF-06")
@pytest.mark.parametrize(
    ("slots", "shares", "active", "expected"),
    [
        ((6, 6), (50, 30, 20), "abc", (6, 4, 2)),
        ((5, 5, 5), (50, 30, 20), "abc", (8, 5, 2)),
        ((5, 5, 5), (50, 30, 20), "ac", (11, 0, 4)),
        ((5, 5, 5), (50, 30, 20), "c", (0, 0, 15)),
        ((5, 5, 5), (30, 30, 30), "abc", (5, 5, 5)),
        ((7, 7, 7), (50, 30, 20), "abc", (11, 7, 3)),
    ],
)
def test_a_cycle_starts_what_the_documents_show(slots, shares, active, expected):
    lab = lab_of(slots, *pool_queues(**dict(zip("abc", shares, strict=True))))
    lab.submit(*flood(*active))
    lab.cycle(0)
    assert tuple(lab.in_use().values()) == expected


@pytest.mark.behaviour("QBF-08")
@pytest.mark.parametrize(
    ("shares", "sizes", "active", "expected"),
    [
        ((50, 30, 20), (3, 3, 3), "abc", (6, 6, 3)),
        ((50, 30, 20), (3, 3, 3), "ab", (9, 6, 0)),
        ((50, 30, 20), (3, 3, 3), "bc", (0, 9, 6)),
        ((50, 30, 20), (3, 3, 3), "c", (0, 0, 15)),
        ((50, 30, 20), (9, 1, 1), "abc", (0, 9, 6)),
        ((50, 30, 20), (3, 1, 5), "abc", (9, 6, 0)),
        ((50, 30, 20), (5, 5, 5), "abc", (5, 5, 5)),
        ((30, 30, 30), (4, 4, 4), "abc", (4, 4, 4)),
        ((90, 5, 5), (5, 5, 5), "abc", (10, 5, 0)),
    ],
)
def test_slots_left_over_go_by_shares(shares, sizes, active, expected):
    """What no queue's part has room for goes, job by job, to the one with least of its share."""
    lab = lab_of((15,), *pool_queues(**dict(zip("abc", shares, strict=True))))
    pending = flood(*active)
    size = dict(zip("abc", sizes, strict=True))
    lab.submit(*(replace(job, slots=size[job.queue]) for job in pending))
    lab.cycle(0)
    assert tuple(lab.in_use().values()) == expected


@pytest.mark.behaviour("QBF-05")
def test_pools_and_other_queues_merge_by_priority():
    """As in the documents: the pools' queues from high to low, the others where they fall."""
    names = ["queue1", "queue2", "queue3", "queue4", "queue5", "queue6", "queue7", "queue8"]
    pool_of = dict.fromkeys(names[:3], "A") | dict.fromkeys(names[5:], "B")
    queues = [
        Queue(name, 50 - 2 * i, slot_pool=pool_of.get(name, ""),
              slot_share=30 if name in pool_of else None)
        for i, name in enumerate(names)
    ]  # fmt: skip
    order = order_policy(Instance(cluster(64), tuple(queues)))
    order.begin(0, [Job(str(i), queue=name) for i, name in enumerate(reversed(names))])
    found = []
    while (offer := order.next()) is not None:
        found.append(offer.job.queue)
        order.started(offer.job, {"h1": 1}, 0)
    assert found == names


@pytest.mark.behaviour("QBF-01")
def test_a_range_of_slots_is_cut_to_what_the_queue_may_take():
    order = order_policy(Instance(cluster(15), pool_queues(a=50, b=30, c=20)))
    order.begin(0, [Job("r", 2, max_slots=15, queue="a"), *flood("a", "b", "c", start=1)])
    assert order.next().max_slots == 8


@pytest.mark.behaviour("QBF-01")
def test_slot_limits_of_hosts_and_of_groups():
    hosts = Cluster(tuple(Host(f"h{i}", 10, ncpus=4) for i in (1, 2, 3)))
    limits = (
        Limit("each", {"slots": 6}, hosts=Scope(("h1", "h2"), each=True)),
        Limit("processors", slots_per_processor=1.1, hosts=Scope(("h2",), each=True)),
        Limit("sum", {"slots": 12}, hosts=Scope(("h1", "h3"))),
        Limit("users", {"slots": 1}, hosts=Scope(("all",), each=True), users=Scope(("a",))),
    )
    problem = Instance(hosts, pool_queues(a=100), limits=limits)
    assert host_slots(problem) == {"h1": 6, "h2": 5, "h3": 10}
    assert surplus(problem, pools(problem)[0]) == 4
    order = order_policy(problem)
    assert order.pools["P"].total == 17
    order.begin(0, flood("a"), slots={"h1": 6, "h3": 10})
    assert order.pools["P"].total == 12


@pytest.mark.behaviour("QBF-05", "LOP-06")
def test_a_preempted_job_gives_its_slots_back_to_the_pool():
    running = (RunningJob(Job("s", 4, queue="free"), 0, {"h1": 4}),)
    problem = Instance(cluster(15), (*pool_queues(a=50), Queue("free", 1)), running=running)
    order = order_policy(problem)
    use = order.pools["P"]
    totals = [use.total]
    order.suspended("s", 10)
    totals.append(use.total)
    order.suspended("s", 10, preempted=True)
    totals.append(use.total)
    again = order_policy(problem, state=order.to_state())
    for copy in (order, again):
        copy.resumed("s", 20)
        totals.append(copy.pools["P"].total)
        copy.suspended("s", 30, preempted=True)
        copy.ended("s", 40)
        totals.append(copy.pools["P"].total)
    assert totals == [11, 11, 15, 11, 15, 11, 15]
