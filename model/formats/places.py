"""Where in an instance in memory a finding of the rules of files is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from ..instance import Instance
from . import document as d
from .finding import Finding, Location

#: Sections of a file that have another name in the model.
_SECTIONS: dict[str, Location] = {
    "hosts": ("cluster", "hosts"),
    "host_groups": ("cluster", "groups"),
    "compute_units": ("cluster", "units"),
    "resources": ("cluster", "resources"),
    "shared_resources": ("cluster", "shared"),
    "user_groups": ("groups",),
    "host_partitions": ("partitions",),
}
#: Keys whose values the model keeps under another name than the reader.
_FIELDS = {
    ("hosts", "RESOURCES"): "booleans",
    ("compute_units", "members"): "hosts",
    ("limits", "RESOURCE"): "amounts",
    ("queues", "PREEMPTION"): "preemptive",
    ("advance_reservations", "allocation"): "slots",
}
_ENTRIES: dict[str, type[d.Section]] = {
    "hosts": d.HostEntry,
    "params": d.ParamsEntry,
    "queues": d.QueueEntry,
    "limits": d.LimitEntry,
    "applications": d.ApplicationEntry,
    "users": d.UserEntry,
    "user_groups": d.GroupEntry,
    "host_partitions": d.PartitionEntry,
}


def attribute_place(finding: Finding, instance: Instance) -> Finding:
    """The finding, its place as attributes and indices from the instance on."""
    place = finding.place
    if not place:
        return finding
    section, rest = str(place[0]), place[1:]
    if section == "params":
        keys = _python_names("params")
        return replace(finding, place=("params", *(keys.get(str(key), key) for key in rest)))
    found: list[str | int] = [*_SECTIONS.get(section, (section,))]
    if rest and section in ("host_groups", "reservation_usage"):
        rest = (_number(section, str(rest[0]), instance), *_members(section), *rest[1:])
    found += rest[:1]
    for key in rest[1:]:
        name = _FIELDS.get((section, str(key)))
        name = name or _python_names(section).get(str(key), str(key))
        if section == "limits":
            name = name if not name.startswith("per_") else f"{name.removeprefix('per_')}s"
        if section == "running" and name in d.JobEntry.model_fields:
            found.append("job")
        found.append(key if isinstance(key, int) else name)
    return replace(finding, place=tuple(found))


def _members(section: str) -> Location:
    return ("members",) if section == "host_groups" else ("resource",)


def _number(section: str, name: str, instance: Instance) -> int:
    names: Iterable[str] = (
        [group.name for group in instance.cluster.groups]
        if section == "host_groups"
        else [item.resource for item in instance.reservation_usage]
    )
    return list(names).index(name)


@cache
def _python_names(section: str) -> dict[str, str]:
    """Key of a file to the name of the model's field."""
    entry = _ENTRIES.get(section)
    if entry is None:
        return {}
    return {info.alias or name: name for name, info in entry.model_fields.items()}
