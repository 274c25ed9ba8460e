"""lsb.params and lsf.conf: parameters of the whole cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...params import Params, counting_rusage
from ..kinds import KINDS
from .by_fact import lsf_keys, parameters_of
from .draft import Draft, Mark, number
from .notes import Notes
from .parameters import note_rest
from .sections import LsfEntry, LsfSection, entries
from .source import Problems

SECTIONS = ("Parameters",)
_LAST = "JOB_DEP_LAST_SUB"
_PER_SLOT = ("RESOURCE_RESERVE_PER_SLOT", "RESOURCE_RESERVE_PER_TASK")
#: Those of lsb.params that need no look, in the document under the same name.
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
    """The Parameters section of lsb.params, None where there is none."""
    found: LsfEntry | None = None
    for section in sections:
        if section.name != "Parameters":
            notes.not_modelled("lsb.params", section.name)
        elif found is not None:
            message = f"there are Parameters already, in line {found.place.line}: keep one section"
            problems.add(section.place, message)
        else:
            found = entries(section, problems, table=False)[0]
    return found


def put_params(entry: LsfEntry | None, draft: Draft, notes: Notes) -> None:
    """lsb.params into the document."""
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
    """lsf.conf into the document."""
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
    extensions = entry.text("LSF_HPC_EXTENSIONS").replace(",", " ").split()
    for extension in extensions:
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
    """ENABLE_HIST_RUN_TIME and RUN_TIME_DECAY of queues: the cluster's, if all policies agree.

    The document has them for the cluster only. They count where shares are given: in queues with
    FAIRSHARE, and in host partitions, which go by the cluster's.
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
        if not own or wanted == {common}:
            continue
        if len(wanted) == 1:
            mark = Mark(own[0].at(key), f"Queue.{key}")
            draft.put("params", key, "N" if common else "Y", mark)
            continue
        reason = f"queues differ in it; here it is {'Y' if common else 'N'} for all"
        for name, value in asked.items():
            if value != common:
                notes.may_differ(key, reason, f"queue {name}")


def put_rusage(family: str, asked: str, draft: Draft, notes: Notes) -> None:
    """RESOURCE_RESERVE_PER_SLOT: as asked for, else as the files say, else as the family has it.

    family: "OpenLava" or "volclava", "" for LSF. asked: "slot" or "host", "" for nothing.
    """
    given = draft.document.setdefault("params", {})
    key = "RESOURCE_RESERVE_PER_SLOT"
    if not asked and key in given:
        return
    params, what = counting_rusage(Params(), family, asked)
    if asked or params.reserve_per_slot:
        given[key] = "Y" if params.reserve_per_slot else "N"
    if what:
        notes.may_differ("the scheduler's family", what, family)
    if not given:
        del draft.document["params"]


def _yes(text: str, default: bool = False) -> bool:
    return text.strip().upper() in ("Y", "YES") if text else default
