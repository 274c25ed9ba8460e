"""The HTTP server: a socket, uvicorn, and an end within seconds after a signal."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from ...model.errors import InputError, Problem
from .api import application
from .service import Service
from .streams import Streams

#: Seconds for open requests to end.
GRACEFUL = 2
#: Connections at most; further requests get status 503.
MAX_CONNECTIONS = 1_000
#: Bytes of the headers of a request.
MAX_HEADERS = 16_384
#: Seconds between two threads' turns: a request waits for no longer while a plan is computed.
SWITCH_SECONDS = 0.001
#: Thresholds of the garbage collector, as of `gc.set_threshold`.
COLLECTED = (10_000, 20, 20)


class ServiceServer(uvicorn.Server):
    """A server that closes its streams of events before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by SIGINT and SIGTERM; the second one does not wait for requests."""

        def end(number: int, frame: Any) -> None:
            self.handle_exit(number, frame)

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the streams, then end the open requests."""
        self._streams.close()
        await super().shutdown(sockets)


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise InputError if the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()  # the address is printed before the server accepts
    except OSError as error:
        wrong = f"{host}:{port} cannot be listened on: {error.strerror or error}"
        raise InputError([Problem(wrong, "--port")]) from None
    made.set_inheritable(False)
    return made


def run(service: Service, listening: socket.socket, lifetime: float | None = None) -> None:
    """Serve until a signal comes; starts and stops the service.

    lifetime: seconds after which it ends by itself, None: it does not.
    """
    app, streams = application(service)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="on",
        loop="asyncio",
        http="h11",
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEADERS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACEFUL,
        proxy_headers=False,
    )
    server = ServiceServer(config, streams)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)

    async def serve() -> None:
        if lifetime is not None:
            asyncio.get_running_loop().call_later(lifetime, server.handle_exit, 0, None)
        await server.serve(sockets=[listening])

    # A whole collection holds up all requests: what is there now need not be examined again.
    gc.freeze()
    rare = gc.get_threshold()
    gc.set_threshold(*COLLECTED)
    service.start()
    try:
        asyncio.run(serve())
    finally:
        service.stop()
        sys.setswitchinterval(before)
        gc.set_threshold(*rare)
        gc.unfreeze()
