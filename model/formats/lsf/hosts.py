"""lsb.hosts: slots and thresholds of hosts, host groups, host partitions, compute units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import nearest
from ..names import expand_range, tokens
from .cluster import Machine
from .draft import Concerned, Draft, Item, LsfEntry, LsfSection, Mark, Notes, entries, listed
from .lines import Problems, Value
from .params import is_index, note_rest
from .shared import HostNames, Shared, short

SECTIONS = ("Host", "HostGroup", "HostPartition", "ComputeUnit")
_HOST = frozenset({"HOST_NAME", "MXJ", "JL/U", "DISPATCH_WINDOW"})
_GROUP = frozenset({"GROUP_NAME", "GROUP_MEMBER"})
_PARTITION = frozenset({"HPART_NAME", "HOSTS", "USER_SHARES"})
_UNIT = frozenset({"NAME", "MEMBER", "TYPE"})


@dataclass(slots=True)
class HostRows:
    """Rows of the Host section by the host, model or type they are for; default for the rest."""

    #: Row of each host that has one, by host name.
    own: dict[str, LsfEntry]
    #: Row of each host type or model, by its name.
    kinds: dict[str, LsfEntry]
    #: Row ``default``, None without one.
    default: LsfEntry | None
    #: Whether lsb.hosts has a Host section.
    given: bool

    def row(self, machine: Machine) -> LsfEntry | None:
        """Return the row that applies to a host: its own, its model's, its type's, or the
        default.
        """
        for found in (self.own.get(machine.name), self.kinds.get(machine.model)):
            if found is not None:
                return found
        return self.kinds.get(machine.type, self.default)


def read_host_rows(
    sections: Iterable[LsfSection],
    machines: Mapping[str, Machine],
    shared: Shared,
    notes: Notes,
    problems: Problems,
) -> HostRows:
    """Read the Host sections of lsb.hosts."""
    rows = HostRows({}, {}, None, False)
    kinds = {machine.type for machine in machines.values()} | shared.types
    kinds |= {machine.model for machine in machines.values()} | set(shared.factors)
    for section in sections:
        if section.name != "Host":
            continue
        rows.given = True
        for entry in entries(section, problems, table=True):
            _row(entry, rows, machines, kinds, problems)
            note_rest(notes, entry, "host", _HOST, entry.text("HOST_NAME"), shared.indices)
    return rows


def _row(
    entry: LsfEntry,
    rows: HostRows,
    machines: Mapping[str, Machine],
    kinds: set[str],
    problems: Problems,
) -> None:
    text = entry.text("HOST_NAME")
    if text == "default":
        if rows.default is not None:
            problems.add(entry.place, "a default row is already defined", "Host.HOST_NAME")
        rows.default = entry
        return
    try:
        names = expand_range(text)
    except ValueError as error:
        problems.add(entry.place, str(error), "Host.HOST_NAME")
        return
    for name in names:
        target = rows.own if name in machines else rows.kinds
        if name not in machines and name not in kinds:
            hint = nearest(name, [*machines, *kinds, "default"])
            message = f"{name!r} is not a host of lsf.cluster, host type, model or default{hint}"
            problems.add(entry.place, message, "Host.HOST_NAME")
        elif name in target:
            problems.add(entry.place, f"{name} already has a row", "Host.HOST_NAME")
        target[name] = entry


def put_hosts(
    machines: dict[str, Machine],
    rows: HostRows,
    shared: Shared,
    ncpus: Mapping[str, int],
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Add the hosts to the document: those that lsb.hosts admits.

    ncpus: processors by host, "" for all other hosts, if no file has them.
    """
    uncounted: dict[Mark, list[str]] = {}
    outside = [name for name, m in machines.items() if rows.given and rows.row(m) is None]
    for name in outside:
        del machines[name]
    if outside:
        notes.remark(
            f"lsb.hosts has no row for {listed(outside)}: omitted, since LSF starts no jobs there"
        )
    for name, machine in machines.items():
        row = rows.row(machine)
        item = Item(row or machine.entry)
        item.put("name", name, "HOST_NAME")
        processors = ncpus.get(name) or machine.ncpus or ncpus.get("")
        if row is None or row.text("MXJ") in ("", "!"):
            if processors is None:
                item.put("slots", 1, "MXJ")
                uncounted.setdefault(item.marks["slots"], []).append(name)
            elif row is not None and row.text("MXJ"):
                item.put("MXJ", "!")
        else:
            item.take("MXJ")
        if processors is not None:
            item.put("ncpus", processors, "MXJ")
        if row is not None:
            item.take("JL/U")
            item.take("DISPATCH_WINDOW", plain=False)
            put_thresholds(item, shared)
        _put_machine(item, machine)
        draft.add("hosts", item)
    for mark, hosts in uncounted.items():
        problems.add(
            mark.place,
            f"no file gives the number of processors (and thus slots) of {listed([short(hosts)])} "
            f"{'has' if len(hosts) == 1 else 'have'}: give numbers as MXJ, --lshosts FILE, or "
            "--ncpus N",
            mark.label,
        )
    if machines and not any(machine.mem for machine in machines.values()):
        reason = "no file gives the amounts: give --lshosts FILE (output of lshosts -w)"
        by = Concerned({"resources": ("mem", "swp")}, mark="memory of hosts")
        notes.may_differ("memory and swap of hosts", reason, "all hosts", by)


def _put_machine(item: Item, machine: Machine) -> None:
    values: dict[str, Any] = {
        "type": machine.type if machine.type != "any" else None,
        "model": machine.model if machine.model != "any" else None,
        "cpu_factor": machine.factor if machine.factor != 1.0 else None,
        "mem": machine.mem,
        "swp": machine.swp,
        "amounts": machine.amounts,
        "strings": machine.strings,
        "RESOURCES": " ".join(dict.fromkeys(machine.resources)),
    }
    for key, value in values.items():
        if value:
            item.put(key, value)
            item.marks[key] = Mark(machine.entry.place, f"{machine.entry.section}.{key}")


def put_thresholds(item: Item, shared: Shared) -> None:
    """Add thresholds from columns or keys that are load indices, as ``loadSched/loadStop``."""
    entry = item.entry
    found = {
        entry.keys[key]: value.text
        for key, value in entry.values.items()
        if is_index(entry.keys[key], shared.indices)
    }
    if found:
        first = next(key for key in entry.values if entry.keys[key] in found)
        item.put("thresholds", {_index(name): text for name, text in found.items()}, first)


def _index(name: str) -> str:
    from ...cluster import BUILTIN_INDICES

    return name.lower() if name.lower() in BUILTIN_INDICES else name


def read_groups(
    sections: Sequence[LsfSection],
    names: HostNames,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Read host groups, compute units and host partitions."""
    members: dict[str, str] = {}
    for section in sections:
        if section.name == "HostGroup":
            for entry in entries(section, problems, table=True):
                _group(entry, members, draft, notes, problems)
        elif section.name == "ComputeUnit":
            for entry in entries(section, problems, table=True):
                _unit(entry, members, draft, notes, problems)
        elif section.name == "HostPartition":
            for entry in entries(section, problems, table=False):
                item = Item(entry)
                item.put("name", entry.text("HPART_NAME"), "HPART_NAME")
                item.take("HOSTS", plain=False)
                item.take("USER_SHARES", plain=False)
                note_rest(notes, entry, "host partition", _PARTITION, entry.text("HPART_NAME"))
                draft.add("host_partitions", item)
        elif section.name != "Host":
            notes.not_modelled("lsb.hosts", section.name)
    names.define(members)


def _group(
    entry: LsfEntry, members: dict[str, str], draft: Draft, notes: Notes, problems: Problems
) -> None:
    name = entry.text("GROUP_NAME")
    if name in members:
        problems.add(
            entry.place, f"{name} is already defined: give it one line", "HostGroup.GROUP_NAME"
        )
        return
    members[name] = internal_members(entry.values.get("GROUP_MEMBER"), notes, f"group {name}")
    note_rest(notes, entry, "host group", _GROUP, name)
    mark = Mark(entry.at("GROUP_MEMBER"), "HostGroup.GROUP_MEMBER")
    draft.put("host_groups", name, members[name], mark)


def _unit(
    entry: LsfEntry, members: dict[str, str], draft: Draft, notes: Notes, problems: Problems
) -> None:
    name = entry.text("NAME")
    if name in members:
        problems.add(
            entry.place, f"{name} is already defined: give it one line", "ComputeUnit.NAME"
        )
        return
    members[name] = internal_members(entry.values.get("MEMBER"), notes, f"compute unit {name}")
    note_rest(notes, entry, "compute unit", _UNIT, name)
    item = Item(entry)
    item.put("name", name, "NAME")
    item.put("type", entry.text("TYPE"), "TYPE")
    item.put("members", members[name], "MEMBER")
    draft.add("compute_units", item)


def internal_members(value: Value | None, notes: Notes, where: str) -> str:
    """Return the members in the file; ``!`` means members that an external program gives."""
    words = tokens(value.text) if value is not None else ()
    if "!" in words:
        reason = "its members are known only to a program of the site (egroup)"
        notes.may_differ("external groups", reason, where)
    return " ".join(word for word in words if word != "!")
