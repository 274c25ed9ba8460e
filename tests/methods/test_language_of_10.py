"""What the language of LSF 10.1 adds, by every method, in the loop, by the judge, and in advice."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
import slotwise as sw
from enumerated_instances import newer_instance
from judging import Case, faults, racks
from judging import job as asked
from judging import problem as judged
from loop_lab import MINUTE, cluster, host, instance, job, running
from sampling import some
from slotwise import (
    ComputeUnit,
    Gpus,
    Instance,
    Params,
    PlannedJob,
    RunningJob,
    SharedResource,
    dump,
    loads,
)
from slotwise.solver.planning import plan
from slotwise.solver.resolve import Resolver
from slotwise.solver.rules.rule_book import unsupported_rules
from slotwise.solver.scheduler.simulation import simulate

EXACT = ("time-based", "optimal", "milp")


def places(problem: Instance, method: str, name: str = "p") -> tuple[int | None, dict[str, int]]:
    """Start and slots by host of a job by one method, with no objection of the judge."""
    found = plan(problem, method, **({"effort": 20} if method == "optimal" else {}))
    assert not any("bug" in note for note in found.notes)
    item = found.get(name)
    return (None, {}) if item is None else (item.start, dict(item.allocation))


@pytest.mark.behaviour("PLC-15")
@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(
    ("slots", "span", "expected"),
    [
        (8, "block=4", {"A": 4, "B": 4}),
        (6, "block=2", {"A": 6}),
        (10, "block=2", {"A": 6, "B": 4}),
        (7, "block=4", {"A": 7}),
        (8, "block=5", {"A": 5, "B": 3}),
        (9, "block=3", {"A": 6, "B": 3}),
        (11, "block=4", {"A": 7, "B": 4}),
        (2, "block=4", {"A": 2}),
    ],
)
def test_blocks_fill_a_host_before_the_next(
    method: str, slots: int, span: str, expected: dict[str, int]
) -> None:
    problem = instance(
        host("A", 7), host("B", 5), pending=(job("p", slots, f"span[{span}]", minutes=5),)
    )
    start, found = places(problem, method)
    assert start == 0
    if method == "time-based":
        assert found == expected
    assert sum(found.values()) == slots
    block = int(span.partition("=")[2])
    assert sum(n % block > 0 for n in found.values()) <= 1


@pytest.mark.behaviour("PLC-15")
def test_a_range_takes_whole_blocks() -> None:
    problem = instance(
        host("A", 7), host("B", 5), pending=(job("p", 4, "span[block=4]", max_slots=11, minutes=5),)
    )
    found = simulate(problem, reservation="none", cycle=0)
    assert sum(found["p"].hosts.values()) == 11
    fewer = replace(problem, pending=(replace(problem.pending[0], max_slots=10),))
    small = replace(fewer, cluster=cluster(host("A", 5), host("B", 4)), pending=fewer.pending)
    assert simulate(small, reservation="none", cycle=0)["p"].hosts == {"A": 4, "B": 4}
    assert simulate(
        replace(small, pending=(replace(fewer.pending[0], max_slots=12),)),
        reservation="none",
        cycle=0,
    )["p"].hosts == {"A": 4, "B": 4}


@pytest.mark.behaviour("PLC-15", "PLC-14")
def test_a_resizable_job_grows_by_blocks() -> None:
    grows = job("r", 4, "span[block=2]", max_slots=12, minutes=20, resizable=True)
    problem = instance(
        host("A", 8),
        running=(RunningJob(grows, 0, {"A": 4}), running("s", {"A": 1}, minutes=10)),
        pending=(job("p", 1, minutes=1),),
    )
    found = simulate(problem, reservation="none", cycle=0, keep_log=True)
    grown = [entry["time"] for entry in found.log if "resized" in entry]
    assert grown == [0, 10 * MINUTE]  # at 1 min one slot is free, which is no block
    assert found["r"].hosts == {"A": 8}


CASES = [
    Case(
        "two parts of blocks",
        judged(asked("j", 5, "span[block=3]")),
        {"j": (0, {"A": 3, "B": 2})},
        {"j": (0, {"A": 4, "B": 1})},
        ("span: job j: span[block=3] allows one host with part of a block, not A B",),
    ),
    Case(
        "balance counts blocks",
        judged(asked("j", 12, "span[block=2] cu[balance]"), cluster=racks(r1=2, r2=2)),
        {"j": (0, {"r1a": 4, "r1b": 2, "r2a": 4, "r2b": 2})},
        {"j": (0, {"r1a": 4, "r1b": 4, "r2a": 4})},
        (
            "cu: job j: balance allows the units to differ by 1 in blocks, "
            "they hold 4 in r1, 2 in r2",
        ),
    ),
    Case(
        "an amount per task",
        judged(asked("j", 3, "rusage[mem=40/task]"), hosts=(host("A", 4, 100), host("B", 4, 100))),
        {"j": (0, {"A": 2, "B": 1})},
        {"j": (0, {"A": 3})},
        ("mem",),
    ),
    Case(
        "an amount per host",
        judged(
            asked("j", 4, "rusage[lic=1/host]"),
            cluster=cluster(host("A"), host("B"), host("C"), shared=(SharedResource("lic", 1.0),)),
        ),
        {"j": (0, {"A": 4})},
        {"j": (0, {"A": 2, "B": 2})},
        ("lic",),
    ),
    Case(
        "maxcus within a term",
        judged(
            asked("j", 6, "4*{cu[maxcus=1]} + 2*{select[type==any]}"), cluster=racks(r1=2, r2=2)
        ),
        {"j": PlannedJob("j", 0, 100, {"r1a": 4, "r2a": 2}, terms=({"r1a": 4}, {"r2a": 2}))},
        {
            "j": PlannedJob(
                "j", 0, 100, {"r1a": 2, "r2a": 4}, terms=({"r1a": 2, "r2a": 2}, {"r2a": 2})
            )
        },
        ("maxcus is 1",),
    ),
]


@pytest.mark.behaviour("PLC-15", "PLC-16", "REQ-22")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_judge_knows_the_rule(case: Case) -> None:
    good, bad = case.outcome()
    assert good == []
    assert len(bad) == 1
    assert case.said[0] in bad[0]


@pytest.mark.behaviour("PLC-16")
def test_the_judge_splits_an_allocation_so_that_units_are_kept() -> None:
    problem = judged(asked("j", 6, "2*{order[ut]} + 4*{cu[maxcus=1]}"), cluster=racks(r1=2, r2=2))
    assert faults(problem, {"j": (0, {"r1a": 2, "r2a": 4})}) == []
    assert faults(problem, {"j": (0, {"r1a": 3, "r2a": 3})}) != []


def units(**sizes: tuple[int, ...]) -> Instance:
    """One unit a keyword, hosts with so many slots."""
    hosts = {name: [host(f"{name}{n}", s) for n, s in enumerate(of)] for name, of in sizes.items()}
    return instance(
        cluster=cluster(
            *(item for of in hosts.values() for item in of),
            unit_types=("enc",),
            default_unit_type="enc",
            units=tuple(
                ComputeUnit(name, "enc", tuple(item.name for item in of))
                for name, of in hosts.items()
            ),
        )
    )


@pytest.mark.behaviour("PLC-16")
@pytest.mark.parametrize("method", EXACT)
def test_each_term_has_units_of_its_own(method: str) -> None:
    problem = units(e=(2, 2), f=(4,), g=(3,))
    text = "4*{cu[maxcus=1]} + 3*{cu[maxcus=1]}"
    problem = replace(problem, pending=(job("p", 7, text, minutes=5),))
    start, found = places(problem, method)
    assert start == 0
    by_unit = {name: sum(n for h, n in found.items() if h[0] == name) for name in "efg"}
    assert sorted(by_unit.values()) in ([0, 3, 4], [3, 4, 0])


@pytest.mark.behaviour("PLC-17")
@pytest.mark.parametrize(
    ("pref", "expected"),
    [
        ("config", {"e": 1, "f": 4}),
        ("minavail", {"e": 1, "g": 3, "f": 1}),
        ("maxavail", {"f": 4, "g": 1}),
        ("bestfit", {"f": 4, "e": 1}),
    ],
)
def test_bestfit_takes_few_units_and_the_fullest_of_them(
    pref: str, expected: dict[str, int]
) -> None:
    problem = units(e=(1,), f=(4,), g=(3,))
    problem = replace(problem, pending=(job("p", 5, f"cu[pref={pref}]", minutes=5),))
    found = simulate(problem, reservation="none", cycle=0)["p"].hosts
    by_unit = {name: sum(n for h, n in found.items() if h[0] == name) for name in "efg"}
    assert {name: n for name, n in by_unit.items() if n} == expected


@pytest.mark.behaviour("PLC-17")
def test_bestfit_prefers_one_small_unit_to_a_large_one() -> None:
    problem = units(e=(6,), f=(1,), g=(3,))
    problem = replace(problem, pending=(job("p", 3, "cu[pref=bestfit]", minutes=5),))
    assert simulate(problem, reservation="none", cycle=0)["p"].hosts == {"g0": 3}
    assert places(problem, "time-based")[1] == {"g0": 3}


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"gpu": "num=1:gtile=1:j_exclusive=yes"}, "gtile=1 of GPUs (-gpu)"),
        ({"extsched": "RMS[RMS_MCONT]"}, "options of external schedulers (-ext)"),
        (
            {"res_req": ("affinity[core(2)]",)},
            "affinity[] on hosts without a known number of processor units",
        ),
    ],
)
def test_what_is_read_and_not_heeded_is_said_and_proves_nothing(
    more: dict[str, object], rule: str
) -> None:
    one = replace(host("A", 4), gpus=Gpus(2))
    problem = instance(one, pending=(replace(job("p", 2, minutes=5), **more),))
    found = plan(problem, "optimal", effort=20)
    assert found["p"].start == 0
    assert not found["p"].proved
    assert found.left_out == (rule,)
    assert any(rule in note for note in plan(problem, "time-based").notes)
    assert rule in [item.what for item in unsupported_rules(problem, Resolver.of(problem))]
    plain = replace(problem, pending=(job("p", 2, minutes=5),))
    assert plan(plain, "optimal", effort=20)["p"].proved


OLD = """format: slotwise/1
{dialect}
hosts: [{{name: a, slots: 4, mem: 100}}, {{name: b, slots: 4}}]
pending: [{{id: 1, slots: 4, res_req: {asked}}}]
"""


@pytest.mark.behaviour("REQ-21")
@pytest.mark.parametrize("dialect", ["", "dialect: 10.1", "params: {dialect: '10.1'}"])
def test_10_is_the_usual_language(dialect: str) -> None:
    found = loads(OLD.format(dialect=dialect, asked="'span[block=2]'"))
    assert found.params.dialect == "10.1"
    assert loads(dump(found)) == found
    with pytest.raises(sw.InputError, match="twice"):
        loads(OLD.format(dialect=dialect, asked="'mem>50 && select[type==any]'"))


@pytest.mark.parametrize(
    ("dialect", "says"),
    [
        ("dialect: 9", "must be 7 or 10.1"),
        ("dialect: [7]", "must be 7 or 10.1"),
        ("dialect: 7\nparams: {dialect: 10.1}", "keep one of them"),
    ],
)
def test_another_language_is_refused(dialect: str, says: str) -> None:
    with pytest.raises(sw.InputError, match=says):
        loads(OLD.format(dialect=dialect, asked="''"))


@pytest.mark.behaviour("REQ-21", "REQ-18")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
@pytest.mark.parametrize(
    ("dialect", "defined", "expected"),
    [
        ("7", (False, False), [1, 1]),
        ("10.1", (False, False), [2]),
        ("7", (True, False), [1, 4]),
        ("10.1", (True, False), [4, 1]),
    ],
)
def test_ptile_of_all_slots_where_no_mxj_is_defined(
    dialect: str, defined: tuple[bool, bool], expected: list[int], method: str
) -> None:
    """1 for LSF 7; 10.1 has no span then, and beside hosts with MXJ goes by the processors."""
    hosts = [host(name, 4, mxj_defined=known) for name, known in zip("AB", defined, strict=True)]
    slots = sum(expected)
    problem = instance(
        *hosts,
        params=Params(dialect=dialect),
        pending=(job("p", slots, "span[ptile='!']", minutes=5),),
    )
    start, found = places(problem, method)
    assert start == 0
    assert sum(found.values()) == slots
    if method == "time-based":
        assert sorted(found.values()) == sorted(expected)


@pytest.mark.behaviour("REQ-21", "TBR-02", "LOP-05")
@pytest.mark.parametrize("block", some(range(4), 2))
def test_the_loop_does_what_the_plan_says(block: int) -> None:
    """On random instances; where it does not, the plan has named why."""
    for seed in range(5_000 + 10 * block, 5_010 + 10 * block):
        problem = newer_instance(Random(seed))
        planned = plan(problem, "time-based")
        found = simulate(problem, reservation="time-based", cycle=0, top=9)
        starts = {item.job: item.start for item in planned}
        same = all(found[item.id].start == starts.get(item.id) for item in problem.pending)
        assert same or any("not modelled" in note for note in planned.notes), seed
