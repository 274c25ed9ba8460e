"""Slurm's words for what the model says in LSF's: options, commands, settings and sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from .cluster import distinct
from .configuration import OF_JOBS
from .table_files import rows

if TYPE_CHECKING:
    from .instance import Instance

Form = tuple[re.Pattern[str], str, str]


def _forms() -> dict[str, list[Form]]:
    """Return the rows of the table by kind: our words, Slurm's, the field of ``scontrol update``.

    change: of a request, as a suggestion has it. Its field is "" if the job has to be submitted
    again; Slurm changes tasks, nodes and CPUs of a job each alone, so that a number of slots is not
    a single field. amount: in rusage[]. section: of a requirement. phrase: of a sentence. title: of
    a column. refusal: words of a refused request that are not names in quotes.
    """
    found = dict[str, list[Form]]()
    for kind, ours, theirs, update in rows(__package__, "slurm_words.tsv", 4):
        found.setdefault(kind, []).append((re.compile(ours), theirs, update))
    return found


_FORMS = _forms()
_RUSAGE = re.compile(r"rusage\[([^\]]*)\]")

#: Words for the units of a cluster.
_UNITS = (("queue", "partition"), ("host", "node"), ("slot", "CPU"))
_TITLES = {ours.pattern: theirs for ours, theirs, _ in _FORMS["title"]}
#: Settings of a queue, as those of a partition in slurm.conf.
PARTITION_KEYS = {"PRIORITY": "PriorityTier", "HOSTS": "Nodes", "HJOB_LIMIT": "MaxCPUsPerNode"}
#: Sections of an instance that Slurm calls otherwise.
SECTION_NAMES = {f"{word}s": f"{unit}s" for word, unit in _UNITS if word != "slot"}


def _matched(change: str) -> tuple[str, str] | None:
    """Return a change of a request in Slurm's words, and the field that makes it."""
    for ours, words, update in _FORMS["change"]:
        if (found := ours.fullmatch(change)) is not None:
            return found.expand(words), found.expand(update)
    if (found := re.fullmatch(r"with rusage\[([^\]]*)\]", change)) is not None:
        return f"with {_amounts(found[1])}", _memory_field(found[1])
    return None


def _amounts(text: str) -> str:
    parts = []
    for part in filter(None, re.split(r"[:,]", text)):
        expanded = (
            m.expand(words) for own, words, _ in _FORMS["amount"] if (m := own.fullmatch(part))
        )
        parts.append(next(expanded, part))
    return " ".join(parts)


def _memory_field(text: str) -> str:
    """Return the field for the memory of rusage[], "" if it has none in whole MB."""
    for own, _, field in _FORMS["amount"]:
        if field and (found := own.search(text)) is not None and found[1].isdigit():
            return found.expand(field)
    return ""


def change_text(instance: Instance, change: str) -> str:
    """Return a change of a request in the words of its scheduler: for Slurm ``-t 0:04:00``."""
    if not instance.params.scheduler.has_own_words:
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


#: What the boolean resource of a feature begins with if its name is not that of the feature.
FEATURE_PREFIX = "f_"


def feature_of(resource: str) -> str:
    """Return the feature of a boolean resource: ``intel-2020`` for ``f_intel_2d_2020``."""
    if not resource.startswith(FEATURE_PREFIX):
        return resource
    coded = resource.removeprefix(FEATURE_PREFIX)
    return re.sub(r"_([0-9a-f]{0,5})_", lambda found: chr(int(found[1] or "5f", 16)), coded)


def with_features(instance: Instance, text: str) -> str:
    """Return a text with the features of Slurm in place of their boolean resources."""
    if not instance.params.scheduler.has_own_words:
        return text
    return re.sub(rf"\b{FEATURE_PREFIX}\w+", lambda found: feature_of(found[0]), text)


def family_text(instance: Instance, text: str) -> str:
    """Return a sentence in the words of the instance's scheduler: of LSF as it is.

    The names of the cluster stay, also those that are words of LSF.
    """
    if not instance.params.scheduler.has_own_words:
        return text
    text = _RUSAGE.sub(lambda found: _amounts(found[1]), text)
    names, kept = _names_like_words(instance), list[str]()

    def hide(found: re.Match[str]) -> str:
        around = f"{text[: found.start()]}\0{text[found.end() :]}"
        if found[0] in _KEYS and not _IS_A_NAME.search(around):
            return found[0]
        is_resource = found[0] in (item.name for item in instance.cluster.resources)
        kept.append(feature_of(found[0]) if is_resource else found[0])
        return f"\0{len(kept) - 1}\0"

    masked = _in_our_words(text if names is None else names.sub(hide, text))
    return re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], masked)


def _in_our_words(text: str) -> str:
    for ours, theirs, _ in (*_FORMS["section"], *_FORMS["phrase"]):
        text = ours.sub(theirs, text)
    for word, unit in _UNITS:
        text = re.sub(_UNIT.format(word), partial(_unit, unit), text)
    return text


#: Words of sentences that may be names too: they are names alone, after a noun, and between
#: a preposition or a sign and the end of the phrase.
_KEYS = frozenset(
    (*("queue", "queues", "host", "hosts", "slot", "slots"), *("BACKFILL", "RUNLIMIT", "PRIORITY"))
)
_IS_A_NAME = re.compile(
    r"^\0$|(?:users?|groups?|queues?|partitions?|hosts?|nodes?|limit|qos|QOS|reservation"
    r"|licen[cs]es?|account|project|jobs?|feature|pool|class|jobs of|shares of) \0(?!\(s\))"
    r"|[*=<]\0|\0 available|-[\w-]+[ =]\0|\0 holds on |(?:HOST|treated as) +\0"
    r"|(?:[(\[{,;:'\"=>]\s?|\b(?:of|by|for|from|and|or|in|on) )\0(?![ \w-]\w)"
)


def _names_like_words(instance: Instance) -> re.Pattern[str] | None:
    """Return what finds the names of a cluster with a word of LSF in them, None if none has one."""
    if not hasattr(instance, "like_words"):
        found = [name for name in _names(instance) if _in_our_words(feature_of(name)) != name]
        longest = "|".join(map(re.escape, sorted(found, key=len, reverse=True)))
        pattern = re.compile(rf"(?<![\w.-])(?:{longest})(?![\w-])") if found else None
        object.__setattr__(instance, "like_words", pattern)
    return instance.like_words


#: Fields of jobs that are names.
_OF_JOBS = (
    *(item.of_job for item in OF_JOBS),
    *("id", "name", "group", "reservation", "job_group", "service_class", "from_host"),
)


def _names(instance: Instance) -> set[str]:
    """Return all names of a cluster and of its jobs."""
    cluster = instance.cluster
    later = instance.future if isinstance(instance.future, tuple) else ()
    jobs = (*(run.job for run in instance.running), *instance.pending, *later)
    found = {name for field in _OF_JOBS for name in map(attrgetter(field), jobs)}
    sections = (instance.queues, instance.limits, instance.users, instance.groups)
    more = (instance.advance_reservations, instance.associations, instance.partitions)
    for item in chain(*sections, *more, cluster.groups, cluster.units, cluster.shared):
        found |= _texts(item)
    found.update(host.name for host in cluster.hosts)
    found.update(*distinct(host.booleans for host in cluster.hosts))
    found.update(item.name for item in cluster.resources)
    found.update(*distinct(host.amounts for host in cluster.hosts))
    return found - {""}


def _texts(item: object) -> set[str]:
    """Return the texts in an object of the model."""
    if isinstance(item, str):
        return {item}
    if is_dataclass(item):
        item = [getattr(item, field.name) for field in fields(item)]
    elif isinstance(item, Mapping):
        item = item.keys() - {"slots"}  # the slots of a limit are no name
    return set().union(*map(_texts, item)) if isinstance(item, Iterable) else set()


#: A word for a unit in any number and any case, which is not part of a name.
_UNIT = r"(?<![\w'./-])((?i:{}))([sS]?)(?!'(?!s\b)|\w|[./]\w|-(?!hours))"


def _unit(word: str, found: re.Match[str]) -> str:
    """Return the word for a unit as its first letters are written."""
    if found[1].isupper():
        return f"{word.upper()}{found[2]}"
    return (word[0].upper() + word[1:] if found[1][0].isupper() else word) + found[2]


def unit_words(instance: Instance) -> dict[str, str]:
    """Return the words for a slot, a host and a queue."""
    return {
        ours: theirs if instance.params.scheduler.has_own_words else ours for ours, theirs in _UNITS
    }


def title_text(instance: Instance, title: str) -> str:
    """Return the title of a column in the words of the instance's scheduler."""
    return _TITLES.get(title, title) if instance.params.scheduler.has_own_words else title


def foreign_command(instance: Instance, command: str) -> tuple[str, ...]:
    """Return a note if a request is for the command of another scheduler."""
    own = instance.params.scheduler.submit
    if command == own:
        return ()
    return (f"the request is for {command}, but this cluster accepts {own}",)


def lowest_priority(instance: Instance, option: str) -> tuple[str, ...]:
    """Return the note on a job of Slurm whose priority is not known; option: that gives it one."""
    if not instance.params.scheduler.has_own_words:
        return ()
    return (f"it has the lowest priority of its partition; {option} sets another",)


def refusal_text(instance: Instance, message: str) -> str:
    """Return why a request is refused, in the words of sbatch."""
    message = family_text(instance, message)
    for ours, theirs, _ in _FORMS["refusal"]:
        message = ours.sub(theirs, message)
    return message
