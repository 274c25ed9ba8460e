"""explain: which account lost to which and when it overtakes, against the formula by hand."""

from __future__ import annotations

import json
from typing import Any

import slotwise as sw
from slotwise import (
    Cluster,
    Host,
    Instance,
    Job,
    Params,
    Queue,
    RunningJob,
    ShareUsage,
)
from slotwise.cli.main import app
from slotwise.solver.advice.explain import LostContest, lost_contests
from slotwise.solver.scheduler.history import snapshot_of
from typer.testing import CliRunner

HOUR = 3600.0


def site(
    *,
    shares: tuple[tuple[str, int], ...] = (("u1", 1), ("u2", 1)),
    slots: dict[str, int] | None = None,
    starts: dict[str, int] | None = None,
    usage: tuple[ShareUsage, ...] = (),
    **params: Any,
) -> Instance:
    """A full host: each user runs one job of his slots; u1 and u2 wait with one job each."""
    slots = slots or {"u1": 4, "u2": 1}
    starts = starts or {}
    running = tuple(
        RunningJob(
            Job(f"r{user}", count, user=user, queue="q", run_limit=1000 * 3600),
            starts.get(user, 0),
            {"a": count},
        )
        for user, count in slots.items()
        if count
    )
    pending = tuple(Job(f"p{user}", 1, user=user, queue="q", run_limit=60) for user in ("u1", "u2"))
    return Instance(
        Cluster((Host("a", sum(slots.values())),)),
        queues=(Queue("q", user_shares=shares),),
        running=running,
        pending=pending,
        share_usage=usage,
        params=Params(**params),
    )


def lost(problem: Instance, job: str) -> tuple[LostContest, ...]:
    asked = next(item for item in problem.pending if item.id == job)
    return lost_contests(snapshot_of(problem, after_cycle=True), asked)


def test_never_in_sight() -> None:
    """More slots, the same shares, the same clock: u1 stays behind."""
    (contest,) = lost(site(), "pu1")
    assert contest.ahead_from is None


def test_explain_says_so(tmp_path: Any) -> None:
    usage = (ShareUsage("q", "u1", cpu_time=200 * HOUR),)
    problem = site(slots={"u1": 0, "u2": 4}, usage=usage, default_queue="q")
    file = tmp_path / "site.yaml"
    file.write_text(sw.dump(problem))
    result = CliRunner().invoke(app, ["explain", str(file), "pu1"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    said = lines.index("bjobs would say: Job slot limit reached: a")
    (contest,) = lost(problem, "pu1")
    assert contest.ahead_from is not None
    from slotwise.model.display import duration_text

    ahead = duration_text(contest.ahead_from)
    assert lines[said + 1] == f"q/: u1 0.007 behind u2 0.067; ahead from +{ahead}"
    assert "CPU time as jobs state it" in lines[said + 2]
    data = CliRunner().invoke(app, ["explain", str(file), "pu1", "--format", "json"]).stdout
    record = json.loads(data)
    assert record["contests"][0]["ahead_from"] == contest.ahead_from
    assert record["pending_reasons"] == [
        {"number": 1305, "reason": "Job slot limit reached", "hosts": ["a"]}
    ]
