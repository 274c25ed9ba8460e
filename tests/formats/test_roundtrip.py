"""Saving is lossless and stable, and every field of the model has its place in the format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
import slotwise as sw
from format_cases import instances
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from slotwise import InputError, Instance, dump, dump_json, from_document, load, loads, to_document
from slotwise.model.generate import generate

COMPLETE = load(Path(__file__).with_name("complete.yaml"))
#: Host partitions and queue-level fairshare exclude each other.
PARTITIONED = from_document(
    {
        "format": "slotwise/1",
        "hosts": [{"name": "n[1-4]", "slots": 4}],
        "host_partitions": [
            {"name": "p", "HOSTS": "all ~n2", "USER_SHARES": "[[ann,3] [default,1]]"}
        ],
    }
)


def _parts(value: Any) -> Iterator[Any]:
    """Every dataclass object within a value."""
    if is_dataclass(value):
        yield value
        for field in fields(value):
            yield from _parts(getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _parts(item)


@pytest.mark.parametrize("instance", [COMPLETE, PARTITIONED], ids=["complete", "partitioned"])
@pytest.mark.parametrize("write", [dump, dump_json])
def test_it_reads_back(write: Any, instance: Instance) -> None:
    text = write(instance)
    again = loads(text)
    assert again == instance
    assert write(again) == text
    assert from_document(to_document(instance)) == instance


def test_every_field_of_the_model_can_be_written() -> None:
    usual: dict[str, set[str]] = {}
    for part in _parts((COMPLETE, PARTITIONED)):
        left = usual.setdefault(type(part).__name__, {field.name for field in fields(part)})
        for field in fields(part):
            default = field.default
            if field.default_factory is not MISSING:
                default = field.default_factory()
            if getattr(part, field.name) != default:
                left.discard(field.name)
    assert {name: left for name, left in usual.items() if left} == {}
    assert len(usual) == 38


def test_allocations_keep_their_order() -> None:
    document = {
        "format": "slotwise/1",
        "hosts": [{"name": "n[1-4]", "slots": 4}],
        "running": [{"id": 1, "start": 0, "allocation": "1*n3 1*n1 1*n2 2*n4"}],
    }
    instance = from_document(document)
    for text in (dump(instance), dump_json(instance)):
        assert list(loads(text).running[0].allocation) == ["n3", "n1", "n2", "n4"]


def test_mappings_are_written_in_one_order() -> None:
    documents = [
        {
            "format": "slotwise/1",
            "hosts": [{"name": "a", "slots": 1, "amounts": amounts, "RESOURCES": booleans}],
        }
        for amounts, booleans in (
            ({"x": 1, "y": 2}, "f g"),
            ({"y": 2, "x": 1}, "g f"),
        )
    ]
    first, second = (dump(from_document(document)) for document in documents)
    assert first == second


@given(instances())
@examples(30)
def test_any_instance_reads_back(instance: Instance) -> None:
    for write in (dump, dump_json):
        text = write(instance)
        again = loads(text)
        assert again == instance
        assert write(again) == text


@given(st.integers(0, 10**6))
@examples(15)
def test_generated_instances_read_back(seed: int) -> None:
    instance = generate(hosts=12, per_enclosure=4, per_rack=2, running=20, pending=10, seed=seed)
    assert loads(dump_json(instance)) == instance


def test_a_shared_resource_has_an_amount_for_each_of_several_groups_of_hosts() -> None:
    """ResourceMap: ``5@[a] 9@[b]``; no host has two of them."""
    text = "format: slotwise/1\nhosts: [{name: a, slots: 1}, {name: b, slots: 1}]\n"
    text += "shared_resources:\n  - {name: lic, amount: 5, hosts: a}\n"
    text += "  - {name: lic, amount: 9, hosts: %s}\n"
    instance = loads(text % "b")
    assert [item.amount for item in instance.cluster.shared] == [5, 9]
    assert loads(dump(instance)) == instance
    with pytest.raises(InputError, match="a has two instances of lic"):
        loads(text % "a b")


@pytest.mark.parametrize("count", [1, 999_999_999, 10**9, 2**31, 10**12])
@pytest.mark.parametrize("what", ["USER_SHARES", "FAIRSHARE", "allocation"])
def test_counts_in_a_mapping_are_those_that_a_text_can_say(count: int, what: str) -> None:
    """What is read from a mapping is written as a text: neither takes more than the other."""
    document: dict[str, Any] = {
        "format": "slotwise/1",
        "hosts": [{"name": "a", "slots": 2**31 - 1}],
    }
    if what == "USER_SHARES":
        document["user_groups"] = [{"name": "g", "members": "ann", what: {"ann": count}}]
    elif what == "FAIRSHARE":
        document["queues"] = [{"name": "q", what: [["ann", count]]}]
    else:
        running = {"id": "r", "start": 0, "run_limit": 60, what: {"a": count}}
        document["running"] = [running]
    if count < 10**9:
        instance = from_document(document)
        assert loads(dump(instance)) == loads(dump_json(instance)) == instance
    else:
        with pytest.raises(InputError, match="must be less than 1,000,000,000, not"):
            from_document(document)


def test_a_default_queue_that_nobody_names_is_the_first_one_in_memory_too() -> None:
    made = sw.instance([sw.Host("a", 1)], queues=(sw.Queue(name) for name in ("main", "other")))
    assert made.params.default_queue == "main"
    assert loads(dump(made)) == made
    there = sw.instance([sw.Host("a", 1)], queues=[sw.Queue("main"), sw.Queue("default")])
    assert there.params.default_queue == "default"
    assert loads(dump(there)) == there
