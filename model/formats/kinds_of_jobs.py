"""Looks at jobs of which many are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..input_limits import counting
from ..job import Job
from ..polling import Poll, never, polled
from .finding import Finding, Location


def of_jobs(
    section: str,
    jobs: Sequence[Job],
    kind: Callable[[Job], Any],
    look: Callable[[Location, Job], Iterable[Finding]],
    poll: Poll = never,
) -> list[Finding]:
    """The findings of a look at each job, with its place.

    kind: all that the look depends on. One job of each kind is looked at first: of a sound section
    the others need none.
    """
    with counting():  # suggestions count where findings are told
        kinds = dict(zip(map(kind, jobs), jobs, strict=True))
        alike = polled(kinds.values(), poll)
        sound = not any(any(True for _ in look((), job)) for job in alike)
    if sound:
        return []
    numbered = enumerate(polled(jobs, poll))
    return [found for index, job in numbered for found in look((section, index), job)]
