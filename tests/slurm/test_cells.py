"""A changed cell of a listing changes an answer or a note, or is declared without a say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from sampling import some
from slotwise import InputError, to_document
from slotwise.model.sources.lsf_state.values import Text
from slotwise.model.sources.slurm.assemble import assemble
from slotwise.model.sources.slurm.fields import FIELDS, RecordKind
from slotwise.model.sources.slurm.folder import read_texts
from slotwise.model.sources.slurm.records import PARTS, ROOTS

pytestmark = pytest.mark.behaviour("GAT-03")
NOW = 1772445600
CLOCK = f"sdiag output at Mon Mar 02 10:00:00 2026 ({NOW})\n"
CONFIG = {
    "ClusterName": "small", "SelectType": "select/cons_tres",
    "SelectTypeParameters": "CR_Core_Memory", "SchedulerType": "sched/backfill",
    "SchedulerParameters": "bf_continue", "PriorityType": "priority/multifactor",
    "PriorityWeightAge": "1000", "PriorityWeightPartition": "100", "PriorityMaxAge": "7-00:00:00",
    "PreemptType": "preempt/partition_prio", "PreemptMode": "OFF",
    "PriorityWeightFairShare": "10", "DefMemPerNode": "UNLIMITED",
    "SLURM_VERSION": "23.11.4", "AccountingStorageType": "accounting_storage/slurmdbd",
    "PriorityDecayHalfLife": "7-00:00:00", "PriorityCalcPeriod": "00:05:00",
}  # fmt: skip
#: Records by what their fields mean, as texts; times in JSON are seconds.
JOBS: tuple[dict[str, str], ...] = (
    {
        "id": "1", "name": "r", "user": "ann", "account": "lab", "qos": "normal",
        "partitions": "cpu", "state": "RUNNING", "reason": "None", "priority": "1000",
        "submit": "2026-03-02T09:00:00", "eligible": "2026-03-02T09:00:00",
        "start": "2026-03-02T09:30:00", "end": "2026-03-02T10:30:00", "time limit": "01:00:00",
        "nodes": "n1", "node count": "1", "cpus": "6", "tasks": "6", "cpus per task": "1",
        "tres requested": "cpu=6,mem=600M,node=1",
        "tres allocated": "cpu=6,mem=600M,node=1,gres/gpu=1",
        "memory per node": "600M", "licences": "matlab:1", "sharing": "OK",
    },
    {
        "id": "10", "name": "a", "user": "bob", "account": "lab", "qos": "normal",
        "partitions": "cpu", "state": "PENDING", "reason": "Priority", "priority": "900",
        "submit": "2026-03-02T09:10:00", "eligible": "2026-03-02T09:10:00",
        "time limit": "02:00:00",
        "minimum time": "01:00:00", "node count": "1-1", "cpus": "4", "tasks": "4",
        "cpus per task": "1", "tres requested": "cpu=4,mem=400M,node=1", "memory per node": "400M",
        "sharing": "OK", "start": "2026-03-02T10:30:00",
    },
    {
        "id": "11", "array": "11", "array tasks": "1-3", "array limit": "2",
        "name": "b", "user": "ann",
        "account": "bio", "qos": "high", "partitions": "big", "state": "PENDING",
        "reason": "Resources", "priority": "800", "submit": "2026-03-02T09:20:00",
        "eligible": "2026-03-02T09:20:00", "time limit": "00:30:00", "node count": "1-2",
        "cpus": "2", "tasks": "2", "cpus per task": "1", "memory per cpu": "100M", "sharing": "OK",
        "features": "fast", "licences": "matlab:2", "dependency": "afterany:1(unfulfilled)",
        "leaf switches": "1@00:02:00", "cpus per node": "1",
    },
)  # fmt: skip
JOBS += (
    {  # one that has run to its limit
        **JOBS[0], "id": "2", "partitions": "big", "nodes": "n2", "cpus": "2", "tasks": "2",
        "tres requested": "cpu=2,mem=600M,node=1", "tres allocated": "cpu=2,mem=600M,node=1",
        "time limit": "00:29:00", "end": "2026-03-02T09:59:00", "licences": "",
    },
)  # fmt: skip
NODES: tuple[dict[str, str], ...] = tuple(
    {
        "name": name, "state": state, "cpus": "8", "usable cpus": "8",
        "cores per socket": "4", "threads": "2", "memory": "16000", "gres": "gpu:2",
        "features": "fast", "weight": weight, "partitions": "cpu,big", "cpus used": used,
        "memory used": memory,
    }
    for name, state, weight, used, memory in (
        ("n1", "MIXED", "1", "6", "600"), ("n2", "MIXED", "1", "2", "600"),
    )
)  # fmt: skip
PARTITIONS: tuple[dict[str, str], ...] = tuple(
    {
        "name": name, "nodes": "n1,n2", "default": default, "default time": "01:00:00",
        "max time": "7-00:00:00", "max nodes": "UNLIMITED", "tier": tier, "job factor": "1",
        "sharing": "NO", "state": "UP", "qos": "N/A", "accounts": "ALL", "qos allowed": "ALL",
        "groups": "ALL", "preemption": "OFF",
    }
    for name, default, tier in (("cpu", "NO", "1"), ("big", "YES", "2"))
)  # fmt: skip
RESERVATIONS: tuple[dict[str, str], ...] = (
    {
        "name": "maint", "start": "2026-03-03T10:00:00", "end": "2026-03-03T12:00:00",
        "nodes": "n2", "flags": "MAINT", "users": "root",
    },
)  # fmt: skip
LICENCES: tuple[dict[str, str], ...] = (
    {"name": "matlab", "total": "4", "used": "1", "reserved": "0"},
)
NODES[1].pop("usable cpus")
#: Tables, which have no other form here.
TABLES = {
    "qos": "Name|Priority|GrpTRES|MaxWall\nnormal|0|cpu=7|\nhigh|5||\nx|0|cpu=1|\n",
    "topology": "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\n",
    "sshare": (
        "Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins\n"
        "root||||100|1.000000|||\n lab||1|0.500000|60|0.600000||0.833333|\n"
        "  lab|ann|1|0.500000|60|1.000000|0.333333|0.500000|\n"
        "  lab|bob|1|0.500000|0|0.000000|0.666667|inf|\n"
        " bio||1|0.500000|40|0.400000||1.250000|\n"
        "  bio|ann|1|1.000000|40|1.000000|1.000000|1.000000|\n"
    ),
}
WORLD: Mapping[RecordKind, tuple[dict[str, str], ...]] = {
    "job": JOBS, "node": NODES, "partition": PARTITIONS, "reservation": RESERVATIONS,
    "licence": LICENCES,
}  # fmt: skip
#: What a cell may be changed to.
OTHERS: tuple[Any, ...] = (
    "3", "7", "1", "0", "yes", "no", "x", "big", "n2", "UNLIMITED", "2026-03-02T15:00:00",
    "2026-03-02T09:40:00", "02:30:00", "gpu:1", "cpu=3,mem=900M,node=1,gres/gpu=2", "PENDING",
    "RUNNING", "DOWN", "gpu=1", "afterany:10(unfulfilled)", "matlab:3", "cpu=1.0", "1-4", "200M",
    3, 1, 0, 7200, True, False, 1772460000, ["x"], ["EXCLUSIVE"], ["YES"], ["DAILY"], ["DRAIN"],
    "EXCLUSIVE", "NODE", "DAILY", ["none"], ["LLN"], "sbatch -N 2 --exclusive x", "CPU=3.0",
    "sbatch --gpus=2 x", ["true"],
    "bob", "maint", "1@00:05:00", "fast&slow", "lab", "REQUEUE", "YES:4",
)  # fmt: skip


def name_of(row: Any, *, text: bool) -> str:
    names = row.text if text else row.json
    return names[0] if names else ""


def fields_of(kind: RecordKind, record: Mapping[str, str], *, text: bool) -> dict[str, Any]:
    """The record as printed, with the names of one form."""
    rows = {row.what: row for row in FIELDS if row.of == kind and row.what != "inert"}
    found = {name_of(rows[what], text=text): value for what, value in record.items()}
    found.pop("", None)
    if not text:  # sizes are numbers of MB
        sized = re.compile(r"(\d+)M")
        found = {n: int(m[1]) if (m := sized.fullmatch(v)) else v for n, v in found.items()}
        if "-" in (count := found.get("node_count", "")):
            found["node_count"], found["max_nodes"] = map(int, count.split("-"))
        if "required_switches" in found:
            found |= {"required_switches": 1, "maximum_switch_wait_time": 120}
    return found


def text_of(records: Mapping[RecordKind, list[dict[str, Any]]]) -> dict[str, str]:
    lines: dict[str, str] = {}
    for kind, items in records.items():
        content = ""
        for fields in items:
            given = dict(fields)
            for whole, parts in PARTS.items():
                values = [given.pop(part, "*") for part in parts]
                given[whole] = ":".join(values)
            first = {"job": "JobId", "node": "NodeName", "partition": "PartitionName",
                     "reservation": "ReservationName", "licence": "LicenseName"}[kind]  # fmt: skip
            head = given.pop(first)
            content += " ".join([f"{first}={head}", *(f"{k}={v}" for k, v in given.items())]) + "\n"
        lines[kind] = content
    return lines


def nested(fields: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in fields.items():
        *above, last = name.split(".")
        place = found
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def json_of(records: Mapping[RecordKind, list[dict[str, Any]]]) -> dict[str, str]:
    roots = {kind: root for root, kind in ROOTS.items()}
    return {
        kind: json.dumps({roots[kind]: list(map(nested, items))}) for kind, items in records.items()
    }


def outcome(
    records: Mapping[RecordKind, list[dict[str, Any]]],
    form: str,
    tables: Mapping[str, str] = TABLES,
    config: Mapping[str, str] = CONFIG,
) -> Any:
    """What is made of the records: the instance and the notes, or the error."""
    texts = {
        "sdiag": CLOCK,
        "config": "Configuration data as of 2026-03-02T10:00:00\n"
        + "".join(f"{name} = {value}\n" for name, value in config.items()),
    }
    whole = text_of({kind: items for kind, items in records.items() if kind != form})
    if form != "text":
        as_json = json_of({form: records[form]})  # type: ignore[index,dict-item]
        whole |= {str(k): v for k, v in as_json.items()}
    try:
        given = [Text(content, name) for name, content in {**texts, **tables, **whole}.items()]
        made = assemble(read_texts(given, "test"), datetime.fromtimestamp(NOW, UTC))
    except InputError as error:
        return str(error)
    return to_document(made.instance), list(made.notes), list(made.notes.omissions)


def records_of(form: str) -> dict[RecordKind, list[dict[str, Any]]]:
    return {
        kind: [fields_of(kind, item, text=form != kind) for item in items]
        for kind, items in WORLD.items()
    }


def changes(kind: RecordKind, name: str, form: str) -> Iterator[Any]:
    for place in range(len(WORLD[kind])):
        for other in OTHERS:
            records = records_of(form)
            for earlier in names_before(kind, name, form):
                records[kind][place].pop(earlier, None)
            old = records[kind][place].get(name)
            if old != other and (form == kind or isinstance(other, str)):
                records[kind][place][name] = other
                yield outcome(records, form)


def names_before(kind: RecordKind, name: str, form: str) -> tuple[str, ...]:
    """Names that count before this one where a record has both."""
    for row in FIELDS:
        names = row.json if form == kind else row.text
        if row.of == kind and name in names:
            return names[: names.index(name)]
    return ()


@cache
def unchanged(kind: RecordKind, form: str, without: tuple[str, ...]) -> Any:
    """What is made of the records without some fields."""
    records = records_of(form)
    for record in records[kind]:
        for name in without:
            record.pop(name, None)
    return outcome(records, form)


def has_a_say(kind: RecordKind, name: str, form: str) -> bool:
    base = unchanged(kind, form, ())
    assert not isinstance(base, str), base
    bare = unchanged(kind, form, names_before(kind, name, form))
    return any(
        found not in (base, bare) and (name in NAMES or not isinstance(found, str))
        for found in changes(kind, name, form)
    )


#: Fields of several cells each, of which other tests have every form.
STRUCTURED = {"Nodes", "job_resources", "gres_detail"}
#: Fields with a say in some forms only: beside memory by node, and in v0.0.45.
TOGETHER = {"AllocMem", "alloc_memory", "exclusive", "submit_line"}
#: Names that others refer to: another one is refused.
NAMES = {"NodeName", "name"}
CELLS = [
    (row.of, name, form)
    for row in FIELDS
    if row.of in WORLD and row.outcome != "inert"
    for form, names in (("text", row.text), (row.of, row.json))
    for name in names
    if name not in STRUCTURED and name not in TOGETHER
]


@pytest.mark.parametrize(("kind", "name", "form"), some(CELLS, 28))
def test_a_changed_field_changes_an_answer_or_a_note(
    kind: RecordKind, name: str, form: str
) -> None:
    assert has_a_say(kind, name, form)


#: Columns of sacctmgr that say nothing of a start: of preemption, of accrual.
INERT_COLUMNS = {"GraceTime", "PreemptExemptTime", "PreemptMode", "Fairshare"}
COLUMNS = {
    "qos": (
        "Priority|GraceTime|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|LimitFactor|"
        "GrpTRES|GrpTRESMins|GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|"
        "MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxTRESPA|MaxTRESRunMinsPA|"
        "MaxTRESRunMinsPU|MaxJobsPA|MaxSubmitPA|MinTRES"
    ),
    "assoc": (
        "Fairshare|GrpJobs|GrpTRES|GrpSubmit|GrpWall|GrpTRESMins|MaxJobs|MaxTRES|MaxTRESPerNode|"
        "MaxSubmit|MaxWall|MaxTRESMins|GrpTRESRunMins|MinPrioThres"
    ),
}
VALUES = ("1", "0.5", "cpu=1", "cpu=9", "00:10:00", "NoReserve")


@pytest.mark.parametrize(
    ("table", "column"),
    some([(t, c) for t, columns in COLUMNS.items() for c in columns.split("|")], 27),
)
def test_a_changed_cell_of_sacctmgr_changes_an_answer_or_a_note(table: str, column: str) -> None:
    first, name = {"qos": ("Name", "normal"), "assoc": ("Account|User", "lab|")}[table]

    def found(cell: str) -> Any:
        more = "" if column in ("MinTRES", "MaxWall") else "|MinTRES"
        text = f"{first}|{column}{more}\n{name}|{cell}{more and '|'}\n"
        config = {**CONFIG, "PriorityWeightQOS": "100"}
        tables = {"sshare": TABLES["sshare"], table: text}
        return outcome(records_of("text"), "text", tables, config)

    base = found("")
    says = any(made != base and not isinstance(made, str) for made in map(found, VALUES))
    assert says == (column not in INERT_COLUMNS)
