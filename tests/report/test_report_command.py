"""``slotwise report``: what it reads, where it writes, what it refuses; ``--gantt``."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import fields, replace
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import slotwise as sw
from forked import program, slotwise
from report.lab import Elements, data_of
from sampling import pairwise, some
from slotwise import (
    Cluster,
    Host,
    InputError,
    Instance,
    Job,
    Plan,
    PlanChange,
    PlannedJob,
    RunningJob,
    Unplaced,
)
from slotwise.cli.report import command as report_command
from slotwise.cli.report.bars import gantt_text
from slotwise.cli.report.page import saved_data
from slotwise.model.formats.plan_file import bare_instance, plan_record, read_plan
from slotwise.model.omissions import Omission

HEADLINE = str(sw.example("headline"))
QUICK = ("--effort", "1", "--explain", "0")
PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    done = slotwise(*arguments, **options)
    said = done.stdout.encode(), done.stderr.encode()
    return subprocess.CompletedProcess(done.args, done.returncode, *said)


def written(path: Path, *arguments: str) -> str:
    done = run("report", *arguments, "-o", str(path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("words", "bounded"), [((), True), (("--time-limit", "20"), False)])
def test_a_report_of_many_pending_jobs_has_a_limit(
    words: tuple[str, ...], bounded: bool, tmp_path: Path
) -> None:
    """Would find a report of a deep queue that shows no page for minutes, and says nothing."""

    def few() -> None:
        report_command.MANY_PENDING, report_command.TIME_OF_MANY = 1, 2.0

    arguments = ["report", HEADLINE, "--explain", "0", *words, "-o", str(tmp_path / "page.html")]
    done = slotwise(*arguments, before=few)
    assert ("the report takes 2 s; --time-limit sets another limit" in done.stderr) == bounded
    assert (tmp_path / "page.html").exists()


def test_a_page_has_the_numbers_of_compare(tmp_path: Path) -> None:
    text = written(tmp_path / "page.html", HEADLINE, "--explain", "1", "--effort", "1")
    asked = ("compare", HEADLINE, "--methods", "--format", "json", "--effort", "1")
    shown = json.loads(run(*asked).stdout)
    found = data_of(text)
    assert found["comparison"] == shown
    words = ("explain", HEADLINE, "job5", "--no-configuration", "--format", "json")
    advice = json.loads(run(*words).stdout)
    assert found["advice"]["job5"] == advice
    assert found["name"] == "headline.yaml"
    verdict = run("diagnose", HEADLINE).stdout.decode()
    for line in re.findall(r"<p[^>]*>([^<]+)</p>", text[text.index('id="verdict"') :])[:2]:
        assert " ".join(unescape(line).split()) in " ".join(verdict.split())


def test_without_an_output_the_page_is_report_html_and_that_is_said(tmp_path: Path) -> None:
    done = run("report", HEADLINE, *QUICK, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == "slotwise: wrote report.html; --open shows it in the browser\n"
    assert data_of((tmp_path / "report.html").read_text(encoding="utf-8"))["name"]
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_the_page_goes_to_standard_output_and_the_instance_comes_from_standard_input(
    tmp_path: Path,
) -> None:
    page = written(tmp_path / "page.html", HEADLINE, *QUICK)
    done = run("report", "-", "-o", "-", *QUICK, text=Path(HEADLINE).read_text("utf-8"))
    assert done.returncode == 0
    same = done.stdout.decode().replace('"name":"-"', '"name":"headline.yaml"')
    assert same.replace("explain FILE job5", "explain headline.yaml job5") == page


@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal"])
def test_one_method_gives_one_plan(method: str, tmp_path: Path) -> None:
    found = data_of(written(tmp_path / "p.html", HEADLINE, "--method", method, *QUICK))
    assert [view["name"] for view in found["views"]] == [method]
    assert found["plan"]["method"] == method
    assert found["comparison"] is None


@pytest.mark.parametrize("method", some(["greedy", "time-based", "optimal"], 1))
def test_a_saved_plan_is_drawn_as_it_was(method: str, tmp_path: Path) -> None:
    """With its instance the picture is that of the method itself; alone it has its own hosts."""
    plan = tmp_path / "plan.json"
    arguments = ("solve", HEADLINE, "--method", method, "--effort", "1", "--format", "json")
    plan.write_bytes(run(*arguments).stdout)
    whole = data_of(written(tmp_path / "a.html", str(plan), "--instance", HEADLINE, *QUICK))
    direct = data_of(written(tmp_path / "b.html", HEADLINE, "--method", method, *QUICK))
    assert whole["plan"] == direct["plan"]
    assert whole["views"] == direct["views"]
    assert whole["running"] == direct["running"]
    alone = data_of(written(tmp_path / "c.html", str(plan), *QUICK))
    assert alone["plan"]["reservations"] == direct["plan"]["reservations"]
    assert {host[0] for host in alone["hosts"]} <= {host[0] for host in direct["hosts"]}
    assert any("--instance" in note for note in alone["notes"])


def test_a_simulation_is_run_and_reported(tmp_path: Path) -> None:
    arguments = ("--example", "fairshare-groups", "--simulate", "--reservation", "time-based")
    found = data_of(written(tmp_path / "s.html", *arguments))
    assert found["kind"] == "simulation"
    jobs = tmp_path / "jobs.json"
    run(
        "simulate",
        "--example",
        "fairshare-groups",
        "--reservation",
        "time-based",
        "--jobs",
        str(jobs),
    )
    records = json.loads(jobs.read_text())
    assert [(r["job"], r["start"], r["end"]) for r in found["records"]] == [
        (r["job"], r["start"], r["end"]) for r in records
    ]
    assert found["accounts"]


def test_a_log_is_simulated_on_the_hosts_that_are_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "small.swf"
    log.write_text(
        "; MaxProcs: 4\n1 0 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1\n"
        "2 1 -1 10 3 -1 -1 3 10 -1 1 1 1 -1 1 -1 -1 -1\n"
    )
    found = data_of(written(tmp_path / "s.html", str(log), "--simulate", "--hosts", "2"))
    assert len(found["hosts"]) == 2
    assert [record["status"] for record in found["records"]] == ["done", "done"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((HEADLINE, "-o", "none/such/x.html"), "no such folder"),
        (("none.yaml", "-o", "x.html"), "No such file"),
        ((HEADLINE, "-o", "x.html", "--until", "1d"), "--simulate"),
        ((HEADLINE, "-o", "x.html", "--simulate", "--method", "optimal"), "--method"),
        ((HEADLINE, "-o", "x.html", "--simulate", "--instance", HEADLINE), "--instance cannot"),
        ((HEADLINE, "-o", "x.html", "--instance", HEADLINE), "needs a plan as FILE"),
        ((HEADLINE, "-o", "-", "--svg", "-"), "standard output"),
        (("-o", "x.html"), "--example"),
        ((HEADLINE, "-o", "x.html", "--simulate", "--reservation", "best"), "best"),
    ],
)
def test_requests_that_make_no_sense_are_refused_in_one_line(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = run("report", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_bad_instance_leaves_the_old_page_as_it_was(tmp_path: Path) -> None:
    bad, page = tmp_path / "bad.yaml", tmp_path / "page.html"
    bad.write_text(
        "format: slotwise/1\nhosts: [{name: a, slots: -1}]\npending: [{id: 1, slots: x}]\n"
    )
    page.write_text("old")
    done = run("report", str(bad), "-o", str(page))
    assert done.returncode == 2
    assert done.stderr.count(b"bad.yaml") >= 2
    assert page.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2


PLAN = {
    "now": 0,
    "origin": None,
    "method": "optimal",
    "objective": "lexicographic",
    "status": "optimal",
    "value": 1.0,
    "bound": 1.0,
    "reservations": [
        {
            "job": "job5", "start": 10800, "finish": 14400, "method": "optimal", "bound": 10800,
            "proved": True, "waits_for": "", "allocation": {"hostA": 2, "hostC": 2, "hostD": 2},
        }
    ],
    "unplaced": [],
    "notes": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "best"}, "method: must be 'greedy', "),
        ({"status": 7}, "status"),
        ({"now": 5}, "another time"),
        ({"reservations": {}}, "must be a list"),
        ({"reservations": [{**PLAN["reservations"][0], "job": "job55"}]}, "did you mean 'job5'"),
        ({"reservations": [{**PLAN["reservations"][0], "allocation": {"hostX": 1}}]}, "no host"),
        ({"reservations": [{**PLAN["reservations"][0], "allocation": {"hostA": 0}}]}, "1 or more"),
        ({"reservations": [{**PLAN["reservations"][0], "allocation": [1]}]}, "must be a mapping"),
        ({"reservations": [{**PLAN["reservations"][0], "start": "x"}]}, "must be a whole number"),
        ({"reservations": [{**PLAN["reservations"][0], "start": -5}]}, "before the plan's now"),
        ({"reservations": [{**PLAN["reservations"][0], "finish": 1}]}, "before the start"),
        ({"reservations": PLAN["reservations"] * 2}, "more than once"),
        ({"notes": "x"}, "must be a list"),
        ({"value": "x"}, "must be a number"),
        ({"origin": 5}, "origin"),
        ({"origin": "noon"}, "origin"),
        ({"origin": "2026-03-01T08:00:00"}, "the instance's is none"),
        ({"now": None}, "now: is missing"),
        ({"behnid": 3}, "unknown key 'behnid' (did you mean 'behind'?)"),
        ({"value": float("nan")}, "must be a number"),
        ({"value": 10**400}, "must be a number"),
        ({"unplaced": [{"job": "job5", "raeson": ""}]}, "unplaced[0].raeson: unknown key"),
        ({"omissions": [{"what": "x", "when": 1}]}, "omissions[0].when: unknown key"),
        ({"changes": [{"job": "job5", "was": 0, "start": 60, "moved": 5}]}, "it is 60"),
        ({"format": "slotwise/1"}, "is not a saved plan"),
        ({"instance": "0" * 64}, "the plan of another instance"),
        ({"cut": "no"}, "cut: must be true or false"),
        ({"rounded": 1}, "rounded: must be true or false"),
    ],
)
def test_a_broken_plan_is_said_with_its_path(change: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_plan({**PLAN, **change}, sw.load(HEADLINE), "plan.json")
    assert said in str(caught.value)
    assert "plan.json" in str(caught.value)
    broken = {**PLAN, **change, "method": "best"}
    bare = bare_instance(broken)
    with pytest.raises(InputError):
        read_plan(broken, bare, "plan.json")


def test_everything_that_is_wrong_with_a_plan_is_said_at_once() -> None:
    entry = {**PLAN["reservations"][0], "job": 5, "start": "x", "allocation": {"none": -1}}
    with pytest.raises(InputError) as caught:
        read_plan({**PLAN, "status": "?", "reservations": [entry]}, sw.load(HEADLINE), "p")
    assert len(caught.value.problems) == 5


def test_a_read_plan_is_the_plan_that_was_written() -> None:
    for name in ("headline", "compound-terms", "kth-sp2-queue-10", "memory-phases"):
        instance = sw.load(sw.example(name))
        for method in ("greedy", "time-based"):
            plan = sw.plan(instance, method)  # type: ignore[arg-type]
            again = read_plan(json.loads(json.dumps(plan.to_dict())), instance, "p")
            assert again.to_dict() == plan.to_dict()


#: Two hosts and a queue; job a has two alternatives, job b two terms.
ASKED = """
format: slotwise/1
hosts: [{name: hostA, slots: 6, mem: 8000, swp: 8000}, {name: hostB, slots: 1}]
queues: [{QUEUE_NAME: q}]
pending:
  - {id: a, queue: q, slots: 6, res_req: "rusage[mem=1||swp=1]"}
  - {id: b, queue: q, slots: 6, res_req: "4*{span[hosts=1]}+2*{span[hosts=1]}"}
"""


def test_every_key_of_a_written_plan_is_read() -> None:
    """A plan with a value of its own for every field that is written, made of the class itself."""
    instance = sw.loads(ASKED)
    item = PlannedJob(
        **{"job": "a", "start": 10800, "finish": 14400, "allocation": {"hostA": 6}},
        **{"method": "optimal", "bound": 9000, "proved": True, "waits_for": "w", "fallback": "f"},
        **{"reserved": {"hostB": 1}, "alternative": 1, "needs_backfill": "q"},
    )
    other = PlannedJob(
        "b", 14400, 18000, {"hostA": 6}, terms=({"hostA": 4}, {"hostA": 2}), exact_fit="e"
    )
    change = PlanChange("a", 9000, None, {"hostA": 6}, {}, "job 7 submitted")
    for entry in (item, replace(item, start=None, finish=None, estimate=7200)):
        for unplaced, kept in (((Unplaced("b", "why"),), (entry,)), ((), (entry, other))):
            plan = Plan(
                *("optimal", "weighted", "feasible", instance.now),
                **{"reservations": kept, "unplaced": unplaced, "value": 1.5, "bound": 0.5},
                **{"notes": ("note",), "rounded": True, "origin": instance.origin, "cut": True},
                **{"margin": 60, "behind": 3, "changes": (change,), "refused": True},
                omissions=(Omission("GPUs (-gpu)", jobs=("1",)), Omission("x", "f", 2, None, "y")),
            )
            assert {"cut", "rounded"} <= set(plan.to_dict())
            for data in (plan.to_dict(), plan_record(plan.to_dict(), instance)):
                assert read_plan(json.loads(json.dumps(data)), instance, "p") == plan
    # `suspended` is there where a plan suspends a job (test_whole_queue reads one back).
    assert {f.name for f in fields(Plan)} - {"suspended"} == set(plan.to_dict())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"alternative": 7}, "alternative: is 7, but the rusage of job a has 2: 0 to 1"),
        ({"alternative": -1}, "alternative: is -1"),
        ({"alternative": "x"}, "alternative: must be a whole number"),
        ({"terms": [{"hostA": 4}, {"hostA": 2}]}, "has 2, but the requirement of job a has 1"),
        ({"terms": 5}, "terms: must be a list"),
        ({"job": "b"}, "has 0, but the requirement of job b has 2"),
        ({"job": "b", "terms": [{}, {"hostA": 6}]}, "terms[0]: must have a host"),
        ({"needs_backfill": "p"}, "the instance has no queue 'p'"),
        ({"start_time": "2026-03-01T08:00:00"}, "but start is 60: None"),
        ({"strat": 60}, "unknown key 'strat' (did you mean 'start'?)"),
        ({"allocation": {"hostA": 10**30}}, "must be 1000000000 or less"),
    ],
)
def test_what_a_job_does_not_ask_for_is_refused(change: dict[str, object], said: str) -> None:
    entry = {"job": "a", "start": 60, "allocation": {"hostA": 6}, **change}
    with pytest.raises(InputError) as caught:
        read_plan({**PLAN, "reservations": [entry]}, sw.loads(ASKED), "plan.json")
    (problem,) = caught.value.problems
    assert said in str(problem)
    assert str(problem).startswith("plan.json: reservations[0].")


def test_a_plan_that_breaks_rules_is_drawn_and_said_so(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    entry = {**PLAN["reservations"][0], "start": 0, "finish": 3600, "bound": 0}
    plan.write_text(json.dumps({**PLAN, "reservations": [entry]}))
    done = run("report", str(plan), "--instance", HEADLINE, "-o", str(tmp_path / "x.html"), *QUICK)
    assert done.returncode == 4
    assert b"breaks a rule" in done.stderr
    assert any(
        "breaks a rule" in note for note in data_of((tmp_path / "x.html").read_text())["notes"]
    )


def saved_plan(path: Path, example: str) -> bytes:
    """A plan of an example, made in a moment, in that file."""
    arguments = ("solve", "--example", example, "--method", "time-based", "--format", "json")
    path.write_bytes(run(*arguments).stdout)
    return path.read_bytes()


def test_a_plan_with_terms_is_drawn_alone_and_on_its_cluster(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    saved_plan(plan, "compound-terms")
    beside = ("--instance", str(sw.example("compound-terms")))
    for more in ((), beside):
        found = data_of(written(tmp_path / "x.html", str(plan), *more, *QUICK))
        assert len(found["plan"]["reservations"][0]["terms"]) == 2


def test_the_plan_of_another_instance_is_refused(tmp_path: Path) -> None:
    """Also where all of its jobs and hosts are there: one host has more slots."""
    plan, other = tmp_path / "plan.json", tmp_path / "other.yaml"
    saved_plan(plan, "headline")
    whole = Path(HEADLINE).read_text()
    other.write_text(whole.replace("slots: 4", "slots: 5", 1))
    assert other.read_text() != whole
    done = run("report", str(plan), "--instance", str(other), "-o", str(tmp_path / "x.html"))
    assert done.returncode == 2
    assert b"is the plan of another instance" in done.stderr
    assert done.stderr.count(b"\n") == 1
    written(tmp_path / "x.html", str(plan), "--instance", HEADLINE, *QUICK)


def test_a_plan_edited_by_hand_is_refused_until_its_checksum_is_out(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    data = saved_plan(plan, "headline")
    command = ("report", str(plan), "--instance", HEADLINE, "-o", str(tmp_path / "x.html"), *QUICK)
    plan.write_bytes(data.replace(b"14400", b"14401"))
    done = run(*command)
    assert done.returncode == 2
    assert b"checksum does not match" in done.stderr
    assert b"remove the line `checksum`" in done.stderr
    lines = plan.read_text().splitlines()
    plan.write_text("\n".join(line for line in lines if "checksum" not in line))
    done = run(*command)
    assert done.returncode == 4  # read, and judged
    assert b"The plan has no checksum" in done.stderr
    assert b"finishes at 14401 s, its expected duration gives 14400 s" in done.stderr
    notes = data_of((tmp_path / "x.html").read_text())["notes"]
    assert any("no checksum" in note for note in notes)


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("example", ["headline", "compound-terms"])
def test_no_flipped_bit_of_a_saved_plan_changes_what_is_read(
    tmp_path: Path, example: str, step: int
) -> None:
    """Each of these bits of the file: refused, or read as the very plan (a flip in a blank)."""
    path = tmp_path / "plan.json"
    data, instance = saved_plan(path, example), sw.load(sw.example(example))
    right = read_plan(saved_data(path), instance, "plan.json")
    accepted = 0
    for bit in range(0, 8 * len(data), step):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        try:
            found = saved_data(path)
            if found is not None:  # else it is read as an instance, and is none
                assert read_plan(found, instance, "plan.json") == right
                accepted += 1
        except InputError:
            continue
    assert accepted < max(3, len(data) * 8 / step / 1000)


def test_pictures_are_whole_and_the_same_each_time(tmp_path: Path) -> None:
    """Also beside a configuration of matplotlib, which would run LaTeX or cannot even be read."""
    pytest.importorskip("matplotlib")
    arguments = ("report", "--example", "cu-racks", *QUICK)
    for folder, options in (("a", {}), ("b", {"cwd": tmp_path / "b"})):
        (tmp_path / folder).mkdir()
        if options:
            (tmp_path / "b" / "matplotlibrc").write_bytes(
                b"text.usetex: True\nfont.size: 40 # \xff"
            )
        files = (
            "--png",
            str(tmp_path / folder / "x.png"),
            "--svg",
            str(tmp_path / folder / "x.svg"),
        )
        done = run(*arguments, *files, **options)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    for name in ("x.png", "x.svg"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert (tmp_path / "a" / "x.png").read_bytes().startswith(PNG)
    root = ElementTree.fromstring((tmp_path / "a" / "x.svg").read_text())
    words = {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("text")}
    instance = sw.load(sw.example("cu-racks"))
    assert {"as configured", "possible", "now"} <= words
    assert {host.name for host in instance.cluster.hosts} <= words


def test_hostile_names_in_a_picture_are_text(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from report.lab import HOSTILE, compared, hostile_instance
    from slotwise.cli.report.figure import figure_bytes

    root = ElementTree.fromstring(figure_bytes(compared(hostile_instance()), "svg").decode())
    words = {"".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3]} <= words


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from slotwise.cli.start import main; main()"
    )
    arguments = ["report", HEADLINE, "--png", str(tmp_path / "x.png")]
    done = program(code, *arguments)
    assert done.returncode == 2
    assert "pip install 'slotwise[report]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_gantt_in_the_terminal() -> None:
    instance = sw.load(HEADLINE)
    drawn = gantt_text(instance, sw.plan(instance, "time-based"), 48)
    assert drawn == (
        "       |now      |1h       |2h       |3h\n"
        "hostA ▕░░░░░░░░░░░░░░░░░░░░··········AAAAAAAAAA▏\n"
        "hostB ▕░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░▏\n"
        "hostC ▕░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░AAAAAAAAAA▏\n"
        "hostD ▕░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░AAAAAAAAAA▏\n"
        "░ running, · free; A job5\n"
    )


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize(
    "name",
    [
        *("headline", "cu-racks", "kth-sp2-queue-10"),
        pytest.param("cluster-1000", marks=pytest.mark.slow),
    ],
)
def test_the_chart_in_the_terminal_keeps_to_its_width_and_to_a_page(name: str, width: int) -> None:
    instance = sw.load(sw.example(name))
    plan = sw.plan(instance, "time-based")
    lines = gantt_text(instance, plan, width).splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "▕" in line]
    assert 1 <= len(rows) <= 32
    assert len({len(line) for line in rows}) == 1


def test_a_chart_in_the_terminal_shows_the_letter_where_and_when_the_job_is() -> None:
    instance = Instance(
        Cluster((Host("a", 2), Host("b", 2))),
        running=(RunningJob(Job("r", 2, run_limit=3600), 0, {"b": 2}),),
        pending=(Job("p", 2, run_limit=3600), Job("q", 4, run_limit=3600)),
    )
    lines = gantt_text(instance, sw.plan(instance, "time-based"), 24).splitlines()
    assert lines[1:3] == ["a ▕" + "A" * 10 + "B" * 10 + "▏", "b ▕" + "░" * 10 + "B" * 10 + "▏"]


def test_a_chart_in_the_terminal_has_a_letter_for_one_job_alone_and_counts_what_it_hides() -> None:
    jobs = tuple(Job(f"j{n}", 1, run_limit=3600) for n in range(60))
    instance = Instance(Cluster(tuple(Host(f"h{n}", 2) for n in range(30))), pending=jobs)
    text = gantt_text(instance, sw.plan(instance, "time-based"), 60)
    letters = re.findall(r"(\w) j\d+", text.replace("\n", " "))
    assert len(letters) == len(set(letters)) == 30  # two jobs on each host: one of them is seen
    assert "30 jobs hidden by jobs with more slots there" in text.replace("\n", " ")
    alone = replace(instance, cluster=Cluster((Host("h", 1),)))
    text = gantt_text(alone, sw.plan(alone, "time-based"), 200)
    assert "* 8 other jobs" in text.replace("\n", " ")
    assert text.splitlines()[1].endswith("*▏")


def test_solve_and_compare_draw_below_their_tables() -> None:
    for command in (("solve", "--method", "time-based"), ("compare", "--effort", "1")):
        plain = run(command[0], HEADLINE, *command[1:]).stdout.decode()
        drawn = run(command[0], HEADLINE, *command[1:], "--gantt").stdout.decode()
        assert drawn.startswith(plain)
        assert len(re.findall(r"^host[A-D] ▕.*▏$", drawn, re.MULTILINE)) == 4
        refused = run(command[0], HEADLINE, "--gantt", "--format", "json")
        assert (refused.returncode, refused.stdout) == (2, b"")
        assert b"--gantt" in refused.stderr


@pytest.mark.parametrize(
    ("command", "width"),
    pairwise(
        [("solve", "--method", "time-based"), ("compare",)],
        [(60, 60), (100, 100), (250, 100), (20, 40)],
    ),
)
def test_a_chart_is_as_wide_as_the_listing_above_it(
    command: tuple[str, ...], width: tuple[int, int]
) -> None:
    columns, widest = width
    options = (HEADLINE, "--effort", "1") if command == ("compare",) else (HEADLINE,)
    drawn = slotwise(
        *command,
        *options,
        "--gantt",
        before=lambda: os.environ.update(COLUMNS=str(columns)),
    ).stdout
    rows = [line for line in drawn.splitlines() if line.endswith("▏")]
    assert {len(line) for line in rows} == {widest}


def test_a_plan_without_starts_has_nothing_to_draw() -> None:
    done = run("solve", HEADLINE, "--method", "greedy", "--gantt")
    assert done.returncode == 0
    assert "nothing to draw" in done.stdout.decode()


def test_the_page_of_an_empty_queue_is_a_page(tmp_path: Path) -> None:
    file = tmp_path / "idle.yaml"
    file.write_text("format: slotwise/1\nhosts: [{name: a, slots: 4}]\n")
    elements = Elements(written(tmp_path / "x.html", str(file)))
    assert ("div", "gantt") in [(tag, values.get("id")) for tag, values in elements.found]


def test_the_drawing_of_the_docs_is_what_the_command_prints() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "report.md").read_text(encoding="utf-8")
    shown = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    command = "slotwise solve --example headline --method time-based --gantt"
    assert f"$ {command}\n" in text
    assert run(*command.split()[1:]).stdout.decode().endswith("\n\n" + shown.group(1))


def test_pictures_of_the_docs_are_small() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    for name in ("report.png", "report-5000.png"):
        content = (docs / name).read_bytes()
        assert content.startswith(PNG)
        assert len(content) < 200_000
