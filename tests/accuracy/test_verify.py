"""Estimates of a snapshot against a log, and the reason of each difference."""

from dataclasses import replace

import pytest
from slotwise import Cluster, Host, Instance, Job, Queue, RunningJob
from slotwise.model.display import HOUR
from slotwise.model.errors import InputError
from slotwise.solver.advice.verification import Verification, verify
from slotwise.solver.forecast.history import LoggedRun, LoggedRuns
from slotwise.solver.outlook.outlook import outlook_of
from slotwise.solver.scheduler.continuation import run_as_configured

QUEUES = (Queue("default", priority=30), Queue("urgent", priority=50))


def job(name: str, slots: int = 4, limit: int | None = 2 * HOUR, **more: object) -> Job:
    return Job(name, slots, run_limit=limit, submit=-600, **more)  # type: ignore[arg-type]


R = job("r")
#: One host of four slots; r runs for two hours at most.
BEFORE = Instance(
    Cluster((Host("h", 4),)),
    queues=QUEUES,
    running=(RunningJob(R, -HOUR, {"h": 4}),),
    pending=(job("j"),),
)


def logged(*runs: tuple[Job, int | None, int | None], **more: object) -> LoggedRuns:
    records = [LoggedRun(*run) for run in runs]
    last = max([0, *(time for run in records for time in (run.start, run.end) if time is not None)])
    kept: dict[str, object] = {"epoch": None, "last": last, "has_unfinished": True} | more
    return LoggedRuns(records, **kept)  # type: ignore[arg-type]


def verified(instance: Instance, log: LoggedRuns) -> Verification:
    answers = outlook_of(instance, run_as_configured(instance), None)
    return verify(instance, log, answers, source="log")


def one(instance: Instance, log: LoggedRuns, name: str = "j"):
    return next(item for item in verified(instance, log).jobs if item.job == name)


def test_a_log_of_another_cluster_is_told():
    """A log that has one of the jobs, waiting or running, is of this cluster."""
    other = (job("other"), HOUR, 2 * HOUR)
    assert "another cluster" in verified(BEFORE, logged(other)).remarks[0]
    for mine in ((R, -HOUR, HOUR), (job("j"), HOUR, 2 * HOUR)):
        remarks = verified(BEFORE, logged(mine, other)).remarks
        assert not any("another cluster" in remark for remark in remarks)


def test_a_pending_job_before_it_finished_early():
    instance = replace(BEFORE, pending=(job("i"), job("j")))
    log = logged((R, -HOUR, HOUR), (job("i"), HOUR, HOUR + 600), (job("j"), HOUR + 660, 9 * HOUR))
    found = one(instance, log)
    assert (found.why, found.causes[0].jobs) == ("finished early", ("i",))


def test_a_job_that_was_submitted_later_came_first():
    later = replace(job("n", queue="urgent"), submit=60)
    log = logged((R, -HOUR, HOUR), (later, HOUR, HOUR + 5400), (job("j"), HOUR + 5400, 9 * HOUR))
    found = one(BEFORE, log)
    assert (found.why, found.causes[0].jobs) == ("submitted later", ("n",))
    assert found.sentence.endswith("job n submitted after the snapshot started before it")
    # A job of an unknown queue cannot be simulated; that is said, and nothing is made up.
    strange = replace(later, queue="elsewhere")
    runs = [(run.job, run.start, run.end) for run in log.runs]
    whole = verified(BEFORE, logged(runs[0], (strange, *runs[1][1:]), runs[2]))
    assert whole.jobs[0].why == "other"
    assert "queues that the instance does not have (elsewhere)" in whole.remarks[0]


def test_a_job_before_it_was_removed():
    instance = replace(BEFORE, pending=(job("i"), job("j")))
    log = logged((R, -HOUR, HOUR), (job("i"), None, 300), (job("j"), HOUR, 9 * HOUR))
    found = one(instance, log)
    assert (found.why, found.causes[0].jobs) == ("removed", ("i",))
    gone = one(instance, log, "i")
    assert (gone.fate, gone.why, gone.started) == ("removed", "removed", None)


def test_two_equal_jobs_in_another_order():
    instance = replace(BEFORE, pending=(job("i", limit=HOUR), job("j", limit=HOUR)))
    runs = (job("j", limit=HOUR), HOUR, 2 * HOUR), (job("i", limit=HOUR), 2 * HOUR, 3 * HOUR)
    found = verified(instance, logged((R, -HOUR, HOUR), *runs))
    assert [item.why for item in found.jobs] == ["tie", "tie"]
    assert found.jobs[0].causes[0].jobs == ("j",)
    # Jobs that differ in anything are no tie.
    other = replace(instance, pending=(job("i", limit=HOUR), job("j", limit=HOUR, user="b")))
    assert {item.why for item in verified(other, logged((R, -HOUR, HOUR), *runs)).jobs} == {"other"}


def test_an_omitted_rule_is_named_for_the_jobs_that_it_touches():
    asks = job("j", unheeded=("-sp 9",))
    instance = replace(BEFORE, pending=(job("i"), asks))
    log = logged((R, -HOUR, HOUR), (asks, HOUR, 3 * HOUR), (job("i"), 3 * HOUR, 5 * HOUR))
    found = {item.job: item for item in verified(instance, log).jobs}
    assert found["j"].why == "omitted rule"
    assert "-sp 9" in found["j"].sentence
    assert found["i"].why == "other"


@pytest.mark.parametrize(
    ("log", "fate", "said"),
    [
        (logged((R, -HOUR, HOUR), (job("j"), None, None)), "pending", "end of the log"),
        (logged((R, -HOUR, HOUR)), "not in the log", "the log has no record of it"),
        (logged((R, -HOUR, 9), has_unfinished=False), "not in the log", "only finished jobs"),
    ],
)
def test_jobs_without_a_start(log: LoggedRuns, fate: str, said: str):
    found = one(BEFORE, log)
    assert (found.fate, found.error) == (fate, None)
    assert said in found.sentence


def test_a_job_without_an_estimate():
    endless = replace(R, run_limit=None)
    instance = replace(BEFORE, running=(RunningJob(endless, -HOUR, {"h": 4}),))
    found = one(instance, logged((endless, -HOUR, 60), (job("j"), 60, HOUR)))
    assert (found.why, found.error) == ("no estimate", None)
    assert "unknown end" in found.sentence


def test_records_of_other_runs_and_of_other_jobs_of_an_id_do_not_count():
    old = replace(job("j"), submit=-9 * HOUR)
    log = logged(
        (old, -8 * HOUR, -7 * HOUR),
        (R, -5 * HOUR, -4 * HOUR),  # r has been requeued
        (replace(job("j"), id="j#2", submit=-570), HOUR, 3 * HOUR),
        (replace(R, id="r#2"), -HOUR, HOUR),
    )
    found = one(BEFORE, log)
    assert (found.started, found.why) == (HOUR, "as estimated")


@pytest.mark.parametrize(
    ("log", "wrong"),
    [
        (logged((R, -2 * HOUR, -HOUR), last=-HOUR), "ends 1h before the instance's now"),
        (
            logged((R, -HOUR, HOUR), epoch=0),
            "times must be seconds without a date, as in the instance",
        ),
    ],
)
def test_a_log_that_cannot_be_of_what_followed(log: LoggedRuns, wrong: str):
    with pytest.raises(InputError, match=f"log: {wrong}"):
        verified(BEFORE, log)
