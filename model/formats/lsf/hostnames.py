"""What names of hosts stand for: hosts, groups, units, ``all``, ``host*``, ranges."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence

from ...errors import nearest
from ..names import compress, expand_range, tokens

#: Groups within groups.
_DEEPEST = 100


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
            found = self._named(word.removeprefix("~"), ())
            if word.startswith("~"):
                excluded.update(found)
            else:
                wanted.update(dict.fromkeys(found))
        return [host for host in wanted if host not in excluded]

    def _named(self, word: str, within: tuple[str, ...]) -> Sequence[str]:
        if word in self.hosts:
            return (word,)
        if word == "all":
            return tuple(self.hosts)
        if word in self._groups:
            return self._group(word, within)
        if "*" in word:
            return fnmatch.filter(self.hosts, word)
        names = expand_range(word)
        if names == (word,):
            raise ValueError(f"unknown host or host group {word!r}{nearest(word, self.known())}")
        return [host for name in names for host in self._named(name, within)]

    def _group(self, name: str, within: tuple[str, ...]) -> tuple[str, ...]:
        if name in within or len(within) > _DEEPEST:
            return ()  # the reader of the document tells of groups that contain each other
        if name not in self._found:
            wanted: dict[str, None] = {}
            excluded: set[str] = set()
            for word in self._groups[name]:
                found = self._named(word.removeprefix("~"), (*within, name))
                if word.startswith("~"):
                    excluded.update(found)
                else:
                    wanted.update(dict.fromkeys(found))
            self._found[name] = tuple(host for host in wanted if host not in excluded)
        return self._found[name]


def short(hosts: Sequence[str]) -> str:
    """Names for a document: neighbours that count up as one range."""
    return " ".join(compress(hosts))
