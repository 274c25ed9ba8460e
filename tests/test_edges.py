"""Rules whose edge only a direct test sees: each fails where the rule is off by one or left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from judging import faults, host, job, problem, running
from slotwise import Limit, Scope
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate


@pytest.mark.parametrize("method", ["time-based", "optimal", "greedy"])
@pytest.mark.parametrize(("whole", "held", "rest"), [(0.3, 0.1, 0.2), (0.7, 0.4, 0.3)])
def test_decimals_that_add_up_fit(method: str, whole: float, held: float, rest: float) -> None:
    """0.3 less 0.1 is 0.19999999999999998 in binary, and 0.2 fits all the same."""
    assert whole - held < rest
    hosts = (host("A", 4, amounts={"mem": whole}),)
    runs = running("r", {"A": 1}, f"rusage[mem={held}]")
    instance = problem(job("j", 1, f"rusage[mem={rest}]"), hosts=hosts, running=(runs,))
    found = plan(instance, method, **({"effort": 5.0} if method == "optimal" else {}))
    assert found["j"].start == 0
    assert validate(instance, found, as_lsf=method != "optimal") == []


TWO_TERMS = "1*{select[ncpus>0]} + 1*{select[ncpus>0]}"


@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
@pytest.mark.parametrize("scope", [None, Scope(("all",), each=True)])
def test_a_job_counts_once_under_a_job_limit(method: str, scope: Scope | None) -> None:
    """Two terms on one host are one job; beside a running one they are the second."""
    limits = (Limit("L", {"jobs": 1.0}, hosts=scope),)
    instance = problem(job("j", 2, TWO_TERMS), hosts=(host("A", 4),), limits=limits)
    options = {} if method == "time-based" else {"time_limit": 10.0}
    assert plan(instance, method, **options)["j"].start == 0
    later = replace(instance, running=(running("r", {"A": 1}),))
    assert plan(later, method, **options)["j"].start == 100


@pytest.mark.behaviour("PLC-03")
def test_the_judge_grants_a_term_one_smaller_block() -> None:
    """Three slots under ptile=2 are 2 and 1, not 1, 1 and 1, also beside another term."""
    hosts = tuple(host(name) for name in "ABCD")
    ask = "1*{select[ncpus>0]} + 3*{span[ptile=2]}"
    instance = problem(job("j", 4, ask), hosts=hosts)
    assert faults(instance, {"j": (0, {"B": 1, "A": 2, "C": 1})}) == []
    assert faults(instance, {"j": (0, {"A": 1, "B": 1, "C": 1, "D": 1})}) != []
