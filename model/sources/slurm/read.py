"""From records to what was seen of jobs, nodes, partitions, reservations and licences."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from ... import slurm_values as values
from .fields import NOT_PRINTED, SlurmRecord
from .records import BY_NODE
from .seen import (
    SlurmJob,
    SlurmJobSize,
    SlurmNode,
    SlurmPartition,
    SlurmReservation,
)

#: Reasons of a job that a user or an administrator holds.
_HELD = ("jobhelduser", "jobheldadmin", "jobholdmaxrequeue")
#: TRES of tasks that are no generic resources of nodes.
_OF_TASKS = ("license/", "bb/")
#: Flags of a job in JSON that no method takes into account: they choose its nodes.
_FLAGS = frozenset(
    {"SPREAD_JOB", "PREFER_MINIMUM_NODE_COUNT", "SPREAD_SEGMENTS", "CONSOLIDATE_SEGMENTS",
     "EXTERNAL_JOB"}
)  # fmt: skip


def job_of(record: SlurmRecord, zone: tzinfo | None) -> SlurmJob:
    """Return one job; raises ValueError for an unreadable value."""
    get, facts = record.get, record.facts(zone)
    number, task, tasks = _ids(record)
    facts["licences"] = _licences(record, facts["licences"])
    switches, wait = values.switches(get("leaf switches"), get("wait for switches"))
    limit = values.seconds(get("time limit"))
    if limit == 0 or (not record.is_text and record.fields.get("time_limit", 0) is None):
        limit = math.inf  # 22.05 has null
    size = _size(record)
    allocation, memory = _allocation(record, size)
    return SlurmJob(
        **facts,
        id=number,
        task=task,
        tasks=tasks,
        task_limit=values.whole(get("array limit")) or None,
        user=re.sub(r"\(\d+\)$", "", values.text(get("user"))),  # root(0)
        held=facts["priority"] == 0
        or values.truth(get("hold") or False)
        or facts["reason"].lower() in _HELD,
        limit=limit,
        min_limit=values.finite_seconds(values.seconds(get("minimum time"))),
        size=size,
        sharing=_sharing(record),
        switches=switches,
        switch_wait=wait,
        allocation=allocation,
        memory=memory,
        gres_held=_held_gres(record, size, len(allocation)),
        gres_by_node=_gres_by_node(record),
        het=str(values.whole(get("het job")) or ""),
        named=(
            *record.named(),
            *((f"flag {flag}", "JSON") for flag in values.listed(get("flags")) if flag in _FLAGS),
            *_other_memory(record),
            *(
                ("tres per task", f"{name}={count}")
                for name, count in values.gres(get("tres per task")).items()
                if name.startswith("bb/")
            ),
            *_least_cpus(record, size),
        ),
        where=record.where,
    )


def _ids(record: SlurmRecord) -> tuple[str, int | None, str]:
    """Return id, task and pending tasks: ``517``, 3, ``""`` or ``26``, None, ``1-10%2``."""
    get = record.get
    if (number := values.whole(get("id"))) is None or number < 0:
        raise ValueError("the job has no number: give squeue --json or scontrol show job")
    array = values.whole(get("array"))
    listed = values.text(get("array tasks"))
    task = None if record.is_text else values.whole(get("array task"))
    if record.is_text and listed.isdigit():
        task, listed = int(listed), ""
    if not array:
        return str(number), None, ""
    return str(array), task, "" if task is not None else listed


def _size(record: SlurmRecord) -> SlurmJobSize:
    get = record.get
    nodes, most = _node_counts(get("node count"), get("most nodes"))
    cpus = values.whole(get("cpus")) or 1
    requested = values.tres(get("tres requested"))
    cpus = int(requested.get("cpu", cpus)) or cpus
    # NumNodes of a pending job is Slurm's guess; the TRES contain the requested number.
    nodes = int(requested.get("node", nodes)) or nodes
    tasks = values.whole(get("tasks")) or 1
    per_node = values.whole(get("tasks per node")) or 0
    least = values.whole(get("cpus per node")) or 1
    per_task_tres = values.gres(get("tres per task"))  # "cpu=2" is -c 2
    per_task = values.whole(get("cpus per task")) or per_task_tres.get("cpu")
    if per_task is None:  # 22.05 has it for jobs with a CPU frequency only
        per_task = least // max(1, per_node) if least > 1 else max(1, cpus // max(1, tasks))
    memory, by_cpu = _memory(record)
    by_gpu = values.gres(get("memory per gres")).get("gpu")
    gres = {what: values.gres(get(f"tres per {what}")) for what in ("node", "job")}
    if not any(gres.values()) and not any(map(_is_gres, per_task_tres)):
        gres["job"] = _gres_of_tres(get("tres requested"))
    none_asked = memory is None and by_cpu is None and by_gpu is None
    return SlurmJobSize(
        cpus=cpus,
        tasks=tasks,
        cpus_per_task=max(1, per_task),
        tasks_per_node=per_node,
        nodes=nodes,
        max_nodes=most,
        memory_per_node=memory,
        memory_per_cpu=by_cpu,
        memory_per_gpu=None if by_gpu is None else float(by_gpu),
        all_memory=memory == 0 or (none_asked and bool(requested.get("mem"))),
        gres_per_node=gres["node"],
        gres_per_job=gres["job"],
        gres_per_task={name: n for name, n in per_task_tres.items() if _is_gres(name)},
        threads=values.whole(get("threads per core")) or 0,
        requested=requested,
    )


def _is_gres(name: str) -> bool:
    return name != "cpu" and not name.startswith(_OF_TASKS)


def _licences(record: SlurmRecord, of_job: str) -> str:
    """Return the licences of a job with those of its tasks, which not all versions print among
    them.
    """
    tasks = values.one_or_more(record.get("tasks"))
    listed = re.split(r"[:,;|]", of_job)
    more = [
        f"{name.removeprefix('license/')}:{count * tasks}"
        for name, count in values.gres(record.get("tres per task")).items()
        if name.startswith("license/") and name.removeprefix("license/") not in listed
    ]
    return ",".join(filter(None, (of_job, *more)))


def _memory(record: SlurmRecord) -> tuple[float | None, float | None]:
    """Return the MB of a node and of a CPU, None if not requested."""
    found = []
    for what in ("memory per node", "memory per cpu"):
        raw = record.get(what)
        size = values.megabytes(raw) if record.is_text else values.number(raw)
        found.append(None if size is None or math.isinf(size) else size)
    if record.is_text and found[0] == 0:  # jobs without a memory request have 0 too
        found[0] = None
    return found[0], found[1]


def _node_counts(count: Any, most: Any) -> tuple[int, int | None]:
    """Return minimum and maximum number of nodes of ``2-4``, or of two numbers."""
    if isinstance(count, str) and (found := re.fullmatch(r"(\d+)(?:-(\d+))?", count.strip())):
        return max(1, int(found[1])), None if found[2] is None else int(found[2])
    return values.whole(count) or 1, values.whole(most) or None


def _sharing(record: SlurmRecord) -> str:
    """Return how a job shares its nodes, in the words of :class:`SlurmJob`."""
    get = record.get
    word = next(iter(values.words(get("sharing"))), "")
    if record.is_text:  # from 26.05 on OverSubscribe and Exclusive are two fields
        exclusive = next(iter(values.words(get("exclusive"))), "")
        kinds = {"no": "" if exclusive else "none", "yes": "shared", "ok": ""}
        return {"": kinds.get(word, word), "no": kinds.get(word, ""), "node": "none"}.get(
            exclusive, exclusive
        )
    raw = record.fields.get("shared")
    if raw == NOT_PRINTED:
        return _sharing_by_submit_line(values.text(get("submit line")))
    listed = raw if isinstance(raw, list) else [raw]
    kind = next((str(word).lower() for word in listed if word), "")
    return "shared" if kind == "oversubscribe" else kind


def _sharing_by_submit_line(line: str) -> str:
    """Return how a job shares its nodes by its submit line, "unknown" if a script may say more."""
    words = line.split()
    for word in words:
        name, _, kind = word.partition("=")
        if name in ("--exclusive", "--oversubscribe", "-s"):
            return (kind or "none") if name == "--exclusive" else "shared"
    runs_command = words[:1] in (["srun"], ["salloc"])
    is_whole = runs_command or any(word.startswith("--wrap") for word in words)
    return "" if is_whole else "unknown"


def _held_gres(record: SlurmRecord, size: SlurmJobSize, nodes: int) -> dict[str, int]:
    """Return the generic resources that a job has in total, by ``gpu:a100`` and ``gpu``.

    The allocated TRES lack the kinds that AccountingStorageTRES does not list; of these a running
    job has what it requested.
    """
    held = _gres_of_tres(record.get("tres allocated"))
    listed = {name.partition(":")[0] for name in held}
    requested = ((size.gres_per_node, nodes), (size.gres_per_job, 1 if nodes else 0),
                 (size.gres_per_task, size.tasks if nodes else 0))  # fmt: skip
    for amounts, times in requested:
        for name, count in amounts.items():
            if name.partition(":")[0] not in listed:
                held[name] = held.get(name, 0) + count * times
    return held


def _gres_of_tres(printed: Any) -> dict[str, int]:
    """Return the generic resources among TRES: 2 of ``gpu:a100`` for ``gres/gpu:a100=2``."""
    found = {
        name.removeprefix("gres/"): int(amount)
        for name, amount in values.tres(printed).items()
        if name.startswith("gres/")
    }
    typed = {name.partition(":")[0] for name in found if ":" in name}
    return {name: count for name, count in found.items() if name not in typed}


def _gres_by_node(record: SlurmRecord) -> dict[str, dict[str, int]]:
    """Return the generic resources of a running job by node; {} if the record lacks them.

    ``scontrol show job -d`` has them with each group of nodes, JSON in the order of the nodes.
    """
    found = record.get("allocation")
    if record.is_text and isinstance(found, list):
        if not any("GRES" in part for part in found):
            return {}
        return {
            name: values.gres(part.get("GRES"))
            for part in found
            for name in values.host_list(part.get(BY_NODE))
        }
    listed, nodes = record.get("gres by node"), values.host_list(record.get("nodes"))
    if record.is_text or not isinstance(listed, list) or len(listed) != len(nodes):
        return {}
    return {name: values.gres(text) for name, text in zip(nodes, listed, strict=True)}


def _other_memory(record: SlurmRecord) -> list[tuple[str, str]]:
    """Return memory by generic resources other than GPUs, which no method takes into account."""
    printed = values.text(record.get("memory per gres"))
    others = {name for name in values.gres(printed) if name != "gpu"}
    return [("memory per gres", printed)] if others else []


def _least_cpus(record: SlurmRecord, size: SlurmJobSize) -> list[tuple[str, str]]:
    """Return the CPUs of each node that a job requests beyond those of its tasks (--mincpus)."""
    least = values.whole(record.get("cpus per node")) or 1
    own = size.cpus_per_task * max(1, size.tasks_per_node)
    if size.nodes == size.max_nodes == 1:
        own = max(own, size.cpus)
    return [("cpus per node", str(least))] if least > own else []


def _allocation(record: SlurmRecord, size: SlurmJobSize) -> tuple[dict[str, int], dict[str, float]]:
    """Return CPUs and MB by node of a running job; CPUs are 0 if no input has them by node."""
    found = record.get("allocation")
    if isinstance(found, Mapping):
        return _json_allocation(found)
    cpus: dict[str, int] = {}
    memory: dict[str, float] = {}
    if isinstance(found, list):
        for part in found:
            for name in values.host_list(part.get(BY_NODE)):
                cpus[name] = sum(1 for _ in values.host_list(f"[{part.get('CPU_IDs', '')}]"))
                memory[name] = values.amount_of(part.get("Mem")) or 0.0
        return cpus, memory
    return dict.fromkeys(values.host_list(record.get("nodes")), 0), memory


def _json_allocation(found: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, float]]:
    """Return listed cores (negative: cores, not CPUs) and MB by node, from ``job_resources``."""
    cpus: dict[str, int] = {}
    memory: dict[str, float] = {}
    nodes = found.get("nodes")
    listed = nodes.get("allocation") if isinstance(nodes, Mapping) else found.get("allocated_nodes")
    for part in listed or ():
        name = str(part.get("nodename") or part.get("name"))
        counted = part.get("cpus")
        if isinstance(counted, Mapping) and values.whole(counted.get("count")):
            cpus[name] = values.whole(counted["count"]) or 0
        else:
            cpus[name] = -_cores(part.get("sockets"))
        size = part.get("memory")
        raw = size.get("allocated") if isinstance(size, Mapping) else part.get("memory_allocated")
        memory[name] = values.amount_of(raw) or 0.0
    if not cpus and not isinstance(nodes, Mapping):
        cpus = dict.fromkeys(values.host_list(nodes), 0)
    return cpus, memory


def _cores(sockets: Any) -> int:
    """Return the allocated cores of a node."""
    parts = sockets.values() if isinstance(sockets, Mapping) else sockets or ()
    total = 0
    for socket in parts:
        cores = socket.get("cores") or ()
        for core in cores.values() if isinstance(cores, Mapping) else cores:
            status = core.get("status") if isinstance(core, Mapping) else core
            total += any("allocated" in word for word in values.words(status))
    return total


#: States of a node that Slurm marks behind its state.
_MARKS = {
    "*": "not_responding", "@": "reboot_requested", "^": "reboot_issued", "$": "maint",
    "!": "power_down", "%": "powering_down", "~": "powered_down",
}  # fmt: skip


def node_of(record: SlurmRecord) -> SlurmNode:
    """Return one node; raises ValueError for an unreadable value."""
    get = record.get
    apart = values.amount_of(get("memory set apart")) or 0.0
    memory, used = values.amount_of(get("memory")), values.whole(get("cpus used"))
    facts, cpus = record.facts(), values.whole(get("cpus")) or values.whole(get("usable cpus"))
    threads, total = facts["threads"], cpus or used or 1
    listed = values.text(get("cpus set apart"))
    cores = {int(cpu) // threads for cpu in values.host_list(listed and f"[{listed}]")}
    away = (values.whole(get("cores set apart")) or len(cores)) * threads
    usable = values.whole(get("usable cpus")) or max(1, total - away)
    unclear = (("cpus set apart", f"{away} of {total}"),) if away and usable == total else ()
    marks = [word for mark, word in _MARKS.items() if mark in str(get("state"))]
    others = ("gres", "features", "threads", "cores per socket")
    unread = [what for what in others if record.lacks(what)]
    unread += [what for what, amount in (("cpus", cpus), ("memory", memory)) if not amount]
    return SlurmNode(
        **facts,
        state=(*values.words(get("state")), *values.words(get("state flags")), *marks),
        cpus=usable,
        memory=max(0.0, (memory or 0.0) - apart),
        unread=tuple(unread),
        gres_used=values.gres(get("gres in use")) or _gres_of_tres(get("tres in use")),
        named=(*record.named(), *unclear),
    )


#: Flags of a partition in JSON (26.05) that no method takes into account.
_PARTITION_FLAGS = frozenset({"lln", "req_resv", "exclusive_user", "exclusive_topo", "root_only"})


def partition_of(record: SlurmRecord) -> SlurmPartition:
    """Return one partition; raises ValueError for an unreadable value."""
    get = record.get
    named = [*record.named()]
    zero = ("default time", "max time", "max nodes", "cpus of a node")
    named += [(what, "0") for what in zero if values.seconds(get(what)) == 0]
    flags = values.words(get("flags"))
    named += [(f"flag {flag}", "JSON") for flag in flags if flag in _PARTITION_FLAGS]
    sharing, exclusive = get("sharing"), values.text(get("exclusive")).upper()
    shown = ",".join(sharing).upper() if isinstance(sharing, list) else values.text(sharing)
    # JSON before 26.05 has no jobs on a CPU of an exclusive partition.
    if exclusive == "NODE" or (not exclusive and values.whole(get("jobs of a cpu")) == 0):
        shown = "EXCLUSIVE"
    elif exclusive not in ("", "NO"):
        named.append((f"nodes of one {exclusive.lower()}", "Exclusive"))
    state = (*values.words(get("state")), "up")[0]
    nodes = get("nodes")
    return SlurmPartition(
        **record.facts(),
        nodes=None if nodes is None else values.host_list(nodes),
        default=values.truth(get("default") or "no") or "default" in flags,
        cpus_per_node=values.whole(get("cpus of a node")) or None,
        sharing=shown or "NO",
        up=state in ("up", "drain"),
        open=state not in ("drain", "inactive"),
        named=tuple(named),
        preempt_mode=values.text(get("preemption")).replace("CLUSTER_GLOBAL", ""),
        job_factor=values.whole(get("job factor")) or 0,
    )


def reservation_of(record: SlurmRecord, zone: tzinfo | None) -> SlurmReservation:
    """Return one reservation; raises ValueError for an unreadable value."""
    facts = record.facts(zone)
    if facts["start"] is None or facts["end"] is None:
        raise ValueError("the reservation has no start or end: give scontrol show reservation")
    flags = tuple(flag.upper() for flag in values.listed(record.get("flags")))
    kinds = ("users", "accounts", "groups", "partitions", "qos")
    admits = {kind: names for kind in kinds if (names := values.listed(record.get(kind)))}
    users = admits.get("users", ("all",))
    if admits.keys() - {"users"} or any(name.startswith("-") for name in users):
        users = ("all",)
    return SlurmReservation(**facts, flags=flags, users=users, admits=admits)
