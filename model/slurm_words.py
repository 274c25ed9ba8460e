"""Slurm's words for what the model says in LSF's: options, commands, settings and sentences."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from .omissions import ASSUMED

if TYPE_CHECKING:
    from .instance import Instance

#: A change of a request as a suggestion has it, its words for sbatch, and the field of ``scontrol
#: update`` with its value, "" if the job has to be submitted again. Slurm changes the tasks, the
#: nodes and the CPUs of a job each alone, so that a number of slots is no single field.
_CHANGES = tuple(
    (re.compile(ours), words, update)
    for ours, words, update in (
        (r"with -W (\d+):(\d\d)( or less.*)?", r"with -t \1:\2:00\3", r"TimeLimit=\1:\2:00"),
        (r"with -q (\S+)", r"with -p \1", r"Partition=\1"),
        (r"in queue (\S+)", r"in partition \1", r"Partition=\1"),
        (r"with -n 1", "with 1 CPU (-n, -c, -N)", ""),
        (r"with -n (\d+)", r"with \1 CPUs in all (-n, -c, -N)", ""),
        (r"with span\[ptile=(\d+)\]", r"with \1 CPUs on each node (--ntasks-per-node)", ""),
        (r"with(out)? span\[(hosts=-1)?\]", "without -N and --ntasks-per-node", ""),
        (r"without -x", "without whole nodes (--exclusive, or no --mem)", ""),
        (r"without -m", "without -w", "ReqNodeList="),
        (r"without select\[\]", "without -C and -x", ""),
        (r"without -b", "without --begin", "StartTime=now"),
        (r"without -w", "without -d", "Dependency="),
        (r"without -U", "without --reservation", "ReservationName="),
        (r"with -U (\S+)", r"with --reservation=\1", r"ReservationName=\1"),
        (r"with(out)? -gpu.*", "with fewer GPUs, or any type of them", ""),
        (r"(if .*) \(it is unavail\)", r"\1 (it is down)", ""),
        (r"(if .*) \(it is closed_\w+\)", r"\1 (it is drained)", ""),
    )
)
#: Amounts in rusage[]: the option of sbatch, and the field of ``scontrol update``.
_AMOUNTS = (
    (re.compile(r"mem=([\d.]+)/host"), r"--mem=\1", r"MinMemoryNode=\1"),
    (re.compile(r"mem=([\d.]+)/task"), r"--mem-per-cpu=\1", r"MinMemoryCPU=\1"),
    (re.compile(r"gres_(\w+)=(\d+)/host"), r"--gres=\1:\2", ""),
    (re.compile(r"lic_(\w+)=(\d+)/job"), r"-L \1:\2", ""),
)
#: Sections of a requirement in the words of a sentence.
_SECTIONS = (
    (re.compile(r"span\[ptile=1\]"), "1 CPU on each node"),
    (re.compile(r"span\[ptile=(\d+)\]"), r"\1 CPUs on each node"),
    (re.compile(r"span\[hosts=1\]"), "all CPUs on one node"),
    (re.compile(r"span\[block=(\d+)\]"), r"CPUs in blocks of \1"),
    (re.compile(r"select\[([^\]]*)\]"), r"nodes with \1"),
)
_RUSAGE = re.compile(r"rusage\[([^\]]*)\]")
#: Phrases of sentences.
_PHRASES = (
    (re.compile(r"begin time \(-b\)"), "begin time (--begin)"),
    (re.compile(r"(advance reservation \S+) \(-U\)"), r"\1 (--reservation)"),
    (re.compile(r"run limits \(-W\)"), "time limits (-t)"),
    (re.compile(r"its termination time \(-t ([^)]*)\)"), r"the time by which it has to end (\1)"),
    (re.compile(r"when LSF aborts it"), "after which it cannot start"),
    (re.compile(r"LSF aborts it( then)?"), r"it cannot start\1"),
    (re.compile(r"LSF's settings"), "Slurm's settings"),
    (re.compile(r"\(RUNLIMIT\)"), "(MaxTime)"),
    (re.compile(r"^( ?)RUNLIMIT\b", re.MULTILINE), r"\1TIMELIMIT"),
    (re.compile(r"\bRESOURCE_RESERVE\b"), "RESERVATIONS"),
    (re.compile(r"no RUNLIMIT\b"), "no MaxTime"),
    (re.compile(r"(have|has) no -W\b"), r"\1 no -t"),
    (re.compile(r"\(?badmin hhist ([^)]*?) says who closed (it|them)\)?"),
     r"(scontrol show node \1 says why)"),
    (re.compile(r"\(badmin qinact\)"), "(State=DOWN)"),
    (re.compile(r"\b(PRIORITY) = "), "PriorityTier="),
    (re.compile(r"\(PRIORITY up to"), "(PriorityTier up to"),
    (re.compile(r"hosts: its HOSTS\b"), "nodes: its Nodes"),
    (re.compile(r"\bHJOB_LIMIT = "), "MaxCPUsPerNode="),
    (re.compile(r"\bLSB_TIME_RESERVE_NUMJOBS = "), "bf_max_job_test="),
    (re.compile(r"\(UJOB_LIMIT\)"), "(MaxTRESPerUser of its QOS)"),
    (re.compile(r"\bLimit section (?:qos|assoc)_"), "limit "),
    (re.compile(r"needs BACKFILL in queue \S+"), "uses CPUs that are reserved for another job"),
    (re.compile(r", BACKFILL in (?:every |no )?queues?[^)]*"), ""),
    (re.compile(r"\bBACKFILL\b"), "backfill"),
    (re.compile(r"Closed by LSF administrator"), "Drained by the administrator"),
    (re.compile(r"LSF’s (\S+) estimate"), r"estimate of \1 reservation"),
)  # fmt: skip
#: Words for the units of a cluster.
_UNITS = (("queue", "partition"), ("host", "node"), ("slot", "CPU"))
#: Titles of columns.
_TITLES = {
    "QUEUE": "PARTITION", "QUEUE_NAME": "PARTITION", "HOSTS": "NODES", "HOST": "NODE",
    "HOST_NAME": "NODE", "EXEC_HOST": "NODES", "FROM_HOST": "ALLOCNODE", "SLOTS": "CPUS",
    "-n": "CPUS", "PTILE": "CPUS PER NODE", "-W": "-t", "CU": "SWITCHES", "-gpu": "GPUS",
    "BY LIMITS": "BY TIME LIMITS", "RUNLIMIT": "TIMELIMIT", "JL/U": "MAX/USER",
    "JL/P": "MAX/CPU", "JL/H": "MAX/NODE", "PRIO": "TIER", "QUEUES": "PARTITIONS",
    "RSV_HOSTS": "RSV_NODES",
}  # fmt: skip


#: Settings of a queue, as those of a partition in slurm.conf.
PARTITION_KEYS = {"PRIORITY": "PriorityTier", "HOSTS": "Nodes", "HJOB_LIMIT": "MaxCPUsPerNode"}
#: Sections of an instance that Slurm calls otherwise.
SECTION_NAMES = {f"{word}s": f"{unit}s" for word, unit in _UNITS if word != "slot"}
#: Words of a refused request that are no names in quotes.
_REFUSALS = (
    (re.compile(r"^-W:"), "--time:"),
    (re.compile(r"^-q:"), "--partition:"),
    (re.compile(r"^-R:"), "request:"),
    (re.compile(r"^-U:"), "--reservation:"),
    (re.compile(r"\bbsub "), "sbatch "),
)


def _matched(change: str) -> tuple[str, str] | None:
    """Return a change of a request in Slurm's words, and the field that makes it."""
    for ours, words, update in _CHANGES:
        if (found := ours.fullmatch(change)) is not None:
            return found.expand(words), found.expand(update)
    if (found := re.fullmatch(r"with rusage\[([^\]]*)\]", change)) is not None:
        return f"with {_amounts(found[1])}", _memory_field(found[1])
    return None


def _amounts(text: str) -> str:
    parts = []
    for part in filter(None, re.split(r"[:,]", text)):
        expanded = (m.expand(words) for own, words, _ in _AMOUNTS if (m := own.fullmatch(part)))
        parts.append(next(expanded, part))
    return " ".join(parts)


def _memory_field(text: str) -> str:
    """Return the field for the memory of rusage[], "" if it has none in whole MB."""
    for own, _, field in _AMOUNTS:
        if field and (found := own.search(text)) is not None and found[1].isdigit():
            return found.expand(field)
    return ""


def change_text(instance: Instance, change: str) -> str:
    """Return a change of a request in the words of its scheduler: for Slurm ``-t 0:04:00``."""
    if not instance.params.of_slurm:
        return change
    found = _matched(change)
    return family_text(instance, change) if found is None else found[0]


def update_command(job: str, change: str) -> str:
    """Return the ``scontrol update`` that makes a change of a pending job, "" if none does."""
    found = _matched(change)
    return (
        "" if found is None or not found[1] else f"scontrol update JobId={job_id(job)} {found[1]}"
    )


def job_id(job: str) -> str:
    """Return the id of a job in Slurm's form: ``517_3`` for ``517[3]``."""
    return re.sub(r"\[(\d+)\]$", r"_\1", job)


def family_text(instance: Instance, text: str) -> str:
    """Return a sentence in the words of the instance's scheduler: of LSF as it is."""
    if not instance.params.of_slurm:
        return text
    text = _RUSAGE.sub(lambda found: _amounts(found[1]), text)
    for ours, theirs in (*_SECTIONS, *_PHRASES):
        text = ours.sub(theirs, text)
    names = {queue.name for queue in instance.queues}
    for word, unit in _UNITS:
        text = re.sub(_UNIT.format(word), partial(_unit, names, unit), text)
    return text


#: A word for a unit in any number and any case, which is no part of a name.
_UNIT = r"(?<![\w'./-])((?i:{}))([sS]?)(?!'(?!s\b)|\w|[./]\w|-(?!hours))"


def _unit(names: Collection[str], word: str, found: re.Match[str]) -> str:
    """Return the word for a unit as its first letters are written; names of partitions stay."""
    if found[0] in names:
        return found[0]
    if found[1].isupper():
        return f"{word.upper()}{found[2]}"
    return (word[0].upper() + word[1:] if found[1][0].isupper() else word) + found[2]


def unit_words(instance: Instance) -> dict[str, str]:
    """Return the words for a slot, a host and a queue."""
    return {ours: theirs if instance.params.of_slurm else ours for ours, theirs in _UNITS}


def title_text(instance: Instance, title: str) -> str:
    """Return the title of a column in the words of the instance's scheduler."""
    return _TITLES.get(title, title) if instance.params.of_slurm else title


def foreign_command(instance: Instance, command: str) -> list[str]:
    """Return a note if a request is for the command of another scheduler."""
    own = "sbatch" if instance.params.of_slurm else "bsub"
    text = f"{ASSUMED}the request is for {command}, and this cluster takes {own}"
    return [] if command == own else [text]


def lowest_priority(option: str) -> str:
    """Return the note on a job whose priority is not known; option: that gives it one."""
    return f"{ASSUMED}it has the lowest priority of its partition: give {option} for another"


def refusal_text(instance: Instance, message: str) -> str:
    """Return why a request is refused, in the words of sbatch."""
    message = family_text(instance, message)
    for ours, theirs in _REFUSALS:
        message = ours.sub(theirs, message)
    return message
