"""The formula, its meters, and the plug-in: golden numbers of the documents and of real output."""

import pytest
from slotwise.model.display import HOUR
from slotwise.solver.fairshare.accounts import Consumption, Factors, dynamic_priority

DEFAULTS = Factors()

#: STARTED, CPU_TIME (s), RUN_TIME (s), PRIORITY of a university's cluster, shares 1.
REAL_ROWS = [
    (0, 29.4, 0, 0.333),
    (0, 821.9, 0, 0.316),
    (0, 18781.0, 0, 0.150),
    (1, 2288.2, 2696, 0.143),
    (0, 67178.7, 0, 0.062),
    (3, 34856.3, 65633, 0.032),
    (0, 158440.7, 0, 0.030),
    (4, 73265.0, 33534, 0.028),
    (1, 100969.1, 70430, 0.025),
    (2, 52842.4, 103421, 0.025),
    (0, 305000.0, 0, 0.016),
    (3, 91714.2, 211038, 0.014),
]


@pytest.mark.behaviour("FSH-02")
@pytest.mark.parametrize(("started", "cpu", "run", "printed"), REAL_ROWS)
def test_real_output_is_reproduced(started, cpu, run, printed):
    usage = Consumption(cpu_time=cpu, run_time=run, slots=started)
    assert round(dynamic_priority(1, usage, DEFAULTS), 3) == printed


@pytest.mark.behaviour("FSH-02")
@pytest.mark.parametrize(
    ("shares", "started", "cpu", "run", "printed"),
    [
        (100, 2, 0.2, 7034, "9.645"),
        (8, 1, 9.6, 5108, "1.144"),
        (2, 0, 0.0, 0, "0.667"),
        (1, 5, 598.1, 19556, "0.046"),
    ],
)
def test_rows_of_the_documents(shares, started, cpu, run, printed):
    usage = Consumption(cpu_time=cpu, run_time=run, slots=started)
    assert f"{dynamic_priority(shares, usage, DEFAULTS):.3f}" == printed


@pytest.mark.behaviour("FSH-02")
def test_every_term_stands_in_the_denominator():
    usage = Consumption(
        cpu_time=2 * HOUR,
        run_time=3 * HOUR,
        historical_run_time=5 * HOUR,
        committed_run_time=10 * HOUR,
        slots=4,
        reserved=1,
    )
    factors = Factors(0.7, 0.5, 0.25, 3.0, 2.0)
    expected = 2 * 0.7 + (5 + 3) * 0.5 + (10 - 3) * 0.25 + (1 + 4 + 1) * 3.0 + 11 * 2.0
    assert dynamic_priority(10, usage, factors, adjustment=11) == pytest.approx(10 / expected)
