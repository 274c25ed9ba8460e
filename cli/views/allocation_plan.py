"""A plan as LSF's allocation planner writes it."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING

from ...model.display import wall_clock

if TYPE_CHECKING:
    from ...model.instance import Instance
    from ...model.plan import Plan


#: Second 0 of an instance without an origin.
ABSTRACT = "1970-01-01T00:00:00+00:00"


def allocation_plan(instance: Instance, plan: Plan) -> str:
    """Return a plan in the form of lsb.allocation.plan.json, which LSF's planner writes.

    RANK is the order within a queue. Jobs without a planned start are omitted.
    """
    queues = {job.id: job.queue for job in instance.pending}
    ranks: Counter[str] = Counter()
    plans = []
    for item in plan:
        if item.start is None:
            continue
        queue = queues.get(item.job, "")
        ranks[queue] += 1
        times = {"START_TIME": item.start, "FINISH_TIME": item.finish}
        plans.append(
            {
                "JOB_ID": _name(instance, item.job),
                "RANK": str(ranks[queue]),
                **{
                    key: text
                    for name, time in times.items()
                    for key, text in _both(instance, name, time)
                },
                "ALLOC": [
                    {"HOST": host, "RSRC": [{"NAME": "slots", "AMOUNT": slots}]}
                    for host, slots in item.allocation.items()
                ],
            }
        )
    record = {
        "TIMESTAMP": json_stamp(instance, instance.now),
        "CHILD_PID": "0",
        "NUM_PLANS": str(len(plans)),
        "PLANS": plans,
    }
    return json.dumps(record, indent=1) + "\n"


def _name(instance: Instance, job: str) -> str:
    """Return ``cluster@job`` if the name of the instance is one word, else the job."""
    return f"{instance.name}@{job}" if re.fullmatch(r"[\w.-]+", instance.name) else job


def _both(instance: Instance, name: str, time: int | None) -> list[tuple[str, str]]:
    """Return seconds since 1970 and a printed time, both empty for an unknown end."""
    if time is None:
        return [(name, ""), (f"{name}_H", "")]
    zero = int(datetime.fromisoformat(instance.origin or ABSTRACT).timestamp())
    return [(name, str(zero + time)), (f"{name}_H", json_stamp(instance, time))]


def json_stamp(instance: Instance, time: int) -> str:
    """Return ``Mar 29 15:07:50 2018`` in the origin's zone; "" outside the years 1 to 9999."""
    time_of_day = wall_clock(instance.origin or ABSTRACT, time)
    return "" if time_of_day is None else time_of_day.strftime("%b %d %H:%M:%S %Y")
