"""Verdicts, host orders, merges and placements of a real scheduler (tests/data/ground/README.md).

Every difference is listed with its reason in docs/dev/live-recordings.md; the tests compare
that list with the differences there are, both ways.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ground_cluster import cluster
from slotwise import InputError, Instance, Job, Params, Queue
from slotwise.model.formats.names import host_requests
from slotwise.model.resreq import (
    HostTable,
    Requirement,
    ResreqError,
    Simple,
    effective_requirement,
    order_hosts,
    parse,
    print_requirement,
    select_mask,
)
from slotwise.model.resreq.levels import amounts
from slotwise.model.resreq.syntax import operands
from slotwise.solver.planning import plan

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "ground"
TABLE = HostTable(cluster())
QUEUE = Queue(
    "qmem",
    res_req="select[mem>10] order[mem:ut] rusage[mem=200:duration=20:decay=1] span[ptile=2]",
)


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def listed() -> set[str]:
    """The differences that the document lists, without their marks."""
    page = (ROOT / "docs" / "dev" / "live-recordings.md").read_text(encoding="utf-8")
    text = page.partition("## Where Slotwise and volclava 2.2 disagree")[2]
    return set(re.findall(r"^- (`.*)$", text, flags=re.M))


def our_hosts(text: str) -> list[str] | None:
    """Hosts of a string as lsload would list them, None where it is refused or compound."""
    requirement = parse(text, vocabulary=TABLE.vocabulary, dialect="7")
    if not isinstance(requirement, Simple):
        return None
    mask = select_mask(
        requirement.select, TABLE, local_type="linux", local_model="IntelI5", default_type=False
    )
    order = order_hosts(requirement.order, TABLE, mask)
    return [TABLE.cluster.hosts[index].name for index in order]


def difference(row: dict[str, str]) -> str | None:
    """How the verdict or the hosts differ, None where they agree."""
    text = row["string"].replace("\\\\", "\\")
    theirs = row["bsub_verdict"] == "accept"
    try:
        hosts = our_hosts(text)
    except ResreqError:
        return f"`{text}`: volclava accepts" if theirs else None
    if not theirs:
        return f"`{text}`: volclava refuses"
    found = [name for name in row["lsload_hosts_in_order"].split(",") if name]
    answered = row["lsload_verdict"] == "ok" or "Not enough host" in row["lsload_message"]
    if hosts == found or not answered:
        return None
    return f"`{text}`: volclava has {_letters(found)}, Slotwise {_letters(hosts or [])}"


def _letters(hosts: list[str]) -> str:
    return " ".join(name.removeprefix("host") for name in hosts) or "no host"


def verdict_differences() -> Iterator[str]:
    for row in rows("volclava-resreq-verdicts.tsv"):
        found = difference(row)
        if found is not None:
            yield found


def _merge_rows() -> list[tuple[str, dict[str, str]]]:
    found = []
    for row in rows("volclava-merge-and-options.tsv"):
        job = re.fullmatch(r"-n 4(?: -R (.*))?", row["bsub_options"])
        if row["queue"] == "qmem" and job:
            found.append((job.group(1) or "", row))
    return found


def _our_merge(job: str) -> Requirement:
    instance = Instance(cluster(), queues=(QUEUE,), params=Params(dialect="7"))
    strings = (job,) if job else ()
    one = Job("1", slots=4, queue="qmem", res_req=strings)
    return effective_requirement(instance, one).requirement


def _comparable(requirement: Requirement) -> tuple[Any, ...]:
    """All of a merged requirement but the default type and the order of what is joined."""
    assert isinstance(requirement, Simple)
    select = operands(requirement.select, "&&") if requirement.select else ()
    tests = {print_requirement(Simple(select=part)) for part in select}
    tests -= {"select[type==local]", "select[type==any]"}
    used = set()
    for alternative in requirement.rusage.alternatives if requirement.rusage else ():
        for amount, usage in amounts(alternative).values():
            used.add((amount.resource, amount.values, usage.durations, usage.decays))
    return tests, requirement.order, used, requirement.span


def merge_difference(job: str, row: dict[str, str]) -> str | None:
    try:
        ours = _our_merge(job)
    except InputError:
        return f"`-R {job}` in qmem: volclava accepts" if row["verdict"] == "accept" else None
    if row["verdict"] != "accept":
        return f"`-R {job}` in qmem: volclava refuses"
    theirs = parse(re.sub(r"duration=(\d+)", r"duration=\1s", row["bjobs_combined"]))
    if _comparable(ours) == _comparable(theirs):
        return None
    return f"`-R {job}` in qmem: Slotwise has {print_requirement(ours)}"


def merge_differences() -> Iterator[str]:
    for job, row in _merge_rows():
        found = merge_difference(job, row)
        if found is not None:
            yield found


def placement_difference(case: dict[str, Any]) -> str | None:
    """Execution hosts of one job on four idle hosts."""
    shown = " ".join(
        f"{option} {case[key]}"
        for option, key in (("-n", "n"), ("-R", "R"), ("-m", "m"))
        if case[key]
    )
    job = Job(
        "1",
        slots=case["n"],
        res_req=(case["R"],) if case["R"] else (),
        hosts=host_requests(case["m"])[0] if case["m"] else (),
        run_limit=600,
    )
    problem = Instance(
        cluster("hostA hostB hostC hostD", alike=True), pending=(job,), params=Params(dialect="7")
    )
    planned = plan(problem, method="time-based").get("1")
    ours = dict(planned.allocation) if planned is not None and planned.start == 0 else None
    theirs = case["alloc"]
    if ours == theirs and (ours is None or list(ours) == list(dict.fromkeys(case["exec_hosts"]))):
        return None
    return f"`{shown}`: volclava uses {theirs}, Slotwise {ours}"


def placement_differences() -> Iterator[str]:
    cases = json.loads((DATA / "volclava-placement.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        found = placement_difference(case)
        if found is not None:
            yield found


@pytest.mark.behaviour("REQ-02", "REQ-03", "REQ-07", "REQ-10", "REQ-11", "REQ-18")
def test_verdicts_and_host_orders_differ_only_where_the_document_says_so() -> None:
    assert set(verdict_differences()) <= listed()


@pytest.mark.behaviour("REQ-15", "RSV-05", "REQ-18")
def test_merged_requirements_differ_only_where_the_document_says_so() -> None:
    assert set(merge_differences()) <= listed()


@pytest.mark.behaviour("REQ-10", "PLC-01", "PLC-02", "PLC-03", "PLC-12")
def test_placements_differ_only_where_the_document_says_so() -> None:
    assert set(placement_differences()) <= listed()


def test_the_document_lists_no_difference_that_is_gone() -> None:
    now = {*verdict_differences(), *merge_differences(), *placement_differences()}
    assert listed() - now == set()
