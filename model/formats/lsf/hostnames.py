"""What names of hosts stand for: hosts, groups, units, ``all``, ``host*``, ranges."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...errors import nearest
from ..names import compress, expand_range, inner_first, tokens


class HostNames:
    """The hosts of the cluster in their order, and the groups and units of them."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self.hosts = dict.fromkeys(hosts)
        self._groups: dict[str, tuple[str, ...]] = {}
        self._found: dict[str, tuple[str, ...]] = {}

    def define(self, groups: Mapping[str, str]) -> None:
        """More groups or units: name to the text of their members."""
        for name, members in groups.items():
            self._groups.setdefault(name, tokens(members))
        self._found.clear()

    def known(self) -> list[str]:
        """Every name there is."""
        return [*self.hosts, *self._groups]

    def of(self, words: Iterable[str]) -> list[str]:
        """Hosts of names with ``~`` exceptions; ValueError for a name that nothing has."""
        wanted: dict[str, None] = {}
        excluded: set[str] = set()
        for word in words:
            found = self._named(word.removeprefix("~"))
            if word.startswith("~"):
                excluded.update(found)
            else:
                wanted.update(dict.fromkeys(found))
        return [host for host in wanted if host not in excluded]

    def _named(self, word: str) -> Sequence[str]:
        return [host for name in self._known(word) for host in self._hosts_of(name)]

    def _known(self, word: str) -> Sequence[str]:
        """The hosts and groups that a word names; ValueError for a name that nothing has."""
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
                pass  # the reader of the document tells of groups that contain each other
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
    """Names for a document: neighbours that count up as one range."""
    return " ".join(compress(hosts))
