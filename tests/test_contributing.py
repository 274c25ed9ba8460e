"""CONTRIBUTING.md names what exists, and its recipes are no longer than it says."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from slotwise import Params
from slotwise.model.formats import document
from slotwise.model.objective import objectives

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: Entries of the document that are no field of Params: what they say is kept with the cluster.
ELSEWHERE = {"compute_unit_types"}


def quoted() -> list[str]:
    return re.findall(r"`([^`\n]+)`", TEXT)


def sections() -> dict[str, str]:
    """The text under each heading."""
    parts = re.split(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_path_that_is_named_exists() -> None:
    paths = [word for word in quoted() if "/" in word and " " not in word]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_target_of_make_exists() -> None:
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {word.split()[1] for word in quoted() if word.startswith("make ")}
    assert {"check", "test-all", "docs"} <= targets
    assert targets <= set(re.findall(r"^([a-z-]+):", rules, re.MULTILINE))


def test_every_name_in_code_letters_is_found_in_a_file_of_its_section() -> None:
    """Names such as `ParamsEntry`: somewhere in the files that the same section names."""
    for title, text in sections().items():
        words = re.findall(r"`([^`\n]+)`", text)
        files = [ROOT / word for word in words if (ROOT / word).is_file()]
        content = "".join(path.read_text(encoding="utf-8") for path in files)
        for word in words:
            if re.fullmatch(r"[A-Z]\w+|[a-z]+", word) and not (ROOT / word).exists():
                assert re.search(rf"\b{word}\b", content), (title, word)


def test_the_recipes_are_there() -> None:
    assert list(sections())[2:] == [
        "A new objective",
        "A new reservation method",
        "A new command",
        "A new listing of a scheduler's command",
        "A new file format",
        "A new LSF parameter",
        "A new rule",
    ]


def test_every_room_has_its_line() -> None:
    rooms = {
        f"{folder.parent.name}/{folder.name}/"
        for floor in ("solver", "model")
        for folder in (ROOT / floor).iterdir()
        if (folder / "__init__.py").is_file()
    }
    assert rooms - set(quoted()) == set()


def test_a_parameter_of_the_cluster_is_in_its_two_files() -> None:
    """A field of both by the same name: nothing else has to pass it on."""
    known = {item.name for item in fields(Params)}
    read = set(document.ParamsEntry.model_fields)
    assert known <= read
    assert read - known == ELSEWHERE


def test_an_objective_stands_in_the_registry_and_with_the_judge_alone() -> None:
    """Under their names as text: in no solver, so that a new one works in all of them."""
    judge = (ROOT / "solver" / "validation" / "claims.py").read_text(encoding="utf-8")
    for name in objectives():
        assert f'"{name}"' in judge
    # Jobs in order have methods of their own; a makespan is also one of the pool's own two kinds.
    special = {"lexicographic", "makespan"}
    for name in set(objectives()) - special:
        for path in (ROOT / "solver").rglob("*.py"):
            if path.name != "claims.py":
                assert f'"{name}"' not in path.read_text(encoding="utf-8"), (name, path)
