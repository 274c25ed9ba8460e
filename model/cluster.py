"""Hosts, host groups, compute units and shared resources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
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
#: Statuses that only jobs cause, and that pass when the jobs finish.
PASSING_STATUSES = frozenset({"ok", "closed_full", "closed_excl", "closed_cu_excl"})
#: Statuses of a host that is down or unreachable, though no administrator closed it.
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
#: Largest number of GPUs of one host.
MAX_GPUS = 9999
#: Names of the amounts that count the GPUs of a host; the first that a host has is used.
_GPU_AMOUNTS = ("ngpus_physical", "ngpus_excl_p", "ngpus_excl_t", "ngpus_shared", "ngpus")
#: Fields of a host that count the processor units of each kind of affinity[].
_UNIT_COUNTS = {"core": "cores", "thread": "threads", "socket": "sockets"}
BUILTIN_INDICES = ("r15s", "r1m", "r15m", "ut", "pg", "io", "ls", "it", "tmp", "swp", "mem")


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Load thresholds, loadSched and loadStop, by load index."""

    #: loadSched by load index: beyond it the host starts no job.
    sched: Mapping[str, float] = field(default_factory=dict)
    #: loadStop by load index: beyond it jobs of the host are suspended.
    stop: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one host, all of one model."""

    #: Number of GPUs.
    count: int
    #: Model as ``bhosts -gpu`` prints it, "" if unknown.
    model: str = ""
    #: Memory of each GPU in MB, None if unknown.
    mem: float | None = None

    @property
    def _plausible(self) -> bool:
        """Return whether the values are possible, so that amounts can be derived from them."""
        sized = self.mem is None or isinstance(self.mem, (int, float))
        return type(self.count) is int and 0 <= self.count <= MAX_GPUS and sized

    def amounts(self) -> dict[str, float]:
        """Return the amounts of the host that the GPUs add; jobs consume ngpus_physical."""
        if not self._plausible:
            return {}
        return {"ngpus": float(self.count), "ngpus_physical": float(self.count)}

    def load(self) -> dict[str, float]:
        """Return the memory of each GPU (MB) as a load index: gpu_mtotal0, gpu_mtotal1, …"""
        found = range(self.count if self.mem is not None and self._plausible else 0)
        return dict.fromkeys(map(_memory_index, found), self.mem or 0.0)


@cache
def _memory_index(number: int) -> str:
    """Return the load index for the memory of the GPU of that number."""
    return f"gpu_mtotal{number}"


@dataclass(frozen=True, slots=True)
class Host:
    """A host with its slots, resources, load and status."""

    #: Name of the host, unique in the cluster.
    name: str
    #: Number of job slots (MXJ).
    slots: int
    #: Number of processors; None: as many as slots.
    ncpus: Annotated[int | None, Fact("count_from_1")] = None
    #: Host type (HOST_TYPE).
    type: Annotated[str, Fact("name")] = "any"
    #: Host model (HOST_MODEL).
    model: Annotated[str, Fact("name")] = "any"
    #: Speed factor of the processors (CPU_FACTOR); run times are divided by it.
    cpu_factor: Annotated[float, Fact("positive")] = 1.0
    #: Numeric resources that jobs consume here when it is empty: mem, swp, tmp in MB, and user-
    #: defined host-based ones in their own unit. An absent resource is not on the host.
    amounts: Mapping[str, float] = field(default_factory=dict)
    #: Static string resources (os_version, …), value by name.
    strings: Mapping[str, str] = field(default_factory=dict)
    #: Names of the Boolean resources that the host has.
    booleans: frozenset[str] = frozenset()
    #: Boolean resources written ``!name``: the host takes only jobs that request one (REQ-05).
    exclusive: frozenset[str] = frozenset()
    #: Load indices as reported (r15s, ut, …), by name; user-defined dynamic indices too.
    load: Mapping[str, float] = field(default_factory=dict)
    #: Maximum number of slots of one user (JL/U); None: no limit.
    user_slots: Annotated[int | None, Fact("count", "JL/U")] = None
    #: Dispatch windows as text (DISPATCH_WINDOW), "" if always open.
    windows: Annotated[str, Fact("windows", "DISPATCH_WINDOW")] = ""
    #: Load thresholds of the host.
    thresholds: Annotated[Thresholds, Fact("thresholds")] = Thresholds()
    #: Status as bhosts writes it, such as ok, closed_Adm or unavail.
    status: Annotated[str, Fact("host_status")] = "ok"
    #: False if no source gives the number of slots; then it is the number of processors.
    mxj_defined: Annotated[bool, Fact("boolean")] = True
    #: Name of the machine that jobs see if this host is one of its nodes, else "".
    node_of: Annotated[str, Fact("machine")] = ""
    #: GPUs of the host, None if it has none. Amounts and load indices of GPUs are derived from it.
    gpus: Gpus | None = None
    #: Number of cores that jobs may be bound to (affinity[]), None if unknown.
    cores: Annotated[int | None, Fact("count_from_1")] = None
    #: Number of hardware threads that jobs may be bound to, None if unknown.
    threads: Annotated[int | None, Fact("count_from_1")] = None
    #: Number of sockets that jobs may be bound to, None if unknown.
    sockets: Annotated[int | None, Fact("count_from_1")] = None
    #: Number of NUMA nodes that jobs may be bound to, None if unknown.
    numa_nodes: Annotated[int | None, Fact("count_from_1")] = None

    def units(self, kind: str) -> int | None:
        """Return the number of processor units of one kind of affinity[], None if unknown."""
        (count,) = units_of_hosts((self,), kind)
        return count

    def __post_init__(self) -> None:
        if not isinstance(self.gpus, Gpus):
            return
        for name, more in (("amounts", self.gpus.amounts()), ("load", self.gpus.load())):
            own = getattr(self, name)
            if isinstance(own, Mapping):  # the check of objects says so where it is none
                object.__setattr__(self, name, {**own, **more})

    def alike(self, names: Iterable[str]) -> Iterator[Host]:
        """Yield a copy of this host for each name; the copies share all other values."""
        kept = [(field.name, getattr(self, field.name)) for field in fields(self)][1:]
        for name in names:
            host = object.__new__(Host)
            object.__setattr__(host, "name", name)
            for key, value in kept:
                object.__setattr__(host, key, value)
            yield host

    @property
    def gpu_count(self) -> float | None:
        """Return the number of GPUs, None if there are none: from `gpus`, else from the amounts."""
        return next((self.amounts[name] for name in _GPU_AMOUNTS if name in self.amounts), None)

    @property
    def takes_jobs(self) -> bool:
        """Return whether the status lets jobs start, now or when running jobs have finished."""
        return self.status.lower() in PASSING_STATUSES

    @property
    def processors(self) -> int:
        """Return ncpus, or the number of slots if it is not given."""
        return self.slots if self.ncpus is None else self.ncpus


def units_of_hosts(hosts: Iterable[Host], kind: str) -> list[int | None]:
    """Return the number of processor units of one kind on each host, None if unknown."""
    return [*map(attrgetter(_UNIT_COUNTS.get(kind, "numa_nodes")), hosts)]


@dataclass(frozen=True, slots=True)
class HostGroup:
    """A named list of hosts, in configuration order."""

    #: Name of the group.
    name: str
    #: Names of its hosts.
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputeUnit:
    """A named part of the network: hosts (finest type) or units of the next finer type."""

    #: Name of the unit.
    name: str
    #: Name of a compute-unit type of the cluster.
    type: str
    #: Names of all hosts in the unit, in configuration order.
    hosts: tuple[str, ...]
    #: Name of the unit of the next coarser type, None if it has the coarsest.
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A user-defined resource of lsf.shared."""

    #: Name of the resource.
    name: Annotated[str, Fact("new_name")]
    #: Kind of value: numeric, string or boolean.
    kind: Annotated[str, Fact("resource_kind")] = "numeric"
    #: Whether a larger value means more load (INCREASING).
    increasing: Annotated[bool, Fact("boolean")] = False
    #: Whether the value is collected at an interval (INTERVAL).
    dynamic: Annotated[bool, Fact("boolean")] = False
    #: Whether jobs may reserve it (CONSUMABLE).
    consumable: Annotated[bool, Fact("boolean")] = True
    #: Whether a suspended job releases it (RELEASE).
    release: Annotated[bool, Fact("boolean")] = True


@dataclass(frozen=True, slots=True)
class SharedResource:
    """A resource of which `hosts` share `amount` in all; hosts None: all hosts."""

    #: Name of the resource.
    name: str
    #: Total amount, in the unit of the resource.
    amount: float
    #: Names of the hosts that share the amount, None if all hosts do.
    hosts: frozenset[str] | None = None
    #: Whether only jobs change it, not an interval of collection.
    static: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Cluster:
    """The machines of one instance: hosts, groups, compute units and resources."""

    #: All hosts, in configuration order.
    hosts: tuple[Host, ...]
    #: Host groups, in configuration order.
    groups: tuple[HostGroup, ...] = ()
    #: Names of the compute-unit types, finest first.
    unit_types: tuple[str, ...] = ()
    #: The unit type marked ``!`` in the configuration, else the finest type; None without types.
    default_unit_type: str | None = None
    #: Compute units in configuration order; each lists all its hosts, coarser units too.
    units: tuple[ComputeUnit, ...] = ()
    #: User-defined resources of lsf.shared.
    resources: tuple[ResourceDefinition, ...] = ()
    #: Resources shared by several hosts.
    shared: tuple[SharedResource, ...] = ()

    def __repr__(self) -> str:
        return f"<Cluster {len(self.hosts)} hosts, {sum(host.slots for host in self.hosts)} slots>"

    def host_index(self) -> dict[str, int]:
        """Return the position of each host in `hosts`, by host name."""
        return {host.name: index for index, host in enumerate(self.hosts)}

    def units_of(self, unit_type: str | None = None) -> tuple[ComputeUnit, ...]:
        """Return the units of one type in configuration order; None: the default type."""
        wanted = unit_type or self.default_unit_type
        return tuple(unit for unit in self.units if unit.type == wanted)

    def has_units_of(self, unit_type: str | None = None) -> bool:
        """Return whether units of a type exist (of the default type if None)."""
        wanted = unit_type or self.default_unit_type
        return any(unit.type == wanted for unit in self.units)

    def machines(self) -> frozenset[str]:
        """Return the names from which jobs may be submitted: hosts, and machines made of hosts."""
        return frozenset(name for host in self.hosts for name in (host.name, host.node_of) if name)

    def expand(self, name: str) -> tuple[str, ...] | None:
        """Return the hosts of a host, host group or compute unit by its name; None if unknown."""
        return NamedHosts(self).expand(name)


#: Maximum number of hosts in cached lists.
_KEPT = 4_000_000


class NamedHosts:
    """A cluster's names with the hosts of each, indexed for many look-ups."""

    def __init__(self, cluster: Cluster) -> None:
        self.all = tuple(host.name for host in cluster.hosts)
        self._hosts = frozenset(self.all)
        #: If names are equal, the first counts, and a group counts before a unit.
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
        """Return the hosts of a host, host group or compute unit by its name; None if unknown."""
        found = self._sets.get(name)
        return (name,) if found is None and name in self._hosts else found

    def listed(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the hosts of a list of hosts, groups, ``all``, ``others`` and ``~`` exceptions.

        They are in the cluster's order. Lists are cached up to a total size.
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
        """Return whether a list of names includes one of the hosts, without expanding it all."""
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
        """Return sets of hosts whose union is the hosts of the names."""
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
    """Return each object once, by identity: hosts of one entry of a file share their values."""
    listed = list(values)
    return list(dict(zip(map(id, listed), listed, strict=True)).values())
