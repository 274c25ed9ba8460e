"""Jobs to come and jobs that have ended are columns: the same answers in little memory."""

from __future__ import annotations

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from loop_workloads import METHODS, workloads
from slotwise import Cluster, Host, InputError, Instance, Job, JobRecord, Simulation
from slotwise.cli.output import write_records
from slotwise.model import compact
from slotwise.model.compact import IntTable, Joined
from slotwise.model.sources.swf import RecordedStarts, SwfJobs
from slotwise.model.workload import Workload
from slotwise.solver.scheduler.events import EventQueue
from slotwise.solver.scheduler.job_state import EndedJobs, JobState
from slotwise.solver.scheduler.methods import settings_for
from slotwise.solver.scheduler.metrics import SlotSpans, compare_waits
from slotwise.solver.scheduler.simulation import Session, simulate

quick = examples(40)


@quick
@given(workloads(), st.sampled_from(METHODS), st.integers(0, 6))
def test_a_result_is_not_changed_by_going_on(instance: Instance, method: str, steps: int) -> None:
    session = Session(instance, settings_for(instance, reservation=method))
    session.begin()
    for _ in range(steps):
        session.advance()
    before = session.result()
    kept = tuple(before.jobs)
    while session.advance():
        pass
    assert before.jobs == kept
    assert len(before.jobs) == len(kept)
    assert [before.jobs[number] for number in range(len(kept))] == list(kept)
    assert before.jobs[1:] == kept[1:]


def used_by_sweep(result: Simulation) -> tuple[int, int, float, float, float]:
    """The same second by second: every slot of every host, and whether anybody waits."""
    capacity = {host.name: host.slots for host in result.instance.cluster.hosts}
    begin = max(min(record.submit for record in result.jobs), result.instance.now)
    end = max([result.time, *(record.end for record in result.jobs if record.end is not None)])
    busy = idle_waiting = broken = free_in_all = 0
    came = [record for record in result.jobs if record.status != "future"]
    moments = sorted(
        {begin, end}
        | {t for r in came for t in (r.submit, r.start, r.end) if t is not None}
        | {t for r in came for since, until, _ in r.held for t in (since, until) if t is not None}
    )
    for now, after in pairwise(moments):
        if now < begin or after > end:
            continue
        used = dict.fromkeys(capacity, 0)
        for record in came:
            for since, until, where in record.held:
                if since <= now and (until is None or now < until):
                    for host, slots in where.items():
                        used[host] += slots
        left = [record.start if record.start is not None else record.end for record in came]
        waits = any(
            record.submit <= now and (gone is None or now < gone)
            for record, gone in zip(came, left, strict=True)
        )
        free = sum(capacity.values()) - sum(used.values())
        span = after - now
        busy += span * sum(used.values())
        free_in_all += span * free
        idle_waiting += span * free if waits else 0
        broken += span * sum(capacity[host] - n for host, n in used.items() if n)
    whole = max(1, sum(capacity.values()) * max(1, end - begin))
    share = broken / free_in_all if free_in_all else 0.0
    return begin, end, busy / whole, idle_waiting / whole, share


@pytest.fixture(params=[2, compact.BLOCK])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables whose rows are packed at once, and tables whose rows are not yet."""
    monkeypatch.setattr(compact, "BLOCK", request.param)


wide = st.none() | st.integers(-9, 300) | st.integers(-(1 << 66), 1 << 66)


@quick
@given(st.lists(st.tuples(wide, wide, st.integers(-(1 << 63), (1 << 63) - 1)), max_size=9))
@pytest.mark.usefixtures("blocks")
def test_a_table_has_the_rows_it_was_given(rows: list[tuple[int | None, ...]]) -> None:
    table = IntTable()
    for row in rows:
        table.append(*row)
    assert list(table) == rows == [table[place] for place in range(len(table))]
    assert [row for part in table.blocks() for row in part] == rows
    assert table.column(2).tolist() == [row[2] for row in rows]


@quick
@given(workloads(), st.sampled_from(METHODS), st.sampled_from([None, 100, 700]))
@pytest.mark.usefixtures("blocks")
def test_the_use_of_slots_is_that_of_a_look_at_every_moment(
    instance: Instance, method: str, until: int | None
) -> None:
    result = simulate(instance, reservation=method, until=until)
    use = SlotSpans.of(result).use()
    found = (use.begin, use.end, use.utilisation, use.idle_while_waiting, use.fragmentation)
    assert found == used_by_sweep(result)


allocations = st.dictionaries(st.integers(0, 9), st.integers(1, 1 << 40), max_size=3)
times = st.none() | st.integers(0, 1 << 50)


@st.composite
def ended(draw: st.DrawFn, number: int) -> JobState:
    """A state of a job that has ended, odd in every way a job can be."""
    start = draw(times)
    some = st.just(0) if start is None else st.sampled_from([0, 0, 3])
    plain = draw(st.booleans())
    terms = () if start is None else tuple(draw(st.lists(allocations, min_size=1, max_size=2)))
    return JobState(
        Job(str(number)),
        number,
        status=draw(st.sampled_from(["done", "killed"])),
        start=start,
        end=draw(st.integers(0, 1 << 50)),
        duration=draw(times),
        estimate=draw(times),
        estimated_at=draw(times),
        estimate_by=draw(st.sampled_from(["", "greedy"])),
        alternative=draw(st.integers(0, 2)),
        backfilled=draw(st.booleans()),
        reason=draw(st.sampled_from(["", "needs 2 slots", "ü"])),
        since=start or 0 if plain else draw(st.integers(0, 99)),
        allocated_at=start or 0 if plain else draw(st.integers(0, 99)),
        elapsed=0 if plain else draw(st.integers(0, 9)),
        terms=terms,
        past_allocations=[]
        if plain
        else draw(st.lists(st.tuples(some, some, allocations), max_size=2)),
        suspensions=0 if plain else draw(some),
        requeues=0 if plain else draw(some),
    )


@quick
@given(st.data(), st.integers(1, 6))
@pytest.mark.usefixtures("blocks")
def test_an_ended_job_is_what_it_was(data: st.DataObject, count: int) -> None:
    states = [data.draw(ended(number)) for number in range(count)]
    columns = EndedJobs()
    assert [columns.add(state) for state in states] == list(range(count))
    again = EndedJobs()
    again.load_state(json.loads(json.dumps(columns.to_state())))
    for found in (columns, again):
        assert len(found) == count
        for row, state in enumerate(states):
            back = found.state(row, state.job)
            assert {n: getattr(back, n) for n in KEPT} == {n: getattr(state, n) for n in KEPT}
            assert list(back.allocation) == list(state.allocation)


KEPT = (
    *("number", "status", "start", "end", "duration", "estimate", "estimated_at", "estimate_by"),
    *("alternative", "backfilled", "reason", "allocated_at", "since", "terms"),
    *("past_allocations", "suspensions", "requeues"),
)


@quick
@given(
    st.lists(st.integers(0, 5), max_size=8),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=8),
    st.integers(0, 12),
)
def test_announced_events_come_as_if_pushed_one_by_one(
    announced: list[int], others: list[tuple[int, int]], popped: int
) -> None:
    one, other = EventQueue(), EventQueue()
    one.announce(np.array(announced, dtype=np.int64), 2, 10)
    for number, time in enumerate(announced):
        other.push(time, 2, 10 + number)
    for number, (time, kind) in enumerate(others):
        one.push(time, kind, number)
        other.push(time, kind, number)
    assert len(one) == len(other)
    for _ in range(min(popped, len(other))):
        assert one.peek() == other.peek()
        assert one.pop() == other.pop()
    again = EventQueue()
    again.announce(np.array(announced, dtype=np.int64), 2, 10)
    again.restore(*one.state())
    while other:
        assert (len(again), len(one)) == (len(other), len(other))
        assert again.pop() == one.pop() == other.pop()
    assert not one
    assert not again


def waits_by_hand(records: list[JobRecord], recorded: dict[str, int]) -> tuple[float, ...]:
    """Some of what is compared, of records that all have a recorded start."""
    errors = [r.start - recorded[r.job] for r in records if r.start is not None]
    told = [abs(r.estimate - recorded[r.job]) for r in records if r.estimate is not None]
    return (
        len(errors),
        len(records) - len(errors),
        np.mean(np.abs(errors)) if errors else None,
        np.percentile(errors, 25) if errors else None,
        len(told),
        np.mean(told) if told else None,
    )


@quick
@given(workloads(), st.sampled_from(METHODS), st.sampled_from([None, 100, 700]), st.integers(0, 9))
@pytest.mark.usefixtures("blocks")
def test_waits_are_compared_queue_by_queue(
    instance: Instance, method: str, until: int | None, seed: int
) -> None:
    result = simulate(instance, reservation=method, until=until)
    draw = random.Random(seed)
    recorded = {r.job: r.submit + draw.randrange(500) for r in result.jobs if draw.random() < 0.8}
    there = [record for record in result.jobs if record.job in recorded]
    found = compare_waits(result.jobs, recorded)
    assert [item.queue for item in found] == ["", *sorted({record.queue for record in there})]
    for item in found:
        own = [record for record in there if item.queue in ("", record.queue)]
        numbers = (item.jobs, item.not_started, item.mean_absolute_error, item.p25_error)
        numbers += (item.estimates, item.estimate_mean_absolute_error)
        assert numbers == waits_by_hand(own, recorded)


def test_a_job_that_is_there_twice_is_refused() -> None:
    jobs = (Job("a"), Job("b"), Job("a"))
    instance = Instance(Cluster((Host("A", 1),)), future=jobs)
    with pytest.raises(InputError, match="job a is given twice: give each job an id of its own"):
        simulate(instance)


def test_jobs_of_a_log_are_like_a_tuple() -> None:
    log = Workload.of([0, 5, 1 << 40], [1, 2, 3], [4, 5, 6], [1, 1, 2], job=[7, 70, 700])
    jobs = SwfJobs(log, {}, "q")
    assert [job.id for job in jobs] == ["7", "70", "700"]
    assert jobs[-1] == Job("700", 2, queue="q", run_limit=6, run_time=3, submit=1 << 40)
    assert jobs == tuple(jobs)
    assert tuple(jobs) == jobs
    assert jobs != tuple(jobs)[:2]
    assert hash(jobs) == hash(tuple(jobs))
    assert repr(jobs) == repr(tuple(jobs))
    both = Joined((Job("x"),), (), jobs)
    assert [job.id for job in both] == [both[at].id for at in range(4)] == ["x", "7", "70", "700"]
    with pytest.raises(IndexError):
        both[4]
    assert not Joined()
    starts = RecordedStarts(log.job, log.submit)
    assert dict(starts) == {"7": 0, "70": 5, "700": 1 << 40}
    assert starts.get("007") is starts.get("8") is starts.get("x") is starts.get("9" * 99) is None


def test_records_are_written_as_all_at_once(tmp_path: Path) -> None:
    records = [{"job": str(number), "on": {"h": number}, "end": None} for number in range(9000)]
    for some in ([], records[:1], records):
        write_records(iter(some), tmp_path / "a.json")
        assert (tmp_path / "a.json").read_text() == json.dumps(some, indent=0) + "\n"
        for name in ("a.json", "a.csv"):
            write_records(iter(some), tmp_path / name)
            write_records(iter(some), tmp_path / f"{name}.gz")
            plain = (tmp_path / name).read_bytes()
            assert (tmp_path / f"{name}.gz").read_bytes() == gzip.compress(plain, mtime=0)
        assert plain.count(b"\n") == len(some) + bool(some)
