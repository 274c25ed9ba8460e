"""cu[excl] keeps every other job off the whole unit, the hosts it fills in part included."""

import pytest
from judging import job, problem, racks, running
from slotwise import InputError, Queue, loads
from slotwise.solver.planning import plan as plan_of
from slotwise.solver.validate import validate

UNITS = (Queue("default", exclusive="CU[rack]"),)


@pytest.mark.behaviour("PLC-11")
@pytest.mark.parametrize("exclusive", [False, True])
def test_free_slots_beside_a_planned_exclusive_job_stay_free(exclusive: bool) -> None:
    """j holds 3 of the 8 slots of r1, with -x or without: k has to wait for its end."""
    first = job("j", 3, "cu[excl]", exclusive=exclusive, priority=9)
    instance = problem(first, job("k", 1), cluster=racks(r1=2), queues=UNITS)
    plan = plan_of(instance, "time-based")
    assert (plan["j"].start, plan["k"].start) == (0, 100)
    assert validate(instance, plan, as_lsf=True) == []


@pytest.mark.behaviour("PLC-11")
def test_free_slots_beside_a_running_exclusive_job_stay_free() -> None:
    owner = running("r", {"r1a": 3}, "cu[excl]")
    instance = problem(job("k", 1), cluster=racks(r1=2), queues=UNITS, running=(owner,))
    plan = plan_of(instance, "time-based")
    assert plan["k"].start == 100
    assert validate(instance, plan, as_lsf=True) == []


@pytest.mark.behaviour("PLC-11", "CFG-01")
def test_exclusive_cu_alone_means_the_default_type() -> None:
    text = """
    format: slotwise/1
    params: {COMPUTE_UNIT_TYPES: enclosure! rack}
    hosts: [{name: a, slots: 2}]
    compute_units:
      - {name: e, type: enclosure, members: [a]}
      - {name: r, type: rack, members: [e]}
    queues: [{name: q, EXCLUSIVE: CU}]
    pending: [{id: j, slots: 1, run_limit: 1h, res_req: "cu[excl]"}]
    """
    assert loads(text).queues[0].exclusive == "CU[enclosure]"
    assert plan_of(loads(text), "time-based")["j"].start == 0
    with pytest.raises(InputError, match="coarser than queue q allows"):
        loads(text.replace("cu[excl]", "cu[excl:type=rack]"))
