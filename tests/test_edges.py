"""Rules whose edge only a direct test sees: each fails where the rule is off by one or left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fairshare.lab import Lab, cluster
from judging import faults, host, job, problem, running
from loop_lab import HOUR, run
from loop_lab import host as machine
from loop_lab import instance as site
from loop_lab import job as asked
from loop_lab import running as busy
from placement_cases import bools, case, ints
from placement_reference import valid
from slotwise import InputError, Instance, Job, Limit, Queue, Scope, loads
from slotwise.model.reservation import Phase, Reservation
from slotwise.solver.availability.resources import Per, Use
from slotwise.solver.availability.usage import Usage
from slotwise.solver.placement import place
from slotwise.solver.placement.choose import Need, Rules, Stock, first_fit_choice
from slotwise.solver.planning import plan
from slotwise.solver.validate import validate


@pytest.mark.behaviour("PLC-13")
@pytest.mark.parametrize(
    ("slots", "most", "taken"),
    [
        (1, None, False),
        (2, None, True),
        (4, None, True),
        (5, None, False),
        (1, 2, True),
        (1, 1, False),
        (4, 9, True),
        (5, 9, False),
    ],
)
def test_proclimit_includes_its_ends(slots: int, most: int | None, taken: bool) -> None:
    queue = Queue("default", slots=(2, 2, 4))
    instance = problem(job("j", slots, max_slots=most), queues=(queue,))
    found = plan(instance, "time-based")
    assert ("j" in found) == taken
    if not taken:
        assert "outside PROCLIMIT 2..4" in found.unplaced[0].reason


@pytest.mark.behaviour("TBR-02")
def test_time_based_looks_at_finishes_only() -> None:
    """Memory falls after 40 s; the time-based start is the finish at 100 s, the optimal one 40."""
    hosts = (host("A", 4, amounts={"mem": 100.0}),)
    held = running("r", {"A": 1}, "rusage[mem=(80 10):duration=(40s)]")
    instance = problem(job("j", 1, "rusage[mem=50]"), hosts=hosts, running=(held,))
    assert plan(instance, "time-based")["j"].start == 100
    assert plan(instance, "optimal", effort=5)["j"].start == 40


@pytest.mark.parametrize("method", ["time-based", "optimal", "greedy"])
@pytest.mark.parametrize(("whole", "held", "rest"), [(0.3, 0.1, 0.2), (0.7, 0.4, 0.3)])
def test_decimals_that_add_up_fit(method: str, whole: float, held: float, rest: float) -> None:
    """0.3 less 0.1 is 0.19999999999999998 in binary, and 0.2 fits all the same."""
    assert whole - held < rest
    hosts = (host("A", 4, amounts={"mem": whole}),)
    runs = running("r", {"A": 1}, f"rusage[mem={held}]")
    instance = problem(job("j", 1, f"rusage[mem={rest}]"), hosts=hosts, running=(runs,))
    found = plan(instance, method, **({"effort": 5.0} if method == "optimal" else {}))
    assert found["j"].start == 0
    assert validate(instance, found, as_lsf=method != "optimal") == []


@pytest.mark.behaviour("RSV-02")
@pytest.mark.parametrize("finish", [1, 59, 60, 299, 300, 599, 600, 900])
def test_a_decay_cut_short_keeps_its_slope(finish: int) -> None:
    """Over 600 s from 100 to 40, then 40: until the job ends the amounts are these."""
    phases = (Phase(100.0, 0, 600, True, 40.0), Phase(40.0, 600, None))
    reservation = Reservation("mem", phases)
    usage = Usage(2)
    usage.add(1, 1000, 1000 + finish, Use(0, Per.HOST, reservation), 3.0)
    for elapsed in range(0, 1000, 7):
        expected = 3 * reservation.planned_at(elapsed) if elapsed < finish else 0.0
        assert usage.at(1000 + elapsed) == pytest.approx([0.0, expected])


@pytest.mark.parametrize(("end", "fine"), [(99, False), (100, False), (101, True)])
def test_an_advance_reservation_lasts_a_second_at_least(end: int, fine: bool) -> None:
    text = (
        "format: slotwise/1\nhosts: [{name: A, slots: 4}]\n"
        f"advance_reservations: [{{name: ar, start: 100s, end: {end}s, allocation: 1*A}}]\n"
    )
    if fine:
        assert loads(text).advance_reservations[0].end == end
    else:
        with pytest.raises(InputError, match="must be later than start"):
            loads(text)


TWO_TERMS = "1*{select[ncpus>0]} + 1*{select[ncpus>0]}"


@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
@pytest.mark.parametrize("scope", [None, Scope(("all",), each=True)])
def test_a_job_counts_once_under_a_job_limit(method: str, scope: Scope | None) -> None:
    """Two terms on one host are one job; beside a running one they are the second."""
    limits = (Limit("L", {"jobs": 1.0}, hosts=scope),)
    instance = problem(job("j", 2, TWO_TERMS), hosts=(host("A", 4),), limits=limits)
    options = {} if method == "time-based" else {"time_limit": 10.0}
    assert plan(instance, method, **options)["j"].start == 0
    later = replace(instance, running=(running("r", {"A": 1}),))
    assert plan(later, method, **options)["j"].start == 100


@pytest.mark.behaviour("PLC-08")
def test_one_unit_alone_may_hold_less_than_usablecuslots() -> None:
    """The first host's unit of 2 is the one that may; a last unit of 3 would be the second."""
    stock, rules = Stock(ints([2, 10, 10]), bools([False] * 3)), Rules(least=5)
    share = first_fit_choice(stock, Need(1, 12, 0), rules, True)
    assert share is not None
    assert share.whole.tolist() == [2, 10, 0]
    assert first_fit_choice(stock, Need(1, 15, 0), rules, True) is None
    term, capacity = case(
        [2, 10, 10], 15, units=[0, 1, 2], usablecuslots=5, first=[True, False, False]
    )
    found = place(term, capacity)
    assert found is not None
    assert found[0] == 2
    assert valid(term, capacity, found)
    assert min(found[1], found[2]) >= 5


@pytest.mark.behaviour("PLC-03")
def test_the_judge_grants_a_term_one_smaller_block() -> None:
    """Three slots under ptile=2 are 2 and 1, not 1, 1 and 1, also beside another term."""
    hosts = tuple(host(name) for name in "ABCD")
    ask = "1*{select[ncpus>0]} + 3*{span[ptile=2]}"
    instance = problem(job("j", 4, ask), hosts=hosts)
    assert faults(instance, {"j": (0, {"B": 1, "A": 2, "C": 1})}) == []
    assert faults(instance, {"j": (0, {"A": 1, "B": 1, "C": 1, "D": 1})}) != []


@pytest.mark.behaviour("TBR-03")
@pytest.mark.parametrize("finish", [600, 7200])
def test_an_explicit_finish_counts_in_the_loop(finish: int) -> None:
    """It says when the job ends, also after its run limit of an hour: it was suspended."""
    runs = replace(busy("r", {"A": 4}, 60), finish=finish)
    held = site(
        machine("A", 4),
        queues=(Queue("q", slot_reserve=100),),
        running=(runs,),
        pending=(asked("p", 4, minutes=10),),
    )
    result = run(held, "time-based")
    assert result["p"].estimate == finish
    assert result["p"].start == finish


@pytest.mark.behaviour("TBR-18")
def test_what_a_joint_plan_leaves_free_for_ever_is_free() -> None:
    """6 of 8 slots are taken in an hour: 2 may go to a job of ten hours now, 3 may not."""
    for slots in (2, 3):
        crowded = site(
            machine("A", 4),
            machine("B", 4),
            queues=(Queue("q", slot_reserve=100),),
            running=(busy("r", {"A": 2, "B": 2}, 60),),
            pending=(asked("wide", 6, minutes=60),),
            future=(asked("long", slots, minutes=600, submit=30),),
        )
        result = run(crowded, "optimal", top=1)
        assert result["wide"].start == HOUR
        assert result["long"].start == (60 if slots == 2 else 2 * HOUR)


@pytest.mark.behaviour("QBF-08")
def test_left_over_slots_go_by_job_priority_where_the_pool_says_so() -> None:
    """10 slots at 50 and 50, b has two jobs: the three left over go by priority, not by queue."""
    queues = (
        Queue("a", 20, slot_pool="P", slot_share=50, use_priority_in_pool=True),
        Queue("b", 10, slot_pool="P", slot_share=20),
    )
    jobs = [Job(f"{n}", queue="a", priority=1, submit=0, run_time=99) for n in range(1, 10)]
    jobs += [Job(f"{n}", queue="b", priority=n, submit=0, run_time=99) for n in range(20, 29)]
    lab = Lab(Instance(cluster(10), queues))
    lab.submit(*jobs)
    lab.cycle(0)
    # 5 and 2 by shares; the three others to the highest priorities, all of queue b.
    assert lab.in_use() == {"a": 5, "b": 5}
    assert {item.id for _, item in lab.starts[-3:]} <= {str(n) for n in range(20, 29)}
    highest = [item.priority for _, item in lab.starts if item.queue == "b"]
    assert highest == sorted(highest, reverse=True)
    lab = Lab(Instance(cluster(10), queues))
    lab.submit(*(replace(item, priority=50 if item.queue == "a" else 1) for item in jobs))
    lab.cycle(0)
    assert lab.in_use() == {"a": 8, "b": 2}
