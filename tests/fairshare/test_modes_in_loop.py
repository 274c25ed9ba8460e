"""The modes of fairshare in the scheduler loop itself: saturation, pools over time, partitions."""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest
from slotwise import (
    Cluster,
    Host,
    HostPartition,
    HostRequest,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    Simulation,
    UserGroup,
)
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate

MINUTE, HOUR = 60, 3600


def numbered(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Ids in order of submission."""
    ordered = sorted(jobs, key=lambda job: job.submit)
    return tuple(replace(job, id=str(number)) for number, job in enumerate(ordered, 1))


def stream(
    slots: float, hours: float, length: Callable[[], int], *, start: float = 0.0, **fields: str
) -> list[Job]:
    """Jobs of one slot that together ask for so many slots all the time."""
    jobs, work = [], 0.0
    while work < hours * HOUR * slots:
        run_time = length()
        submit = int(start * HOUR + work / slots)
        jobs.append(
            Job("", submit=submit, run_time=run_time, run_limit=max(600, 2 * run_time), **fields)
        )
        work += run_time
    return jobs


def parts(
    result: Simulation, of: Mapping[str, str], first: float, last: float, host: str = ""
) -> dict[str, float]:
    """Parts of the slot-seconds between two hours; of: whom each job counts for, by its id."""
    used: dict[str, float] = dict.fromkeys(of.values(), 0.0)
    for record in result.jobs:
        if record.start is not None and record.job in of and host in ("", *record.hosts):
            end = last * HOUR if record.end is None else min(record.end, last * HOUR)
            used[of[record.job]] += max(0.0, end - max(record.start, first * HOUR))
    return {name: seconds / sum(used.values()) for name, seconds in used.items()}


@pytest.mark.behaviour("FSH-08", "TBR-12")
@pytest.mark.parametrize("method", ["greedy", "time-based"])
def test_a_job_that_starts_elsewhere_gives_up_what_it_held_in_a_partition(method):
    """It waits for both slots of h1, holds the free one, and starts on h2, in no partition."""
    busy = RunningJob(Job("r", user="bob", run_limit=HOUR), 0, {"h1": 1})
    wide = Job("wide", 2, user="ann", run_limit=600, run_time=600)
    instance = Instance(
        Cluster((Host("h1", 2), Host("h2", 2))),
        (Queue("default", slot_reserve=9),),
        partitions=(HostPartition("P", ("h1",), (("default", 1),)),),
        running=(busy,),
        pending=(wide,),
    )
    result = simulate(instance, reservation=method, keep_log=True)
    assert (result["wide"].hosts, result["wide"].start) == ({"h2": 2}, 0)
    assert result.log[0]["reservations"] == []
    assert result["wide"].estimate is None


@pytest.mark.behaviour("TBR-12", "FSH-08")
def test_behind_full_reservations_a_partition_still_gives_an_earlier_place():
    """No slot is free and both jobs have a place in P; outside of it the second has an earlier."""
    busy = (
        RunningJob(Job("r1", user="bob", run_limit=HOUR), 0, {"h1": 1}),
        RunningJob(Job("r2", user="bob", run_limit=HOUR), 0, {"h2": 1}),
    )
    instance = Instance(
        Cluster((Host("h1", 1), Host("h2", 1))),
        (Queue("default", slot_reserve=9),),
        params=Params(time_reserve_numjobs=2),
        partitions=(HostPartition("P", ("h1",), (("default", 1),)),),
        running=busy,
        pending=(Job("a", user="ann", run_limit=HOUR), Job("b", user="ann", run_limit=HOUR)),
    )
    result = simulate(instance, reservation="time-based", keep_log=True)
    said = {item["job"]: item for item in result.log[0]["reservations"]}
    assert {job: (item["estimate"], item["allocation"]) for job, item in said.items()} == {
        "a": (HOUR, {"h1": 1}),
        "b": (HOUR, {"h2": 1}),
    }
    assert [result[job].start for job in "ab"] == [HOUR, HOUR]
    planned = plan(instance, "time-based")
    assert {job.id: planned[job.id].start for job in instance.pending} == {"a": HOUR, "b": HOUR}


@pytest.mark.behaviour("FSH-04")
def test_slots_that_backfill_borrows_count_as_reserved_as_long_as_they_are_held():
    """wide holds the two free slots; from minute 2 a backfill job has them for five minutes."""
    queue = Queue("q", user_shares=(("ann", 9), ("bob", 1)), slot_reserve=99, backfill=True)
    instance = Instance(
        Cluster((Host("h1", 4),)),
        (queue,),
        params=Params(time_reserve_numjobs=1, default_queue="q"),
        running=(RunningJob(Job("r", 2, user="cat", queue="q", run_limit=HOUR), 0, {"h1": 2}),),
        pending=(Job("wide", 4, user="ann", queue="q", run_limit=HOUR),),
        future=(Job("short", 2, user="bob", queue="q", run_limit=300, submit=100),),
    )
    seen: dict[int, tuple[int, int]] = {}

    def look(record, world):
        (ann,), (bob,) = (world.order.trees["q"].accounts(user) for user in ("ann", "bob"))
        seen[record.time // MINUTE] = (ann.reserved, bob.slots)

    result = simulate(instance, recorder=look, until=HOUR, skip_idle=False)
    assert (result["short"].start, result["short"].backfilled) == (120, True)
    assert [seen[minute] for minute in (0, 1, 2, 6, 7, 59)] == [
        (2, 0), (2, 0), (2, 2), (2, 2), (2, 0), (2, 0),
    ]  # fmt: skip
    assert (result["wide"].start, seen[60]) == (HOUR, (0, 0))


POOL_A = {"Roma": (50, 50), "Verona": (48, 30), "Genova": (47, 20)}
POOL_B = {"Pisa": 44, "Milano": 43, "Parma": 42, "Bologna": 40, "Sora": 40, "Ferrara": 40,
          "Napoli": 40, "Livorno": 40, "Palermo": 40, "Venezia": 4}  # fmt: skip


@pytest.mark.behaviour("QBF-06")
def test_thirteen_queues_in_two_pools():
    """The documents' two tables: 11 7 3 and seven times 3; then all ten of the second pool run."""
    first, second = ([HostRequest(f"h{i}") for i in pool] for pool in ((0, 1, 2), (3, 4, 5)))
    queues = [
        Queue(name, priority, slot_pool="A", slot_share=share, hosts=tuple(first))
        for name, (priority, share) in POOL_A.items()
    ] + [
        Queue(name, priority, slot_pool="B", slot_share=10, hosts=tuple(second))
        for name, priority in POOL_B.items()
    ]
    draw = random.Random(7)
    pending = [
        Job("", queue=queue.name, run_time=draw.randint(200, 400), run_limit=600)
        for queue in queues
        for _ in range(160 if queue.name in POOL_A else 22)
    ]
    instance = Instance(
        Cluster(tuple(Host(f"h{i}", 7) for i in range(6))),
        tuple(queues),
        pending=numbered(pending),
        params=Params(mbd_sleep_time=20),
    )
    seen: list[tuple[int, list[int], list[int]]] = []

    def look(record, world):
        a, b = (list(world.order.pools[name].in_use.values()) for name in "AB")
        seen.append((record.time, a, b))

    simulate(instance, until="40m", recorder=look)
    assert seen[0] == (0, [11, 7, 3], [3] * 7 + [0] * 3)
    assert {(sum(a), sum(b)) for _, a, b in seen} == {(21, 21)}
    settled = [b for time, _, b in seen if time >= 30 * MINUTE]
    assert all(sorted(b) == [2] * 9 + [3] for b in settled)


@pytest.mark.behaviour("QBF-07")
def test_a_queue_that_expanded_is_rebalanced():
    """50, 20 and 30 percent of 20 slots, long jobs in queue3. The others run dry and come back.

    The shares hold before and after; in between queue3 has everything. Its jobs of 15 to 45
    minutes end, and within an hour it is back at six slots.
    """
    draw = random.Random(3)
    shares = {"queue1": 50, "queue2": 20, "queue3": 30}
    future = []
    for name, share in shares.items():
        mean = 1800 if name == "queue3" else 200

        def length(mean: int = mean) -> int:
            return int(draw.uniform(0.5, 1.5) * mean)

        slots = 20 * share / 100
        if name == "queue3":
            future += stream(3 * slots, 5.5, length, queue=name)
        else:
            future += stream(1.1 * slots, 2, length, queue=name)
            future += stream(1.1 * slots, 2, length, start=3.5, queue=name)
    instance = Instance(
        Cluster((Host("h1", 10), Host("h2", 10))),
        tuple(
            Queue(name, 50 - place, slot_pool="P", slot_share=share)
            for place, (name, share) in enumerate(shares.items())
        ),
        future=numbered(future),
    )
    used: dict[int, tuple[int, ...]] = {}

    def look(record, world):
        used[record.time // MINUTE] = tuple(world.order.pools["P"].in_use.values())

    simulate(instance, until="5h30m", recorder=look)
    for minute in (*range(30, 120), *range(4 * 60 + 30, 5 * 60 + 30)):
        assert used[minute] == pytest.approx((10, 4, 6), abs=1)
    assert [used[minute] for minute in range(165, 210)] == [(0, 0, 20)] * 45
    assert {sum(slots) for minute, slots in used.items() if minute >= 30} == {20}


FLAT = (("a", 6), ("b", 3), ("c", 1))
GROUPS = (
    UserGroup("g", ("a", "b"), (("a", 2), ("b", 1))),
    UserGroup("h", ("a", "c")),
)
PLAIN = {"a": 0.6, "b": 0.3, "c": 0.1}
ALL_HOSTS = (HostPartition("P", ("all",), FLAT),)
MODES = {
    "queue": ({"queues": (Queue("q", user_shares=FLAT),)}, PLAIN),
    "hierarchical": ({"queues": (Queue("q", user_shares=(("g", 3), ("c", 1))),)},
                     {"a": 0.5, "b": 0.25, "c": 0.25}),
    "members": ({"queues": (Queue("q", user_shares=(("g@", 1), ("c", 2))),)},
                {"a": 0.25, "b": 0.25, "c": 0.5}),
    "default": ({"queues": (Queue("q", user_shares=(("a", 2), ("default", 1))),)},
                {"a": 0.5, "b": 0.25, "c": 0.25}),
    "cross-queue": ({"queues": (Queue("q", 9, user_shares=FLAT, fairshare_queues=("r",)),
                                Queue("r", 10))}, PLAIN),
    "ordered": ({"queues": (Queue("q", 9, user_shares=FLAT, fairshare_queues=("r",),
                                  dispatch_order="QUEUE"), Queue("r", 10))}, PLAIN),
    "partition": ({"queues": (Queue("q", 9), Queue("r", 8)), "partitions": ALL_HOSTS}, PLAIN),
}  # fmt: skip
SLOTS, WARM, END, TOLERANCE = 32, 3, 10, 0.01


def saturated(
    fields, target: Mapping[str, float], run_job_factor: float = 3.0
) -> tuple[Instance, dict[str, str]]:
    """Every user asks for 1.4 times what he is to get; who each job counts for."""
    draw = random.Random(5)
    queues = [queue.name for queue in fields["queues"]]
    future = numbered(
        replace(job, queue=draw.choice(queues))
        for user, part in target.items()
        for job in stream(1.4 * SLOTS * part, END, lambda: draw.randint(300, 1500), user=user)
    )
    params = Params(run_time_in_slots=True, run_job_factor=run_job_factor)
    machines = Cluster((Host("h1", SLOTS // 2), Host("h2", SLOTS // 2)))
    instance = Instance(machines, groups=GROUPS, future=future, params=params, **fields)
    return instance, {job.id: job.user for job in future}


@pytest.mark.slow
@pytest.mark.behaviour("FSH-06", "FSH-07", "FSH-08", "FSH-09", "FSH-10")
@pytest.mark.parametrize("mode", MODES)
def test_slot_seconds_come_near_the_shares(mode):
    """Default factors, run times of 5 to 25 minutes: within 1 % over 7 hours after 3."""
    fields, target = MODES[mode]
    instance, of = saturated(fields, target)
    found = parts(simulate(instance, until=f"{END}h"), of, WARM, END)
    assert found == pytest.approx(target, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.behaviour("FSH-13")
def test_slot_seconds_of_groups_that_jobs_name():
    """a is in both groups: two thirds of the slots run his and b's jobs of g, one third h's."""
    queue = Queue("q", user_shares=(("g", 2), ("h", 1)))
    draw = random.Random(5)
    future = numbered(
        job
        for user, group, part in (("a", "g", 4 / 9), ("b", "g", 2 / 9), ("a", "h", 1 / 3))
        for job in stream(
            1.4 * SLOTS * part, END, lambda: draw.randint(300, 1500), user=user, group=group,
            queue="q",
        )
    )  # fmt: skip
    instance = Instance(
        Cluster((Host("h1", SLOTS),)),
        (queue,),
        groups=GROUPS,
        future=future,
        params=Params(run_time_in_slots=True),
    )
    result = simulate(instance, until=f"{END}h")
    by_group = parts(result, {job.id: job.group for job in future}, WARM, END)
    assert by_group == pytest.approx({"g": 2 / 3, "h": 1 / 3}, abs=TOLERANCE)
    in_g = {job.id: job.user for job in future if job.group == "g"}
    assert parts(result, in_g, WARM, END) == pytest.approx({"a": 2 / 3, "b": 1 / 3}, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.behaviour("FSH-08")
def test_slot_seconds_in_each_partition():
    """Two partitions with shares of their own: each keeps them on its host.

    Within 2 %, and without the slot factor, whose 1 + slots would take half a slot from c's 1.6.
    """
    fields = {
        "queues": (Queue("q"),),
        "partitions": (
            HostPartition("P", ("h1",), FLAT),
            HostPartition("R", ("h2",), (("default", 1),)),
        ),
    }
    wanted = {"a": (0.6 + 1 / 3) / 2, "b": (0.3 + 1 / 3) / 2, "c": (0.1 + 1 / 3) / 2}
    instance, of = saturated(fields, wanted, run_job_factor=0.0)
    result = simulate(instance, until=f"{END}h")
    assert parts(result, of, WARM, END, "h1") == pytest.approx(PLAIN, abs=2 * TOLERANCE)
    equal = dict.fromkeys("abc", 1 / 3)
    assert parts(result, of, WARM, END, "h2") == pytest.approx(equal, abs=2 * TOLERANCE)
