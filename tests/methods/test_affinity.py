"""affinity[core(n)]: n cores a slot, beside slots; what asks for more is named (AFF-01)."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import slotwise as sw
from loop_lab import HOUR, host, instance, job, running
from sampling import some

pytestmark = pytest.mark.behaviour("AFF-01")

NAMED = [
    "affinity[core(2,same=socket)]",
    "affinity[core(2,exclusive=(socket,injob))]",
    "affinity[core(1):distribute=pack]",
    "affinity[core(1):cpubind=socket]",
]


@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal", "milp"])
@pytest.mark.parametrize("asked", ["core(2)", "core*2", "core(1)*2", "core(2):distribute=any"])
def test_slots_are_tasks_and_cores_are_counted_beside_them(method: str, asked: str) -> None:
    """Two slots of two cores each are two slots and four cores (10.1)."""
    problem = instance(
        host("A", 8, cores=6),
        running=(running("r", {"A": 2}, 60, res_req=("affinity[core(2)]",)),),
        pending=(
            job("p", 1, f"affinity[{asked}]", minutes=30),
            job("q", 1, f"affinity[{asked}]", minutes=30),
            job("free", 4, minutes=30),
        ),
    )
    found = sw.plan(problem, method=method)
    assert found["p"].start == 0
    assert found["free"].start == 0, "a job without affinity[] takes no cores"
    if method != "greedy":
        assert found["q"].start == 30 * 60
        assert "cores" in found["q"].waits_for
    assert not sw.validate(problem, found)


@pytest.mark.parametrize("asked", NAMED)
def test_what_asks_for_more_than_a_number_is_named(asked: str) -> None:
    problem = instance(host("A", 8, cores=8), pending=(job("p", 1, asked, minutes=30),))
    found = sw.plan(problem)
    assert not found["p"].proved
    assert "affinity[]" in [item.what for item in found.omissions]


@pytest.mark.parametrize("method", ["greedy", "time-based", "optimal", "milp"])
@pytest.mark.parametrize(
    ("asked", "units", "words"),
    [
        ("thread(2)", {"threads": 6}, "affinity threads"),
        ("cpu(2)", {"threads": 6}, "affinity threads"),
        ("socket", {"sockets": 3}, "affinity sockets"),
        ("numa", {"numa_nodes": 3}, "affinity NUMA nodes"),
        ("mcm(1)", {"numa_nodes": 3}, "affinity NUMA nodes"),
    ],
)
def test_threads_sockets_and_nodes_are_counted_too(
    method: str, asked: str, units: dict[str, int], words: str
) -> None:
    """Three units, or three pairs of them: three slots run at a time."""
    section = f"affinity[{asked}]"
    problem = instance(
        host("A", 8, **units),
        running=(running("r", {"A": 1}, 60, res_req=(section,)),),
        pending=(job("p", 2, section, minutes=30), job("q", 2, section, minutes=30)),
    )
    found = sw.plan(problem, method=method)
    assert found["p"].start == 0
    if method != "greedy":
        assert found["q"].start == 30 * 60
        assert words in found["q"].waits_for
    if method == "optimal":
        assert found["p"].proved
        assert found["q"].proved
        late = replace(found["q"], start=0, finish=30 * 60)
        both = replace(found, reservations=(found["p"], late), value=None, bound=None)
        assert any(item.check == "affinity" for item in sw.validate(problem, both))
    assert not sw.validate(problem, found)


def test_units_of_two_kinds_are_named_since_they_share_processors() -> None:
    asked = (job("p", 1, "affinity[core(1)]"), job("q", 1, "affinity[thread(1)]"))
    problem = instance(host("A", 8, cores=8, threads=16), pending=asked)
    found = sw.plan(problem)
    assert not found["p"].proved
    assert not found["q"].proved
    assert "affinity[]" in [item.what for item in found.omissions]
    alone = sw.plan(replace(problem, pending=asked[:1]))
    assert alone["p"].proved


#: Requirements of a core job and a thread job, and whether they may meet on a host.
APART = [
    ("select[hname==A]", "select[hname==B]", False),
    ("select[hname==A]", "select[hname!=A]", False),
    ("", "select[hname==B]", True),
    ("select[hname==A]", "", True),
    ("select[hname==A]", "{select[hname==B]} || {select[hname==A]}@1", True),
]


@pytest.mark.parametrize("method", ["optimal", "milp"])
@pytest.mark.parametrize(("core", "thread", "meet"), APART)
def test_units_of_two_kinds_are_proved_where_they_share_no_host(
    method: str, core: str, thread: str, meet: bool
) -> None:
    def with_units(text: str, section: str) -> str:
        if "{" not in text:
            return f"{text} {section}".strip()
        return " || ".join(part.replace("}", f" {section}}}") for part in text.split(" || "))

    units = {"cores": 2, "threads": 4}
    asked = [
        job(name, 2, with_units(text, section), minutes=30)
        for name, text, section in (
            ("p", core, "affinity[core(1)]"),
            ("q", thread, "affinity[thread(2)]"),
            ("r", core, "affinity[core(1)]"),
        )
    ]
    problem = instance(host("A", 8, **units), host("B", 8, **units), pending=tuple(asked))
    found = sw.plan(problem, method=method, effort=5)  # type: ignore[arg-type]
    assert not sw.validate(problem, found)
    assert [item.proved for item in found] == [not meet] * 3
    if not meet:
        assert [found[name].start for name in "pqr"] == [0, 0, 30 * 60]


def literal(jobs: list[tuple[int, int]], slots: int, cores: int) -> list[int]:
    """The earliest hour of each in their order, on one host; (slots, cores of a slot)."""
    starts: list[int] = []
    for size, each in jobs:
        hour = 0
        while True:
            here = [asked for asked, start in zip(jobs, starts, strict=False) if start == hour]
            full = sum(n for n, _ in here) + size > slots
            if not full and sum(n * c for n, c in here) + size * each <= cores:
                break
            hour += 1
        starts.append(hour)
    return [hour * HOUR for hour in starts]


@pytest.mark.parametrize("seed", some(range(20), 10))
def test_plans_agree_with_a_literal_reading(seed: int) -> None:
    draw = random.Random(seed)
    jobs = [(draw.randint(1, 3), draw.randint(0, 2)) for _ in range(draw.randint(2, 6))]
    asked = [f"affinity[core({each})]" if each else "" for _, each in jobs]
    problem = instance(
        host("A", 5, cores=6),
        pending=tuple(
            job(f"p{n}", jobs[n][0], *filter(None, [asked[n]]), minutes=60)
            for n in range(len(jobs))
        ),
    )
    found = sw.plan(problem)
    assert [found[f"p{n}"].start for n in range(len(jobs))] == literal(jobs, 5, 6)
    assert not sw.validate(problem, found)
    roomy = replace(problem, cluster=replace(problem.cluster, hosts=(host("A", 5, cores=99),)))
    without = sw.plan(roomy)
    if [item.start for item in without] != [item.start for item in found]:
        assert [fault.check for fault in sw.validate(problem, without)].count("affinity")
