"""A folder of listings: every file is read, or named where an answer may hang on it."""

from __future__ import annotations

from pathlib import Path

import pytest
from slotwise import Instance, load
from slotwise.cli.main import app
from slotwise.model.errors import InputError
from typer.testing import CliRunner

LONG_HOST = (
    "HOST  {0}\nSTATUS CPUF JL/U MAX NJOBS RUN SSUSP USUSP RSV DISPATCH_WINDOW\n"
    "ok 1.0 - 4 0 0 0 0 0 -\n\n CURRENT LOAD USED FOR SCHEDULING:\n"
    "             r15s  r1m  r15m  ut  pg  io  ls  it  tmp  swp  mem\n"
    " Total        0.0  0.0   0.0  0%  0.0  0   0   0  90G  16G  8G\n"
    " Reserved     0.0  0.0   0.0  0%  0.0  0   0   0   0M   0M  0M\n"
)
HOSTS = "HOST_NAME STATUS JL/U MAX NJOBS RUN SSUSP USUSP RSV\n{}"
LONG_QUEUE = (
    "QUEUE: q\n  -- x\n\nPARAMETERS/STATISTICS\n"
    "PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV\n"
    " 30    0  Open:Active       -    -    -    -     1     1     0     0     0    0\n"
    "USERS: all\nHOSTS:  all\n"
)
JOB = (
    "Job <{}>, User <ann>, Project <p>, Status <PEND>, Queue <q>, Command <x>\n"
    "Mon Mar 16 09:20:00 2026: Submitted from host <login>, CWD <$HOME>, 2 Task(s){};\n\n"
    " RUNLIMIT\n 30.0 min\n"
)
FILES = {
    "bjobs.txt": JOB.format(7, ""),
    "bhosts.txt": HOSTS.format("n1 ok - 4 0 0 0 0 0\n"),
    "bqueues.txt": LONG_QUEUE,
}


def _imported(folder: Path, files: dict[str, str], *options: str) -> tuple[Instance, str]:
    """The instance of a folder with these files besides the usual ones, and what was said."""
    for name, text in (FILES | files).items():
        (folder / name).write_text(text)
    out = folder / "out.yaml"
    words = ["import", "snapshot", "--from", str(folder), "-o", str(out), *options]
    result = CliRunner().invoke(app, [*words, "--now", "2026-03-16T10:00:00+00:00"])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return load(out), result.stderr


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize(
    ("name", "text", "says", "counts"),
    [
        ("blimits.txt", b"INTERNAL RESOURCE LIMTS:\n NAMES USERS\n", "not the output", True),
        ("busers-all.out", b"LSF is down. Please wait ...\n", "not the output", True),
        ("prod-blimits.txt", b"INTERNAL RESOURCE LIMTS:\n NAMES USERS\n", "not the output", True),
        ("prod_2026_Busers.out", b"LSF is down. Please wait ...\n", "not the output", True),
        ("blimits.gz", b"\x1f\x8b\x08\0\0", "unpack it", True),
        ("blimits", b"No resource usage found.\n", "", False),
        ("lsb.queues", b"Begin Queue\nQUEUE_NAME = q\nEnd Queue\n", "LSF's configuration", True),
        ("c", b"LSB_TIME_RESERVE_NUMJOBS=4\n", "lsf.conf: `slotwise import lsf`", True),
        ("b", b"APP_NAME NJOBS PEND RUN SUSP\na 1 1 0 0\n", "application profiles", False),
        ("README.md", b"hello\n", "not the output", False),
        ("empty", b"\n", "empty", False),
    ],
)
def test_an_unread_file_that_may_be_a_listing_leaves_nothing_proved(
    name: str, text: bytes, says: str, counts: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text)
    made, said = _imported(tmp_path, {})
    assert (f"ignored {name}: " in said) == bool(says)
    assert says in said
    told = [item for item in made.omissions if "is not read" in item.what]
    assert [item.what.startswith(f"{name} is not read: ") for item in told] == [True] * counts
    assert all(item.jobs is None and not item.narrowed for item in told)


@pytest.mark.behaviour("CFG-04")
@pytest.mark.parametrize("form", ["plain", "json"])
def test_an_amount_unknown_on_some_hosts_touches_who_might_use_them(
    form: str, tmp_path: Path
) -> None:
    """A job that asks for memory may fit the host that no input gives memory of."""
    from slotwise import plan

    asks = ", Requested Resources <rusage[mem=1G]>"
    files = {"bjobs.txt": JOB.format(7, asks) + JOB.format(8, "").replace("09:20", "09:40")}
    if form == "plain":
        files |= {"h": LONG_HOST.format("n1").replace("- 4 0 0", "- 0 0 0")}
        files |= {"bhosts.txt": HOSTS.format("n2 ok - 4 0 0 0 0 0\n")}
    else:
        row = '{{"HOST_NAME":"{}","STATUS":"ok","MAX":"{}","RUN":"0","AVAILABLE_MEM":"{}"}}'
        rows = ",".join((row.format("n1", 0, "8G"), row.format("n2", 4, "-")))
        files |= {"bhosts.txt": f'{{"COMMAND":"bhosts","HOSTS":2,"RECORDS":[{rows}]}}'}
    made, said = _imported(tmp_path, files)
    assert "no input gives mem of n2" in said
    found = plan(made)
    touched = {item.what: item.jobs for item in found.omissions if "gives mem of n2" in item.what}
    assert list(touched.values()) == [("7",)]
