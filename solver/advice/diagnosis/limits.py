"""Probes of limits, windows, thresholds, advance reservations, JOB_ACCEPT_INTERVAL and guaranteed
resource pools (GUA-01).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from ....model.cluster import BUILTIN_AMOUNTS, Host, Thresholds
from ....model.configuration import CONSUMERS, Limit, Queue, User
from ....model.display import MINUTE, duration_text, some
from ....model.duration import expected_duration, granted_run_limit
from ....model.formats.guarantee_text import distribution_text, loans_text
from ....model.instance import Instance
from ....model.job import NO_RUN_LIMIT, Job, job_groups_of, running_limits
from ....model.reserved_periods import of_jobs
from ....model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, LoanPolicy
from ....model.shares import pools
from ...availability.guarantees import GuaranteeRows, MeasuredPool, takes
from ...pending_reasons import counted
from ...rules.omitted import LONG
from ..suggestions import limit_text, with_limit
from .probes import (
    Probe,
    SettingChange,
    all_of,
    amounts_from,
    command,
    edited,
    line,
    of_job,
    on_hosts,
)
from .surroundings import longest_limit

KIND = "guaranteed pool"


def guarantee_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of guaranteed pools that reserve resources for other jobs."""
    if not instance.guaranteed_pools:
        return
    rows = GuaranteeRows(instance)
    own = rows.members.of(job)
    for number, pool in enumerate(rows.pools):
        if rows.may_reach(number, job):
            yield from _classes(rows, pool, job, own)
            yield from _loans(instance, rows, number, job)
            yield from _distribution(instance, rows, pool, job, own)


def _classes(rows: GuaranteeRows, pool: MeasuredPool, job: Job, own: str) -> Iterator[Probe]:
    """Yield service classes with a guarantee that the job could name."""
    for name, amount in pool.guaranteed.items():
        item = rows.members.by_name.get(name)
        if item is None or name == own or not amount or not rows.members.admits(item, job):
            continue
        now = f"-sla {job.service_class}" if job.service_class else "no -sla"
        words, then = f"submit it with -sla {name}", replace(job, service_class=name)
        change = of_job(job, then, words, now, ("-sla", name))
        cause = (
            f"guaranteed pool {pool.pool.name} keeps {amount:g} {_unit(pool.pool)} for service "
            f"class {name}, which accepts job {job.id}, but the job does not name it"
        )
        yield Probe("service class", cause, (change,))


def _unit(pool: GuaranteedPool) -> str:
    return {"package": "packages", "resource": pool.arguments.get("name", "")}.get(
        pool.kind, pool.kind
    )


def _loans(instance: Instance, rows: GuaranteeRows, number: int, job: Job) -> Iterator[Probe]:
    """Yield changes of LOAN_POLICIES that deny the job idle guaranteed resources."""
    pool = rows.pools[number].pool
    policy = pool.loans
    keeps = f"guaranteed pool {pool.name} reserves resources that its owners leave idle"
    if policy is None or not policy.takes(job.queue):
        wider = LoanPolicy((job.queue,))
        if policy is not None:
            wider = replace(policy, queues=(*policy.queues, job.queue))
        steps = [_policy(pool, wider)]
        if not takes(instance, replace(pool, loans=wider), job):
            steps.append(_policy(pool, replace(wider, duration=_span(instance, job))))
        cause = f"{keeps}: it has no loans for jobs of queue {job.queue} (LOAN_POLICIES)"
        yield Probe(KIND, cause, tuple(steps))
        return
    if not rows.loan_of(number, job) and policy.duration is not None:
        yield from _duration(instance, pool, policy, job)
        return
    if policy.close_on_demand:
        guaranteed = rows.pools[number].guaranteed
        waiting = (j for j in instance.pending if guaranteed.get(rows.members.of(j), 0) > 0)
        owners = [other.id for other in waiting if other.id != job.id]
        cause = (
            f"{keeps} while jobs of its classes wait ({some(owners) or 'none now'}): "
            "CLOSE_ON_DEMAND of LOAN_POLICIES"
        )
        yield Probe(KIND, cause, (_policy(pool, replace(policy, close_on_demand=False)),))
    if policy.retain is not None or policy.idle_buffer is not None:
        cause = f"{keeps} in part: RETAIN or IDLE_BUFFER of LOAN_POLICIES"
        bare = replace(policy, retain=None, idle_buffer=None)
        yield Probe(KIND, cause, (_policy(pool, bare),))


def _span(instance: Instance, job: Job) -> int | None:
    """Return the seconds that DURATION is compared with, in whole minutes; None if unknown."""
    spans = expected_duration(instance, job), granted_run_limit(instance, job)
    known = [span for span in spans if span is not None]
    return -(-min(known) // MINUTE) * MINUTE if known else None


def _duration(
    instance: Instance, pool: GuaranteedPool, policy: LoanPolicy, job: Job
) -> Iterator[Probe]:
    """Yield a shorter run limit, or longer loans, if the job is longer than loans allow."""
    assert policy.duration is not None
    span = _span(instance, job)
    runs = "has no run limit" if span is None else f"may run for {duration_text(span)}"
    cause = (
        f"guaranteed pool {pool.name} has loans only for jobs of at most "
        f"{duration_text(policy.duration)}, and job {job.id} {runs}: DURATION of LOAN_POLICIES"
    )
    limit, now = f"-W {limit_text(policy.duration)}", "no -W"
    if job.run_limit is not None and job.run_limit != NO_RUN_LIMIT:
        now = f"-W {duration_text(job.run_limit)}"
    then = with_limit(job, policy.duration)
    shorter = of_job(job, then, f"submit it with {limit}", now, limit.split())
    yield Probe(KIND, cause, (shorter,))
    yield Probe(KIND, cause, (_policy(pool, replace(policy, duration=span)),))


def _policy(pool: GuaranteedPool, policy: LoanPolicy) -> SettingChange:
    return line(pool, "LOAN_POLICIES", loans_text(policy), loans=policy)


def _distribution(
    instance: Instance, rows: GuaranteeRows, pool: MeasuredPool, job: Job, own: str
) -> Iterator[Probe]:
    """Yield smaller guarantees of other classes whose jobs neither use nor request all of them."""
    for name, amount in pool.guaranteed.items():
        needed = _needed(instance, rows, pool, name)
        if name == own or needed >= amount:
            continue
        wanted = {max(needed, amount - job.slots), needed}
        steps = tuple(
            _distributed(pool.pool, name, number) for number in sorted(wanted, reverse=True)
        )
        cause = (
            f"guaranteed pool {pool.pool.name} keeps {amount:g} {_unit(pool.pool)} for service "
            f"class {name}, whose jobs use and request {needed:g}: DISTRIBUTION = "
            f"{distribution_text(pool.pool.distribution)}"
        )
        yield Probe(KIND, cause, steps)


def _needed(instance: Instance, rows: GuaranteeRows, pool: MeasuredPool, name: str) -> float:
    """Return the slots of a pool's hosts that jobs of a class use, plus the slots that they wait
    for.
    """
    hosts = {h.name for h, inside in zip(instance.cluster.hosts, pool.mask, strict=True) if inside}
    found = sum(
        sum(slots for host, slots in item.allocation.items() if host in hosts)
        for item in instance.running
        if rows.members.of(item.job) == name
    )
    return float(found + sum(j.slots for j in instance.pending if rows.members.of(j) == name))


def _distributed(pool: GuaranteedPool, name: str, amount: float) -> SettingChange:
    shares = tuple(
        Guarantee(name, GuaranteedAmount(amount)) if item.service_class == name else item
        for item in pool.distribution
    )
    now = distribution_text(pool.distribution)
    return line(pool, "DISTRIBUTION", distribution_text(shares), now, distribution=shares)


T = TypeVar("T")
#: Multiple of all slots above which a limit has no effect: running jobs and reservations both
#: count.
BINDS = 2


def limit_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of the limits that keep jobs from starting on free slots."""
    queue = instance.queue(job.queue)
    yield from chain(
        _queue_state(queue),
        _windows(instance, queue),
        all_of(_thresholds(instance, queue)),
        all_of(part for limit in instance.limits for part in _of_section(instance, limit, job)),
        all_of(_users(instance, job)),
        _queue_limits(instance, queue, job),
        _host_limits(instance),
        all_of(_job_groups(instance, job)),
        _array_limit(instance, job),
        all_of(_advance_reservations(instance)),
        guarantee_probes(instance, job),
        _intervals(instance, queue),
    )


def _queue_state(queue: Queue) -> Iterator[Probe]:
    if not queue.active:
        who = f"the administrator, queue {queue.name}"
        change = command(f"badmin qact {queue.name}", edited(queue, active=True), who)
        cause = f"queue {queue.name} is inactive (badmin qinact): none of its jobs starts"
        yield Probe("queue inactive", cause, (change,))


def _windows(instance: Instance, queue: Queue) -> Iterator[Probe]:
    empty = "(empty: no window)"
    for key, field in (("DISPATCH_WINDOW", "dispatch_window"), ("RUN_WINDOW", "run_window")):
        if window := getattr(queue, field):
            cause = f"queue {queue.name} starts jobs only in its window: {key} = {window}"
            change = line(queue, key, empty, window, "", **{field: ""})
            yield Probe("dispatch window", cause, (change,))
    windows = ((host.windows, host.name) for host in instance.cluster.hosts if host.windows)
    yield from all_of(
        Probe(
            "host window",
            f"{_hosts(names, 'has', 'have')} a dispatch window: DISPATCH_WINDOW = {window}",
            (on_hosts(names, "DISPATCH_WINDOW", empty, window, partial(replace, windows="")),),
        )
        for window, names in _by_value(windows).items()
    )


def _by_value(pairs: Iterable[tuple[T, str]]) -> dict[T, list[str]]:
    """Return the hosts of each value."""
    found: dict[T, list[str]] = {}
    for value, host in pairs:
        found.setdefault(value, []).append(host)
    return found


def _hosts(names: Sequence[str], one: str, several: str) -> str:
    """Return hosts with their verb."""
    return f"host {names[0]} {one}" if len(names) == 1 else f"hosts {some(names)} {several}"


def _thresholds(instance: Instance, queue: Queue) -> Iterator[Probe]:
    empty = "(empty: no threshold)"
    for name, value in queue.thresholds.sched.items():
        change = line(queue, name, empty, f"{value:g}", thresholds=_without(queue.thresholds, name))
        cause = (
            f"queue {queue.name} starts jobs only on hosts below a load threshold: "
            f"{name} = {value:g} (loadSched)"
        )
        yield Probe("load threshold", cause, (change,))
    hosts = instance.cluster.hosts
    levels = ((level, host.name) for host in hosts for level in host.thresholds.sched.items())
    for (name, value), names in _by_value(levels).items():

        def without(host: Host, name: str = name) -> Host:
            return replace(host, thresholds=_without(host.thresholds, name))

        change = on_hosts(names, name, empty, f"{value:g}", without)
        accept = _hosts(names, "accepts", "accept")
        cause = f"{accept} jobs only up to a load of {name} = {value:g} (loadSched)"
        yield Probe("load threshold", cause, (change,))


def _without(limits: Thresholds, name: str) -> Thresholds:
    return replace(limits, sched={key: most for key, most in limits.sched.items() if key != name})


def _numbers_from(instance: Instance, current: float, *wanted: int) -> tuple[int, ...]:
    """Return larger limits on slots or jobs, up to one that nothing reaches."""
    total = sum(host.slots for host in instance.cluster.hosts)
    return amounts_from(int(current), *wanted, total, BINDS * total)


def _of_section(instance: Instance, limit: Limit, job: Job) -> Iterator[Probe]:
    cause = f"Limit section {limit.name} allows {_scope_text(limit)}"
    for name, amount in limit.amounts.items():
        numbers: Sequence[float] = (amount * 2, amount * 4, amount * 1024)
        if name in ("slots", "jobs"):
            own = job.slots if name == "slots" else 1
            numbers = _numbers_from(instance, amount, own, int(amount) + own)
        key, path, form = name.upper(), name.upper(), "{:g}"
        if name not in ("slots", "jobs", *BUILTIN_AMOUNTS):
            key, path, form = "RESOURCE", f"RESOURCE.{name}", f"[{name},{{:g}}]"
        now = form.format(amount)
        steps = tuple(
            line(
                *(limit, key, form.format(number), now, f"{path}={number:g}"),
                amounts={**limit.amounts, name: float(number)},
            )
            for number in numbers
        )
        yield Probe("limit", f"{cause} {key} = {now}", steps)
    none = "- (no limit)"
    for name, percent in limit.percentages.items():
        kept = {other: value for other, value in limit.percentages.items() if other != name}
        change = line(limit, name.upper(), none, f"{percent:g}%", percentages=kept)
        yield Probe("limit", f"{cause} {change.now}", (change,))
    if (least := limit.slots_per_processor) is not None:
        change = line(limit, "SLOTS_PER_PROCESSOR", none, f"{least:g}", slots_per_processor=None)
        yield Probe("limit", f"{cause} {change.now}", (change,))


def _scope_text(limit: Limit) -> str:
    scopes = ((item.noun, scope) for item in CONSUMERS if (scope := item.scope(limit)))
    words = [
        f"{f'each {noun} of' if scope.each else noun} {some(scope.names)}" for noun, scope in scopes
    ]
    return f"({', '.join(words)})" if words else "(everybody together)"


#: Slot limits of a queue and of a user: key, field, and the words for its scope.
QUEUE_LIMITS = (
    ("QJOB_LIMIT", "queue_slots", "in all"),
    ("UJOB_LIMIT", "user_slots", "for each user"),
    ("HJOB_LIMIT", "host_slots", "on each host"),
)
_USER_LIMITS = (("MAX_JOBS", "max_slots", ""),)
_POOL_LIMITS = (("MAX_SLOTS_IN_POOL", "max_slots_in_pool", "in all"),)


def _raised(
    instance: Instance,
    job: Job,
    who: str,
    entry: Queue | User,
    limits: Iterable[tuple[str, str, str]],
) -> Iterator[Probe]:
    """Yield the probes of larger slot limits of a queue or user. who: whose slots are limited."""
    kind = "user limit" if isinstance(entry, User) else "queue limit"
    for key, field, what in limits:
        most: int | None = getattr(entry, field)
        if most is None:
            continue
        numbers = _numbers_from(instance, most, job.slots, most + job.slots)
        if field == "host_slots":
            own = max(host.slots for host in instance.cluster.hosts)
            numbers = amounts_from(most, own, BINDS * own)
        steps = tuple(line(entry, key, n, most, n, **{field: n}) for n in numbers)
        yield Probe(kind, f"{who} may use {counted(most, 'slot', what)}: {key} = {most}", steps)


def _per_processor(who: str, entry: Queue | User) -> Iterator[Probe]:
    kind, key, none = "queue limit", "PJOB_LIMIT", "(empty: no limit)"
    if isinstance(entry, User):
        kind, key, none = "user limit", "JL/P", "- (no limit)"
    if (per := entry.processor_slots) is not None:
        change = line(entry, key, none, f"{per:g}", processor_slots=None)
        yield Probe(kind, f"{who} may use only a few slots per processor: {change.now}", (change,))


def _users(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield higher limits of users and groups, including limits that do not concern the job."""
    groups = {group.name for group in instance.groups}
    for user in instance.users:
        # A name at the beginning would be capitalised.
        who = f"user {'group ' * (user.name in groups)}{user.name}"
        yield from _raised(instance, job, who, user, _USER_LIMITS)
        yield from _per_processor(who, user)


def _queue_limits(instance: Instance, queue: Queue, job: Job) -> Iterator[Probe]:
    who = f"jobs of queue {queue.name}"
    yield from _raised(instance, job, who, queue, QUEUE_LIMITS)
    yield from _per_processor(who, queue)
    if queue.slots is not None:
        least, usual, top = queue.slots
        wider = (min(least, job.slots), usual, None if top is None else max(top, job.most_slots))
        shown, text = (
            " ".join(str(number) for number in sizes if number is not None)
            for sizes in (queue.slots, wider)
        )
        cause = f"queue {queue.name} accepts only jobs of certain sizes"
        cause += f": TASKLIMIT (PROCLIMIT) = {shown}"
        yield Probe("queue limit", cause, (line(queue, "TASKLIMIT", text, shown, slots=wider),))
    for pool in pools(instance):
        if queue.name in pool.queues and pool.max_slots is not None:
            first = next(item for item in instance.queues if item.slot_pool == pool.name)
            who = f"the queues of slot pool {pool.name}"
            yield from _raised(instance, job, who, first, _POOL_LIMITS)


def _job_groups(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield larger limits of the job's group and of those above it."""
    limited = {group.name: group for group in instance.job_groups}
    own = {
        name: most
        for name in job_groups_of(job.job_group)
        if name in limited and (most := limited[name].limit) is not None
    }
    # All have the same numbers, as none may have a larger one than those above.
    every = {
        number for most in own.values() for number in (most, *_numbers_from(instance, most, 1))
    }
    for name, most in own.items():
        owner = f"the owner of job group {name}"
        steps = tuple(
            command(f"bgmod -L {number} {name}", edited(limited[name], limit=number), owner)
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
    who = f"user {job.user}"
    steps = tuple(
        command(f'bmod -J "%{number}" {array}', partial(arrays_at, number, array), who)
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


def _host_limits(instance: Instance) -> Iterator[Probe]:
    limits = {h.name: h.user_slots for h in instance.cluster.hosts if h.user_slots is not None}
    if limits:
        shown = " or ".join(str(value) for value in sorted(set(limits.values())))
        free = partial(replace, user_slots=None)
        change = on_hosts([*limits], "JL/U", "() (no limit)", shown, free)
        few = "slot" if shown == "1" else "slots"
        cause = f"each user may use {shown} {few} on each of {some(limits)}: {change.now}"
        yield Probe("host limit", cause, (change,))


def _advance_reservations(instance: Instance) -> Iterator[Probe]:
    used = {item.name for item in of_jobs(instance)}  # their jobs would have no start otherwise
    for item in (each for each in instance.advance_reservations if each.name not in used):

        def without(instance: Instance, name: str = item.name) -> Instance:
            kept = tuple(each for each in instance.advance_reservations if each.name != name)
            return replace(instance, advance_reservations=kept)

        slots = counted(sum(item.slots.values()), "slot")
        change = command(f"brsvdel {item.name}", without)
        cause = f"advance reservation {item.name} reserves {slots}"
        yield Probe("advance reservation", cause, (change,))


def _intervals(instance: Instance, queue: Queue) -> Iterator[Probe]:
    params, key = instance.params, "JOB_ACCEPT_INTERVAL"
    owner = params if queue.job_accept_interval is None else queue
    if not (current := owner.job_accept_interval):
        return
    lasts = duration_text(current * params.mbd_sleep_time)
    cause = (
        f"a host accepts no other job for {current} dispatch cycles ({lasts}) after a dispatch: "
        f"{key} = {current}"
    )
    numbers = [n for n in (240, 120, 60, 30, 20, 10, 5, 2, 1, 0) if n < current]
    steps = tuple(line(owner, key, n, whatif=n, job_accept_interval=n) for n in numbers)
    yield Probe("accept interval", cause, steps)


def without_limits(instance: Instance) -> Instance:
    """Return the instance without limits, windows, thresholds, guarantees and accept intervals."""
    hosts = tuple(
        replace(host, windows="", thresholds=Thresholds(), user_slots=None)
        for host in instance.cluster.hosts
    )
    users = tuple(replace(u, max_slots=None, processor_slots=None) for u in instance.users)
    return replace(
        arrays_at(None, None, instance),
        cluster=replace(instance.cluster, hosts=hosts),
        queues=tuple(map(_without_limits, instance.queues)),
        users=users,
        limits=(),
        job_groups=tuple(replace(group, limit=None) for group in instance.job_groups),
        guaranteed_pools=(),
        advance_reservations=(),
        params=replace(instance.params, job_accept_interval=0),
    )


def _without_limits(queue: Queue) -> Queue:
    of_slots: dict[str, Any] = {field: None for _, field, _ in QUEUE_LIMITS}
    return replace(
        queue,
        **of_slots,
        processor_slots=None,
        max_slots_in_pool=None,
        slots=None,
        thresholds=Thresholds(),
        dispatch_window="",
        run_window="",
        job_accept_interval=None,
    )


def without_rules(instance: Instance) -> Instance:
    """Return the instance with unlimited reservations, backfill, open hosts and no limits."""
    length = longest_limit(instance)
    jobs = instance.present_jobs
    endless = {job.queue for job in jobs if expected_duration(instance, job) is None}
    unlimited = without_limits(instance)
    queues = tuple(
        replace(
            queue,
            slot_reserve=None,
            resource_reserve=LONG,
            backfill=True,
            chunk_job_size=None,
            active=True,
            run_limit=length if queue.name in endless else queue.run_limit,
        )
        for queue in unlimited.queues
    )
    hosts = tuple(replace(host, status="ok") for host in unlimited.cluster.hosts)
    return replace(
        unlimited,
        cluster=replace(unlimited.cluster, hosts=hosts),
        queues=queues,
        held=(),
        borrowed=(),
        params=replace(unlimited.params, modules=None),
    )
