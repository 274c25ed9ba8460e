"""explain: which account lost to which and when it overtakes, against the formula by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import slotwise as sw
from sampling import some
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
DAY = 86_400


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


def decayed(amount: float, rate: float, seconds: float, hist_hours: float) -> float:
    """CPU seconds after `seconds`, summed second by second in closed form: 10 ** (-t/HIST)."""
    keep = 10 ** (-seconds / (hist_hours * HOUR))
    scale = hist_hours * HOUR / 2.302585092994046
    return amount * keep + rate * scale * (1 - keep)


def by_hand(shares: int, slots: int, time: float, cpu: float = 0.0, start: float = 0.0) -> float:
    """The priority at a second, of an account with one job that runs since `start` (defaults)."""
    cpu_time = decayed(cpu, slots, time, 5.0) / HOUR
    return shares / (cpu_time * 0.7 + (time - start) / HOUR * 0.7 + (1 + slots) * 3)


def first(better: Any, limit: int = 30 * DAY) -> int | None:
    """The first second at which something holds that was not so before: looked at one by one."""
    return next((t for t in range(limit) if better(t)), None)


def lost(problem: Instance, job: str) -> tuple[LostContest, ...]:
    asked = next(item for item in problem.pending if item.id == job)
    return lost_contests(snapshot_of(problem, after_cycle=True), asked)


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_the_second_of_overtaking_is_that_of_the_formula(seed: int) -> None:
    import random

    rng = random.Random(seed)

    def drawn() -> tuple[Instance, dict[str, float], Callable[[str, float], float]]:
        past = {user: rng.choice([0, 5, 40, 300]) * HOUR for user in ("u1", "u2")}
        usage = tuple(ShareUsage("q", user, cpu_time=cpu) for user, cpu in past.items() if cpu)
        shares = {user: rng.randint(1, 4) for user in past}
        slots = {user: rng.randint(1, 6) for user in past}

        def at(user: str, time: float) -> float:
            # What the running jobs have used by now is among what is stated as used.
            return by_hand(shares[user], slots[user], time, past[user])

        problem = site(shares=tuple(shares.items()), slots=slots, usage=usage)
        return problem, {user: at(user, 0) for user in past}, at

    problem, start, at = drawn()
    while start["u1"] == pytest.approx(start["u2"]):  # level: nobody is behind
        problem, start, at = drawn()
    behind, front = sorted(start, key=lambda user: start[user])
    assert lost(problem, f"p{front}") == ()
    (contest,) = lost(problem, f"p{behind}")
    assert contest.priority == pytest.approx(start[behind], rel=1e-9)
    by_formula = first(lambda time: at(behind, time) > at(front, time) * (1 + 1e-12), 2 * DAY)
    if by_formula is not None:
        assert contest.ahead_from == by_formula
    else:
        assert contest.ahead_from is None or contest.ahead_from >= 2 * DAY


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
    said = lines.index("bjobs would print: Job slot limit reached: a")
    (contest,) = lost(problem, "pu1")
    assert contest.ahead_from is not None
    from slotwise.model.display import duration_text

    ahead = duration_text(contest.ahead_from)
    assert lines[said + 1] == f"q/: u1 0.007 behind u2 0.067; ahead from +{ahead}"
    assert "CPU time as given by jobs" in lines[said + 2]
    data = CliRunner().invoke(app, ["explain", str(file), "pu1", "--format", "json"]).stdout
    record = json.loads(data)
    assert record["contests"][0]["ahead_from"] == contest.ahead_from
    assert record["pending_reasons"] == [
        {"number": 1305, "reason": "Job slot limit reached", "hosts": ["a"]}
    ]
