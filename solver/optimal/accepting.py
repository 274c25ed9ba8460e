"""JOB_ACCEPT_INTERVAL between jobs at fixed starts, as rows of a model (TBR-16).

A host takes no job within the interval of that job's queue after another. Of jobs that start in
the same second any may be accepted first: one whose queue has an interval goes before those whose
queues have none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ortools.sat.python import cp_model

from .shared_capacity import PlacedChoice

Literal = cp_model.IntVar


def keep_apart(
    model: cp_model.CpModel, choices: Sequence[PlacedChoice], new: Sequence[PlacedChoice]
) -> None:
    """No two jobs share a host that start there too close to each other.

    new: only what these take part in gets a row.
    """
    intervals = {choice.demand.interval or 0 for choice in choices}
    if not any(intervals):
        return
    if len(intervals) == 1:
        _in_windows(model, choices, new, intervals.pop())
    else:
        _in_pairs(model, choices, new)


def _in_windows(
    model: cp_model.CpModel,
    choices: Sequence[PlacedChoice],
    new: Sequence[PlacedChoice],
    interval: int,
) -> None:
    """One job a host among all that start within an interval, which any two of them are."""
    times = {choice.time for choice in new}
    for last in sorted({choice.time for choice in choices}):
        if not any(last - interval < time <= last for time in times):
            continue
        together = [choice for choice in choices if last - interval < choice.time <= last]
        by_host: dict[int, list[Literal]] = defaultdict(list)
        for choice in together:
            for host, used in _hosts(model, choice).items():
                by_host[host].append(used)
        for literals in by_host.values():
            if len(literals) > 1:
                model.add_at_most_one(literals)


def _in_pairs(
    model: cp_model.CpModel, choices: Sequence[PlacedChoice], new: Sequence[PlacedChoice]
) -> None:
    for one in new:
        for other in choices:
            if one.demand is other.demand or not too_close(one, other):
                continue
            own = _hosts(model, one)
            for host, used in _hosts(model, other).items():
                if host in own:
                    model.add_bool_or([used.negated(), own[host].negated()])


def too_close(one: PlacedChoice, other: PlacedChoice) -> bool:
    """Whether two starts are too close to each other for one host."""
    first, second = sorted((one, other), key=lambda choice: choice.time)
    if first.time == second.time:
        return bool(first.demand.interval) and bool(second.demand.interval)
    return second.time < first.time + (second.demand.interval or 0)


def _hosts(model: cp_model.CpModel, choice: PlacedChoice) -> dict[int, Literal]:
    """Whether a job, if it is placed by this choice, is on a host; by host."""
    if len(choice.terms) == 1:
        return choice.terms[0].used
    found: dict[int, Literal] = {}
    by_host: dict[int, list[Literal]] = defaultdict(list)
    for shape in choice.terms:
        for host, used in shape.used.items():
            by_host[host].append(used)
    for host, literals in by_host.items():
        if len(literals) == 1:
            found[host] = literals[0]
        else:
            found[host] = model.new_bool_var("")
            model.add_max_equality(found[host], literals)
    return found
