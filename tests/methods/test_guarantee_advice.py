"""A site of three owners, a loan policy and a mixed queue, with faults that are found (GUA-01)."""

from __future__ import annotations

import pytest
import slotwise as sw

pytestmark = pytest.mark.behaviour("GUA-01")

SITE = """
format: slotwise/1
hosts: [{name: a, slots: 16}, {name: b, slots: 16}]
queues: [{name: own, PRIORITY: 50}, {name: mixed, PRIORITY: 30}, {name: short, PRIORITY: 20}]
service_classes:
  - {name: red, ACCESS_CONTROL: "QUEUES[own mixed] USERS[rita]"}
  - {name: green, ACCESS_CONTROL: "QUEUES[own]"}
  - {name: blue, ACCESS_CONTROL: "QUEUES[own]"}
guaranteed_pools:
  - name: owners
    HOSTS: a b
    DISTRIBUTION: "[red, 8] [green, 8] [blue, 8]"
    LOAN_POLICIES: "LOANS"
running:
  - {id: r1, bsub: "-q mixed -n 8 -W 40:00", user: x, start: 0, allocation: 8*a}
"""
STUCK = """  - {id: r2, bsub: "-q mixed -n 8 -W 40:00", user: x, start: 0, allocation: 8*a}
pending:
  - {id: owner, user: g, bsub: "-q own -sla green -m a -n 4 -W 4:00"}
"""
#: Loan policy, what else there is, the job that waits; the cause; what is to be changed.
FAULTS = {
    "the job is longer than loans": (
        *("QUEUES[all] DURATION[30]", "pending:\n", 'user: u, bsub: "-q short -n 4 -W 20:00"'),
        *("may run for 20h: DURATION of LOAN_POLICIES", "-W 0:30"),
    ),
    "its queue has no loans": (
        *("QUEUES[short]", "pending:\n", 'user: u, bsub: "-q mixed -n 4 -W 20"'),
        *("no loans for jobs of queue mixed", "LOAN_POLICIES = QUEUES[short mixed]"),
    ),
    "it does not name its class": (
        *("QUEUES[short]", "pending:\n", 'user: rita, bsub: "-q mixed -n 4 -W 1:00"'),
        *("keeps 8 slots for service class red, which accepts job waits", "-sla red"),
    ),
    "an owner that cannot start closes all loans": (
        *("QUEUES[all] CLOSE_ON_DEMAND", STUCK, 'user: u, bsub: "-q mixed -n 8 -W 20"'),
        *("while jobs of its classes wait (owner)", "LOAN_POLICIES = QUEUES[all]"),
    ),
    "all that is idle is retained": (
        *("QUEUES[all] RETAIN[8]", "pending:\n", 'user: u, bsub: "-q mixed -n 8 -W 20"'),
        *("RETAIN or IDLE_BUFFER", "LOAN_POLICIES = QUEUES[all]"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_cause_and_the_line_to_change_are_found(fault: str) -> None:
    loans, more, job, cause, line = FAULTS[fault]
    text = SITE.replace("LOANS", loans) + more + f"  - {{id: waits, {job}}}\n"
    problem = sw.loads(text)
    found = sw.diagnose(problem)
    first = found["waits"].remedies[0]
    assert cause in first.cause
    assert line in [item.proposed for item in first.lines]
    assert first.start == 0
