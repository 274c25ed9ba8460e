"""The judge on slot counts, span, same, compute units, candidates and compound requirements."""

from typing import Any

import pytest
from judging import Case, faults, host, job, problem, racks
from slotwise import Cluster, HostGroup, HostRequest, Params, Queue, ResourceDefinition

CASES = [
    Case(
        "slot count",
        problem(job("j", 3)),
        {"j": (0, {"A": 3})},
        {"j": (0, {"A": 2})},
        ("slots-asked: job j: it has 2 slots, but -n requests 3",),
    ),
    Case(
        "slot range",
        problem(job("j", 2, max_slots=4)),
        {"j": (0, {"A": 4})},
        {"j": (0, {"A": 4, "B": 1})},
        ("slots-asked: job j: it has 5 slots, but -n requests 2 to 4",),
    ),
    Case(
        "hosts=1",
        problem(job("j", 3, "span[hosts=1]")),
        {"j": (0, {"B": 3})},
        {"j": (0, {"A": 2, "B": 1})},
        ("span: job j: span[hosts=1] allows one host, it holds A B",),
    ),
    Case(
        "ptile, too many on a host",
        problem(job("j", 5, "span[ptile=2]")),
        {"j": (0, {"A": 2, "B": 1, "C": 2})},
        {"j": (0, {"A": 3, "B": 2})},
        ("span: job j: span[ptile] allows 2 slots on host A, it holds 3",),
    ),
    Case(
        "ptile, two remainders",
        problem(job("j", 4, "span[ptile=2]")),
        {"j": (0, {"A": 2, "B": 2})},
        {"j": (0, {"A": 1, "B": 1, "C": 2})},
        ("span: job j: span[ptile] allows one host with fewer slots than the others, not A B",),
    ),
    Case(
        "ptile of a range",
        problem(job("j", 1, "span[ptile=2]", max_slots=20)),
        {"j": (0, {"A": 2, "B": 2, "C": 1})},
        {"j": (0, {"A": 2, "B": 1, "C": 1})},
        ("span: job j: span[ptile] allows one host with fewer slots than the others, not B C",),
    ),
    Case(
        "ptile '!'",
        problem(
            job("j", 5, "span[ptile='!']"),
            hosts=(host("A"), host("B", 4, mxj_defined=False)),
            params=Params(dialect="7"),
        ),
        {"j": (0, {"A": 4, "B": 1})},
        {"j": (0, {"A": 3, "B": 2})},
        ("span: job j: span[ptile] allows 1 slots on host B, it holds 2",),
    ),
    Case(
        "ptile by type",
        problem(
            job("j", 4, "span[ptile='!',HP:2] same[type]"),
            hosts=(host("A", type="HP"), host("B", type="HP"), host("C", type="SGI")),
        ),
        {"j": (0, {"A": 2, "B": 2})},
        {"j": (0, {"A": 4})},
        ("span: job j: span[ptile] allows 2 slots on host A, it holds 4",),
    ),
    Case(
        "same, all hosts have it",
        problem(
            job("j", 5, "same[type:model]"),
            hosts=(
                host("A", type="X", model="m"),
                host("B", type="X", model="m"),
                host("C", type="X", model="n"),
            ),
        ),
        {"j": (0, {"A": 4, "B": 1})},
        {"j": (0, {"A": 4, "C": 1})},
        ("same: job j: same[type:model] is broken by hosts A C",),
    ),
    Case(
        "same, some hosts lack one: either will do",
        problem(
            job("j", 5, "same[os:site]"),
            hosts=(
                host("A", strings={"os": "1", "site": "x"}),
                host("B", strings={"os": "2", "site": "x"}),
                host("C", strings={"os": "2"}),
            ),
        ),
        {"j": (0, {"A": 4, "B": 1})},
        {"j": (0, {"A": 4, "C": 1})},
        ("same: job j: same[os:site] is broken by hosts A C",),
    ),
    Case(
        "cu, host outside",
        problem(
            job("j", 5, "cu[]"),
            cluster=Cluster(
                (*racks(r1=2).hosts, host("X")),
                unit_types=("rack",),
                default_unit_type="rack",
                units=racks(r1=2).units,
            ),
        ),
        {"j": (0, {"r1a": 4, "r1b": 1})},
        {"j": (0, {"r1a": 4, "X": 1})},
        ("cu: job j: host X is in no compute unit of type rack",),
    ),
    Case(
        "cu[maxcus]",
        problem(job("j", 12, "cu[maxcus=2]"), cluster=racks(r1=2, r2=2, r3=2)),
        {"j": (0, {"r1a": 4, "r1b": 4, "r3a": 4})},
        {"j": (0, {"r1a": 4, "r2a": 4, "r3a": 4})},
        ("cu: job j: it uses 3 compute units (r1 r2 r3), maxcus is 2",),
    ),
    Case(
        "cu[usablecuslots]",
        problem(job("j", 8, "cu[usablecuslots=4]"), cluster=racks(r1=2, r2=2, r3=2)),
        {"j": (0, {"r1a": 4, "r1b": 2, "r3a": 2})},
        {"j": (0, {"r1a": 4, "r2a": 2, "r3a": 2})},
        ("cu: job j: usablecuslots=4 allows one unit with fewer slots, it has 2 in r2, 2 in r3",),
    ),
    Case(
        "cu[balance] by slots",
        problem(job("j", 5, "cu[balance]"), cluster=racks(r1=1, r2=1)),
        {"j": (0, {"r1a": 3, "r2a": 2})},
        {"j": (0, {"r1a": 4, "r2a": 1})},
        (
            "cu: job j: balance allows the units to differ by 1 in slots, they hold 4 in r1, "
            "1 in r2",
        ),
    ),
    Case(
        "cu[balance] by hosts",
        problem(job("j", 7, "cu[balance] span[ptile=2]"), cluster=racks(r1=3, r2=3)),
        {"j": (0, {"r1a": 2, "r1b": 2, "r2a": 2, "r2b": 1})},
        {"j": (0, {"r1a": 2, "r1b": 2, "r1c": 2, "r2a": 1})},
        (
            "cu: job j: balance allows the units to differ by 1 in hosts, they hold 3 in r1, "
            "1 in r2",
        ),
    ),
    Case(
        "cu[balance] disregards the maximum",
        problem(job("j", 4, "cu[balance]", max_slots=8), cluster=racks(r1=2, r2=2)),
        {"j": (0, {"r1a": 4})},
        {"j": (0, {"r1a": 4, "r2a": 4})},
        ("slots-asked: job j: it has 8 slots, but -n requests 4",),
    ),
    Case(
        "select",
        problem(
            job("j", 2, "select[mem>500 && type==X]"),
            hosts=(
                host("A", type="X", amounts={"mem": 600.0}),
                host("B", type="X", amounts={"mem": 500.0}),
            ),
        ),
        {"j": (0, {"A": 2})},
        {"j": (0, {"B": 2})},
        ("candidate: job j: host B does not meet the select section",),
    ),
    Case(
        "exclusive resource",
        problem(
            job("j", 1, "select[!gpu]"),
            hosts=(
                host("A"),
                host("B", exclusive=frozenset({"bigmem"}), booleans=frozenset({"gpu"})),
            ),
        ),
        {"j": (0, {"A": 1})},
        {"j": (0, {"B": 1})},
        (
            "candidate: job j: host B does not meet the select section",
            "candidate: job j: host B accepts only jobs that request bigmem",
        ),
    ),
    Case(
        "queue HOSTS and excluded hosts",
        problem(
            job("j", 1),
            cluster=Cluster(
                tuple(host(name) for name in "ABC"), groups=(HostGroup("g", ("A", "B")),)
            ),
            queues=(Queue("default", hosts=(HostRequest("g"),), excluded_hosts=("B",)),),
        ),
        {"j": (0, {"A": 1})},
        {"j": (0, {"C": 1})},
        ("candidate: job j: host C is not among the hosts of queue default",),
    ),
    Case(
        "excluded host",
        problem(job("j", 1), queues=(Queue("default", excluded_hosts=("B",)),)),
        {"j": (0, {"A": 1})},
        {"j": (0, {"B": 1})},
        ("candidate: job j: host B is excluded by queue default",),
    ),
    Case(
        "-m",
        problem(job("j", 1, hosts=(HostRequest("A", 2), HostRequest("B")))),
        {"j": (0, {"B": 1})},
        {"j": (0, {"C": 1})},
        ("candidate: job j: host C is not among the hosts of -m",),
    ),
    Case(
        "first execution host",
        problem(job("j", 2, hosts=(HostRequest("A"), HostRequest("B", first=True)))),
        {"j": (0, {"B": 1, "A": 1})},
        {"j": (0, {"A": 1, "B": 1})},
        ("first-host: job j: first host A is not one of B (-m)",),
    ),
    Case(
        "host status",
        problem(job("j", 1), hosts=(host("A"), host("B", status="unavail"))),
        {"j": (0, {"A": 1})},
        {"j": (0, {"B": 1})},
        ("candidate: job j: host B has status unavail",),
    ),
    Case(
        "resource that a host lacks",
        problem(job("j", 1, "rusage[mem=5]"), hosts=(host("A", amounts={"mem": 10.0}), host("B"))),
        {"j": (0, {"A": 1})},
        {"j": (0, {"B": 1})},
        ("candidate: job j: host B has no mem",),
    ),
    Case(
        "-x in a queue that forbids it",
        problem(
            job("j", 1, exclusive=True, queue="x"),
            job("k", 1),
            queues=(Queue("default"), Queue("x", exclusive="Y")),
        ),
        {"j": (0, {"A": 1}), "k": (0, {"B": 1})},
        {"j": (0, {"A": 1}), "k": (0, {"A": 1})},
        ("alone: -x of job j allows no other job on host A at 0 s, job k is there",),
    ),
]


@pytest.mark.behaviour(
    "PLC-02", "PLC-03", "PLC-04", "PLC-05", "PLC-07", "PLC-08", "PLC-09", "PLC-12"
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_shape(case: Case) -> None:
    assert case.outcome() == ([], list(case.said))


@pytest.mark.behaviour("PLC-13")
def test_exclusive_job_needs_the_queue() -> None:
    instance = problem(job("j", 1, exclusive=True))
    assert faults(instance, {"j": (0, {"A": 1})}) == [
        "exclusive: job j: -x is not allowed by EXCLUSIVE=N of queue default"
    ]


@pytest.mark.behaviour("PLC-11")
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("CU[rack]", []),
        ("CU[cabinet]", []),
        (
            "CU[host]",
            [
                "exclusive: job j: cu[excl] of type rack is not allowed by EXCLUSIVE=CU[host] "
                "of queue default"
            ],
        ),
        (
            "Y",
            [
                "exclusive: job j: cu[excl] of type rack is not allowed by EXCLUSIVE=Y of queue "
                "default"
            ],
        ),
    ],
)
def test_exclusive_units_need_the_queue(setting: str, said: list[str]) -> None:
    plain = racks(r1=2)
    types = Cluster(plain.hosts, (), ("host", "rack", "cabinet"), "rack", plain.units)
    instance = problem(
        *(job("i", 1, "cu[]"), job("j", 1, "cu[excl]")),
        cluster=types,
        queues=(Queue("default", exclusive=setting),),
    )
    assert faults(instance, {"i": (100, {"r1b": 1}), "j": (0, {"r1a": 1})}) == said


@pytest.mark.behaviour("PLC-14")
def test_resizable_job_takes_no_units() -> None:
    instance = problem(job("j", 1, "cu[]", resizable=True), cluster=racks(r1=1))
    found = faults(instance, {"j": (0, {"r1a": 1})})
    assert len(found) == 1
    assert "resizable" in found[0]


BIG = (host("A", booleans=frozenset({"big"})), host("B"), host("C"))


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(
    ("allocation", "valid"),
    [
        ({"A": 1, "B": 2, "C": 1}, True),
        ({"A": 3, "B": 1}, True),  # one slot of A serves the first term, two the second
        ({"B": 2, "A": 1, "C": 1}, False),  # the first host must satisfy the first term
        ({"A": 1, "B": 1, "C": 2}, True),  # the remainder may be on either
        ({"B": 2, "C": 2}, False),  # no host for the first term
        ({"A": 1, "B": 3}, False),  # more than ptile on B
    ],
)
def test_compound_allocation_splits_into_its_terms(allocation: dict[str, int], valid: bool) -> None:
    instance = problem(
        job("j", 4, "1*{select[big]} + 3*{select[type==any] span[ptile=2]}"), hosts=BIG
    )
    said = (
        "requirement: job j: its allocation cannot be split into the terms of its compound "
        "requirement"
    )
    assert faults(instance, {"j": (0, allocation)}) == ([] if valid else [said])


FOUR = tuple(host(name) for name in "ABCD")
ALIKE = (host("A", model="X"), host("B", model="X"), host("C", model="Y"))
MEMORY = (host("A", amounts={"mem": 10.0}), host("B"))


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(
    ("requirement", "more", "allocation", "valid"),
    [
        ("1*{} + 3*{span[ptile=2]}", {"hosts": FOUR}, {"A": 1, "B": 2, "C": 1}, True),
        ("1*{} + 3*{span[ptile=2]}", {"hosts": FOUR}, {"A": 1, "B": 1, "C": 1, "D": 1}, False),
        ("1*{} + 3*{span[hosts=1]}", {"hosts": FOUR}, {"A": 1, "B": 3}, True),
        ("1*{} + 3*{span[hosts=1]}", {"hosts": FOUR}, {"A": 4}, True),
        ("1*{} + 3*{span[hosts=1]}", {"hosts": FOUR}, {"A": 1, "B": 2, "C": 1}, False),
        ("1*{} + 4*{cu[maxcus=1]}", {"cluster": racks(r1=2, r2=2)}, {"r1a": 1, "r1b": 4}, True),
        (
            "1*{} + 4*{cu[maxcus=1]}",
            {"cluster": racks(r1=2, r2=2)},
            {"r1a": 1, "r2a": 2, "r2b": 2},
            True,
        ),
        (
            "1*{} + 4*{cu[maxcus=1]}",
            {"cluster": racks(r1=2, r2=2)},
            {"r1a": 1, "r1b": 2, "r2a": 2},
            False,
        ),
        ("1*{} + 4*{same[model]}", {"hosts": ALIKE}, {"A": 3, "B": 2}, True),
        ("1*{} + 4*{same[model]}", {"hosts": ALIKE}, {"A": 1, "B": 2, "C": 2}, False),
        ("1*{rusage[mem=5]} + 1*{}", {"hosts": MEMORY}, {"A": 1, "B": 1}, True),
        ("1*{rusage[mem=5]} + 1*{}", {"hosts": MEMORY}, {"B": 1, "A": 1}, False),
    ],
)
def test_each_term_keeps_its_own_shape(
    requirement: str, more: dict[str, Any], allocation: dict[str, int], valid: bool
) -> None:
    requirement = requirement.replace("{}", "{select[type==any]}")
    instance = problem(job("j", sum(allocation.values()), requirement), **more)
    said = (
        "requirement: job j: its allocation cannot be split into the terms of its compound "
        "requirement"
    )
    assert faults(instance, {"j": (0, allocation)}) == ([] if valid else [said])


@pytest.mark.behaviour("REQ-14")
def test_compound_usage_counts_term_by_term() -> None:
    """The first term reserves 600 MB on A, the second 100 MB a host, on A too if it is there."""
    hosts = tuple(host(name, 4, amounts={"mem": 650.0}) for name in "AB")
    instance = problem(job("j", 3, "1*{rusage[mem=600]} + 2*{rusage[mem=100]}"), hosts=hosts)
    assert faults(instance, {"j": (0, {"A": 1, "B": 2})}) == []
    assert faults(instance, {"j": (0, {"A": 2, "B": 1})}) == [
        "mem: job j: 700 mem in use on host A at 0 s, but it has 650"
    ]


def test_compound_counts_that_do_not_add_up() -> None:
    instance = problem(job("j", 4, "1*{select[big]} + 3*{select[type==any]}"), hosts=BIG)
    assert faults(instance, {"j": (0, {"A": 1, "B": 2})}) == [
        "requirement: job j: its allocation cannot be split into the terms of its compound "
        "requirement",
        "slots-asked: job j: it has 3 slots, but -n requests 4",
    ]


def test_refused_requirement_may_not_be_planned() -> None:
    instance = problem(job("j", 1, "span[hosts=1] span[hosts=1]"))
    found = faults(instance, {"j": (0, {"A": 1})})
    assert len(found) == 1
    assert found[0].startswith("requirement: job j: its requirement is refused: ")


def test_alternative_that_does_not_exist() -> None:
    from judging import entry

    definition = ResourceDefinition("lic")
    cluster = Cluster((host("A", amounts={"mem": 50.0, "lic": 1.0}),), resources=(definition,))
    instance = problem(job("j", 1, "rusage[mem=20||mem=10:lic=1]"), cluster=cluster)
    place = (0, {"A": 1})
    assert faults(instance, {"j": entry(instance, "j", place, alternative=1)}) == []
    assert faults(instance, {"j": entry(instance, "j", place, alternative=2)}) == [
        "requirement: job j: it uses rusage alternative 2, its requirement has 2"
    ]
