"""An instance of what Slurm's commands printed.

Where no input lists the CPUs of a running job by node, they are spread over its nodes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ... import slurm_values as values
from ...display import some
from ...errors import InputError, bounded
from ...instance import Instance, SaidByLsf
from ...job import LARGEST_INDEX, NO_RUN_LIMIT, ArraySpec, Job, RunningJob, elements, parse_spec
from ...omissions import Omission
from ...slurm_version import LAST_READ, PRINTS_FIRST_TASK, version_number
from ..lsf_state.acceptable import acceptable
from ..lsf_state.assemble import MAX_OF_A_REASON
from ..lsf_state.values import Remarks, fit_to_write
from .conditions import NeverSatisfied, condition_of
from .limits import Binding, limits_of
from .preemption import preemptions
from .priorities import PriorityCheck, associations_of, set_directly
from .reasons import NEVER_SATISFIED, why_never
from .requests import licence_counts, requested_of
from .reservations import SlurmReservations
from .seen import SlurmJob, SlurmLicence, SlurmNode, SlurmState
from .several_partitions import (
    BEHIND,
    BEHIND_HET,
    BEHIND_LEFT,
    JobAhead,
    PartitionGroups,
    behind_others,
    in_taking,
    omitted_of,
)
from .site import (
    MAX_PRIORITY,
    PARTS_OF_GPUS,
    SlurmSite,
    cluster_of,
    count_of,
    facts_of,
    gres_resource,
    licence_name,
    params_of,
    queues_of,
)

#: CPUs of each running job by node; 0: the input names the node without a number.
Listed = Mapping[str, Mapping[str, int]]


def shared_out(
    listed: Listed, totals: Mapping[str, int], nodes: Mapping[str, SlurmNode], unit: int
) -> dict[str, dict[str, int]]:
    """Return the CPUs of each job by node, with numbers for those that have none.

    Each job gets its total. A node holds no more than it has in use, or than its CPUs if its use
    is not known: the next core goes to the node with the most CPUs left. Jobs on fewer nodes are
    first. totals: CPUs of each job. unit: CPUs that are allocated together (a core).
    """
    found = {job: dict(held) for job, held in listed.items()}
    left = {
        name: node.cpus if node.cpus_used is None else min(node.cpus, node.cpus_used)
        for name, node in nodes.items()
    }
    for held in found.values():
        for name, count in held.items():
            left[name] -= count
    open_nodes = {job: [name for name, n in held.items() if not n] for job, held in found.items()}
    for job in sorted(found, key=lambda job: len(open_nodes[job])):
        names = open_nodes[job]
        total = max(totals[job] - sum(found[job].values()), len(names))
        for name in names:  # a job has at least one core on each of its nodes
            share = min(unit, total)
            found[job][name] = max(1, share)
            left[name] -= found[job][name]
            total -= share
        while names and total > 0:
            share = min(unit, total)
            name = max(names, key=lambda name: left[name])
            found[job][name] += share
            left[name] -= share
            total -= share
    return found


_RUNNING = frozenset(
    {"running", "completing", "configuring", "suspended", "resizing", "stopped", "signaling",
     "stage_out", "staging_out"}
)  # fmt: skip
_PENDING = frozenset({"pending", "requeued", "requeue_hold", "special_exit", "requeue_fed"})
#: Planned tasks of an array in a cycle (bf_max_job_array_resv).
_PLANNED_TASKS = 20


@dataclass(slots=True)
class AssembledSlurm:
    """An instance of what was printed, and the notes on it."""

    #: Instance made from the printed state.
    instance: Instance
    #: Remarks and omissions.
    notes: Remarks


@bounded("what Slurm printed")
def assemble(seen: SlurmState, now: datetime) -> AssembledSlurm:
    """Return the instance at `now`, its second 0; raises InputError with all errors."""
    notes = Remarks()
    if not seen.nodes:
        raise InputError(
            "no input lists the nodes: give sinfo --json (22.05) or scontrol show node"
        )
    notes += seen.ignored.sentences()
    for text in seen.missing:
        notes.touch(text, mark="fit")
    facts = facts_of(seen, notes)
    for kind, names in sorted(seen.unknown.items()):
        notes.touch(f"{kind} fields that no version up to {LAST_READ} has: {some(sorted(names))}")
    longest = {item.name: item.max_time if item.up else -1 for item in seen.partitions}
    jobs = [in_taking(job, longest) if is_pending(job) else job for job in seen.jobs]
    seen = replace(seen, jobs=jobs)
    bound = limits_of(seen, notes)
    groups = PartitionGroups(seen)
    for job in filter(is_pending, seen.jobs):
        groups.of(job)
    queues = queues_of(seen, groups, notes)
    base = Instance(
        cluster_of(seen, facts, groups, notes),
        queues=queues,
        limits=tuple(bound.limits),
        params=params_of(seen, facts),
        associations=associations_of(seen),
        slurm_limits=bound.for_new,
        origin=now.isoformat(),
    )
    builder = _SlurmJobs(seen, facts, bound, groups, now, notes)
    running, pending = builder.running(), builder.pending()
    instance = replace(
        base,
        running=running,
        pending=pending,
        advance_reservations=tuple(builder.reservations.made.values()),
        lsf_says=tuple(builder.said({job.id for job in pending})),
    )
    _check_use(instance, seen, notes)
    # Nodes that are reserved now, by a reservation that no input has.
    listed = {name for item in seen.reservations for name in item.nodes}
    flagged = {node.name for node in seen.nodes if "reserved" in node.state}
    if missing := sorted(flagged - listed):
        notes.touch(f"the reservation of {some(missing)}, which no input lists", hosts=missing)
    PriorityCheck(instance, seen, notes).run()
    made = acceptable(instance, notes)
    omissions = fit_to_write((*made.omissions, *notes.omissions))
    return AssembledSlurm(replace(made, omissions=omissions), notes)


def is_running(job: SlurmJob) -> bool:
    """Return whether a job has nodes."""
    return not _RUNNING.isdisjoint(job.state) and bool(job.allocation)


def is_pending(job: SlurmJob) -> bool:
    """Return whether a job is pending."""
    return not _PENDING.isdisjoint(job.state) and "completing" not in job.state


class _SlurmJobs:
    """Converter of Slurm's jobs; what is not modelled becomes notes."""

    def __init__(
        self,
        seen: SlurmState,
        facts: SlurmSite,
        bound: Binding,
        groups: PartitionGroups,
        now: datetime,
        notes: Remarks,
    ) -> None:
        self.seen, self.facts, self.bound = seen, facts, bound
        self.groups, self.notes = groups, notes
        self.reservations = SlurmReservations(seen, now, notes)
        self.zero = self.reservations.zero
        self.set_directly = set_directly(seen.priorities)
        self.listed: defaultdict[str, list[SlurmJob]] = defaultdict(list)
        for job in seen.jobs:
            if is_running(job) or is_pending(job):
                self.listed[job.id].append(job)
        #: Rules that are not modelled, by pending job.
        self.omitted: defaultdict[str, list[Omission]] = defaultdict(list)
        #: Generic resources that running jobs are taken to hold, by node and kind.
        self.held: Counter[tuple[str, str]] = Counter()
        #: Jobs that are omitted from the pending ones, by the reason.
        self.left: defaultdict[str, list[str]] = defaultdict(list)
        #: Number subtracted from priorities: priority/basic counts down from 2**32, the model
        #: allows 2**31.
        self.priority_shift = (
            2**31 if any((job.priority or 0) > MAX_PRIORITY for job in seen.jobs) else 0
        )
        #: Last element of each array that waits, by its record.
        self.shown_task: dict[str, str] = {}

    def running(self) -> tuple[RunningJob, ...]:
        """Return the jobs that have nodes."""
        running = [job for job in self.seen.jobs if is_running(job)]
        held = self._allocations(running)
        found = tuple(self._run(job, held[job.full_id]) for job in running if held[job.full_id])
        self._check_gres()
        return found

    def _check_gres(self) -> None:
        """Note nodes with more generic resources in use than the jobs that were read hold."""
        for kind in sorted(self._consumed()):
            unequal = [
                node.name
                for node in self.seen.nodes
                if count_of(node.gres_used, kind) > self.held[node.name, kind]
            ]
            if unequal:
                self.notes.touch(
                    f"more {_shown(kind)} are in use on {some(unequal)} than the running jobs have",
                    hosts=unequal, resources=(_counted(kind),),
                )  # fmt: skip

        self._check_devices()

    def _check_devices(self) -> None:
        """Note nodes whose GPUs have parts in use or asked for, for jobs that ask for GPUs."""
        wanted = {name for node in self.seen.nodes for name, n in node.gres_used.items() if n}
        for job in filter(lambda job: is_running(job) or is_pending(job), self.seen.jobs):
            size, held = job.size, job.gres_by_node.values()
            wanted.update(size.gres_per_node, size.gres_per_job, size.gres_per_task)
            wanted.update(job.gres_held, *held)
        for kind in sorted(_kinds(wanted).intersection(PARTS_OF_GPUS)):
            if names := [node.name for node in self.seen.nodes if count_of(node.gres, kind)]:
                text = f"which GPUs of {some(names)} belong to the {kind} of its jobs"
                self.notes.touch(text, hosts=names, resources=("gpu",))

    def _run(self, seen: SlurmJob, allocation: dict[str, int]) -> RunningJob:
        past = seen.end is not None and seen.end <= self.zero
        known = seen.limit is not None or seen.end is not None  # defaults are for jobs that wait
        if not known or (past and math.isinf(self._over_limit(seen))):
            seen = replace(seen, limit=math.inf)
        gpus = self._gpus(seen, allocation)
        job = replace(
            self._common(seen),
            slots=sum(allocation.values()),
            res_req=self._held(seen, allocation, gpus),
            gpu=f"num={gpus}/host" if gpus else "",
            exclusive=seen.sharing == "none" or self.facts.whole_nodes,
            reservation=self.reservations.of_running(seen, allocation),
        )
        start = self.zero if seen.start is None else seen.start
        return RunningJob(
            job,
            min(start, self.zero) - self.zero,
            allocation,
            self._finish(seen, min(start, self.zero)),
            suspended="suspended" in seen.state,
        )

    def _finish(self, seen: SlurmJob, start: int) -> int | None:
        """Return the finish that Slurm expects, None if the time limit gives it."""
        if "completing" in seen.state:
            return 1
        ends = None if seen.limit is None else start + seen.limit
        if ends == math.inf or (end := ends if seen.end is None else seen.end) is None:
            return None
        if end <= self.zero:  # KillWait and OverTimeLimit are still to come
            wait = values.number((self.seen.settings.get("killwait") or "30").split()[0]) or 0
            return max(1, int(end + wait + self._over_limit(seen)) - self.zero)
        return None if end == ends else int(end) - self.zero

    def _over_limit(self, seen: SlurmJob) -> float:
        """Return the seconds by which a job may run beyond its time limit (OverTimeLimit)."""
        more = values.seconds((self.seen.settings.get("overtimelimit") or "0").split()[0])
        for name in seen.partitions:
            own = self.facts.partitions.get(name)
            more = more if own is None or own.over_limit is None else own.over_limit
        return more or 0.0

    def _allocations(self, running: Sequence[SlurmJob]) -> dict[str, dict[str, int]]:
        """Return the CPUs of each running job by node, from cores or from all CPUs if no input
        lists them.
        """
        listed: dict[str, dict[str, int]] = {}
        for job in running:
            held = listed[job.full_id] = {}
            for name, count in job.allocation.items():
                node = self.facts.nodes.get(name)
                if node is None:
                    self.notes.touch(
                        f"job {job.full_id} uses {name}, which no input describes", mark="fit"
                    )
                    continue
                held[name] = -count * node.threads if count < 0 else count
            unknown = [name for name, count in held.items() if not count]
            if len(unknown) > 1:
                self.notes.touch(
                    f"CPUs of job {job.full_id} per node: estimated from the use of its nodes "
                    f"(give squeue --json or scontrol show job -d)", hosts=unknown
                )  # fmt: skip
        totals = {job.full_id: job.size.cpus for job in running}
        found = shared_out(listed, totals, self.facts.nodes, self.facts.unit)
        self._share_cpus([found[job.full_id] for job in running if "suspended" not in job.state])
        return found

    def _share_cpus(self, held: Sequence[dict[str, int]]) -> None:
        """Lower the CPUs of jobs that share them (OverSubscribe=FORCE) to those of each node."""
        used = Counter[str]()
        for allocation in held:
            used.update(allocation)
        for name, count in used.items():
            over = count - self.facts.nodes[name].cpus
            if over > 0:
                self.notes.touch(
                    f"running jobs use {count} CPUs of {name}, which has {count - over}: treated "
                    "as all in use until the last of them ends",
                    hosts=(name,),
                )
            for allocation in held:
                less = min(over, allocation.get(name, 1) - 1)
                if less > 0:
                    allocation[name] -= less
                    over -= less

    def _held(self, seen: SlurmJob, allocation: dict[str, int], gpus: int) -> tuple[str, ...]:
        """Return memory, generic resources and licences of a running job with GPUs on each
        node.
        """
        uses = []
        memory = {name: seen.memory.get(name, 0.0) for name in allocation}
        if not any(memory.values()) and self.facts.has_memory:
            total = _memory_of(seen, len(allocation), sum(allocation.values()))
            memory = dict.fromkeys(allocation, total / max(1, len(allocation)))
        if self.facts.has_memory and any(memory.values()):
            most = max(memory.values())
            if len(set(memory.values())) > 1:
                per_slot = {memory[name] / allocation[name] for name in allocation}
                if len(per_slot) == 1:
                    uses.append(f"mem={per_slot.pop():g}/task")
                else:
                    uses.append(f"mem={most:g}/host")
                    self.notes.touch(
                        f"memory of job {seen.full_id} differs between nodes: {most:g} MB is "
                        "assumed on each", hosts=tuple(allocation), resources=("mem",)
                    )  # fmt: skip
            else:
                uses.append(f"mem={most:g}/host")
        names = (*seen.gres_held, *(name for held in seen.gres_by_node.values() for name in held))
        parts = {kind: part * gpus for kind, part in self.facts.parts_of_gpu.items() if gpus}
        for name in sorted((_kinds(names) & self._consumed() - {"gpu"}) | parts.keys()):
            if share := self._on_each(seen, allocation, name) + parts.get(name, 0):
                uses.append(f"{gres_resource(name)}={share}/host")
        uses += [
            f"{licence_name(name)}={count}/job" for name, count in licence_counts(seen.licences)
        ]
        return (f"rusage[{':'.join(uses)}]",) if uses else ()

    def _consumed(self) -> set[str]:
        return _kinds(name for node in self.seen.nodes for name in node.gres)

    def _gpus(self, seen: SlurmJob, allocation: dict[str, int]) -> int:
        share = self._on_each(seen, allocation, "gpu")
        by_socket = dict(seen.named).get("tres per socket", "")
        if not share and by_socket:
            self.notes.touch(
                f"GPUs of job {seen.full_id} ({by_socket} per socket): no GPUs are assumed",
                hosts=tuple(allocation), resources=("gpu",),
            )  # fmt: skip
        return share

    def _on_each(self, seen: SlurmJob, allocation: dict[str, int], kind: str) -> int:
        """Return how much of a generic resource a running job is taken to have on each node.

        Nodes of which that may be too much are named.
        """
        if not allocation:
            return 0
        total = count_of(seen.gres_held, kind)
        by_node = {name: count_of(seen.gres_by_node.get(name, {}), kind) for name in allocation}
        share, rest = divmod(total, len(allocation))
        share, less = share + bool(rest), list(allocation) if rest else []
        if any(by_node.values()):
            share = max(by_node.values())
            less = [name for name, count in by_node.items() if count < share]
        if less:
            self.notes.touch(
                f"{_shown(kind)} of job {seen.full_id} per node: {share} on each is assumed",
                hosts=tuple(less), resources=(_counted(kind),),
            )  # fmt: skip
        self.held.update(dict.fromkeys(((name, kind) for name in allocation), share))
        return share

    def pending(self) -> tuple[Job, ...]:
        """Return the jobs that wait for nodes, in Slurm's order."""
        found: list[Job] = []
        for seen in self.seen.jobs:
            if is_pending(seen):
                found += self._waiting(seen)
        het = {seen.full_id: seen.het for seen in self.seen.jobs}
        for omission, ahead in self._uncertain():
            for name in behind_others(self.groups, ahead, found, het):
                self.omitted[name].append(omission)
        for name, text in preemptions(self.seen, self.groups.nodes, found):
            self.omitted[name].append(Omission(text))
        for what, ids in self.left.items():
            text = f"omitted {len(ids)} pending job(s), {some(ids)}: {what}"
            self.notes.unplanned(text, ids, what)
        for item, ids in self._by_omission().items():
            self.notes.omissions.append(replace(item, jobs=tuple(ids), count=len(ids)))
            jobs = f"job{'s' * (len(ids) > 1)} {some(ids)}"
            self.notes.append(f"{jobs}: not modelled: {item.what}")
        return tuple(found)

    def _uncertain(self) -> Iterator[tuple[Omission, list[JobAhead]]]:
        """Yield the pending jobs that take nodes at another time or place than planned, by the
        omission of jobs behind them.
        """
        kinds: dict[Omission, list[JobAhead]] = {BEHIND: [], BEHIND_HET: [], BEHIND_LEFT: []}
        for seen in filter(is_pending, self.seen.jobs):
            ahead = JobAhead(seen, self._priority(seen), seen.partitions)
            group = self.groups.of(seen)
            is_left = self.reservations.can_start_elsewhere(seen.reservation) or (
                self.reservations.attracting(seen)
            )
            if seen.held or why_never(seen):
                continue
            if is_left:
                kinds[BEHIND_LEFT].append(ahead)
            elif seen.het:
                kinds[BEHIND_HET].append(ahead)
            elif group is not None and not group.alike:
                kinds[BEHIND].append(replace(ahead, partitions=group.names))
        yield from kinds.items()

    def _by_omission(self) -> Mapping[Omission, list[str]]:
        found: defaultdict[Omission, list[str]] = defaultdict(list)
        for job, omissions in self.omitted.items():
            for item in dict.fromkeys(omissions):
                found[item].append(job)
        return found

    def _why_left(self, seen: SlurmJob) -> str:
        """Return why a pending job cannot start by itself, "" if it can."""
        if seen.held:
            return "held (scontrol release)"
        return self.reservations.why_left(seen.reservation) or why_never(seen) or self._beyond(seen)

    def _beyond(self, seen: SlurmJob) -> str:
        """Return that a job requests more nodes than a limit allows, "" if it does not."""
        most = self.bound.rows.max_nodes(seen) if self.bound.rows else None
        is_beyond = most is not None and seen.size.nodes > most
        return f"a limit of its QOS or account allows {most} node(s)" if is_beyond else ""

    def _waiting(self, seen: SlurmJob) -> tuple[Job, ...]:
        why = self._why_left(seen)
        notes: list[str] = []
        condition = ""
        try:
            condition = condition_of(seen, self.listed, notes)
        except NeverSatisfied:
            why = why or NEVER_SATISFIED
        if why:
            self.left[why].append(seen.full_id)
            return ()
        seen = self.bound.rows.within_nodes(seen) if self.bound.rows else seen
        requested = requested_of(seen, self.facts)
        begin = seen.eligible
        notes += self.reservations.notes_on(seen)
        if seen.het:
            notes.append(
                f"the common start of the components of heterogeneous job {seen.het}: each is "
                f"planned separately, as in a cycle of Slurm"
            )
        group = self.groups.of(seen)
        planned = () if group is None else tuple(omitted_of(group, seen))
        job = replace(
            self._common(seen),
            slots=requested.slots,
            queue=self._partition(seen) if group is None else group.name,
            res_req=requested.res_req,
            exclusive=requested.exclusive,
            gpu=requested.gpu,
            hosts=requested.hosts,
            dependency=condition,
            begin=begin - self.zero if begin is not None and begin > self.zero else None,
            estimated_run_time=seen.min_limit,
            deadline=self.reservations.deadline(seen),
            reservation=seen.reservation,
        )
        made = self._elements(seen, job)
        first = version_number(self.seen.version) in PRINTS_FIRST_TASK
        shown = made[0 if first else min(len(made), _PLANNED_TASKS) - 1 :]
        self.shown_task[seen.full_id] = shown[0].id if shown else ""
        for item in made:
            self.omitted[item.id] += [*requested.omitted, *map(Omission, notes), *planned]
        return made

    def _elements(self, seen: SlurmJob, job: Job) -> tuple[Job, ...]:
        """Return the pending tasks of an array that share one record."""
        if not seen.tasks:
            return (replace(job, array_limit=seen.task_limit if job.array_id else None),)
        return elements(job, self._spec(seen))

    def _spec(self, seen: SlurmJob) -> ArraySpec:
        text = seen.tasks
        tasks, sign, limit = text.partition("%")
        if tasks.endswith("..."):  # Slurm cuts a long list, and adds the limit behind
            text = tasks.rpartition(",")[0] + sign + limit
            self.notes.touch(f"more tasks of array {seen.id}: Slurm has truncated the list")
        try:
            spec = parse_spec(text, LARGEST_INDEX, first=0)
        except ValueError as error:
            raise InputError(f"{seen.where}: array_task_string: {error}") from None
        return replace(spec, limit=spec.limit or seen.task_limit)

    def _common(self, seen: SlurmJob) -> Job:
        """Return the fields that a job has both running and pending."""
        return Job(
            seen.full_id,
            user=seen.user or "user",
            queue=self._partition(seen),
            run_limit=None if seen.limit is None else int(min(seen.limit, NO_RUN_LIMIT)),
            submit=min(0, (self.zero if seen.submit is None else seen.submit) - self.zero),
            priority=self._priority(seen),
            has_fixed_priority=seen.id in self.set_directly,
            project=self.bound.project(seen),
            name=seen.name,
        )

    def _priority(self, seen: SlurmJob) -> int:
        return max(0, (seen.priority or 0) - self.priority_shift)

    def _partition(self, seen: SlurmJob) -> str:
        return (
            seen.partitions[0]
            if seen.partitions
            else params_of(self.seen, self.facts).default_queue
        )

    def said(self, waiting: Iterable[str]) -> Iterator[SaidByLsf]:
        """Yield Slurm's reason and start by pending job, for an array those of one task."""
        known = set(waiting)
        for seen in self.seen.jobs:
            if not is_pending(seen):
                continue
            job = self.shown_task.get(seen.full_id, "")
            if job not in known:
                continue
            start = seen.start
            if seen.reason.lower() == "begintime" and start == seen.eligible:
                start = None  # a begin time is not a planned start
            reason = seen.reason_text or seen.reason
            reason = "" if reason == "None" else reason
            if reason or start is not None:
                at = None if start is None else start - self.zero
                yield SaidByLsf(job, reason[:MAX_OF_A_REASON], at)


def _kinds(names: Iterable[str]) -> set[str]:
    """Return the kinds of generic resources: ``gpu`` for ``gpu:a100``."""
    return {name.partition(":")[0] for name in names}


def _shown(kind: str) -> str:
    return "GPUs" if kind == "gpu" else kind


def _counted(kind: str) -> str:
    """Return the resource of the model that counts a kind of generic resources."""
    return kind if kind == "gpu" else gres_resource(kind)


def _memory_of(seen: SlurmJob, nodes: int, cpus: int) -> float:
    """Return the total memory (MB) of a running job, from its request."""
    if seen.size.memory_per_cpu:
        return seen.size.memory_per_cpu * cpus
    if seen.size.memory_per_gpu:
        return seen.size.memory_per_gpu * count_of(seen.gres_held, "gpu")
    return (seen.size.memory_per_node or 0.0) * nodes


def _total(item: SlurmLicence) -> str:
    return "unlimited" if item.total == values.UNLIMITED else f"{item.total:g}"


def _check_use(instance: Instance, seen: SlurmState, notes: Remarks) -> None:
    """Note nodes whose CPUs or memory in use differ from the sum of the jobs that were read; of
    jobs without details of each node, memory that none of them has.
    """
    known = {job.full_id: job for job in seen.jobs}
    cpus, memory = Counter[str](), Counter[str]()
    has_details = any(job.memory for job in seen.jobs)
    for run in instance.running:
        job, total = known[run.job.id], sum(run.allocation.values())
        cpus.update(run.allocation)
        for name, count in run.allocation.items():
            part = count / total if job.size.memory_per_cpu else 1 / len(run.allocation)
            most = math.ceil(_memory_of(job, len(run.allocation), total) * part)
            memory[name] += round(job.memory.get(name, 0)) if has_details else most
    for what, used, of_nodes, is_exact, only in (
        ("how many CPUs are", cpus, {n.name: n.cpus_used for n in seen.nodes}, True, ()),
        ("how much memory is", memory, {n.name: n.memory_used for n in seen.nodes},
         has_details, ("mem",)),
    ):  # fmt: skip
        unequal = [
            name
            for name, n in of_nodes.items()
            if n is not None and (round(n) > used[name] or (is_exact and round(n) != used[name]))
        ]
        if unequal:
            text = f"nodes and running jobs disagree on {what} in use: {some(unequal)}"
            notes.touch(text, hosts=unequal, resources=only)
    held: Counter[str] = Counter()
    for job in filter(is_running, seen.jobs):
        for name, count in licence_counts(job.licences):
            held[name] += count
    for name, layers in seen.licences_by_name().items():
        if any(item.nodes for item in layers):
            shown = ", ".join(f"{_total(item)} on {item.nodes}" for item in layers)
            found = [f"hierarchical licence {name} ({shown}): modelled as one pool"]
        else:
            item = layers[-1]
            others = item.used - held[name]
            away = item.reserved + item.deficit
            found = [f"{away:g} of {_total(item)} licences {name} are reserved"] if away else []
            if others > 0:
                found.append(
                    f"{others:g} of {_total(item)} licences {name} are in use, but by no job "
                    f"that was read"
                )
        for text in found:
            notes.touch(text, resources=(licence_name(name),))


def order_of(jobs: Sequence[SlurmJob]) -> list[SlurmJob]:
    """Return records in order, without earlier records of an equal key."""
    return list({job.full_id: job for job in jobs}.values())
