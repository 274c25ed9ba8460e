"""Records of Slurm's two forms: JSON of every version, and ``Key=Value`` of ``scontrol show``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...errors import InputError, Problem
from ...slurm_version import PRINTS_NO_SHARING, parser_version
from ..lsf_state.values import Text
from .fields import NOT_PRINTED, RecordKind, SlurmRecord, known_names

#: The field with which a record of ``scontrol show`` begins.
BEGINNINGS: Mapping[str, RecordKind] = {
    "JobId": "job",
    "NodeName": "node",
    "PartitionName": "partition",
    "ReservationName": "reservation",
    "LicenseName": "licence",
}
#: Members of a JSON document that are lists of records.
ROOTS: Mapping[str, RecordKind] = {
    "jobs": "job",
    "nodes": "node",
    "partitions": "partition",
    "reservations": "reservation",
    "licenses": "licence",
}
_KEY = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z_/]*(?:\:[A-Za-z:]+)?)=")
#: Fields whose value may have any text, so that only a known name ends it.
_FREE = frozenset(
    {"AdminComment", "Command", "Comment", "Extra", "JobName", "OS", "Reason", "SystemComment",
     "WorkDir", "SubmitLine", "StdErr", "StdIn", "StdOut", "Partitions"}
)  # fmt: skip
_FIRST = re.compile(rf"(?:{'|'.join(BEGINNINGS)})=")
#: Fields of ``scontrol show job`` with several numbers, and a name for each of them.
PARTS: Mapping[str, tuple[str, ...]] = {
    "ReqB:S:C:T": ("Req:B", "Req:S", "Req:C", "Req:T"),
    "NtasksPerN:B:S:C": ("NtasksPer:N", "NtasksPer:B", "NtasksPer:S", "NtasksPer:C"),
}
#: The member of a record that has what ``scontrol show job -d`` prints by node.
BY_NODE = "Nodes"


def json_of(text: Text) -> dict[str, Any]:
    """Return the content of a JSON text; raises InputError if it cannot be read."""
    try:
        found = json.loads(text.content)
    except (ValueError, RecursionError) as error:
        wrong = f"is not JSON ({error}): give the output of squeue --json or sinfo --json"
        raise InputError([Problem(wrong, text.source)]) from None
    if not isinstance(found, dict):
        wrong = "is JSON without jobs or nodes: give the output of squeue --json or sinfo --json"
        raise InputError([Problem(wrong, text.source)])
    return found


def _meta(document: Mapping[str, Any], part: str, name: str) -> str:
    """Return a text in a part of the meta member of a JSON document, "" if it has none."""
    meta = document.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    found = meta.get(part) or meta.get(part.capitalize())
    text = found.get(name) if isinstance(found, Mapping) else None
    return text if isinstance(text, str) else ""


def version_of(document: Mapping[str, Any]) -> str:
    """Return the version of a JSON document such as ``22.05.8``, "" if it has none."""
    return _meta(document, "slurm", "release")


def cluster_of(document: Mapping[str, Any]) -> str:
    """Return the cluster of a JSON document by its meta member or its jobs, "" if unknown."""
    if name := _meta(document, "slurm", "cluster"):
        return name
    jobs = document.get("jobs")
    named = {
        str(job.get("cluster") or "")
        for job in (jobs if isinstance(jobs, list) else ())
        if isinstance(job, Mapping)
    }
    return named.pop() if len(named) == 1 else ""


def lists_nothing(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON document is a listing without a record."""
    return any(document.get(root) == [] for root in ROOTS)


def _prints_no_sharing(document: Mapping[str, Any]) -> bool:
    """Return whether a JSON document has ``"shared": []`` for every job."""
    return parser_version(_meta(document, "plugin", "data_parser")) in PRINTS_NO_SHARING


def records_of_json(document: Mapping[str, Any], source: str) -> Iterator[SlurmRecord]:
    """Yield the records of a JSON document, of all kinds."""
    lacking = {"shared": NOT_PRINTED} if _prints_no_sharing(document) else {}
    for root, kind in ROOTS.items():
        listed = document.get(root)
        # Reservations and licences have a list in 23.02, later too.
        for place, item in enumerate(listed if isinstance(listed, list) else ()):
            # Records of sacct have no job_state; their jobs may have finished.
            if isinstance(item, Mapping) and (kind != "job" or "job_state" in item):
                where = f"{source}, {kind} {place + 1}"
                fields = {**item, **lacking} if kind == "job" and not item.get("shared") else item
                yield SlurmRecord(kind, fields, is_text=False, where=where)


def records_of_text(text: Text) -> Iterator[SlurmRecord]:
    """Yield the records of ``scontrol show job|node|partition|reservation|licenses``, -o or
    not.
    """
    block: list[str] = []
    first = 0
    for place, line in enumerate([*text.content.splitlines(), "JobId="]):
        if _FIRST.match(line):
            if block:
                yield _record(" ".join(block), f"{text.source}:{first + 1}")
            block, first = [], place
        if block or _FIRST.match(line):
            block.append(line.strip())


def _record(line: str, where: str) -> SlurmRecord:
    kind = BEGINNINGS[line.partition("=")[0]]
    known = known_names(kind, text=True)
    fields: dict[str, Any] = {}
    by_node: list[dict[str, str]] = []
    key, begin = "", 0
    for found in [*_KEY.finditer(line), None]:
        name = "" if found is None else found[1]
        if found is not None and key in _FREE and name not in known:
            continue
        if key:
            value = line[begin : len(line) if found is None else found.start()].strip()
            if kind == "job" and key == BY_NODE:
                by_node.append({key: value})
            elif by_node and key in ("CPU_IDs", "Mem", "GRES"):
                by_node[-1][key] = value
            elif key not in fields:
                fields[key] = value
                fields.update(zip(PARTS.get(key, ()), value.split(":"), strict=False))
        if found is not None:
            key, begin = name, found.end()
    if by_node:
        fields[BY_NODE] = by_node
    return SlurmRecord(kind, fields, is_text=True, where=where)


def settings_of(text: Text) -> dict[str, str]:
    """``Name = value`` of ``scontrol show config``, or ``Name=value`` of slurm.conf, the names in
    small letters.
    """
    found: dict[str, str] = {}
    for line in text.content.splitlines():
        name, equals, value = line.partition("=")
        name = name.strip()
        if not equals or not re.fullmatch(r"[A-Za-z_][\w.\[\]]*", name):
            continue
        if name in BEGINNINGS or name in ("NodeSet", "FrontendName", "DownNodes"):
            continue
        found.setdefault(name.lower(), value.partition("#")[0].strip())
    return found


def with_parents(
    rows: Iterable[Mapping[str, str]], account: str, user: str
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the rows of accounts and users, each account with the one above it, the last before
    that is indented less, and each user with an empty text.

    account, user: names of the columns.
    """
    above: list[tuple[int, str]] = []
    for row in rows:
        written, parent = row.get(account, ""), ""
        level = len(written) - len(written.lstrip())
        if not row.get(user, "").strip():
            while above and above[-1][0] >= level:
                above.pop()
            parent = above[-1][1] if above else ""
            above.append((level, written.strip()))
        yield parent, row


def rows_of(text: Text, is_head: Callable[[str], object]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of parsable tables (``-P``) by their columns, each with its file and line.

    A file may have several tables, each with its head.
    """
    names: list[str] = []
    for number, line in enumerate(text.content.splitlines(), start=1):
        cells = line.split("|")
        if is_head(line):
            names = [name.strip() for name in line.rstrip("|").split("|")]
        elif line.strip() and names and len(cells) >= len(names):
            yield f"{text.source}:{number}", dict(zip(names, cells, strict=False))
