"""Multifactor priority: the age part grows while a job is pending, up to PriorityMaxAge."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from slotwise.model.configuration import without_growth
from slotwise.model.slurm_priority import AgeFactor, age_factor

from tests.slurm.test_import import instance_of, texts_of

pytestmark = pytest.mark.behaviour("SLU-02")
HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    "factor", [AgeFactor(7, 1000, 30), AgeFactor(5000, 700, 60), AgeFactor(3, 997, 1)]
)
@pytest.mark.parametrize("submit", [-2000, -333, 0, 100])
def test_growth_is_the_part_by_its_definition(factor: AgeFactor, submit: int) -> None:
    job = sw.Job("1", 1, submit=submit)

    def part(time: int) -> int:
        return int(factor.weight * min(max(0, time - submit), factor.max_age) / factor.max_age)

    values = {}
    for now in range(max(0, submit), 1500):
        computed = now // factor.period * factor.period
        values[now] = factor.growth(job, now)
        assert values[now] == part(computed) - part(0)
    changes = [now for now in list(values)[1:] if values[now] != values[now - 1]]
    for now in list(values)[:-1:7]:
        following = next((time for time in changes if time > now), None)
        found = factor.next_growth(job, now)
        assert found == following or (following is None and (found is None or found >= 1500))


def test_it_is_read_with_accounting_only() -> None:
    """Without slurmdbd Slurm does not count the age: AGE is 0 in the recorded sprio."""
    texts = texts_of("probes")
    own = [line for line in texts["config.txt"].splitlines() if "Priority" not in line]
    config = "\n".join(line for line in own if "AccountingStorageType" not in line) + "\n"
    more = (
        "PriorityType = priority/multifactor\nPriorityWeightAge = 1000\n"
        "PriorityMaxAge = 2-00:00:00\nPriorityCalcPeriod = 00:01:00\n"
        "AccountingStorageType = accounting_storage/"
    )
    without = {**texts, "config.txt": config + more + "none\n"}
    assert not instance_of(without).params.grows_priorities
    made = instance_of({**texts, "config.txt": config + more + "slurmdbd\n"})
    assert age_factor(made.params.select_parameters) == AgeFactor(1000, 2 * DAY, 60)
    assert made.params.grows_priorities
    assert sw.loads(sw.dump(made)).params == made.params
    assert not without_growth(made.params).grows_priorities
    assert "unit=2" in without_growth(made.params).select_parameters


def cluster(words: str) -> sw.Instance:
    """One node, in use for an hour; ``old`` has reached the highest age, ``new`` has not."""
    return sw.instance(
        [sw.Host("n1", 1)],
        queues=[sw.Queue("q")],
        params=sw.Params(
            family="Slurm", max_user_priority=2**31 - 1, mbd_sleep_time=60, select_parameters=words
        ),
        running=[sw.RunningJob(sw.Job("0", 1, queue="q", run_limit=HOUR), 0, {"n1": 1})],
        pending=[
            sw.Job("1", 1, queue="q", priority=1050, run_limit=HOUR, submit=-9 * DAY),
            sw.Job("2", 1, queue="q", priority=1000, run_limit=HOUR, submit=-60),
        ],
        now=0,
    )


def starts(problem: sw.Instance) -> dict[str, int | None]:
    run = sw.simulate(problem)
    assert not sw.validate(problem, run)
    return {item.job: item.start for item in run.jobs if item.job in ("1", "2")}


def test_a_job_overtakes_one_of_the_highest_age() -> None:
    """In an hour the young job gains 1000 / 10; that of the highest age gains nothing."""
    words = AgeFactor(1000, 10 * HOUR, 300).text()
    assert starts(cluster(words)) == {"1": 2 * HOUR, "2": HOUR}
    assert starts(cluster("")) == {"1": HOUR, "2": 2 * HOUR}
    slow = AgeFactor(400, 10 * HOUR, 300).text()  # 40 in an hour are too few
    assert starts(cluster(slow)) == {"1": HOUR, "2": 2 * HOUR}
    rare = AgeFactor(1000, 10 * HOUR, 2 * HOUR).text()  # computed at 2 h for the first time
    assert starts(cluster(rare)) == {"1": HOUR, "2": 2 * HOUR}


def test_equal_ages_keep_the_order() -> None:
    problem = cluster(AgeFactor(1000, 10 * HOUR, 300).text())
    young = tuple(replace(job, submit=-60) for job in problem.pending)
    assert starts(replace(problem, pending=young)) == {"1": HOUR, "2": 2 * HOUR}


@pytest.mark.parametrize("wait", ["dependency", "begin"])
def test_the_age_counts_from_when_a_job_is_eligible(wait: str) -> None:
    """Of a dependent job from the end of the job that it waits for, unless ACCRUE_ALWAYS is set."""
    more = {"dependency": "done(0)"} if wait == "dependency" else {"begin": HOUR}
    words = AgeFactor(1000, 10 * HOUR, 300).text()
    problem = cluster(words)
    first, second = problem.pending
    third = replace(first, id="3", priority=2000)  # from 1 h to 2 h
    pending = (replace(first, priority=1150), replace(second, **more), third)
    problem = replace(problem, pending=pending)
    assert starts(problem) == {"1": 2 * HOUR, "2": 3 * HOUR}  # 1150 and 1100 at 2 h
    lower = replace(problem, pending=(replace(first, priority=1090), *pending[1:]))
    assert starts(lower) == {"1": 3 * HOUR, "2": 2 * HOUR}
    always = replace(problem.params, select_parameters=f"{words},PriorityFlags=ACCRUE_ALWAYS")
    assert starts(replace(problem, params=always)) == {"1": 3 * HOUR, "2": 2 * HOUR}  # 1200
