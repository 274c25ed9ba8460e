"""lsb.modules: the scheduler's plug-ins, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .draft import Draft, Mark
from .notes import Notes
from .sections import LsfSection, entries
from .source import Place, Problems

SECTIONS = ("PluginModule",)
#: What a cluster without the section has.
_BARE = ("schmod_default", "schmod_fcfs")
#: Plug-ins that other parameters need, and what is without effect where they are missing.
_NEEDED = (
    ("schmod_fairshare", "queues", "FAIRSHARE", "fairshare"),
    ("schmod_fairshare", "host_partitions", "USER_SHARES", "fairshare of host partitions"),
    ("schmod_preemption", "queues", "PREEMPTION", "preemption"),
    ("schmod_limit", "limits", "name", "limits of lsb.resources"),
    ("schmod_parallel", "queues", "SLOT_RESERVE", "slot reservation of parallel jobs"),
    ("schmod_parallel", "queues", "RESOURCE_RESERVE", "slot reservation of parallel jobs"),
)


def read_modules(
    sections: Iterable[LsfSection], draft: Draft, problems: Problems, file: str
) -> None:
    """``params.modules`` of the document."""
    found: list[str] = []
    place = Place(file, 1)
    for section in sections:
        if section.name == "PluginModule":
            place = section.place
            found += [
                entry.text("SCH_PLUGIN")
                for entry in entries(section, problems, table=True)
                if entry.text("SCH_PLUGIN")
            ]
    mark = Mark(place, "PluginModule.SCH_PLUGIN")
    draft.put("params", "modules", found or list(_BARE), mark)


def note_missing(draft: Draft, notes: Notes) -> None:
    """What lsb.modules leaves without effect in LSF, and is done here all the same."""
    modules: Sequence[str] | None = draft.document.get("params", {}).get("modules")
    if modules is None:
        return
    for module, section, key, what in _NEEDED:
        users = [entry for entry in draft.document.get(section, ()) if key in entry]
        if module not in modules and users:
            reason = "it is not listed, and without it LSF does not do what others ask for"
            notes.may_differ(f"module {module}", reason, what)
    order = [name for name in modules if name in ("schmod_parallel", "schmod_reserve")]
    if order == ["schmod_reserve", "schmod_parallel"]:
        reason = "schmod_reserve stands before it; the documents want it behind"
        notes.may_differ("module schmod_parallel", reason, "lsb.modules")
