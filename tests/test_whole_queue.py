"""What all pending jobs decide together is decided by all of them, whatever part is asked for."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import slotwise as sw
from left_out import pair_case
from queue_parts import differences, queue_document
from sampling import some
from slotwise.model.formats.plan_file import plan_record, read_plan
from slotwise.solver.rules.rule_book import SHARED_GPUS

pytestmark = pytest.mark.behaviour("OUT-01", "GUA-01", "GAT-05")


#: From 1128 on: by preemption in a guaranteed pool, of an exclusive job, a range that has its most
#: slots in a part alone, a run that its reservation ends, a pending job that is preempted, one
#: behind the part that the schedule as configured suspends, an owner whose reservation has ended.
@pytest.mark.parametrize(
    "seed", some([1128, 0, 1213, 1, 1284, 1729, 1940, 2106, 2, 2693, 5, 3401, 4486], 7)
)
def test_a_part_of_a_queue_is_told_as_the_whole(seed: int) -> None:
    """explain, --first and solve would give one job another start, state or proof."""
    assert list(differences(sw.loads(json.dumps(queue_document(seed))))) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_the_same_of_three_thousand_queues(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        document = json.dumps(queue_document(seed))
        assert list(differences(sw.loads(document))) == [], (seed, document)


@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_a_possible_start_that_is_not_proved_has_its_reason(seed: int) -> None:
    """A footnote said no more than "not proved"."""
    compared = sw.compare(sw.loads(json.dumps(queue_document(seed))), effort=5)
    lines = compared.cautions(footnotes=True).lines
    assert not [line for line in lines if line.endswith("] not proved")]


OWNER_BEHIND = """
format: slotwise/1
hosts: [{name: A, slots: 1}]
queues: [{name: q, BACKFILL: Y, SLOT_RESERVE: "MAX_RESERVE_TIME[999]"}]
params: {LSB_TIME_RESERVE_NUMJOBS: 9}
service_classes: [{name: g, GOALS: "[GUARANTEE]"}]
guaranteed_pools:
  - {name: p, TYPE: slots, HOSTS: A, DISTRIBUTION: "[g, 1]", LOAN_POLICIES: "QUEUES[all]"}
running:
  - {id: 9, slots: 1, user: u, queue: q, run_limit: 1h, start: 0, allocation: 1*A, service_class: g}
pending:
  - {id: 1, slots: 1, user: u, queue: q, run_limit: 1h}
  - {id: 2, slots: 1, user: v, queue: q, run_limit: 1h, service_class: g}
"""


def test_an_owner_behind_takes_what_a_loan_would_be_of() -> None:
    """+1h was "proved" for job 1, where job 2 has the slot."""
    instance = sw.loads(OWNER_BEHIND)
    alone = sw.plan(instance, first=1, effort=5).get("1")
    assert alone is None or (alone.start, alone.proved) in ((None, False), (7200, False))
    told = sw.explain(instance, "1", effort=5).outlook
    assert told is not None
    assert (told.as_configured, told.proved) == (7200, False)
    assert told.possible in (None, 7200)


GPUS = """
format: slotwise/1
hosts: [{name: h, slots: 2, gpus: 2}]
pending:
"""


@pytest.mark.parametrize(
    ("jobs", "unproved"),
    [
        (("-gpu num=2", "-W 30", "-gpu num=2"), {"2"}),
        (("-gpu num=2", "-gpu num=2", "-W 30"), {"1", "2"}),
        (("-gpu num=2 -W 5", "-gpu num=5"), set()),
        (("-n 2 -W 5", "-gpu num=1", "-gpu num=2"), {"2"}),
    ],
)
def test_jobs_share_gpus_with_those_before_them(jobs: tuple[str, ...], unproved: set[str]) -> None:
    """A job before the second that may share was not proved, in one command of two."""
    lines = (f'  - {{id: {n}, bsub: "{words}"}}\n' for n, words in enumerate(jobs))
    instance = sw.loads(GPUS + "".join(lines))
    whole = {item.job: item for item in sw.outlook(instance, effort=5).jobs}
    for name, item in whole.items():
        told = sw.explain(instance, name, effort=5).outlook
        assert told is not None
        assert told.proved == item.proved
    shared = [o for o in sw.plan(instance, effort=5).omissions if o.what == SHARED_GPUS.what]
    assert {job for item in shared for job in item.jobs or ()} == unproved


HEAD = """
format: slotwise/1
hosts: [{name: h, slots: 4}]
service_classes: [{name: g, GOALS: "[GUARANTEE]"}]
queues: [{name: hi, PRIORITY: 50PREEMPTION}, {name: lo, PRIORITY: 20}]
MORE
running: [{id: r, queue: lo, user: v, start: 0, run_limit: 1h, allocation: N*h}]
pending:
  - {id: X, user: u, bsub: "-q hi -n 2 -W 5 OPTIONS"}
  - {id: Y, user: u, bsub: "-q lo -n 4 -W 5"}
"""
LOANS = """guaranteed_pools:
  - {name: p, TYPE: slots, HOSTS: h, DISTRIBUTION: "[g, 2]", LOAN_POLICIES: "QUEUES[hi]"}"""
RESERVED = """advance_reservations:
  - {name: ar, start: 0, end: 7200, allocation: 4*h, users: [u]}"""


@pytest.mark.behaviour("REF-05", "LOP-06")
@pytest.mark.parametrize("method", ["optimal", "milp"])
@pytest.mark.parametrize(
    ("preemption", "more", "options", "slots"),
    [
        (', PREEMPTION: "PREEMPTIVE[lo]"', "", "", 4),
        ("", RESERVED, "-U ar", 4),
        ("", LOANS, "", 2),
    ],
    ids=["preemption", "reservation", "loan"],
)
def test_no_plan_is_worse_than_what_happens(
    method: str, preemption: str, more: str, options: str, slots: int
) -> None:
    """The first job started now, and its possible start was in an hour."""
    text = HEAD.replace("PREEMPTION}", preemption + "}").replace("MORE", more)
    instance = sw.loads(text.replace("OPTIONS", options).replace("N*h", f"{slots}*h"))
    happens = {item.job: item.as_configured for item in sw.outlook(instance, effort=5).jobs}
    assert happens["X"] == 0
    for objective in ("lexicographic", "total-start"):
        found = sw.plan(instance, method, objective=objective, effort=5)  # type: ignore[arg-type]
        starts = {item.job: item.start for item in found}
        if objective == "lexicographic":
            assert starts["X"] == 0, found.notes
        known = [name for name, time in happens.items() if time is not None]
        assert sum(starts[name] or 0 for name in known) <= sum(happens[name] or 0 for name in known)
        assert not found.refused
        assert sw.validate(instance, found) == []
    told = sw.explain(instance, "X", effort=5).outlook
    assert told is not None
    assert told.possible == 0


@pytest.mark.parametrize(
    ("seed", "objective"), [(10372, "total-start"), (10800, "makespan"), (10800, "total-start")]
)
def test_no_value_is_worse_than_that_of_what_happens(seed: int, objective: str) -> None:
    """What a job had grown to counted from its start, so that the judge rejected the schedule; the
    slots of a pool were counted as more than they are where memory decays (no plan at all).
    """
    instance = pair_case(seed)
    found = sw.plan(instance, objective=objective, effort=2)  # type: ignore[arg-type]
    happens = sw.outlook(instance, effort=2).jobs
    starts = [item.as_configured or 0 for item in happens]
    ends = [item.as_configured_end or 0 for item in happens]
    assert found.value is not None
    assert found.value <= (sum(starts) if objective == "total-start" else max(ends))


def test_a_plan_may_suspend_only_what_a_queue_preempts() -> None:
    """The judge would take any running job for gone."""
    text = HEAD.replace("PREEMPTION}", ', PREEMPTION: "PREEMPTIVE[lo]"}').replace("MORE", "")
    instance = sw.loads(text.replace("OPTIONS", "").replace("N*h", "4*h"))
    found = sw.plan(instance, effort=5)
    assert found.suspended == {"r": 0}
    record = json.loads(json.dumps(plan_record(found.to_dict(), instance)))
    assert read_plan(record, instance, "p.json") == found
    queues = tuple(replace(queue, preemptive=None) for queue in instance.queues)
    faults = sw.validate(replace(instance, queues=queues), found)
    assert {item.check for item in faults} == {"suspended"}
    faults = sw.validate(instance, replace(found, suspended={}))
    assert {item.check for item in faults} == {"slots"}
