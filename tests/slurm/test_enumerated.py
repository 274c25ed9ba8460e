"""Proved starts of small Slurm queues, in four forms, against every schedule that there is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pytest
import slotwise as sw
from sampling import some

from tests.slurm.test_import import instance_of

pytestmark = pytest.mark.behaviour("SLU-01")
NOW = 1772445600
NODES = ("n1", "n2", "n3")
CPUS, LICENCES = 4, 2
#: The text of two versions, and JSON that has or lacks how a job shares its nodes.
FORMS = ("25.11.7", "26.05.3", "v0.0.42", "v0.0.45")
#: CPUs by node.
Placement = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Asked:
    """A job as sbatch takes it; lengths and ends in minutes from now."""

    id: int
    tasks: int
    minutes: int
    nodes: int = 1
    #: Whether it has no other number of nodes (-N).
    is_fixed: bool = False
    #: --ntasks-per-node, 0 without it; -c; -w; -x; -L lic:n; --exclusive.
    per_node: int = 0
    cpus_per_task: int = 1
    required: str = ""
    excluded: str = ""
    licences: int = 0
    exclusive: bool = False
    #: Nodes of a running job.
    held: Placement = ()

    def placements(self) -> Iterator[Placement]:
        """Every way to place it on empty nodes."""
        names = [name for name in NODES if name != self.excluded]
        each = [n * self.cpus_per_task for n in range(1, self.tasks + 1)]
        each = [n for n in each if n <= CPUS]
        for count in range(1, len(names) + 1):
            for chosen in combinations(names, count):
                for split in splits(self.tasks * self.cpus_per_task, count, each):
                    found = tuple(zip(chosen, split, strict=True))
                    if self.allows(found):
                        yield tuple((n, CPUS if self.exclusive else c) for n, c in found)

    def allows(self, found: Placement) -> bool:
        if self.is_fixed and len(found) != self.nodes:
            return False
        if self.per_node and any(n != self.per_node * self.cpus_per_task for _, n in found):
            return False
        return not self.required or self.required in dict(found)


def splits(total: int, count: int, each: list[int]) -> Iterator[tuple[int, ...]]:
    if not count:
        if not total:
            yield ()
        return
    for first in each:
        if first <= total:
            for rest in splits(total - first, count - 1, each):
                yield (first, *rest)


#: (begin, end, placement, licences, id) of every job that has a place.
Schedule = frozenset[tuple[int, int, Placement, int, int]]


def fits(schedule: Schedule, begin: int, end: int, placement: Placement, licences: int) -> bool:
    for time in {begin, *(item[0] for item in schedule if begin < item[0] < end)}:
        there = [item for item in schedule if item[0] <= time < item[1]]
        used = dict.fromkeys(NODES, 0)
        for _, _, held, _, _ in there:
            for name, count in held:
                used[name] += count
        if any(used[name] + count > CPUS for name, count in placement):
            return False
        if licences and licences + sum(item[3] for item in there) > LICENCES:
            return False
    return True


def earliest_in_order(running: list[Asked], pending: list[Asked]) -> list[int | None]:
    """The starts of the pending jobs, each as early as every schedule with the starts before
    it allows: all of them are followed.
    """
    schedules: set[Schedule] = {
        frozenset((0, job.minutes, job.held, job.licences, job.id) for job in running)
    }
    starts: list[int | None] = []
    for job in pending:
        best, found = 10**9, set[Schedule]()
        for schedule in schedules:
            for begin in sorted({0, *(end for _, end, _, _, _ in schedule)}):
                if begin > best:
                    break
                made = [
                    schedule | {(begin, begin + job.minutes, placement, job.licences, job.id)}
                    for placement in job.placements()
                    if fits(schedule, begin, begin + job.minutes, placement, job.licences)
                ]
                if made:
                    found = found if begin == best else set()
                    best = begin
                    found.update(made)
                    break
        starts.append(60 * best if found else None)  # no place on empty nodes
        schedules = found or schedules
    return starts


def drawn(seed: int) -> tuple[list[Asked], list[Asked]]:
    """Running jobs and, in the order of their priorities, pending ones."""
    draw, running, pending = random.Random(seed), list[Asked](), list[Asked]()
    for place, name in enumerate(NODES):
        if used := draw.choice((0, 1, 2, 3, 4)):
            licences = int(draw.random() < 0.4 and sum(job.licences for job in running) < 2)
            minutes = draw.choice((5, 10, 20, 30))
            held = ((name, used),)
            running.append(Asked(place + 1, used, minutes, licences=licences, held=held))
    for number in range(10, 13):
        minutes, kind = draw.choice((5, 10, 15, 40)), draw.randrange(6)
        tasks = draw.randint(1, 4)
        more: dict[str, Any] = {"licences": draw.choice((0, 0, 1, 2))}
        if kind == 0:
            more |= {"is_fixed": True}
        elif kind == 1:
            nodes = draw.randint(1, 3)
            more |= {"nodes": nodes, "is_fixed": True, "per_node": tasks}
            more |= {"required": draw.choice(("", *NODES))}
            tasks *= nodes
        elif kind == 2:
            tasks += draw.randint(0, 5)
        elif kind == 3:
            tasks, more["cpus_per_task"] = draw.randint(1, 5), 2
        elif kind == 4:
            more |= {"required": draw.choice(NODES)}
        else:
            tasks = draw.randint(1, 3)
            more |= {"nodes": tasks, "is_fixed": True, "per_node": 1, "exclusive": True}
        if not more.get("required"):
            more |= {"excluded": draw.choice(("", "", *NODES))}
        if more.get("is_fixed") and more.get("nodes", 1) == len(NODES):
            more |= {"excluded": ""}
        pending.append(Asked(number, tasks, minutes, **more))
    return running, pending


def shown(seconds: int) -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def text_of(job: Asked, version: str) -> str:
    cpus = job.tasks * job.cpus_per_task
    is_new = version.startswith("26")
    sharing = f"OverSubscribe={'NO' if job.exclusive or is_new else 'OK'}"
    sharing += f" Exclusive={'NODE' if job.exclusive else 'NO'}" if is_new else ""
    count = f"{job.nodes}-{job.nodes}" if job.is_fixed else job.nodes
    lic = f"lic:{job.licences}" if job.licences else "(null)"
    tres = f"cpu={cpus},mem=10M,node={job.nodes}"
    state = (
        f"Priority=5000 JobState=RUNNING Reason=None StartTime={shown(-600)} "
        f"EndTime={shown(job.minutes * 60)} NodeList={job.held[0][0]} AllocTRES={tres}"
        if job.held
        else f"Priority={1000 - job.id} JobState=PENDING Reason=Priority StartTime=Unknown"
    )
    limit = job.minutes + (10 if job.held else 0)
    here = f" Nodes={job.held[0][0]} CPU_IDs=0-{cpus - 1} Mem=10 GRES=" if job.held else ""
    return (
        f"JobId={job.id} JobName=j UserId=ann(1) Account=a QOS=normal Partition=main "
        f"SubmitTime={shown(-3600)} EligibleTime={shown(-3600)} TimeLimit=00:{limit}:00 {state} "
        f"NumNodes={count} NumCPUs={cpus} NumTasks={job.tasks} CPUs/Task={job.cpus_per_task} "
        f"NtasksPerN:B:S:C={job.per_node}:0:*:* MinMemoryNode=10M ReqTRES={tres} {sharing} "
        f"MinCPUsNode={max(1, job.per_node) * job.cpus_per_task} Licenses={lic} "
        f"ReqNodeList={job.required or '(null)'} ExcNodeList={job.excluded or '(null)'}{here}\n"
    )


def amount(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def json_of(job: Asked, form: str) -> dict[str, Any]:
    cpus = job.tasks * job.cpus_per_task
    tres = f"cpu={cpus},mem=10M,node={job.nodes}"
    limit = job.minutes + (10 if job.held else 0)
    words = "sbatch --exclusive --wrap=x" if job.exclusive else "sbatch --wrap=x"
    found = {
        "job_id": job.id, "name": "j", "user_name": "ann", "account": "a", "qos": "normal",
        "partition": "main", "job_state": ["RUNNING" if job.held else "PENDING"],
        "state_reason": "None" if job.held else "Priority",
        "priority": amount(5000 if job.held else 1000 - job.id),
        "submit_time": amount(NOW - 3600), "eligible_time": amount(NOW - 3600),
        "time_limit": amount(limit), "node_count": amount(job.nodes),
        "max_nodes": amount(job.nodes if job.is_fixed else 0), "cpus": amount(cpus),
        "tasks": amount(job.tasks), "cpus_per_task": amount(job.cpus_per_task),
        "tasks_per_node": amount(job.per_node), "memory_per_node": amount(10),
        "minimum_cpus_per_node": amount(max(1, job.per_node) * job.cpus_per_task),
        "tres_req_str": tres, "licenses": f"lic:{job.licences}" if job.licences else "",
        "required_nodes": job.required, "excluded_nodes": job.excluded,
        "shared": ["none"] if job.exclusive and form == "v0.0.42" else [], "submit_line": words,
        "core_spec": 0, "tasks_per_core": {"set": False, "infinite": True, "number": 0},
        "allocating_node": "login", "mail_type": [], "step_id": {"job_id": job.id},
    }  # fmt: skip
    if job.held:
        name = job.held[0][0]
        one = {"name": name, "cpus": {"count": cpus}, "memory": {"allocated": 10}}
        found |= {"nodes": name, "job_resources": {"nodes": {"allocation": [one]}}}
        found |= {"start_time": amount(NOW - 600), "end_time": amount(NOW + job.minutes * 60)}
        found |= {"tres_alloc_str": tres}
    return found


def listings(running: list[Asked], pending: list[Asked], form: str) -> dict[str, str]:
    """What the commands print of the queue; the form is that of the jobs."""
    version = form if form.startswith("2") else "26.05.3"
    used = {name: sum(dict(job.held).get(name, 0) for job in running) for name in NODES}
    texts = {
        "sdiag.txt": f"sdiag output at Mon Mar 02 10:00:00 2026 ({NOW})\n",
        "config.txt": "Configuration data as of 2026-03-02T10:00:00\nClusterName = small\n"
        "SelectType = select/cons_tres\nSelectTypeParameters = CR_CPU_MEMORY\n"
        "SchedulerType = sched/backfill\nSchedulerParameters = bf_resolution=1\n"
        f"PriorityType = priority/basic\nSLURM_VERSION = {version}\n",
        "nodes.txt": "".join(
            f"NodeName={name} CPUAlloc={count} CPUEfctv={CPUS} CPUTot={CPUS} CoresPerSocket={CPUS} "
            f"ThreadsPerCore=1 RealMemory=1000 AllocMem={10 * bool(count)} Weight=1 "
            f"State={'MIXED' if count else 'IDLE'} Partitions=main\n"
            for name, count in used.items()
        ),
        "partition.txt": "PartitionName=main Default=YES Nodes=n[1-3] State=UP PriorityTier=1 "
        "MaxTime=UNLIMITED DefaultTime=01:00:00 OverSubscribe=NO PreemptMode=OFF\n",
        "licenses.txt": f"LicenseName=lic\n    Total={LICENCES} "
        f"Used={sum(job.licences for job in running)} Reserved=0 Remote=no\n",
    }
    jobs = [*running, *pending]
    if form == version:
        return {**texts, "jobs.txt": "".join(text_of(job, version) for job in jobs)}
    meta = {"slurm": {"release": version}, "plugin": {"data_parser": f"data_parser/{form}"}}
    document = {"meta": meta, "jobs": [json_of(job, form) for job in jobs]}
    return {**texts, "jobs.json": json.dumps(document)}


@pytest.mark.parametrize("seed", some(range(300), 6))
def test_no_proved_start_is_false_and_each_form_proves_as_many(seed: int) -> None:
    running, pending = drawn(seed)
    best = earliest_in_order(running, pending)
    proved = {}
    for form in FORMS:
        found = instance_of(listings(running, pending, form))
        plan = {item.job: item for item in sw.plan(found, "optimal", effort=1.0)}
        for job, start in zip(pending, best, strict=True):
            item = plan.get(str(job.id))
            assert (item is None) == (start is None), (form, job)
            assert item is None or item.start == start or not item.proved, (form, job, item)
        proved[form] = {name for name, item in plan.items() if item.proved}
        assert not any(item.what.startswith("fields of") for item in found.omissions)
        for item in sw.plan(found, "slurm"):
            required = next(job.required for job in pending if str(job.id) == item.job)
            assert not item.allocation or not required or required in item.allocation
    assert len(set(map(frozenset, proved.values()))) == 1, proved


def test_most_starts_are_proved() -> None:
    counts = [0, 0]
    for seed in range(6):
        running, pending = drawn(seed)
        found = instance_of(listings(running, pending, FORMS[seed % len(FORMS)]))
        items = list(sw.plan(found, "optimal", effort=1.0))
        counts[0] += sum(item.proved for item in items)
        counts[1] += len(items)
    assert counts[0] >= 0.8 * counts[1], counts
