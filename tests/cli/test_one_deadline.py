"""--time-limit is the whole command's, --memory-limit ends it in one line; no timing here."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import slotwise as sw
from forked import program, slotwise
from slotwise import library
from slotwise.model.errors import Cancelled
from slotwise.model.formats.plan_file import bare_instance, read_plan
from slotwise.model.generate import generate

#: Runs the command; Ctrl-C comes in the middle of a cycle, or of reading.
INTERRUPTED = """
import os, signal, sys
from slotwise.cli import simulate as simulate_loop
from slotwise.cli.main import main
from slotwise.solver.scheduler.cycle import Cycle

where, number = sys.argv[1], int(sys.argv[2])

def signalled(call):
    def inside(*given, **named):
        os.kill(os.getpid(), number)
        for _ in range(10**9):  # whoever waits for its end waits long
            pass
        return call(*given, **named)
    return inside

if where == "cycle":
    Cycle._process_queue = signalled(Cycle._process_queue)
else:
    simulate_loop.workload = signalled(simulate_loop.workload)
sys.argv[:] = ["slotwise", *sys.argv[3:]]
main()
"""


@pytest.fixture
def waiting() -> sw.Instance:
    return generate(hosts=8, per_enclosure=4, running=14, pending=6, load=0.95, seed=3)


def test_the_look_at_an_instance_ends_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "PATIENCE", 0.0)
    original = library.Patience

    def impatient(cancel: threading.Event, until: float) -> library.Patience:
        assert until < float("inf")
        return original(cancel, 0.0, until)

    monkeypatch.setattr(library, "Patience", impatient)
    instance = generate(hosts=600, running=900, pending=6, seed=3)
    plan = sw.plan(instance, "time-based", time_limit=1e-6)
    assert plan.cut
    assert [item.job for item in plan] == [job.id for job in instance.pending]
    with pytest.raises(Cancelled, match="the time limit came while"):
        sw.compare(instance, time_limit=1e-6, methods=True)


@pytest.mark.parametrize(("where", "code"), [("cycle", 3), ("read", 130)])
def test_a_simulation_without_a_checkpoint_stops_at_once(where: str, code: int) -> None:
    done = program(INTERRUPTED, where, 2, "simulate", "--example", "headline")
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    expected = "nothing was written" if where == "cycle" else "stopped before an answer was found"
    assert expected in last
    assert "Traceback" not in done.stderr


def test_a_report_says_how_many_jobs_were_explained(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = slotwise("report", "--example", "headline", "--time-limit", "0", "-o", page)
    assert done.returncode == 3, done.stderr
    assert "Reasons and remedies were computed for 0 of" in page.read_text()


def test_peaks_of_a_saved_plan_are_those_of_a_count_of_every_instant() -> None:
    entries = [
        {"job": f"j{n}", "start": start, "finish": finish, "allocation": {f"h{n % 3}": n % 4 + 1}}
        for n, (start, finish) in enumerate(
            [(0, 10), (10, 20), (5, None), (5, 5), (None, 7), (9, 11), (8, 14), (0, 10), (10, 12)]
            * 3
        )
    ]
    found = bare_instance({"reservations": entries, "now": 0})
    for host in found.cluster.hosts:
        held = [
            (item["start"], item["finish"], item["allocation"][host.name])  # type: ignore[index]
            for item in entries
            if host.name in item["allocation"]  # type: ignore[operator]
        ]
        used = [
            sum(
                slots
                for start, finish, slots in held
                if (start or 0) <= time and (finish is None or time < finish)
            )
            for time in range(25)
        ]
        assert host.slots == max(1, *used)


def test_a_job_that_a_saved_plan_names_twice_is_refused(waiting: sw.Instance) -> None:
    record = json.loads(json.dumps(sw.plan(waiting, "time-based").to_dict()))
    record["reservations"].append(record["reservations"][0])
    name = record["reservations"][0]["job"]
    with pytest.raises(sw.InputError, match=f"job {name} occurs more than once"):
        read_plan(record, waiting, "plan.json")


def test_a_plan_finds_its_jobs_after_it_was_changed(waiting: sw.Instance) -> None:
    plan = sw.plan(waiting, "time-based")
    first = plan.reservations[0]
    assert plan.get(first.job) is first
    assert first.job in plan
    assert plan.get("nobody") is None
    assert 7 not in plan


@pytest.mark.skipif(sys.platform != "linux", reason="no limit of memory elsewhere")
def test_memory_that_runs_out_is_one_line_and_no_fault(tmp_path: Path) -> None:
    """A document of 60 MB, within the limits on input."""
    big = tmp_path / "big.json"
    big.write_text('{"description": [' + "[]," * 20_000_000 + "[]]}")
    done = subprocess.run(
        [Path(sys.executable).with_name("slotwise"), "--memory-limit", "150", "check", big],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 71, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("slotwise: memory ran out at 150 MB (--memory-limit): use a higher")


def test_memory_that_runs_out_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(*_: object) -> None:
        from slotwise.solver import planning

        def plan(*_given: object, **_named: object) -> None:
            raise MemoryError

        planning.plan = plan  # type: ignore[assignment]

    done = slotwise("solve", "--example", "headline", before=hungry)
    assert done.returncode == 71, done.stderr
    assert done.stderr.startswith("slotwise: memory ran out: use a machine with more memory")
    assert "fault" not in done.stderr
