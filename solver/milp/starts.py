"""Candidate instants: a set of starts that holds an optimum of every regular objective.

Move every job of a plan to the left as far as it goes: each then starts at its own earliest
instant, where something that runs or is reserved ends, where a window opens, where another job
ends or a phase of its memory does, or where others let it go (-w). So a start is one of the fixed
instants plus spans of other jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..availability.demand import Demand
from ..precedence import afters_of, known_times
from ..problem import PlanningProblem


class TooMany(Exception):
    """There are more candidates than the model may have."""


def spans(demand: Demand) -> set[int]:
    """Seconds after the start at which the job gives something back."""
    found = {
        drop
        for term in demand.terms
        for alternative in term.alternatives
        for use in (*alternative.host_uses, *alternative.pool_uses)
        for drop in use.reservation.drops()
        if demand.duration is None or drop < demand.duration
    }
    return found if demand.duration is None else {*found, demand.duration}


def instants(
    problem: PlanningProblem, demand: Demand, settled: Iterable[tuple[Demand, int]] = ()
) -> list[int]:
    """Instants at which `demand` may first fit beside jobs whose starts are fixed, ascending."""
    times = set(problem.base.candidate_times(demand.earliest))
    times |= {start + span for other, start in settled for span in spans(other)}
    kept = sorted(time for time in times if time >= demand.earliest)
    return problem.base.with_openings(demand, kept)


def steps_to(demand: Demand, before: Demand) -> set[int]:
    """Seconds after the start of another job at which this one may be the first to fit."""
    awaited = () if demand.after is None else afters_of(demand.after)
    return spans(before) | {item.lag for item in awaited if item.job == before.job.id}


def closure(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    keep: Mapping[str, Callable[[int], bool]],
    most: int,
) -> dict[str, list[int]]:
    """Candidate starts of every job; `keep` says which are still of use.

    Raises TooMany when there are more than `most` in all.
    """
    known: dict[tuple[int, int], set[int]] = {}
    full = (1 << len(demands)) - 1
    count = 0

    def reach(number: int, others: int) -> set[int]:
        """Starts of a job that follow a chain of some of the `others` (a bit each)."""
        nonlocal count
        key = (number, others)
        if key not in known:
            demand = demands[number]
            times = {demand.earliest, *problem.base.candidate_times(demand.earliest)}
            times |= set() if demand.after is None else known_times(demand.after)
            for other, before in enumerate(demands):
                if others >> other & 1:
                    steps = steps_to(demand, before)
                    earlier = reach(other, others & ~(1 << other))
                    times |= {time + step for time in earlier for step in steps}
            starts = sorted(time for time in times if time >= demand.earliest)
            opened = problem.base.with_openings(demand, starts)
            known[key] = {time for time in opened if keep[demand.job.id](time)}
            count += len(known[key])
            if count > 4 * most:
                raise TooMany
        return known[key]

    found = {
        demand.job.id: sorted(reach(number, full & ~(1 << number)))
        for number, demand in enumerate(demands)
    }
    if sum(map(len, found.values())) > most:
        raise TooMany
    return found
