"""Adjustment plug-ins: the documents' example, one of our own, and what goes wrong (FSH-05)."""

import json
from pathlib import Path

import pytest
from slotwise import Cluster, Host, InputError, Instance, Job, Params, Queue, RunningJob
from slotwise.cli.main import app
from slotwise.solver.fairshare.accounts import Consumption, MemoryAdjustment, load_adjustment
from slotwise.solver.fairshare.dispatch_order import held_memory
from typer.testing import CliRunner

pytestmark = pytest.mark.behaviour("FSH-05")
GUIDE = Path(__file__).parents[2] / "docs" / "fairshare.md"
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


def test_the_memory_adjustment_of_the_documents():
    adjust = MemoryAdjustment(threshold=0.5)
    usage = Consumption(slots=4, memory=8000, slot_memory=1000)
    assert adjust(usage) == pytest.approx((1 + 4) * ((8000 / 4) / (1000 * 0.5)))
    assert adjust(Consumption(slots=0, slot_memory=1000)) == 0
    assert adjust(Consumption(slots=3, memory=500)) == 0


def test_adjustments_are_found_by_entry_point():
    assert load_adjustment("") is None
    plugin = load_adjustment("memory")
    assert plugin is not None
    assert plugin(Consumption(slots=1, memory=100, slot_memory=50)) == pytest.approx(4)
    with pytest.raises(InputError, match=r"no fairshare adjustment 'memori'.*mean 'memory'"):
        load_adjustment("memori")


def test_running_jobs_hold_what_they_reserve():
    """rusage of each host counts once a host; what has fallen since the start is not held."""
    machines = Cluster(tuple(Host(f"h{i}", 4, amounts={"mem": 4000.0}) for i in (1, 2)))
    wide = Job("w", 4, res_req=("rusage[mem=300] span[ptile=2]",), queue="q")
    falling = Job("f", 1, res_req=("rusage[mem=800:duration=10m]",), queue="q")
    bare = Job("b", 1, queue="q")
    running = (
        RunningJob(wide, 0, {"h1": 2, "h2": 2}),
        RunningJob(falling, 0, {"h1": 1}),
        RunningJob(bare, 0, {"h2": 1}),
    )
    at = {
        now: held_memory(Instance(machines, (Queue("q"),), running=running, now=now))
        for now in (60, 600)
    }
    assert at == {60: {"w": 600, "f": 800, "b": 0}, 600: {"w": 600, "f": 0, "b": 0}}


def test_the_memory_of_running_jobs_decides(tmp_path):
    """1 + 1 slots, and 2 * (2000/1)/1000 = 4 against 2 * (500/1)/1000 = 1: 1/6 and 1/3."""
    result = simulated(tmp_path, "memory")
    assert result.exit_code == 0, result.output
    first = json.loads((tmp_path / "log").read_text().splitlines()[0])
    assert first["started"] == ["b", "a"]
    assert first["why"]["b"].startswith("first job of q/bob, dynamic priority 0.333")
    shown = CliRunner().invoke(app, ["show", "bqueues", str(tmp_path / "site.yaml"), "-l"])
    rows = [line.split() for line in shown.stdout.splitlines() if line.startswith(("ann", "bob"))]
    assert [(row[0], row[2], row[-1]) for row in rows] == [
        ("bob", "0.333", "1.000"),
        ("ann", "0.167", "4.000"),
    ]


def test_the_example_of_the_guide(tmp_path, monkeypatch):
    """The module printed in docs/fairshare.md, installed and used."""
    code = GUIDE.read_text().split("```python\n")[1].split("```")[0]
    assert "def licence_adjustment" in code
    monkeypatch.syspath_prepend(str(tmp_path))
    installed(tmp_path, "licences", code, "site_licences:licence_adjustment")
    plugin = load_adjustment("licences")
    assert plugin is not None
    assert plugin(Consumption(slots=3, reserved=1, run_time=7200)) == pytest.approx(4 * 0.5)
    result = simulated(tmp_path, "licences")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("import no_such_module", "cannot be loaded from site_bad:adjust: ModuleNotFoundError: No"),
        ("other = 1", "cannot be loaded from site_bad:adjust: AttributeError"),
        ("adjust = 7", "is not a function: site_bad:adjust is 7"),
        ("def adjust(usage):\n    return 1 / usage.reserved", "failed: ZeroDivisionError"),
        (
            "def adjust(usage):\n    return float('nan')",
            "returned nan: it must return a finite number",
        ),
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


def test_factors_of_zero_leave_the_plug_in_without_weight():
    machines = Cluster((Host("h1", 4, amounts={"mem": 4000.0}),))
    queue = Queue("q", user_shares=(("ann", 1),))
    job = Job("r", user="ann", queue="q", res_req=("rusage[mem=2000]",))
    problem = Instance(
        machines,
        (queue,),
        running=(RunningJob(job, 0, {"h1": 1}),),
        params=Params(fairshare_adjustment="memory"),
    )
    from slotwise.solver.fairshare.dispatch_order import order_policy

    order = order_policy(problem)
    (ann,) = order.trees["q"].accounts("ann")
    assert order.trees["q"].priority(ann, 0) == pytest.approx(1 / 6)
