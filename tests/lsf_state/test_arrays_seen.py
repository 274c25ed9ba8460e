"""Job arrays in what LSF's commands print (ARR-02)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import slotwise as sw
from slotwise.cli.main import app
from typer.testing import CliRunner

_SITE = "format: slotwise/1\nhosts: [{name: n1, slots: 8}]\nqueues: [{name: normal}]\n"
_USUAL = {
    **{"USER": "u", "QUEUE": "normal", "NREQ_SLOT": "1", "SUBMIT_TIME": "Nov 26 08:00"},
    **{"RUNTIMELIMIT": "60.0", "COMBINED_RESREQ": "", "JOB_PRIORITY": "", "ASK_HOSTS": ""},
    **{"SPECIFIED_START_TIME": "", "DEPENDENCY": ""},
}
_RUNS = {"STAT": "RUN", "START_TIME": "Nov 26 08:00", "EXEC_HOST": "n1"}


def _imported(folder: Path, text: str) -> tuple[int, str]:
    (folder / "site.yaml").write_text(_SITE)
    (folder / "jobs").write_text(text)
    words = ["--bjobs", str(folder / "jobs"), "--site", str(folder / "site.yaml")]
    found = CliRunner().invoke(app, ["import", "snapshot", *words, "--now", "2026-11-26T08:01:00Z"])
    return found.exit_code, str(found.exception) if found.exit_code else found.stdout


@pytest.mark.behaviour("ARR-02")
def test_one_row_of_an_array_is_its_elements_without_a_row(tmp_path: Path) -> None:
    records = [
        {"JOBID": "101", "JOBINDEX": "1", "JOB_NAME": "a[1]", "JARRAY_SPEC": "a[1-10]%4", **_RUNS},
        {"JOBID": "101", "JOBINDEX": "0", "JOB_NAME": "a[1-10]%4", "STAT": "PEND"},
        {"JOBID": str(2 * 2**32 + 107), "JOB_NAME": "c[2]", "STAT": "PEND"},
        {"JOBID": "108", "array_index": "5", "JOB_NAME": "d[5]", "STAT": "PEND"},
    ]
    rows = [{**_USUAL, **record} for record in records]
    code, text = _imported(tmp_path, json.dumps({"COMMAND": "bjobs", "RECORDS": rows}))
    assert code == 0
    instance = sw.loads(text)
    (running,) = instance.running
    assert (running.job.id, running.job.name, running.job.array_limit) == ("101[1]", "a", 4)
    ids = [job.id for job in instance.pending]
    assert ids == [*(f"101[{n}]" for n in range(2, 11)), "107[2]", "108[5]"]
    assert {(job.name, job.array_limit) for job in instance.pending[:9]} == {("a", 4)}


@pytest.mark.parametrize(
    ("arrays", "names"), [(1, "7"), pytest.param(3, "9", marks=pytest.mark.slow)]
)
def test_elements_of_rows_are_counted_before_they_are_made(
    tmp_path: Path, arrays: int, names: str
) -> None:
    """An array that is too large is none of a long name."""
    most = 600_000 // arrays
    rows = [
        {**_USUAL, "JOBID": str(7 + n), "JOB_NAME": f"a[1-{most}]", "STAT": "PEND"}
        for n in range(arrays)
    ]
    code, text = _imported(tmp_path, json.dumps({"COMMAND": "bjobs", "RECORDS": rows}))
    assert code
    assert f"job {names}: " in text
    assert "more than 25,000 elements of job arrays: raise --max-elements" in text


@pytest.mark.behaviour("ARR-04")
def test_a_listing_that_only_counts_is_refused(tmp_path: Path) -> None:
    head = "JOBID    ARRAY_SPEC   OWNER   NJOBS PEND DONE  RUN EXIT SSUSP USUSP PSUSP"
    code, out = _imported(tmp_path, f"{head}\n123  a[1-10]  u  10 9 1 0 0 0 0 0\n")
    assert code
    assert "is output of bjobs -A, which only counts the elements" in out


@pytest.mark.parametrize(
    ("second", "third", "named"), [("%3", "%2", True), ("%2", "%2", False), ("", "%2", False)]
)
@pytest.mark.parametrize("runs", [False, True])
def test_different_limits_of_one_array_take_the_proof_of_its_elements(
    tmp_path: Path, second: str, third: str, runs: bool, named: bool
) -> None:
    """Either limit may hold: nothing is proved of its elements, and nothing impossible."""
    limits = ["%2", second, third]
    records: list[dict[str, str]] = [
        {"JOBID": "101", "JOBINDEX": str(n), "JOB_NAME": f"a[1-10]{limit}", "STAT": "PEND"}
        for n, limit in enumerate(limits, start=1)
    ]
    if runs:
        records[1] |= _RUNS
    records.append({"JOBID": "7", "JOB_NAME": "b", "STAT": "PEND"})
    rows = [{**_USUAL, **record} for record in records]
    code, text = _imported(tmp_path, json.dumps({"COMMAND": "bjobs", "RECORDS": rows}))
    assert code == 0
    instance = sw.loads(text)
    told = [item for item in instance.omissions if "which limit array 101 has" in item.what]
    assert bool(told) == named
    touched = {name for item in told for name in item.jobs or ()}
    of_array = {job.id for job in instance.pending if job.array_id == "101"}
    assert touched == (of_array if named else set())
    assert all("%2 and %3" in item.what and item.lifts for item in told)
    planned = sw.plan(instance, "optimal")
    assert all(planned[name].proved != named for name in of_array)
    assert planned["7"].proved or named
