"""The table of everything that can run out, and what a job uses of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from availability_cases import MEM, hosts_of, table
from slotwise import (
    Host,
    HostGroup,
    Job,
    Limit,
    Params,
    Queue,
    ReservationUsage,
    Scope,
    SharedResource,
    UserGroup,
)
from slotwise.model.reservation import Reservation
from slotwise.solver.availability.resources import SLOTS, Per, ResourceTable, flat


def names(where: ResourceTable, job: Job, queue: Queue, *held: Reservation) -> dict[str, Per]:
    """What a job uses, by the name of the resource or pool, and how often it counts."""
    found = where.alternative(job, queue, held)
    return {
        **{where.host_resources[use.index].name: use.per for use in found.host_uses},
        **{where.pools[use.index].name: use.per for use in found.pool_uses},
    }


def test_slots_first_then_built_in_amounts_then_own_ones() -> None:
    hosts = (
        Host("A", 4, amounts={"gpus": 2, "tmp": 9, "mem": 8}),
        Host("B", 2, amounts={"mem": 7}),
    )
    where = table(*hosts)
    assert [resource.name for resource in where.host_resources] == ["slots", "mem", "tmp", "gpus"]
    assert where.host_resources[SLOTS].capacity.tolist() == [4, 2]
    assert where.host_resources[MEM].capacity.tolist() == [8, 7]
    assert where.host_resources[3].capacity.tolist() == [2, -1]  # B does not have it


def test_a_job_of_slots_alone_uses_slots_alone() -> None:
    assert names(table(), Job("j", 1), Queue("q")) == {"slots": Per.SLOT}


def test_an_exclusive_job_takes_whole_hosts() -> None:
    use = table().alternative(Job("j", 1), Queue("q"), (), exclusive=True).host_uses[0]
    assert use.per is Per.WHOLE


def test_how_often_an_amount_counts() -> None:
    """RSV-08: memory once a host, a shared licence once a job, unless the cluster says so."""
    hosts = (Host("A", 4, amounts={"mem": 8.0, "gpus": 2.0}),)
    shared = (SharedResource("lic", 3),)
    held = (flat("mem", 1), flat("lic", 1), flat("gpus", 1))
    plain = table(*hosts, shared=shared)
    expected = {"slots": Per.SLOT, "mem": Per.HOST, "lic": Per.JOB, "gpus": Per.HOST}
    assert names(plain, Job("j", 1), Queue("q"), *held) == expected
    per_slot = table(*hosts, shared=shared, params=Params(reserve_per_slot=True))
    assert set(names(per_slot, Job("j", 1), Queue("q"), *held).values()) == {Per.SLOT}
    usage = (ReservationUsage("gpus", "PER_JOB"), ReservationUsage("lic", "PER_SLOT"))
    own = table(*hosts, shared=shared, reservation_usage=usage)
    assert names(own, Job("j", 1), Queue("q"), *held) == expected | {
        "gpus": Per.JOB,
        "lic": Per.SLOT,
    }


def test_what_no_host_has_is_missing_and_a_load_index_is_not() -> None:
    where = table()
    found = where.alternative(Job("j", 1), Queue("q"), (flat("nosuch", 1), flat("r1m", 1)))
    assert found.missing == "no host has nosuch"
    assert where.alternative(Job("j", 1), Queue("q"), (flat("r1m", 1),)).missing == ""


def test_access_is_where_everything_is_defined() -> None:
    hosts = (Host("A", 4, amounts={"mem": 8}), Host("B", 4), Host("C", 4, amounts={"mem": 0}))
    where = table(*hosts, shared=(SharedResource("lic", 3, frozenset({"A", "B"})),))

    def may(*held: Reservation) -> list[int]:
        found = where.alternative(Job("j", 1), Queue("q"), held).hosts
        assert found is not None
        return hosts_of(found)

    assert may(flat("mem", 1)) == [0, 2]
    assert may(flat("lic", 1)) == [0, 1]
    assert may(flat("mem", 1), flat("lic", 1)) == [0]


def test_own_slot_limits_of_queue_host_and_user() -> None:
    hosts = (Host("A", 8, ncpus=3, user_slots=2), Host("B", 8))
    where = table(*hosts)
    queue = Queue("q", queue_slots=5, user_slots=4, host_slots=3, processor_slots=0.5)
    assert set(names(where, Job("j", 1, user="u"), queue)) == {
        "slots", "JL/U u", "HJOB_LIMIT q", "PJOB_LIMIT q", "QJOB_LIMIT q", "UJOB_LIMIT q u"
    }  # fmt: skip
    capacity = {resource.name: resource.capacity.tolist() for resource in where.host_resources}
    assert capacity["JL/U u"] == [2, np.inf]
    assert capacity["HJOB_LIMIT q"] == [3, 3]
    assert capacity["PJOB_LIMIT q"] == [2, 4]  # ceil(0.5 * 3), ceil(0.5 * 8)
    assert {pool.name: pool.capacity for pool in where.pools} == {
        "QJOB_LIMIT q": 5,
        "UJOB_LIMIT q u": 4,
    }


def test_jobs_of_one_user_meet_in_one_limit_and_other_users_do_not() -> None:
    where = table()
    queue = Queue("q", user_slots=4)
    first = where.alternative(Job("a", 1, user="u"), queue, ()).pool_uses
    second = where.alternative(Job("b", 1, user="u"), queue, ()).pool_uses
    other = where.alternative(Job("c", 1, user="v"), queue, ()).pool_uses
    assert [use.index for use in first] == [use.index for use in second] == [0]
    assert [use.index for use in other] == [1]


def test_a_limit_section_covers_its_users_each_or_all_together() -> None:
    """PER_USER gives each a pool of his own; ~name leaves out; a group stands for members."""
    limits = (
        Limit("together", {"slots": 6}, users=Scope(("g",), excluded=("w",))),
        Limit("each", {"slots": 2}, users=Scope(("all",), each=True)),
    )
    where = table(limits=limits, groups=(UserGroup("g", ("u", "v", "w")),))
    used = {
        user: names(where, Job("j", 1, user=user), Queue("q")).keys() - {"slots"}
        for user in ("u", "v", "w", "x")
    }
    together = "limit together:slots:6:"
    assert used == {
        "u": {together, "limit each:slots:2:u"},
        "v": {together, "limit each:slots:2:v"},
        "w": {"limit each:slots:2:w"},
        "x": {"limit each:slots:2:x"},
    }


def test_per_host_limits_are_host_resources_infinite_outside() -> None:
    limit = Limit("l", {"slots": 3}, hosts=Scope(("g",), each=True))
    hosts = (Host("A", 8), Host("B", 8))
    instance = table(*hosts).instance
    grouped = replace(instance.cluster, groups=(HostGroup("g", ("B",)),))
    where = ResourceTable(replace(instance, cluster=grouped, limits=(limit,)))
    where.alternative(Job("j", 1), Queue("q"), ())
    assert where.host_resources[-1].capacity.tolist() == [np.inf, 3]


def test_a_limit_on_jobs_counts_a_job_once() -> None:
    where = table(limits=(Limit("l", {"jobs": 2}),))
    first = where.alternative(Job("j", 1), Queue("q"), ())
    later = where.alternative(Job("j", 1), Queue("q"), (), first=False)
    assert [(use.per, use.once) for use in first.pool_uses] == [(Per.JOB, True)]
    assert later.pool_uses == ()
