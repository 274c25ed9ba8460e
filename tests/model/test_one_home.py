"""A parameter that is added where it is defined, in that one file, works everywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sampling import some

ROOT = Path(__file__).resolve().parents[2]

#: For each class: its file, a field that is there, one that is added behind it.
ADDED = {
    "queue": (
        "model/configuration.py",
        '    description: Annotated[str, Fact("text", "DESCRIPTION")] = ""\n',
        '    late_jobs: Annotated[int | None, Fact("count", "LATE_JOBS")] = None\n'
        '    grace: Annotated[int | None, Fact("minutes", "GRACE_LIMIT")] = None\n',
    ),
    "params": (
        "model/configuration.py",
        '    lenient: Annotated[bool, Fact("flag")] = False\n',
        '    late_jobs: Annotated[int | None, Fact("count", "LATE_JOBS")] = None\n'
        '    grace: Annotated[int | None, Fact("minutes", "GRACE_LIMIT")] = None\n',
    ),
    "application": (
        "model/job.py",
        '    run_time: Annotated[int | None, Fact("minutes", "RUNTIME")] = None\n',
        '    late_jobs: Annotated[int | None, Fact("count", "LATE_JOBS")] = None\n'
        '    grace: Annotated[int | None, Fact("minutes", "GRACE_LIMIT")] = None\n',
    ),
}

ADDED["host"] = (
    "model/cluster.py",
    '    cores: Annotated[int | None, Fact("count_from_1")] = None\n',
    ADDED["queue"][2],
)

PROGRAM = r"""
import json, sys
from dataclasses import replace
from pathlib import Path

import slotwise as sw
from slotwise.model.formats.document import schema
from slotwise.model.formats.lsf import site_document
from slotwise.model.formats.settings import changed, read_setting

SECTION, ENTRY = sys.argv[1], sys.argv[2]
PLAIN = {"params": {}, "queues": {"name": "q"}, "applications": {"name": "a"},
         "hosts": {"name": "a", "slots": 4}}[SECTION]


def document(**keys):
    entry = {**PLAIN, **keys}
    whole = {"format": "slotwise/1", "hosts": [{"name": "a", "slots": 4}]}
    return {**whole, SECTION: entry if SECTION == "params" else [entry]}


def item(instance):
    found = getattr(instance.cluster if SECTION == "hosts" else instance, SECTION)
    return found if SECTION == "params" else found[0]


def with_item(instance, **fields):
    made = replace(item(instance), **fields)
    if SECTION == "hosts":
        return replace(instance, cluster=replace(instance.cluster, hosts=(made,)))
    return replace(instance, **{SECTION: made if SECTION == "params" else (made,)})


def refused(make):
    try:
        make()
    except sw.InputError as error:
        return str(error)
    return ""


said = {"module": sw.__file__}
read = sw.from_document(document(LATE_JOBS=3, GRACE_LIMIT="2:00"))
said["read"] = [item(read).late_jobs, item(read).grace]
said["written"] = sw.dump(read)
said["back"] = sw.loads(sw.dump(read)) == read
said["wrong"] = refused(lambda: sw.from_document(document(LATE_JOBS=-3)))
said["near"] = refused(lambda: sw.from_document(document(LATE_JOB=3)))
said["memory"] = refused(lambda: sw.check(with_item(read, late_jobs=-3, grace=2.5)))
said["sound"] = refused(lambda: sw.check(with_item(read, late_jobs=5, grace=90)))
said["schema"] = schema()["$defs"][ENTRY]["properties"]["LATE_JOBS"]
path = "params.LATE_JOBS" if SECTION == "params" else f"{SECTION}.{PLAIN['name']}.LATE_JOBS"
found, problems = changed(read, [read_setting(f"{path}=7")])
said["whatif"] = [str(p) for p in problems] or item(found).late_jobs
if SECTION != "hosts":  # lsb.hosts is a table, whose columns are read by name
    kept = site_document(Path("site")).instance()[0]
    entry = getattr(kept, SECTION)
    entry = entry if SECTION == "params" else next(e for e in entry if e.name in "qa")
    said["imported"] = [entry.late_jobs, entry.grace]
print(json.dumps(said))
"""

SITE = {
    "lsf.cluster.c": "Begin Host\nHOSTNAME model type server RESOURCES\nhostA ! ! 1 ()\nEnd Host\n",
    "lsb.hosts": "Begin Host\nHOST_NAME MXJ\ndefault 4\nEnd Host\n",
    "lsb.queues": "Begin Queue\nQUEUE_NAME = q\n{queue}End Queue\n",
    "lsb.params": "Begin Parameters\n{params}End Parameters\n",
    "lsb.applications": "Begin Application\nNAME = a\n{application}End Application\n",
}
PARAMETERS = "LATE_JOBS = 4\nGRACE_LIMIT = 30\n"
SECTIONS = {
    "queue": ("queues", "QueueEntry", "queues[0]"),
    "params": ("params", "ParamsEntry", "params"),
    "application": ("applications", "ApplicationEntry", "applications[0]"),
    "host": ("hosts", "HostEntry", "cluster.hosts[0]"),
}


def copied(root: Path) -> Path:
    """The package, alone."""
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("model", "solver", "cli", "instances"):
        shutil.copytree(ROOT / name, root / "slotwise" / name, ignore=skipped)
    for path in ROOT.glob("*.py"):
        shutil.copy(path, root / "slotwise" / path.name)
    return root / "slotwise"


@pytest.mark.parametrize("kind", some(ADDED, 1))
def test_a_field_that_one_file_defines_is_known_everywhere(kind: str, tmp_path: Path) -> None:
    package = copied(tmp_path)
    name, there, more = ADDED[kind]
    source = (package / name).read_text(encoding="utf-8")
    assert source.count(there) == 1
    (package / name).write_text(source.replace(there, there + more), encoding="utf-8")
    for file, text in SITE.items():
        given = {key: PARAMETERS if key == kind else "" for key in ADDED}
        (tmp_path / "site").mkdir(exist_ok=True)
        (tmp_path / "site" / file).write_text(text.format(**given), encoding="utf-8")
    section, entry, path = SECTIONS[kind]
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, section, entry],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = json.loads(run.stdout)
    assert Path(said["module"]).is_relative_to(tmp_path)
    assert said["read"] == [3, 7200]
    assert "LATE_JOBS: 3" in said["written"]
    assert "GRACE_LIMIT: 2h" in said["written"]
    assert said["back"] is True
    assert "LATE_JOBS" in said["wrong"]
    assert "did you mean 'LATE_JOBS'" in said["near"]
    assert f"{path}.late_jobs" in said["memory"]
    assert f"{path}.grace" in said["memory"]
    assert said["sound"] == ""
    assert said["schema"]["anyOf"][0] == {"maximum": 2**31 - 1, "minimum": 0, "type": "integer"}
    assert said["whatif"] == 7
    assert said.get("imported") == (None if kind == "host" else [4, 1800])
