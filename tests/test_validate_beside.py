"""Every fault that the judge finds, it finds behind and before jobs with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
import test_validate_capacity
import test_validate_claims
import test_validate_limits
import test_validate_shape
from judging import Case, faults, host, job
from slotwise import Instance, Queue

CASES = [
    case
    for module in (
        test_validate_capacity,
        test_validate_claims,
        test_validate_limits,
        test_validate_shape,
    )
    for case in module.CASES
]
#: Far from everything else.
FAR = "Z9"
LATER = 10**8


def with_others(instance: Instance) -> Instance:
    """Two more jobs, the first and the last, on a host and in a queue of their own."""
    first, last = (job(name, 1, queue="beside", run_limit=50) for name in ("a0", "z0"))
    cluster = instance.cluster
    return replace(
        instance,
        cluster=replace(cluster, hosts=(*cluster.hosts, host(FAR))),
        queues=(*instance.queues, Queue("beside")),
        pending=(first, *instance.pending, last),
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_jobs_without_fault_change_nothing_of_what_is_said(case: Case) -> None:
    instance = with_others(case.instance)

    def said(places: Mapping[str, object]) -> list[str]:
        around = {"a0": (LATER, {FAR: 1}), **places, "z0": (2 * LATER, {FAR: 1})}
        return faults(instance, around)  # type: ignore[arg-type]

    assert said(case.good) == []
    assert said(case.bad) == list(case.said)
