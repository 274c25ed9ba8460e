"""LSF's parameter texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from slotwise import Scope, Thresholds
from slotwise.model.formats import text


@pytest.mark.parametrize(
    ("read", "given", "expected"),
    [
        (text.run_limit, "2:00", (None, 7200)),
        (text.run_limit, 60, (None, 3600)),
        (text.run_limit, "60 8h", (3600, 28800)),
        (text.run_limit, "60 -", (3600, None)),
        (text.processor_limit, 16, (1, None, 16)),
        (text.processor_limit, "2 16", (2, None, 16)),
        (text.processor_limit, "2 4 16", (2, 4, 16)),
        (text.processor_limit, "2 4 -", (2, 4, None)),
        (text.reserve_time, "MAX_RESERVE_TIME[20]", 20),
        (text.exclusive, "y", "Y"),
        (text.exclusive, "CU[ enclosure ]", "CU[enclosure]"),
        (text.user_shares, "USER_SHARES[[u,10] [g@, 3]]", (("u", 10), ("g@", 3))),
        (text.user_shares, "[[default, 1]]", (("default", 1),)),
        (text.user_shares, "[u,10] [others,8]", (("u", 10), ("others", 8))),
        (text.user_shares, {"u": 10}, (("u", 10),)),
        (text.user_shares, [["u", 10]], (("u", 10),)),
        (text.thresholds, {"r1m": "0.7/2", "ut": 1}, Thresholds({"r1m": 0.7, "ut": 1}, {"r1m": 2})),
        (text.reservation_limits, "[mem=30,100] [swp=50]", {"mem": (30, 100), "swp": (0, 50)}),
        (text.resource_amounts, "[lic,3] [tok,2]", {"lic": 3, "tok": 2}),
        (text.preemption, "PREEMPTIVE PREEMPTABLE[a b]", (("*",), ("a", "b"))),
        (text.preemption, "PREEMPTABLE", (None, ("*",))),
        (text.unit_types, "enclosure! rack", (("enclosure", "rack"), "enclosure")),
        (text.unit_types, "enclosure rack", (("enclosure", "rack"), "enclosure")),
        (text.unit_types, ["enclosure", "rack!"], (("enclosure", "rack"), "rack")),
        (text.yes_no, "N", False),
        (text.yes_no, True, True),
    ],
)  # fmt: skip
def test_texts(read: Callable[[object], Any], given: object, expected: object) -> None:
    assert read(given) == expected


@pytest.mark.parametrize(
    ("read", "given", "message"),
    [
        (text.run_limit, "8h 2h", "must be at most the maximum"),
        (text.run_limit, "1 2 3", "one limit or"),
        (text.processor_limit, "4 2", "must be 1 or more, in ascending order"),
        (text.processor_limit, "1 2 3 4", "must be 'maximum'"),
        (text.reserve_time, "MAX_RESERVE_TIME[0]", "1 or more cycles"),
        (text.exclusive, "CU rack", r"must be Y, N or CU\[type\]"),
        (text.user_shares, "[[u,0]]", "1 or more"),
        (text.user_shares, "u 10", r"pairs such as \[user,3\]"),
        (text.user_shares, [["u"]], "mapping of names to shares"),
        (text.thresholds, {"r1m": "low"}, "r1m must be loadSched/loadStop"),
        (text.reservation_limits, "[mem=100,30]", "is above its maximum"),
        (text.resource_amounts, "lic 3", r"\[resource,amount\]"),
        (text.preemption, "PREEMPT", r"PREEMPTIVE\[queues\]"),
        (text.unit_types, "a a", "has the type a twice in 'a a'"),
        (text.yes_no, "maybe", "must be Y or N"),
    ],
)
def test_wrong_texts(read: Callable[[object], Any], given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(given)


def test_a_scope_knows_its_exceptions() -> None:
    assert text.scope("all ~u[1-2]", each=True) == Scope(("all",), True, ("u1", "u2"))
    with pytest.raises(ValueError, match="must name members"):
        text.scope("~u1", each=False)
