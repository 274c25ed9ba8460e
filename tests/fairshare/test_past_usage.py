"""What an instance says of past usage: read, written, shown, decayed (FSH-02, FSH-03, QBF-07)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fairshare.lab import cluster
from slotwise import (
    InputError,
    Instance,
    Job,
    Params,
    PoolUsage,
    Queue,
    RunningJob,
    ShareUsage,
    dump,
    loads,
)
from slotwise.model.formats import load_with_warnings
from slotwise.solver.fairshare.dispatch_order import order_policy


def _queue(**fields: object) -> Instance:
    queue = Queue("normal", user_shares=(("ann", 1), ("bob", 1)))
    base = Instance(cluster(10), (queue,), params=Params(default_queue="normal"))
    return replace(base, **fields)  # type: ignore[arg-type]


def test_finished_run_time_counts_only_where_it_is_switched_on(tmp_path) -> None:  # type: ignore[no-untyped-def]
    usage = (ShareUsage("normal", "ann", historical_run_time=7200.0),)
    for on, hours in ((False, 0.0), (True, 2.0)):
        instance = _queue(
            share_usage=usage, params=Params(default_queue="normal", enable_hist_run_time=on)
        )
        tree = order_policy(instance).trees["normal"]
        assert tree.priority(tree.account(("ann",)), 0) == pytest.approx(1 / (3 + 0.7 * hours))
        file = tmp_path / "i.yaml"
        file.write_text(dump(instance))
        warnings = load_with_warnings(file)[1]
        assert [w.path for w in warnings] == ([] if on else ["share_usage[0].historical_run_time"])


@pytest.mark.parametrize("limit", [None, 3600])
def test_committed_run_time_is_of_the_running_jobs(limit: int | None) -> None:
    params = Params(
        default_queue="normal", cpu_time_factor=0, run_job_factor=0, committed_run_time_factor=0.5
    )
    run = RunningJob(Job("r", user="ann", queue="normal", run_limit=limit), 0, {"h1": 1})
    usage = (ShareUsage("normal", "ann", committed_run_time=7200.0, stamp=1800),)
    order = order_policy(_queue(running=(run,), share_usage=usage, params=params, now=1800))
    tree = order.trees["normal"]
    ann = tree.account(("ann",))
    # Half an hour has run, of two that are committed.
    assert tree.priority(ann, 1800) == pytest.approx(1 / (0.5 * 0.7 + 1.5 * 0.5))
    assert tree.priority(ann, 3600) == pytest.approx(1 / (1.0 * 0.7 + 1.0 * 0.5))
    order.ended("r", 3600)
    assert tree.usage(ann, 3600).committed_run_time == pytest.approx(0.0, abs=1e-6)


TREE = """
format: slotwise/1
hosts: [{name: h, slots: 10}]
user_groups:
  - {name: g, members: a b c, USER_SHARES: "[a,1] [default,2]"}
queues:
  - {name: q, PRIORITY: 5, FAIRSHARE: "USER_SHARES[[g,1] [z,1]]"}
  - {name: m, FAIRSHARE: "USER_SHARES[[g,1]]", FAIRSHARE_QUEUES: s}
  - {name: s}
share_usage:
"""


@pytest.mark.parametrize(
    ("entry", "path", "says"),
    [
        ("{policy: q, account: x}", "account", "q has no share account 'x'"),
        ("{policy: q, account: g/x}", "account", "q has no share account 'g/x'"),
        ("{policy: q, account: zz}", "account", "did you mean 'z'"),
        ("{policy: s, account: g/a}", "policy", "state the usage of m"),
        ("{policy: Q2, account: z}", "policy", "is called 'Q2'"),
        ("{policy: q, account: z, stamp: 5}", "stamp", "5 s after"),
        ("{policy: q, account: z, cpu_time: -1}", "cpu_time", "must be 0 or more, not -1"),
        ("{policy: q, account: z}\n  - {policy: q, account: z}", "account", "already"),
    ],
)
def test_usage_that_cannot_be(entry: str, path: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(TREE + f"  - {entry}\n")
    (problem,) = caught.value.problems
    assert problem.path.startswith("share_usage[")
    assert problem.path.endswith(path)
    assert says in problem.message


POOL = """
format: slotwise/1
hosts: [{name: h, slots: 10}]
queues:
  - {name: roma, PRIORITY: 2, SLOT_POOL: p, SLOT_SHARE: 50, HOSTS: h}
  - {name: pisa, PRIORITY: 1, SLOT_POOL: p, SLOT_SHARE: 50, HOSTS: h}
pending:
  - {id: 1, queue: roma, slots: 10}
  - {id: 2, queue: pisa, slots: 10}
"""


@pytest.mark.behaviour("QBF-07")
def test_a_pool_queue_that_has_had_much_goes_last() -> None:
    plain = loads(POOL)
    for usage, first in (((), "roma"), ((PoolUsage("roma", 1e5),), "pisa")):
        instance = replace(plain, pool_usage=usage)
        assert loads(dump(instance)) == instance
        (use,) = order_policy(instance).pools.values()
        assert use.order(0, {"roma": 10, "pisa": 10})[0] == first
