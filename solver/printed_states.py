"""Do the states that bhosts and bqueues print of hosts and queues follow from what was read.

A full or exclusive host is so by its jobs, a closed window by its hours: where these say otherwise,
something was not read, and nothing that may start there is proved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model.instance import Instance
from ..model.omissions import Omission
from ..model.sources.lsf_state.assemble import RUNNING
from ..model.sources.lsf_state.bjobs import SeenJob
from ..model.sources.lsf_state.bqueues import SeenHost, SeenQueue
from ..model.sources.lsf_state.seen import Seen
from .availability.calendar import Windows

#: A job that has its compute units for itself.
_CU_EXCLUSIVE = re.compile(r"cu\[[^\]]*\bexcl\b(?!\s*=\s*N)", re.IGNORECASE)
#: Names that a sentence lists.
_SHOWN = 3


def states_not_borne_out(instance: Instance, seen: Seen) -> Iterator[Omission]:
    """A contradiction for each state of hosts or of a queue that what was read does not give."""
    yield from _hosts(instance, seen)
    for queue in seen.queues or ():
        if doubt := _of_queue(instance, queue):
            yield Omission(
                f"queue {queue.name} is {queue.status}; here {doubt}",
                where="bqueues",
                queues=(queue.name,),
            )


def _hosts(instance: Instance, seen: Seen) -> Iterator[Omission]:
    windows = {host.name: host.windows for host in instance.cluster.hosts}
    doubts: dict[str, list[str]] = {}
    held = _held(seen)
    for host in seen.hosts or ():
        if host.name not in windows:
            continue
        opened = _is_open(instance, windows[host.name]) if windows[host.name] else None
        if doubt := _of_host(host, seen, held.get(host.name, 0), opened):
            doubts.setdefault(f"bhosts says {host.status} of {{}}; here {doubt}", []).append(
                host.name
            )
    for text, names in doubts.items():
        yield Omission(text.format(some(names)), count=len(names), hosts=tuple(names))


def _of_host(host: SeenHost, seen: Seen, held: int, opened: bool | None) -> str:
    """What its state does not follow from, "" where it does; opened: its window, None without."""
    state = host.status.lower()
    if state == "closed_full" and host.slots is not None:
        used = (held if host.used is None else host.used) + (host.reserved_slots or 0)
        return "it has free slots" if used < host.slots else ""
    if state == "closed_excl":
        alone = any(job.exclusive for job in _on(host, seen))
        return "" if alone else "no job that runs there is exclusive (-x)"
    if state == "closed_cu_excl":
        alone = any(_CU_EXCLUSIVE.search(job.res_req) for job in _started(seen))
        return "" if alone else "no running job has compute units for itself (cu[excl])"
    if state in ("closed_wind", "lockw"):
        return "its DISPATCH_WINDOW is open now" if opened else ""
    return "its DISPATCH_WINDOW is closed now" if state == "ok" and opened is False else ""


def _of_queue(instance: Instance, queue: SeenQueue) -> str:
    """What the state of a queue does not follow from, "" where it does."""
    here = next((item for item in instance.queues if item.name == queue.name), None)
    if here is None or queue.inactive:
        return ""
    windows = [text for text in (here.dispatch_window, here.run_window) if text]
    if queue.outside_window:
        opened = windows and all(_is_open(instance, text) for text in windows)
        return "its windows are open now" if opened else ""
    closed = here.dispatch_window and not _is_open(instance, here.dispatch_window)
    active = queue.status.lower().endswith(":active")
    return "its DISPATCH_WINDOW is closed now" if closed and active else ""


def _is_open(instance: Instance, text: str) -> bool:
    return Windows(text, instance.origin).is_open(instance.now)


def _started(seen: Seen) -> Iterator[SeenJob]:
    return (job for job in seen.jobs if job.status in RUNNING)


def _on(host: SeenHost, seen: Seen) -> Iterator[SeenJob]:
    return (job for job in _started(seen) if host.name in job.allocation)


def _held(seen: Seen) -> dict[str, int]:
    found: dict[str, int] = {}
    for job in _started(seen):
        for name, slots in job.allocation.items():
            found[name] = found.get(name, 0) + slots
    return found


def some(names: Iterable[str]) -> str:
    """The first of these names, and how many more there are."""
    known = list(names)
    more = len(known) - _SHOWN
    return ", ".join(known[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
