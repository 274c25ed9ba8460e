"""ask: the start of a bsub line, and alternatives that keep their word."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from sampling import some
from slotwise import Instance, dump, loads
from slotwise.cli.ask import answer_output
from slotwise.cli.main import app
from slotwise.cli.outlook_text import answer_sentences
from slotwise.model.generate import generate
from slotwise.solver.advice.suggestions import Trials
from slotwise.solver.advice.what_if import WhatIfPlanner
from typer.testing import CliRunner

HOUR = 3600
LINE = "bsub -n 8 -W 2:00 -R 'span[ptile=4]' ./a.out"


def example(name: str) -> Instance:
    return sw.load(sw.example(name))


TEXT = """
format: slotwise/1
hosts: [{name: a, slots: 4}]
queues:
  - {name: day, PRIORITY: 10, RUNLIMIT: 8h}
  - {name: night, PRIORITY: 5}
  - {name: short, PRIORITY: 20, RUNLIMIT: 1h 1h, PROCLIMIT: 1 2 2}
limits:
  - {name: u, SLOTS: 2, PER_USER: all}
params: {DEFAULT_QUEUE: day}
running: [{id: r, start: 0, run_limit: 1h, allocation: 4*a}]
pending:
  - {id: first, queue: day, slots: 2, run_limit: 1h, user: ann}
  - {id: behind, queue: night, slots: 4, run_limit: 4h, user: bob}
"""


def test_all_bad_choices_in_one_report() -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.Choices.read(slots="4,x", ptile="0", limit="1:99", queue="a,")
    assert len(caught.value.problems) == 4


def test_too_many_combinations() -> None:
    choices = sw.Choices(slots=tuple(range(1, 60)), ptile=tuple(range(1, 60)))
    with pytest.raises(sw.InputError, match="3481 combinations are too many"):
        sw.ask(example("headline"), LINE, choices=choices, method="time-based")


def test_compound_lines_vary_only_in_limit_and_queue() -> None:
    instance = example("headline")
    line = "-n 3 -W 1:00 -R '1*{select[mem>=0]} + 2*{span[ptile=2]}'"
    line = line.replace("select[mem>=0]", "span[ptile=1]")
    with pytest.raises(sw.InputError, match="compound requirement"):
        sw.ask(instance, line, choices=sw.Choices(slots=(2,)), method="time-based")
    answer = sw.ask(
        instance, line, explore=True, choices=sw.Choices(limit=(1800,)), method="time-based"
    )
    assert {name for item in answer.alternatives for name in item.changed} <= {"limit", "queue"}


@pytest.mark.parametrize("name", ["headline", "slot-limits", "compound-terms"])
def test_the_answer_is_that_of_a_plan_with_the_job(name: str) -> None:
    """Also where a limit is shared with jobs behind, or where its own reservation expires."""
    instance = example(name)
    answer = sw.ask(instance, "-n 1 -W 0:10", method="time-based").line.answer
    planned = sw.plan(replace(instance, pending=(*instance.pending, answer.job)), "time-based")
    item = planned[answer.job.id]
    assert (answer.start, answer.waits_for) == (item.start, item.waits_for)
    assert {o for o in answer.omissions if o.jobs} == {o for o in planned.omissions if o.jobs}


def test_the_exact_method_places_the_others_anew() -> None:
    """As the last job behind the small one, the large one can start now only if that one moves."""
    instance = example("joint-wins")
    small, large = instance.pending
    alone = replace(instance, pending=(small,))
    line = "-n 8 -W 3:00 -R 'cu[maxcus=1]'"
    assert sw.ask(alone, line, method="time-based").line.answer.start == 2 * HOUR
    exact = sw.ask(alone, line, method="optimal", effort=5).line.answer
    assert (exact.start, exact.proved) == (0, True)
    assert large.slots == 8


def test_plain_data() -> None:
    answer = sw.ask(example("headline"), LINE, explore=True, method="time-based")
    record = answer.to_dict()
    assert record["line"]["start"] == record["line"]["wait"] == 4 * HOUR
    assert record["line"]["finish"] == 6 * HOUR
    assert [item["start"] for item in record["alternatives"]] == [0, HOUR, 2 * HOUR]
    assert record["alternatives"][0]["changed"]


@pytest.mark.parametrize("seed", some(range(3), 1))
def test_a_limit_leaves_when_a_job_fits_beside_what_runs(seed: int) -> None:
    instance = generate(hosts=12, running=60, pending=8, seed=seed, load=1.0)
    line = "-n 60 -W 60"
    alone = replace(instance, pending=())
    cut, whole = (
        sw.ask(alone, line, time_limit=limit, method="time-based").line.answer
        for limit in (0, None)
    )
    assert whole.start is not None
    assert whole.start > instance.now
    assert (cut.start, cut.cut, cut.earliest_known) == (None, True, whole.start)
    assert whole.earliest_known is None
    record = sw.ask(instance, line, time_limit=0, method="time-based").to_dict()["line"]
    behind = sw.ask(instance, line, method="time-based").line.answer
    assert behind.start is not None
    assert (record["start"], record["missing"]) == (None, "not examined")
    assert instance.now < record["at_the_earliest"] <= behind.start


def test_a_limit_leaves_nothing_where_a_job_fits_beside_nothing_that_ends() -> None:
    endless = sw.RunningJob(sw.Job("r", 2), 0, {"a": 2})
    full = sw.instance((sw.Host("a", 2),), running=(endless,))
    answer = sw.ask(full, "-n 1 -W 60", time_limit=0, method="time-based").line.answer
    assert (answer.start, answer.earliest_known) == (None, None)


@pytest.mark.slow
def test_half_and_a_quarter_of_the_slots_are_explored() -> None:
    answer = sw.ask(example("kth-sp2-queue-10"), "-n 60 -W 2:00", explore=True, method="time-based")
    tried = {item.shown["slots"] for item in answer.alternatives}
    assert tried <= {"60", "30", "15"}
    assert tried & {"30", "15"}


@pytest.mark.parametrize("seed", some(range(8), 3))
def test_what_starts_before_a_limit_is_asked_of_a_whole_cycle_also_where_much_runs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quick look may say that nothing is gained; what it lets through is the start itself."""
    monkeypatch.setattr("slotwise.solver.advice.what_if.MANY", 0)
    instance = generate(hosts=6, running=20, pending=8, load=1.0, seed=seed)
    asker = WhatIfPlanner(instance, method="time-based")
    for slots in (1, 4):
        job = replace(instance.pending[0], id="mine", slots=slots, res_req=())
        start = asker.answer(job).start
        assert start is not None
        assert asker.answer_if_earlier(job, start + 1).start == start
        late = asker.answer_if_earlier(job, start).start
        assert late is None or late >= start


def test_a_change_that_would_be_refused_has_no_start() -> None:
    instance = loads(TEXT)
    job = replace(instance.pending[0], id="mine", user="eve", slots=1, run_limit=60, res_req=())
    asker = WhatIfPlanner(instance, method="time-based")
    view = asker.view(job)
    trials = Trials(asker, view, asker.demand(view, job), limit=10**9)
    assert trials.answer(job).start is not None
    assert trials.answer(replace(job, queue="short", slots=3)).start is None
    assert trials.tried == 2


QUEUES = """
format: slotwise/1
hosts: [{name: a, slots: 4, mem: 64G}, {name: b, slots: 4, mem: 64G}]
user_groups: [{name: staff, members: [ann]}]
queues:
  - {name: day, PRIORITY: 10, HOSTS: a}
  - {name: QUEUE}
params: {DEFAULT_QUEUE: day}
running: [{id: r, start: 0, run_limit: 8h, queue: day, slots: 4, allocation: 4*a}]
"""


def explored_queues(keys: str, line: str) -> list[str]:
    """The queues of the alternatives that change nothing else."""
    instance = loads(QUEUES.replace("name: QUEUE", f"name: other, PRIORITY: 20, {keys}"))
    found = sw.ask(instance, line, explore=True, user="eve", method="time-based").alternatives
    return [item.changed["queue"] for item in found if list(item.changed) == ["queue"]]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("CPULIMIT: 60", "-n 2 -c 2:00"),
        ("CPULIMIT: 60", "-n 1 -W 2:00"),
        ("CPULIMIT: 60", "-n 4 -W 0:20"),
        ("RUNLIMIT: 30", "-n 2 -W 2:00"),
        ("RUNLIMIT: 10 30", "-n 2 -W 2:00"),
        ("RUNLIMIT: 30", "-n 2"),
        ("PROCLIMIT: 3 4", "-n 2 -W 2:00"),
        ("USERS: staff", "-n 2 -W 2:00"),
        ("RESRSV_LIMIT: '[mem=1024]'", "-n 2 -W 2:00 -R rusage[mem=4096]"),
        ("HOSTS: b", "-n 2 -W 2:00 -m a"),
    ],
)
def test_a_queue_that_refuses_the_job_or_cuts_it_short_is_not_offered(keys: str, line: str) -> None:
    assert explored_queues(keys, line) == []
    assert explored_queues("HOSTS: all", "-n 2 -W 2:00") == ["other"]


@pytest.mark.parametrize("keys", ["CPULIMIT: 240", "RUNLIMIT: 120", "PROCLIMIT: 1 4"])
def test_a_queue_whose_limits_the_job_keeps_is_offered(keys: str) -> None:
    assert explored_queues(keys, "-n 2 -W 2:00") == ["other"]


def test_explain_offers_no_queue_that_cuts_the_job_short() -> None:
    text = QUEUES.replace("name: QUEUE", "name: other, PRIORITY: 20, CPULIMIT: 60")
    text += "pending: [{id: j, queue: day, slots: 2, run_limit: 2h}]"
    helps = [item.change for item in sw.explain(loads(text), "j", method="time-based").suggestions]
    assert "in queue other" not in helps
    mild = sw.explain(
        loads(text.replace("CPULIMIT: 60", "CPULIMIT: 240")), "j", method="time-based"
    ).suggestions
    assert "in queue other" in [item.change for item in mild]


def test_bsub_refuses_more_cpu_time_than_the_queue_gives() -> None:
    instance = loads(QUEUES.replace("name: QUEUE", "name: other, CPULIMIT: 60"))
    with pytest.raises(sw.InputError, match="accepts jobs of 1h of CPU time or less"):
        sw.ask(instance, "-q other -c 2:00", method="time-based")


def test_a_host_that_is_down_is_told_for_a_line_too() -> None:
    text = QUEUES.replace("{name: b,", "{name: b, status: unreach,").replace(
        "name: QUEUE", "name: o"
    )
    answer = sw.ask(loads(text), "-n 2 -W 1:00 -q o", method="time-based")
    (back,) = answer.suggestions
    assert (back.change, back.start) == ("if b came back (it is unreach)", 0)
    assert answer.to_dict()["suggestions"][0]["gain"] == 8 * HOUR
    assert (
        sw.ask(loads(text), "-n 2 -W 1:00 -q o -R select[mem<1]", method="time-based").requirement
        == ()
    )


def test_what_is_wrong_in_a_script_has_its_line() -> None:
    script = '#!/bin/sh\n#BSUB -n 4\n#BSUB -W 1:xx\n\n#BSUB -q nosuch\n#BSUB -R "select[a\nrun\n'
    with pytest.raises(sw.InputError) as caught:
        sw.ask(loads(TEXT), "-n 2", script=script, script_name="job.lsf", method="time-based")
    places = [(item.source, item.line, item.message[:8]) for item in caught.value.problems]
    assert places == [
        *(("job.lsf", 3, "-W: must"), ("job.lsf", 6, "#BSUB: N"), ("job.lsf", 5, "-q: unkn")),
    ]
    # What the line says instead is the line's.
    with pytest.raises(sw.InputError) as caught:
        sw.ask(loads(TEXT), "-q none", script="#BSUB -n 1\n#BSUB -q day\n", method="time-based")
    assert str(caught.value).startswith("bsub line: -q: unknown queue 'none'")


@pytest.mark.behaviour("SUB-02")
def test_whole_hosts_need_no_queue_for_exclusive_jobs() -> None:
    text = (
        "format: slotwise/1\nhosts: [{name: 'n[1-3]', slots: 4}]\n"
        "running: [{id: 1, start: 0, run_limit: 1h, allocation: 1*n1}]\n"
        "pending: [{id: 2, bsub: -n 4 -W 60}]\n"
    )
    with pytest.raises(sw.InputError, match="accepts no exclusive jobs"):
        sw.ask(loads(text), "-x -n 2", method="time-based")
    for method in ("time-based", "optimal"):
        answer = sw.ask(loads(text), "-nnodes 2 -W 10", method=method)
        assert answer.line.answer.start == HOUR
        assert len(answer.line.answer.allocation) == 2
    whole = loads(text.replace("bsub: -n 4", "bsub: -nnodes 2"))
    assert whole.pending[0].whole_hosts
    assert loads(dump(whole)) == whole
    found = sw.plan(whole, "optimal")
    assert (found["2"].start, len(found["2"].allocation)) == (0, 2)
    assert not sw.validate(whole, found)


@pytest.mark.behaviour("SUB-03")
def test_the_first_queue_of_a_list_that_takes_the_job_counts() -> None:
    answer = sw.ask(loads(TEXT), "-n 1 -W 3:00 -q 'nosuch short night day'", method="time-based")
    assert answer.line.shown["queue"] == "night"
    assert answer.notes == (
        "-q nosuch (unknown queue 'nosuch')",
        "-q short (-W: queue short accepts jobs of 1h at most (RUNLIMIT))",
        "-q day (night takes the job)",
    )
    with pytest.raises(sw.InputError, match="short accepts jobs of 1h"):
        sw.ask(loads(TEXT), "-W 3:00 -q 'short nosuch'", method="time-based")


@pytest.mark.behaviour("SUB-02")
def test_a_time_of_day_without_a_date_is_not_considered() -> None:
    answer = sw.ask(
        loads("format: slotwise/1\nhosts: [{name: a, slots: 2}]\n"),
        "-n 1 -W 10 -b 3:00",
        method="optimal",
    )
    assert (answer.line.answer.start, answer.line.answer.proved) == (0, False)
    assert [item.what[:23] for item in answer.omissions] == ["the earliest start (-b)"]


@pytest.mark.behaviour("SUB-01", "SUB-06")
def test_a_script_may_come_through_a_pipe(tmp_path: Path) -> None:
    """`-`, and a name that is a pipe, are read; neither is taken for a command of one slot."""
    script = "#!/bin/sh\n#BSUB -n 2\n#BSUB -W 5\nrun\n"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ask = ["ask", "--example", "headline", "--format", "json"]
    dash = CliRunner().invoke(app, [*ask, "-"], input=script)
    writer = threading.Thread(target=pipe.write_text, args=(script,))
    writer.start()
    piped = CliRunner().invoke(app, [*ask, str(pipe)])
    writer.join()
    plain = CliRunner().invoke(app, [*ask, "bsub -n 2 -W 5"])
    for found in (dash, piped):
        assert found.exit_code == 0, found.output
        line, right = (json.loads(item.stdout)["line"] for item in (found, plain))
        assert (line["start"], line["allocation"]) == (right["start"], right["allocation"])
        assert sum(line["allocation"].values()) == 2


def test_half_the_run_limit_is_tried() -> None:
    answer = sw.ask(example("backfill"), "-n 2 -W 1:00", explore=True, method="time-based")
    found = {item.shown["limit"]: item.answer.start for item in answer.alternatives}
    assert found["0:30"] == 5400 < (answer.line.answer.start or 0)


#: Whose the queue, the reservation and the service class are.
OF_ANN = """
format: slotwise/1
hosts: [{name: a, slots: 4}]
queues: [{name: day}, {name: own, USERS: ann}]
params: {DEFAULT_QUEUE: day}
service_classes: [{name: sc1, ACCESS_CONTROL: "USERS[ann] QUEUES[day]"}]
guaranteed_pools: [{name: p, TYPE: slots, HOSTS: all, DISTRIBUTION: "[sc1, 1]"}]
advance_reservations: [{name: ann#0, start: 0, end: 2h, allocation: {a: 1}, users: [ann]}]
"""


@pytest.mark.behaviour("ARV-01", "GUA-01")
@pytest.mark.parametrize("option", ["-q own", "-U ann#0", "-sla sc1"])
def test_who_may_not_is_refused_and_an_unnamed_user_is_asked_for(option: str) -> None:
    instance = loads(OF_ANN)
    line = f"bsub -n 1 -W 10 {option}"
    assert sw.ask(instance, line, user="ann").line.answer.start == 0
    with pytest.raises(sw.InputError, match="user bob") as refused:
        sw.ask(instance, line, user="bob")
    assert "--user" not in str(refused.value)
    with pytest.raises(sw.InputError, match=r"an unnamed user \(give --user NAME\)"):
        sw.ask(instance, line)
    with pytest.raises(sw.InputError, match=r"an unnamed user \(give --user NAME\)"):
        sw.Planner(instance).submit(line)


def test_a_class_that_refuses_for_another_reason_asks_for_no_user() -> None:
    instance = loads(OF_ANN.replace(", USERS: ann", "").replace("USERS[ann] ", ""))
    with pytest.raises(sw.InputError, match=r"QUEUES\[day\]") as refused:
        sw.ask(instance, "bsub -n 1 -W 10 -q own -sla sc1")
    assert "user" not in str(refused.value)


def test_an_answer_names_the_queue_and_the_user_for_which_it_holds() -> None:
    """Would find: a start of the default queue, told without its name; the service's lines, too."""
    instance = sw.load(sw.example("site"))
    for line, user, told in (
        ("-n 8 -W 2:00", "", "in queue normal (the default), as user user"),
        ("-n 8 -W 2:00 -q engineering", "User31", "in queue engineering, as user User31"),
    ):
        answer = sw.ask(instance, line, user=user, effort=1)
        assert told in answer_sentences(instance, answer)
        assert told in answer_output(instance, answer, "text").splitlines()
        assert answer.to_dict()["line"]["user"] == (user or "user")


@pytest.mark.parametrize(
    ("asked", "named"),
    [("rusage[scratch=1]", True), ("rusage[mem=1:scratch=9]", True), ("select[scratch>5]", False)],
)
def test_what_hosts_have_as_a_load_alone_is_never_called_missing(asked: str, named: bool) -> None:
    """Would find: "cannot start on this cluster: no host has scratch" where bhosts -l prints it."""
    cluster = "hosts: [{name: a, slots: 4, load: {scratch: 100}, mem: 100}]"
    instance = loads(f"format: slotwise/1\n{cluster}\n")
    answer = sw.ask(instance, f"bsub -n 2 -W 10 -R {asked} ./a").line.answer
    assert answer.start == instance.now
    told = ("scratch, which no input gives for the hosts",)
    assert answer.job.unheeded == (told if named else ())
