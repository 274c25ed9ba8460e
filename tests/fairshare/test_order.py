"""Which job comes first: queues, users, groups, sets and partitions."""

from dataclasses import replace

import pytest
from fairshare.lab import SLOTS_ONLY, cluster, instance, jobs, offered
from slotwise import (
    Cluster,
    Host,
    HostPartition,
    HostRequest,
    Instance,
    Job,
    Queue,
    RunningJob,
    UserGroup,
)
from slotwise.solver.fairshare.dispatch_order import order_policy


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
    assert second.ineligibility == second.why == "user root has no share in queue default"
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
def test_a_partition_offers_only_jobs_of_queues_that_have_a_host_in_it():
    problem = partitioned()
    queues = (
        Queue("low", 1, hosts=(HostRequest("h2"), HostRequest("h3"))),
        Queue("high", 2, hosts=(HostRequest("h1"),)),
    )
    order = order_policy(replace(problem, queues=queues))
    order.begin(0, [Job("1", user="b", queue="low"), Job("2", user="b", queue="high")])
    seen = []
    while (offer := order.next()) is not None:
        seen.append((offer.job.id, "".join(sorted(offer.hosts)), offer.account))
        order.skipped(offer.job)
    in_partitions = [offer for offer in seen if offer[2]]
    assert in_partitions == [("2", "h1", "P/b"), ("1", "h2", "Q/b")]


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
    assert offer.ineligibility.startswith("user root has no share in a host partition")


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


@pytest.mark.behaviour("FSH-06", "FSH-11")
def test_a_dispatch_says_what_was_compared_at_each_level():
    """Priorities of the chosen and of the runner-up, from the top of the tree down."""
    order = order_policy(engineering(s1=30, x1=9))
    order.begin(0, jobs("User1 User3 User4 User2 x1", "q"))
    assert order.next().why == (
        "first job of q/Research/ChipY/User4, dynamic priority 75.000 "
        "(Research 3.000 before Development 1.613, ChipY 20.000 before ChipX 8.000, "
        "User4 75.000 before User3 25.000)"
    )


@pytest.mark.behaviour("FSH-06")
def test_a_tie_is_said_to_be_one():
    order = order_policy(instance(Queue("default", user_shares=(("a", 2), ("b", 2), ("c", 1)))))
    order.begin(0, jobs("b a c"))
    contests = []
    while (offer := order.next()) is not None:
        contests.append(str(offer.contests[0]))
        order.started(offer.job, {"h1": 1}, 0)
    assert contests == ["b 2.000 level with a 2.000", "a 2.000 before c 1.000", "c 1.000 alone"]


def test_every_dispatch_says_why():
    order = order_policy(instance(Queue("default", user_shares=(("a", 3),)), Queue("x", 9)))
    order.begin(0, [*jobs("a"), Job("7", queue="x")])
    assert order.next().why == "first in the order of queue x"
    order.skipped(order.next().job)
    assert order.next().why == "first job of default/a, dynamic priority 3.000 (a 3.000 alone)"


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
