"""The package carries its types: a user's program under mypy and pyright, both strict."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.types

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).with_name("user_program.py")
#: Lines of the program that are wrong on purpose.
WRONG = [
    number
    for number, line in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), 1)
    if line.endswith("# type: ignore")
]


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment whose site-packages hold slotwise as a wheel would put it there."""
    home = tmp_path_factory.mktemp("user") / "env"
    command = [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", str(home)]
    subprocess.run(command, check=True, timeout=300)
    python = home / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    site = Path(done.stdout.strip())
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    package = site / "slotwise"
    package.mkdir()
    for name in ("__init__.py", "library.py", "py.typed", "model", "solver", "instances"):
        (package / name).symlink_to(ROOT / name)
    return python


def test_the_program_runs(user: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [user, "-I", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "{'p1': 60, 'p2': 0}",
        "unknown method 'greddy' (did you mean 'greedy'?): "
        "use one of greedy, time-based, optimal, milp, slurm",
    ]


def test_mypy_knows_the_types(user: Path, tmp_path: Path) -> None:
    copy = tmp_path / "program.py"
    shutil.copy(PROGRAM, copy)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(user)]
    command += ["--config-file", "", "--cache-dir", str(ROOT / ".cache" / "mypy-user"), str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout
    copy.write_text(copy.read_text(encoding="utf-8").replace("  # type: ignore", ""), "utf-8")
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    lines = re.findall(r"^program\.py:(\d+): error", done.stdout, re.MULTILINE)
    assert sorted({int(line) for line in lines}) == WRONG, done.stdout


def test_pyright_knows_the_types(user: Path, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("pyright needs node, and there is none on this machine")
    copy = tmp_path / "program.py"
    text = PROGRAM.read_text(encoding="utf-8").replace("  # type: ignore", "")
    copy.write_text(text, encoding="utf-8")
    settings = {"typeCheckingMode": "strict", "include": ["program.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(user)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout, done.stderr
    told = json.loads(done.stdout)["generalDiagnostics"]
    lines = sorted({item["range"]["start"]["line"] + 1 for item in told})
    assert lines == WRONG, done.stdout
