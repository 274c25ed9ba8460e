"""Texts of the page: the cluster above the table, and the chosen job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from ...model.display import day_clock_text, duration_text, iso_time, wall_clock
from ...model.duration import two_cycles
from ...model.escaping import printable
from ...model.instance import Instance
from ...model.slurm_words import change_text, family_text
from ...solver.advice.diagnosis.records import page_of
from ...solver.advice.explain import Explanation
from ...solver.pending_reasons import counted
from ..listing import NOW, WAITS, JobChoice, ListedJob, Listing, QueueLoad, queue_loads
from ..outlook_text import command_of
from ..tables import strip_text

#: Columns of a terminal from which on all columns are shown, and the chosen job right of the table.
ALL, WIDE = 100, 140
#: Maximum number of kinds of hosts and of queues, of hosts that take no jobs, of changes that
#: would help, and of jobs that have changed, that are shown.
MAX_KINDS, MAX_DOWN, MAX_CHANGES, MAX_NEWS = 4, 4, 3, 8
#: Characters of a bar.
BAR = 20
_TITLES: Final = {
    "job": "JOB", "user": "USER", "queue": "QUEUE", "slots": "SLOTS", "configured": "CONFIGURED",
    "possible": "COULD START", "earlier": "EARLIER", "state": "STATE", "waits for": "WAITS FOR",
}  # fmt: skip
#: Shown until the explanation is there.
PLANNING: Final = "examining what would start it earlier"


def titles(width: int) -> dict[str, str]:
    """Return the columns of a page of this width, each with its title."""
    hidden = () if width >= ALL else ("queue", "earlier")
    return {name: title for name, title in _TITLES.items() if name not in hidden}


def head_lines(title: str, listing: Listing | None, choice: JobChoice) -> Iterator[str]:
    """Yield the size of the cluster, slots in use by kind of hosts, and jobs by state."""
    if listing is None:
        yield printable(title)
        return
    instance, cluster = listing.instance, listing.instance.cluster
    parts = [counted(len(cluster.hosts), "host")]
    parts.append(counted(sum(host.slots for host in cluster.hosts), "slot"))
    parts.append(f"{len(instance.running)} running")
    if instance.origin is not None:
        found = wall_clock(instance.origin, instance.now)
        as_of = iso_time(instance.origin, instance.now) if found is None else f"{found:%d %b %H:%M}"
        parts.insert(0, f"as of {as_of}")
    yield f"{printable(title)}  {family_text(instance, ', '.join(parts))}"
    yield from usage_lines(listing)
    loads = islice(queue_loads(instance, instance.pending), MAX_KINDS)
    queues = (f"{load.queue} {family_text(instance, _queue_text(load))}" for load in loads)
    if shown := "  ·  ".join(queues):
        yield printable(f"{family_text(instance, 'queues')}: {shown}")
    if down := [host for host in cluster.hosts if not host.takes_jobs]:
        names = ", ".join(f"{host.name} ({host.status})" for host in down[:MAX_DOWN])
        more = f" and {len(down) - MAX_DOWN} more" if len(down) > MAX_DOWN else ""
        yield printable(f"not in use: {names}{more}")
    plural = {WAITS: "wait", NOW: "start now"}
    states = ", ".join(
        f"{many} {state if many == 1 else plural.get(state, state)}"
        for state, many in sorted(listing.states.items())
    )
    more = f"  [{len(choice.of(listing.jobs))} listed: {choice.text()}]" if choice.text() else ""
    yield (
        f"{len(listing.jobs)} pending: {states}{printable(more)}" if states else "no job is pending"
    )


def _queue_text(load: QueueLoad) -> str:
    text = f"{counted(load.running_slots, 'slot')} used"
    if load.waiting_jobs:
        jobs, slots = counted(load.waiting_jobs, "job"), counted(load.waiting_slots, "slot")
        text += f", {jobs} pending for {slots}"
    if load.waited:
        text += f" (longest {load.longest}: {duration_text(load.waited)})"
    return text


def news(before: Listing, now: Listing) -> str:
    """Return what has changed between two states: jobs that started or came, starts that moved."""
    gap = now.instance.now - before.instance.now
    old = {item.job: item.configured for item in before.jobs}
    new = {item.job: item.configured for item in now.jobs}
    runs = {run.job.id for run in now.instance.running}
    parts = [f"{j} {'has started' if j in runs else 'is gone'}" for j in old if j not in new]
    parts += [f"{job} is new" for job in new if job not in old]
    for job, start in new.items():
        known = old.get(job)
        if start is None or known is None:
            continue
        moved = start + gap - known
        if abs(moved) >= two_cycles(now.instance):
            parts.append(f"{job} {duration_text(abs(moved))} {'later' if moved > 0 else 'earlier'}")
    more = f" and {len(parts) - MAX_NEWS} more" if len(parts) > MAX_NEWS else ""
    return ", ".join(parts[:MAX_NEWS]) + more


def usage_lines(listing: Listing) -> Iterator[str]:
    """Yield for each kind of hosts a bar of its slots in use, and a strip of the next 24 hours."""
    kinds = listing.usage[:MAX_KINDS]
    wide = max((len(item.kind) for item in kinds), default=0)
    digits = max((len(str(item.capacity)) for item in kinds), default=0)
    for item in kinds:
        size = max(1, item.capacity)
        used = item.capacity - item.free[0]
        bar = ("█" * round(BAR * used / size)).ljust(BAR, "·")
        strip = strip_text(1 - free / size for free in item.free)
        count = f"{used:>{digits}}/{item.capacity:>{digits}} used"
        yield printable(f"{item.kind:<{wide}} [{bar}] {count}  24h {strip}")
    if len(listing.usage) > MAX_KINDS:
        yield f"and {counted(len(listing.usage) - MAX_KINDS, 'kind')} of hosts more"


def job_lines(
    instance: Instance, job: ListedJob, found: Explanation | str, commands: Sequence[str]
) -> Iterator[str]:
    """Yield the sentences on a job. found: its explanation, or how far that is."""
    yield from job.lines
    if isinstance(found, str):
        yield from ("", found or f"{PLANNING} …")
        return
    yield from ("", "WHAT WOULD HELP, any one of these") if found.suggestions else ()
    for number, item in enumerate(found.suggestions[:MAX_CHANGES]):
        start = day_clock_text(instance, item.start, item.gain or 0)
        gain = "" if item.gain is None else f", {duration_text(item.gain)} earlier"
        line = commands[number] or change_text(instance, item.change)
        yield f"{number + 1}  {line}: starts {start}{gain}"
    pages = () if found.diagnosis is None else page_of(instance, found.diagnosis).verdicts
    remedies = [remedy for verdict in pages for remedy in verdict.remedies]
    for remedy in remedies[:MAX_CHANGES]:
        yield f"-  an administrator could change {'; '.join(remedy.lines)}: {remedy.gives}"
    yield from ("", "WHY NOT EARLIER") if found.obstacles else ()
    for part in found.obstacles:
        until = "" if part.until is None else f" to {day_clock_text(instance, part.until)}"
        yield f"{day_clock_text(instance, part.first)}{until}: {part.reason}"


def commands_of(instance: Instance, job: str, found: Explanation | str) -> list[str]:
    """Return the command for each change that would help, "" if there is none."""
    changes = [] if isinstance(found, str) else found.suggestions[:MAX_CHANGES]
    return [command_of(instance, job, item.change) for item in changes]
