"""FSH-02 and FSH-06 on random workloads: the order is that of the formula, digit by digit.

Users run equal jobs at equal times often, so that ties are common; what has left an account must
leave nothing behind that decides one.
"""

import random

import pytest
from fairshare.lab import instance
from fairshare.literal import History, Weights, first_user
from sampling import some
from slotwise import Job, Params, Queue, UserGroup
from slotwise.solver.fairshare.dispatch_order import order_policy

FLAT = {"a": (1, {}), "b": (1, {}), "c": (2, {}), "d": (1, {})}
DEEP = {"g": (2, {"a": 1, "b": 1}), "h": (2, {"c": 2, "d": 1})}
BIG = {name: (shares * 100_000, {}) for name, (shares, _) in FLAT.items()}


def random_weights(rng: random.Random) -> Weights:
    return Weights(
        cpu=rng.choice(["0", "0.7", "3"]),
        run=rng.choice(["0", "0.7", "1800"]),
        committed=rng.choice(["0", "0.5"]),
        slot=rng.choice(["0", "1", "3"]),
        hist_hours=rng.choice([0, 1, 5]),
        history=rng.random() < 0.5,
        decay=rng.random() < 0.7,
        in_slots=rng.random() < 0.3,
    )


def params_of(weights: Weights) -> Params:
    return Params(
        cpu_time_factor=float(weights.cpu),
        run_time_factor=float(weights.run),
        committed_run_time_factor=float(weights.committed),
        run_job_factor=float(weights.slot),
        hist_hours=float(weights.hist_hours),
        enable_hist_run_time=weights.history,
        run_time_decay=weights.decay,
        run_time_in_slots=weights.in_slots,
    )


def follow(seed: int) -> int:
    """One workload, dispatch by dispatch; the number of dispatches compared."""
    rng = random.Random(seed)
    tree = rng.choice([FLAT, DEEP, BIG])
    weights = random_weights(rng)
    shares = tuple((name, number) for name, (number, _) in tree.items())
    groups = tuple(
        UserGroup(name, tuple(users), tuple(users.items())) for name, (_, users) in tree.items()
        if users
    )  # fmt: skip
    queue = Queue("default", user_shares=shares)
    order = order_policy(instance(queue, groups=groups, params=params_of(weights)))
    histories: dict[str, History] = {}
    pending: list[Job] = []
    now = number = compared = 0
    for _ in range(12):
        now += rng.choice([60, 300, 600, 3600, 18_000, 77])
        running = [name for name, history in histories.items() if history.end is None]
        leaving = running if rng.random() < 0.4 else rng.sample(running, len(running) // 2)
        for name in leaving:
            order.ended(name, now)
            histories[name].end = now
        slots, limit = rng.choice([1, 1, 2]), rng.choice([None, 100_000])
        for _ in range(rng.randint(0, 6)):
            number += 1
            user = rng.choice("abcd")
            pending.append(Job(str(number), slots, user=user, run_limit=limit, submit=now))
        order.begin(now, pending)
        for _ in range(rng.randint(0, 5)):
            if not pending:
                break
            places = {job.user: place for place, job in reversed(list(enumerate(pending)))}
            user = first_user(tree, places, list(histories.values()), weights, now)
            offer = order.next()
            assert offer is not None
            assert offer.job == pending[places[user]], (seed, now, weights)
            order.started(offer.job, {"h1": offer.job.slots}, now)
            pending.remove(offer.job)
            histories[offer.job.id] = History(user, now, offer.job.slots, offer.job.run_limit)
            compared += 1
    return compared


@pytest.mark.behaviour("FSH-02", "FSH-03", "FSH-06", "FSH-10")
@pytest.mark.parametrize("block", some(range(10), 1))
def test_the_order_is_that_of_the_formula(block: int) -> None:
    assert sum(follow(seed) for seed in range(block * 40, block * 40 + 40)) > 500


@pytest.mark.behaviour("FSH-06")
def test_a_job_that_has_ended_leaves_nothing_that_decides_a_tie() -> None:
    """RUN_TIME_DECAY without history: whatever ran here, an account without jobs is as it was.

    a ran two jobs of odd lengths; now a and b are equal, and the job of each comes first in turn.
    """
    params = Params(
        cpu_time_factor=0, run_time_factor=1800, run_job_factor=0.01, run_time_decay=True,
        hist_hours=1,
    )  # fmt: skip
    queue = Queue("default", user_shares=(("a", 100_000), ("b", 100_000)))
    rng = random.Random(5)
    for _ in range(300):
        order = order_policy(instance(queue, params=params))
        first, second = Job("1", user="a"), Job("2", user="a", run_limit=rng.randint(1, 9999))
        order.started(first, {"h1": 1}, 0)
        between = rng.randint(1, 5000)
        order.started(second, {"h1": 1}, between)
        order.ended("1", between + rng.randint(1, 9000))
        now = between + 9000 + rng.randint(1, 9000)
        order.ended("2", now)
        (account,) = order.trees["default"].accounts("a")
        usage = order.trees["default"].usage(account, now + 60)
        assert (usage.run_time, usage.committed_run_time) == (0.0, 0.0)
        for users in ("ab", "ba"):
            jobs = [Job(str(n), user=user) for n, user in enumerate(users, 10)]
            order.begin(now, jobs)
            offer = order.next()
            assert offer is not None
            assert offer.job == jobs[0]
