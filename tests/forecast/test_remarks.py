"""What a forecast says about its history and about jobs that nothing ends."""

from __future__ import annotations

from pathlib import Path

import slotwise as sw
from slotwise import Job
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
    (remark,) = _about(found.remarks, "taken to run indefinitely")
    assert remark.startswith("job r has no run limit, and no ended job like it ran as long")


def test_a_log_without_limits_says_so(tmp_path: Path):
    path = tmp_path / "log.swf"
    lines = [f"{n} {n * 60} 0 {100 + n} 2 -1 -1 2 {{}} -1 1 1 1 1 1 1 -1 -1" for n in range(1, 40)]
    for limit, expected in ((-1, 1), (900, 0)):
        path.write_text("; MaxProcs: 4\n" + "\n".join(lines).format(*[limit] * 39) + "\n")
        found = forecast(_instance(limit=9_000), path, samples=10)
        assert len(_about(found.remarks, "no job of it has a run limit")) == expected
