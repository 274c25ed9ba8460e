"""The machines of a document: hosts, groups, compute units, resources, shared resources."""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice

from ..cluster import (
    BUILTIN_AMOUNTS,
    Cluster,
    ComputeUnit,
    Gpus,
    Host,
    HostGroup,
    ResourceDefinition,
    SharedResource,
)
from ..configuration import HostPartition
from ..errors import nearest
from ..input_limits import limits, take_hosts, take_names
from ..job import OTHERS
from . import document as d
from .document import Finding, Location
from .fields import MOST, given
from .names import inner_first, names, unknown_unit_type

#: Maximum number of names of a cycle that are written out.
_LONGEST = 12
#: Number of names that are compared with a pattern in the time that one name takes to make.
_LOOKS = 16
_BEFORE_SIGNS = re.compile(r"[^*?\[]*")


class HostBuilder:
    """Builder of the cluster; errors are added to `findings` with their place in the document."""

    def __init__(self, document: d.Document, findings: list[Finding]) -> None:
        self._document = document
        self._findings = findings
        self._hosts: dict[str, Host] = {}
        self._entry: dict[str, int] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._machines: dict[str, list[str]] = {}
        self._units: dict[str, tuple[str, ...]] = {}
        #: Hosts of lists of words, of which equal ones are looked up once, and of patterns.
        self._lists: dict[tuple[str, ...], tuple[str, ...]] = {}
        #: Sets of hosts of places of shared resources: by the list of their hosts, which has to
        #: stay as it is found by its identity, and by the sets beside them.
        self._sets: dict[int, tuple[tuple[str, ...], frozenset[str]]] = {}
        self._others: dict[frozenset[int], frozenset[str]] = {}
        self._ranges: dict[str, tuple[str, ...]] = {}
        self._patterns: dict[str, tuple[str, ...]] = {}
        self._everything: tuple[str, ...] = ()
        #: Host names by letters, and the position of each in the cluster.
        self._sorted: list[str] = []
        self._position: dict[str, int] = {}

    def cluster(self) -> Cluster:
        """Return the cluster of the document."""
        document = self._document
        for index, entry in enumerate(document.hosts):
            self._add_hosts(index, entry)
        self._check_machines()
        for name in document.host_groups:
            self._group(name)
        types, default = document.params.compute_unit_types or ((), None)
        return Cluster(
            hosts=tuple(self._hosts.values()),
            groups=(
                *(HostGroup(name, self._groups[name]) for name in document.host_groups),
                *(HostGroup(name, tuple(nodes)) for name, nodes in self._machines.items()),
            ),
            unit_types=types,
            default_unit_type=default,
            units=self._compute_units(types),
            resources=tuple(
                ResourceDefinition(**given(ResourceDefinition, e)) for e in document.resources
            ),
            shared=self._shared(),
        )

    def in_document(self, finding: Finding) -> Finding:
        """Return a finding about the n-th host of the cluster, placed at its entry."""
        place = finding.place
        if len(place) < 2 or place[0] != "hosts" or not isinstance(place[1], int):
            return finding
        name = list(self._hosts)[place[1]]
        return replace(finding, place=("hosts", self._entry[name], *place[2:]))

    def members(self, place: Location, words: Iterable[str]) -> tuple[str, ...]:
        """Return the hosts of names, groups, units, ``all``, ``host*`` and ``~host``."""
        key = tuple(words)
        if key not in self._lists:
            before = len(self._findings)
            found = self._listed(place, key)
            if len(self._findings) > before:
                return found  # errors are reported at each place
            self._lists[key] = found
        return self._lists[key]

    def partitions(self, items: Iterable[HostPartition]) -> tuple[HostPartition, ...]:
        """Return host partitions with the hosts that their words stand for."""
        return tuple(
            replace(item, hosts=self.home(("host_partitions", number, "HOSTS"), item.hosts))
            for number, item in enumerate(items)
        )

    def home(self, place: Location, words: Iterable[str]) -> tuple[str, ...]:
        """Return the hosts of a part of the cluster, of which a host is in at most one."""
        before = len(self._findings)
        found = self.members(place, words)
        if self._take(place, len(found)) and (found or len(self._findings) == before):
            return found
        return found[:1] or tuple(islice(self._hosts, 1))  # an empty list would include all hosts

    def _listed(self, place: Location, words: Sequence[str]) -> tuple[str, ...]:
        wanted: dict[str, None] = {}
        excluded: set[str] = set()
        for word in dict.fromkeys(words):
            found = self._expand(place, word.removeprefix("~"))
            if isinstance(found, tuple):
                if len(words) == 1 and not word.startswith("~"):
                    return found
                if not self._take(place, len(found)):
                    return ()
            if word.startswith("~"):
                excluded.update(found)
            else:
                wanted.update(dict.fromkeys(found))
        return tuple(name for name in wanted if name not in excluded)

    def _take(self, place: Location, number: int) -> bool:
        """Return whether this many more names may be made; if not, report it."""
        try:
            take_names(number)
        except ValueError as error:
            self._problem(place, str(error))
            return False
        return True

    def _shared(self) -> tuple[SharedResource, ...]:
        """Return the locations of every shared resource; locations of one resource are disjoint."""
        written = list(self._written_places())
        explicit = [self._place_hosts(words, place) for _, _, words, place in written]
        named: dict[str, list[frozenset[str]]] = {}
        for (entry, *_), hosts in zip(written, explicit, strict=True):
            named.setdefault(entry.name, []).append(hosts or frozenset())
        places: list[SharedResource] = []
        for (entry, amount, words, place), hosts in zip(written, explicit, strict=True):
            if hosts is not None and OTHERS in (words or ()):
                hosts = self._beside(place, hosts, named[entry.name])
            places.append(SharedResource(entry.name, amount, hosts, entry.static))
        return self._apart(places, [place for *_, place in written])

    def _beside(
        self, place: Location, hosts: frozenset[str], named: Sequence[frozenset[str]]
    ) -> frozenset[str]:
        """Return the hosts of a location, with `others` for hosts that no other location names."""
        key = frozenset(map(id, (hosts, *named)))
        if key not in self._others and self._take(place, len(self._hosts)):
            self._others[key] = hosts | self._hosts.keys() - frozenset[str]().union(*named)
        return self._others.get(key, hosts)

    def _place_hosts(self, words: Iterable[str] | None, place: Location) -> frozenset[str] | None:
        """Return the hosts that a location names, None for all; equal sets are shared."""
        if words is None:
            return None
        found = self.members(place, [word for word in words if word != OTHERS])
        if id(found) not in self._sets:
            self._sets[id(found)] = found, frozenset(found)
        return self._sets[id(found)][1]

    def _written_places(
        self,
    ) -> Iterator[tuple[d.SharedEntry, float, tuple[str, ...] | None, Location]]:
        """Yield each location with its amount, the words for its hosts (None: all) and its
        position.
        """
        for index, entry in enumerate(self._document.shared_resources):
            where: Location = ("shared_resources", index)
            if isinstance(entry.amount, float):
                yield entry, entry.amount, entry.hosts, (*where, "hosts")
                continue
            if entry.hosts is not None:
                self._problem(
                    (*where, "hosts"),
                    "is given, but the amount names hosts as well: remove hosts",
                )
            for amount, words in entry.amount:
                yield entry, amount, words, (*where, "amount")

    def _apart(
        self, places: list[SharedResource], written: list[Location]
    ) -> tuple[SharedResource, ...]:
        """Return the locations; report hosts in two of them, and mixed `static`."""
        of_resource: dict[str, list[int]] = {}
        for index, shared in enumerate(places):
            of_resource.setdefault(shared.name, []).append(index)
        sound: set[tuple[int, ...]] = set()
        for name, indices in of_resource.items():
            key = tuple(id(places[index].hosts) for index in indices)
            if len(indices) > 1 and key not in sound:
                seen: set[str] = set()
                for index in indices:
                    hosts = places[index].hosts
                    twice = seen.intersection(self._hosts if hosts is None else hosts)
                    if twice:
                        message = f"{min(twice)} has two instances of {name}: give each host one"
                        self._problem(written[index], message)
                        break
                    seen.update(self._hosts if hosts is None else hosts)
                else:
                    sound.add(key)
            for index in indices:
                if places[index].static != places[indices[0]].static:
                    message = f"static must be equal in all instances of {name}"
                    self._problem((*written[index][:2], "static"), message)
        return tuple(places)

    def _problem(self, place: Location, message: str, *, undefined: bool = False) -> None:
        self._findings.append(Finding(place, message, undefined=undefined))

    def _add_hosts(self, index: int, entry: d.HostEntry) -> None:
        found = entry.name
        if entry.count is not None:
            if len(found) > 1:
                self._problem(
                    ("hosts", index, "count"),
                    f"needs one name, not a range of {len(found)} names: remove count",
                )
            try:
                take_hosts(entry.count - 1)
            except ValueError as error:
                self._problem(("hosts", index, "count"), str(error))
                return
            found = tuple(f"{found[0]}{number}" for number in range(1, entry.count + 1))
        for name, host in zip(found, self._host(index, entry).alike(found), strict=True):
            if name in self._hosts:
                self._problem(
                    ("hosts", index, "name"),
                    f"the host {name} is already defined: give each host one entry",
                )
            else:
                self._entry[name] = index
                self._hosts[name] = host
                if host.node_of:
                    self._machines.setdefault(host.node_of, []).append(name)

    def _gpus(self, index: int, entry: d.HostEntry) -> Gpus | None:
        """Return the GPUs of a host entry; amounts that follow from them must not be given too."""
        gpus = entry.gpus
        indices = gpus.count if gpus is not None and gpus.mem is not None else 0
        if not self._take(("hosts", index, "gpus"), indices):
            return None
        for key, own in (
            () if gpus is None else (("amounts", gpus.amounts()), ("load", gpus.load()))
        ):
            said = getattr(entry, key)
            for name in own.keys() & said.keys():
                if said[name] != own[name]:
                    message = f"gpus sets {name} to {own[name]:g}: remove {name} here"
                    self._problem(("hosts", index, key), message)
        return gpus

    def _host(self, index: int, entry: d.HostEntry) -> Host:
        slots, plain = entry.slots, given(Host, entry)
        ncpus = plain.get("ncpus")
        if entry.mxj is not None:
            if slots is not None:
                self._problem(("hosts", index, "MXJ"), "give slots or MXJ, not both")
            slots = ncpus if isinstance(entry.mxj, str) else entry.mxj
        elif slots is None:
            slots, plain["mxj_defined"] = ncpus, False
        if slots is None:
            self._problem(("hosts", index), "has no number of slots: give slots, MXJ or ncpus")
        amounts = dict(entry.amounts)
        for name in BUILTIN_AMOUNTS:
            size = getattr(entry, name)
            if size is not None and name in amounts:
                self._problem(
                    ("hosts", index, "amounts"),
                    f"{name} is given twice: write it in amounts or as {name}, not in both",
                )
            if size is not None:
                amounts[name] = size
        return Host(
            name="",
            # A number that is missing has been reported: nothing may seem too much for it.
            slots=MOST if slots is None else slots,
            amounts=amounts,
            strings=entry.strings,
            booleans=frozenset(word.removeprefix("!") for word in entry.resources),
            exclusive=frozenset(word[1:] for word in entry.resources if word.startswith("!")),
            load=entry.load,
            gpus=self._gpus(index, entry),
            **plain,
        )

    def _check_machines(self) -> None:
        """Check that no machine with nodes has the name of a host or host group."""
        for name, nodes in list(self._machines.items()):
            if name in self._hosts or name in self._document.host_groups:
                what = "host" if name in self._hosts else "host group"
                place: Location = ("hosts", self._entry[nodes[0]], "node_of")
                self._problem(place, f"{name} is already a {what}: give the machine another name")
                del self._machines[name]

    def _expand(self, place: Location, word: str) -> Sequence[str]:
        """Return the hosts of a word; for a set that is stored, such as a group, that tuple
        itself.
        """
        known = self._known(place, word)
        if word == "all" or "*" in word:
            return known
        sets = {name: self._named(name) for name in known if name not in self._hosts}
        if not sets:
            return list(known)
        if len(known) == 1:
            return sets[known[0]]
        if not self._take(place, sum(map(len, sets.values()))):
            return ()
        return [host for name in known for host in sets.get(name, (name,))]

    def _known(self, place: Location, word: str) -> Sequence[str]:
        """Return the hosts, groups, units and machines of a word; unknown words become findings."""
        if word == "all":
            self._everything = self._everything or tuple(self._hosts)
            return self._everything
        if "*" in word:
            return self._matching(place, word)
        try:
            found = self._range(word) or names(word)
        except ValueError as error:
            self._problem(place, str(error))
            return ()
        if all(map(self._hosts.__contains__, found)):
            return found
        known = [name for name in found if self._is_known(name)]
        unknown = len(found) - len(known)
        for name in islice((n for n in found if not self._is_known(n)), limits().errors):
            self._unknown(place, name)
        if (more := unknown - limits().errors) > 0:
            self._problem(place, f"{more:,} more unknown names in {word!r}", undefined=True)
        return known

    def _matching(self, place: Location, word: str) -> tuple[str, ...]:
        """Return the hosts that match a pattern, searched among names with its prefix."""
        if word not in self._patterns:
            if not self._sorted:
                self._sorted = sorted(self._hosts)
                self._position = {name: number for number, name in enumerate(self._hosts)}
            begin = _BEFORE_SIGNS.match(word)[0]  # type: ignore[index]
            low = bisect_left(self._sorted, begin)
            high = bisect_right(self._sorted, begin, low, key=lambda name: name[: len(begin)])
            if not self._take(place, (high - low) // _LOOKS):
                return ()
            found = fnmatch.filter(self._sorted[low:high], word)
            if not self._take(place, len(found)):
                return ()
            self._patterns[word] = tuple(sorted(found, key=self._position.__getitem__))
        return self._patterns[word]

    def _is_known(self, name: str) -> bool:
        return (
            name in self._hosts
            or name in self._document.host_groups
            or name in self._units
            or name in self._machines
        )

    def _unknown(self, place: Location, name: str) -> None:
        known = chain(self._hosts, self._document.host_groups, self._units, self._machines)
        message = f"unknown host or host group {name!r}{nearest(name, known)}"
        self._problem(place, message, undefined=True)

    def _named(self, name: str) -> tuple[str, ...]:
        """Return the hosts of a group, unit or machine."""
        if name in self._document.host_groups:
            return self._groups.get(name, ())
        return self._units[name] if name in self._units else tuple(self._machines[name])

    def _group(self, name: str) -> tuple[str, ...]:
        """Return the hosts of a group; nested groups of any depth are expanded with a stack."""
        if name not in self._groups:
            for ring in inner_first(name, self._expanding):
                message = f"host groups contain each other: {_ring(ring)}"
                self._problem(("host_groups", ring[0]), message)
        return self._groups[name]

    def _expanding(self, group: str) -> Iterator[str]:
        """Expand a group; yields each inner group that must be expanded first.

        One that is not expanded by then contains this one, and counts as empty.
        """
        words = self._document.host_groups[group]
        for word in dict.fromkeys(words):
            for name in self._range(word.removeprefix("~")):
                inner = name not in self._hosts and name in self._document.host_groups
                if inner and name not in self._groups:
                    yield name
        self._groups[group] = self.members(("host_groups", group), words)

    def _range(self, word: str) -> tuple[str, ...]:
        """Return the cached names of a range, a word without brackets as one name, ()
        if invalid.
        """
        if "[" not in word:
            return (word,)
        if word not in self._ranges:
            with suppress(ValueError):
                self._ranges[word] = names(word)
        return self._ranges.get(word, ())

    def _compute_units(self, types: tuple[str, ...]) -> tuple[ComputeUnit, ...]:
        entries: dict[str, tuple[int, d.UnitEntry]] = {}
        for index, entry in enumerate(self._document.compute_units):
            if entry.name in entries:
                self._problem(
                    ("compute_units", index, "name"),
                    f"the unit {entry.name} is already defined: give each unit one entry",
                )
            entries.setdefault(entry.name, (index, entry))
        cyclic = self._cycles(entries)
        ranks = {name: number for number, name in enumerate(types)}
        parents: dict[str, str] = {}
        inner_types: dict[str, str] = {}
        for index, entry in sorted(entries.values(), key=lambda pair: ranks.get(pair[1].type, -1)):
            place: Location = ("compute_units", index, "members")
            if entry.type not in ranks:
                kind: Location = ("compute_units", index, "type")
                self._problem(kind, unknown_unit_type(entry.type, types), undefined=True)
            inner = [name for name in entry.members if name in entries]
            if entry.name in cyclic:
                self._units[entry.name] = ()
            elif inner:
                found = self._nested(place, entry, entries, ranks, parents)
                self._units[entry.name] = found if self._take(place, len(found)) else ()
                self._one_type(place, entry, [entries[name][1].type for name in inner], inner_types)
            else:
                before = len(self._findings)
                self._units[entry.name] = self.home(place, entry.members)
                if len(self._findings) == before and ranks.get(entry.type, 0) > 0:
                    message = f"a unit of type {entry.type} cannot have hosts, only {types[0]} can"
                    self._problem(place, f"{message}: name units of a finer type")
        return tuple(
            ComputeUnit(name, entry.type, self._units[name], parents.get(name))
            for name, (_, entry) in entries.items()
        )

    def _one_type(
        self, place: Location, entry: d.UnitEntry, inner: list[str], known: dict[str, str]
    ) -> None:
        """Check that all units of one type have members of one type."""
        for name in dict.fromkeys(inner):
            first = known.setdefault(entry.type, name)
            if name != first:
                self._problem(
                    place, f"{entry.type} units must have members of type {first}, not {name}"
                )

    def _nested(
        self,
        place: Location,
        entry: d.UnitEntry,
        entries: dict[str, tuple[int, d.UnitEntry]],
        ranks: dict[str, int],
        parents: dict[str, str],
    ) -> tuple[str, ...]:
        hosts: dict[str, None] = {}
        for name in entry.members:
            if name not in entries and not self.members(place, (name,)):
                continue  # unknown
            if name not in entries:
                message = f"mixes units and hosts: {name} is not a compute unit"
                self._problem(place, message, undefined=True)
                continue
            inner = entries[name][1]
            if entry.type in ranks and ranks.get(inner.type, -1) >= ranks[entry.type]:
                self._problem(
                    place,
                    f"{name} is of type {inner.type}, which is not finer than {entry.type}: "
                    "name units of a finer type",
                )
            if name in parents:
                self._problem(
                    place,
                    f"{name} is already a member of {parents[name]}: name it in one unit only",
                )
            parents.setdefault(name, entry.name)
            hosts.update(dict.fromkeys(self._units.get(name, ())))
        return tuple(hosts)

    def _cycles(self, entries: dict[str, tuple[int, d.UnitEntry]]) -> set[str]:
        """Report each cycle of units that contain each other; return the units in cycles."""
        cyclic: set[str] = set()
        done: set[str] = set()

        def expand(name: str) -> Iterator[str]:
            for inner in entries[name][1].members:
                if inner in entries and inner not in done:
                    yield inner
            done.add(name)

        for name in entries:
            for ring in inner_first(name, expand) if name not in done else ():
                cyclic.update(ring)
                place: Location = ("compute_units", entries[ring[0]][0], "members")
                self._problem(place, f"compute units contain each other: {_ring(ring)}")
        return cyclic


def _ring(names: Sequence[str]) -> str:
    """Return a cycle as ``a -> b -> a``; a long one is truncated in the middle."""
    return " -> ".join(names if len(names) <= _LONGEST else (*names[:4], "…", *names[-2:]))
