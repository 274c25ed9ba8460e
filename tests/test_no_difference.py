"""What says the same in two ways has the same answer, from the loop and from every method."""

from __future__ import annotations

import pytest
from equal_instances import LATER, PAIRS, drawn
from sampling import pairwise, some
from slotwise import Instance
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate

Starts = dict[str, int | None]


def _loop(site: Instance, method: str) -> Starts:
    return dict(simulate(site, reservation=method).starts)


def _planned(site: Instance, method: str) -> Starts:
    found = plan(site, method)
    return {item.job: item.start for item in found} | {item.job: None for item in found.unplaced}


def _proved(site: Instance) -> dict[str, int | None]:
    found = plan(site, "optimal", effort=20)
    return {item.job: item.start for item in found if item.proved}


def _earlier(starts: Starts, site: Instance) -> Starts:
    return {job: None if at is None else at - site.now for job, at in starts.items()}


def _pair(name: str, seed: int, *, to_come: int) -> tuple[Instance, Instance]:
    first, second = PAIRS[name]
    site = drawn(seed, to_come=to_come)
    return first(site), second(site)


def _loop_agrees(name: str, seed: int, method: str) -> None:
    one, other = _pair(name, seed, to_come=15)
    found, again = (_earlier(_loop(site, method), site) for site in (one, other))
    assert found == again


def _plans_agree(name: str, seed: int) -> None:
    one, other = _pair(name, seed, to_come=0)
    for method in ("greedy", "time-based"):
        found, again = (_earlier(_planned(site, method), site) for site in (one, other))
        assert found == again
    if not other.partitions and not any(queue.user_shares for queue in other.queues):
        # Of shares and partitions an exact plan leaves out a part, so that less is proved.
        proved, again = (_earlier(_proved(site), site) for site in (one, other))
        assert proved == again


def test_later_is_later() -> None:
    site = drawn(0, to_come=0)
    assert PAIRS["later"][1](site).now == LATER


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize(
    ("name", "method"), some(pairwise(list(PAIRS), ["none", "greedy", "time-based"]), 10)
)
def test_the_loop_makes_no_difference(name: str, method: str) -> None:
    for seed in (7, 35):
        _loop_agrees(name, seed, method)


@pytest.mark.parametrize("name", some(PAIRS, 20))
def test_plans_make_no_difference(name: str) -> None:
    _plans_agree(name, 7)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("seed", range(100, 130))
def test_nobody_makes_a_difference(name: str, seed: int) -> None:
    for method in ("none", "greedy", "time-based"):
        _loop_agrees(name, seed, method)
    _plans_agree(name, seed)
