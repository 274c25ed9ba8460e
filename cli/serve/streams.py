"""Streams of server-sent events: each client learns that there is a new state."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from .access import Viewer
from .answers import dumped, state_record
from .board import BoardState
from .service import Service

#: Open streams at most.
MAX_STREAMS = 500
#: Seconds between two signs of life, in which a state may become stale.
HEARTBEAT = 15.0
#: Seconds between two events of one stream at least.
MIN_GAP = 0.25


class Streams:
    """The open streams. States come from other threads, streams live in the event loop."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closing = False
        service.board.listen(self._tell)

    def begin(self) -> None:
        """Begin in the running event loop."""
        self._loop = asyncio.get_running_loop()

    def close(self) -> None:
        """End all streams."""
        self.closing = True
        self._wake()

    def _tell(self, _state: BoardState) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for event in self._waiting:
            event.set()

    def stream(self, last: str, viewer: Viewer) -> EventStream | None:
        """Return a stream that counts from now on, None if no further one is taken.

        last: the state that the client has, "": none.
        """
        if len(self._waiting) >= MAX_STREAMS:
            return None
        event = asyncio.Event()
        self._waiting.add(event)
        self._service.requests.streams = len(self._waiting)
        return EventStream(self._events(event, last, viewer), lambda: self._finished(event))

    def _finished(self, event: asyncio.Event) -> None:
        self._waiting.discard(event)
        self._service.requests.streams = len(self._waiting)

    async def _events(
        self, event: asyncio.Event, last: str, viewer: Viewer
    ) -> AsyncIterator[bytes]:
        sent: tuple[Any, ...] = (last, None)
        yield b"retry: 3000\n\n"
        while not self.closing:
            event.clear()
            state = self._service.board.state
            stale = self._service.is_stale(state)
            if (str(state.version), stale) != sent:
                head = state_record(state, self._service.title, viewer, stale=stale)
                sent = (str(state.version), stale)
                data = dumped(head).decode()
                yield f"id: {state.version}\nevent: state\ndata: {data}\n\n".encode()
                await asyncio.sleep(MIN_GAP)
            else:
                yield b": alive\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), HEARTBEAT)


class EventStream(StreamingResponse):
    """The response to one client; `finished` is called at its end, even if it never began."""

    def __init__(self, events: AsyncIterator[bytes], finished: Callable[[], None]) -> None:
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        super().__init__(events, headers=headers, media_type="text/event-stream")
        self._finished = finished

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._finished()
