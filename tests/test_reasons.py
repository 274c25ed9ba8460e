"""A reason is a finding: what is short, for how long it is free, who has it; and no one else."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import slotwise as sw

#: What no answer says of a single pending job: others, or that nothing is free where all is.
OTHERS = re.compile(
    r"jobs? before it|no dispatch cycle|reserved for|kept for|slots \(now 0\)(?! w)"
)


@dataclass(frozen=True)
class Alone:
    """An idle cluster of three hosts with 4 slots, and one pending job that does not start now."""

    #: What keeps it, as explain and its plan say.
    words: str
    sections: str = ""
    queue: str = ""
    host: str = ""
    job: str = "slots: 8, run_limit: 6h"

    @property
    def instance(self) -> sw.Instance:
        return sw.loads(f"""
format: slotwise/1
now: 2026-03-02T09:00:00+00:00
hosts: [{{name: "h[1-3]", slots: 4{self.host}}}]
queues: [{{name: q{self.queue}}}]
pending: [{{id: p, user: u, queue: q, {self.job}}}]
{self.sections}
""")


MAINTENANCE = (
    "advance_reservations: [{name: maint, start: 10800, end: 36000, allocation: 4*h1 4*h2 4*h3}]"
)
ALONE = {
    "dispatch window of hosts": Alone(
        "the dispatch window of h1, h2 and h3 is closed", host=', DISPATCH_WINDOW: "20:00-22:00"'
    ),
    "load": Alone("r1m beyond loadSched", host=", load: {r1m: 5}, thresholds: {r1m: 0.7/2.0}"),
    "partition": Alone(
        "user u has no share in a host partition",
        'host_partitions: [{HPART_NAME: hp, HOSTS: all, USER_SHARES: "[[v, 1]]"}]',
    ),
    "slot pool": Alone("slot pool A", queue=", SLOT_POOL: A, SLOT_SHARE: 50, MAX_SLOTS_IN_POOL: 6"),
    "maintenance": Alone(
        "for 6h: free, but only for 3h, until advance reservation maint starts", MAINTENANCE
    ),
    "maintenance of Slurm": Alone(
        "for 6h: free, but only for 3h, until advance reservation maint starts",
        MAINTENANCE + "\nparams: {family: Slurm}",
    ),
    "maintenance that has begun": Alone(
        "while advance reservation maint is active",
        MAINTENANCE.replace("start: 10800", "start: -1h"),
    ),
    "reservation of users": Alone(
        "until advance reservation maint starts", MAINTENANCE.replace("start", "users: v, start")
    ),
    "run window": Alone("window", queue=', RUN_WINDOW: "8:00-12:00 18:00-6:00"'),
    "begin time": Alone("begin time", job="slots: 1, begin: 2h, run_limit: 1h"),
}


@pytest.mark.parametrize("case", ALONE.values(), ids=ALONE)
def test_a_job_alone_waits_for_no_other_job(case: Alone) -> None:
    """Four rules and each reservation to come ended in `kept for jobs before it`."""
    instance = case.instance
    found = sw.explain(instance, "p")
    rows = [item.reason for item in found.obstacles]
    row = sw.outlook(instance)["p"]
    said = [*rows, found.answer.waits_for, row.waits_for, row.held_back, row.condition]
    said += [item.reason for item in sw.plan(instance).unplaced]
    assert case.words in rows[0]
    assert not [text for text in said if OTHERS.search(text)]


LATER = """
format: slotwise/1
hosts: [{name: "h[1-2]", slots: 4}]
queues: [{name: a, PRIORITY: 9, RESERVE}, {name: b, PRIORITY: 1}]
running: [{id: r1, queue: a, run_limit: 2h, start: -1h, allocation: 4*h1}]
pending:
  - {id: wide, queue: a, slots: 8, run_limit: 2h}
  - {id: small, queue: b, slots: 4, run_limit: 3h}
"""


@pytest.mark.parametrize("method", ["optimal", "milp", "time-based", "as configured"])
def test_free_slots_are_not_said_to_be_none(method: str) -> None:
    """`needs 4 free slots (now 0)`, where four are free until the job before it starts."""
    instance = sw.loads(LATER.replace("RESERVE", "SLOT_RESERVE: 'MAX_RESERVE_TIME[500]'"))
    why = "for 3h: free now, but only for 1h, until wide starts; free when wide ends"
    if method in ("time-based", "as configured"):
        why = "free now, but reserved for wide; free when wide ends"
    row = sw.outlook(instance)["small"]
    found = row.held_back if method == "as configured" else ""
    text = found or sw.plan(instance, method=method)["small"].waits_for  # type: ignore[arg-type]
    assert text.startswith("needs 4 free slots")
    assert text.replace(": free,", ": free now,").endswith(why)


def test_a_caution_is_no_part_of_a_reason() -> None:
    """Each of 13 rows said `(not proved: … is not modelled)`."""
    found = sw.plan(sw.load(sw.example("fairshare-pool")), effort=5)
    record = found.to_dict()
    assert not any("not proved: " in item.fallback for item in found)
    assert sum("not modelled" in text or "slot pools" in text for text in record["notes"]) <= 1
    assert all("not proved" not in item.waits_for for item in found)
