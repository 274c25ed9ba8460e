"""The shipped policies, in the scheduler loop itself: who starts at once, why the others wait."""

from dataclasses import replace

import pytest
from slotwise import Instance, Job, example, examples, load
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.scheduler.simulation import simulate

FAIR = [name for name in examples() if name.startswith("fairshare-")]


def shipped(name: str) -> Instance:
    return load(example(name))


def starting_now(instance: Instance) -> list[str]:
    """Jobs that the first cycle starts, in the order of dispatch."""
    log = simulate(instance, until=instance.now, keep_log=True).log
    return list(log[0]["started"])


@pytest.mark.behaviour("FSH-14", "FSH-08", "FSH-09", "FSH-10", "QBF-03", "LOP-01")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # ann holds four slots; bob's group has 7 shares for three slots.
        ("fairshare-global", "job3 job2"),
        ("fairshare-chargeback",
         "eng1 eng2 acct1 eng3 eng4 acct2 eng5 eng6 acct3 eng7"),
        ("fairshare-equal-share", "a1 b1 c1 a2 b2 c2"),
        ("fairshare-priority-user", "l1 k1"),
        ("fairshare-static-priority", "a1 a2"),
        ("fairshare-groups", "job5"),
        ("fairshare-partition", "job3"),
        ("fairshare-cross-queue", "job5 job4"),
        ("fairshare-pool", "r1 r2 r3 r4 r5 r6 r7 r8 v1 v2 v3 v4 v5 g1 g2"),
    ],
)  # fmt: skip
def test_who_starts_first(name, expected):
    assert " ".join(starting_now(shipped(name))) == expected


@pytest.mark.parametrize("name", FAIR)
def test_every_job_of_a_shipped_policy_runs(name):
    instance = shipped(name)
    result = simulate(instance)
    assert {record.status for record in result.jobs} == {"done"}
    assert result.complete


@pytest.mark.behaviour("FSH-14")
def test_static_priority_is_shares_by_a_hundredth():
    order = order_policy(shipped("fairshare-static-priority"))
    tree = order.trees["static"]
    found = [tree.priority(tree.accounts(user)[0], 10**6) for user in ("ada", "bea", "cleo")]
    assert found == pytest.approx([300, 200, 100])


@pytest.mark.behaviour("QBF-03", "QBF-08")
def test_why_a_job_of_the_pool_waits():
    records = {record.job: record for record in simulate(shipped("fairshare-pool")).jobs}
    assert records["g3"].reason == (
        "queue Genova uses 2 of the 15 slots of slot pool poolA; 0 more are available to it"
    )


@pytest.mark.behaviour("QBF-03")
def test_the_three_phases_of_the_documents():
    """8 5 2; Verona done: 11 and 4; Genova alone: 15. In the loop, hour by hour."""
    counts = {"Roma": 8 + 11, "Verona": 5, "Genova": 2 + 4 + 15}
    pending = tuple(
        Job(f"{queue}{number}", queue=queue, run_limit=3600, run_time=3600)
        for queue, count in counts.items()
        for number in range(count)
    )
    instance = replace(shipped("fairshare-pool"), pending=pending)
    phases: dict[int, dict[str, int]] = {}
    for record in simulate(instance).jobs:
        hour = phases.setdefault((record.start or 0) // 3600, dict.fromkeys(counts, 0))
        hour[record.queue] += 1
    assert [tuple(phase.values()) for phase in phases.values()] == [
        (8, 5, 2),
        (11, 0, 4),
        (0, 0, 15),
    ]
