"""Requests of Slurm's jobs, converted to requests of the model's jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from ...display import some
from ...job import HostRequest
from ...omissions import Change, Omission, OmissionMark
from .seen import SlurmJob, SlurmJobSize, SlurmPartition
from .site import (
    FEATURE,
    PARTS_OF_GPUS,
    SlurmSite,
    constraint_names,
    count_of,
    feature_name,
    gres_resource,
    is_gpu,
    licence_name,
    matching_or,
)


@dataclass(slots=True)
class Requested:
    """Slots, requirement and hosts of one job, and what is not modelled of it."""

    #: Number of slots (CPUs).
    slots: int = 1
    #: Content of span[], "" if none.
    span: str = ""
    #: Parts of the selection, joined by ``&&``.
    selects: list[str] = field(default_factory=list)
    #: Parts of rusage[].
    uses: list[str] = field(default_factory=list)
    #: Whether the job has its nodes to itself.
    exclusive: bool = False
    #: GPU requirement in the form of -gpu, "" if none.
    gpu: str = ""
    #: Content of cu[], "" if none.
    units: str = ""
    #: Content of same[], "" if none.
    same: str = ""
    #: Requested nodes in the form of -m.
    hosts: tuple[HostRequest, ...] = ()
    #: What is not modelled of it: by these it may have another start.
    omitted: list[Omission] = field(default_factory=list)

    def omit(
        self, what: str, changes: Change = "starts", mark: OmissionMark = "", of: Iterable[str] = ()
    ) -> None:
        """Add what is not modelled, as an omission. of: resources of which it may hold others."""
        self.omitted.append(Omission(what, resources=tuple(of), changes=changes, mark=mark))

    @property
    def res_req(self) -> tuple[str, ...]:
        """Return the requirement strings, () if there is none."""
        sections = (
            ("select", " && ".join(self.selects)), ("rusage", ":".join(self.uses)),
            ("span", self.span), ("cu", self.units), ("same", self.same),
        )  # fmt: skip
        text = " ".join(f"{name}[{content}]" for name, content in sections if content)
        return (text,) if text else ()


def requested_of(job: SlurmJob, facts: SlurmSite) -> Requested:
    """Return the request of a pending job."""
    found = Requested()
    job = replace(job, size=_on_listed(job, facts))
    size, is_beyond = _spread(job, facts)
    size = _within_partitions(replace(job, size=size), facts, found)
    job = replace(job, size=size)
    _cpus(job.size, facts, found)
    _memory(job, facts, found)
    _gres(size, facts, found, of_job=_on_one(size) or (is_beyond and size.nodes == 1))
    _features(job.features, job.size, facts, found)
    _licences(job.licences, found)
    _nodes(job, facts, found)
    _sharing(job, facts, found)
    _switches(job, facts, found)
    _split_tasks(job.size, facts, found)
    _tasks_per_core(job.size, facts, found)
    if found.span != "hosts=1":
        for kind in facts.networks(job.partitions):
            found.omit(f"network topology {kind}: any nodes are combined")
    for what, value in job.named:
        found.omit(f"{what} ({value})")
    if job.preferred:
        found.omit(f"--prefer {job.preferred}, which Slurm tries only for an immediate start")
    if job.min_limit:
        found.omit(
            f"--time-min: planned with {job.min_limit // 60} minutes, as Slurm does; once it has "
            "started Slurm raises its limit to what fits"
        )
    if is_beyond:  # impossible under any assumption
        found.omitted = [item for item in found.omitted if not item.lifts]
    return found


def _within_partitions(job: SlurmJob, facts: SlurmSite, found: Requested) -> SlurmJobSize:
    """Return the size of a job with no more nodes than MaxNodes of its partitions."""
    size = job.size
    listed = [facts.partitions[name] for name in job.partitions if name in facts.partitions]
    most_time = max((item.max_time or math.inf for item in listed), default=math.inf)
    if (job.min_limit or job.limit or 0) > most_time:
        found.omit("its time limit exceeds that of its partition: Slurm does not start it")
    nodes = min((item.max_nodes for item in listed if item.max_nodes), default=None)
    if nodes is None or (size.max_nodes or size.tasks) <= nodes:
        return size
    if size.nodes > nodes:
        found.omit(f"at most {nodes} nodes in its partition: Slurm does not start it")
        return size
    return replace(size, max_nodes=nodes)


def _on_listed(job: SlurmJob, facts: SlurmSite) -> SlurmJobSize:
    """Return the size of a job on at least as many nodes as it lists (--nodelist)."""
    size, count = job.size, sum(name in facts.nodes for name in job.required)
    if count <= max(size.nodes, 1) or count > size.tasks:
        return size
    return replace(size, nodes=count, max_nodes=count if count == size.tasks else size.max_nodes)


def _spread(job: SlurmJob, facts: SlurmSite) -> tuple[SlurmJobSize, bool]:
    """Return the size of a job on as many nodes as it needs, and whether the most nodes that it may
    have are too few or have too little together.

    Slurm prints one node for --gpus=12 although no node has 12: it is a minimum.
    """
    size = job.size
    partitions = [item.nodes for name, item in facts.partitions.items() if name in job.partitions]
    inside = {name for names in partitions for name in names or facts.nodes} or {*facts.nodes}
    free = [facts.nodes[name] for name in inside.difference(job.excluded) & {*facts.nodes}]
    most = size.max_nodes or len(free)
    nodes, is_beyond = size.nodes, size.nodes > len(free)
    wanted = [
        (count, [count_of(node.gres, name) for node in free])
        for name, count in size.gres_per_job.items()
    ]
    wanted += [
        (size.tasks, [count_of(node.gres, name) // (count or 1) for node in free])
        for name, count in size.gres_per_task.items()
    ]
    wanted += [
        (size.nodes, [count_of(node.gres, name) >= count for node in free])
        for name, count in size.gres_per_node.items()
    ]
    if size.nodes > 1:
        wanted.append((size.cpus, [node.cpus for node in free]))
    for count, held in wanted:
        is_beyond |= count > sum(sorted(held)[-most:])
        nodes = max(nodes, math.ceil(count / max((1, *held))))
    if is_beyond or nodes == size.nodes or size.tasks_per_node:
        return size, is_beyond
    cpus = max(size.cpus, nodes * size.cpus_per_task)
    return replace(size, nodes=nodes, tasks=max(size.tasks, nodes), cpus=cpus), is_beyond


def _cpus(size: SlurmJobSize, facts: SlurmSite, found: Requested) -> None:
    """Set slots and span from tasks, CPUs and nodes."""
    of_task, cpus = (_on_cores(count, size, facts) for count in (size.cpus_per_task, size.cpus))
    nodes = size.nodes
    if size.tasks_per_node:
        on_node = size.tasks_per_node * size.cpus_per_task
        block = facts.rounded(_on_cores(on_node, size, facts))
        nodes = max(nodes, math.ceil(size.tasks / size.tasks_per_node))
        if size.max_nodes is not None and nodes > size.max_nodes:
            found.omit(
                f"{size.tasks} tasks on at most {size.max_nodes} nodes, {size.tasks_per_node} on "
                f"each: planned on {nodes} nodes",
                mark="fit",
            )
        elif size.tasks < nodes * size.tasks_per_node:
            found.omit(
                f"{size.tasks} tasks on {nodes} nodes: on each node, Slurm requires free CPUs "
                f"for {size.tasks_per_node} tasks, although the job may then be allocated fewer",
                "shares",
                "fit",
            )
        found.slots, found.span = nodes * block, f"ptile={block}"
        return
    if nodes == 1 and (size.max_nodes == 1 or size.tasks == 1):
        found.slots, found.span = facts.rounded(max(cpus, of_task)), "hosts=1"
    elif nodes == 1:
        block = facts.rounded(of_task) if of_task > 1 else facts.unit
        tasks = max(1, math.ceil(cpus / of_task))
        found.slots = tasks * block if of_task > 1 else facts.rounded(cpus)
        found.span = f"block={block}" if block > 1 else ""
        if of_task > 1 and of_task % facts.unit:
            found.omit(
                f"{of_task} CPUs per task count as {block}: Slurm rounds the CPUs per node",
                "shares",
                "fit",
            )
        if size.max_nodes is not None:
            found.omit(f"at most {size.max_nodes} nodes")
    else:
        share = facts.rounded(max(of_task, math.ceil(cpus / nodes)))
        found.slots, found.span = nodes * share, f"ptile={share}"
        whole = max((node.cpus for node in facts.nodes.values()), default=0)
        if (size.tasks > nodes or cpus % nodes) and share < whole:
            found.omit(
                f"Slurm may distribute its {cpus} CPUs over {nodes} nodes in another "
                f"way than {share} on each",
                "shares",
                "fit",
            )
        if size.max_nodes != nodes:
            more = "more" if size.max_nodes is None else f"up to {size.max_nodes}"
            found.omit(f"it can start on {more} nodes: planned on {nodes}", mark="fit")


def _tasks_per_core(size: SlurmJobSize, facts: SlurmSite, found: Requested) -> None:
    """Name the jobs to which CR_ONE_TASK_PER_CORE gives more CPUs than they are planned with."""
    threads = max((node.threads for node in facts.nodes.values()), default=1)
    most = size.tasks * math.ceil(size.cpus_per_task / threads) * threads
    if facts.one_task_per_core and not size.threads and found.slots < most:
        text = f"CR_ONE_TASK_PER_CORE: planned with {found.slots} CPUs; Slurm may need {most}"
        found.omit(text, "amounts", "fit")


def _on_cores(cpus: int, size: SlurmJobSize, facts: SlurmSite) -> int:
    """Return the CPUs of the cores of which a job uses ``size.threads`` threads each."""
    is_part = 0 < size.threads < facts.threads
    return math.ceil(cpus / size.threads) * facts.threads if is_part else cpus


def with_fewer_threads(size: SlurmJobSize, facts: SlurmSite) -> list[str]:
    """Return the nodes whose cores have fewer threads than a job uses."""
    nodes = facts.nodes.values()
    return [n.name for n in nodes if n.threads < size.threads and "threads" not in n.unread]


def _split_tasks(size: SlurmJobSize, facts: SlurmSite, found: Requested) -> None:
    """Name the jobs whose tasks a version of Slurm does not keep whole; it does with memory by
    CPU.
    """
    by_cpu = any(use.startswith("mem=") and use.endswith("/task") for use in found.uses)
    is_one_unit = size.cpus_per_task <= facts.unit
    if facts.splits_tasks and found.span.startswith("block=") and not (by_cpu or is_one_unit):
        found.omit(
            f"whole tasks of {size.cpus_per_task} CPUs: Slurm {facts.splits_tasks} also starts it "
            "with fewer for some tasks",
            "shares",
            "fit",
        )


def _memory(job: SlurmJob, facts: SlurmSite, found: Requested) -> None:
    """Set the memory of a node or of a CPU; a job that requests none has its nodes exclusively."""
    size = job.size
    if size.memory_per_gpu and (gpus := _gpus_on_node(size)):
        size = replace(size, memory_per_node=size.memory_per_gpu * gpus, memory_per_cpu=None)
    size = with_default_memory(size, job.partitions, facts)
    for text, _ in beyond_memory(replace(job, size=size), facts):
        found.omit(text)
    per_node, per_cpu = size.memory_per_node, size.memory_per_cpu
    if not facts.has_memory:
        if per_node:
            found.selects.append(f"maxmem>={per_node:g}")
    elif per_cpu:
        found.uses.append(f"mem={per_cpu:g}/task")
    elif per_node:
        found.uses.append(f"mem={per_node:g}/host")
    else:  # all of a node
        found.exclusive = True


def with_default_memory(
    size: SlurmJobSize, partitions: tuple[str, ...], facts: SlurmSite
) -> SlurmJobSize:
    """Return the size of a job with DefMemPerNode or DefMemPerCPU if it requests no memory: those
    of its partition before those of the cluster.
    """
    if size.memory_per_node is not None or size.memory_per_cpu is not None or size.all_memory:
        return size
    item = facts.partitions.get(partitions[0]) if partitions else None
    of = item if item and (item.memory_per_node or item.memory_per_cpu) else facts
    return replace(size, memory_per_node=of.memory_per_node, memory_per_cpu=of.memory_per_cpu)


def beyond_memory(job: SlurmJob, facts: SlurmSite) -> Iterator[tuple[str, bool]]:
    """Yield the limits on memory that a job exceeds with its memory or that by default, and
    whether Slurm starts no such job.

    The limit of a partition replaces that of the cluster (_valid_pn_min_mem of job_mgr.c). Memory
    of each CPU is compared with the CPUs that the job has on each node at least.
    """
    size, of_cpu = job.size, job.size.memory_per_cpu or 0.0
    nodes = facts.nodes.values()
    of_node = 0.0 if of_cpu else size.memory_per_node or max((n.memory for n in nodes), default=0.0)
    for name in job.partitions:
        item = facts.partitions.get(name, SlurmPartition(name))
        of = item if item.max_memory_per_node or item.max_memory_per_cpu else facts
        where = "the cluster" if of is facts else f"partition {name}"
        spread = math.ceil(size.tasks / (size.max_nodes or max(1, size.tasks)))
        cpus = max(size.tasks_per_node, spread) * size.cpus_per_task
        if job.sharing == "none" or facts.whole_nodes or item.sharing.startswith("EXCLUSIVE"):
            cpus = max((node.cpus for node in nodes), default=cpus)
        most, most_of_cpu = of.max_memory_per_node, of.max_memory_per_cpu
        if most and max(of_node, of_cpu * cpus) > most:
            limit = f"MaxMemPerNode of {where} ({most:g} MB)"
            yield f"{limit}: Slurm starts no job that exceeds it", True
        if most_of_cpu and max(of_node * size.nodes / max(1, size.cpus), of_cpu) > most_of_cpu:
            limit = f"MaxMemPerCPU of {where} ({most_of_cpu:g} MB)"
            yield f"{limit}: Slurm gives a job that exceeds it more CPUs", False


def _gpus_on_node(size: SlurmJobSize) -> int:
    """Return the number of GPUs that a job is planned to have on each of its nodes."""
    return sum(count for name, count in _gres_on_node(size, Requested()).items() if is_gpu(name))


def _gres(size: SlurmJobSize, facts: SlurmSite, found: Requested, *, of_job: bool) -> None:
    """Set the GPUs and the other generic resources of each node; of_job: as those of the job."""
    wanted = _gres_on_node(size, found)
    gpus = {name: count for name, count in wanted.items() if is_gpu(name) and count}
    if gpus:
        kinds = [name.partition(":")[2] for name in gpus if ":" in name]
        per = "job" if of_job and not gpus.keys() & size.gres_per_node.keys() else "host"
        found.gpu = f"num={sum(gpus.values())}/{per}"
        if len(kinds) == 1:
            found.gpu += f":gmodel={kinds[0]}"
        elif kinds:
            found.omit(f"GPUs of several types ({', '.join(kinds)})", "amounts", of=["gpu"])
    for name in filter(wanted.get, PARTS_OF_GPUS):
        found.omit(f"the GPUs that have its {name}", "amounts", of=["gpu", gres_resource(name)])
    for name, share in facts.parts_of_gpu.items():
        wanted[name] = wanted.get(name, 0) + share * sum(gpus.values())
    for name, count in wanted.items():
        if not is_gpu(name) and count:
            found.uses.append(f"{gres_resource(name)}={count}/host")


def _on_one(size: SlurmJobSize) -> bool:
    return size.nodes == size.max_nodes == 1


def _gres_on_node(size: SlurmJobSize, found: Requested) -> dict[str, int]:
    """Return the generic resources of each node, number by name; what is guessed is omitted."""
    wanted = dict(size.gres_per_node)
    tasks = size.tasks_per_node or (size.tasks if _on_one(size) else 0)
    nodes = max(1, size.nodes)
    of_tasks, of_job = size.gres_per_task.items(), size.gres_per_job.items()
    parts = [
        (name, count, "every task", count * (tasks or math.ceil(size.tasks / nodes)),
         not tasks and size.tasks > 1) for name, count in of_tasks
    ] + [
        (name, count, "the job", math.ceil(count / nodes), nodes > 1 or size.max_nodes != 1)
        for name, count in of_job
    ]  # fmt: skip
    for name, count, whose, share, is_guess in parts:
        wanted[name] = wanted.get(name, 0) + share
        if is_guess:
            text = f"{count} {name} of {whose}: {share} on every node is assumed"
            found.omit(text, "amounts", "fit", _moves_with(name, size))
    return wanted


def _moves_with(name: str, size: SlurmJobSize) -> Iterator[str]:
    """Yield the resources of which a job holds more with more of a generic resource."""
    yield "gpu" if is_gpu(name) else gres_resource(name)
    if is_gpu(name) and size.memory_per_gpu:
        yield "mem"


def unknown_features(text: str, facts: SlurmSite) -> list[str]:
    """Return the features of a constraint that no node has."""
    return [name for name in constraint_names(text) if feature_name(name) not in facts.features]


def _features(text: str, size: SlurmJobSize, facts: SlurmSite, found: Requested) -> None:
    """Add ``a&x``, ``a|b``, ``[a|b]`` and counts to the selection of the job."""
    if not text:
        return
    several = size.nodes > 1 or size.max_nodes != 1
    alike = matching_or(text, facts.features_by_node) if several else None
    if alike is not None and (not alike.resource or alike.resource in facts.matching):
        text, found.same = alike.constraint, alike.resource
    counted = "*" in text
    bare = re.sub(r"\*\d+", "", text)
    if "[" in bare and (counted or several):
        found.omit(
            f"-C {text}: treated as {'any of them' if counted else 'on each node'}", mark="fit"
        )
    elif counted:
        found.omit(f"-C {text}: counts of nodes are not modelled")
    bare = bare.replace("[", "(").replace("]", ")")
    if counted:
        bare = bare.replace("&", "|")
    if unknown := unknown_features(text, facts):
        found.omit(f"-C {text}: no node has {some(unknown)}")
    selected = FEATURE.sub(lambda word: feature_name(word[0]), bare)
    selected = selected.replace(",", "&").replace("&", " && ").replace("|", " || ")
    found.selects.append(f"({selected})" if "||" in selected else selected)


def _licences(text: str, found: Requested) -> None:
    """Add ``foo:2,bar`` to the rusage of the job."""
    if "|" in text:
        names = (licence_name(name) for name, _ in licence_counts(text.replace("|", ",")))
        found.omit(f"licences {text}: treated as the first of them", "amounts", "fit", names)
    for name, count in licence_counts(text):
        found.uses.append(f"{licence_name(name)}={count}/job")


def licence_counts(text: str) -> Iterator[tuple[str, int]]:
    """Yield name and number of each licence of ``foo:2,bar``; of ``a|b`` only the first."""
    for part in text.partition("|")[0].replace(";", ",").split(","):
        name, _, count = part.strip().partition(":")
        if name:
            yield name, int(count) if count.isdigit() else 1


def _nodes(job: SlurmJob, facts: SlurmSite, found: Requested) -> None:
    """Add the nodes that a job must have, and the nodes that it must not have."""
    size = job.size
    known = [name for name in job.required if name in facts.nodes]
    if len(known) < len(job.required):
        found.omit("required nodes that no input describes", mark="fit")
    most = 1 if size.tasks == 1 else size.max_nodes
    # On several listed nodes it is planned alone if it fits there, though it may have others too.
    if known and len(known) in (most, size.tasks, max(2, size.nodes)):
        found.hosts = tuple(map(HostRequest, known))
    elif known:  # and as many others as its tasks need
        found.hosts = (*(HostRequest(name, first=True) for name in known), HostRequest("others"))
        if len(known) > 1:  # the model has a first node alone
            found.omit(f"nodes that it requires ({some(known)})")
    excluded = dict.fromkeys([*job.excluded, *with_fewer_threads(size, facts)])
    unread = [node.name for node in facts.nodes.values() if "threads" in node.unread]
    if size.threads > 1 and unread:
        text = f"--threads-per-core={size.threads}: no input gives the threads of {some(unread)}"
        found.omit(text, mark="fit")
    found.selects += [f"hname != {name}" for name in excluded if name in facts.nodes]


def _sharing(job: SlurmJob, facts: SlurmSite, found: Requested) -> None:
    kind = job.sharing
    partition = facts.partitions.get(job.partitions[0]) if job.partitions else None
    if partition is not None and partition.sharing.startswith("EXCLUSIVE"):
        kind = "none"
    if kind == "none" or facts.whole_nodes:
        found.exclusive = True
    elif kind in ("user", "mcs", "topo"):
        found.omit(f"--exclusive={kind}: treated as sharing nodes with all jobs", "amounts")
    elif kind == "unknown":
        found.omit(
            "exclusive use of its nodes, which this JSON does not contain (give --json=v0.0.42)",
            "amounts",
        )
    elif kind == "shared":
        found.omit("-s (--oversubscribe): treated as sharing no CPU", "amounts")


def _switches(job: SlurmJob, facts: SlurmSite, found: Requested) -> None:
    """Leaf switches of --switches, as compute units."""
    count, wait = job.switches, job.switch_wait
    if not count:
        return
    if not facts.leaf:
        found.omit(f"--switches={count}: no input lists the switches")
        return
    found.units = f"type={facts.leaf}:maxcus={count}"
    if wait is None or not math.isinf(wait):
        time = "max_switch_wait" if wait is None else f"{wait / 60:g} minutes"
        found.omit(
            f"--switches={count}: planned on at most {count}; Slurm takes any number of switches "
            f"once the job has waited for {time}",
            mark="fit",
        )
