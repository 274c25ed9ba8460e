"""The package list, the package data and the single version of the project."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata, resources
from inspect import isclass, isfunction
from pathlib import Path

import slotwise as sw
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: Public names of types for annotations.
ALIASES = {"Change", "Method", "ObjectiveName", "OnProgress", "Reservation", "Status"}
SETUPTOOLS = PROJECT["tool"]["setuptools"]
#: Folders of the repository that are not part of the package.
OUTSIDE = {"tests", "docs", "benchmarks", "build", "dist"}


def package_folders() -> set[str]:
    """Every folder with an __init__.py, as a package name; the root is `slotwise` itself."""
    found = {"slotwise"}
    for file in ROOT.rglob("__init__.py"):
        parts = file.parent.relative_to(ROOT).parts
        if parts and parts[0] not in OUTSIDE and not any(part.startswith(".") for part in parts):
            found.add(".".join(("slotwise", *parts)))
    return found


def test_every_folder_with_code_is_in_the_package_list_and_nothing_else() -> None:
    assert SETUPTOOLS["package-dir"] == {"slotwise": "."}
    assert len(SETUPTOOLS["packages"]) == len(set(SETUPTOOLS["packages"]))
    assert set(SETUPTOOLS["packages"]) == package_folders()


def test_no_module_stands_in_a_folder_that_is_no_package() -> None:
    """A forgotten __init__.py would leave modules out of the wheel."""
    listed = {
        ROOT.joinpath(*name.split(".")[1:]).relative_to(ROOT) for name in SETUPTOOLS["packages"]
    }
    stray = [
        str(file.relative_to(ROOT))
        for top in ("model", "solver", "cli", "instances")
        for file in (ROOT / top).rglob("*.py")
        if file.parent.relative_to(ROOT) not in listed
    ]
    assert stray == []


def test_data_files_are_package_data() -> None:
    """Every file that is not Python belongs to a pattern of its package."""
    data = SETUPTOOLS["package-data"]
    assert "py.typed" in data["slotwise"]
    missing = []
    for name in SETUPTOOLS["packages"]:
        folder = ROOT.joinpath(*name.split(".")[1:])
        for file in folder.iterdir():
            inside = name != "slotwise" and file.is_file() and file.suffix != ".py"
            if inside and not any(file.match(pattern) for pattern in data.get(name, ())):
                missing.append(str(file.relative_to(ROOT)))
    assert missing == []


def test_files_of_the_fictitious_site_are_package_data() -> None:
    """They stand in folders that are not packages."""
    folder = ROOT / "instances"
    patterns = SETUPTOOLS["package-data"]["slotwise.instances"]
    shipped = {file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}
    site = {file for file in (folder / "site").rglob("*") if file.is_file()}
    assert len(site) > 15
    assert site <= shipped


def test_files_of_the_page_are_package_data() -> None:
    """Templates, scripts and libraries stand in folders that are not packages."""
    folder = ROOT / "cli" / "report"
    patterns = SETUPTOOLS["package-data"]["slotwise.cli.report"]
    shipped = {file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}
    there = {file for file in (folder / "assets").rglob("*") if file.is_file()}
    assert len(there) > 10
    assert there <= shipped


def test_installed_package_has_its_marker_and_its_instances() -> None:
    files = resources.files("slotwise")
    assert files.joinpath("py.typed").is_file()
    assert all(sw.example(name).is_file() for name in sw.examples())
    assert "headline" in sw.examples()


def test_versions_agree() -> None:
    assert sw.__version__ == PROJECT["project"]["version"] == metadata.version("slotwise")


def test_public_names_exist_and_are_documented() -> None:
    assert set(sw.__all__) < set(dir(sw))
    assert 24 <= len(sw.__all__) <= 28  # the core; every other name is reached as sw.NAME
    values = {name: getattr(sw, name) for name in dir(sw)}
    own = {name: value for name, value in values.items() if isclass(value) or isfunction(value)}
    assert set(values) - set(own) == {"__version__", *ALIASES}
    assert [name for name, value in own.items() if not value.__doc__] == []


def of_group(name: str) -> list[str]:
    """The requirements of a dependency group, as `make` asks for them."""
    script = [sys.executable, str(ROOT / ".ci" / "groups.py"), name]
    return subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()


def test_groups_of_dependencies_are_parts_of_the_one_for_developers() -> None:
    """PEP 735; an extra would offer users what only this repository needs."""
    assert "dev" not in PROJECT["project"]["optional-dependencies"]
    whole = of_group("dev")
    assert len({Requirement(line).name for line in whole}) == len(whole)
    for name in PROJECT["dependency-groups"]:
        assert set(of_group(name)) <= set(whole)


def test_every_dependency_is_pinned_with_those_it_brings() -> None:
    """Names and versions only: whatever pip would choose by itself is chosen here."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines)
    assert len(pins) == len(lines)
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    waiting = [("slotwise", frozenset({"highs", "report"}))]
    for need in map(Requirement, of_group("dev")):
        waiting.append((need.name, frozenset(need.extras)))
    seen: set[tuple[str, frozenset[str]]] = set()
    missing = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for text in metadata.requires(name) or ():
            need = Requirement(text)
            marker = need.marker
            if marker and not any(marker.evaluate({"extra": e}) for e in (*extras, "")):
                continue
            if canonicalize_name(need.name) not in pinned:
                missing.add(need.name)
            waiting.append((need.name, frozenset(need.extras)))
    assert missing == set()


def test_the_sums_of_a_platform_are_those_of_the_pinned_versions() -> None:
    """`make locked` installs what `make` installs; setuptools, which builds, is among it."""
    pins = set((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    files = sorted((ROOT / ".ci").glob("hashes-*.txt"))
    assert files
    for file in files:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        versions = {canonicalize_name(pin.split("==")[0]): pin.split("==")[1] for pin in pins}
        summed = {canonicalize_name(pin.split("==")[0]): pin.split("==")[1] for pin, _ in lines}
        assert summed == versions
        for _, sum_ in lines:
            assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", sum_)
