"""Probes: possible changes of one configured rule that may delay a job, smallest change first.

For Slurm they are worded by its settings; changes without an equivalent are not offered.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ....model.cluster import Host
from ....model.configuration import HostPartition, Limit, Params, Queue, User
from ....model.display import duration_text
from ....model.duration import expected_duration, expected_finish
from ....model.formats.fields import plain
from ....model.instance import Instance
from ....model.job import Job, JobGroup
from ....model.service_class import GuaranteedPool
from ....model.slurm_words import (
    PARTITION_KEYS,
    change_text,
    family_text,
    job_id,
    update_command,
)

#: Kinds of causes in the order of preference: among remedies with equal gain, the first kind is the
#: cause.
KINDS = (
    "queue inactive",
    "dispatch window",
    "host window",
    "load threshold",
    "limit",
    "user limit",
    "queue limit",
    "host limit",
    "job group",
    "job array",
    "service class",
    "guaranteed pool",
    "advance reservation",
    "accept interval",
    "scheduler module",
    "hosts closed",
    "hosts down",
    "run limit unknown",
    "reservation expires",
    "no reservation",
    "memory not reserved",
    "no backfill",
    "too few reservations",
    "greedy estimate",
    "fairshare",
    "absolute priority",
    "slot pool",
    "memory per slot",
    "memory",
    "resource",
    "requirement",
    "running jobs of one user",
    "compute units",
    "queue hosts",
    "queue priority",
)
#: Causes by which other jobs precede a job in the dispatch order.
ONE_USER = "running jobs of one user"
IN_LINE = frozenset({"fairshare", "absolute priority", "slot pool", "queue priority", ONE_USER})
#: Causes in the request of the job itself, including its hosts.
OF_THE_JOB = frozenset(
    {"memory per slot", "memory", "resource", "requirement", "compute units", "queue hosts"}
)
RANK = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class SettingChange:
    """One change of one setting, or several changes made together."""

    #: File and section of the setting, or the person who acts.
    where: str
    #: Proposed text of the setting.
    setting: str
    #: Returns the instance with the change.
    apply: Callable[[Instance], Instance]
    #: Argument for ``slotwise whatif --set``, "" if there is none.
    whatif: str = ""
    #: Current text of a changed line, "" if there is no line.
    now: str = ""
    #: Proposed text of a changed line, "" if it equals the setting.
    line: str = ""
    #: Command that makes the change effective, "" if :func:`effect_of` returns it.
    command: str = ""
    #: Ids of running jobs that the change requeues.
    requeues: tuple[str, ...] = ()
    #: Single changes of a combined change, () for a single change.
    members: tuple[SettingChange, ...] = ()

    @property
    def key(self) -> str:
        """Return the key of the change: file, section and setting."""
        return f"{self.where}: {self.setting}"

    def singles(self) -> Iterator[SettingChange]:
        """Yield the single changes, in the order in which they are made."""
        if not self.members:
            yield self
        for member in self.members:
            yield from member.singles()


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """One changed line of LSF's files, a command, or a job option: current and proposed text."""

    #: File and section, or the person who acts.
    where: str
    #: Current text, "" for a command and if unknown.
    now: str
    #: Proposed text.
    proposed: str
    #: Command that makes the text effective, "" if the text is a command.
    command: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the texts as a JSON object."""
        told = {"where": self.where, "now": self.now, "proposed": self.proposed}
        return told | ({"command": self.command} if self.command else {})

    def __str__(self) -> str:
        """Return text such as ``lsb.queues, queue short: BACKFILL = N → BACKFILL = Y``."""
        return (
            f"{self.where}: {self.now} → {self.proposed}"
            if self.now
            else (f"{self.where}: {self.proposed}")
        )


def lines_of(change: SettingChange) -> tuple[ChangedLine, ...]:
    """Return the lines that a change consists of."""
    return tuple(
        ChangedLine(one.where, one.now, one.line or one.setting, one.command or effect_of(one))
        for one in change.singles()
    )


#: Files that mbatchd reads at its start only, and keys that have effect on running jobs from then
#: on.
_READ_AT_START = ("lsf.conf", "lsb.modules")
_OF_RUNNING_JOBS = ("RUNLIMIT", "RUN_WINDOW")
_RECONFIGURED, _RESTARTED = "badmin reconfig", "badmin mbdrestart"


def effect_of(change: SettingChange) -> str:
    """Return the command that makes a changed line of LSF's files effective, "" if none is
    needed.
    """
    if not change.where.startswith(("lsf.", "lsb.")):
        return ""
    at_start = change.where.startswith(_READ_AT_START)
    return _RESTARTED if at_start or change.setting.startswith(_OF_RUNNING_JOBS) else _RECONFIGURED


def takes_effect(lines: Iterable[ChangedLine]) -> str:
    """Return the commands that make lines effective, () if none is needed."""
    commands = dict.fromkeys(line.command for line in lines if line.command)
    if _RESTARTED in commands:
        commands.pop(_RECONFIGURED, None)
    return "; ".join(commands)


def joined(*changes: SettingChange) -> SettingChange:
    """Return several changes as one change."""
    if len(changes) == 1:
        return changes[0]

    def apply(instance: Instance) -> Instance:
        for change in changes:
            instance = change.apply(instance)
        return instance

    first, *others = changes
    more = "".join(f", with {other.where}: {other.setting}" for other in others)
    whatif = [change.whatif for change in changes]
    return SettingChange(
        first.where,
        f"{first.setting}{more}",
        apply,
        "; ".join(whatif) if all(whatif) else "",
        requeues=tuple(job for change in changes for job in change.requeues),
        members=changes,
    )


#: Maximum number of rules that a combined cause names.
MAX_CAUSES = 3


@dataclass(frozen=True, slots=True)
class Probe:
    """A configured rule that concerns a job, with possible changes of it."""

    #: Kind of the cause, a key of RANK.
    kind: str
    #: Current configuration of the rule, in words.
    cause: str
    #: Changes of the setting, from the smallest to the largest, which disables the rule.
    steps: tuple[SettingChange, ...]
    #: Number of members of the rule, such as hosts; `steps` change all of them together.
    members: int = 1
    #: For a rule with several members: returns the probe of some of them by index; else None.
    of_some: Callable[[Sequence[int]], Probe] | None = None


def together(parts: Sequence[Probe]) -> Probe:
    """Return several probes as one probe of the first kind, with the parts as members."""
    if len(parts) == 1:
        return parts[0]
    cause = "; ".join(part.cause for part in parts[:MAX_CAUSES])
    if len(parts) > MAX_CAUSES:
        cause += f"; and {len(parts) - MAX_CAUSES} more causes of this kind"
    whole = joined(*(part.steps[-1] for part in parts))
    return Probe(
        parts[0].kind,
        cause,
        (whole,),
        len(parts),
        lambda places: together([parts[place] for place in places]),
    )


def all_of(parts: Iterable[Probe]) -> Iterator[Probe]:
    """Yield the probes that change something as one, if there are any."""
    if found := [part for part in parts if part.steps]:
        yield together(found)


Apply = Callable[[Instance], Instance]
#: Round numbers of dispatch cycles that an administrator would choose.
ROUND = (
    *(5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 960, 1440),
    *(2160, 2880, 4320, 7200, 10080, 14400, 20160, 43200, 100800),
)
#: Numbers of jobs with a future allocation, to be tried.
FEW = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100)


#: Where an entry of a kind stands: in the instance, in LSF's files, and for ``whatif --set`` (None:
#: nowhere).
_ENTRIES: Mapping[type, tuple[str, str, str | None]] = {
    Params: ("params", "lsb.params", ""),
    Queue: ("queues", "lsb.queues, queue {}", "queues.{}."),
    User: ("users", "lsb.users, {}", "users.{}."),
    Limit: ("limits", "lsb.resources, Limit section {}", "limits.{}."),
    HostPartition: ("partitions", "lsb.hosts, HostPartition {}", None),
    GuaranteedPool: ("guaranteed_pools", "lsb.resources, GuaranteedResourcePool {}", None),
    JobGroup: ("job_groups", "command of the owner of job group {}", None),
}
Entry = Params | Queue | User | Limit | HostPartition | GuaranteedPool | JobGroup


def edited(entry: Entry, **changes: Any) -> Apply:
    """Return the function that changes fields of one entry, by its name."""
    field = _ENTRIES[type(entry)][0]

    def apply(instance: Instance) -> Instance:
        kept: Any = getattr(instance, field)
        if isinstance(entry, Params):
            return replace(instance, params=replace(kept, **changes))
        items = (replace(item, **changes) if item.name == entry.name else item for item in kept)
        changed: dict[str, Any] = {field: tuple(items)}
        return replace(instance, **changed)

    return apply


def line(
    entry: Entry, key: str, text: object, now: object = "", whatif: object = None, **changes: Any
) -> SettingChange:
    """Return the change of one line of an entry to `KEY = text`.

    now: current text if instance files have another form. whatif: value for ``whatif --set``, or
    the path below the entry with its value; None if there is none.
    """
    _, place, path = _ENTRIES[type(entry)]
    name = "" if isinstance(entry, Params) else entry.name
    option = ""
    if whatif is not None and path is not None:
        option = path.format(name) + (f"{whatif}" if "=" in f"{whatif}" else f"{key}={whatif}")
    shown = f"{key} = {now}" if now != "" else _present_line(entry, key)
    return SettingChange(
        place.format(name), f"{key} = {text}", edited(entry, **changes), option, shown
    )


def _present_line(entry: Entry, key: str) -> str:
    """Return the current line such as ``BACKFILL = N`` or ``no SLOT_RESERVE``; of a list none."""
    value = plain(entry).get(key)
    if isinstance(value, (dict, list)):
        return ""
    return f"no {key}" if value is None else f"{key} = {value}"


def command(
    text: str, apply: Apply, who: str = "the administrator", requeues: Sequence[str] = ()
) -> SettingChange:
    """Return the change by a command of a person."""
    return SettingChange(f"command of {who}", text, apply, requeues=tuple(requeues))


def on_hosts(
    names: Sequence[str], key: str, text: str, now: str, change: Callable[[Host], Host]
) -> SettingChange:
    """Return the change of one column of lsb.hosts on some hosts."""
    where = f"lsb.hosts, {', '.join(names)}"
    return SettingChange(where, f"{key} = {text}", hosts_with(names, change), now=f"{key} = {now}")


def hosts_with(names: Iterable[str], change: Callable[[Host], Host]) -> Apply:
    """Return the function that changes some hosts."""
    chosen = frozenset(names)

    def apply(instance: Instance) -> Instance:
        cluster = instance.cluster
        hosts = tuple(change(h) if h.name in chosen else h for h in cluster.hosts)
        return replace(instance, cluster=replace(cluster, hosts=hosts))

    return apply


def of_job(
    job: Job, then: Job, words: str, now: str, options: Sequence[str], shown: str = ""
) -> SettingChange:
    """Return the change of a pending job's request by options of bmod.

    shown: the new text if it is not these options.
    """

    def apply(instance: Instance) -> Instance:
        pending = tuple(then if other.id == job.id else other for other in instance.pending)
        return replace(instance, pending=pending)

    return SettingChange(
        f"job {job.id} of user {job.user}",
        words,
        apply,
        now=now,
        line=shown or " ".join(options),
        command=shlex.join(["bmod", *options, job.id]),
    )


def round_from(current: int, enough: int, numbers: tuple[int, ...] = ROUND) -> tuple[int, ...]:
    """Return round numbers above the current one, up to the first that is sufficient."""
    larger = [number for number in numbers if number > current]
    return tuple(larger[: bisect_left(larger, enough) + 1])


def amounts_from(current: int, *wanted: int) -> tuple[int, ...]:
    """Return amounts above the current one, rising: doubled steps, and the wanted amounts."""
    most = max(wanted)
    steps = set(wanted)
    step = 1
    while current + step < most:
        steps.add(current + step)
        step *= 2
    return tuple(sorted(number for number in steps if number > current))


#: Number of reservation cycles that is sufficient if the wait of the job is unknown.
LONG_WAIT = 10080


@dataclass(frozen=True, slots=True)
class JobInLine:
    """Facts about the job that a probe needs."""

    #: The job.
    job: Job
    #: Position of the job in the dispatch order, 1 for the first.
    rank: int
    #: Seconds until the job starts as configured, None if it never starts.
    wait: int | None
    #: Whether the job requests memory or another amount that a reservation must include.
    memory: bool


def reserving_probes(instance: Instance, need: JobInLine) -> Iterator[Probe]:
    """Yield changes of the reservation settings for the job."""
    queue, params = instance.queue(need.job.queue), instance.params
    enough = LONG_WAIT
    if need.wait is not None:
        enough = -(-need.wait // params.mbd_sleep_time)
    cycles, name, amounts = queue.reserve_cycles, queue.name, "RESOURCE_RESERVE"
    if cycles is None:
        others = instance.reserve_cycles is not None
        whose = f"queue {name} reserves no slots" if others else "no queue reserves slots"
        cause = (
            f"{whose} for pending jobs: neither SLOT_RESERVE nor RESOURCE_RESERVE is set in "
            f"queue {name}"
        )
        key = amounts if need.memory else "SLOT_RESERVE"
        yield Probe("no reservation", cause, _reserve(queue, key, round_from(0, enough)))
    else:
        key = "SLOT_RESERVE" if queue.resource_reserve is None else amounts
        lasts = duration_text(cycles * params.mbd_sleep_time)
        cause = (
            f"reservations of queue {name} expire after {cycles} dispatch cycles ({lasts}): "
            f"{key} = MAX_RESERVE_TIME[{cycles}]"
        )
        longer = round_from(cycles, enough)
        yield Probe("reservation expires", cause, _reserve(queue, key, longer))
        if need.memory and not queue.holds_memory:
            cause = (
                f"queue {name} reserves slots but no memory for pending jobs: SLOT_RESERVE is set "
                f"and RESOURCE_RESERVE is not"
            )
            yield Probe("memory not reserved", cause, _reserve(queue, amounts, (cycles, *longer)))
    if not queue.backfill:
        cause = (
            f"queue {name} has no BACKFILL: its jobs cannot use slots that are reserved for "
            f"jobs before them, even if they end in time"
        )
        yield Probe(
            "no backfill", cause, (line(queue, "BACKFILL", "Y", whatif="Y", backfill=True),)
        )
    if cycles is not None:
        yield from looking_ahead_probes(params, need.rank)
    if params.modules is not None:
        wanted = ("schmod_parallel", "schmod_reserve")
        missing = [module for module in wanted if module not in params.modules]
        cause = f"the scheduler does not load {' and '.join(missing or ['all modules'])}"
        apply = edited(params, modules=(*params.modules, *missing))
        change = SettingChange("lsb.modules", f"load {', '.join(missing)}", apply)
        yield Probe("scheduler module", cause, (change,))


def _reserve(queue: Queue, key: str, numbers: Iterable[int]) -> tuple[SettingChange, ...]:
    values = {number: f"MAX_RESERVE_TIME[{number}]" for number in numbers}
    return tuple(
        line(queue, key, value, whatif=value, **{key.lower(): number})
        for number, value in values.items()
    )


def looking_ahead_probes(params: Params, rank: int) -> Iterator[Probe]:
    """Yield future allocations for more jobs, up to the rank of the job."""
    today, key = params.time_reserve_numjobs, "LSB_TIME_RESERVE_NUMJOBS"
    if rank <= today:
        return
    steps = tuple(
        replace(
            line(params, key, number, whatif=number, time_reserve_numjobs=number), where="lsf.conf"
        )
        for number in round_from(today, rank, FEW)
    )
    if not steps:
        return
    if today:
        cause = (
            f"only the first {today} jobs of the dispatch order get a future allocation, and it "
            f"is number {rank}: {key} = {today}"
        )
        yield Probe("too few reservations", cause, steps)
        return
    cause = (
        "greedy reservation reserves slots as they are released, regardless of hosts and of "
        f"later ends: {key} is not set"
    )
    yield Probe("greedy estimate", cause, steps)


#: What a limit counts, by the end of its name: its TRES and its jobs in sacctmgr.
_LIMITS = {
    "group": ("GrpTRES", "GrpJobs"),
    "user": ("MaxTRESPerUser", "MaxJobsPerUser"),
    "account": ("MaxTRESPerAccount", "MaxJobsPerAccount"),
    "jobs": ("", "MaxJobs"),
}
#: Commands of LSF's administrator, as those of Slurm; the rest is a list of names.
_COMMANDS: tuple[tuple[str, Callable[[list[str]], str]], ...] = (
    ("badmin hopen ", lambda names: f"scontrol update NodeName={','.join(names)} State=RESUME"),
    ("badmin qact ", lambda names: f"scontrol update PartitionName={names[0]} State=UP"),
    ("brsvdel ", lambda names: f"scontrol delete ReservationName={names[0]}"),
    (
        'bmod -J "%',
        lambda names: f"scontrol update JobId={names[1]} ArrayTaskThrottle={names[0][:-1]}",
    ),
    ("brequeue ", lambda names: f"scontrol requeue {','.join(map(job_id, names))}"),
    ("bring back ", lambda names: f"bring back {', '.join(names)}"),
)
_SLURM_RECONFIGURED = "scontrol reconfigure"


def in_family_words(instance: Instance, probes: Iterable[Probe]) -> Iterator[Probe]:
    """Yield probes in the words of the instance's scheduler; of LSF as they are."""
    for probe in probes:
        found = _in_words(instance, probe) if instance.params.scheduler.has_own_words else probe
        if found is not None:
            yield found


def _in_words(instance: Instance, probe: Probe) -> Probe | None:
    """Return a probe in Slurm's words, None if Slurm has no such setting."""
    steps = tuple(filter(None, (slurm_change(instance, step) for step in probe.steps)))
    if not steps:
        return None
    some = None if probe.of_some is None else partial(_some_of, instance, probe.of_some)
    return replace(probe, cause=family_text(instance, probe.cause), steps=steps, of_some=some)


def _some_of(
    instance: Instance, of_some: Callable[[Sequence[int]], Probe], places: Sequence[int]
) -> Probe:
    part = of_some(places)
    return _in_words(instance, part) or replace(part, steps=())


def slurm_change(instance: Instance, change: SettingChange) -> SettingChange | None:
    """Return a change in Slurm's words, None if Slurm has no such setting."""
    if change.members:
        members = [slurm_change(instance, member) for member in change.members]
        return None if None in members else joined(*filter(None, members))
    file, _, section = change.where.partition(", ")
    key, _, value = change.setting.partition(" = ")
    if file.startswith("job "):
        return _of_job(instance, change)
    if file == "lsb.queues":
        return _of_partition(instance, change, section.removeprefix("queue "), key, value)
    if file == "lsb.resources" and section.startswith("Limit section "):
        return _of_limit(instance, change, section.removeprefix("Limit section "), key, value)
    if key == "LSB_TIME_RESERVE_NUMJOBS":
        now = f"bf_max_job_test={instance.params.time_reserve_numjobs}"
        setting = f"bf_max_job_test={value}"
        return _line(change, "slurm.conf, SchedulerParameters", setting, now)
    for ours, theirs in _COMMANDS:
        if change.setting.startswith(ours):
            names = change.setting.removeprefix(ours).replace(",", "").split()
            return replace(change, where=file, setting=theirs(names))
    return None


def _line(change: SettingChange, where: str, setting: str, now: str = "") -> SettingChange:
    """Return a changed line of slurm.conf."""
    return replace(
        change, where=where, setting=setting, now=now, line="", command=_SLURM_RECONFIGURED
    )


def _of_job(instance: Instance, change: SettingChange) -> SettingChange | None:
    """Return another request of a job; a request without memory is one for all of it."""
    request = re.sub("^for less: ", "with ", change.setting.removeprefix("ask "))
    if request == change.setting or request.startswith("without rusage"):
        return None
    words = change_text(instance, request)
    job = change.where.removeprefix("job ").partition(" of user ")[0]
    command = update_command(job, request)
    return replace(
        change, setting=f"ask {words}", now="", line=f"submit it {words}", command=command
    )


def _of_partition(
    instance: Instance, change: SettingChange, name: str, key: str, value: str
) -> SettingChange | None:
    where = f"slurm.conf, PartitionName={name}"
    if key == "RUNLIMIT":  # MaxTime would bind new jobs only
        jobs = ",".join(map(job_id, _without_end(instance, name)))
        setting = f"scontrol update JobId={jobs} TimeLimit={value}:00"
        return replace(change, where="command of the administrator", setting=setting)
    if key == "UJOB_LIMIT":
        setting = f"MaxTRESPerUser=cpu={value}"
        return replace(change, where=f"the QOS of partition {name}", setting=setting)
    if key not in PARTITION_KEYS:
        return None
    _, _, present = change.now.partition(" = ")
    now = f"{PARTITION_KEYS[key]}={present}" if present.isdigit() else ""
    return _line(change, where, f"{PARTITION_KEYS[key]}={value.replace('all', 'ALL')}", now)


def _without_end(instance: Instance, queue: str) -> Iterator[str]:
    """Yield the jobs of a partition without a known end."""
    for run in instance.running:
        if run.job.queue == queue and expected_finish(instance, run) is None:
            yield run.job.id
    for job in instance.pending:
        is_endless = job.deadline is None and expected_duration(instance, job) is None
        if job.queue == queue and is_endless:
            yield job.id


def _of_limit(
    instance: Instance, change: SettingChange, name: str, key: str, value: str
) -> SettingChange | None:
    """Return a limit of a QOS or an association, which sacctmgr changes."""
    label, _, word = name.rpartition("_")
    kind, _, owner = label.partition("_")
    if word not in _LIMITS or kind not in ("qos", "assoc"):
        return None
    tres, jobs = _LIMITS[word]
    what = {"JOBS": jobs, "SLOTS": f"{tres}=cpu", "MEM": f"{tres}=mem"}.get(key)
    if key == "RESOURCE":
        resource, _, value = value.strip("[]").partition(",")
        what = f"{tres}=license/{resource.removeprefix('lic_')}"
    whose = f"qos {owner}" if kind == "qos" else _association(owner)
    setting = f"sacctmgr modify {whose} set {what}={value}"
    return replace(
        change, where="command of the administrator", setting=setting, now="", line="", command=""
    )


def _association(owner: str) -> str:
    """Return text such as ``account physics`` or ``user where name=ann account=physics``."""
    account, *user = owner.split("/")
    named = zip(("name", "partition"), user, strict=False)
    text = "".join(f" {field}={name}" for field, name in named)
    return f"user where{text} account={account}" if user else f"account {account}"
