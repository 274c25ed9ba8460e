"""Reading instance files: what a person may write, and what is said about oddities."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
from slotwise import InputError, load, loads
from slotwise.model.formats import loads_with_warnings

BASE = 'format: slotwise/1\nhosts:\n  - {name: "n[1-4]", slots: 4}\n'


def _warnings(text: str) -> list[str]:
    return [str(problem) for problem in loads_with_warnings(text, "f.yaml")[1]]


def test_stamps_count_from_the_origin() -> None:
    instance = loads(
        BASE + "now: 2026-01-05T08:00:00+01:00\n"
        "pending: [{id: 1, submit: 2026-01-05T06:30:00Z, begin: 1h}]\n"
    )
    assert (instance.origin, instance.now) == ("2026-01-05T08:00:00+01:00", 0)
    assert (instance.pending[0].submit, instance.pending[0].begin) == (-1800, 3600)
    later = loads(BASE + "origin: 2026-01-05T00:00:00Z\nnow: 2026-01-05T08:00:00Z\n")
    assert later.now == 8 * 3600


def test_sizes_may_be_decimal() -> None:
    text = "format: slotwise/1\nsize_base: 1000\nhosts: [{name: a, slots: 1, mem: 4G}]\n"
    assert loads(text).cluster.hosts[0].amounts == {"mem": 4000.0}


@pytest.mark.behaviour("REQ-18")
def test_a_host_without_mxj_has_the_slots_of_its_processors() -> None:
    text = (
        "format: slotwise/1\nhosts:\n  - {name: a, ncpus: 8}\n  - {name: b, ncpus: 8, MXJ: '!'}\n"
        "  - {name: c, ncpus: 8, MXJ: 4}\n"
    )
    hosts = loads(text).cluster.hosts
    assert [(host.slots, host.mxj_defined) for host in hosts] == [(8, False), (8, True), (4, True)]


@pytest.mark.behaviour("REQ-05")
def test_exclusive_resources_are_booleans_too() -> None:
    text = "format: slotwise/1\nhosts: [{name: a, slots: 1, RESOURCES: linux !bigmem}]\n"
    (host,) = loads(text).cluster.hosts
    assert host.booleans == {"linux", "bigmem"}
    assert host.exclusive == {"bigmem"}


@pytest.mark.behaviour("TBR-14")
def test_a_running_job_asked_for_what_it_holds_unless_it_was_resized() -> None:
    text = BASE + (
        "running:\n  - {id: 1, start: 0, allocation: 2*n1 n2}\n"
        "  - {id: 2, start: 0, slots: 2, resizable: true, allocation: 3*n3}\n"
    )
    first, second = loads(text).running
    assert (first.job.slots, first.slots) == (3, 3)
    assert (second.job.slots, second.slots) == (2, 3)


@pytest.mark.behaviour("MEM-05")
def test_slot_reserve_beside_resource_reserve_is_reported_and_ignored() -> None:
    text = BASE + (
        "queues:\n  - name: a\n    SLOT_RESERVE: MAX_RESERVE_TIME[5]\n"
        "    RESOURCE_RESERVE: MAX_RESERVE_TIME[20]\n"
    )
    assert _warnings(text) == [
        "f.yaml:6: queues[0].SLOT_RESERVE: queue a also has RESOURCE_RESERVE: SLOT_RESERVE is "
        "ignored, and RESOURCE_RESERVE reserves both slots and memory"
    ]
    assert loads(text).queues[0].reserve_cycles == 20


@pytest.mark.behaviour("MEM-06")
@pytest.mark.parametrize(("modules", "count"), [("[schmod_fcfs]", 1), ("[schmod_reserve]", 0)])
def test_memory_reservation_needs_its_module(modules: str, count: int) -> None:
    text = BASE + (
        f"params: {{modules: {modules}}}\n"
        "queues: [{name: a, RESOURCE_RESERVE: 'MAX_RESERVE_TIME[20]'}]\n"
    )
    found = _warnings(text)
    assert len(found) == count
    assert all("schmod_reserve is not among the modules" in warning for warning in found)


@pytest.mark.behaviour("QBF-01")
def test_slot_reserve_in_a_pool_is_a_warning() -> None:
    text = BASE + (
        "queues: [{name: a, SLOT_POOL: p, SLOT_SHARE: 50, SLOT_RESERVE: 'MAX_RESERVE_TIME[5]'}]\n"
    )
    (warning,) = _warnings(text)
    assert "is in slot pool p: remove SLOT_RESERVE" in warning


@pytest.mark.behaviour("FSH-09")
def test_fairshare_of_a_listed_queue_is_ignored_with_a_warning() -> None:
    text = BASE + (
        "queues:\n  - {name: a, PRIORITY: 30, FAIRSHARE: '[[default,1]]', FAIRSHARE_QUEUES: b}\n"
        "  - {name: b, PRIORITY: 20, FAIRSHARE: '[[default,2]]'}\n"
    )
    (warning,) = _warnings(text)
    assert "FAIRSHARE is ignored" in warning


def test_shares_of_somebody_nobody_knows_are_a_warning() -> None:
    text = BASE + (
        "user_groups: [{name: staff, members: ann bob}]\n"
        "queues: [{name: a, FAIRSHARE: '[[an,1] [staff,2] [default,1]]'}]\n"
    )
    assert _warnings(text) == [
        "f.yaml:5: queues[0].FAIRSHARE: unknown user 'an' (did you mean 'ann'?)"
    ]


@pytest.mark.behaviour("RSV-06")
def test_what_the_merging_ignores_is_a_warning() -> None:
    text = BASE + (
        "queues: [{name: a, RES_REQ: 'rusage[mem=10]', RESRSV_LIMIT: '[mem=30,100]'}]\n"
        "pending: [{id: 1}]\n"
    )
    (warning,) = _warnings(text)
    assert "RES_REQ of the queue is ignored" in warning


def test_reading_leaves_the_garbage_collector_as_it_was() -> None:
    assert gc.isenabled()
    loads(BASE)
    assert gc.isenabled()
    gc.disable()
    try:
        loads(BASE)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_form_is_known_without_a_solver() -> None:
    import subprocess

    code = (
        "import sys, slotwise.model.formats as f; f.loads(sys.argv[1]); "
        "print([m for m in ('ortools', 'pulp', 'typer', 'rich') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, BASE], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


SCRIPTED = "format: slotwise/1\nhosts: [{name: a, slots: 8}]\npending:\n  - id: 1\n    "


@pytest.mark.behaviour("SUB-01")
@pytest.mark.parametrize(
    ("script", "entry", "problem"),
    [
        ("#!/bin/sh\n\n#BSUB -n x\n", "script: j", ":5: pending[0].script: {}:3: -n: must be"),
        ("#BSUB -q no\n", "script: j", ":5: pending[0].script: unknown queue 'no'"),
        ("#BSUB -n 1\n", "script: j\n    bsub: -n x", ":6: pending[0].bsub: -n: must be"),
        (
            "#BSUB -n 1\n",
            "script: j\n    slots: 2",
            ":6: pending[0].slots: slots is already given in the",
        ),
        ("#\nrun\n", "script: j", ":5: pending[0].script: {}: bsub line: a script without"),
        ("\xe9", "script: j", ":5: pending[0].script: {}: is not text in UTF-8"),
        ("", "script: k", "k: cannot be read"),
        ("#BSUB -q 'a b'\n", "script: j", ":5: pending[0].script: -q: names 2 queues"),
    ],
)
def test_what_is_wrong_in_a_job_script(
    tmp_path: Path, script: str, entry: str, problem: str
) -> None:
    (tmp_path / "j").write_bytes(script.encode("latin-1"))
    file = tmp_path / "now.yaml"
    file.write_text(SCRIPTED + entry)
    with pytest.raises(InputError) as caught:
        load(file)
    assert problem.format(tmp_path / "j") in str(caught.value)
