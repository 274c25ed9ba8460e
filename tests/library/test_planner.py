"""A planner that lives on says what a plan from nothing says, near what it said before."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from long_ways import searches
from slotwise import ComputeUnit, StartAnswer
from slotwise.model.generate import generate
from slotwise.solver.scheduler.next_cycle import NextCycle, plan_of

QUEUES = [sw.Queue("q", priority=10, backfill=True), sw.Queue("low", priority=5)]


def hosts(*slots: int) -> list[sw.Host]:
    return [sw.Host(f"h{n}", count, amounts={"mem": 100.0}) for n, count in enumerate(slots)]


#: Queues that changed after their jobs were taken, with a job of one slot that runs there.
CHANGED: list[tuple[sw.Queue, dict[str, Any]]] = [
    (sw.Queue("changed", priority=7, slots=(2, None, 4)), {}),
    (sw.Queue("changed", priority=7, exclusive="N"), {"exclusive": True}),
    (sw.Queue("changed", priority=7, users=("boss",)), {}),
    (sw.Queue("changed", priority=7, run_limit_max=30), {"run_limit": 90}),
]


def job(name: str, slots: int, limit: int | None, queue: str = "q", **more: Any) -> sw.Job:
    return sw.Job(name, slots, queue=queue, run_limit=limit, **more)


def runs(name: str, limit: int | None, **on: int) -> sw.RunningJob:
    return sw.RunningJob(job(name, sum(on.values()), limit), 0, on)


def from_nothing(planner: sw.Planner, method: sw.Method, **more: Any) -> sw.Plan:
    return sw.plan(planner.instance, method, **more)


def told(plan: sw.Plan) -> dict[str, Any]:
    """What is said of each job but where it goes."""
    found: dict[str, Any] = {
        item.job: (item.start, item.finish, item.estimate, item.bound, item.proved) for item in plan
    }
    return found | {item.job: item.reason for item in plan.unplaced}


REQUIREMENTS = st.sampled_from(
    [(), (), ("rusage[mem=60]",), ("rusage[mem=60:duration=1:decay=1]",), ("span[ptile=1]",)]
)


@st.composite
def jobs(draw: st.DrawFn, name: str) -> sw.Job:
    return sw.Job(
        name,
        draw(st.integers(1, 4)),
        queue=draw(st.sampled_from(["q", "q", "low"])),
        run_limit=draw(st.sampled_from([None, 60, 120, 300, 600])),
        res_req=draw(REQUIREMENTS),
        priority=draw(st.integers(0, 2)),
    )


@st.composite
def beginnings(draw: st.DrawFn) -> sw.Instance:
    machines = hosts(*draw(st.lists(st.integers(1, 3), min_size=2, max_size=3)))
    changed, taken = draw(st.sampled_from(CHANGED))
    running = []
    for number in range(draw(st.integers(0, 3))):
        host = machines[number % len(machines)]
        if all(host.name not in item.allocation for item in running):
            item = draw(jobs(f"r{number}"))
            item = replace(item, slots=1, res_req=item.res_req if draw(st.booleans()) else ())
            if draw(st.booleans()):
                item = replace(item, queue="changed", **taken)
            running.append(sw.RunningJob(item, 0, {host.name: 1}, suspended=draw(SUSPENDED)))
    pending = [draw(jobs(f"p{number}")) for number in range(draw(st.integers(0, 4)))]
    shares = (("u", 1), ("v", 1), ("user", 1)) if draw(st.integers(0, 5)) == 0 else ()
    queues = [QUEUES[0], QUEUES[1], changed]
    if shares:
        queues[0] = replace(queues[0], user_shares=shares)
        pending = [replace(item, user="uv"[n % 2]) for n, item in enumerate(pending)]
    return sw.instance(machines, running=running, pending=pending, queues=queues)


SUSPENDED = st.sampled_from([False, False, False, True])
EVENTS = st.sampled_from(["submit", "end", "cancel", "host", "advance", "advance", "ask"])


def happen(planner: sw.Planner, data: st.DataObject, number: int) -> None:
    """One random event that means something, if there is one of its kind."""
    instance = planner.instance
    running = [item.job.id for item in instance.running]
    match data.draw(EVENTS):
        case "submit":
            user = data.draw(st.sampled_from(["u", "v"])) if instance.queues[0].user_shares else "u"
            add_job = replace(data.draw(jobs(f"n{number}")), user=user)
            planner.submit(
                replace(add_job, submit=instance.now + data.draw(st.sampled_from([0, 90])))
            )
        case "end" if running:
            planner.end(data.draw(st.sampled_from(running)))
        case "cancel":
            known = [*running, *(j.id for j in (*instance.pending, *instance.future))]
            if known:
                planner.cancel(data.draw(st.sampled_from(known)))
        case "host":
            name = data.draw(st.sampled_from([host.name for host in instance.cluster.hosts]))
            status = data.draw(st.sampled_from(["down", "up", "closed", "open", "ok", "up"]))
            planner.host(name, status)
        case "advance":
            planner.advance(instance.now + data.draw(st.sampled_from([0, 1, 60, 61, 300])))
        case "ask" if not instance.queues[0].user_shares:
            line = data.draw(st.sampled_from(["-n 1 -W 1 -q q", "-n 3 -W 5 -q low", "-n 2 -q q"]))
            if planner.method == "time-based":
                there = sw.ask(instance, line, method="time-based").line.answer
                assert_same_outlook(planner.ask(line), there)


def assert_same_outlook(mine: StartAnswer, there: StartAnswer) -> None:
    """All but that `ask` names only what changes the start."""
    assert replace(mine, omissions=()) == replace(there, omissions=())
    assert {item.what for item in there.omissions} <= {item.what for item in mine.omissions}


@pytest.mark.parametrize("method", ["time-based", "greedy"])
@examples(40)
@given(instance=beginnings(), data=st.data())
def test_a_life_of_events_gives_the_plans_from_nothing(
    method: sw.Method, instance: sw.Instance, data: st.DataObject
) -> None:
    planner = sw.Planner(instance, method)
    for number in range(data.draw(st.integers(1, 7))):
        before = {item.job: item for item in planner.plan()}
        happen(planner, data, number)
        sw.check(planner.instance)
        found, fresh = planner.plan(), from_nothing(planner, method)
        assert told(found) == told(fresh)
        assert sw.loads(sw.dump(planner.instance)) == planner.instance
        assert sw.validate(planner.instance, found, as_lsf=True) == []
        kept, anew = (
            sum(
                item.job in before and item.allocation == before[item.job].allocation
                for item in plan
                if item.job in before and item.start == before[item.job].start is not None
            )
            for plan in (found, fresh)
        )
        assert kept >= anew
        stayed = {item.job for item in found} & set(before)
        moved = {
            name
            for name in stayed
            if (found[name].start, found[name].allocation)
            != (before[name].start, before[name].allocation)
        }
        assert moved == {change.job for change in found.changes if change.job in stayed}


@examples(15)
@given(instance=beginnings(), data=st.data())
def test_where_all_is_proved_the_starts_are_those_of_the_optimum(
    instance: sw.Instance, data: st.DataObject
) -> None:
    planner = sw.Planner(instance, "optimal", effort=0.5)
    for number in range(2):
        happen(planner, data, number)
        found, fresh = planner.plan(), from_nothing(planner, "optimal", effort=0.5)
        assert told(found) == told(fresh)
        assert sw.validate(planner.instance, found) == []


def small() -> sw.Instance:
    """r holds all until 600; a, b and c follow in their order."""
    return sw.instance(
        hosts(2, 2),
        running=[runs("r", 600, h0=2, h1=2)],
        pending=[job("a", 4, 300), job("b", 2, 100), job("c", 2, 100)],
        queues=QUEUES,
    )


def starts(planner: sw.Planner) -> dict[str, int | None]:
    return {item.job: item.start for item in planner.plan()}


def test_events_do_what_they_say() -> None:
    planner = sw.Planner(small())
    assert starts(planner) == {"a": 600, "b": 900, "c": 900}
    planner.end("r")
    assert starts(planner) == {"a": 0, "b": 300, "c": 300}
    planner.advance(10)
    assert [(item.job.id, item.start) for item in planner.instance.running] == [("a", 0)]
    assert starts(planner) == {"b": 300, "c": 300}
    assert planner.submit("-n 1 -W 1 -q q", user="u") == "asked"
    planner.cancel("b")
    planner.cancel("a")
    assert starts(planner) == {"c": 10, "asked": 10}
    planner.host("h0", "closed")
    planner.host("h1", "down")
    plan = planner.plan()
    assert plan.missing_starts().keys() == {"c", "asked"}
    planner.host("h1", "up")
    planner.advance(11)
    assert [item.allocation for item in planner.instance.running] == [{"h1": 2}]
    planner.host("h1", "down")  # what ran there waits again, behind the others
    assert [item.id for item in planner.instance.pending] == ["asked", "c"]
    planner.host("h1", "closed")
    planner.host("h1", "up")  # and is still closed
    assert planner.instance.cluster.hosts[1].status == "closed"
    planner.host("h1", "ok")
    planner.advance(10_000)
    assert planner.instance.running == ()
    assert planner.instance.pending == ()
    assert len(planner.plan()) == 0


def lowered() -> sw.Instance:
    """A job runs for 12 minutes in a queue that since takes jobs of 3 at most."""
    queue = sw.Queue("q", run_limit_max=180)
    waiting = [job("p", 4, 60)]
    return sw.instance(hosts(2, 2), running=[runs("r", 720, h0=2)], pending=waiting, queues=[queue])


def test_a_job_that_waits_again_has_the_limit_that_its_queue_grants() -> None:
    planner = sw.Planner(lowered())
    assert starts(planner) == {"p": 720}
    planner.host("h0", "down")
    planner.host("h0", "up")
    assert [(item.id, item.run_limit) for item in planner.instance.pending] == [
        ("p", 60),
        ("r", 180),
    ]
    assert starts(planner) == {"p": 0, "r": 60}
    assert told(planner.plan()) == told(from_nothing(planner, "time-based"))


@pytest.mark.parametrize(
    ("queue", "asks", "reason"),
    [
        (sw.Queue("q", slots=(1, None, 1)), {}, "-n 2 is outside PROCLIMIT 1..1 of queue q"),
        (sw.Queue("q", exclusive="N"), {"exclusive": True}, "-x needs EXCLUSIVE=Y in queue q"),
        (
            sw.Queue("q"),
            {"res_req": ("cu[type=rack:excl]",)},
            "cu[excl] needs EXCLUSIVE=CU[rack] in queue q",
        ),
        (sw.Queue("q", users=("boss",)), {}, ""),
    ],
)
def test_a_job_that_waits_again_waits_for_what_its_queue_takes_today(
    queue: sw.Queue, asks: dict[str, Any], reason: str
) -> None:
    """Who may submit is asked by bsub alone; the rest is asked when a job has its turn."""
    ran = sw.RunningJob(job("r", 2, 600, **asks), 0, {"h0": 2})
    racks = [ComputeUnit(f"rack{n}", "rack", (f"h{n}",)) for n in range(2)]
    given = sw.instance(hosts(2, 2), running=[ran], queues=[queue])
    cluster = replace(
        given.cluster, units=tuple(racks), unit_types=("rack",), default_unit_type="rack"
    )
    given = replace(given, cluster=cluster)
    planner = sw.Planner(given)
    planner.host("h0", "down")
    planner.host("h0", "up")
    assert [item.id for item in planner.instance.pending if item.requeued] == ["r"]
    assert sw.loads(sw.dump(planner.instance)) == planner.instance
    found = planner.plan()
    assert told(found) == told(from_nothing(planner, "time-based"))
    pending = {"r": reason} if reason else {}
    for plan in (found, from_nothing(planner, "optimal", effort=1)):
        assert {item.job: item.reason for item in plan.unplaced} == pending
        assert reason or plan["r"].start == 0
    with pytest.raises(sw.InputError):
        planner.submit(replace(ran.job, id="newcomer"))


def test_the_loop_kills_it_then_too() -> None:
    changes = [sw.HostStatus(60, "h0", "down"), sw.HostStatus(120, "h0", "up")]
    done = sw.simulate(lowered(), changes=changes)
    assert (done["r"].start, done["r"].end, done["r"].status) == (60, 240, "killed")  # on h1


def test_a_job_comes_when_it_is_submitted() -> None:
    planner = sw.Planner(small())
    planner.submit(job("later", 1, 60, submit=50))
    assert "later" not in planner.plan()
    assert [item.id for item in planner.instance.future] == ["later"]
    planner.advance(50)
    assert "later" in planner.plan()
    planner.submit(job("next", 1, 60, submit=80))
    planner.cancel("next")
    assert planner.instance.future == ()
    # One that says it came long ago comes now.
    planner.submit(job("old", 1, 60, submit=3))
    assert planner.instance.pending[-1].submit == 50


def test_changes_say_what_moved_by_how_much_and_why() -> None:
    planner = sw.Planner(small())
    assert planner.plan().changes == ()
    planner.submit(job("urgent", 4, 50, priority=9))
    planner.end("r")
    plan = planner.plan()
    assert [(c.job, c.was, c.start, c.moved, c.because) for c in plan.changes] == [
        ("a", 600, 650, 50, "job urgent submitted"),
        ("b", 900, 950, 50, "job urgent submitted"),
        ("c", 900, 950, 50, "job urgent submitted"),
        ("urgent", 600, 0, -600, "job r ended"),
        ("a", 650, 50, -600, "job r ended"),
        ("b", 950, 350, -600, "job r ended"),
        ("c", 950, 350, -600, "job r ended"),
    ]
    assert str(plan.changes[0]) == "job a starts 50s later: job urgent submitted"
    assert plan.to_dict()["changes"][0]["moved"] == 50
    assert planner.plan().changes == ()  # they have been told
    planner.host("h0", "closed")
    gone = planner.plan().changes[0]
    assert (gone.job, gone.start, gone.moved) == ("urgent", None, None)
    assert str(gone) == "job urgent no longer has a start: host h0 closed"


def test_events_together_are_one() -> None:
    planner = sw.Planner(small())
    planner.plan()
    with planner.together():
        planner.submit(job("urgent", 4, 50, priority=9))
        planner.end("r")
    because = {change.because for change in planner.plan().changes}
    assert because == {"job urgent submitted; job r ended"}


@pytest.mark.parametrize("method", ["time-based", "optimal"])
def test_a_job_stays_on_its_hosts_where_its_start_is_the_same(method: sw.Method) -> None:
    """Without the first of three, a plan from nothing moves the others one host up."""
    instance = sw.instance(
        hosts(1, 1, 1),
        running=[runs("r0", 100, h0=1), runs("r1", 100, h1=1), runs("r2", 100, h2=1)],
        pending=[job("first", 1, 50), job("second", 1, 50), job("third", 1, 50)],
        queues=QUEUES,
    )
    planner = sw.Planner(instance, method, effort=1 if method == "optimal" else None)
    before = {item.job: item.allocation for item in planner.plan()}
    assert len({tuple(on) for on in before.values()}) == 3
    planner.cancel("first")
    found = planner.plan()
    assert {item.job: item.allocation for item in found} == {
        name: before[name] for name in ("second", "third")
    }
    assert found.changes == ()
    fresh = sw.plan(planner.instance, method, effort=1 if method == "optimal" else None)
    assert fresh["second"].allocation != before["second"]
    assert sw.validate(planner.instance, found, as_lsf=True) == []


def test_two_that_change_places_both_stay() -> None:
    """An urgent job takes what the first had, and so on: places are lifted out together."""
    instance = sw.instance(
        hosts(2, 2),
        running=[runs("r0", 100, h0=2), runs("r1", 100, h1=2)],
        pending=[job("a", 1, 50), job("b", 1, 50), job("c", 1, 50)],
        queues=QUEUES,
    )
    planner = sw.Planner(instance)
    before = {item.job: item.allocation for item in planner.plan()}
    planner.submit(job("urgent", 1, 50, priority=9))
    found = planner.plan()
    assert {item.start for item in found} == {100}
    assert {name: found[name].allocation for name in before} == before


def test_a_told_start_moves_later_only_where_it_must() -> None:
    urgent = job("urgent", 4, 200, priority=9)
    free, held = sw.Planner(small()), sw.Planner(small(), tolerance=0)
    for planner in (free, held):
        planner.plan()
        planner.submit(urgent)
    assert starts(free) == {"urgent": 600, "a": 800, "b": 1100, "c": 1100}
    assert starts(held) == {"urgent": 1000, "a": 600, "b": 900, "c": 900}
    assert sw.validate(held.instance, held.plan(), as_lsf=True) == []
    assert any("promised" in note for note in held.plan().notes)
    assert held.plan().status == "heuristic"
    within = sw.Planner(small(), tolerance=200)
    within.plan()
    within.submit(urgent)
    assert starts(within)["a"] == 800
    within.submit(replace(urgent, id="again"))  # 200 s more than told is all there is
    assert starts(within)["a"] == 800
    held.end("r")
    assert starts(held) == {"urgent": 0, "a": 200, "b": 500, "c": 500}  # nobody later than told
    # What fails moves what was told, and it is told anew.
    held.advance(1)
    held.submit(job("d", 2, 100))
    held.host("h1", "closed")
    assert starts(held) == {"a": None, "b": 200, "c": 300, "d": 400}
    assert sw.validate(held.instance, held.plan(), as_lsf=True) == []


@examples(60)
@given(instance=beginnings(), data=st.data())
def test_with_a_tolerance_newcomers_move_nobody_too_far(
    instance: sw.Instance, data: st.DataObject
) -> None:
    if instance.queues[0].user_shares:
        return
    tolerance = data.draw(st.sampled_from([0, 60]))
    planner = sw.Planner(instance, tolerance=tolerance)
    told_first = {item.job: item.start for item in planner.plan() if item.start is not None}
    for number in range(3):
        planner.submit(data.draw(jobs(f"n{number}")))
        found = planner.plan()
        assert sw.validate(planner.instance, found, as_lsf=True) == []
        for name, start in told_first.items():
            now = found[name].start
            assert now is not None
            assert now <= start + tolerance


def test_questions_leave_no_trace() -> None:
    planner = sw.Planner(small())
    before = planner.plan()
    line = "-n 2 -W 1 -q q"
    assert_same_outlook(planner.ask(line), sw.ask(small(), line, method="time-based").line.answer)
    assert planner.ask(job("mine", 2, 60)).start == planner.ask(line).start
    assert planner.plan() == before
    assert sw.Planner(small(), "greedy").ask(line).start == planner.ask(line).start
    exact = sw.Planner(small(), "optimal", effort=1)
    assert exact.ask(line) == sw.ask(small(), line, method="optimal", effort=1).line.answer


def test_a_margin_holds_for_all_its_plans() -> None:
    planner = sw.Planner(small(), margin=10)
    assert starts(planner) == {"a": 600, "b": 910, "c": 910}
    planner.end("r")
    assert told(planner.plan()) == told(from_nothing(planner, "time-based", margin=10))
    assert planner.plan().margin == 10


def test_what_means_nothing_is_refused_and_changes_nothing() -> None:
    planner = sw.Planner(small())
    planner.plan()
    before = planner.instance
    wrong: list[tuple[Any, str]] = [
        (lambda: planner.end("x"), "unknown job 'x'"),
        (lambda: planner.end("a"), "job a is not running"),
        (lambda: planner.cancel("x"), "unknown job 'x'"),
        (lambda: planner.host("h7", "down"), "h7"),
        (lambda: planner.host("h0", "dwon"), "must be one of"),
        (lambda: planner.advance(-1), "must be a whole second from 0 to"),
        (lambda: planner.advance(1.5), "must be a whole second from 0 to"),  # type: ignore[arg-type]
        (lambda: planner.advance(10**18), "must be a whole second from 0 to 1000000000000"),
        (lambda: planner.submit(job("a", 1, 60)), "job a is already defined"),
        (lambda: planner.submit(job("n", 0, 60, queue="nix")), "must be 1 slot or more"),
        (lambda: planner.submit(job("n", 1, 60, queue="nix")), "unknown queue 'nix'"),
        (lambda: planner.submit("-n x"), "-n"),
        (lambda: planner.submit(7), "must be a Job"),  # type: ignore[arg-type]
        (lambda: planner.ask(job("a", 1, 60, queue="nix")), "unknown queue 'nix'"),
    ]
    for call, message in wrong:
        with pytest.raises(sw.InputError, match=message):
            call()
    assert planner.instance == before
    assert planner.plan().changes == ()
    with pytest.raises(sw.UnknownNameError):
        sw.Planner(small(), "greddy")  # type: ignore[arg-type]
    for options in ({"tolerance": -1}, {"tolerance": 0.5}, {"margin": -1}):
        with pytest.raises(sw.InputError):
            sw.Planner(small(), **options)  # type: ignore[arg-type]
    shares = replace(small(), queues=(replace(QUEUES[0], user_shares=(("user", 1),)), QUEUES[1]))
    with pytest.raises(sw.InputError, match="fairshare"):
        sw.Planner(shares, tolerance=60)


def test_it_can_be_sent_elsewhere_and_goes_on() -> None:
    planner = sw.Planner(small())
    planner.plan()
    other = pickle.loads(pickle.dumps(planner))
    other.end("r")
    assert starts(other)["a"] == 0
    assert starts(planner)["a"] == 600


@pytest.mark.parametrize("seed", range(4))
def test_what_is_likely_makes_the_search_shorter_and_changes_nothing(seed: int) -> None:
    instance = generate(hosts=12, running=40, pending=12, seed=seed, load=1.0)
    draw = random.Random(seed)
    before = plan_of(NextCycle(instance, "time-based"))
    likely = {job.id: draw.randrange(0, 100_000, 60) for job in instance.pending}
    after = plan_of(NextCycle(instance, "time-based", likely=likely))
    assert after.to_dict() == before.to_dict()


def test_a_question_about_a_job_that_runs_is_refused() -> None:
    instance = generate(hosts=4, running=4, pending=1, seed=1)
    planner = sw.Planner(instance)
    with pytest.raises(sw.InputError, match="job r1 is already defined"):
        planner.ask(sw.Job(instance.running[0].job.id, 1, queue="normal"))


def test_a_question_behind_all_others_takes_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others start in the cycle, so that it was run twice: only the last says what is held."""
    instance = sw.Instance(
        sw.Cluster(tuple(hosts(4))),
        queues=tuple(QUEUES),
        running=(runs("r", 600, h0=3),),
        pending=(job("now", 1, 900, "low"), job("later", 3, 60, "low")),
    )
    planner = sw.Planner(instance, "time-based")
    assert [item.start for item in planner.plan()] == [0, 600]
    searched = searches(monkeypatch)
    assert planner.ask(job("asked", 2, 60, "low")).start == 660
    assert searched == ["asked"]


@pytest.mark.behaviour("RSV-01")
def test_what_hosts_report_to_be_gone_stays_gone() -> None:
    """40 of 100 MB are reported on h0, so 50 of them are not there beside nothing that runs."""
    machines = tuple(
        replace(item, amounts={"mem": 100.0}, load=load)
        for item, load in zip(hosts(2, 2), ({"mem": 40.0}, {"mem": 90.0}), strict=True)
    )
    wanted = [job(name, 1, 60, res_req=("rusage[mem=50]",)) for name in "ab"]
    instance = sw.instance(machines, pending=wanted, queues=QUEUES)
    planner = sw.Planner(instance)
    assert {item.job: dict(item.allocation) for item in planner.plan()} == {
        "a": {"h1": 1}, "b": {"h1": 1}
    }  # fmt: skip
    assert starts(planner) == {"a": 0, "b": 60}
    assert told(planner.plan()) == told(sw.plan(instance, "time-based"))
    planner.submit(job("c", 1, 60, res_req=("rusage[mem=41]",)))
    assert starts(planner)["c"] == 120
