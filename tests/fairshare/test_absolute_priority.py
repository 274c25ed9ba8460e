"""Absolute priority scheduling: the formula, the groups, and priorities that grow (APS-01)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from loop_lab import HOUR, MINUTE, host, instance, job, run, running
from slotwise import (
    Application,
    HostPartition,
    InputError,
    Instance,
    Job,
    Params,
    Queue,
    ShareUsage,
    User,
    UserGroup,
    dump_changes,
)
from slotwise.model.absolute_priority import AbsolutePriority, StatedPriority
from slotwise.model.formats.changes import loads_changes
from slotwise.solver.fairshare.dispatch_order import order_policy
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.validate import validate_schedule

pytestmark = pytest.mark.behaviour("APS-01")

#: The example of the documents: two queues in one group.
EXAMPLE = "WEIGHT [[JPRIORITY, 1] [QPRIORITY, 10]]"
HUNDRED = Params(max_user_priority=100)


def queues(text: str = EXAMPLE, **more: Any) -> tuple[Queue, ...]:
    formula = AbsolutePriority.parse(text)
    parent = Queue("normal", 30, aps_priority=formula, queue_group=("short",), **more)
    return parent, Queue("short", 20)


def site(*jobs: Job, text: str = EXAMPLE, params: Params = HUNDRED, **more: Any) -> Instance:
    of_parent = {key: more.pop(key) for key in ("user_shares", "backfill") if key in more}
    given = more.pop("queues", None) or queues(text, **of_parent)
    return instance(host("A", 1), queues=given, pending=jobs, params=params, **more)


def values(problem: Instance) -> dict[str, str]:
    """The absolute priorities in order, as bjobs -aps prints them."""
    order = order_policy(problem)
    order.begin(problem.now, problem.pending)
    found = {}
    while (offer := order.next()) is not None:
        found[offer.job.id] = str(offer.absolute)
        order.skipped(offer.job)
    return found


def pending(name: str, queue: str = "normal", **more: Any) -> Job:
    asks = more.pop("res_req", ())
    return job(name, 1, *asks, minutes=10, **{"queue": queue, "priority": 50, **more})


def test_the_worked_numbers_of_the_documents() -> None:
    """Normal 350 before short 250; with admin=10 99.00 becomes 109.00, system=10 leads as (10)."""
    admin, system = StatedPriority("admin", 10.0), StatedPriority("system", 10.0)
    problem = site(
        pending("1", "short"),
        pending("2"),
        pending("3", "short", aps=system),
        pending("4", "short", aps=StatedPriority("system", 11.0)),
    )
    assert values(problem) == {"4": "(11)", "3": "(10)", "2": "350.00", "1": "250.00"}
    one = site(pending("1", priority=99), pending("2", priority=99, aps=admin), text=JOB_ALONE)
    assert values(one) == {"2": "109.00", "1": "99.00"}


HEAD = "format: slotwise-changes/1\n"
JOB_ALONE = "WEIGHT[[JPRIORITY, 1]]"


def test_three_in_twenty_minutes_make_fifty_nine_of_fifty_in_an_hour() -> None:
    lsf = Params(max_user_priority=100, job_priority_over_time=(3, 20))
    one = pending("1", submit=100)
    assert lsf.default_priority == 50
    at = {minutes: lsf.priority_at(one, 100 + minutes * MINUTE) for minutes in (0, 19, 20, 59, 60)}
    assert at == {0: 50, 19: 50, 20: 53, 59: 56, 60: 59}
    lava = replace(lsf, family="volclava")
    assert [lava.priority_at(one, 100 + m * MINUTE) for m in (0, 6, 7, 60)] == [50, 50, 51, 59]
    for params in (lsf, lava):
        time = 100
        for _ in range(7):
            following = params.next_growth(one, time)
            assert following is not None
            before, after = (params.priority_at(one, t) for t in (following - 1, following))
            assert params.priority_at(one, time) == before < after
            time = following
    assert replace(lsf, max_user_priority=0).priority_at(one, HOUR) == 50


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("WEIGHT[[PROC, 2] [MEM, 0.5] [SWAP, -10]]", 2 * 3 + 0.5 * 400 - 10 * 100),
        ("WEIGHT[[RSRC, 3] [PROC, 2] [MEM, 0.5]]", 3 * (2 * 3 + 0.5 * 400)),
        ("WEIGHT[[MEM, 1] [PROC, 1]] LIMIT[[MEM, 50]]", 50 + 3),
        ("WEIGHT[[SWAP, -10] [PROC, 1]] LIMIT[[RSRC, 40]]", -40),
        ("WEIGHT[[APP, 1] [USER, 10] [UG, 100]]", 7 + 10 * 5 + 100 * 2),
        ("WEIGHT[[WORK, 2] [JPRIORITY, 1] [QPRIORITY, 10]]", 2 * (50 + 300)),
        ("WEIGHT[[RSRC, 9] [JPRIORITY, 1]]", 50),
        ("WEIGHT[[JPRIORITY, 1000000]]", 1_000_000),
    ],
)
def test_what_is_weighed_and_how_far(text: str, value: float) -> None:
    """-n 1,3 counts 3; rusage of alternatives the first; MEM once a host, SWAP here once a slot."""
    one = pending(
        "1",
        user="ann",
        group="g",
        application="fluent",
        max_slots=3,
        res_req=("rusage[mem=400 || mem=9]", "rusage[swp=100/job]"),
    )
    problem = site(
        one,
        text=text,
        users=(User("ann", priority=5),),
        groups=(UserGroup("g", ("ann",), priority=2),),
        applications=(Application("fluent", priority=7),),
    )
    assert values(problem) == {"1": f"{value:.2f}"}


def test_memory_counts_as_often_as_it_is_reserved() -> None:
    def asks(name: str, text: str) -> Job:
        return job(name, 4, text, minutes=1, queue="normal")

    jobs = (
        asks("host", "rusage[mem=10]"),
        asks("task", "rusage[mem=10/task]"),
        asks("tiled", "span[ptile=2] rusage[mem=10]"),
        asks("terms", "1*{rusage[mem=10]} + 3*{rusage[mem=5/task]}"),
    )
    found = values(site(*jobs, text="WEIGHT[[MEM, 1]]"))
    assert found == {"task": "40.00", "terms": "25.00", "tiled": "20.00", "host": "10.00"}


def test_a_grace_period_keeps_a_value_at_nothing() -> None:
    """Hours where no unit is given; the grace period of a factor is that of all within it."""
    text = (
        "WEIGHT[[MEM,1] [JPRIORITY,1] [QPRIORITY,10]] "
        "GRACE_PERIOD[[MEM,10h] [JPRIORITY, 10m] [QPRIORITY,10s] [RSRC, 11]]"
    )
    formula = AbsolutePriority.parse(text)
    assert formula.delays == {
        **{"MEM": 10 * HOUR, "JPRIORITY": 10 * MINUTE, "QPRIORITY": 10, "RSRC": 11 * HOUR}
    }
    metrics = {"MEM": 5.0, "JPRIORITY": 50.0, "QPRIORITY": 30.0}
    at = [0, 10, 10 * MINUTE, 10 * HOUR, 11 * HOUR]
    assert [formula.value(metrics, pended) for pended in at] == [0, 300, 350, 350, 355]
    assert AbsolutePriority.parse(str(formula)) == formula


def test_the_dynamic_priority_of_the_share_account_counts() -> None:
    """APS = 1 * (1 * jp + 10 * qp) + 100 * user_priority; who has used less stands before."""
    text = "WEIGHT [[JPRIORITY, 1] [QPRIORITY, 10] [FS, 100]]"
    shares = (("ann", 1), ("bob", 1))
    usage = (ShareUsage("normal", "ann", cpu_time=36_000.0),)
    jobs = (pending("1", "short", user="ann"), pending("2", "short", user="bob"))
    found = values(site(*jobs, text=text, user_shares=shares, share_usage=usage))
    ann, bob = 1 / (10 * 0.7 + 3), 1 / 3
    assert found == {"2": f"{250 + 100 * bob:.2f}", "1": f"{250 + 100 * ann:.2f}"}
    assert values(site(*jobs, text=text)) == {"1": "250.00", "2": "250.00"}
    capped = f"{text} LIMIT[[FS, 5]]"
    assert set(values(site(*jobs, text=capped, user_shares=shares)).values()) == {"255.00"}
    stranger = replace(jobs[0], id="3", user="eve")
    with pytest.raises(InputError, match="eve has no share"):
        sw.check(site(stranger, text=text, user_shares=shares))


WRONG = {
    "WEIGHT[[JPRIORITY, 0]]": "WEIGHT of JPRIORITY must be a number other than 0",
    "WEIGHT[[JPRIORITY, 1]] LIMIT[[JPRIORITY, 0.0]]": (
        "LIMIT of JPRIORITY must be a number other than 0"
    ),
    "WEIGHT[[MEM, 1]] GRACE_PERIOD[[MEM, 0h]]": "GRACE_PERIOD of MEM must be 1s or more, not '0h'",
    "WEIGHT[[MEM, 1]] GRACE_PERIOD[[MEM, 3d]]": "must be a time such as 10h, 10m or 10s",
    "WEIGHT[[SIZE, 1]]": "unknown factor 'SIZE'",
    "WEIGHT[[ADMIN, 1]]": "set ADMIN with bmod -aps",
    "WEIGHT[[MEM, x]]": "WEIGHT of MEM must be a number",
    "WEIGHT[[MEM, 1] [MEM, 2]]": "WEIGHT has MEM twice",
    "WEIGHT[[MEM, 1]] WEIGHT[[PROC, 1]]": "WEIGHT is given twice",
    "SCALE[[MEM, 1]]": "unknown section 'SCALE': use one of WEIGHT, LIMIT, GRACE_PERIOD",
    "LIMIT[[MEM, 1]]": "no factor has a weight",
    "MEM 1": "must be sections such as WEIGHT[[JPRIORITY, 1] [FS, 100]], not 'MEM 1'",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_lsf_refuses_is_refused_in_a_file_and_in_memory(text: str) -> None:
    document = (
        f"format: slotwise/1\nhosts: [{{name: A}}]\nqueues: [{{name: q, APS_PRIORITY: '{text}'}}]"
    )
    with pytest.raises(InputError, match="APS_PRIORITY") as told:
        sw.loads(document)
    assert WRONG[text] in str(told.value)
    if "other than 0" in WRONG[text] and "WEIGHT" in WRONG[text]:
        bad = Queue("q", aps_priority=AbsolutePriority({"JPRIORITY": 0.0}))
        with pytest.raises(InputError, match="must be a number other than 0"):
            sw.check(instance(host("A"), queues=(bad,)))


def refusal(*found: Queue, **more: Any) -> str:
    with pytest.raises(InputError) as told:
        sw.check(instance(host("A"), queues=found, **more))
    return str(told.value)


def test_a_queue_is_in_one_group_and_in_no_other_order() -> None:
    formula = AbsolutePriority.parse(EXAMPLE)
    one = Queue("one", 5, aps_priority=formula, queue_group=("shared",))
    two = replace(one, name="two")
    shared = Queue("shared", 5)
    assert "queue shared is already in the QUEUE_GROUP of one" in refusal(one, two, shared)
    parent = replace(shared, aps_priority=formula, queue_group=("last",))
    assert "already in the QUEUE_GROUP of one" in refusal(one, parent, Queue("last"))
    assert "unknown queue 'shared'" in refusal(one)
    pooled = replace(shared, slot_pool="p", slot_share=50.0)
    assert "has absolute priority and is in slot pool p" in refusal(one, pooled)
    crossing = Queue("x", 9, user_shares=(("ann", 1),), fairshare_queues=("shared",))
    assert "write QUEUE_GROUP instead of FAIRSHARE_QUEUES" in refusal(one, shared, crossing)
    ordered = replace(one, dispatch_order="QUEUE")
    assert "DISPATCH_ORDER=QUEUE: remove one of them" in refusal(ordered, shared)
    partition = HostPartition("hp", ("A",), (("ann", 1),))
    told = refusal(one, shared, partitions=(partition,))
    assert "cannot be used together with host-partition fairshare" in told


def test_what_has_no_effect_is_named() -> None:
    formula = AbsolutePriority.parse("WEIGHT[[FS, 1] [RSRC, 2]] LIMIT[[MEM, 3]]")
    found = instance(
        host("A"),
        queues=(
            Queue("a", 9, aps_priority=formula, queue_group=("b",), fairshare_queues=("c",)),
            Queue("b", 3, aps_priority=formula),
            Queue("c", 5, queue_group=("b",)),
        ),
        params=Params(job_priority_over_time=(1, 2)),
        pending=(job("1", queue="c", aps=StatedPriority("admin", 1.0)),),
    )
    told = " ".join(map(str, sw.check(found)))
    for text in (
        *("counts as 0, because the queue has no FAIRSHARE", "factor RSRC counts as 0"),
        *("LIMIT of MEM has no effect", "FAIRSHARE_QUEUES is ignored"),
        *("APS_PRIORITY is ignored", "QUEUE_GROUP has no effect"),
        *("falls inside 3-9", "JOB_PRIORITY_OVER_TIME has no effect", "admin=1 has no effect"),
    ):
        assert text in told


def test_a_file_keeps_all_of_it() -> None:
    problem = site(pending("1", aps=StatedPriority("admin", -2.5)), pending("2", "short"))
    problem = replace(
        problem, params=replace(HUNDRED, job_priority_over_time=(3, 20), default_queue="normal")
    )
    assert sw.loads(sw.dump(problem)) == problem


def test_jobs_stand_in_one_order_over_the_queues_of_a_group() -> None:
    """A lower queue's job with a higher priority comes first; queues outside keep their place."""
    given = (*queues(), Queue("high", 40), Queue("low", 1))
    jobs = (
        *(pending("low", "low", priority=99), pending("normal", priority=10)),
        *(pending("short", "short", priority=200), pending("high", "high")),
    )
    params = Params(max_user_priority=200)
    problem = site(*jobs, queues=given, params=params)
    assert [item.id for item in priority_order(problem)] == ["high", "short", "normal", "low"]


def test_equal_values_go_by_submission_and_elements_by_index() -> None:
    jobs = (
        pending("9", "short", submit=5, priority=60, queued_as=(0, -1)),
        *(pending(f"7[{n}]", "short", submit=5, priority=60) for n in (2, 1)),
        pending("8", "short", submit=4, priority=60),
    )
    problem = replace(site(*jobs), now=10)
    assert [item.id for item in priority_order(problem)] == ["8", "7[1]", "7[2]", "9"]


def test_the_loop_goes_by_values_as_they_are_in_each_cycle() -> None:
    """One slot. The job of 50 has grown to 59 when one of 58 comes, which waits behind it."""
    params = Params(max_user_priority=100, job_priority_over_time=(3, 20))
    first = running("r", {"A": 1}, 60, queue="normal")
    jobs = (pending("1", submit=0), pending("2", submit=HOUR, priority=58))
    for given in (queues(JOB_ALONE), (Queue("normal", 30), Queue("short", 20))):
        problem = site(jobs[0], params=params, queues=given, running=(first,), future=jobs[1:])
        found = run(problem)
        assert (found["1"].start, found["2"].start) == (HOUR, HOUR + 10 * MINUTE)
        assert validate_schedule(problem, found) == []
        still = replace(problem, params=HUNDRED)
        assert run(still)["2"].start == HOUR


def test_a_grace_period_that_ends_turns_the_order_round() -> None:
    text = "WEIGHT[[JPRIORITY, 1] [PROC, 30]] GRACE_PERIOD[[PROC, 30m]]"
    first = running("r", {"A": 4}, 40, queue="normal")
    wide = replace(pending("wide", priority=20), slots=4)
    problem = instance(
        *(host("A", 4),),
        queues=queues(text),
        running=(first,),
        pending=(pending("small", priority=60), wide),
        params=HUNDRED,
    )
    assert [item.id for item in priority_order(problem)] == ["small", "wide"]
    found = run(problem, "none")
    assert (found["wide"].start, found["small"].start) == (40 * MINUTE, 50 * MINUTE)
    assert validate_schedule(problem, found) == []


def test_dynamic_priorities_move_jobs_between_cycles() -> None:
    text = "WEIGHT[[FS, 1000] [JPRIORITY, 1]]"
    jobs = tuple(
        pending(f"{user}{n}", user=user, priority=priority)
        for n in range(2)
        for user, priority in (("ann", 51), ("bob", 50))
    )
    found = run(site(*jobs, text=text, user_shares=(("ann", 1), ("bob", 1))), "none")
    order = sorted((record.start, record.job) for record in found.jobs)
    assert [name for _, name in order] == ["ann0", "bob0", "ann1", "bob1"]


def test_btop_moves_nothing_and_says_why() -> None:
    problem = site(pending("1"), pending("2", priority=40))
    found = run(problem, changes=loads_changes(HEAD + "changes: [{at: 0, btop: '2'}]", problem))
    assert any("has absolute priority (APS_PRIORITY)" in note for note in found.notes)
    assert found["1"].start == 0


def test_bmod_sets_and_takes_back_what_an_administrator_said() -> None:
    problem = site(pending("1"), pending("2"), pending("3", aps=StatedPriority("admin", 1.0)))
    text = f"""{HEAD}
changes:
  - {{at: 1, bmod: {{job: '2', bsub: '-aps "system=3" -sp 20'}}}}
  - {{at: 1, bmod: {{job: '1', aps: admin=-5}}}}
  - {{at: 1, bmod: {{job: '3', bsub: -apsn}}}}
"""
    changes = loads_changes(text, problem)
    assert [dict(change.fields) for change in changes] == [  # type: ignore[union-attr]
        {"aps": StatedPriority("system", 3.0), "priority": 20},
        {"aps": StatedPriority("admin", -5.0)},
        {"aps": None},
    ]
    assert loads_changes(dump_changes(changes, problem), problem) == changes
    first = running("r", {"A": 1}, 5, queue="short")
    found = run(replace(problem, running=(first,)), changes=changes)
    assert sorted("123", key=lambda name: found[name].start) == ["2", "3", "1"]
    with pytest.raises(InputError, match="-aps: must be system=value or admin=value"):
        loads_changes(HEAD + "changes: [{at: 1, bmod: {job: '1', bsub: '-aps 10'}}]", problem)


def test_a_system_priority_preempts_nobody() -> None:
    """APS has no say in preemption: the queue's own order does."""
    low = Queue("low", 1)
    parent = Queue(
        *("normal", 30), aps_priority=AbsolutePriority.parse(EXAMPLE), queue_group=("short",)
    )
    first = running("r", {"A": 1}, 60, queue="low")
    leading = pending("1", "short", aps=StatedPriority("system", 1e5))
    problem = site(leading, queues=(parent, Queue("short", 20), low), running=(first,))
    assert run(problem)["1"].start == HOUR
    preempting = replace(parent, preemptive=("low",))
    other = site(pending("2"), leading, queues=(preempting, Queue("short", 20), low))
    found = run(replace(other, running=(first,)))
    assert found["2"].start == 0
    assert found["1"].start == HOUR + 10 * MINUTE  # what was preempted goes on first


def test_the_judge_has_an_order_of_its_own() -> None:
    """A run of jobs with other priorities breaks the order of these; one of these does not."""
    jobs = tuple(pending(str(n), priority=priority) for n, priority in enumerate((20, 90, 50)))
    problem = site(*jobs)
    turned = replace(
        problem, pending=tuple(replace(item, priority=100 - item.priority) for item in jobs)
    )
    assert validate_schedule(problem, run(problem)) == []
    told = validate_schedule(problem, run(turned))
    assert {item.check for item in told} == {"order"}
    assert "comes before it then" in str(told[0])


def test_a_module_that_is_not_loaded_orders_nothing() -> None:
    params = replace(HUNDRED, modules=("schmod_default", "schmod_fcfs"))
    problem = site(pending("1"), pending("2", "short", priority=100), params=params)
    assert [item.id for item in priority_order(problem)] == ["1", "2"]
    assert "schmod_aps is not among the modules" in " ".join(map(str, sw.check(problem)))
