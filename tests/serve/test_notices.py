"""Moved starts for a command, for a URL, and as a feed."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any
from xml.etree import ElementTree

import pytest
from asgi_client import get
from serve.service_lab import by_header, lab
from serve.test_polls import full
from slotwise import Instance, Job, RunningJob
from slotwise.cli.serve import notices
from slotwise.cli.serve.notices import Notifier, Undelivered, delivery_to

HOSTILE = "a<b\x01&"
ATOM = "{http://www.w3.org/2005/Atom}"


def states() -> tuple[Instance, Instance]:
    """Two jobs that wait two hours; the job before them ends early and a third one arrives."""
    first = full()
    first = replace(first, pending=(replace(first.pending[0], user=HOSTILE), first.pending[1]))
    third = Job("3", 2, run_limit=60, submit=300)
    return first, replace(first, now=600, running=(), pending=(*first.pending, third))


@contextmanager
def server(status: int) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """A server that answers each request with a status, with the paths and bodies it got."""
    got: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(status)
            self.send_header("location", "/elsewhere")
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}/hook?key=SECRET", got
        listening.shutdown()


def test_each_moved_start_is_a_line_for_the_command(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    code = f"import sys; open({str(out)!r}, 'a').write(sys.stdin.read())"
    deliver = delivery_to(shlex.join([sys.executable, "-c", code]))
    done: SimpleQueue[bytes] = SimpleQueue()

    def delivered(lines: bytes) -> None:
        deliver(lines)
        done.put(lines)

    here = lab(*states(), deliver=delivered)
    notifier = here.service.notifier
    assert notifier is not None
    notifier.start()
    here.poll()
    done.get(timeout=60)
    here.poll()  # the same starts once more: nothing moved
    notifier.stop()
    first, second = map(json.loads, out.read_text().splitlines())
    assert (first["job"], first["user"], first["kind"], first["by"]) == (
        "1",
        HOSTILE,
        "earlier",
        6600,
    )
    assert (first["before"], first["as_configured"], first["at"]) == (7200, 600, 600)
    assert first["text"] == "1h 50m earlier, after job r finished"
    assert (second["job"], second["as_configured_time"]) == ("2", "2026-03-02T10:10:00+00:00")
    assert (notifier.sent, notifier.lost) == (2, 0)
    assert b"slotwise_notices_total 2\n" in get(here.app, "/metrics").body


@pytest.mark.parametrize("status", [204, 302, 500])
def test_lines_are_posted_to_the_named_url_alone(status: int) -> None:
    with server(status) as (url, got):
        deliver = delivery_to(url)
        if status == 204:
            deliver(b'{"job":"1"}\n')
        else:
            with pytest.raises(Undelivered, match=rf"status {status}\Z"):
                deliver(b'{"job":"1"}\n')
    assert got == [("/hook?key=SECRET", b'{"job":"1"}\n')]
    with pytest.raises(Undelivered) as error:  # nothing listens there any more
        delivery_to(url)(b"")
    assert "SECRET" not in str(error.value)


def test_a_command_that_fails_is_an_error_without_its_words() -> None:
    with pytest.raises(Undelivered, match=r"\Athe command exited with status 3\Z"):
        delivery_to(f"{shlex.quote(sys.executable)} -c 'exit(3)' --key=SECRET")(b"{}\n")


def test_failures_are_bounded_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "WAITS", (0.0, 0.0))
    monkeypatch.setattr(notices, "MAX_WAITING", 1)
    tried: list[bytes] = []
    told: list[str] = []
    failing = True

    def deliver(lines: bytes) -> None:
        tried.append(lines)
        if failing:
            raise Undelivered("status 500")

    notifier = Notifier(deliver, told.append)
    for _ in range(2):
        notifier.deliver_together([b"a", b"b"])
    assert (tried, notifier.lost) == ([b"ab"] * 6, 4)
    failing = False
    notifier.deliver_together([b"c"])
    assert told == [
        "--notify: notifications of moved starts were dropped: status 500",
        "--notify: moved starts are delivered again",
    ]
    here = lab(*states())
    here.service.board.listen(notifier)
    here.poll()
    assert notifier.lost == 5, "of two moved starts one waits"


def test_the_feed_has_the_moved_starts_that_a_viewer_may_see() -> None:
    first, second = states()
    left = replace(second, now=900, pending=second.pending[1:])
    left = replace(left, running=(RunningJob(second.pending[0], 600, {"a": 2}),))

    def entries(query: str = "", **viewer: str) -> list[list[str]]:
        access = by_header("X-User") if viewer else None
        here = lab(first, second, left, access=access)
        here.poll()
        here.poll()
        found = get(here.app, f"/feed.atom{query}", **viewer)
        assert found.headers["content-type"] == "application/atom+xml"
        feed = ElementTree.fromstring(found.body)
        names = ("title", "updated", "summary")
        return [
            [found.findtext(f"{ATOM}{name}", "") for name in names]
            for found in feed.findall(f"{ATOM}entry")
        ]

    (second_moved, first_moved) = entries()
    assert first_moved[0] == "1: 1h 50m earlier, after job r finished", "it waits no longer"
    assert first_moved[1] == "2026-03-02T09:10:00+00:00"
    assert "09:10:00+00:00, before 2026-03-02T11:00:00+00:00. User a<b\\x01&," in first_moved[2]
    assert entries("?user=user") == [second_moved]
    (seen,) = entries(x_user="user")
    assert seen[0] == "2: 1h 50m earlier, after another job finished"


def test_a_start_that_creeps_is_one_move_with_one_value_everywhere(tmp_path: Path) -> None:
    """Moves below two dispatch cycles that are reported, or that add up without a report."""
    first, lines = full(), SimpleQueue[bytes]()

    def later(n: int) -> Instance:
        run = replace(first.running[0], job=Job("r", 2, run_limit=7200 + 60 * n))
        return replace(first, now=10 * n, running=(run,), pending=first.pending[:1])

    here = lab(*map(later, range(4)), store=str(tmp_path / "store"), deliver=lines.put)
    notifier = here.service.notifier
    assert notifier is not None
    notifier.start()
    here.poll()
    assert get(here.app, "/jobs").data["jobs"][0]["changed"] is None
    assert b"<entry>" not in get(here.app, "/feed.atom").body
    here.poll()
    here.poll()
    line = json.loads(lines.get(timeout=60))
    notifier.stop()
    assert (line["text"], line["before"], line["as_configured"], line["at"]) == (
        *("2m later, after job r changed", 7200),
        *(7320, 20),
    )
    found = get(here.app, "/jobs/1").data
    for name in ("moves", "history"):
        moved = [row for row in found[name] if row["change"]]
        assert [(row["at"], row["as_configured"], row["change"]["by"]) for row in moved] == [
            (20, 7320, 120)
        ], name
    assert found["job"]["changed"]["text"] == line["text"]
    feed = ElementTree.fromstring(get(here.app, "/feed.atom").body)
    assert [item.findtext(f"{ATOM}title") for item in feed.findall(f"{ATOM}entry")] == [
        f"1: {line['text']}"
    ]
    assert (notifier.sent, lines.empty()) == (1, True)
