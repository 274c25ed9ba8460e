"""Guaranteed pools of hosts, packages and shared resources (GUA-01)."""

from __future__ import annotations

import random
from typing import Any

import pytest
import slotwise as sw
from loop_lab import HOUR, cluster, host, instance, job, run, running
from slotwise.model.cluster import SharedResource
from slotwise.model.configuration import Queue
from slotwise.model.instance import Instance
from slotwise.model.service_class import Guarantee, GuaranteedAmount, GuaranteedPool, ServiceClass
from slotwise.solver.availability.guarantees import measured, packages_taken
from slotwise.solver.validate import validate_schedule

pytestmark = pytest.mark.behaviour("GUA-01")

METHODS = ["time-based", "optimal", "milp"]


def site(kind: str, hosts: Any, *pending: Any, guaranteed: float = 2, **more: Any) -> Instance:
    """Class a has some of a pool of this type guaranteed."""
    pool = more.pop("pool", {})
    share = Guarantee("a", GuaranteedAmount(float(guaranteed)))
    return instance(
        cluster=cluster(*hosts, shared=(SharedResource("lic", 5.0),)),
        queues=(Queue("q", exclusive="Y"),),
        pending=tuple(pending),
        service_classes=(ServiceClass("a"),),
        guaranteed_pools=(GuaranteedPool("p", kind, (share,), **pool),),
        **more,
    )


def starts(problem: Instance, method: str) -> dict[str, int | None]:
    found = sw.plan(problem, method=method)  # type: ignore[arg-type]
    assert not sw.validate(problem, found)
    assert not [note for note in found.notes if "bug" in note]
    return {item.job: item.start for item in found}


@pytest.mark.parametrize("method", METHODS)
def test_units_of_a_shared_resource(method: str) -> None:
    """Of 5 licences 2 are the owners': another job that wants 4 waits for ever, 3 start."""
    lic = "rusage[lic={}]".format
    problem = site(
        *("resource[lic]", [host("A", 9)]),
        *(job(f"n{n}", 1, lic(1), minutes=60) for n in range(4)),
        *(job(f"o{n}", 1, lic(1), minutes=60, service_class="a") for n in range(2)),
        job("free", 1, minutes=60),
    )
    found = starts(problem, method)
    assert found == {"n0": 0, "n1": 0, "n2": 0, "n3": HOUR, "o0": 0, "o1": 0, "free": 0}
    if method != "time-based":
        assert all(item.proved for item in sw.plan(problem, method=method))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_whole_hosts(method: str) -> None:
    """Of 3 hosts 2 are kept whole: one exclusive job starts, the next one of the owners does."""
    alone = {"minutes": 60, "exclusive": True}
    problem = site(
        *("hosts", [host(name, 4) for name in "ABC"]),
        *(job("n0", 1, **alone), job("n1", 1, **alone), job("o", 8, service_class="a", **alone)),
    )
    assert starts(problem, method) == {"n0": 0, "n1": HOUR, "o": 0}
    if method != "time-based":
        assert all(item.proved for item in sw.plan(problem, method=method))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_whole_packages(method: str) -> None:
    """A job with more memory than a package takes two of them."""
    hosts = [host("A", 4, 64000.0)]
    mem, two = ("rusage[mem=16000]",), ("rusage[mem=20000]",)
    problem = site(
        *("package[slots=1:mem=16000]", hosts),
        *(job("big", 1, *two, minutes=60), job("n", 1, *mem, minutes=60)),
        *(job("o", 1, *mem, minutes=60, service_class="a") for _ in range(1)),
    )
    assert starts(problem, method) == {"big": 0, "n": HOUR, "o": 0}
    assert [pool.total for pool in measured(problem)] == [4]


def test_what_jobs_take_in_packages() -> None:
    """The numbers of the documents: a 20 GB job takes two packages of 16 GB."""
    pool = GuaranteedPool("p", "package[slots=1:mem=16384]")
    assert packages_taken(pool, 1, 20480, 0).by_host == 2
    assert packages_taken(pool, None, 0, 16384).exact
    assert not packages_taken(pool, None, 0, 8192).exact
    whole = GuaranteedPool("p", "package[slots=4]")
    assert packages_taken(whole, 8, 0, 0).by_host == 2
    assert packages_taken(whole, 8, 0, 0).exact
    assert not packages_taken(whole, 6, 0, 0).exact
    assert packages_taken(whole, None, 0, 0).by_slot == 1


@pytest.mark.parametrize(
    ("kind", "more", "says"),
    [
        ("hosts", {}, "hosts of guaranteed pool p that several jobs share"),
        ("package[slots=2]", {}, "unused parts of packages"),
    ],
)
def test_what_is_counted_from_above_is_named(kind: str, more: Any, says: str) -> None:
    problem = site(kind, [host("A", 4), host("B", 4)], job("n", 1, minutes=9), guaranteed=1, **more)
    found = sw.plan(problem)
    assert [item.jobs for item in found.omissions if says in item.what] == [("n",)]
    assert not found["n"].proved


@pytest.mark.parametrize("method", METHODS)
def test_slots_per_host_bind_the_jobs_of_classes(method: str) -> None:
    jobs = [job(f"o{n}", 1, minutes=60, service_class="a") for n in range(5)]
    hosts = [host("A", 4), host("B", 4)]
    limited = {"slots_per_host": 2}
    problem = site("slots", hosts, *jobs, job("n", 2, minutes=60), pool=limited)
    found = starts(problem, method)
    assert [found[f"o{n}"] for n in range(5)] == [0, 0, 0, 0, HOUR]
    assert found["n"] == 0


def test_a_host_is_in_the_first_pool_that_takes_it() -> None:
    pools = (
        GuaranteedPool("first", hosts=("A", "B"), res_select="mem>1000"),
        GuaranteedPool("rest", hosts=("all", "~C")),
    )
    problem = instance(
        *(host("A", 1, 500.0), host("B", 2, 2000.0), host("C", 4, 2000.0)),
        host("D", 8, 1.0, status="closed_Adm"),
        guaranteed_pools=pools,
    )
    assert [pool.total for pool in measured(problem)] == [2, 1]


def random_site(seed: int) -> Instance:
    """Jobs of two classes or none on hosts with memory and licences."""
    draw = random.Random(seed)
    kind = draw.choice(
        ["slots", "hosts", "package[slots=1:mem=1000]", "package[slots=2]", "resource[lic]"]
    )
    hosts = [host(f"h{n}", draw.randint(2, 5), draw.choice([2000.0, 4000.0])) for n in range(2)]
    exact = draw.random() < 0.6

    def one(name: str) -> Any:
        slots = draw.choice([1, 2, 3]) if not (exact and kind.endswith("s=2]")) else 2
        asks = {
            "slots": "",
            "hosts": "",
            "resource[lic]": f"rusage[lic={draw.randint(1, 2)}]",
        }.get(kind, f"span[hosts=1] rusage[mem={1000 * slots if exact else 700}]")
        own = draw.choice(["a", "b", "", ""])
        return job(
            *(name, slots, *([asks] if asks else [])),
            minutes=draw.choice([30, 60]),
            service_class=own,
            exclusive=kind == "hosts" and exact,
        )

    shares = tuple(Guarantee(n, GuaranteedAmount(float(draw.randint(0, 2)))) for n in "ab")
    pool = GuaranteedPool(
        *("p", kind, shares),
        slots_per_host=draw.choice([None, 2]) if kind == "slots" else None,
    )
    return instance(
        cluster=cluster(*hosts, shared=(SharedResource("lic", 4.0),)),
        queues=(Queue("q", exclusive="Y"),),
        running=(running("r", {"h0": 1}, 30),) if draw.random() < 0.5 else (),
        pending=tuple(one(f"p{n}") for n in range(draw.randint(2, 6))),
        service_classes=(ServiceClass("a"), ServiceClass("b")),
        guaranteed_pools=(pool,),
    )


def check(seed: int) -> None:
    problem = random_site(seed)
    assert not validate_schedule(problem, run(problem))
    plans = [sw.plan(problem, method=method) for method in ("optimal", "milp", "time-based")]
    for found in plans:
        assert not sw.validate(problem, found)
        assert not [note for note in found.notes if "bug" in note]
    for item in plans[0]:
        other = plans[1].get(item.job)
        if item.proved and other is not None and other.proved:
            assert item.start == other.start


@pytest.mark.parametrize("seed", range(3))
def test_loop_plans_and_judge_agree(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 503))
def test_loop_plans_and_judge_agree_at_large(seed: int) -> None:
    check(seed)
