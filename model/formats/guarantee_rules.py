"""Consistency of service classes, guaranteed pools and their jobs (GUA-01)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..errors import InputError
from ..guarantees import ServiceClasses
from ..instance import Instance
from ..job import Job
from ..resreq.pool_hosts import named_hosts
from ..service_class import GuaranteedPool
from .document import Finding, Location, unknown_names
from .guarantee_text import access_text


def guarantee_findings(instance: Instance) -> Iterator[Finding]:
    """Yield all contradictions of guarantees, each at its place in the document."""
    known = {item.name for item in instance.cluster.shared}
    classes = {item.name: item for item in instance.service_classes}
    for index, pool in enumerate(instance.guaranteed_pools):
        place: Location = ("guaranteed_pools", index)
        if not pool.distribution:
            yield Finding(place, "guarantees nothing: give DISTRIBUTION")
        for share in pool.distribution:
            found = classes.get(share.service_class)
            if found is not None and not found.guarantees:
                message = f"service class {share.service_class} has no GUARANTEE goal"
                yield Finding((*place, "DISTRIBUTION"), message)
        yield from _of_type(place, pool, known)
        yield from _selection(place, pool, instance)
    yield from refused_by_class(instance)


def _of_type(place: Location, pool: GuaranteedPool, amounts: set[str]) -> Iterator[Finding]:
    name = pool.arguments.get("name")
    yield from unknown_names((*place, "TYPE"), "shared resource", filter(None, [name]), amounts)
    if pool.slots_per_host is not None and pool.kind != "slots":
        yield Finding((*place, "SLOTS_PER_HOST"), "is for pools of slots")
    if name is not None and pool.hosts:
        yield Finding((*place, "HOSTS"), "is for pools of slots, hosts and packages")


def _selection(place: Location, pool: GuaranteedPool, instance: Instance) -> Iterator[Finding]:
    if not pool.res_select:
        return
    try:
        named_hosts(instance, replace(pool, hosts=()))
    except InputError as error:
        yield Finding((*place, "RES_SELECT"), error.problems[0].message)


def refused_by_class(instance: Instance) -> Iterator[Finding]:
    """Yield errors for jobs that their service class does not accept."""
    classes = ServiceClasses(instance)
    sections: tuple[tuple[str, Iterable[Job]], ...] = (
        ("pending", instance.pending),
        ("future", instance.future),
    )
    for section, jobs in sections if classes.by_name else ():
        for index, job in enumerate(jobs):
            item = classes.by_name.get(job.service_class) if job.service_class else None
            if item is None or job.requeued or classes.may_admit(item, job):
                continue
            message = f"service class {item.name} accepts only jobs of {access_text(item.access)}"
            if not classes.takes_user(item, job):
                message += f", not of user {job.user}"
            yield Finding((section, index, "service_class"), message)
