"""Cases in which something was once claimed that was not so: the same answer by every method."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from judging import entry, faults, host, job, problem, racks, running
from sampling import some
from slotwise import (
    Cluster,
    ComputeUnit,
    Host,
    HostRequest,
    Instance,
    Job,
    Limit,
    Plan,
    Queue,
    ReservationUsage,
    RunningJob,
    Scope,
    SharedResource,
    Thresholds,
)
from slotwise.model.objective import objectives
from slotwise.solver.planning import plan as solve
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate

EXCLUSIVE = (Queue("default", exclusive="Y"),)
EVERY_METHOD = [
    ("time-based", "lexicographic"),
    *((method, objective) for method in ("optimal", "milp") for objective in tuple(objectives())),
]
#: What runs by default of it: each method in priority order and in another way.
FIRST = [("optimal", "slowdown"), ("optimal", "makespan"), ("milp", "total-start")]
EXACT = [item for item in EVERY_METHOD if item[0] != "time-based"]


def _marked(known: list[tuple[str, str]]) -> list[Any]:
    first = {item for item in known if item in FIRST or item[1] == "lexicographic"}
    return [
        pytest.param(*item, marks=[] if item in first else [pytest.mark.slow]) for item in known
    ]


every_method = pytest.mark.parametrize(("method", "objective"), _marked(EVERY_METHOD))
every_exact_method = pytest.mark.parametrize(("method", "objective"), _marked(EXACT))


def answer(instance: Instance, method: str, objective: str) -> Plan:
    """The plan of one method, which the judge finds valid."""
    found = solve(instance, method, objective=objective, effort=5)
    assert validate(instance, found, as_lsf=method == "time-based") == []
    return found


def loop_start(instance: Instance, name: str, **more: object) -> int | None:
    """When a job starts in the dispatch loop."""
    return simulate(instance, cycle=0, **more)[name].start  # type: ignore[arg-type]


def _apart(kind: str) -> Instance:
    lic = "rusage[licA=1||licB=1]"
    if kind == "shared":
        shared = (
            SharedResource("licA", 1, frozenset({"h1"})),
            SharedResource("licB", 1, frozenset({"h2"})),
        )
        return problem(
            job("j", 2, lic), cluster=Cluster((host("h1", 1), host("h2", 1)), shared=shared)
        )
    usage = tuple(ReservationUsage(name, "PER_JOB") for name in ("licA", "licB"))
    hosts = (host("h1", 1, amounts={"licA": 1.0}), host("h2", 1, amounts={"licB": 1.0}))
    return problem(job("j", 2, lic), cluster=Cluster(hosts), reservation_usage=usage)


@every_method
@pytest.mark.parametrize("kind", ["shared", "host-based"])
@pytest.mark.behaviour("RSV-07", "RSV-10")
def test_a_host_outside_a_pool_cannot_take_that_alternative(
    kind: str, method: str, objective: str
) -> None:
    found = answer(_apart(kind), method, objective)
    assert all(item.start is None for item in found.reservations)
    if method != "time-based":
        assert (found.status, found.unplaced[0].job) == ("infeasible", "j")


def _one_exclusive() -> Instance:
    text = "2*{select[ncpus>0]} + 1*{select[ncpus>0]}"
    return problem(
        job("j", 3, text, exclusive=True), cluster=Cluster((host("h1"),)), queues=EXCLUSIVE
    )


def _two_exclusive() -> Instance:
    return problem(
        job("101", 3, "2*{select[ncpus>0]} + 1*{select[ncpus>0]}", exclusive=True, run_limit=1800),
        job("102", 7, "6*{select[ncpus>0]} + 1*{select[ncpus>0]}", exclusive=True, run_limit=1800),
        cluster=Cluster(tuple(host(name) for name in ("h1", "h3", "h5"))),
        queues=EXCLUSIVE,
    )


@every_method
@pytest.mark.behaviour("PLC-13", "REQ-14")
def test_the_terms_of_an_exclusive_job_share_its_hosts(method: str, objective: str) -> None:
    assert answer(_one_exclusive(), method, objective)["j"].start == 0
    found = answer(_two_exclusive(), method, objective)
    assert {item.job: item.start for item in found.reservations} == {"101": 0, "102": 0}


@every_method
def test_an_exclusive_job_of_two_terms_shares_its_host_with_nobody(
    method: str, objective: str
) -> None:
    instance = _one_exclusive()
    other = job("k", 1, submit=1)
    found = answer(replace(instance, pending=(*instance.pending, other)), method, objective)
    assert sorted(item.start or 0 for item in found.reservations) == [0, 100]


TOGETHER_ONLY = problem(
    job("j", 3, "1*{select[ncpus>=0]} + 2*{span[hosts=1]}"),
    cluster=Cluster((host("h1", 2), host("h2", 1))),
)
ENDLESS_FIRST = problem(
    job("1", 1, run_limit=None),
    job("2", 2, "span[hosts=1]"),
    cluster=Cluster((host("h1", 2), host("h2", 1))),
)


@every_exact_method
@pytest.mark.parametrize("instance", [TOGETHER_ONLY, ENDLESS_FIRST], ids=["terms", "endless"])
def test_infeasible_is_a_proof(instance: Instance, method: str, objective: str) -> None:
    found = answer(instance, method, objective)
    assert found.unplaced == ()
    assert all(item.start == 0 for item in found.reservations)
    assert found.status == "optimal"


@pytest.mark.parametrize(
    "objective", some([name for name in objectives() if name != "lexicographic"], 2)
)
@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_endless_jobs_come_after_those_that_end(method: str, objective: str) -> None:
    """Both have a place only if the job of lower priority goes first."""
    instance = problem(job("1", 2, run_limit=None), job("2", 2), cluster=Cluster((host("h1", 2),)))
    found = answer(instance, method, objective)
    assert {item.job: item.start for item in found.reservations} == {"1": 100, "2": 0}


@pytest.mark.parametrize("objective", [name for name in objectives() if name != "lexicographic"])
@pytest.mark.parametrize("method", ["optimal", "milp"])
def test_endless_jobs_that_never_run_beside_each_other_are_infeasible(
    method: str, objective: str
) -> None:
    both = (job("1", 2, run_limit=None), job("2", 1, run_limit=None))
    found = answer(problem(*both, cluster=Cluster((host("h1", 2),))), method, objective)
    assert (found.status, len(found.unplaced)) == ("infeasible", 1)


@every_exact_method
def test_without_time_nothing_is_called_infeasible(method: str, objective: str) -> None:
    found = solve(ENDLESS_FIRST, method, objective=objective, time_limit=0)
    assert validate(ENDLESS_FIRST, found) == []
    assert found.status in ("feasible", "optimal")
    if found.unplaced or objective == "lexicographic":
        assert found.status == "feasible"
        assert "the search limit" in found.unplaced[0].reason
        assert any("the search limit" in note for note in found.notes)


C2 = problem(
    job(
        "j",
        3,
        "1*{select[hname=='h1']} + 1*{rusage[lic=1]} + 1*{select[ncpus>0]}",
    ),
    cluster=Cluster(
        (host("h0", 1), host("h1", 2)), shared=(SharedResource("lic", 1, frozenset({"h0"})),)
    ),
)


@every_method
@pytest.mark.behaviour("REQ-14")
def test_a_plan_records_which_term_is_where(method: str, objective: str) -> None:
    found = answer(C2, method, objective)
    planned = found["j"]
    assert planned.start == 0
    assert [dict(term) for term in planned.terms] == [{"h1": 1}, {"h0": 1}, {"h1": 1}]
    assert found.to_dict()["reservations"][0]["terms"] == [{"h1": 1}, {"h0": 1}, {"h1": 1}]


@every_method
def test_the_terms_of_a_running_job_are_on_hosts_that_they_may_have(
    method: str, objective: str
) -> None:
    """The licence is in use although the order of the allocation gives it to another term."""
    (compound,) = C2.pending
    run = RunningJob(replace(compound, id="r"), 0, {"h1": 2, "h0": 1})
    hosts = (host("h0", 2), host("h1", 2))
    instance = replace(
        C2,
        cluster=replace(C2.cluster, hosts=hosts),
        running=(run,),
        pending=(job("k", 1, "rusage[lic=1]"),),
    )
    assert answer(instance, method, objective)["k"].start == 100


def test_the_judge_holds_a_plan_to_the_terms_that_it_records() -> None:
    allocation = {"h1": 2, "h0": 1}

    def said(*terms: dict[str, int]) -> str:
        return " ".join(faults(C2, {"j": entry(C2, "j", (0, allocation), terms=terms)}))

    assert said({"h1": 1}, {"h0": 1}, {"h1": 1}) == ""
    assert "h1 has no lic" in said({"h1": 1}, {"h1": 1}, {"h0": 1})
    assert "first host" in said({"h0": 1}, {"h1": 1}, {"h1": 1})
    assert "terms" in said({"h1": 1}, {"h0": 1})
    assert "terms" in said({"h1": 2}, {"h0": 1}, {})
    assert "terms" in said({"h1": 1}, {"h0": 1}, {"h0": 1})


@pytest.mark.parametrize("text", ["cu[maxcus=3]", "cu[balance]", "cu[balance] span[ptile=2]"])
@pytest.mark.behaviour("PLC-07", "PLC-09")
def test_more_units_than_needed_are_caught(text: str) -> None:
    instance = problem(job("j", 4, text), cluster=racks(r1=2, r2=2))
    one = {"r1a": 2, "r1b": 2}
    two = {"r1a": 2, "r2a": 2}
    assert faults(instance, {"j": (0, one)}) == []
    (said,) = faults(instance, {"j": (0, two)})
    assert "2 compute units" in said
    assert "1" in said


D1 = problem(
    replace(
        job("j", 2, "span[ptile=2]", max_slots=3),
        hosts=(HostRequest("h1", first=True), HostRequest("h2")),
    ),
    cluster=Cluster((host("h1", 1), host("h2", 2))),
)


@every_method
@pytest.mark.behaviour("PLC-02", "PLC-12")
def test_more_slots_of_a_range_may_fit_where_fewer_do_not(method: str, objective: str) -> None:
    planned = answer(D1, method, objective)["j"]
    assert (planned.start, list(planned.allocation.items())) == (0, [("h1", 1), ("h2", 2)])


@pytest.mark.parametrize("reservation", ["none", "greedy", "time-based", "optimal"])
def test_the_loop_knows_that_the_larger_part_of_a_range_fits(reservation: str) -> None:
    assert loop_start(D1, "j", reservation=reservation) == 0
    waits = replace(D1, running=(running("r", {"h2": 1}),))
    assert loop_start(waits, "j", reservation=reservation) == 100


@every_method
@pytest.mark.parametrize("cu", ["balance", "maxcus=2"])
@pytest.mark.behaviour("PLC-04", "PLC-07", "PLC-09")
def test_the_fewest_units_over_all_classes_of_same(cu: str, method: str, objective: str) -> None:
    hosts = (
        host("a1", 2, type="HP"),
        host("a2", 2, type="HP"),
        host("b", 4, type="SGI"),
    )
    units = (ComputeUnit("r1", "rack", ("a1", "b")), ComputeUnit("r2", "rack", ("a2",)))
    cluster = Cluster(hosts, unit_types=("rack",), default_unit_type="rack", units=units)
    instance = problem(job("j", 4, f"same[type] cu[{cu}]"), cluster=cluster)
    assert answer(instance, method, objective)["j"].allocation == {"b": 4}


def _mixed_units() -> Instance:
    """Three enclosures alike, of a host of 2 and a host of 3 slots each."""
    names = [f"{size}{unit}" for unit in "xyz" for size in ("s", "t")]
    hosts = tuple(host(name, 2 if name[0] == "s" else 3) for name in names)
    units = tuple(ComputeUnit(u, "enc", (f"s{u}", f"t{u}")) for u in "xyz")
    cluster = Cluster(hosts, unit_types=("enc",), default_unit_type="enc", units=units)
    queues = (Queue("default", exclusive="CU[enc]"),)
    asks = "span[ptile='!'] cu[balance:excl:maxcus=3]"
    return problem(job("j", 10, asks), cluster=cluster, queues=queues)


@every_method
@pytest.mark.behaviour("PLC-06", "PLC-09")
def test_units_that_serve_alike_are_taken_in_configuration_order(
    method: str, objective: str
) -> None:
    planned = answer(_mixed_units(), method, objective)["j"]
    assert list(planned.allocation) == ["sx", "tx", "sy", "ty"]


@every_method
@pytest.mark.behaviour("REQ-16", "RSV-08")
def test_a_job_based_resource_of_the_queue_goes_to_the_first_term(
    method: str, objective: str
) -> None:
    cluster = Cluster((host("h1"),), shared=(SharedResource("licA", 1),))
    instance = problem(
        job("j", 2, "1*{select[ncpus>0]} + 1*{select[ncpus>0]}"),
        cluster=cluster,
        queues=(Queue("default", res_req="rusage[licA=1]"),),
    )
    assert answer(instance, method, objective)["j"].start == 0
    by_slot = replace(instance.params, reserve_per_slot=True)
    found = answer(replace(instance, params=by_slot), method, objective)
    assert found.get("j") is None or found["j"].start is None


@every_method
@pytest.mark.behaviour("RSV-10")
def test_a_static_shared_resource_under_a_limit_knows_no_duration(
    method: str, objective: str
) -> None:
    hours = 7200
    text = "rusage[lic=1:duration=10]"
    instance = problem(
        job("1", 1, text, run_limit=hours),
        job("2", 1, text, run_limit=hours),
        cluster=Cluster((host("h1"),), shared=(SharedResource("lic", 5),)),
        limits=(Limit("few", {"lic": 1.0}),),
    )
    found = answer(instance, method, objective)
    assert sorted(item.start or 0 for item in found.reservations) == [0, hours]


@every_method
@pytest.mark.behaviour("RSV-10", "TBR-10")
def test_a_limit_for_each_host_counts_what_is_shared_on_every_host_of_a_job(
    method: str, objective: str
) -> None:
    instance = problem(
        job("1", 2, "rusage[lic=1] span[ptile=1]"),
        job("2", 1, "select[hname=='h2'] rusage[lic=1]", submit=1),
        cluster=Cluster((host("h1"), host("h2")), shared=(SharedResource("lic", 5),)),
        limits=(Limit("few", {"lic": 1.0}, hosts=Scope(("all",), each=True)),),
    )
    found = answer(instance, method, objective)
    assert sorted(item.start or 0 for item in found.reservations) == [0, 100]


@pytest.mark.behaviour("PLC-14")
def test_growth_ends_with_a_smaller_block() -> None:
    """14 more slots in blocks of 4 are 4+4+4+2."""
    names = [f"h{number}" for number in range(6)]
    run = RunningJob(
        Job("r", 4, max_slots=18, res_req=("span[ptile=4]",), run_limit=600, resizable=True),
        0,
        {"h0": 4},
    )
    instance = problem(cluster=Cluster(tuple(host(name) for name in names)), running=(run,))
    grown = simulate(instance)["r"]
    assert list(grown.hosts.values()) == [4, 4, 4, 4, 2]


@pytest.mark.behaviour("RSV-11")
@every_method
@pytest.mark.parametrize("of_queue", [True, False])
def test_a_host_that_states_no_memory_is_past_no_threshold_of_memory(
    method: str, objective: str, of_queue: bool
) -> None:
    """loadSched of memory closes A, which has 100 MB; nobody knows how much B has."""
    limit = Thresholds({"mem": 200.0}, {"mem": 150.0})
    hosts = (host("A", amounts={"mem": 100.0}, thresholds=Thresholds()), host("B"))
    if not of_queue:
        hosts = (replace(hosts[0], thresholds=limit), hosts[1])
    queue = Queue("default", thresholds=limit if of_queue else Thresholds())
    old = running("old", {"B": 1})
    instance = problem(job("j", 2), hosts=hosts, queues=(queue,), running=(old,))
    found = answer(instance, method, objective)
    assert (found["j"].start, dict(found["j"].allocation)) == (0, {"B": 2})
    assert loop_start(instance, "j") == 0
    assert simulate(instance, cycle=0)["old"].suspensions == 0


@pytest.mark.behaviour("RSV-11")
def test_a_threshold_of_memory_that_never_binds_leaves_a_plan_proved() -> None:
    """mem of 0 MB free is always there, unless what runs has taken more than there is."""
    queue = Queue("default", thresholds=Thresholds({"mem": 0.0}))
    hosts = (host("A", amounts={"mem": 100.0}), host("B", amounts={"mem": 100.0}))
    old = running("old", {"A": 1}, "rusage[mem=60]")
    jobs = (job("j", 1, "rusage[mem=70]"), job("k", 1, "rusage[mem=50]"))
    instance = problem(*jobs, hosts=hosts, queues=(queue,), running=(old,))
    found = answer(instance, "optimal", "lexicographic")
    assert found.status == "optimal"
    assert [item.proved for item in found] == [True, True]
    over = replace(old, job=replace(old.job, res_req=("rusage[mem=160]",)))
    assert (
        answer(replace(instance, running=(over,)), "optimal", "lexicographic").status != "optimal"
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.behaviour("TBR-10")
@every_exact_method
def test_a_limit_on_some_hosts_alone_warns_of_nothing(method: str, objective: str) -> None:
    """JL/U of A, B and C; D, which has none, is bounded by nothing in that column."""
    jlu = {"A": (2, 2), "B": (2, 2), "C": (4, 1), "D": (3, None)}
    hosts = tuple(Host(name, slots, user_slots=most) for name, (slots, most) in jlu.items())
    jobs = (job("j", 5, user="ann"), job("k", 2, user="ann"), job("l", 2, user="ann"))
    old = (
        running("old", {"B": 1}, user="ann", run_limit=50),
        running("new", {"B": 1, "D": 2}, user="bob", run_limit=20),
    )
    found = answer(problem(*jobs, hosts=hosts, running=old), method, objective)
    assert found.status == "optimal"


@pytest.mark.behaviour("TBR-02", "RSV-01")
@every_method
@pytest.mark.parametrize("asked", ["select[slots>=2]", "select[mem>=80]"])
def test_a_job_that_ends_now_is_gone_from_selections_by_what_is_free(
    method: str, objective: str, asked: str
) -> None:
    """`old` has run to its limit: its slots and its memory count from the next second on."""
    hosts = (host("A", amounts={"mem": 100.0}), host("B", 1, amounts={"mem": 50.0}))
    old = running("old", {"A": 4}, "rusage[mem=60]", run_limit=20)
    instance = problem(job("j", 4, asked), hosts=hosts, running=(old,), now=20)
    assert answer(instance, method, objective)["j"].start == 21


@pytest.mark.behaviour("RSV-01", "RSV-11")
@every_exact_method
@pytest.mark.parametrize(
    ("load", "asked", "start"),
    some(
        [
            (0.5, "rusage[r1m=0.6]", 3600),
            (0.5, "rusage[r1m=0.6:duration=10]", 600),
            (0.5, "rusage[r1m=0.6:duration=10:decay=1]", 120),
            (0.5, "rusage[r1m=0.4]", 0),
            (2.0, "rusage[r1m=0.6]", None),
            (0.5, "rusage[it=0.6]", 0),
        ],
        30,
    ),
)
def test_a_load_that_a_running_job_reserves_falls_as_it_ends(
    method: str, objective: str, load: float, asked: str, start: int | None
) -> None:
    """Nothing says when a load that hosts report falls; what a job has reserved, its end says."""
    instance = problem(
        job("j", 2),
        hosts=(host("A", load={"r1m": load}),),
        queues=(Queue("default", thresholds=Thresholds({"r1m": 1.0})),),
        running=(running("r", {"A": 1}, asked, run_limit=3600),),
    )
    found = answer(instance, method, objective)
    assert loop_start(instance, "j") == start
    if start is None:
        assert [item.job for item in found.unplaced] == ["j"]
        assert found.left_out == ("falling loads",)
    else:
        assert (found["j"].start, found["j"].proved) == (start, True)


@pytest.mark.behaviour("RSV-11")
@every_exact_method
def test_nothing_is_proved_that_the_load_of_a_planned_job_may_close(
    method: str, objective: str
) -> None:
    instance = problem(
        job("p", 1, "rusage[r1m=0.6]"),
        job("s", 1),
        hosts=(host("A", load={"r1m": 0.5}),),
        queues=(Queue("default", thresholds=Thresholds({"r1m": 1.0})),),
    )
    found = answer(instance, method, objective)
    assert loop_start(instance, "p") == 0
    assert loop_start(instance, "s") == 100
    assert (found["p"].proved, found["s"].proved) == (True, False)
    assert found.left_out == ("r1m that planned jobs reserve",)


@pytest.mark.behaviour("RSV-01", "LOP-01")
@pytest.mark.parametrize("method", ["time-based", "optimal", "milp"])
def test_memory_that_no_job_accounts_for_is_named(method: str) -> None:
    """The host has 100 MB and reports 20; the job that runs holds 10 of them."""
    instance = problem(
        job("j", 1, "rusage[mem=50]"),
        job("s", 1, "rusage[mem=15]"),
        hosts=(host("A", amounts={"mem": 100.0}, load={"mem": 20.0}),),
        running=(running("r", {"A": 1}, "rusage[mem=10]", run_limit=3600),),
    )
    found = solve(instance, method, effort=20)
    none = found.unplaced[0]
    assert none.job == "j"
    if method != "time-based":  # there the job holds indefinitely what it waits with
        assert found["s"].start == loop_start(instance, "s") == 3600
    assert none.reason.startswith("does not fit with the usage that hosts report")
    assert loop_start(instance, "j") is None
    assert found.status != "infeasible"
    assert any("report" in rule for rule in found.left_out)
    # Once the host reports what it has, the end of what runs is all that the job waits for.
    free = replace(
        instance, cluster=Cluster((host("A", amounts={"mem": 100.0}, load={"mem": 55.0}),))
    )
    assert solve(free, method, effort=20)["j"].start == 3600


def test_a_closed_host_is_not_to_blame_where_no_end_is_known() -> None:
    """A is past loadSched; but both are full of a job that says no end."""
    queue = Queue("default", thresholds=Thresholds({"r1m": 1.0}))
    hosts = (host("A", load={"r1m": 2.0}), host("B", load={"r1m": 0.0}))
    endless = running("old", {"A": 4, "B": 4}, run_limit=None)
    instance = problem(job("j", 2), hosts=hosts, queues=(queue,), running=(endless,))
    found = solve(instance, "time-based")
    assert "end is unknown (no run limit): old" in str([*found, *found.unplaced])
    free = replace(instance, running=(running("old", {"B": 4}, run_limit=None),))
    told = solve(free, "time-based")
    assert "load closes A" in str([*told, *told.unplaced])
