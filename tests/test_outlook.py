"""One outlook: every command, page and library call says the same of the start of a job."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from agreement_cases import case
from sampling import some
from slotwise.cli.ask import answer_output
from slotwise.cli.comparison import comparison_output
from slotwise.cli.diagnose import diagnosis_output
from slotwise.cli.explain import explanation_output
from slotwise.cli.render import plan_output
from slotwise.model.formats.objects import examine_objects
from slotwise.model.instance import Instance
from slotwise.solver.outlook.outlook import outlook_of
from slotwise.solver.scheduler.configured import run_as_configured
from slotwise.solver.scheduler.history import snapshot_of

#: Random instances of one run, and of `make test-all`.
SEEDS = range(400)
STARTS = ("as_configured", "estimate", "estimate_by", "possible", "state", "proved")


def told(item: object) -> dict[str, object]:
    """The three starts of a job, its state and its proof, of an outlook or its plain data."""
    if isinstance(item, dict):
        return {name: item[name] for name in STARTS}
    return {name: getattr(item, name) for name in STARTS}


def every_answer(instance: Instance, effort: float = 1.0) -> None:
    """Each way of asking gives the outlook that the library has."""
    whole = sw.outlook(instance, effort=effort)
    compared = sw.compare(instance, effort=effort)
    assert [told(row) for row in compared] == [told(row) for row in whole]
    assert [told(row) for row in compared.to_records()] == [told(row) for row in whole]

    run = run_as_configured(instance)
    plan = sw.plan(instance, "optimal", effort=effort)
    printed = json.loads(
        plan_output(instance, plan, "json", outlook=outlook_of(instance, run, plan))
    )
    assert [told(row) for row in printed["outlook"]["jobs"]] == [told(row) for row in whole]

    diagnosis = sw.diagnose(instance)
    for item in diagnosis.jobs:
        assert item.simulated == whole[item.job].as_configured, item.job
    moment = snapshot_of(instance, after_cycle=True)
    for row in whole:
        if row.job in moment.waiting:
            assert moment.waiting[row.job].estimate == row.estimate, row.job
            assert row.as_configured != instance.now, row.job
    simulated = sw.simulate(replace(instance, future=()), cycle=0).starts
    for job in instance.pending:
        if job.run_time is None and job.id in simulated:
            assert simulated[job.id] == whole[job.id].as_configured, job.id
    for row in whole:
        explained = sw.explain(instance, row.job, effort=effort)
        assert explained.outlook is not None
        same = (
            told(row)
            if row.proved or row.possible is None
            else {
                name: value
                for name, value in told(row).items()
                if name not in ("possible", "proved")
            }
        )
        assert told(explained.outlook) | same == told(explained.outlook), row.job
        assert explained.answer.start == row.as_configured, row.job
        text = explanation_output(instance, explained, "json")
        assert json.loads(text)["outlook"]["as_configured"] == row.as_configured


def test_an_estimate_has_the_name_of_its_method(tmp_path: Path) -> None:
    """Beyond LSB_TIME_RESERVE_NUMJOBS slots are reserved greedily: bjobs says no sooner than."""
    asked = "-n 8 -W 2:00 -R span[ptile=4]"
    alone = sw.load(sw.example("headline"))
    file = tmp_path / "two.yaml"
    text = sw.example("headline").read_text(encoding="utf-8")
    file.write_text(text + f'  - {{id: job6, bsub: "{asked}"}}\n', encoding="utf-8")
    instance = sw.load(file)
    whole = sw.outlook(instance)
    assert [(row.estimate, row.estimate_by) for row in whole] == [
        (3 * 3600, "time-based"),
        (3 * 3600, "greedy"),
    ]
    for job, said in (
        ("job5", "LSF's time-based estimate: +3h"),
        ("job6", "LSF's greedy estimate: no sooner than +3h"),
    ):
        assert said in explanation_output(instance, sw.explain(instance, job), "text").splitlines()
    answer = answer_output(alone, sw.ask(alone, asked), "text")
    assert "LSF's greedy estimate: no sooner than +3h" in answer.splitlines()


@pytest.mark.parametrize("seed", some(SEEDS, 10))
def test_every_command_tells_one_outlook(seed: int) -> None:
    """A fault here: two commands that answer one question differently."""
    instance, _ = case(seed)
    while examine_objects(instance)[0]:  # some of them ask for what a file would refuse
        seed += len(SEEDS)
        instance, _ = case(seed)
    every_answer(instance)


def test_states_have_their_own_words() -> None:
    """None of them is "never"."""
    hosts = (sw.Host("a", 4),)
    queue = sw.Queue("q")
    running = (sw.RunningJob(sw.Job("r", 4, queue="q"), 0, {"a": 4}),)
    pending = (
        sw.Job("large", 8, queue="q", run_limit=60),
        sw.Job("behind", 4, queue="q", run_limit=60),
    )
    instance = sw.Instance(sw.Cluster(hosts), queues=(queue,), running=running, pending=pending)
    found = sw.outlook(instance)
    assert found["large"].state == "impossible"
    assert "8" in found["large"].condition
    assert found["behind"].state == "unknown end"
    shut = replace(instance, queues=(replace(queue, active=False),), running=())
    assert sw.outlook(shut)["behind"].state == "starts if"
    for world in (instance, shut):
        for format in ("text", "json", "csv"):
            table = comparison_output(world, sw.compare(world, methods=True), format)
            assert "never" not in table, table
        told = "\n".join(
            explanation_output(world, sw.explain(world, job.id), "text") for job in pending
        )
        assert "never" not in told, told
        assert " never" not in diagnosis_output(world, sw.diagnose(world), "text")
    closed = replace(instance, cluster=sw.Cluster((*hosts, sw.Host("b", 16, status="closed_Adm"))))
    assert sw.outlook(closed)["large"].condition == "b is opened or comes back"
    assert sw.outlook(replace(instance, running=()))["behind"].state == "starts"
