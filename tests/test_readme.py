"""The README's commands and code do what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SLOTWISE = Path(sys.executable).with_name("slotwise")


def slotwise(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SLOTWISE, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_instance_of_the_readme_is_valid(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert text is not None
    file = tmp_path / "readme.yaml"
    file.write_text(text.group(1), encoding="utf-8")
    done = slotwise("solve", str(file), "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "2,0,3600" not in done.stdout
    assert "2,7200,10800,4*n01 4*n02 4*n03,optimal,7200,True" in done.stdout
