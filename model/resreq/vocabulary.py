"""The names a requirement may use: built-in resources, aliases, and what a cluster defines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..cluster import BUILTIN_INDICES, INCREASING_INDICES, Cluster, ResourceDefinition
from ..gpu_request import GPU_NAMES

#: Other spellings of built-in indices (REQ-03).
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
#: What LSF itself reports of the GPUs of a host, beside what they are counted by.
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
    """The resource an alias stands for, or the name itself."""
    return ALIASES.get(name, name)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """User-defined resources by kind, hashable so that parses can be cached by it.

    complete: every name is known, so that any other one is an error; without it (only some
    definitions at hand) unknown names pass and are judged when the requirement meets its hosts.
    dynamic: numbers that are collected at an interval. inert: numbers that jobs do not consume.
    static_shared: shared numbers that know no duration and no decay (RSV-10).
    """

    numbers: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    booleans: frozenset[str] = frozenset()
    increasing: frozenset[str] = frozenset()
    dynamic: frozenset[str] = frozenset()
    inert: frozenset[str] = frozenset()
    static_shared: frozenset[str] = frozenset()
    complete: bool = False

    @classmethod
    def of_definitions(cls, definitions: Iterable[ResourceDefinition]) -> Vocabulary:
        """What lsf.shared says; not complete, because hosts may carry resources of their own."""
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
        """Every resource that the cluster defines or that any of its hosts carries."""
        base = cls.of_definitions(cluster.resources)
        numbers, strings, booleans = set(base.numbers), set(base.strings), set(base.booleans)
        for host in cluster.hosts:
            numbers.update(host.amounts, host.load)
            strings.update(host.strings)
            booleans.update(host.booleans, host.exclusive)
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
            static_shared=frozenset(static) - {n for host in cluster.hosts for n in host.amounts},
            complete=True,
        )

    def kind(self, name: str) -> str | None:
        """``numeric``, ``string`` or ``boolean``; None for a name that is not known."""
        if name in BUILTIN_NUMBERS or name in self.numbers:
            return "numeric"
        if name in BUILTIN_STRINGS or name in self.strings:
            return "string"
        if name in BUILTIN_BOOLEANS or name in self.booleans:
            return "boolean"
        return None

    def rises(self, name: str) -> bool:
        """Whether the index grows with load, so that less of it is better (REQ-10)."""
        return name in INCREASING_INDICES or name in self.increasing

    def names(self) -> frozenset[str]:
        """All names that may be written, aliases included."""
        return BUILTINS | self.numbers | self.strings | self.booleans | frozenset(ALIASES)


#: Nothing is known beyond the built-in resources, and every name may exist.
ANY = Vocabulary()
