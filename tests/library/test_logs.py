"""`sw.read_log`, `sw.replay`, `sw.backtest`: a log in a few lines."""

from __future__ import annotations

import inspect
import threading
from pathlib import Path

import pytest
import slotwise as sw
from slotwise.model.errors import Cancelled
from synthetic_log import synthetic


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 jobs on 16 processors, as SWF."""
    made = synthetic(400, 16, load=1.1, seed=5)
    columns = (made.job, made.submit, made.run_time, made.procs, made.req_time)
    lines = ["; MaxProcs: 16"]
    for job, submit, run, procs, asked in zip(*(c.tolist() for c in columns), strict=True):
        lines.append(
            f"{job} {submit} -1 {run} {procs} -1 -1 {procs} {asked} -1 1 {job % 7} 1 1 1 1 -1 -1"
        )
    path = tmp_path_factory.mktemp("log") / "made.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_log_is_read_replayed_and_asked(log: Path) -> None:
    read = sw.read_log(log)
    assert len(read) == 400
    assert read.to_frame().columns.tolist()[:3] == ["job", "submit", "run_time"]
    result = sw.replay(read, policy="easy")
    frame = result.to_frame()
    assert (frame["start"] - frame["submit"] == frame["wait"]).all()
    assert result.metrics.mean_wait == frame["wait"].mean()
    asked = sw.backtest(read, questions=10, samples=4, seed=2)
    again = sw.backtest(result, questions=10, samples=4, seed=2)
    assert asked.to_frame().equals(again.to_frame())
    waits = frame.set_index("job")["wait"]
    assert [waits[job] for job in asked.to_frame()["job"]] == asked.to_frame()["wait"].tolist()
    table = asked.accuracy_records()
    assert max(row["jobs"] for row in table) == 10
    assert {row["estimator"] for row in table} == {
        "by limits",
        "last two",
        "history",
        "forecast",
        "calibrated",
    }
    assert isinstance(asked.calibration, sw.Calibration)
    assert len(asked.reliability) == 9


def test_progress_and_cancelling(log: Path) -> None:
    read, event, seen = sw.read_log(log), threading.Event(), list[sw.Progress]()

    def on_progress(progress: sw.Progress) -> None:
        seen.append(progress)
        event.set()

    stopped = sw.replay(read, cancel=event, on_progress=on_progress)
    assert not stopped.complete
    assert seen[0].total == 400
    assert -1 in stopped.to_frame()["start"].tolist()
    with pytest.raises(sw.InputError, match="stopped before its end"):
        sw.backtest(stopped)
    with pytest.raises(Cancelled, match="before the first question was answered"):
        sw.backtest(read, cancel=event)
    event.clear()
    part = sw.backtest(read, questions=10, samples=4, cancel=event, on_progress=on_progress)
    assert not part.complete
    assert 1 <= len(part.questions) < 10


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (lambda log: sw.replay(3), r"must be a log \(sw.read_log\), not int"),
        (lambda log: sw.backtest("log.swf"), "must be a log"),
        (lambda log: sw.read_log("no.such.file"), "no.such.file"),
        (lambda log: sw.read_log(log, default_limit="soon"), "^default_limit: must be a time"),
        (lambda log: sw.replay(sw.read_log(log), policy="easyy"), "did you mean 'easy'"),
        (lambda log: sw.backtest(sw.read_log(log), questions=0), "each must be 1 or more"),
    ],
)
def test_bad_calls(log: Path, call: object, wrong: str) -> None:
    with pytest.raises(sw.InputError, match=wrong):
        call(log)  # type: ignore[operator]


def test_every_long_call_takes_cancel_and_on_progress() -> None:
    """The old names of forecast work for one release, with a warning."""
    for name in ("plan", "forecast", "simulate", "replay", "backtest"):
        parameters = inspect.signature(getattr(sw, name)).parameters
        assert {"cancel", "on_progress"} <= set(parameters), name
    for name in ("compare", "explain", "ask", "diagnose", "outlook", "whatif", "sweep"):
        assert "cancel" in inspect.signature(getattr(sw, name)).parameters, name


def test_a_forecast_reports_its_calibration_and_is_cancelled(log: Path) -> None:
    read = sw.read_log(log).workload
    middle = int(read.submit[300])
    site = sw.Instance(
        sw.Cluster((sw.Host("a", 16),)), now=middle, pending=(sw.Job("x", 2, run_limit=600),)
    )
    seen = list[sw.Progress]()
    sw.forecast(site, log, samples=5, calibrate=5, on_progress=seen.append)
    assert [item.done for item in seen][-1:] == [5]
    assert {item.total for item in seen} == {5}
    event = threading.Event()
    event.set()
    cut = sw.forecast(site, log, samples=200, cancel=event)
    assert cut.cut
    assert cut.samples.shape[1] < 200
    told = list[int]()
    with pytest.warns(DeprecationWarning, match="is now on_progress="):
        sw.forecast(site, log, samples=5, calibrate=5, tell=told.append)
    assert told[-1:] == [5]


def test_an_answer_has_its_start_as_json_has_it() -> None:
    answer = sw.ask(sw.load(sw.example("headline")), "bsub -n 2 -W 60 x")
    line = answer.to_dict()["line"]
    assert answer.start == answer.line.start == line["start"] is not None
    assert (answer.line.finish, answer.line.proved) == (line["finish"], line["proved"])
    assert dict(answer.line.allocation) == line["allocation"]
