"""What `explain` says where rules meet that seldom do, against the enumerator's own answers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest
import slotwise as sw
from advice_checking import carried_out, counted, fits_at, kind, others, placed_forms, with_job
from combined_enumerator import Case, Form
from sampling import some
from slotwise import Explanation, Obstacle
from slotwise.model.duration import two_cycles
from slotwise.solver.advice.explain import EVERY_WEEK
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
    assert found.answer.start == start_of(it, name)
    if found.answer.start == it.instance.now:
        return
    limit = NEVER if found.answer.start is None else found.answer.start
    best: dict[str, int] = {}
    for item in found.suggestions:
        assert start_of(carried_out(it, name, item.change), name) == item.start, item.change
        sort = kind(item.change)
        best[sort] = min(item.start, best.get(sort, limit))
    too_little = limit - two_cycles(it.instance) + 1
    for change in others(it, name):
        start = start_of(carried_out(it, name, change), name)
        shown = best.get(kind(change), too_little)
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
    assert (rows[0].first, rows[-1].until) == (it.instance.now, found.answer.start)
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
        advice_comes_true(
            shut, name, sw.explain(shut.instance, name, method="time-based"), by_time_based
        )


def asked_otherwise(it: Case, name: str, changed: Mapping[str, str]) -> Case:
    """The case with the last job asked for as an alternative of `ask` says."""
    job, term = it.jobs[name], it.asks[name][0]
    if "slots" in changed:
        job = replace(job, slots=int(changed["slots"]))
    if "limit" in changed:
        hours, minutes = changed["limit"].split(":")
        job = replace(job, run_limit=3600 * int(hours) + 60 * int(minutes))
    if "queue" in changed:
        job = replace(job, queue=changed["queue"])
    single = len(it.asks[name]) == 1
    if "ptile" in changed:
        tile = int(changed["ptile"] or 0)
        term = replace(term, tile=tile, one_host=False, block=1)
    if "cu" in changed:
        words = [word.partition("=") for word in changed["cu"].split(":") if word]
        term = replace(term, cu=tuple((key, value) for key, _, value in words) or None)
    return with_job(it, job, term if single else None)


def singles(it: Case, name: str) -> Iterator[dict[str, str]]:
    """The single changes that `ask --explore` says it tries."""
    job, terms = it.jobs[name], it.asks[name]
    assert job.run_limit is not None
    for part in (2, 4):
        if minutes := job.run_limit // 60 // part:
            yield {"limit": f"{minutes // 60}:{minutes % 60:02d}"}
    yield from ({"queue": q.name} for q in it.instance.queues if q.name != job.queue)
    if len(terms) > 1:
        return
    for count in {job.slots // 2, job.slots // 4, 1} - {0, job.slots}:
        yield {"slots": str(count)}
    if job.slots > 1:
        yield from ({"ptile": str(n)} for n in range(1, job.slots + 1) if job.slots % n == 0)
        yield {"ptile": ""}
    yield from ({"cu": text} for text in ("", "maxcus=1", "maxcus=2", "balance"))


def answers_are_right(it: Case) -> None:
    """What `ask --explore` says of a line, of its alternatives, and what it leaves out."""
    job = replace(it.order[-1], begin=None, hosts=(), max_slots=None)
    if job.run_limit is None:
        return
    rest = replace(it.instance, pending=tuple(p for p in it.instance.pending if p.id != job.id))
    last = replace(job, submit=rest.now, queued_as=None, priority=0)
    whole = Case(replace(rest, pending=(*rest.pending, last)), it.asks, it.host_windows)
    whole.dispatch, whole.run = it.dispatch, it.run
    line = f"bsub -n {job.slots} -W {job.run_limit // 60} -q {job.queue} -P {job.project}"
    line += f" -Lp {job.license_project}" if job.license_project else ""
    line += " -x" if job.exclusive else ""
    line += f' -R "{job.res_req[0]}"' if job.res_req else ""
    said = sw.ask(rest, line, user=job.user, method="optimal", effort=EFFORT, explore=True)
    own = by_enumerating(whole, job.id)
    assert said.line.answer.start == own
    own = NEVER if own is None else own
    best: dict[tuple[str, ...], int] = {}
    for item in said.alternatives:
        start = by_enumerating(asked_otherwise(whole, job.id, item.changed), job.id)
        assert start == item.answer.start, item.changed
        assert start is not None
        assert start < own
        sort = tuple(item.changed)
        best[sort] = min(start, best.get(sort, own))
    for changed in singles(whole, job.id):
        start = by_enumerating(asked_otherwise(whole, job.id, changed), job.id)
        assert start is None or start >= best.get(tuple(changed), own), (changed, start)


@pytest.mark.behaviour("LOP-01", "TBR-19")
@pytest.mark.parametrize("block", some(range(4), 1))
def test_answers_agree_with_the_enumerator(block: int) -> None:
    for seed in range(block * 5, block * 5 + 5):
        if (it := drawn(seed)) is not None:
            answers_are_right(it)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_answers_agree_with_the_enumerator_on_many(block: int) -> None:
    for seed in range(2_000 + block * 50, 2_050 + block * 50):
        if (it := drawn(seed)) is not None:
            answers_are_right(it)


@pytest.mark.behaviour("LOP-01", "TBR-19")
@pytest.mark.parametrize("block", some(range(5), 1))
def test_explanations_agree_with_the_enumerator(block: int) -> None:
    for seed in range(block * 4, block * 4 + 4):
        explained(seed)


@pytest.mark.behaviour("LOP-01")
@pytest.mark.parametrize("seed", some([67, 79, 180, 266, 2296, 2488, 28, 382, 140], 4))
def test_explanations_that_were_wrong_once(seed: int) -> None:
    """Limits, windows, jobs together, exclusive ones, terms, units, reservations, first hosts."""
    explained(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_explanations_agree_with_the_enumerator_on_many(block: int) -> None:
    for seed in range(2_000 + block * 50, 2_050 + block * 50):
        explained(seed)
