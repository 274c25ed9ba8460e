"""Hosts, host groups, compute units and shared resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, TypeVar

from .facts import Fact

#: Load indices that grow with load: a reservation is added to them (RSV-01).
INCREASING_INDICES = frozenset({"r15s", "r1m", "r15m", "ut", "pg", "io", "ls"})
#: Built-in numeric amounts of a host that jobs consume, in MB.
BUILTIN_AMOUNTS = ("mem", "swp", "tmp")
#: States of a host, as bhosts and lsload write them (the closed_ ones in small letters too).
_CLOSED = ("Adm", "Busy", "Excl", "cu_Excl", "Full", "Lock", "Wind", "LIM", "RC", "EGO", "RMS")
HOST_STATUSES = (
    *("ok", "closed", "unavail", "unreach", "down", "unlicensed", "busy", "lockU", "lockW"),
    *(f"closed_{word}" for word in _CLOSED),
    *(f"closed_{word.lower()}" for word in _CLOSED),
)
#: Those that come from jobs alone and pass with them.
PASSING_STATUSES = frozenset({"ok", "closed_full", "closed_excl", "closed_cu_excl"})
#: Those of a host that nobody closed: it has to come back.
DEAD_STATUSES = frozenset(
    {
        "unavail",
        "unreach",
        "down",
        "unlicensed",
        "closed_LIM",
        "closed_lim",
        "closed_RC",
        "closed_rc",
    }
)
#: GPUs of one host.
MAX_GPUS = 9999
#: Amounts that count the GPUs of a host, the first of them that is there.
_GPU_AMOUNTS = ("ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus")
BUILTIN_INDICES = ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """loadSched and loadStop per index (RSV-11)."""

    sched: Mapping[str, float] = field(default_factory=dict)
    stop: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of a host, all alike."""

    count: int
    #: As ``bhosts -gpu`` prints it, "" where nobody knows.
    model: str = ""
    #: MB of each, None likewise.
    mem: float | None = None

    @property
    def _plausible(self) -> bool:
        """Whether the fields can be what they stand for; what else is wrong with them is said."""
        sized = self.mem is None or isinstance(self.mem, (int, float))
        return type(self.count) is int and 0 <= self.count <= MAX_GPUS and sized

    def amounts(self) -> dict[str, float]:
        """What jobs and selections see of them: ngpus_physical is what jobs consume."""
        if not self._plausible:
            return {}
        return {"ngpus": float(self.count), "ngpus_physical": float(self.count)}

    def load(self) -> dict[str, float]:
        """The memory of each as a load index: gpu_mtotal0, gpu_mtotal1, …"""
        found = range(self.count if self.mem is not None and self._plausible else 0)
        return dict.fromkeys(map(_memory_index, found), self.mem or 0.0)


@cache
def _memory_index(number: int) -> str:
    """The load index of the memory of the GPU of that number."""
    return f"gpu_mtotal{number}"


@dataclass(frozen=True, slots=True)
class Host:
    """One host."""

    name: str
    #: Job slots (MXJ).
    slots: int
    #: Processors, slots where not given.
    ncpus: Annotated[int | None, Fact("count_from_1")] = None
    type: Annotated[str, Fact("name")] = "any"
    model: Annotated[str, Fact("name")] = "any"
    cpu_factor: Annotated[float, Fact("positive")] = 1.0
    #: Numeric resources that jobs consume here when nothing runs: mem, swp, tmp in MB, and user-
    #: defined host-based ones in their own unit. An absent resource is not on the host.
    amounts: Mapping[str, float] = field(default_factory=dict)
    #: Static string resources (os_version, …).
    strings: Mapping[str, str] = field(default_factory=dict)
    #: Boolean resources.
    booleans: frozenset[str] = frozenset()
    #: Booleans written ``!name``: the host takes only jobs that name one (REQ-05).
    exclusive: frozenset[str] = frozenset()
    #: Load indices as reported (r15s, ut, …); user-defined dynamic ones too.
    load: Mapping[str, float] = field(default_factory=dict)
    #: JL/U.
    user_slots: Annotated[int | None, Fact("count", "JL/U")] = None
    #: DISPATCH_WINDOW text, "" for always.
    windows: Annotated[str, Fact("windows", "DISPATCH_WINDOW")] = ""
    thresholds: Annotated[Thresholds, Fact("thresholds")] = Thresholds()
    status: Annotated[str, Fact("host_status")] = "ok"
    #: False where nothing says how many slots it has: they are its processors.
    mxj_defined: Annotated[bool, Fact("boolean")] = True
    #: The machine that jobs see where this is one of its nodes, "" for a host of its own.
    node_of: Annotated[str, Fact("machine")] = ""
    #: Its GPUs, None for none; what they add to amounts and load is there without being given.
    gpus: Gpus | None = None
    #: Cores that jobs may be bound to (affinity[]), None where nobody said.
    cores: Annotated[int | None, Fact("count_from_1")] = None
    #: Likewise for hardware threads.
    threads: Annotated[int | None, Fact("count_from_1")] = None
    #: Likewise for sockets.
    sockets: Annotated[int | None, Fact("count_from_1")] = None
    #: Likewise for NUMA nodes.
    numa_nodes: Annotated[int | None, Fact("count_from_1")] = None

    def units(self, kind: str) -> int | None:
        """Its processor units of a kind, as affinity[] has it, None if that is not known."""
        counts = {"core": self.cores, "thread": self.threads, "socket": self.sockets}
        return counts.get(kind, self.numa_nodes)

    def __post_init__(self) -> None:
        if isinstance(self.gpus, Gpus):
            object.__setattr__(self, "amounts", {**self.amounts, **self.gpus.amounts()})
            object.__setattr__(self, "load", {**self.load, **self.gpus.load()})

    def alike(self, names: Iterable[str]) -> Iterator[Host]:
        """Hosts that differ from this one by name only: all else they share."""
        kept = [(field.name, getattr(self, field.name)) for field in fields(self)][1:]
        for name in names:
            host = object.__new__(Host)
            object.__setattr__(host, "name", name)
            for key, value in kept:
                object.__setattr__(host, key, value)
            yield host

    @property
    def gpu_count(self) -> float | None:
        """How many GPUs it has, None for a host without: as `gpus` or its amounts say."""
        return next((self.amounts[name] for name in _GPU_AMOUNTS if name in self.amounts), None)

    @property
    def takes_jobs(self) -> bool:
        """Whether its status lets jobs start, now or as soon as others have ended."""
        return self.status.lower() in PASSING_STATUSES

    @property
    def processors(self) -> int:
        """ncpus, or the slots where it is not given."""
        return self.slots if self.ncpus is None else self.ncpus


@dataclass(frozen=True, slots=True)
class HostGroup:
    """A named list of hosts, in configuration order."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputeUnit:
    """A named part of the network: hosts (finest type) or units of the next finer type (PLC-05)."""

    name: str
    type: str
    hosts: tuple[str, ...]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A user-defined resource of lsf.shared."""

    name: Annotated[str, Fact("new_name")]
    kind: Annotated[str, Fact("resource_kind")] = "numeric"
    increasing: Annotated[bool, Fact("boolean")] = False
    dynamic: Annotated[bool, Fact("boolean")] = False
    consumable: Annotated[bool, Fact("boolean")] = True
    release: Annotated[bool, Fact("boolean")] = True


@dataclass(frozen=True, slots=True)
class SharedResource:
    """A floating resource: `amount` shared by `hosts` (all hosts where None) (RSV-10)."""

    name: str
    amount: float
    hosts: frozenset[str] | None = None
    static: bool = True


@dataclass(frozen=True, slots=True)
class Cluster:
    """The machines of one instance."""

    hosts: tuple[Host, ...]
    groups: tuple[HostGroup, ...] = ()
    #: Compute-unit types, finest first.
    unit_types: tuple[str, ...] = ()
    #: The one marked ``!``, else the finest.
    default_unit_type: str | None = None
    #: In configuration order; each lists all its hosts, coarser ones too.
    units: tuple[ComputeUnit, ...] = ()
    resources: tuple[ResourceDefinition, ...] = ()
    shared: tuple[SharedResource, ...] = ()

    def host_index(self) -> dict[str, int]:
        """Host name to position in `hosts`."""
        return {host.name: index for index, host in enumerate(self.hosts)}

    def units_of(self, unit_type: str | None = None) -> tuple[ComputeUnit, ...]:
        """Units of one type (the default type where None), in configuration order."""
        wanted = unit_type or self.default_unit_type
        return tuple(unit for unit in self.units if unit.type == wanted)

    def has_units_of(self, unit_type: str | None = None) -> bool:
        """Whether there is a unit of one type (the default type where None)."""
        wanted = unit_type or self.default_unit_type
        return any(unit.type == wanted for unit in self.units)

    def machines(self) -> frozenset[str]:
        """What jobs may be submitted from: hosts, and machines that hosts are nodes of."""
        return frozenset(name for host in self.hosts for name in (host.name, host.node_of) if name)

    def expand(self, name: str) -> tuple[str, ...] | None:
        """Hosts that a host, host group or compute-unit name stands for; None if unknown."""
        return NamedHosts(self).expand(name)


#: Hosts of lists that are kept to be looked up again.
_KEPT = 4_000_000


class NamedHosts:
    """What names stand for in a cluster, for those who look up many."""

    def __init__(self, cluster: Cluster) -> None:
        self.all = tuple(host.name for host in cluster.hosts)
        self._hosts = frozenset(self.all)
        #: Of equal names the first is meant, a group before a unit.
        self._sets = {unit.name: unit.hosts for unit in reversed(cluster.units)}
        self._sets |= {group.name: group.members for group in reversed(cluster.groups)}
        self._sets["all"] = self.all
        self._listed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._kept = 0
        self._members: dict[str, frozenset[str]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._sets or name in self._hosts

    def __iter__(self) -> Iterator[str]:
        yield from self.all
        yield from self._sets

    def expand(self, name: str) -> tuple[str, ...] | None:
        """Hosts that a host, host group or compute-unit name stands for; None if unknown."""
        found = self._sets.get(name)
        return (name,) if found is None and name in self._hosts else found

    def listed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Hosts of a list of hosts, groups, ``all``, ``others`` and ``~`` exceptions.

        In the cluster's order; equal lists are looked up once, as far as they do not fill memory.
        """
        key = tuple(names)
        found = self._listed.get(key)
        if found is None:
            found = self._of(key)
            self._kept += len(found)
            if self._kept <= _KEPT:
                self._listed[key] = found
        return found

    def meet(self, names: Iterable[str], hosts: Iterable[str]) -> bool:
        """Whether one of the hosts is of such a list, without a look at all that the list names."""
        words = tuple(names)
        excluded = self._unions([name[1:] for name in words if name[0] == "~"])
        wanted = [name for name in words if name[0] != "~"]
        if not wanted or not {"all", "others"}.isdisjoint(wanted):
            return any(not any(host in part for part in excluded) for host in hosts)
        parts = self._unions(wanted)
        return any(
            any(host in part for part in parts) and not any(host in part for part in excluded)
            for host in hosts
        )

    def _unions(self, names: Sequence[str]) -> list[frozenset[str]]:
        """Sets of hosts which together are those of the names."""
        single = frozenset(name for name in names if name not in self._sets)
        for name in names:
            if name in self._sets and name not in self._members:
                self._members[name] = frozenset(self._sets[name])
        return [single, *(self._members[name] for name in names if name in self._sets)]

    def _of(self, names: tuple[str, ...]) -> tuple[str, ...]:
        taken = {host for name in names if name[0] != "~" for host in self.expand(name) or ()}
        if "others" in names or "all" in names or all(name[0] == "~" for name in names):
            taken = set(self._hosts)
        for name in names:
            if name[0] == "~":
                taken.difference_update(self.expand(name[1:]) or ())
        return (
            self.all if len(taken) == len(self.all) else tuple(filter(taken.__contains__, self.all))
        )


Value = TypeVar("Value")


def distinct(values: Iterable[Value]) -> list[Value]:
    """Each object once; hosts of one entry share theirs."""
    return list({id(value): value for value in values}.values())
