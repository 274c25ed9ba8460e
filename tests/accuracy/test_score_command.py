"""``slotwise score``: text, JSON, CSV and files; logs that add starts; what is refused."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
import store_cases
from event_lines import job_new, job_start, job_status
from slotwise.cli.main import app
from slotwise.model.display import DAY, HOUR
from slotwise.model.errors import InputError
from store_cases import job, poll, stored
from typer.testing import CliRunner, Result

NOON = store_cases.NOON + 40


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, words)])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Jobs 7 and 8 started as polls show; job 9 left between two polls."""
    path = tmp_path / "score.db"
    polls = []
    for name, after in (("7", 40), ("8", 40 + DAY), ("9", 40 + 2 * DAY)):
        at = store_cases.NOON + after
        starts = {"as_configured": at + 2 * HOUR, "likely": at + HOUR}
        bounds = {"early": at, "late": at + 3 * HOUR}
        quantiles = tuple(at + 700 * step for step in range(1, 10))
        asked = job(name, at, quantiles=quantiles, **starts, **bounds)
        running = {} if name == "9" else {asked.key: at + HOUR}
        polls += [poll(after, asked), poll(after + HOUR + 5, running=running)]
    return stored(path, *polls)


def table(found: Result) -> dict[str, dict[str, str]]:
    assert found.exit_code == 0, found.output
    return {row["estimator"]: row for row in csv.DictReader(io.StringIO(found.stdout))}


def test_text_says_what_counts_and_what_does_not(store: Path):
    text = " ".join(run(store).stdout.split())
    assert "2 jobs with a known start, 0 pending, 1 left the cluster" in text
    assert "all jobs as configured 2 1h 1h 1h 1h late 0% 100%" in text
    assert "all jobs likely 2 0s 0s 0s 0s 100% 100% 0% 100% 100%" in text
    assert "2 forecasts have a known start; 20 are needed for calibration" in text
    assert "0.6 1.000" in text


@pytest.mark.parametrize("kind", ["events", "acct", "sacct"])
def test_a_log_adds_what_no_poll_saw(store: Path, tmp_path: Path, kind: str):
    log = tmp_path / kind
    log.write_text(LOGS[kind])
    found = run(store, "--log", log, "--format", "csv")
    assert f"{log}: has 1 job of the store" in found.stderr
    row = table(found)["as configured"]
    assert (row["jobs"], float(row["mean_error"])) == ("3", (HOUR + HOUR + 2 * HOUR - 60) / 3)
    assert table(run(store, "--format", "csv"))["as configured"]["jobs"] == "3"  # it is kept


AT = NOON + 2 * DAY
ACCT = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.small-cluster"
#: Job 9, submitted two seconds after its minute began and started a minute after it was asked.
LOGS = {
    "acct": ACCT.read_text()
    .splitlines()[0]
    .replace("1643910038 101 ", f"{AT + 600} 9 ", 1)
    .replace(" 1643910037 0 0 1643910038 ", f" {AT + 2} 0 0 {AT + 60} ", 1)
    + "\n",
    "events": "\n".join(
        [job_new(9, AT + 2, slots=2), job_start(9, AT + 60, "h1", "h1"), job_status(9, AT + 99, 64)]
    )
    + "\n",
    "sacct": (
        "JobID|User|Partition|Submit|Start|End|State|Timelimit|NCPUS|NodeList\n"
        f"9|ann|q|{AT + 2}|{AT + 60}|{AT + 600}|COMPLETED|01:00:00|2|n1\n"
    ),
}


def test_groups_files_and_json_have_the_same_numbers(store: Path, tmp_path: Path):
    text = run(store, "--by", "size", "--format", "csv").stdout
    packed = tmp_path / "t.csv.gz"
    assert run(store, "--by", "size", "-o", packed).exit_code == 0
    assert gzip.decompress(packed.read_bytes()).decode().splitlines() == text.splitlines()
    record = json.loads(run(store, "--by", "size", "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [group["group"] for group in record["groups"]] == ["", "3-4"]
    flat = [item for group in record["groups"] for item in group["estimators"]]
    assert [float(row["bias"]) for row in rows] == [item["bias"] for item in flat]
    assert record["store"]["polls"] == 6
    assert len(record["reliability"]) == 9


def test_since_counts_back_from_the_last_poll_or_from_a_stamp(store: Path):
    for since in ("36h", "2026-09-22T14:14:00Z"):
        rows = table(run(store, "--since", since, "--format", "csv"))
        assert rows["as configured"]["jobs"] == "1", since


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--since", "yesterday"], "--since: must be a time such as 2h"),
        (["--log", "notes"], "notes: is not a log (SWF, lsb.acct, sacct -P or lsb.events)"),
        (["--log", "log.swf"], "times must be dates, as in the store"),
        (["-o", "table.xls"], "must be a name that ends in one of .csv"),
    ],
)
def test_what_is_refused(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], wrong: str
):
    monkeypatch.chdir(tmp_path)
    Path("notes").write_text("a note\nanother one\n")
    Path("log.swf").write_text("1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n")
    found = run(store, *options)
    assert isinstance(found.exception, InputError)
    assert wrong in str(found.exception)


def test_an_empty_store_and_none(tmp_path: Path):
    found = run(stored(tmp_path / "s.db"))
    assert (found.exit_code, "no job with a stored estimate has started yet" in found.stdout) == (
        0,
        True,
    )
    assert run(tmp_path / "s.db", "--format", "csv").stdout == ""
    assert "give the file that" in str(run(tmp_path / "scroe.db").exception)
