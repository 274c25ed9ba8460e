"""Hosts that one file names with their domain and another without (as LSF_STRIP_DOMAIN leaves)."""

from __future__ import annotations

from collections.abc import Iterable


class Domains:
    """Hosts that are known, to be found under names that differ from theirs by a domain alone."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._hosts = set(hosts)
        self._by_short: dict[str, list[str]] = {}
        for host in sorted(self._hosts):
            self._by_short.setdefault(_short(host), []).append(host)

    def known(self, name: str) -> str:
        """The known host that a name stands for; the name itself where that is none, or unclear.

        One of both has no domain, and no second known host begins alike: ``node1.a`` and
        ``node1.b`` are two hosts, ``node1`` is then neither. Addresses (``10.0.0.1``) have none.
        """
        short = _short(name)
        alike = self._by_short.get(short, ())
        if name in self._hosts or len(alike) != 1 or short not in (name, alike[0]):
            return name
        return alike[0]


def _short(name: str) -> str:
    """The name without its domain."""
    first = name.split(".", 1)[0]
    return name if first.isdigit() else first
