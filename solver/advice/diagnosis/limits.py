"""Probes of limits, windows, thresholds, advance reservations and JOB_ACCEPT_INTERVAL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from ....model.cluster import Host, Thresholds
from ....model.configuration import Limit, Queue
from ....model.display import duration_text
from ....model.instance import Instance
from ....model.job import Job
from ....model.reserved_periods import of_jobs
from ...pending_reasons import counted
from .guarantees import guarantee_probes
from .probes import (
    Apply,
    Probe,
    SettingChange,
    amounts_from,
    hosts_with,
    named,
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
    found = chain(
        _queue_state(queue),
        _windows(instance, queue),
        _thresholds(instance, queue),
        _sections(instance, job),
        _users(instance, job),
        _queue_limits(instance, queue, job),
        _host_limits(instance),
        _advance_reservations(instance),
        guarantee_probes(instance, job),
        _intervals(instance, queue),
    )
    yield from found


def _queue_state(queue: Queue) -> Iterator[Probe]:
    if not queue.active:
        change = SettingChange(
            f"command of the administrator, queue {queue.name}",
            f"badmin qact {queue.name}",
            queue_with(queue.name, active=True),
        )
        cause = f"queue {queue.name} is inactive (badmin qinact): none of its jobs starts"
        yield Probe("queue inactive", cause, (change,))


def _without(queue: Queue, key: str, field: str) -> SettingChange:
    return SettingChange(
        f"lsb.queues, queue {queue.name}",
        f"{key} = (empty: no window)",
        queue_with(queue.name, **{field: ""}),
        f"queues.{queue.name}.{key}=",
        f"{key} = {getattr(queue, field)}",
    )


def _windows(instance: Instance, queue: Queue) -> Iterator[Probe]:
    for key, field in (("DISPATCH_WINDOW", "dispatch_window"), ("RUN_WINDOW", "run_window")):
        window = getattr(queue, field)
        if window:
            cause = f"queue {queue.name} starts jobs in its window only: {key} = {window}"
            yield Probe("dispatch window", cause, (_without(queue, key, field),))
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
        cause = f"{have.format(named(names))} a dispatch window: DISPATCH_WINDOW = {window}"
        parts.append(Probe("host window", cause, (change,)))
    if parts:
        yield together(parts)


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
            f"{take.format(named(names))} jobs up to a load of {name} = {value:g} only (loadSched)"
        )
        parts.append(Probe("load threshold", cause, (change,)))
    if parts:
        yield together(parts)


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


def _sections(instance: Instance, job: Job) -> Iterator[Probe]:
    parts = [part for limit in instance.limits for part in _of_section(instance, limit, job)]
    if parts:
        yield together(parts)


def _of_section(instance: Instance, limit: Limit, job: Job) -> Iterator[Probe]:
    total = sum(host.slots for host in instance.cluster.hosts)
    scope = _scope_text(limit)
    for name, amount in limit.amounts.items():
        key = name.upper()
        counts = name in ("slots", "jobs")
        numbers: tuple[float, ...] = ()
        if counts:
            own = job.slots if name == "slots" else 1
            numbers = amounts_from(int(amount), own, int(amount) + own, total, BINDS * total)
        else:
            numbers = (amount * 2, amount * 4, amount * 1024)
        steps = tuple(_limit_at(limit, name, number) for number in numbers)
        if steps:
            cause = f"Limit section {limit.name} allows {scope} {key} = {amount:g}"
            yield Probe("limit", cause, steps)
    if limit.slots_per_processor is not None:
        change = SettingChange(
            f"lsb.resources, Limit section {limit.name}",
            "SLOTS_PER_PROCESSOR = - (no limit)",
            _limits_with(replace(limit, slots_per_processor=None)),
            now=f"SLOTS_PER_PROCESSOR = {limit.slots_per_processor:g}",
        )
        least = f"SLOTS_PER_PROCESSOR = {limit.slots_per_processor:g}"
        yield Probe("limit", f"Limit section {limit.name} allows {scope} {least}", (change,))


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
            words.append(f"{each} {named(scope.names)}")
    return f"({', '.join(words)})" if words else "(everybody together)"


def _limit_at(limit: Limit, name: str, amount: float) -> SettingChange:
    return SettingChange(
        f"lsb.resources, Limit section {limit.name}",
        f"{name.upper()} = {amount:g}",
        _limits_with(replace(limit, amounts={**limit.amounts, name: float(amount)})),
        f"limits.{limit.name}.{name.upper()}={amount:g}",
        f"{name.upper()} = {limit.amounts[name]:g}",
    )


def _limits_with(changed: Limit) -> Apply:
    def apply(instance: Instance) -> Instance:
        limits = (changed if item.name == changed.name else item for item in instance.limits)
        return replace(instance, limits=tuple(limits))

    return apply


def _users(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield higher limits of users and groups, including limits that do not concern the job."""
    total = sum(host.slots for host in instance.cluster.hosts)
    parts = []
    groups = {group.name for group in instance.groups}
    for user in instance.users:
        where = f"lsb.users, {user.name}"
        # A name at the beginning would be capitalised.
        whose = f"user {'group ' * (user.name in groups)}{user.name}"
        if user.max_slots is not None:
            wanted = (job.slots, user.max_slots + job.slots, total, BINDS * total)
            steps = tuple(
                SettingChange(
                    where,
                    f"MAX_JOBS = {number}",
                    _user_with(user.name, max_slots=number),
                    f"users.{user.name}.MAX_JOBS={number}",
                    f"MAX_JOBS = {user.max_slots}",
                )
                for number in amounts_from(user.max_slots, *wanted)
            )
            may = counted(user.max_slots, "slot")
            cause = f"{whose} may use {may}: MAX_JOBS = {user.max_slots}"
            if steps:
                parts.append(Probe("user limit", cause, steps))
        if user.processor_slots is not None:
            change = SettingChange(
                where,
                "JL/P = - (no limit)",
                _user_with(user.name, processor_slots=None),
                now=f"JL/P = {user.processor_slots:g}",
            )
            cause = f"{whose} may use few slots a processor: JL/P = {user.processor_slots:g}"
            parts.append(Probe("user limit", cause, (change,)))
    if parts:
        yield together(parts)


def _user_with(name: str, **changes: Any) -> Apply:
    def apply(instance: Instance) -> Instance:
        users = (replace(u, **changes) if u.name == name else u for u in instance.users)
        return replace(instance, users=tuple(users))

    return apply


#: Slot limits of a queue: key, field, and the words for its scope.
_OF_QUEUE = (
    ("QJOB_LIMIT", "queue_slots", "in all"),
    ("UJOB_LIMIT", "user_slots", "for each user"),
    ("HJOB_LIMIT", "host_slots", "on each host"),
)


def _queue_limits(instance: Instance, queue: Queue, job: Job) -> Iterator[Probe]:
    total = sum(host.slots for host in instance.cluster.hosts)
    for key, field, what in _OF_QUEUE:
        current: int | None = getattr(queue, field)
        if current is None:
            continue
        own = job.slots
        if field == "host_slots":
            own = max(host.slots for host in instance.cluster.hosts)
        most = own if field == "host_slots" else total
        steps = tuple(
            _queue_limit(queue, key, field, number)
            for number in amounts_from(current, own, min(current + own, most), most, BINDS * most)
        )
        may = counted(current, "slot", what)
        cause = f"jobs of queue {queue.name} may use {may}: {key} = {current}"
        if steps:
            yield Probe("queue limit", cause, steps)
    if queue.processor_slots is not None:
        change = SettingChange(
            f"lsb.queues, queue {queue.name}",
            "PJOB_LIMIT = (empty: no limit)",
            queue_with(queue.name, processor_slots=None),
            now=f"PJOB_LIMIT = {queue.processor_slots:g}",
        )
        per = f"PJOB_LIMIT = {queue.processor_slots:g}"
        cause = f"jobs of queue {queue.name} may use few slots a processor: {per}"
        yield Probe("queue limit", cause, (change,))
    if queue.slots is not None:
        least, usual, top = queue.slots
        wider = (min(least, job.slots), usual, None if top is None else max(top, job.most_slots))
        shown = _numbers(queue.slots)
        change = SettingChange(
            f"lsb.queues, queue {queue.name}",
            f"TASKLIMIT = {_numbers(wider)}",
            queue_with(queue.name, slots=wider),
            now=f"TASKLIMIT = {shown}",
        )
        cause = f"queue {queue.name} takes jobs of some sizes only: TASKLIMIT (PROCLIMIT) = {shown}"
        yield Probe("queue limit", cause, (change,))


def _numbers(values: tuple[int | None, ...]) -> str:
    return " ".join(str(number) for number in values if number is not None)


def _queue_limit(queue: Queue, key: str, field: str, number: int) -> SettingChange:
    return SettingChange(
        f"lsb.queues, queue {queue.name}",
        f"{key} = {number}",
        queue_with(queue.name, **{field: number}),
        f"queues.{queue.name}.{key}={number}",
    )


def _host_limits(instance: Instance) -> Iterator[Probe]:
    names = [host.name for host in instance.cluster.hosts if host.user_slots is not None]
    if names:
        values = {host.user_slots for host in instance.cluster.hosts if host.name in set(names)}
        shown = " or ".join(str(value) for value in sorted(v for v in values if v is not None))
        change = SettingChange(
            f"lsb.hosts, {', '.join(names)}",
            "JL/U = () (no limit)",
            hosts_with(names, lambda host: replace(host, user_slots=None)),
            now=f"JL/U = {shown}",
        )
        few = "slot" if shown == "1" else "slots"
        cause = f"each user may use {shown} {few} on each of {named(names)}: JL/U"
        yield Probe("host limit", cause, (change,))


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
    if parts:
        yield together(parts)


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
    if own is None:
        steps = tuple(
            SettingChange(
                "lsb.params",
                f"JOB_ACCEPT_INTERVAL = {n}",
                params_with(job_accept_interval=n),
                f"JOB_ACCEPT_INTERVAL={n}",
            )
            for n in numbers
        )
    else:
        steps = tuple(
            _queue_limit(queue, "JOB_ACCEPT_INTERVAL", "job_accept_interval", n) for n in numbers
        )
    yield Probe("accept interval", cause, steps)
