"""diagnose: the cause that it names is the planted one, and a remedy does what it says."""

from __future__ import annotations

import ast
import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import slotwise as sw
from forked import slotwise
from sampling import some
from slotwise import Diagnosis, InputError, Remedy
from slotwise.cli.main import app
from slotwise.model.formats.settings import changed, read_setting
from slotwise.model.generate import generate
from slotwise.solver.advice.diagnosis.records import page_of
from slotwise.solver.scheduler.continuation import simulated_placements
from slotwise.solver.scheduler.methods import looking_ahead
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
#: Seeds of the generator that are run in every test, of many kinds; the others are slow.
SOME_FAULTS, SOME_SOUND = (3, 10, 35), (3,)
FAULTS, SOUND = range(200, 250), range(20, 40)
NOW = "2026-03-02T09:00:00+01:00"
LISTINGS = ("--bjobs", "jobs.json", "--bhosts", "hosts.json", "--now", NOW)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmarks' generator, as its script imports it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import planted_faults

    return planted_faults


@pytest.fixture
def mill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> sw.Instance:
    """The cluster of the administrator's tutorial; its files are where we are."""
    shutil.copytree(ROOT / "instances" / "tutorial", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for words in (
        ("import", "lsf", "conf", "-o", "site.yaml"),
        ("import", "snapshot", "--site", "site.yaml", *LISTINGS, "-o", "now.yaml"),
    ):
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
    return sw.load("now.yaml")


def starts(instance: sw.Instance) -> dict[str, int | None]:
    top = looking_ahead(instance)
    placed = {
        item.job: item.start for item in simulated_placements(instance, "configured", jobs=top)
    }
    return {job.id: placed.get(job.id) for job in instance.pending}


def does_what_it_says(instance: sw.Instance, job: str, remedy: Remedy) -> None:
    """The setting, read as `whatif --set` reads it, gives the start and the cost that are shown."""
    settings = [read_setting(part) for part in remedy.whatif.split("; ")]
    then, wrong = changed(instance, settings)
    assert not wrong
    assert then is not None
    before, after = starts(instance), starts(then)
    assert after[job] == remedy.start
    assert remedy.gain == (None if before[job] is None else before[job] - remedy.start)
    waits = [
        (other.slots, after[other.id] - before[other.id])
        for other in instance.pending
        if other.id != job and None not in (before[other.id], after[other.id])
    ]
    assert remedy.cost.slot_hours == pytest.approx(sum(n * more for n, more in waits) / 3600)
    mean = sum(more for _, more in waits) / len(waits) if waits else 0.0
    assert remedy.cost.mean_wait == pytest.approx(mean)
    assert len(remedy.cost.longer) == sum(more > 0 for _, more in waits)
    assert len(remedy.cost.sooner) == sum(more < 0 for _, more in waits)


def test_the_tutorial_starves_by_its_short_reservations(mill: sw.Instance) -> None:
    found = sw.diagnose(mill)
    assert [item.job for item in found.starving] == ["110"]
    (job,) = found.jobs
    assert (job.earliest - mill.now, job.proved) == (150 * 60, True)
    assert job.simulated is not None
    assert round((job.simulated - mill.now) / 60) == 270
    assert {"111", "113", "115"} <= set(job.overtaken) <= set(job.passed_by)
    alone, both = job.remedies
    assert (alone.kind, alone.where) == ("reservation expires", "lsb.queues, queue normal")
    assert alone.setting == "SLOT_RESERVE = MAX_RESERVE_TIME[120]"
    assert "LSB_TIME_RESERVE_NUMJOBS = 4" in both.setting
    assert both.cost.slot_hours < alone.cost.slot_hours
    for remedy in (alone, both):
        assert (remedy.start, remedy.reaches) == (job.earliest, True)
        does_what_it_says(mill, "110", remedy)
    (little,) = job.too_little
    assert little.setting == "LSB_TIME_RESERVE_NUMJOBS = 4"
    does_what_it_says(mill, "110", little)


def test_with_its_remedies_nothing_starves(mill: sw.Instance) -> None:
    """Longer reservations alone hold too much for 110, so that the next job starves by that."""
    then, _ = changed(mill, [read_setting("queues.normal.SLOT_RESERVE=MAX_RESERVE_TIME[120]")])
    assert then is not None
    (left,) = sw.diagnose(then).starving[:1]
    assert (left.job, left.cause) == ("111", "greedy estimate")
    then, _ = changed(then, [read_setting("LSB_TIME_RESERVE_NUMJOBS=4")])
    assert then is not None
    found = sw.diagnose(then)
    assert not found.starving
    assert page_of(then, found).answer.startswith("Nothing starves: each of the 7 waiting jobs ")


def test_a_title_tells_who_cannot_start_from_who_starts_later() -> None:
    """One change helps both, and still only one of them cannot start."""
    instance = sw.loads("""
    format: slotwise/1
    hosts: [{name: a, slots: 16}]
    limits: [{name: l, USERS: ann, SLOTS: 8}]
    running: [{id: r, user: ann, start: -1h, run_limit: 3h, allocation: 8*a}]
    pending:
    - {id: small, user: ann, submit: -1h, slots: 4, run_limit: 1h}
    - {id: large, user: ann, submit: -1h, slots: 12, run_limit: 1h}
    """)
    found = sw.diagnose(instance)
    assert {item.job: item.state for item in found.jobs} == {
        "large": "impossible",
        "small": "starts",
    }
    titles = [item.title for item in page_of(instance, found).verdicts]
    assert titles == ["Job large cannot start on this cluster; the same change helps small"]


def test_one_step_and_every_format(mill: sw.Instance) -> None:
    direct = CliRunner().invoke(app, ["diagnose", "now.yaml"])
    assert direct.exit_code == 0
    assert direct.stdout.startswith("1 of 7 waiting jobs starves: job 110.\n")
    for site in ("site.yaml", "conf"):
        words = ["snapshot", "--site", site, *LISTINGS, "-o", "made.yaml"]
        assert CliRunner().invoke(app, words).exit_code == 0
        assert CliRunner().invoke(app, ["diagnose", "made.yaml"]).stdout == direct.stdout
    page = CliRunner().invoke(app, ["diagnose", "now.yaml", "--format", "md"]).stdout
    assert "**1 of 7 waiting jobs starves: job 110.**" in page
    line = "SLOT_RESERVE = MAX_RESERVE_TIME[5] → SLOT_RESERVE = MAX_RESERVE_TIME[120]"
    assert f"1. `lsb.queues, queue normal: {line}`" in page
    assert "`then badmin reconfig`" in page
    assert page.index("<details>") > page.index("`then badmin reconfig`")
    data = json.loads(CliRunner().invoke(app, ["diagnose", "now.yaml", "--format", "json"]).stdout)
    assert data == json.loads(json.dumps(sw.diagnose(mill).to_dict()))
    assert data["starving"][0]["remedies"][0]["start_time"] == "2026-03-02T11:30:00+01:00"


@pytest.mark.slow
def test_a_report_has_the_verdict(mill: sw.Instance) -> None:
    words = ["report", "now.yaml", "-o", "-", "--explain"]
    page = CliRunner().invoke(app, [*words, "1"]).stdout
    assert page.index('id="status"') < page.index('id="verdict"')
    assert "SLOT_RESERVE = MAX_RESERVE_TIME[5] → SLOT_RESERVE = MAX_RESERVE_TIME[120]" in page
    assert 'id="verdict"' not in CliRunner().invoke(app, [*words, "0"]).stdout


@pytest.mark.slow
def test_an_explanation_without_time_for_the_configuration_is_cut(mill: sw.Instance) -> None:
    polls = _Nth(1 << 40)
    whole = sw.explain(mill, "110", configuration=True, cancel=polls)
    for n in range(1, polls.asked, polls.asked // 2):
        found = sw.explain(mill, "110", configuration=True, cancel=_Nth(n))
        assert found.cut or found.answer.cut or found == whole


def test_what_is_stopped_says_so(mill: sw.Instance) -> None:
    stop = threading.Event()
    stop.set()
    found = sw.diagnose(mill, cancel=stop)
    assert (found.cut, found.jobs) == (True, ())
    assert page_of(mill, found).answer.startswith("Stopped before")
    done = CliRunner().invoke(app, ["diagnose", "now.yaml", "--time-limit", "0.01"])
    assert done.exit_code == 3
    assert "Truncated by the limit" in done.stdout


def test_what_was_found_by_then_is_kept(mill: sw.Instance) -> None:
    """Stopped after so many runs of the scheduler: fewer remedies, and it says that it is cut."""
    whole = sw.diagnose(mill)
    kept = []
    for runs in range(2, whole.tried + 1, 3):
        stop = threading.Event()
        count = 0

        def step(_: object, runs: int = runs, stop: threading.Event = stop) -> None:
            nonlocal count
            count += 1
            if count > runs:
                stop.set()

        found = sw.diagnose(mill, cancel=stop, on_progress=step)
        assert found.cut
        kept.append(sum(len(item.remedies) for item in found.jobs))
        known = {remedy.key: remedy.start for item in whole.jobs for remedy in item.remedies}
        for item in found.jobs:
            assert {r.key: r.start for r in item.remedies if r.key in known}.items() <= (
                known.items()
            )
    assert kept == sorted(kept)


class _Nth(threading.Event):
    """Is set from the n-th time on that it is asked; counts how often it was."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n, self.asked = n, 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked >= self.n or super().is_set()


@pytest.mark.parametrize("seed", some([1, 0, 8], 1))
def test_whatever_a_stop_leaves_out_is_marked(seed: int) -> None:
    """Stopped anywhere: the whole diagnosis, or one that says that it is cut."""
    site = generate(hosts=8, per_enclosure=4, running=14, pending=7, load=0.95, seed=seed)
    polls = _Nth(1 << 40)
    whole = sw.diagnose(site, cancel=polls)
    assert whole.jobs
    assert not whole.cut
    for n in range(1, polls.asked, polls.asked // 8):
        found = sw.diagnose(site, cancel=_Nth(n))
        assert found.cut or found.jobs == whole.jobs


def test_a_job_that_is_not_there() -> None:
    instance = sw.load(sw.example("headline"))
    with pytest.raises(InputError, match=r"unknown pending job 'job6'.*'job5'"):
        sw.diagnose(instance, jobs=["job6"])


@pytest.mark.slow
def test_what_no_change_helps_is_named_apart(faults: ModuleType) -> None:
    """A long wait without a cause in the configuration: told, and nothing is said to starve."""
    site = faults.sound(1023).instance
    found = sw.diagnose(site)
    assert found.starving == ()
    assert found["507"].remedies == ()
    page = page_of(site, found)
    assert page.answer.startswith("Nothing starves by the configuration.")
    assert "Job 507 waits longer than its slots require" in [v.title for v in page.verdicts]


def test_two_limits_at_once(mill: sw.Instance) -> None:
    """job3 meets alice's limit and that of the queue: both have to be raised, and no more."""
    found = sw.diagnose(sw.load(sw.example("slot-limits")))
    (remedy,) = found["job3"].remedies
    assert "Limit section alice" in remedy.cause
    assert "QJOB_LIMIT = 8" in remedy.cause
    assert "SLOTS = 8" in remedy.setting
    assert "QJOB_LIMIT = 10" in remedy.setting
    assert remedy.start == 0
    does_what_it_says(sw.load(sw.example("slot-limits")), "job3", remedy)


def test_a_job_that_can_never_start() -> None:
    instance = sw.load(sw.example("headline"))
    job = replace(instance.pending[0], id="giant", slots=1000, max_slots=None, res_req=())
    found = sw.diagnose(replace(instance, pending=(*instance.pending, job)))
    assert not found.starving
    (never,) = found.never
    assert never[0] == "giant"
    assert page_of(instance, found).facts[0].startswith("Job giant cannot start on this cluster")


def test_a_job_that_waits_for_an_unknown_end_could_start_on_this_cluster() -> None:
    """Nothing says when a suspended job ends; a place that is free too late for -t is another."""
    instance = sw.loads("""
    format: slotwise/1
    hosts: [{name: a, slots: 4}, {name: b, slots: 1}]
    queues: [{name: normal, RUNLIMIT: "60"}]
    running:
    - {id: s, start: -1h, allocation: 4*a, run_limit: 2h, suspended: true}
    - {id: r, start: 0, allocation: 1*b, run_limit: 1h}
    pending:
    - {id: p, bsub: -n 4}
    - {id: t, slots: 1, run_limit: 10m, deadline: 25m, hosts: b}
    """)
    found = sw.diagnose(instance)
    assert found.impossible == found.never == ()
    assert [(job, state) for job, state, _ in found.undated] == [
        ("p", "unknown end"),
        ("t", "starts if"),
    ]
    page = page_of(instance, found)
    assert page.answer == "2 of 2 waiting jobs have no known start: jobs p, t."
    assert not any("on this cluster" in note for note in page.notes)
    assert any("it could start by +15m; later LSF aborts it" in fact for fact in page.facts)


def test_the_history_says_how_likely_it_is(mill: sw.Instance) -> None:
    trace = ROOT / "tests/data/traces/KTH-SP2.swf.gz"
    found = sw.diagnose(mill, history=trace, drawing=sw.Drawing(samples=4))
    assert found.forecast
    assert found.jobs[0].likely is not None
    assert found.jobs[0].remedies[0].likely is not None
    assert any("By the history" in text for text in page_of(mill, found).verdicts[0].sentences)


def test_names_of_others_are_text(mill: sw.Instance) -> None:
    """Names with signs of Markdown and HTML stay what they are."""
    from slotwise.cli.diagnose import diagnosis_output
    from slotwise.cli.report.about import html_of

    pending = tuple(replace(job, user="<b>*x*") if job.id == "110" else job for job in mill.pending)
    instance = replace(mill, pending=pending)
    found = sw.diagnose(instance)
    assert "user &lt;b&gt;\\*x\\*" in diagnosis_output(instance, found, "md")
    assert "user &lt;b&gt;*x*" in html_of(page_of(instance, found))


def test_no_cause_begins_with_a_name() -> None:
    """It begins a sentence, whose first letter is made a capital."""
    folder = Path(sw.__file__).parent / "solver" / "advice" / "diagnosis"
    first = set()
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "cause":
                begin = getattr(node.value, "values", [None])[0]
                if isinstance(begin, ast.FormattedValue):
                    first.add(ast.unparse(begin.value))
    # What begins with a word of ours.
    assert first == {"whose", "keeps", "accept"}


def names_the_fault(faults: ModuleType, seed: int) -> bool:
    site = faults.planted(seed)
    found: Diagnosis = sw.diagnose(site.instance)
    for item in found.jobs[:1]:
        for remedy in item.remedies[:1]:
            if remedy.whatif:
                does_what_it_says(site.instance, item.job, remedy)
    return faults.first_cause(found) == site.kind


@pytest.mark.parametrize("seed", some(SOME_FAULTS, 1))
def test_a_planted_fault_is_the_first_cause(faults: ModuleType, seed: int) -> None:
    assert names_the_fault(faults, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SOME_SOUND)
def test_nothing_starves_on_a_sound_site(faults: ModuleType, seed: int) -> None:
    assert sw.diagnose(faults.sound(seed).instance).starving == ()


TEN_KINDS = (
    *("impossible job", "hosts closed", "reservation expires", "limit", "queue limit"),
    *("no reservation", "dispatch window", "memory", "no backfill", "load threshold"),
)


@pytest.mark.parametrize("kind", some(TEN_KINDS, 1))
def test_ten_faults_are_each_the_first_finding(faults: ModuleType, kind: str) -> None:
    """On small sites; `planted_faults.py --ten` has them on larger ones."""
    assert set(faults.TEN) == set(TEN_KINDS)
    site = faults.planted_of(kind, 0, small=True)
    found = sw.diagnose(site.instance)
    assert faults.first_finding(found) == kind
    if kind == "impossible job":
        answer = page_of(site.instance, found).answer
        assert answer.startswith("1 of ")
        assert f"cannot start on this cluster: job {site.victim}." in answer


@pytest.mark.slow
def test_of_fifty_planted_faults_forty_five_are_named(faults: ModuleType) -> None:
    kinds = {faults.planted(seed).kind for seed in FAULTS}
    assert len(kinds) >= 12
    assert sum(names_the_fault(faults, seed) for seed in FAULTS) >= 45


@pytest.mark.slow
def test_of_twenty_sound_sites_none_starves(faults: ModuleType) -> None:
    for seed in SOUND:
        assert sw.diagnose(faults.sound(seed).instance).starving == (), seed


LEFT_OUT = """\
format: slotwise/1
hosts: [{name: h1, slots: 4}]
queues: [{name: q}]
omissions: [{what: omitted 1 job that is held, unplanned: ["1"], jobs: []}]
"""
LENT = """\
format: slotwise/1
hosts: [{name: h1, slots: 4}, {name: h2, slots: 4}]
queues: [{name: q}]
service_classes: [{name: g, GOALS: "[GUARANTEE]", ACCESS_CONTROL: "USERS[o]", AUTO_ATTACH: Y}]
guaranteed_pools:
- {name: p, TYPE: slots, HOSTS: all, DISTRIBUTION: "[g, 100%]",
   LOAN_POLICIES: "QUEUES[all] DURATION[30]"}
pending:
- {id: 2, user: a, queue: q, slots: 2, run_limit: 30m}
- {id: 3, user: o, queue: q, slots: 8, run_limit: 1h, begin: 1h}
"""


@pytest.mark.parametrize("command", ["solve", "diagnose", "simulate", "compare"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (LEFT_OUT, "omitted 1 job that is held"),
        (LENT, "loans of guaranteed pool p"),
    ],
)
def test_every_answer_names_what_it_leaves_out(
    command: str, text: str, says: str, tmp_path: Path
) -> None:
    """A job that was read and is not planned, and loans, which only the scheduler's loop gives."""
    if (command, text) == ("simulate", LENT):
        return  # which obeys loans
    (tmp_path / "a.yaml").write_text(text)
    done = slotwise(command, str(tmp_path / "a.yaml"))
    assert says in " ".join((done.stdout + done.stderr).split())
    assert "Nothing starves" not in done.stdout
