"""Tiny random instances in the language that the enumerator reads: every kind of constraint."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from slotwise import (
    Cluster,
    ComputeUnit,
    Host,
    HostRequest,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    RunningJob,
    Scope,
    SharedResource,
)

MINUTE = 60
SELECT = ["type==X", "type==X && ncpus>0", "hname=='h1'", "hname!='h0'", "ncpus>1", "mem>=200"]
SELECT += ["ncpus>0"] * 4
SPAN = ["ptile=1", "ptile=2", "ptile=3", "ptile='!'", "hosts=1"]
CU = [
    "",
    "maxcus=1",
    "maxcus=2",
    "balance",
    "usablecuslots=2",
    "excl",
    "balance:maxcus=2",
    "maxcus=2:usablecuslots=2",
    "excl:maxcus=1",
    "balance:excl",
]
RUSAGE = [
    "mem=100",
    "mem=50",
    "mem=(100 50):duration=(2 3)",
    "mem=100:duration=2",
    "mem=200||mem=50",
    "lic=1",
    "lic=1:duration=1",
    "lic=2||lim=1",
    "licA=1||licB=1",
    "licB=1||mem=100",
    "gpu=1",
    "gpu=1||licA=1",
    "mem=60,lic=1",
    "gpu=1,licA=1||licB=1",
]


#: What 10.1 adds; the first lists are kept as they are, so that each seed keeps its instance.
SPAN_10 = [*SPAN, "block=2", "block=2", "block=2", "block=3"]
CU_10 = [*CU, "pref=bestfit", "pref=bestfit:maxcus=2", "pref=bestfit:usablecuslots=2"]
CU_IN_TERMS = ["", "maxcus=1", "maxcus=2", "usablecuslots=2", "pref=bestfit", "pref=minavail"]
RUSAGE_10 = [
    *RUSAGE,
    "mem=50/host",
    "mem=50/task",
    "mem=100/job",
    "mem=(100 50)/task:duration=(2 3)",
    "mem=60/task,lic=1/host",
    "lic=1/task",
    "lic=1/job",
    "gpu=1/job",
    "gpu=1/task",
    "mem=200/job||mem=50/task",
    "licA=1/host||licB=1/task",
]


def newer_instance(random: Random) -> Instance:
    """As :func:`instance`, in the language of 10.1: every pending job asks for something new."""
    plain = instance(random)
    pending = tuple(
        replace(job, res_req=(_newer(random, job),), exclusive=False) for job in plain.pending
    )
    return replace(plain, pending=pending)


def _newer(random: Random, job: Job) -> str:
    if random.random() < 0.4 and job.slots > 1 and job.max_slots is None:
        return _compound(random, job.slots, newer=True)
    return _simple(random, newer=True) or "span[block=2]"


def instance(random: Random) -> Instance:
    """A problem of 1 to 4 hosts, 0 to 3 running and 1 to 3 pending jobs."""
    cluster = _cluster(random)
    usage = tuple(
        ReservationUsage(name, random.choice(["PER_JOB", "PER_HOST", "PER_SLOT"]))
        for name in ("lic", "licA", "gpu")
        if random.random() < 0.25
    )
    pending = tuple(_job(random, cluster, number) for number in range(random.choice([1, 2, 2, 3])))
    return Instance(
        cluster,
        queues=(_queue(random),),
        running=_running(random, cluster),
        pending=pending,
        limits=_limits(random, cluster),
        reservation_usage=usage,
        params=Params(reserve_per_slot=random.random() < 0.1),
    )


def _cluster(random: Random) -> Cluster:
    hosts = tuple(
        Host(
            f"h{number}",
            random.choice([1, 2, 2, 3, 3, 4]),
            type=random.choice("XXY"),
            amounts={
                "mem": float(random.choice([100, 200])),
                **({"gpu": float(random.randint(1, 2))} if random.random() < 0.5 else {}),
            },
        )
        for number in range(random.choice([1, 2, 3, 3, 3, 4]))
    )
    names = [host.name for host in hosts]
    cut = random.randint(1, len(names))
    parts = [names[:cut], names[cut : cut + 2], names[cut + 2 :]]
    units = tuple(ComputeUnit(f"e{n}", "enc", tuple(part)) for n, part in enumerate(parts) if part)
    some = [
        frozenset(random.sample(names, random.randint((len(names) + 1) // 2, len(names))))
        for _ in "ABC"
    ]
    shared = (
        SharedResource("lic", float(random.randint(1, 3)), random.choice([None, some[2]])),
        SharedResource("licA", 1.0, some[0]),
        SharedResource("licB", 1.0, some[1]),
        SharedResource("lim", 1.0),
    )
    return Cluster(hosts, unit_types=("enc",), default_unit_type="enc", units=units, shared=shared)


def _queue(random: Random) -> Queue:
    return Queue(
        "default",
        exclusive=random.choice(["CU[enc]"] * 9 + ["N"]),
        # Jobs do not say where they were submitted.
        res_req=random.choice(["type==any"] * 8 + ["select[type==any] rusage[lim=1]"]),
        host_slots=random.choice([None] * 6 + [2]),
        queue_slots=random.choice([None] * 6 + [3, 4]),
        user_slots=random.choice([None] * 6 + [3]),
    )


def _limits(random: Random, cluster: Cluster) -> tuple[Limit, ...]:
    if random.random() < 0.6:
        return ()
    names = tuple(host.name for host in cluster.hosts)
    amounts = random.choice(
        [{"slots": 2.0}, {"slots": 4.0}, {"jobs": 1.0}, {"mem": 150.0}, {"lic": 1.0}]
    )
    users = random.choice([None, Scope(("all",), each=True), Scope(("ann",))])
    hosts = random.choice([None, Scope(("all",), each=True), Scope(tuple(random.sample(names, 1)))])
    return (Limit("some", amounts, users=users, hosts=hosts),)


def _running(random: Random, cluster: Cluster) -> tuple[RunningJob, ...]:
    found: list[RunningJob] = []
    for host in cluster.hosts:
        taken = random.choice([0, 0, 1, 1, host.slots])
        if taken:
            asks = random.choice([(), (), ("rusage[mem=50]",), ("rusage[mem=50:duration=3]",)])
            limit = random.choice([1, 2, 3, 5, 8]) if random.random() < 0.95 else None
            job = Job(
                f"r{len(found)}",
                taken,
                user=random.choice(["ann", "bob"]),
                res_req=asks,
                run_limit=None if limit is None else limit * MINUTE,
            )
            found.append(RunningJob(job, 0, {host.name: taken}))
    return tuple(found)


def _job(random: Random, cluster: Cluster, number: int) -> Job:
    slots = random.choice([1, 2, 2, 2, 3, 4])
    compound = random.random() < 0.3 and slots > 1
    text = _compound(random, slots) if compound else _simple(random)
    most = slots + random.randint(1, 2) if random.random() < 0.2 and not compound else None
    hosts: tuple[HostRequest, ...] = ()
    if random.random() < 0.2:
        names = [host.name for host in cluster.hosts]
        chosen = random.sample(names, random.randint(1, len(names)))
        first = random.random() < 0.7
        hosts = tuple(HostRequest(name, first=first and at == 0) for at, name in enumerate(chosen))
    return Job(
        f"p{number}",
        slots,
        max_slots=most,
        user=random.choice(["ann", "bob"]),
        res_req=(text,) if text else (),
        run_limit=random.choice([1, 2, 3, 4, 6]) * MINUTE if random.random() < 0.93 else None,
        submit=-10 + number,
        begin=random.choice([None] * 8 + [30, 120]),
        weight=random.choice([1.0, 1.0, 2.0]),
        hosts=hosts,
        exclusive=random.random() < 0.12,
    )


def _simple(random: Random, *, within: bool = False, newer: bool = False) -> str:
    parts = []
    if newer and random.random() < 0.7:
        return _newest(random, within)
    if random.random() < 0.3:
        parts.append(f"select[{random.choice(SELECT)}]")
    if random.random() < 0.4:
        chosen = [text for text in RUSAGE if not within or ("||" not in text and "(" not in text)]
        parts.append(f"rusage[{random.choice(chosen)}]")
    if random.random() < 0.4:
        parts.append(f"span[{random.choice(SPAN)}]")
    if random.random() < 0.25:
        parts.append("same[type]")
    if random.random() < 0.35 and not within:
        parts.append(f"cu[{random.choice(CU)}]")
    return " ".join(parts)


def _newest(random: Random, within: bool) -> str:
    """Sections of 10.1, each as likely as not."""
    usages = [text for text in RUSAGE_10 if not within or ("||" not in text and "(" not in text)]
    choices = {"rusage": usages, "span": SPAN_10, "cu": CU_IN_TERMS if within else CU_10}
    parts = [
        f"{name}[{random.choice(of)}]" for name, of in choices.items() if random.random() < 0.5
    ]
    return " ".join(parts)


def _compound(random: Random, slots: int, *, newer: bool = False) -> str:
    first = random.randint(1, slots - 1)
    counts = [first, slots - first]
    if counts[1] > 1 and random.random() < 0.3:
        counts[1:] = [1, counts[1] - 1]
    terms = [_simple(random, within=True, newer=newer) or "select[ncpus>0]" for _ in counts]
    return " + ".join(f"{n}*{{{term}}}" for n, term in zip(counts, terms, strict=True))
