"""Names that a table has cut at the width of its column, made whole by the names that others give.

Plain bhosts prints 18 characters of a host, plain bqueues 15 of a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from ...instance import Instance
from .seen import Seen
from .values import NARROWEST, Remarks


def whole(
    cut: Iterable[str], listed: Collection[str], others: Iterable[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return the whole name of each truncated one, and those that match several names.

    listed: names in the table; a longer name among them is a different one.
    """
    found: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    known = set(others)
    for name in cut:
        longer = sorted(n for n in known if len(n) > len(name) and n.startswith(name))
        longer = [n for n in longer if n not in listed]
        if name in known or not longer:
            continue
        if len(longer) == 1:
            found[name] = longer[0]
        else:
            several[name] = longer
    return found, several


def with_whole_names(seen: Seen, base: Instance, notes: Remarks) -> Seen:
    """Return the listings with truncated names of hosts and queues completed."""
    jobs = (*seen.jobs, *seen.later)
    hosts = {host.name for host in base.cluster.hosts}
    hosts.update(name for job in jobs for name in job.allocation)
    queues = {queue.name for queue in base.queues} | {job.queue for job in jobs}
    if seen.hosts is not None:
        listed = {host.name for host in seen.hosts}
        cut = [host.name for host in seen.hosts if host.truncated]
        renamed = _told(whole(cut, listed, hosts), "bhosts", notes)
        seen = replace(seen, hosts=[replace(h, name=renamed(h.name)) for h in seen.hosts])
        hosts.update(host.name for host in seen.hosts or ())
    if seen.queues is not None:
        listed = {queue.name for queue in seen.queues}
        cut = [queue.name for queue in seen.queues if queue.truncated]
        renamed = _told(whole(cut, listed, queues), "bqueues", notes)
        seen = replace(seen, queues=[replace(q, name=renamed(q.name)) for q in seen.queues])
    cut = [item.host for item in seen.gpus if len(item.host) >= NARROWEST]
    renamed = _told(whole(cut, {item.host for item in seen.gpus}, hosts), "the list of GPUs", notes)
    return replace(seen, gpus=[replace(item, host=renamed(item.host)) for item in seen.gpus])


def _told(
    names: tuple[Mapping[str, str], Mapping[str, list[str]]], command: str, notes: Remarks
) -> Callable[[str], str]:
    """Return a function that completes a truncated name."""
    found, several = names
    if found:
        pairs = [f"{short} is {name}" for short, name in found.items()]
        more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
        notes.append(f"{command} truncates names: {', '.join(pairs[:3])}{more}")
    for short, longer in several.items():
        notes.touch(
            f"{command} truncates names: {short} may be {' or '.join(longer[:3])} "
            "(-w prints them in full)"
        )
    return lambda name: found.get(name, name)
