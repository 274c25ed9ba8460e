"""An enumerator that reads requirements for itself: every place of every job of a tiny instance.

It shares the model's plain data with Slotwise and nothing else: requirement strings are taken apart
here, in the small language that :mod:`enumerated_instances` writes, and each rule is written down
once more from the behaviour checklist. A *form* is one way to place a job: slots of each term on
each host, the rusage alternative, the first host of each term. What a form holds is a vector over
everything that can run out, so that jobs fit together where their vectors add up to no more than
there is, at every start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from slotwise import Host, Instance, Job, Limit

MINUTE = 60
NEVER = 1 << 40
Slots = Mapping[str, int]
Key = tuple[str, ...]


@dataclass(frozen=True)
class Usage:
    """Amounts of a resource over the life of a job: (amount, until), None for its end.

    per: ``host``, ``task`` or ``job``, "" where the cluster says it.
    """

    resource: str
    steps: tuple[tuple[float, int | None], ...]
    per: str = ""

    def at(self, elapsed: int) -> float:
        """The amount held so many seconds after the start."""
        return next((a for a, until in self.steps if until is None or elapsed < until), 0.0)


@dataclass(frozen=True)
class Asked:
    """One term: what its sections say."""

    count: int | None = None
    select: tuple[str, ...] = ()
    ptile: str = ""
    block: int = 1
    one_host: bool = False
    same: tuple[str, ...] = ()
    cu: Mapping[str, str] | None = None
    alternatives: tuple[tuple[Usage, ...], ...] = ((),)


def terms_of(text: str) -> tuple[Asked, ...]:
    """The terms of a requirement string; a simple one has one without a count."""
    found = re.findall(r"(?:(\d+)\*)?\{([^}]*)\}", text)
    if found:
        return tuple(_asked(body, int(count) if count else None) for count, body in found)
    return (_asked(text, None),)


def _asked(text: str, count: int | None) -> Asked:
    parts: dict[str, str] = dict(re.findall(r"(\w+)\[([^\]]*)\]", text))
    span = parts.get("span", "")
    cu = parts.get("cu")
    keys = None if cu is None else dict((*k.split("="), "")[:2] for k in cu.split(":") if k)
    return Asked(
        count,
        tuple(parts["select"].split("&&")) if "select" in parts else (),
        span.removeprefix("ptile=") if span.startswith("ptile") else "",
        int(span.removeprefix("block=")) if span.startswith("block") else 1,
        span == "hosts=1",
        tuple(parts["same"].split(":")) if "same" in parts else (),
        keys,
        tuple(_usages(item) for item in parts["rusage"].split("||"))
        if "rusage" in parts
        else ((),),
    )


def _usages(text: str) -> tuple[Usage, ...]:
    found = []
    for item in text.split(","):
        name, _, rest = item.partition("=")
        amounts, *options = rest.split(":")
        amounts, _, per = amounts.partition("/")
        numbers = [float(n) for n in amounts.strip("()").split()]
        minutes: list[int] = []
        for option in options:
            key, _, value = option.partition("=")
            assert key == "duration"
            minutes = [int(n) for n in value.strip("()").split()]
        ends: list[int | None] = [sum(minutes[: i + 1]) * MINUTE for i in range(len(minutes))]
        ends += [None] * (len(numbers) - len(ends))
        found.append(Usage(name.strip(), tuple(zip(numbers, ends, strict=True)), per))
    return tuple(found)


def _true(test: str, host: Host) -> bool:
    """One comparison of a select section."""
    match = re.fullmatch(r"\s*(\w+)\s*(==|!=|>=|>|<)\s*'?(\w+)'?\s*", test)
    assert match, test
    name, sign, value = match.groups()
    if name in ("type", "hname"):
        equal = {"type": host.type, "hname": host.name}[name] == value
        return equal if sign == "==" else not equal
    if name == "ncpus":
        own: float | None = host.slots
    else:
        own = host.amounts.get(name)
    if own is None:
        return False
    number = float(value)
    return {
        "==": own == number,
        "!=": own != number,
        ">=": own >= number,
        ">": own > number,
        "<": own < number,
    }[sign]


@dataclass(frozen=True)
class Form:
    """One way to place a job. terms: slots by host of each term, its first host first."""

    job: Job
    terms: tuple[tuple[tuple[str, int], ...], ...]
    alternative: int

    @cached_property
    def slots(self) -> dict[str, int]:
        """Slots by host."""
        found: dict[str, int] = {}
        for term in self.terms:
            for host, slots in term:
                found[host] = found.get(host, 0) + slots
        return found


@dataclass
class Enumerator:
    """All forms of the jobs of an instance and what they hold."""

    instance: Instance
    hosts: dict[str, Host] = field(init=False)
    capacity: dict[Key, float] = field(default_factory=dict)
    _keys: list[Key] = field(init=False)
    _vectors: dict[tuple[Form, int], Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts = {host.name: host for host in self.instance.cluster.hosts}
        for host in self.hosts.values():
            self.capacity["slots", host.name] = host.slots
            for name, amount in host.amounts.items():
                self.capacity[name, host.name] = amount
        for number, shared in enumerate(self.instance.cluster.shared):
            self.capacity["shared", str(number)] = shared.amount
        for job in self.everyone():
            self._limit_rows(job)
        self._keys = list(self.capacity)

    def everyone(self) -> list[Job]:
        """Running and pending jobs."""
        return [*(run.job for run in self.instance.running), *self.instance.pending]

    def _limit_rows(self, job: Job) -> None:
        queue = self.instance.queue(job.queue)
        if queue.queue_slots is not None:
            self.capacity["QJOB", queue.name] = queue.queue_slots
        if queue.user_slots is not None:
            self.capacity["UJOB", queue.name, job.user] = queue.user_slots
        for host in self.hosts:
            if queue.host_slots is not None:
                self.capacity["HJOB", queue.name, host] = queue.host_slots
        for limit in self.instance.limits:
            for key in self._rows(limit, job):
                self.capacity[key] = limit.amounts[key[2]]
        if job.array_limit is not None and "[" in job.id:  # %N: the least that an element says
            array = ("array", job.id.split("[")[0])
            self.capacity[array] = min(job.array_limit, self.capacity.get(array, NEVER))

    def _rows(self, limit: Limit, job: Job) -> Iterator[Key]:
        """(limit, name, resource, whose, host or "") of the rows that count the job."""
        users = limit.users
        if users is not None and "all" not in users.names and job.user not in users.names:
            return
        whose = job.user if users is not None and users.each else ""
        each = limit.hosts is not None and limit.hosts.each
        for resource in limit.amounts:
            for host in self._limited(limit) if each else [""]:
                yield ("limit", limit.name, resource, whose, host)

    def _limited(self, limit: Limit) -> list[str]:
        if limit.hosts is None or "all" in limit.hosts.names:
            return list(self.hosts)
        return [name for name in self.hosts if name in limit.hosts.names]

    def held(self, form: Form, elapsed: int) -> Any:
        """Everything that the form holds so many seconds after its start, as a vector."""
        key = (form, elapsed)
        if key not in self._vectors:
            total = dict.fromkeys(self._keys, 0.0)
            for what, amount in self._amounts(form, elapsed):
                total[what] += amount
            self._vectors[key] = np.array([total[what] for what in self._keys])
        return self._vectors[key]

    def _amounts(self, form: Form, elapsed: int) -> Iterator[tuple[Key, float]]:
        job, instance = form.job, self.instance
        queue = instance.queue(job.queue)
        for host in self._whole(form):
            yield ("slots", host), self.hosts[host].slots
        for host, slots in form.slots.items():
            if host not in self._whole(form):
                yield ("slots", host), slots
            if queue.queue_slots is not None:
                yield ("QJOB", queue.name), slots
            if queue.user_slots is not None:
                yield ("UJOB", queue.name, job.user), slots
            if queue.host_slots is not None:
                yield ("HJOB", queue.name, host), slots
        reserved: list[tuple[str, str, float]] = []  # resource, host or "" for shared, amount
        for position, (asked, term) in enumerate(zip(self.asked(job), form.terms, strict=True)):
            for usage in self._usages(job, asked, position, form.alternative):
                reserved += self._reserved(usage, term, elapsed)
        for resource, where, amount in reserved:
            yield (resource, where), amount
        if (array := ("array", job.id.split("[")[0])) in self.capacity and "[" in job.id:
            yield array, 1.0
        for limit in instance.limits:
            for row in self._rows(limit, job):
                yield row, self._counted(limit, row, form, reserved)

    def _whole(self, form: Form) -> set[str]:
        """Hosts that the job shares with nobody."""
        own = set(form.slots) if form.job.exclusive else set()
        cu = self.asked(form.job)[0].cu
        if cu is not None and "excl" in cu:
            for unit in self.instance.cluster.units:
                if set(unit.hosts) & set(form.slots):
                    own |= set(unit.hosts)
        return own

    def _usages(self, job: Job, asked: Asked, position: int, alternative: int) -> list[Usage]:
        """What a term reserves: its own rusage and what the queue adds."""
        own = [*asked.alternatives[alternative], *self._gpus(job)]
        names = {usage.resource for usage in own}
        everywhere = {
            usage.resource
            for term in self.asked(job)
            for item in term.alternatives
            for usage in item
        }
        for usage in terms_of(self.instance.queue(job.queue).res_req)[0].alternatives[0]:
            once = len(self.asked(job)) > 1 and self._method(usage) == "PER_JOB"
            if usage.resource in names or (once and (position or usage.resource in everywhere)):
                continue
            own.append(usage)
        return own

    def _gpu_options(self, job: Job) -> dict[str, str] | None:
        """What -gpu and the queue's GPU_REQ say, option by option, None where neither is there."""
        queue = self.instance.queue(job.queue).gpu_req
        if not job.gpu and not queue:
            return None
        found: dict[str, str] = {}
        for text in (self.instance.params.gpu_req, queue, job.gpu):
            found |= dict(part.split("=") for part in text.split(":") if "=" in part)
        return found

    def _gpus(self, job: Job) -> list[Usage]:
        """The GPUs of -gpu; none where some rusage counts them."""
        options = self._gpu_options(job)
        texts = (*job.res_req, self.instance.queue(job.queue).res_req)
        if options is None or any("ngpus" in text for text in texts):
            return []
        number, _, per = options.get("num", "1").partition("/")
        return [Usage("ngpus_physical", ((float(number), None),), per)]

    def _suits(self, job: Job, host: Host) -> bool:
        """Whether a host has the GPUs that -gpu names."""
        options = self._gpu_options(job) or {}
        if host.gpus is None:
            return not options
        model, mem = options.get("gmodel", ""), float(options.get("gmem", 0))
        return model in host.gpus.model and (host.gpus.mem or 0) >= mem

    def sharing(self, job: Job) -> bool:
        """Whether the job may share its GPUs with others like it."""
        options = self._gpu_options(job) or {}
        exclusive = "exclusive_process" in options.get("mode", "")
        return not exclusive and options.get("j_exclusive") != "yes"

    def _method(self, usage: Usage) -> str:
        if usage.per:
            return {"task": "PER_SLOT", "host": "PER_HOST", "job": "PER_JOB"}[usage.per]
        resource = usage.resource
        for item in self.instance.reservation_usage:
            if item.resource == resource:
                return item.method
        if self.instance.params.reserve_per_slot:
            return "PER_SLOT"
        return "PER_JOB" if self._is_shared(resource) else "PER_HOST"

    def _is_shared(self, resource: str) -> bool:
        return any(shared.name == resource for shared in self.instance.cluster.shared)

    def _reserved(
        self, usage: Usage, term: Sequence[tuple[str, int]], elapsed: int
    ) -> Iterator[tuple[str, str, float]]:
        """(resource, host, amount), or ("shared", location, amount)."""
        method = self._method(usage)
        if not self._is_shared(usage.resource):
            for place, (host, slots) in enumerate(term):
                times = {"PER_SLOT": slots, "PER_HOST": 1, "PER_JOB": place == 0}[method]
                yield usage.resource, host, times * usage.at(elapsed)
            return
        amount = usage.steps[0][0]  # static: no duration
        for number, shared in enumerate(self.instance.cluster.shared):
            if shared.name != usage.resource:
                continue
            inside = [n for host, n in term if shared.hosts is None or host in shared.hosts]
            times = {"PER_SLOT": sum(inside), "PER_HOST": len(inside), "PER_JOB": bool(inside)}
            yield "shared", str(number), times[method] * amount

    def _counted(
        self, limit: Limit, row: Key, form: Form, reserved: Iterable[tuple[str, str, float]]
    ) -> float:
        _, _, resource, _, host = row
        inside = [h for h in form.slots if h in self._limited(limit) and host in ("", h)]
        if resource == "slots":
            return sum(form.slots[h] for h in inside)
        if resource == "jobs":
            return float(bool(inside))
        if self._is_shared(resource):
            return self._shared_within(form, resource, inside)
        return sum(amount for name, h, amount in reserved if name == resource and h in inside)

    def _shared_within(self, form: Form, resource: str, inside: Sequence[str]) -> float:
        """What the form holds of a shared resource through some of its hosts."""
        total = 0.0
        for position, (asked, term) in enumerate(
            zip(self.asked(form.job), form.terms, strict=True)
        ):
            there = [slots for host, slots in term if host in inside]
            times = {"PER_SLOT": sum(there), "PER_HOST": len(there), "PER_JOB": bool(there)}
            for usage in self._usages(form.job, asked, position, form.alternative):
                if usage.resource == resource:
                    total += times[self._method(usage)] * usage.steps[0][0]
        return total

    def asked(self, job: Job) -> tuple[Asked, ...]:
        """The terms of a job; without a string one that asks for nothing."""
        return terms_of(" ".join(job.res_req))

    def forms(self, job: Job) -> list[Form]:
        """Every form that keeps the rules of the job on the empty cluster."""
        queue = self.instance.queue(job.queue)
        asked = self.asked(job)
        whole = job.exclusive or any(term.cu and "excl" in term.cu for term in asked)
        if whole and queue.exclusive == "N":
            return []
        if len(asked) > 1 or asked[0].count is not None:
            given = sum(term.count or 0 for term in asked)
            counts = [(term.count or job.slots - given,) for term in asked]
        else:
            even = asked[0].cu is not None and "balance" in asked[0].cu
            counts = [tuple(range(job.slots, (job.slots if even else job.most_slots) + 1))]
        found: list[Form] = []
        for alternative in range(len(asked[0].alternatives)):
            ways = [
                [w for n in sizes for w in self._term_forms(job, term, place, alternative, n)]
                for place, (term, sizes) in enumerate(zip(asked, counts, strict=True))
            ]
            for terms in product(*ways):
                form = Form(job, tuple(terms), alternative)
                if self._possible(form):
                    found.append(form)
        return list({self._kind(form): form for form in found}.values())

    def _kind(self, form: Form) -> tuple[object, ...]:
        """Forms that hold the same at all times are one."""
        times = {0, *drops(self, form.job)}
        return tuple(self.held(form, time).tobytes() for time in sorted(times))

    def _possible(self, form: Form) -> bool:
        limits = np.array([self.capacity[key] for key in self._keys])
        own = sum(form.slots.values())
        if own == 0 or any(n > self.hosts[h].slots for h, n in form.slots.items()):
            return False
        return bool((self.held(form, 0) <= limits + 1e-6).all())

    def _term_forms(
        self, job: Job, asked: Asked, position: int, alternative: int, count: int
    ) -> Iterator[tuple[tuple[str, int], ...]]:
        able = [
            name
            for name, host in self.hosts.items()
            if all(_true(test, host) for test in asked.select)
            and self._suits(job, host)
            and (not job.hosts or name in [request.name for request in job.hosts])
            and all(
                self._reaches(name, usage)
                for usage in self._usages(job, asked, position, alternative)
            )
        ]
        marked = [request.name for request in job.hosts if request.first]
        for size in range(1, min(len(able), count) + 1):
            for chosen in combinations(able, size):
                for amounts in _shares(count, [self.hosts[h].slots for h in chosen]):
                    held = dict(zip(chosen, amounts, strict=True))
                    if not self._shaped(asked, held):
                        continue
                    for first in chosen:
                        if position == 0 and marked and first not in marked:
                            continue
                        yield ((first, held[first]), *((h, held[h]) for h in held if h != first))

    def _reaches(self, name: str, usage: Usage) -> bool:
        if usage.steps[0][0] <= 0 or usage.resource in self.hosts[name].amounts:
            return True
        return any(
            shared.name == usage.resource and (shared.hosts is None or name in shared.hosts)
            for shared in self.instance.cluster.shared
        )

    def _shaped(self, asked: Asked, held: Slots) -> bool:
        if asked.one_host and len(held) > 1:
            return False
        tile = dict.fromkeys(held, NEVER)
        if asked.ptile and not asked.one_host:
            tile = {
                name: self.hosts[name].slots if asked.ptile == "'!'" else int(asked.ptile)
                for name in held
            }
            if any(n > tile[name] for name, n in held.items()):
                return False
            if sum(n < tile[name] for name, n in held.items()) > 1:
                return False
        if sum(n % asked.block > 0 for n in held.values()) > 1:
            return False
        for resource in asked.same:
            assert resource == "type"
            if len({self.hosts[name].type for name in held}) > 1:
                return False
        return asked.cu is None or self._in_units(asked.cu, held, tile, asked.block)

    def _in_units(self, cu: Mapping[str, str], held: Slots, tile: Slots, block: int) -> bool:
        units: dict[str, list[str]] = {}
        for name in held:
            owners = [unit.name for unit in self.instance.cluster.units if name in unit.hosts]
            if not owners:
                return False
            units.setdefault(owners[0], []).append(name)
        slots = {unit: sum(held[name] for name in names) for unit, names in units.items()}
        if "maxcus" in cu and len(units) > int(cu["maxcus"]):
            return False
        least = int(cu.get("usablecuslots", 0))
        if sum(n < least for n in slots.values()) > 1:
            return False
        if "balance" in cu:
            by_hosts = any(1 < tile[name] < NEVER for name in held)
            blocks = {u: sum(-(-held[name] // block) for name in units[u]) for u in units}
            parts = [len(units[unit]) if by_hosts else blocks[unit] for unit in units]
            return max(parts) - min(parts) <= 1
        return True


def _shares(count: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Ways to give each of some hosts 1 to its most slots, `count` in all."""
    if not most:
        if count == 0:
            yield ()
        return
    for first in range(1, min(count, most[0]) + 1):
        for rest in _shares(count - first, most[1:]):
            yield (first, *rest)


def length(job: Job) -> int:
    """Seconds from start to end; endless jobs never end."""
    return NEVER if job.run_limit is None else job.run_limit


def drops(them: Enumerator, job: Job) -> set[int]:
    """Seconds after its start at which a job may give something back before its end."""
    strings = [*them.asked(job), *terms_of(them.instance.queue(job.queue).res_req)]
    return {
        until
        for term in strings
        for item in term.alternatives
        for usage in item
        for _, until in usage.steps
        if until is not None and until < length(job)
    }
