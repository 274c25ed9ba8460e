"""What the order of a cycle costs: 10,000 users in a three-level share tree, 100,000 pending jobs.

    python benchmarks/fairshare.py [--users 10000] [--jobs 100000]

`begin` is once a cycle (sorting the queue); `first` builds the walk and finds the first job; each
`dispatch` takes the next job, books it on its account and all above, and restores the order; each
`skip` leaves the accounts as they are. A dispatch costs O(log users): the last table shows it
against the number of users, in the tree and with all users in one list, and what ten times the
users cost. All times are CPU time.

    python benchmarks/fairshare.py --loop 20000 [--users 500]

runs the whole loop instead, so many pending jobs over 1,600 slots for two hours: first come, first
served beside fairshare and beside a slot pool of two queues, and the ratios.

    python benchmarks/fairshare.py --log UniLu-Gaia-2014.swf.gz [--hosts 167] [--jobs 100000]
        [--reservation time-based]

runs the first jobs of an SWF log over hosts, first come, first served and with an equal share for
each user; under greedy reservation if not told otherwise.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path

from slotwise.model.cluster import Cluster, Host
from slotwise.model.configuration import Params, Queue, UserGroup
from slotwise.model.formats.file_format import ReadOptions
from slotwise.model.instance import Instance
from slotwise.model.job import Job
from slotwise.model.sources.registry import format_of
from slotwise.solver.fairshare.dispatch_order import DispatchOrder, order_policy
from slotwise.solver.scheduler.methods import Reservation
from slotwise.solver.scheduler.simulation import simulate

DEPARTMENTS, SEED = 20, 1


def problem(users: int, jobs: int, *, flat: bool = False) -> tuple[Instance, list[Job]]:
    """Departments of projects of users, all with shares of their own, and their pending jobs.

    flat: all users in one list instead.
    """
    draw = random.Random(SEED)
    if flat:
        queue = Queue("q", user_shares=tuple((f"u{n}", draw.randint(1, 100)) for n in range(users)))
        return Instance(Cluster((Host("h", 1_000_000),)), (queue,)), _pending(draw, users, jobs)
    projects = max(1, users // (DEPARTMENTS * 25))
    groups: list[UserGroup] = []
    departments: list[str] = []
    for d in range(DEPARTMENTS):
        names = []
        for p in range(projects):
            name = f"project{d}.{p}"
            members = tuple(
                f"u{n}" for n in range(users) if n % (DEPARTMENTS * projects) == len(groups) - d
            )
            shares = tuple((member, draw.randint(1, 100)) for member in members)
            groups.append(UserGroup(name, members, shares))
            names.append(name)
        department = f"department{d}"
        groups.append(
            UserGroup(department, tuple(names), tuple((n, draw.randint(1, 9)) for n in names))
        )
        departments.append(department)
    queue = Queue("q", user_shares=tuple((name, draw.randint(1, 9)) for name in departments))
    instance = Instance(Cluster((Host("h", 1_000_000),)), (queue,), groups=tuple(groups))
    return instance, _pending(draw, users, jobs)


def _pending(draw: random.Random, users: int, jobs: int) -> list[Job]:
    return [
        Job(
            str(n),
            draw.choice((1, 1, 2, 4)),
            user=f"u{draw.randrange(users)}",
            queue="q",
            submit=n // 10,
        )
        for n in range(jobs)
    ]


def measure(users: int, jobs: int, dispatches: int, *, flat: bool = False) -> dict[str, float]:
    """CPU seconds of the parts of a cycle; microseconds of a dispatch and of a skip."""
    instance, pending = problem(users, jobs, flat=flat)
    found: dict[str, float] = {}
    clock = time.process_time
    at = clock()
    order = order_policy(instance)
    found["build (s)"] = clock() - at
    for name in ("first cycle", "later cycle"):
        at = clock()
        order.begin(0, pending)
        found[f"{name}: begin (s)"] = clock() - at
        at = clock()
        order.next()
        found[f"{name}: first (s)"] = clock() - at
        order.skipped(_offered(order))
    found["dispatch (us)"] = _each(order, dispatches, start=True)
    found["skip (us)"] = _each(order, dispatches, start=False)
    return found


def _offered(order: DispatchOrder) -> Job:
    offer = order.next()
    assert offer is not None, "jobs are left"
    return offer.job


def _each(order: DispatchOrder, count: int, *, start: bool) -> float:
    at = time.process_time()
    for _ in range(count):
        job = _offered(order)
        if start:
            order.started(job, {"h": job.slots}, 0)
        else:
            order.skipped(job)
    return (time.process_time() - at) / count * 1e6


POLICIES = ("first come", "fairshare", "slot pool")


def crowd(policy: str, users: int, jobs: int) -> Instance:
    """A full queue over 100 hosts of 16 slots under one of POLICIES."""
    draw = random.Random(SEED)
    plain = Queue("a", 30)
    queues = {
        "first come": (plain,),
        "fairshare": (replace(plain, user_shares=(("default", 1),)),),
        "slot pool": (
            replace(plain, slot_pool="P", slot_share=50),
            replace(plain, name="b", slot_pool="P", slot_share=50),
        ),
    }[policy]
    pending = tuple(
        Job(
            str(number),
            draw.choice((1, 1, 1, 2, 2, 4, 4, 8, 16)),
            user=f"u{draw.randrange(users)}",
            queue=queues[number % len(queues)].name,
            run_limit=(limit := 60 * draw.randrange(5, 240)),
            run_time=max(60, int(limit * draw.betavariate(2, 1.4))),
        )
        for number in range(jobs)
    )
    hosts = tuple(Host(f"h{number:03d}", 16) for number in range(100))
    params = Params(mbd_sleep_time=60, default_queue="a")
    return Instance(Cluster(hosts), queues, pending=pending, params=params)


def loop(users: int, jobs: int) -> None:
    """Print CPU seconds of two hours under each policy, best of three in turn, and the ratios."""
    seconds: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    starts: dict[str, int] = {}
    for _ in range(3):
        for policy in POLICIES:
            instance = crowd(policy, users, jobs)
            at = time.process_time()
            starts[policy] = len(simulate(instance, reservation="none", until="2h").starts)
            seconds[policy].append(time.process_time() - at)
    print(f"{jobs} pending jobs of {users} users, 1,600 slots, two hours")
    for policy in POLICIES:
        best = min(seconds[policy])
        ratio = best / min(seconds[POLICIES[0]])
        print(f"  {policy:12}{best:8.2f} s  x {ratio:.2f}  {starts[policy]:6} starts")


def log(path: Path, hosts: int, jobs: int, reservation: Reservation) -> None:
    """Print CPU seconds of the loop over a log, without and with a share for each user."""
    read = format_of(path).read(path, ReadOptions(hosts, None, False)).instance
    plain = replace(read, future=tuple(read.future)[:jobs])
    shares = tuple(replace(queue, user_shares=(("default", 1),)) for queue in plain.queues)
    for name, instance in (("first come", plain), ("fairshare", replace(plain, queues=shares))):
        at = time.process_time()
        found = simulate(instance, reservation=reservation)
        seconds = time.process_time() - at
        days = (found.time - instance.now) / 86400
        count = len(found.starts)
        print(
            f"  {name:12}{seconds:8.2f} s  {count} jobs of {days:.0f} days over {hosts} hosts, "
            f"{found.cycles} cycles, {count / seconds:.0f} jobs/s"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--users", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--loop", type=int, metavar="JOBS", help="the loop with so many pending")
    parser.add_argument("--log", type=Path, metavar="FILE", help="the loop over an SWF log")
    parser.add_argument("--hosts", type=int, default=167, help="of the log")
    parser.add_argument("--reservation", default="greedy", help="over the log")
    arguments = parser.parse_args()
    if arguments.log:
        log(arguments.log, arguments.hosts, arguments.jobs, arguments.reservation)
        return
    if arguments.loop:
        loop(min(arguments.users, 500), arguments.loop)
        return
    dispatches = arguments.jobs // 4
    print(f"{arguments.users} users in three levels, {arguments.jobs} pending jobs")
    for name, value in measure(arguments.users, arguments.jobs, dispatches).items():
        print(f"  {name:28}{value:10.3f}")
    print("us a dispatch, and against a tenth of the users")
    print("users       in the tree      in one list")
    last = [0.0, 0.0]
    users = 100
    while users <= arguments.users:
        row = [
            measure(users, arguments.jobs, dispatches, flat=flat)["dispatch (us)"]
            for flat in (False, True)
        ]
        cells = (
            f"{now:10.1f} {f'x {now / before:.2f}' if before else '':6}"
            for now, before in zip(row, last, strict=True)
        )
        print(f"{users:<8}{''.join(cells)}".rstrip())
        last = row
        users *= 10


if __name__ == "__main__":
    main()
