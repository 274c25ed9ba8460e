"""Processor units of hosts, as the trees of lshosts -T and bhosts -aff print them (AFF-01)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...formats.names import Domains
from ...instance import Instance
from ...omissions import AFFINITY
from .printed_facts import TOPOLOGY, columns
from .reading import Reading, Touched
from .values import Remarks, Text, is_name

_HOST = re.compile(r"\s*Host\[[^\]]*\]\s+(\S+)\s*$")
#: One unit of each level, as it stands in a line; a core has its threads, ``*`` marks one in use.
_UNITS = {
    "Socket": re.compile(r"Socket(\d+)"),
    "NUMA": re.compile(r"NUMA\[(\d+)\s*:[^\[\]]*\]"),
    "core": re.compile(r"core(\d+)\(([^()]*)\)"),
}
#: Memory of a NUMA node in use, or a thread in use.
_USE = re.compile(r"NUMA\[[^\[\]]*/|\([^()]*\*")
#: Fields that each level of the tree counts.
_FIELDS = {
    level: tuple(fact.field for fact in TOPOLOGY if level in columns(fact.what, "units"))
    for level in _UNITS
}
#: ``AFFINITY: Enabled`` and the like.
_LABEL = re.compile(r"\s*[A-Za-z][A-Za-z ]*:")


@dataclass(slots=True)
class _Tree:
    """The units of one host."""

    #: Numbers of sockets and NUMA nodes: a socket may stand under each of its nodes.
    numbers: dict[str, set[str]] = field(default_factory=dict)
    cores: int = 0
    threads: int = 0
    #: Whether the tree shows the use of units and memory, as that of bhosts -aff does.
    shows_use: bool = False
    #: Fields of which a line cannot be read.
    unread: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        """Return the number of each known kind."""
        found = {name: len(numbers) for name, numbers in self.numbers.items()}
        found |= {"cores": self.cores, "threads": self.threads}
        return {name: n for name, n in found.items() if n and name not in self.unread}


def read_topology(text: Text, reading: Reading) -> tuple[dict[str, dict[str, int]], frozenset[str]]:
    """Return the numbers of cores, threads, sockets and NUMA nodes by host, and hosts without use.

    A tree of lshosts -T does not show the use.
    """
    trees: dict[str, _Tree] = {}
    tree: _Tree | None = None
    for number, line in enumerate(text.content.splitlines(), start=1):
        if found := _HOST.match(line):
            tree = _Tree()
            if not is_name(found[1]):
                reading.at("host", number)
                reading.lost(f"{found[1]!r} is no name of a host")
                continue
            trees[found[1]] = tree
            reading.at(f"host {found[1]}", number, Touched(hosts=(found[1],)))
        elif tree is not None and line.strip() and not _LABEL.match(line):
            reading.line = number
            tree.shows_use |= _USE.search(line) is not None
            _add(tree, line.strip(), reading)
    counted = {name: counts for name, tree in trees.items() if (counts := tree.counts())}
    return counted, frozenset(name for name in counted if not trees[name].shows_use)


def _add(tree: _Tree, line: str, reading: Reading) -> None:
    """Count the units of one line."""
    level = next((level for level in _UNITS if line.startswith(level)), "")
    form = _UNITS.get(level)
    if form is None or form.sub("", line).strip():
        tree.unread.update(
            _FIELDS.get(level) or [name for names in _FIELDS.values() for name in names]
        )
        reading.unknown(f"{level or 'a line of the tree'}: {line!r} is no unit of a host")
        return
    for unit in form.finditer(line):
        if level != "core":
            tree.numbers.setdefault(_FIELDS[level][0], set()).add(unit[1])
            continue
        tree.cores += 1
        threads = unit[2].replace("*", " ").split()
        tree.threads += len(threads)
        if not threads or not all(thread.isdecimal() for thread in threads):
            tree.unread.add("threads")
            reading.unknown(f"core{unit[1]}: {unit[2]!r} are no numbers of threads")


def with_units(
    instance: Instance,
    units: Mapping[str, Mapping[str, int]],
    without_use: Collection[str],
    notes: Remarks,
) -> Instance:
    """Return the hosts with units from trees that no other input has.

    without_use: hosts with trees of lshosts -T, which do not show whether jobs may be bound there.
    """
    hosts = instance.cluster.hosts
    domains = Domains(host.name for host in hosts)
    known = {domains.known(name): counts for name, counts in units.items()}
    silent = {domains.known(name) for name in without_use}
    counted, unsure = [], []
    for host in hosts:
        counts = known.get(host.name, {})
        new: dict[str, Any] = {name: n for name, n in counts.items() if getattr(host, name) is None}
        counted.append(replace(host, **new) if new else host)
        if new and host.name in silent:
            unsure.append(host.name)
    before = len(notes.omissions)
    if unsure:
        text = (
            "whether jobs may be bound to processors (AFFINITY of lsb.hosts) is not printed and "
            "assumed: give bhosts -aff"
        )
        notes.touch(text, where="lshosts -T", hosts=unsure, resources=[AFFINITY])
    instance = replace(instance, omissions=(*instance.omissions, *notes.omissions[before:]))
    return replace(instance, cluster=replace(instance.cluster, hosts=tuple(counted)))
