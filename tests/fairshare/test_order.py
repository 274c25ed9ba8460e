"""Which job comes first: queues, users, groups, sets and partitions."""

from dataclasses import replace

import pytest
from fairshare.lab import SLOTS_ONLY, instance, jobs, offered
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
