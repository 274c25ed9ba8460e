"""What-if in the library: which variants there are, and what is said of each."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace
from typing import Any

import pytest
import slotwise as sw
from slotwise import InputError, measure
from slotwise.solver.studies.whatif import combinations, read_wishes
from study_lab import weeks_of_jobs


def names(sets: list[str], vary: list[str]) -> list[str]:
    found, grid, wrong = read_wishes(sets, vary)
    assert wrong == []
    return [" ".join(map(str, wish)) for wish in combinations(found, grid)]


def test_what_is_varied_is_not_set_besides() -> None:
    assert names(["A=1"], ["A=2,3"]) == ["", "A=1", "A=2", "A=3"]


@pytest.mark.parametrize(
    ("sets", "vary", "said"),
    [
        (["A"], [], "--set: must be KEY=VALUE, not 'A'"),
        ([], ["A"], "--vary: must be KEY=VALUE, not 'A'"),
        ([""], [], "must be KEY=VALUE"),
        (["A=1; A=2"], [], "--set A=1; A=2: sets A twice: give each key one value"),
        ([], ["A=1,1"], "--vary A=1,1: gives '1' twice: give each value once"),
        ([], ["A=1", "A=2"], "A is varied twice"),
    ],
)
def test_wishes_that_are_none(sets: list[str], vary: list[str], said: str) -> None:
    *_, wrong = read_wishes(sets, vary)
    assert len(wrong) == 1
    assert said in str(wrong[0])


def test_each_variant_is_what_simulate_says_of_the_changed_instance() -> None:
    instance = weeks_of_jobs(weeks=3, each=25)
    found = sw.whatif(
        instance,
        ["queues.short.BACKFILL=N"],
        vary=["reservation=greedy,time-based"],
    )
    shut = replace(instance, queues=tuple(replace(q, backfill=False) for q in instance.queues))
    expected = {
        "today": sw.simulate(instance),
        "queues.short.BACKFILL=N": sw.simulate(shut),
        "reservation=greedy": sw.simulate(instance, reservation="greedy"),
        "reservation=time-based": sw.simulate(instance, reservation="time-based"),
        "queues.short.BACKFILL=N reservation=greedy": sw.simulate(shut, reservation="greedy"),
        "queues.short.BACKFILL=N reservation=time-based": sw.simulate(
            shut, reservation="time-based"
        ),
    }
    assert [variant.name for variant in found] == list(expected)
    for name, result in expected.items():
        assert found[name].metrics == sw.measure(result), name


def test_whose_wait_changes() -> None:
    """Every group's mean is that of its jobs; groups of a kind are all jobs."""
    instance = weeks_of_jobs()
    found = sw.whatif(instance, ["queues.short.BACKFILL=N"])
    (then,) = [v for v in found if v.settings]
    before = sw.simulate(instance)
    by_queue = {group.name: group for group in then.groups if group.kind == "queue"}
    assert set(by_queue) == {"wide", "short"}
    for name, group in by_queue.items():
        waits = [r.wait for r in before if r.queue == name and r.wait is not None]
        assert group.jobs == len(waits)
        assert group.today == pytest.approx(sum(waits) / len(waits))
        assert group.difference.change == pytest.approx(group.then - group.today)
    for kind in ("queue", "user", "size"):
        assert sum(g.jobs for g in then.groups if g.kind == kind) == measure(before).started


def test_shares_move_waits_from_one_user_to_another() -> None:
    shares = "queues.short.FAIRSHARE=USER_SHARES[[u0,50] [u1,1] [u2,1] [default,1]]"
    found = sw.whatif(weeks_of_jobs(each=40), [f"{shares}; queues.wide.FAIRSHARE={shares[23:]}"])
    users = {g.name: g for g in found.variants[1].groups if g.kind == "user"}
    assert users["u0"].difference.change < 0


def test_the_order_of_variants_and_their_numbers_hold_for_processes_too() -> None:
    instance = weeks_of_jobs(weeks=3, each=10)
    how = {"sets": ["reservation=none", "queues.short.BACKFILL=N", "MBD_SLEEP_TIME=60"]}
    assert sw.whatif(instance, **how, workers=2) == sw.whatif(instance, **how)


def test_few_weeks_are_said() -> None:
    few = sw.whatif(weeks_of_jobs(weeks=2, each=10), ["reservation=none"])
    assert "too few" in few.caution
    assert all(d.low is None and not d.clear for d in few.variants[1].differences.values())
    rough = sw.whatif(weeks_of_jobs(weeks=4, each=10), ["reservation=none"])
    assert "rough" in rough.caution
    many = sw.whatif(weeks_of_jobs(weeks=9, each=6), ["reservation=none"])
    assert many.caution == ""


def test_shorter_blocks_when_asked_for() -> None:
    found = sw.whatif(weeks_of_jobs(weeks=2, each=20), ["reservation=none"], block="1h")
    assert found.block == 3600
    assert found.blocks > 8


def test_tidy_records_and_frame() -> None:
    found = sw.whatif(weeks_of_jobs(weeks=3, each=10), ["reservation=none"])
    records = found.to_records()
    keys = [(r["variant"], r["kind"], r["group"], r["measure"]) for r in records]
    assert len(set(keys)) == len(keys)
    frame = found.to_frame()
    assert list(frame["variant"].unique()) == ["today", "reservation=none"]
    assert len(frame) == len(records)
    waits = frame[(frame.kind == "all") & (frame.measure == "mean_wait")]
    assert list(waits["value"]) == [variant.metrics.mean_wait for variant in found]
    assert "<table>" in found._repr_html_()
    assert pickle.loads(pickle.dumps(found)) == found


def test_stopped_at_once() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(sw.SlotwiseError, match="before an answer was found"):
        sw.whatif(weeks_of_jobs(), ["reservation=none"], cancel=cancel)


def test_all_that_is_wrong_in_one_report() -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.whatif(
            weeks_of_jobs(),
            ["queues.wid.BACKFILL=Y", "LSB_TIME_RESERVE_NUMJOBS=x", "oops"],
            vary=["reservation=greddy,none", "top=0,2", "cycle=-3,5"],
        )
    text = str(caught.value)
    for part in (
        "did you mean 'wide'?",
        "must be a whole number, not 'x'",
        "must be KEY=VALUE, not 'oops'",
        "not 'greddy'",
        "must be a whole number, 1 or more, not '0'",
        "must be a whole number, 0 or more, not '-3'",
    ):
        assert text.count(part) == 1, (part, text)


def test_chunks_and_futures_do_not_go_together() -> None:
    with pytest.raises(sw.InputError, match="CHUNK_JOB_SIZE"):
        sw.whatif(weeks_of_jobs(), ["queues.short.CHUNK_JOB_SIZE=4; reservation=time-based"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sets": "top=2"}, "sets: must be a list of strings: ['top=2']"),
        ({"vary": "top=2,4"}, "vary: must be a list of strings: ['top=2,4']"),
        ({"sets": None}, "sets: must be a list of strings KEY=VALUE, not None"),
        ({"sets": {"top": 2}}, "sets: must be a list of strings KEY=VALUE, not of type dict"),
        ({"sets": ["top=2", 5]}, "sets[1]: must be a string KEY=VALUE, not of type int"),
        ({"workers": 0}, "workers: must be a whole number, 1 or more, not 0"),
        ({"workers": -1}, "workers: must be a whole number, 1 or more, not -1"),
        ({"workers": True}, "workers: must be a whole number, 1 or more, not True"),
        ({"seed": -1}, "seed: must be a whole number, 0 or more, not -1"),
        ({"seed": 1.5}, "seed: must be a whole number, 0 or more, not 1.5"),
        ({"cycle": "x"}, "cycle: must be a whole number, 0 or more, not 'x'"),
        ({"until": 1.5}, "until: must be seconds or a time such as 7d, not 1.5"),
        ({"until": True}, "until: must be seconds or a time such as 7d, not True"),
        ({"until": [7]}, "until: must be seconds or a time such as 7d, not [7]"),
        ({"until": "foo"}, "until: must be a duration"),
        ({"log": 5}, "log: must be the path of a file, not of type int"),
    ],
)
def test_arguments_that_are_none(given: dict[str, Any], said: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.whatif(weeks_of_jobs(weeks=1, each=2), **given)
    assert [str(problem).startswith(said) for problem in caught.value.problems] == [True]


def test_all_that_is_wrong_with_arguments_at_once() -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.whatif(weeks_of_jobs(weeks=1, each=2), "top=2", workers=0, seed=-1)  # type: ignore[arg-type]
    assert [problem.source for problem in caught.value.problems] == ["sets", "seed", "workers"]


def test_recorded_waits_need_a_log() -> None:
    with pytest.raises(InputError, match="calibrate needs log"):
        sw.whatif(sw.load(sw.example("headline")), ["top=2"], calibrate=True)
