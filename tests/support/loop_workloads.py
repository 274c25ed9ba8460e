"""Hypothesis strategies: small instances whose jobs come over time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from random_instances import MINUTE, instances, pending_jobs
from slotwise import Instance, Params, Queue

METHODS = ("none", "greedy", "time-based", "optimal")


@st.composite
def workloads(draw: st.DrawFn) -> Instance:
    """A small instance whose jobs come over time and mostly end before their limits."""
    base = draw(instances(most_jobs=2))
    queue = base.queues[0]
    reserve = draw(st.sampled_from([None, 2, 50]))
    first = replace(queue, backfill=draw(st.booleans()), slot_reserve=reserve)
    second = Queue(
        "high",
        10,
        exclusive="CU[enclosure]",
        resource_reserve=draw(st.sampled_from([None, 3, 50])),
        backfill=draw(st.booleans()),
    )
    future = []
    for number in range(draw(st.integers(1, 6))):
        job = draw(pending_jobs(number + 10))
        run_time = draw(st.integers(1, job.run_limit or 1))
        submit = draw(st.integers(0, 8 * MINUTE))
        queue_name = draw(st.sampled_from(["default", "high"]))
        most = draw(st.sampled_from([None, job.slots + 2]))
        future.append(
            replace(job, run_time=run_time, submit=submit, queue=queue_name, max_slots=most)
        )
    params = Params(
        mbd_sleep_time=draw(st.sampled_from([7, 30, 60])),
        job_accept_interval=draw(st.sampled_from([0, 0, 0, 1])),
    )
    return replace(base, queues=(first, second), future=tuple(future), params=params)
