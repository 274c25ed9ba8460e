"""Queue-based fairshare: entitlements, redistribution, other queues, and use over time."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from fairshare.lab import Lab, cluster
from hypothesis import given
from hypothesis import strategies as st
from sampling import some
from slotwise import Cluster, Host, HostRequest, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.model.shares import SlotPool, pools
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.stages import PoolUse, entitlements, host_slots, surplus
from slotwise.solver.fairshare.waiting_jobs import WaitingJobs

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


@pytest.mark.behaviour("QBF-08")
def test_a_limited_queue_leaves_the_rest_to_the_others():
    assert entitlements(100, [50, 50], [40, MANY]) == [40, 60]


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


@pytest.mark.behaviour("QBF-08")
def test_a_queue_whose_jobs_do_not_start_passes_what_is_left_on():
    """a and b refuse all; c's jobs of 3 slots get everything, whatever comes first."""
    order = order_policy(Instance(cluster(15), pool_queues(a=50, b=30, c=20)))
    pending = [replace(job, slots=3) for job in flood("a", "b", "c", count=8)]
    order.begin(0, pending)
    asked = []
    while (offer := order.next()) is not None:
        asked.append(offer.job.id)
        if offer.job.queue == "c" and not offer.ineligibility:
            order.started(offer.job, {"h1": 3}, 0)
        else:
            order.skipped(offer.job)
    assert order.pools["P"].in_use == {"a": 0, "b": 0, "c": 15}
    assert set(asked) == {job.id for job in pending}
    assert len(asked) == len(set(asked))


TWO_POOLS = (
    *(
        Queue(name, priority, slot_pool="A", slot_share=share, hosts=(HostRequest("h1"),))
        for name, priority, share in (("Roma", 50, 50), ("Verona", 48, 30), ("Genova", 48, 20))
    ),
    Queue("Pisa", 44, slot_pool="B", slot_share=30, hosts=(HostRequest("h2"),)),
    Queue("Milano", 43, hosts=(HostRequest("h2"),)),
    Queue("Parma", 43, hosts=(HostRequest("h2"),)),
    Queue("Venezia", 43, slot_pool="B", slot_share=30, hosts=(HostRequest("h2"),)),
    Queue("Bologna", 43, slot_pool="B", slot_share=30, hosts=(HostRequest("h2"),)),
)
POOLED = ("Roma", "Verona", "Genova", "Pisa", "Venezia", "Bologna")


@pytest.mark.behaviour("QBF-05")
def test_queues_of_no_pool_shrink_the_lower_queues_of_a_pool():
    """8, 5, 2 and 5, 5, 5; a burst takes the six slots that Venezia and Bologna free: 5 3 3 2 2."""
    lab = lab_of((15, 15), *TWO_POOLS)
    short = {"Venezia": 3, "Bologna": 3}

    def run_time(job: Job) -> int:
        short[job.queue] = short.get(job.queue, 0) - 1
        return 50 if short[job.queue] >= 0 else 5000

    lab.run_time = run_time
    lab.submit(*flood(*POOLED))
    lab.cycle(0)
    assert list(lab.in_use().values()) == [8, 5, 2, 5, 0, 0, 5, 5]
    lab.submit(*(Job(str(9000 + i), queue=q) for i, q in enumerate(["Milano", "Parma"] * 10)))
    lab.cycle(60)
    used = lab.in_use()
    assert [used[q] for q in ("Pisa", "Milano", "Parma", "Venezia", "Bologna")] == [5, 3, 3, 2, 2]
    assert [used[q] for q in ("Roma", "Verona", "Genova")] == [8, 5, 2]


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


@pytest.mark.behaviour("QBF-08")
def test_qjob_limit_inside_a_pool():
    """Eligible for 8, limited to 4: the rest goes to the others by their shares."""
    first, *rest = pool_queues(a=50, b=30, c=20)
    limited = Queue("a", first.priority, slot_pool="P", slot_share=50, queue_slots=4)
    lab = lab_of((15,), limited, *rest)
    lab.submit(*flood("a", "b", "c"))
    lab.cycle(0)
    assert lab.in_use() == {"a": 4, "b": 7, "c": 4}


@pytest.mark.behaviour("QBF-08")
def test_what_entitled_jobs_cannot_use_goes_round():
    """Jobs of a can start nowhere (the loop skips them): b and c get everything."""
    order = order_policy(Instance(cluster(15), pool_queues(a=50, b=30, c=20)))
    order.begin(0, flood("a", "b", "c"))
    used = dict.fromkeys("abc", 0)
    while (offer := order.next()) is not None:
        if offer.ineligibility or offer.job.queue == "a":
            order.skipped(offer.job)
        else:
            used[offer.job.queue] += 1
            order.started(offer.job, {"h1": 1}, 0)
    assert (used["a"], used["b"] + used["c"]) == (0, 15)
    assert used["b"] > used["c"] > 3


@pytest.mark.behaviour("QBF-08")
def test_the_limit_is_soft_for_a_job_larger_than_its_part():
    """A job of 10 slots in a queue that is entitled to 3 takes what nobody else can use."""
    lab = lab_of((15,), *pool_queues(a=50, b=30, c=20))
    lab.submit(Job("big", 10, queue="c", run_time=60), *flood("a", count=5))
    lab.cycle(0)
    assert lab.in_use() == {"a": 5, "b": 0, "c": 10}
    lab.submit(*flood("a", start=100))
    lab.cycle(60)
    lab.submit(Job("other", 10, queue="c", run_time=60))
    lab.cycle(120)
    assert lab.in_use()["a"] == 15
    assert "other" in lab.pending


def test_a_job_that_the_pool_holds_back_says_so():
    order = order_policy(Instance(cluster(3), pool_queues(a=50, b=50)))
    order.begin(0, flood("a", count=4))
    while (offer := order.next()) is not None and not offer.ineligibility:
        order.started(offer.job, {"h1": 1}, 0)
    assert offer.ineligibility == (
        "queue a uses 3 of the 3 slots of slot pool P; 0 more are available to it"
    )


@pytest.mark.behaviour("QBF-01")
def test_a_range_of_slots_is_cut_to_what_the_queue_may_take():
    order = order_policy(Instance(cluster(15), pool_queues(a=50, b=30, c=20)))
    order.begin(0, [Job("r", 2, max_slots=15, queue="a"), *flood("a", "b", "c", start=1)])
    assert order.next().max_slots == 8


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
    order.begin_cycle(0, flood("a"), {"h1": 6, "h3": 10})
    assert order.pools["P"].total == 12


def test_running_jobs_are_counted_from_the_start():
    running = (RunningJob(Job("r", 9, queue="b"), 0, {"h1": 9}),
               RunningJob(Job("s", 2, queue="free"), 0, {"h1": 2}))  # fmt: skip
    problem = Instance(
        cluster(15), (*pool_queues(a=50, b=30, c=20), Queue("free", 1)), running=running
    )
    use = order_policy(problem).pools["P"]
    assert (use.total, use.free, use.in_use) == (13, 4, {"a": 0, "b": 9, "c": 0})


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
        {f"q{i}": 10 for i in range(10)}, (7, 7, 7), lambda _, rng: rng.randint(200, 400), hours=2
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

    8, 5, 2 at first, as priority rounds; over six hours within 1 % of the shares.
    """

    def run_time(queue: str, rng: random.Random) -> int:
        return int(rng.uniform(0.5, 1.5) * (2000 if queue == long_jobs else 300))

    shares = {"a": 50, "b": 30, "c": 20}
    history, used = saturate(shares, (5, 5, 5), run_time, hours=8, warm=360)
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


@pytest.mark.behaviour("QBF-06")
@pytest.mark.parametrize("seed", range(4))
def test_a_queue_that_rounding_leaves_without_a_slot_soon_has_one(seed):
    """Four slots at 34, 34, 32: two, two and none at first, in all behind by 1.28."""
    shares = {"a": 34, "b": 34, "c": 32}
    history, _ = saturate(shares, (4,), lambda _, rng: rng.randint(60, 500), hours=1, seed=seed)
    assert history[0] == (2, 2, 0)
    assert all(row[2] > 0 for row in history[40:])


@pytest.mark.behaviour("QBF-07")
def test_a_queue_that_comes_late_catches_up():
    """c runs alone on all 15 slots; when a and b come, c yields what it has over its share."""
    lab = lab_of((15,), *pool_queues(a=50, b=30, c=20))
    rng = random.Random(3)
    lab.run_time = lambda job: rng.randint(200, 400)
    lab.submit(*flood("c", count=200))
    for now in range(0, 1200, 20):
        lab.cycle(now)
    assert lab.in_use() == {"a": 0, "b": 0, "c": 15}
    lab.submit(*flood("a", "b", count=200, start=500))
    for now in range(1200, 1700, 20):
        lab.cycle(now)
    after = lab.in_use()
    assert sum(after.values()) == 15
    assert after["c"] <= 3
    assert (after["a"], after["b"]) in {(8, 5), (8, 4), (7, 5)}


@pytest.mark.behaviour("QBF-07")
def test_accumulated_use_decays():
    order = order_policy(Instance(cluster(10), pool_queues(a=50, b=50)))
    use = order.pools["P"]
    use.change("a", {"h1": 4}, 0)
    use.change("a", {"h1": -4}, 3600)
    assert use.order(3600, {"a": 5, "b": 5}) == ["b", "a"]
    before = use.accumulated["a"].at(3600, use.decay)
    assert before == pytest.approx(4 * 3600, rel=0.25)
    assert use.accumulated["a"].at(3600 + 5 * 3600, use.decay) == pytest.approx(before / 10)


@pytest.mark.behaviour("QBF-07")
@pytest.mark.parametrize(("behind", "first"), [(0.05, "a"), (0.2, "b")])
def test_after_long_use_a_queue_is_excused_a_tenth_of_a_slot(behind, first):
    """b is behind by that many slots on average, over all the use that is remembered."""
    use = order_policy(Instance(cluster(10), pool_queues(a=50, b=50))).pools["P"]
    whole = 2 * 3600 * use.total
    use.accumulated["a"].change(0, add=whole * (0.5 + behind / use.total))
    use.accumulated["b"].change(0, add=whole * (0.5 - behind / use.total))
    assert use.order(0, {"a": 5, "b": 5})[0] == first
    assert use.rebalancing == (first == "b")


def test_a_queue_waits_for_as_many_slots_as_its_jobs_could_take():
    waiting = WaitingJobs({"a": 50, "b": 40})
    assert waiting.slots == {"a": 0, "b": 0}
    waiting.enter(Job("j", 3, queue="a"), 0)
    waiting.enter(Job("k", 2, max_slots=5, queue="a"), 1)
    assert waiting.slots == {"a": 8, "b": 0}
    waiting.leave("k")
    assert waiting.slots == {"a": 3, "b": 0}


def test_a_limit_that_is_no_limit_of_hosts_hides_none_behind_it():
    users = Limit("u", {"slots": 1}, users=Scope(names=("ann",)))
    hosts = Limit("h", {"slots": 3}, hosts=Scope(names=("h2",)))
    problem = Instance(cluster(10, 10), pool_queues(a=50, b=50), limits=(users, hosts))
    assert host_slots(problem) == {"h1": 10, "h2": 3}


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
