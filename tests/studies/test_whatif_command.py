"""``slotwise whatif`` as a user meets it."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from pathlib import Path

import pytest
import slotwise as sw
from forked import slotwise
from study_lab import site_file, weeks_of_jobs


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command, what-ifs on one process unless something else is asked for."""
    if arguments[0] == "whatif" and "--workers" not in arguments:
        arguments = (*arguments, "--workers", 1)
    return slotwise(*arguments)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return site_file(tmp_path_factory.mktemp("site"), weeks=4, each=20)


def swf_file(folder: Path, waits: bool = True) -> Path:
    """The same jobs as a log; their recorded waits are an hour."""
    lines = ["; MaxProcs: 16"]
    for number, job in enumerate(weeks_of_jobs(weeks=4, each=20).future, 1):
        wait = 3600 if waits else -1
        lines.append(
            f"{number} {job.submit} {wait} {job.run_time} {job.slots} -1 -1 {job.slots} "
            f"{job.run_limit} -1 1 {number % 3} 1 1 1 1 -1 -1"
        )
    file = folder / "log.swf"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_a_row_a_variant_today_first(site: Path) -> None:
    done = run(
        "whatif", site, "--set", "queues.short.BACKFILL=N", "--vary", "reservation=none,greedy"
    )
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.partition("Clear changes")[0].splitlines()]
    assert re.match(r"VARIANT +WAIT +P95 +BIG WAIT +BIG P95 +USE +BACKFILLED +MET", lines[0])
    firsts = [line.split()[0] for line in lines[2:] if line]
    assert [first for first in firsts if first == "today" or "=" in first][:4] == [
        "today",
        "queues.short.BACKFILL=N",
        "reservation=none",
        "reservation=greedy",
    ]
    assert "A change without a star" in done.stdout


def test_a_setting_that_no_simulation_uses_is_named() -> None:
    done = run(
        *("whatif", "--example", "slurm-live", "--until", "1s"),
        *("--set", "params.scheduler_parameters=bf_window=60"),
    )
    assert done.returncode == 0, done.stderr
    assert "bf_window=60: changes nothing: only solve --method slurm uses it" in done.stderr


def test_json_and_csv_say_the_same(site: Path) -> None:
    asked = ("whatif", site, "--set", "reservation=none", "--format")
    plain = json.loads(run(*asked, "json").stdout)
    assert [variant["variant"] for variant in plain["variants"]] == ["today", "reservation=none"]
    assert plain["complete"] is True
    rows = list(csv.DictReader(io.StringIO(run(*asked, "csv").stdout)))
    waits = [r for r in rows if r["kind"] == "all" and r["measure"] == "mean_wait"]
    for row, variant in zip(waits, plain["variants"], strict=True):
        assert float(row["value"]) == variant["metrics"]["mean_wait"]
    change = plain["variants"][1]["differences"]["mean_wait"]
    assert float(waits[1]["change"]) == change["change"]
    assert (waits[1]["clear"] == "True") is change["clear"]
    # One truth: the numbers are those of `simulate`.
    simulated = json.loads(run("simulate", site, "--format", "json").stdout)
    today = plain["variants"][0]["metrics"]
    assert {key: simulated[key] for key in today} == today


@pytest.mark.slow
def test_one_process_and_two_give_the_same_bytes(site: Path) -> None:
    asked = ("whatif", site, "--vary", "reservation=none,greedy", "--format", "json", "--workers")
    assert run(*asked, 1).stdout == run(*asked, 2).stdout != ""


def test_a_log_on_the_site_and_its_calibration(site: Path, tmp_path: Path) -> None:
    log = swf_file(tmp_path)
    done = run(
        "whatif", site, "--log", log, "--set", "reservation=none", "--calibrate", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    everyone, *_ = plain["calibration"]
    assert everyone["recorded_mean_wait"] == 3600.0
    today = plain["variants"][0]["metrics"]
    assert everyone["simulated_mean_wait"] == pytest.approx(today["mean_wait"])
    page = tmp_path / "page.html"
    text = run("whatif", site, "--log", log, "--calibrate", "-o", page).stdout
    shown = page.read_text("utf-8").partition("Recorded and simulated waits")[2]
    assert shown.count("<tr>") >= 1 + len(plain["calibration"])
    assert text.startswith(
        "Recorded waits (REC) and simulated waits of today's configuration (SIM)"
    )
    assert text.index("REC_MEAN") < text.index("VARIANT")


def test_lsb_acct_fits_its_cycle_unless_a_variant_says_it(tmp_path: Path) -> None:
    log = Path(__file__).parents[1] / "data" / "acct" / "lsb.acct.small-cluster"
    site = tmp_path / "site.yaml"
    hosts = 'hosts: [{name: "h[1-9]", slots: 64, type: any}]\n'
    site.write_text(f"format: slotwise/1\n{hosts}", encoding="utf-8")
    done = run(
        *("whatif", site, "--log", log, "--keep-going", "--format", "json"),
        *("--set", "MBD_SLEEP_TIME=30", "--set", "cycle=7", "--set", "reservation=none"),
    )
    assert done.returncode == 0, done.stderr
    assert "cycles every" in done.stderr
    cycles = [variant["cycle"] for variant in json.loads(done.stdout)["variants"]]
    fitted = cycles[0]
    assert cycles[:4] == [fitted, 30, 7, fitted]


def test_page_and_table_are_written(site: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.csv"
    done = run(
        *("whatif", site, "--set", "queues.wide.DESCRIPTION=<b>x</b>", "--set", "reservation=none"),
        *("-o", page, "--table", table),
    )
    assert done.returncode == 0, done.stderr
    text = page.read_text("utf-8")
    assert "<b>x</b>" not in text
    assert "&lt;b&gt;x&lt;/b&gt;" in text
    assert "default-src 'none'" in text
    assert not re.findall(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert text.count("<tr>") > 4
    assert table.read_text("utf-8").startswith("variant,kind,group,jobs,measure,")


def test_where_no_time_passes_nothing_is_nan(tmp_path: Path) -> None:
    """Use of no slot-seconds has no change: a dash on the terminal, no number elsewhere."""
    site = tmp_path / "cluster.yaml"
    made = run(
        *("generate", "--hosts", 4, "--running", 6, "--pending", 6, "--load", 0.9, "-o", site)
    )
    assert made.returncode == 0, made.stderr
    asked = ("whatif", site, "--set", "top=2", "--until", 0)
    page, table = tmp_path / "page.html", tmp_path / "table.json"
    text = run(*asked, "-o", page, "--table", table).stdout
    body, *_ = page.read_text("utf-8").rpartition("<script")
    assert "Each number has its change" in text  # beside it in cards, below in tables
    files = [re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL), table.read_text("utf-8")]
    for shown in (
        text,
        *files,
        *(run(*asked, "--format", kind).stdout for kind in ("json", "csv")),
    ):
        assert "top=2" in shown
        assert not re.search(r"\b(nan|inf|infinity)\b", shown, re.IGNORECASE)
    assert re.search(r"^ +.*(?<=  )-( |$)", text.partition("top=2")[2], re.MULTILINE)
    for shown in (text, files[0]):  # nor is there a use of 0 %
        assert "0.0 %" not in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no change is given: give --set KEY=VALUE or --vary KEY=A,B"),
        (("--set", "LSB_TIME_RESERVE_NUMJOB=4"), "did you mean 'LSB_TIME_RESERVE_NUMJOBS'?"),
        (("--set", "queues.shrt.BACKFILL=N"), "unknown queue 'shrt' (did you mean 'short'?)"),
        (("--set", "queues.short.BACKFILL=maybe"), "must be Y or N, not 'maybe'"),
        (("--vary", "LSB_TIME_RESERVE_NUMJOBS=1,lots"), "must be a whole number, not 'lots'"),
        (("--set", "reservation=best"), "must be one of configured, none, greedy"),
        (("--set", "now=5"), "--set now=5: now is not part of the configuration"),
        (("--vary", "pending=[],-"), "--vary pending=[]: pending is not part of the configuration"),
        (("--calibrate",), "--calibrate: needs --log"),
        (("--set", "top=3", "--block", "weekly"), "--block"),
        (("--set", "top=3", "--block", "0s"), "--block: must be a positive time"),
        (("--set", "top=3", "--until", "soon"), "until"),
        (("--set", "top=3", "--log", "nowhere.swf"), "nowhere.swf"),
        (("--set", "top=3", "--events", "x"), "--events: needs --log"),
        (("--set", "top=3", "-o", "no/such/folder.html"), "no such folder"),
        (("--set", "top=3", "--table", "x.txt"), "must be a name that ends in one of"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_2(
    site: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = run("whatif", site, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_log_that_is_an_instance_is_refused(site: Path) -> None:
    done = run("whatif", site, "--log", site, "--set", "top=3")
    assert done.returncode == 2
    assert "must be lsb.acct or SWF" in done.stderr


def test_calibrate_needs_recorded_starts(site: Path, tmp_path: Path) -> None:
    done = run("whatif", site, "--log", swf_file(tmp_path, waits=False), "--calibrate")
    assert done.returncode == 2
    assert "has no recorded starts" in done.stderr


def test_no_output_over_an_input(site: Path) -> None:
    done = run("whatif", site, "--set", "top=3", "-o", site)
    assert done.returncode == 2
    assert "would overwrite the input" in done.stderr


def test_the_example_of_the_issue(tmp_path: Path) -> None:
    document = sw.to_document(weeks_of_jobs(weeks=3, each=10))
    for queue in document["queues"]:
        queue["name"] = {"wide": "parallel"}.get(queue["name"], queue["name"])
    for job in document["future"]:
        job["queue"] = {"wide": "parallel"}.get(job.get("queue", "short"), "short")
    site = tmp_path / "SITE.yaml"
    site.write_text(sw.dump(sw.from_document(document)), encoding="utf-8")
    done = run(
        *("whatif", site, "--set", "LSB_TIME_RESERVE_NUMJOBS=4"),
        *("--set", "queues.parallel.BACKFILL=N"),
        *("--set", "queues.*.SLOT_RESERVE=MAX_RESERVE_TIME[20]", "--format", "json"),
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["variants"]) == 5


def test_variants_that_cannot_matter_are_named_before_they_run(tmp_path: Path) -> None:
    """An unused queue, the value of today, and twice the same; a used queue is not named."""
    file = tmp_path / "site.yaml"
    file.write_text(
        "format: slotwise/1\nhosts: [{name: a, slots: 4}]\nqueues: [{name: used}, {name: night}]\n"
        "pending: [{id: 1, slots: 2, queue: used, run_limit: 60}]\n"
    )
    sets = ("queues.night.PRIORITY=9", "queues.used.PRIORITY=9", "queues.night.BACKFILL=N")
    done = run("whatif", file, *(word for each in sets for word in ("--set", each)))
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[:2] == [
        "slotwise: queues.night.PRIORITY=9: changes nothing: no job is in queue night",
        "slotwise: queues.night.BACKFILL=N: changes nothing: it is the configuration of today",
    ]
    assert not any("queues.used.PRIORITY=9: changes nothing" in line for line in lines)
    found = sw.whatif(sw.load(file), sets)
    assert found[sets[0]].notes[0] == "changes nothing: no job is in queue night"
    assert not any("changes nothing" in note for note in found[sets[1]].notes)
    pool = "SLOT_SHARE: 50, SLOT_POOL: p"
    shared = f"queues: [{{name: used, {pool}}}, {{name: night, {pool}}}]"
    site = sw.loads(file.read_text().replace("queues: [{name: used}, {name: night}]", shared))
    found = sw.whatif(site, ["queues.night.SLOT_SHARE=10"])
    assert not found["queues.night.SLOT_SHARE=10"].notes
