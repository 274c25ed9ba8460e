"""Every form tells the same: the table of facts, and random clusters printed in each form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from slotwise.model.sources.lsf_state.bhosts import SeenHost, read_bhosts
from slotwise.model.sources.lsf_state.bjobs import SeenJob, read_bjobs
from slotwise.model.sources.lsf_state.bqueues import SeenQueue, read_bqueues
from slotwise.model.sources.lsf_state.printed_facts import (
    FACTS,
    HOSTS,
    JOBS,
    JSON,
    LONG,
    PLAIN,
    QUEUES,
)
from slotwise.model.sources.lsf_state.values import PrintedTimes, Text

pytestmark = pytest.mark.behaviour("CFG-04")
NOW = datetime(2026, 3, 16, 10, tzinfo=UTC)
KINDS = {"job": (SeenJob, JOBS), "host": (SeenHost, HOSTS), "queue": (SeenQueue, QUEUES)}


def test_each_fact_is_of_a_field_and_each_field_of_a_fact() -> None:
    """What was seen and is not a fact of a listing comes from logs, or says how it was read."""
    own = {"job": {"line", "unknown", "from_limit", "real_run_time", "dependent", "queued_as"}}
    own["job"] |= {"shows_license_project"}
    own |= {"host": {"stop", "truncated", "unknown"}, "queue": {"stop", "truncated", "long"}}
    own["queue"] |= {"run_limit_max", "resource_reserve", "others"}
    for name, (kind, facts) in KINDS.items():
        known = {item.name for item in fields(kind)}
        assert known - {fact.field for fact in facts} == own[name]
        assert {fact.field for fact in facts} <= known


def _stamp(moment: datetime) -> str:
    return moment.strftime("%a %b %d %H:%M:%S")


def _job(draw: Random, number: int) -> dict[str, Any]:
    """Facts of a random job that waits or runs, by field."""
    begun = NOW - timedelta(minutes=draw.randint(1, 500))
    runs = draw.random() < 0.4
    slots = draw.randint(2, 9)
    found: dict[str, Any] = {
        "id": str(number), "status": "RUN" if runs else "PEND", "user": draw.choice("abc"),
        "queue": draw.choice(["night", "day"]), "project": draw.choice(["p", "q"]),
        "priority": draw.randint(1, 99), "slots": slots, "submit": begun, "from_host": "l1",
        "run_limit": 60 * draw.randint(1, 900), "name": f"j{number}",
    }  # fmt: skip
    some: dict[str, Any] = {
        "group": "g", "application": "fluent", "license_project": "lp",
        "res_req": "rusage[mem=5] span[ptile=2]",
        "exclusive": True, "reservation": "bob#1", "job_group": "/a/b", "service_class": "gold",
        "estimated_run_time": 60 * draw.randint(1, 90),
    }  # fmt: skip
    some |= {"start": NOW - timedelta(minutes=1), "allocation": {"h1": slots}} if runs else {}
    some |= {} if runs else {
        "hosts": "h1 h2", "begin": NOW + timedelta(hours=draw.randint(1, 9)),
        "dependency": "done(77)", "reason": "Job slot limit reached: 2 hosts;",
        "estimate": NOW + timedelta(hours=draw.randint(1, 90)), "max_slots": slots + 3,
        "deadline": NOW + timedelta(hours=30),
    }  # fmt: skip
    kept = {name: value for name, value in some.items() if draw.random() < 0.5}
    if runs:
        kept |= {"start": some["start"], "allocation": some["allocation"]}
    return found | kept


def _json_job(job: dict[str, Any]) -> dict[str, str]:
    """The columns that have these facts, the first that the table gives."""
    columns = {fact.field: fact.cells[JSON][0] for fact in reversed(JOBS) if JSON in fact.cells}
    record: dict[str, str] = {}
    for name, value in job.items():
        match value:
            case datetime():
                text = _stamp(value)[4:]
            case bool():
                text = "Y"
            case dict():
                text = ":".join(f"{n}*{host}" for host, n in value.items())
            case _ if name in ("run_limit", "estimated_run_time"):
                text = f"{value / 60:.1f}"
            case _:
                text = str(value)
        record[columns[name]] = text
    return record


_CLAUSES = {"name": "Job Name", "user": "User", "project": "Project", "group": "User Group",
            "application": "Application", "license_project": "License Project",
            "status": "Status", "queue": "Queue",
            "reservation": "Reservation", "job_group": "Job Group", "priority": "Job Priority",
            "service_class": "Service Class",
            "dependency": "Dependency Condition", "res_req": "Requested Resources"}  # fmt: skip


def _long_job(job: dict[str, Any]) -> str:
    """The same as bjobs -UF prints it."""
    behind = ("dependency", "res_req")
    head = [f"Job <{job['id']}>"]
    head += [f"{w} <{job[k]}>" for k, w in _CLAUSES.items() if k in job and k not in behind]
    most = f", {job['max_slots']}" if "max_slots" in job else ""
    says = [f"Submitted from host <{job['from_host']}>", f"{job['slots']}{most} Task(s)"]
    says += ["Exclusive Execution"] if "exclusive" in job else []
    says += [f"{_CLAUSES[key]} <{job[key]}>" for key in behind if key in job]
    if "hosts" in job:
        says.append("Specified Hosts " + ", ".join(f"<{host}>" for host in job["hosts"].split()))
    words = {"begin": "Specified Start Time", "deadline": "Specified Termination Time"}
    says += [f"{word} <{_stamp(job[key])}>" for key, word in words.items() if key in job]
    lines = [", ".join([*head, "Command <x>"]), f"{_stamp(job['submit'])}: {', '.join(says)};"]
    if "start" in job:
        host, slots = next(iter(job["allocation"].items()))
        lines.append(
            f"{_stamp(job['start'])}: Started {slots} Task(s) on Host(s) <{slots}*{host}>;"
        )
    if "estimate" in job:
        lines.append(f"{_stamp(job['estimate'])}: Job will start no sooner than indicated time;")
    lines += [" PENDING REASONS:", f" {job['reason']}"] if "reason" in job else []
    lines += ["", " RUNLIMIT", f" {job['run_limit'] / 60:.1f} min"]
    if "estimated_run_time" in job:
        lines += [" ESTIMATED_RUNTIME", f" {job['estimated_run_time'] / 60:.1f} min"]
    return "\n".join([*lines, "-" * 79, ""])


def _wrapped(text: str) -> str:
    """Broken as bjobs -l breaks its lines."""
    lines = []
    for line in text.splitlines():
        while len(line) > 79 and not line.startswith("---"):
            lines.append(line[:79])
            line = " " * 21 + line[79:]
        lines.append(line)
    return "\n".join(lines) + "\n"


def _seconds(value: object) -> object:
    return int(value.timestamp()) if isinstance(value, datetime) else value


def test_a_job_is_the_same_in_every_form() -> None:
    calendar = PrintedTimes(NOW)
    for seed in range(80):
        draw = Random(seed)
        jobs = [_job(draw, n) for n in range(1, 4)]
        long = "".join(map(_long_job, jobs))
        records = [_json_job(job) for job in jobs]
        texts = (long, _wrapped(long), json.dumps({"COMMAND": "bjobs", "RECORDS": records}))
        for text in texts:
            for seen, job in zip(read_bjobs(Text(text, "f"), calendar), jobs, strict=True):
                plain = SeenJob(job["id"])
                for fact in JOBS:
                    wanted = _seconds(job.get(fact.field, getattr(plain, fact.field)))
                    assert getattr(seen, fact.field) == wanted, (seed, fact.what, text)


def _host(draw: Random, number: int) -> dict[str, Any]:
    used = [draw.randint(0, 3) for _ in range(3)]
    return {
        "name": f"h{number}", "status": draw.choice(["ok", "closed_Adm", "unavail"]),
        "slots": draw.randint(9, 20), "user_slots": draw.choice([None, 4]), "used": sum(used),
        "reserved_slots": draw.randint(0, 2), "parts": used,
        "cpu_factor": float(draw.randint(1, 9)),
        "total": {"mem": float(draw.randint(1, 9999))},
        "reserved": {"mem": float(draw.randint(0, 99))},
    }  # fmt: skip


def _host_cells(host: dict[str, Any]) -> dict[str, str]:
    parts = dict(zip(("RUN", "SSUSP", "USUSP"), map(str, host["parts"]), strict=True))
    total = str(host["used"] + host["reserved_slots"])
    return {
        "HOST_NAME": host["name"], "STATUS": host["status"],
        "JL/U": "-" if host["user_slots"] is None else str(host["user_slots"]),
        "MAX": str(host["slots"]), "NJOBS": total, **parts, "RSV": str(host["reserved_slots"]),
    }  # fmt: skip


def _hosts_in(form: str, hosts: list[dict[str, Any]]) -> str:
    cells = [_host_cells(host) for host in hosts]
    if form == JSON:
        for host, record in zip(hosts, cells, strict=True):
            record["JL_U"] = record.pop("JL/U")
            record |= {
                "CPUF": str(host["cpu_factor"]),
                "AVAILABLE_MEM": f"{host['total']['mem']:g}M",
            }
            record["RESERVED_MEM"] = f"{host['reserved']['mem']:g}M"
        return json.dumps({"COMMAND": "bhosts", "RECORDS": cells})
    if form == PLAIN:
        rows = [" ".join(cells[0]), *(" ".join(row.values()) for row in cells)]
        return "\n".join(rows) + "\n"
    blocks = []
    for host, row in zip(hosts, cells, strict=True):
        del row["HOST_NAME"]
        names = ["STATUS", "CPUF", *list(row)[1:], "DISPATCH_WINDOW"]
        values = [row["STATUS"], str(host["cpu_factor"]), *list(row.values())[1:], "-"]
        mem, held = host["total"]["mem"], host["reserved"]["mem"]
        load = f"\n     mem\n Total {mem:g}M\n Reserved {held:g}M\n"
        blocks.append(f"HOST  {host['name']}\n{' '.join(names)}\n{' '.join(values)}\n{load}\n")
    return "".join(blocks)


def _queue(draw: Random, number: int) -> dict[str, Any]:
    counts = {name: draw.randint(0, 9) for name in ("PEND", "RUN", "SUSP", "RSV")}
    return {
        "name": f"q{number}", "priority": draw.randint(1, 99),
        "status": draw.choice(["Open:Active", "Closed:Active", "Open:Inact", "Open:Inact_Win"]),
        "queue_slots": draw.choice([None, 8]), "user_slots": draw.choice([None, 3]),
        "processor_slots": draw.choice([None, 1.5]), "host_slots": draw.choice([None, 2]),
        "counts": {"NJOBS": sum(counts.values()), **counts},
        "users": draw.choice(["", "ann bob"]), "hosts": draw.choice(["", "h1 h2+1 others"]),
        "run_limit_max": draw.choice([None, 3600]),
    }  # fmt: skip


def _queues_in(form: str, queues: list[dict[str, Any]]) -> str:
    limits = {"queue_slots": "MAX", "user_slots": "JL/U", "processor_slots": "JL/P"}
    limits["host_slots"] = "JL/H"
    cells = []
    for queue in queues:
        row = {"QUEUE_NAME": queue["name"], "PRIO": str(queue["priority"])}
        row["STATUS"] = queue["status"]
        row |= {c: "-" if queue[key] is None else str(queue[key]) for key, c in limits.items()}
        row |= {c: str(queue["counts"][c]) for c in ("NJOBS", "PEND", "RUN", "SUSP")}
        cells.append(row)
    if form == JSON:
        renamed = [
            {name.replace("JL/", "JL_"): text for name, text in row.items()} for row in cells
        ]
        return json.dumps({"COMMAND": "bqueues", "RECORDS": renamed})
    if form == PLAIN:
        return "\n".join([" ".join(cells[0]), *(" ".join(row.values()) for row in cells)]) + "\n"
    blocks = []
    for queue, row in zip(queues, cells, strict=True):
        name, susp = row.pop("QUEUE_NAME"), row.pop("SUSP")
        row |= {"SSUSP": susp, "USUSP": "0", "RSV": str(queue["counts"]["RSV"])}
        limit = queue["run_limit_max"]
        lines = [f"QUEUE: {name}", "  -- text", "", " ".join(row), " ".join(row.values()), ""]
        lines += [] if limit is None else [" RUNLIMIT", f" {limit / 60:.1f} min", ""]
        lines += [f"USERS: {queue['users'] or 'all'}"]
        lines += [f"HOSTS: {(queue['hosts'] or 'all').replace(' ', chr(10) + '        ', 1)}", ""]
        blocks.append("\n".join(lines) + "\n")
    return "".join(blocks)


@pytest.mark.parametrize("form", [LONG, JSON, PLAIN])
def test_hosts_and_queues_are_the_same_in_every_form(form: str) -> None:
    """What a form does not print is unknown there: as in what was not seen at all."""
    kinds: tuple[tuple[Any, Any, Any, Callable[..., Any], Callable[..., str]], ...] = (
        (HOSTS, SeenHost, read_bhosts, _host, _hosts_in),
        (QUEUES, SeenQueue, read_bqueues, _queue, _queues_in),
    )
    for seed in range(200):
        draw = Random(seed)
        for facts, kind, read, make, printed in kinds:
            items = [make(draw, n) for n in range(1, 4)]
            for seen, item in zip(read(Text(printed(form, items), "f")), items, strict=True):
                told = {fact.field for fact in facts if form in fact.cells}
                plain = kind(item["name"])
                for name in {fact.field for fact in facts} & item.keys():
                    wanted = item[name] if name in told else getattr(plain, name)
                    found = getattr(seen, name)
                    if name == "counts":
                        wanted = {key: found[key] for key in found} | wanted
                    assert found == wanted, (seed, name, form)


def test_forms_are_named() -> None:
    assert {form for fact in FACTS for form in fact.cells} == {LONG, JSON, PLAIN}
