"""A case made smaller as long as something stays wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from typing import Any

from combined_enumerator import Case
from slotwise import InputError, Instance
from slotwise.model.formats.objects import require_sound

#: Parts of an instance that may lose members.
_LISTS = ("pending", "running", "future", "limits", "users", "advance_reservations", "partitions")
#: Fields that make a thing what it is.
_KEPT = (
    "id",
    "name",
    "slots",
    "cluster",
    "queues",
    "now",
    "queue",
    "submit",
    "start",
    "allocation",
)


def smallest(case: Case, wrong: Callable[[Case], bool]) -> Case:
    """A case that is wrong and of which nothing may be left out."""
    again = True
    while again:
        again = False
        for instance in _smaller(case.instance):
            less = _with(case, instance)
            if less is not None and wrong(less):
                case, again = less, True
                break
    return case


def _with(case: Case, instance: Instance) -> Case | None:
    """The case with another instance; None where that is not sound."""
    windows = {host.name for host in instance.cluster.hosts if host.windows}
    queues = {queue.name: queue for queue in instance.queues}
    try:
        require_sound(instance)
    except InputError:
        return None
    return Case(
        instance,
        case.asks,
        {name: item for name, item in case.host_windows.items() if name in windows},
        {name: item for name, item in case.dispatch.items() if queues[name].dispatch_window},
        {name: item for name, item in case.run.items() if queues[name].run_window},
    )


def _smaller(instance: Instance) -> Iterator[Instance]:
    for name in _LISTS:
        items = getattr(instance, name)
        for at in range(len(items)):
            yield replace(instance, **{name: (*items[:at], *items[at + 1 :])})
    for name in ("queues", "pending", "future"):
        items = getattr(instance, name)
        for at, item in enumerate(items):
            for plainer in _plainer(item):
                yield replace(instance, **{name: (*items[:at], plainer, *items[at + 1 :])})
    for at, run in enumerate(instance.running):
        for plainer in _plainer(run.job):
            changed = replace(run, job=plainer)
            runs = (*instance.running[:at], changed, *instance.running[at + 1 :])
            yield replace(instance, running=runs)
    for plainer in _plainer(instance.params):
        yield replace(instance, params=plainer)


def _plainer(item: Any) -> Iterator[Any]:
    """A thing with one field as it is where nobody says otherwise; what it asks for stays."""
    for field in fields(item):
        if field.name in (*_KEPT, "res_req", "gpu", "run_limit") or field.default is MISSING:
            continue
        if getattr(item, field.name) != field.default:
            yield replace(item, **{field.name: field.default})
