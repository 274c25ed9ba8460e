"""``KEY=VALUE`` as a change of an instance document: `queues.parallel.BACKFILL=N` and the like.

A key is a path into the document of the instance: a section, the name of an entry (``*`` for any
part of a name), a key of it, and of shares and other mappings a name in there. A key of `params`
may stand alone: `LSB_TIME_RESERVE_NUMJOBS=4`. What a value may be is decided by the code that reads
files, on the changed document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from ..errors import InputError, Problem, nearest
from ..instance import Instance
from ..slurm_setting_keys import SCHEDULER_PARAMETERS, slurm_settings
from ..slurm_words import SECTION_NAMES, family_text
from . import text
from .build import examine
from .document import (
    Document,
    Finding,
    HostEntry,
    Location,
    ParamsEntry,
    QueueEntry,
    Section,
    section_of,
)
from .encode import to_document
from .guarantee_text import distribution, share_text
from .names import expand_range
from .source_text import plain_data

#: Keys that an entry of a section goes by.
_NAMES = ("name", "queue", "policy")
#: Keys whose value is shares by name.
_SHARES = frozenset({"FAIRSHARE", "USER_SHARES"})
#: Short names of sections.
_SHORT = {"pools": "guaranteed_pools"}
#: Sections that are no configuration: a study compares equal jobs at equal times.
_WORKLOAD = frozenset({"format", "origin", "now", "running", "pending", "future"})
_OPENING, _CLOSING = "[({", "])}"


@dataclass(frozen=True, slots=True)
class Setting:
    """A key and its value, as text."""

    #: Path of the key in the document.
    key: str
    #: New value as text.
    value: str
    #: Option that set the value, for messages: ``--set KEY=VALUE``.
    said: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}"


class SettingError(ValueError):
    """A key of a setting that the document does not have, or that is not complete."""


def read_setting(given: str, option: str = "--set") -> Setting:
    """Parse ``KEY=VALUE``; raises InputError for any other text."""
    key, sign, value = given.partition("=")
    if not sign or not key.strip():
        raise InputError([Problem(f"must be KEY=VALUE, not {given!r}", option)])
    return Setting(key.strip(), value.strip(), f"{option} {given}")


def split_values(given: str, at: str = ",") -> list[str]:
    """Return the parts of a list; separators inside brackets or quotes do not split."""
    parts, depth, quote, begin = [], 0, "", 0
    for place, char in enumerate(given):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
        elif char == at and depth <= 0:
            parts.append(given[begin:place].strip())
            begin = place + 1
    return [*parts, given[begin:].strip()]


def changed(
    instance: Instance, settings: Sequence[Setting], others: Iterable[str] = ()
) -> tuple[Instance | None, list[Problem]]:
    """Return the instance with these settings, or None, and all errors.

    others: keys that mean something elsewhere, for `did you mean`. An instance without settings is
    itself.
    """
    if not settings:
        return instance, []
    document = to_document(instance)
    places: dict[Location, Setting] = {}
    wrong: list[Problem] = []
    own_words = instance.params.scheduler.has_own_words
    for setting in settings:
        try:
            pairs = [(setting.key, setting.value)]
            if own_words:
                params = document.get("params", {})
                present = params.get(SCHEDULER_PARAMETERS, "") if isinstance(params, dict) else ""
                pairs = slurm_settings(setting.key, setting.value, present)
            for key, value in pairs:
                for place in _places(document, key, others, own_words=own_words):
                    _put(document, place, value)
                    places[place] = setting
        except ValueError as error:
            wrong.append(Problem(family_text(instance, str(error)), setting.said or str(setting)))
    found, findings = examine(document)
    wrong += _blamed(findings, places, settings)
    return (None if wrong else found), wrong


def _blamed(
    findings: Iterable[Finding], places: Mapping[Location, Setting], settings: Sequence[Setting]
) -> list[Problem]:
    """Return the errors of the changed document, each with the setting that caused it."""
    problems: list[Problem] = []
    for finding in findings:
        if finding.warning:
            continue
        place = finding.place
        touched = (s for at, s in places.items() if at[: len(place)] == place[: len(at)])
        blamed = next(touched, None)
        if blamed is None and any(problem.message == finding.message for problem in problems):
            continue  # errors appear again when the value is used
        said = [item.said or str(item) for item in ((blamed,) if blamed else settings)]
        path = "" if blamed else ".".join(map(str, place))
        problems.append(Problem(finding.message, " ".join(said), path=path))
    return list(dict.fromkeys(problems))


def keys_of(model: type[Section]) -> list[str]:
    """Return the keys that a section accepts."""
    return [info.alias or name for name, info in model.model_fields.items()]


def workload_key(key: str) -> str:
    """Return the error for a key of the jobs or times, "" for any other key."""
    first = key.partition(".")[0]
    if first not in _WORKLOAD:
        return ""
    return f"{first} is not part of the configuration: change jobs and times in the instance file"


def _canonical(model: type[BaseModel], key: str) -> str:
    """Return the document's name for a key."""
    names: dict[str, str] = getattr(model, "lsf_names", {})
    return names.get(key.upper(), key)


def _places(
    document: dict[str, Any], key: str, others: Iterable[str], *, own_words: bool
) -> list[Location]:
    """Return the places of a key in the document; unknown keys are left to the reader."""
    first, dot, rest = key.partition(".")
    first = _SHORT.get(first, first) if dot else first
    if said := workload_key(key):
        raise SettingError(said)
    sections = [name for name in keys_of(Document) if name not in _WORKLOAD]
    if not dot:
        return [_alone(first, sections, others)]
    if first not in sections:
        if own_words:
            sections = [SECTION_NAMES.get(name, name) for name in sections]
            sections.remove("host_partitions")
        known = [*sections, *(f"params.{name}" for name in keys_of(ParamsEntry))]
        raise SettingError(f"unknown key {first!r}{nearest(first, known)}")
    model = section_of(Document, first)
    if first == "params":
        return [(first, _canonical(ParamsEntry, rest))]
    if model is None or first == "config":
        return [(first, *rest.split(".", 1))]
    return _of_entries(document, first, model, rest)


def _alone(key: str, sections: list[str], others: Iterable[str]) -> Location:
    """Return the place of a key without a path: in params, or at the top of the document."""
    name = _canonical(ParamsEntry, key)
    params = keys_of(ParamsEntry)
    if name in params:
        return ("params", name)
    if key in sections:
        return (key,)
    if key in keys_of(QueueEntry):
        raise SettingError(f"{key} belongs to a queue: write queues.NAME.{key} or queues.*.{key}")
    raise SettingError(f"unknown key {key!r}{nearest(key, [*params, *sections, *others])}")


def _of_entries(
    document: dict[str, Any], section: str, model: type[BaseModel], rest: str
) -> list[Location]:
    """Return the places of list entries whose names match."""
    if section == "queues" and not document.get(section):
        document[section] = [{"name": "default"}]
    entries: list[dict[str, Any]] = document.get(section, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SettingError(f"{section} must be a list of entries before {section}.{rest} is set")
    names = [_name_of(entry) for entry in entries]
    name, key = _parted(names, rest)
    if not key:
        raise SettingError(f"no key is given: write {section}.{rest}.KEY=VALUE")
    if issubclass(model, HostEntry) and name not in names and "*" not in name:
        entries = document[section] = _single_hosts(entries, name)
        names = [_name_of(entry) for entry in entries]
    found = _matching(names, name)
    if not found and issubclass(model, HostEntry):  # hosts given as one range belong together
        wanted = expand_range(name)
        found = [n for n, each in enumerate(names) if each in wanted]
    if not found:
        what = section.replace("_", " ").removesuffix("s")
        listed = f": there are {', '.join(names)}" if 0 < len(names) <= 12 else ""
        raise SettingError(f"unknown {what} {name!r}{nearest(name, names) or listed}")
    key, dot, part = key.partition(".")
    key = _canonical(model, key)
    if not dot:
        return [(section, n, key) for n in found]
    return _of_parts(entries, section, found, key, part, alone="*" not in name)


def _of_parts(
    entries: list[dict[str, Any]],
    section: str,
    found: list[int],
    key: str,
    part: str,
    *,
    alone: bool,
) -> list[Location]:
    """Return places within shares and mappings, for many entries only if they have the part."""
    places: list[Location] = []
    for n in found:
        inside = entries[n].get(key)
        if key in _SHARES and isinstance(inside, (str, list)):
            entries[n][key] = inside = dict(text.user_shares(inside))
        if key == "DISTRIBUTION" and isinstance(inside, str):
            amounts = {i.service_class: share_text(i.share) for i in distribution(inside)}
            entries[n][key] = inside = amounts
        if isinstance(inside, dict) and (alone or part in inside):
            places.append((section, n, key, part))
    if not places:
        owners = " or ".join(f"{section}.{_name_of(entries[n])}" for n in found[:3])
        raise SettingError(f"{owners} has no part {part!r} in {key}: set the whole {key}")
    return places


def _parted(names: Iterable[str], rest: str) -> tuple[str, str]:
    """Split a path into the name of an entry, which may contain dots, and the key after it."""
    words = rest.split(".")
    heads = [".".join(words[:count]) for count in range(len(words), 0, -1)]
    known = list(names)
    name = next((head for head in heads if _matching(known, head)), words[0])
    return name, rest[len(name) + 1 :]


def _matching(names: Sequence[str], name: str) -> list[int]:
    """Return the places of matching names; ``*`` matches any part of a name."""
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))))
    return [n for n, each in enumerate(names) if pattern.fullmatch(each)]


def _name_of(entry: Mapping[str, Any]) -> str:
    return next((str(entry[key]) for key in _NAMES if key in entry), "")


def _single_hosts(entries: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the host entries, with ranges that contain some of the named hosts expanded."""
    try:
        wanted = set(expand_range(name))
    except ValueError as error:
        raise SettingError(str(error)) from None
    found: list[dict[str, Any]] = []
    for entry in entries:
        names = expand_range(_name_of(entry))
        some = len(names) > 1 and not wanted.isdisjoint(names)
        found += [{**entry, "name": each} for each in names] if some else [entry]
    return found


def _put(document: dict[str, Any], place: Location, given: str) -> None:
    """Set the value at a place, or remove the key if the value is empty."""
    inside: Any = document
    for part in place[:-1]:
        if isinstance(part, int):
            inside = inside[part]
        elif isinstance(inside, dict):
            inside = inside.setdefault(part, {})
    value = _value(str(place[-1]), given)
    if not isinstance(inside, dict):
        raise SettingError(
            f"{'.'.join(map(str, place[:-1]))} has no keys, so {place[-1]!r} cannot be set: "
            "set it as a whole"
        )
    if value is None:
        inside.pop(place[-1], None)
    else:
        inside[place[-1]] = value


def _value(key: str, given: str) -> Any:
    """Return the value that YAML reads after `key: `; invalid YAML is a text."""
    try:
        return plain_data(f"{key if key.isidentifier() else 'key'}: {given}\n", "", "yaml")[0][
            key if key.isidentifier() else "key"
        ]
    except (InputError, KeyError, TypeError):
        return given
