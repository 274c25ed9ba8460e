"""Who may use which hosts: ``others`` in lists, shared resources in places, the submission host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sampling import some
from slotwise import (
    Cluster,
    Host,
    HostRequest,
    InputError,
    Instance,
    Job,
    Limit,
    PlannedJob,
    ReservationUsage,
    SharedResource,
    dump,
    loads,
)
from slotwise.cli.main import app
from slotwise.solver.planning import plan
from slotwise.solver.scheduler import simulation
from slotwise.solver.validate import validate
from typer.testing import CliRunner

METHODS = ("greedy", "time-based", "optimal", "milp")


def read(text: str) -> Instance:
    return loads("format: slotwise/1\n" + text)


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text)
    return [problem.message for problem in caught.value.problems]


def allocation(instance: Instance, method: str = "time-based") -> dict[str, int] | None:
    found = plan(instance, method, time_limit=30)
    assert validate(instance, found) == []
    job = instance.pending[-1].id
    return dict(found[job].allocation) if job in found and found[job].allocation else None


def faults(instance: Instance, **slots: int) -> list[str]:
    """What the judge says when the one job starts now on these slots."""
    found = plan(instance, "time-based")
    (job,) = instance.pending
    entry = PlannedJob(job.id, 0, job.run_limit, slots, method="test")
    return [item.check for item in validate(instance, replace(found, reservations=(entry,)))]


def simulated(instance: Instance) -> dict[str, int]:
    """Slots by host of the one job in a simulation, none where it never starts."""
    result = simulation.simulate(instance)
    (record,) = (item for item in result.jobs if item.job == instance.pending[0].id)
    return dict(record.hosts)


FOUR = "hosts: [{name: 'h[1-4]', slots: 1}]\nhost_groups: {g: h1 h2}\n"


@pytest.mark.behaviour("PLC-12")
@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ("h3+2 others", ["h3", "h1", "h2", "h4"]),
        ("h3 others+1", ["h1", "h2", "h4", "h3"]),
        ("g others+2", ["h3", "h4", "h1", "h2"]),
        ("h4+2 h2 others+1", ["h4", "h1", "h3", "h2"]),
        ("others", ["h1", "h2", "h3", "h4"]),
    ],
)
@pytest.mark.parametrize("level", ["job", "queue"])
def test_others_are_the_hosts_that_the_list_does_not_name(
    wanted: str, order: list[str], level: str
) -> None:
    if level == "job":
        text = f"pending: [{{id: a, bsub: '-n 4 -W 5 -m \"{wanted}\"'}}]"
    else:
        text = f"queues: [{{name: q, HOSTS: {wanted}}}]\npending: [{{id: a, bsub: '-n 4 -W 5'}}]"
    instance = read(FOUR + text)
    assert list(allocation(instance) or ()) == order
    assert list(simulated(instance)) == order
    assert loads(dump(instance)) == instance


@pytest.mark.behaviour("PLC-12")
def test_others_with_exceptions_and_first_hosts() -> None:
    queue = "queues: [{name: q, HOSTS: h3+1 others ~h1}]\n"
    instance = read(FOUR + queue + "pending: [{id: a, bsub: '-n 3 -W 5'}]")
    assert list(allocation(instance) or ()) == ["h3", "h2", "h4"]
    assert "candidate" in faults(instance, h1=1, h2=1, h3=1)
    first = read(FOUR + "pending: [{id: a, bsub: '-n 2 -W 5 -m \"h1+9 h2+9 others!\"'}]")
    for method in METHODS[1:]:
        assert next(iter(allocation(first, method) or ())) in ("h3", "h4")
    assert "first-host" in faults(first, h1=1, h3=1)
    assert faults(first, h3=1, h1=1) == []


PLACES = (
    "hosts: [{name: a, slots: 4}, {name: b, slots: 4}, {name: c, slots: 9}, {name: d, slots: 9}]\n"
)


@pytest.mark.behaviour("RSV-10")
def test_others_and_all_in_places() -> None:
    shared = "shared_resources: [{name: lic, amount: '5@[a] 2.5@[others]', static: N}]\n"
    places = read(PLACES + shared).cluster.shared
    assert [item.hosts for item in places] == [frozenset("a"), frozenset("bcd")]
    assert [item.static for item in places] == [False, False]
    (one,) = read(PLACES + "shared_resources: [{name: lic, amount: '5@[all]'}]").cluster.shared
    assert one.hosts == frozenset("abcd")
    assert one.amount == 5


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            "{name: lic, amount: '5@[a b] 9@[b c]'}",
            "b has two instances of lic: give each host one",
        ),
        ("{name: lic, amount: 5}, {name: lic, amount: 1, hosts: a}", "a has two instances of lic"),
        (
            "{name: lic, amount: 5, hosts: a}, {name: lic, amount: 1, hosts: b, static: N}",
            "static must be equal in all instances of lic",
        ),
        (
            "{name: lic, amount: '5@[a]', hosts: b}",
            "the amount names hosts as well: remove hosts",
        ),
        ("{name: lic, amount: '5@[nosuch]'}", "unknown host or host group 'nosuch'"),
        ("{name: lic, amount: '5@[default]'}", "give each host its amount under amounts"),
        ("{name: lic, amount: '5'}", "must be a number or amounts such as 5@[a b] 9@[c]"),
        ("{name: lic, amount: '5@[a'}", "must be a number or amounts such as 5@[a b] 9@[c]"),
        ("{name: lic, amount: '-5@[a]'}", "must be a number or amounts such as 5@[a b] 9@[c]"),
        ("{name: lic, amount: '5@[]'}", "must be a number or amounts such as 5@[a b] 9@[c]"),
        ("{name: lic, amount: '@[a]'}", "must be a number or amounts such as 5@[a b] 9@[c]"),
    ],
)
def test_places_that_make_no_sense_are_refused(entry: str, says: str) -> None:
    assert any(says in text for text in problems(PLACES + f"shared_resources: [{entry}]\n"))


def in_places(requirement: str, slots: int, taken: int = 0, **more: object) -> Instance:
    """lic: 5 on a and b, 9 on c, none on d; `taken` of the first place are in use until 600."""
    cluster = Cluster(
        tuple(Host(name, n) for name, n in (("a", 4), ("b", 4), ("c", 9), ("d", 9))),
        shared=(
            SharedResource("lic", 5.0, frozenset("ab")),
            SharedResource("lic", 9.0, frozenset("c")),
        ),
    )
    earlier = Job(
        "e", 1, res_req=(f"rusage[lic={taken}]",), hosts=(HostRequest("a"),), run_limit=600
    )
    job = Job("j", slots, res_req=(requirement,), run_limit=300)
    pending = (earlier, job) if taken else (job,)
    return Instance(cluster, pending=pending, **more)  # type: ignore[arg-type]


@pytest.mark.behaviour("RSV-10", "RSV-08")
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(
    ("requirement", "slots", "usage", "used"),
    [
        ("rusage[lic=6] span[hosts=1]", 1, "PER_JOB", {"c"}),
        ("rusage[lic=5] span[hosts=1]", 4, "PER_JOB", {"a"}),
        ("rusage[lic=5]", 17, "PER_JOB", {"a", "b", "c"}),
        ("rusage[lic=1]", 14, "PER_SLOT", {"a", "b", "c"}),
        ("rusage[lic=3]", 5, "PER_SLOT", None),
        ("rusage[lic=3]", 4, "PER_SLOT", {"a", "c"}),
        ("rusage[lic=10]", 1, "PER_JOB", None),
        ("rusage[lic=1]", 18, "PER_JOB", None),
    ],
)
def test_each_place_suffices_for_what_a_job_takes_there(
    method: str, requirement: str, slots: int, usage: str, used: set[str] | None
) -> None:
    instance = in_places(requirement, slots, reservation_usage=(ReservationUsage("lic", usage),))
    found = allocation(instance, method)
    assert (found is None) == (used is None)
    if found is not None and used is not None:
        assert "d" not in found
        assert len(found) <= len(used) + 1
        assert sum(found.values()) == slots


@pytest.mark.behaviour("TBR-10", "RSV-10")
@pytest.mark.parametrize("method", METHODS[1:])
@pytest.mark.parametrize(("most", "fits"), [(5.0, True), (4.0, False)])
def test_a_limit_counts_what_a_job_asks_for_once_whatever_the_places(
    method: str, most: float, fits: bool
) -> None:
    instance = in_places("rusage[lic=5]", 17, limits=(Limit("few", {"lic": most}),))
    assert (allocation(instance, method) is not None) == fits
    assert ("limit" in faults(instance, a=4, b=4, c=9)) != fits


@pytest.mark.behaviour("RSV-10")
def test_views_show_each_place_with_what_is_left(tmp_path: Path) -> None:
    instance = in_places("rusage[lic=2] span[hosts=1]", 4, taken=4)
    file = tmp_path / "places.yaml"
    file.write_text(dump(instance))
    done = CliRunner().invoke(app, ["show", "bhosts", "-s", str(file), "--cycle"])
    told = done.stdout.split("\n")
    assert [line.split()[:3] for line in told[1:3]] == [
        ["lic", "1", "4"],
        ["lic", "7", "2"],
    ]
    assert [line.split()[3:] for line in told[1:3]] == [["a", "b"], ["c"]]


HOMES = """hosts:
  - {name: x1, slots: 2, type: X86, model: old}
  - {name: p1, slots: 2, type: PPC, model: old}
  - {name: p2, slots: 2, type: PPC, model: new, strings: {os: '4'}}
"""


@pytest.mark.behaviour("REQ-04")
@pytest.mark.parametrize(
    ("home", "requirement", "hosts"),
    [
        ("p1", "type==local", {"p1", "p2"}),
        ("x1", "type==local", {"x1"}),
        ("p1", "type!=local", {"x1"}),
        ("x1", "model==local", {"x1", "p1"}),
        ("p2", "model==local && type==local", {"p2"}),
        ("p1", "", {"p1", "p2"}),
        ("p1", "order[ut]", {"p1", "p2"}),
        ("x1", "select[r1m<5]", {"x1"}),
        ("x1", "select[type==any]", {"x1", "p1", "p2"}),
        ("x1", "select[defined(os)]", {"p2"}),
        ("x1", "hname!=x1", {"p1", "p2"}),
        (None, "type==local", {"x1", "p1", "p2"}),
        (None, "", {"x1", "p1", "p2"}),
    ],
)
def test_local_is_the_type_of_the_submission_host(
    home: str | None, requirement: str, hosts: set[str]
) -> None:
    said = f", from_host: {home}" if home else ""
    asked = f", res_req: '{requirement}'" if requirement else ""
    most = 2 * len(hosts)
    job = f"pending: [{{id: a, slots: {most}, run_limit: 60{said}{asked}}}]"
    instance = read(HOMES + job)
    assert loads(dump(instance)) == instance
    for method in ("time-based", "optimal"):
        assert set(allocation(instance, method) or ()) == hosts
    assert set(simulated(instance)) == hosts
    for name in {"x1", "p1", "p2"} - hosts:
        assert "candidate" in faults(instance, **{name: 2})
    too_many = read(HOMES + job.replace(f"slots: {most}", f"slots: {most + 1}"))
    assert allocation(too_many) is None
    assert simulated(too_many) == {}


SAYS = "submission host for type==local (from_host)"
TWO = "hosts: [{name: x1, slots: 2, type: X86}, {name: p1, slots: 2, type: PPC}]\n"
ONE = "hosts: [{name: x1, slots: 2, type: X86}, {name: p1, slots: 2, type: X86}]\n"


def left_open(instance: Instance, method: str = "optimal", **options: object) -> set[str]:
    """Jobs whose start is not proved, for the submission host alone."""
    found = plan(instance, method, time_limit=30, **options)
    assert validate(instance, found) == []
    named = [item for item in found.omissions if item.what == SAYS]
    touched = {job for item in named for job in item.jobs or ()}
    opened = {item.job for item in found if not item.proved} | {u.job for u in found.unplaced}
    assert touched <= opened
    return touched


@pytest.mark.behaviour("PAI-08")
@pytest.mark.parametrize("method", some(["optimal", "milp"], 1))
@pytest.mark.parametrize(
    ("requirement", "of_two", "of_one"),
    [
        ("", True, False),
        ("type==local", True, False),
        ("type!=local", True, True),
        ("!(type==local)", True, True),
        ("mem>=0 && type==local", True, False),
        ("select[r1m<5]", True, False),
        ("span[hosts=1]", True, False),
        ("same[type]", True, False),
        ("1*{type==any}+1*{type==local}", True, False),
        ("type==any", False, False),
        ("type==X86", False, False),
        ("hname==x1", False, False),
        ("hname!=x1", False, False),
        ("model==x", False, False),
    ],
)
def test_nothing_that_hangs_on_an_unknown_submission_host_is_proved(
    method: str, requirement: str, of_two: bool, of_one: bool
) -> None:
    """With hosts of one type it is taken to be like them, but not where others are asked for."""
    asked = f", res_req: '{requirement}'" if requirement else ""
    for hosts, hangs in ((TWO, of_two), (ONE, of_one)):
        job = f"{{id: a, slots: 2, run_limit: 60{asked}"
        assert left_open(read(hosts + f"pending: [{job}}}]"), method) == ({"a"} if hangs else set())
        known = read(hosts + f"pending: [{job}, from_host: p1}}]")
        assert left_open(known, method) == set()


@pytest.mark.behaviour("PAI-08")
def test_the_default_of_queue_and_application_counts_too() -> None:
    queues = "queues: [{name: any, RES_REQ: 'type==any'}, {name: mem, RES_REQ: 'mem>0'}]\n"
    profile = "applications: [{name: app, RES_REQ: 'type==any'}]\n"
    jobs = ", ".join(
        f"{{id: {name}, slots: 1, run_limit: 60, queue: {queue}{more}}}"
        for name, queue, more in (
            ("a", "any", ""), ("b", "mem", ""), ("c", "mem", ", application: app"),
        )
    )  # fmt: skip
    hosts = TWO.replace("slots: 2", "slots: 2, mem: 10").replace("slots: 2,", "slots: 9,")
    instance = read(hosts + queues + profile + f"pending: [{jobs}]")
    told = [item for item in plan(instance, "time-based").omissions if item.what == SAYS]
    assert [item.jobs for item in told] == [("b",)]


@pytest.mark.behaviour("PAI-08")
def test_ask_says_so_until_it_is_told_the_host(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text("format: slotwise/1\n" + TWO)
    for option in ("--from-host", "--from"):
        words = ["ask", str(file), "bsub -n 2 -W 1"]
        plain = CliRunner().invoke(app, words).stdout
        assert f"not modelled: {SAYS}" in " ".join(plain.split())
        told = CliRunner().invoke(app, [*words, option, "p1"]).stdout
        assert "submission host" not in told
        assert "2*p1" in told
    told = CliRunner().invoke(app, ["resreq", "", "--against", str(file)]).stdout
    assert "give --from-host" in told


@pytest.mark.parametrize("status", ["closed_Full", "closed_full", "closed_Excl", "closed_cu_Excl"])
def test_a_host_that_jobs_have_closed_opens_when_they_end(status: str) -> None:
    instance = read(
        f"hosts: [{{name: a, slots: 1, status: {status}}}]\n"
        "running: [{id: r, start: 0, run_limit: 600, allocation: a}]\n"
        "pending: [{id: p, run_limit: 60}]\n"
    )
    for method in METHODS[1:]:
        found = plan(instance, method, time_limit=30)
        assert validate(instance, found) == []
        assert found["p"].start == 600
    record = next(item for item in simulation.simulate(instance).jobs if item.job == "p")
    assert record.start == 600
