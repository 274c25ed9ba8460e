"""Ctrl-C, SIGTERM and --time-limit at the command line: a marked plan and exit code 3."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
import slotwise as sw
from forked import program
from sampling import pairwise
from slotwise import Plan, PlannedJob, Unplaced
from slotwise.model.generate import generate
from slotwise.solver.validate import validate

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        sw.dump(generate(hosts=8, per_enclosure=4, running=14, pending=6, load=0.95, seed=3))
    )
    return path


def made_anew(record: dict[str, object]) -> Plan:
    names = set(PlannedJob.__dataclass_fields__)
    entries = [
        PlannedJob(**{key: value for key, value in item.items() if key in names})
        for item in record["reservations"]  # type: ignore[attr-defined]
    ]
    return Plan(
        method=record["method"],  # type: ignore[arg-type]
        objective=record["objective"],  # type: ignore[arg-type]
        status=record["status"],  # type: ignore[arg-type]
        now=record["now"],  # type: ignore[arg-type]
        reservations=tuple(entries),
        unplaced=tuple(Unplaced(**item) for item in record["unplaced"]),  # type: ignore[attr-defined]
        value=record["value"],  # type: ignore[arg-type]
        bound=record["bound"],  # type: ignore[arg-type]
    )


def left_a_plan_of_all_jobs(
    done: subprocess.CompletedProcess[str], cluster: Path, method: str
) -> None:
    """A signal ended a solve by exit code 3 and one line, with a plan that keeps every rule."""
    assert done.returncode == 3, done.stderr
    assert done.stderr == "slotwise: stopping with what there is so far (once more: at once)\n"
    found = made_anew(json.loads(done.stdout))
    instance = sw.load(cluster)
    assert validate(instance, found, as_lsf=method != "optimal") == []
    named = [item.job for item in found] + [item.job for item in found.unplaced]
    assert sorted(named) == sorted(job.id for job in instance.pending)


#: Runs the command and sends itself a signal when a function is called for the first time.
SIGNALLED_AT = """
import importlib, os, sys
from slotwise.cli.main import main

number, (module, path) = int(sys.argv[1]), sys.argv[2].split(":")
holder = importlib.import_module(module)
*inner, name = path.split(".")
for part in inner:
    holder = getattr(holder, part)
whole, left = getattr(holder, name), [1]

def signalled(*given, **named):
    if left:
        left.clear()
        os.kill(os.getpid(), number)
    return whole(*given, **named)

setattr(holder, name, signalled)
sys.argv[:] = ["slotwise", *sys.argv[3:]]
main()
"""


def signalled_at(
    place: str, how: signal.Signals, cluster: Path, method: str
) -> subprocess.CompletedProcess[str]:
    arguments = ["solve", str(cluster), "--method", method, "--format", "json"]
    return program(SIGNALLED_AT, int(how), f"slotwise.{place}", *arguments)


PHASES = [
    ("time-based", "solver.scheduler.world:World.add_all_running"),
    ("time-based", "solver.scheduler.simulation:Session.run_until_stable"),
    ("greedy", "solver.scheduler.cycle:Cycle.run"),
    ("time-based", "solver.planning:plan_of"),
    ("time-based", "solver.planning:certified"),
    ("optimal", "solver.problem:profile_of_running"),
    ("optimal", "solver.problem:priority_order"),
]


@pytest.mark.parametrize(("phase", "how"), pairwise(PHASES, SIGNALS))
def test_a_signal_is_heard_in_every_phase(
    cluster: Path, how: signal.Signals, phase: tuple[str, str]
) -> None:
    """Entering what runs, the cycle, resolving, writing up and the judge: there is a plan."""
    method, place = phase
    done = signalled_at(place, how, cluster, method)
    left_a_plan_of_all_jobs(done, cluster, method)
