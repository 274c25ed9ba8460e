"""What LSF's open family does otherwise, by the switch ``family``; and hosts without slots."""

from __future__ import annotations

from dataclasses import replace

import pytest
from loop_lab import HOUR, MINUTE, estimates, held, host, instance, job, run, running
from slotwise import HostPartition, InputError, Instance, Params, Queue, loads
from slotwise.model.formats.encode import to_document
from slotwise.solver import planning
from slotwise.solver.planning import plan as plan_of
from slotwise.solver.validate import validate

#: All but the one that obeys rules of Slurm.
METHODS = tuple(name for name in planning.METHODS if name != "slurm")

RESERVE = Queue("q", 40, slot_reserve=1000)
FILLED = replace(RESERVE, backfill=True)
LAVA = Params(family="volclava")


def both(problem: Instance) -> tuple[Instance, Instance]:
    """The same cluster of LSF, and of its open family."""
    return problem, replace(problem, params=replace(problem.params, family="volclava"))


@pytest.mark.parametrize("family", ["LSF", "OpenLava", "volclava"])
def test_the_family_is_read_and_written(family: str) -> None:
    text = f"""
format: slotwise/1
params: {{family: {family}}}
hosts: [{{name: a, slots: 1}}]
"""
    found = loads(text)
    assert (found.params.family, found.params.of_lava) == (family, family != "LSF")
    written = to_document(found).get("params", {})
    assert written.get("family", "LSF") == family


def test_another_family_is_refused() -> None:
    with pytest.raises(InputError, match="family"):
        loads("format: slotwise/1\nparams: {family: slurm}\nhosts: [{name: a, slots: 1}]\n")


@pytest.mark.behaviour("TBR-10")
@pytest.mark.parametrize("method", METHODS)
def test_limits_per_processor_count_mxj_as_processors(method: str) -> None:
    """Two processors, four slots: PJOB_LIMIT 1 leaves LSF's queue two slots, and theirs four."""
    problem = instance(
        host("a", 4, ncpus=2),
        queues=(Queue("q", processor_slots=1),),
        pending=(job("p", 4, minutes=10),),
    )
    lsf, lava = both(problem)
    assert [item.job for item in plan_of(lsf, method).unplaced] == ["p"]
    planned = plan_of(lava, method)
    assert planned["p"].start == 0
    assert validate(lava, planned) == []
    assert {item.check for item in validate(lsf, planned)} == {"limit"}


@pytest.mark.behaviour("REQ-10")
def test_of_equal_hosts_the_last_configured_comes_first() -> None:
    hosts = (host("a", 2), host("b", 2, load={"r15s": 0.5}), host("c", 2))
    lsf, lava = both(instance(*hosts, pending=(job("p", 3, minutes=10),)))
    assert run(lsf)["p"].hosts == {"a": 2, "c": 1}
    assert run(lava)["p"].hosts == {"c": 2, "a": 1}


@pytest.mark.behaviour("GRD-03")
def test_a_job_that_may_not_backfill_expects_nothing_of_full_hosts() -> None:
    """a is free: nothing runs on hosts that count, so there is no estimate, and S waits."""
    problem = instance(
        *(host("a", 2), host("b", 2)),
        queues=(RESERVE, Queue("bf", 10, backfill=True)),
        running=(running("1", {"b": 2}, 60),),
        pending=(job("p", 4, minutes=60), job("S", 1, minutes=10, queue="bf")),
    )
    lsf, lava = both(problem)
    assert dict(estimates(run(lsf, until=60), "p"))[0] == HOUR
    result = run(lava, until=HOUR)
    assert {at for _, at in estimates(result, "p")} == {None}
    assert (result["p"].start, result["S"].start) == (HOUR, None)
    filled = replace(lava, queues=(FILLED, lava.queues[1]))
    assert dict(estimates(run(filled, until=60), "p"))[0] == HOUR


@pytest.mark.behaviour("GRD-03")
def test_where_too_few_slots_come_free_the_last_end_is_the_estimate() -> None:
    """Five of six slots come free at ends that are known; the sixth has no run limit."""
    problem = instance(
        host("a", 6),
        queues=(FILLED,),
        running=(
            *(running("1", {"a": 2}, 30), running("2", {"a": 2}, 90)),
            running("3", {"a": 1}),
        ),
        pending=(job("p", 6, minutes=60),),
    )
    lsf, lava = both(problem)
    assert dict(estimates(run(lsf, until=60), "p"))[0] is None
    assert dict(estimates(run(lava, until=60), "p"))[0] == 90 * MINUTE


@pytest.mark.behaviour("TBR-10", "GRD-01")
@pytest.mark.parametrize("limit", ["user_slots", "queue_slots"])
def test_where_limits_leave_less_than_it_needs_it_holds_nothing(limit: str) -> None:
    """Three slots for ann, of which she has one: her job of three does not block the small one."""
    problem = instance(
        host("a", 8),
        queues=(replace(RESERVE, **{limit: 3}),),
        running=(running("1", {"a": 1}, 60, user="ann"),),
        pending=(job("p", 3, minutes=60, user="ann"), job("s", 2, minutes=10, user="ann")),
    )
    lsf, lava = both(problem)
    first = run(lsf, until=60)
    assert (first["s"].start, held(first, "p")[0][1]) == (None, {"a": 2})
    result = run(lava, until=2 * HOUR)
    assert held(result, "p") == []
    assert (result["s"].start, result["p"].start) == (0, HOUR)


@pytest.mark.behaviour("MEM-08")
def test_it_holds_no_slot_on_a_host_without_its_memory() -> None:
    """Of a it needs 600 MB and 500 are free there; under RESOURCE_RESERVE it gathers them."""
    problem = instance(
        *(host("a", 4, mem=1000), host("b", 4, mem=1000)),
        queues=(RESERVE,),
        running=(
            running("1", {"a": 1}, 60, res_req=("rusage[mem=500]",)),
            running("2", {"b": 2}, 60),
        ),
        pending=(job("p", 6, "rusage[mem=600]", minutes=60), job("s", 1, minutes=200)),
    )
    lsf, lava = both(problem)
    assert held(run(lsf, until=60), "p")[0][1] == {"a": 3, "b": 2}
    result = run(lava, until=60)
    assert held(result, "p")[0][1] == {"b": 2}
    assert result["s"].hosts == {"a": 1}
    gathers = replace(lava, queues=(Queue("q", 40, resource_reserve=1000),))
    assert held(run(gathers, until=60), "p")[0][1] == {"b": 2, "a": 3}


@pytest.mark.behaviour("MEM-08", "TBR-04")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("family", ["LSF", "volclava"])
@pytest.mark.parametrize("resource", ["mem", "scratch"])
def test_what_a_host_without_slots_has_is_not_there(first: int, family: str, resource: str) -> None:
    """Only the host of no slots has enough: nothing is held for p, and s, without a limit, runs."""
    hosts = (host("M", 0), host("a", 4))
    hosts = tuple(replace(item, amounts={resource: 1000.0}) for item in hosts)
    problem = instance(
        *hosts,
        queues=(RESERVE,),
        running=(running("1", {"a": 1}, 60, res_req=(f"rusage[{resource}=900]",)),),
        pending=(job("p", 4, f"rusage[{resource}=800]", minutes=60), job("s", 3)),
        params=Params(family=family, time_reserve_numjobs=first),
    )
    result = run(problem, until=60)
    assert held(result, "p") in ([], [(0, {}, {})])
    assert result["s"].start == 0


@pytest.mark.behaviour("MEM-08", "TBR-04")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("family", ["LSF", "volclava"])
@pytest.mark.parametrize("status", ["closed_Adm", "unavail", "partition"])
def test_what_a_host_has_that_takes_no_job_is_not_there(
    first: int, family: str, status: str
) -> None:
    """Only M has enough, which is closed or of another partition: nothing is held for p."""
    apart = status == "partition"
    problem = instance(
        *(host("M", 4, mem=1000, status="ok" if apart else status), host("a", 4, mem=1000)),
        queues=(RESERVE,),
        running=(running("1", {"a": 1}, 60, res_req=("rusage[mem=900]",)),),
        pending=(job("p", 4, "rusage[mem=800]", minutes=60), job("s", 3)),
        params=Params(family=family, time_reserve_numjobs=first),
    )
    if apart:
        own = HostPartition("own", ("a",), (("default", 1),))
        other = HostPartition("other", ("M",), (("ann", 1),))
        problem = replace(problem, partitions=(own, other))
    result = run(problem, until=60)
    assert held(result, "p") in ([], [(0, {}, {})])
    assert result["s"].start == 0


@pytest.mark.behaviour("MEM-08", "TBR-10")
def test_it_is_not_there_for_what_a_plan_holds_from_instant_to_instant_either() -> None:
    """A limit of the host makes it hold by instants; M alone has the memory until 1 ends."""
    problem = instance(
        *(host("M", 0, mem=1000), host("a", 4, mem=1000)),
        queues=(replace(RESERVE, user_slots=10),),
        running=(running("1", {"a": 1}, 60, res_req=("rusage[mem=900]",)),),
        pending=(
            job("p", 4, "rusage[mem=800]", minutes=60),
            job("s", 3, minutes=60),
            job("t", 1),
        ),
        params=Params(time_reserve_numjobs=3),
    )
    planned = plan_of(problem, "time-based")
    assert [planned[name].start for name in "ps"] == [HOUR, 0]
