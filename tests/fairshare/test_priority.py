"""The formula, its meters, and the plug-in: golden numbers of the documents and of real output."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slotwise import Params, Queue
from slotwise.model.display import HOUR
from slotwise.solver.fairshare.accounts import Consumption, Factors, Meter, dynamic_priority

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


@pytest.mark.behaviour("FSH-02", "FSH-14")
def test_the_priority_is_at_most_a_hundred_times_the_shares():
    static = Factors(cpu_time=0, run_time=0, run_job=0, committed_run_time=0, adjustment=0)
    assert dynamic_priority(7, Consumption(run_time=1e9, slots=50), static) == pytest.approx(700)
    assert dynamic_priority(7, Consumption(), Factors(run_job=0.02)) == pytest.approx(350)


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


@pytest.mark.behaviour("FSH-02")
def test_factors_of_a_queue_win_over_the_cluster():
    params = Params(run_time_factor=0.4, hist_hours=8)
    queue = Queue("q", factors={"RUN_JOB_FACTOR": 1.5, "HIST_HOURS": 2.0})
    factors = Factors.of(params, queue)
    assert (factors.run_job, factors.run_time, factors.hist_hours) == (1.5, 0.4, 2.0)
    assert Factors.of(params).hist_hours == 8


@pytest.mark.behaviour("FSH-03")
@pytest.mark.parametrize("hist_hours", [5, 1, 24])
def test_an_hour_becomes_a_tenth_after_hist_hours(hist_hours):
    meter = Meter(HOUR)
    decay = Factors(hist_hours=hist_hours).decay
    assert meter.at(hist_hours * HOUR, decay) == pytest.approx(0.1 * HOUR)
    assert meter.at(2 * hist_hours * HOUR, decay) == pytest.approx(0.01 * HOUR)
    assert meter.at(math.log10(2) * hist_hours * HOUR, decay) == pytest.approx(HOUR / 2)


@pytest.mark.behaviour("FSH-03")
def test_no_hist_hours_means_no_decay():
    assert Meter(HOUR).at(1e9, Factors(hist_hours=0).decay) == HOUR


@given(
    steps=st.lists(
        st.tuples(st.floats(0, 5000), st.floats(0, 100), st.floats(-2, 3)),
        min_size=1,
        max_size=6,
    ),
    hist_hours=st.sampled_from([0.0, 0.5, 5.0]),
)
def test_a_meter_is_the_sum_of_small_steps(steps, hist_hours):
    """Lazy evaluation against integration in small steps."""
    decay = Factors(hist_hours=hist_hours).decay
    meter, now, rate, plain = Meter(), 0.0, 0.0, 0.0
    for length, add, change in steps:
        parts = 400
        for _ in range(parts):
            dt = length / parts
            kept = math.exp(-decay * dt)
            plain = plain * kept + rate * dt * (1 + kept) / 2
        now += length
        meter.change(now, decay, add, change)
        plain += add
        rate += change
    assert meter.at(now, decay) == pytest.approx(plain, rel=1e-4, abs=1e-2)
