"""The names a requirement may use: built-in resources, aliases, and what a cluster defines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..cluster import (
    BUILTIN_INDICES,
    INCREASING_INDICES,
    Cluster,
    Host,
    ResourceDefinition,
    distinct,
)
from ..errors import nearest
from ..gpu_request import GPU_NAMES
from .errors import ResreqError

#: Alternative spellings of built-in indices (REQ-03).
ALIASES = {"swap": "swp", "idle": "it", "login": "ls", "cpu": "r1m"}
#: Built-in resources whose value is a string.
BUILTIN_STRINGS = frozenset({"type", "model", "status", "hname"})
BUILTIN_BOOLEANS = frozenset({"server"})
#: Built-in static numbers; `slots` are the free job slots of a host, `maxslots` all of them.
BUILTIN_STATIC = frozenset(
    {"ncpus", "ndisks", "maxmem", "maxswp", "maxtmp", "cpuf", "rexpri", "slots", "maxslots"}
)
#: Built-in resources whose value changes while jobs run.
CHANGING = frozenset(BUILTIN_INDICES) | {"slots", "status"}
BUILTIN_NUMBERS = frozenset(BUILTIN_INDICES) | BUILTIN_STATIC
#: Load indices of GPUs that LSF itself reports, without the amounts that count GPUs.
_GPU_LOAD = frozenset({"gpu_maxfactor", "gpu_shared_avg_mut", "gpu_shared_avg_ut"})
BUILTINS = BUILTIN_NUMBERS | BUILTIN_STRINGS | BUILTIN_BOOLEANS
#: Product names that defined() accepts although no configuration lists them (REQ-06).
PRODUCTS = frozenset(
    {"LSF_Base", "lsf_base", "LSF_Manager", "lsf_manager", "LSF_JobScheduler", "lsf_js"}
    | {"LSF_Make", "LSF_parallel", "LSF_Analyzer", "lsf_analyzer"}
)
#: Amounts that LSF_UNIT_FOR_LIMITS scales (REQ-13).
SCALED = frozenset({"mem", "swp"})
#: LSF_UNIT_FOR_LIMITS in MB; units are binary (docs/dev/semantics.md).
UNITS = {"KB": 1 / 1024, "MB": 1, "GB": 1024, "TB": 1024**2, "PB": 1024**3, "EB": 1024**4}


def canonical(name: str) -> str:
    """Return the resource that an alias denotes, or the name itself."""
    return ALIASES.get(name, name)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """User-defined resources by kind, hashable so that parsed requirements can be cached by it."""

    #: Names of numeric resources.
    numbers: frozenset[str] = frozenset()
    #: Names of string resources.
    strings: frozenset[str] = frozenset()
    #: Names of Boolean resources.
    booleans: frozenset[str] = frozenset()
    #: Names of numeric resources that grow with load.
    increasing: frozenset[str] = frozenset()
    #: Names of numeric resources that are collected at an interval.
    dynamic: frozenset[str] = frozenset()
    #: Names of numeric resources that jobs cannot reserve.
    inert: frozenset[str] = frozenset()
    #: Names of shared resources whose reservations have no duration and no decay (RSV-10).
    static_shared: frozenset[str] = frozenset()
    #: Whether an unknown name is an error. If False, only some definitions are available, and names
    #: are checked when the requirement meets its hosts.
    complete: bool = False

    @classmethod
    def of_definitions(cls, definitions: Iterable[ResourceDefinition]) -> Vocabulary:
        """Return the vocabulary of lsf.shared; incomplete, as hosts may have more resources."""
        known = tuple(definitions)
        numeric = [item for item in known if item.kind == "numeric"]
        return cls(
            numbers=frozenset(item.name for item in numeric),
            strings=frozenset(item.name for item in known if item.kind == "string"),
            booleans=frozenset(item.name for item in known if item.kind == "boolean"),
            increasing=frozenset(item.name for item in numeric if item.increasing),
            dynamic=frozenset(item.name for item in numeric if item.dynamic),
            inert=frozenset(item.name for item in numeric if not item.consumable),
        )

    @classmethod
    def of_cluster(cls, cluster: Cluster) -> Vocabulary:
        """Return the vocabulary of a cluster: resources that it defines or that any host has."""
        base = cls.of_definitions(cluster.resources)
        numbers, strings, booleans = set(base.numbers), set(base.strings), set(base.booleans)
        amounts = set[str]().union(*distinct(host.amounts for host in cluster.hosts))
        numbers.update(amounts, *distinct(host.load for host in cluster.hosts))
        strings.update(*distinct(host.strings for host in cluster.hosts))
        booleans.update(*distinct(host.booleans for host in cluster.hosts))
        booleans.update(*distinct(host.exclusive for host in cluster.hosts))
        numbers.update(shared.name for shared in cluster.shared)
        numbers |= GPU_NAMES | _GPU_LOAD
        static = (shared.name for shared in cluster.shared if shared.static)
        return cls(
            numbers=frozenset(numbers - strings - booleans) - BUILTINS,
            strings=frozenset(strings) - BUILTINS,
            booleans=frozenset(booleans) - BUILTINS,
            increasing=base.increasing,
            dynamic=base.dynamic,
            inert=base.inert,
            static_shared=frozenset(static) - amounts,
            complete=True,
        )

    def kind(self, name: str) -> str | None:
        """Return ``numeric``, ``string`` or ``boolean``; None if the name is unknown."""
        if name in BUILTIN_NUMBERS or name in self.numbers:
            return "numeric"
        if name in BUILTIN_STRINGS or name in self.strings:
            return "string"
        if name in BUILTIN_BOOLEANS or name in self.booleans:
            return "boolean"
        return None

    def rises(self, name: str) -> bool:
        """Return whether the index grows with load, so that smaller values are better (REQ-10)."""
        return name in INCREASING_INDICES or name in self.increasing

    def names(self) -> frozenset[str]:
        """Return all names that may be written, including aliases."""
        return BUILTINS | self.numbers | self.strings | self.booleans | frozenset(ALIASES)


#: The vocabulary of the built-in resources alone; any other name may exist.
ANY = Vocabulary()


FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

#: Maximum of each amount of a host.
MAXIMA = {"maxmem": "mem", "maxswp": "swp", "maxtmp": "tmp"}


class TextColumn:
    """A string resource over all hosts: its distinct values, and the position of each host's value.

    code: those positions, -1 if a host lacks the resource.
    """

    __slots__ = ("code", "place", "values")

    def __init__(self, values: list[str | None]) -> None:
        self.values = sorted({value for value in values if value is not None})
        #: Position of each value.
        self.place = {value: index for index, value in enumerate(self.values)}
        self.code: IntArray = np.array(
            [-1 if value is None else self.place[value] for value in values], dtype=np.int64
        )


class HostTable:
    """Columns of resources over the hosts of a cluster, in configuration order, built on demand.

    values: columns that replace the cluster's, each of shape (hosts,): free ``slots``, available
    amounts, load indices. reported: if a host has both an amount and a report of it in its load,
    use the report. A number that a host lacks is NaN; a load index without a report counts as idle,
    0.
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
        #: Whether ncpus means slots (PARALLEL_SCHED_BY_SLOT, REQ-19).
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
        """Return the kind of a resource; raises ResreqError with the nearest name for an unknown
        one.
        """
        kind = self.vocabulary.kind(name)
        if kind is None:
            hint = nearest(name, self.vocabulary.names())
            raise ResreqError(f"unknown resource '{name}'{hint}", undefined=True)
        return kind

    def number(self, name: str) -> FloatArray:
        """Return a numeric or Boolean resource, NaN if a host lacks it; a Boolean is 1 or 0."""
        if name not in self._numbers:
            kind = self.kind(name)
            if kind == "string":
                raise ResreqError(f"{name} is a string: compare it, as in {name}=='value'")
            one = self._flag if kind == "boolean" else self._number
            self._numbers[name] = np.array(
                [one(name, host) for host in self.cluster.hosts], dtype=np.float64
            )
            self._add_shared(name)
        return self._numbers[name]

    def text(self, name: str) -> TextColumn:
        """Return a string resource over all hosts."""
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
        if name in MAXIMA:
            return host.amounts.get(name, host.amounts.get(MAXIMA[name], np.nan))
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
