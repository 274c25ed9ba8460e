"""Small sites in which chosen features meet: one function a feature, and a cover of their pairs.

Every time is a whole number of minutes and what each job asks for stands beside it as plain data
(:class:`combined_enumerator.Term`), so that an enumerator that shares nothing may try everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from random import Random
from typing import Any

from combined_enumerator import MINUTE, Amount, Case, Term, Window
from combined_instances import clock, text_of
from slotwise import (
    AdvanceReservation,
    Cluster,
    ComputeUnit,
    Gpus,
    Host,
    HostPartition,
    HostRequest,
    Instance,
    Job,
    Limit,
    Params,
    Queue,
    RunningJob,
    Scope,
    SharedResource,
    User,
)
from slotwise.model.absolute_priority import AbsolutePriority, StatedPriority
from slotwise.model.service_class import (
    Guarantee,
    GuaranteedAmount,
    GuaranteedPool,
    LoanPolicy,
    ServiceClass,
)

Values = dict[str, Any]


@dataclass
class Draft:
    """A site in the making: the fields of its parts, and of the instance."""

    random: Random
    hosts: list[Values]
    jobs: list[Values]
    #: Of each pending job, by its id, what its term asks for.
    asks: dict[str, Values]
    running: list[Values]
    #: ``a`` is the first; two of equal priority.
    queues: dict[str, Values] = field(default_factory=lambda: {"a": {}, "b": {}})
    shared: list[SharedResource] = field(default_factory=list)
    params: Values = field(default_factory=dict)
    more: Values = field(default_factory=dict)
    dispatch: dict[str, Window] = field(default_factory=dict)
    run: dict[str, Window] = field(default_factory=dict)
    host_windows: dict[str, Window] = field(default_factory=dict)
    #: Jobs of ``more`` that are submitted later: so many of the last ones.
    later: int = 0

    def some(self, items: Sequence[Any], chance: float = 0.6) -> list[Any]:
        """Some of the items, at least one."""
        chosen = [item for item in items if self.random.random() < chance]
        return chosen or [self.random.choice(items)]

    def minutes(self, first: int, last: int) -> int:
        """Seconds."""
        return MINUTE * self.random.randint(first, last)

    def reserve(self, *choices: Amount, chance: float = 0.6) -> None:
        """Some jobs reserve one of the amounts, beside what they reserve of other resources."""
        for job in self.some(self.jobs, chance):
            amount = self.random.choice(choices)
            held = self.asks[job["id"]].setdefault("amounts", [])
            if all(item.resource != amount.resource for item in held):
                held.append(amount)

    def shape(self, chance: float = 0.6, **choices: Sequence[Any]) -> None:
        """Some jobs get a value for a part of their term, unless they have one."""
        for job in self.some(self.jobs, chance):
            for name, values in choices.items():
                self.asks[job["id"]].setdefault(name, self.random.choice(values))

    def ask(self, **choices: Sequence[Any]) -> None:
        """Some jobs get a value for a field."""
        for job in self.some(self.jobs):
            for name, values in choices.items():
                job[name] = self.random.choice(values)


Feature = Callable[[Draft], None]


def _cu(it: Draft) -> None:
    kinds = ({}, {"maxcus": "1"}, {"maxcus": "2"}, {"balance": ""}, {"usablecuslots": "2"})
    it.shape(cu=kinds)


def _cu_excl(it: Draft) -> None:
    it.shape(0.35, cu=({"excl": ""}, {"excl": "", "maxcus": "1"}))


def _phases(it: Draft) -> None:
    lengths = (1, 2, 3)
    amounts = [Amount("mem", (100, 50), (m,), decay) for m in lengths for decay in (False, True)]
    it.reserve(*amounts, *(Amount("mem", (100,), (m,)) for m in lengths))


def _licence(it: Draft) -> None:
    it.shared.append(SharedResource("lic", float(it.random.randint(1, 3))))
    it.reserve(Amount("lic", (1,)), Amount("lic", (1,)), Amount("lic", (1,), (2,)))


def _guarantees(it: Draft) -> None:
    """Some jobs are of classes to which a pool of slots guarantees some; perhaps others borrow."""
    classes = ("red", "blue")[: it.random.choice([1, 2])]
    names = [host["name"] for host in it.hosts]
    loans = LoanPolicy(it.random.choice([("all",), ("a",)])) if it.random.random() < 0.4 else None
    amounts = (GuaranteedAmount(float(it.random.choice([1, 1, 2]))) for _ in classes)
    shares = tuple(map(Guarantee, classes, amounts))
    where = tuple(it.random.choice([(), it.some(names)]))
    it.more["service_classes"] = tuple(map(ServiceClass, classes))
    it.more["guaranteed_pools"] = (
        GuaranteedPool("pool", distribution=shares, hosts=where, loans=loans),
    )
    for job in [*(item["job"] for item in it.running), *it.jobs]:
        if it.random.random() < 0.4:
            job["service_class"] = it.random.choice(classes)


def _array(it: Draft) -> None:
    """The last two or three jobs are elements; perhaps one of them runs."""
    limit = it.random.choice([1, 1, 2])
    elements = it.jobs[-it.random.choice([2, 3]) :]
    for number, job in enumerate(elements, start=2):
        old, new = job["id"], f"7[{number}]"
        it.asks[new] = dict(it.asks[elements[0]["id"]] if number > 2 else it.asks.pop(old))
        it.asks.pop(old, None)
        fields = {} if number == 2 else elements[0]
        job |= {**fields, "id": new, "submit": job["submit"], "array_limit": limit}
    if it.running and it.random.random() < 0.6:
        it.running[0]["job"] |= {"id": "7[1]", "array_limit": limit}


def _dependency(it: Draft) -> None:
    """Jobs wait for one before them, or for one that runs."""
    known = [item["job"]["id"] for item in it.running] + [job["id"] for job in it.jobs]
    for job in it.some(it.jobs[1:], 0.4):
        before = known[: known.index(job["id"])]
        word = it.random.choice(["done", "done", "ended", "started"])
        job["dependency"] = f"{word}({it.random.choice(before)})"


def _gpus(it: Draft) -> None:
    for host in it.hosts:
        host["gpus"] = it.random.choice([1, 2])
    for job in it.some(it.jobs):
        job["gpu"] = it.random.choice(["num=1:j_exclusive=yes", "num=2:j_exclusive=yes"])


def _preemption(it: Draft) -> None:
    it.queues["b"] |= {"priority": 5, "preemptive": ("a",)}
    if it.random.random() < 0.4:
        it.queues["b"]["slot_reserve"] = 20


def _accept(it: Draft) -> None:
    it.params["job_accept_interval"] = it.random.choice([1, 2])


def _partition(it: Draft) -> None:
    cut = it.random.randint(1, len(it.hosts))
    names = [host["name"] for host in it.hosts]
    parts = [part for part in (names[:cut], names[cut:]) if part]
    shares = (("ann", it.random.randint(1, 3)), ("bob", 1))
    found = (HostPartition(f"part{n}", tuple(part), shares) for n, part in enumerate(parts))
    it.more["partitions"] = tuple(found)


def _window(it: Draft) -> Window:
    first = it.random.randint(1, 6)
    return first, first + it.random.randint(3, 12)


def _windows(it: Draft) -> None:
    kind = it.random.choice(["dispatch", "run", "host"])
    if kind == "host":
        host = it.random.choice(it.hosts)
        it.host_windows[host["name"]] = window = _window(it)
        host["windows"] = clock(window)
        return
    name = it.random.choice(sorted(it.queues))
    window = _window(it)
    (it.dispatch if kind == "dispatch" else it.run)[name] = window
    it.queues[name][f"{kind}_window"] = clock(window)


def _resizable(it: Draft) -> None:
    for job in it.some(it.jobs, 0.4):
        if not it.asks[job["id"]]:
            job |= {"resizable": True, "max_slots": job["slots"] + it.random.randint(1, 2)}


def _range(it: Draft) -> None:
    for job in it.some(it.jobs, 0.5):
        job["max_slots"] = job["slots"] + it.random.randint(1, 2)


def _fairshare(it: Draft) -> None:
    shares = (("ann", it.random.randint(1, 3)), ("bob", 1))
    for queue in it.queues.values():
        queue["user_shares"] = shares


def _absolute(it: Draft) -> None:
    """One order over both queues; perhaps job priorities grow."""
    weights = ("[JPRIORITY, 1] [PROC, -2]", "[QPRIORITY, 5] [JPRIORITY, 1]", "[FS, 10] [PROC, 3]")
    text = f"WEIGHT[{it.random.choice(weights)}]"
    if it.random.random() < 0.4:
        text += " GRACE_PERIOD[[PROC, 2m] [JPRIORITY, 4m]] LIMIT[[WORK, 8]]"
    it.queues["a"] |= {"aps_priority": AbsolutePriority.parse(text), "queue_group": ("b",)}
    if it.random.random() < 0.4:
        it.params |= {"max_user_priority": 20, "job_priority_over_time": (3, 2)}
    it.ask(
        priority=(0, 5, 10), aps=(None, None, *map(StatedPriority.parse, ("admin=4", "system=2")))
    )


def _priorities(it: Draft) -> None:
    it.queues["a"]["priority"], it.queues["b"]["priority"] = it.random.choice([(3, 1), (1, 3)])


def _each_queue(**choices: Sequence[Any]) -> Feature:
    def apply(it: Draft) -> None:
        for name, values in choices.items():
            value = it.random.choice(values)
            for queue in it.queues.values():
                queue[name] = value

    return apply


def _backfill_partly(it: Draft) -> None:
    on = it.random.choice(["a", "b"])
    for name, queue in it.queues.items():
        queue["backfill"] = name == on


def _limit(amounts: Sequence[Values], **scopes: Scope) -> Feature:
    def apply(it: Draft) -> None:
        known = it.more.get("limits", ())
        limit = Limit(f"l{len(known)}", it.random.choice(amounts), **scopes)
        it.more["limits"] = (*known, limit)

    return apply


def _first_host(it: Draft) -> None:
    names = [host["name"] for host in it.hosts]
    for job in it.some(it.jobs, 0.4):
        first = it.random.choice(names)
        job["hosts"] = tuple(HostRequest(name, 0, name == first) for name in names)


def _advance(it: Draft) -> None:
    host, start = it.random.choice(it.hosts), it.minutes(0, 6)
    slots = {host["name"]: it.random.randint(1, host["slots"])}
    item = AdvanceReservation("ar", start, start + it.minutes(1, 5), slots)
    it.more["advance_reservations"] = (*it.more.get("advance_reservations", ()), item)


def _reserved_by_name(it: Draft) -> None:
    """Some jobs run in a reservation, which leaves the one of nobody what it has."""
    start = it.minutes(0, 4)
    before = it.more.get("advance_reservations", ())
    taken = {name for item in before for name in item.slots}
    free = [host for host in it.hosts if host["name"] not in taken] or it.hosts[:1]
    slots = {host["name"]: it.random.randint(1, host["slots"]) for host in it.some(free)}
    users = it.random.choice([("all",), ("all",), ("ann",)])
    end, is_open = start + it.minutes(1, 6), it.random.random() < 0.3
    item = AdvanceReservation("u#0", start, end, slots, users=users, open=is_open)
    it.more["advance_reservations"] = (*before, item)
    it.params["open_reservations_continue"] = it.random.random() < 0.5
    for job in it.some(it.jobs, 0.5):
        job["reservation"] = "u#0"


def _endless(it: Draft) -> None:
    everyone = [item["job"] for item in it.running] + it.jobs
    it.random.choice(everyone)["run_limit"] = None


def _later(it: Draft) -> None:
    it.later = it.random.choice([1, 2])


def _ends_early(it: Draft) -> None:
    for job in it.some([*(item["job"] for item in it.running), *it.jobs], 0.5):
        job["run_time"] = it.random.randint(1, job.get("run_limit") or 300)


FEATURES: dict[str, Feature] = {
    "ptile": lambda it: it.shape(tile=(1, 1, 2, 3)),
    "one host": lambda it: it.shape(one_host=(True,)),
    "same": lambda it: it.shape(same=(True,)),
    "cu": _cu,
    "cu[excl]": _cu_excl,
    "-x": lambda it: it.ask(exclusive=(True, False)),
    "memory": lambda it: it.reserve(Amount("mem", (50,)), Amount("mem", (100,)), chance=0.7),
    "memory phases": _phases,
    "licence": _licence,
    "user limit": lambda it: it.more.update(users=(User("ann", it.random.choice([2, 3])),)),
    "queue limit": _each_queue(queue_slots=(3, 4)),
    "host limit": _each_queue(host_slots=(1, 2)),
    "limit of jobs": _limit([{"jobs": 1.0}, {"jobs": 2.0}]),
    "limit of each user": _limit([{"slots": 2.0}, {"slots": 4.0}], users=Scope(("all",), True)),
    "guarantees": _guarantees,
    "array %N": _array,
    "-w": _dependency,
    "GPUs": _gpus,
    "-b": lambda it: it.ask(begin=[MINUTE * n for n in (1, 2, 3, 5, 8)]),
    "-t": lambda it: it.ask(deadline=[MINUTE * n for n in (5, 8, 12, 30)]),
    "-We": lambda it: it.ask(estimated_run_time=[MINUTE, 2 * MINUTE]),
    "preemption": _preemption,
    "BACKFILL": _each_queue(backfill=(True,)),
    "BACKFILL partly": _backfill_partly,
    "SLOT_RESERVE": _each_queue(slot_reserve=(100,)),
    "SLOT_RESERVE expiring": _each_queue(slot_reserve=(1, 2, 3)),
    "RESOURCE_RESERVE": _each_queue(resource_reserve=(2, 100)),
    "accept interval": _accept,
    "partition": _partition,
    "windows": _windows,
    "resizable": _resizable,
    "range": _range,
    "fairshare": _fairshare,
    "priorities": _priorities,
    "APS": _absolute,
    "-m first": _first_host,
    "advance reservation": _advance,
    "reservation by name": _reserved_by_name,
    "no limit": _endless,
    "later jobs": _later,
    "ends early": _ends_early,
}
#: What no instance has both of.
APART = ({"fairshare", "partition"}, {"BACKFILL", "BACKFILL partly"}, {"cu", "cu[excl]"})
APART += ({"SLOT_RESERVE", "SLOT_RESERVE expiring"}, {"memory", "memory phases"})
APART += ({"APS", "partition"},)
APART += ({"preemption", "priorities"}, {"one host", "ptile"}, {"range", "resizable"})
PAIRS = [pair for pair in combinations(FEATURES, 2) if set(pair) not in APART]


def go_together(names: set[str]) -> bool:
    """Whether an instance can have them all."""
    return not any(pair <= names for pair in APART)


def cover(size: int = 7) -> list[tuple[str, ...]]:
    """Few sets of so many features with each pair in one of them."""
    random, rows = Random(0), list[tuple[str, ...]]()
    missing = {frozenset(pair) for pair in PAIRS}
    while missing:
        row = set(min(missing, key=sorted))
        while len(row) < size:
            gains = {
                name: sum(frozenset((name, other)) in missing for other in row)
                for name in FEATURES
                if name not in row and go_together({*row, name})
            }
            best = max(gains.values())
            row.add(random.choice([name for name, gain in gains.items() if gain == best]))
        missing -= set(map(frozenset, combinations(row, 2)))
        rows.append(tuple(name for name in FEATURES if name in row))
    return rows


def features_of(seed: int) -> tuple[str, ...]:
    """A pair, all in turn, with none to three features more."""
    random = Random(f"features {seed}")
    chosen = set(PAIRS[seed % len(PAIRS)])
    for name in random.sample(list(FEATURES), random.choice([0, 0, 1, 2, 3])):
        if go_together({*chosen, name}):
            chosen.add(name)
    return tuple(name for name in FEATURES if name in chosen)


def case(names: Sequence[str], seed: int) -> Case:
    """2 or 3 hosts, up to 3 running and 3 or 4 pending jobs in two queues, with these features."""
    random = Random(f"pairs {seed} {' '.join(names)}")
    it = _draft(random)
    for name in names:
        FEATURES[name](it)
    return _built(it)


def _draft(random: Random) -> Draft:
    hosts = [
        {"name": f"h{n}", "slots": random.choice([1, 2, 2, 3, 4]), "type": random.choice("XXY")}
        for n in range(random.choice([2, 2, 3]))
    ]
    running: list[Values] = []
    for host in hosts:
        taken = random.randint(0, host["slots"])
        if taken:
            job = _job(random, f"r{len(running)}", taken)
            running.append({"job": job, "start": -MINUTE * random.randint(0, 2), "on": host})
    jobs = [_job(random, f"p{n}", random.choice([1, 1, 2, 2, 3, 4])) for n in range(4)]
    jobs = jobs[: random.choice([3, 3, 4])]
    for number, job in enumerate(jobs):
        job["submit"] = number - 600
    return Draft(random, hosts, jobs, {job["id"]: {} for job in jobs}, running)


def _job(random: Random, name: str, slots: int) -> Values:
    fields = {"id": name, "slots": slots, "user": random.choice(["ann", "bob"])}
    return {**fields, "queue": random.choice("ab"), "run_limit": MINUTE * random.randint(1, 6)}


def _built(it: Draft) -> Case:
    asks: dict[str, tuple[Term, ...]] = {}
    pending = []
    for fields in it.jobs:
        asked = dict(it.asks[fields["id"]])
        amounts = tuple(asked.pop("amounts", ()))
        cu = asked.pop("cu", None)
        shown = Term(cu=None if cu is None else tuple(cu.items()), alternatives=(amounts,), **asked)
        text = text_of(shown)
        asks[fields["id"]] = (_with_gpus(shown, fields.get("gpu", "")),)
        pending.append(Job(**fields, res_req=(text,) if text else ()))
    running = []
    for item in it.running:
        job = Job(**item["job"], submit=item["start"])
        asks[job.id] = (Term(),)
        running.append(RunningJob(job, item["start"], {item["on"]["name"]: job.slots}))
    count = len(pending) - it.later
    future = [_submitted(job, it.minutes(1, 6)) for job in pending[count:]]
    instance = Instance(
        _cluster(it),
        tuple(
            Queue(name, **{"exclusive": "CU[enc]", **fields}) for name, fields in it.queues.items()
        ),
        tuple(running),
        tuple(pending[:count]),
        tuple(sorted(future, key=lambda job: job.submit)),
        params=Params(mbd_sleep_time=MINUTE, **it.params),
        **it.more,
    )
    return Case(instance, asks, it.host_windows, it.dispatch, it.run)


def _submitted(job: Job, time: int) -> Job:
    """The job as it comes then."""
    return replace(job, submit=time)


def _with_gpus(term: Term, gpu: str) -> Term:
    if not gpu:
        return term
    amount = Amount("ngpus_physical", (int(gpu.partition(":")[0].removeprefix("num=")),))
    return replace(term, alternatives=tuple((*each, amount) for each in term.alternatives))


def _cluster(it: Draft) -> Cluster:
    hosts = tuple(
        Host(
            **{**fields, "gpus": Gpus(fields["gpus"]) if "gpus" in fields else None},
            amounts={"mem": float(it.random.choice([100, 200]))},
        )
        for fields in it.hosts
    )
    names = [host.name for host in hosts]
    cut = it.random.randint(1, len(names) - 1)
    units = tuple(
        ComputeUnit(f"e{n}", "enc", tuple(part))
        for n, part in enumerate((names[:cut], names[cut:]))
    )
    return Cluster(hosts, (), ("enc",), "enc", units, shared=tuple(it.shared))
