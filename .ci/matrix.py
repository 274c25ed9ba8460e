#!/usr/bin/env python3
"""Run the tests under every Python from 3.11 on, with the lowest and the highest dependencies.

    .ci/matrix.py                       every Python that is here, both ends, the quick tests
    .ci/matrix.py --python 3.12 --end lowest -- -m '' tests/methods

Pythons are those on the PATH, of pyenv and of uv; what is not here is left out and said so. The
lowest versions are the ones that pyproject.toml names, the highest what the index gives within its
bounds; constraints.txt plays no part. Environments stay in .cache/matrix, so the second time is
quick. Exit code 1 where a cell of the matrix fails, 2 where there is none to run.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from groups import group

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / ".cache" / "matrix"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Tools that no test needs.
UNUSED = ("build", "cosmic-ray", "import-linter", "ruff")
ENDS = ("lowest", "highest")
#: What runs in a cell unless other arguments are given: the library as a user meets it.
TESTS = (
    "tests/library",
    "tests/formats",
    "tests/methods/test_single_job.py",
    "tests/test_readme.py",
)


def main() -> int:
    """The matrix, a line a cell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--python", action="append", choices=VERSIONS, help="this one (again: more)"
    )
    parser.add_argument("--end", action="append", choices=ENDS, help="this end of the versions")
    parser.add_argument("--list", action="store_true", help="say what would run, and stop")
    parser.add_argument("tests", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    found = {version: interpreter(version) for version in options.python or VERSIONS}
    results: dict[str, str] = {}
    for version, python in found.items():
        for end in options.end or ENDS:
            cell = f"{version} {end}"
            if python is None:
                results[cell] = "left out: no such Python here"
            elif options.list:
                results[cell] = f"would run with {python}"
            else:
                results[cell] = run(version, python, end, options.tests or TESTS)
            print(f"{cell:14} {results[cell]}", flush=True)
    ran = [result for result in results.values() if not result.startswith("left out")]
    return 2 if not ran else int(any(result.startswith("failed") for result in ran))


def interpreter(version: str) -> str | None:
    """A Python of that version that runs, None where there is none."""
    return next((path for path in _candidates(version) if _is(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    if on_path := shutil.which(f"python{version}"):
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in sorted(pyenv.glob(f"versions/{version}*/bin/python{version}"), reverse=True):
        yield str(path)
    if uv := shutil.which("uv"):
        done = subprocess.run([uv, "python", "find", version], capture_output=True, text=True)
        if done.returncode == 0:
            yield done.stdout.strip()


def _is(path: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == version


def tools() -> list[str]:
    """What the tests need of the group for developers."""
    return [need for need in group("dev") if not need.startswith(UNUSED)]


def lowest(version: str) -> list[str]:
    """``name==version`` for the lower bound of every dependency that counts for a Python."""
    pins = []
    examples = [need for need in tools() if need.startswith("fastapi")]
    extras = PROJECT["optional-dependencies"]["highs"]
    for line in (*PROJECT["dependencies"], *extras, *examples):
        need, _, marker = line.partition(";")
        name, bound = re.match(r"([\w.-]+).*?>=([\d.]+)", need).groups()  # type: ignore[union-attr]
        if not marker or _holds(marker, version):
            pins.append(f"{name}=={bound}")
    return pins


def _holds(marker: str, version: str) -> bool:
    """Whether a marker of the form python_version < '3.13' (or >=) holds."""
    match = re.fullmatch(r"\s*python_version\s*(<|>=)\s*['\"]([\d.]+)['\"]\s*", marker)
    if match is None:
        raise ValueError(f"the matrix does not know the marker {marker!r}")
    ours, other = (tuple(map(int, text.split("."))) for text in (version, match[2]))
    return ours < other if match[1] == "<" else ours >= other


def run(version: str, python: str, end: str, tests: Sequence[str]) -> str:
    """Make the environment of a cell and run the tests in it."""
    home = CELLS / f"{version}-{end}"
    home.mkdir(parents=True, exist_ok=True)
    inside = home / "bin" / "python"
    log = home / "install.log"
    steps = [[python, "-m", "venv", str(home)]]
    pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = ["-e", f"{ROOT}[highs]", *tools()]
    wanted += lowest(version) if end == "lowest" else ["--upgrade"]
    steps.append([*pip, *wanted])
    marker = home / "installed"
    state = "\n".join([*wanted, (ROOT / "pyproject.toml").read_text(encoding="utf-8")])
    if not marker.exists() or marker.read_text(encoding="utf-8") != state:
        with log.open("w", encoding="utf-8") as output:
            for step in steps:
                if subprocess.run(step, stdout=output, stderr=output, check=False).returncode:
                    return f"failed: not installed, see {log.relative_to(ROOT)}"
        marker.write_text(state, encoding="utf-8")
    done = subprocess.run(
        [str(inside), "-m", "pytest", "-p", "no:cacheprovider", *tests],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    (home / "tests.log").write_text(done.stdout, encoding="utf-8")
    last = done.stdout.strip().splitlines()[-1:] or ["no output"]
    where = f"{platform.machine()}, {os.cpu_count()} processors"
    if done.returncode:
        return f"failed: {last[0]} (see {(home / 'tests.log').relative_to(ROOT)})"
    return f"passed: {last[0]} ({where})"


if __name__ == "__main__":
    sys.exit(main())
