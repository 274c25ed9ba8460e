"""Each constraint of the exact models alone: feasible, and infeasible by one unit.

A case is an instance whose jobs all fit at second 0, and how to make it too much by one. The CP-SAT
model with fixed starts, the one with starts as variables (no start after 0 allowed) and the integer
program all decide it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from judging import host, job, problem, racks, running
from slotwise import (
    Cluster,
    Host,
    HostRequest,
    Instance,
    Limit,
    Queue,
    ReservationUsage,
    Scope,
    SharedResource,
)
from slotwise.model.objective import objective_named
from slotwise.solver.budget import Budget
from slotwise.solver.milp.model import PlacementModel
from slotwise.solver.optimal.costs import Costs
from slotwise.solver.optimal.interval_model import IntervalModel
from slotwise.solver.optimal.joint_placement import JointPlacement
from slotwise.solver.problem import PlanningProblem

CU = (Queue("default", exclusive="CU[rack]"),)
EXCLUSIVE = (Queue("default", exclusive="Y"),)


def fixed(instance: Instance) -> bool:
    """Whether all jobs fit at the instance's now, by the model with fixed starts."""
    asked = PlanningProblem.of(instance)
    starts = [(demand, instance.now) for demand in asked.demands]
    assert not any(demand.impossible for demand in asked.demands)
    status, found = JointPlacement(asked.base, starts).solve(Budget(), seconds=20, effort=20)
    assert status in ("FEASIBLE", "INFEASIBLE")
    assert (len(found) == len(starts)) == (status == "FEASIBLE")
    return status == "FEASIBLE"


def moving(instance: Instance) -> bool:
    """The same by the model with intervals, whose starts have only that instant to choose."""
    asked = PlanningProblem.of(instance)
    alone = {demand.job.id: instance.now for demand in asked.demands}
    demands = list(asked.demands)
    assert IntervalModel.fits(demands, Budget())
    costs = Costs.of(objective_named("total-start"), demands, instance.now)
    model = IntervalModel(asked, demands, costs, alone, instance.now, costs.total(alone))
    try:
        answer = model.solve(Budget(), {}, seconds=20)
    except AssertionError:
        return False
    assert answer.status == "OPTIMAL"
    assert {start.time for start in answer.starts.values()} == {instance.now}
    return True


def program(instance: Instance) -> bool:
    """The same by the integer program."""
    asked = PlanningProblem.of(instance)
    model = PlacementModel(asked.base, [(demand, [instance.now]) for demand in asked.demands])
    outcome, found = model.solve(Budget(), seconds=20)
    assert outcome.status in ("OPTIMAL", "INFEASIBLE")
    assert (len(found) == len(asked.demands)) == (outcome.status == "OPTIMAL")
    return outcome.status == "OPTIMAL"


@dataclass(frozen=True)
class Case:
    """fits: an instance that fits; over: the same with one unit too much."""

    name: str
    fits: Instance
    over: Instance
    models: tuple[Callable[[Instance], bool], ...] = (fixed, moving, program)


def mem(amount: float, slots: int = 4, name: str = "A", **more: Any) -> Host:
    return host(name, slots, amounts={"mem": amount}, **more)


def jobs(*asks: tuple[Any, ...], hosts: tuple[Host, ...] = (), **more: Any) -> Instance:
    """One job an ask: slots, requirements."""
    made = tuple(job(f"j{n}", slots, *texts) for n, (slots, *texts) in enumerate(asks))
    return problem(*made, hosts=hosts, **more)


def lic(amount: float, *asks: tuple[Any, ...], hosts: int = 2, **more: Any) -> Instance:
    machines = tuple(host("ABCD"[n]) for n in range(hosts))
    cluster = Cluster(machines, shared=(SharedResource("lic", amount),))
    return jobs(*asks, cluster=cluster, **more)


ONE_A = (host("A", 4),)
TWO = (host("A", 2), host("B", 2))
CASES = [
    Case("slots of a host", jobs((2,), (2,), hosts=ONE_A), jobs((2,), (3,), hosts=ONE_A)),
    Case(
        "slots beside a running job",
        jobs((1,), (2,), hosts=ONE_A, running=(running("r", {"A": 1}),)),
        jobs((1,), (2,), hosts=ONE_A, running=(running("r", {"A": 2}),)),
    ),
    *(
        Case(
            f"what is held {method}",
            *(
                jobs(
                    (2, f"rusage[res={amount}]"),
                    (2, "rusage[res=4]"),
                    hosts=(host("A", 4, amounts={"res": 10.0}),),
                    reservation_usage=(ReservationUsage("res", method),),
                )
                for amount in amounts
            ),
        )
        for method, amounts in (("PER_SLOT", (1, 2)), ("PER_HOST", (6, 7)), ("PER_JOB", (6, 7)))
    ),
    Case(
        "what is held once a job, over two hosts",
        *(
            jobs(
                (4, f"rusage[res={amount}]"),
                hosts=tuple(host(name, 2, amounts={"res": 10.0}) for name in "AB"),
                reservation_usage=(ReservationUsage("res", "PER_JOB"),),
            )
            for amount in (10, 11)
        ),
    ),
    Case(
        "thousandths, rounded against the job",
        jobs(*[(1, "rusage[mem=0.333]")] * 3, hosts=(mem(1.0),)),
        jobs(*[(1, "rusage[mem=0.3335]")] * 3, hosts=(mem(1.0),)),
    ),
    Case(
        "thousandths of what is free",
        jobs((1, "rusage[mem=0.999]"), (1, "rusage[mem=0]"), hosts=(mem(0.9996),)),
        jobs((1, "rusage[mem=0.5]"), (1, "rusage[mem=0.4999]"), hosts=(mem(0.9996),)),
    ),
    Case("a pool by the job", lic(2, (1, "rusage[lic=1]"), (1, "rusage[lic=1]")),
         lic(2, (1, "rusage[lic=1]"), (1, "rusage[lic=2]"))),
    Case("units of maxcus", *(
        jobs((8, f"cu[maxcus={n}]"), cluster=racks(r1=1, r2=1)) for n in (2, 1)
    )),
    Case("usablecuslots", *(
        jobs((n, "cu[usablecuslots=3]"), (1,), cluster=racks(r1=1, r2=1)) for n in (7, 8)
    )),
    Case(
        "usablecuslots of all units but one",
        jobs((6, "cu[usablecuslots=2]"), (2, "select[hname=='r2a']"), (2, "select[hname=='r3a']"),
             (2, "select[hname=='r1a']"), cluster=racks(r1=1, r2=1, r3=1)),
        jobs((5, "cu[usablecuslots=2]"), *[(3, f"select[hname=='r{n}a']") for n in (1, 2, 3)],
             cluster=racks(r1=1, r2=1, r3=1)),
    ),
    Case(
        "balance",
        jobs((7, "cu[balance]"), (1, "select[hname=='r2a']"), cluster=racks(r1=1, r2=1)),
        jobs((6, "cu[balance]"), (2, "select[hname=='r2a']"), cluster=racks(r1=1, r2=1)),
    ),
    Case(
        "excl takes its units whole",
        jobs((4, "cu[excl]"), (4,), cluster=racks(r1=1, r2=1), queues=CU),
        jobs((4, "cu[excl]"), (5,), cluster=racks(r1=1, r2=2), queues=CU,
             running=(running("r", {"r2b": 4}),)),
    ),
    Case(
        "-x takes its hosts whole",
        replace(jobs((1,), (2,), hosts=TWO, queues=EXCLUSIVE),
                pending=(job("j0", 1, exclusive=True), job("j1", 2))),
        replace(jobs((1,), (2,), hosts=TWO, queues=EXCLUSIVE),
                pending=(job("j0", 1, exclusive=True), job("j1", 3))),
    ),
    Case("one host", *(
        jobs((2, "span[hosts=1]"), (n,), hosts=TWO) for n in (2, 3)
    )),
    Case(
        "one host, not in parts",
        jobs((2, "span[hosts=1]"), (1, "select[hname=='A']"), hosts=TWO),
        jobs((2, "span[hosts=1]"), (1, "select[hname=='A']"), (1, "select[hname=='B']"), hosts=TWO),
    ),
    Case("ptile, whole blocks", *(
        jobs((4, "span[ptile=2]"), (n, "select[hname=='A']"), hosts=(host("A", 3), host("B", 3)))
        for n in (1, 2)
    )),
    Case(
        "ptile, one smaller block",
        jobs((3, "span[ptile=2]"), (1, "select[hname=='A']"), hosts=TWO),
        jobs((2, "span[ptile=2]"), (1, "select[hname=='A']"), (1, "select[hname=='B']"), hosts=TWO),
    ),
    Case("ptile, room for the remainder", *(
        jobs((5, "span[ptile=3]"), hosts=(host("A", 3), host("B", most), host("C", 1)))
        for most in (2, 1)
    )),
    Case("ptile, whole blocks alone", *(
        jobs((4, "span[ptile=2]"), hosts=(host("A", 2), host("B", most), host("C", 1)))
        for most in (2, 1)
    )),
    Case("same[type]", *(
        jobs((n, "same[type]"), hosts=(host("A", 2, type="X"), host("B", 3, type="Y")))
        for n in (3, 4)
    )),
    Case(
        "first execution host",
        *(
            problem(
                job("j", 2, hosts=(HostRequest("A", first=True), HostRequest("B"))),
                *(job(f"k{m}", 1, "select[hname=='A']") for m in range(n)),
                hosts=TWO,
            )
            for n in (1, 2)
        ),
    ),
    Case(
        "two terms on one host",
        jobs((4, "2*{select[ncpus>0]} + 2*{select[ncpus>0]}"), hosts=ONE_A),
        jobs((4, "2*{select[ncpus>0]} + 2*{select[ncpus>0]}"), (1,), hosts=ONE_A),
    ),
    Case(
        "one alternative of rusage",
        jobs((1, "rusage[mem=80||mem=40]"), (1, "rusage[mem=60]"), hosts=(mem(100),)),
        jobs((1, "rusage[mem=80||mem=41]"), (1, "rusage[mem=60]"), hosts=(mem(100),)),
    ),
    Case("an alternative that no host has", *(
        jobs((1, f"rusage[nowhere=1||mem={n}]"), (1, "rusage[mem=60]"), hosts=(mem(100),))
        for n in (40, 41)
    )),
    Case(
        "slots of a user",
        *(jobs((1,), (n,), limits=(Limit("u", {"slots": 3.0}, users=Scope(("all",), each=True)),))
          for n in (2, 3)),
    ),
    Case(
        "jobs under a limit",
        *(jobs(*[(1,)] * n, limits=(Limit("u", {"jobs": 2.0}),)) for n in (2, 3)),
    ),
    Case(
        "a job counts once, whatever its terms",
        *(jobs((2, "1*{select[ncpus>0]} + 1*{select[ncpus>0]}"), *[(1,)] * n,
               limits=(Limit("u", {"jobs": 2.0}),)) for n in (1, 2)),
        (fixed, program),
    ),
    Case(
        "a job counts once on a host, whatever its terms there",
        *(jobs((2, "1*{select[ncpus>0]} + 1*{select[ncpus>0]}"), *[(1,)] * n, hosts=ONE_A,
               limits=(Limit("u", {"jobs": 2.0}, hosts=Scope(("all",), each=True)),))
          for n in (1, 2)),
        (fixed, program),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fits_and_does_not_by_one(case: Case) -> None:
    for model in case.models:
        assert model(case.fits)
        assert not model(case.over)
