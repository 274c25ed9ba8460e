"""explain: reasons that hold, and suggestions that come true when they are planned."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from paired_features import case, features_of
from sampling import some
from slotwise import Cluster, Explanation, Host, Instance, Job, RunningJob, loads
from slotwise.cli.main import app
from slotwise.model.pending import Reason, sentence
from slotwise.solver.advice import what_if
from slotwise.solver.advice.explain import KEPT
from slotwise.solver.advice.what_if import WhatIfPlanner
from slotwise.solver.pending_reasons import NOTHING_SHORT, find_shortage
from slotwise.solver.placement.earliest import can_start
from typer.testing import CliRunner

HOUR = 3600


def example(name: str) -> Instance:
    return sw.load(sw.example(name))


def helps(found: Explanation) -> dict[str, int]:
    """What would help, and the start it gives."""
    return {item.change: item.start for item in found.suggestions}


TEXT = """
format: slotwise/1
hosts:
  - {name: a1, slots: 4, mem: 1000}
  - {name: a2, slots: 4, mem: 1000}
params: {COMPUTE_UNIT_TYPES: enclosure}
compute_units:
  - {name: e1, type: enclosure, members: [a1]}
  - {name: e2, type: enclosure, members: [a2]}
queues:
  - {name: day, PRIORITY: 10, BACKFILL: Y}
  - {name: night, PRIORITY: 20}
running:
  - {id: r1, start: 0, run_limit: 2h, allocation: 3*a1, res_req: "rusage[mem=800]"}
pending:
  - {id: high, queue: day, slots: 8, run_limit: 1h, priority: 5}
  - {id: low, queue: day, slots: 4, run_limit: 4h, res_req: "cu[maxcus=1]"}
  - {id: memory, queue: day, slots: 1, run_limit: 30m, res_req: "rusage[mem=600]", hosts: a1}
"""


def test_a_queue_that_would_refuse_the_job_is_not_suggested() -> None:
    """The same as above, but that only somebody else may use the other queue."""
    site = loads(TEXT)
    queues = (replace(q, users=("eve",)) if q.name == "night" else q for q in site.queues)
    found = helps(sw.explain(replace(site, queues=tuple(queues)), "low", method="time-based"))
    assert "in queue night" not in found
    assert "if it were first in the dispatch order" in found


def test_memory() -> None:
    found = sw.explain(loads(TEXT), "memory", method="time-based")
    assert "600 MB of mem" in found.obstacles[0].reason
    assert "mem on a host with a free slot: 200 MB at best" in found.obstacles[0].reason
    assert helps(found)["with rusage[mem=200]"] == 0
    assert sum("rusage" in change for change in helps(found)) == 1


def test_a_begin_time() -> None:
    found = sw.explain(
        loads(TEXT.replace("slots: 8,", "slots: 8, begin: 3h,")), "high", method="time-based"
    )
    assert (found.obstacles[0].reason, found.obstacles[0].until) == (
        "its begin time (-b)",
        3 * HOUR,
    )
    assert helps(found)["without -b"] == 2 * HOUR


@pytest.mark.behaviour("ARR-01")
@pytest.mark.parametrize("method", ["configured", "time-based", "optimal"])
@pytest.mark.parametrize("limit", ["", ", array_limit: 2"])
def test_the_limit_of_an_array_whose_running_elements_do_not_give_it(
    method: str, limit: str
) -> None:
    text = f"""
        format: slotwise/1
        hosts: [{{name: 'h[1-3]', slots: 4}}]
        running:
        - {{id: '5[1]', slots: 1, start: -10, run_limit: 5m, allocation: 1*h1{limit}}}
        - {{id: '5[2]', slots: 1, start: -10, run_limit: 6m, allocation: 1*h2{limit}}}
        pending: [{{id: '5[3]', slots: 1, run_limit: 5m, array_limit: 2}}]
    """
    found = sw.explain(sw.loads(text), "5[3]", method=method)
    assert [(item.first, item.until, item.reason) for item in found.obstacles] == [
        (0, 290, "running elements of array 5 (at most 2 at once): needs 1 (has 0)")
    ]


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("job55", "unknown pending job 'job55' (did you mean 'job5'?)"),
        ("job1", "job job1 is running: give a pending job"),
    ],
)
def test_unknown_jobs(job: str, message: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.explain(example("headline"), job, method="time-based")
    assert str(caught.value) == message


@pytest.mark.parametrize("condition", ["done(big)", "exit(first)", "ended(endless)"])
def test_a_condition_that_never_holds_is_all_that_is_in_the_way(condition: str) -> None:
    """No row says that it fits, or what is short, at a time at which it may not start at all."""
    instance = loads(f"""
format: slotwise/1
hosts: [{{name: a, slots: 4}}]
running: [{{id: endless, start: 0, allocation: 1*a}}]
pending:
- {{id: big, slots: 5, run_limit: 1h}}
- {{id: first, slots: 3, run_limit: 1h}}
- {{id: j, slots: 1, run_limit: 1h, dependency: {condition}}}
""")
    found = sw.explain(instance, "j")
    rows = [(o.first, o.until, o.reason) for o in found.obstacles]
    assert rows == [(0, None, f"Job dependency condition not satisfied: {condition}")]
    for method in ("configured", "time-based"):
        for job in ("j", "first"):
            told = sw.explain(instance, job, method=method).obstacles
            assert not any("the plan as a whole" in item.reason for item in told)


@pytest.mark.parametrize(("end", "start"), [("10m", 30), ("1h", 80)])
def test_no_job_behind_is_blamed_where_there_is_none(end: str, start: int) -> None:
    """What is free is kept for a job before it, which waits for a host that is closed."""
    found = sw.explain(
        loads(f"""
format: slotwise/1
hosts: [{{name: 'h[1-2]', slots: 4}}, {{name: h3, slots: 4, status: closed_Adm}}]
queues: [{{name: q, PRIORITY: 9, SLOT_RESERVE: 'MAX_RESERVE_TIME[20]'}}, {{name: low}}]
running:
- {{id: r, queue: q, start: 0, run_limit: 2h, allocation: 4*h1}}
- {{id: s, queue: q, start: 0, run_limit: {end}, allocation: 4*h2}}
pending:
- {{id: large, queue: q, slots: 12, run_limit: 1h}}
- {{id: small, queue: low, slots: 1, run_limit: 30m}}
"""),
        "small",
    )
    assert found.answer.start == start * 60
    assert found.obstacles[-1].until == start * 60
    kept = "it fits, but the free slots are reserved for large before it"
    assert found.obstacles[-1].reason == kept


def random_instance(seed: int, *, memory: bool = True) -> Instance:
    """Two or three hosts, two units, two queues; BACKFILL in every other instance."""
    draw = random.Random(seed)
    hosts = [f"h{number}" for number in range(draw.randint(2, 3))]
    slots = {host: draw.randint(2, 4) for host in hosts}
    lines = ["format: slotwise/1", "params: {COMPUTE_UNIT_TYPES: enclosure}", "compute_units:"]
    lines += [
        f"  - {{name: e{number}, type: enclosure, members: [{', '.join(part)}]}}"
        for number, part in enumerate((hosts[:1], hosts[1:]))
    ]
    lines += ["hosts:", *(f"  - {{name: {h}, slots: {slots[h]}, mem: 1000}}" for h in hosts)]
    backfill = "Y" if seed % 2 else "N"
    lines += ["queues:", f"  - {{name: day, PRIORITY: 10, BACKFILL: {backfill}}}"]
    lines += ["  - {name: night, PRIORITY: 20}", "running:"]
    for number, host in enumerate(hosts):
        usage = draw.choice(["mem=300", "mem=(700 100):duration=(20)", "mem=100"])
        limit, taken = 10 * draw.randint(1, 9), draw.randint(1, slots[host])
        lines.append(
            f"  - {{id: r{number}, queue: day, start: 0, run_limit: {limit}m, "
            f'allocation: {taken}*{host}, res_req: "rusage[{usage}]"}}'
        )
    lines.append("pending:")
    shapes = ["", "", "span[ptile=1]", "span[ptile=2]", "span[hosts=1]", "cu[maxcus=1]"]
    for number in range(draw.randint(2, 5)):
        shape = draw.choice(shapes)
        if draw.random() < 0.6 and memory:
            shape += f" rusage[mem={draw.choice([150, 350, 600])}]"
        most = 3 if "hosts" in shape or "ptile=1" in shape else 5
        limit = f"run_limit: {7 * draw.randint(1, 20)}m, " if draw.random() < 0.9 else ""
        lines.append(
            f"  - {{id: p{number}, queue: day, slots: {draw.randint(1, most)}, {limit}"
            f'res_req: "{shape.strip()}"}}'
        )
    return loads("\n".join(lines) + "\n")


def section(job: sw.Job, name: str) -> str:
    """What stands in a section of the job's requirement, "" if there is none."""
    found = re.search(rf"\b{name}\[([^]]*)\]", " ".join(job.res_req))
    return found[1] if found else ""


def with_section(job: sw.Job, name: str, content: str | None) -> sw.Job:
    text = re.sub(rf"\b{name}\[[^]]*\]", "", " ".join(job.res_req))
    text += f" {name}[{content}]" if content is not None else ""
    return replace(job, res_req=(text.strip(),) if text.strip() else ())


def with_limit(minutes: int) -> str:
    return f"with -W {minutes // 60}:{minutes % 60:02} or less (backfill)"


def changed(instance: Instance, job: str, change: str) -> Instance:
    """The instance with a suggestion carried out, read from its words."""
    asked = next(item for item in instance.pending if item.id == job)
    if found := re.fullmatch(r"with -n (\d+)", change):
        edited = replace(asked, slots=int(found[1]), max_slots=None)
    elif found := re.fullmatch(r"with -W (\d+):(\d\d) or less \(backfill\)", change):
        edited = replace(asked, run_limit=60 * (60 * int(found[1]) + int(found[2])))
    elif found := re.fullmatch(r"with (span|rusage|cu)\[(.*)\]", change):
        edited = with_section(asked, found[1], found[2])
    elif found := re.fullmatch(r"without (\w+)\[\]", change):
        edited = with_section(asked, found[1], None)
    elif found := re.fullmatch(r"in queue (\w+)", change):
        edited = replace(asked, queue=found[1])
    elif change == "without -b":
        edited = replace(asked, begin=None)
    elif found := re.fullmatch(r"if (\w+) ended now", change):
        gone = found[1]
        left = tuple(item for item in instance.running if item.job.id != gone)
        return replace(instance, running=left)
    elif found := re.fullmatch(r"if (\w+) \(ahead of it\) were not pending", change):
        gone = found[1]
        return replace(instance, pending=tuple(p for p in instance.pending if p.id != gone))
    else:
        assert change == "if it were first in the dispatch order"
        others = (item for item in instance.pending if item.id != job)
        return replace(instance, pending=(replace(asked, priority=1), *others))
    pending = (edited if item.id == job else item for item in instance.pending)
    return replace(instance, pending=tuple(pending))


def planned(instance: Instance, job: str) -> float:
    found = sw.plan(instance, "time-based").get(job)
    return float("inf") if found is None or found.start is None else found.start


def smaller(instance: Instance, job: str, change: str) -> list[str]:
    """Smaller changes of the same number: every slot between, the next minute or MB."""
    asked = next(item for item in instance.pending if item.id == job)
    if found := re.fullmatch(r"with -n (\d+)", change):
        return [f"with -n {count}" for count in range(int(found[1]) + 1, asked.slots)]
    if found := re.fullmatch(r"with span\[ptile=(\d+)\]", change):
        tile, own = int(found[1]), re.fullmatch(r"ptile=(\d+)", section(asked, "span"))
        if own is None:
            return []
        between = range(min(tile, int(own[1])) + 1, max(tile, int(own[1])))
        return [f"with span[ptile={count}]" for count in between]
    if found := re.fullmatch(r"with -W (\d+):(\d\d).*", change):
        minutes = 60 * int(found[1]) + int(found[2]) + 1
        if asked.run_limit is not None and minutes * 60 < asked.run_limit:
            return [with_limit(minutes)]
    if found := re.fullmatch(r"with rusage\[mem=(\d+)\]", change):
        return [f"with rusage[mem={int(found[1]) + 1}]"]
    return []


@pytest.mark.parametrize("seed", some(range(60), 6))
def test_random_suggestions_come_true_and_are_the_smallest(seed: int) -> None:
    instance = random_instance(seed)
    for job in instance.pending[-1 - seed % 3 // 2 :][:1]:
        found = sw.explain(instance, job.id, method="time-based")
        assert planned(instance, job.id) == (
            float("inf") if found.answer.start is None else found.answer.start
        )
        for item in found.suggestions:
            again = sw.plan(changed(instance, job.id, item.change), "time-based")[job.id]
            assert again.start == item.start, item.change
            assert dict(again.allocation) == item.allocation, item.change
            for change in smaller(instance, job.id, item.change):
                assert planned(changed(instance, job.id, change), job.id) > item.start, (
                    item.change,
                    change,
                )
            if limit := re.fullmatch(r"with -W (\d+):(\d\d) or less.*", item.change):
                for minutes in {1, (60 * int(limit[1]) + int(limit[2]) + 1) // 2}:
                    shorter = changed(instance, job.id, with_limit(minutes))
                    assert planned(shorter, job.id) <= item.start


def with_begins(seed: int) -> Instance:
    """A random instance of which most waiting jobs may begin only later."""
    instance, draw = random_instance(seed), random.Random(seed)
    pending = (
        replace(job, begin=instance.now + draw.choice([600, 2400, 3600]))
        if draw.random() < 0.7
        else job
        for job in instance.pending
    )
    return replace(instance, pending=tuple(pending))


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("seed", some(range(300, 500), 2))
def test_answers_where_jobs_begin_later_are_those_of_plans(seed: int) -> None:
    """explain, ask and each suggestion against a plan made anew, with -b forced."""
    instance = with_begins(seed)
    draw = random.Random(seed)
    for job in instance.pending[-2:]:
        found = sw.explain(instance, job.id, method="time-based")
        start = found.answer.start
        assert planned(instance, job.id) == (float("inf") if start is None else start)
        for item in found.suggestions:
            again = planned(changed(instance, job.id, item.change), job.id)
            assert again == item.start, item.change
    line = f"-q day -n {draw.randint(1, 4)} -W {7 * draw.randint(1, 9)}"
    told = sw.ask(instance, line, method="time-based").line.answer
    more = replace(instance, pending=(*instance.pending, told.job))
    assert planned(more, told.job.id) == (float("inf") if told.start is None else told.start)


@pytest.mark.parametrize(("line", "start"), [("-n 2 -W 30", 20 * 60), ("-n 1 -W 30", 0)])
def test_a_job_that_begins_later_and_an_end_before_it(line: str, start: int) -> None:
    """p looks for its place at ends of jobs, and the line makes one more of them."""
    instance = loads("""
    format: slotwise/1
    hosts: [{name: h, slots: 3}]
    running: [{id: r, start: 0, run_limit: 20m, allocation: 2*h}]
    pending: [{id: p, slots: 3, run_limit: 10m, begin: 40m}]
    """)
    found = sw.ask(instance, line, method="time-based").line.answer
    more = replace(instance, pending=(*instance.pending, found.job))
    assert found.start == start
    assert sw.plan(more, "time-based")[found.job.id].start == start
    assert sw.simulate(more, reservation="time-based").starts[found.job.id] == start


def says(text: str, told: Reason) -> bool:
    """Whether a row has this reason, with its numbers in the ranges that it gives."""
    pattern = "".join(
        re.escape(part) if isinstance(part, str) else r"(\S+?)(?: to (\S+?))?"
        for part in told.parts
    )
    found = re.match(pattern + r"(?: \(reserved|; |$)", text)
    if found is None:
        return False
    numbers = [part for part in told.parts if not isinstance(part, str)]
    ranges = zip(found.groups()[::2], found.groups()[1::2], strict=True)
    return all(
        float(low) <= number <= float(high or low)
        for number, (low, high) in zip(numbers, ranges, strict=True)
    )


@pytest.mark.parametrize("seed", some(range(40), 5))
def test_random_obstacles_are_true_over_their_whole_interval(seed: int) -> None:
    """Free slots as the reasons give them, counted minute by minute without the profile's edges."""
    instance = random_instance(seed)
    for job in instance.pending[-1:]:
        asker = WhatIfPlanner(instance, method="time-based")
        view, found = asker.view(job), sw.explain(instance, job.id, method="time-based")
        demand = asker.demand(view, job)
        start = found.answer.start
        until = 4 * HOUR if start is None else start
        for row in found.obstacles:
            last = until if row.until is None else row.until
            for time in range(row.first, min(last, row.first + 24 * HOUR), 60):
                if row.reason.startswith("it fits"):
                    assert can_start(view.profile, demand, time)
                    continue
                alone = can_start(view.problem.base, demand, time)
                assert alone == ("(reserved for" in row.reason)
                profile = view.profile if alone else view.problem.base
                told = find_shortage(view.problem, demand, profile, time)
                if told == NOTHING_SHORT:  # said of plans alone
                    told = KEPT
                assert says(row.reason, told), (row, time, sentence(told))


@pytest.mark.parametrize("seed", some(range(100, 106), 3))
def test_random_suggestions_of_the_exact_method_come_true(seed: int) -> None:
    instance = random_instance(seed)
    job = instance.pending[-1].id
    found = sw.explain(instance, job, method="optimal", effort=5)
    for item in found.suggestions:
        there = changed(instance, job, item.change)
        pending = sw.plan(there, "optimal", effort=5)
        assert pending[job].start == item.start, item.change
        for change in smaller(instance, job, item.change):
            other = sw.plan(changed(instance, job, change), "optimal", effort=5).get(job)
            assert other is None or other.start is None or other.start > item.start, change


@pytest.mark.slow
def test_a_guess_where_much_runs_keeps_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown is asked of the whole cycle, also where a quick search chose it."""
    monkeypatch.setattr("slotwise.solver.advice.what_if.MANY", 0)
    shown = 0
    for seed in range(1, 20, 2):
        instance = random_instance(seed)
        job = instance.pending[-2].id
        for item in sw.explain(instance, job, method="time-based").suggestions:
            assert planned(changed(instance, job, item.change), job) == item.start, item.change
            shown += 1
    assert shown > 20


DOWN = """
format: slotwise/1
hosts:
  - {name: n1, slots: 4, mem: 64000}
  - {name: n2, slots: 4, mem: 64000, status: unavail}
  - {name: n3, slots: 8, mem: 128000, status: closed_Adm}
queues: [{name: normal, PRIORITY: 10}]
running: [{id: r, start: 0, run_limit: 2h, slots: 4, allocation: 4*n1}]
pending:
  - {id: small, slots: 4, run_limit: 1h}
  - {id: wide, slots: 10, run_limit: 1h}
  - {id: memory, slots: 1, run_limit: 1h, res_req: "select[mem>500000 && type==any]"}
  - {id: shut, slots: 1, run_limit: 1h, res_req: "select[mem>100000]"}
  - {id: half, slots: 2, run_limit: 1h, res_req: "select[mem<100000]"}
"""


def test_a_host_that_is_down_is_told_with_the_start_it_would_give() -> None:
    instance = loads(DOWN)
    assert (
        helps(sw.explain(instance, "small", method="time-based"))["if n2 came back (it is unavail)"]
        == 0
    )
    wide = helps(sw.explain(instance, "wide", method="time-based"))
    assert wide["if n3 were opened (it is closed_Adm)"] == 2 * HOUR
    assert wide["if all 2 hosts that are down or closed accepted jobs again"] == HOUR
    hosts = tuple(replace(host, status="ok") for host in instance.cluster.hosts)
    opened = replace(instance, cluster=replace(instance.cluster, hosts=hosts))
    again = sw.explain(opened, "wide", method="time-based")
    assert again.answer.start == HOUR
    assert not [change for change in helps(again) if "it is" in change or "took" in change]


def test_a_requirement_that_no_host_meets_says_which_part_fails_and_where() -> None:
    instance = loads(DOWN)
    memory = sw.explain(instance, "memory", method="time-based")
    assert memory.answer.waits_for == (
        "no host meets its requirement: mem>500000 holds on 0 of 3 hosts (most: 128000 on n3)"
    )
    assert memory.requirement == ()  # it is said already
    shut = sw.explain(instance, "shut", method="time-based")
    assert "mem>100000 holds on 1 of 3 hosts (not on n1, n2)" in shut.answer.waits_for
    assert "; n3 is down or closed" in shut.answer.waits_for
    half = sw.explain(instance, "half", method="time-based")
    assert half.answer.start is not None
    assert half.requirement == ("mem<100000 holds on 2 of 3 hosts (not on n3)",)


@pytest.mark.behaviour("DEP-05")
@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_the_critical_path_of_a_chain(method: Any) -> None:
    """Of the jobs that a condition names it has the one that lets it hold, back to what runs."""
    one = RunningJob(Job("1", 1, run_limit=100), 0, {"a": 1})
    pending = (
        Job("2", 1, run_limit=50, dependency="done(1)"),
        Job("3", 1, run_limit=20),
        Job("4", 1, run_limit=5, dependency="done(3) && done(2)"),
    )
    site = Instance(Cluster((Host("a", 4),)), running=(one,), pending=pending)
    found = sw.explain(site, "4", method=method)
    assert [(link.job, link.start, link.finish) for link in found.chain] == [
        ("1", 0, 100),
        ("2", 100, 150),
    ]
    assert found.answer.start == 150
    assert found.obstacles[0].until == 150
    assert "done(3) && done(2)" in found.obstacles[0].reason
    assert [item["job"] for item in found.to_dict()["critical_path"]] == ["1", "2"]
    # What it waits for is no job that could be away: its condition would say nothing then.
    assert not any("job 2 (before it" in item.change for item in found.suggestions)
    assert sw.explain(site, "2", method=method).chain[0].job == "1"


LIMITED = """
format: slotwise/1
now: 1h
hosts: [{name: A, slots: 4 FIRST}, {name: B, slots: 4 OTHER}]
queues: [{name: q}]
running: [{id: 9, bsub: "-q q -n 3 -W 2:00", user: x, allocation: {A: 3}, start: 0}]
pending: [{id: 10, bsub: "-q q -n 4 -W 60", user: bob, submit: 1h}]
LIMITS
"""
CLOSED_NOW = ", DISPATCH_WINDOW: 2:00-3:00"


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize(
    ("first", "other", "limits", "has"),
    [
        ("", ", JL/U: 1", "", 2),
        (CLOSED_NOW, ", JL/U: 1", "", 1),
        (f"{CLOSED_NOW}, JL/U: 3", ", JL/U: 1", "", 1),
        ("", "", "limits: [{name: l, PER_USER: all, PER_HOST: B, SLOTS: 1}]", 2),
    ],
)
def test_what_a_limit_leaves_is_of_open_hosts_that_have_it(
    first: str, other: str, limits: str, has: int
) -> None:
    """Host A has no such limit, or is closed: what it would leave there is no number to say."""
    text = LIMITED.replace("FIRST", first).replace("OTHER", other).replace("LIMITS", limits)
    instance = loads(text)
    free = 5 if has == 2 else 4
    said = sw.explain(instance, "10", method="optimal").obstacles[0].reason
    for found in (said, sw.plan(instance, "optimal", effort=1)["10"].waits_for):
        assert re.search(rf"(has|now) {has}; free slots: {free}; .* leaves 1 on a host\)", found)


@pytest.mark.behaviour("PLC-12")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("-n 1 -m 'A! B'", "free slots"),
        ("-n 2 -m 'A! B'", "free slots"),
        ("-n 4 -m 'A! B' -R 'span[hosts=1]'", "4 free slots"),
        ("-n 3 -m 'g! B' -R 'span[block=2]'", "free slots"),
    ],
)
def test_free_slots_elsewhere_do_not_count_for_a_first_execution_host(
    options: str, wanted: str
) -> None:
    """Only A may be the first host, and job 9 fills it; B is free."""
    text = LIMITED.replace("FIRST", "").replace("OTHER", "").replace("-n 3", "-n 4")
    text = text.replace("A: 3", "A: 4").replace("LIMITS", "host_groups: {g: A}")
    instance = loads(text.replace("-n 4 -W 60", f"{options} -W 60"))
    said = sw.explain(instance, "10", method="optimal").obstacles[0].reason
    assert said == f"needs {wanted} on its first execution host, A (has 0)"
    planned = sw.plan(instance, "optimal", effort=1)["10"]
    assert planned.waits_for.startswith(f"needs {wanted} on its first execution host, A (now 0)")


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_limit_that_cuts_the_simulation_leaves_the_possible_start(
    monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(what_if, "CONFIGURED_SHARE", share)
    site = loads(TEXT)
    said = sw.explain(site, "low", time_limit=600)
    asked = sw.ask(site, "-q day -n 4 -W 60", time_limit=600)
    assert said.outlook is not None
    assert asked.outlook is not None
    for row in (said.outlook, asked.outlook):
        assert row.possible is not None
        assert (row.as_configured is None) == (share == 0.0)
    words = ["explain", "-", "low", "--time-limit", "600"]
    text = " ".join(CliRunner().invoke(app, words, input=TEXT).stdout.split())
    cut = "low has no known start as configured: the limit or Ctrl-C came first"
    assert (cut in text) == (share == 0.0)


@pytest.mark.parametrize(("ends", "helps"), [(119, False), (120, True)])
def test_a_change_that_gains_less_than_two_dispatch_cycles_is_no_help(
    ends: int, helps: bool
) -> None:
    run = sw.RunningJob(sw.Job("1", 1, run_limit=ends), 0, {"a": 1})
    waiting = sw.Job("2", 1, run_limit=60)
    instance = sw.Instance(sw.Cluster((sw.Host("a", 1),)), running=(run,), pending=(waiting,))
    assert bool(sw.explain(instance, "2").suggestions) == helps


@pytest.mark.parametrize(("began", "start"), [("10s", 110), ("119s", 1), ("10m", 0)])
def test_a_host_that_accepted_a_job_stays_closed_when_that_job_ends(began: str, start: int) -> None:
    """What the loop does if the job ends within the next second (JOB_ACCEPT_INTERVAL)."""
    found = loads(
        "format: slotwise/1\nhosts: [{name: a, slots: 2}]\nqueues: [{name: q}]\n"
        "params: {JOB_ACCEPT_INTERVAL: 2, MBD_SLEEP_TIME: 60}\n"
        f"running: [{{id: r, slots: 2, allocation: 2*a, start: -{began}, run_limit: 1h}}]\n"
        "pending: [{id: p, slots: 2, run_limit: 1h}]\n"
    )
    told = {item.change: item.start for item in sw.explain(found, "p").suggestions}
    assert told["if r ended now"] == start
    ended = replace(found, running=tuple(replace(run, finish=1) for run in found.running))
    assert sw.explain(ended, "p").answer.start == max(1, start)


@pytest.mark.parametrize("seed", some(range(70), 8))
def test_no_reason_of_the_only_pending_job_names_others(seed: int) -> None:
    instance = case(features_of(seed), seed).instance
    for job in instance.pending[:2]:
        alone = replace(instance, pending=(replace(job, dependency=""),), future=())
        row = sw.outlook(alone, effort=0.1, workers=1)[job.id]
        found = sw.explain(alone, job.id)
        reasons = [row.condition, row.held_back, row.waits_for, found.answer.waits_for]
        for reason in (*reasons, *(item.reason for item in found.obstacles)):
            assert not re.search(r"other jobs|jobs (before|behind)|(before|behind) it\b", reason)
