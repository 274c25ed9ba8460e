"""Inputs are read in one place, and none without end: streams, devices, limits."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import slotwise as sw
from slotwise import InputError
from slotwise.model.formats.reading import (
    begins_as_log,
    digest,
    file_bytes,
    opened,
    stream_bytes,
)
from slotwise.model.input_limits import limited
from slotwise.model.sources.log_lines import log_lines

#: What opens or reads something else than a file of ours, and why that ends by itself.
OTHERS = {
    ("__init__.py", "read_text"): "this package's own source",
    ("cli/check.py", "read_text"): "an example that comes with slotwise",
    ("cli/report/page.py", "read_text"): "a part of the page that comes with slotwise",
    ("instances/__init__.py", "read_text"): "an example that comes with slotwise",
    ("model/table_files.py", "read_text"): "a table that comes with slotwise",
    ("model/resreq/parser.py", "read_text"): "the grammar that comes with slotwise",
    ("solver/budget.py", "read_text"): "what the kernel says of this process",
    ("cli/serve/notices.py", "open"): "the answer of a server, which is not read",
    ("solver/supervisor.py", "open"): "what the kernel says of processes",
    ("solver/supervisor.py", "os.open"): "the null device, and the input of a program",
    ("cli/process.py", "os.open"): "the null device",
    ("solver/optimal/pool/search.py", "sys.stdin"): "plans of our own parent",
    ("cli/report/command.py", "open"): "a browser",
    ("cli/output.py", "open"): "an output that is written in place",
    ("cli/output.py", "os.open"): "an output, or its folder",
    ("cli/output.py", "os.fdopen"): "an output",
    ("cli/output.py", "copyfileobj"): "an output that has been made already",
    # Whether there is one, and whether a terminal is at its other end.
    ("cli/ask.py", "sys.stdin"): "is not read",
    ("cli/top/command.py", "sys.stdin"): "is not read",
    (
        "cli/serve/api.py",
        "read_text",
    ): "a page of slotwise, and what the kernel says of this process",
    ("cli/serve/api.py", "read_bytes"): "a script or style that comes with slotwise",
    ("cli/serve/command.py", "open"): "a store",
    ("cli/forecast.py", "open"): "a store",
    ("cli/serve/database.py", "open"): "a store, to lock it",
}
HOME = "model/formats/reading.py"
NAMES = frozenset(
    {"open", "read_text", "read_bytes", "copyfileobj", "fdopen", "GzipFile", "FileIO", "mmap"}
    | {"open_binary", "open_text", "urlopen", "fromfile", "loadtxt", "genfromtxt", "memmap"}
)
#: Those that are methods of paths alone.
METHODS = frozenset({"read_text", "read_bytes"})
#: A text without any of them needs no second look.
WORDS = re.compile("|".join((*NAMES, r"\binput\(", "stdin")))


def _reads(tree: ast.Module) -> Iterator[str]:
    """What a module calls, or names, that could read a file or standard input."""
    for node in ast.walk(tree):
        of_input = isinstance(node, ast.Attribute) and node.attr in ("stdin", "__stdin__")
        if of_input and ast.unparse(node).startswith("sys."):
            yield "sys.stdin"
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in (NAMES | {"input"}) - METHODS:
            yield called.id
        if isinstance(called, ast.Attribute) and called.attr in NAMES:
            of_os = isinstance(called.value, ast.Name) and called.value.id == "os"
            yield f"os.{called.attr}" if of_os else called.attr


def test_nothing_else_reads() -> None:
    root = Path(sw.__file__).parent
    files = [*root.glob("*.py"), *(root / "instances").glob("*.py")]
    files += [path for room in ("cli", "solver", "model") for path in (root / room).rglob("*.py")]
    found = {
        (str(path.relative_to(root)), name)
        for path in files
        if WORDS.search(text := path.read_text("utf-8"))
        for name in _reads(ast.parse(text))
    }
    found -= {
        ("model/sources/log_lines.py", "GzipFile"),  # over what the reader has opened
        *((HOME, name) for name in ("open", "FileIO", "sys.stdin")),
    }
    assert found == set(OTHERS)


def test_what_is_read_whole_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    with limited(text=5):
        assert file_bytes(file) == b"12345"
        assert stream_bytes(io.BytesIO(b"12345"), "<stdin>") == b"12345"
        file.write_bytes(b"123456")
        for read in (
            lambda: file_bytes(file),
            lambda: stream_bytes(io.BytesIO(b"123456"), str(file)),
            lambda: file_bytes(Path("/dev/zero"), str(file)),
        ):
            with pytest.raises(InputError, match=r"file: has more than 5 bytes: raise --max-text"):
                read()


def test_a_file_that_ends_may_be_long_and_a_stream_may_not(tmp_path: Path) -> None:
    file = tmp_path / "log.swf"
    file.write_text("; a\n" * 100)
    with limited(text=50, unpacked=100):
        assert len(list(log_lines(file))) == 100
        with opened(file, is_log=begins_as_log) as content:
            assert len(content.read()) == 400
        assert len(digest(file)) == 64
        for path, most in ((Path("/dev/zero"), "50 bytes: raise --max-text"),):
            with pytest.raises(InputError, match=most):
                digest(path)
