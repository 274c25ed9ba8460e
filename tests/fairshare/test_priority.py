"""The formula, its meters, and the plug-in: golden numbers of the documents and of real output."""

import math

import pytest
from slotwise.model.display import HOUR
from slotwise.solver.fairshare.accounts import Consumption, Factors, Meter, dynamic_priority


@pytest.mark.behaviour("FSH-02", "FSH-14")
def test_the_priority_is_at_most_a_hundred_times_the_shares():
    static = Factors(cpu_time=0, run_time=0, run_job=0, committed_run_time=0, adjustment=0)
    assert dynamic_priority(7, Consumption(run_time=1e9, slots=50), static) == pytest.approx(700)
    assert dynamic_priority(7, Consumption(), Factors(run_job=0.02)) == pytest.approx(350)


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
