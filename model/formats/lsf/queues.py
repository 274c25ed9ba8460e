"""lsb.queues: the queues."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from ...gpu_request import GPUS_NAMED
from ...queue import Queue
from ...resreq import Options, ResreqError, heeded_part
from ...resreq.scanner import alternatives
from ..names import expand_range, tokens
from .by_fact import limit_fields, lsf_keys, take_plain
from .draft import Draft, Item
from .hostnames import HostNames, short
from .hosts import put_thresholds
from .notes import Notes
from .parameters import note_rest
from .runlimits import RunLimits
from .sections import LsfEntry, LsfSection, entries
from .shared import Shared
from .source import Problems

SECTIONS = ("Queue",)
#: Beside what stands at the fields; the last two are taken by ``params.py``.
_TAKEN = lsf_keys(Queue) | {
    "RUNTIME",
    "DEFAULT_HOST_SPEC",
    "ENABLE_HIST_RUN_TIME",
    "RUN_TIME_DECAY",
}
#: Of what needs GPUs, where no host is known to have some.
NO_GPUS = "no file says which hosts have GPUs, LSF finds them itself: give these hosts gpus"
_OTHER_HOSTS = re.compile(r"others(\+\d{1,9})?")


def read_queues(
    sections: Iterable[LsfSection],
    names: HostNames,
    limits: RunLimits,
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> list[LsfEntry]:
    """Queues into the document; returned as they stand in the file."""
    found: list[LsfEntry] = []
    for section in sections:
        if section.name != "Queue":
            notes.not_modelled("lsb.queues", section.name)
            continue
        for entry in entries(section, problems, table=False):
            name = entry.text("QUEUE_NAME")
            if not name:
                problems.add(entry.place, "a queue needs a name", "Queue.QUEUE_NAME")
                continue
            found.append(entry)
            item = _queue(entry, names, notes)
            put_requirement(item, shared, notes, f"queue {name}")
            put_gpus(item, shared, notes, f"queue {name}")
            put_limits(item, Queue, limits, f"queue {name}", problems)
            put_thresholds(item, shared)
            note_rest(notes, entry, "queue", _TAKEN, f"queue {name}", shared.indices)
            draft.add("queues", item)
    return found


def _queue(entry: LsfEntry, names: HostNames, notes: Notes) -> Item:
    name = entry.text("QUEUE_NAME")
    item = Item(entry)
    item.put("name", name, "QUEUE_NAME")
    take_plain(item, Queue)
    if entry.text("HOSTS"):
        item.put("HOSTS", _hosts(entry, names, notes) or "all ~all")
    if preemption := entry.text("PREEMPTION"):
        plain = re.sub(r"\+\d{1,9}", "", preemption)
        if plain != preemption:
            reason = "queues are preempted by their own priorities, lowest first"
            notes.may_differ("preference levels in PREEMPTION", reason, f"queue {name}")
        item.put("PREEMPTION", plain)
    return item


def put_requirement(item: Item, shared: Shared, notes: Notes, where: str) -> None:
    """RES_REQ of a queue or application: of alternatives the first, and nothing of GPUs."""
    text = item.entry.text("RES_REQ")
    if not text:
        return
    if found := alternatives(text):
        reason = "the first counts; LSF tries the next where it finds no hosts for it"
        notes.may_differ("alternatives in RES_REQ", reason, where)
        text = found[0]
    gpus = {name for name in GPUS_NAMED.findall(text) if name not in shared.kinds}
    if gpus and not shared.gpus:
        notes.may_differ(f"{', '.join(sorted(gpus))} in RES_REQ", NO_GPUS, where)
        with suppress(ResreqError):  # the reader of the document says what is wrong with it
            text = heeded_part(
                text, Options(), lambda part: gpus.isdisjoint(GPUS_NAMED.findall(part))
            )
    if text:
        item.put("RES_REQ", text)


def put_gpus(item: Item, shared: Shared, notes: Notes, where: str) -> None:
    """GPU_REQ of a queue or application."""
    item.take("GPU_REQ", plain=False)
    if "GPU_REQ" in item.values:
        item.values["GPU_REQ"] = item.values["GPU_REQ"].strip("\"' ")
        if not shared.gpus:
            notes.may_differ("GPU_REQ", NO_GPUS, where)


def put_limits(item: Item, kind: type, limits: RunLimits, where: str, problems: Problems) -> None:
    """Limits and estimates of a queue or application; PROCLIMIT is TASKLIMIT since 10.1."""
    entry = item.entry
    for key in (field.key for field in limit_fields(kind)):
        value = entry.values.get(key)
        if value is None and key == "ESTIMATED_RUNTIME" and entry.section == "Queue":
            value = entry.values.get("RUNTIME")  # its former name
        if value is None:
            continue
        try:
            text = limits.text(value, entry, where)
        except ValueError as error:
            problems.add(value.place, str(error), f"{entry.section}.{key}")
            continue
        # A job without a limit of its own has the default, which comes first.
        item.put(key, text if key in ("RUNLIMIT", "RUNTIME") else text.split()[0])
    item.take("PROCLIMIT", "TASKLIMIT" if entry.text("TASKLIMIT") else "PROCLIMIT", plain=False)


def _hosts(entry: LsfEntry, names: HostNames, notes: Notes) -> str:
    """HOSTS as the document takes it: ``others`` and ``host*`` written out, no other clusters."""
    name = entry.text("QUEUE_NAME")
    words = tokens(entry.text("HOSTS"))
    away = [word for word in words if "@" in word or word in ("allremote", "none")]
    if away:
        reason = "hosts of other clusters are not modelled: jobs get the others alone, or none"
        notes.may_differ(f"HOSTS = {' '.join(away)}", reason, f"queue {name}")
    kept = [word for word in words if word not in away]
    found: list[str] = []
    for word in kept:
        if match := _OTHER_HOSTS.fullmatch(word):
            plain = [other for other in kept if not _OTHER_HOSTS.fullmatch(other)]
            listed = set(_known(plain, names))
            hosts = [host for host in names.hosts if host not in listed]
            found += [f"{part}{match[1] or ''}" for part in short(hosts).split()]
        elif "*" in word and not word.startswith("~"):
            pattern, plus, level = word.partition("+")
            found += [part + plus + level for part in short(_known([pattern], names)).split()]
        elif "*" in word:
            found += [f"~{part}" for part in short(_known([word[1:]], names)).split()]
        else:
            found.append(word)
    return " ".join(found)


def _known(words: Iterable[str], names: HostNames) -> list[str]:
    """Hosts of the words, preferences and exceptions aside; unknown ones are told of elsewhere."""
    found: list[str] = []
    for word in words:
        for name in _ranges(re.sub(r"^~|!|\+\d*", "", word)):
            try:
                found += names.of([name])
            except ValueError:
                continue
    return found


def _ranges(word: str) -> tuple[str, ...]:
    try:
        return expand_range(word)
    except ValueError:
        return ()
