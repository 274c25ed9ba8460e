"""Many kinds of constraint at once: no exception, valid plans, and methods in their right order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from agreement_cases import MINUTE
from slotwise import Cluster, Host, Instance, Job, Limit, Queue, RunningJob, Scope
from slotwise.model.generate import generate
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate


def _pending(cluster: Cluster, *jobs: Job, **more: object) -> Instance:
    return replace(Instance(cluster, pending=jobs), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_an_earlier_job_changes_its_alternative_for_a_later_one(method: str) -> None:
    """The first job takes 150 MB indefinitely, unless a later start asks for the other way."""
    cluster = Cluster((Host("a", 4, amounts={"mem": 300.0}),))
    first = Job("p", res_req=("rusage[mem=150||mem=(200 50):duration=2]",), run_limit=10 * MINUTE)
    second = Job("q", res_req=("rusage[mem=200]",), run_limit=10 * MINUTE)
    found = plan(_pending(cluster, first, second), method)
    assert [entry.start for entry in found] == [0, 2 * MINUTE]
    assert all(entry.proved for entry in found)


def test_an_exclusive_unit_does_not_hide_other_refusals() -> None:
    queue = Queue("default", exclusive="CU[enclosure]", slots=(1, None, 2))
    base = generate(hosts=2, per_enclosure=1, running=0, pending=0)
    job = Job("p", 4, res_req=("cu[excl]",), run_limit=MINUTE)
    found = plan(
        replace(base, queues=(queue,), pending=(job,), params=Instance(base.cluster).params)
    )
    assert "PROCLIMIT" in found.unplaced[0].reason


@pytest.mark.parametrize("hosts", [Scope(("all",), each=True), Scope(("a", "b"))])
def test_a_limit_on_jobs_of_hosts_counts_a_compound_job_once(hosts: Scope) -> None:
    """The second job shares no host with the first, and neither with one that runs."""
    cluster = Cluster((Host("a", 3), Host("b", 3), Host("c", 3)))
    text = ("1*{} + 2*{span[hosts=1]}",)
    jobs = [Job(name, 3, res_req=text, run_limit=MINUTE) for name in ("p", "q", "r")]
    limit = Limit("one", {"jobs": 1.0}, hosts=hosts)
    running = (RunningJob(replace(jobs[2], id="s"), 0, {"c": 3}),)
    instance = _pending(cluster, *jobs[:2], limits=(limit,), running=running)
    later = 0 if hosts.each else MINUTE
    for method in ("time-based", "optimal", "milp"):
        found = plan(instance, method)
        assert validate(instance, found) == []
        assert [entry.start for entry in found] == [0, later], method
        assert len(found["p"].allocation) == 1
