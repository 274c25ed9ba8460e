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
from slotwise.model.display import WrittenTimes
from slotwise.model.formats.objects import examine_objects
from slotwise.model.instance import Instance
from slotwise.model.plan import starts_text
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


@pytest.mark.behaviour("OUT-01")
@pytest.mark.parametrize("seed", some(SEEDS, 10))
def test_every_command_tells_one_outlook(seed: int) -> None:
    """A fault here: two commands that answer one question differently."""
    instance, _ = case(seed)
    while examine_objects(instance)[0]:  # some of them ask for what a file would refuse
        seed += len(SEEDS)
        instance, _ = case(seed)
    every_answer(instance)


@pytest.mark.behaviour("OUT-02")
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


SMALL = """
format: slotwise/1
params: {COMPUTE_UNIT_TYPES: rack, LSF_UNIT_FOR_LIMITS: =unit=}
hosts:
- {name: 'h[1-4]', slots: 16, mem: 64G, swp: 8G, tmp: 100G, gpus: 4}
compute_units:
- {name: r1, type: rack, members: 'h[1-2]'}
- {name: r2, type: rack, members: 'h[3-4]'}
resources: [{name: lic, kind: numeric}]
shared_resources: [{name: lic, amount: 5}]
limits: [{name: L, USERS: bob, SLOTS: 8}]
pending:
- {id: j, user: =user=, bsub: '-W 60 =asked='}
"""
IMPOSSIBLE = [
    ('-n 4 -R "rusage[mem=70000]"', "asks 70000 MB of mem on a host, the largest has 65536 MB"),
    ('-n 4 -R "rusage[swp=9000]"', "asks 9000 MB of swp on a host, the largest has 8192 MB"),
    ('-n 4 -R "rusage[tmp=200000]"', "asks 200000 MB of tmp on a host, the largest has 102400 MB"),
    ("-n 4 -gpu num=8", "asks 8 GPUs on a host, the largest has 4"),
    ('-n 4 -R "rusage[lic=9]"', "needs 9 (has 5)"),
    ('-n 32 -R "span[hosts=1]"', "asks 32 slots on a host, the largest has 16"),
    ('-n 40 -R "span[ptile=20]"', "asks 20 slots on a host, the largest has 16"),
    ('-n 48 -R "span[ptile=8]"', "needs 6 hosts with 8 free slots each (has 4)"),
    ('-n 40 -R "cu[type=rack:maxcus=1]"', "has 32 and lacks 8"),
    ('-n 4 -R "select[mem>99999]"', "(most: 65536 on h1)"),
]


def small(asked: str, unit: str = "MB", user: str = "ann") -> sw.Instance:
    text = SMALL.replace("=asked=", asked)
    return sw.loads(text.replace("=unit=", unit).replace("=user=", user))


@pytest.mark.parametrize(("asked", "amounts"), IMPOSSIBLE)
def test_what_cannot_start_says_what_it_asks_and_what_there_is(asked: str, amounts: str) -> None:
    """A fault here: a reason without its figures, in which no slip of units shows."""
    row = sw.outlook(small(asked), effort=1)["j"]
    assert row.state == "impossible"
    assert amounts in row.condition


def test_amounts_are_in_the_unit_of_the_cluster() -> None:
    row = sw.outlook(small('-n 4 -R "rusage[mem=2148]"', "GB"), effort=1)["j"]
    assert "asks 2148 GB of mem on a host, the largest has 64 GB (this cluster counts in GB)" in (
        row.condition
    )
    slots = small('-n 8 -R "rusage[mem=9000/task] span[hosts=1]"')
    assert "asks 72000 MB of mem on a host (9000 MB for each of 8 slots), the largest" in (
        sw.outlook(slots, effort=1)["j"].condition
    )
    bound = sw.outlook(small("-n 12", user="bob"), effort=1)["j"]
    assert "limit L (slots), which leaves 8" in bound.condition


def test_an_array_of_which_some_never_start_counts_those_that_do() -> None:
    found = sw.ask(small("-n 1"), '-n 15 -W 60 -R "span[hosts=1]" -J "a[1-5]"')
    assert found.array is not None
    clock = WrittenTimes.of(small("-n 1"), (0,))
    alone = replace(found.array, elements=found.array.elements[:2])
    assert starts_text(clock, alone, 2) == "all now"
    assert starts_text(clock, alone, 5) == "2 now"
