"""The README's commands and code do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SLOTWISE = Path(sys.executable).with_name("slotwise")
COMMANDS = re.findall(r"^\$ slotwise (.*)$", README, flags=re.MULTILINE)


def slotwise(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SLOTWISE, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("line", COMMANDS)
def test_command_of_the_readme_runs(line: str) -> None:
    done = slotwise(*line.split())
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_shown_table_is_what_the_command_prints() -> None:
    shown = re.search(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert shown is not None
    assert shown.group(1).strip() in slotwise("compare", "--example", "headline").stdout


def test_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert code is not None
    exec(compile(code.group(1), "README.md", "exec"), {})
    assert capsys.readouterr().out == "10800 {'hostA': 2, 'hostC': 2, 'hostD': 2} True\n"


def test_instance_of_the_readme_is_valid(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert text is not None
    file = tmp_path / "readme.yaml"
    file.write_text(text.group(1), encoding="utf-8")
    done = slotwise("solve", str(file), "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "2,0,3600" not in done.stdout
    assert "2,7200,10800,4*n01 4*n02 4*n03,optimal,7200,True" in done.stdout


def test_every_file_that_the_readme_links_exists() -> None:
    missing = [
        link
        for link in re.findall(r"\]\(([^)#]+)\)", README)
        if not link.startswith("http") and not (ROOT / link).exists()
    ]
    assert missing == []
