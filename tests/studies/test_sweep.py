"""``slotwise sweep``: 24 cells, on processes and on Dask, stopped, killed and gone on with."""

from __future__ import annotations

import csv
import io
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import slotwise as sw
from forked import program, slotwise
from sampling import some
from slotwise import InputError
from slotwise.cli.sweep import CellFiles
from slotwise.model.formats.sealed import CELL, seal
from slotwise.model.formats.study import load_study
from slotwise.solver.studies import workers as dask_cluster
from slotwise.solver.studies.sweep import METRICS, cells_of, redrawn, run_cell
from slotwise.solver.studies.workers import STRIKES, Lost, on_dask, on_processes
from study_lab import WEEK, site_file, weeks_of_jobs

SLOTWISE = Path(sys.executable).with_name("slotwise")
#: 2 cases x 3 policies x 2 values x 2 seeds.
STUDY = """
format: slotwise-study/1
name: backfilling
cases:
  - {name: weeks, site: site.yaml}
  - {name: made, generate: {hosts: 8, running: 12, pending: 12, load: 0.9}}
policies: [none, greedy, time-based]
parameters:
  queues.*.BACKFILL: [Y, N]
seeds: [1, 2]
"""


def study_file(folder: Path, text: str = STUDY, **how: int) -> Path:
    site_file(folder, **({"weeks": 2, "each": 10} | how))
    file = folder / "study.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def sweep(study: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command on one process, unless something else is asked for."""
    if not {"--workers", "--scheduler", "--jobqueue"} & set(arguments):
        arguments = ("--workers", 1, *arguments)
    return slotwise("sweep", study.name, *arguments, cwd=study.parent)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study all of whose cells are there, computed by one process; its table."""
    study = study_file(tmp_path_factory.mktemp("one"))
    done = sweep(study, "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 25
    (study.parent / "expected.csv").write_text(done.stdout)
    return study.parent


@pytest.fixture(scope="module")
def expected(finished: Path) -> str:
    return (finished / "expected.csv").read_text()


@pytest.fixture
def whole(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished study."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study.yaml"


def test_every_cell_is_what_the_loop_says(tmp_path: Path, expected: str) -> None:
    rows = list(csv.DictReader(io.StringIO(expected)))
    study_file(tmp_path)
    for row in rows:
        if row["case"] != "weeks" or row["seed"] != "1":
            continue
        instance = redrawn(sw.load(tmp_path / "site.yaml"), int(row["seed"]))
        queues = [dict(queue, BACKFILL=row["queues.*.BACKFILL"]) for queue in _queues(instance)]
        varied = sw.from_document({**sw.to_document(instance), "queues": queues})
        metrics = sw.measure(sw.simulate(varied, reservation=row["policy"])).to_dict()  # type: ignore[arg-type]
        for name in METRICS:
            assert row[name] == ("" if metrics[name] is None else str(metrics[name])), name


def _queues(instance: sw.Instance) -> list[dict[str, Any]]:
    queues: list[dict[str, Any]] = sw.to_document(instance)["queues"]
    return queues


@pytest.mark.slow  # by default variants are compared on two processes (test_whatif.py)
def test_two_processes_give_the_table_of_one(tmp_path: Path, expected: str) -> None:
    done = sweep(study_file(tmp_path), "--workers", 2, "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected


def test_a_second_call_computes_nothing(tmp_path: Path, whole: Path, expected: str) -> None:
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "study.cells").iterdir()}
    assert len(files) == 24
    again = sweep(whole, "--format", "csv")
    assert "24 of 24 cells are already in" in again.stderr
    assert again.stdout == expected
    assert files == {file: file.stat().st_mtime_ns for file in (tmp_path / "study.cells").iterdir()}


def test_what_is_asked_anew_is_computed_and_nothing_else(tmp_path: Path, whole: Path) -> None:
    study = whole
    study.write_text(STUDY.replace("[1, 2]", "[1, 2, 3]"), encoding="utf-8")
    assert "24 of 36 cells are already in" in sweep(study).stderr
    # Another site is another question.
    site_file(tmp_path, weeks=1, each=10)
    assert "18 of 36 cells are already in" in sweep(study).stderr


def test_a_broken_cell_file_is_computed_again(tmp_path: Path, whole: Path, expected: str) -> None:
    one, two, *_ = sorted((tmp_path / "study.cells").iterdir())
    one.write_text("status,error\n", encoding="utf-8")
    two.write_bytes(two.read_bytes()[:-40])
    done = sweep(whole, "--format", "csv")
    assert "22 of 24 cells" in done.stderr
    for file in (one, two):
        (line,) = (line for line in done.stderr.splitlines() if file.name in line)
        assert line.endswith(" runs again")
    assert done.stdout == expected


def test_no_flipped_bit_of_a_finished_cell_is_accepted(tmp_path: Path, whole: Path) -> None:
    """1,200 of them, 50 a cell; whatever is read is the row that was written."""
    _, cells = cells_of(whole)
    files, rng = CellFiles(tmp_path / "study.cells"), random.Random(40)
    for cell in cells:
        file = files.folder / f"{cell.digest}.json"
        data = file.read_bytes()
        assert files.read(cell) is not None
        for _ in range(50):
            changed = bytearray(data)
            changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes(changed)
            with pytest.raises(InputError, match=rf"{cell.digest}.json: ") as caught:
                files.read(cell)
            assert "\n" not in str(caught.value)
        file.write_bytes(data)


def test_a_number_changed_by_hand_and_a_file_of_another_cell_are_told(
    tmp_path: Path, whole: Path, expected: str
) -> None:
    one, two, *_ = sorted((tmp_path / "study.cells").iterdir())
    record = json.loads(one.read_text())
    changed = record | {METRICS[0]: record[METRICS[0]] + 1}
    one.write_text(json.dumps(changed, separators=(",", ":")) + "\n")
    two.write_bytes(sorted((tmp_path / "study.cells").iterdir())[2].read_bytes())
    done = sweep(whole, "--format", "csv")
    assert "checksum does not match" in done.stderr
    assert "is the file of another cell" in done.stderr
    assert done.stdout == expected


@pytest.mark.parametrize("wrong", ["x", {"a": 1}, [1], True])
@pytest.mark.parametrize("key", [METRICS[0], METRICS[-1], "status", "error"])
def test_a_forged_cell_is_refused(key: str, wrong: object, tmp_path: Path) -> None:
    """Its sum is true: somebody wrote it by hand."""
    cell = SimpleNamespace(digest="abc", name={})
    kept: dict[str, object] = {"cell": cell.digest, "status": "done", "error": ""}
    kept |= dict.fromkeys(METRICS, 1)
    file = tmp_path / f"{cell.digest}.json"
    file.write_text(seal(CELL, kept))
    assert CellFiles(tmp_path).read(cell) is not None  # type: ignore[arg-type]
    file.write_text(seal(CELL, {**kept, key: 7 if key == "error" else wrong}))
    with pytest.raises(InputError, match="has values that no simulation returns"):
        CellFiles(tmp_path).read(cell)  # type: ignore[arg-type]


SLOW = STUDY.replace(
    "seeds: [1, 2]", "  MBD_SLEEP_TIME: [1]\n  queues.*.FAIRSHARE: ['[default,1]']"
)


def slow_study(folder: Path) -> Path:
    """12 cells, six of which take a while: with fairshare no cycle is left out."""
    return study_file(folder, SLOW.replace("[1]", "[240, 241]"), weeks=2, each=15)


def _wait_for(folder: Path, cells: int, process: subprocess.Popen[str]) -> None:
    while not folder.exists() or len(list(folder.glob("*.json"))) < cells:
        assert process.poll() is None, "ended before there was anything to stop"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def slow_table(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sweep(
        slow_study(tmp_path_factory.mktemp("slow")), "--workers", 1, "--format", "csv"
    ).stdout


def _begun(study: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [SLOTWISE, "sweep", study.name, "--format", "csv", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=study.parent,
    )


@pytest.mark.parametrize(
    ("how", "workers"), some([(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGINT, 2)], 1)
)
def test_stopped_and_started_again_computes_no_cell_twice(
    tmp_path: Path, slow_table: str, how: signal.Signals, workers: int
) -> None:
    study = slow_study(tmp_path)
    process = _begun(study, "--workers", workers)
    folder = tmp_path / "study.cells"
    _wait_for(folder, 2, process)
    process.send_signal(how)
    out, said = process.communicate(timeout=120)
    assert process.returncode == 3, said
    done = {file: file.stat().st_mtime_ns for file in folder.glob("*.json")}
    assert 2 <= len(done) < 24
    assert len(out.splitlines()) == len(done) + 1
    assert "run the command again" in said
    again = sweep(study, "--format", "csv")
    assert f"{len(done)} of 24 cells are already in" in again.stderr
    assert again.stdout == slow_table
    assert {file: file.stat().st_mtime_ns for file in done} == done


def _die(task: int, _stop: object) -> int:
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task * 10


@pytest.mark.slow
def test_a_task_that_kills_its_process_is_given_up_and_no_other(tmp_path: Path) -> None:
    found = dict(on_processes(_die, range(6), 2, threading.Event()))
    lost = found.pop(2)
    assert isinstance(lost, Lost)
    assert f"{STRIKES} times" in lost.reason
    assert found == {n: n * 10 for n in (0, 1, 3, 4, 5)}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as found:
        yield found


def test_a_dask_cluster_gives_the_same_table(tmp_path: Path, expected: str, cluster: Any) -> None:
    address = cluster.scheduler_address
    done = sweep(study_file(tmp_path), "--scheduler", address, "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "Dask dashboard: " in done.stderr
    assert done.stdout == expected


class _Future:
    """A future of Dask that takes these states, one each time it is waited for."""

    def __init__(self, result: int, states: Sequence[str]) -> None:
        self.status, *self.later = states
        self.value = result

    def result(self) -> int:
        assert self.status == "finished"
        return self.value

    def release(self) -> None:
        assert self.status not in ("lost", "pending")


class _Coming:
    """``distributed.as_completed`` over such futures."""

    def __init__(self, futures: Sequence[_Future]) -> None:
        self.queue: queue.SimpleQueue[_Future] = queue.SimpleQueue()
        for future in futures:
            self.queue.put(future)

    def add(self, future: _Future) -> None:
        future.status = future.later.pop(0)
        self.queue.put(future)

    def next_batch(self, block: bool) -> Iterator[_Future]:
        assert not block
        while not self.queue.empty():
            yield self.queue.get()


def test_a_result_that_dies_with_its_worker_is_waited_for_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was done, and gone before we came to fetch it; Dask is computing it again."""
    states = [["finished"], ["lost", "pending", "finished"], ["pending", "lost", "finished"]]
    futures = [_Future(10 * n, told) for n, told in enumerate(states)]
    client = SimpleNamespace(submit=lambda _work, task, **_how: futures[task], status="running")
    monkeypatch.setattr(
        dask_cluster, "_package", lambda _name: SimpleNamespace(as_completed=_Coming)
    )
    found = dict(on_dask(_die, range(3), client, threading.Event()))
    assert found == {0: 0, 1: 10, 2: 20}
    assert all(not future.later for future in futures)


@pytest.mark.slow  # ten seconds of waiting for it
def test_a_scheduler_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    done = sweep(study_file(tmp_path), "--scheduler", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("slotwise: --scheduler tcp://127.0.0.1:1: not reachable")


@pytest.mark.parametrize("address", some(["nonsense", "foo://x:1", "tcp://"], 1))
def test_an_address_that_is_none(tmp_path: Path, address: str) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    done = sweep(study_file(tmp_path), "--scheduler", address)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"--scheduler {address}" in done.stderr


@pytest.mark.parametrize("option", ["--scheduler tcp://h:8786", "--jobqueue lsf"])
def test_without_dask_it_says_what_to_install(tmp_path: Path, option: str) -> None:
    study = study_file(tmp_path)
    code = (
        "import sys; sys.modules['distributed'] = sys.modules['dask_jobqueue'] = None; "
        "from slotwise.cli.start import main; main()"
    )
    done = program(code, "sweep", study.name, *option.split(), cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "pip install 'slotwise[cluster]'" in line


def test_a_queue_without_its_configuration(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="the extra cluster is not installed")
    done = sweep(study_file(tmp_path), "--jobqueue", "slurm")
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "jobqueue.slurm in dask-jobqueue's configuration" in line
    assert sweep(tmp_path / "study.yaml", "--jobqueue", "slrum").returncode == 2


def test_a_bad_cell_is_a_row_with_its_error(tmp_path: Path) -> None:
    text = STUDY.replace("  - {name: made", "  - {name: gone, site: nowhere.yaml}\n  - {name: made")
    text = text.replace("queues.*.BACKFILL: [Y, N]", "queues.wide.BACKFILL: [Y]")
    done = sweep(study_file(tmp_path, text), "--format", "json")
    assert done.returncode == 0, done.stderr
    plain = json.loads(done.stdout)
    assert plain["complete"] is True
    by_case = {
        name: {row["error"] for row in plain["cells"] if row["case"] == name}
        for name in ("weeks", "gone", "made")
    }
    assert by_case["weeks"] == {""}
    assert all("nowhere.yaml" in error for error in by_case["gone"])
    assert all("unknown queue 'wide'" in error for error in by_case["made"])
    assert "12 of 18 cells failed" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("slotwise-study/1", "slotwise/1", "study.yaml:2: format"),
        ("policies:", "polices:", "unknown key 'polices' (did you mean 'policies'?)"),
        ("[none, greedy", "[nonne, greedy", "unknown policy 'nonne' (did you mean 'none'?)"),
        ("queues.*.BACKFILL: [Y, N]", "queues.*.BACKFIL: [Y]", "did you mean 'BACKFILL'?"),
        ("queues.*.BACKFILL: [Y, N]", "queues.*.BACKFILL: [Y, X]", "must be Y or N, not 'X'"),
        ("queues.*.BACKFILL: [Y, N]", "queues.*.BACKFILL: []", "must have at least one entry"),
        ("queues.*.BACKFILL: [Y, N]", "top: [0]", "must be a whole number, 1 or more"),
        ("seeds: [1, 2]", "seeds: [1, 1]", "gives 1 twice: give each seed once"),
        (
            "queues.*.BACKFILL: [Y, N]",
            "now: [0, 5]",
            "study.yaml:9: parameters.now: now is not part",
        ),
        ("[none, greedy", "[{name: x, set: {pending: []}}, greedy", "pending is not part of the"),
        ("seeds: [1, 2]", "seeds: many", "seeds"),
        ("name: backfilling", "until: foo", "study.yaml:3: until: must be a duration such as 2h"),
        ("name: backfilling", "until: -5", "study.yaml:3: until: must be no earlier than now"),
        ("name: backfilling", "until: -2d", "study.yaml:3: until: must be no earlier than now"),
        ("name: backfilling", "until: {a: 1}", "study.yaml:3: until: must be seconds or a time"),
        ("name: backfilling", "until: 1.5", "study.yaml:3: until: must be seconds or a time"),
        ("name: backfilling", "until: [7d]", "study.yaml:3: until: must be seconds or a time"),
        ("site: site.yaml", "sites: site.yaml", "did you mean 'site'?"),
        ("{name: weeks, site: site.yaml}", "{name: weeks}", "has no workload"),
        ("name: made", "name: weeks", "'weeks' is already used"),
        ("generate: {hosts: 8", "generate: {hosts: x", "must be a whole number, not 'x'"),
    ],
)
def test_a_bad_study_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in STUDY
    with pytest.raises(sw.InputError) as caught:
        cells_of(study_file(tmp_path, STUDY.replace(old, new)))
    assert said in str(caught.value)


def test_all_that_is_wrong_with_a_study_is_said_at_once(tmp_path: Path) -> None:
    """What cannot be read hides nothing of the rest, not even of its own entry."""
    text = """format: slotwise-study/1
until: foo
cases:
  - {name: "a\\tb", site: site.yaml, hosts: 4}
  - {name: twice, site: site.yaml}
  - {name: twice, sites: site.yaml}
policies: [{name: p, set: {pending: []}}, {name: p}, 7]
parameters: {now: [0, 5], top: [1, 1], bad: []}
seeds: [1, 1]
"""
    with pytest.raises(sw.InputError) as caught:
        load_study(study_file(tmp_path, text))
    said = [f"{problem.path}: {problem.message}" for problem in caught.value.problems]
    for part in (
        "until: must be a duration",
        "cases[0].name: ",
        "cases[0]: has hosts: 4 without a log",
        "cases[2].sites: unknown key 'sites' (did you mean 'site'?)",
        "cases[2].name: 'twice' is already used",
        "policies[0].set.pending: pending is not part of the",
        "policies[1].name: 'p' is already used",
        "policies[2]",
        "parameters.now: now is not part",
        "parameters.top: gives '1' twice: give each value once",
        "parameters.bad: must have at least one entry",
        "seeds: gives 1 twice: give each seed once",
    ):
        assert sum(line.startswith(part) for line in said) == 1, (part, said)
    assert len(said) == 12, said


@pytest.mark.parametrize("until", ["100", '"100"'])
def test_until_before_every_case_begins(tmp_path: Path, until: str) -> None:
    study = study_file(tmp_path, STUDY.replace("name: backfilling", f"until: {until}"))
    late = sw.to_document(sw.load(tmp_path / "site.yaml"))
    late["now"] = 500
    late["future"] = [job for job in late["future"] if job["submit"] >= 500]
    (tmp_path / "site.yaml").write_text(sw.dump(sw.from_document(late)), encoding="utf-8")
    assert len(cells_of(study)[1]) == 24  # the generated case begins at 0
    alone = study.read_text("utf-8").replace("  - {name: made", "#")
    study.write_text(alone, encoding="utf-8")
    with pytest.raises(sw.InputError, match=r"study\.yaml: until must be second "):
        cells_of(study)


@pytest.mark.parametrize("study", [None, {"cases": []}, 5])
def test_a_study_that_is_no_path(study: Any) -> None:
    with pytest.raises(sw.InputError, match=r"^study: must be the path of a file, not"):
        sw.sweep(study)


@pytest.mark.parametrize("workers", [0, -1, 1.5])
def test_a_number_of_workers_that_is_none(tmp_path: Path, workers: Any) -> None:
    with pytest.raises(sw.InputError, match=r"^workers: must be a whole number, 1 or more"):
        sw.sweep(study_file(tmp_path), workers=workers)


def test_a_bad_study_leaves_nothing_behind(tmp_path: Path) -> None:
    done = sweep(study_file(tmp_path, STUDY.replace("[none, greedy", "[nonne, greddy")))
    assert done.returncode == 2
    assert "did you mean 'none'?" in done.stderr
    assert "did you mean 'greedy'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.cells"))


def test_a_study_of_which_nothing_can_be_read(tmp_path: Path) -> None:
    text = STUDY.replace("site.yaml", "nowhere.yaml").replace("  - {name: made", "#")
    done = sweep(study_file(tmp_path, text))
    assert done.returncode == 2
    assert "nowhere.yaml" in done.stderr


def test_counts_of_seeds_and_values_of_every_type(tmp_path: Path) -> None:
    file = study_file(
        tmp_path,
        STUDY.replace("seeds: [1, 2]", "seeds: 3").replace(
            "queues.*.BACKFILL: [Y, N]", "params: [{MBD_SLEEP_TIME: 30}]\n  HIST_HOURS: [5, 2.5]"
        ),
    )
    assert load_study(file).seeds == [1, 2, 3]
    _, cells = cells_of(file)
    assert len(cells) == 2 * 3 * 2 * 3
    row = run_cell(cells[0])
    assert row is not None
    assert row["error"] == ""
    assert row["HIST_HOURS"] == "5"


def test_a_redrawn_log_has_whole_weeks_of_the_log() -> None:
    instance = weeks_of_jobs(weeks=5, each=8)
    drawn = redrawn(instance, 3)
    assert drawn == redrawn(instance, 3)
    assert drawn != redrawn(instance, 4)
    begin = min(job.submit for job in instance.future)
    weeks: dict[int, list[tuple[str, int]]] = {}
    for job in instance.future:
        week = (job.submit - begin) // WEEK
        weeks.setdefault(week, []).append((job.id, job.submit - begin - week * WEEK))
    found: dict[int, list[tuple[str, int]]] = {}
    for job in drawn.future:
        week = (job.submit - begin) // WEEK
        found.setdefault(week, []).append(
            (job.id.rpartition("w")[0], job.submit - begin - week * WEEK)
        )
    assert all(sorted(jobs) in map(sorted, weeks.values()) for jobs in found.values())
    assert len({job.id for job in drawn.future}) == len(drawn.future)


def test_page_table_and_frame(tmp_path: Path) -> None:
    varied = STUDY.replace("BACKFILL: [Y, N]", "DESCRIPTION: ['<i>words', other]")
    study = study_file(tmp_path, varied)
    done = sweep(study, "-o", "page.html", "--table", "table.json")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<i>words" not in page
    assert "&lt;i&gt;words" in page
    assert page.partition('id="cells"')[2].partition("</table>")[0].count("<tr>") == 25
    assert len(json.loads((tmp_path / "table.json").read_text("utf-8"))) == 24


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        *(("tcp://head:8786", True), ("tcp://10.0.0.1:8786", True), ("head:8786", True)),
        *(("tcp://[fe80::1]:8786", True), ("ws://head:80", True), ("tls://head:8786", False)),
        *(("tcp://127.0.0.1:8786", False), ("tcp://localhost:1", False), ("tcp://[::1]:1", False)),
        *(("inproc://10.0.0.1/1/1", False), ("127.0.0.1:8786", False)),
    ],
)
def test_a_scheduler_that_runs_the_code_of_others_is_told(address: str, warned: bool) -> None:
    said = dask_cluster.open_to_others(address)
    assert bool(said) == warned
    assert not said or ("tls://" in said and said.startswith(address))
