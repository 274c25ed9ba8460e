"""Limits of lsb.resources and of job groups, as blimits, bresources and bjgroup print them.

``blimits -c`` and ``bresources`` print the sections as configured. ``blimits`` prints a row for
each consumer with what it uses, ``USED/LIMIT``: whether others are limited too it does not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from ...configuration import CONSUMERS, Limit, Scope
from ...formats.build import limit_of
from ...formats.document import FORMS, Finding, LimitEntry
from ...formats.fields import given
from ...formats.lsf.draft import Draft, Notes, read_sections
from ...formats.lsf.lines import Line, Problems
from ...formats.lsf.queues import read_resources
from ...formats.lsf.shared import Shared
from ...instance import Instance
from ...job import JobGroup
from ...omissions import Omission
from ...shares import Groups
from . import values
from .printed_facts import LIMIT_AMOUNTS, LIMIT_CONSUMERS, PLAIN, titles
from .reading import Reading, Touched
from .values import Remarks, Text


@dataclass(frozen=True, slots=True)
class SeenLimit:
    """One row of blimits: a limit, whom it binds there, and what of it is in use."""

    #: Name of the limit.
    name: str
    #: Names by ``users``, ``queues``, ``hosts``, ``projects``, ``apps``, ``lic_projects``; a kind
    #: that is missing binds all.
    consumers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Limit by resource.
    amounts: Mapping[str, float] = field(default_factory=dict)
    #: Amount in use by resource.
    used: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenUse:
    """Amount that a command prints for the jobs of a group, a class or a reservation."""

    #: Command that prints it.
    where: str
    #: Field of a listed job with the name of its group, class or reservation.
    of: str
    #: Name of the group, the class or the reservation.
    name: str
    #: "jobs" or "slots"; the name of the pool of which a service class uses an amount.
    unit: str
    #: Amount in total.
    amount: float
    #: Host of the use; "" stands for all hosts.
    host: str = ""
    #: "in use" or "pending".
    state: str = "in use"


def limits_as_configured(text: Text, reading: Reading) -> tuple[Limit, ...]:
    """Return the limits of sections as in lsb.resources; omissions are noted in `reading`."""
    lines = [
        Line(line, text.source, ((0, number),))
        for number, line in enumerate(text.content.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    problems, notes, draft = Problems(), Notes(), Draft()
    sections = read_sections(lines, ("Limit",), problems, text.source)
    limits = [section for section in sections if section.name == "Limit"]
    read_resources(limits, Shared(gpus=True), draft, notes, problems)
    for problem in problems.found:
        reading.at(problem.path, problem.line, Touched())
        reading.unknown(problem.message)
    reading.notes.omissions += [
        Omission(**given(Omission, FORMS[Omission].model_validate(item)))
        for item in notes.omissions()
    ]
    reading.notes += list(notes.lines())
    found = []
    for index, written in enumerate(draft.document.get("limits", ())):
        entry, findings = dict(written), list[Finding]()
        reading.at(f"limit {entry['name']}", None, Touched())
        for key in _unreadable(entry):
            mark = draft.marks.get(("limits", index, key))
            reading.line = None if mark is None else mark.place.line
            reading.unknown(
                f"{key}: {str(entry.pop(key))!r} is neither an amount nor a list of names", name=key
            )
        if set(reading.names) - _AMOUNTS or not entry.keys() & _AMOUNTS:
            continue  # with another scope it would bind others
        found.append(limit_of(LimitEntry.model_validate(entry), index, findings))
        for finding in findings:
            reading.unknown(finding.message)
    return tuple(found)


_AMOUNTS = frozenset({"SLOTS", "SLOTS_PER_PROCESSOR", "JOBS", "MEM", "SWP", "TMP", "RESOURCE"})


def _unreadable(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a section whose values cannot be read."""
    try:
        LimitEntry.model_validate(entry)
    except ValidationError as error:
        wrong = (str(item["loc"][0]) for item in error.errors() if item["loc"])
        return tuple(key for key in dict.fromkeys(wrong) if key in entry)
    return ()


def read_blimits(text: Text, reading: Reading) -> Iterator[SeenLimit]:
    """Yield the rows of blimits; a cell belongs to the column above it."""
    header: list[tuple[str, int]] = []
    row: dict[str, str] = {}
    line = 0
    for number, written in enumerate([*text.content.splitlines(), ""], start=1):
        words = [(found[0], found.start() + found.end()) for found in re.finditer(r"\S+", written)]
        names = [word for word, _ in words]
        goes_on = bool(row) and bool(words) and not _begins(words, header)
        if row and not goes_on:
            yield from _limit(row, line, reading)
            row = {}
        if names[:1] == ["NAME"]:
            header = words
        elif not words or written.rstrip().endswith("LIMITS:"):
            continue
        elif header and goes_on:
            for name, cell in _cells(words, header).items():
                row[name] = f"{row[name]} {cell}" if row.get(name, "-") != "-" else cell
        elif header:
            row, line = _cells(words, header), number


def _begins(words: Sequence[tuple[str, int]], header: Sequence[tuple[str, int]]) -> bool:
    """Return whether a line has a name of its own, and is not the rest of the previous one."""
    return len(words) >= len(header) or _nearest(words[0][1], header) == "NAME"


def _nearest(middle: int, header: Sequence[tuple[str, int]]) -> str:
    return min(header, key=lambda item: abs(item[1] - middle))[0]


def _cells(words: Sequence[tuple[str, int]], header: Sequence[tuple[str, int]]) -> dict[str, str]:
    if len(words) == len(header):
        return {name: word for (name, _), (word, _) in zip(header, words, strict=True)}
    found: dict[str, str] = {}
    for word, middle in words:
        name = _nearest(middle, header)
        found[name] = f"{found[name]} {word}" if name in found else word
    return found


def _limit(row: Mapping[str, str], line: int, reading: Reading) -> Iterator[SeenLimit]:
    consumers = {
        kind: tuple(_plain(word) for word in re.split(r"[\s,]+", text))
        for title, kind in titles(LIMIT_CONSUMERS, PLAIN)
        if (text := row.get(title, "-").strip()) not in ("", "-", "all")
    }
    scope: dict[str, Any] = {key: consumers.get(key, ()) for key in ("users", "queues", "hosts")}
    reading.at(f"limit {row.get('NAME', '')}", line, Touched(**scope))
    known = dict(titles(LIMIT_AMOUNTS, PLAIN))
    amounts, used = {}, {}
    for title, text in row.items():
        if title == "NAME" or title in dict(titles(LIMIT_CONSUMERS, PLAIN)):
            continue
        if title in _UNHEEDED:
            if not values.blank(text):
                reading.unknown(f"a limit of {title}, which is not modelled")
            continue
        resource = known.get(title, title)
        pair = reading.value(title, text, _pair, () if resource in _COUNTS else (resource,))
        if pair is not None:
            amounts[resource] = pair[1]
            if pair[0] is not None:
                used[resource] = pair[0]
    if amounts:
        yield SeenLimit(row.get("NAME", ""), consumers, amounts, used)


#: Amounts that are no resource of a requirement, and columns of limits that are not modelled.
_COUNTS = frozenset({"slots", "jobs"})
_UNHEEDED = frozenset({"INELIGIBLE", "JOBS_PER_SCHED_CYCLE"})


def _plain(word: str) -> str:
    """Return a name without cluster or mark: ``hostA@cluster1`` and ``@queue`` of some programs."""
    return word.lstrip("@").partition("@")[0].rstrip("/")


def _pair(text: str) -> tuple[float | None, float] | None:
    """Return use and limit of ``3/10``, ``-/2`` or ``1G/25G``; None for ``-``."""
    if values.blank(text):
        return None
    used, slash, limit = text.strip().partition("/")
    most = values.size(limit) if slash else None
    if most is None:
        raise ValueError(f"{text.strip()!r} is not USED/LIMIT such as 3/10")
    return values.size(used), most


def limits_of_rows(rows: Sequence[SeenLimit]) -> tuple[Limit, ...]:
    """Return the limits of rows; rows of one name that differ become several limits."""
    by_name: dict[tuple[str, tuple[tuple[str, float], ...]], list[SeenLimit]] = {}
    for row in rows:
        by_name.setdefault((row.name, tuple(sorted(row.amounts.items()))), []).append(row)
    found: list[Limit] = []
    names: dict[str, int] = {}
    for (name, _), alike in by_name.items():
        names[name] = names.get(name, 0) + 1
        own = name if names[name] == 1 else f"{name}.{names[name]}"
        scopes: dict[str, Any] = {
            item.field: _scope([row.consumers.get(item.field, ()) for row in alike])
            for item in CONSUMERS
        }
        found.append(Limit(own, dict(alike[0].amounts), None, **scopes))
    return tuple(found)


def _scope(rows: Sequence[tuple[str, ...]]) -> Scope | None:
    if not any(rows):
        return None
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    return Scope(names, each=len(set(rows)) > 1)


def read_bjgroup(text: Text, reading: Reading) -> Iterator[JobGroup | SeenUse]:
    """Yield the job groups of bjgroup, each with its own limit, and the counts of their jobs."""
    names: list[str] = []
    for number, line in enumerate(text.content.splitlines(), start=1):
        words = line.split()
        if words[:1] == ["GROUP_NAME"]:
            names = words
        elif names and words:
            # A group without an owner or a class has one word less.
            row = dict(zip(names, words, strict=False))
            reading.at(f"job group {words[0]}", number, Touched())
            name = reading.value("GROUP_NAME", words[0], values.job_group)
            if not name:
                continue  # the root has no limit
            found = next((word for word in words[1:] if "/" in word and word != "()"), "")
            if "JLIMIT" not in names:
                yield JobGroup(name, None)
            elif not found:
                reading.unknown(f"JLIMIT {row.get('JLIMIT', '')!r} is not STARTED/LIMIT")
            else:
                limit = reading.value("JLIMIT", found.split("/", 1)[1], values.whole)
                if not reading.names:
                    yield JobGroup(name, limit)
            yield from _uses_of_group(name, {**row, "STARTED": found.split("/")[0]}, reading)


def _uses_of_group(name: str, row: Mapping[str, str], reading: Reading) -> Iterator[SeenUse]:
    """Yield the counts of a job group, and what counts in its limit."""
    pending, *parts = (
        reading.value(column, row.get(column, ""), values.whole) or 0
        for column in ("PEND", "RUN", "SSUSP", "USUSP")
    )
    started = int(row["STARTED"]) if row["STARTED"].isdecimal() else 0
    yield SeenUse("bjgroup", "job_group", name, "jobs", max(sum(parts), started))
    yield SeenUse("bjgroup", "job_group", name, "jobs", pending, state="pending")


def tell_others(instance: Instance, rows: Sequence[SeenLimit], notes: Remarks) -> None:
    """Note unknown scopes: whether a limit covers names not listed."""
    groups = Groups(instance.groups)
    named: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for kind, names in row.consumers.items():
            named.setdefault((row.name, kind), set()).update(names)
    for (name, kind), bound in named.items():
        shown = f"{', '.join(sorted(bound)[:3])}{' and others' if len(bound) > 3 else ''}"
        text = (
            f"limit {name} applies to {shown}: only blimits -c shows whether it applies to "
            f"more {kind}"
        )
        if kind == "hosts":
            rest = [h.name for h in instance.cluster.hosts if h.name not in bound]
            if rest:
                notes.touch(text, where="blimits", hosts=rest)
            continue
        key = next(item.of_job for item in CONSUMERS if item.field == kind)
        others = [
            job.id
            for job in instance.pending
            if not any(
                getattr(job, key) == n or (n in groups and groups.contains_user(n, job.user))
                for n in bound
            )
        ]
        if others:
            notes.touch(text, others, where="blimits")


def without_strangers(
    limits: Iterable[Limit], hosts: Iterable[str], notes: Remarks
) -> tuple[Limit, ...]:
    """Return the limits without hosts that no input lists."""
    known = {*hosts, "all"}
    found = []
    for limit in limits:
        scope = limit.hosts
        if scope is None:
            found.append(limit)
            continue
        names = tuple(name for name in scope.names if name in known)
        if names != scope.names:
            gone = ", ".join(name for name in scope.names if name not in known)
            notes.append(f"limit {limit.name}: {gone} is not a host: omitted")
        if names:
            excluded = tuple(name for name in scope.excluded if name in known)
            found.append(replace(limit, hosts=Scope(names, scope.each, excluded)))
    return tuple(found)
