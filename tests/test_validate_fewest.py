"""The judge where a job has more compute units than it needs, and at other boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from judging import faults, host, job, problem, racks, running
from sampling import some
from slotwise import (
    AdvanceReservation,
    Cluster,
    HostPartition,
    HostRequest,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    Scope,
    Thresholds,
)
from slotwise.model.resreq import Compound, Simple, Term
from slotwise.solver.planning import plan as planned
from slotwise.solver.validation.facts import counts_of

ONE = racks(r1=1, r2=1, r3=1)
TWO = racks(r1=2, r2=2, r3=2)


def with_memory(cluster: Cluster, **amounts: float) -> Cluster:
    return replace(
        cluster,
        hosts=tuple(
            replace(item, amounts={"mem": amounts[item.name]}) if item.name in amounts else item
            for item in cluster.hosts
        ),
    )


@pytest.mark.behaviour("PLC-07", "PLC-09")
@pytest.mark.parametrize(
    ("cluster", "asked", "held", "better"),
    [
        (ONE, (4, "cu[maxcus=2]"), {"r1a": 2, "r2a": 2}, "1 would do: 4*r1a"),
        (ONE, (5, "cu[maxcus=2]"), {"r1a": 4, "r2a": 1}, None),
        (ONE, (9, "cu[maxcus=3]"), {"r1a": 4, "r2a": 4, "r3a": 1}, None),
        (ONE, (8, "cu[maxcus=3]"), {"r1a": 4, "r2a": 3, "r3a": 1}, "2 would do: 4*r1a 4*r2a"),
        (ONE, (5, "cu[balance]"), {"r1a": 2, "r2a": 2, "r3a": 1}, "2 would do: 3*r1a 2*r2a"),
        (ONE, (8, "cu[balance]"), {"r1a": 3, "r2a": 3, "r3a": 2}, "2 would do: 4*r1a 4*r2a"),
        (ONE, (9, "cu[balance]"), {"r1a": 3, "r2a": 3, "r3a": 3}, None),
        (ONE, (2, "cu[pref=bestfit]"), {"r1a": 1, "r2a": 1}, "1 would do: 2*r1a"),
        (ONE, (2, "cu[pref=maxavail]"), {"r1a": 1, "r2a": 1}, None),
        # Even means hosts: three of them, of which one has a slot less, are two and one.
        (
            TWO,
            (5, "cu[balance] span[ptile=2]"),
            {"r1a": 2, "r2a": 2, "r3a": 1},
            "2 would do: 2*r1a 1*r1b 2*r2a",
        ),
        (
            TWO,
            (8, "cu[balance] span[ptile=2]"),
            {"r1a": 2, "r1b": 2, "r2a": 2, "r3a": 2},
            "2 would do: 2*r1a 2*r1b 2*r2a 2*r2b",
        ),
        (TWO, (5, "cu[maxcus=2] span[ptile=3]"), {"r1a": 3, "r2a": 2}, "1 would do: 3*r1a 2*r1b"),
        (TWO, (8, "cu[maxcus=2] span[ptile=3]"), {"r1a": 3, "r1b": 3, "r2a": 2}, None),
        # Blocks of two: four of them, the last of one slot.
        (
            ONE,
            (7, "cu[balance] span[block=2]"),
            {"r1a": 2, "r2a": 2, "r3a": 3},
            "2 would do: 3*r1a 4*r2a",
        ),
        (ONE, (4, "cu[maxcus=2] span[block=4]"), {"r1a": 2, "r2a": 2}, "1 would do: 4*r1a"),
    ],
)
def test_a_place_in_fewer_units(
    cluster: Cluster, asked: tuple[int, str], held: Mapping[str, int], better: str | None
) -> None:
    found = faults(problem(job("j", *asked), cluster=cluster), {"j": (0, held)})
    used = len({name[:2] for name in held})
    said = [] if better is None else [f"cu-fewest: job j: it uses {used} compute units, "]
    found = [text for text in found if not text.startswith("span")]
    assert found == [f"{text}{better}" for text in said]


@pytest.mark.behaviour("PLC-07")
@pytest.mark.parametrize(
    ("memory", "params", "more", "better"),
    [
        # By the slot: 0.3 holds 0.1 three times though 0.3 // 0.1 is 2.
        ({"r1a": 0.3, "r2a": 0.3}, True, {}, "3*r1a"),
        ({"r1a": 0.299, "r2a": 0.3}, True, {}, "3*r2a"),
        ({"r1a": 0.299, "r2a": 0.299}, True, {}, None),
        # By the host, beside a job that leaves 0.09999999999999998 of it.
        ({"r1a": 1.0, "r2a": 0.3}, False, {"r1a": 1, "r2a": 2}, "3*r1a"),
        ({"r1a": 0.9, "r2a": 0.3}, False, {"r2a": 1}, "3*r1a"),
        ({"r1a": 1.0, "r2a": 1.0}, False, {"r1a": 2, "r2a": 2}, None),
    ],
)
def test_memory_in_fewer_units(
    memory: dict[str, float], params: bool, more: dict[str, int], better: str | None
) -> None:
    cluster = with_memory(racks(r1=1, r2=1), **memory)
    held = {"r1a": 2, "r2a": 1} if better == "3*r1a" else {"r1a": 1, "r2a": 2}
    busy = tuple(
        running(f"on {name}", {name: slots}, "rusage[mem=0.9]" if memory[name] >= 0.9 else "")
        for name, slots in more.items()
    )
    instance = problem(
        job("j", 3, "cu[maxcus=2] rusage[mem=0.1]"),
        cluster=cluster,
        running=busy,
        params=Params(reserve_per_slot=params),
    )
    found = [text for text in faults(instance, {"j": (0, held)}) if "cu-fewest" in text]
    said = "cu-fewest: job j: it uses 2 compute units, 1 would do: "
    assert found == ([] if better is None else [said + better])


@pytest.mark.behaviour("PLC-07")
@pytest.mark.parametrize(("most", "better"), [(3, "3*r1a"), (2, None)])
def test_a_limit_in_fewer_units(most: int, better: str | None) -> None:
    """At most so many slots of all jobs on each host; another job has one of r2a's."""
    limits = (Limit("each", {"slots": most}, hosts=Scope(("r1a", "r2a"), True)),)
    instance = problem(
        job("j", 3, "cu[maxcus=2]"),
        cluster=racks(r1=1, r2=1),
        limits=limits,
        running=(running("r", {"r2a": 1}),),
    )
    said = "cu-fewest: job j: it uses 2 compute units, 1 would do: "
    assert faults(instance, {"j": (0, {"r1a": 2, "r2a": 1})}) == (
        [] if better is None else [said + better]
    )


@pytest.mark.behaviour("PLC-07")
@pytest.mark.parametrize(("limited", "better"), [("r1a", "3*r2a"), ("r2a", "3*r1a")])
def test_a_limit_of_one_host_binds_on_no_other(limited: str, better: str) -> None:
    """At most two slots of each host that the limit is about."""
    instance = problem(
        job("j", 3, "cu[maxcus=2]"),
        cluster=racks(r1=1, r2=1),
        limits=(Limit("each", {"slots": 2}, hosts=Scope((limited,), True)),),
    )
    said = "cu-fewest: job j: it uses 2 compute units, 1 would do: "
    held = {"r1a": 2, "r2a": 1} if limited == "r1a" else {"r1a": 1, "r2a": 2}
    assert faults(instance, {"j": (0, held)}) == [said + better]


@pytest.mark.behaviour("PLC-07", "PLC-12")
def test_a_first_execution_host_stays_first_in_fewer_units() -> None:
    hosts = (HostRequest("r1b", first=True), HostRequest("all"))
    instance = problem(job("j", 3, "cu[maxcus=2]", hosts=hosts), cluster=racks(r1=2, r2=1))
    (said,) = faults(instance, {"j": (0, {"r1b": 2, "r2a": 1})})
    assert said.endswith("1 would do: 3*r1b")


@pytest.mark.behaviour("REQ-14")
def test_a_last_count_that_is_left_out_is_the_rest() -> None:
    instance = problem(job("j", 4, "1*{span[ptile=1]} + {span[ptile=3]}"))
    assert faults(instance, {"j": (0, {"A": 1, "B": 3})}) == []
    (split, count) = faults(instance, {"j": (0, {"A": 1, "B": 4})})
    assert split.startswith("requirement: job j: its allocation cannot be split")
    assert count == "slots-asked: job j: it has 5 slots, but -n requests 4"


@pytest.mark.behaviour("REQ-14")
@pytest.mark.parametrize(
    ("slots", "counts", "expected"),
    [(5, (2, None), (2, 3)), (5, (5, None), (5, 0)), (5, (6, None), (6, 0)), (5, (4, 3), (4, 3))],
)
def test_counts_of_terms(
    slots: int, counts: tuple[int | None, ...], expected: tuple[int, ...]
) -> None:
    compound = Compound(tuple(Term(count, Simple()) for count in counts))
    assert counts_of(job("j", slots), compound) == expected


@pytest.mark.behaviour("RSV-01")
def test_who_takes_nothing_of_a_host_is_not_to_blame_for_it() -> None:
    """Two jobs hold 1200 of A's 1000; what j reserves on its first host alone is on B."""
    hosts = tuple(host(name, amounts={"mem": 1000.0}) for name in "AB")
    instance = problem(
        job("j", 2, "rusage[mem=500]"),
        hosts=hosts,
        running=tuple(running(name, {"A": 1}, "rusage[mem=600]") for name in ("r", "s")),
        reservation_usage=(ReservationUsage("mem", "PER_JOB"),),
    )
    assert faults(instance, {"j": (0, {"B": 1, "A": 1})}) == []
    assert faults(instance, {"j": (0, {"A": 1, "B": 1})}) == [
        "mem: job j: 1700 mem in use on host A at 0 s, but it has 1000"
    ]


@pytest.mark.behaviour("PLC-13", "TBR-19")
@pytest.mark.parametrize(
    ("start", "wrong"), [(0, False), (1, True), (100, True), (499, True), (500, False)]
)
def test_a_host_for_oneself_up_to_the_edges_of_an_advance_reservation(
    start: int, wrong: bool
) -> None:
    instance = problem(
        job("j", 1, exclusive=True),
        queues=(Queue("default", exclusive="Y"),),
        advance_reservations=(AdvanceReservation("ar", 100, 500, {"A": 2}),),
    )
    assert bool(faults(instance, {"j": (start, {"A": 1})})) == wrong


@pytest.mark.behaviour("FSH-08", "PLC-07")
@pytest.mark.parametrize(
    ("inside", "held", "wrong"),
    [
        # One host of each rack is of the partition: who has hosts of none needs two racks.
        (("r1a", "r2b", "r3b"), {"r1b": 4, "r2a": 1}, None),
        (("r1a",), {"r1a": 4, "r1b": 1}, "r1a r1b are neither in one host partition nor in none"),
        (("r1a", "r1b"), {"r1a": 4, "r1b": 1}, None),
        (("r3a",), {"r1b": 4, "r2a": 1}, "1 would do: 4*r1a 1*r1b"),
        # A rack outside would do; who is asked for a partition's hosts has those.
        (("r1a", "r2a"), {"r1a": 4, "r2a": 1}, None),
    ],
)
def test_hosts_of_a_partition_go_with_each_other_alone(
    inside: tuple[str, ...], held: dict[str, int], wrong: str | None
) -> None:
    partitions = (HostPartition("P", inside, (("default", 1),)),)
    asked = replace(problem(job("1", 5, "cu[maxcus=2]"), cluster=TWO), partitions=partitions)
    found = faults(asked, {"1": (0, held)})
    assert [wrong is not None and wrong in text for text in found] == ([True] if wrong else [])


@pytest.mark.behaviour("FSH-08")
def test_partitions_that_overlap() -> None:
    partitions = (
        HostPartition("P", ("r1a", "r1b"), (("default", 1),)),
        HostPartition("Q", ("r1b", "r2a"), (("default", 1),)),
    )
    asked = replace(problem(job("1", 5), cluster=TWO), partitions=partitions)

    def fine(*names: str) -> bool:
        first, *rest = names
        held = {first: 4, **dict.fromkeys(rest, 1)}
        found = faults(asked, {"1": (0, held)})
        assert all("neither in one host partition nor in none" in text for text in found)
        return not found

    assert fine("r1a", "r1b")
    assert fine("r1b", "r2a")
    assert not fine("r1a", "r2a")
    assert fine("r2b", "r3a")


@pytest.mark.behaviour("PLC-07", "TBR-19")
@pytest.mark.parametrize(
    ("start", "as_lsf", "better"), [(0, False, False), (300, False, True), (0, True, True)]
)
def test_a_host_whose_dispatch_window_is_closed_saves_no_unit(
    start: int, as_lsf: bool, better: bool
) -> None:
    """The idle r1a takes jobs from minute 5 on; the others have two free slots each."""
    cluster = replace(
        ONE,
        hosts=tuple(
            replace(item, windows="0:05-1:00") if item.name == "r1a" else item for item in ONE.hosts
        ),
    )
    instance = problem(
        job("j", 4, "cu[maxcus=2]"),
        cluster=cluster,
        running=(running("r", {"r2a": 2, "r3a": 2}, run_limit=900),),
    )
    found = faults(instance, {"j": (start, {"r2a": 2, "r3a": 2})}, as_lsf=as_lsf)
    said = "cu-fewest: job j: it uses 2 compute units, 1 would do: 4*r1a"
    assert found == ([said] if better else [])


@pytest.mark.behaviour("PLC-07", "RSV-11", "TBR-16")
@pytest.mark.parametrize("asked", some(["cu[maxcus=2]", "cu[balance]", "cu[pref=bestfit]"], 1))
@pytest.mark.parametrize(
    ("changes", "more", "closed"),
    [
        ({"load": {"r1m": 3.0}, "thresholds": Thresholds({"r1m": 2.0})}, {}, True),
        ({"load": {"r1m": 2.0}, "thresholds": Thresholds({"r1m": 2.0})}, {}, False),
        ({"load": {"it": 3.0}, "thresholds": Thresholds({"it": 5.0})}, {}, True),
        ({"load": {"it": 5.0}, "thresholds": Thresholds({"it": 5.0})}, {}, False),
        ({"amounts": {"mem": 100.0}, "thresholds": Thresholds({"mem": 200.0})}, {}, True),
        ({"amounts": {"mem": 300.0}, "thresholds": Thresholds({"mem": 200.0})}, {}, False),
        ({"load": {"r1m": 3.0}}, {"thresholds": Thresholds({"r1m": 2.0})}, True),
        # r1a took a job a second ago that has ended since; a cycle has a minute.
        ({}, {"job_accept_interval": 1, "just": True}, True),
        ({}, {"job_accept_interval": 1, "just": False}, False),
    ],
)
def test_a_host_that_is_closed_saves_no_unit(
    asked: str, changes: dict[str, Any], more: dict[str, Any], closed: bool
) -> None:
    """Every method takes the two other units while load or a recent start closes r1a."""
    more = dict(more)
    old = (running("old", {"r1a": 1}, run_limit=1),) if more.pop("just", False) else ()
    cluster = replace(
        ONE,
        hosts=tuple(
            replace(item, **changes) if item.name == "r1a" else replace(item, slots=2)
            for item in ONE.hosts
        ),
    )
    instance = problem(
        job("j", 4, asked),
        cluster=cluster,
        queues=(Queue("default", **more),),
        running=old,
        now=1,
    )
    for method in ("greedy", "time-based", "optimal", "milp"):
        found = planned(instance, method)
        assert not any("bug" in note for note in found.notes)
        assert (found["j"].start, set(found["j"].allocation)) == (
            1,
            {"r2a", "r3a"} if closed else {"r1a"},
        )


@pytest.mark.behaviour("TBR-16")
def test_a_host_that_is_closed_in_this_cycle_saves_a_unit_later() -> None:
    """r1b has just taken a job, and takes the next one by the time that the others are free."""
    long = {"run_limit": 300}
    instance = problem(
        job(
            "j",
            5,
            "cu[maxcus=2]",
            hosts=(HostRequest("r1a", first=True), HostRequest("r1b"), HostRequest("r2a")),
        ),
        cluster=racks(r1=2, r2=1),
        queues=(Queue("default", job_accept_interval=1),),
        running=(
            running("first", {"r1a": 4}, **long),
            running("other", {"r2a": 4}, **long),
            replace(running("new", {"r1b": 1}, **long), start=200),
        ),
        now=200,
    )
    found = planned(instance, "time-based")
    assert not any("bug" in note for note in found.notes)
    assert (found["j"].start, set(found["j"].allocation)) == (300, {"r1a", "r1b"})
    assert set(planned(instance, "optimal")["j"].allocation) == {"r1a", "r1b"}


@pytest.mark.behaviour("TBR-01", "PLC-07")
@pytest.mark.parametrize("asked", ["cu[maxcus=2]", "cu[maxcus=2] rusage[mem=1]"])
def test_what_is_held_for_a_future_start_saves_no_unit(asked: str) -> None:
    """The large job holds a slot of r1b until it starts; so the small one is in two units."""
    instance = problem(
        job("large", 5),
        job("small", 2, asked, run_limit=1000),
        cluster=with_memory(racks(r1=2, r2=1), r1a=10, r1b=10, r2a=10),
        running=(
            running("old", {"r1a": 4}),
            running("other", {"r1b": 2, "r2a": 3}, run_limit=1000),
        ),
    )
    found = planned(instance, "time-based")
    assert not any("bug" in note for note in found.notes)
    assert (found["large"].start, dict(found["large"].reserved)) == (100, {"r1b": 1})
    assert (found["small"].start, set(found["small"].allocation)) == (0, {"r1b", "r2a"})
