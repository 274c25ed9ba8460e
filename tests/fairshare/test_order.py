"""Which job comes first: queues, users, groups, sets and partitions."""

import json
from dataclasses import replace

import pytest
from fairshare.lab import Lab, cluster, jobs, offered
from hypothesis import given
from hypothesis import strategies as st
from slotwise.model.cluster import Cluster, Host
from slotwise.model.fairshare import queue_sets
from slotwise.model.instance import Instance
from slotwise.model.job import Job, RunningJob
from slotwise.model.params import Params
from slotwise.model.queue import Queue
from slotwise.model.user import HostPartition, UserGroup
from slotwise.solver.loop.order import order_policy

#: Only slots count: priority is shares / (1 + slots).
SLOTS_ONLY = Params(cpu_time_factor=0, run_time_factor=0, run_job_factor=1)


def instance(*queues: Queue, slots: int = 1000, **fields) -> Instance:
    fields.setdefault("params", SLOTS_ONLY)
    return replace(Instance(cluster(slots), queues), **fields)


def users(found: list[Job]) -> str:
    return " ".join(job.user for job in found)


@pytest.mark.behaviour("FSH-16", "LOP-04")
def test_first_come_first_served():
    pending = [
        Job("10", queue="low", submit=0),
        Job("7", queue="high", submit=9),
        Job("9", queue="low", submit=5, priority=3),
        Job("11", queue="low", submit=0),
        Job("2", queue="low", submit=4),
        Job("100", queue="low", submit=0),
    ]
    order = order_policy(instance(Queue("low", 1), Queue("high", 2)))
    assert [job.id for job in offered(order, pending)] == ["7", "9", "10", "11", "100", "2"]


@pytest.mark.behaviour("FSH-12")
@pytest.mark.parametrize(
    ("fair", "expected"),
    [("", "C1 B2 A3 B4 A5"), ("ABC", "A3 A5 B2 B4 C1"), ("AC", "A3 A5 B2 B4 C1"),
     ("B", "C1 A3 A5 B2 B4")],
)  # fmt: skip
def test_equal_queues_dispatch_as_in_the_worked_cases(fair, expected):
    shares = (("default", 1),)
    queues = [Queue(name, 5, user_shares=shares if name in fair else None) for name in "ABC"]
    pending = [Job(str(number), user="u", queue=queue) for number, queue in enumerate("CBABA", 1)]
    found = offered(order_policy(instance(*queues)), pending)
    assert " ".join(job.queue + job.id for job in found) == expected


@pytest.mark.behaviour("FSH-06")
def test_priorities_are_recomputed_after_each_dispatch():
    """Shares 3 and 1: after k slots of a and j of b, 3/(1+k) against 1/(1+j); ties: the earlier."""
    order = order_policy(instance(Queue("default", user_shares=(("a", 3), ("b", 1)))))
    assert users(offered(order, jobs("b a b a a a a a"))) == "a a b a a a b a"


@pytest.mark.behaviour("FSH-06")
def test_the_first_job_in_queue_order_of_the_first_user():
    pending = [
        Job("1", user="a", submit=1),
        Job("2", user="b", submit=2),
        Job("3", user="b", submit=3, priority=9),
    ]
    order = order_policy(instance(Queue("default", user_shares=(("a", 1), ("b", 50)))))
    assert [job.id for job in offered(order, pending)] == ["3", "2", "1"]


@pytest.mark.behaviour("FSH-06")
def test_a_user_whose_jobs_cannot_start_gives_way():
    order = order_policy(instance(Queue("default", user_shares=(("a", 9), ("b", 1)))))
    order.begin(0, jobs("a a b b"))
    seen = []
    while (offer := order.next()) is not None:
        assert order.next() is offer
        seen.append(offer.job.user)
        order.skipped(offer.job)
    assert seen == ["a", "a", "b", "b"]


@pytest.mark.behaviour("FSH-07")
def test_queue_level_priorities_come_from_the_queue_alone():
    shares = (("a", 1), ("b", 1))
    problem = instance(
        Queue("p", 2, user_shares=shares),
        Queue("q", 1, user_shares=shares),
        running=(RunningJob(Job("r", 50, user="a", queue="p"), 0, {"h1": 50}),),
    )
    pending = [Job("1", user="a", queue="p"), Job("2", user="b", queue="p")]
    pending += [Job("3", user="a", queue="q"), Job("4", user="b", queue="q")]
    found = offered(order_policy(problem), pending)
    assert [job.id for job in found] == ["2", "1", "3", "4"]


@pytest.mark.behaviour("FSH-07")
def test_who_has_no_share_is_held_back_with_the_reason():
    order = order_policy(instance(Queue("default", user_shares=(("a", 1),))))
    order.begin(0, jobs("root a"))
    first, second = order.next(), None
    order.started(first.job, {"h1": 1}, 0)
    second = order.next()
    assert (first.job.user, second.job.user) == ("a", "root")
    assert second.withheld == second.why == "user root has no share in queue default"
    order.skipped(second.job)
    assert order.next() is None


def cross_queue(dispatch_order: str) -> Instance:
    """normal 30 (master), short 40, licence 50; night 35 stands alone."""
    return instance(
        Queue(
            "normal", 30, user_shares=(("a", 4), ("b", 1)), dispatch_order=dispatch_order,
            fairshare_queues=("short", "licence"),
        ),
        Queue("short", 40, user_shares=(("b", 99),)),
        Queue("licence", 50),
        Queue("night", 35 if dispatch_order else 20),
    )  # fmt: skip


CROSS_JOBS = [
    Job("1", user="a", queue="normal"),
    Job("2", user="b", queue="licence"),
    Job("3", user="b", queue="short"),
    Job("4", user="a", queue="licence"),
    Job("5", user="x", queue="night"),
    Job("6", user="a", queue="normal"),
    Job("7", user="b", queue="normal"),
]


@pytest.mark.behaviour("FSH-09")
def test_cross_queue_fairshare_is_one_queue():
    """One tree for all; the master's shares count; a user's jobs go by queue priority.

    a: 4, 4/2, 4/3, then no job is left; b: 1, 1/2, … Then the queue outside.
    """
    found = offered(order_policy(cross_queue("")), CROSS_JOBS)
    assert [job.id for job in found] == ["4", "1", "6", "2", "3", "7", "5"]


@pytest.mark.behaviour("FSH-09")
def test_ordered_cross_queue_fairshare_puts_queues_first():
    """50: a then b; 40: b; 35 outside; 30: a 4/2, 4/3 against b 1/3."""
    found = offered(order_policy(cross_queue("QUEUE")), CROSS_JOBS)
    assert [job.id for job in found] == ["4", "2", "3", "5", "1", "6", "7"]


@pytest.mark.behaviour("FSH-09")
def test_cross_queue_consumption_counts_in_every_queue_of_the_set():
    problem = replace(
        cross_queue("QUEUE"),
        running=(RunningJob(Job("r", 20, user="a", queue="short"), 0, {"h1": 20}),),
    )
    found = offered(order_policy(problem), CROSS_JOBS[:4])
    assert [job.id for job in found] == ["2", "4", "3", "1"]


def partitioned(**fields) -> Instance:
    machines = Cluster((Host("h1", 4), Host("h2", 4), Host("h3", 4)))
    return Instance(
        machines,
        (Queue("low", 1), Queue("high", 2)),
        partitions=(
            HostPartition("P", ("h1",), (("a", 1), ("b", 1))),
            HostPartition("Q", ("h2",), (("b", 1),)),
        ),
        params=SLOTS_ONLY,
        **fields,
    )


@pytest.mark.behaviour("FSH-08", "TBR-12")
def test_partitions_come_first_then_queues():
    order = order_policy(partitioned())
    order.begin(0, [Job("1", user="a", queue="low"), Job("2", user="c", queue="low"),
                    Job("3", user="b", queue="high")])  # fmt: skip
    seen = []
    while (offer := order.next()) is not None:
        seen.append((offer.job.id, "".join(sorted(offer.hosts)), offer.account))
        order.skipped(offer.job)
    assert seen == [
        ("3", "h1", "P/b"),
        ("1", "h1", "P/a"),
        ("3", "h2", "Q/b"),
        ("3", "h3", ""),
        ("1", "h3", ""),
        ("2", "h3", ""),
    ]


@pytest.mark.behaviour("FSH-08")
def test_a_partition_counts_all_jobs_on_its_hosts_over_all_queues():
    """a holds slots of h1 from queue low: so b goes first in P, whatever the queue."""
    problem = partitioned(
        running=(
            RunningJob(Job("r", 5, user="a", queue="low"), 0, {"h1": 2, "h3": 3}),
            RunningJob(Job("s", 9, user="b", queue="high"), 0, {"h3": 1, "h2": 4}),
        )
    )
    order = order_policy(problem)
    (a,) = order.trees["P"].accounts("a")
    (b,) = order.trees["Q"].accounts("b")
    assert (a.slots, b.slots, order.trees["P"].root.slots) == (2, 4, 2)
    order.begin(0, [Job("1", user="a", queue="high"), Job("2", user="b", queue="low")])
    assert order.next().job.user == "b"


@pytest.mark.behaviour("FSH-08")
def test_who_has_a_share_in_no_partition_runs_nowhere_when_all_hosts_are_in_one():
    problem = Instance(
        cluster(4), (Queue("default"),), partitions=(HostPartition("G", ("all",), (("a", 1),)),)
    )
    order = order_policy(problem)
    order.begin(0, jobs("root"))
    offer = order.next()
    assert offer.withheld.startswith("user root has no share in a host partition")


def engineering(**extra: int) -> Instance:
    """The worked tree: Development 50 %, its groups, and Research beside it."""
    groups = (
        UserGroup("Systems", ("s1",)),
        UserGroup("Application", ("User1", "User2"), (("User1", 25), ("User2", 75))),
        UserGroup("Test", ("t1",)),
        UserGroup("ChipX", ("x1",)),
        UserGroup("ChipY", ("User3", "User4"), (("User3", 25), ("User4", 75))),
        UserGroup(
            "Development",
            ("Systems", "Application", "Test"),
            (("Systems", 15), ("Application", 35), ("Test", 50)),
        ),
        UserGroup("Research", ("ChipX", "ChipY"), (("ChipX", 80), ("ChipY", 20))),
    )
    running = tuple(
        RunningJob(Job(f"r{user}", slots, user=user, queue="q"), 0, {"h1": slots})
        for user, slots in extra.items()
    )
    return instance(
        Queue("q", user_shares=(("Development", 50), ("Research", 30))),
        groups=groups,
        running=running,
    )


@pytest.mark.behaviour("FSH-11")
def test_siblings_decide_before_products():
    """Development uses much, ChipX too: the choice is between User3 and User4 alone."""
    order = order_policy(engineering(s1=30, x1=9))
    order.begin(0, jobs("User1 User3 User4 User2", "q"))
    offer = order.next()
    assert (offer.job.user, offer.account) == ("User4", "q/Research/ChipY/User4")
    order.started(offer.job, {"h1": 40}, 0)
    assert order.next().account == "q/Development/Application/User2"


@pytest.mark.behaviour("FSH-11")
@pytest.mark.parametrize(("user", "importance"), [("User1", 0.10), ("User3", 0.04)])
def test_importance_of_the_worked_example(user, importance):
    """.50 x .80 x .25 and .80 x .20 x .25: products of the fractions along the path."""
    groups = (
        UserGroup("Inner", ("User1", "x"), (("User1", 25), ("x", 75))),
        UserGroup("Dev", ("Inner", "y"), (("Inner", 80), ("y", 20))),
        UserGroup("ChipY", ("User3", "z"), (("User3", 25), ("z", 75))),
        UserGroup("Research", ("ChipY", "w"), (("ChipY", 20), ("w", 80))),
    )
    top = {"User1": (("Dev", 50), ("o", 50)), "User3": (("Research", 80), ("o", 20))}[user]
    order = order_policy(instance(Queue("q", user_shares=top), groups=groups))
    (account,) = order.trees["q"].accounts(user)
    product = 1.0
    for at in account.chain():
        if at.parent is not None:
            product *= at.shares / sum(child.shares for child in at.parent.children.values())
    assert product == pytest.approx(importance)


@pytest.mark.behaviour("FSH-10")
def test_a_group_without_a_tree_is_first_come_first_served():
    groups = (UserGroup("g", ("a", "b")),)
    running = (RunningJob(Job("r", 9, user="b", queue="q"), 0, {"h1": 9}),)
    problem = instance(Queue("q", user_shares=(("g", 1),)), groups=groups, running=running)
    assert users(offered(order_policy(problem), jobs("b a b a", "q"))) == "b a b a"


@pytest.mark.behaviour("FSH-13")
def test_a_job_of_a_group_waits_for_that_group():
    """User1 alone has the highest priority, but the job was submitted with -G groupA."""
    groups = (UserGroup("groupA", ("User1",)),)
    problem = instance(
        Queue("q", user_shares=(("User1", 9), ("x", 5), ("groupA", 2))), groups=groups
    )
    pending = [
        Job("1", user="User1", queue="q", group="groupA"),
        Job("2", user="x", queue="q"),
        Job("3", user="User1", queue="q"),
        Job("4", user="User1", queue="q", group="groupA"),
    ]
    order = order_policy(problem)
    order.begin(0, pending)
    seen = []
    while (offer := order.next()) is not None:
        seen.append((offer.job.id, offer.account))
        order.started(offer.job, {"h1": 1}, 0)
    assert seen == [("3", "q/User1"), ("2", "q/x"), ("1", "q/groupA"), ("4", "q/groupA")]


@pytest.mark.behaviour("FSH-13")
def test_a_job_of_several_accounts_is_charged_once():
    groups = (UserGroup("g", ("a",)),)
    order = order_policy(instance(Queue("q", user_shares=(("a", 5), ("g", 4))), groups=groups))
    order.begin(0, jobs("a a a a", "q"))
    accounts = []
    while (offer := order.next()) is not None:
        accounts.append(offer.account)
        order.started(offer.job, {"h1": 1}, 0)
    assert accounts == ["q/a", "q/g", "q/a", "q/g"]
    assert order.trees["q"].root.slots == 4
    order.ended("2", 50)
    assert order.trees["q"].account(("g",)).slots == 1


@pytest.mark.behaviour("FSH-04")
def test_reserved_slots_count_like_slots_in_use():
    problem = instance(Queue("default", user_shares=(("a", 3), ("b", 2))))
    order = order_policy(problem)
    order.begin(0, jobs("a a b"))
    first = order.next()
    order.reserved(first.job, {"h1": 6}, 0)
    order.skipped(first.job)
    assert order.next().job.user == "b"
    (a,) = order.trees["default"].accounts("a")
    assert (a.slots, a.reserved) == (0, 6)
    order.started(first.job, {"h1": 8}, 60)
    assert (a.slots, a.reserved) == (8, 0)


@pytest.mark.behaviour("FSH-15")
def test_resizing_counts_at_once():
    problem = instance(
        Queue("default", user_shares=(("a", 1), ("b", 1))),
        running=(
            RunningJob(Job("r", 2, user="a"), 0, {"h1": 2}),
            RunningJob(Job("s", 3, user="b"), 0, {"h1": 3}),
        ),
    )
    order = order_policy(problem)
    order.begin(0, jobs("b a"))
    assert order.next().job.user == "a"
    order.resized("r", {"h1": 6}, 0)
    assert order.next().job.user == "a", "an offer stands until it is answered"
    order.begin(0, jobs("b a"))
    assert order.next().job.user == "b"
    order.resized("r", {"h1": 1}, 10)
    order.begin(10, jobs("b a"))
    assert order.next().job.user == "a"


RUN_ONLY = Params(cpu_time_factor=0, run_time_factor=1, run_job_factor=0)


def priority_of(order, user: str, now: int) -> float:
    (account,) = order.trees["default"].accounts(user)
    return order.trees["default"].priority(account, now)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize("history", [False, True])
def test_historical_run_time(history):
    """Without it priority leaps when the job ends; with it, it climbs as history decays."""
    problem = instance(
        Queue("default", user_shares=(("a", 1),)),
        params=replace(RUN_ONLY, enable_hist_run_time=history),
        running=(RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),),
    )
    order = order_policy(problem)
    assert priority_of(order, "a", 7200) == pytest.approx(1 / 2)
    order.ended("r", 7200)
    assert priority_of(order, "a", 7200) == pytest.approx(1 / 2 if history else 100)
    later = 7200 + 5 * 3600
    assert priority_of(order, "a", later) == pytest.approx(1 / 0.2 if history else 100)


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize(
    ("job_limit", "queue_limit", "committed"),
    [(7200, None, 2), (7200, 3600, 2), (None, 3600, 1), (None, None, 0)],
)
def test_committed_run_time_drops_priority_at_once(job_limit, queue_limit, committed):
    """(committed - run) x 1 + run x 1 = committed, from the start until the job ends."""
    problem = instance(
        Queue("default", user_shares=(("a", 1),), run_limit=queue_limit),
        params=replace(RUN_ONLY, committed_run_time_factor=1),
        running=(RunningJob(Job("r", user="a", run_limit=job_limit), 0, {"h1": 1}),),
    )
    order = order_policy(problem)
    for now in (0, 900, 3000):
        hours = committed if committed else now / 3600
        assert priority_of(order, "a", now) == pytest.approx(1 / max(hours, 0.01))
    order.ended("r", 3000)
    assert priority_of(order, "a", 3000) == pytest.approx(100)


def test_run_time_in_slots_is_a_switch():
    running = (RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),)
    queue = Queue("default", user_shares=(("a", 1),))
    for in_slots, hours in ((False, 1), (True, 4)):
        params = replace(RUN_ONLY, run_time_in_slots=in_slots)
        order = order_policy(instance(queue, params=params, running=running))
        assert priority_of(order, "a", 3600) == pytest.approx(1 / hours)
        order.resized("r", {"h1": 2}, 3600)
        assert priority_of(order, "a", 7200) == pytest.approx(1 / (6 if in_slots else 2))


def test_suspension_stops_the_clock_and_keeps_the_slots():
    queue = Queue("default", user_shares=(("a", 1),))
    running = (RunningJob(Job("r", 4, user="a"), 0, {"h1": 4}),)
    order = order_policy(instance(queue, params=RUN_ONLY, running=running))
    order.suspended("r", 3600)
    assert priority_of(order, "a", 9999) == pytest.approx(1)
    order.resumed("r", 10_000)
    assert priority_of(order, "a", 13_600) == pytest.approx(1 / 2)
    (account,) = order.trees["default"].accounts("a")
    assert (account.slots, order.trees["default"].usage(account, 13_600).cpu_time > 0) == (4, True)


@pytest.mark.behaviour("FSH-03")
def test_cpu_time_is_assumed_measured_and_decayed():
    queue = Queue("default", user_shares=(("a", 1),))
    running = (RunningJob(Job("r", 2, user="a"), 0, {"h1": 2}),)
    params = Params(hist_hours=0)
    order = order_policy(instance(queue, params=params, running=running))
    (account,) = order.trees["default"].accounts("a")

    def cpu(now: int) -> float:
        return order.trees["default"].usage(account, now).cpu_time

    assert cpu(600) == pytest.approx(1200)
    order.cpu_used("r", 900, 600)
    assert cpu(600) == pytest.approx(900)
    order.ended("r", 700, cpu_time=1000)
    assert cpu(5000) == pytest.approx(1000)
    known = (RunningJob(Job("r", 2, user="a", run_time=100, cpu_time=50), 0, {"h1": 2}),)
    order = order_policy(instance(queue, running=known))
    (account,) = order.trees["default"].accounts("a")
    assert cpu(100) == pytest.approx(50, rel=0.02)
    order.ended("r", 100)
    assert cpu(100 + 5 * 3600) == pytest.approx(5, rel=0.02)


@pytest.mark.behaviour("FSH-05")
def test_the_plug_in_moves_the_order():
    """a and b hold a slot each, but a's job holds eight times the memory of its slot."""
    queue = Queue("default", user_shares=(("a", 1), ("b", 1)))
    running = tuple(RunningJob(Job(f"r{u}", user=u), 0, {"h1": 1}) for u in "ab")
    machines = Cluster((Host("h1", 8, amounts={"mem": 8000.0}),))
    params = replace(SLOTS_ONLY, fairshare_adjustment="memory", fairshare_adjustment_factor=0.5)
    problem = Instance(machines, (queue,), running=running, params=params)
    order = order_policy(problem, memory={"ra": 8000.0, "rb": 1000.0})
    assert priority_of(order, "a", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 8))
    assert priority_of(order, "b", 0) == pytest.approx(1 / (2 + 0.5 * (1 + 1) * 1))
    order.begin(0, jobs("a b"))
    assert order.next().job.user == "b"
    order.ended("ra", 9)
    assert priority_of(order, "a", 9) == pytest.approx(1)


def test_every_dispatch_says_why():
    order = order_policy(instance(Queue("default", user_shares=(("a", 3),)), Queue("x", 9)))
    order.begin(0, [*jobs("a"), Job("7", queue="x")])
    assert order.next().why == "first in order of queue x"
    order.skipped(order.next().job)
    assert order.next().why == "first job of default/a, dynamic priority 3.000"


def test_a_job_that_starts_out_of_turn_is_not_offered_again():
    order = order_policy(instance(Queue("default", user_shares=(("a", 1), ("b", 1)))))
    pending = jobs("a b a b")
    order.begin(0, pending)
    first = order.next()
    order.started(pending[1], {"h1": 5}, 0)
    order.started(first.job, {"h1": 1}, 0)
    rest = []
    while (offer := order.next()) is not None:
        rest.append(offer.job.id)
        order.skipped(offer.job)
    assert rest == ["3", "4"]


# -- properties ------------------------------------------------------------------------------

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
