"""lsf.shared: host types and models, resources, names of clusters."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...errors import nearest
from .draft import Draft, Item, number
from .notes import Notes
from .sections import LsfEntry, LsfSection, entries
from .source import Problems

SECTIONS = ("Cluster", "HostType", "HostModel", "Resource")
_KINDS = ("boolean", "numeric", "string")


@dataclass(slots=True)
class Shared:
    """factors: CPU factor by host model. kinds: resource to boolean, numeric or string.

    types, factors are empty where the file has no such section: then any name is right. dynamic:
    resources whose value an elim reports. gpus: whether some host is known to have GPUs.
    """

    types: set[str] = field(default_factory=set)
    factors: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    dynamic: set[str] = field(default_factory=set)
    gpus: bool = False

    @property
    def indices(self) -> set[str]:
        """Resources that may have thresholds."""
        return {name for name, kind in self.kinds.items() if kind == "numeric"}


def read_shared(
    sections: Iterable[LsfSection], draft: Draft, notes: Notes, problems: Problems
) -> Shared:
    """Read the file's sections; resources go into the document."""
    shared = Shared()
    for section in sections:
        if section.name == "Cluster":
            continue
        for entry in entries(section, problems, table=True):
            match section.name:
                case "HostType":
                    shared.types.add(entry.text("TYPENAME"))
                case "HostModel":
                    _model(entry, shared, problems)
                case "Resource":
                    _resource(entry, shared, draft, problems)
                case _:
                    notes.not_modelled("lsf.shared", section.name)
    return shared


def _model(entry: LsfEntry, shared: Shared, problems: Problems) -> None:
    factor = number(entry.text("CPUFACTOR"))
    if not isinstance(factor, (int, float)) or factor <= 0:
        message = f"must be a number above 0, not {entry.text('CPUFACTOR')!r}"
        problems.add(entry.at("CPUFACTOR"), message, "HostModel.CPUFACTOR")
        factor = 1.0
    shared.factors[entry.text("MODELNAME")] = float(factor)


def _resource(entry: LsfEntry, shared: Shared, draft: Draft, problems: Problems) -> None:
    name, kind = entry.text("RESOURCENAME"), entry.text("TYPE").lower()
    if not name:
        problems.add(entry.place, "a resource needs a name", "Resource.RESOURCENAME")
        return
    if kind not in _KINDS:
        message = f"must be Boolean, Numeric or String, not {entry.text('TYPE')!r}"
        problems.add(
            entry.at("TYPE"),
            message + nearest(kind, [name.capitalize() for name in _KINDS]),
            "Resource.TYPE",
        )
        kind = next(iter(difflib.get_close_matches(kind, _KINDS, 1)), "numeric")
    dynamic = "INTERVAL" in entry.values
    item = Item(entry)
    item.put("name", name, "RESOURCENAME")
    if kind != "numeric":
        item.put("kind", kind, "TYPE")
    if dynamic:
        item.put("dynamic", "Y", "INTERVAL")
    for key, parameter, usual in (
        ("increasing", "INCREASING", "N"),
        ("consumable", "CONSUMABLE", "Y"),
        ("release", "RELEASE", "Y"),
    ):
        if (text := entry.text(parameter)) and text.upper() != usual:
            item.put(key, text, parameter)
    draft.add("resources", item)
    shared.kinds[name] = kind
    if dynamic:
        shared.dynamic.add(name)


def cluster_names(sections: Iterable[LsfSection], problems: Problems) -> Mapping[str, LsfEntry]:
    """Names of the Cluster section."""
    return {
        entry.text("CLUSTERNAME"): entry
        for section in sections
        if section.name == "Cluster"
        for entry in entries(section, problems, table=True)
    }
