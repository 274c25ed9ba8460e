"""What stands in place of a file and is none is named: a folder, a pipe, a device, a socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from slotwise import InputError
from slotwise.cli.main import app
from typer.testing import CliRunner

KINDS: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "a socket": lambda path: socket.socket(socket.AF_UNIX).bind(path.name),
}
#: In place of which file of a configuration.
FILES = ("lsf.conf", "lsb.queues", "lsb.users", "lsf.cluster.a", "lshosts")


def refusal(*line: str) -> str:
    done = CliRunner().invoke(app, line)
    assert isinstance(done.exception, InputError), done.output
    return str(done.exception)


@pytest.mark.parametrize("kind", KINDS)
def test_a_configuration_names_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(FILES):
        KINDS[kind](Path(name))
        if number == 0:
            assert refusal("import", "lsf", ".") == f"lsf.conf: is {kind}, not a file"
            Path("lsb.params").write_text("Begin Parameters\nEnd Parameters\n")
    done = CliRunner().invoke(app, ["import", "lsf", "."])
    for name in FILES:
        assert f"{name}: is {kind}, not a file" in str(done.exception)
        assert name not in done.stderr.partition("not there")[2]


def test_an_included_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "lsb.params").write_text("#INCLUDE more\n")
    os.mkfifo(tmp_path / "more")
    said = refusal("import", "lsf", str(tmp_path))
    assert "the included file 'more' is a pipe, not a file" in said


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a socket"])
def test_a_folder_of_listings_names_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS[kind](Path("bjobs"))
    assert refusal("import", "snapshot", "--from", ".") == f"bjobs: is {kind}, not a file"


@pytest.mark.parametrize("line", ["check X", "import acct X", "import snapshot --bjobs X"])
def test_a_socket_is_no_input(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS["a socket"](Path("X"))
    done = CliRunner().invoke(app, line.split())
    assert "it is a socket" in f"{done.exception} {done.output} {done.stderr}"
