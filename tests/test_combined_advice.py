"""What `explain` says where rules meet that seldom do, against the enumerator's own answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

import pytest
import slotwise as sw
from advice_checking import carried_out, counted, fits_at, kind, others, placed_forms
from combined_enumerator import Case, Form
from slotwise.solver.advice.explain import Explanation
from slotwise.solver.advice.obstacles import EVERY_WEEK, Obstacle
from slotwise.solver.planning import plan
from test_combined import EFFORT, drawn, without_windows

#: Start of one job of a case.
StartOf = Callable[[Case, str], int | None]
NEVER = 1 << 60


def by_enumerating(it: Case, name: str) -> int | None:
    return it.lexicographic()[name]


def by_time_based(it: Case, name: str) -> int | None:
    item = plan(it.instance, "time-based").get(name)
    return None if item is None else item.start


def advice_comes_true(it: Case, name: str, found: Explanation, start_of: StartOf) -> None:
    """Each promise, and no change of the offered kinds is better than what is shown of its kind."""
    assert found.outlook.start == start_of(it, name)
    if found.outlook.start == it.instance.now:
        return
    limit = NEVER if found.outlook.start is None else found.outlook.start
    best: dict[str, int] = {}
    for item in found.suggestions:
        assert start_of(carried_out(it, name, item.change), name) == item.start, item.change
        sort = kind(item.change)
        best[sort] = min(item.start, best.get(sort, limit))
    for change in others(it, name):
        start = start_of(carried_out(it, name, change), name)
        shown = best.get(kind(change), limit)
        assert start is None or start >= shown, (change, start, shown)


def row_is_true(it: Case, name: str, row: Obstacle, placed: list[tuple[Form, int]]) -> None:
    """A row of obstacles at every half minute: the job does not fit, for what is said."""
    if row.reason == EVERY_WEEK:
        return
    end = row.first + 1800 if row.until is None else row.until
    times = range(row.first, end, 30)
    said = re.search(r" \(reserved for (.*?)((?: and others)? together)?\)$", row.reason)
    for time in times:
        assert not fits_at(it, name, time, placed), (row, time)
        if row.reason.startswith(("its begin time", "a dispatch or run window")):
            assert not fits_at(it, name, time, []) or it.jobs[name].begin, (row, time)
            continue
        assert fits_at(it, name, time, []) == (said is not None), (row, time)
        for other in re.split(", | or ", said[1]) if said else ():
            left = [(form, start) for form, start in placed if form.job != other]
            assert len(left) == len(placed) - 1
            assert fits_at(it, name, time, left) != bool(said and said[2]), (row, time, other)
    beside = placed if said else []
    numbers = [counted(it, name, row.reason, time, beside) for time in times]
    if None not in numbers:
        told = re.search(r"(?:has|leaves) (\d+)(?: to (\d+))?", row.reason)
        assert told is not None
        assert {float(told[1]), float(told[2] or told[1])} == {min(numbers), max(numbers)}, row


def rows_are_true(it: Case, name: str, found: Explanation) -> None:
    rows = found.obstacles
    if not rows:
        return
    assert (rows[0].first, rows[-1].until) == (it.instance.now, found.outlook.start)
    assert all(one.until == two.first for one, two in itertools.pairwise(rows))
    planned = plan(it.instance, "optimal", effort=EFFORT)
    placed = placed_forms(it, planned, {job.id for job in it.order} - {name})
    for row in rows:
        row_is_true(it, name, row, placed)


def explained(seed: int) -> None:
    """The last job of a case: by the exact method, and by time-based reservation."""
    it = drawn(seed)
    if it is None:
        return
    name = it.order[-1].id
    found = sw.explain(it.instance, name, method="optimal", effort=EFFORT)
    advice_comes_true(it, name, found, by_enumerating)
    rows_are_true(it, name, found)
    if seed % 3 == 0:
        shut = Case(without_windows(it.instance), it.asks)
        advice_comes_true(shut, name, sw.explain(shut.instance, name), by_time_based)


@pytest.mark.behaviour("LOP-01", "TBR-19")
@pytest.mark.parametrize("block", range(5))
def test_explanations_agree_with_the_enumerator(block: int) -> None:
    for seed in range(block * 6, block * 6 + 6):
        explained(seed)


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("seed", [67, 79, 140, 180, 266, 2296, 2488])
def test_explanations_that_were_wrong_once(seed: int) -> None:
    """Limits held elsewhere, closing windows, jobs together, exclusive ones, terms, units."""
    explained(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_explanations_agree_with_the_enumerator_on_many(block: int) -> None:
    for seed in range(2_000 + block * 50, 2_050 + block * 50):
        explained(seed)
