"""The files that keep the house: they name what exists, and the matrix knows its versions."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def script(path: str) -> ModuleType:
    """A script as a module; those of its folder that it imports are found as when it runs."""
    if (folder := str((ROOT / path).parent)) not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_lowest_versions_are_the_bounds_of_the_project(version: str) -> None:
    pins = [Requirement(pin) for pin in script(".ci/matrix.py").lowest(version)]
    assert len({pin.name for pin in pins}) == len(pins)
    wanted = {
        need.name: need
        for line in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["highs"])
        if (need := Requirement(line)).marker is None
        or need.marker.evaluate({"python_version": version})
    }
    assert set(wanted) <= {pin.name for pin in pins}
    for pin in pins:
        (exact,) = pin.specifier
        assert exact.operator == "=="
        assert pin.name not in wanted or wanted[pin.name].specifier.contains(exact.version)


def test_the_matrix_finds_this_python_and_says_what_it_leaves_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = script(".ci/matrix.py")
    here = "{}.{}".format(*sys.version_info)
    monkeypatch.setattr(matrix, "interpreter", lambda v: sys.executable if v == here else None)
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--list"])
    assert matrix.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * len(matrix.VERSIONS)
    for line in lines:
        told = f"would run with {sys.executable}" if line.startswith(here) else "left out: "
        assert told in line
    monkeypatch.setattr(matrix, "interpreter", lambda v: None)
    assert matrix.main() == 2


def test_the_workflow_runs_the_versions_of_the_classifiers() -> None:
    workflow: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())
    tried = workflow["jobs"]["matrix"]["strategy"]["matrix"]["python"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(named) <= set(tried) <= set(script(".ci/matrix.py").VERSIONS)
    assert (ROOT / workflow["jobs"]["check"]["steps"][-1]["run"]).is_file()


def workflows() -> dict[str, dict[str, Any]]:
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    return {file.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}


def test_a_workflow_may_do_no_more_than_it_must_and_runs_pinned_actions() -> None:
    """Rights are read rights, but for the job that publishes; an action is a commit, named."""
    assert set(workflows()) == {"check.yml", "release.yml"}
    more = {}
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}
        more |= {
            (name, job): j["permissions"]
            for job, j in workflow["jobs"].items()
            if "permissions" in j
        }
        text = (ROOT / ".github/workflows" / name).read_text(encoding="utf-8")
        uses = re.findall(r"uses: (.*)", text)
        assert uses
        for used in uses:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", used), used
        assert "secrets." not in text
    assert more == {("release.yml", "publish"): {"id-token": "write"}}


def test_one_action_is_one_commit_everywhere() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / ".github/workflows").glob("*.yml")]
    used = {line for text in texts for line in re.findall(r"uses: (.*)", text)}
    assert len({line.partition("@")[0] for line in used}) == len(used)


def test_the_versions_that_pages_name_are_the_projects() -> None:
    """A release changes them too (docs/dev/house.md)."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    minor = ".".join(PROJECT["version"].split(".")[:2])
    assert f"| {minor}.x | yes |" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    hosting = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text(encoding="utf-8"))
    assert (ROOT / hosting["sphinx"]["configuration"]).is_file()


def test_the_hooks_run_what_exists() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for hook in hooks:
        program, *words = hook["entry"].split()
        assert hook["language"] == "system"
        assert (program == "make" and set(words) <= set(targets)) or program.startswith(".venv/bin")


def test_issue_templates_say_what_they_are_for() -> None:
    files = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert len(files) >= 3
    for file in files:
        _, head, body = file.read_text(encoding="utf-8").split("---\n", 2)
        assert {"name", "about"} <= set(yaml.safe_load(head))
        assert "**" in body


def test_the_changelog_is_dated() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    assert sections[0] == "Unreleased"
    for title in sections[1:]:
        stamp = re.search(r"\d{4}-\d\d-\d\d", title)
        assert stamp is not None, title
        assert date.fromisoformat(stamp[0]).year >= 2026


def test_kept_results_have_date_machine_and_command() -> None:
    files = list((ROOT / "benchmarks/results").glob("*.json"))
    assert files
    for file in files:
        assert (ROOT / "benchmarks" / f"{file.stem}.py").is_file()
        for run in json.loads(file.read_text(encoding="utf-8")):
            assert date.fromisoformat(run["date"])
            assert run["command"].startswith(f"python benchmarks/{file.stem}.py")
            assert {"processor", "processors", "memory_gb", "python"} <= set(run["machine"])
            assert run["output"]
