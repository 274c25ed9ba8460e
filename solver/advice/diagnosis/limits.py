"""Probes of limits, windows, thresholds, advance reservations and JOB_ACCEPT_INTERVAL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from ....model.cluster import BUILTIN_AMOUNTS, Host, Thresholds
from ....model.configuration import Limit, Queue
from ....model.display import duration_text, some
from ....model.instance import Instance
from ....model.job import Job, job_groups_of, running_limits
from ....model.reserved_periods import of_jobs
from ....model.shares import pools
from ...pending_reasons import counted
from .guarantees import guarantee_probes
from .probes import (
    Apply,
    Probe,
    SettingChange,
    amounts_from,
    hosts_with,
    item_with,
    params_with,
    queue_with,
    together,
)

#: Multiple of all slots above which a limit has no effect: running jobs and reservations both
#: count.
BINDS = 2


def limit_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of the limits that keep jobs from starting on free slots."""
    queue = instance.queue(job.queue)
    yield from chain(
        _queue_state(queue),
        _windows(instance, queue),
        _thresholds(instance, queue),
        _several(part for limit in instance.limits for part in _of_section(instance, limit, job)),
        _several(_users(instance, job)),
        _queue_limits(instance, queue, job),
        _host_limits(instance),
        _several(_job_groups(instance, job)),
        _array_limit(instance, job),
        _advance_reservations(instance),
        guarantee_probes(instance, job),
        _intervals(instance, queue),
    )


def _queue_state(queue: Queue) -> Iterator[Probe]:
    if not queue.active:
        change = SettingChange(
            f"command of the administrator, queue {queue.name}",
            f"badmin qact {queue.name}",
            queue_with(queue.name, active=True),
        )
        cause = f"queue {queue.name} is inactive (badmin qinact): none of its jobs starts"
        yield Probe("queue inactive", cause, (change,))


def _windows(instance: Instance, queue: Queue) -> Iterator[Probe]:
    for key, field in (("DISPATCH_WINDOW", "dispatch_window"), ("RUN_WINDOW", "run_window")):
        window = getattr(queue, field)
        if window:
            change = SettingChange(
                f"lsb.queues, queue {queue.name}",
                f"{key} = (empty: no window)",
                queue_with(queue.name, **{field: ""}),
                f"queues.{queue.name}.{key}=",
                f"{key} = {window}",
            )
            cause = f"queue {queue.name} starts jobs in its window only: {key} = {window}"
            yield Probe("dispatch window", cause, (change,))
    by_window: dict[str, list[str]] = {}
    for host in instance.cluster.hosts:
        if host.windows:
            by_window.setdefault(host.windows, []).append(host.name)
    parts = []
    for window, names in by_window.items():
        change = SettingChange(
            f"lsb.hosts, {', '.join(names)}",
            "DISPATCH_WINDOW = (empty: no window)",
            hosts_with(names, lambda host: replace(host, windows="")),
            now=f"DISPATCH_WINDOW = {window}",
        )
        have = "host {} has" if len(names) == 1 else "hosts {} have"
        cause = f"{have.format(some(names))} a dispatch window: DISPATCH_WINDOW = {window}"
        parts.append(Probe("host window", cause, (change,)))
    yield from _several(parts)


def _thresholds(instance: Instance, queue: Queue) -> Iterator[Probe]:
    parts = [_queue_threshold(queue, name) for name in queue.thresholds.sched]
    by_value: dict[tuple[str, float], list[str]] = {}
    for host in instance.cluster.hosts:
        for name, value in host.thresholds.sched.items():
            by_value.setdefault((name, value), []).append(host.name)
    for (name, value), names in by_value.items():
        change = SettingChange(
            f"lsb.hosts, {', '.join(names)}",
            f"{name} = (empty: no threshold)",
            hosts_with(names, partial(_without_threshold, name)),
            now=f"{name} = {value:g}",
        )
        take = "host {} takes" if len(names) == 1 else "hosts {} take"
        cause = (
            f"{take.format(some(names))} jobs up to a load of {name} = {value:g} only (loadSched)"
        )
        parts.append(Probe("load threshold", cause, (change,)))
    yield from _several(parts)


def _queue_threshold(queue: Queue, name: str) -> Probe:
    limits = queue.thresholds
    sched = {key: value for key, value in limits.sched.items() if key != name}
    change = SettingChange(
        f"lsb.queues, queue {queue.name}",
        f"{name} = (empty: no threshold)",
        queue_with(queue.name, thresholds=Thresholds(sched, limits.stop)),
        now=f"{name} = {limits.sched[name]:g}",
    )
    cause = (
        f"queue {queue.name} starts jobs only on hosts below a load threshold: "
        f"{name} = {limits.sched[name]:g} (loadSched)"
    )
    return Probe("load threshold", cause, (change,))


def _without_threshold(name: str, host: Host) -> Host:
    sched = {key: value for key, value in host.thresholds.sched.items() if key != name}
    return replace(host, thresholds=Thresholds(sched, host.thresholds.stop))


@dataclass(frozen=True, slots=True)
class Counter:
    """A configured limit: its place, its value, and the instance with another one."""

    #: Kind of the cause.
    kind: str
    #: File and section, or who acts.
    where: str
    key: str
    #: Present value.
    now: str
    #: Returns the change to a number, or to None: no limit.
    changed: Callable[[Any], Apply]
    #: Path of the key for ``slotwise whatif --set``, "" if it has none.
    path: str = ""
    #: Value as text, of a number.
    form: str = "{:g}"

    def probe(self, cause: str, numbers: Sequence[float]) -> Probe:
        """Return the probe of larger numbers."""
        path = f"{self.path}={{:g}}" if self.path else ""
        values = ((self.form.format(number), number, path.format(number)) for number in numbers)
        return self._probe(cause, values)

    def without(self, cause: str, none: str = "- (no limit)") -> Probe:
        """Return the probe of no limit; none: how the file says that there is none."""
        return self._probe(cause, [(none, None, "")])

    def _probe(self, cause: str, values: Iterable[tuple[str, float | None, str]]) -> Probe:
        now = f"{self.key} = {self.now}"
        steps = tuple(
            SettingChange(self.where, f"{self.key} = {text}", self.changed(value), whatif, now)
            for text, value, whatif in values
        )
        return Probe(self.kind, f"{cause} {now}", steps)


def _numbers_from(instance: Instance, current: float, *wanted: int) -> tuple[int, ...]:
    """Return larger limits on slots or jobs, up to one that nothing reaches."""
    total = sum(host.slots for host in instance.cluster.hosts)
    return amounts_from(int(current), *wanted, total, BINDS * total)


def _several(parts: Iterable[Probe]) -> Iterator[Probe]:
    """Yield the probes that change something as one, if there are any."""
    if found := [part for part in parts if part.steps]:
        yield together(found)


def _of_section(instance: Instance, limit: Limit, job: Job) -> Iterator[Probe]:
    section = f"lsb.resources, Limit section {limit.name}"
    cause = f"Limit section {limit.name} allows {_scope_text(limit)}"
    for name, amount in limit.amounts.items():
        numbers: Sequence[float] = (amount * 2, amount * 4, amount * 1024)
        if name in ("slots", "jobs"):
            own = job.slots if name == "slots" else 1
            numbers = _numbers_from(instance, amount, own, int(amount) + own)
        key, path, form = name.upper(), name.upper(), "{:g}"
        if name not in ("slots", "jobs", *BUILTIN_AMOUNTS):
            key, path, form = "RESOURCE", f"RESOURCE.{name}", f"[{name},{{:g}}]"
        changed, path = partial(_limit_at, limit, name), f"limits.{limit.name}.{path}"
        counter = Counter("limit", section, key, form.format(amount), changed, path, form)
        yield counter.probe(cause, numbers)
    for name, percent in limit.percentages.items():
        changed = partial(_limit_at, limit, name)
        yield Counter("limit", section, name.upper(), f"{percent:g}%", changed).without(cause)
    if (least := limit.slots_per_processor) is not None:
        free = item_with("limits", limit.name, lambda _: replace(limit, slots_per_processor=None))
        key = "SLOTS_PER_PROCESSOR"
        yield Counter("limit", section, key, f"{least:g}", lambda _: free).without(cause)


def _scope_text(limit: Limit) -> str:
    words = []
    for noun, scope in (
        ("user", limit.users),
        ("queue", limit.queues),
        ("host", limit.hosts),
        ("project", limit.projects),
        ("application", limit.apps),
        ("licence project", limit.lic_projects),
    ):
        if scope is not None:
            each = f"each {noun} of" if scope.each else f"{noun}"
            words.append(f"{each} {some(scope.names)}")
    return f"({', '.join(words)})" if words else "(everybody together)"


def _limit_at(limit: Limit, name: str, amount: float | None) -> Apply:
    amounts = limit.amounts if amount is None else {**limit.amounts, name: float(amount)}
    percentages = {key: value for key, value in limit.percentages.items() if key != name}
    changed = replace(limit, amounts=amounts, percentages=percentages)
    return item_with("limits", limit.name, lambda _: changed)


def _users(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield higher limits of users and groups, including limits that do not concern the job."""
    groups = {group.name for group in instance.groups}
    for user in instance.users:
        section, path = f"lsb.users, {user.name}", f"users.{user.name}.MAX_JOBS"
        # A name at the beginning would be capitalised.
        whose = f"user {'group ' * (user.name in groups)}{user.name}"
        if (most := user.max_slots) is not None:
            changed = partial(_item_at, "users", user.name, "max_slots")
            counter = Counter("user limit", section, "MAX_JOBS", f"{most}", changed, path)
            numbers = _numbers_from(instance, most, job.slots, most + job.slots)
            yield counter.probe(f"{whose} may use {counted(most, 'slot')}:", numbers)
        if (per := user.processor_slots) is not None:
            changed = partial(_item_at, "users", user.name, "processor_slots")
            counter = Counter("user limit", section, "JL/P", f"{per:g}", changed)
            yield counter.without(f"{whose} may use few slots a processor:")


def _item_at(kind: str, name: str, field: str, value: Any) -> Apply:
    return item_with(kind, name, partial(replace, **{field: value}))


#: Slot limits of a queue: key, field, and the words for its scope.
QUEUE_LIMITS = (
    ("QJOB_LIMIT", "queue_slots", "in all"),
    ("UJOB_LIMIT", "user_slots", "for each user"),
    ("HJOB_LIMIT", "host_slots", "on each host"),
)


def _queue_limits(instance: Instance, queue: Queue, job: Job) -> Iterator[Probe]:
    section, path = f"lsb.queues, queue {queue.name}", f"queues.{queue.name}"
    for key, field, what in QUEUE_LIMITS:
        most: int | None = getattr(queue, field)
        if most is None:
            continue
        changed = partial(_item_at, "queues", queue.name, field)
        counter = Counter("queue limit", section, key, f"{most}", changed, f"{path}.{key}")
        numbers = _numbers_from(instance, most, job.slots, most + job.slots)
        if field == "host_slots":
            own = max(host.slots for host in instance.cluster.hosts)
            numbers = amounts_from(most, own, BINDS * own)
        cause = f"jobs of queue {queue.name} may use {counted(most, 'slot', what)}:"
        yield counter.probe(cause, numbers)
    if (per := queue.processor_slots) is not None:
        changed = partial(_item_at, "queues", queue.name, "processor_slots")
        counter = Counter("queue limit", section, "PJOB_LIMIT", f"{per:g}", changed)
        cause = f"jobs of queue {queue.name} may use few slots a processor:"
        yield counter.without(cause, "(empty: no limit)")
    if queue.slots is not None:
        least, usual, top = queue.slots
        wider = (min(least, job.slots), usual, None if top is None else max(top, job.most_slots))
        shown = _numbers(queue.slots)
        change = SettingChange(
            section,
            f"TASKLIMIT = {_numbers(wider)}",
            queue_with(queue.name, slots=wider),
            now=f"TASKLIMIT = {shown}",
        )
        cause = f"queue {queue.name} takes jobs of some sizes only: TASKLIMIT (PROCLIMIT) = {shown}"
        yield Probe("queue limit", cause, (change,))
    yield from _pool_limit(instance, queue, job)


def _pool_limit(instance: Instance, queue: Queue, job: Job) -> Iterator[Probe]:
    """Yield a larger MAX_SLOTS_IN_POOL, which the first queue of a slot pool has."""
    for pool in pools(instance):
        if queue.name not in pool.queues or pool.max_slots is None:
            continue
        first = next(item.name for item in instance.queues if item.slot_pool == pool.name)
        section, path = f"lsb.queues, queue {first}", f"queues.{first}.MAX_SLOTS_IN_POOL"
        changed = partial(_item_at, "queues", first, "max_slots_in_pool")
        key, most = "MAX_SLOTS_IN_POOL", pool.max_slots
        counter = Counter("queue limit", section, key, f"{most}", changed, path)
        cause = f"the queues of slot pool {pool.name} may use {counted(most, 'slot', 'in all')}:"
        yield counter.probe(cause, _numbers_from(instance, most, job.slots, most + job.slots))


def _job_groups(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield larger limits of the job's group and of those above it."""
    limits = {group.name: group.limit for group in instance.job_groups}
    own = {
        name: most
        for name in job_groups_of(job.job_group)
        if (most := limits.get(name)) is not None
    }
    # All have the same numbers, as none may have a larger one than those above.
    every = {
        number for most in own.values() for number in (most, *_numbers_from(instance, most, 1))
    }
    for name, most in own.items():
        steps = tuple(
            SettingChange(
                f"command of the owner of job group {name}",
                f"bgmod -L {number} {name}",
                _item_at("job_groups", name, "limit", number),
            )
            for number in sorted(every)
            if number > most
        )
        may = f"job group {name} may have {counted(most, 'running job')}"
        yield Probe("job group", f"{may}: bgadd -L {most}", steps)


def _array_limit(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield more running elements of the job's array."""
    jobs = (job, *(run.job for run in instance.running), *instance.pending)
    array = job.array_id
    most = None if array is None else running_limits(jobs).get(array)
    if array is None or most is None:
        return
    steps = tuple(
        SettingChange(
            f"command of user {job.user}",
            f'bmod -J "%{number}" {array}',
            partial(arrays_at, number, array),
        )
        for number in _numbers_from(instance, most, 1)
    )
    may = f"array {array} may have {counted(most, 'running element')}"
    yield Probe("job array", f"{may}: %{most} of its -J", steps)


def arrays_at(most: int | None, array: str | None, instance: Instance) -> Instance:
    """Return the instance with another limit on running elements of an array; None: of all."""

    def at(job: Job) -> Job:
        other = job.array_limit is None or array not in (None, job.array_id)
        return job if other else replace(job, array_limit=most)

    return replace(
        instance,
        running=tuple(replace(run, job=at(run.job)) for run in instance.running),
        pending=tuple(map(at, instance.pending)),
        future=tuple(map(at, instance.future)),
    )


def _numbers(values: tuple[int | None, ...]) -> str:
    return " ".join(str(number) for number in values if number is not None)


def _host_limits(instance: Instance) -> Iterator[Probe]:
    names = [host.name for host in instance.cluster.hosts if host.user_slots is not None]
    if names:
        values = {host.user_slots for host in instance.cluster.hosts if host.name in set(names)}
        shown = " or ".join(str(value) for value in sorted(v for v in values if v is not None))
        free = hosts_with(names, lambda host: replace(host, user_slots=None))
        section = f"lsb.hosts, {', '.join(names)}"
        few = "slot" if shown == "1" else "slots"
        cause = f"each user may use {shown} {few} on each of {some(names)}:"
        yield Counter("host limit", section, "JL/U", shown, lambda _: free).without(
            cause, "() (no limit)"
        )


def _advance_reservations(instance: Instance) -> Iterator[Probe]:
    parts = []
    used = {item.name for item in of_jobs(instance)}  # their jobs would have no start otherwise
    for item in (each for each in instance.advance_reservations if each.name not in used):
        change = SettingChange(
            "command of the administrator", f"brsvdel {item.name}", _without_reservation(item.name)
        )
        slots = sum(item.slots.values())
        cause = f"advance reservation {item.name} keeps {counted(slots, 'slot')} for itself"
        parts.append(Probe("advance reservation", cause, (change,)))
    yield from _several(parts)


def _without_reservation(name: str) -> Apply:
    def apply(instance: Instance) -> Instance:
        kept = tuple(item for item in instance.advance_reservations if item.name != name)
        return replace(instance, advance_reservations=kept)

    return apply


def _intervals(instance: Instance, queue: Queue) -> Iterator[Probe]:
    common, own = instance.params.job_accept_interval, queue.job_accept_interval
    current = common if own is None else own
    if not current:
        return
    lasts = duration_text(current * instance.params.mbd_sleep_time)
    cause = (
        f"a host that has taken a job takes no other for {current} dispatch cycles ({lasts}): "
        f"JOB_ACCEPT_INTERVAL = {current}"
    )
    numbers = [n for n in (240, 120, 60, 30, 20, 10, 5, 2, 1, 0) if n < current]
    where, path = f"lsb.queues, queue {queue.name}", f"queues.{queue.name}."
    if own is None:
        where, path = "lsb.params", ""
    steps = tuple(
        SettingChange(
            where,
            f"JOB_ACCEPT_INTERVAL = {n}",
            params_with(job_accept_interval=n)
            if own is None
            else queue_with(queue.name, job_accept_interval=n),
            f"{path}JOB_ACCEPT_INTERVAL={n}",
        )
        for n in numbers
    )
    yield Probe("accept interval", cause, steps)
