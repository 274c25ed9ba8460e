"""Queue-based fairshare: entitlements, redistribution, other queues, and use over time."""

import random
from collections.abc import Callable

import pytest
from fairshare.lab import Lab, cluster
from hypothesis import given
from hypothesis import strategies as st
from sampling import some
from slotwise import Cluster, Host, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.model.shares import SlotPool, pools
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.stages import PoolUse, entitlements, host_slots, surplus

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


@given(
    total=st.integers(0, 60),
    queues=st.lists(st.tuples(st.sampled_from([0.5, 10, 30, 50, 100]), st.integers(0, 30)),
                    min_size=1, max_size=6),
)  # fmt: skip
def test_entitlements_waste_nothing_and_exceed_nothing(total, queues):
    shares = [share for share, _ in queues]
    wanted = [want for _, want in queues]
    given_slots = entitlements(total, shares, wanted)
    assert sum(given_slots) == min(total, sum(wanted))
    assert all(0 <= slots <= want for slots, want in zip(given_slots, wanted, strict=True))


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
def test_qjob_limit_inside_a_pool():
    """Eligible for 8, limited to 4: the rest goes to the others by their shares."""
    first, *rest = pool_queues(a=50, b=30, c=20)
    limited = Queue("a", first.priority, slot_pool="P", slot_share=50, queue_slots=4)
    lab = lab_of((15,), limited, *rest)
    lab.submit(*flood("a", "b", "c"))
    lab.cycle(0)
    assert lab.in_use() == {"a": 4, "b": 7, "c": 4}


def test_a_job_that_the_pool_holds_back_says_so():
    order = order_policy(Instance(cluster(3), pool_queues(a=50, b=50)))
    order.begin(0, flood("a", count=4))
    while (offer := order.next()) is not None and not offer.ineligibility:
        order.started(offer.job, {"h1": 1}, 0)
    assert offer.ineligibility == (
        "queue a has 3 of the 3 slots of slot pool P, of which 0 are free for it"
    )


def test_max_slots_in_pool_and_use_priority_in_pool():
    rest = pool_queues(a=50, b=30, c=20)[1:]
    capped = Queue("a", 50, slot_pool="P", slot_share=50, max_slots_in_pool=10)
    lab = lab_of((15,), capped, *rest)
    lab.submit(*flood("a", "b", "c"))
    lab.cycle(0)
    assert lab.in_use() == {"a": 5, "b": 3, "c": 2}
    by_priority = Queue("a", 50, slot_pool="P", slot_share=50, use_priority_in_pool=True)
    lab = lab_of((15,), by_priority, *rest)
    urgent = [Job(f"u{i}", queue="c", run_time=60, priority=9) for i in range(9)]
    lab.submit(*flood("a", "c", count=8), *urgent)
    lab.cycle(0)
    assert lab.in_use() == {"a": 8, "b": 0, "c": 7}
    lab = lab_of((15,), by_priority, *rest)
    lab.submit(*flood("a", "c", count=20))
    lab.cycle(0)
    assert lab.in_use() == {"a": 12, "b": 0, "c": 3}


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


def saturate(
    shares: dict[str, float], slots: tuple[int, ...], run_time: Callable[[str, random.Random], int],
    *, hours: int, cycle: int = 20, warm: int = 0, seed: int = 7,
) -> tuple[list[tuple[int, ...]], dict[str, float]]:  # fmt: skip
    """Keep every queue full; slots in use after each cycle, and parts of slot-seconds."""
    lab = lab_of(slots, *pool_queues(**shares))
    rng = random.Random(seed)
    number, history = 0, []
    for now in range(0, hours * 3600, cycle):
        waiting = dict.fromkeys(shares, 0)
        for job in lab.pending.values():
            waiting[job.queue] += 1
        for queue in shares:
            for _ in range(sum(slots) - waiting[queue]):
                number += 1
                lab.submit(Job(str(number), queue=queue, run_time=run_time(queue, rng)))
        lab.cycle(now)
        history.append(tuple(lab.in_use().values()))
    counted = history[warm:]
    total = sum(map(sum, counted))
    used = {q: sum(row[i] for row in counted) / total for i, q in enumerate(shares)}
    return history, used


@pytest.mark.behaviour("QBF-06", "QBF-07")
def test_ten_queues_of_ten_percent_settle_at_two_slots_each():
    """21 slots: the first seven get 3 each; as their jobs end all ten run, 2 each and one 3."""
    history, used = saturate(
        {f"q{i}": 10 for i in range(10)}, (7, 7, 7), lambda _, rng: rng.randint(200, 400), hours=3
    )
    assert history[0] == (3,) * 7 + (0,) * 3
    assert {sum(row) for row in history} == {21}
    settled = history[90:]  # Half an hour: six times the mean run time.
    assert all(sorted(row) == [2] * 9 + [3] for row in settled)
    assert all(abs(part - 0.1) < 0.01 for part in used.values())


@pytest.mark.behaviour("QBF-07")
@pytest.mark.parametrize("long_jobs", some(["", "c"], 1))
def test_shares_hold_on_average(long_jobs):
    """50, 30, 20 of 15 slots, without and with jobs seven times as long in one queue.

    8, 5, 2 at first, as priority rounds; over twelve hours within 1 % of the shares.
    """

    def run_time(queue: str, rng: random.Random) -> int:
        return int(rng.uniform(0.5, 1.5) * (2000 if queue == long_jobs else 300))

    shares = {"a": 50, "b": 30, "c": 20}
    history, used = saturate(shares, (5, 5, 5), run_time, hours=14, warm=360)
    assert set(history[:90]) == {(8, 5, 2)}
    assert {sum(row) for row in history} == {15}
    assert all(
        used[queue] == pytest.approx(share / 100, abs=0.01) for queue, share in shares.items()
    )


@pytest.mark.behaviour("QBF-06", "QBF-08")
@pytest.mark.parametrize("seed", some(range(12), 4))
def test_the_first_table_holds_while_rounding_excuses_it(seed):
    """21 slots at 50, 30, 20: 11, 7, 3 for the first half hour, whatever ends when."""
    shares = {"a": 50, "b": 30, "c": 20}
    history, _ = saturate(
        shares, (7, 7, 7), lambda _, rng: rng.randint(60, 500), hours=1, seed=seed
    )
    assert set(history[:90]) == {(11, 7, 3)}


def test_who_has_ended_is_counted_no_more():
    order = order_policy(Instance(cluster(4), (Queue("default", user_shares=(("ann", 1),)),)))
    tree = order.trees["default"]
    (account,) = tree.accounts("ann")
    for name in ("1", "2"):
        order.started(Job(name, 2, user="ann", run_time=50), {"h1": 2}, 0)
    assert (account.jobs, account.slots) == (2, 4)
    order.ended("1", 50)
    assert (account.jobs, account.slots) == (1, 2)
    order.ended("2", 50)
    assert (account.jobs, account.slots) == (0, 0)


@given(st.randoms(use_true_random=False))
def test_too_few_free_slots_go_one_by_one_to_whom_they_are_due_most(rng: random.Random) -> None:
    """Literally: each to the queue that uses least of its share and is entitled to more."""
    queues = ("a", "b", "c")
    shares = tuple(float(rng.choice((10, 20, 30, 50))) for _ in queues)
    pool = PoolUse(SlotPool("p", queues, shares, ("h",)), {"h": rng.randint(4, 24)}, 0.0)
    for queue in queues:
        left = pool.free
        pool.change(queue, {"h": rng.randint(0, left)}, 0)
    pending = {queue: float(rng.choice((0, 2, MANY))) for queue in queues}
    found = pool.entitled(queues, pending)
    wanted = [pool.in_use[queue] + pending[queue] for queue in queues]
    due = dict(zip(queues, entitlements(pool.total, shares, wanted), strict=True))
    if sum(max(0, due[queue] - pool.in_use[queue]) for queue in queues) <= pool.free:
        assert found == due
        return
    given_out = dict(pool.in_use)
    of_share = dict(zip(queues, shares, strict=True))
    for _ in range(pool.free):
        needy = [queue for queue in queues if given_out[queue] < due[queue]]
        given_out[min(needy, key=lambda queue: given_out[queue] / of_share[queue])] += 1
    assert found == given_out
