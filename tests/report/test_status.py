"""The line on top of a report, and its figures: red, amber or green, by what was found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import slotwise as sw
from report.lab import compared
from slotwise import (
    Cluster,
    Diagnosis,
    Host,
    Instance,
    Job,
    Remedy,
    RemedyCost,
    RunningJob,
    WaitChange,
    WaitingJob,
)
from slotwise.cli.outlook_text import command_of, short_reason
from slotwise.cli.report.about import About, lsf_words
from slotwise.cli.report.data import Report, figures_of, status_of
from slotwise.solver.advice.diagnosis.diagnose import diagnose

HOUR = 3600


def remedy(setting: str, gain: int | None, longer: tuple[str, ...] = (), lost: str = "") -> Remedy:
    cost = RemedyCost(
        jobs=9,
        longer=tuple(WaitChange(job, 1, 0, 60) for job in longer),
        lost=(lost,) if lost else (),
    )
    return Remedy(
        *("no reservation", "cause", "lsb.queues, queue q", setting, 0, gain, None, True), cost
    )


def waiting(job: str, *remedies: Remedy, starves: bool = True) -> WaitingJob:
    return WaitingJob(job, 4, "u", "q", 0, starves, 2 * HOUR, 0, remedies=remedies)


def diagnosed(*jobs: WaitingJob, cut: bool = False) -> Report:
    report = compared(sw.load(sw.example("joint-wins")))
    return replace(report, diagnosis=Diagnosis(jobs, pending=10, cut=cut))


SAME = remedy("SLOT_RESERVE = Y", HOUR)


@pytest.mark.parametrize(
    ("jobs", "level", "parts"),
    [
        (
            (waiting("1", SAME), waiting("2", SAME)),
            "bad",
            ("2 jobs are stuck", "1 change saves 2h for them", "0 others wait longer"),
        ),
        (
            (waiting("1", remedy("A", HOUR, ("7", "8"))), waiting("9", SAME, starves=False)),
            "bad",
            ("1 job is stuck", "1 change saves 1h for it", "2 others wait longer"),
        ),
        # What helps both, and one of the two pays for the other, costs nobody else.
        (
            (waiting("1", remedy("A", HOUR, ("2",))), waiting("2", remedy("A", HOUR, ("5",)))),
            "bad",
            ("2 jobs are stuck", "1 change saves 2h for them", "1 other waits longer"),
        ),
        (
            (waiting("1", SAME, starves=False), waiting("2", remedy("B", HOUR), starves=False)),
            "warn",
            (
                "2 jobs would start earlier with one change",
                "one change each saves 2h for them",
                "0 others wait longer",
            ),
        ),
        (
            (waiting("1", SAME), waiting("2", remedy("B", HOUR, (), "5"))),
            "bad",
            (
                "2 jobs are stuck",
                "one change each saves 2h for them",
                "1 of the 2 delay no other job",
            ),
        ),
        (
            (waiting("1", SAME), waiting("2")),
            "bad",
            ("2 jobs are stuck", "1 change saves 1h for 1 of them", "0 others wait longer"),
        ),
        ((waiting("1"),), "bad", ("1 job is stuck", "no single change that was tried helps")),
        (
            (waiting("1", remedy("A", None)),),
            "bad",
            ("1 job is stuck", "1 change lets it start", "0 others wait longer"),
        ),
        (
            (),
            "warn",
            (
                "1 job is held back",
                "planning all jobs together saves 2h for it",
                "0 others start later",
            ),
        ),
    ],
)
def test_the_line_says_how_many_what_one_change_frees_and_who_pays(
    jobs: tuple[WaitingJob, ...], level: str, parts: tuple[str, ...]
) -> None:
    found = status_of(diagnosed(*jobs))
    assert (found.level, found.parts) == (level, parts)


def test_it_is_green_where_all_start_as_early_as_they_can() -> None:
    report = compared(sw.load(sw.example("headline")))
    found = status_of(report)
    assert found.level == "good"
    assert found.parts == ("The one job starts as early as it can", "proved")
    pool = compared(sw.load(sw.example("fairshare-partition")))
    assert pool.comparison is not None
    jobs = tuple(replace(row, proved=False) for row in pool.comparison.jobs)
    unproved = replace(pool, comparison=replace(pool.comparison, jobs=jobs))
    assert status_of(unproved).parts == (
        "All 3 jobs start as early as in the plan",
        "0 of 3 proved",
    )
    empty = compared(replace(report.instance, pending=()))
    assert status_of(empty).parts == ("Nothing waits",)


def test_what_cannot_start_here_is_stuck_and_what_has_no_date_is_no_good() -> None:
    instance = Instance(
        Cluster((Host("a", 4),)),
        running=(RunningJob(Job("r", 4), 0, {"a": 4}),),
        pending=(Job("big", 9, run_limit=HOUR), Job("p", 4, run_limit=HOUR)),
    )
    report = compared(instance)
    assert status_of(report).level == "bad"
    assert status_of(report).parts[0] == "1 job is stuck"
    assert {row.job: row.flag for row in About(report).rows} == {"big": "stuck", "p": ""}
    rest = compared(replace(instance, pending=instance.pending[1:]))
    assert status_of(rest).level == "warn"
    assert status_of(rest).parts == ("1 job has no known start",)
    cut = replace(rest, diagnosis=Diagnosis((), pending=1, cut=True))
    assert status_of(cut).level == "warn"


def test_the_figures_are_sums_of_the_outlook() -> None:
    report = diagnosed()
    now, wait, proved = figures_of(report)
    assert (now.before, now.value) == ("1", "2")
    assert (wait.before, wait.value, wait.more) == ("2h", "none", "16 → 0 slot-hours")
    assert (proved.value, proved.of) == ("2", "2")


def test_what_was_not_examined_is_no_zero() -> None:
    """Would find: "0 → 48 jobs start now" where a limit came before any was simulated."""
    report = compared(sw.load(sw.example("joint-wins")))
    assert report.comparison is not None
    rows = [replace(row, as_configured=None, state="not examined") for row in report.comparison]
    shown = {}
    for kept in (0, 1, 2):
        jobs = (*list(report.comparison)[:kept], *rows[kept:])
        cut = replace(report.comparison, jobs=jobs, cut=True)
        figures = figures_of(replace(report, comparison=cut, missing=cut.missing_starts()))
        shown[kept] = (figures[0].before, figures[0].value)
    assert shown == {0: ("–", "2"), 1: ("≥ 1", "2"), 2: ("1", "2")}


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("needs 8 free slots (now 4); free when 103 ends", "8 free slots"),
        ("needs 112 slots under cu[maxcus=1]; the fullest", "112 slots under cu[maxcus=1]"),
        ("", ""),
        ("(odd", "(odd"),
    ],
)
def test_a_reason_is_short_in_the_table(text: str, short: str) -> None:
    assert short_reason(text) == short


@pytest.mark.parametrize(
    ("job", "change", "line"),
    [
        ("201", "with -n 96", "bmod -n 96 201"),
        ("7[3]", "in queue normal", "bswitch normal '7[3]'"),
        ("large", "with -n 6", "bmod -n 6 large"),
        ("201", "if job 103 ended now", ""),
    ],
)
def test_a_change_is_the_line_that_makes_it_where_one_does(
    job: str, change: str, line: str
) -> None:
    assert command_of(sw.Instance(sw.Cluster(())), job, change) == line


def test_what_helps_a_job_that_cannot_start_here_is_counted() -> None:
    never = replace(waiting("1", remedy("ask", None), starves=False), state="impossible")
    assert status_of(diagnosed(never)).parts == (
        "1 job is stuck",
        "1 change lets it start",
        "0 others wait longer",
    )


def test_words_of_lsf_are_explained_where_they_are_used() -> None:
    """Each once, in one order, and none that is not there."""
    instance = sw.load(sw.example("joint-wins"))
    report = replace(compared(instance, 2), diagnosis=diagnose(instance))
    detail = About(report).detail("large")
    words = [word for word, _ in detail.words]
    assert words == ["cu[…]", "bmod", "-n"]
    assert About(report).detail("small").words == ()
    assert dict(lsf_words(["needs span[ptile=2] and SLOT_RESERVE"])).keys() == {
        "span[ptile=N]",
        "SLOT_RESERVE",
    }
    assert lsf_words(["8 free slots", "a job named bmodern"]) == ()


def test_a_start_by_a_change_is_a_time_from_now_or_of_the_clock() -> None:
    instance = sw.load(sw.example("joint-wins"))
    about = About(replace(compared(instance, 2), diagnosis=diagnose(instance)))
    texts = [help.gives for help in about.detail("large").helps]
    assert texts[0].startswith("Job large starts now")
    assert all(text.startswith(("Job large starts ", "Starts now", "Starts in ")) for text in texts)
    assert about.detail("large").helps[0].by == "user can ask with cu[maxcus=2]"
