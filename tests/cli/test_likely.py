"""ask, compare and report with --history: when jobs likely start, beside what plans say."""

from __future__ import annotations

import csv
import io
import json
import threading
from dataclasses import replace

import numpy as np
import pytest
import slotwise as sw
from sampling import some
from slotwise import Cluster, Host, Instance, Job, RunningJob, read_history
from slotwise.cli.main import app
from slotwise.solver.advice.likely import Forecaster
from typer.testing import CliRunner

RUNNER = CliRunner()
LINE = "bsub -n 8 -W 2:00 -R 'span[ptile=4]'"
FEW = sw.Drawing(samples=25)
TIMES = ("likely", "nine_in_ten_by", "one_in_ten_by")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Jobs that use a part of their limits, over three days."""
    draw = np.random.default_rng(0)
    time, lines = 0, []
    for number in range(200):
        time += int(draw.exponential(1200))
        limit = int(draw.integers(1, 9)) * 3600
        ran, slots = int(limit * draw.uniform(0.05, 0.9)), draw.choice((1, 2, 4))
        who = f"{draw.integers(5)} 1 1 1 1 -1 -1"
        lines.append(f"{number} {time} 0 {ran} {slots} -1 -1 {slots} {limit} -1 1 {who}")
    path = tmp_path_factory.mktemp("log") / "log.swf"
    path.write_text("\n".join([*lines, ""]))
    return path


def _run(*arguments):
    return RUNNER.invoke(app, [str(argument) for argument in arguments])


def _headline():
    return sw.load(sw.example("headline"))


def test_ask_says_the_same_in_every_format(log):
    given = ("ask", "--example", "headline", LINE, "--limit", "30", "--history", log)
    given = (*given, "--samples", 25)
    record = json.loads(_run(*given, "--format", "json").stdout)
    answer = sw.ask(
        _headline(), LINE, choices=sw.Choices.read(limit="30"), history=log, drawing=FEW
    )
    assert record == answer.to_dict()
    both = [record["line"], *record["alternatives"]]
    for item in both:
        assert item["one_in_ten_by"] <= item["likely"] <= item["nine_in_ten_by"] < item["start"]
    rows = list(csv.DictReader(io.StringIO(_run(*given, "--format", "csv").stdout)))
    assert [[row[name] for name in TIMES] for row in rows] == [
        [str(item[name]) for name in TIMES] for item in both
    ]
    text = _run(*given).stdout
    assert all(title in text for title in ("LIKELY", "9 IN 10 BY", "1 IN 10 BY"))
    assert "likely +" in text


def test_a_refused_alternative_has_no_forecast(log):
    choices = sw.Choices.read(queue="parallel,gone")
    answer = sw.ask(_headline(), LINE, choices=choices, history=log, drawing=FEW)
    (refused,) = answer.alternatives
    assert refused.refused
    assert refused.likely is not None
    assert set(refused.likely.record().values()) == {None}
    assert not answer.cut


def test_differences_come_from_the_request_alone(log):
    """A line that asks for less never starts later in any of the quantiles, whatever the seed."""
    instance = Instance(
        Cluster((Host("pool", 8),)),
        running=tuple(
            RunningJob(Job(f"r{n}", 2, run_limit=7200 + 900 * n, submit=-60), -60, {"pool": 2})
            for n in range(4)
        ),
        pending=(Job("1", 4, run_limit=3600),),
    )
    past = read_history(log, instance)
    small, same, large = (Job("2", slots, run_limit=3600) for slots in (2, 6, 6))
    for seed in range(5):
        forecaster = Forecaster(instance, past, sw.Drawing(samples=25, seed=seed))
        first, second, third = forecaster.of_others([small, same, large])
        assert second == third
        assert first.likely < second.likely
        assert first.nine_in_ten_by <= second.nine_in_ten_by
    assert forecaster.of_others([replace(small, res_req=("span[hosts=1]",))])[0].likely is not None


def test_report_has_it_in_its_table(log, tmp_path):
    page = tmp_path / "page.html"
    given = ("report", "--example", "headline", "--history", log, "--samples", 25, "-o", page)
    assert _run(*given).exit_code == 0
    (record,) = sw.compare(_headline(), history=log, drawing=FEW, methods=True).to_records()
    text = page.read_text()
    assert ">Likely<" in text
    assert ">9 in 10 by<" in text
    assert f'data-order="{record["nine_in_ten_by"]}"' in text
    for wrong in (("--method", "greedy"), ("--simulate",)):
        assert isinstance(_run(*given, *wrong).exception, sw.InputError)


def test_the_number_of_processes_makes_no_difference(log):
    found = [
        sw.compare(
            _headline(), history=log, drawing=sw.Drawing(samples=6, workers=workers), methods=True
        ).to_dict()
        for workers in (1, 2)
    ]
    assert found[0] == found[1]


def test_bad_input(log, tmp_path):
    missing = _run("ask", "--example", "headline", LINE, "--history", tmp_path / "no")
    assert isinstance(missing.exception, sw.InputError)
    empty = tmp_path / "empty.swf"
    empty.write_text("; nothing\n")
    nothing = _run("compare", "--example", "headline", "--history", empty)
    assert isinstance(nothing.exception, sw.InputError)
    with pytest.raises(sw.InputError, match="samples"):
        sw.Drawing(samples=0)


def test_stopped_before_the_first_sample_it_says_so(log):
    stopped = threading.Event()
    stopped.set()
    found = sw.compare(_headline(), history=log, drawing=FEW, cancel=stopped, methods=True)
    assert found.cut
    assert found.to_records()[0]["likely"] is None
    answer = sw.ask(_headline(), LINE, history=log, drawing=FEW, cancel=stopped)
    assert answer.cut
    assert answer.to_dict()["line"]["likely"] is None


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("compare",), {"--samples": 200, "--seed": 0, "--calibration": "b"}),
        (("ask", LINE), {"--samples": 200, "--seed": 0, "--workers": 1, "--calibration": "b"}),
        (("report", "-o", "-"), {"--samples": 200}),
    ],
)
def test_options_of_forecasts_need_a_history(command, options):
    name, *rest = command
    given = (name, "--example", "headline", *rest)
    for option, value in options.items():
        found = _run(*given, option, value)
        assert str(found.exception).startswith(f"{option} needs --history")
    every = [word for item in options.items() for word in item]
    found = _run(*given, *every)
    assert isinstance(found.exception, sw.InputError)
    assert [p.message.split()[0] for p in found.exception.problems] == list(options)
    assert not found.stdout


def _pool():
    run = RunningJob(Job("r", 4, run_limit=7200), 0, {"h": 4})
    waiting = (Job("1", 2, run_limit=3600), Job("2", 4, run_limit=600))
    return Instance(Cluster((Host("h", 4),)), running=(run,), pending=waiting, now=10**6)


@pytest.fixture
def views(tmp_path, log):
    """What each view says with --history, over a pool or over hosts."""

    def shown(*more, pool=True, past=log):
        path = tmp_path / "now.yaml"
        path.write_text(sw.dump(_pool() if pool else _headline()))
        commands = (("forecast", path), ("compare", path), ("ask", path, "bsub -n 2 -W 10"))
        commands = (*commands, ("report", path, "-o", "-", "--explain", 0))
        found = {c[0]: _run(*c, "--history", past, *more) for c in commands}
        assert all(item.exit_code == 0 for item in found.values()), found
        return {name: " ".join(item.output.split()) for name, item in found.items()}

    return shown


@pytest.mark.parametrize("pool", some([True, False], 2))
def test_each_view_says_what_ran_the_cluster_forward(views, pool):
    said = {
        True: "simulated by the policy easy of a pool",
        False: "simulated by the loop as configured",
    }
    for text in views("--samples", 10, pool=pool).values():
        assert said[pool] in text
        assert said[not pool] not in text
