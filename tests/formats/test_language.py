"""Requirements inside instance files: parameters that change their reading, -n, notes, units."""

from __future__ import annotations

import pytest
from slotwise import InputError, Instance, dump, loads
from slotwise.model.formats import loads_with_warnings
from slotwise.solver.planning import plan
from submitted import submitted_job

HEAD = "format: slotwise/1\nhosts: [{name: 'h[1-2]', slots: 4, mem: 8G}]\n"


def read(*lines: str) -> Instance:
    return loads(HEAD + "\n".join(lines))


def problems(*lines: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(*lines)
    return [problem.message for problem in caught.value.problems]


def warnings(*lines: str) -> list[str]:
    return [item.message for item in loads_with_warnings(HEAD + "\n".join(lines))[1]]


COMPOUND = '-R "2*{mem>0} + 2*{swp>=0 || mem>0}"'


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(
    "job",
    [
        f"{{id: a, bsub: '-n 1 {COMPOUND}'}}",
        "{id: a, slots: 1, res_req: '2*{mem>0} + 2*{mem>1}'}",
        f"{{id: a, bsub: '-n 3 {COMPOUND}'}}",
    ],
)
def test_n_must_agree_with_the_terms(job: str) -> None:
    assert any(
        "the terms request 4 slots, but -n is" in text for text in problems(f"pending: [{job}]")
    )


@pytest.mark.behaviour("REQ-14")
def test_a_job_without_n_asks_for_what_its_terms_ask_for() -> None:
    instance = read(f"pending: [{{id: a, bsub: '{COMPOUND} -W 5'}}]")
    assert instance.pending[0].slots == 4
    assert loads(dump(instance)) == instance
    allocation = plan(instance, method="time-based")["a"].allocation
    assert sum(allocation.values()) == 4
    assert submitted_job(instance, COMPOUND).slots == 4
    with pytest.raises(InputError, match="the terms request 4 slots, but -n is 1"):
        submitted_job(instance, f"-n 1 {COMPOUND}")


@pytest.mark.behaviour("REQ-14")
def test_terms_of_the_queue_count_too() -> None:
    queue = "queues: [{name: q, RES_REQ: '1*{mem>0} + 2*{mem>1}'}]"
    assert read(queue, "pending: [{id: a}]").pending[0].slots == 3
    told = problems(queue, "pending: [{id: a, slots: 1}]")
    assert told == ["the terms request 3 slots, but -n is 1: give -n 3"]


@pytest.mark.behaviour("PLC-08", "PLC-10")
def test_lenient_reaches_instances() -> None:
    units = (
        "compute_units: [{name: r1, type: rack, members: h1}, {name: r2, type: rack, members: h2}]"
    )
    job = "pending: [{id: a, bsub: '-n 6 -W 5 -R \"cu[balance:usablecuslots=3]\"'}]"
    assert any(
        "balance and usablecuslots are both given" in text
        for text in problems("params: {COMPUTE_UNIT_TYPES: rack}", units, job)
    )
    for yes in ("Y", "y", "true"):
        params = f"params: {{COMPUTE_UNIT_TYPES: rack, lenient: {yes}}}"
        instance = read(params, units, job)
        assert dict(plan(instance, method="time-based")["a"].allocation) == {"h1": 3, "h2": 3}
        assert loads(dump(instance)) == instance


@pytest.mark.parametrize(
    ("requirement", "note"),
    [
        ("rusage[lic=1:duration=5]", "lic is a static shared resource"),
        ("rusage[type=1]", "type is a string: rusage of it reserves nothing"),
        ("same[mem]", "mem is not static"),
        ("select[ut<50]", "ut is a fraction from 0 to 1"),
    ],
)
def test_what_can_have_no_effect_is_a_warning(requirement: str, note: str) -> None:
    shared = "shared_resources: [{name: lic, amount: 2}, {name: dyn, amount: 2, static: N}]"
    job = f"pending: [{{id: a, slots: 2, res_req: '{requirement}'}}]"
    (told,) = warnings(shared, job)
    assert note in told
    assert warnings(shared, job.replace("lic", "dyn")) in ([], [told])


@pytest.mark.parametrize("asked", ["rusage[mem=200]", "rusage[mem=(200 50):duration=(1)]"])
def test_what_a_running_job_holds_must_be_clear(asked: str) -> None:
    """A plan needs its requirement merged with its queue's; the check says where they clash."""
    queue = "queues: [{name: q, RES_REQ: 'rusage[mem=150]'}]"
    job = "running: [{id: r, start: 0, allocation: {h1: 1}, run_limit: 60, res_req: '%s'}]"
    (told,) = problems(queue, job % asked)
    what = "rusage mem=200 exceeds mem=150 of the queue"
    assert told == f"{what}, so the resources of the job are unknown"
    assert plan(read(queue, job % asked.replace("200", "150")), "time-based").reservations == ()


@pytest.mark.behaviour("REQ-13")
def test_refusals_speak_in_the_unit_of_the_cluster() -> None:
    params = "params: {LSF_UNIT_FOR_LIMITS: GB}"
    queue = "queues: [{name: q, RES_REQ: 'rusage[mem=1]'}]"
    job = "pending: [{id: a, res_req: 'rusage[mem=2]'}]"
    assert problems(params, queue, job) == ["rusage mem=2 exceeds mem=1 of the queue"]
    bounded = "queues: [{name: q, RESRSV_LIMIT: '[mem=512,1024]'}]"
    assert problems(params, bounded, job) == [
        "rusage mem=2 is outside RESRSV_LIMIT [mem=0.5,1] of the queue"
    ]


@pytest.mark.parametrize(("yes", "no"), [("Y", "N"), ("y", "n"), ("true", "false")])
def test_yes_and_no_may_be_written_either_way_wherever_one_stands(yes: str, no: str) -> None:
    text = f"""format: slotwise/1
hosts: [{{name: h, slots: 4, mxj_defined: {no}}}]
params: {{lenient: {yes}, run_time_in_slots: {yes}}}
resources: [{{name: x, consumable: {no}, dynamic: {yes}}}]
shared_resources: [{{name: lic, amount: 1, static: {no}}}]
queues: [{{name: default, BACKFILL: {yes}, EXCLUSIVE: {yes}}}]
running: [{{id: r, start: 0, run_limit: 1h, allocation: h, suspended: {yes}, resizable: {yes}}}]
pending: [{{id: p, exclusive: {yes}, resizable: {no}}}]
"""
    instance = loads(text)
    assert not instance.cluster.hosts[0].mxj_defined
    assert instance.running[0].suspended
    assert instance.running[0].job.resizable
    assert instance.pending[0].exclusive
    assert not instance.pending[0].resizable
    assert not instance.cluster.shared[0].static
    assert loads(dump(instance)) == instance
