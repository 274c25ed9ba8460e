"""Modules of the scheduler (lsb.modules): functions of unloaded modules are inactive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .configuration import Queue
from .errors import nearest
from .instance import Instance
from .reserved_periods import with_periods

#: Modules that LSF ships; a site may have its own.
MODULES = (
    *("schmod_default", "schmod_fairshare", "schmod_fcfs", "schmod_limit", "schmod_parallel"),
    *("schmod_reserve", "schmod_preemption", "schmod_advrsv", "schmod_mc", "schmod_jobweight"),
    *("schmod_cpuset", "schmod_pset", "schmod_ps", "schmod_aps", "schmod_affinity"),
)


def loaded(instance: Instance, module: str) -> bool:
    """Return whether a module is loaded; all are if the instance lists none."""
    return instance.params.modules is None or module in instance.params.modules


def with_loaded_modules(instance: Instance) -> Instance:
    """Return the instance without the configuration that only unloaded modules would use.

    That is preemption, fairshare of all kinds, absolute priority, Limit sections and advance
    reservations; a recurring one becomes one for each period. (schmod_reserve and schmod_parallel
    are checked where slots and memory are reserved.)
    """
    if instance.params.modules is None:
        return with_periods(instance) if instance.advance_reservations else instance
    if not loaded(instance, "schmod_preemption"):
        queues = (replace(q, preemptive=None, preemptable=None) for q in instance.queues)
        instance = replace(instance, queues=tuple(queues))
    if not loaded(instance, "schmod_fairshare"):
        queues = (_without_shares(queue) for queue in instance.queues)
        instance = replace(instance, queues=tuple(queues), partitions=())
    if not loaded(instance, "schmod_aps"):
        queues = (replace(q, aps_priority=None, queue_group=()) for q in instance.queues)
        instance = replace(instance, queues=tuple(queues))
    if not loaded(instance, "schmod_limit"):
        instance = replace(instance, limits=())
    if not loaded(instance, "schmod_advrsv"):
        instance = replace(instance, advance_reservations=())
    return with_periods(instance) if instance.advance_reservations else instance


def _without_shares(queue: Queue) -> Queue:
    return replace(
        queue,
        user_shares=None,
        fairshare_queues=(),
        dispatch_order="",
        slot_share=None,
        slot_pool="",
        max_slots_in_pool=None,
        use_priority_in_pool=False,
    )


def module_notes(instance: Instance) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield notes on modules in the list that have no effect: place in a document, and a
    sentence.
    """
    for name in instance.params.modules or ():
        if name not in MODULES:
            hint = nearest(name, MODULES)
            yield ("params", "modules"), f"unknown LSF module {name!r}{hint}"
    for index, queue in enumerate(instance.queues):
        preempts = queue.preemptive is not None or queue.preemptable is not None
        for key, module, given in (
            ("PREEMPTION", "schmod_preemption", preempts),
            ("FAIRSHARE", "schmod_fairshare", queue.user_shares is not None),
            ("APS_PRIORITY", "schmod_aps", queue.aps_priority is not None),
            ("SLOT_POOL", "schmod_fairshare", bool(queue.slot_pool)),
        ):
            if given and not loaded(instance, module):
                what = f"{key} of queue {queue.name} has no effect"
                yield ("queues", index, key), f"{what}: {module} is not among the modules"
    for section, module, items in (
        ("host_partitions", "schmod_fairshare", instance.partitions),
        ("limits", "schmod_limit", instance.limits),
        ("advance_reservations", "schmod_advrsv", instance.advance_reservations),
    ):
        if items and not loaded(instance, module):
            yield (section,), f"{section} have no effect: {module} is not among the modules"
