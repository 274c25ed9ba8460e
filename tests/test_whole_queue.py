"""What all pending jobs decide together is decided by all of them, whatever part is asked for."""

from __future__ import annotations

import json

import pytest
import slotwise as sw
from queue_parts import differences, queue_document
from slotwise.solver.rules.rule_book import SHARED_GPUS

pytestmark = pytest.mark.behaviour("OUT-01", "GUA-01")


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6])
def test_a_part_of_a_queue_is_told_as_the_whole(seed: int) -> None:
    """explain, --first and solve would give one job another start, state or proof."""
    assert list(differences(sw.loads(json.dumps(queue_document(seed))))) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(30))
def test_the_same_of_three_thousand_queues(part: int) -> None:
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        document = json.dumps(queue_document(seed))
        assert list(differences(sw.loads(document))) == [], (seed, document)


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
    shared = [o for o in sw.plan(instance, effort=5).omissions if o.what == SHARED_GPUS]
    assert {job for item in shared for job in item.jobs or ()} == unproved
