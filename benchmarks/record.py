"""Run a measurement and keep what it printed, with the date and the class of the machine.

    python benchmarks/record.py in_memory [arguments of the measurement]

Writes benchmarks/results/NAME.json: a list, the newest last, so that numbers in the pages can be
traced to the run that gave them. Nothing in it names a machine or a path.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
#: Packages whose version may move a number.
PACKAGES = ("slotwise", "ortools", "numpy", "pydantic", "highspy")


def main() -> None:
    """Run it, show its output as it comes, and keep it."""
    if len(sys.argv) < 2 or not (HERE / f"{sys.argv[1]}.py").is_file():
        sys.exit(f"usage: record.py NAME [arguments]; a NAME is one of {', '.join(names())}")
    name, *arguments = sys.argv[1:]
    busy = os.getloadavg()[0]
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    if process.returncode:
        sys.exit(process.returncode)
    keep(name, arguments, lines, busy)


def names() -> list[str]:
    """The measurements there are."""
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem != "record")


def keep(name: str, arguments: list[str], lines: list[str], busy: float) -> None:
    """Add a run to the results of a measurement."""
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"{name}.json"
    runs: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else []
    runs.append(
        {
            "date": datetime.now(UTC).date().isoformat(),
            "command": " ".join(["python", f"benchmarks/{name}.py", *arguments]),
            "commit": commit(),
            "machine": machine(busy),
            "output": lines,
        }
    )
    file.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def commit() -> str:
    """The commit that was measured, with a + where files had changed since."""
    git = ["git", "-C", str(HERE), "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine(busy: float) -> dict[str, Any]:
    """What class of machine it is, how busy it was before, and which versions ran."""
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.system(),
        "load_before": round(busy, 1),
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def processor() -> str:
    """The model as the system names it."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return found[0] if found else platform.machine()


def version(package: str) -> str | None:
    """The version of a package, None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
