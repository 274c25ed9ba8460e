"""The tables of `slotwise compare`: greedy against optimal, and as configured against possible."""

from __future__ import annotations

import csv
import json
import re

import pytest
import slotwise as sw
from slotwise.cli.main import app
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("REF-03")

THREE = ("--methods", "greedy,time-based,optimal")


def printed(*arguments: str, columns: int = 160, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(arguments), env={"COLUMNS": str(columns)})
    assert done.exit_code == code, done.output
    return done.stdout


#: The table of the issue, at 80 columns.
DRAWN = """\
               ─ GREEDY ─  TIME-BASED  ── OPTIMAL ──  SAVES OVER
 JOB    SLOTS  SAYS  GETS  SAYS  GETS  START  PROOF       GREEDY
 ───────────────────────────────────────────────────────────────
 prep       4   now   now   now   now    now  proved
 cfd       32    2h    3h    3h    3h     2h  proved          1h
 mesh       8     –    3h   now   now    now  proved          3h
 mc1       16     –    3h    2h    2h    now  proved          3h
 post       2     –    3h   now   now    now  proved          3h
 train     24     –    5h    4h    4h     3h  proved          2h
 mc2       16     –    7h    7h    7h     6h  proved          1h
 ───────────────────────────────────────────────────────────────
 sum                  24h         16h    11h  7 of 7         13h

Optimal saves 13h of 24h of waiting (174 slot-hours of 406) over greedy, 5h of
16h over time-based. All 7 starts are proved the earliest in priority order.
"""


def test_greedy_says_one_thing_and_gets_another() -> None:
    """Golden: would find a changed figure, column or sum of the table that is shown first."""
    text = printed("compare", "--example", "queue7", *THREE, columns=80)
    assert text.startswith(DRAWN)
    # Without a list all three; wider, what each waits for.
    wide = printed("compare", "--example", "queue7", "--methods", columns=120)
    assert (
        " cfd       32    2h    3h    3h    3h     2h  proved          1h  32 free slots: " in wide
    )
    assert {len(line) <= 100 for line in wide.splitlines()} == {True}


def test_a_start_that_the_scheduler_reaches_later_does_not_count_as_proved() -> None:
    """The table said 7 of 7 above two rows without a proof."""
    text = printed("compare", "--example", "tutorial", "--methods", "greedy,optimal", columns=100)
    assert len(re.findall("  proved", text)) == 5
    assert re.search(r" sum .* 5 of 7 ", text)
    said = "All 7 starts are proved the earliest in priority order. The scheduler reaches 2 of them"
    assert said in " ".join(text.split())


def test_the_same_record_for_programs() -> None:
    """Would find: a figure of the table that JSON, CSV or the library has otherwise."""
    hour = 3600
    instance = sw.load(sw.example("queue7"))
    cfd = sw.compare(instance)["cfd"]
    assert (cfd.greedy.says, cfd.greedy.gets, cfd.greedy.proved) == (2 * hour, 3 * hour, False)
    assert (cfd.optimal.says, cfd.optimal.gets, cfd.optimal.proved) == (2 * hour, 2 * hour, True)
    assert cfd.time_based.says is None  # not compared by default
    whole = json.loads(printed("compare", "--example", "queue7", *THREE, "--format", "json"))
    by_job = {item["job"]: item for item in whole["jobs"]}
    assert by_job["cfd"]["greedy"] == cfd.greedy._asdict()
    assert by_job["mc1"]["time_based"] == {"says": 2 * hour, "gets": 2 * hour, "proved": False}
    assert whole["methods"] == ["greedy", "time-based", "optimal"]
    # One shape, whatever was compared.
    bare = json.loads(printed("compare", "--example", "queue7", "--configured", "--format", "json"))
    assert bare["methods"] == []
    assert bare["jobs"][0].keys() == whole["jobs"][0].keys()
    assert bare["jobs"][1]["greedy"] == {"says": None, "gets": None, "proved": False}
    rows = csv.DictReader(printed("compare", "--example", "queue7", "--format", "csv").splitlines())
    cells = next(row for row in rows if row["job"] == "cfd")
    assert (cells["greedy_estimate"], cells["greedy_simulated"]) == (str(2 * hour), str(3 * hour))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--methods", "gredy"),
            "unknown method 'gredy' (did you mean 'greedy'?): use one of greedy, ",
        ),
        (("--methods", "greedy,,"), "unknown method ''"),
        (("--methods", "greedy", "--configured"), "give one of them"),
        (("--methods", "--configured"), "give one of them"),
    ],
)
def test_wrong_lists_are_told(options: tuple[str, ...], message: str) -> None:
    done = CliRunner().invoke(app, ["compare", "--example", "queue7", *options])
    assert isinstance(done.exception, sw.InputError)
    assert message in str(done.exception)


@pytest.mark.parametrize("methods", [["milp"], "greedy", ("optimal", 3)])
def test_the_library_takes_methods_of_a_comparison_only(methods: object) -> None:
    with pytest.raises(sw.InputError, match="unknown method"):
        sw.compare(sw.load(sw.example("queue7")), methods=methods)  # type: ignore[arg-type]


def test_each_start_says_which_model_decided_it() -> None:
    """A start that a model of all jobs found was said to be of no model, or of first fit."""
    instance = sw.load(sw.example("joint-wins"))
    found = {item.job: item.decided_by for item in sw.compare(instance).jobs}
    assert found == {"small": "first fit", "large": "CP-SAT over hosts"}
    text = printed("compare", "--example", "joint-wins", "--methods")
    assert "Decided by first fit (1), CP-SAT over hosts (1)." in text
    assert "decided_by" not in json.dumps(sw.plan(instance, "greedy").to_dict())
    for objective in ("total-start", "makespan"):
        summed = sw.plan(instance, objective=objective)
        assert {item.decided_by for item in summed} == {
            "search over orders, bound by earliest starts"
        }
        saved = json.loads(
            printed(
                "solve", "--example", "joint-wins", "--objective", objective, "--format", "json"
            )
        )
        assert saved["reservations"][0]["decided_by"] == summed["small"].decided_by


def test_a_caution_is_printed_once() -> None:
    """Would find: its sentence in each row that it touches."""
    text = printed("compare", "--example", "fairshare-pool", "--configured")
    assert " ".join(text.split()).count("the slots that slot pools grant a queue") == 1
    assert text.count("no earlier found [1]") == 15
