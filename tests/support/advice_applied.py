"""Advice carried out by what it says: lines of files, commands and options, read from their words.

Nothing of the solver that made the advice is used: a change is made to the document of an instance,
or to its plain data, and the instance is read again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import slotwise as sw
from slotwise import Choice, Instance, Job, Thresholds
from slotwise.model.formats import to_document
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.scheduler.continuation import run_as_configured


def starts(instance: Instance) -> dict[str, int | None]:
    """What the scheduler as configured gives each pending job."""
    run = run_as_configured(instance)
    return {job.id: run.start(job.id) for job in instance.pending}


def with_lines(instance: Instance, lines: Sequence[Any]) -> Instance:
    """The instance with what the lines of a remedy propose."""
    for line in lines:
        instance = _with_line(instance, line)
    return instance


def _with_line(instance: Instance, line: Any) -> Instance:
    file, _, section = line.where.partition(", ")
    if file in ("lsb.params", "lsf.conf", "lsb.queues", "lsb.resources", "lsb.users"):
        return _in_document(instance, file, section, line)
    if file == "lsb.modules":
        loaded = tuple(line.proposed.removeprefix("load ").split(", "))
        modules = (*(instance.params.modules or ()), *loaded)
        return replace(instance, params=replace(instance.params, modules=modules))
    if section.startswith("HostPartition "):
        return _in_document(instance, file, section, line)
    if file == "lsb.hosts":
        return _of_hosts(instance, section.split(", "), line)
    if file.startswith("job "):
        return _bmod(instance, file.removeprefix("job ").partition(" of user ")[0], line)
    return _command(instance, line.proposed)


def _in_document(instance: Instance, file: str, section: str, line: Any) -> Instance:
    document = json.loads(json.dumps(to_document(instance)))
    entry = _entry(document, file, section)
    key, _, value = line.proposed.partition(" = ")
    assert line.now, line
    if key.startswith("no "):
        words = key.removeprefix("no ").split()
        entry.pop(words[0])
        for beside in ("FAIRSHARE_QUEUES", "DISPATCH_ORDER", "SLOT_SHARE", "MAX_SLOTS_IN_POOL"):
            entry.pop(beside, None)
    elif value.startswith(("(empty", "- (no limit)")):
        _without(entry, key)
    elif value == "all":
        entry.pop(key)
    else:
        assert _as_written(entry.get(key)) in line.now, (entry.get(key), line)
        entry[key] = int(value) if value.isdigit() else value
    return sw.loads(json.dumps(document))


def _as_written(value: Any) -> str:
    if value is None:
        return ""
    return {"True": "Y", "False": "N"}.get(str(value), str(value))


def _entry(document: dict[str, Any], file: str, section: str) -> dict[str, Any]:
    kind, _, name = section.partition(" ")
    if file in ("lsb.params", "lsf.conf"):
        return document.setdefault("params", {})
    if kind == "HostPartition":
        return next(item for item in document["host_partitions"] if item["name"] == name)
    if file == "lsb.queues":
        return next(item for item in document["queues"] if item["name"] == name)
    if file == "lsb.users":
        return next(item for item in document["users"] if item["name"] == section)
    name = section.removeprefix("Limit section ")
    return next(item for item in document["limits"] if item["name"] == name)


def _without(entry: dict[str, Any], key: str) -> None:
    if key in entry:
        entry.pop(key)
    else:  # a threshold
        stop = str(entry["thresholds"][key]).partition("/")[2]
        entry["thresholds"][key] = f"/{stop}" if stop else None
        if not stop:
            entry["thresholds"].pop(key)


def _of_hosts(instance: Instance, names: Sequence[str], line: Any) -> Instance:
    key = line.proposed.partition(" = ")[0]
    hosts = []
    for host in instance.cluster.hosts:
        if host.name in names:
            if key == "DISPATCH_WINDOW":
                host = replace(host, windows="")
            elif key == "JL/U":
                host = replace(host, user_slots=None)
            else:
                sched = {k: v for k, v in host.thresholds.sched.items() if k != key}
                host = replace(host, thresholds=Thresholds(sched, host.thresholds.stop))
        hosts.append(host)
    return replace(instance, cluster=replace(instance.cluster, hosts=tuple(hosts)))


def _bmod(instance: Instance, job: str, line: Any) -> Instance:
    """By the command, which has to say what the line proposes."""
    words = shlex.split(line.command)
    assert words[0] == "bmod"
    assert words[-1] == job
    texts = () if words[1:-1] == ["-Rn"] else tuple(words[2:-1:2])
    proposed = () if line.proposed == "no -R" else tuple(shlex.split(line.proposed)[1::2])
    assert texts == proposed
    return _with_job(instance, job, lambda old: replace(old, res_req=texts))


def _with_job(instance: Instance, job: str, change: Callable[[Job], Job]) -> Instance:
    pending = tuple(change(old) if old.id == job else old for old in instance.pending)
    return replace(instance, pending=pending)


def _command(instance: Instance, text: str) -> Instance:
    words = text.replace(",", "").split()
    if words[:2] in (["badmin", "hopen"], ["bring", "back"]):
        return with_hosts(instance, words[2:])
    if words[:2] == ["badmin", "qact"]:
        queues = tuple(
            replace(queue, active=queue.active or queue.name in words[2:])
            for queue in instance.queues
        )
        return replace(instance, queues=queues)
    if words[0] == "brsvdel":
        kept = tuple(item for item in instance.advance_reservations if item.name not in words[1:])
        return replace(instance, advance_reservations=kept)
    assert words[0] == "brequeue", text
    back = tuple(run.job for run in instance.running if run.job.id in words[1:])
    kept_runs = tuple(run for run in instance.running if run.job.id not in words[1:])
    assert len(back) == len(words) - 1
    return replace(instance, running=kept_runs, pending=(*instance.pending, *back), borrowed=())


def with_hosts(instance: Instance, names: Sequence[str]) -> Instance:
    """The instance with hosts that take jobs again."""
    assert names
    known = {host.name for host in instance.cluster.hosts if not host.takes_jobs}
    assert known >= set(names)
    hosts = tuple(
        replace(host, status="ok") if host.name in names else host
        for host in instance.cluster.hosts
    )
    return replace(instance, cluster=replace(instance.cluster, hosts=hosts))


def with_suggestion(instance: Instance, job: str, change: str) -> Instance:
    """The instance with a suggestion for a pending job carried out, read from its words."""
    if found := re.fullmatch(r"if (?:job )?(\S+) ended now", change):
        kept = tuple(run for run in instance.running if run.job.id != found[1])
        assert len(kept) == len(instance.running) - 1
        return replace(instance, running=kept)
    if found := re.fullmatch(r"if (?:job )?(\S+) \(ahead of it\) were not pending", change):
        rest = tuple(other for other in instance.pending if other.id != found[1])
        assert len(rest) == len(instance.pending) - 1
        return replace(instance, pending=rest)
    if found := re.fullmatch(r"if (\S+) (?:came back|were opened) \(it is \S+\)", change):
        return with_hosts(instance, [found[1]])
    if re.fullmatch(r"if all \d+ hosts that are down or closed accepted jobs again", change):
        shut = [host.name for host in instance.cluster.hosts if not host.takes_jobs]
        return with_hosts(instance, shut)
    if change == "if it were first in the dispatch order":
        return _first(instance, job)
    return _with_job(instance, job, lambda old: otherwise(old, change))


def _first(instance: Instance, job: str) -> Instance:
    """In front of all; where its queue does not let it be there, without those before it."""
    top = max(other.priority for other in instance.pending) + 1
    early = min(other.submit for other in instance.pending) - 1
    moved = _with_job(instance, job, lambda old: replace(old, priority=top, submit=early))
    if priority_order(moved)[0].id == job:
        return moved
    return replace(instance, pending=tuple(old for old in instance.pending if old.id == job))


def otherwise(job: Job, change: str) -> Job:
    """A job asked for as a suggestion says."""
    if found := re.fullmatch(r"with -n (\d+)", change):
        return replace(job, slots=int(found[1]), max_slots=None)
    if found := re.fullmatch(r"with -W (\d+):(\d\d) or less \(backfill\)", change):
        return replace(job, run_limit=60 * (60 * int(found[1]) + int(found[2])))
    if found := re.fullmatch(r"in queue (\S+)", change):
        return replace(job, queue=found[1])
    if found := re.fullmatch(r"with -gpu (\S+)", change):
        return replace(job, gpu=found[1])
    if found := re.fullmatch(r"without (\w+)\[\]", change):
        return section(job, found[1], None)
    if found := re.fullmatch(r"with (\w+)\[(.*)\]", change):
        return section(job, found[1], found[2])
    options: dict[str, dict[str, Any]] = {
        "without -x": {"exclusive": False},
        "without -m": {"hosts": ()},
        "without -b": {"begin": None},
        "without -w": {"dependency": ""},
        "without -ext": {"extsched": ""},
    }
    return replace(job, **options[change])


def section(job: Job, name: str, content: str | None) -> Job:
    """The job with another section of its -R, None for without it."""
    texts = [" ".join(re.sub(rf"\b{name}\[[^\]]*\]", " ", text).split()) for text in job.res_req]
    if content is not None:
        texts = [*texts[:-1], f"{texts[-1] if texts else ''} {name}[{content}]".strip()]
    return replace(job, res_req=tuple(text for text in texts if text))


def asked_as(job: Job, item: Choice) -> Job:
    """A job asked for as an alternative of `ask --explore` says."""
    for option, text in item.changed.items():
        if option == "slots":
            job = replace(job, slots=int(text), max_slots=None)
        elif option == "limit":
            hours, minutes = text.split(":")
            job = replace(job, run_limit=3600 * int(hours) + 60 * int(minutes))
        elif option == "queue":
            job = replace(job, queue=text)
        elif option == "gpu":
            job = replace(job, gpu=text)
        elif option == "ptile":
            tile = {"": "hosts=-1", "one host": "hosts=1"}.get(text, f"ptile={text}")
            job = section(job, "span", tile)
        else:
            job = section(job, "cu", text or None)
    return job
