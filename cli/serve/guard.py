"""Guard before every request: access, size of bodies, headers of answers, counters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias

from .access import COOKIE, Denied
from .answers import dumped
from .service import Service

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Bytes of a body, and seconds until it has come.
MAX_BODY, BODY_SECONDS = 1 << 17, 10.0
#: Bytes of a path with its query.
MAX_TARGET = 2_048
#: Paths that need no access: without a fact on any job.
OPEN_PATHS = frozenset({"/healthz", "/login"})
OPEN_FOLDER = "/assets/"
#: Headers of every answer: nothing but the service's own scripts and styles is loaded, by no
#: other site.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
_RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class TooLarge(Exception):
    """The body of a request has too many bytes, or comes too slowly."""


class Guard:
    """The outermost layer of the service."""

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_RAW_HEADERS]
            await send(message)

        try:
            denied = self._denied(scope)
            if denied is not None:
                await _deny(denied, scope, answer)
                return
            await self._app(scope, receive, answer)
        finally:
            counters = self._service.requests
            counters.by_status[status] = counters.by_status.get(status, 0) + 1
            if not scope["path"].endswith("/events"):
                counters.seconds += time.monotonic() - began

    def _denied(self, scope: Scope) -> Denied | None:
        """Return why a request has no access; else put who asks into its scope."""
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MAX_TARGET:
            return Denied(414, f"more than {MAX_TARGET} characters in the address")
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name = raw.decode("latin-1").lower()
            if name == self._service.access.header and name in headers:
                return Denied(400, "the header of the proxy is given twice")
            headers[name] = value.decode("latin-1")
        viewer = self._service.access.viewer(headers, _cookie(headers.get("cookie", "")))
        path = scope["path"]
        if isinstance(viewer, Denied):
            is_open = path in OPEN_PATHS or path.startswith(OPEN_FOLDER)
            return None if is_open and viewer.status != 421 else viewer
        scope.setdefault("state", {})["viewer"] = viewer
        return None


async def _deny(denied: Denied, scope: Scope, send: Send) -> None:
    """Answer a request without access; a browser is led to the sign-in page."""
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    status, body = denied.status, dumped({"error": denied.why})
    accepts = dict(scope["headers"]).get(b"accept", b"")
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
        if b"text/html" in accepts and scope["method"] == "GET":
            up = "../" * max(0, scope["path"].count("/") - 1)
            status, body = 303, b""
            headers.append((b"location", f"{up}login".encode()))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _cookie(text: str) -> str:
    """Return the value of the service's cookie, "" if there is none."""
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    value = "" if found is None else found.value
    return value if value.isascii() else ""


async def read_body(receive: Receive) -> bytes:
    """Return the body of a request; raise TooLarge if it is too long or comes too slowly."""
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise TooLarge("the connection was closed before the body was complete")
                part = message.get("body", b"")
                size += len(part)
                if size > MAX_BODY:
                    raise TooLarge(f"the body has more than {MAX_BODY} bytes")
                parts.append(part)
                if not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        raise TooLarge(f"the body did not come within {BODY_SECONDS:g} s") from None
