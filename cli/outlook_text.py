"""The outlook of one job as sentences, the same in every command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..model.plan import proof_text
from .tables import hosts_text

if TYPE_CHECKING:
    from ..model.display import WrittenTimes
    from ..solver.outlook.records import JobOutlook

#: What is said of a job of each state, between its name and what must happen.
_STATES = {
    "starts if": "starts once something else happens:",
    "unknown end": "has no known start:",
    "impossible": "cannot start on this cluster:",
    "not examined": "was not examined: the limit was reached first",
}


def outlook_lines(
    clock: WrittenTimes, who: str, outlook: JobOutlook, wide: bool = False
) -> Iterator[str]:
    """A line on the start as configured, on the possible one, and on LSF's estimate."""
    yield f"{who} {_as_configured(clock, outlook, wide)}"
    if outlook.possible is not None:
        yield f"possible: {_possible(clock, outlook, wide)}"
    if outlook.estimate is not None:
        by = outlook.estimate_by
        early = "no sooner than " if by == "greedy" and outlook.estimate > _now(clock) else ""
        yield f"LSF's {by} estimate: {early}{clock.text(outlook.estimate)}"


def outlook_times(outlook: JobOutlook | None) -> tuple[int | None, ...]:
    """The times that the sentences name."""
    if outlook is None:
        return ()
    ends = outlook.as_configured_end
    return (outlook.as_configured, ends, outlook.possible, outlook.estimate, outlook.bound)


def _now(clock: WrittenTimes) -> int:
    return clock.instance.now


def _as_configured(clock: WrittenTimes, outlook: JobOutlook, wide: bool) -> str:
    if outlook.as_configured is not None:
        starts = "may start" if outlook.cautions else "starts"
        where = hosts_text(outlook.as_configured_on, wide)
        end = outlook.as_configured_end
        ends = "no known end" if end is None else f"ends {clock.text(end)}"
        return f"{starts} {clock.text(outlook.as_configured)} as configured, {ends}, on {where}"
    return f"{_STATES[outlook.state]} {outlook.condition}".rstrip()


def _possible(clock: WrittenTimes, outlook: JobOutlook, wide: bool) -> str:
    text = clock.text(outlook.possible)
    if proof := proof_text(outlook.proved, outlook.proved_if):
        text += f", {proof.replace('proved', 'proved the earliest', 1)}"
    elif outlook.bound is not None:
        text += f", not before {clock.text(outlook.bound)}"
    else:
        text += ", not proved"
    return f"{text}, on {hosts_text(outlook.possible_on, wide)}"
