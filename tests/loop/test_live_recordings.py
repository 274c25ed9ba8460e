"""Runs of a live scheduler of LSF's family, and the loop from the first submission on.

volclava 2.2 on five virtual hosts (tests/data/ground/live). Every start is within two cycles and
the reports of the recorded one, but for those that docs/dev/live-recordings.md explains.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from slotwise import Instance, Simulation
from slotwise.model.formats.lsf import site_document
from slotwise.model.sources.log_lines import BadRecords
from slotwise.model.sources.lsf_state.assemble import assemble
from slotwise.model.sources.lsf_state.event_log import cut
from slotwise.model.sources.lsf_state.log_records import Started, Submitted, read_events
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.solver.scheduler.simulation import simulate

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "ground" / "live"
#: Two cycles, and the reports of ends.
CLOSE = 9
#: Seconds of a cycle there.
CYCLE = 4
#: Of each recording its queues, and whether ends in the second of a cycle were seen by it.
RUNS = {
    "x2": ("x", True),
    "x3": ("x", True),
    "r1": ("r1", True),
    "r3": ("r3", False),
    "r4": ("r4", False),
    "w1": ("w1", True),
}
#: What the load script of that cluster said (MB).
MEMORY = {"hostM": 4000.0, "hostA": 4000.0, "hostB": 4000.0, "hostC": 4000.0, "hostD": 8000.0}


@cache
def recorded(run: str) -> tuple[dict[str, str], dict[str, int]]:
    """Names of the jobs of a recording by number, and when they started (seconds since 1970)."""
    names, starts = {}, {}
    for record in read_events(DATA / f"{run}.events", BadRecords(), {}):
        if isinstance(record, Submitted):
            names[str(record.number)] = record.job.name
        elif isinstance(record, Started):
            starts.setdefault(str(record.number), record.time)
    return names, starts


def instance_of(run: str, folder: Path) -> Instance:
    """The cluster before the first submission, with all that was submitted to it.

    Its cycles are the recorded ones. A job that comes in the last second before a cycle is seen by
    the next: so each comes two seconds later, for stamps are whole seconds.
    """
    queues, seen_at_once = RUNS[run]
    shutil.copytree(DATA / "site", folder, dirs_exist_ok=True)
    shutil.copy(DATA / f"{queues}.queues", folder / "lsb.queues")
    site, _ = site_document(folder, present=datetime.now(UTC)).instance()
    hosts = tuple(
        replace(host, amounts={**host.amounts, "mem": MEMORY[host.name]})
        for host in site.cluster.hosts
    )
    site = replace(site, cluster=replace(site.cluster, hosts=hosts))
    _, starts = recorded(run)
    first = min(starts.values())
    at = first - 2 * CYCLE
    moment = cut(read_events(DATA / f"{run}.events", BadRecords(), {}), at, later=True)
    seen = Seen(moment.jobs, moment.later, [], all_hosts=False, gone=True)
    found = assemble(seen, datetime.fromtimestamp(at, UTC), site).instance
    future = tuple(
        replace(job, submit=job.submit + 2, run_time=(job.run_time or 0) + (not seen_at_once))
        for job in found.future
    )
    return replace(found, future=future)


def off(run: str, result: Simulation, now: int) -> Iterator[str]:
    """Names of the jobs that the loop does not start when they started."""
    names, starts = recorded(run)
    zero = min(starts.values()) - 2 * CYCLE
    for number, start in starts.items():
        ours = result[number].start
        if ours is None or abs(ours - now - (start - zero)) > CLOSE:
            yield names[number]


def explained(run: str) -> set[str]:
    """The jobs of a recording that the page says to differ."""
    text = (ROOT / "docs" / "dev" / "live-recordings.md").read_text("utf-8")
    return set(re.findall(rf"^- {run} `(\w+)`:", text, re.MULTILINE))


@pytest.mark.behaviour("GRD-01", "GRD-03", "GRD-06", "TBR-18")
@pytest.mark.parametrize("run", RUNS)
def test_starts_are_those_of_the_live_scheduler(run: str, tmp_path: Path) -> None:
    problem = instance_of(run, tmp_path)
    assert problem.params.family == "volclava"
    result = simulate(problem)
    assert set(off(run, result, problem.now)) == explained(run)


def test_few_starts_have_to_be_explained() -> None:
    counts = {run: len(recorded(run)[1]) for run in RUNS}
    assert counts == {"x2": 20, "x3": 18, "r1": 22, "r3": 24, "r4": 36, "w1": 13}
    assert {run: len(explained(run)) for run in RUNS} == {
        **{"x2": 0, "x3": 0, "r1": 0, "w1": 0},
        **{"r3": 5, "r4": 1},
    }
