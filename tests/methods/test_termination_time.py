"""-t: who cannot run for his limit before it does not start, and it kills (PAI-07)."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from slotwise import Cluster, Host, Instance, Job, Params, PlannedJob, Queue, RunningJob, loads
from slotwise.cli.main import app
from slotwise.model.duration import last_start
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("PAI-07")
METHODS = ("greedy", "time-based", "optimal", "milp")
H = 3600


def one_host(*pending: Job, running: tuple[RunningJob, ...] = (), **queue: object) -> Instance:
    queues = (Queue("default", **queue),)  # type: ignore[arg-type]
    params = Params(time_reserve_numjobs=9)
    cluster = Cluster((Host("a", slots=4),))
    return Instance(cluster, queues=queues, params=params, running=running, pending=pending)


def starts(instance: Instance, method: str) -> dict[str, tuple[int, int | None]]:
    found = plan(instance, method, effort=10)  # type: ignore[arg-type]
    assert validate(instance, found) == []
    if method in ("optimal", "milp"):
        assert all(item.proved for item in found)
    return {item.job: (item.start, item.finish) for item in found if item.start is not None}


def looped(instance: Instance) -> dict[str, tuple[int | None, int | None, str]]:
    return {r.job: (r.start, r.end, r.status) for r in simulate(instance, cycle=1).jobs}


NEXT = Job("next", 4, run_limit=1800)
CASES = (  # the job, its queue, and when it starts and ends, None for aborted
    ({"run_limit": 2 * H, "deadline": H}, {}, None),
    ({"run_limit": H, "deadline": H}, {}, (0, H)),
    ({"run_limit": H + 1, "deadline": H}, {}, None),
    ({"run_limit": 2 * H, "deadline": H}, {"ignore_deadline": True}, (0, H)),
    ({"run_limit": 2 * H, "deadline": H, "estimated_run_time": 60}, {}, None),
    ({"run_limit": H, "deadline": H, "estimated_run_time": 60}, {}, (0, 60)),
    ({"deadline": H}, {}, (0, H)),
    ({"deadline": H, "estimated_run_time": 2 * H}, {}, (0, H)),
    ({"deadline": H}, {"run_limit": 2 * H}, None),
    ({"deadline": H}, {"run_limit_max": 2 * H}, None),
    ({"deadline": H, "cpu_limit": 2 * H}, {}, None),
    ({"deadline": H, "cpu_limit": H}, {}, (0, H)),
    ({"deadline": H}, {"cpu_limit": 2 * H, "ignore_deadline": True}, (0, H)),
    ({"run_limit": H, "deadline": H, "begin": 1}, {}, None),
    ({"deadline": -5}, {}, None),
    ({"deadline": -5}, {"ignore_deadline": True}, None),
)


@pytest.mark.parametrize(("job", "queue", "runs"), CASES)
def test_it_runs_for_its_limit_before_it_or_not_at_all(
    job: dict[str, int], queue: dict[str, object], runs: tuple[int, int] | None
) -> None:
    """What it leaves free then is known to all, plans and loop alike."""
    instance = one_host(Job("j", 4, **job), NEXT, **queue)  # type: ignore[arg-type]
    free = 0 if runs is None else runs[1]
    wanted = {"next": (free, free + 1800)} | ({} if runs is None else {"j": runs})
    for method in METHODS[1:]:
        assert starts(instance, method) == wanted
    greedy = plan(instance, "greedy")
    assert (greedy["j"].start if "j" in greedy else None) == (None if runs is None else 0)
    found = looped(instance)
    assert found["next"][:2] == wanted["next"]
    assert found["j"][:2] == runs if runs is not None else found["j"][0] is None
    if runs is None:
        assert found["j"][2] == "killed"
        (told,) = (item for item in plan(instance, "time-based").unplaced if item.job == "j")
        assert told.reason.endswith("LSF aborts it")


def test_who_waits_for_the_end_of_a_job_knows_it() -> None:
    jobs = (Job("j", 4, deadline=H), replace(NEXT, dependency="ended(j)"))
    for method in METHODS[1:]:
        assert starts(one_host(*jobs), method)["next"][0] == H
    assert looped(one_host(*jobs))["next"][0] == H
    never = (Job("j", 4, run_limit=2 * H, deadline=H), replace(NEXT, dependency="done(j)"))
    for method in METHODS[1:]:
        assert starts(one_host(*never), method) == {}
    exit_ = (never[0], replace(NEXT, dependency="exit(j)"))
    assert looped(one_host(*exit_))["next"][0] is not None


def test_the_judge_has_its_own_reading() -> None:
    """A start too late, and an end beyond it."""
    instance = one_host(Job("j", 4, run_limit=H, deadline=2 * H))
    empty = replace(plan(instance, "time-based"), reservations=())

    def says(start: int, finish: int) -> list[str]:
        entry = PlannedJob("j", start, finish, {"a": 4}, method="test")
        found = replace(empty, reservations=(entry,), value=None)
        return [v.check for v in validate(instance, found)]

    assert says(H, 2 * H) == []
    assert says(H + 1, 2 * H) == ["deadline"]
    assert says(H + 1, 2 * H + 1) == ["deadline", "finish"]
    assert says(2 * H, 2 * H) == ["deadline"]
    instance = replace(instance, queues=(Queue("default", ignore_deadline=True),))
    assert says(H + 1, 2 * H) == []
    assert says(H + 1, 2 * H + 1) == ["finish"]


def test_ignore_deadline_is_said_beside_run_windows() -> None:
    text = "origin: '2026-07-28T16:00:00+00:00'\nhosts: [{name: a, slots: 4}]\n"
    text += "queues: [{name: q, RUN_WINDOW: '15:00-17:00', IGNORE_DEADLINE: Y}]\n"
    text += "pending: [{id: j, slots: 4, run_limit: 2h, queue: q}]\n"
    instance = loads("format: slotwise/1\n" + text)
    assert looped(instance)["j"][0] == 0
    found = plan(instance, "optimal", effort=10)
    assert any("IGNORE_DEADLINE" in item.what for item in found.omissions)
    assert not any(item.proved for item in found)


def test_ask_explain_and_views_say_it(tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    text = "format: slotwise/1\norigin: '2026-07-28T16:00:00+00:00'\nhosts: [{name: a, slots: 4}]\n"
    file.write_text(text + "pending: [{id: late, bsub: '-n 4 -W 2:00 -t 17:00'}]\n")

    def told(*words: str) -> str:
        return " ".join(CliRunner().invoke(app, [words[0], *words[1:]]).stdout.split())

    why = "cannot run for its run limit (2h) before its termination time (-t 2026-07-28 17:00:00)"
    assert why in told("ask", str(file), "-n 4 -W 2:00 -t 17:00 x")
    assert "ends 17:00" in told("ask", str(file), "-n 4 -t 17:00 x")
    script = tmp_path / "job.lsf"
    script.write_text("#BSUB -n 4\n#BSUB -W 2:00\n#BSUB -t 17:00\nsleep 1\n")
    assert why in told("ask", str(file), str(script))
    assert why in told("explain", str(file), "late")
    assert "job aborted: it would miss its deadline" in told("show", "bjobs", str(file), "-a", "-l")


def test_who_finds_no_place_in_time_does_not_wait_for_an_unknown_end(tmp_path: Path) -> None:
    """The end of r is known; e, without a limit, ends at its own -t."""
    file = tmp_path / "t.yaml"
    file.write_text("""
format: slotwise/1
origin: '2026-07-28T16:00:00+00:00'
hosts: [{name: a, slots: 1}]
queues: [{name: q}]
running: [{id: r, start: 0, allocation: 1*a, run_limit: 1h}]
pending:
- {id: d, slots: 1, run_limit: 10m, deadline: 25m}
- {id: e, slots: 1, deadline: 45m}
""")

    def told(*words: str) -> str:
        return " ".join(CliRunner().invoke(app, list(words)).stdout.split())

    compared = told("compare", str(file), "--wide")
    assert "2 jobs start only once another event occurs: d and e." in compared
    assert "not known" not in compared
    late = "it could start by 2026-07-28 16:15:00; later LSF aborts it"
    assert late in told("ask", str(file), "-n 1 -W 10 -t 16:25 x")
    explained = told("explain", str(file), "d")
    assert late in explained
    assert "16:15:01 it would not end before its termination time (-t)" in explained
    assert "window" not in explained
    assert "could start before its termination time (-t" in told("explain", str(file), "e")


def _random(seed: int) -> Instance:
    rng = random.Random(seed)
    hosts = tuple(Host(name, slots=rng.choice((1, 2, 3))) for name in "ab"[: rng.choice((1, 2))])
    queues = (
        Queue("default", backfill=rng.random() < 0.5, slot_reserve=rng.choice((None, 100))),
        Queue("free", ignore_deadline=True, run_limit=rng.choice((None, 40))),
    )
    running = [
        RunningJob(
            Job(f"r{host.name}", 1, run_limit=rng.choice((None, 30, 60)), submit=-20,
                deadline=rng.choice((None, 25, 50, -5))),
            -10, {host.name: 1}, suspended=rng.random() < 0.2,
        )
        for host in hosts
    ]  # fmt: skip
    pending = [
        Job(
            f"j{n}", rng.randint(1, 3), queue=rng.choice(("default", "default", "free")),
            run_limit=rng.choice((None, 10, 20, 40)), submit=n - 10,
            estimated_run_time=rng.choice((None, None, 5, 30)),
            deadline=rng.choice((None, 20, 45, 60, 100)), begin=rng.choice((None, None, 15)),
            dependency=rng.choice(("", "", "done(j0)")) if n else "",
        )
        for n in range(rng.randint(1, 4))
    ]  # fmt: skip
    return Instance(
        Cluster(hosts), queues=queues, running=tuple(running), pending=tuple(pending),
        params=Params(time_reserve_numjobs=9),
    )  # fmt: skip


def _agrees(seed: int) -> None:
    """The exact methods agree, the judge accepts every plan, and no run of the loop is too long."""
    instance = _random(seed)
    found = {method: plan(instance, method, effort=10) for method in METHODS}
    for item in found.values():
        assert validate(instance, item) == []
    exact = [found[method] for method in ("optimal", "milp")]
    if all(item.status != "feasible" for item in exact):
        one, other = ({p.job: p.start for p in item} for item in exact)
        assert one == other
    jobs = {job.id: job for job in (*instance.pending, *(run.job for run in instance.running))}
    for record in simulate(instance, cycle=1).jobs:
        job = jobs[record.job]
        if job.deadline is None or job.dependency:
            continue
        assert record.end is not None
        last = last_start(instance, job)
        if record.start is not None and record.start >= 0:
            assert last is not None
            assert record.start <= last
            assert record.end <= job.deadline


def test_methods_judge_and_loop_agree() -> None:
    for seed in range(6):
        _agrees(seed)


@pytest.mark.slow
def test_methods_judge_and_loop_agree_at_length() -> None:
    for seed in range(6, 400):
        _agrees(seed)
