"""lsb.serviceclasses, and GuaranteedResourcePool sections of lsb.resources (GUA-01)."""

from __future__ import annotations

from collections.abc import Iterable

from ...service_class import GuaranteedPool, ServiceClass
from .. import guarantee_text
from .draft import Concerned, Draft, Item, LsfEntry, LsfSection, Notes, named_entries
from .lines import Problems
from .params import lsf_keys, note_rest

CLASS_SECTIONS = ("ServiceClass",)
POOL = "GuaranteedResourcePool"
_OF_CLASS = lsf_keys(ServiceClass) | {"NAME"}
#: Administrators of a pool have no say in starts.
_OF_POOL = lsf_keys(GuaranteedPool) | {"NAME", "ADMINISTRATORS"}
#: Parameters of classes with goals of time, which are named as such.
_OF_TIME = frozenset({"PRIORITY", "USER_GROUP", "CONTROL_ACTION", "VIOLATION_PERIOD"})


def read_service_classes(
    sections: Iterable[LsfSection], draft: Draft, notes: Notes, problems: Problems
) -> None:
    """Add service classes to the document."""
    for section in sections:
        for name, entry in named_entries(section, "NAME", "a service class", problems):
            item = Item(entry)
            item.put("name", name, "NAME")
            for key in ("GOALS", "ACCESS_CONTROL", "AUTO_ATTACH", "DESCRIPTION"):
                item.take(key, plain=False)
            note_rest(notes, entry, "service class", _OF_CLASS | _OF_TIME, f"service class {name}")
            draft.add("service_classes", item)


def read_pool(name: str, entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    """Add a pool to the document; a pool that depends on unknown facts becomes an omission."""
    if reason := _unknown(entry, draft):
        concerned = Concerned({"resources": (resource,)} if (resource := _resource(entry)) else {})
        notes.may_differ(POOL, reason, f"pool {name}", concerned)
        return
    item = Item(entry)
    item.put("name", name, "NAME")
    for key in ("TYPE", "HOSTS", "RES_SELECT", "DISTRIBUTION", "LOAN_POLICIES", "DESCRIPTION"):
        item.take(key, plain=False)
    item.take("SLOTS_PER_HOST")
    note_rest(notes, entry, "guaranteed pool", _OF_POOL, f"pool {name}")
    draft.add("guaranteed_pools", item)


def _resource(entry: LsfEntry) -> str:
    """Return the resource of a pool of TYPE resource[name], else ""."""
    try:
        kind = guarantee_text.pool_type(entry.text("TYPE"))
    except ValueError:
        return ""  # the reader of the document reports errors
    return kind.partition("[")[2].removesuffix("]") if kind.startswith("resource") else ""


def _unknown(entry: LsfEntry, draft: Draft) -> str:
    """Return why a pool cannot be modelled, else ""."""
    if not draft.document.get("service_classes"):
        return "LSF reserves resources by it, but there is no lsb.serviceclasses with the owners"
    shared = {item["name"] for item in draft.document.get("shared_resources", ())}
    resource = _resource(entry)
    if resource and resource not in shared:
        return f"no file gives the amount of {resource}"
    return ""
