"""lsb.params and lsf.conf: parameters of the whole cluster.

What is known of LSF's parameters: which have a counterpart, which change answers, which not. Names
and meanings are those of the LSF 7 and 10.1 configuration references.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from ...cluster import BUILTIN_AMOUNTS, BUILTIN_INDICES
from ...configuration import Params, counting_rusage
from ...facts import KnownField, known_fields
from ...omissions import AFFINITY, OPTIONS, PTILE, SUBMITTED, Change
from ...table_files import rows
from ..fields import FACTORS, KINDS, factors
from ..names import tokens
from .draft import Concerned, Draft, Item, LsfEntry, LsfSection, Mark, Notes, entries, number
from .lines import Place, Problems, Value

#: Parameters without a counterpart: name, what it concerns, and what it would do. Those that
#: concern nothing rarely or never have an effect on starts. The others concern the jobs of the
#: queue, application, user or host that has them, by the effect of an omission, jobs that request a
#: resource, jobs of others too, those of a configuration (`only`), or jobs of the queue that are
#: submitted with an option.
_ROWS = list(rows(__package__, "parameters.tsv", 3))
_KNOWN = frozenset(name for name, _, _ in _ROWS)
#: Those of them that have a say in the starts of listed jobs.
CHANGES_ANSWERS = frozenset(
    name for name, concerns, reason in _ROWS if reason and concerns not in OPTIONS
)

#: Values by which they do nothing.
_OFF = frozenset(["", "-", "0", "0.0", "()", "N", "NO"])

#: Configuration that a parameter needs to have an effect.
PREEMPTION, FAIRSHARE, GROUP_LIMITS = "preemption", "fairshare", "limits of user groups"
GROWING = "job priorities that grow"


def settled_scopes(document: Mapping[str, Any]) -> dict[str, Concerned | None]:
    """Return the jobs that each parameter affects in this configuration; None if no job."""
    queues = document.get("queues", ())
    groups = {item["name"] for item in document.get("user_groups", ())}
    limited = [item["name"] for item in document.get("users", ()) if "name" in item]
    for limit in document.get("limits", ()):
        limited += tokens(" ".join(str(limit.get(key, "")) for key in ("USERS", "PER_USER")))
    bound = tuple(dict.fromkeys(n for n in limited if n.strip("~@") in groups))
    shared = tuple(queue["name"] for queue in queues if "FAIRSHARE" in queue)
    order: Concerned | None = Concerned({"queues": shared}) if shared else None
    if document.get("host_partitions"):
        order = Concerned()
    return {
        PREEMPTION: preempting(queues),
        FAIRSHARE: order,
        GROWING: Concerned() if "JOB_PRIORITY_OVER_TIME" in document.get("params", {}) else None,
        GROUP_LIMITS: Concerned({"users": bound}) if bound else None,
    }


def preempting(queues: Iterable[Mapping[str, Any]]) -> Concerned | None:
    """Return the queues that take part in preemption, and all jobs that depend on theirs."""
    found: dict[str, None] = {}
    everybody = False
    for queue in queues:
        if text := str(queue.get("PREEMPTION", "")):
            named = [word for part in re.findall(r"\[([^\]]*)\]", text) for word in tokens(part)]
            everybody |= not named
            found.update(dict.fromkeys((queue["name"], *named)))
    if not found:
        return None
    return Concerned({} if everybody else {"queues": tuple(found)}, "later ends")


def concerned(entry: LsfEntry, changes: Change = "starts") -> Concerned:
    """Return the jobs of the queue, application, user or host of an entry; otherwise any job."""
    return Concerned(_scope(entry), changes)


def _scope(entry: LsfEntry) -> dict[str, tuple[str, ...]]:
    for key, name in (
        ("queues", entry.text("QUEUE_NAME")),
        ("applications", entry.text("NAME") if entry.section == "Application" else ""),
        ("users", entry.text("USER_NAME")),
        ("hosts", entry.text("HOST_NAME") or entry.text("HOSTNAME")),
    ):
        if name:
            return {key: (name,)}
    return {}


def effects_of(
    parameter: str, text: str, scope: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, Concerned]]:
    """Yield what a parameter without a counterpart does, and to which jobs.

    scope: of the queue, application, user or host that has it.
    """
    for name, concerns, reason in _ROWS:
        if concerns in OPTIONS:  # limits of a profile are defaults, which an option may exceed
            is_on = text.strip("-") != "" and (concerns == SUBMITTED or "queues" in scope)
        else:
            is_on = bool(reason) and text.upper() not in _OFF
        if name == parameter and is_on:
            yield reason, _concerned_by(concerns, scope)


def is_inert(parameter: str) -> bool:
    """Return whether a parameter is known to have no effect on starts."""
    return parameter in _KNOWN - CHANGES_ANSWERS


def _concerned_by(concerns: str, scope: Mapping[str, tuple[str, ...]]) -> Concerned:
    """Return the jobs that a row of the table concerns."""
    if concerns in OPTIONS:
        return Concerned({**scope, "resources": (concerns,)})
    for effect in get_args(Change):
        if concerns == effect:
            return Concerned(scope, effect)
    if concerns in (PTILE, AFFINITY):
        return Concerned({"resources": (concerns,)})
    return Concerned() if concerns == "others" else Concerned(only=concerns)


def is_index(name: str, resources: Collection[str]) -> bool:
    """Return whether a key or column is a load index, built in or defined by the site."""
    return name.lower() in BUILTIN_INDICES or name in resources


def note_rest(
    notes: Notes,
    entry: LsfEntry,
    kind: str,
    taken: Collection[str],
    where: str,
    resources: Collection[str] = (),
) -> None:
    """Note every parameter of an entry that nothing has taken.

    kind: ``queue``, ``host`` or a file's name, for counts. taken: parameters with a counterpart.
    where: which one it is, for reasons. resources: names that may be load indices.
    """
    for parameter, value in entry.values.items():
        name, text = entry.keys[parameter], value.text
        if parameter in taken or is_index(name, resources):
            continue
        if parameter == "INTERACTIVE":
            parameter, text = f"{text.upper()}_{parameter}", "Y"
        for reason, jobs in effects_of(parameter, text, _scope(entry)):
            notes.may_differ(name, reason, where, jobs)
        if parameter in CHANGES_ANSWERS:
            continue
        if parameter not in _KNOWN and (
            meant := difflib.get_close_matches(parameter, taken, 1, 0.85)
        ):
            hint = f"unknown parameter {name} (did you mean '{meant[0]}'?): left out"
            notes.remark(hint, value.place)
        notes.not_modelled(kind, name)


#: Kinds that take more than the text of the parameter: hosts, run limits and the like.
_APART = frozenset(
    {"new_name", "requirement", "queue_hosts", "run_limit", "minutes", "processor_limit"}
    | {"preemption", "gpu_req"}
)


def _exclusive(value: Value) -> str:
    upper = value.text.upper()
    return upper[0] if upper in ("YES", "NO") else value.text


#: Kinds that LSF's files write in another way than instance files.
_TEXTS: dict[str, Callable[[Value], Any]] = {
    "percent": lambda value: number(value.text.rstrip("% ")),
    "dispatch_order": lambda value: value.text.upper(),
    "exclusive": _exclusive,
}


def parameters_of(kind: type, place: str = "") -> list[KnownField]:
    """Return the fields of a class that have an LSF name; place: the file that sets them."""
    return [
        item
        for item in known_fields(kind).values()
        if item.fact.place == place and (item.key.isupper() or item.fact.aka)
    ]


def lsf_keys(kind: type, place: str = "") -> frozenset[str]:
    """Return LSF's names of the fields of a class."""
    found = {key for item in parameters_of(kind, place) for key in (item.key, *item.fact.aka)}
    if any(item.fact.kind == FACTORS for item in known_fields(kind).values()):
        found |= factors().keys()
    return frozenset(key for key in found if key.isupper())


def limit_fields(kind: type) -> list[KnownField]:
    """Return the time limits and estimates among the fields of a class."""
    return [item for item in parameters_of(kind) if item.fact.kind in ("minutes", "run_limit")]


def take_plain(item: Item, kind: type) -> None:
    """Set every key whose text can be interpreted without other keys."""
    kinds = {field.key: field.fact.kind for field in parameters_of(kind)}
    if any(field.fact.kind == FACTORS for field in known_fields(kind).values()):
        kinds |= {key: field.fact.kind for key, field in factors().items()}
    for key, name in kinds.items():
        value = item.entry.values.get(key)
        if value is not None and name in _TEXTS:
            item.put(key, _TEXTS[name](value))
        elif name not in _APART:
            item.take(key, plain=KINDS[name].number)


PARAM_SECTIONS = ("Parameters",)
_LAST = "JOB_DEP_LAST_SUB"
_PER_SLOT = ("RESOURCE_RESERVE_PER_SLOT", "RESOURCE_RESERVE_PER_TASK")
#: Parameters of lsb.params that are copied to the document under their own name.
_PLAIN = [
    *(lsf_keys(Params) - {*_PER_SLOT, _LAST, "DEFAULT_QUEUE"}),
    "COMPUTE_UNIT_TYPES",
]
_PARAMS = lsf_keys(Params) | {
    *("COMPUTE_UNIT_TYPES", "ABS_RUNLIMIT", "DEFAULT_HOST_SPEC", "DEFAULT_PROJECT")
}
_CONF = lsf_keys(Params, "lsf.conf") | {
    *("LSF_HPC_EXTENSIONS", "LSF_VERSION", "LSB_NCPU_ENFORCE"),
    *("LSF_CONFDIR", "LSB_CONFDIR", "LSF_ENVDIR"),
}
_EXTENSIONS = lsf_keys(Params, "LSF_HPC_EXTENSIONS")
#: Versions without the language of 10.1; 9.1 has most of it.
_SPEAK_7 = ("6", "7", "8")
_UNITS = ("KB", "MB", "GB", "TB", "PB")
_HISTORY = ("ENABLE_HIST_RUN_TIME", "RUN_TIME_DECAY")


def parameters(sections: Iterable[LsfSection], notes: Notes, problems: Problems) -> LsfEntry | None:
    """Return the Parameters section of lsb.params, None if there is none."""
    found: LsfEntry | None = None
    for section in sections:
        if section.name != "Parameters":
            notes.not_modelled("lsb.params", section.name)
        elif found is not None:
            message = f"section Parameters is already in line {found.place.line}: keep one"
            problems.add(section.place, message)
        else:
            found = entries(section, problems, table=False)[0]
    return found


def put_params(entry: LsfEntry | None, draft: Draft, notes: Notes) -> None:
    """Add lsb.params to the document."""
    if entry is None:
        return
    for key in sorted(_PLAIN):
        if (value := entry.values.get(key)) is not None:
            _put(draft, entry, key, key, number(value))
    for key in _PER_SLOT:
        if entry.text(key):
            _put(draft, entry, "RESOURCE_RESERVE_PER_SLOT", key, entry.text(key))
    if text := entry.text(_LAST):
        _put(draft, entry, _LAST, _LAST, {"1": "Y", "0": "N"}.get(text, text))
    if queues := entry.text("DEFAULT_QUEUE").split():
        _put(draft, entry, "DEFAULT_QUEUE", "DEFAULT_QUEUE", queues[0])
    note_rest(notes, entry, "lsb.params", _PARAMS, "lsb.params")


def put_conf(entry: LsfEntry, draft: Draft, notes: Notes, problems: Problems) -> None:
    """Add lsf.conf to the document."""
    for field in parameters_of(Params, "lsf.conf"):
        kind, value = KINDS[field.fact.kind], entry.values.get(field.key)
        if value is not None and (kind.number or value.text) and field.fact.kind != "unit":
            _put(
                draft,
                entry,
                field.key,
                field.key,
                number(value) if kind.number else value.text.strip("\"' "),
            )
    if entry.text("LSF_VERSION").split(".")[0] in _SPEAK_7:
        _put(draft, entry, "dialect", "LSF_VERSION", "7")
    if text := entry.text("LSF_UNIT_FOR_LIMITS").upper():
        unit = text if text.endswith("B") else f"{text}B"
        if unit in _UNITS:
            _put(draft, entry, "LSF_UNIT_FOR_LIMITS", "LSF_UNIT_FOR_LIMITS", unit)
        else:
            message = f"must be one of {', '.join(_UNITS)}, not {text!r}"
            problems.add(entry.at("LSF_UNIT_FOR_LIMITS"), message, "LSF_UNIT_FOR_LIMITS")
    for extension in entry.text("LSF_HPC_EXTENSIONS").replace(",", " ").split():
        if extension in _EXTENSIONS:
            _put(draft, entry, extension, "LSF_HPC_EXTENSIONS", "Y")
        else:
            notes.not_modelled("lsf.conf", f"LSF_HPC_EXTENSIONS={extension}")
    if entry.text("LSB_NCPU_ENFORCE") == "1":
        _put(draft, entry, "run_time_in_slots", "LSB_NCPU_ENFORCE", "Y")
    note_rest(notes, entry, "lsf.conf", _CONF, "lsf.conf")


def _put(draft: Draft, entry: LsfEntry, key: str, parameter: str, value: Any) -> None:
    label = f"{entry.section}.{parameter}" if entry.section == "Parameters" else parameter
    draft.put("params", key, value, Mark(entry.at(parameter), label))


def put_history(queues: Sequence[LsfEntry], draft: Draft, notes: Notes) -> None:
    """Set ENABLE_HIST_RUN_TIME and RUN_TIME_DECAY of the cluster, if all policies agree.

    The document has them for the cluster only. They apply where shares are defined: in queues with
    FAIRSHARE, and in host partitions, which use the cluster's values.
    """
    params = draft.document.get("params", {})
    members = {
        name
        for queue in queues
        for name in queue.text("FAIRSHARE_QUEUES").replace(",", " ").split()
    }
    masters = [
        queue
        for queue in queues
        if queue.text("FAIRSHARE") and queue.text("QUEUE_NAME") not in members
    ]
    for key in _HISTORY:
        common = _yes(str(params.get(key, "N")))
        asked = {queue.text("QUEUE_NAME"): _yes(queue.text(key), common) for queue in masters}
        own = [queue for queue in masters if queue.text(key)]
        wanted = set(asked.values()) | ({common} if "host_partitions" in draft.document else set())
        if not own:
            continue
        if len(wanted) == 1:
            mark = Mark(own[0].at(key), f"Queue.{key}")
            draft.put("params", key, "Y" if True in wanted else "N", mark)
            continue
        reason = f"queues differ in it; here it is {'Y' if common else 'N'} for all"
        for name, value in asked.items():
            if value != common:
                notes.may_differ(key, reason, f"queue {name}", Concerned({"queues": (name,)}))


def put_family(family: str, asked: str, draft: Draft, notes: Notes) -> None:
    """Set the family, and RESOURCE_RESERVE_PER_SLOT: as requested, as in the files, or its default.

    family: "OpenLava" or "volclava", "" for LSF. asked: "slot" or "host", "" if not requested.
    """
    given = draft.document.setdefault("params", {})
    if family:
        given["family"] = family
    key = "RESOURCE_RESERVE_PER_SLOT"
    if not asked and key in given:
        return
    params, what = counting_rusage(Params(), family, asked)
    if asked or params.reserve_per_slot:
        given[key] = "Y" if params.reserve_per_slot else "N"
    if what:
        document = draft.document
        counted = [item["name"] for item in document.get("resources", ())]
        counted += [item["name"] for item in document.get("shared_resources", ())]
        scope = {"resources": (*BUILTIN_AMOUNTS, *dict.fromkeys(counted))}
        by = Concerned(scope, mark="unit of rusage")
        notes.may_differ("the scheduler's family", what, family, by)
    if not given:
        del draft.document["params"]


def _yes(text: str, default: bool = False) -> bool:
    return text.strip().upper() in ("Y", "YES") if text else default


MODULE_SECTIONS = ("PluginModule",)
#: Modules of a cluster without the section.
_BARE = ("schmod_default", "schmod_fcfs")
#: Modules that other parameters need, and the features without effect if one is missing.
_NEEDED = (
    ("schmod_fairshare", "queues", "FAIRSHARE", "fairshare"),
    ("schmod_fairshare", "host_partitions", "USER_SHARES", "fairshare of host partitions"),
    ("schmod_preemption", "queues", "PREEMPTION", "preemption"),
    ("schmod_limit", "limits", "name", "limits of lsb.resources"),
    ("schmod_parallel", "queues", "SLOT_RESERVE", "slot reservation of parallel jobs"),
    ("schmod_parallel", "queues", "RESOURCE_RESERVE", "slot reservation of parallel jobs"),
)


def read_modules(
    sections: Iterable[LsfSection], draft: Draft, problems: Problems, file: str
) -> None:
    """Read lsb.modules into ``params.modules`` of the document."""
    found: list[str] = []
    place = Place(file, 1)
    for section in sections:
        if section.name == "PluginModule":
            place = section.place
            found += [
                entry.text("SCH_PLUGIN")
                for entry in entries(section, problems, table=True)
                if entry.text("SCH_PLUGIN")
            ]
    draft.put("params", "modules", found or list(_BARE), Mark(place, "PluginModule.SCH_PLUGIN"))


def note_missing(draft: Draft, notes: Notes) -> None:
    """Note functions that lsb.modules disables in LSF, and that are simulated all the same."""
    modules: Sequence[str] | None = draft.document.get("params", {}).get("modules")
    if modules is None:
        return
    for module, section, key, what in _NEEDED:
        users = [entry for entry in draft.document.get(section, ()) if key in entry]
        if module not in modules and users:
            reason = "it is not listed, and other parameters have no effect in LSF without it"
            named = tuple(entry["name"] for entry in users)
            by = Concerned({"queues": named}) if section == "queues" else None
            if key == "PREEMPTION":
                by = preempting(users)
            notes.may_differ(f"module {module}", reason, what, by)
    order = [name for name in modules if name in ("schmod_parallel", "schmod_reserve")]
    if order == ["schmod_reserve", "schmod_parallel"]:
        reason = "it must be listed before schmod_reserve"
        notes.may_differ("module schmod_parallel", reason, "lsb.modules")
