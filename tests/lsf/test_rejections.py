"""A limit that LSF tests at submission takes the proof from the jobs that it may reject alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slotwise.cli.main import app
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("GAT-03", "GAT-04", "SUB-02")

#: Parameter, its value, options of a job that it may reject, and of one that it does not reject.
REJECTING = [
    ("CORELIMIT", "0", "-C 5", ""),
    ("DATALIMIT", "20000", "-D 5", "-C 5"),
    ("FILELIMIT", "20000", "-F 30000", ""),
    ("MEMLIMIT", "5000", "-M 6000", "-v 6000"),
    ("PROCESSLIMIT", "10", "-p 20", ""),
    ("STACKLIMIT", "2048", "-S 5", ""),
    ("SWAPLIMIT", "5000", "-v 6000", "-M 6000"),
    ("THREADLIMIT", "10", "-T 20", ""),
    ("JOB_SIZE_LIST", "2 4", "-n 3", None),
    ("INTERACTIVE", "NO", "-Ip", ""),
    ("INTERACTIVE", "ONLY", "", "-Is"),
    ("INTERACTIVE", "YES", None, "-I"),
]


def configured(folder: Path, name: str, value: str) -> str:
    """The instance of a configuration in which queue q alone has a parameter."""
    conf = folder / "conf"
    conf.mkdir()
    queue = "Begin Queue\nQUEUE_NAME = {}\nRUNLIMIT = 60\n{}\nEnd Queue\n"
    text = queue.format("q", f"{name} = {value}") + queue.format("r", "")
    (conf / "lsb.queues").write_text(text)
    (conf / "lsb.hosts").write_text("Begin Host\nHOST_NAME MXJ\nA 4\nEnd Host\n")
    (conf / "lsf.cluster.c").write_text(
        "Begin Host\nHOSTNAME model type server\nA ! ! 1\nEnd Host\n"
    )
    done = CliRunner().invoke(app, ["import", "lsf", str(conf), "-o", str(folder / "site.yaml")])
    assert done.exit_code == 0, done.output
    return str(folder / "site.yaml")


def printed(folder: Path, name: str, value: str) -> str:
    """A folder with the output of `bqueues -l` of the same queues."""
    queue = (
        "QUEUE: {}\n  -- x\n\nPARAMETERS/STATISTICS\n"
        "PRIO NICE STATUS       MAX JL/U JL/P JL/H NJOBS PEND RUN SSUSP USUSP RSV\n"
        " 30    0  Open:Active    -    -    -    -     0    0   0     0     0   0\n\n"
        "MAXIMUM LIMITS:\n RUNLIMIT\n 60.0 min\n\n{}\n"
        "SCHEDULING POLICIES:  {}\nUSERS: all\nHOSTS:  all\n{}\n\n"
    )
    unit = "" if name in ("PROCESSLIMIT", "THREADLIMIT") else " K"
    policy = {"NO": "NO_INTERACTIVE", "ONLY": "ONLY_INTERACTIVE"}.get(value, "")
    is_list, is_policy = name == "JOB_SIZE_LIST", name == "INTERACTIVE"
    limit = "" if is_list or is_policy else f" {name}\n {value}{unit}\n"
    text = queue.format("q", limit, policy, f"{name}: {value}" if is_list else "")
    (folder / "bqueues").write_text(text + queue.format("r", "", "", ""))
    (folder / "bhosts").write_text(
        "HOST_NAME  STATUS  JL/U  MAX  NJOBS  RUN  SSUSP  USUSP  RSV\n"
        "A          ok      -     4    0      0    0      0      0\n"
    )
    return str(folder)


@pytest.mark.parametrize("form", [configured, printed])
@pytest.mark.parametrize(("name", "value", "beyond", "within"), REJECTING)
def test_what_a_queue_rejects_is_not_proved(
    form: object, name: str, value: str, beyond: str | None, within: str | None, tmp_path: Path
) -> None:
    """`ask -I` in a queue without interactive jobs said "now, proved the earliest"."""
    assert callable(form)
    source = form(tmp_path, name, value)
    for options, queue, is_proved in (
        (beyond, "q", False),
        (beyond, "r", True),
        (within, "q", True),
    ):
        if options is None:
            continue
        words = [
            "ask",
            source,
            "--format",
            "json",
            "--",
            "bsub",
            "-q",
            queue,
            *options.split(),
            "a",
        ]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert found["outlook"]["possible"] == found["now"]
        assert found["outlook"]["proved"] is is_proved, (options, queue)
        named = [item for item in found["omissions"] if "LSF rejects" in item["what"]]
        assert len(named) == (not is_proved)
