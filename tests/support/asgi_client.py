"""A client of an ASGI application in this process: no socket, no thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

#: Headers of a browser on the same machine.
LOCAL = (("host", "localhost:8642"),)


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


async def sent(
    app: Any,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]] = LOCAL,
    body: Iterable[bytes] = (b"",),
    until: bytes = b"",
) -> Answer:
    """Send a request in parts; until: end once the body has this (of a stream without an end)."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": unquote(path), "raw_path": path.encode(),
        "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 5000),
        "server": ("127.0.0.1", 8642), "state": {},
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers],
    }  # fmt: skip
    parts = list(body)
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if parts:
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}
        await gone.wait()
        return {"type": "http.disconnect"}

    found: dict[str, Any] = {"status": 0, "headers": {}, "body": b""}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found["status"] = message["status"]
            found["headers"] = {n.decode(): v.decode() for n, v in message["headers"]}
        else:
            found["body"] += message.get("body", b"")
            if until and until in found["body"]:
                gone.set()

    await asyncio.wait_for(app(scope, receive, send), 30)
    return Answer(found["status"], found["headers"], found["body"])


def request(app: Any, method: str, target: str, **more: Any) -> Answer:
    """The answer to one request."""
    return asyncio.run(sent(app, method, target, **more))


def get(app: Any, target: str, **headers: str) -> Answer:
    """The answer to a GET request; underscores of header names are dashes."""
    given = [(name.replace("_", "-"), value) for name, value in headers.items()]
    known = {name for name, _ in given}
    return request(
        app, "GET", target, headers=[*given, *(each for each in LOCAL if each[0] not in known)]
    )


def post(app: Any, target: str, record: Any, **headers: str) -> Answer:
    """The answer to a POST request with a JSON body (bytes as they are)."""
    data = record if isinstance(record, bytes) else json.dumps(record).encode()
    given = [(name.replace("_", "-"), value) for name, value in headers.items()]
    kind = [] if "content_type" in headers else [("content-type", "application/json")]
    return request(app, "POST", target, headers=[*LOCAL, *kind, *given], body=[data])
