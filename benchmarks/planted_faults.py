"""Sites with one planted fault each, drawn by seed, and sound ones: does `diagnose` name the fault?

    python benchmarks/planted_faults.py --seeds 0-49            # sites with a fault
    python benchmarks/planted_faults.py --seeds 0-19 --sound    # sites without one
    python benchmarks/planted_faults.py --ten 0                 # ten faults, and ten sound sites

A site is a small cluster that is full and has a mixed queue, configured well: reservations that
last, backfill, future allocations. A fault changes one thing of it. Whether it does harm is looked
at by the simulated scheduler: a draw in which no job starts later for it is drawn again.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

from slotwise.model.cluster import Cluster, ComputeUnit, Host, Thresholds
from slotwise.model.configuration import Limit, Params, Queue, Scope, User
from slotwise.model.instance import AdvanceReservation, Instance
from slotwise.model.job import Job, RunningJob
from slotwise.solver.advice.diagnosis.diagnose import diagnose
from slotwise.solver.advice.diagnosis.records import Diagnosis
from slotwise.solver.scheduler.continuation import simulated_placements
from slotwise.solver.scheduler.methods import looking_ahead

HOUR = 3600
GIGA = 1024.0
USERS = tuple(f"user{number}" for number in range(1, 8))
#: Seconds that a fault has to cost some job.
HARM = 2 * HOUR
#: Faults of what one job asks for, or where it stands in line: it is the one that is harmed.
OF_ONE_JOB = frozenset(
    {"memory", "memory per slot", "memory not reserved", "compute units", "queue priority"}
)
#: Draws for one seed before another kind of fault is taken.
MAX_DRAWS = 60


@dataclass(frozen=True)
class Planted:
    """A site. kind: of its fault, "" for a sound one. victim: the job that it costs most."""

    instance: Instance
    kind: str = ""
    victim: str = ""


def sound_site(
    draw: random.Random,
    hosts_of: tuple[int, ...] = (6, 8, 12),
    jobs_of: tuple[int, int] = (12, 25),
) -> Instance:
    """A full cluster with a mixed queue, configured well; so many hosts, and jobs that wait."""
    width = draw.choice([4, 8])
    count = draw.choice(hosts_of)
    memory = 8 * GIGA * width
    hosts = tuple(Host(f"n{i + 1:02d}", width, amounts={"mem": memory}) for i in range(count))
    per = count // draw.choice([2, 4])
    units = tuple(
        ComputeUnit(f"rack{k + 1}", "rack", tuple(h.name for h in hosts[k * per : (k + 1) * per]))
        for k in range(count // per)
    )
    cluster = Cluster(hosts, unit_types=("rack",), default_unit_type="rack", units=units)
    queues = [Queue("normal", 30, backfill=True, resource_reserve=20160)]
    if draw.random() < 0.5:
        queues.append(Queue("short", 30, backfill=True, resource_reserve=20160))
    return Instance(
        cluster,
        queues=tuple(queues),
        running=tuple(_running(draw, hosts, draw.uniform(0.92, 1.0))),
        pending=tuple(_pending(draw, hosts, [queue.name for queue in queues], jobs_of)),
        limits=(Limit("large", {"slots": 10.0 * count * width}, users=Scope(("all",), each=True)),),
        params=Params(time_reserve_numjobs=draw.choice([5, 6, 8]), default_queue="normal"),
    )


def _running(draw: random.Random, hosts: tuple[Host, ...], load: float) -> Iterator[RunningJob]:
    """Jobs that fill the hosts and end one after the other over half a day."""
    number = 0
    for host in hosts:
        free = host.slots
        while free > 0:
            size = min(free, draw.choice([1, 2, 4, host.slots // 2, host.slots]))
            free -= size
            if draw.random() > load:
                continue
            number += 1
            limit = draw.choice([2, 4, 6, 8, 12]) * HOUR
            age = draw.randrange(0, limit - 1800, 300)
            usage = (f"rusage[mem={int(GIGA * size)}]",)
            job = Job(
                str(100 + number),
                slots=size,
                user=draw.choice(USERS),
                queue="normal",
                res_req=usage,
                run_limit=limit,
                submit=-age - 600,
            )
            yield RunningJob(job, -age, {host.name: size})


def _pending(
    draw: random.Random, hosts: tuple[Host, ...], queues: list[str], jobs_of: tuple[int, int]
) -> Iterator[Job]:
    """A big job or two near the front, and smaller ones behind."""
    width, total = hosts[0].slots, sum(host.slots for host in hosts)
    count = draw.randrange(*jobs_of)
    big = {draw.randrange(0, 3), draw.randrange(3, 6)}
    for number in range(count):
        if number in big:
            whole = max(2, round(draw.uniform(0.3, 0.6) * len(hosts)))
            size, shape = whole * width, f"span[ptile={width}]"
            if draw.random() < 0.4:
                size, shape = round(draw.uniform(0.35, 0.6) * total), ""
            limit = draw.choice([2, 4, 8]) * HOUR
        else:
            size = draw.choice([1, 1, 2, 2, 4, width // 2, width])
            shape = "span[hosts=1]" if draw.random() < 0.5 else ""
            limit = draw.choice([1, 2, 3, 4, 6]) * HOUR
        memory = 64 if number in big else 512 * min(size, width)
        yield Job(
            str(500 + number),
            slots=size,
            user=draw.choice(USERS),
            queue=draw.choice(queues),
            res_req=(f"{shape} rusage[mem={memory}]".strip(),),
            run_limit=limit,
            submit=-(count - number) * 300,
        )


Fault = Callable[[random.Random, Instance], Instance]
FAULTS: dict[str, Fault] = {}


def fault(kind: str) -> Callable[[Fault], Fault]:
    """Enters a fault under the kind that `diagnose` has to name."""

    def enter(plant: Fault) -> Fault:
        FAULTS[kind] = plant
        return plant

    return enter


def _queues(instance: Instance, **changes: object) -> Instance:
    queues = tuple(replace(queue, **changes) for queue in instance.queues)  # type: ignore[arg-type]
    return replace(instance, queues=queues)


def _params(instance: Instance, **changes: object) -> Instance:
    return replace(instance, params=replace(instance.params, **changes))  # type: ignore[arg-type]


def _hosts(instance: Instance, names: set[str], **changes: object) -> Instance:
    hosts = tuple(
        replace(h, **changes) if h.name in names else h  # type: ignore[arg-type]
        for h in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=hosts))


def _big(instance: Instance) -> Job:
    return max(instance.pending, key=lambda job: job.slots)


def _job(instance: Instance, job: Job) -> Instance:
    pending = tuple(job if other.id == job.id else other for other in instance.pending)
    return replace(instance, pending=pending)


def _some_hosts(draw: random.Random, instance: Instance, low: float, high: float) -> set[str]:
    hosts = [host.name for host in instance.cluster.hosts]
    return set(draw.sample(hosts, max(1, round(draw.uniform(low, high) * len(hosts)))))


@fault("reservation expires")
def _expires(draw: random.Random, instance: Instance) -> Instance:
    cycles = draw.choice([2, 3, 5, 10, 20])
    if draw.random() < 0.5:
        return _queues(instance, resource_reserve=cycles)
    return _queues(instance, resource_reserve=None, slot_reserve=cycles)


@fault("no reservation")
def _none(draw: random.Random, instance: Instance) -> Instance:
    if draw.random() < 0.5:
        return _queues(instance, resource_reserve=None)
    big = _big(instance)
    queues = tuple(
        replace(q, resource_reserve=None) if q.name == big.queue else q for q in instance.queues
    )
    return replace(instance, queues=queues)


@fault("greedy estimate")
def _greedy(draw: random.Random, instance: Instance) -> Instance:
    return _params(instance, time_reserve_numjobs=0)


@fault("too few reservations")
def _few(draw: random.Random, instance: Instance) -> Instance:
    return _params(instance, time_reserve_numjobs=draw.choice([1, 2]))


@fault("no backfill")
def _no_backfill(draw: random.Random, instance: Instance) -> Instance:
    return _queues(instance, backfill=False)


@fault("limit")
def _limit(draw: random.Random, instance: Instance) -> Instance:
    job = _big(instance)
    amount = float(draw.randrange(1, max(2, job.slots)))
    scope = draw.choice(["users", "queues", "projects"])
    if scope == "users":
        limit = Limit("few", {"slots": amount}, users=Scope((job.user,)))
    elif scope == "queues":
        amount += sum(run.slots for run in instance.running if run.job.queue == job.queue)
        limit = Limit("few", {"slots": amount}, queues=Scope((job.queue,)))
    else:
        instance = _job(instance, replace(job, project="cfd"))
        limit = Limit("few", {"slots": amount}, projects=Scope(("cfd",)))
    others = (Limit("wide", {"jobs": 500.0}, users=Scope(("all",), each=True)),)
    return replace(instance, limits=(*instance.limits, limit, *others))


@fault("user limit")
def _user_limit(draw: random.Random, instance: Instance) -> Instance:
    job = _big(instance)
    users = (User(job.user, max_slots=draw.randrange(1, job.slots)), User("other", max_slots=400))
    return replace(instance, users=users)


@fault("queue limit")
def _queue_limit(draw: random.Random, instance: Instance) -> Instance:
    job = _big(instance)
    used = sum(run.slots for run in instance.running if run.job.queue == job.queue)
    total = sum(host.slots for host in instance.cluster.hosts)
    key = draw.choice(["queue_slots", "user_slots", "host_slots"])
    width = instance.cluster.hosts[0].slots
    number = {
        # A limit of all slots and more is none.
        "queue_slots": min(used + draw.randrange(1, job.slots), total - 1),
        "user_slots": draw.randrange(1, job.slots),
        "host_slots": draw.randrange(1, width),
    }[key]
    queues = tuple(
        replace(q, **{key: number}) if q.name == job.queue else q for q in instance.queues
    )
    return replace(instance, queues=queues)


@fault("dispatch window")
def _window(draw: random.Random, instance: Instance) -> Instance:
    job = _big(instance)
    first = draw.choice([14, 16, 18, 20])
    field = draw.choice(["dispatch_window", "run_window"])
    text = f"{first}:00-{draw.choice([23, 8])}:00"
    queues = tuple(
        replace(q, **{field: text}) if q.name == job.queue else q for q in instance.queues
    )
    return replace(instance, queues=queues)


@fault("host window")
def _host_window(draw: random.Random, instance: Instance) -> Instance:
    names = _some_hosts(draw, instance, 0.6, 0.9)
    return _hosts(instance, names, windows=f"{draw.choice([18, 20])}:00-7:00")


@fault("accept interval")
def _interval(draw: random.Random, instance: Instance) -> Instance:
    cycles = draw.choice([60, 120, 180])
    if draw.random() < 0.5:
        return _params(instance, job_accept_interval=cycles)
    return _queues(instance, job_accept_interval=cycles)


@fault("hosts closed")
def _closed(draw: random.Random, instance: Instance) -> Instance:
    return _hosts(instance, _some_hosts(draw, instance, 0.3, 0.6), status="closed_Adm")


@fault("hosts down")
def _down(draw: random.Random, instance: Instance) -> Instance:
    names = _some_hosts(draw, instance, 0.3, 0.6)
    found = _hosts(instance, names, status=draw.choice(["unavail", "unreach"]))
    running = tuple(run for run in found.running if not names & set(run.allocation))
    return replace(found, running=running)


@fault("load threshold")
def _threshold(draw: random.Random, instance: Instance) -> Instance:
    limits = Thresholds({"r1m": draw.choice([0.1, 0.5])})
    names = _some_hosts(draw, instance, 0.6, 0.9)
    found = _hosts(instance, {h.name for h in instance.cluster.hosts}, load={"r1m": 2.5})
    if draw.random() < 0.5:
        return _queues(found, thresholds=limits)
    return _hosts(found, names, thresholds=limits)


@fault("queue inactive")
def _inactive(draw: random.Random, instance: Instance) -> Instance:
    job = _big(instance)
    queues = tuple(replace(q, active=q.name != job.queue) for q in instance.queues)
    return replace(instance, queues=queues)


@fault("advance reservation")
def _advance(draw: random.Random, instance: Instance) -> Instance:
    names = sorted(_some_hosts(draw, instance, 0.5, 0.8))
    first = draw.choice([1, 2, 4]) * HOUR
    width = instance.cluster.hosts[0].slots
    item = AdvanceReservation(
        "user1#3", first, first + draw.choice([12, 24]) * HOUR, dict.fromkeys(names, width)
    )
    return replace(instance, advance_reservations=(item,))


@fault("run limit unknown")
def _endless(draw: random.Random, instance: Instance) -> Instance:
    chosen = set(draw.sample(range(len(instance.running)), max(2, len(instance.running) // 3)))
    running = tuple(
        replace(run, job=replace(run.job, run_limit=None)) if at in chosen else run
        for at, run in enumerate(instance.running)
    )
    return replace(instance, running=running)


@fault("memory not reserved")
def _no_memory(draw: random.Random, instance: Instance) -> Instance:
    memory = round(instance.cluster.hosts[0].amounts["mem"] * draw.uniform(0.7, 0.95))
    count = draw.choice([1, 2, 3])
    job = min(instance.pending[:6], key=lambda job: job.slots)
    text = (f"span[ptile=1] rusage[mem={memory}]",)
    job = replace(job, slots=count, max_slots=None, res_req=text)
    fat = tuple(
        replace(other, res_req=(f"rusage[mem={round(memory / 3)}]",), slots=1)
        if other.id != job.id and at > 3
        else other
        for at, other in enumerate(instance.pending)
    )
    instance = _job(replace(instance, pending=fat), job)
    return _queues(instance, resource_reserve=None, slot_reserve=20160)


@fault("memory per slot")
def _per_slot(draw: random.Random, instance: Instance) -> Instance:
    job = draw.choice(instance.pending[:8])
    width = instance.cluster.hosts[0].slots
    memory = round(instance.cluster.hosts[0].amounts["mem"] * draw.uniform(0.6, 0.9))
    size = draw.choice([2, 4, width])
    text = (f"span[hosts=1] rusage[mem={memory}]",)
    job = replace(job, slots=size, res_req=text)
    return _params(_job(instance, job), reserve_per_slot=True)


@fault("memory")
def _memory(draw: random.Random, instance: Instance) -> Instance:
    job = draw.choice(instance.pending[:8])
    memory = round(instance.cluster.hosts[0].amounts["mem"] * draw.uniform(0.9, 1.0))
    text = (f"span[hosts=1] rusage[mem={memory}]",)
    return _job(instance, replace(job, slots=draw.choice([1, 2]), res_req=text))


@fault("compute units")
def _units(draw: random.Random, instance: Instance) -> Instance:
    """Free slots are there, but not in one rack."""
    width = instance.cluster.hosts[0].slots
    racks = instance.cluster.units
    size = min(len(racks[0].hosts) * width, max(2, round(0.6 * len(racks[0].hosts) * width)))
    job = replace(
        draw.choice(instance.pending[:3]),
        slots=size,
        res_req=(draw.choice(["cu[maxcus=1]", f"span[ptile={width}]"]),),
    )
    freed = 0
    kept = []
    order = list(instance.running)
    draw.shuffle(order)
    for run in order:
        if freed < size and run.slots <= width // 2:
            freed += run.slots
        else:
            kept.append(run)
    found = replace(instance, running=tuple(kept))
    pending = tuple(other for other in found.pending if other.slots <= 4 or other.id == job.id)
    return _job(replace(found, pending=pending), job)


@fault("fairshare")
def _shares(draw: random.Random, instance: Instance) -> Instance:
    job = draw.choice(instance.pending[:8])
    shares = ((job.user, 1), *((user, 200) for user in USERS if user != job.user))
    return _queues(instance, user_shares=shares)


@fault("queue priority")
def _priority(draw: random.Random, instance: Instance) -> Instance:
    jobs = draw.sample(instance.pending[:8], 2)
    low = Queue("low", 1, backfill=True, resource_reserve=20160)
    for job in jobs:
        instance = _job(instance, replace(job, queue="low"))
    return replace(instance, queues=(*instance.queues, low))


@fault("running jobs of one user")
def _hog(draw: random.Random, instance: Instance) -> Instance:
    names = _some_hosts(draw, instance, 0.75, 0.9)
    running = [run for run in instance.running if not names & set(run.allocation)]
    width = instance.cluster.hosts[0].slots
    for number, name in enumerate(sorted(names)):
        age = draw.randrange(600, 7200, 300)
        job = Job(
            str(900 + number), width, user="hog", queue="normal", run_limit=48 * HOUR, submit=-9000
        )
        running.append(RunningJob(job, -age, {name: width}))
    return replace(instance, running=tuple(running))


def starts(instance: Instance) -> dict[str, int | None]:
    """What the scheduler as configured gives each pending job."""
    top = looking_ahead(instance)
    placed = {
        item.job: item.start for item in simulated_placements(instance, "configured", jobs=top)
    }
    return {job.id: placed.get(job.id) for job in instance.pending}


def harmed(sound: Instance, faulty: Instance, kind: str) -> str:
    """The job that a fault costs most, slots times seconds; "" where it costs none much."""
    cured = _cured(sound, faulty, kind)
    before, after = starts(cured), starts(faulty)
    worst, most = "", 0.0
    same = set(sound.pending) if kind in OF_ONE_JOB else set()
    for job in faulty.pending:
        if job in same:
            continue
        first, last = before.get(job.id), after[job.id]
        if first is None:
            continue
        lost = 7 * 24 * HOUR if last is None else last - first
        if lost >= HARM and lost * job.slots > most:
            worst, most = job.id, lost * job.slots
    return worst


def _cured(sound: Instance, faulty: Instance, kind: str) -> Instance:
    """The faulty site without its fault: its jobs on the sound configuration."""
    if kind in ("memory", "compute units", "running jobs of one user", "run limit unknown"):
        return sound
    if kind == "hosts down":
        return replace(sound, pending=faulty.pending, running=faulty.running)
    pending = faulty.pending
    if kind == "queue priority":
        pending = sound.pending
    return replace(sound, pending=pending)


def _impossible(draw: random.Random, instance: Instance) -> Instance:
    """One job asks for more than any host has."""
    job = draw.choice(instance.pending)
    width = instance.cluster.hosts[0].slots
    memory = round(instance.cluster.hosts[0].amounts["mem"] * 2)
    text = draw.choice([f"rusage[mem={memory}]", "span[hosts=1]", f"select[mem>{memory}]"])
    slots = width + 1 if text == "span[hosts=1]" else job.slots
    return _job(instance, replace(job, res_req=(text,), slots=slots, max_slots=None))


#: What is named where a job fits nowhere by what it asks for itself.
IMPOSSIBLE = "impossible job"
#: Ten faults as different as faults are.
TEN = (
    *(IMPOSSIBLE, "hosts closed", "reservation expires", "limit", "queue limit"),
    *("no reservation", "dispatch window", "memory", "no backfill", "load threshold"),
)


def planted_of(kind: str, seed: int, *, small: bool = False) -> Planted:
    """A site with a fault of this kind that costs some job two hours at least; small: four hosts.

    Raises ValueError where no draw does such harm.
    """
    draw = random.Random(f"{kind} {seed}")
    for _ in range(MAX_DRAWS):
        sound = sound_site(draw, (4,), (5, 9)) if small else sound_site(draw)
        if kind == IMPOSSIBLE:
            faulty = _impossible(draw, sound)
            changed = (job.id for job in faulty.pending if job not in set(sound.pending))
            return Planted(faulty, kind, next(changed))
        faulty = FAULTS[kind](draw, sound)
        if victim := harmed(sound, faulty, kind):
            return Planted(faulty, kind, victim)
    raise ValueError(f"no harm by {kind} in {MAX_DRAWS} draws of seed {seed}")


def planted(seed: int) -> Planted:
    """The site of a seed, with a fault that costs some job two hours at least."""
    draw = random.Random(f"fault {seed}")
    while True:
        kind = draw.choice(sorted(FAULTS))
        for _ in range(MAX_DRAWS):
            sound = sound_site(draw)
            faulty = FAULTS[kind](draw, sound)
            victim = harmed(sound, faulty, kind)
            if victim:
                return Planted(replace(faulty, name=f"planted {seed}"), kind, victim)


def sound(seed: int) -> Planted:
    """The site of a seed without a fault."""
    return Planted(replace(sound_site(random.Random(f"sound {seed}")), name=f"sound {seed}"))


def first_cause(found: Diagnosis) -> str:
    """The cause that the diagnosis names first, "" where it names none."""
    return found.jobs[0].cause if found.jobs else ""


def first_finding(found: Diagnosis) -> str:
    """As :func:`first_cause`; of a job that fits nowhere by what it asks for, that it does."""
    stuck = found.jobs and found.jobs[0].state == "impossible"
    own = first_cause(found) in ("", "memory", "resource", "requirement", "compute units")
    return IMPOSSIBLE if found.never or (stuck and own) else first_cause(found)


def ten(seed: int) -> None:
    """A table of ten planted faults and ten sound sites."""
    print("| planted | found first | what helps first | runs | right |")
    print("|---|---|---|---|---|")
    right = 0
    for kind in TEN:
        found = diagnose(planted_of(kind, seed).instance)
        named, good = first_finding(found), first_finding(found) == kind
        right += good
        remedies = found.jobs[0].remedies if found.jobs else ()
        helps = "; ".join(map(str, remedies[0].lines)) if remedies else "-"
        print(f"| {kind} | {named} | `{helps}` | {found.tried} | {'yes' if good else 'NO'} |")
    starving = [len(diagnose(sound(10 * seed + n).instance).starving) for n in range(10)]
    print(f"\n{right} of {len(TEN)} named first; sound sites with a starving job: ", end="")
    print(f"{sum(map(bool, starving))} of {len(starving)}")


def main() -> None:
    """Diagnose the sites of some seeds and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", default="0-49", help="first-last")
    parser.add_argument("--sound", action="store_true", help="sites without a fault")
    parser.add_argument("--kind", help="only sites with this fault")
    parser.add_argument("--ten", type=int, metavar="SEED", help="a table of ten faults")
    given = parser.parse_args()
    if given.ten is not None:
        ten(given.ten)
        return
    first, last = (int(part) for part in given.seeds.split("-"))
    right = count = 0
    begun = perf_counter()
    for seed in range(first, last + 1):
        site = sound(seed) if given.sound else planted(seed)
        if given.kind and site.kind != given.kind:
            continue
        began = perf_counter()
        found = diagnose(site.instance)
        named = first_cause(found)
        good = not found.starving if given.sound else named == site.kind
        right += good
        count += 1
        said = f"{len(found.starving)} starving" if given.sound else f"{site.kind}: {named}"
        took = perf_counter() - began
        print(f"{seed:4d} {'ok ' if good else 'NO '} {said} ({found.tried} runs, {took:.1f} s)")
    print(f"{right} of {count} right, {perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
