"""Nodes inside hosts, and jobs that RMS lays out over them (bsub -ext)."""

from __future__ import annotations

import pytest
import slotwise as sw
from slotwise import dump, load, loads
from slotwise.cli.main import app
from slotwise.model.plan import FORMATTERS
from slotwise.solver.scheduler.simulation import simulate
from typer.testing import CliRunner

HOUR = 3600


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.behaviour("PLC-18", "TBR-08", "VEW-01")
def test_the_second_example_of_the_documents_word_for_word() -> None:
    text = shown("bjobs", "--example", "sierra-rms", "-l", "--name", "3876")
    assert text.splitlines()[:6] == [
        "Job <3876>, User <user2>, Project <default>, Status <PEND>, Queue <rms>, "
        "Extsched <RMS[nodes=3]>",
        "Fri Apr 22 15:35:28: Submitted from host <sierraa>, 6 Processors Requested;",
        " RUNLIMIT",
        " 840.0 min",
        "Fri Apr 22 15:35:46: Reserved <4> job slots on host(s) <4*sierrab>;",
        "Sat Apr 23 01:34:12: Estimated Job Start Time; rms_alloc=2*sierra[0,2-3]",
    ]


@pytest.mark.behaviour("VEW-01")
def test_running_jobs_are_shown_on_hosts_not_nodes() -> None:
    text = shown("bjobs", "--example", "sierra-rms", "-l", "--name", "3875")
    assert "Started on <4*sierrab>;" in text
    assert "4*sierraa" in shown("bjobs", "--example", "sierra-rms")


@pytest.mark.behaviour("PLC-18")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_every_method_lays_the_job_out_over_three_nodes(method: str) -> None:
    problem = sw.load(sw.example("sierra-rms"))
    found = sw.plan(problem, method)["3876"]
    assert found.start == 10 * HOUR
    assert found.allocation == {"sierra0": 2, "sierra2": 2, "sierra3": 2}
    assert FORMATTERS["rms"](found.allocation) == "rms_alloc=2*sierra[0,2-3]"
    assert sw.validate(problem, sw.plan(problem, method)) == []


@pytest.mark.behaviour("PLC-18")
def test_the_loop_and_greedy_reserve_what_is_free_of_the_host() -> None:
    problem = sw.load(sw.example("sierra-rms"))
    assert sw.plan(problem, "greedy")["3876"].reserved == {"sierra2": 2, "sierra3": 2}
    found = simulate(problem, reservation="time-based")["3876"]
    assert found.start is not None
    assert found.start - 10 * HOUR < 120
    assert found.hosts == {"sierra0": 2, "sierra2": 2, "sierra3": 2}


NODES = """format: slotwise/1
hosts:
  - {name: "a[0-1]", node_of: alpha, slots: 4, type: X}
  - {name: "b[0-1]", node_of: beta, slots: 4, type: Y}
  - {name: solo, slots: 4, type: Y}
host_groups: {both: alpha b0}
queues: [{name: default}, {name: left, HOSTS: alpha}]
"""


@pytest.mark.behaviour("PLC-18")
@pytest.mark.parametrize(
    ("bsub", "expected"),
    [
        ("-n 4 -m beta", {"b0": 4}),
        ("-n 6 -m beta -ext RMS[nodes=2]", {"b0": 3, "b1": 3}),
        ("-n 6 -q left -extsched 'RMS[RMS_SLOAD;nodes=2]'", {"a0": 3, "a1": 3}),
        ("-n 9 -m both -ext RMS[ptile=3]", {"a0": 3, "a1": 3, "b0": 3}),
        ("-n 4 -m 'others+1 alpha beta' -ext RMS[ptile=2]", {"solo": 2, "a0": 2}),
        ("-n 2 -m 'beta+2 all' -ext RMS[nodes=2] -R 'select[type==any]'", {"b0": 1, "b1": 1}),
    ],
)
def test_a_machine_stands_for_its_nodes_wherever_hosts_do(
    bsub: str, expected: dict[str, int]
) -> None:
    line = bsub.replace("'", "''")
    problem = loads(f"{NODES}pending: [{{id: 1, bsub: '{line} -W 10'}}]\n")
    assert loads(dump(problem)) == problem
    found = sw.plan(problem, "time-based")
    assert dict(found["1"].allocation) == expected
    assert sw.validate(problem, found) == []
    if "-ext " in bsub:
        asked = sw.ask(problem, f"bsub {bsub} -W 10").to_dict()
        assert asked["line"]["slots"] == str(sum(expected.values()))


@pytest.mark.behaviour("REQ-04", "PLC-18")
def test_a_job_submitted_on_a_machine_is_local_to_its_nodes() -> None:
    problem = loads(NODES + "pending: [{id: 1, from_host: beta, run_limit: 5m, slots: 3}]\n")
    found = sw.plan(problem, "time-based")
    assert dict(found["1"].allocation) == {"b0": 3}
    assert sw.validate(problem, found) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("node_of: beta", "node_of: solo", "solo is already a host"),
        ("node_of: beta", "node_of: both", "both is already a host group"),
        ("HOSTS: alpha", "HOSTS: alfa", "did you mean 'alpha'"),
        ("node_of: beta", "node_of: 90m ~ cu", "'90m ~ cu' is not a name"),
    ],
)
def test_names_of_machines_are_their_own(old: str, new: str, says: str) -> None:
    with pytest.raises(sw.InputError, match=says):
        loads(NODES.replace(old, new))


@pytest.mark.behaviour("PLC-18", "CFG-02")
@pytest.mark.parametrize(
    ("bsub", "says"),
    [
        ("-n 7 -ext RMS[nodes=3]", "give -n 6"),
        ("-n 6 -ext RMS[nods=3]", "did you mean 'nodes'"),
        ("-n 6 -ext nodes=3", r"RMS\[nodes=3\]"),
        ("-n 6 -ext RMS[nodes=3] -R span[ptile=2]", "give one of them"),
        ("-n 6 -ext", "needs a value"),
    ],
)
def test_wrong_layouts_are_refused_at_their_line(bsub: str, says: str) -> None:
    with pytest.raises(sw.InputError, match=says) as caught:
        loads(f"{NODES}pending:\n  - {{id: 1, bsub: '{bsub}'}}\n")
    assert caught.value.problems[0].line == NODES.count("\n") + 2


LAYOUTS = {
    "slots: 4, extsched: 'RMS[nodes=3]'": "extsched",
    "slots: 6, extsched: 'RMS[nods=3]'": "extsched",
    "slots: 6, extsched: 'RMS[nodes=0]'": "extsched",
    "slots: 6, extsched: 'nodes=3'": "extsched",
    "slots: '6,9', extsched: 'RMS[nodes=3]'": "extsched",
    "slots: 6, extsched: 'RMS[nodes=3]', res_req: 'span[ptile=2]'": "extsched",
    "slots: 6, extsched: 'RMS[nodes=3]', res_req: '3*{order[ut]} + 3*{order[mem]}'": "extsched",
    "slots: 6, extsched: 'RMS[nodes=3]', res_req: 'span[ptile'": "res_req",
    "slots: 6, extsched: 'RMS[nodes=3]', res_req: 'cu[type=rack]'": "res_req",
    "slots: 6, bsub: '-ext RMS[nodes=4]'": "bsub",
}


@pytest.mark.behaviour("PLC-18", "CFG-02")
@pytest.mark.parametrize("fields", LAYOUTS)
def test_the_key_that_is_wrong_is_named(fields: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        loads(f"{NODES}pending:\n  - {{id: 1, {fields}}}\n")
    (problem,) = caught.value.problems
    assert problem.path == f"pending[0].{LAYOUTS[fields]}"


@pytest.mark.behaviour("PLC-18")
def test_the_option_that_is_wrong_is_named_once() -> None:
    from submitted import submitted_job

    for line in ("-n 4 -ext RMS[nodes=3]", "-n 6 -ext 'RMS[nods=3]'", "-n 6,9 -ext RMS[nodes=3]"):
        with pytest.raises(sw.InputError) as caught:
            submitted_job(loads(NODES), line)
        (problem,) = caught.value.problems
        assert "-R" not in problem.message
        assert "RMS[" in problem.message
        assert problem.message.count("-ext") <= 1


def test_what_explain_offers_an_rms_job_can_be_had() -> None:
    problem = load(sw.example("sierra-rms"))
    told = sw.explain(problem, "3876").to_dict()
    changes = {item["change"] for item in told["suggestions"]}
    assert not any("span" in change for change in changes)
