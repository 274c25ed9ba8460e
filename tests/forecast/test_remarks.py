"""What a forecast says about its history and about jobs that nothing ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import slotwise as sw
from forecast_lab import cluster, site_history
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import Job
from slotwise.solver.forecast.arrivals import load_of, overload_of
from slotwise.solver.forecast.history import Ended, history_of
from slotwise.solver.forecast.jobs import NO_START
from slotwise.solver.forecast.of_instance import forecast

SLOTS, NOW, DAY = 4, 10 * 86_400, 86_400
POOL = sw.Cluster((sw.Host("pool", SLOTS),))


def _history(count: int = 40, *, slots: int = 1, ran: int = 600, limit: int | None = 1_200):
    """So many jobs, an hour apart, the last of which has ended just before now."""
    ended = []
    for number in range(count):
        start = NOW - ran - 3_600 * (count - number - 1)
        job = Job(f"past{number}", slots, user="ann", run_limit=limit, submit=start)
        ended.append(Ended(job, start, start + ran))
    return history_of(ended)


def _instance(limit: int | None = None, begun: int = NOW - 5_000):
    """A job runs on the whole pool, two wait."""
    running = sw.RunningJob(Job("r", SLOTS, user="ann", run_limit=limit), begun, {"pool": SLOTS})
    waiting = (Job("p", 2, user="ann"), Job("q", SLOTS, user="ann", run_limit=600))
    return sw.Instance(POOL, running=(running,), pending=waiting, now=NOW)


def _about(remarks, words: str) -> list[str]:
    return [remark for remark in remarks if words in remark]


def test_a_job_without_a_limit_that_outran_all_others_is_named_and_nobody_starts_behind_it():
    found = forecast(_instance(), _history(), samples=20)
    assert found.endless == (0,)
    assert (found.samples == NO_START).all()
    assert {time for item in found.records() for key, time in item.items() if key != "job"} == {
        None
    }
    (remark,) = _about(found.remarks, "assumed to run indefinitely")
    assert remark.startswith("job r has no run limit, and no similar finished job ran as long")


@examples(40)
@given(
    st.lists(
        st.tuples(st.integers(0, 9 * DAY), st.integers(1, 2 * DAY), st.integers(1, SLOTS)),
        min_size=1,
        max_size=30,
    )
)
def test_a_log_of_the_cluster_itself_is_never_too_much_for_it(jobs):
    """What has run on so many slots, one job behind the other, has not used more than there is."""
    ended, free = [], 0
    for number, (submit, ran, slots) in enumerate(sorted(jobs)):
        start = max(submit, free)
        free = start + ran
        ended.append(Ended(Job(str(number), slots, submit=submit), start, free))
    history = history_of(ended)
    assert overload_of(history, sw.Instance(POOL, now=free)) == ()
    span = max(DAY, free - ended[0].job.submit)
    used = sum(item.job.slots * (item.end - item.start) for item in ended)
    assert np.isclose(load_of(history), used / 3_600 * DAY / span)


def test_a_log_without_limits_says_so(tmp_path: Path):
    path = tmp_path / "log.swf"
    lines = [f"{n} {n * 60} 0 {100 + n} 2 -1 -1 2 {{}} -1 1 1 1 1 1 1 -1 -1" for n in range(1, 40)]
    for limit, expected in ((-1, 1), (900, 0)):
        path.write_text("; MaxProcs: 4\n" + "\n".join(lines).format(*[limit] * 39) + "\n")
        found = forecast(_instance(limit=9_000), path, samples=10)
        assert len(_about(found.remarks, "none of its jobs has a run limit")) == expected


def test_data_has_the_seed_the_policy_and_the_doubts():
    instance = _instance(limit=9_000)
    found = forecast(instance, _history(5), samples=5, seed=7, policy="fcfs").to_dict()
    assert (found["seed"], found["policy"]) == (7, "fcfs")
    assert found["doubts"] == [
        "warning: 5 ended jobs known: bounds are unreliable",
        "warning: 5 samples: bounds are unreliable",
    ]
    hosts = cluster(0)
    assert forecast(hosts, site_history(hosts), samples=2).to_dict()["policy"] is None
    assert forecast(instance, _history(), samples=20).to_dict()["doubts"] == []
