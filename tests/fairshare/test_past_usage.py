"""What an instance says of past usage: read, written, shown, decayed (FSH-02, FSH-03, QBF-07)."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from fairshare.lab import cluster
from hypothesis import given
from hypothesis import strategies as st
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
    dump_json,
    loads,
)
from slotwise.model.formats import load_with_warnings
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.reports import queue_levels
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.simulation import Session

#: Printed by a real LSF at Boston University (scv.bu.edu, batchscheduling.txt): one share each,
#: default factors. STARTED, CPU_TIME, RUN_TIME, PRIORITY.
PRINTED = (
    (0, 29.4, 0, "0.333"),
    (0, 821.9, 0, "0.316"),
    (0, 18781.0, 0, "0.150"),
    (1, 2288.2, 2696, "0.143"),
    (0, 67178.7, 0, "0.062"),
    (3, 34856.3, 65633, "0.032"),
    (0, 158440.7, 0, "0.030"),
    (4, 73265.0, 33534, "0.028"),
    (1, 100969.1, 70430, "0.025"),
    (2, 52842.4, 103421, "0.025"),
    (0, 305000.0, 0, "0.016"),
    (3, 91714.2, 211038, "0.014"),
)
NOW = 500_000


def _runs(user: str, slots: int, seconds: int) -> list[RunningJob]:
    """One job a slot, whose run times are `seconds` together."""
    first, rest = divmod(seconds, slots) if slots else (0, 0)
    return [
        RunningJob(
            Job(f"{user}-{n}", user=user, queue="p4-long"),
            NOW - first - (rest if n == 0 else 0),
            {"h1": 1},
        )
        for n in range(slots)
    ]


def _printed() -> Instance:
    users = [f"user{n}" for n in range(len(PRINTED))]
    pairs = list(zip(users, PRINTED, strict=True))
    return Instance(
        cluster(100),
        (Queue("p4-long", user_shares=(("default", 1),)),),
        running=tuple(run for user, row in pairs for run in _runs(user, row[0], row[2])),
        share_usage=tuple(
            ShareUsage("p4-long", user, cpu_time=row[1], stamp=NOW) for user, row in pairs
        ),
        params=Params(default_queue="p4-long"),
        now=NOW,
    )


@pytest.mark.behaviour("FSH-02", "FSH-03", "CFG-04")
@pytest.mark.parametrize("write", [dump, dump_json])
def test_a_real_clusters_priorities_from_a_saved_instance(write) -> None:  # type: ignore[no-untyped-def]
    instance = loads(write(_printed()))
    assert instance == _printed()
    (level,) = queue_levels(instance, order_policy(instance), "p4-long", NOW)
    rows = {row.account: row for row in level.rows}
    for number, (started, cpu, run, priority) in enumerate(PRINTED):
        row = rows[f"user{number}"]
        assert (row.started, row.run_time) == (started, run)
        assert row.cpu_time == pytest.approx(cpu)
        assert f"{row.priority:.3f}" == priority


def _queue(**fields: object) -> Instance:
    queue = Queue("normal", user_shares=(("ann", 1), ("bob", 1)))
    base = Instance(cluster(10), (queue,), params=Params(default_queue="normal"))
    return replace(base, **fields)  # type: ignore[arg-type]


def test_who_has_used_more_goes_second() -> None:
    pending = (Job("1", user="ann", queue="normal"), Job("2", user="bob", queue="normal"))
    usage = (ShareUsage("normal", "ann", cpu_time=3600.0),)
    for used, first in (((), "1"), (usage, "2")):
        order = order_policy(_queue(share_usage=used))
        order.begin(0, pending)
        offer = order.next()
        assert offer is not None
        assert offer.job.id == first


def test_the_loop_starts_from_it() -> None:
    usage = (ShareUsage("normal", "ann", cpu_time=36000.0),)
    pending = tuple(
        Job(str(n), slots=10, user=user, queue="normal", run_limit=600, run_time=600)
        for n, user in enumerate(("ann", "bob"))
    )
    session = Session(_queue(share_usage=usage, pending=pending), settings_for(_queue()))
    session.begin()
    session.advance()
    assert session.world.states.get("1").start == 0
    assert session.world.states.get("0").start is None


@pytest.mark.behaviour("FSH-03")
def test_it_decays_from_its_stamp_to_now() -> None:
    usage = (ShareUsage("normal", "ann", cpu_time=1000.0, stamp=0),)
    instance = _queue(share_usage=usage, now=5 * 3600)
    order = order_policy(instance)
    tree = order.trees["normal"]
    used = tree.usage(tree.account(("ann",)), instance.now).cpu_time
    assert used == pytest.approx(100.0)  # one tenth after HIST_HOURS


@given(st.floats(0, 1e6), st.integers(0, 40_000), st.integers(0, 40_000), st.integers(0, 40_000))
def test_running_jobs_are_part_of_what_is_stated(
    cpu: float, start: int, stamp: int, after: int
) -> None:
    """Against the integral: the total at the stamp decays, and a job goes on after it."""
    now = max(stamp + after, start)
    run = RunningJob(Job("r", user="ann", queue="normal"), start, {"h1": 1})
    usage = (ShareUsage("normal", "ann", cpu_time=cpu, stamp=stamp),)
    order = order_policy(_queue(running=(run,), share_usage=usage, now=now))
    tree = order.trees["normal"]
    decay = math.log(10) / (5 * 3600)
    since = now - max(stamp, start)
    expected = cpu * math.exp(-decay * (now - stamp)) + (1 - math.exp(-decay * since)) / decay
    assert tree.usage(tree.account(("ann",)), now).cpu_time == pytest.approx(expected)
    assert tree.usage(tree.root, now).cpu_time == pytest.approx(expected)


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 40_000),
    st.integers(0, 40_000),
    st.integers(1, 40_000),
)
def test_what_a_running_job_has_used_is_spread_evenly_beside_what_is_stated(
    cpu: float, own: float, start: int, stamp: int, after: int
) -> None:
    """Against the integral: `own` CPU seconds since its start are the job's pace."""
    now = max(stamp, start) + after
    run = RunningJob(Job("r", user="ann", queue="normal", cpu_time=own), start, {"h1": 1})
    usage = (ShareUsage("normal", "ann", cpu_time=cpu, stamp=stamp),)
    order = order_policy(_queue(running=(run,), share_usage=usage, now=now))
    tree = order.trees["normal"]
    decay, pace = math.log(10) / (5 * 3600), own / (now - start)
    since = now - max(stamp, start)
    expected = cpu * math.exp(-decay * (now - stamp))
    expected += pace * (1 - math.exp(-decay * since)) / decay
    found = tree.usage(tree.account(("ann",)), now).cpu_time
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


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


def test_a_groups_numbers_are_those_of_all_below_it() -> None:
    text = TREE + (
        "  - {policy: q, account: g, cpu_time: 100}\n"
        "  - {policy: q, account: g/a, cpu_time: 60}\n"
        "  - {policy: m, account: g/a, cpu_time: 7}\n"
        "  - {policy: m, account: g/b, cpu_time: 8}\n"
    )
    trees = order_policy(loads(text)).trees

    def cpu(policy: str, *path: str) -> float:
        return trees[policy].usage(trees[policy].account(path), 0).cpu_time

    assert (cpu("q", "g"), cpu("q", "g", "a"), cpu("q", "g", "b")) == (100, 60, 0)
    assert (cpu("m", "g"), cpu("m", "g", "a"), cpu("m")) == (15, 7, 15)


@pytest.mark.parametrize(
    ("entry", "path", "says"),
    [
        ("{policy: q, account: x}", "account", "q has no share account 'x'"),
        ("{policy: q, account: g/x}", "account", "q has no share account 'g/x'"),
        ("{policy: q, account: zz}", "account", "did you mean 'z'"),
        ("{policy: s, account: g/a}", "policy", "give the usage of m"),
        ("{policy: Q2, account: z}", "policy", "'Q2'"),
        ("{policy: q, account: z, stamp: 5}", "stamp", "5 s after"),
        ("{policy: q, account: z, cpu_time: -1}", "cpu_time", "must be 0 or more, not -1"),
        ("{policy: q, account: z}\n  - {policy: q, account: z}", "account", "is given twice"),
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


def test_pool_usage_of_no_pool() -> None:
    with pytest.raises(InputError, match="did you mean 'roma'"):
        loads(POOL + "pool_usage: [{queue: rome, slot_seconds: 4}]")
