"""Jobs and nodes in the default forms of Slurm's ``squeue`` and ``sinfo``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ...model.cluster import DEAD_STATUSES, Host
from ...model.display import DAY, HOUR, MINUTE
from ...model.job import ArraySpec, Job, ranges_of
from ...model.pending import Pending
from ...model.resreq import effective_requirement
from ...model.resreq.syntax import Simple
from ...model.shares import queue_hosts
from ...model.slurm_partitions import partitions_of
from ...model.slurm_words import job_id
from ...solver.scheduler.history import Snapshot
from ..selection import ViewOptions
from ..tables import lower_keys, text_table, view_text
from .hosts import numbers as host_numbers
from .jobs import ShownJob, selected

QUEUE_COLUMNS = (
    *("JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"),
)
NODE_COLUMNS = ("PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST")
#: States of nodes in the order of rows.
STATES = ("drain", "drng", "mix", "alloc", "idle", "down")
#: Reasons in Slurm's words; any other is that of the first job, or Priority.
_REASONS = {
    Pending.START_TIME: "BeginTime",
    Pending.DEPENDENCY: "Dependency",
    Pending.DEPENDENCY_NEVER: "DependencyNeverSatisfied",
    Pending.ARRAY_ELEMENTS: "JobArrayTaskLimit",
    Pending.QUEUE_INACTIVE: "PartitionInactive",
    Pending.RESERVATION_INACTIVE: "Reservation",
}
#: A reason of Slurm that is a word, as squeue prints it.
_WORD = re.compile(r"[A-Z][A-Za-z]+")
#: Number at the end of the name of a node.
_NUMBER = re.compile(r"\d+$", re.ASCII)


def squeue(snapshot: Snapshot, asked: ViewOptions) -> str:
    """Return pending jobs by priority, then running jobs, a row each as ``squeue`` has them."""
    found = selected(snapshot, asked)
    rows = [*_pending_rows(snapshot, [item.job for item in found if item.status == "PEND"])]
    rows += [_running_row(snapshot, item) for item in found if item.status in ("RUN", "USUSP")]
    return text_table(QUEUE_COLUMNS, rows, "><<<<>><")


def _pending_rows(snapshot: Snapshot, jobs: list[Job]) -> Iterator[tuple[Any, ...]]:
    instance = snapshot.instance
    place = {job.id: number for number, job in enumerate(instance.pending)}
    wanted, first = {job.id for job in jobs}, set[str]()
    found: list[tuple[Job, str]] = []
    for job in sorted(instance.pending, key=lambda job: (-(job.priority or 0), place[job.id])):
        word = _reason(snapshot, job, first)
        if job.id in wanted:
            found.append((job, word))
    for _, alike in groupby(found, key=lambda item: (item[0].array_id or item[0].id, item[1])):
        items = list(alike)
        job, word = items[0]
        requirement = effective_requirement(instance, job).requirement
        span = requirement.span if isinstance(requirement, Simple) else None
        tile = None if span is None else span.ptile
        nodes = -(-job.slots // tile) if isinstance(tile, int) and tile > 0 else 1
        partitions = ",".join(partitions_of(instance, job.queue))
        number = _id_text([item for item, _ in items])
        yield (number, partitions, job.name or None, job.user, "PD", "0:00", nodes, f"({word})")


def _id_text(jobs: Sequence[Job]) -> str:
    """Return the id of a job, ``26_[3-10%2]`` for elements of an array."""
    job = jobs[0]
    indices = {item.array_index for item in jobs if item.array_index is not None}
    if len(jobs) == 1 or job.array_id is None:
        return job_id(job.id)
    limit = "" if job.array_limit is None else f"%{job.array_limit}"
    numbers = str(ArraySpec(ranges_of(indices), None)).strip("[]")
    return f"{job.array_id}_[{numbers}{limit}]"


def _reason(snapshot: Snapshot, job: Job, first: set[str]) -> str:
    """Return why a job is pending: Slurm's own reason at its instant, else by the simulation.

    first: partitions of which a job waits for resources already.
    """
    kinds = [reason.kind for reason in snapshot.waiting[job.id].reasons]
    word = next((_REASONS[kind] for kind in kinds if kind in _REASONS), "")
    if not word:
        word = "Priority" if job.queue in first else "Resources"
        first.add(job.queue)
    said = next((item for item in snapshot.instance.lsf_says if item.job == job.id), None)
    return said.reason if said is not None and _WORD.fullmatch(said.reason) else word


def _running_row(snapshot: Snapshot, run: ShownJob) -> tuple[Any, ...]:
    job, instance = run.job, snapshot.instance
    state = "S" if run.status == "USUSP" else "R"
    elapsed = elapsed_text(instance.now - (run.start or 0))
    partitions = ",".join(partitions_of(instance, job.queue))
    head = (job_id(job.id), partitions, job.name or None, job.user, state, elapsed)
    return (*head, len(run.hosts), node_list(run.hosts))


def node_list(names: Iterable[str]) -> str:
    """Return names of nodes as Slurm writes them: ``n[1,3-6],login``."""
    parted = [(name[: len(name) - len(number)], number) for name, number in map(_numbered, names)]
    padded = {prefix for prefix, number in parted if number.startswith("0")}
    by_form: dict[tuple[str, int], list[str]] = {}
    for prefix, number in parted:
        by_form.setdefault((prefix, len(number) if prefix in padded else 0), []).append(number)
    return ",".join(
        f"{prefix}{parts[0]}" if len(parts) == 1 else f"{prefix}[{','.join(_ranges(parts))}]"
        for (prefix, _), parts in by_form.items()
    )


def _numbered(name: str) -> tuple[str, str]:
    """Return a name with the number at its end, "" if it has none."""
    found = _NUMBER.search(name)
    return name, found[0] if found is not None else ""


def _ranges(digits: Sequence[str]) -> Iterator[str]:
    """Yield numbers of one width as ranges: ``1``, ``3-6``."""
    ordered = sorted(digits, key=int)
    for _, run in groupby(enumerate(ordered), key=lambda item: int(item[1]) - item[0]):
        parts = [text for _, text in run]
        yield parts[0] if len(parts) == 1 else f"{parts[0]}-{parts[-1]}"


def elapsed_text(seconds: int) -> str:
    """Return a time as squeue prints it: ``1-02:03:04``, ``2:03:04`` or ``3:04``."""
    days, rest = divmod(seconds, DAY)
    hours, rest = divmod(rest, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{rest:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def sinfo(snapshot: Snapshot, asked: ViewOptions) -> str:
    """Return the nodes of each partition by their states, as ``sinfo`` has them."""
    instance = snapshot.instance
    states = {host.name: node_state(snapshot, host) for host in instance.cluster.hosts}
    rows: list[tuple[Any, ...]] = []
    for queue in instance.queues:
        if len(partitions_of(instance, queue.name)) > 1:
            continue
        name = f"{queue.name}{'*' * (instance.params.default_queue == queue.name)}"
        limit = queue.run_limit_max if queue.run_limit_max is not None else queue.run_limit
        time = "infinite" if limit is None else elapsed_text(limit)
        nodes = [node for node in queue_hosts(instance.cluster, queue) if asked.wants(node)]
        for state in STATES:
            found = [node for node in nodes if states[node] == state]
            if found:
                up = "up" if queue.active else "inact"
                rows.append((name, up, time, len(found), state, node_list(found)))
    return text_table(NODE_COLUMNS, rows, "<>>>><")


def node_state(snapshot: Snapshot, host: Host) -> str:
    """Return the state of a node in the short words of sinfo."""
    found = host_numbers(snapshot, host)
    alone = any(
        run.job.exclusive and host.name in run.allocation for run in snapshot.instance.running
    )
    used = host.slots if alone else int(found["RUN"] + found["USUSP"])
    if host.status in DEAD_STATUSES:
        return "down"
    if host.status != "ok":
        return "drng" if used else "drain"
    return "alloc" if used >= host.slots else "mix" if used else "idle"


COLUMNS = ("Account", "User", "RawShares", "NormShares", "RawUsage", "EffectvUsage", "FairShare")
#: Column of -l: only Fair Tree has it.
LEVEL = "LevelFS"
NO_SHARES = (
    "No association is known: fairshare is not part of priorities, or the instance was made "
    "without sshare -a -l -P.\n"
)


def sshare(snapshot: Snapshot, asked: ViewOptions, format: str) -> str:
    """Return accounts and their users with shares and usage at the last computation."""
    use = snapshot.order.priorities.use
    if use is None:
        return view_text(format, COLUMNS, [], "", NO_SHARES)
    use.advance(snapshot.instance.now)
    level = asked.long and use.rule.is_fair_tree
    columns = (*COLUMNS, *((LEVEL,) if level else ()))
    rows = []
    for number, (item, found) in enumerate(zip(use.tree.associations, use.shares(), strict=True)):
        if not (asked.wants(item.account) or asked.wants(item.user)):
            continue
        indent = "" if format != "text" else " " * (len(use.tree.chain(number)) - 1)
        shares = "parent" if item.shares is None else item.shares
        rows.append(
            {
                "Account": f"{indent}{item.account}",
                "User": item.user,
                "RawShares": None if use.tree.parent[number] is None else shares,
                "NormShares": _fraction(found.norm_shares),
                "RawUsage": int(use.usage[number]),
                "EffectvUsage": _fraction(found.effective_usage),
                "FairShare": _fraction(found.factor),
                **({LEVEL: _fraction(found.level)} if level else {}),
            }
        )
    whole = ({key: _number(value) for key, value in row.items()} for row in lower_keys(rows))
    return view_text(format, columns, rows, "<<" + ">" * (len(columns) - 2), whole=whole)


def _fraction(value: float | None) -> str | None:
    """Return six digits behind the point, ``inf`` for infinity."""
    if value is None:
        return None
    return "inf" if math.isinf(value) else f"{value:.6f}"


def _number(value: Any) -> Any:
    """Return a printed fraction as a number; infinity stays a text."""
    if isinstance(value, str) and value.count(".") == 1:
        return float(value)
    return value
