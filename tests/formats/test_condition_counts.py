"""A condition on a number of elements is refused exactly where no number of them fulfils it."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
from slotwise import Cluster, Host, Instance, Job
from slotwise.model.formats.rules import condition_problems

SIGNS: dict[str, Callable[[int, int], bool]] = {
    "": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.mark.behaviour("DEP-01")
@pytest.mark.parametrize("sign", SIGNS)
def test_a_number_that_cannot_be_reached_is_refused(sign: str) -> None:
    for total in (1, 2, 5):
        elements = tuple(Job(f"7[{n}]", 1, name="a") for n in range(1, total + 1))
        instance = Instance(Cluster((Host("a", 4),)), pending=elements)
        for number in range(total + 3):
            text = f"numdone(7, {sign} {number})"
            possible = any(SIGNS[sign](count, number) for count in range(total + 1))
            said = list(condition_problems(instance, Job("j", 1, dependency=text)))
            expected = [] if possible else [f"{text}: can never hold, there are {total}"]
            assert said == expected
