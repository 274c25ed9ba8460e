"""The command as a process: it says where it is, answers, and ends within seconds."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from sampling import some
from slotwise.cli.main import app
from slotwise.model.errors import InputError, SlotwiseError
from typer.testing import CliRunner

SLOTWISE = str(Path(sys.executable).with_name("slotwise"))


def begun(*words: str) -> tuple[subprocess.Popen[str], str]:
    """A service on a free port, and its address."""
    process = subprocess.Popen(
        [SLOTWISE, "serve", *words, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def answer(address: str) -> dict[str, object]:
    with urllib.request.urlopen(address, timeout=20) as found:
        record: dict[str, object] = json.load(found)
        return record


@pytest.mark.parametrize("numbers", some([[signal.SIGINT] * 2, [signal.SIGTERM]], 1))
def test_a_signal_ends_it_with_streams_open(numbers: list[signal.Signals]) -> None:
    process, address = begun("--example", "joint-wins")
    for _ in range(200):
        try:
            answer(f"{address}healthz")
            break
        except OSError:
            time.sleep(0.05)
    with ExitStack() as streams:
        for _ in range(30):  # many: of one alone, the end of a second signal is often not told
            stream = streams.enter_context(urllib.request.urlopen(f"{address}events", timeout=20))
            assert stream.readline().startswith(b"retry")
        began = time.monotonic()
        for number in numbers:
            process.send_signal(number)
        assert process.wait(20) == 0
        assert time.monotonic() - began < 15
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()


#: Few files, and little patience with a connection that says nothing.
POOR = """
import resource, sys
from slotwise.cli.serve import server
from slotwise.cli.start import main
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
server.IDLE_SECONDS = 1
main()
"""


def test_connections_without_a_request_neither_stop_it_nor_stay() -> None:
    """More of them than the process may open files: whole requests are answered all the same."""
    words = ("serve", "--example", "joint-wins", "--port", "0")
    process = subprocess.Popen(
        [sys.executable, "-c", POOR, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    address = process.stdout.readline().strip()
    port = int(address.rstrip("/").rpartition(":")[2])
    assert answer(f"{address}healthz")["status"] == "ok"
    silent = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(260)]
    for one in silent[::2]:
        with suppress(OSError):  # it has been closed
            one.sendall(b"GET /jobs HTTP/1.1\r\nHost: loc")
    slow = socket.create_connection(("127.0.0.1", port), 20)
    slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
    assert answer(f"{address}healthz")["status"] == "ok"
    for one in (*silent, slow):
        with one, suppress(ConnectionResetError):
            one.settimeout(20)
            while one.recv(1000):  # its end comes, after what was answered
                pass
    process.terminate()
    assert process.wait(20) == 0
    assert len(process.stderr.read().splitlines()) == 1


PROXIED = ("--example", "joint-wins", "--trust-user-header", "X-User")


def test_mistakes_are_told_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    def refused(*words: str) -> BaseException | None:
        return CliRunner().invoke(app, ["serve", *words]).exception

    for words, wrong in {
        ("--example", "joint-wins", "--host", "0.0.0.0"): "--token-file FILE or --trust-user-",
        ("--example", "joint-wins", "--every", "0s"): "--every",
        ("--example", "nothing"): "no example is called 'nothing' (`slotwise examples` lists them)",
        ("--example", "joint-wins", "--keep", "5d"): "--keep: applies only with --store",
        ("nothing.yaml", "--speed", "5"): "--speed: applies only with --example",
        ("--example", "joint-wins", "--store", "mysql://x"): "'mysql' is not supported for stores",
        ("--example", "joint-wins", "--store", "postgresql://a:b@h:port/x"): "is not a port",
        ("--example", "joint-wins", "--store", "postgresql://h:99999/x"): "no port 99999",
        ("--example", "joint-wins", "--store", "postgresqlx://h"): "'postgresqlx' is not supported",
        (
            "--example",
            "joint-wins",
            "--notify",
            "ftp://h/x",
        ): "--notify: is not a URL: https://HOST/PATH",
        (
            "--example",
            "joint-wins",
            "--notify",
            "https://h:x/",
        ): "--notify: is not a URL: https://HOST/",
        ("--example", "joint-wins", "--notify", "http://a:b@h/"): "--notify: a user or password",
        ("--example", "joint-wins", "--notify", "none -x"): "--notify: program not found: 'none'",
        (
            "--example",
            "joint-wins",
            "--notify",
            "a 'b",
        ): "--notify: is not a command: no closing quot",
        (*PROXIED, "--host", "a..b"): "--host: must be a host name, not 'a..b'",
        (*PROXIED, "--host", "x" * 300): "--host: must be a host name, not 'xxx",
        (*PROXIED, "--host", "a\nb"): "--host: must be a host name, not 'a\\nb'",
        (): "give an instance file or --example NAME",
        ("--example", "joint-wins", "--token-file", str(tmp_path / "none")): "No such file",
        ("--cluster",): "no scheduler is on the PATH",
        (str(tmp_path),): "has no snapshot: add a file whose name ends in .yaml, .yml, .json",
    }.items():
        error = refused(*words)
        assert isinstance(error, InputError), words
        assert wrong in str(error)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    error = refused("--example", "joint-wins")
    assert isinstance(error, SlotwiseError)
    assert "pip install 'slotwise[serve]'" in str(error)


@pytest.mark.parametrize(
    ("words", "package"),
    some(
        [
            ("serve --example headline", "uvicorn"),
            ("score STORE", "sqlalchemy"),
            ("forecast --example headline --history LOG --calibration STORE", "sqlalchemy"),
        ],
        2,
    ),
)
def test_without_the_extra_a_command_says_what_to_install(
    tmp_path: Path, words: str, package: str
) -> None:
    store, log = tmp_path / "s.db", tmp_path / "log.swf"
    store.write_bytes(b"SQLite format 3\0")
    log.write_text("1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n")
    names = {"STORE": str(store), "LOG": str(log)}
    code = f"import sys; sys.modules[{package!r}] = None; "
    code += "from slotwise.cli.start import main; main()"
    command = [sys.executable, "-c", code, *(names.get(word, word) for word in words.split())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode in (1, 2), done.stdout) == (True, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert package in done.stderr
    assert "pip install 'slotwise[serve]'" in done.stderr


def test_an_address_is_taken_and_answers_before_the_server_runs() -> None:
    """A browser that is quicker than the start waits; a second service is refused."""
    from slotwise.cli.serve.server import bound

    with bound("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            pass
        with pytest.raises(InputError, match=f"'127.0.0.1', port {port}: cannot listen"):
            bound("127.0.0.1", port)
