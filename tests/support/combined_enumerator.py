"""Plans of tiny instances by trying everything, where rules meet that seldom stand together.

A case is an instance and, beside it, what each job asks for as plain data, so that no requirement
is read here. Every rule is a row that can run out (slots of a host, an amount, a limit) or a test
of one allocation; nothing of the solver, nor of the other enumerator of the tests, is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product

import absolute_reference
from slotwise import AdvanceReservation, Host, Instance, Job, Limit, Plan, Scope

MINUTE, DAY, NEVER = 60, 86_400, 1 << 40
#: Minutes of every day at which something is open: [first, second).
Window = tuple[int, int]
Row = tuple[str, ...]


@dataclass(frozen=True)
class Amount:
    """What a term reserves. values: one a phase; minutes: their lengths, the last may be without.

    decay: whether a phase falls in a line to the next one. per: host, task or job.
    """

    resource: str
    values: tuple[int, ...]
    minutes: tuple[int, ...] = ()
    decay: bool = False
    per: str = "host"

    def after(self, seconds: int) -> float:
        """Held so many seconds after the start, by whole minutes."""
        begin = 0
        for number, value in enumerate(self.values):
            if number >= len(self.minutes):
                return value
            last = begin + self.minutes[number]
            if seconds < last * MINUTE:
                below = self.values[number + 1] if number + 1 < len(self.values) else 0
                gone = (seconds // MINUTE - begin) / self.minutes[number] if self.decay else 0.0
                return value - (value - below) * gone
            begin = last
        return 0.0

    @property
    def changes(self) -> range:
        """Seconds after the start at which it may fall."""
        return range(MINUTE, sum(self.minutes) * MINUTE + 1, MINUTE)


@dataclass(frozen=True)
class Term:
    """What one term asks for; count None: all slots of the job. cu None: no cu section."""

    count: int | None = None
    kind: str = ""
    tile: int = 0
    one_host: bool = False
    block: int = 1
    same: bool = False
    cu: tuple[tuple[str, str], ...] | None = None
    alternatives: tuple[tuple[Amount, ...], ...] = ((),)


@dataclass(frozen=True)
class Form:
    """One allocation of a job: slots by host for each term, and the alternative of its rusage."""

    job: str
    terms: tuple[tuple[tuple[str, int], ...], ...]
    alternative: int = 0

    @cached_property
    def slots(self) -> dict[str, int]:
        """Slots by host."""
        found: dict[str, int] = {}
        for term in self.terms:
            for host, slots in term:
                found[host] = found.get(host, 0) + slots
        return found


@dataclass
class Case:
    """An instance; what its jobs ask for; windows of hosts and of queues (dispatch, run)."""

    instance: Instance
    asks: Mapping[str, tuple[Term, ...]]
    host_windows: Mapping[str, Window] = field(default_factory=dict)
    dispatch: Mapping[str, Window] = field(default_factory=dict)
    run: Mapping[str, Window] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hosts: dict[str, Host] = {host.name: host for host in self.instance.cluster.hosts}
        everyone = [*(run.job for run in self.instance.running), *self.instance.pending]
        self.jobs: dict[str, Job] = {job.id: job for job in everyone}
        now = self.instance.now
        self._least = {run.job.id: now + 1 - run.start for run in self.instance.running}
        self.holds = lru_cache(None)(self._holds)
        self.full: dict[Row, float] = self._full()
        self.base = [
            (Form(run.job.id, (tuple(run.allocation.items()),), run.alternative), run.start)
            for run in self.instance.running
        ]
        self.forms = {job.id: list(self._forms(job)) for job in self.instance.pending}

    @property
    def order(self) -> list[Job]:
        """The pending jobs as the scheduler takes them."""
        waiting = absolute_reference.order(self.instance)
        found: list[Job] = []
        while waiting:  # who waits for a job comes behind it
            ahead = {job.id for job in waiting}
            job = next((j for j in waiting if self.waits_for(j) not in ahead), waiting[0])
            waiting.remove(job)
            found.append(job)
        return found

    @staticmethod
    def waits_for(job: Job) -> str:
        """The job that its condition names, "" without one."""
        return job.dependency.rstrip(")").partition("(")[2]

    def length(self, job: str) -> int:
        """Seconds from start to end; what runs now ends in the next second or later.

        A closed run window suspends it.
        """
        limit = self.jobs[job].run_limit
        if limit is None or job not in self._least or self.jobs[job].queue not in self.run:
            return NEVER if limit is None else max(limit, self._least.get(job, 0))
        time, elapsed = self.instance.now, self._least[job] - 1
        first, last = (minute * MINUTE for minute in self.run[self.jobs[job].queue])
        length, left = elapsed, max(limit, self._least[job]) - elapsed
        while left:
            second = (time + length - elapsed) % DAY
            runs = min(left, last - second) if first <= second < last else 0
            left -= runs
            length += runs or (first - second) % DAY
        return length

    def booked(self, job: str) -> AdvanceReservation | None:
        """The reservation of a job, None for none."""
        name = self.jobs[job].reservation
        return next((i for i in self.instance.advance_reservations if i.name == name), None)

    def end(self, job: str, start: int) -> int:
        """When a job ends that starts then: a closed reservation kills it."""
        item = self.booked(job)
        end = start + self.length(job)
        return end if item is None or item.open else min(end, item.end)

    def _full(self) -> dict[Row, float]:
        full: dict[Row, float] = {}
        for name, host in self.hosts.items():
            full["slots", name] = full["outside", name] = host.slots
            full |= {(resource, name): amount for resource, amount in host.amounts.items()}
        for item in self.instance.advance_reservations:
            full |= {(item.name, name): item.slots.get(name, 0) for name in self.hosts}
        for shared in self.instance.cluster.shared:
            full["shared", shared.name] = shared.amount
        for job in self.jobs.values():
            full |= dict(self._limits(job))
        return full

    def _limits(self, job: Job) -> Iterator[tuple[Row, float]]:
        queue, me = self.instance.queue(job.queue), job.user
        users = {user.name: user for user in self.instance.users}
        if queue.queue_slots is not None:
            yield ("QJOB", queue.name), queue.queue_slots
        array = job.id.split("[")[0]
        asked = [each.array_limit for each in self.jobs.values() if each.id.startswith(f"{array}[")]
        if job.id != array and (given := [limit for limit in asked if limit is not None]):
            yield ("array", array), min(given)
        if queue.user_slots is not None:
            yield ("UJOB", queue.name, me), queue.user_slots
        if me in users and users[me].max_slots is not None:
            yield ("MAX", me), users[me].max_slots or 0
        for name, host in self.hosts.items():
            if queue.host_slots is not None:
                yield ("HJOB", queue.name, name), queue.host_slots
            if queue.processor_slots is not None:
                yield ("PJOB", queue.name, name), whole(queue.processor_slots * host.processors)
            if host.user_slots is not None:
                yield ("JLU", name, me), host.user_slots
            if me in users and users[me].processor_slots is not None:
                yield ("JLP", me, name), whole((users[me].processor_slots or 0) * host.processors)
        for limit in self.instance.limits:
            for resource, amount in limit.amounts.items():
                for where in self._limited(limit):
                    row = self._limit_row(limit, job, resource, where)
                    if row:
                        yield row, amount

    def _limited(self, limit: Limit) -> list[tuple[str, ...]]:
        """Hosts that count together, for each count."""
        names = [name for name in self.hosts if covers(limit.hosts, name)]
        each = limit.hosts is not None and limit.hosts.each
        return [(name,) for name in names] if each else [tuple(names)]

    @staticmethod
    def _limit_row(limit: Limit, job: Job, resource: str, where: tuple[str, ...]) -> Row | None:
        scopes = (
            *((limit.users, job.user), (limit.queues, job.queue), (limit.projects, job.project)),
            (limit.lic_projects, job.license_project),
        )
        if not all(covers(scope, name) for scope, name in scopes):
            return None
        who = (name if scope is not None and scope.each else "" for scope, name in scopes)
        return ("limit", limit.name, resource, *who, *where)

    def _reserved(self, form: Form, elapsed: int) -> Iterator[tuple[str, str, float]]:
        """(resource, host, amount); of shared ones the first host of a term stands for it."""
        shared = {item.name: item for item in self.instance.cluster.shared}
        for ask, term in zip(self.asks[form.job], form.terms, strict=True):
            for amount in ask.alternatives[form.alternative]:
                item = shared.get(amount.resource)
                if item is not None:
                    now = amount.values[0] if item.static else amount.after(elapsed)
                    yield amount.resource, term[0][0], now
                    continue
                for place, (host, slots) in enumerate(term):
                    times = {"host": 1, "task": slots, "job": int(place == 0)}[amount.per]
                    yield amount.resource, host, times * amount.after(elapsed)

    def own_hosts(self, form: Form) -> set[str]:
        """Hosts that no other job may use beside it."""
        own = set(form.slots) if self.jobs[form.job].exclusive else set()
        cu = self.asks[form.job][0].cu
        if cu is not None and "excl" in dict(cu):
            for unit in self.instance.cluster.units_of():
                own |= set(unit.hosts) if set(unit.hosts) & set(form.slots) else set()
        return own

    def _holds(self, form: Form, elapsed: int) -> dict[Row, float]:
        job = self.jobs[form.job]
        queue, me = job.queue, job.user
        held: dict[Row, float] = {}

        def add(row: Row, amount: float) -> None:
            held[row] = held.get(row, 0.0) + amount

        add(("array", job.id.split("[")[0]), 1)
        own, shared = self.own_hosts(form), {item.name for item in self.instance.cluster.shared}
        for host in {*form.slots, *own}:
            taken = self.hosts[host].slots if host in own else form.slots[host]
            add(("slots", host), taken)
            item = self.booked(job.id)
            if item is None:
                add(("outside", host), taken)
            elif host in form.slots:
                add((item.name, host), form.slots[host])
        reserved = list(self._reserved(form, elapsed))
        for resource, host, amount in reserved:
            add(("shared", resource) if resource in shared else (resource, host), amount)
        for host, slots in form.slots.items():
            for row in (("QJOB", queue), ("UJOB", queue, me), ("MAX", me)):
                add(row, slots)
            for row in (("HJOB", queue, host), ("PJOB", queue, host)):
                add(row, slots)
            for row in (("JLU", host, me), ("JLP", me, host)):
                add(row, slots)
        for limit in self.instance.limits:
            for resource in limit.amounts:
                for where in self._limited(limit):
                    row = self._limit_row(limit, job, resource, where)
                    there = {host: n for host, n in form.slots.items() if host in where}
                    counted = {"slots": float(sum(there.values())), "jobs": float(bool(there))}
                    amounts = [a for name, h, a in reserved if name == resource and h in where]
                    if row:
                        add(row, counted.get(resource, sum(amounts)))
        return held

    def used(self, placed: list[tuple[Form, int]], time: int) -> dict[Row, float]:
        """What runs, is placed and is set aside holds at an instant."""
        total: dict[Row, float] = {}
        for form, start in [*self.base, *placed]:
            if start <= time < self.end(form.job, start):
                for row, amount in self.holds(form, time - start).items():
                    total[row] = total.get(row, 0.0) + amount
        for item in self.instance.advance_reservations:
            if item.start <= time < item.end:
                for host, slots in item.slots.items():
                    total["outside", host] = total.get(("outside", host), 0.0) + slots
        return total

    def fits(self, placed: list[tuple[Form, int]], form: Form, start: int) -> bool:
        """Whether a form has room from its start on, beside those that are placed."""
        end = self.end(form.job, start)
        rises = {s for _, s in placed} | {i.start for i in self.instance.advance_reservations}
        for time in {start} | {rise for rise in rises if start < rise < end}:
            total = self.used([*placed, (form, start)], time)
            for row, amount in self.holds(form, time - start).items():
                if amount > 0 and row in self.full and total[row] > self.full[row] + 1e-6:
                    return False
            if not self.leaves_owners_theirs([*placed, (form, start)], time):
                return False
        return True

    def leaves_owners_theirs(self, placed: list[tuple[Form, int]], time: int) -> bool:
        """Whether who starts then is within the guarantee of his class, or leaves those of all.

        Of pools of slots without loans.
        """
        there = [
            (form, start)
            for form, start in [*self.base, *placed]
            if start <= time < self.end(form.job, start)
        ]
        for pool in self.instance.guaranteed_pools:
            away = {
                host
                for item in self.instance.advance_reservations
                if item.start <= self.instance.now < item.end
                for host in item.slots
            }
            inside = {*(pool.hosts or self.hosts)} - away
            owed = {item.service_class: item.share.amount for item in pool.distribution}
            used = dict.fromkeys([*owed, ""], 0.0)
            for form, _ in there:
                own = self.jobs[form.job].service_class
                used[own] += sum(n for host, n in form.slots.items() if host in inside)
            beyond = any(
                start == time and inside & {*form.slots} and not used[own] <= owed.get(own, 0.0)
                for form, start in placed
                for own in [self.jobs[form.job].service_class]
            )
            kept = sum(max(amount, used[name]) for name, amount in owed.items())
            if beyond and kept + used[""] > sum(self.hosts[host].slots for host in inside):
                return False
        return True

    def _forms(self, job: Job) -> Iterator[Form]:
        asked = self.asks[job.id]
        whole = job.exclusive or any("excl" in dict(term.cu or ()) for term in asked)
        if whole and self.instance.queue(job.queue).exclusive == "N":
            return
        balanced = any("balance" in dict(term.cu or ()) for term in asked)
        most = job.slots if balanced else job.most_slots
        for alternative in range(len(asked[0].alternatives)):
            ways = []
            for place, term in enumerate(asked):
                counts = [term.count] if term.count else range(job.slots, most + 1)
                able = [host for host in self.hosts if self.able(job, term, host, alternative)]
                ways.append(
                    [
                        w
                        for n in counts
                        for w in self._ways(job, term, able, n or 0, first=not place)
                    ]
                )
            for terms in product(*ways):
                form = Form(job.id, tuple(terms), alternative)
                held = self.holds(form, 0).items()
                if all(n <= self.hosts[host].slots for host, n in form.slots.items()) and all(
                    row not in self.full or n <= self.full[row] + 1e-6 for row, n in held
                ):
                    yield form

    def able(self, job: Job, term: Term, host: str, alternative: int) -> bool:
        queue, item = self.instance.queue(job.queue), self.hosts[host]
        expand = self.instance.cluster.expand
        asked = {name for request in job.hosts for name in expand(request.name) or ()}
        allowed = {name for request in queue.hosts for name in expand(request.name) or ()}
        shared = {i.name: i.hosts for i in self.instance.cluster.shared}
        for amount in term.alternatives[alternative]:
            if amount.resource in shared:
                among = shared[amount.resource]
                if among is not None and host not in among:
                    return False
            elif amount.resource not in item.amounts:
                return False
        booked = self.booked(job.id)
        return (
            item.status == "ok"
            and (booked is None or booked.slots.get(host, 0) > 0)
            and (booked is None or bool({job.user, "all"} & {*booked.users}))
            and (not job.hosts or host in asked)
            and (not queue.hosts or host in allowed)
            and host not in queue.excluded_hosts
            and (not term.kind or item.type == term.kind)
        )

    def _ways(
        self, job: Job, term: Term, able: list[str], count: int, *, first: bool
    ) -> Iterator[tuple[tuple[str, int], ...]]:
        marked = [request.name for request in job.hosts if request.first]
        for amounts in product(*(range(self.hosts[host].slots + 1) for host in able)):
            held = {host: n for host, n in zip(able, amounts, strict=True) if n}
            if sum(amounts) != count or not self.shaped(term, held):
                continue
            for head in held if any(a.per == "job" for a in self._all(term)) else list(held)[:1]:
                if first and marked and not set(marked) & set(held):
                    continue
                if first and marked:
                    head = marked[0]
                yield ((head, held[head]), *((h, n) for h, n in held.items() if h != head))

    @staticmethod
    def _all(term: Term) -> list[Amount]:
        return [amount for alternative in term.alternatives for amount in alternative]

    def shaped(self, term: Term, held: Mapping[str, int]) -> bool:
        """Whether slots by host are as span, same and cu want them."""
        if term.one_host and len(held) > 1:
            return False
        if term.tile and not term.one_host and max(held.values()) > term.tile:
            return False
        if term.tile and not term.one_host and sum(n < term.tile for n in held.values()) > 1:
            return False
        if sum(n % term.block > 0 for n in held.values()) > 1:
            return False
        if term.same and len({self.hosts[host].type for host in held}) > 1:
            return False
        return term.cu is None or self._united(term, dict(term.cu), held)

    def _united(self, term: Term, cu: Mapping[str, str], held: Mapping[str, int]) -> bool:
        units = self.instance.cluster.units_of(cu.get("type"))
        inside = [{h: n for h, n in held.items() if h in unit.hosts} for unit in units]
        inside = [part for part in inside if part]
        if sum(len(part) for part in inside) != len(held):
            return False
        if len(inside) > int(cu.get("maxcus", NEVER)):
            return False
        least = int(cu.get("usablecuslots", 0))
        if sum(sum(part.values()) < least for part in inside) > 1:
            return False
        if "balance" not in cu:
            return True
        if term.tile > 1 and not term.one_host:
            sizes = [len(part) for part in inside]
        else:
            sizes = [sum(-(-n // term.block) for n in part.values()) for part in inside]
        return max(sizes) - min(sizes) <= 1

    def may_start(self, form: Form, start: int) -> bool:
        """Whether begin time and windows let the form start then."""
        job = self.jobs[form.job]
        if start < max(self.instance.now, job.begin or 0):
            return False
        item = self.booked(form.job)
        if item is not None and not item.start <= start < item.end:
            return False
        doors = [self.host_windows[host] for host in form.slots if host in self.host_windows]
        doors += [self.dispatch[job.queue]] if job.queue in self.dispatch else []
        if not all(first * MINUTE <= start % DAY < last * MINUTE for first, last in doors):
            return False
        if job.queue not in self.run:
            return True
        first, last = self.run[job.queue]
        second = start % DAY
        length = self.end(job.id, start) - start
        length = 1 if length >= NEVER else length
        return first * MINUTE <= second and second + length <= last * MINUTE

    def eligible(self, job: str, starts: Mapping[str, int]) -> bool:
        """Whether a condition on one job, ``done(p0)``, holds when the job starts."""
        word, _, other = self.jobs[job].dependency.rstrip(")").partition("(")
        if not word:
            return True
        begins = {form.job: start for form, start in self.base} | dict(starts)
        if other not in begins:
            return False
        held = begins[other] if word == "started" else self.end(other, begins[other])
        return held <= starts[job]

    def drops(self, job: str) -> set[int]:
        """Seconds after its start at which a job may give something back."""
        terms = self.asks[job]
        falls = {s for term in terms for amount in self._all(term) for s in amount.changes}
        return {s for s in {*falls, self.length(job)} if s <= self.length(job) and s < NEVER}

    def roots(self) -> set[int]:
        """Now, begin times, openings, and when what is there gives something back."""
        now = self.instance.now
        found = {now, *(job.begin or 0 for job in self.instance.pending)}
        for item in self.instance.advance_reservations:
            found |= {item.start, item.end}
        for windows in (self.host_windows, self.dispatch, self.run):
            for first, _ in windows.values():
                found |= {day * DAY + first * MINUTE for day in range(4)}
        for form, start in self.base:
            found |= {start + s for s in self.drops(form.job)}
        return {time for time in found if now <= time < NEVER}

    def together(self, starts: Mapping[str, int]) -> bool:
        """Whether these jobs can have these starts, all of them."""
        jobs = list(starts)
        if not all(self.eligible(job, starts) for job in jobs):
            return False

        def rest(number: int, placed: list[tuple[Form, int]]) -> bool:
            if number == len(jobs):
                return True
            start = starts[jobs[number]]
            return any(
                self.may_start(form, start)
                and self.fits(placed, form, start)
                and rest(number + 1, [*placed, (form, start)])
                for form in self.forms[jobs[number]]
            )

        return rest(0, [])

    def lexicographic(self) -> dict[str, int | None]:
        """The earliest starts one after another; None where there is none."""
        starts: dict[str, int] = {}
        times = self.roots()
        found: dict[str, int | None] = {}
        for job in self.order:
            found[job.id] = None
            for time in sorted(times):
                if self.together({**starts, job.id: time}):
                    found[job.id] = starts[job.id] = time
                    times |= {time + drop for drop in self.drops(job.id)}
                    break
        return found

    def least(self, objective: str, most: int = 4000) -> float | None:
        """The optimum over plans of all jobs; -1 where there are too many to try, None for none."""
        choices = []
        for job in self.order:
            chains = {0}
            for other in self.order:
                if other is not job:
                    chains |= {c + d for c in chains for d in self.drops(other.id)}
            times = sorted({root + chain for root in self.roots() for chain in chains})
            choices.append([time for time in times if self.together({job.id: time})])
        if math.prod(map(len, choices)) > most:
            return -1.0
        names = [job.id for job in self.order]
        plans = [dict(zip(names, times, strict=True)) for times in product(*choices)]
        for starts in sorted(plans, key=lambda starts: self.value(objective, starts)):
            if self.together(starts):
                return self.value(objective, starts)
        return None

    def value(self, objective: str, starts: Mapping[str, int]) -> float:
        """What a plan costs."""
        now = self.instance.now
        if objective == "makespan":
            ends = (s + (self.jobs[job].run_limit or 0) for job, s in starts.items())
            return max(ends) - now
        if objective == "weighted":
            return sum(self.jobs[job].weight * (s - now) for job, s in starts.items())
        if objective == "slowdown":
            each = [self.slowdown(job, start) for job, start in starts.items()]
            return float(sum(each) / len(each)) if each else 0.0
        assert objective == "total-start"
        return sum(start - now for start in starts.values())

    def slowdown(self, job: str, start: int) -> Fraction:
        """From submission to end, in run times; never below 1, short ones count as 10 s."""
        asked = self.jobs[job]
        run = asked.run_limit or 0
        return max(Fraction(1), Fraction(start - asked.submit + run, max(run, 10)))

    def faults(self, plan: Plan) -> list[str]:
        """Jobs of a plan that are where or when they may not be."""
        placed = []
        for item in plan:
            if item.start is not None:
                terms = item.terms or (item.allocation,)
                form = Form(item.job, tuple(tuple(t.items()) for t in terms), item.alternative)
                placed.append((form, item.start))
        found = []
        for number, (form, start) in enumerate(placed):
            others = placed[:number] + placed[number + 1 :]
            marked = [request.name for request in self.jobs[form.job].hosts if request.first]
            if not any(alike(form, other) for other in self.forms[form.job]):
                found.append(f"{form.job} may not have {form.terms}")
            elif marked and form.terms[0][0][0] not in marked:
                found.append(f"{form.job} does not begin on {marked}")
            elif not self.may_start(form, start):
                found.append(f"{form.job} may not start at {start}")
            elif not self.fits(others, form, start):
                found.append(f"{form.job} has no room at {start}")
        return found


def alike(one: Form, other: Form) -> bool:
    """The same hosts for the same terms; the order only says which is first."""
    return one.alternative == other.alternative and (
        [dict(term) for term in one.terms] == [dict(term) for term in other.terms]
    )


def covers(scope: Scope | None, name: str) -> bool:
    """Whether a limit covers a name; "", no licence project, is under no limit of them."""
    if scope is None:
        return True
    return (
        bool(name) and ("all" in scope.names or name in scope.names) and name not in scope.excluded
    )


def whole(slots: float) -> int:
    """Slots by processor, rounded up."""
    return math.ceil(slots - 1e-9)
