"""lsf.cluster.NAME: the hosts with their types and resources, and where shared resources are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import nearest
from ..names import plain_names, tokens
from .draft import Concerned, Draft, Item, LsfEntry, LsfSection, Notes, entries, number
from .lines import Problems, Value
from .params import is_index, note_rest
from .shared import HostFacts, HostNames, Shared, short

SECTIONS = ("ClusterAdmins", "Host", "ResourceMap", "Parameters")
_TAKEN = frozenset({"HOSTNAME", "MODEL", "TYPE", "SERVER", "RESOURCES"})
#: ``5@[all]``, ``[hostA host[1-4]]``, ``[5@all]``, ``5@hostA``.
_INSTANCE = re.compile(
    r"(?:(?P<value>[^@\[\]\s]+)@)?"
    r"(?:\[(?P<words>(?:[^\[\]]|\[[^\[\]]*\])*)\]|(?P<word>[^\[\]@\s]+))"
)


@dataclass(slots=True)
class Machine:
    """One host: what goes into the document, and what other files ask about it."""

    #: Name of the host.
    name: str
    #: Row of lsf.cluster that defines the host.
    entry: LsfEntry
    #: Host type.
    type: str = "any"
    #: Host model.
    model: str = "any"
    #: CPU factor of the host model.
    factor: float = 1.0
    #: Number of processors, None if unknown.
    ncpus: int | None = None
    #: Maximum memory as text with unit, "" if unknown.
    mem: str = ""
    #: Maximum swap space as text with unit, "" if unknown.
    swp: str = ""
    #: Names of the Boolean resources.
    resources: list[str] = field(default_factory=list)
    #: Numeric resources by name.
    amounts: dict[str, Any] = field(default_factory=dict)
    #: String resources by name.
    strings: dict[str, str] = field(default_factory=dict)


def read_hosts(
    sections: Sequence[LsfSection],
    facts: dict[str, HostFacts],
    shared: Shared,
    notes: Notes,
    problems: Problems,
) -> dict[str, Machine]:
    """Read the server hosts, in order; facts: output of lshosts about them and about dynamic
    hosts.
    """
    machines: dict[str, Machine] = {}
    clients: set[str] = set()
    for section in sections:
        if section.name == "Parameters":
            for entry in entries(section, problems, table=False):
                note_rest(notes, entry, "lsf.cluster", (), "lsf.cluster")
        if section.name != "Host":
            continue
        for entry in entries(section, problems, table=True):
            for name in _names(entry, problems):
                if name in machines:
                    problems.add(entry.place, f"the host {name} is given twice", "Host.HOSTNAME")
                elif entry.text("SERVER") in ("0", "N", "n"):
                    clients.add(name)
                else:
                    machines[name] = _machine(name, entry, shared, problems)
            note_rest(
                notes, entry, "host of lsf.cluster", _TAKEN, entry.text("HOSTNAME"), shared.indices
            )
            for column in entry.values:
                if is_index(entry.keys[column], shared.indices):
                    notes.not_modelled("host of lsf.cluster", entry.keys[column])
    for name, fact in facts.items():
        whole = _cut_off(name, machines, facts)
        if whole:
            message = (
                f"the name {name} is truncated ({whole} has no line): lshosts -w prints it whole"
            )
            problems.add(fact.entry.place, message)
        elif name not in machines and fact.server and name not in clients:
            machines[name] = Machine(name, fact.entry)
        if name in machines:
            _apply(machines[name], fact, shared)
    return machines


def _cut_off(name: str, machines: Collection[str], facts: Collection[str]) -> str:
    """Return the host whose name a name of lshosts without -w begins, "" if there is none."""
    if name in machines:
        return ""
    return next((m for m in machines if m.startswith(name) and m not in facts), "")


def _names(entry: LsfEntry, problems: Problems) -> Sequence[str]:
    try:
        return plain_names(entry.text("HOSTNAME"))
    except ValueError as error:
        problems.add(entry.at("HOSTNAME"), str(error), "Host.HOSTNAME")
        return ()


def _machine(name: str, entry: LsfEntry, shared: Shared, problems: Problems) -> Machine:
    machine = Machine(name, entry)
    if (kind := entry.text("TYPE")) not in ("", "!"):
        if shared.types and kind not in shared.types:
            message = (
                f"unknown host type {kind!r}{nearest(kind, shared.types)}: lsf.shared does not "
                f"define it"
            )
            problems.add(entry.at("TYPE"), message, "Host.type")
        machine.type = kind
    if (model := entry.text("MODEL")) not in ("", "!"):
        if shared.factors and model not in shared.factors:
            hint = nearest(model, shared.factors)
            message = f"unknown host model {model!r}{hint}: lsf.shared does not define it"
            problems.add(entry.at("MODEL"), message, "Host.model")
        machine.model = model
        machine.factor = shared.factors.get(model, 1.0)
    for word in tokens(entry.text("RESOURCES")):
        bare = word.removeprefix("!")
        if shared.kinds and bare not in shared.kinds:
            hint = nearest(bare, shared.kinds)
            message = f"unknown resource {bare!r}{hint}: lsf.shared does not define it"
            problems.add(entry.at("RESOURCES"), message, "Host.RESOURCES")
        else:
            machine.resources.append(word)
    return machine


def _apply(machine: Machine, fact: HostFacts, shared: Shared) -> None:
    """Set values of lshosts that the configuration leaves open."""
    if machine.type == "any":
        machine.type = fact.type
    if machine.model == "any":
        machine.model = fact.model
        machine.factor = fact.factor or shared.factors.get(fact.model, 1.0)
    machine.ncpus, machine.mem, machine.swp = fact.ncpus, fact.mem, fact.swp
    bare = {word.removeprefix("!") for word in machine.resources}
    machine.resources += [word for word in fact.resources if word not in bare]


@dataclass(frozen=True, slots=True)
class _Instance:
    """One instance of a resource: its value ("" where the files have none) and its hosts."""

    value: str
    words: tuple[str, ...]


def read_resource_map(
    sections: Iterable[LsfSection],
    machines: dict[str, Machine],
    names: HostNames,
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Add shared resources to the document, and resources of single hosts to the hosts."""
    for section in sections:
        if section.name != "ResourceMap":
            continue
        for entry in entries(section, problems, table=True):
            name = entry.text("RESOURCENAME")
            if name not in shared.kinds:
                hint = nearest(name, shared.kinds)
                message = f"unknown resource {name!r}{hint}: lsf.shared does not define it"
                problems.add(entry.place, message, "ResourceMap.RESOURCENAME")
                continue
            try:
                located = _located(name, _instances(entry.values.get("LOCATION")), names)
                _place(name, located, entry, machines, shared, draft, notes)
            except ValueError as error:
                problems.add(entry.at("LOCATION"), str(error), "ResourceMap.LOCATION")


def _instances(location: Value | None) -> list[_Instance]:
    """Parse instances such as ``(5@[a] 9@[b])``, ``[5@all]``, ``[default]``, ``([h1 h2]
    [others])``.
    """
    text = "" if location is None else location.text
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    found: list[_Instance] = []
    at = 0
    while at < len(inner):
        if inner[at].isspace():
            at += 1
            continue
        match = _INSTANCE.match(inner, at)
        if match is None or match["word"] in ("(", ")"):
            break
        value = (match["value"] or "").strip("'\"")
        words = match["words"] if match["words"] is not None else match["word"]
        if not value and "@" in words:
            value, _, words = words.strip().partition("@")
        found.append(_Instance(value, tokens(words)))
        at = match.end()
    if at < len(inner) or not found or any(not instance.words for instance in found):
        raise ValueError(
            "must be instances such as 5@[all], (5@[hostA hostB] 9@[others]) or [default], "
            f"not {text!r}"
        )
    return found


def _located(
    name: str, instances: Sequence[_Instance], names: HostNames
) -> list[tuple[_Instance, list[str]]]:
    """Return each instance with its hosts; ``others`` are the hosts that no other instance
    names.
    """
    plain = ("others", "default")
    taken: dict[str, None] = {}
    for instance in instances:
        for host in names.of(word for word in instance.words if word not in plain):
            if host in taken and len(instances) > 1:
                raise ValueError(
                    f"{host} is in two instances of {name}: name each host in one instance"
                )
            taken[host] = None
    rest = [host for host in names.hosts if host not in taken]
    found: list[tuple[_Instance, list[str]]] = []
    for instance in instances:
        own = names.of(word for word in instance.words if word not in plain)
        if "others" in instance.words or "default" in instance.words:
            own += rest
        found.append((instance, own))
    return found


def _place(
    name: str,
    located: Sequence[tuple[_Instance, list[str]]],
    entry: LsfEntry,
    machines: dict[str, Machine],
    shared: Shared,
    draft: Draft,
    notes: Notes,
) -> None:
    """Put the instances of one resource where they belong."""
    kind = shared.kinds[name]
    for instance, hosts in located:
        each = "default" in instance.words
        if kind == "boolean":
            for host in hosts:
                machines[host].resources.append(name)
        elif not instance.value:
            reason = "no file gives their amounts or values: jobs that need them cannot start"
            by = Concerned({"resources": (name,)}, mark="elims")
            notes.may_differ("resources that an elim reports", reason, name, by)
        elif kind == "string":
            for host in hosts:
                machines[host].strings[name] = instance.value
        elif each:
            amount = _amount(instance.value)
            for host in hosts:
                machines[host].amounts[name] = amount
        elif hosts:
            item = Item(entry)
            item.put("name", name, "RESOURCENAME")
            item.put("amount", _amount(instance.value), "LOCATION")
            if len(hosts) != len(machines):
                item.put("hosts", short(hosts), "LOCATION")
            if name in shared.dynamic:
                item.put("static", "N", "RESOURCENAME")
            draft.add("shared_resources", item)


def _amount(text: str) -> int | float:
    amount = number(text)
    if isinstance(amount, (int, float)) and amount >= 0:
        return amount
    raise ValueError(f"the amount before @ must be a number, not {text!r}")
