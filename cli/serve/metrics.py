"""Counters of the service as Prometheus reads them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from mimetypes import types_map
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .service import Service

#: Content type of the text format.
CONTENT_TYPE = f"{types_map['.txt']}; version=0.0.4; charset=utf-8"


def metrics_text(service: Service) -> str:
    """Return all metrics; no name of a job, user or host is among them."""
    return "".join(f"{line}\n" for line in _lines(service))


def _metric(name: str, kind: str, what: str, *values: tuple[str, float]) -> Iterator[str]:
    yield f"# HELP slotwise_{name} {what}"
    yield f"# TYPE slotwise_{name} {kind}"
    for labels, value in values:
        yield f"slotwise_{name}{labels} {value:g}"


def _lines(service: Service) -> Iterator[str]:
    state, planner, poller = service.board.state, service.planner, service.poller
    polled, plans = state.polled, planner.counters
    age = -1.0 if polled is None else service.clock() - polled.read_at
    yield from _metric(
        "state_age_seconds", "gauge", "Time since the last successful poll.", ("", age)
    )
    stale = float(service.is_stale(state))
    yield from _metric("stale", "gauge", "1 if the state is stale.", ("", stale))
    yield from _metric("polls_total", "counter", "Polls.", ("", poller.polls))
    yield from _metric("poll_failures_total", "counter", "Failed polls.", ("", poller.failures))
    open_ = float(poller.breaker.is_open)
    yield from _metric("breaker_open", "gauge", "1 if polls are made less often.", ("", open_))
    yield from _metric("plans_total", "counter", "States planned as a whole.", ("", plans.plans))
    yield from _metric("plan_failures_total", "counter", "Failed plans.", ("", plans.failures))
    yield from _metric("plan_seconds", "gauge", "Seconds of the last plan.", ("", plans.seconds))
    yield from _metric(
        "first_starts_seconds", "gauge", "From a poll to its first starts.", ("", plans.first)
    )
    yield from _metric("plan_delay_seconds", "gauge", "From a poll to its plan.", ("", plans.delay))
    running = 0 if polled is None else len(polled.instance.running)
    yield from _metric("running_jobs", "gauge", "Running jobs.", ("", running))
    states = Counter(
        "not examined" if row.planned is None else row.planned.listed.state for row in state.rows
    )
    values = [(f'{{state="{name}"}}', count) for name, count in sorted(states.items())]
    yield from _metric("pending_jobs", "gauge", "Pending jobs by state.", *values)
    questions, requests = service.questions, service.requests
    yield from _metric("questions_waiting", "gauge", "Questions waiting.", ("", questions.waiting))
    yield from _metric("questions_total", "counter", "Questions done.", ("", questions.answered))
    yield from _metric(
        "questions_refused_total", "counter", "Refused questions.", ("", questions.refused)
    )
    found = [(f'{{status="{code}"}}', n) for code, n in sorted(requests.by_status.items())]
    yield from _metric("requests_total", "counter", "Requests by status.", *found)
    yield from _metric(
        "request_seconds_total", "counter", "Seconds of all requests.", ("", requests.seconds)
    )
    yield from _metric("streams", "gauge", "Open event streams.", ("", requests.streams))
    if (notices := service.notifier) is not None:
        yield from _metric(
            "notices_total", "counter", "Moved starts delivered.", ("", notices.sent)
        )
        yield from _metric(
            "notices_lost_total", "counter", "Moved starts not delivered.", ("", notices.lost)
        )
    yield from _metric("resident_bytes", "gauge", "Resident memory.", ("", resident_bytes()))


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
