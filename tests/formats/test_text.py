"""LSF's parameter texts, as files have them."""

from __future__ import annotations

from typing import Any

import pytest
from slotwise import InputError, Instance, Queue, Scope, Thresholds, from_document


def read(key: str, given: object) -> Instance:
    """An instance with a parameter of its queue, of the cluster, or of a limit."""
    document: dict[str, Any] = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 1}]}
    if key == "COMPUTE_UNIT_TYPES":
        document["params"] = {key: given}
    elif key in ("USERS", "RESOURCE"):
        document["limits"] = [{"name": "l", "SLOTS": 1, key: given}]
    else:
        document["queues"] = [{"name": name} for name in "ab"]
        document["queues"].append({"name": "q", key: given})
    return from_document(document)


def queue(key: str, given: object) -> Queue:
    return read(key, given).queues[-1]


@pytest.mark.parametrize(
    ("key", "given", "fields", "expected"),
    [
        ("RUNLIMIT", "2:00", "run_limit run_limit_max", (None, 7200)),
        ("RUNLIMIT", 60, "run_limit run_limit_max", (None, 3600)),
        ("RUNLIMIT", "60 8h", "run_limit run_limit_max", (3600, 28800)),
        ("RUNLIMIT", "60 -", "run_limit run_limit_max", (3600, None)),
        ("PROCLIMIT", 16, "slots", ((1, None, 16),)),
        ("PROCLIMIT", "2 16", "slots", ((2, None, 16),)),
        ("PROCLIMIT", "2 4 16", "slots", ((2, 4, 16),)),
        ("PROCLIMIT", "2 4 -", "slots", ((2, 4, None),)),
        ("SLOT_RESERVE", "MAX_RESERVE_TIME[20]", "slot_reserve", (20,)),
        ("EXCLUSIVE", "y", "exclusive", ("Y",)),
        ("FAIRSHARE", "USER_SHARES[[u,10] [g@, 3]]", "user_shares", ((("u", 10), ("g@", 3)),)),
        ("FAIRSHARE", "[[default, 1]]", "user_shares", ((("default", 1),),)),
        ("FAIRSHARE", "[u,10] [others,8]", "user_shares", ((("u", 10), ("others", 8)),)),
        ("FAIRSHARE", {"u": 10}, "user_shares", ((("u", 10),),)),
        ("FAIRSHARE", [["u", 10]], "user_shares", ((("u", 10),),)),
        ("thresholds", {"r1m": "0.7/2", "ut": 1}, "thresholds",
         (Thresholds({"r1m": 0.7, "ut": 1}, {"r1m": 2}),)),
        ("RESRSV_LIMIT", "[mem=30,100] [swp=50]", "resrsv_limit",
         ({"mem": (30, 100), "swp": (0, 50)},)),
        ("PREEMPTION", "PREEMPTIVE PREEMPTABLE[a b]", "preemptive preemptable",
         (("*",), ("a", "b"))),
        ("PREEMPTION", "PREEMPTABLE", "preemptive preemptable", (None, ("*",))),
        ("BACKFILL", "N", "backfill", (False,)),
        ("BACKFILL", True, "backfill", (True,)),
    ],
)  # fmt: skip
def test_texts_of_a_queue(key: str, given: object, fields: str, expected: tuple[Any, ...]) -> None:
    found = queue(key, given)
    assert tuple(getattr(found, name) for name in fields.split()) == expected


@pytest.mark.parametrize(
    ("given", "default"),
    [("enclosure! rack", "enclosure"), ("enclosure rack", "enclosure"),
     (["enclosure", "rack!"], "rack")],
)  # fmt: skip
def test_types_of_units(given: object, default: str) -> None:
    cluster = read("COMPUTE_UNIT_TYPES", given).cluster
    assert (cluster.unit_types, cluster.default_unit_type) == (("enclosure", "rack"), default)


@pytest.mark.parametrize(
    ("key", "given", "message"),
    [
        ("RUNLIMIT", "8h 2h", "must be at most the maximum"),
        ("RUNLIMIT", "1 2 3", "one limit or"),
        ("PROCLIMIT", "4 2", "must be 1 or more, in ascending order"),
        ("PROCLIMIT", "1 2 3 4", "must be 'maximum'"),
        ("SLOT_RESERVE", "MAX_RESERVE_TIME[0]", "1 or more cycles"),
        ("EXCLUSIVE", "CU rack", r"must be Y, N or CU\[type\]"),
        ("FAIRSHARE", "[[u,0]]", "1 or more"),
        ("FAIRSHARE", "u 10", r"pairs such as \[user,3\]"),
        ("FAIRSHARE", [["u"]], "mapping of names to shares"),
        ("thresholds", {"r1m": "low"}, "r1m must be loadSched/loadStop"),
        ("RESRSV_LIMIT", "[mem=100,30]", "is above its maximum"),
        ("RESOURCE", "lic 3", r"\[resource,amount\]"),
        ("PREEMPTION", "PREEMPT", r"PREEMPTIVE\[queues\]"),
        ("COMPUTE_UNIT_TYPES", "a a", "has the type a twice in 'a a'"),
        ("BACKFILL", "maybe", "must be Y or N"),
        ("USERS", "~u1", "must name members"),
    ],
)
def test_wrong_texts(key: str, given: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(key, given)


def test_a_scope_knows_its_exceptions() -> None:
    (limit,) = read("USERS", "all ~u[1-2]").limits
    assert limit.users == Scope(("all",), excluded=("u1", "u2"))
