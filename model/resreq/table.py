"""The hosts of a cluster as columns, built once and read by every evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cluster import INCREASING_INDICES, Cluster, Host
from ..errors import nearest
from .errors import ResreqError
from .vocabulary import Vocabulary, canonical

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

_MAXIMA = {"maxmem": "mem", "maxswp": "swp", "maxtmp": "tmp"}


class TextColumn:
    """One string resource over all hosts: the distinct values and each host's position among them.

    place: position of a value. code is -1 where a host lacks the resource.
    """

    __slots__ = ("code", "place", "values")

    def __init__(self, values: list[str | None]) -> None:
        self.values = sorted({value for value in values if value is not None})
        self.place = {value: index for index, value in enumerate(self.values)}
        self.code: IntArray = np.array(
            [-1 if value is None else self.place[value] for value in values], dtype=np.int64
        )


class HostTable:
    """Columns of the hosts of one cluster, in configuration order, each made when first asked for.

    by_slot: ncpus means slots (PARALLEL_SCHED_BY_SLOT, REQ-19).
    values: columns that replace the cluster's, each of shape (hosts,): free ``slots``, amounts that
        are available now, load indices.
    reported: where a host has both an amount and a report of it in its load, take the report.
    A number that a host lacks is NaN; a load index that nobody reported counts as idle, 0.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        by_slot: bool = False,
        values: Mapping[str, FloatArray] | None = None,
        reported: bool = False,
    ) -> None:
        self.cluster = cluster
        self.by_slot = by_slot
        self.vocabulary = Vocabulary.of_cluster(cluster)
        self._reported = reported
        self._numbers: dict[str, FloatArray] = {
            canonical(name): np.asarray(column, dtype=np.float64)
            for name, column in (values or {}).items()
        }
        self._texts: dict[str, TextColumn] = {}
        self.ok: BoolArray = np.array([host.takes_jobs for host in cluster.hosts], dtype=bool)
        self.exclusive: tuple[tuple[frozenset[str], BoolArray], ...] = tuple(
            (names, np.array([host.exclusive == names for host in cluster.hosts], dtype=bool))
            for names in {host.exclusive for host in cluster.hosts if host.exclusive}
        )

    def __len__(self) -> int:
        return len(self.cluster.hosts)

    def kind(self, name: str) -> str:
        """Kind of a resource; raises ResreqError with the nearest name for one nobody defines."""
        kind = self.vocabulary.kind(name)
        if kind is None:
            hint = nearest(name, self.vocabulary.names())
            raise ResreqError(f"no resource is called '{name}'{hint}", undefined=True)
        return kind

    def number(self, name: str) -> FloatArray:
        """A numeric or Boolean resource, NaN where a host lacks it; a Boolean is 1 or 0."""
        if name not in self._numbers:
            kind = self.kind(name)
            if kind == "string":
                raise ResreqError(f"{name} is a string: it can only be compared with ==, !=, …")
            one = self._flag if kind == "boolean" else self._number
            self._numbers[name] = np.array(
                [one(name, host) for host in self.cluster.hosts], dtype=np.float64
            )
            self._add_shared(name)
        return self._numbers[name]

    def text(self, name: str) -> TextColumn:
        """A string resource."""
        if name not in self._texts:
            own = {"hname": "name", "type": "type", "model": "model", "status": "status"}
            values: list[str | None] = [
                getattr(host, own[name]) if name in own else host.strings.get(name)
                for host in self.cluster.hosts
            ]
            self._texts[name] = TextColumn(values)
        return self._texts[name]

    @staticmethod
    def _flag(name: str, host: Host) -> float:
        return float(name == "server" or name in host.booleans or name in host.exclusive)

    def _number(self, name: str, host: Host) -> float:
        if name == "ncpus":
            return float(host.slots if self.by_slot else host.processors)
        if name in ("slots", "maxslots"):
            return float(host.slots)
        if name == "cpuf":
            return host.cpu_factor
        if name in _MAXIMA:
            return host.amounts.get(name, host.amounts.get(_MAXIMA[name], np.nan))
        sources = (host.load, host.amounts) if self._reported else (host.amounts, host.load)
        for source in sources:
            if name in source:
                return source[name]
        if name in INCREASING_INDICES or name == "rexpri":
            return 0.0
        return 1.0 if name == "ndisks" else np.nan

    def _add_shared(self, name: str) -> None:
        column = self._numbers[name]
        for shared in self.cluster.shared:
            if shared.name == name:
                for index, host in enumerate(self.cluster.hosts):
                    if shared.hosts is None or host.name in shared.hosts:
                        column[index] = shared.amount
