"""CP-SAT, the integer program and brute force agree, on instances with every kind of constraint."""

from __future__ import annotations

import pytest
from agreement_cases import KINDS, case
from sampling import some
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

#: Instances of the slow proof: six rounds through all kinds.
MANY = range(6 * len(KINDS))
#: Objectives of the second part of the proof; the lexicographic one is the first.
SUMS = ("total-start", "makespan", "slowdown")


def assert_equal_values(seed: int, objective: str) -> None:
    """Both solvers prove the same value of a joint objective."""
    instance, kinds = case(seed)
    cp_sat = plan(instance, "optimal", objective=objective, effort=5)
    program = plan(instance, "milp", objective=objective, time_limit=60)
    assert validate(instance, program) == [], (seed, kinds)
    if program.status not in ("optimal", "infeasible"):
        # A rule is left out that touches a job: nothing that it touches is called proved.
        assert program.omissions, (seed, kinds, program.notes)
        touched = [i for i in program if any(o.touches(i.job) for o in program.omissions)]
        assert not any(item.proved for item in touched), (seed, kinds)
        return
    assert program.value == pytest.approx(program.bound), (seed, kinds)
    if cp_sat.status in ("optimal", "infeasible"):
        assert program.value == pytest.approx(cp_sat.value), (seed, kinds)
    else:  # windows and jobs without an end are beyond the CP-SAT model: it gives a bound
        assert cp_sat.bound is not None
        assert cp_sat.value is not None
        assert program.value is not None
        assert cp_sat.bound - 1e-6 <= program.value <= cp_sat.value + 1e-6, (seed, kinds)


@pytest.mark.parametrize("seed", some(range(3, len(KINDS), 11), 3))
def test_two_solvers_agree_on_joint_objectives(seed: int) -> None:
    assert_equal_values(seed, SUMS[seed % len(SUMS)])


@pytest.mark.slow
def test_two_solvers_agree_on_joint_objectives_on_many() -> None:
    for seed in MANY:
        assert_equal_values(seed, SUMS[seed % len(SUMS)])
    print(f"\n{len(MANY)} instances on which CP-SAT and PuLP agree in {', '.join(SUMS)}")
