"""A snapshot against itself: what commands count, what jobs hold, what LSF says of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from forked import slotwise
from slotwise import dump, load, loads
from slotwise.model.sources.lsf_state.assemble import Assembled, assemble
from slotwise.model.sources.lsf_state.bhosts import SeenHost, SeenShared
from slotwise.model.sources.lsf_state.bjobs import SeenJob
from slotwise.model.sources.lsf_state.bqueues import SeenQueue
from slotwise.model.sources.lsf_state.seen import Seen
from slotwise.solver.planning import plan
from slotwise.solver.plausibility.consistency import ConsistencyReport, check_consistency

pytestmark = pytest.mark.behaviour("CFG-04")
NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
ZERO = int(NOW.timestamp())


def made(seen: Seen) -> tuple[Assembled, ConsistencyReport]:
    found = assemble(seen, NOW)
    return found, check_consistency(found.instance, found.seen)


def runs(name: str, host: str, slots: int, **more: Any) -> SeenJob:
    given = {"start": ZERO - 600, "run_limit": 3600, "queue": "q", **more}
    return SeenJob(name, "RUN", allocation={host: slots}, slots=slots, **given)


def waits(name: str, slots: int, **more: Any) -> SeenJob:
    given = {"submit": ZERO - 60, "run_limit": 600, "queue": "q", **more}
    return SeenJob(name, "PEND", slots=slots, **given)


def host(name: str, used: int, **more: Any) -> SeenHost:
    return SeenHost(name, slots=8, used=used, reserved_slots=0, **more)


def queue(**counts: int) -> SeenQueue:
    return SeenQueue("q", priority=30, counts={"SUSP": 0, **counts}, long=True)


def test_listings_that_agree_contradict_nothing() -> None:
    seen = Seen(
        [runs("1", "a", 4), waits("2", 8)], hosts=[host("a", 4)], queues=[queue(PEND=8, RUN=4)]
    )
    found, balance = made(seen)
    assert balance.contradictions == ()
    assert balance.lines == (
        "slots in use: bhosts counts 4, the listed jobs use 4",
        "slots in use: bqueues counts 4, the listed jobs use 4",
        "slots waited for: bqueues counts 8, the listed jobs request 8",
    )
    assert plan(found.instance, "optimal", effort=5)["2"].proved


@pytest.mark.parametrize(
    ("seen", "what", "jobs"),
    [
        (
            Seen([waits("2", 8)], hosts=[host("a", 8), host("b", 8)]),
            "bhosts counts 16 slots in use on a, b, but the listed jobs use 0: "
            "bjobs without -u all?",
            None,
        ),
        (
            Seen([runs("1", "a", 4), waits("2", 8)], hosts=[host("a", 0)]),
            "bhosts counts 0 slots in use on a, but the listed jobs use 4: "
            "printed at different times?",
            None,
        ),
        (
            Seen([waits("2", 2)], hosts=[host("a", 0)], queues=[queue(PEND=40, RUN=0)]),
            "bqueues counts 40 slots waited for in q, but the listed jobs request 2: "
            "bjobs without -u all?",
            None,
        ),
        (
            Seen(
                [waits("2", 2, res_req="rusage[mem=10]"), waits("3", 1)],
                hosts=[host("a", 0, total={"mem": 1000.0}, reserved={"mem": 724.0})],
            ),
            "724 MB of mem reserved on a belong to no job",
            ("2",),
        ),
        (
            Seen(
                [waits("2", 2, reason="The job array has reached its running element limit;")],
                hosts=[host("a", 0)],
            ),
            "LSF says: The job array has reached its running element limit; "
            "no input gives that limit; here the next cycle starts it",
            ("2",),
        ),
        (
            Seen([waits("2", 2, estimate=ZERO + 7200)], hosts=[host("a", 0)]),
            "LSF estimates a later start; here the next cycle starts it",
            ("2",),
        ),
    ],
)
def test_each_contradiction_is_told_and_nothing_it_touches_is_proved(
    seen: Seen, what: str, jobs: tuple[str, ...] | None
) -> None:
    found, balance = made(seen)
    (one,) = balance.contradictions
    # One of a resource is of the jobs that ask for it, those that are asked about later too.
    asked = ("mem",) if " of mem " in what else ()
    assert (one.what, one.resources, one.jobs) == (what, asked, None if asked else jobs)
    from dataclasses import replace

    it = replace(found.instance, omissions=balance.contradictions)
    planned = plan(it, "optimal", effort=5)
    assert {item.job: item.proved for item in planned} == {
        job.id: jobs is not None and job.id not in jobs for job in it.pending
    }
    assert loads(dump(it)).omissions == it.omissions


@pytest.mark.parametrize(("held", "proved"), [(2, False), (3, True)])
@pytest.mark.parametrize("form", ["bhosts -s", "bhosts -l"])
def test_a_shared_resource_in_use_by_no_known_job_takes_the_proof(
    form: str, held: int, proved: bool
) -> None:
    """3 of 5 licences are reserved; a job that needs 2 is proved if the jobs read hold the 3."""
    listed = {"total": {"lic": 2.0}, "reserved": {"lic": 3.0}} if form == "bhosts -l" else {}
    hosts = [host("a", 1, **listed), host("b", 0, **listed)]
    jobs = [runs("1", "a", 1, res_req=f"rusage[lic={held}]"), waits("3", 1)]
    jobs += [waits("2", 1, res_req="rusage[lic=2]")]
    shared = [SeenShared("lic", 5.0, (), 3.0)] if form == "bhosts -s" else []
    seen = Seen(jobs, hosts=hosts, shared=shared)
    found, balance = made(seen)
    assert bool(balance.contradictions) != proved
    instance = replace(found.instance, omissions=balance.contradictions)
    again = plan(instance, "optimal", effort=5)
    assert (again["2"].proved, again["3"].proved) == (proved, True)


def test_jobs_that_are_not_listed_are_always_missed() -> None:
    """Random clusters; some jobs, of some user, are left out of what was read."""
    for seed in range(40):
        draw = Random(seed)
        jobs = [runs(str(n), draw.choice("abc"), draw.randint(1, 3)) for n in range(6)]
        jobs += [waits(str(n), draw.randint(1, 4)) for n in range(6, 12)]
        used = {name: sum(j.allocation.get(name, 0) for j in jobs) for name in "abc"}
        hosts = [SeenHost(n, slots=20, used=used[n], reserved_slots=0) for n in "abc"]
        counted = queue(
            PEND=sum(j.slots or 0 for j in jobs if j.status == "PEND"),
            RUN=sum(j.slots or 0 for j in jobs if j.status == "RUN"),
        )
        assert made(Seen(jobs, hosts=hosts, queues=[counted]))[1].contradictions == ()
        fewer = [job for job in jobs if draw.random() < 0.7]
        _, balance = made(Seen(fewer, hosts=hosts, queues=[counted]))
        assert bool(balance.contradictions) == (len(fewer) < len(jobs)), seed


@pytest.mark.behaviour("CFG-04")
def test_an_inactive_queue_keeps_its_jobs_from_starting(tmp_path: Path) -> None:
    """As after badmin qinact; that it may be activated is not modelled, so nothing is proved."""
    (tmp_path / "bjobs.json").write_text(
        json.dumps(
            {
                "COMMAND": "bjobs",
                "RECORDS": [
                    {"JOBID": "1", "STAT": "PEND", "QUEUE": "shut", "NREQ_SLOT": "2"},
                    {"JOBID": "2", "STAT": "PEND", "QUEUE": "open", "NREQ_SLOT": "2"},
                ],
            }
        )
    )
    (tmp_path / "bhosts.txt").write_text(
        "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\na ok - 8 0 0 0 0 0\n"
    )
    (tmp_path / "bqueues.txt").write_text(
        "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
        "shut 30 Open:Inact - - - - 2 2 0 0\nopen 20 Open:Active - - - - 2 2 0 0\n"
    )
    files = [f"--{kind}={tmp_path / kind}" for kind in ("bjobs", "bhosts", "bqueues")]
    files = [f"{name}.{'json' if 'bjobs' in name else 'txt'}" for name in files]
    done = slotwise("import", "snapshot", *files, "-o", str(tmp_path / "now.yaml"))
    assert (done.returncode, "queue shut is Open:Inact" in done.stderr) == (0, True)
    it = load(tmp_path / "now.yaml")
    assert {q.name: q.active for q in it.queues} == {"shut": False, "open": True}
    for method in ("greedy", "time-based", "optimal"):
        found = plan(it, method, effort=5)
        assert found["2"].start == it.now
        assert [(item.job, item.reason) for item in found.unplaced] == [
            ("1", "queue shut is inactive")
        ]
        assert "activation of queue shut, which is inactive" in found.left_out
    assert not found["2"].proved  # columns are missing
    shown = slotwise("show", "bqueues", str(tmp_path / "now.yaml")).stdout
    assert re.search(r"^shut .*Open:Inact ", shown, re.MULTILINE)
    assert re.search(r"^open .*Open:Active ", shown, re.MULTILINE)
    done = slotwise("simulate", str(tmp_path / "now.yaml"), "--jobs", str(tmp_path / "jobs.csv"))
    (row,) = [r for r in (tmp_path / "jobs.csv").read_text().splitlines() if r.startswith("1,")]
    assert "queue shut is inactive" in row
