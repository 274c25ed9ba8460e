"""Inputs of every kind, small, for tables of commands: words in capitals stand for them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import slotwise as sw
from confining import Run
from lsf.lab import write
from slotwise.cli.main import app
from store_cases import NOON, job, poll, stored
from study_lab import site_file
from synthetic_log import synthetic
from typer.testing import CliRunner

LSF = Path(__file__).parents[1] / "data" / "lsf"
STUDY = """
format: slotwise-study/1
name: small
cases:
  - {name: made, generate: {hosts: 4, running: 4, pending: 4}}
policies: [none, greedy]
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    work = synthetic(400, 16, load=1.1, seed=4)
    columns = (work.job, work.submit, work.run_time, work.procs, work.req_time)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    lines = [
        f"{n} {s} -1 {r} {p} -1 -1 {p} {q} -1 1 {n % 5} 1 1 1 1 -1 -1" for n, s, r, p, q in rows
    ]
    (folder / "log.swf").write_text("\n".join(["; MaxProcs: 16", *lines, ""]))
    (folder / "study.yaml").write_text(STUDY)
    write(folder / "conf", {})
    cells = str(folder / "cells")
    study = ["sweep", str(folder / "study.yaml"), "--workers", "1", "--into", cells]
    assert CliRunner().invoke(app, study).exit_code == 0
    return {
        "CELLS": cells,
        "LOG": str(folder / "log.swf"),
        "STUDY": str(folder / "study.yaml"),
        "SITE": str(site_file(folder, weeks=2, each=10)),
        "CONF": str(folder / "conf"),
        "STORE": small_store(folder / "score.db"),
        **before_and_after(folder),
        "FAIR": str(sw.example("fairshare-groups")),
    }


def before_and_after(folder: Path) -> dict[str, str]:
    """An instance of three pending jobs and an SWF log of what followed."""
    jobs = tuple(sw.Job(str(n), 4, user="user1", run_limit=7200, submit=100) for n in range(2, 5))
    first = sw.Job("1", 4, user="user1", run_limit=7200)
    instance = sw.Instance(
        sw.Cluster((sw.Host("h", 4),)),
        running=(sw.RunningJob(first, 10, {"h": 4}),),
        pending=jobs,
        now=1000,
    )
    (folder / "before.yaml").write_text(sw.dump(instance))
    rest = "4 -1 -1 4 7200 -1 1 1 1 1 1 1 -1 -1"
    lines = [f"1 0 10 3600 {rest}", f"2 100 3520 7200 {rest}", f"3 100 10730 600 {rest}"]
    (folder / "after.swf").write_text("\n".join([*lines, ""]))
    return {"BEFORE": str(folder / "before.yaml"), "AFTER": str(folder / "after.swf")}


def small_store(path: Path) -> str:
    """Estimates of three jobs, two of which have started."""
    asked = [job(name, NOON, as_configured=NOON + 5000) for name in ("1", "2", "3")]
    started = {each.key: NOON + 7000 for each in asked[:2]}
    return str(stored(path, poll(0, *asked), poll(7000, running=started)))


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """bhosts, bjobs and bqueues that print what real ones did."""
    folder = tmp_path / "bin"
    folder.mkdir()
    files = {"bjobs": "bjobs-running-two-hosts.json", "bhosts": "bhosts.json"}
    for name, file in (files | {"bqueues": "bqueues.json"}).items():
        (folder / name).write_text(f"#!/bin/sh\n/bin/cat {LSF}/{file}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in the folder that it is confined to, beside which a secret lies."""
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(sw.example("headline"), folder / "own.yaml")
    shutil.copy(sw.example("headline"), tmp_path / "secret.yaml")
    monkeypatch.chdir(folder)
    return lambda *words: CliRunner().invoke(app, ["--confine", str(folder), *map(str, words)])
