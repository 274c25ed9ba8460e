"""lsf.shared: host types and models, resources, names of clusters."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ...errors import nearest
from ..names import compress, expand_range, inner_first, tokens
from ..units import parse_size
from .draft import Draft, Item, LsfEntry, LsfSection, Notes, entries, number
from .lines import Line, Place, Problems

T = TypeVar("T")
SECTIONS = ("Cluster", "HostType", "HostModel", "Resource")
_KINDS = ("boolean", "numeric", "string")


@dataclass(slots=True)
class Shared:
    """types, factors are empty where the file has no such section: then any name is right."""

    #: Names of host types.
    types: set[str] = field(default_factory=set)
    #: CPU factor by host model.
    factors: dict[str, float] = field(default_factory=dict)
    #: Resource to boolean, numeric or string.
    kinds: dict[str, str] = field(default_factory=dict)
    #: Resources whose value an elim reports.
    dynamic: set[str] = field(default_factory=set)
    #: Whether some host is known to have GPUs.
    gpus: bool = False

    @property
    def indices(self) -> set[str]:
        """Return the resources that may have thresholds."""
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
                    factor = number(entry.text("CPUFACTOR"))
                    if not isinstance(factor, (int, float)) or factor <= 0:
                        message = f"must be a number above 0, not {entry.text('CPUFACTOR')!r}"
                        problems.add(entry.at("CPUFACTOR"), message, "HostModel.CPUFACTOR")
                        factor = 1.0
                    shared.factors[entry.text("MODELNAME")] = float(factor)
                case "Resource":
                    _resource(entry, shared, draft, problems)
                case _:
                    notes.not_modelled("lsf.shared", section.name)
    return shared


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


#: Columns of every lshosts that lists hosts; its other tables have others.
_COLUMNS = ("type", "model", "cpuf", "ncpus", "maxmem", "maxswp", "server", "RESOURCES")


@dataclass(frozen=True, slots=True)
class HostFacts:
    """One host: ncpus None and mem, swp "" where lshosts prints ``-`` (the host was down)."""

    #: Name of the host.
    name: str
    #: Row of lshosts.
    entry: LsfEntry
    #: Host type.
    type: str = "any"
    #: Host model.
    model: str = "any"
    #: CPU factor, None if not printed.
    factor: float | None = None
    #: Number of processors, None if not printed.
    ncpus: int | None = None
    #: Maximum memory as printed, "" if unknown.
    mem: str = ""
    #: Maximum swap space as printed, "" if unknown.
    swp: str = ""
    #: Whether the host runs jobs.
    server: bool = True
    #: Names of the Boolean resources.
    resources: tuple[str, ...] = ()


#: Takes what cannot be read of a host: where, its name, and a sentence.
Unread = Callable[[Place, str, str], object]


def read_lshosts(
    lines: Sequence[Line], problems: Problems, file: str, unread: Unread
) -> dict[str, HostFacts] | None:
    """Return facts by host name; None, with a problem, for a text that is not from lshosts.

    unread: called for each unreadable cell or row, which counts as missing.
    """
    if not lines or lines[0].text.split()[:1] != ["HOST_NAME"]:
        message = "is not the output of lshosts -w: its first line would begin with HOST_NAME"
        problems.add(Place(file, 1), message)
        return None
    lacking = [name for name in _COLUMNS if name not in lines[0].text.split()]
    if lacking:
        message = f"has no column {', '.join(lacking)}: give the output of lshosts -w"
        problems.add(Place(file, 1), message)
        return None
    section = LsfSection("lshosts", Place(file, 1), tuple(lines))
    found: dict[str, HostFacts] = {}
    bad_rows = Problems()
    rows = entries(section, bad_rows, table=True)
    names = {line.place().line: line.text.split()[0] for line in lines}
    for problem in bad_rows.found:
        place = Place(file, problem.line or 1)
        unread(place, names.get(place.line, ""), f"the row {problem.message}")
    for entry in rows:
        name = entry.text("HOST_NAME")
        if name.startswith("*"):
            problems.add(entry.place, f"the name {name} is truncated: lshosts -w prints it whole")
            continue

        def value(column: str, read: Callable[[str], T], entry: LsfEntry = entry) -> T | None:
            text = entry.text(column)
            if text in ("", "-"):
                return None
            try:
                return read(text)
            except ValueError as error:
                unread(entry.at(column), entry.text("HOST_NAME"), f"{column}: {error}")
                return None

        found[name] = HostFacts(
            name,
            entry,
            _known(entry.text("TYPE")),
            _known(entry.text("MODEL")),
            value("CPUF", _factor),
            value("NCPUS", _processors),
            value("MAXMEM", _sized) or "",
            value("MAXSWP", _sized) or "",
            entry.text("SERVER").lower() != "no",
            tuple(tokens(entry.text("RESOURCES"))),
        )
    return found


def _factor(text: str) -> float | None:
    found = number(text)
    if not isinstance(found, (int, float)):
        raise ValueError(f"must be a number such as 12.5, not {text!r}")
    return float(found) if found > 0 else None


def _processors(text: str) -> int | None:
    found = number(text)
    if not isinstance(found, int):
        raise ValueError(f"must be a whole number such as 8, not {text!r}")
    return found if found > 0 else None


def _sized(text: str) -> str:
    parse_size(text)
    return text


def _known(text: str) -> str:
    return "any" if text in ("", "UNKNOWN", "UNKNOWN_AUTO_DETECT") else text


class HostNames:
    """The hosts of the cluster in their order, and the groups and units of them."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts = dict.fromkeys(hosts)
        self._groups: dict[str, tuple[str, ...]] = {}
        self._found: dict[str, tuple[str, ...]] = {}

    def define(self, groups: Mapping[str, str]) -> None:
        """Add groups or units: name to the text of their members."""
        for name, members in groups.items():
            self._groups.setdefault(name, tokens(members))
        self._found.clear()

    def known(self) -> list[str]:
        """Return all names of groups and units."""
        return [*self.hosts, *self._groups]

    def of(self, words: Iterable[str]) -> list[str]:
        """Return the hosts of names with ``~`` exceptions; raises ValueError for an unknown
        name.
        """
        wanted: dict[str, None] = {}
        excluded: set[str] = set()
        for word in words:
            names = self._known(word.removeprefix("~"))
            found = [host for name in names for host in self._hosts_of(name)]
            if word.startswith("~"):
                excluded.update(found)
            else:
                wanted.update(dict.fromkeys(found))
        return [host for host in wanted if host not in excluded]

    def _known(self, word: str) -> Sequence[str]:
        """Return the hosts and groups of a word; raises ValueError for an unknown name."""
        if word in self.hosts:
            return (word,)
        if word == "all":
            return tuple(self.hosts)
        if word in self._groups:
            return (word,)
        if "*" in word:
            return fnmatch.filter(self.hosts, word)
        names = expand_range(word)
        if names == (word,):
            raise ValueError(f"unknown host or host group {word!r}{nearest(word, self.known())}")
        return [name for each in names for name in self._known(each)]

    def _hosts_of(self, name: str) -> Sequence[str]:
        if name in self.hosts:
            return (name,)
        if name not in self._found:
            for _ in inner_first(name, self._expanding):
                pass  # the reader of the document reports cyclic groups
        return self._found[name]

    def _expanding(self, group: str) -> Iterator[str]:
        """Expand a group; hands out each group inside it that has to be expanded first."""
        wanted: dict[str, None] = {}
        excluded: set[str] = set()
        for word in self._groups[group]:
            for name in self._known(word.removeprefix("~")):
                if name not in self.hosts and name not in self._found:
                    yield name
                hosts = (name,) if name in self.hosts else self._found.get(name, ())
                if word.startswith("~"):
                    excluded.update(hosts)
                else:
                    wanted.update(dict.fromkeys(hosts))
        self._found[group] = tuple(host for host in wanted if host not in excluded)


def short(hosts: Sequence[str]) -> str:
    """Return names in short form: consecutive ones become one range."""
    return " ".join(compress(hosts))
