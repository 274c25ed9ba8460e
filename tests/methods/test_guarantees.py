"""Guaranteed resource pools: owners first, the rest as their limits say (GUA-01)."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
import slotwise as sw
from loop_lab import HOUR, host, instance, job, run, running
from slotwise import Instance
from slotwise.cli.main import app
from slotwise.model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, ServiceClass
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("GUA-01")

HOSTS = """HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV
A ok - 130 123 123 0 0 0
"""
METHODS = ["time-based", "optimal", "milp"]
#: The manual's example: 25 slots guaranteed, 18 of them in use, 7 free.
DOCUMENT = """
format: slotwise/1
hosts: [{name: A, slots: 130}]
queues: [{name: q}, {name: own}]
service_classes:
  - {name: sc1, ACCESS_CONTROL: "QUEUES[own]", AUTO_ATTACH: Y}
  - {name: sc2}
guaranteed_pools:
  - {name: p1, TYPE: slots, HOSTS: all, DISTRIBUTION: "([sc1, 15] [sc2, 10])"}
running:
  - {id: r1, bsub: "-q own -W 60 -n 12", start: 0, allocation: 12*A}
  - {id: r2, bsub: "-q q -sla sc2 -W 60 -n 6", start: 0, allocation: 6*A}
  - {id: r3, bsub: "-q q -W 60 -n 105", start: 0, allocation: 105*A}
pending:
  - {id: other, bsub: "-q q -W 60 -n 1"}
  - {id: owner, bsub: "-q own -W 60 -n 3"}
  - {id: second, bsub: "-q q -sla sc2 -W 60 -n 4"}
"""


def pool(**amounts: float) -> GuaranteedPool:
    """A pool p of slots of all hosts."""
    shares = tuple(Guarantee(name, GuaranteedAmount(amount)) for name, amount in amounts.items())
    return GuaranteedPool("p", distribution=shares)


def site(slots: int, jobs: list[tuple[str, int]], runs: list[tuple[str, int]], **guaranteed: float):  # type: ignore[no-untyped-def]
    """One host, jobs of an hour each (class, slots), and such jobs that run."""
    return instance(
        host("A", slots),
        running=tuple(
            running(f"r{n}", {"A": size}, 60, service_class=name)
            for n, (name, size) in enumerate(runs)
        ),
        pending=tuple(
            job(f"p{n}", size, minutes=60, service_class=name)
            for n, (name, size) in enumerate(jobs)
        ),
        service_classes=tuple(ServiceClass(name) for name in guaranteed),
        guaranteed_pools=(pool(**guaranteed),),
    )


def starts(problem: Instance, method: str) -> list[int | None]:
    found = sw.plan(problem, method=method)  # type: ignore[arg-type]
    assert not sw.validate(problem, found)
    assert not found.notes
    return [found[item.id].start for item in problem.pending]


@pytest.mark.parametrize("method", METHODS)
def test_what_owners_have_unused_stays_free_for_them(method: str) -> None:
    """25 configured and 18 used: the 7 free slots are all kept, and owners start on them."""
    assert starts(sw.loads(DOCUMENT), method) == [HOUR, 0, 0]


def test_the_loop_keeps_it_too_and_says_why() -> None:
    problem = sw.loads(DOCUMENT)
    found = run(problem)
    assert [found[item.id].start for item in problem.pending] == [HOUR, 0, 0]
    said = sw.outlook(problem)["other"]
    assert said.as_configured == HOUR
    reason = sw.explain(problem, "other").obstacles[0].reason
    assert "guaranteed pool p1 (reserved for sc1, sc2)" in reason


@pytest.mark.parametrize("method", METHODS)
def test_beyond_its_guarantee_a_class_is_as_any_other(method: str) -> None:
    """Of 10 slots a has 4 and b 3: 3 are for all. a gets 7 and no more."""
    problem = site(10, [("a", 7), ("", 1), ("b", 3), ("a", 1)], [], a=4, b=3)
    assert starts(problem, method) == [0, HOUR, 0, HOUR]


@pytest.mark.parametrize("method", METHODS)
def test_owners_start_beside_others_that_have_more_than_their_part(method: str) -> None:
    problem = site(10, [("a", 4), ("", 1), ("b", 1)], [("", 6)], a=4, b=4)
    assert starts(problem, method) == [0, HOUR, HOUR]


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_may_guarantee_more_than_it_has(method: str) -> None:
    problem = site(6, [("", 1), ("a", 4), ("b", 2)], [], a=4, b=4)
    found = sw.plan(problem, method=method)  # type: ignore[arg-type]
    assert (found["p1"].start, found["p2"].start) == (0, 0)
    assert "p0" not in [item.job for item in found if item.start is not None]


def test_percentages_are_of_what_the_pool_has() -> None:
    text = DOCUMENT.replace("[sc1, 15] [sc2, 10]", "[sc1, 12%] [sc2, 8%]")
    assert starts(sw.loads(text), "optimal") == [HOUR, 0, 0]  # 15 and 10 of 130


def test_who_is_attached_and_who_is_refused() -> None:
    text = DOCUMENT.replace("-q q -W 60 -n 1", "-q q -sla sc1 -W 60 -n 1")
    with pytest.raises(
        sw.InputError,
        match=r"service class sc1 accepts only jobs of QUEUES\[own\]",
    ):
        sw.loads(text)
    with pytest.raises(sw.InputError, match=r"unknown service class 'sc3'.*sc2"):
        sw.loads(DOCUMENT.replace("-sla sc2 -W 60 -n 4", "-sla sc3 -W 60 -n 4"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[sc2, 10]", "[sc9, 10]", "unknown service class 'sc9'"),
        ("[sc2, 10]", "[sc2, 10] [sc2, 1]", "twice"),
        ("[sc2, 10]", "[sc2, 101%]", "must be an amount such as 5, or 10%"),
        ("TYPE: slots", "TYPE: cores", "must be slots, hosts, package"),
        ("TYPE: slots, HOSTS: all", 'TYPE: "resource[lic]"', "unknown shared resource 'lic'"),
        ("HOSTS: all", "HOSTS: B", "unknown host or host group 'B'"),
        ("QUEUES[own]", "QUEUES[no]", "unknown queue 'no'"),
        ("QUEUES[own]", "HOSTS[A]", "unknown part 'HOSTS': use QUEUES, USERS"),
        ("HOSTS: all", "HOSTS: all, RES_SELECT: 'mem >'", "RES_SELECT"),
        ("{name: sc2}", "{name: sc2, GOALS: '[VELOCITY 3]'}", "sc2 has no GUARANTEE goal"),
        ("HOSTS: all", "HOSTS: all, LOAN_POLICIES: 'DURATION[9]'", "needs QUEUES[all]"),
        ("{name: sc2}", "{name: sc2, GOALS: '[GUARANTEE'}", "must be a goal such as [GUARANTEE]"),
        ("{name: sc2}", "{name: sc2, GOALS: 'GUARANTEE]'}", "must be a goal such as [GUARANTEE]"),
        ("{name: sc2}", "{name: sc2, GOALS: '[GUARANTEE] x'}", "must be a goal such as"),
        ("{name: sc2}", "{name: sc2, GOALS: '[GARANTEE]'}", "did you mean 'GUARANTEE'?"),
        ("{name: sc2}", "{name: sc2, GOALS: GARANTEE}", "did you mean 'GUARANTEE'?"),
    ],
)
def test_what_is_wrong_is_told(old: str, new: str, says: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.loads(DOCUMENT.replace(old, new))
    assert says in str(caught.value)


def test_an_unclosed_goal_of_a_site_is_reported_at_its_own_file(tmp_path: Path) -> None:
    files = {
        "lsb.hosts": "Begin Host\nHOST_NAME MXJ\nA 4\nEnd Host\n",
        "lsb.queues": "Begin Queue\nQUEUE_NAME = q\nEnd Queue\n",
        "lsb.serviceclasses": "Begin ServiceClass\nNAME=a\nGOALS=[GUARANTEE\nEnd ServiceClass\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = CliRunner().invoke(app, ["import", "lsf", str(tmp_path)], catch_exceptions=True)
    said = done.output + str(done.exception or "")
    assert re.search(r"lsb\.serviceclasses:3.*must be a goal such as \[GUARANTEE\]", said), said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("guaranteed_pools", "description: x\nomitted", ""),
        ("AUTO_ATTACH: Y}", "AUTO_ATTACH: Y, GOALS: '[VELOCITY 9]'}", "goals of service class sc1"),
        (
            "{name: sc2}",
            '{name: sc2, ACCESS_CONTROL: "LIC_PROJECTS[l]", AUTO_ATTACH: Y}',
            "licence",
        ),
        ("format:", "params: {SIMPLIFIED_GUARANTEE: Y}\nformat:", "SIMPLIFIED_GUARANTEE"),
        ("TYPE: slots", "TYPE: hosts", "that several jobs share"),
        ("-q own -W 60 -n 3", "-q own -x -W 60 -n 3", "exclusive jobs"),
    ],
)
def test_what_is_not_modelled_is_named_and_nothing_proved(old: str, new: str, says: str) -> None:
    text = DOCUMENT.replace(old, new).replace("{name: own}", "{name: own, EXCLUSIVE: Y}")
    if not says:
        head, _, tail = DOCUMENT.partition("service_classes:")
        text = head + tail[tail.index("running:") :]
        says = "the guarantees of the service class"
    if "VELOCITY" in new:
        text = text.replace("[sc1, 15] ", "")
    found = sw.plan(sw.loads(text))
    (item,) = [item for item in found.omissions if says in item.what]
    assert item.jobs
    assert not any(entry.proved for entry in found if entry.job in item.jobs)


@pytest.mark.behaviour("GUA-02")
def test_bresources_shows_the_sample_of_the_manual() -> None:
    """130 slots, 7 free, 25 configured, 18 used."""

    def shown(*words: str) -> str:
        found = CliRunner().invoke(app, ["show", words[0], "-", *words[1:]], input=DOCUMENT)
        assert found.exit_code == 0
        return found.stdout

    lines = [line.split() for line in shown("bresources", "-g", "-l", "--no-cycle").splitlines()]
    for words in (
        "GUARANTEED RESOURCE POOL: p1",
        "DISTRIBUTION: [sc1, 15] [sc2, 10]",
        "STATUS: ok",
        "TOTAL 130",
        "FREE 7",
        "GUARANTEE CONFIGURED 25",
        "GUARANTEE USED 18",
        "sc1 15 12 12",
        "sc2 10 6 6",
    ):
        assert words.split() in lines
    row = shown("bresources", "-g", "--format", "csv", "--no-cycle").splitlines()[1]
    assert row == "p1,slots,ok,130.0,7.0,25.0,7.0,0.0"
    after = shown("bresources", "-g", "--format", "csv").splitlines()[1]
    assert after == "p1,slots,ok,130.0,0.0,25.0,0.0,0.0"
    classes = shown("bsla", "sc1", "--no-cycle")
    assert "ACCESS CONTROL:  QUEUES[own]\nAUTO ATTACH:  Y\n\nGOAL:  GUARANTEE" in classes
    assert classes.splitlines()[-1].split() == ["p1", "slots", "15", "12", "12"]
    (record,) = json.loads(shown("bsla", "sc2", "--format", "json"))
    assert record["pools"][0]["total_used"] == 10


def literal(
    jobs: list[tuple[str, int]], runs: list[tuple[str, int]], slots: int, kept: dict[str, float]
) -> list[int]:
    """The earliest starts in the order of the list; jobs of an hour each, all that run end at 1."""
    found: list[int] = []
    for own, size in jobs:
        hour = 0
        while True:
            here = [j for j, start in zip(jobs, found, strict=False) if start == hour * HOUR]
            here += [(own, size), *(runs if hour == 0 else [])]
            use = {name: sum(n for c, n in here if c == name) for name in kept}
            others = sum(n for c, n in here if c not in kept)
            within = own in kept and use[own] <= kept[own]
            kept_or_used = sum(max(use[name], kept[name]) for name in kept)
            fits = sum(n for _, n in here) <= slots
            if fits and (within or kept_or_used + others <= max(slots, sum(kept.values()))):
                break
            hour += 1
        found.append(hour * HOUR)
    return found


def random_site(seed: int) -> tuple[Instance, list[int]]:
    """A site of one to three classes, and the starts that a literal reading gives."""
    draw = random.Random(seed)
    kept = {name: float(draw.randint(0, 3)) for name in "abc"[: draw.randint(1, 3)]}
    slots = draw.randint(4, 9)
    while sum(kept.values()) > slots - 3:
        slots += 1
    runs = [(draw.choice([*kept, "", ""]), draw.randint(1, 3)) for _ in range(draw.randint(0, 2))]
    while sum(size for _, size in runs) > slots:
        runs.pop()
    jobs = [(draw.choice([*kept, ""]), draw.randint(1, 3)) for _ in range(draw.randint(2, 6))]
    return site(slots, jobs, runs, **kept), literal(jobs, runs, slots, kept)


@pytest.mark.parametrize("seed", range(8))
def test_plans_agree_with_a_literal_reading(seed: int) -> None:
    problem, wanted = random_site(seed)
    assert starts(problem, "optimal") == wanted
    assert not sw.validate(problem, sw.plan(problem, method="time-based"))
    without = sw.plan(replace(problem, guaranteed_pools=()))
    if [without[item.id].start for item in problem.pending] != wanted:
        assert sw.validate(problem, without)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 400))
def test_many_plans_agree_with_a_literal_reading(seed: int) -> None:
    problem, wanted = random_site(seed)
    for method in ("optimal", "milp"):
        assert starts(problem, method) == wanted


@pytest.mark.behaviour("GUA-02")
def test_what_is_printed_is_read(tmp_path: Path) -> None:
    """The views of a site, read beside bjobs and bhosts, are its classes and pools."""
    text = DOCUMENT.replace("HOSTS: all", "HOSTS: all, LOAN_POLICIES: 'QUEUES[q] RETAIN[5%]'")
    queues = "QUEUE_NAME PRIO STATUS MAX JL/U JL/P JL/H NJOBS PEND RUN SUSP\n"
    queues += "".join(f"{name} 30 Open:Active - - - - 0 0 0 0\n" for name in ("q", "own"))
    (tmp_path / "bqueues").write_text(queues)
    (tmp_path / "bhosts").write_text(HOSTS)
    for name, *more in (("bsla",), ("bresources", "-g", "-l")):
        shown = CliRunner().invoke(app, ["show", name, "-", *more, "--no-cycle"], input=text)
        (tmp_path / name).write_text(shown.stdout.replace("QUEUES[q]", "QUEUES[q gone]"))
    names = ("bsla", "bresources", "bqueues", "bhosts")
    given = [word for name in names for word in (f"--{name}", str(tmp_path / name))]
    for words in (given, ["--from", str(tmp_path)]):
        read = CliRunner().invoke(app, ["import", "snapshot", *words])
        assert read.exit_code == 0, read.output
        made, site = sw.loads(read.stdout), sw.loads(text)
        assert made.service_classes == site.service_classes
        assert [replace(pool, hosts=("all",)) for pool in made.guaranteed_pools] == list(
            site.guaranteed_pools
        )


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "TYPE: slots\nDISTRIBUTION: [sc9, 4]",
            "the members of service class sc9 are only in the output of bsla",
        ),
        ("TYPE: slots\nDISTRIBUTION: [sc9, 4]\nHOSTS: gone", "gone is not a host"),
        ("TYPE: resource[lic]\nDISTRIBUTION: [sc9, 4]", "its amounts are only in LSF's files"),
        ("TYPE: cores\nDISTRIBUTION: [sc9, 4]", "must be slots, hosts, package"),
    ],
)
@pytest.mark.behaviour("GUA-02")
def test_what_pools_do_not_say_is_named(tmp_path: Path, lines: str, says: str) -> None:
    (tmp_path / "b").write_text(f"GUARANTEED RESOURCE POOL: p\n{lines}\n")
    (tmp_path / "h").write_text(HOSTS)
    words = ["--bresources", str(tmp_path / "b"), "--bhosts", str(tmp_path / "h")]
    read = CliRunner().invoke(app, ["import", "snapshot", *words])
    assert read.exit_code == 0, read.output
    assert any(says in item.what for item in sw.loads(read.stdout).omissions)


@pytest.mark.behaviour("GUA-02")
def test_a_folder_with_the_short_table_of_pools_says_which_to_give(tmp_path: Path) -> None:
    (tmp_path / "h").write_text(HOSTS)
    (tmp_path / "b").write_text("POOL_NAME TYPE STATUS TOTAL FREE\np1 slots ok 130 7\n")
    says = "guaranteed pools without their guarantees (give bresources -g -l)"
    words = ["import", "snapshot", "--from", str(tmp_path)]
    read = CliRunner().invoke(app, words)
    assert read.exit_code == 0, read.output
    assert any(says in item.what for item in sw.loads(read.stdout).omissions)
    (tmp_path / "l").write_text("GUARANTEED RESOURCE POOL: p1\nTYPE: slots\nDISTRIBUTION: \n")
    long = CliRunner().invoke(app, words)
    assert long.exit_code == 0, long.output
    assert says not in long.output
