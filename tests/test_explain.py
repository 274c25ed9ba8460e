"""explain: reasons that hold, and suggestions that come true when they are planned."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from slotwise.model.formats import loads
from slotwise.model.instance import Instance
from slotwise.solver.advice.explain import Explanation
from slotwise.solver.advice.job_edits import limit_text, section, with_section
from slotwise.solver.advice.suggestions import fewer, longest_limit
from slotwise.solver.advice.what_if import Asker

HOUR = 3600


def example(name: str) -> Instance:
    return sw.load(sw.example(name))


def helps(found: Explanation) -> dict[str, int]:
    """What would help, and the start it gives."""
    return {item.change: item.start for item in found.suggestions}


@pytest.mark.behaviour("LOP-01")
def test_the_headline_job() -> None:
    found = sw.explain(example("headline"), "job5")
    assert found.outlook.start == 3 * HOUR
    assert [(o.first, o.until, o.reason) for o in found.obstacles] == [
        (0, 3 * HOUR, "needs 3 hosts with 2 free slots, has 0 to 2")
    ]
    expected = {
        "with -n 1": 0,
        "with -n 3": HOUR,
        "if job1 ended now": HOUR,
        "without span[]": 2 * HOUR,
        "with span[ptile=3]": 2 * HOUR,
    }
    assert helps(found) == expected
    assert [item.start for item in found.suggestions] == sorted(expected.values())


@pytest.mark.parametrize("method", ["time-based", "optimal"])
@pytest.mark.parametrize(
    ("name", "job"),
    [("headline", "job5"), ("backfill", "job4"), ("slot-limits", "job4"), ("joint-wins", "large")],
)
def test_every_suggestion_is_sooner(name: str, job: str, method: str) -> None:
    instance = example(name)
    pending = [item.id for item in instance.pending]
    found = sw.explain(instance, job if job in pending else pending[-1], method=method, effort=5)
    start = found.outlook.start
    assert start is not None
    for item in found.suggestions:
        assert item.start < start
        assert item.gain == start - item.start
    assert found.tried >= len(found.suggestions)
    if start > instance.now:
        assert found.obstacles[0].first == instance.now
        assert found.obstacles[-1].until == start
        for before, after in zip(found.obstacles, found.obstacles[1:], strict=False):
            assert before.until == after.first
            assert before.reason != after.reason


def test_suggestions_come_true() -> None:
    """Planned anew by hand, each change gives the start that was promised."""
    instance = example("headline")
    found = helps(sw.explain(instance, "job5"))

    def start(changed: Instance) -> int | None:
        return sw.plan(changed, "time-based")["job5"].start

    (job,) = instance.pending
    without_job1 = tuple(item for item in instance.running if item.job.id != "job1")
    assert start(replace(instance, running=without_job1)) == found["if job1 ended now"]
    assert start(replace(instance, pending=(replace(job, slots=3),))) == found["with -n 3"]
    shape = replace(job, res_req=("span[ptile=3]",))
    assert start(replace(instance, pending=(shape,))) == found["with span[ptile=3]"]


TEXT = """
format: slotwise/1
hosts:
  - {name: a1, slots: 4, mem: 1000}
  - {name: a2, slots: 4, mem: 1000}
params: {COMPUTE_UNIT_TYPES: enclosure}
compute_units:
  - {name: e1, type: enclosure, members: [a1]}
  - {name: e2, type: enclosure, members: [a2]}
queues:
  - {name: day, PRIORITY: 10, BACKFILL: Y}
  - {name: night, PRIORITY: 20}
running:
  - {id: r1, start: 0, run_limit: 2h, allocation: 3*a1, res_req: "rusage[mem=800]"}
pending:
  - {id: high, queue: day, slots: 8, run_limit: 1h, priority: 5}
  - {id: low, queue: day, slots: 4, run_limit: 4h, res_req: "cu[maxcus=1]"}
  - {id: memory, queue: day, slots: 1, run_limit: 30m, res_req: "rusage[mem=600]", hosts: a1}
"""


def test_reservations_and_backfill() -> None:
    found = sw.explain(loads(TEXT), "low")
    assert found.outlook.start == 3 * HOUR
    (only,) = found.obstacles
    assert only.reason.endswith("(reserved for high)")
    expected = {
        "with -W 2:00 or less (backfill)": 0,
        "if high (before it in line) were not there": 0,
        "if it were first in line": 0,
        "in queue night": 0,
    }
    assert expected.items() <= helps(found).items()


def test_what_a_unit_lacks() -> None:
    found = sw.explain(example("joint-wins"), "large")
    (only,) = found.obstacles
    assert only.reason == (
        "needs 8 slots under cu[maxcus=1]; the fullest choice, encA, has 6 and lacks 2 "
        "(reserved for small)"
    )


def test_memory() -> None:
    found = sw.explain(loads(TEXT), "memory")
    assert "of mem it asks for 600, no host has more than 200" in found.obstacles[0].reason
    assert helps(found)["with rusage[mem=150]"] == 0
    assert "with rusage[mem=450]" not in helps(found)


def test_a_job_that_never_starts() -> None:
    found = sw.explain(loads(TEXT.replace("slots: 8", "slots: 9")), "high")
    assert found.outlook.start is None
    assert "even when nothing runs" in found.outlook.waits_for
    assert found.obstacles[-1].until is None
    assert found.suggestions[0].gain is None
    assert "with -n 8" in helps(found)


def test_a_begin_time() -> None:
    found = sw.explain(loads(TEXT.replace("slots: 8,", "slots: 8, begin: 3h,")), "high")
    assert (found.obstacles[0].reason, found.obstacles[0].until) == (
        "its begin time (-b)",
        3 * HOUR,
    )
    assert helps(found)["without -b"] == 2 * HOUR


def test_a_job_that_starts_now_needs_no_help() -> None:
    found = sw.explain(example("joint-wins"), "small")
    assert (found.outlook.start, found.obstacles, found.suggestions) == (0, (), ())


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ("job55", "there is no pending job 'job55' (did you mean 'job5'?)"),
        ("job1", "job job1 runs already: only pending jobs wait for a start"),
    ],
)
def test_unknown_jobs(job: str, message: str) -> None:
    with pytest.raises(sw.InputError) as caught:
        sw.explain(example("headline"), job)
    assert str(caught.value) == message


def test_a_forecast_is_what_the_plan_says() -> None:
    """Job by job, asking alone gives the start of the whole plan."""
    instance = example("kth-sp2-queue-10")
    forecast = Asker(instance)
    whole = sw.plan(instance, "time-based")
    for job in instance.pending:
        outlook = forecast.outlook(job)
        assert outlook.start == whole[job.id].start
        assert dict(outlook.allocation) == dict(whole[job.id].allocation)


def test_the_longest_limit_ends_before_the_reservation() -> None:
    instance = loads(TEXT)
    forecast = Asker(instance)
    job = next(job for job in instance.pending if job.id == "low")
    view = forecast.view(job)
    demand = forecast.demand(view, job)
    longest = longest_limit(view.profile, demand, 0)
    assert longest == 2 * HOUR
    assert forecast.outlook(replace(job, run_limit=longest)).start == 0
    assert forecast.outlook(replace(job, run_limit=longest + 60)).start != 0


def test_sections_are_exchanged_in_place() -> None:
    (job,) = example("headline").pending
    both = replace(job, res_req=("select[mem>1] span[ptile=2]", "rusage[mem=5]"))
    assert section(both, "span") == "ptile=2"
    assert with_section(both, "span", None).res_req == ("select[mem>1]", "rusage[mem=5]")
    changed = with_section(both, "span", "ptile=4").res_req
    assert changed == ("select[mem>1]", "rusage[mem=5] span[ptile=4]")
    assert section(with_section(job, "cu", "maxcus=1"), "cu") == "maxcus=1"


def test_small_helpers() -> None:
    assert fewer(4) == [3, 2, 1]
    assert len(fewer(4096)) < 100
    assert fewer(4096)[-1] == 1
    assert [limit_text(seconds) for seconds in (60, 3600, 5430)] == ["0:01", "1:00", "1:31"]
