"""Conversion of an Instance to the plain data of an instance file, without defaults.

Reading the result gives an equal instance, and equal instances give equal data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..cluster import (
    BUILTIN_AMOUNTS,
    Cluster,
    ComputeUnit,
    Host,
    SharedResource,
)
from ..configuration import (
    CONSUMERS,
    Limit,
    Params,
    Queue,
    usual_queue,
    with_default_queue,
)
from ..errors import InputError
from ..facts import known_fields
from ..input_limits import limits, too_many
from ..instance import AdvanceReservation, Instance
from ..job import Job, RunningJob, arrays_of, elements
from . import document as d
from . import text
from .fields import plain
from .names import compress, words_text
from .objects import require_sound
from .reading import check_length
from .units import format_duration, format_size, size_text

Plain = dict[str, Any]


def to_document(instance: Instance) -> Plain:
    """Return the instance as plain data, in the order of the file format."""
    params = instance.params
    sections: Plain = {
        name: [
            plain(item, _defaults(item, instance.now))
            for item in getattr(instance, d.ATTRIBUTES.get(name, name))
        ]
        for name in d.FACT_SECTIONS
    }
    for entry in sections["omissions"]:
        entry |= {"jobs": entry.pop("jobs")} if "jobs" in entry else {}  # a long list comes last
    sections |= {
        "format": "slotwise/1",
        "name": instance.name,
        "description": instance.description,
        "origin": instance.origin,
        "now": instance.now or None,
        "params": _params(instance),
        **_machines(instance.cluster),
        "queues": [plain(queue) for queue in _declared(instance)],
        "limits": [_limit(limit, params) for limit in instance.limits],
        "reservation_usage": {item.resource: item.method for item in instance.reservation_usage},
        "running": [
            plain_job(item.job, params, held=item.slots) | plain(item) for item in instance.running
        ],
        "pending": _waiting(instance.pending, params),
        "future": _waiting(instance.future, params),
    }
    empty: tuple[Any, ...] = ("", None, [], {})
    return {
        name: sections[name] for name in d.Document.model_fields if sections.get(name) not in empty
    }


def _defaults(item: Any, now: int) -> Plain:
    """Return the values that an entry need not give, other than defaults of its class."""
    once = isinstance(item, AdvanceReservation) and not item.windows
    return {"stamp": now} | ({"start": None, "end": None} if once else {})


def _declared(instance: Instance) -> tuple[Queue, ...]:
    """Return the queues, none if there is only the default queue."""
    return () if instance.queues == (Queue("default"),) else instance.queues


def _kept(entry: Mapping[str, Any]) -> Plain:
    return {name: value for name, value in entry.items() if value is not None}


def _number(value: float | None) -> float | int | None:
    """Return a whole number as int."""
    return int(value) if value is not None and value == int(value) else value


def _numbers(values: Mapping[str, float]) -> Plain | None:
    return {name: _number(values[name]) for name in sorted(values)} or None


def _in_order(cluster: Cluster, names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [host.name for host in cluster.hosts if host.name in wanted]


def _machines(cluster: Cluster) -> Plain:
    machines = {host.node_of for host in cluster.hosts}
    return {
        "resources": [plain(item) for item in cluster.resources],
        "hosts": _hosts(cluster.hosts),
        "host_groups": {
            group.name: words_text(group.members)
            for group in cluster.groups
            if group.name not in machines
        },
        "compute_units": [_unit(cluster, unit) for unit in cluster.units],
        "shared_resources": [_shared(cluster, item) for item in cluster.shared],
    }


def _shared(cluster: Cluster, item: SharedResource) -> Plain:
    return _kept(
        {
            "name": item.name,
            "amount": _number(item.amount),
            "hosts": None if item.hosts is None else words_text(_in_order(cluster, item.hosts)),
            "static": None if item.static else False,
        }
    )


def _hosts(hosts: tuple[Host, ...]) -> list[Plain]:
    """Return host entries; consecutive hosts that differ only by name share an entry."""
    entries: list[Plain] = []
    alike: list[Host] = []
    for host in hosts:
        if alike and replace(host, name=alike[0].name) != alike[0]:
            entries += _alike(alike)
            alike = []
        alike.append(host)
    return entries + _alike(alike)


def _alike(hosts: list[Host]) -> list[Plain]:
    if not hosts:
        return []
    body = _host(hosts[0])
    words = [word for part in compress([host.name for host in hosts]) for word in part.split()]
    return [{"name": word, **body} for word in words]


def _host(host: Host) -> Plain:
    amounts, load = dict(host.amounts), dict(host.load)
    if host.gpus is not None:
        amounts = {name: amounts[name] for name in amounts.keys() - host.gpus.amounts().keys()}
        load = {name: load[name] for name in load.keys() - host.gpus.load().keys()}
    sizes = {name: amounts.pop(name, None) for name in BUILTIN_AMOUNTS}
    booleans = sorted(host.booleans | host.exclusive)
    facts = plain(host)
    kept = {
        "slots": host.slots,
        **{name: facts.pop(name) for name in _HOST_FIRST if name in facts},
        **{name: None if size is None else format_size(size) for name, size in sizes.items()},
        "amounts": _numbers(amounts),
        "strings": {name: host.strings[name] for name in sorted(host.strings)} or None,
        "RESOURCES": " ".join(f"{'!' * (b in host.exclusive)}{b}" for b in booleans) or None,
        "load": _numbers(load),
        **facts,
        "gpus": None if host.gpus is None else text.gpus_text(host.gpus),
    }
    return _kept(kept)


#: Keys of hosts that come before resources.
_HOST_FIRST = ("ncpus", "mxj_defined", "type", "model", "cpu_factor")


def _unit(cluster: Cluster, unit: ComputeUnit) -> Plain:
    place = {host: index for index, host in enumerate(unit.hosts)}
    inner = [other for other in cluster.units if other.parent == unit.name]
    inner.sort(key=lambda other: min((place.get(host, 0) for host in other.hosts), default=0))
    members = [other.name for other in inner] or unit.hosts
    return {"name": unit.name, "type": unit.type, "members": words_text(members)}


def _params(instance: Instance) -> Plain:
    cluster = instance.cluster
    entry = plain(replace(instance.params, default_queue=Params().default_queue))
    names = [queue.name for queue in instance.queues]
    default = with_default_queue(instance.params, names).default_queue
    if default != usual_queue(names):
        entry["DEFAULT_QUEUE"] = default
    if cluster.unit_types:
        entry["COMPUTE_UNIT_TYPES"] = " ".join(
            f"{name}!" if name == cluster.default_unit_type else name for name in cluster.unit_types
        )
    return entry


def _limit(limit: Limit, params: Params) -> Plain:
    amounts = dict(limit.amounts)
    counted = {name: amounts.pop(name, None) for name in ("slots", "jobs")}
    sizes = {name: amounts.pop(name, None) for name in BUILTIN_AMOUNTS}
    entry: Plain = {"name": limit.name}
    for item in CONSUMERS:
        if (scope := item.scope(limit)) is not None:
            key = item.per_field if scope.each else item.field
            words = [*scope.names, *(f"~{name}" for name in scope.excluded)]
            entry[key.upper()] = " ".join(words)
    entry |= {name.upper(): _number(value) for name, value in counted.items()}
    entry["SLOTS_PER_PROCESSOR"] = _number(limit.slots_per_processor)
    # Sizes get a unit if LSF_UNIT_FOR_LIMITS changes the meaning of bare numbers.
    bare = params.unit_for_limits == "MB"
    for name, size in sizes.items():
        entry[name.upper()] = None if size is None else _size(size, bare=bare)
    entry |= {name.upper(): f"{n:.10g}%" for name, n in limit.percentages.items()}
    entry["RESOURCE"] = _numbers(amounts)
    return _kept(entry)


def _size(megabytes: float, *, bare: bool) -> str | int | float:
    if bare and megabytes < 1e15:
        return int(megabytes) if megabytes == int(megabytes) else megabytes
    return size_text(megabytes)


def plain_job(job: Job, params: Params, held: int | None = None) -> Plain:
    """Return one job as a mapping of keys; held: slots that it has, which are also its request by
    default.
    """
    slots: int | str | None = job.slots if job.max_slots is None else f"{job.slots},{job.max_slots}"
    defaults = {"queue": params.default_queue, "priority": params.default_priority}
    own = {"id": job.id} if slots == held else {"id": job.id, "slots": slots}
    return own | plain(job, defaults)


def _waiting(jobs: Iterable[Job], params: Params) -> list[Plain]:
    """Return entries of jobs, with one entry for equal elements of an array."""
    entries = []
    for job, spec in arrays_of(jobs):
        if spec is not None and len(spec) == 1:
            entries.append(plain_job(elements(job, spec)[0], params))
        elif spec is not None:
            entry = plain_job(job, params)
            entries.append({"id": entry.pop("id"), "array": spec.entry, **entry})
        else:
            entries.append(plain_job(job, params))
    return entries


#: Keys whose seconds YAML shows as ``90m``, and the sections that have them.
_SECONDS = frozenset(
    item.key
    for kind in (Job, RunningJob, *d.FACT_SECTIONS.values())
    for item in known_fields(kind).values()
    if item.fact.kind in ("seconds", "own_run_limit", "elapsed", "instant", "stamp")
)
_TIMED = (*d.FACT_SECTIONS, "running", "pending", "future")


def dump(instance: Instance) -> str:
    """Return the instance as YAML without loss; equal instances give equal bytes.

    Raises InputError with everything that is wrong with it, or where it is beyond the limits on
    input: what is written can be read.
    """
    import yaml

    document = _document(instance)
    for section in _TIMED:
        if section in document:
            document[section] = [_readable(entry) for entry in document[section]]
    if "now" in document:
        document["now"] = format_duration(document["now"])

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Writes equal parts out instead of pointing from one to the other."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(
        document,
        Dumper=Dumper,
        sort_keys=False,
        width=100,
        default_flow_style=None,
        allow_unicode=True,
    )
    check_length(text, "")
    return text


def _document(instance: Instance) -> Plain:
    """Return the document of a valid instance."""
    require_sound(instance)
    counts = {
        "hosts": (len(instance.cluster.hosts), limits().hosts),
        "jobs": (
            len(instance.running) + len(instance.pending) + len(instance.future),
            limits().jobs,
        ),
    }
    for what, (count, most) in counts.items():
        if count > most:
            raise InputError(too_many(what, what))
    return to_document(instance)


def _readable(entry: Plain) -> Plain:
    timed = [name for name in entry if name in _SECONDS and entry[name] not in (0, "unlimited")]
    return entry | {name: format_duration(entry[name]) for name in timed}


def dump_json(instance: Instance) -> str:
    """Return the instance as JSON with one line for each entry, faster than YAML.

    Raises InputError as :func:`dump` does.
    """
    parts = [f"{json.dumps(name)}: {_json(value)}" for name, value in _document(instance).items()]
    text = "{\n" + ",\n".join(parts) + "\n}\n"
    check_length(text, "")
    return text


def _json(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
