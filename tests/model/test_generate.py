"""Generated instances are what they say, and the same for the same seed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import InputError, dump_json, example, load
from slotwise.model.formats import loads_with_warnings
from slotwise.model.generate import SLOTS, generate


def test_the_shipped_cluster_is_what_its_readme_says() -> None:
    assert generate(hosts=1000, running=2300, seed=1) == load(example("cluster-1000"))


def test_the_load_is_reached_with_the_jobs_asked_for() -> None:
    instance = generate(hosts=200, running=900, pending=40, load=0.92, seed=3)
    held = sum(job.slots for job in instance.running)
    assert len(instance.running) == 900
    assert held == pytest.approx(0.92 * 200 * SLOTS, rel=0.02)
    assert len(instance.pending) == 40


def test_every_kind_of_request_occurs() -> None:
    instance = generate(hosts=64, running=50, pending=400, seed=0)
    texts = " ".join(text for job in instance.pending for text in job.res_req)
    for part in (
        "ptile",
        "hosts=1",
        "maxcus",
        "balance",
        "usablecuslots",
        "excl",
        "type=rack",
        "same",
    ):
        assert part in texts
    assert "duration" in texts
    assert {job.queue for job in instance.pending} == {"normal", "short"}
    assert len({job.user for job in instance.pending}) > 5


def test_without_memory_nobody_asks_for_it() -> None:
    instance = generate(hosts=16, running=20, pending=30, memory=False)
    assert not any(host.amounts for host in instance.cluster.hosts)
    jobs = [*(item.job for item in instance.running), *instance.pending]
    assert not any("mem" in text for job in jobs for text in job.res_req)


@given(
    hosts=st.integers(1, 40),
    per_enclosure=st.integers(1, 9),
    per_rack=st.integers(1, 4),
    running=st.integers(0, 60),
    pending=st.integers(0, 12),
    load=st.floats(0, 1),
    memory=st.booleans(),
    seed=st.integers(0, 1000),
)
@examples(40)
def test_any_arguments_give_a_valid_instance(**arguments: Any) -> None:
    instance = generate(**arguments)
    assert loads_with_warnings(dump_json(instance)) == (instance, ())
    assert generate(**arguments) == instance  # type: ignore[arg-type]


def test_memory_is_never_overcommitted() -> None:
    instance = generate(hosts=10, running=160, load=1.0, seed=5)
    held = dict.fromkeys((host.name for host in instance.cluster.hosts), 0)
    for item in instance.running:
        (text,) = item.job.res_req
        for host in item.allocation:
            held[host] += int(text.removeprefix("rusage[mem=").removesuffix("]"))
    assert max(held.values()) <= 65536


def test_wrong_arguments() -> None:
    with pytest.raises(InputError) as caught:
        generate(hosts=0, running=-1, load=1.5)
    assert str(caught.value) == (
        "hosts: must be 1 or more, not 0\n"
        "running: must be 0 or more, not -1\n"
        "load: must be a fraction from 0 to 1, not 1.5"
    )
