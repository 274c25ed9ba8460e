"""What `slots` says could start now does, and delays nobody; one step more does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from queue_parts import queue_document
from slotwise.cli.main import app
from slotwise.solver.scheduler.continuation import ConfiguredRun, run_as_configured
from submitted import submission
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("SLO-01")


def sound(instance: sw.Instance, before: ConfiguredRun, words: str) -> bool:
    """Whether a job of the line starts now, and no other one starts or ends later or is suspended
    earlier.
    """
    try:
        job = submission(instance, words).job
    except sw.InputError:
        return False
    after = run_as_configured(replace(instance, pending=(*instance.pending, job)))
    kept = job.id not in after.suspended and all(
        at >= before.suspended.get(name, at + 1) for name, at in after.suspended.items()
    )
    for name, was in before.starts.items():
        now = after.starts.get(name)
        kept = kept and now is not None and now.start is not None and now.start <= (was.start or 0)
        if now is not None and was.finish is not None:
            kept = kept and now.finish is not None and now.finish <= was.finish
    return kept and after.start(job.id) == instance.now


def check(seed: int) -> int:
    """Return the number of rows of a random queue, each of which was tried."""
    instance = sw.loads(json.dumps(queue_document(seed)))
    before = run_as_configured(instance)
    found = sw.slots(instance)
    for row in found.rows:
        assert sound(instance, before, row.line), (seed, row)
        line, limit = row.line, row.at_most
        if limit is not None:
            line = line.rpartition(" -W ")[0]
            hours, longer = (f" -W {m // 60}:{m % 60:02}" for m in (limit // 60, limit // 60 + 5))
            assert sound(instance, before, line + hours), (seed, row)
            assert not sound(instance, before, line + longer), (seed, row)
            line += hours
        more = line.replace(f"-n {row.slots}", f"-n {row.slots + 1}")
        more += ' -R "span[hosts=1]"' * (row.slots == 1)  # of one slot it is not written
        assert not sound(instance, before, more), (seed, row)
    if not found.rows:
        assert found.nothing
        assert not sound(instance, before, "bsub -n 1 -W 0:10")
    return len(found.rows)


def test_each_row_starts_now_and_delays_nobody() -> None:
    """A row that delays a waiting job, and one that a larger or longer request beats."""
    assert sum(map(check, range(5))) > 2


TWO_HOSTS = """
format: slotwise/1
hosts: [{name: A, slots: 4}, {name: B, slots: 4}, {name: C, slots: 4, status: closed_Adm}]
running: [{id: 1, slots: 4, run_limit: 2h, start: 0, allocation: 4*A}]
pending: [{id: 2, slots: 8, run_limit: 1h}]
"""


@pytest.mark.behaviour("SLO-02")
def test_what_is_free_when() -> None:
    """A running or a planned job that is not counted, or a closed host that is."""
    found = sw.slots(sw.loads(TWO_HOSTS), until=24 * 3600)
    assert [(row.slots, row.at_most, row.delays) for row in found.rows] == [(4, 7200, "2")]
    (hosts,) = found.free_when
    assert hosts.capacity == 8
    assert hosts.free[:5] == (4, 4, 0, 8, 8)
    assert hosts.whole_hosts[:5] == (1, 1, 0, 2, 2)
    assert found.times[2] == 7200


@pytest.mark.behaviour("SLO-02")
def test_what_is_free_in_nine_of_ten_forecasts(tmp_path: Path) -> None:
    """Samples that end at limits: jobs of this log ran a twelfth of theirs."""
    log = tmp_path / "log.swf"
    log.write_text(
        "".join(f"{n} {n} 0 600 1 -1 -1 1 7200 -1 1 1 1 -1 1 1 -1 -1\n" for n in range(1, 31))
    )
    found = sw.slots(sw.loads(TWO_HOSTS), until=24 * 3600, history=log, samples=20)
    (hosts,) = found.free_when
    assert hosts.free[:3] == (4, 4, 0)
    assert hosts.likely[:3] == (4, 8, 8)


EACH_REASON = """
format: slotwise/1
params: {DEFAULT_QUEUE: normal}
hosts:
- {name: A, slots: 4}
- {name: B, slots: 4, status: closed_Adm}
- {name: F, slots: 8, model: fat}
- {name: G, slots: 2, model: gpu}
- {name: N, slots: 5, model: night}
- {name: Z, slots: 0, model: zero}
queues:
- {name: normal, HOSTS: A B F G}
- {name: big, PROCLIMIT: 5 16}
running: [{id: 1, slots: 2, queue: normal, run_limit: 2h, start: 0, allocation: 2*G}]
pending:
- {id: 2, slots: 8, queue: normal, run_limit: 1h, res_req: "select[model==fat]"}
- {id: 3, slots: 12, queue: normal, run_limit: 1h}
"""


@pytest.mark.behaviour("SLO-01")
def test_each_host_is_in_a_row_or_named_with_the_reason() -> None:
    """A host of which nothing is said, and free slots that explain counts otherwise."""
    instance = sw.loads(EACH_REASON)
    found = sw.slots(instance)
    assert {row.kind for row in found.rows} == {"4 slots"}
    assert {item.hosts: item.why for item in found.without_row} == {
        ("B",): "closed_Adm",
        ("F",): "needs 1 free slot (has 0)",
        ("G",): "no slot is free",
        ("N",): "not for jobs of queue normal",
        ("Z",): "no slots",
    }
    assert (found.free, found.free_of_queue) == (9, 4)
    assert "(has 4)" in sw.explain(instance, "3").obstacles[0].reason
    text = CliRunner().invoke(app, ["slots", "-"], input=EACH_REASON).stdout
    text = " ".join(text.split())
    assert all(f"host {item.hosts[0]}: {item.why}" in text for item in found.without_row)
    assert "9 slots are free, 4 of them for jobs of queue normal" in text


def test_a_queue_for_large_jobs_alone_has_rows_from_its_smallest_job_on() -> None:
    found = sw.slots(sw.loads(EACH_REASON), queue="big")
    assert [(row.slots, row.allocation) for row in found.rows] == [(5, {"N": 5})]


def test_csv_over_time_has_the_free_slots_of_each_kind(tmp_path: Path) -> None:
    """Free slots that JSON and the table have, and CSV has not."""
    file = tmp_path / "two.yaml"
    file.write_text(TWO_HOSTS)
    command = ["slots", str(file), "--until", "24h", "--format", "csv"]
    made = CliRunner().invoke(app, command).stdout.splitlines()
    assert made[:4] == [
        "kind,capacity,time,free,whole_hosts,running,likely",
        "all,8,0,4,1,4,",
        "all,8,3600,4,1,4,",
        "all,8,7200,0,0,0,",
    ]
    assert len(made) == 26


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_the_same_of_five_hundred_queues(part: int) -> None:
    assert sum(map(check, range(1000 + 100 * part, 1100 + 100 * part))) > 40


@pytest.mark.parametrize("limit", ["JOBS: 0", "SLOTS: 0"])
def test_a_limit_of_nothing_is_named(limit: str) -> None:
    hosts = "hosts: [{name: a, slots: 4}, {name: b, slots: 4}]\n"
    text = f"{hosts}limits: [{{name: shut, USERS: ann, {limit}}}]\n"
    instance = sw.loads(f"format: slotwise/1\n{text}")
    found = sw.slots(instance, user="ann")
    assert found.nothing.startswith("limit shut (")
    assert {item.why for item in found.without_row} == {found.nothing}
