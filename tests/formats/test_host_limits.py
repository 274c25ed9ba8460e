"""Limits that count on one host, ``-W 8:00/hostA``: wall-clock time by the hosts' CPU factors."""

from __future__ import annotations

import pytest
import slotwise as sw
from long_ways import hosts_asked
from slotwise import Instance, dump, loads
from slotwise.solver.scheduler.simulation import simulate
from submitted import submitted_job

HOUR, MINUTE = 3600, 60

HOSTS = """format: slotwise/1
hosts:
  - {name: "fast[1-2]", slots: 4, cpu_factor: 3, model: Quick}
  - {name: "slow[1-2]", slots: 4, cpu_factor: 1.5, model: Plain}
  - {name: last, slots: 4, cpu_factor: 1, model: Mixed}
  - {name: odd, slots: 4, cpu_factor: 2, model: Mixed}
host_groups: {fasts: fast1 fast2}
queues:
  - {name: default}
  - {name: quick, HOSTS: fasts}
  - {name: most, HOSTS: all ~last ~odd ~slow1 ~slow2}
"""


def of(rest: str) -> Instance:
    return loads(HOSTS + rest)


def pending(bsub: str) -> Instance:
    return of(f"pending: [{{id: 1, bsub: '{bsub}'}}]\n")


@pytest.mark.behaviour("TBR-20", "CFG-03")
@pytest.mark.parametrize(
    ("bsub", "seconds"),
    [
        ("-W 8:00/fast1 -m fast2", 8 * HOUR),
        ("-W 8:00/fast1 -m slow1", 16 * HOUR),
        ("-W 8:00/slow1 -m fasts", 4 * HOUR),
        ("-W 8:00/slow1 -m 'slow1 slow2'", 8 * HOUR),
        ("-W 90/last -q quick", 30 * MINUTE),
        ("-W 90/last -q most", 30 * MINUTE),
        ("-W 90/Quick -m last", 270 * MINUTE),
        ("-W 90/Plain -m 'slow1 slow2+3'", 90 * MINUTE),
        ("-W 1/last -m slow1", 40),
        ("-W 90/last -q quick -m 'fast1 others'", 30 * MINUTE),
    ],
)
def test_a_limit_is_longer_on_slow_hosts_and_shorter_on_fast_ones(bsub: str, seconds: int) -> None:
    found = pending(bsub.replace("'", '"')).pending[0]
    assert found.run_limit == seconds
    assert type(found.run_limit) is int


@pytest.mark.behaviour("TBR-20")
@pytest.mark.parametrize(
    ("bsub", "says"),
    [
        ("-W 8:00/fast1", "hosts with one factor"),
        ('-W 8:00/fast1 -m "fast1 slow1"', r"other factors \(1.5, 3\)"),
        ("-W 8:00/fast3 -m fast1", "did you mean"),
        ("-W 8:00/Mixed -m fast1", "several CPU factors"),
        ("-W 8:00/ -m fast1", "after the slash"),
        ("-c 10/fast1", "hosts with one factor"),
    ],
)
def test_a_limit_that_depends_on_the_place_is_refused(bsub: str, says: str) -> None:
    with pytest.raises(sw.InputError, match=says) as caught:
        pending(bsub)
    assert caught.value.problems[0].path == "pending[0].bsub"
    assert caught.value.problems[0].line is not None


@pytest.mark.behaviour("TBR-20")
def test_limits_of_queues_and_applications_are_scaled_too() -> None:
    found = loads(
        """format: slotwise/1
hosts: [{name: "n[1-2]", slots: 4, cpu_factor: 2}, {name: login, slots: 0, cpu_factor: 1}]
queues:
  - {name: default, HOSTS: n1 n2, RUNLIMIT: 60/login 2:00/login, CPULIMIT: 3:00/n1}
pending: [{id: 1}]
"""
    )
    queue = found.queues[0]
    assert (queue.run_limit, queue.run_limit_max) == (30 * MINUTE, HOUR)
    assert queue.cpu_limit == 3 * HOUR
    assert loads(dump(found)) == found
    tools = "applications: [{name: t, RUNLIMIT: 60/n1, RUNTIME: 30/n2}]\n"
    alike = "format: slotwise/1\nhosts: [{name: 'n[1-2]', slots: 4, cpu_factor: 2}]\n"
    assert loads(alike + tools).applications[0].run_limit == HOUR
    for key, text in (("queues", "RUNLIMIT: 60/last"), ("applications", "RUNTIME: 9/last")):
        document = HOSTS.replace("{name: default}", "{name: default, RUNLIMIT: 60/last}")
        if key == "applications":
            document = f"{HOSTS}applications: [{{name: t, {text}}}]\n"
        with pytest.raises(sw.InputError, match="hosts with one factor") as caught:
            loads(document)
        assert caught.value.problems[0].path == f"{key}[0].{text.partition(':')[0]}"


@pytest.mark.behaviour("TBR-20")
def test_a_running_job_counts_by_its_first_execution_host() -> None:
    found = of(
        """running:
  - {id: a, start: 0, bsub: -n 4 -W 1:00/last, allocation: 2*slow1 2*fast1}
  - {id: b, start: 0, run_limit: 1h/last, allocation: 4*fast2}
"""
    )
    assert [item.job.run_limit for item in found.running] == [40 * MINUTE, 20 * MINUTE]


@pytest.mark.behaviour("TBR-20")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_plans_loop_and_judge_have_one_length(method: str) -> None:
    found = of(
        """pending:
  - {id: first, bsub: -n 8 -W 1:00/last -q quick}
  - {id: second, bsub: -n 8 -W 30/fast1 -q quick}
"""
    )
    planned = sw.plan(found, method)
    assert planned["first"].finish == 20 * MINUTE
    assert (planned["second"].start, planned["second"].finish) == (20 * MINUTE, 50 * MINUTE)
    assert sw.validate(found, planned) == []
    assert simulate(found, reservation="time-based", cycle=0).starts == {
        "first": 0,
        "second": 20 * MINUTE,
    }


@pytest.mark.behaviour("TBR-20")
def test_a_line_that_is_asked_about_is_scaled() -> None:
    found = of("")
    assert submitted_job(found, "bsub -W 1:00/last -m fast1").run_limit == 20 * MINUTE
    with pytest.raises(sw.InputError, match="-W: counts on last"):
        submitted_job(found, "bsub -W 1:00/last")
    with pytest.raises(sw.InputError, match="-c: unknown host or model 'lost'"):
        submitted_job(found, "bsub -c 1:00/lost")
    told = sw.ask(found, "bsub -n 2 -W 1:00/last -q quick").to_dict()
    assert told["line"]["finish"] - told["line"]["start"] == 20 * MINUTE


def test_which_hosts_a_job_may_use_is_asked_for_limits_on_a_host_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = hosts_asked(monkeypatch)
    of("pending: [{id: 1, bsub: '-W 8:00'}, {id: 2, bsub: '-W 8:00/fast1 -m fast2'}]\n")
    assert asked == ["2"]
