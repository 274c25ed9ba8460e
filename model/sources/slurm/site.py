"""What a Slurm cluster is, as hosts, queues and shared resources.

Switches (topology.yaml, topology.conf, ``scontrol show topology``) are compute units. All
nodes of a job have the same feature of a constraint such as ``[a|b]``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from ... import slurm_values as values
from ...cluster import Cluster, ComputeUnit, Gpus, Host, ResourceDefinition, SharedResource
from ...configuration import Params, Queue
from ...display import some
from ...formats.source_text import parse
from ...gpu_request import GPU_NAMES
from ...instance import Instance
from ...job import DEFAULT_LARGEST, HostRequest
from ...resreq.scanner import SECTIONS
from ...resreq.vocabulary import ANY
from ...slurm_select import words_of
from ...slurm_setting_keys import loop_number
from ...slurm_version import PARTS_OF_TASKS, version_number
from ...slurm_words import FEATURE_PREFIX, feature_of
from ..lsf_state.values import Remarks, Text
from .priorities import enforces_limits, priority_text
from .seen import SlurmNode, SlurmPartition, SlurmState
from .several_partitions import PartitionGroups

#: Type of the units that are leaf switches.
LEAF = "leaf"
SWITCHES = re.compile(r"^\s*SwitchName=", re.MULTILINE | re.IGNORECASE)
#: topology.yaml, in whose place Slurm does not read topology.conf.
OF_YAML = re.compile(r"^\s*-\s*[\"']?topology[\"']?\s*:", re.MULTILINE)
NETWORKS = re.compile(
    rf"{SWITCHES.pattern}|^\s*BlockName=|{OF_YAML.pattern}", re.MULTILINE | re.IGNORECASE
)
_FACT = re.compile(r"(\w+)=(\S*)")
#: Kinds of networks in topology.yaml; those but the first two restrict the nodes of a job.
_KINDS = ("flat", "tree", "block", "ring", "torus3d")


def read_networks(text: Text, seen: SlurmState) -> None:
    """Read kinds of networks by name, and the switches of that of the cluster.

    Raises ValueError with what is wrong.
    """
    if not OF_YAML.search(text.content):
        seen.networks[""] = "tree" if SWITCHES.search(text.content) else "block"
        for number, line in enumerate(text.content.splitlines(), start=1):
            facts = {name.lower(): value for name, value in _FACT.findall(line.partition("#")[0])}
            try:
                _add_switch(seen, *map(facts.get, ("switchname", "nodes", "switches")))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
        return
    listed = parse(text.content, text.source, json_text=False)
    if not all(isinstance(item, Mapping) and item.get("topology") for item in listed):
        raise ValueError("each item of topology.yaml must be a mapping with the key topology")
    default = next((item for item in listed if item.get("cluster_default") is True), listed[0])
    for item in listed:
        kind = next((kind for kind in _KINDS if item.get(kind)), "unknown")
        seen.networks[str(item["topology"])] = kind
    seen.network = str(default["topology"])
    tree = default.get("tree")
    for item in tree.get("switches") or () if isinstance(tree, Mapping) else ():
        _add_switch(seen, item["switch"], item.get("nodes"), item.get("children"))


def _add_switch(seen: SlurmState, names: Any, nodes: Any, below: Any) -> None:
    """Add leaf switches: those with switches below have no say in ``--switches``."""
    switches, inside, others = map(values.host_list, (names, nodes, below))
    if not others:
        seen.leaves |= dict.fromkeys(switches, inside)


def units_of(seen: SlurmState) -> Iterator[ComputeUnit]:
    """Yield the leaf switches with known nodes, each node in the first one."""
    names = {node.name for node in seen.nodes}
    left = set(names)
    for name, listed in seen.leaves.items():
        if inside := tuple(host for host in dict.fromkeys(listed) if host in left):
            yield ComputeUnit(f"switch_{name}" if name in names else name, LEAF, inside)
            left.difference_update(inside)


#: Alternatives in brackets, and features that every node must have before and behind them.
_FORM = re.compile(
    r"(?:([^\[\]|*]+)[&,])?\[([^\[\]*&,|]+(?:\|[^\[\]*&,|]+)+)\](?:[&,]([^\[\]|*]+))?"
)
#: Beginning of the name of a resource.
_PREFIX = "any_"
#: Between the features in the name of a resource.
_OR = "_or_"


@dataclass(frozen=True, slots=True)
class MatchingOr:
    """Alternatives of which all nodes of a job must have one."""

    #: Features of every node, joined by ``&``; "" if there are none.
    every: str
    #: The features of which all nodes have one, without those whose nodes all have another, too.
    features: tuple[str, ...]

    @property
    def constraint(self) -> str:
        """Return the constraint on a single node, as of -C."""
        any_of = "|".join(self.features)
        parts = [self.every, f"({any_of})" if self.every and len(self.features) > 1 else any_of]
        return "&".join(filter(None, parts))

    @property
    def resource(self) -> str:
        """Return the string resource with the feature of each node; "" if there is only one."""
        if len(self.features) < 2:
            return ""
        return _PREFIX + _OR.join(map(_word, self.features))

    def value(self, features: Iterable[str]) -> str:
        """Return the value of the resource on a node with these features, "" if it has none."""
        return next((name for name in features if name in self.features), "")


def _word(feature: str) -> str:
    """Return a feature as a part of a name, another one for each feature."""
    return re.sub(
        r"[\W_]",
        lambda found: "__" if found[0] == "_" else f"_{ord(found[0]):x}_",
        feature,
        flags=re.ASCII,
    )


def matching_or(text: str, nodes: Mapping[str, Sequence[str]]) -> MatchingOr | None:
    """Return the alternatives of a constraint, None if it is of another form.

    None also if two features have some nodes in common, but neither has all nodes of the other.
    nodes: features by node.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in found[2].split("|")))
    members = {
        name: frozenset(node for node, features in nodes.items() if name in features)
        for name in names
    }
    kept: list[str] = []
    for name in sorted(names, key=lambda name: -len(members[name])):
        if members[name] and not any(members[name] <= members[other] for other in kept):
            kept.append(name)
    apart = not any(members[one] & members[other] for one, other in combinations(kept, 2))
    if not kept or not apart:
        return None
    every = "&".join(part.replace(",", "&") for part in (found[1], found[3]) if part)
    return MatchingOr(every, tuple(name for name in names if name in kept))


def matching_ors(
    constraints: Iterable[str], nodes: Mapping[str, Sequence[str]]
) -> dict[str, MatchingOr]:
    """Return the alternatives that need a resource, by its name."""
    made: dict[str, MatchingOr] = {}
    for text in constraints:
        found = matching_or(text, nodes)
        if found is not None and found.resource:
            made[found.resource] = found
    return made


def is_matching(resource: str) -> bool:
    """Return whether a resource is that of such alternatives."""
    return resource.startswith(_PREFIX) and _OR in resource


#: A name in an expression of --constraint.
FEATURE = re.compile(r"[^\s&|()\[\]*,]+")
#: States of a node that is down, of one that an administrator has closed, of one that takes jobs.
_DOWN = frozenset(
    {"down", "error", "unknown", "future", "fail", "invalid_reg", "not_responding", "no_respond",
     "powering_down", "power_down", "perfctrs", "inval"}
)  # fmt: skip
_CLOSED = frozenset(
    {"drain", "drained", "draining", "maint", "maintenance", "reboot_requested", "reboot_issued"}
)
_OPEN = frozenset(
    {"idle", "mixed", "allocated", "alloc", "completing", "planned", "reserved", "cloud", "resume",
     "undrain", "net", "powered_down", "powering_up", "power_up", "reboot_canceled",
     "dynamic_norm", "dynamic_future"}
)  # fmt: skip
#: Network topologies that decide nothing.
_FLAT = ("", "(null)", "default", "none", "flat")
#: The load index that carries Slurm's Weight, by which lighter nodes come first.
WEIGHT = "weight"
#: Dispatch cycles for which a job keeps its reservation: Slurm plans all of them in every cycle.
FOR_EVER = 1_000_000
#: The highest priority of a job in the model.
MAX_PRIORITY = 2**31 - 1
#: Names that no feature can have as a boolean resource: other resources and words of requirements.
_RESERVED = ANY.names() | GPU_NAMES | {*SECTIONS, "defined", WEIGHT}
#: A feature that is a name of a resource, and of none that is made of another name of Slurm.
_UNCHANGED = re.compile(rf"(?!{FEATURE_PREFIX}|lic_|gres_|of_|{_PREFIX}|\d)\w+", re.ASCII)
#: Options among SelectTypeParameters that do not name what is allocated.
_OPTIONS = frozenset({"cr_one_task_per_core", "cr_core_default_dist_block"})
#: Settings of memory, of a partition and of the cluster, by their fields.
_MEMORY = {
    "DefMemPerNode": "memory_per_node",
    "DefMemPerCPU": "memory_per_cpu",
    "MaxMemPerNode": "max_memory_per_node",
    "MaxMemPerCPU": "max_memory_per_cpu",
}
#: Generic resources that are parts of GPUs.
PARTS_OF_GPUS = ("mps", "shard")


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """Settings of a Slurm cluster that decide how requests of jobs are interpreted."""

    #: CPUs that are allocated together: of a core under CR_Core, of a socket under CR_Socket.
    unit: int
    #: Hardware threads of each core.
    threads: int
    #: Whether jobs consume memory.
    has_memory: bool
    #: Whether every job has whole nodes (select/linear).
    whole_nodes: bool
    #: Whether no core runs two tasks of a job that does not ask for it (CR_ONE_TASK_PER_CORE).
    one_task_per_core: bool
    #: Nodes by name, partitions by name; features as the names of boolean resources.
    nodes: Mapping[str, SlurmNode]
    #: Partitions by name.
    partitions: Mapping[str, SlurmPartition]
    #: Names of the features of all nodes.
    features: frozenset[str]
    #: DefMemPerNode, DefMemPerCPU, MaxMemPerNode and MaxMemPerCPU of the cluster (MB).
    memory_per_node: float | None = None
    memory_per_cpu: float | None = None
    max_memory_per_node: float | None = None
    max_memory_per_cpu: float | None = None
    #: Type of the compute units that are leaf switches, "" if there are none.
    leaf: str = ""
    #: Version of Slurm if it counts CPUs of a node that are no whole task, else "".
    splits_tasks: str = ""
    #: String resources of constraints such as ``[a|b]``, whose value on a node is its feature.
    matching: frozenset[str] = frozenset()
    #: Kind of the network topology, "" if none.
    network: str = ""
    #: Number of shards and the like of a GPU, if it is one number on all nodes, by kind.
    parts_of_gpu: Mapping[str, int] = field(default_factory=dict)

    @property
    def features_by_node(self) -> dict[str, tuple[str, ...]]:
        """Return the features of each node."""
        return {name: node.features for name, node in self.nodes.items()}

    def networks(self, partitions: Iterable[str]) -> Iterator[str]:
        """Yield the topologies of partitions that restrict which nodes a job may have together."""
        for name in dict.fromkeys(partitions):
            item = self.partitions.get(name)
            kind = (item.network if item else "") or self.network
            if kind not in (*_FLAT, "tree"):
                yield kind

    def rounded(self, cpus: int) -> int:
        """Return the CPUs of one node that are allocated for a requested number."""
        return math.ceil(cpus / self.unit) * self.unit


def facts_of(seen: SlurmState, notes: Remarks) -> SlurmSite:
    """Return how the cluster allocates, from ``scontrol show config``."""
    settings = seen.settings
    select = settings.get("selecttype", "")
    kinds = {word.lower() for word in settings.get("selecttypeparameters", "").split(",") if word}
    if not seen.settings:
        notes.touch(
            "no input gives SelectType and SelectTypeParameters: treated as select/cons_tres with "
            "CR_Core_Memory (give scontrol show config)"
        )
        select, kinds = "select/cons_tres", {"cr_core_memory"}
    scheduler = settings.get("schedulertype", "")
    if not values.blank(scheduler) and not scheduler.endswith("/backfill"):
        notes.touch(f"SchedulerType={scheduler}: treated as sched/backfill")
    words = {part for word in kinds - _OPTIONS for part in word.split("_")}
    _name_unread(seen, words, notes)
    shapes = Counter((node.cores_per_socket, node.threads) for node in seen.nodes)
    cores, threads = shapes.most_common(1)[0][0] if shapes else (1, 1)
    unit = 1
    if "core" in words:
        unit = threads
    elif "socket" in words:
        unit = cores * threads
    if len(shapes) > 1 and unit > 1:
        unequal = [
            n.name for n in seen.nodes if (n.cores_per_socket, n.threads) != (cores, threads)
        ]
        notes.touch(
            f"nodes differ in cores or threads: CPUs of {some(unequal)} are allocated per {unit}",
            hosts=unequal,
        )
    return SlurmSite(
        unit=unit,
        threads=threads,
        has_memory="memory" in words,
        whole_nodes=select.endswith("/linear"),
        one_task_per_core="cr_one_task_per_core" in kinds,
        nodes={node.name: node for node in seen.nodes},
        partitions={
            item.name: replace(item, network=_own_network(item, seen)) for item in seen.partitions
        },
        features=frozenset(feature_name(name) for node in seen.nodes for name in node.features),
        **_memory_of({name: settings.get(name.lower()) for name in _MEMORY}),
        leaf=LEAF if seen.leaves else "",
        splits_tasks=_splitting(seen.version),
        matching=frozenset(_matching(seen)),
        network=_network(seen, settings.get("topologyplugin", "")),
        parts_of_gpu=_parts_of_gpu(seen.nodes),
    )


def _name_unread(seen: SlurmState, kinds: set[str], notes: Remarks) -> None:
    """Note the nodes with facts that no input gives. kinds: words of SelectTypeParameters."""
    sizes = [job.size for job in seen.jobs]
    held = [held for n in sizes for held in (n.gres_per_node, n.gres_per_job, n.gres_per_task)]
    gres = {"gpu", *(gres_resource(name) for names in held for name in names)}
    features = {name for job in seen.jobs for name in constraint_names(job.features)}
    per_core, per_socket = bool(kinds & {"core", "socket"}), "socket" in kinds
    for what, text, is_used, resources in (
        ("cpus", "CPUs of {}: those in use are assumed", True, ()),
        ("memory", "memory of {}: none is assumed", True, ("mem",)),
        ("threads", "threads of a core of {}: 1 is assumed", per_core, ()),
        ("cores per socket", "cores of a socket of {}: 1 is assumed", per_socket, ()),
        ("gres", "generic resources of {}: none are assumed", True, sorted(gres)),
        ("features", "features of {}: none are assumed", features, map(feature_name, features)),
    ):
        names = [node.name for node in seen.nodes if is_used and what in node.unread]
        if names:
            text = f"no input gives the {text.format(some(names))} (give scontrol show node)"
            hosts = () if what in ("gres", "features") else names
            notes.touch(text, hosts=hosts, resources=resources, mark="fit")


def _parts_of_gpu(nodes: Iterable[SlurmNode]) -> dict[str, int]:
    found = {}
    for kind in PARTS_OF_GPUS:
        held = [(count_of(node.gres, kind), count_of(node.gres, "gpu")) for node in nodes]
        shares = {divmod(parts, gpus or 1) for parts, gpus in held if parts or gpus}
        if len(shares) == 1 and not (share := shares.pop())[1] and share[0]:
            found[kind] = share[0]
    return found


def _network(seen: SlurmState, plugin: str) -> str:
    """Return the kind of the network topology of the cluster, "" if no input has it.

    Slurm reads topology.conf only if a plugin says so.
    """
    kind = seen.networks.get(seen.network, "")
    return kind if seen.network or not plugin else plugin.strip().lower().rpartition("/")[2]


def _own_network(item: SlurmPartition, seen: SlurmState) -> str:
    """Return the kind of the network topology of a partition, "" if it is that of the cluster."""
    if item.network in ("", seen.network):
        return ""
    kind = seen.networks.get(item.network, "")
    return kind if kind not in ("", "tree") else f"{kind} {item.network}".strip()


def _matching(seen: SlurmState) -> dict[str, MatchingOr]:
    """Return the constraints of jobs whose nodes must have one common feature, by resource."""
    by_node = {node.name: node.features for node in seen.nodes}
    return matching_ors((job.features for job in seen.jobs), by_node)


def _splitting(version: str) -> str:
    return version if version_number(version) in PARTS_OF_TASKS else ""


def constraint_names(text: str) -> list[str]:
    """Return the features in an expression of --constraint, without counts."""
    return list(dict.fromkeys(FEATURE.findall(re.sub(r"\*\d+", "", text))))


def feature_name(name: str) -> str:
    """Return the boolean resource of a feature, another one for each: ``f_mem`` for ``mem``."""
    is_free = _UNCHANGED.fullmatch(name) and name.lower() not in _RESERVED
    return name if is_free else FEATURE_PREFIX + _word(name)


def cluster_of(
    seen: SlurmState, facts: SlurmSite, groups: PartitionGroups, notes: Remarks
) -> Cluster:
    """Return the nodes in Slurm's order, with features, memory and generic resources."""
    others = sorted({gres_resource(n) for node in seen.nodes for n in node.gres if not is_gpu(n)})
    weights = len({node.weight for node in seen.nodes}) > 1
    hosts = tuple(_host(node, facts, weighted=weights, notes=notes) for node in seen.nodes)
    requested = (constraint_names(job.features) for job in seen.jobs)
    features = facts.features.union(*(map(feature_name, names) for names in requested))
    definitions = [ResourceDefinition(name, "boolean") for name in sorted(features)]
    definitions += [ResourceDefinition(name) for name in others]
    if weights:
        definitions.append(
            ResourceDefinition(WEIGHT, increasing=True, dynamic=True, consumable=False)
        )
    for name in groups.resources:
        definitions.append(ResourceDefinition(name, "string"))
    alike = _matching(seen)
    definitions += [ResourceDefinition(name, "string") for name in alike]
    hosts = tuple(
        replace(host, strings=groups.strings(host.name) | _matching_values(alike, node))
        for host, node in zip(hosts, seen.nodes, strict=True)
    )
    shared = []
    for name, layers in sorted(seen.licences_by_name().items()):
        definitions.append(ResourceDefinition(licence_name(name)))
        shared.append(SharedResource(licence_name(name), sum(item.total for item in layers)))
    units = tuple(units_of(seen))
    return Cluster(
        hosts,
        unit_types=(LEAF,) if units else (),
        default_unit_type=LEAF if units else None,
        units=units,
        resources=tuple(definitions),
        shared=tuple(shared),
    )


def licence_name(name: str) -> str:
    """Return a licence as a resource name: ``lic_matlab`` for ``matlab@server``."""
    return "lic_" + re.sub(r"\W", "_", name.partition("@")[0], flags=re.ASCII)


def is_gpu(name: str) -> bool:
    """Whether a generic resource is GPUs."""
    return name == "gpu" or name.startswith("gpu:")


def count_of(held: Mapping[str, int], kind: str) -> int:
    """Return the number of a generic resource, of which types are listed too or alone."""
    typed = sum(count for name, count in held.items() if name.startswith(f"{kind}:"))
    return held.get(kind) or typed


def gres_resource(name: str) -> str:
    """Return a generic resource as the name of a host resource."""
    return "gres_" + re.sub(r"\W", "_", name.partition(":")[0], flags=re.ASCII)


def _matching_values(alike: Mapping[str, MatchingOr], node: SlurmNode) -> dict[str, str]:
    found = {name: item.value(node.features) for name, item in alike.items()}
    return {name: value for name, value in found.items() if value}


def _host(node: SlurmNode, facts: SlurmSite, *, weighted: bool, notes: Remarks) -> Host:
    amounts = {} if "memory" in node.unread else {"mem": node.memory}
    for name, count in node.gres.items():
        if not is_gpu(name):
            amounts[gres_resource(name)] = amounts.get(gres_resource(name), 0.0) + count
    gpus = {name: count for name, count in node.gres.items() if is_gpu(name) and count}
    models = [name.partition(":")[2] for name in gpus if ":" in name]
    if len(models) > 1:
        notes.touch(
            f"node {node.name} has GPUs of several types ({', '.join(models)}): all are assumed "
            "usable", hosts=(node.name,), resources=("gpu",),
        )  # fmt: skip
    for word in sorted(set(node.state) - _DOWN - _CLOSED - _OPEN):
        notes.touch(f"node {node.name} is {word.upper()}: treated as closed", hosts=(node.name,))
    for what, value in node.named:
        notes.touch(f"{what} of node {node.name} ({value})", hosts=(node.name,))
    return Host(
        node.name,
        node.cpus,
        ncpus=node.cpus,
        amounts=amounts,
        booleans=frozenset(map(feature_name, node.features)),
        load={WEIGHT: float(node.weight)} if weighted else {},
        status=status_of(node),
        cores=None if "threads" in node.unread else max(1, node.cpus // node.threads),
        gpus=Gpus(sum(gpus.values()), models[0] if len(models) == 1 else "") if gpus else None,
    )


def status_of(node: SlurmNode) -> str:
    """Return the state of a node as a bhosts status."""
    words = set(node.state)
    if words & _DOWN:
        return "unavail"
    return "closed_Adm" if words - _OPEN else "ok"


def _named(seen: SlurmState) -> Iterable[str]:
    """Return the partitions named by nodes and jobs, in the order of first use."""
    named = [name for node in seen.nodes for name in node.partitions]
    return dict.fromkeys([*named, *(name for job in seen.jobs for name in job.partitions)])


def queues_of(seen: SlurmState, groups: PartitionGroups, notes: Remarks) -> tuple[Queue, ...]:
    """Return partitions as queues; if none is described, the partitions that nodes name.

    groups: those of the pending jobs, each a queue of its own behind the partitions.
    """
    partitions = list(seen.partitions)
    missing = [name for name in _named(seen) if name not in {item.name for item in partitions}]
    if missing:
        notes.touch(
            f"no input describes partition {some(missing)}: taken without limits, with priority "
            "tier 1 (give scontrol show partition)",
            queues=missing,
        )
        partitions += [SlurmPartition(name) for name in missing]
    order = f"order[{WEIGHT}]" if len({node.weight for node in seen.nodes}) > 1 else ""
    everything = {node.name for node in seen.nodes}
    queues = [_queue(item, seen.nodes, everything, order, notes) for item in partitions]
    for item, group in groups.queues():
        made = _queue(item, seen.nodes, everything, order, notes)
        same = f"same[{group.resource}]" if group.apart else ""
        queues.append(replace(made, res_req=" ".join(filter(None, (order, same)))))
    return tuple(queues)


def _queue(
    item: SlurmPartition,
    nodes: Sequence[SlurmNode],
    everything: set[str],
    order: str,
    notes: Remarks,
) -> Queue:
    names = item.nodes
    if names is None:
        names = tuple(node.name for node in nodes if item.name in node.partitions)
    inside = [name for name in names if name in everything]
    if len(inside) < len(names):
        notes.touch(
            f"no input describes {some(n for n in names if n not in everything)} of partition "
            f"{item.name}", queues=(item.name,), mark="fit",
        )  # fmt: skip
    if not names:
        text = f"nodes of partition {item.name}, for which no input lists any"
        notes.touch(text, queues=(item.name,), mark="fit")
    for what, value in item.named:
        only = ("gpu",) if what == "defaults of gres" else ()
        notes.touch(
            f"{what} of partition {item.name} ({value})", queues=(item.name,), resources=only
        )
    kind, _, count = item.sharing.partition(":")
    if kind in ("YES", "FORCE") and count != "1":
        notes.touch(
            f"OverSubscribe={item.sharing} of partition {item.name}: its jobs are taken to share "
            "no CPU", queues=(item.name,),
        )  # fmt: skip
    most, default = map(values.finite_seconds, (item.max_time, item.default_time))
    return Queue(
        item.name,
        priority=item.tier,
        hosts=() if set(inside) == everything else tuple(map(HostRequest, inside)),
        run_limit=most if default is None or (most and default > most) else default,
        run_limit_max=most,
        exclusive="Y",
        backfill=True,
        resource_reserve=FOR_EVER,
        host_slots=item.cpus_per_node,
        active=item.up,
        open=item.open,
        res_req=order,
    )


def select_text(facts: SlurmSite) -> str:
    """Return text on how the cluster allocates, as :func:`site_of` reads it: ``unit=2,memory``.

    ``unit=2``: CPUs that are allocated together; sharing and default memory of partitions follow
    their names.
    """
    words = [f"unit={facts.unit}"]
    words += ["memory"] if facts.has_memory else []
    words += ["linear"] if facts.whole_nodes else []
    words += ["one_task_per_core"] if facts.one_task_per_core else []
    words += [f"TopologyPlugin=topology/{facts.network}"] if facts.network not in _FLAT else []
    words += _memory_words("", facts)
    for item in facts.partitions.values():
        if item.sharing != "NO":
            words.append(f"{item.name}:OverSubscribe={item.sharing.replace(':', '/')}")
        if item.max_nodes:
            words.append(f"{item.name}:MaxNodes={item.max_nodes}")
        if item.network:
            words.append(f"{item.name}:TopologyPlugin={item.network.replace(' ', '/')}")
        words += _memory_words(f"{item.name}:", item)
    return ",".join(words)


def _memory_words(prefix: str, of: SlurmSite | SlurmPartition) -> list[str]:
    sizes = {name: getattr(of, field) for name, field in _MEMORY.items()}
    return [f"{prefix}{name}={size:g}" for name, size in sizes.items() if size]


def _memory_of(words: Mapping[str, str | None]) -> dict[str, Any]:
    """Return sizes (MB) by fields of a site or a partition."""
    return {field: values.finite_megabytes(words.get(name)) for name, field in _MEMORY.items()}


def site_of(instance: Instance) -> SlurmSite:
    """Return the facts of an instance that was made from Slurm's output."""
    words = words_of(instance.params.select_parameters)
    own = words[""]
    hosts = instance.cluster.hosts
    nodes = {host.name: _node_of_host(host) for host in hosts}
    threads = max((node.threads for node in nodes.values()), default=1)
    return SlurmSite(
        unit=max(1, int(own.get("unit", "1"))),
        threads=max(1, threads),
        has_memory="memory" in own,
        whole_nodes="linear" in own,
        one_task_per_core="one_task_per_core" in own,
        nodes=nodes,
        partitions={queue.name: _partition_of_queue(queue, words.get(queue.name, {}))
         for queue in instance.queues},
        features=frozenset(name for host in hosts for name in host.booleans),
        **_memory_of(own),
        leaf=LEAF if LEAF in instance.cluster.unit_types else "",
        splits_tasks=_splitting(instance.params.scheduler_version),
        matching=frozenset(filter(is_matching, (r.name for r in instance.cluster.resources))),
        network=own.get("TopologyPlugin", "").rpartition("/")[2],
        parts_of_gpu=_parts_of_gpu(nodes.values()),
    )  # fmt: skip


def _node_of_host(host: Host) -> SlurmNode:
    features = tuple(sorted(map(feature_of, host.booleans)))
    memory = host.amounts.get("mem", 0.0)
    gres = {f"gpu:{host.gpus.model}".rstrip(":"): host.gpus.count} if host.gpus else {}
    gres |= {kind: int(host.amounts.get(gres_resource(kind), 0)) for kind in PARTS_OF_GPUS}
    return SlurmNode(
        host.name, (), host.slots, memory=memory, gres=gres, features=features,
        threads=host.slots // host.cores if host.cores else 1,
        unread=() if host.cores else ("threads",),
    )  # fmt: skip


def _partition_of_queue(queue: Queue, words: Mapping[str, str]) -> SlurmPartition:
    return SlurmPartition(
        queue.name,
        max_nodes=int(words.get("MaxNodes", "0")) or None,
        sharing=words.get("OverSubscribe", "NO").replace("/", ":"),
        network=words.get("TopologyPlugin", ""),
        **_memory_of(words),
    )


def params_of(seen: SlurmState, facts: SlurmSite) -> Params:
    """Return the parameters of an instance made from Slurm's output."""
    names = [item.name for item in seen.partitions] or list(_named(seen)) or ["default"]
    default = next((item.name for item in seen.partitions if item.default), names[0])
    parameters = seen.settings.get("schedulerparameters", "")
    unlimited = "" if enforces_limits(seen.settings) else ",NoLimits"
    return Params(
        default_queue=default,
        family="Slurm",
        scheduler_parameters="" if values.blank(parameters) else parameters,
        scheduler_version=seen.version,
        select_parameters=select_text(facts) + unlimited + priority_text(seen),
        max_user_priority=MAX_PRIORITY,
        mbd_sleep_time=loop_number(parameters, "bf_interval"),
        time_reserve_numjobs=loop_number(parameters, "bf_max_job_test"),
        max_job_array_size=values.whole(seen.settings.get("maxarraysize")) or DEFAULT_LARGEST,
    )
