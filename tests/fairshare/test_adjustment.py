"""Adjustment plug-ins: the documents' example, one of our own, and what goes wrong (FSH-05)."""

from pathlib import Path

import pytest
from slotwise import InputError
from slotwise.cli.main import app
from slotwise.solver.fairshare.accounts import Consumption, load_adjustment
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("FSH-05")
SITE = """\
format: slotwise/1
params: {fairshare_adjustment: NAME, FAIRSHARE_ADJUSTMENT_FACTOR: 1, CPU_TIME_FACTOR: 0,
         RUN_TIME_FACTOR: 0, RUN_JOB_FACTOR: 1, DEFAULT_QUEUE: q}
hosts: [{name: h1, slots: 4, amounts: {mem: 4000}}]
queues: [{name: q, FAIRSHARE: "USER_SHARES[[ann, 1] [bob, 1]]"}]
running:
  - {id: r1, user: ann, start: 0, run_limit: 1h, allocation: 1*h1, res_req: "rusage[mem=2000]"}
  - {id: r2, user: bob, start: 0, run_limit: 1h, allocation: 1*h1, res_req: "rusage[mem=500]"}
pending:
  - {id: a, user: ann, run_limit: 1h}
  - {id: b, user: bob, run_limit: 1h}
"""


def installed(folder: Path, name: str, module: str, value: str = "") -> str:
    """A package with this module and an entry point `name` to it, as pip would leave it."""
    (folder / f"site_{name}.py").write_text(module)
    record = folder / f"site_{name}-1.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: site-{name}\nVersion: 1\n")
    point = value or f"site_{name}:adjust"
    (record / "entry_points.txt").write_text(f"[slotwise.fairshare_adjustment]\n{name} = {point}\n")
    return name


def simulated(folder: Path, name: str):
    file = folder / "site.yaml"
    file.write_text(SITE.replace("NAME", name))
    return CliRunner().invoke(app, ["simulate", str(file), "--cycle-log", str(folder / "log")])


def test_adjustments_are_found_by_entry_point():
    assert load_adjustment("") is None
    plugin = load_adjustment("memory")
    assert plugin is not None
    assert plugin(Consumption(slots=1, memory=100, slot_memory=50)) == pytest.approx(4)
    with pytest.raises(InputError, match=r"no fairshare adjustment 'memori'.*mean 'memory'"):
        load_adjustment("memori")


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import no_such_module", "cannot be loaded from site_bad:adjust: ModuleNotFoundError: No"),
        ("other = 1", "cannot be loaded from site_bad:adjust: AttributeError"),
        ("adjust = 7", "is not a function: site_bad:adjust is 7"),
        ("def adjust(usage):\n    return 1 / usage.reserved", "failed: ZeroDivisionError"),
        ("def adjust(usage):\n    return float('nan')", "gave nan: it must give a finite number"),
        ("def adjust(usage):\n    return None", "failed: TypeError"),
    ],
)
def test_a_broken_plug_in_is_one_clear_message(tmp_path, monkeypatch, module, message):
    name = f"bad{abs(hash(module))}"
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, name, module)
    result = simulated(tmp_path, name)
    assert isinstance(result.exception, InputError)
    text = str(result.exception).replace(name, "bad")
    assert text.startswith(f"fairshare adjustment 'bad' {message}")
    assert not (tmp_path / "log").exists()


def test_two_plug_ins_of_one_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "memory", "def adjust(usage):\n    return 0.0\n")
    with pytest.raises(InputError, match="'memory' is installed more than once"):
        load_adjustment("memory")
