"""lsb.queues: the queues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ...configuration import CONSUMERS, Queue, User, UserGroup
from ...display import MINUTE
from ...errors import nearest
from ...gpu_request import GPUS_NAMED
from ...job import Application
from ...omissions import GPUS
from ...resreq import Options, ResreqError, heeded_part
from ..names import expand_range, tokens
from ..units import format_duration, parse_duration
from .cluster import Machine
from .draft import Concerned, Draft, Item, LsfEntry, LsfSection, Mark, Notes, entries, named_entries
from .guarantees import POOL, read_pool
from .hosts import internal_members, put_thresholds
from .lines import Problems, Value
from .params import PREEMPTION, concerned, limit_fields, lsf_keys, note_rest, take_plain
from .shared import HostNames, Shared, short


class RunLimits:
    """Brings limits to wall-clock time where the CPU factors of the hosts allow it.

    A limit of n minutes on hostA is n * factor(hostA) / factor(host) minutes on the host that runs
    the job. Where all hosts have one factor this is one number; where they differ, or a host's
    model is not known (``!``), it is not, and the limit is treated as it stands, with a note.
    ABS_RUNLIMIT = Y: limits are wall-clock time.
    """

    def __init__(
        self,
        machines: Mapping[str, Machine],
        factors: Mapping[str, float],
        params: LsfEntry | None,
        notes: Notes,
    ) -> None:
        self._factors = {**factors, **{name: m.factor for name, m in machines.items()}}
        self._running = {
            None if machine.model == "any" else machine.factor for machine in machines.values()
        }
        absolute = params.text("ABS_RUNLIMIT") if params else ""
        self._absolute = absolute.upper() in ("Y", "YES")
        self._default = params.text("DEFAULT_HOST_SPEC") if params else ""
        self._notes = notes

    def text(self, value: Value, entry: LsfEntry, where: str) -> str:
        """Return the limit in the document's form; raises ValueError for an unknown host."""
        spec = entry.text("DEFAULT_HOST_SPEC") or self._default
        return " ".join(self._one(word, spec, where, entry) for word in value.text.split())

    def _one(self, word: str, default: str, where: str, entry: LsfEntry) -> str:
        limit, slash, spec = word.partition("/")
        if slash and spec not in self._factors:
            hint = nearest(spec, self._factors)
            raise ValueError(f"unknown host or model {spec!r}{hint} after the limit {limit}/")
        spec = spec or default
        if self._absolute or entry.text("ABS_RUNLIMIT").upper() in ("Y", "YES") or limit == "-":
            return limit
        if not spec and self._running <= {None}:
            return limit  # no file gives CPU factors
        if len(self._running) > 1 or None in self._running:
            self._notes.may_differ(
                "CPU factors",
                "run limits are relative to a host and scaled on others; here they are "
                "wall-clock time",
                where,
                concerned(entry, "later ends"),
            )
            return limit
        common = next(iter(self._running), None) or 1.0
        ratio = self._factors.get(spec, common) / common if spec else 1.0
        if ratio == 1.0:
            return limit
        return format_duration(max(1, round(parse_duration(limit, MINUTE) * ratio)))


QUEUE_SECTIONS = ("Queue",)
#: Further keys, in addition to those defined at the fields; ``params.py`` reads the last two.
_TAKEN = lsf_keys(Queue) | {
    "RUNTIME",
    "DEFAULT_HOST_SPEC",
    "ENABLE_HIST_RUN_TIME",
    "RUN_TIME_DECAY",
}
#: Omission for GPU requests if no host is known to have GPUs.
NO_GPUS = "no file gives the GPUs of hosts (LSF detects them itself): set gpus of these hosts"
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
    """Add the queues to the document; return their entries in the file."""
    found: list[LsfEntry] = []
    for section in sections:
        if section.name != "Queue":
            notes.not_modelled("lsb.queues", section.name)
            continue
        for name, entry in named_entries(section, "QUEUE_NAME", "a queue", problems):
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
            by = Concerned(only=PREEMPTION)
            notes.may_differ("preference levels in PREEMPTION", reason, f"queue {name}", by)
        item.put("PREEMPTION", plain)
    return item


def put_requirement(item: Item, shared: Shared, notes: Notes, where: str) -> None:
    """Add RES_REQ of a queue or application, without GPUs if no file gives the GPUs of hosts."""
    text = item.entry.text("RES_REQ")
    if not text:
        return
    gpus = {name for name in GPUS_NAMED.findall(text) if name not in shared.kinds}
    if gpus and not shared.gpus:
        asked = ", ".join(sorted(gpus))
        notes.may_differ(f"{asked} in RES_REQ", NO_GPUS, where, concerned(item.entry))
        with suppress(ResreqError):  # the reader of the document reports errors
            text = heeded_part(
                text, Options(), lambda part: gpus.isdisjoint(GPUS_NAMED.findall(part))
            )
    if text:
        item.put("RES_REQ", text)


def put_gpus(item: Item, shared: Shared, notes: Notes, where: str) -> None:
    """Add GPU_REQ of a queue or application to the document."""
    item.take("GPU_REQ", plain=False)
    if "GPU_REQ" in item.values:
        item.values["GPU_REQ"] = item.values["GPU_REQ"].strip("\"' ")
        if not shared.gpus:
            notes.may_differ("GPU_REQ", NO_GPUS, where, concerned(item.entry))


def put_limits(item: Item, kind: type, limits: RunLimits, where: str, problems: Problems) -> None:
    """Add limits and estimates of a queue or application; TASKLIMIT replaces PROCLIMIT in 10.1."""
    entry = item.entry
    for key in (field.key for field in limit_fields(kind)):
        value = entry.values.get(key)
        if value is None and key == "ESTIMATED_RUNTIME" and entry.section == "Queue":
            value = entry.values.get("RUNTIME")  # former name of the key
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
    """Return HOSTS in the document's form: ``others`` and ``host*`` expanded, no other clusters."""
    name = entry.text("QUEUE_NAME")
    words = tokens(entry.text("HOSTS"))
    away = [word for word in words if "@" in word or word in ("allremote", "none")]
    if away:
        reason = "hosts of other clusters are not modelled: jobs use local hosts only"
        notes.may_differ(f"HOSTS = {' '.join(away)}", reason, f"queue {name}", concerned(entry))
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
    """Return the hosts of the words, without preferences; unknown words are reported elsewhere."""
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


APPLICATION_SECTIONS = ("Application",)
_TAKEN_OF_APPLICATIONS = lsf_keys(Application) | {
    *("DESCRIPTION", "DEFAULT_HOST_SPEC", "ABS_RUNLIMIT")
}


def read_applications(
    sections: Iterable[LsfSection],
    limits: RunLimits,
    shared: Shared,
    draft: Draft,
    notes: Notes,
    problems: Problems,
) -> None:
    """Add the application profiles to the document."""
    for section in sections:
        if section.name != "Application":
            notes.not_modelled("lsb.applications", section.name)
            continue
        for name, entry in named_entries(section, "NAME", "an application profile", problems):
            item = Item(entry)
            item.put("name", name, "NAME")
            take_plain(item, Application)
            put_requirement(item, shared, notes, f"application {name}")
            put_gpus(item, shared, notes, f"application {name}")
            put_limits(item, Application, limits, f"application {name}", problems)
            note_rest(notes, entry, "application", _TAKEN_OF_APPLICATIONS, f"application {name}")
            draft.add("applications", item)


USER_SECTIONS = ("UserGroup", "User", "UserMap")


def read_users(
    sections: Iterable[LsfSection], draft: Draft, notes: Notes, problems: Problems
) -> None:
    """Add the user groups and users to the document."""
    for section in sections:
        if section.name not in ("UserGroup", "User"):
            notes.not_modelled("lsb.users", section.name)
            continue
        put = _group if section.name == "UserGroup" else _user
        for entry in entries(section, problems, table=True):
            put(entry, draft, notes)


def _group(entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    name = entry.text("GROUP_NAME")
    item = Item(entry)
    item.put("name", name, "GROUP_NAME")
    members = internal_members(entry.values.get("GROUP_MEMBER"), notes, f"group {name}")
    item.put("members", members, "GROUP_MEMBER")
    if tokens(entry.text("USER_SHARES")) == ("!",):
        reason = "its shares are known only to a program of the site (egroup)"
        notes.may_differ("external shares", reason, f"group {name}")
    else:
        item.take("USER_SHARES", plain=False)
    item.take("PRIORITY")
    note_rest(notes, entry, "user group", lsf_keys(UserGroup), name)
    draft.add("user_groups", item)


def _user(entry: LsfEntry, draft: Draft, notes: Notes) -> None:
    item = Item(entry)
    item.put("name", entry.text("USER_NAME"), "USER_NAME")
    take_plain(item, User)
    note_rest(notes, entry, "user", lsf_keys(User), entry.text("USER_NAME"))
    draft.add("users", item)


RESOURCE_SECTIONS = (
    "Limit",
    "ReservationUsage",
    POOL,
    "ResourceReservation",
    "HostExport",
    "SharedResourceExport",
)
_AMOUNTS = ("SLOTS", "SLOTS_PER_PROCESSOR", "JOBS", "MEM", "SWP", "TMP", "RESOURCE", "LICENSE")
_SCOPES = [key.upper() for item in CONSUMERS for key in (item.field, item.per_field)]
#: INELIGIBLE only says how the pending time of a job counts.
_TAKEN_OF_RESOURCES = frozenset(["NAME", "INELIGIBLE", *_AMOUNTS, *_SCOPES])
#: Amounts that nothing here counts.
_OTHER_AMOUNTS = frozenset(["FWD_SLOTS", "ELIGIBLE_PEND_JOBS", "JOBS_PER_SCHED_CYCLE"])
#: Scopes that nothing here knows.
_OTHER_SCOPES = frozenset(["CLUSTERS", "PER_CLUSTER"])
#: A term of RESOURCE.
_TERM = re.compile(r"\[([^\[\],]*),([^\[\],]*)\]")
_METHODS = ("PER_JOB", "PER_HOST", "PER_SLOT")
#: Names in LSF 10.1 of the LSF 7 keys.
_SAME = {"PER_TASK": "PER_SLOT"}


def read_resources(
    sections: Iterable[LsfSection], shared: Shared, draft: Draft, notes: Notes, problems: Problems
) -> None:
    """Add limits, ReservationUsage and guaranteed pools to the document."""
    unnamed = 0
    for section in sections:
        if section.name == "Limit":
            for entry in entries(section, problems):
                name = entry.text("NAME") or f"NONAME{unnamed:03d}"
                unnamed += not entry.text("NAME")
                _limit(name, entry, shared.kinds, draft, notes)
        elif section.name == "ReservationUsage":
            for entry in entries(section, problems, table=True):
                _usage(entry, draft, notes, problems)
        elif section.name == POOL:
            what = "a guaranteed resource pool"
            for name, entry in named_entries(section, "NAME", what, problems):
                read_pool(name, entry, draft, notes)
        else:
            reason = "LSF reserves resources by it; here none are reserved"
            notes.may_differ(section.name, reason, notes.at(section.place))


def _limit(
    name: str, entry: LsfEntry, kinds: Mapping[str, str], draft: Draft, notes: Notes
) -> None:
    """Add a limit to the document, without the amounts that are not modelled.

    A limit with a scope that is not modelled is omitted, because it would affect too many jobs.
    """
    scopes = (set(entry.values) - _TAKEN_OF_RESOURCES) - _OTHER_AMOUNTS
    if scopes:
        for parameter in sorted(scopes):
            is_known = parameter in _OTHER_SCOPES
            hint = "" if is_known else nearest(parameter, sorted(_TAKEN_OF_RESOURCES))
            reason = f"it is not modelled{hint}, and the limit is omitted"
            topic = f"{entry.keys[parameter]} in limits"
            notes.may_differ(topic, reason, f"limit {name}", _bound_by(entry))
        return
    item = Item(entry)
    item.put("name", name, "NAME")
    gone = {f"{entry.keys[key]} in limits": key for key in entry.values if key in _OTHER_AMOUNTS}
    for key in _AMOUNTS[:6]:
        if "%" in entry.text(key) and not entry.text("PER_HOST"):
            gone[f"{entry.keys[key]} in percent"] = key
        else:
            item.take(key)
    for key in _SCOPES:
        item.take(key, plain=False)
    for parameter in ("RESOURCE", "LICENSE"):
        if text := entry.text(parameter):
            kept, without = _resources(text, kinds)
            gone |= without
            if kept:
                item.put("RESOURCE", kept, parameter)
    left = bool(item.values.keys() & {*_AMOUNTS})
    rest = "the rest of the limit applies" if left else "the limit is omitted"
    for topic, key in gone.items():
        by = _bound_by(entry, key)
        notes.may_differ(topic, f"it is not modelled, and {rest}", f"limit {name}", by)
    if left or not gone:
        draft.add("limits", item)


def _bound_by(entry: LsfEntry, amount: str = "") -> Concerned:
    """Return the jobs that a limit covers, if its scope is known.

    amount: the one in question, a parameter or a resource; "" for all that it has.
    """
    scope: dict[str, tuple[str, ...]] = {}
    for key in ("queues", "users", "hosts"):
        words = tokens(f"{entry.text(key.upper())} {entry.text(f'PER_{key[:-1].upper()}')}")
        if words and not any(word == "all" or word.startswith("~") for word in words):
            scope[key] = words
    if amount in ("MEM", "SWP", "TMP"):
        scope["resources"] = (amount.lower(),)
    elif amount and amount not in {*_AMOUNTS, *_OTHER_AMOUNTS}:
        scope["resources"] = (GPUS if GPUS_NAMED.fullmatch(amount) else amount,)
    return Concerned(scope)


def _resources(text: str, kinds: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return RESOURCE of a limit without terms that are not modelled, and these terms."""
    bare = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    gone: dict[str, str] = {}

    def kept(term: re.Match[str]) -> str:
        name = term[1].strip()
        if "%" in term[2]:
            gone[f"{name} in percent"] = name
        elif GPUS_NAMED.fullmatch(name) and name not in kinds:
            gone[f"{name} in limits"] = name
        else:
            return term[0]
        return ""

    return _TERM.sub(kept, bare).strip(), gone


def _usage(entry: LsfEntry, draft: Draft, notes: Notes, problems: Problems) -> None:
    name, method = entry.text("RESOURCE"), entry.text("METHOD").upper()
    if reserve := entry.text("RESERVE"):
        reason = "reserved resources of pending jobs: only slots and memory are modelled"
        if reserve.upper() in ("Y", "YES"):
            by = Concerned({"resources": (name,)})
            notes.may_differ("RESERVE in ReservationUsage", reason, name, by)
    if not method:
        return
    method = _SAME.get(method, method)
    label = "ReservationUsage.METHOD"
    if method not in _METHODS:
        message = f"must be PER_JOB, PER_HOST, PER_SLOT or PER_TASK, not {entry.text('METHOD')!r}"
        problems.add(entry.at("METHOD"), message, label)
    elif name in draft.document.get("reservation_usage", {}):
        problems.add(
            entry.place, f"{name} is already defined: give it one line", "ReservationUsage.RESOURCE"
        )
    else:
        draft.put("reservation_usage", name, method, Mark(entry.place, "ReservationUsage.RESOURCE"))
