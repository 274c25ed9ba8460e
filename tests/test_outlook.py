"""One outlook: every command, page and library call says the same of the start of a job."""

from __future__ import annotations

import csv
import io
import json
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pytest
import slotwise as sw
from agreement_cases import case
from forecast_lab import past_jobs
from paired_features import case as paired_case
from paired_features import features_of
from sampling import some
from slotwise import Comparison, Forecasts, Instance, JobOutlook, Outlook, Plan, examples
from slotwise.cli.ask import answer_output
from slotwise.cli.diagnose import diagnosis_output
from slotwise.cli.explain import explanation_output
from slotwise.cli.forecast import forecast_output
from slotwise.cli.render import comparison_output, plan_output
from slotwise.cli.report.about import About
from slotwise.cli.report.data import report_of_comparison, report_of_plan
from slotwise.cli.report.folds import folds_html
from slotwise.cli.selection import Selection, ViewOptions
from slotwise.cli.show import told_cautions
from slotwise.model.display import WrittenTimes
from slotwise.model.duration import expected_finish
from slotwise.model.formats.objects import examine_objects
from slotwise.model.omissions import Omission
from slotwise.model.plan import starts_text
from slotwise.solver.advice import what_if
from slotwise.solver.outlook.outlook import StepLimits, outlook, outlook_of, starts_in_steps
from slotwise.solver.scheduler.continuation import ConfiguredRun, run_as_configured
from slotwise.solver.scheduler.history import snapshot_of
from slotwise.solver.studies.run import Run, RunOptions, perform

#: Random instances of one run, and of `make test-all`.
SEEDS = range(400)
STARTS = ("as_configured", "estimate", "estimate_by", "possible", "state", "proved")
#: What a site's reader may leave out, of some jobs or of all.
LEFT_OUT = (
    {},
    {"queues": ("a",)},
    {"queues": ("b",), "changes": "later ends"},
    {"resources": ("mem",)},
    {"users": ("ann",)},
    {"hosts": ("h0",), "changes": "later ends"},
    {"changes": "sooner ends"},
)
#: Parts of start conditions that no time decides.
UNDATED = ("external({}, ready)", "exit({})", "!started({})", "ended({})", "done({})")
#: Ended jobs, from which a forecast learns.
PAST = past_jobs(*(sw.Job(f"past{n}", 1, run_limit=900) for n in range(3)))


def told(item: object) -> dict[str, object]:
    """The three starts of a job, its state and its proof, of an outlook or its plain data."""
    if isinstance(item, dict):
        return {name: item[name] for name in STARTS}
    return {name: getattr(item, name) for name in STARTS}


def names(cautions: Iterable[Omission]) -> set[str]:
    """What is not modelled of one job."""
    return {item.name for item in cautions}


def every_answer(instance: Instance, effort: float = 1.0, most: int = 3) -> None:
    """Each way of asking gives the outlook that the library has.

    most: jobs that are explained.
    """
    whole = sw.outlook(instance, effort=effort)
    compared = sw.compare(instance, effort=effort)
    assert [told(row) for row in compared] == [told(row) for row in whole]
    assert [told(row) for row in compared.to_records()] == [told(row) for row in whole]
    assert [row.cautions for row in compared] == [row.cautions for row in whole]
    assert [row.possible_cautions for row in compared] == [row.possible_cautions for row in whole]

    run = run_as_configured(instance)
    plan = sw.plan(instance, "optimal", effort=effort)
    outlook = outlook_of(instance, run, plan)
    printed = json.loads(plan_output(instance, plan, "json", outlook=outlook))
    assert [told(row) for row in printed["outlook"]["jobs"]] == [told(row) for row in whole]
    same_words(instance, whole, compared, plan)
    same_of_simulations(instance, whole)
    for row in list(whole)[:: max(1, len(whole) // most)][:most]:
        same_of_one(instance, row, effort)
    if instance.pending:
        same_resubmitted(instance, whole, effort)


def same_words(instance: Instance, whole: Outlook, compared: Comparison, plan: Plan) -> None:
    """What is printed has all cautions, a word of its own for each state, and no "never"."""
    by_csv = csv.DictReader(io.StringIO(comparison_output(instance, compared, "csv")))
    for row, cells in zip(whole, by_csv, strict=True):
        assert cells["state"] == row.state
        assert set(filter(None, cells["cautions"].split("; "))) == names(row.cautions)
    table = csv.DictReader(io.StringIO(plan_output(instance, plan, "csv", outlook=whole)))
    assert {cells["job"]: cells["as_configured_state"] for cells in table} == {
        row.job: row.state for row in whole
    }
    texts = [comparison_output(instance, compared, "text"), plan_output(instance, plan, "text")]
    texts.append(plan_output(instance, plan, "text", outlook=whole))
    for report in (
        report_of_comparison("x", instance, compared, {}),
        report_of_plan("x", instance, plan, {}),
    ):
        texts.append(unescape(folds_html(About(report), report.notes)))
    for text in texts:
        assert not re.search(r"\bnever\b", text), text
        flat = " ".join(text.split())
        assert all(name in flat for row in whole for name in names(row.cautions)), text


def same_of_simulations(instance: Instance, whole: Outlook) -> None:
    """Of diagnose, show bjobs -l, simulate, whatif and forecast."""
    diagnosis = sw.diagnose(instance)
    for item in diagnosis.jobs:
        assert item.simulated == whole[item.job].as_configured, item.job
        assert item.simulated is not None or item.state == whole[item.job].state, item.job
    for job, state, _ in diagnosis.undated:
        assert state == whole[job].state, job
    moment = snapshot_of(instance, after_cycle=True)
    for row in whole:
        if row.job in moment.waiting:
            assert moment.waiting[row.job].estimate == row.estimate, row.job
            assert row.as_configured != instance.now, row.job
    alone = replace(instance, future=())
    simulated = sw.simulate(at_limits(alone), cycle=0)
    for row in whole:
        assert simulated.starts.get(row.job) == row.as_configured, row.job
    study = perform(Run(alone, RunOptions(cycle=0)))
    assert study is not None
    shown = told_cautions(instance, ViewOptions(long=True))
    predicted, later = forecasts(instance), sw.simulate(at_limits(alone)).starts
    for row in whole:
        said = names(row.cautions)
        assert names(shown.get(row.job, ())) == said, row.job
        for found in (diagnosis.omissions, simulated.omissions, predicted.omissions):
            assert names(item for item in found if item.touches(row.job)) == said, row.job
        assert all(any(name in note for note in study.notes) for name in said)
        limits = predicted.records(None)[predicted.names.index(row.job)]["by_limits"]
        assert predicted.policy or limits == later.get(row.job), row.job
    table = forecast_output(instance, predicted, Selection(), None, "text")
    assert not re.search(r"\bnever\b", table), table


def at_limits(instance: Instance) -> Instance:
    """Without what only a simulation knows: how long jobs really run."""
    running = (replace(run, job=replace(run.job, run_time=None)) for run in instance.running)
    pending = (replace(job, run_time=None) for job in instance.pending)
    return replace(instance, running=tuple(running), pending=tuple(pending))


def forecasts(instance: Instance) -> Forecasts:
    """One future, for the starts by limits."""
    return sw.forecast(instance, PAST, samples=1)


def same_of_one(instance: Instance, row: JobOutlook, effort: float) -> None:
    """Of explain: what is proved, and what is not touched by jobs behind it, is the same."""
    explained = sw.explain(instance, row.job, effort=effort)
    assert explained.outlook is not None
    same = told(row)
    if not (row.proved or row.possible is None):
        same = {k: v for k, v in same.items() if k not in ("possible", "proved")}
    assert told(explained.outlook) | same == told(explained.outlook), row.job
    assert names(explained.outlook.cautions) == names(row.cautions)
    assert explained.answer.start == row.as_configured, row.job
    record = json.loads(explanation_output(instance, explained, "json"))
    assert record["outlook"]["as_configured"] == row.as_configured
    text = " ".join(explanation_output(instance, explained, "text").split())
    assert not re.search(r"\bnever\b", text.replace("invalid or never satisfied", "")), text
    for name in names(row.cautions):
        assert text.count(name) == 1, (name, text)


def same_resubmitted(instance: Instance, whole: Outlook, effort: float) -> None:
    """Of ask, for the job that was submitted last, where nothing else tells it apart."""
    *others, last = instance.pending
    plain = last.array_id is None and not any(last.id in job.dependency for job in others)
    held = {*(item.job for item in instance.held), *(item.job for item in instance.borrowed)}
    if not plain or last.submit != instance.now or last.id in held or instance.lsf_says:
        return
    if any(last.id in (item.jobs or ()) for item in instance.omissions):
        return
    asked = sw.ask(replace(instance, pending=tuple(others)), last, effort=effort)
    assert asked.outlook is not None
    row = whole[last.id]
    assert asked.outlook.as_configured == row.as_configured
    assert asked.outlook.state == row.state
    assert asked.outlook.estimate == row.estimate
    assert names(asked.outlook.cautions) == names(row.cautions)
    text = " ".join(answer_output(instance, asked, "text").split())
    for name in names(row.cautions):
        assert text.count(name) == 1, (name, text)
        assert "touches" not in text


def with_cautions(instance: Instance, seed: int) -> Instance:
    """With inputs that were left out, options and conditions that nobody obeys, and shut queues."""
    random = Random(seed)
    left_out = tuple(
        Omission(f"part {number}", random.choice(("", "lsb.queues:4")), **scope)  # type: ignore[arg-type]
        for number, scope in enumerate(LEFT_OUT)
        if random.random() < 0.5
    )
    jobs = list(instance.pending)
    # A job that is past its limit is killed at once: it is done for a plan, and not for the loop.
    ends = {run.job.id: expected_finish(instance, run) for run in instance.running}
    running = [job for job, end in ends.items() if end is None or end > instance.now + 60]
    for at in range(1, len(jobs)):
        other = random.choice([*running, jobs[at - 1].id])
        if random.random() < 0.3 and not jobs[at].dependency and "[" not in other:
            condition = random.choice(UNDATED).format(other)
            jobs[at] = replace(jobs[at], dependency=condition)
        if random.random() < 0.2:
            jobs[at] = replace(jobs[at], unheeded=(*jobs[at].unheeded, "-sla gold"))
    queues = tuple(
        replace(queue, active=random.random() < 0.8 and queue.active) for queue in instance.queues
    )
    here = tuple(
        replace(run, suspended=run.suspended or random.random() < 0.1) for run in instance.running
    )
    it = replace(instance, pending=tuple(jobs), queues=queues, running=here)
    return replace(it, omissions=(*instance.omissions, *left_out))


def sound(made: Callable[[int], Instance], seed: int) -> Instance:
    """The first of some instances that no rule of files refuses."""
    found = made(seed)
    while examine_objects(found)[0]:  # some of them ask for what a file would refuse
        seed += len(SEEDS)
        found = made(seed)
    return found


@pytest.mark.behaviour("OUT-01")
@pytest.mark.parametrize("seed", some(SEEDS, 2))
def test_every_command_tells_one_outlook(seed: int) -> None:
    """A fault here: two commands that answer one question differently."""
    every_answer(sound(lambda n: case(n)[0], seed))


@pytest.mark.parametrize("seed", some(SEEDS, 2))
def test_every_command_names_the_same_cautions(seed: int) -> None:
    """A fault here: a command that leaves out a caution of a job, or has one that is not its."""
    every_answer(
        sound(lambda n: with_cautions(paired_case(features_of(n), n).instance, n), seed), most=2
    )


#: Examples whose queues take long to plan.
LARGE = ("cluster-1000", "ctc-sp2-queue-100", "kth-sp2-queue-20", "theta-queue-50", "site")


@pytest.mark.parametrize(
    "name",
    [
        *some([name for name in examples() if name not in LARGE], 4),
        *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE),
    ],
)
def test_every_command_tells_one_outlook_of_an_example(name: str) -> None:
    every_answer(replace(sw.load(sw.example(name)), lsf_says=()), effort=5.0)


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


ARRAY = """
format: slotwise/1
hosts: [{name: 'h[1-2]', slots: 4}]
running: [{id: r, start: 0, slots: 6, allocation: {h1: 4, h2: 2}, run_limit: 1h}]
pending:
- {id: '7[1]', slots: 3, run_limit: 20m}
- {id: '7[2]', slots: 3, run_limit: 20m}
- {id: e, slots: 8, run_limit: 20m, dependency: 'done(r)'}
- {id: n, slots: 9, run_limit: 20m}
"""


@pytest.mark.parametrize("asked", ["-n 4 -W 10", '-n 4 -W 10 -J "a[1-3]"', "-n 9 -W 5", "e", "7"])
def test_one_run_of_the_scheduler_serves_an_answer(
    asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault here: the same jobs on the same cluster simulated twice."""
    runs: list[tuple[object, ...]] = []

    def counted(instance: Instance, **options: object) -> ConfiguredRun:
        runs.append((instance.pending, instance.cluster, instance.running))
        return run_as_configured(instance, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(what_if, "run_as_configured", counted)
    instance = sw.loads(ARRAY)
    answer: Any = sw.ask(instance, asked) if " " in asked else sw.explain(instance, asked)
    assert answer.outlook is not None
    assert runs
    assert all(runs.count(run) == 1 for run in runs)


def test_what_a_limit_leaves_open_is_not_examined() -> None:
    """Each start that there is time for stands under its own name, the others are not known."""
    instance, stopped = sw.loads(ARRAY), threading.Event()
    stopped.set()
    for answer in (
        sw.explain(instance, "e", cancel=stopped),
        sw.ask(instance, "-n 4 -W 10", cancel=stopped),
        sw.explain(instance, "e", time_limit=0.001),
    ):
        assert answer.outlook is not None
        if answer.outlook.as_configured is None:
            assert answer.outlook.state == "not examined"
            assert not answer.outlook.proved
    text = explanation_output(instance, sw.explain(instance, "e", cancel=stopped), "text")
    assert "e was not examined: the limit or Ctrl-C came first" in text


def test_a_closed_window_is_what_keeps_a_job_whose_slots_are_free() -> None:
    """A fault here: SLOT_RESERVE is blamed, which the next cycle's estimate knows and no window."""
    text = ARRAY.replace("running:", "queues: [{name: w, DISPATCH_WINDOW: '3:00-4:00'}]\nrunning:")
    text = text.replace("dependency: 'done(r)'", "queue: w")
    found = sw.explain(sw.loads("origin: '2026-03-02T00:00:00+00:00'" + text), "e")
    assert found.outlook is not None
    assert found.outlook.as_configured == 3 * 3600
    assert "window" in found.obstacles[-1].reason
    assert not any("SLOT_RESERVE" in item.reason for item in found.obstacles)


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
    assert sw.outlook(closed)["large"].condition == "b is opened or returns"
    assert sw.outlook(replace(instance, running=()))["behind"].state == "starts"


ACTS = """
format: slotwise/1
hosts: [{name: 'h[1-2]', slots: 4}, {name: h3, slots: 4, status: closed_Adm}]
queues: [{name: q}, {name: off, active: false}]
running: [{id: r, queue: q, start: 0, allocation: 2*h1}]
pending: [{id: j, user: ann, run_limit: 60, =asked=}]
"""
ACTIVE = "queue off is activated (badmin qact off)"
THEN = "; then waits for jobs whose end is unknown (no run limit): r"


@pytest.mark.parametrize(
    ("asked", "condition"),
    [
        ("queue: off, slots: 4", ACTIVE),
        ("queue: off, slots: 4, hosts: [h3, h2]", ACTIVE),
        ("queue: off, slots: 8", f"{ACTIVE}{THEN}"),
        ("queue: off, slots: 4, hosts: h3", f"{ACTIVE} and h3 is opened or returns"),
        ("queue: off, slots: 12", f"{ACTIVE} and h3 is opened or returns{THEN}"),
        ("queue: q, slots: 12", f"h3 is opened or returns{THEN}"),
        ("queue: q, slots: 10", "h3 is opened or returns"),
        ("queue: off, dependency: ended(r)", f"{ACTIVE}; then waits for the end of job r"),
    ],
)
def test_a_job_that_starts_if_names_all_that_must_happen(asked: str, condition: str) -> None:
    """The queue, the hosts and the jobs without a known end together."""
    row = sw.outlook(sw.loads(ACTS.replace("=asked=", asked)))["j"]
    assert row.state == "starts if"
    assert row.condition.startswith(condition), row.condition
    assert ("; then" in row.condition) == ("; then" in condition)


def test_a_job_that_starts_at_once_waits_for_nothing() -> None:
    """Also where it does so by backfill, after others were given what is free."""
    text = """
format: slotwise/1
hosts: [{name: 'h[1-2]', slots: 4}]
queues: [{name: q, SLOT_RESERVE: 'MAX_RESERVE_TIME[9]', BACKFILL: Y}]
running: [{id: r, queue: q, start: 0, run_limit: 1h, allocation: 4*h1}]
pending: [{id: large, slots: 8, run_limit: 1h}, {id: small, slots: 4, run_limit: 30m}]
"""
    row = sw.outlook(sw.loads(text))["small"]
    assert (row.as_configured, row.possible) == (0, 0)
    assert row.waits_for == row.held_back == ""


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
    ('-n 32 -R "span[hosts=1]"', "requests 32 slots on one host; the largest host has 16"),
    ('-n 40 -R "span[ptile=20]"', "requests 20 slots on one host; the largest host has 16"),
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


def test_the_steps_of_an_outlook_end_in_the_whole_one() -> None:
    """The first steps give no possible start, and no start that the whole outlook contradicts."""
    instance = sw.load(sw.example("kth-sp2-queue-10"))
    parts: list[Outlook] = []
    go = threading.Event()
    limits = StepLimits(first=0.0, configured=60.0, plan=10.0)
    found = starts_in_steps(instance, parts.append, limits, cancel=go, skip_plan=go)
    assert found.to_dict() == outlook(instance, time_limit=10.0).to_dict()
    assert [item.job for item in parts[-1]] == [item.job for item in found]
    for part in parts:
        assert part.plan is None
        assert all(item.possible is None for item in part)
        for item in part:
            if item.state == "starts":
                assert item.as_configured == found[item.job].as_configured
            else:
                assert item.state in ("not examined", found[item.job].state)
    assert parts[0].cut
    assert {item.state for item in parts[0]} == {"starts", "not examined"}
    counts = [sum(item.state == "starts" for item in part) for part in parts]
    assert len(parts) > 2, "what is known by then is told again and again"
    assert counts == sorted(counts)
