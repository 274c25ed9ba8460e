"""Whatever stands in the files, the answer is an instance or problems; time grows with size."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis_profiles import examples
from lsf.lab import MORNING, queue, write
from slotwise import InputError, Instance
from slotwise.instances import site
from slotwise.model.formats.lsf import site_document
from slotwise.model.sources.registry import format_of

_REAL = Path(__file__).parents[1] / "data" / "lsf"
_FILES = sorted(
    file
    for file in (*_REAL.glob("ls?.*"), *site().rglob("*"))
    if file.is_file() and "quay" not in str(file)
)
_PIECES = (
    "Begin Queue", "End Queue", "Begin", "End", "#if time(", "#else", "#endif", "#if user(a) &&",
    '#INCLUDE "lsb.queues"', "\\", "(", ")", "[", "]", '"', "'", "()", "-", "!", "~", "=", "@", "/",
    "others+", "[[a,1]]", "n[1-", "n[9-1]", "n[1-999999]", "1e400", "9" * 30, "\x00", "\x85", "ü",
    "\t", "%", "5@[all]", "all ~all", "default", "NAN", "-1", "0",
)  # fmt: skip


def _answer(root: Path, **options: str) -> None:
    answer: Instance | InputError
    try:
        answer, _ = site_document(root, at=MORNING, ncpus={"": 4}, **options).instance()
    except InputError as error:
        answer = error
    if isinstance(answer, InputError):
        assert answer.problems
        assert all(problem.message for problem in answer.problems)


def _mutated(text: str, rng: random.Random) -> str:
    """The text with a few lines lost, doubled, moved, cut or spoilt."""
    lines = text.split("\n")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        match rng.randrange(6):
            case 0:
                del lines[at : at + rng.randint(1, 3)]
                lines = lines or [""]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
            case 3:
                cut = rng.randint(0, len(lines[at]))
                lines[at] = lines[at][:cut] + rng.choice(_PIECES) + lines[at][cut:]
            case 4:
                words = lines[at].split(" ")
                words[rng.randrange(len(words))] = rng.choice(_PIECES)
                lines[at] = " ".join(words)
            case _:
                lines.insert(at, rng.choice(_PIECES))
    return "\n".join(lines)


@pytest.mark.behaviour("CFG-01")
@given(st.sampled_from(_FILES), st.integers(0, 2**32))
@examples(150)
def test_mutated_files(file: Path, seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        home = _REAL if file.parent == _REAL else site()
        root = Path(shutil.copytree(home, Path(folder) / "conf"))
        target = root / file.relative_to(home)
        target.write_text(_mutated(target.read_text(), rng))
        _answer(root, cluster="jhlava" if home == _REAL else "harbour")


@given(st.lists(st.sampled_from([*_PIECES, "a", "QUEUE_NAME = a", "PRIORITY", " ", "\n"])))
@example(["(" * 2000])
@example(["#if " + "!" * 5000 + "user(a)"])
@example(["#if " + "(" * 5000 + "user(a)"])
@example(["Begin Queue\nQUEUE_NAME = a\nHOSTS = h" + "[1]" * 3000 + "\nEnd Queue"])
@examples(150)
def test_any_text(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("lsb.queues", "lsb.hosts", "lsf.cluster.c"):
            _answer(write(Path(folder), {name: "".join(pieces)}))


@given(st.binary(max_size=200))
@examples(100)
def test_any_bytes(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), {})
        (root / "lsb.users").write_bytes(data)
        (root / "lshosts").write_bytes(data)
        _answer(root)


def test_groups_within_groups_without_end(tmp_path: Path) -> None:
    rows = "\n".join(f"g{n} (g{n + 1})" for n in range(3000))
    hosts = f"Begin HostGroup\nGROUP_NAME GROUP_MEMBER\n{rows}\ng3000 (hostA)\nEnd HostGroup\n"
    _answer(write(tmp_path, {"lsb.hosts": hosts, "lsb.queues": queue(HOSTS="g0 others")}))


@given(
    st.text(max_size=300) | st.sampled_from([" " * 60000, "\n" * 60000, ";" * 60000, "1 " * 30000])
)
@examples(100)
def test_any_text_has_a_kind_or_none(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "some")
        file.write_text(text, encoding="utf-8")
        assert isinstance(format_of(file).name, str)
