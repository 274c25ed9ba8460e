"""A service without threads of its own: polls and plans are made when a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import slotwise as sw
from slotwise import Instance
from slotwise.cli.serve.access import Access
from slotwise.cli.serve.api import Streams, application
from slotwise.cli.serve.command import made
from slotwise.cli.serve.service import Service
from slotwise.model.errors import Problem

ORIGIN = "2026-03-02T09:00:00+01:00"


@dataclass
class Scripted:
    """A source that gives what a test has put into it: instances, or errors that it raises."""

    states: list[Instance | Exception]
    title: str = "lab"
    warnings: Sequence[Problem] = ()
    reads: int = 0

    def stamp(self) -> tuple[int, ...]:
        return ()

    def read(self) -> tuple[Instance, Sequence[Problem]]:
        self.reads += 1
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return state, self.warnings


@dataclass
class Lab:
    """A service with its application and a clock that a test sets."""

    service: Service
    app: Any
    streams: Streams
    now: list[float] = field(default_factory=lambda: [1000.0])

    def poll(self) -> None:
        """Poll once, and plan what it has read."""
        board = self.service.board
        before = board.state.polled
        self.service.poller.poll(self.service.poller.source.stamp())
        polled = board.state.polled
        if polled is not None and polled is not before:
            self.service.planner.plan(polled)


def lab(*states: Instance | Exception, access: Access | None = None, **more: Any) -> Lab:
    """A service of these states that has polled and planned the first one."""
    source = Scripted(list(states))
    service = made(source, access or Access(True), every=10.0, **more)
    found = Lab(service, *application(service))
    service.poller.give = lambda polled: None
    service.clock = service.poller.clock = service.planner.clock = lambda: found.now[0]
    found.poll()
    return found


def by_header(name: str) -> Access:
    """Access to a local service whose viewers a header names."""
    return Access.of("127.0.0.1", None, name)


def joint_wins() -> Instance:
    """Two pending jobs, of which one could start earlier, with a date."""
    return replace(sw.load(sw.example("joint-wins")), origin=ORIGIN)
