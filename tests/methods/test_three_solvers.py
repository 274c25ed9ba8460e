"""CP-SAT, the integer program and brute force agree, on instances with every kind of constraint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from agreement_cases import KINDS, case
from brute_force import starts_by_the_minute
from sampling import some
from slotwise import Instance, Plan
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate

#: Instances of the slow proof: six rounds through all kinds.
MANY = range(6 * len(KINDS))
#: Objectives of the second part of the proof; the lexicographic one is the first.
SUMS = ("total-start", "makespan", "slowdown")


def starts(instance: Instance, found: Plan) -> dict[str, int | None]:
    """Start of every pending job, None for one that has none."""
    return {job.id: found[job.id].start if job.id in found else None for job in instance.pending}


def assert_agreement(seed: int) -> tuple[Instance, set[str], dict[str, int | None]]:
    """All three find the same starts, by plans that the judge accepts and that claim a proof."""
    instance, kinds = case(seed)
    expected = starts_by_the_minute(instance)
    for method in ("optimal", "milp"):
        found = plan(instance, method, time_limit=60)
        assert validate(instance, found) == [], (seed, kinds, method)
        assert starts(instance, found) == expected, (seed, kinds, method)
        placed = None not in expected.values()
        assert found.status == ("optimal" if placed else "infeasible"), (seed, kinds, method)
        assert all(item.proved for item in found), (seed, kinds, method)
    return instance, kinds, expected


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


@pytest.mark.parametrize("seed", some(range(1, len(KINDS), 4), 5))
def test_three_solvers_agree(seed: int) -> None:
    assert_agreement(seed)


@pytest.mark.parametrize("seed", some(range(3, len(KINDS), 11), 3))
def test_two_solvers_agree_on_joint_objectives(seed: int) -> None:
    assert_equal_values(seed, SUMS[seed % len(SUMS)])


@pytest.mark.slow
def test_three_solvers_agree_on_every_kind_of_constraint() -> None:
    kinds: Counter[str] = Counter()
    jobs: Counter[str] = Counter()
    for seed in MANY:
        instance, found, expected = assert_agreement(seed)
        kinds.update(found)
        jobs.update(
            "never" if start is None else "at once" if start == instance.now else "later"
            for start in expected.values()
        )
    print(f"\n{len(MANY)} instances on which CP-SAT, PuLP and brute force agree; in how many:")
    show(kinds.items())
    print("jobs that start:", ", ".join(f"{name} {number}" for name, number in jobs.items()))
    assert len(MANY) >= 300
    assert set(kinds) == set(KINDS)
    assert min(kinds.values()) >= 6
    assert min(jobs["never"], jobs["at once"], jobs["later"]) >= 30


@pytest.mark.slow
def test_two_solvers_agree_on_joint_objectives_on_many() -> None:
    for seed in MANY:
        assert_equal_values(seed, SUMS[seed % len(SUMS)])
    print(f"\n{len(MANY)} instances on which CP-SAT and PuLP agree in {', '.join(SUMS)}")


def show(counts: Iterable[tuple[str, int]]) -> None:
    """Counts, three a line."""
    cells = [f"{name} {number}".ljust(34) for name, number in counts]
    for first in range(0, len(cells), 3):
        print("  " + "".join(cells[first : first + 3]).rstrip())
