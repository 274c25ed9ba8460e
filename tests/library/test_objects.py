"""What the library gives back: picklable, iterable, shown in notebooks, and safe in threads."""

from __future__ import annotations

import gzip
import inspect
import itertools
import json
import pickle
import re
import threading
from dataclasses import fields, replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import slotwise as sw

HEADLINE = sw.load(sw.example("headline"))
JOINT = sw.load(sw.example("joint-wins"))
#: The ids of its jobs are numbers.
TUTORIAL = sw.load(sw.example("tutorial"))
#: Names that are no objects of ours but types for annotations.
TYPES = {"Change", "Method", "ObjectiveName", "OnProgress", "Reservation", "Status"}


#: What one of everything that a call returns is called.
NAMES = (
    *("instance", "plan", "planned job", "greedy plan", "comparison", "explanation", "answer"),
    *("simulation", "metrics", "violations", "progress"),
)


@cache
def results() -> dict[str, Any]:
    """One of everything that a call returns."""
    plan = sw.plan(JOINT, effort=1)
    simulation = sw.simulate(JOINT, keep_log=True)
    return {
        "instance": JOINT,
        "plan": plan,
        "planned job": plan.reservations[0],
        "greedy plan": sw.plan(JOINT, "greedy"),
        "comparison": sw.compare(JOINT, effort=1, methods=True),
        "explanation": sw.explain(HEADLINE, "job5"),
        "answer": sw.ask(HEADLINE, "-n 2 -W 1:00", choices=sw.Choices(slots=(1, 4))),
        "simulation": simulation,
        "metrics": sw.measure(simulation),
        "violations": sw.validate(replace(JOINT, pending=()), plan),
        "progress": sw.Progress(1, 2, 3.0, 2.0, 0.5),
    }


def test_all_results_have_a_name() -> None:
    assert tuple(results()) == NAMES


def test_errors_survive_pickling_with_their_problems() -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.loads("format: slotwise/1\nhosts: [{name: a, slots: -1}]\nfuture: x")
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.problems == caught.value.problems
    assert len(again.problems) == 2
    assert str(again) == str(caught.value)
    unknown = sw.UnknownNameError("no job is called 'x'")
    assert type(pickle.loads(pickle.dumps(unknown))) is sw.UnknownNameError
    assert str(pickle.loads(pickle.dumps(unknown))) == "no job is called 'x'"


def test_calls_can_be_sent_to_other_processes() -> None:
    for call in (sw.plan, sw.compare, sw.explain, sw.ask, sw.simulate, sw.validate, sw.load):
        assert pickle.loads(pickle.dumps(call)) is call


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: results()["plan"]["jub1"], "unknown job 'jub1'"),
        (lambda: results()["simulation"]["jub1"], "unknown job 'jub1'"),
        (lambda: results()["comparison"]["jub1"], "unknown job 'jub1'"),
        (lambda: sw.explain(HEADLINE, "job6"), "did you mean 'job5'?"),
        (lambda: HEADLINE.queue("paralel"), "did you mean 'parallel'?"),
        (lambda: sw.example("hedline"), "did you mean 'headline'?"),
        (lambda: sw.plan(HEADLINE, "greddy"), "did you mean 'greedy'?"),  # type: ignore[arg-type]
        (lambda: sw.plan(HEADLINE, objective="makespam"), "did you mean 'makespan'?"),  # type: ignore[arg-type]
        (lambda: sw.plan(HEADLINE, objective=["makespan"]), "unknown objective"),  # type: ignore[arg-type]
        (lambda: sw.simulate(HEADLINE, reservation="gredy"), "did you mean 'greedy'?"),  # type: ignore[arg-type]
        (lambda: sw.explain(HEADLINE, "job5", method="milp"), "of configured, time-based, "
        "optimal"),  # type: ignore[arg-type]
        (lambda: sw.ask(HEADLINE, "-n 1", method="optimum"), "did you mean 'optimal'?"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_unknown_names(call: Any, message: str) -> None:
    with pytest.raises(sw.UnknownNameError) as caught:
        call()
    assert message in str(caught.value)
    assert isinstance(caught.value, sw.SlotwiseError)
    assert isinstance(caught.value, KeyError)
    assert isinstance(caught.value, ValueError)


def test_a_job_without_a_start_is_told_with_its_reason() -> None:
    huge = sw.Job("huge", 10_000, queue="parallel", run_limit=60)
    plan = sw.plan(replace(HEADLINE, pending=(huge,)), "optimal")
    with pytest.raises(KeyError, match="has no start in this plan: "):
        plan["huge"]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader


@pytest.mark.parametrize(
    "name", ["plan", "greedy plan", "comparison", "simulation", "explanation", "answer"]
)
def test_it_shows_itself_in_a_notebook(name: str) -> None:
    value = results()[name]
    reader = _read(value._repr_html_())
    assert set(reader.tags) == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    text = " ".join(reader.words)
    job = value.answer.job.id if name == "explanation" else None
    jobs = [job] if job else [] if name == "answer" else [row.job for row in value]
    assert all(job in text for job in jobs)


def test_what_a_notebook_shows_is_escaped() -> None:
    """Ids may come from a site's users: whatever they hold is text."""
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    plan = sw.Plan(
        "optimal", "lexicographic", "feasible", 0,
        (sw.PlannedJob(evil, 0, 60, {evil: 1}, waits_for=evil),),
        (sw.Unplaced(evil, evil),),
    )  # fmt: skip
    simulation = results()["simulation"]
    bad = replace(simulation, jobs=(replace(simulation.jobs[0], job=evil, reason=evil),))
    comparison = results()["comparison"]
    row = replace(comparison.jobs[0], job=evil, possible_on={evil: 1})
    for value in (plan, bad, replace(comparison, jobs=(row,))):
        html = value._repr_html_()
        assert "script" not in _read(html).tags
        assert "\x1b" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html


def test_a_long_plan_is_shown_in_part_and_counted() -> None:
    jobs = tuple(sw.PlannedJob(f"j{n}", 0, 60, {"a": 1}) for n in range(1000))
    html = sw.Plan("greedy", "lexicographic", "heuristic", 0, jobs)._repr_html_()
    assert html.count("<tr>") < 100
    assert "and 940 more" in html


LONG = {
    "plan": lambda **more: sw.plan(JOINT, effort=1, **more),
    "weighted": lambda **more: sw.plan(JOINT, objective="total-start", effort=1, **more),
    "milp": lambda **more: sw.plan(JOINT, "milp", effort=1, **more),
    "compare": lambda **more: sw.compare(JOINT, effort=1, **more, methods=True),
    "explain": lambda **more: sw.explain(HEADLINE, "job5", **more),
    "ask": lambda **more: sw.ask(HEADLINE, "-n 2 -W 1:00", explore=True, **more),
    "simulate": lambda **more: sw.simulate(JOINT, **more),
}


@pytest.mark.parametrize("name", LONG)
def test_every_long_call_tells_its_progress(name: str) -> None:
    told: list[sw.Progress] = []
    LONG[name](on_progress=told.append)
    assert told
    assert all(type(item) is sw.Progress for item in told)
    assert all(str(item) for item in told)
    assert [item.done for item in told] == sorted(item.done for item in told)
    assert all(item.total is None or item.done <= item.total for item in told)


@pytest.mark.parametrize("name", LONG)
def test_every_long_call_can_be_cancelled(name: str) -> None:
    cancel = threading.Event()
    cancel.set()
    found = LONG[name](cancel=cancel)
    assert found
    if name == "simulate":
        assert not found.complete
        assert found.cycles == 0


def test_what_the_model_is_made_of_is_exported() -> None:
    """Every class that an annotation of the public calls or of an instance names."""
    for name in ("Cluster", "Host", "Job", "Queue", "RunningJob", "Params", "Limit", "User"):
        assert inspect.isclass(getattr(sw, name))
    assert get_args(sw.Method) == ("greedy", "time-based", "optimal", "milp", "slurm")
    assert "lexicographic" in get_args(sw.ObjectiveName)
    assert "heuristic" in get_args(sw.Status)
    assert "configured" in get_args(sw.Reservation)
    for name in set(dir(sw)) - TYPES - {"__version__"}:
        assert getattr(sw, name).__doc__


@pytest.mark.parametrize("name", ["plan", "compare", "explain", "ask", "simulate"])
def test_long_calls_keep_their_signature_and_take_cancel_and_progress(name: str) -> None:
    parameters = inspect.signature(getattr(sw, name)).parameters
    assert next(iter(parameters)) == "instance"
    assert {"cancel", "on_progress"} <= set(parameters)


def test_an_instance_is_made_of_its_parts() -> None:
    hosts = [sw.Host("a", 4), sw.Host("b", 4)]
    jobs = (sw.Job(f"j{n}", 2, run_limit=600) for n in range(3))
    made = sw.instance(hosts, pending=jobs, now=60)
    assert made == sw.Instance(sw.Cluster(tuple(hosts)), pending=made.pending, now=60)
    assert sw.plan(made, "time-based")["j2"].start == 60
    assert sw.instance(sw.Cluster(tuple(hosts))).pending == ()
    document = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 1}]}
    assert sw.instance(document) == sw.from_document(document)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sw.instance([sw.Host("a", 4)], pending=[sw.Job("p", -4)]), "must be 1 slot or"),
        (lambda: sw.instance([sw.Host("a", 4)], pending="x"), "pending: must be a list or a tuple"),
        (lambda: sw.instance(None), "hosts: must be a list or a tuple"),  # type: ignore[arg-type]
        (lambda: sw.instance([]), "must have at least one entry"),
        (lambda: sw.instance({"format": "slotwise/1"}), "the key 'hosts' is missing"),
        (lambda: sw.instance(HEADLINE, pending=[sw.Job("p")]), "instance has its own parts"),
        (lambda: sw.instance([sw.Host("a", 1)], now="8h"), "now: must be a whole number"),  # type: ignore[arg-type]
        (lambda: sw.plan("headline.yaml"), "must be an Instance, not str"),  # type: ignore[arg-type]
        (lambda: sw.validate(HEADLINE, None), "must be a Plan or a Simulation, not NoneType"),  # type: ignore[arg-type]
        (lambda: sw.loads(None), "must be a string, not NoneType"),  # type: ignore[arg-type]
        (lambda: sw.load(None), "must be the path of a file, not NoneType"),  # type: ignore[arg-type]
        (lambda: sw.loads("[]"), "must be a mapping"),
        (lambda: sw.from_document([]), "must be a mapping"),  # type: ignore[arg-type]
        (lambda: sw.check(None), "must be an Instance, not NoneType"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused(call: Any, message: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        call()
    assert message in str(caught.value)


def test_the_judge_itself_sees_an_overbooked_host() -> None:
    from slotwise.solver.validate import validate

    cluster = sw.Cluster((sw.Host("a", 4), sw.Host("b", 4)))
    run = sw.RunningJob(sw.Job("r", 5, run_limit=60), 0, {"a": 5})
    instance = sw.Instance(cluster, running=(run,))
    idle = sw.plan(sw.instance(cluster))
    (violation,) = validate(instance, idle)
    assert str(violation) == "running: a has 4 slots, its running jobs use 5"
    (told,) = sw.validate(instance, idle)
    assert told.message.endswith("a has 4 slots, its running jobs use 5")
    asleep = replace(instance, running=(replace(run, suspended=True),))
    assert validate(asleep, idle) == sw.validate(asleep, idle) == []


def test_a_job_in_memory_is_asked_about_like_a_line() -> None:
    given = sw.load(sw.example("headline"))
    of_line = sw.ask(given, "-n 2 -W 10 x")
    of_job = sw.ask(given, sw.Job("zz", np.int64(2), run_limit=600))
    assert of_job.line.answer.start == of_line.line.answer.start
    taken = sw.ask(given, sw.Job("job5", 2, run_limit=600))
    assert taken.line.answer.start == of_line.line.answer.start
    with pytest.raises(sw.InputError, match=r"job\.slots"):
        sw.ask(given, sw.Job("zz", 0))
    with pytest.raises(sw.InputError, match="unknown queue 'nosuch'"):
        sw.ask(given, sw.Job("zz", 1, queue="nosuch"))


@cache
def tables() -> dict[str, Any]:
    """Every answer with rows, of a cluster with ids that are numbers."""
    return {
        "plan": sw.plan(TUTORIAL, "greedy"),
        "simulation": sw.simulate(TUTORIAL, until="1h"),
        "comparison": sw.compare(TUTORIAL, effort=0.1),
        "outlook": sw.outlook(TUTORIAL, effort=0.1),
        "diagnosis": sw.diagnose(TUTORIAL, jobs=110),
    }


@pytest.mark.parametrize("name", ["plan", "simulation", "comparison", "outlook", "diagnosis"])
def test_an_answer_with_rows_is_a_table_by_id(name: str) -> None:
    """As records, as a frame, as data, in one line; an id may be a number, also of numpy."""
    found = tables()[name]
    records = found.to_records()
    json.dumps([records, found.to_dict()])
    assert [row["job"] for row in records] == [row.job for row in found]
    assert len(found) == len(found.to_frame()) == len(records) >= 1
    assert "<table" in found._repr_html_()
    frame = found.to_frame()
    stamps = [each for each in frame if each.removesuffix("_time") in {*frame} - {each}]
    assert stamps
    assert {frame[each].dtype.kind for each in stamps} == {"M"}
    for job in ("110", 110, np.int64(110)):
        assert job in found
        assert found[job] == found.get(job)
        assert found[job].job == "110"
    assert 999 not in found
    assert found.get("999") is None
    with pytest.raises(sw.UnknownNameError, match="'999'"):
        found[999]
    for wrong in (2.5, True, None, ["110"]):
        assert wrong not in found
        with pytest.raises(sw.InputError, match="must be the id of a job, such as '201' or 201"):
            found[wrong]


def test_ids_of_calls_may_be_numbers() -> None:
    assert sw.explain(TUTORIAL, 110).answer.job.id == "110"
    for jobs in ("110", 110, [110], ("110",), np.array([110])):
        assert [item.job for item in sw.diagnose(TUTORIAL, jobs=jobs)] == ["110"]
    with pytest.raises(sw.InputError, match="line: must be a string such as 'bsub -n 8'"):
        sw.ask(TUTORIAL, ["bsub", "-n", "8"])  # type: ignore[arg-type]
    for wrong in (None, 2.5, [None]):
        with pytest.raises(sw.InputError, match="must be the id of a job"):
            sw.diagnose(TUTORIAL, jobs=wrong)  # type: ignore[arg-type]
    with pytest.raises(sw.InputError, match="must be the id of a job"):
        sw.explain(TUTORIAL, None)  # type: ignore[arg-type]
    planner = sw.Planner(TUTORIAL)
    planner.cancel(110)
    planner.end(next(run.job.id for run in TUTORIAL.running if run.job.id.isdecimal()))
    assert "110" not in planner.plan()


LOG = Path(__file__).parents[1] / "data" / "traces" / "KTH-SP2.swf.gz"


def test_a_repr_is_a_line(tmp_path: Path) -> None:
    for name in ("instance", "plan", "comparison", "explanation", "answer", "simulation"):
        assert re.fullmatch(r"<\w+ [^\n]{1,150}>", repr(results()[name]))
    with gzip.open(LOG, "rt") as whole:
        short = tmp_path / "short.swf"
        short.write_text("".join(itertools.islice(whole, 1000)))
    log = sw.read_log(short)
    replays = sw.replay(log, policy=["fcfs", "easy"], until="1d")
    large = [log, replays, replays["easy"], TUTORIAL.cluster, sw.read_history(short, TUTORIAL)]
    for found in (*tables().values(), *large, sw.forecast(TUTORIAL, short, samples=2)):
        assert re.fullmatch(r"<\w+ [^\n]{1,150}>", repr(found))


def test_a_large_cluster_is_shown_in_a_line_and_a_table() -> None:
    here = sw.load(sw.example("cluster-1000"))
    line = "cluster-1000: 1000 hosts, 16000 slots, 2300 running, 50 pending"
    assert repr(here) == f"<Instance {line}>"
    assert here._repr_html_().count("<tr>") == 51
    assert f"<caption>{line}</caption>" in here._repr_html_()
    assert repr(sw.outlook(JOINT)) == "<Outlook greedy: 2 jobs>"


def test_no_public_docstring_has_an_id_of_ours() -> None:
    """Ids of behaviours are for tests: a reader of help() cannot look one up."""
    for name in dir(sw):
        public = getattr(sw, name)
        members = vars(public).values() if isinstance(public, type) else ()
        for item in (public, *members):
            assert not re.search("[A-Z]{3}-[0-9]{2}", getattr(item, "__doc__", None) or ""), name


@pytest.mark.parametrize("kind", [sw.Host, sw.Job, sw.Queue, sw.Application, sw.Params, sw.Cluster])
def test_a_value_of_another_type_is_named_with_its_own_field(kind: type[Any]) -> None:
    """A queue's run_limit_max was complained of as its run_limit, with both values."""
    made = {
        sw.Host: sw.Host("h", 4),
        sw.Job: sw.Job("p"),
        sw.Queue: sw.Queue("default"),
        sw.Application: sw.Application("a"),
        sw.Params: sw.Params(),
        sw.Cluster: sw.Cluster((sw.Host("h", 4),)),
    }
    parts: dict[Any, str] = {
        sw.Job: "pending", sw.Queue: "queues", sw.Application: "applications"
    }  # fmt: skip
    missed = {}
    for item in fields(kind):
        odd = replace(made[kind], **{item.name: Odd()})
        hosts = (odd,) if kind is sw.Host else (made[sw.Host],)
        cluster = odd if kind is sw.Cluster else sw.Cluster(hosts)
        more = {parts[kind]: (odd,)} if kind in parts else {}
        more |= {"params": odd} if kind is sw.Params else {}
        with pytest.raises(sw.InputError) as caught:
            sw.instance(cluster, **more)  # type: ignore[arg-type]
        told = [p for p in caught.value.problems if p.path.endswith(item.name)]
        if not told or " and " in told[0].message.rpartition(", not ")[2]:
            missed[item.name] = [str(problem) for problem in caught.value.problems]
    assert missed == {}


class Odd:
    """A value of no type that a field may have."""

    def __repr__(self) -> str:
        return "odd"
