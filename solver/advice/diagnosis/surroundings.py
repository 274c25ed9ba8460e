"""Probes of hosts, shares, priorities, other jobs, and the request of the job."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ....model.absolute_priority import StatedPriority
from ....model.cluster import BUILTIN_AMOUNTS, DEAD_STATUSES, Host
from ....model.configuration import HostPartition, Queue
from ....model.display import HOUR, some
from ....model.duration import ended_by_deadline, expected_duration, expected_finish
from ....model.errors import InputError
from ....model.instance import Instance
from ....model.job import Job, RunningJob
from ....model.resreq import effective_requirement
from ....model.resreq.syntax import Simple
from ....model.resreq.vocabulary import UNITS
from ....model.shares import queue_hosts, queue_sets
from ...pending_reasons import counted
from ..rank import absolute_rank
from ..suggestions import is_compound, ladder, memory_edit, other_shapes, section, with_section
from .probes import (
    Apply,
    Probe,
    SettingChange,
    all_of,
    command,
    hosts_with,
    joined,
    line,
    of_job,
)

#: Minimum share of the slots at which the running jobs of one user may block other jobs.
MUCH = 0.5
#: Maximum number of closed hosts in the command that shows who closed them.
MAX_ASKED = 3


def host_probes(instance: Instance) -> Iterator[Probe]:
    """Yield probes of closed hosts and of failed hosts, each kind together, with its hosts as
    members.
    """
    closed = [host for host in instance.cluster.hosts if not host.takes_jobs]
    dead = [host for host in closed if host.status in DEAD_STATUSES]
    shut = [host for host in closed if host.status not in DEAD_STATUSES]
    if shut:
        yield _hosts("hosts closed", shut)
    if dead:
        yield _hosts("hosts down", dead)


def _hosts(kind: str, hosts: Sequence[Host]) -> Probe:
    """Return a probe that reopens some hosts."""
    names = [host.name for host in hosts]
    slots = sum(host.slots for host in hosts)
    states = ", ".join(dict.fromkeys(host.status for host in hosts))
    verb = "is" if len(hosts) == 1 else "are"
    shut = kind == "hosts closed"
    cause = (
        f"host{'s' * (len(hosts) > 1)} {some(names)} {verb} {'closed' if shut else 'down'} "
        f"({states}): {counted(slots, 'slot')} {'is' if slots == 1 else 'are'} missing"
    )
    if shut:
        whom = "it" if len(hosts) == 1 else "them"
        cause += f" (badmin hhist {' '.join(names[:MAX_ASKED])} shows who closed {whom})"
    change = SettingChange(
        "command of the administrator" if shut else "repair",
        f"badmin hopen {' '.join(names)}" if shut else f"bring back {', '.join(names)}",
        hosts_with(names, lambda host: replace(host, status="ok")),
    )
    of_some = None
    if len(hosts) > 1:

        def of_some(places: Sequence[int]) -> Probe:
            return _hosts(kind, [hosts[place] for place in places])

    return Probe(kind, cause, (change,), len(hosts), of_some)


def queue_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of the queue: further hosts, and the queue's own requirement."""
    queue = instance.queue(job.queue)
    if own := queue.res_req:
        change = line(queue, "RES_REQ", "(empty: no requirement)", own, "", res_req="")
        kind = "memory" if "rusage" in own and "mem" in own else "requirement"
        cause = f"queue {queue.name} requests {own} for each of its jobs (RES_REQ)"
        yield Probe(kind, cause, (change,))
    here, every = queue_hosts(instance.cluster, queue), instance.cluster.hosts
    if len(here) < len(every):
        change = line(queue, "HOSTS", "all", hosts=(), excluded_hosts=())
        cause = f"queue {queue.name} uses {len(here)} of {len(every)} hosts: its HOSTS"
        yield Probe("queue hosts", cause, (change,))


def order_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of shares and priorities that put other jobs before the job."""
    yield from _shares(instance, job)
    yield from _absolute(instance, job)
    yield from _partitions(instance, job)
    yield from _priority(instance, job)


def _shares(instance: Instance, job: Job) -> Iterator[Probe]:
    for policy in queue_sets(instance):
        if job.queue not in policy.queues:
            continue
        queue = instance.queue(policy.master)
        shares = queue.user_shares or ()
        account, own, steps = _more_shares(instance, job, queue, "FAIRSHARE")
        total = sum(number for _, number in shares)
        cause = (
            f"fairshare of queue {queue.name} puts jobs of {job.user} behind others: "
            f"{account} has {own} of {total} shares (FAIRSHARE)"
        )
        yield Probe("fairshare", cause, steps)
        words, now = " (first come, first served)", _shares_text(shares)
        none = {"user_shares": None, "fairshare_queues": (), "dispatch_order": ""}
        yield Probe("fairshare", cause, (_without(queue, "FAIRSHARE", words, now, **none),))
    queue = instance.queue(job.queue)
    if pool := queue.slot_pool:
        share, key = queue.slot_share or 0.0, "SLOT_SHARE"
        steps = tuple(
            line(queue, key, number, f"{share:g}", number, slot_share=float(number))
            for number in (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
            if number > share
        )
        cause = f"queue {queue.name} may use only its share of slot pool {pool}"
        yield Probe("slot pool", f"{cause}: {key} = {share:g} percent", steps)
        none = {"slot_pool": "", "slot_share": None, "max_slots_in_pool": None}
        change = _without(queue, "SLOT_POOL", "", pool, **none)
        yield Probe("slot pool", f"{cause}: {change.now}", (change,))


def _without(queue: Queue, key: str, words: str, now: str, **changes: Any) -> SettingChange:
    """Return the removal of a line, which ``whatif --set`` knows if it needs words."""
    change = line(queue, key, "", now, "" if words else None, **changes)
    return replace(change, setting=f"no {key}{words}")


def _account(instance: Instance, job: Job, shares: tuple[tuple[str, int], ...]) -> tuple[str, int]:
    """Return the share account that serves the user of a job, with its shares; 0 if it has none
    yet.
    """
    listed = dict(shares)
    groups = [group.name for group in instance.groups if job.user in group.members]
    for name in (job.user, *groups, *(f"{group}@" for group in groups)):
        if name in listed:
            return name, listed[name]
    return job.user, listed.get("default", listed.get("others", 0))


def _more_shares(
    instance: Instance, job: Job, entry: Queue | HostPartition, key: str
) -> tuple[str, int, tuple[SettingChange, ...]]:
    """Return the share account of a job, its shares, and round larger numbers of them, up to at
    least ten times the largest.
    """
    shares = entry.user_shares or ()
    account, own = _account(instance, job, shares)
    most, number = max((number for _, number in shares), default=1), max(own, 1)
    listed = dict(shares)
    every = listed if account in listed else {account: own, **listed}
    steps = []
    while number < 10 * max(most, 10):
        number = number * 2 if number < 10 else -(-number * 2 // 10) * 10
        changed = tuple((every | {account: number}).items())
        texts = _shares_text(changed), _shares_text(shares)
        path = f"{key}.{account}={number}"
        steps.append(line(entry, key, *texts, path, user_shares=changed))
    return account, own, tuple(steps)


def _shares_text(shares: tuple[tuple[str, int], ...]) -> str:
    return f"USER_SHARES[{' '.join(f'[{name}, {number}]' for name, number in shares)}]"


def _partitions(instance: Instance, job: Job) -> Iterator[Probe]:
    for partition in instance.partitions:
        account, own, steps = _more_shares(instance, job, partition, "USER_SHARES")
        cause = (
            f"host partition {partition.name} puts jobs of {job.user} behind others: {account} "
            f"has {own} shares"
        )
        yield Probe("fairshare", cause, steps)


def _absolute(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield a system priority above all values (bmod -aps), and a queue group without
    APS_PRIORITY.
    """
    found = absolute_rank(instance, job)
    if found is None or found.before is None:
        return
    parent = instance.queue(found.queues[0])
    known = (other.aps.value for other in instance.pending if other.aps is not None)
    stated = StatedPriority("system", max([0.0, *known]) + 1)
    now, option = "its calculated absolute priority", ("-aps", str(stated))
    aps = of_job(job, replace(job, aps=stated), f'bmod -aps "{stated}"', now, option)
    yield Probe("absolute priority", f"job {job.id} {found}", (aps,))
    words = " (first come, first served by job priority)"
    none = {"aps_priority": None, "queue_group": ()}
    plain = _without(parent, "APS_PRIORITY", words, str(parent.aps_priority), **none)
    yield Probe("absolute priority", f"job {job.id} {found}", (plain,))


def _priority(instance: Instance, job: Job) -> Iterator[Probe]:
    queue = instance.queue(job.queue)
    waiting = {other.queue for other in instance.pending} - {queue.name}
    others = [q for q in instance.queues if q.name in waiting and q.priority > queue.priority]
    above = sorted({other.priority for other in others})
    numbers = [number for first in above for number in (first, first + 1)]
    if not numbers:
        return
    names = [other.name for other in others]
    steps = tuple(line(queue, "PRIORITY", n, whatif=n, priority=n) for n in dict.fromkeys(numbers))
    cause = (
        f"queue {queue.name} has PRIORITY = {queue.priority}, and jobs of {some(names)} go first "
        f"(PRIORITY up to {above[-1]})"
    )
    yield Probe("queue priority", cause, steps)


def other_job_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield probes of jobs without a known end, and of a user whose running jobs use most slots."""
    yield from _endless(instance, job)
    yield from _dominant_user(instance, job)


def longest_limit(instance: Instance) -> int:
    """Return the longest run limit of the jobs in seconds, rounded up to hours; a day if there
    is none.
    """
    lengths = (expected_duration(instance, other) for other in instance.present_jobs)
    known = [length for length in lengths if length is not None]
    return -(-max(known, default=24 * HOUR) // HOUR) * HOUR


def _endless(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield run limits for queues whose jobs have no known end."""
    running = [
        run
        for run in instance.running
        if not run.suspended and expected_finish(instance, run) is None
    ]
    pending = [
        other
        for other in instance.pending
        if ended_by_deadline(other, expected_duration(instance, other)) is None
    ]
    names = dict.fromkeys([*(run.job.queue for run in running), *(item.queue for item in pending)])
    parts = []
    for name in names:
        # The limit exceeds the elapsed time of every running job, so none is killed.
        ages = [instance.now - run.start for run in running if run.job.queue == name]
        length = max(longest_limit(instance), (max(ages, default=0) // HOUR + 1) * HOUR)
        jobs = [run.job.id for run in running if run.job.queue == name]
        jobs += [other.id for other in pending if other.queue == name]
        cause = (
            f"it is not known when {some([f'job {item}' for item in jobs])} will end: queue "
            f"{name} has no RUNLIMIT and {'it has' if len(jobs) == 1 else 'they have'} no -W"
        )
        text = f"{length // HOUR}:00"
        change = line(instance.queue(name), "RUNLIMIT", text, whatif=text, run_limit=length)
        parts.append(Probe("run limit unknown", cause, (change,)))
    yield from all_of(parts)


def user_with_most(instance: Instance, hosts: Collection[str]) -> tuple[str, int, int]:
    """Return the user whose running jobs use most of the slots of some hosts, "" if none uses
    enough; the slots in use, and all slots of the hosts.
    """
    held: Counter[str] = Counter()
    for run in instance.running:
        held[run.job.user] += sum(slots for host, slots in run.allocation.items() if host in hosts)
    total = sum(host.slots for host in instance.cluster.hosts if host.name in hosts)
    user, slots = next(iter(held.most_common(1)), ("", 0))
    return user if slots > MUCH * total else "", slots, total


def _dominant_user(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield slot limits for a user whose running jobs use most of the slots that the job may
    use.
    """
    usable = set(queue_hosts(instance.cluster, instance.queue(job.queue)))
    user, slots, total = user_with_most(instance, usable)
    if user in ("", job.user):
        return
    runs = [run for run in instance.running if run.job.user == user]
    queues = Counter(run.job.queue for run in runs)
    name = queues.most_common(1)[0][0]
    # The limit allows every job of the queue.
    largest = max(other.slots for other in instance.present_jobs if other.queue == name)
    steps = []
    for share in (0.75, 0.5, 0.25, 0.125):
        most = max(largest, round(total * share))
        back = [run.job.id for run in runs_beyond(runs, name, most)]
        if most < slots and back:
            queue = instance.queue(name)
            limit = line(queue, "UJOB_LIMIT", most, whatif=most, user_slots=most)
            again = command(f"brequeue {' '.join(back)}", requeued(back), requeues=back)
            steps.append(joined(limit, again))
    cause = (
        f"running jobs of one user, {user}, hold {slots} of the {total} slots it could use; "
        f"queue {name} has no limit for one user (UJOB_LIMIT)"
    )
    if steps:
        yield Probe("running jobs of one user", cause, tuple(steps))


def runs_beyond(running: Iterable[RunningJob], queue: str, most: int) -> list[RunningJob]:
    """Return the last-started running jobs of one user and queue beyond this many slots."""
    used = 0
    back = []
    for run in sorted(running, key=lambda run: (run.start, run.job.id)):
        if run.job.queue != queue:
            continue
        if used + run.slots > most:
            back.append(run)
        else:
            used += run.slots
    return back


def requeued(jobs: Iterable[str]) -> Apply:
    """Return the function that requeues running jobs, at the end of the pending jobs."""
    names = frozenset(jobs)

    def apply(instance: Instance) -> Instance:
        back = tuple(run.job for run in instance.running if run.job.id in names)
        kept = tuple(run for run in instance.running if run.job.id not in names)
        return replace(instance, running=kept, pending=(*instance.pending, *back), borrowed=())

    return apply


def request_probes(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield changes of the job's request other than slots: memory, other resources, topology."""
    if is_compound(job):
        return
    if instance.params.reserve_per_slot and section(job, "rusage") is not None:
        key = "RESOURCE_RESERVE_PER_SLOT"
        change = line(instance.params, key, "N", whatif="N", reserve_per_slot=False)
        cause = (
            f"job {job.id} waits for memory, not for slots: rusage[{section(job, 'rusage')}] "
            f"counts for each of its slots ({job.slots}): RESOURCE_RESERVE_PER_SLOT = Y"
        )
        yield Probe("memory per slot", cause, (change,))
    yield from _memory(instance, job)
    if job.gpu:
        yield _without_option(job, "resource", "GPUs, not for slots", f"-gpu {job.gpu}", gpu="")
    if job.hosts and not instance.params.scheduler.has_own_words:
        named = f"-m {' '.join(item.name for item in job.hosts)}"
        yield _without_option(job, "requirement", "the hosts that it names", named, hosts=())
    if job.exclusive and not instance.params.scheduler.has_own_words:
        yield _without_option(
            job, "requirement", "hosts without any other job", "-x", exclusive=False
        )
    yield from _shapes(instance, job)


def _without_option(job: Job, kind: str, what: str, option: str, **then: Any) -> Probe:
    """Return the change of a job that waits for `what` to one without an option."""
    name = option.split()[0]
    words = (f"ask without {name}", option, (f"{name}n",), f"no {name}")
    change = of_job(job, replace(job, **then), *words)
    return Probe(kind, f"job {job.id} waits for {what}: {option}", (change,))


def _memory(instance: Instance, job: Job) -> Iterator[Probe]:
    """Yield requests with less memory and without other resources."""
    own = section(job, "rusage")
    if own is None:
        return
    found = memory_edit(job, UNITS[instance.params.unit_for_limits])
    if found is not None:
        asked, edit = found
        steps = []
        for amount in (*ladder(asked), 1):
            edited = edit(amount)
            text = f"rusage[{section(edited, 'rusage')}]"
            steps.append(_asked(job, edited, f"request less: {text}"))
        cause = f"job {job.id} waits for memory, not for slots: rusage[{own}]"
        yield Probe("memory", cause, tuple(steps))
    if found is None or len(own.replace(":", ",").split(",")) > 1:
        free = with_section(job, "rusage", None)
        change = _asked(job, free, f"submit it without rusage[{own}]")
        memory = found is None and any(name in own for name in BUILTIN_AMOUNTS)
        kind, what = ("memory", "memory") if memory else ("resource", "a resource")
        cause = f"job {job.id} waits for {what}, not for slots: rusage[{own}]"
        yield Probe(kind, cause, (change,))


def _shapes(instance: Instance, job: Job) -> Iterator[Probe]:
    try:
        requirement = effective_requirement(instance, job).requirement
    except InputError:
        return
    if not isinstance(requirement, Simple):
        return
    for name, change, edited in other_shapes(instance, job):
        unit = name in ("cu", "span", "same")
        kind = "compute units" if unit else "requirement"
        own = section(job, name)
        cause = (
            f"the slots are free earlier than in the requested shape: {name}[{own}]"
            if unit
            else f"hosts that meet its requirement are free later than others: {name}[{own}]"
        )
        yield Probe(kind, cause, (_asked(job, edited, f"ask {change}"),))


def _asked(job: Job, then: Job, words: str) -> SettingChange:
    """Return the change of the job's -R to that of `then`."""
    now, options = ([word for text in j.res_req for word in ("-R", text)] for j in (job, then))
    shown, changed = (shlex.join(each) or "no -R" for each in (now, options))
    return of_job(job, then, words, shown, options or ("-Rn",), changed)
