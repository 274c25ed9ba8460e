"""Small random problems, each built around one kind of constraint and mixed with a few others.

Every time is a whole number of minutes, so that a reference may simply try every minute.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from slotwise import (
    AdvanceReservation,
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
    ResourceDefinition,
    RunningJob,
    Scope,
    SharedResource,
    User,
)

MINUTE = 60
Random = np.random.Generator


@dataclass
class Draft:
    """An instance in the making; `sections` are the parts of each pending job's -R."""

    hosts: list[dict[str, Any]]
    running: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    sections: list[dict[str, str]]
    queue: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    shared: list[SharedResource] = field(default_factory=list)
    resources: list[ResourceDefinition] = field(default_factory=list)

    def build(self) -> Instance:
        """The instance."""
        hosts = tuple(Host(**fields) for fields in self.hosts)
        half = (len(hosts) + 1) // 2
        units = tuple(
            ComputeUnit(f"e{number}", "enclosure", tuple(host.name for host in part))
            for number, part in enumerate((hosts[:half], hosts[half:]))
        )
        cluster = Cluster(
            hosts,
            unit_types=("enclosure",),
            default_unit_type="enclosure",
            units=units,
            resources=tuple(self.resources),
            shared=tuple(self.shared),
        )
        pending = []
        for fields, sections in zip(self.jobs, self.sections, strict=True):
            text = sections.get("compound") or " ".join(
                f"{name}[{value}]" for name, value in sections.items()
            )
            pending.append(Job(**fields, res_req=(text,) if text else ()))
        running = tuple(
            RunningJob(Job(**fields["job"]), 0, fields["allocation"]) for fields in self.running
        )
        return Instance(
            cluster=cluster,
            # Jobs do not say where they were submitted.
            queues=(
                Queue(
                    "default", exclusive="CU[enclosure]", **{"res_req": "type==any"} | self.queue
                ),
            ),
            running=running,
            pending=tuple(pending),
            origin="2026-03-02T00:00:00+00:00",
            **self.more,
        )


def draft(random: Random) -> Draft:
    """Two to four hosts, most of them partly busy, and two or three pending jobs."""
    hosts = [
        {
            "name": f"h{number}",
            "slots": int(random.integers(1, 4)),
            "type": "XY"[random.integers(2)],
            "amounts": {"mem": float(random.choice([100, 200]))},
        }
        for number in range(random.integers(2, 5))
    ]
    running = []
    for host in hosts:
        taken = int(random.integers(0, host["slots"] + 1))
        if taken:
            job = {"id": f"r{len(running)}", "slots": taken, "user": _user(random)}
            job["run_limit"] = MINUTE * int(random.integers(1, 8))
            running.append({"job": job, "allocation": {host["name"]: taken}})
    jobs = [
        {
            "id": f"p{number}",
            "slots": int(random.integers(1, 5)),
            "user": _user(random),
            "run_limit": MINUTE * int(random.integers(1, 7)),
            "submit": number - 10,
        }
        for number in range(random.integers(2, 4))
    ]
    return Draft(hosts, running, jobs, [{} for _ in jobs])


def _user(random: Random) -> str:
    return str(random.choice(["ann", "bob"]))


Feature = Callable[[Draft, Random], None]


def _section(name: str, *texts: str) -> Feature:
    """A requirement section for some of the jobs."""

    def apply(it: Draft, random: Random) -> None:
        chosen = random.random(len(it.jobs)) < 0.7
        chosen[random.integers(len(it.jobs))] = True
        for sections, here in zip(it.sections, chosen, strict=True):
            if here and "compound" not in sections:
                sections.setdefault(name, str(random.choice(texts)))

    return apply


def _both(*features: Feature) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        for feature in features:
            feature(it, random)

    return apply


def _queue(**fields: Any) -> Feature:
    return lambda it, random: it.queue.update(fields)


def _limit(name: str, amounts: dict[str, float], **scopes: Any) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        it.more["limits"] = (*it.more.get("limits", ()), Limit(name, amounts, **scopes))

    return apply


def _some_jobs(**fields: Any) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        for job in it.jobs:
            if random.random() < 0.6 or job is it.jobs[0]:
                job.update({k: v(random) if callable(v) else v for k, v in fields.items()})

    return apply


def _hosts(**fields: Any) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        for host in it.hosts:
            if random.random() < 0.6 or host is it.hosts[0]:
                host.update({k: v(random) if callable(v) else v for k, v in fields.items()})

    return apply


def _compound(it: Draft, random: Random) -> None:
    for job, sections in zip(it.jobs, it.sections, strict=True):
        if job["slots"] > 1 and not sections:
            first = int(random.integers(1, job["slots"]))
            one = random.choice(["span[ptile=1]", "select[type==X]", "rusage[mem=50]"])
            other = random.choice(["span[ptile=2]", "rusage[mem=100]", "span[hosts=1]"])
            sections["compound"] = f"{first}*{{{one}}} + {job['slots'] - first}*{{{other}}}"


def _per_host_resource(method: str) -> Feature:
    """A user-defined amount of each host, counted by `method`."""

    def apply(it: Draft, random: Random) -> None:
        if any(item.name == "gpu" for item in it.resources):
            return
        it.resources.append(ResourceDefinition("gpu"))
        for host in it.hosts:
            host["amounts"] = {**host["amounts"], "gpu": float(random.integers(1, 4))}
        usage = ReservationUsage("gpu", method)
        it.more["reservation_usage"] = (*it.more.get("reservation_usage", ()), usage)
        _section("rusage", "gpu=1", "gpu=2")(it, random)

    return apply


def _licence(method: str | None, *, part: bool = False, static: bool = True) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        if it.shared:
            return
        names = frozenset(host["name"] for host in it.hosts[:2]) if part else None
        it.shared.append(SharedResource("lic", float(random.integers(2, 5)), names, static=static))
        if method is not None:
            usage = ReservationUsage("lic", method)
            it.more["reservation_usage"] = (*it.more.get("reservation_usage", ()), usage)
        _section("rusage", "lic=1", "lic=2", "lic=2:duration=2")(it, random)

    return apply


def _places(method: str | None) -> Feature:
    """A licence with an amount in each of two places; the other hosts have none."""

    def apply(it: Draft, random: Random) -> None:
        if it.shared:
            return
        _licence(method, part=True)(it, random)
        rest = frozenset(host["name"] for host in it.hosts[2:3])
        it.shared.append(SharedResource("lic", float(random.integers(1, 4)), rest))

    return apply


def _labels(it: Draft, random: Random) -> None:
    """A string resource that some hosts lack."""
    it.resources.append(ResourceDefinition("os", kind="string"))
    for host in it.hosts:
        if random.random() < 0.7:
            host["strings"] = {"os": str(random.choice(["a", "b"]))}
    _section("same", "os", "type:os")(it, random)


def _named_hosts(*, first: bool = False, levels: bool = False) -> Feature:
    def apply(it: Draft, random: Random) -> None:
        for job in it.jobs:
            names = [host["name"] for host in it.hosts if random.random() < 0.8]
            names = names or [it.hosts[0]["name"]]
            mark = int(random.integers(len(names)))
            job["hosts"] = tuple(
                HostRequest(name, int(random.integers(3)) if levels else 0, first and at == mark)
                for at, name in enumerate(names)
            )

    return apply


def _reserved(it: Draft, random: Random) -> None:
    start = MINUTE * int(random.integers(0, 6))
    host = it.hosts[int(random.integers(len(it.hosts)))]
    end = start + MINUTE * int(random.integers(1, 5))
    slots = {host["name"]: int(random.integers(1, host["slots"] + 1))}
    it.more["advance_reservations"] = (AdvanceReservation("ar", start, end, slots),)


def _endless(it: Draft, random: Random) -> None:
    if it.running:
        it.running[int(random.integers(len(it.running)))]["job"]["run_limit"] = None


def _range(it: Draft, random: Random) -> None:
    for job in it.jobs:
        job["max_slots"] = job["slots"] + int(random.integers(0, 3))


def _minutes(low: int, high: int) -> Callable[[Random], int]:
    return lambda random: MINUTE * int(random.integers(low, high))


EACH_USER = Scope(("all",), each=True)
EACH_HOST = Scope(("all",), each=True)

#: Every kind of constraint, by name.
KINDS: dict[str, Feature] = {
    "no span": lambda it, random: None,
    "span[ptile]": _section("span", "ptile=1", "ptile=2", "ptile=3"),
    "span[ptile='!']": _section("span", "ptile='!'"),
    "span[ptile by type]": _both(
        _section("span", "ptile='!',X:1", "ptile='!',X:2,Y:1"), _section("same", "type")
    ),
    "span[hosts=1]": _section("span", "hosts=1"),
    "same": _section("same", "type"),
    "same, not on all hosts": _labels,
    "select": _section("select", "type==X", "mem>=150", "type==X || mem<150"),
    "order": _section("order", "mem", "-mem", "slots"),
    "rusage mem": _section("rusage", "mem=50", "mem=100", "mem=150"),
    "rusage phases": _section("rusage", "mem=(100 50):duration=(2 3)", "mem=(150 50):duration=(1)"),
    "rusage decay": _section("rusage", "mem=150:duration=3:decay=1"),
    "rusage alternatives": _section("rusage", "mem=200||mem=50", "mem=(200 50):duration=2||mem=90"),
    "RESOURCE_RESERVE_PER_SLOT": _both(
        lambda it, random: it.more.update(params=Params(reserve_per_slot=True)),
        _section("rusage", "mem=50", "mem=90"),
    ),
    "PER_HOST amount": _per_host_resource("PER_HOST"),
    "PER_SLOT amount": _per_host_resource("PER_SLOT"),
    "PER_JOB amount": _per_host_resource("PER_JOB"),
    "shared licence": _licence(None),
    "shared licence PER_SLOT": _licence("PER_SLOT"),
    "shared licence PER_HOST": _licence("PER_HOST"),
    "shared licence of some hosts": _licence(None, part=True),
    "shared licence in places": _places(None),
    "shared licence in places PER_SLOT": _places("PER_SLOT"),
    "limit of a licence in places": _both(_places(None), _limit("p", {"lic": 4.0})),
    "-m others": _some_jobs(hosts=(HostRequest("h1", 2), HostRequest("others", 1))),
    "queue HOSTS others": _queue(hosts=(HostRequest("others", 1), HostRequest("h0"))),
    "submission host": _both(
        _section("select", "type==local", "mem>0"), _some_jobs(from_host="h0")
    ),
    "shared dynamic resource": _licence(None, static=False),
    "cu[]": _section("cu", "pref=config", "pref=maxavail", "pref=minavail"),
    "cu[maxcus]": _section("cu", "maxcus=1", "maxcus=2"),
    "cu[usablecuslots]": _section("cu", "usablecuslots=2", "maxcus=2:usablecuslots=2"),
    "cu[balance]": _section("cu", "balance", "balance:maxcus=1"),
    "cu[excl]": _section("cu", "excl", "excl:maxcus=1"),
    "cu with ptile": _both(
        _section("cu", "maxcus=1", "balance", "usablecuslots=2"),
        _section("span", "ptile=1", "ptile=2"),
    ),
    "-x": _some_jobs(exclusive=True),
    "-m": _named_hosts(),
    "-m with preference": _named_hosts(levels=True),
    "-m first host": _named_hosts(first=True),
    "-n range": _range,
    "-b": _some_jobs(begin=_minutes(1, 8)),
    "compound": _compound,
    "queue RES_REQ": _queue(res_req="select[type==any] rusage[mem=50] span[ptile=2]"),
    "queue HOSTS": _queue(hosts=(HostRequest("h0", 1), HostRequest("h1"))),
    "QJOB_LIMIT": _queue(queue_slots=4),
    "UJOB_LIMIT": _queue(user_slots=4),
    "HJOB_LIMIT": _queue(host_slots=2),
    "PJOB_LIMIT": _queue(processor_slots=0.5),
    "MXJ and JL/U": _hosts(user_slots=1, ncpus=1),
    "MAX_JOBS": lambda it, random: it.more.update(users=(User("ann", 4), User("default", 4, 1.0))),
    "limit SLOTS of each user": _limit("u", {"slots": 4.0}, users=EACH_USER),
    "limit SLOTS of some hosts": _limit("h", {"slots": 3.0}, hosts=Scope(("h0", "h1"))),
    "limit SLOTS of each host": _limit("e", {"slots": 2.0}, hosts=EACH_HOST),
    "limit SLOTS_PER_PROCESSOR": lambda it, random: it.more.update(
        limits=(Limit("c", {}, 0.5, hosts=EACH_HOST),)
    ),
    "limit JOBS": _limit("j", {"jobs": 2.0}),
    "limit JOBS of each host": _limit("k", {"jobs": 1.0}, hosts=EACH_HOST),
    "limit MEM": _both(_limit("m", {"mem": 200.0}), _section("rusage", "mem=50", "mem=100")),
    "jobs without an end": _endless,
    "advance reservation": _reserved,
    "DISPATCH_WINDOW": _queue(dispatch_window="(0:03-0:05 0:07-23:50)"),
    "RUN_WINDOW": _queue(run_window="(0:01-0:05 0:08-23:50)"),
    "host DISPATCH_WINDOW": _hosts(windows="(0:02-0:04 0:06-23:50)"),
}


def case(seed: int) -> tuple[Instance, set[str]]:
    """An instance and the kinds of constraint in it; the kinds come up in turn."""
    random = np.random.default_rng(seed)
    names = list(KINDS)
    wanted = [names[seed % len(names)]]
    if random.random() < 0.7:
        wanted.append(names[int(random.integers(len(names)))])
    it = draft(random)
    for name in dict.fromkeys(wanted):
        KINDS[name](it, random)
    return it.build(), set(wanted)
