"""The HTTP server: a socket, uvicorn, and an end within seconds after a signal."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...model.errors import InputError, Problem
from .api import Streams, application
from .service import Service

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: Seconds for open requests to end.
GRACEFUL = 2
#: Connections at most; a further one takes the place of one without a request, or gets status 503.
MAX_CONNECTIONS = 1_000
#: Connections at most that one pass accepts.
BACKLOG = 128
#: Seconds after which a connection ends that sends no whole request, or reads no answer.
IDLE_SECONDS = 15
#: Bytes of the headers of a request.
MAX_HEADERS = 16_384
#: Seconds between two threads' turns: a request waits for no longer while a plan is computed.
SWITCH_SECONDS = 0.001
#: Thresholds of the garbage collector, as of `gc.set_threshold`.
COLLECTED = (10_000, 20, 20)


class BoundedConnection(H11Protocol):
    """A connection that is closed if nothing comes of it, or if others need its place."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the place of the connection that has been idle longest if there are too many."""
        super().connection_made(transport)
        #: Time of the last progress, and bytes of the answer that were not read by then.
        self.since, self._unread = self.loop.time(), 0
        if len(self.connections) >= (self.limit_concurrency or MAX_CONNECTIONS):
            others = (item for item in self.connections if isinstance(item, BoundedConnection))
            idle = [item for item in others if item is not self and not item.is_answering]
            if idle:
                min(idle, key=lambda item: item.since).end()
            elif len(self.connections) > (self.limit_concurrency or MAX_CONNECTIONS):
                self.end()

    @property
    def is_answering(self) -> bool:
        """Whether a request is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        """Take an answer as progress."""
        self.since = self.loop.time()
        super().on_response_complete()

    def check(self) -> None:
        """Close the connection if the client has made no progress for too long."""
        unread, now = self.transport.get_write_buffer_size(), self.loop.time()
        if unread != self._unread or (self.is_answering and not unread):
            self.since, self._unread = now, unread
        elif now - self.since > IDLE_SECONDS:
            self.end()

    def end(self) -> None:
        """Close the connection, with what was not read."""
        self.connections.discard(self)
        self.transport.abort()


class ServiceServer(uvicorn.Server):
    """A server that closes its streams of events before it waits for requests to end."""

    def __init__(self, config: uvicorn.Config, streams: Streams) -> None:
        super().__init__(config)
        self._streams = streams

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by SIGINT and SIGTERM; the second one does not wait for requests."""
        ends = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in ends}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def on_tick(self, counter: int) -> bool:
        """Check the connections about once a second."""
        if counter % 10 == 0:
            for connection in [*self.server_state.connections]:
                if isinstance(connection, BoundedConnection):
                    connection.check()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the streams, then end the open requests."""
        self._streams.close()
        await super().shutdown(sockets)
        if self.force_exit:  # uvicorn cancels the application then, which logs a traceback
            await self.lifespan.shutdown()


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
    except (UnicodeError, socket.gaierror):
        raise InputError([Problem(f"must be a host name, not {host!r}", "--host")]) from None
    except OSError as error:
        wrong = f"{host!r}, port {port}: cannot listen: {error.strerror or error}"
        raise InputError([Problem(wrong, "--port")]) from None
    made.set_inheritable(False)
    return made


@contextmanager
def files_for(connections: int) -> Iterator[int]:
    """Let the process open twice as many files as there are connections; yield how many there are.

    The other files are those of polls and of the store. Where the system allows fewer, half of
    them are connections.
    """
    if resource is None:
        yield connections
        return
    soft, hard = before = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless, wanted = resource.RLIM_INFINITY, 2 * connections
    if soft != endless:
        soft = max(soft, wanted if hard == endless else min(wanted, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    try:
        yield connections if soft == endless else min(connections, soft // 2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let a request wait for no longer than it must while a plan is computed."""
    before, rare = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    # A whole collection holds up all requests: what is there now need not be examined again.
    gc.freeze()
    gc.set_threshold(*COLLECTED)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*rare)
        gc.unfreeze()


def run(service: Service, listening: socket.socket, lifetime: float | None = None) -> None:
    """Serve until a signal comes; starts and stops the service.

    lifetime: seconds after which it ends by itself, None: it does not.
    """
    app, streams = application(service)

    async def serve(server: ServiceServer) -> None:
        if lifetime is not None:
            asyncio.get_running_loop().call_later(lifetime, server.handle_exit, 0, None)
        await server.serve(sockets=[listening])

    with quick_turns(), files_for(MAX_CONNECTIONS) as connections:
        config = uvicorn.Config(
            app,
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="on",
            loop="asyncio",
            http=BoundedConnection,
            ws="none",
            limit_concurrency=connections,
            backlog=min(BACKLOG, connections // 4),
            h11_max_incomplete_event_size=MAX_HEADERS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=GRACEFUL,
            proxy_headers=False,
        )
        # A request that the end of the service cancels is no fault of the application.
        logging.getLogger("uvicorn.error").addFilter(
            lambda record: not (record.exc_info and record.exc_info[0] is asyncio.CancelledError)
        )
        server = ServiceServer(config, streams)
        service.start()
        try:
            asyncio.run(serve(server))
        finally:
            service.stop()
