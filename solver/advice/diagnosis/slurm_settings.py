"""Changes of the configuration in Slurm's words; those without an equivalent are not offered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ....model.configuration import Limit
from ....model.duration import expected_duration, expected_finish
from ....model.instance import Instance
from ....model.slurm_words import (
    PARTITION_KEYS,
    change_text,
    family_text,
    job_id,
    update_command,
)
from .probes import Probe, SettingChange, joined, present_value

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
_RECONFIGURED = "scontrol reconfigure"


def in_family_words(instance: Instance, probes: Iterable[Probe]) -> Iterator[Probe]:
    """Yield probes in the words of the instance's scheduler; of LSF as they are."""
    for probe in probes:
        found = _in_words(instance, probe) if instance.params.of_slurm else probe
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
    return replace(change, where=where, setting=setting, now=now, line="", command=_RECONFIGURED)


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
    _, _, present = present_value(instance, change).partition(" = ")
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
    limit = next(item for item in instance.limits if item.name == name)
    whose = f"qos {owner}" if kind == "qos" else _association(limit, owner)
    setting = f"sacctmgr modify {whose} set {what}={value}"
    return replace(
        change, where="command of the administrator", setting=setting, now="", line="", command=""
    )


def _association(limit: Limit, owner: str) -> str:
    """Return text such as ``account physics`` or ``user where name=ann account=physics``."""
    for user in () if limit.users is None else limit.users.names:
        if owner.endswith(f"_{user}"):
            return f"user where name={user} account={owner.removesuffix(f'_{user}')}"
    return f"account {owner}"
