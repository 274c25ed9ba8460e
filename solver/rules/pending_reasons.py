"""What a planned job waits for, in a sentence: the constraint that binds just before its start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...model.plan import PlannedJob
from ..availability.demand import Availability, Demand, Room, TermDemand
from ..availability.profile import Profile
from ..availability.resources import SLOTS
from ..availability.room import SLACK, UNBOUND
from ..availability.uses import Alternative, Per
from ..placement import fits
from ..placement.earliest import Start, earliest_start
from ..placement.supply import busy_units
from ..problem import PlanningProblem


def what_it_waits_for(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    profile: Profile,
    planned: Sequence[PlannedJob] = (),
    *,
    finishes_only: bool = False,
) -> str:
    """Why the job cannot start at the instant before `start`, "" if it starts at once.

    planned: the jobs planned before it, so that the ones it waits for can be named.
    finishes_only: the start was looked for at finish times only (TBR-02).
    """
    if start.time <= demand.earliest:
        held_back = demand.earliest > problem.instance.now
        return "its begin time (-b)" if held_back and start.time == demand.earliest else ""
    times = profile.candidate_times(demand.earliest, finishes_only=finishes_only)
    instant = next(time for time in reversed(times) if time < start.time)
    if not profile.open_for(demand, instant):
        return "a dispatch or run window"
    ends = _opening_hosts(problem, demand, start, instant) or _enders(
        problem, demand, start, planned
    )
    return shortage(problem, demand, profile, instant) + ends


def _opening_hosts(problem: PlanningProblem, demand: Demand, start: Start, instant: int) -> str:
    """Which of the hosts it takes were closed by their own dispatch windows."""
    closed = None if demand.calendar is None else demand.calendar.closed_hosts(instant)
    if closed is None:
        return ""
    names = problem.named({host: 1 for host in start.allocation if closed[host]})
    return f"; waits for the dispatch window of {_some(list(names))}" if names else ""


def _hosts_concerned(problem: PlanningProblem, demand: Demand, start: Start) -> set[str]:
    """The hosts that it takes, under cu[excl] all hosts of its units."""
    hosts = dict.fromkeys(start.allocation, 1)
    for term, allocation in zip(demand.terms, start.terms, strict=False):
        if term.unit is not None and term.unit.excl:
            inside = np.isin(term.unit.unit_of, term.unit.unit_of[list(allocation)])
            hosts |= dict.fromkeys(np.flatnonzero(inside).tolist(), 1)
    return set(problem.named(hosts))


def _enders(
    problem: PlanningProblem, demand: Demand, start: Start, planned: Sequence[PlannedJob]
) -> str:
    """Which jobs and advance reservations end at the start on the hosts that concern it."""
    names = _hosts_concerned(problem, demand, start)
    enders = [
        running.job.id
        for running in problem.running_until(start.time)
        if names & set(running.allocation)
    ]
    enders += [
        item.job for item in planned if item.finish == start.time and names & set(item.allocation)
    ]
    if problem.honours_windows:
        enders += [
            f"advance reservation {item.name}"
            for item in problem.instance.advance_reservations
            if item.end == start.time and names & set(item.slots)
        ]
    if enders:
        return f"; waits for the end of {_some(enders)}"
    givers = _givers(problem, start, names, planned)
    return f"; waits for {_some(givers)} to hold less" if givers else ""


def _givers(
    problem: PlanningProblem, start: Start, names: set[str], planned: Sequence[PlannedJob]
) -> list[str]:
    """Jobs on these hosts one of whose reservations falls at the start: a phase or a decay."""
    index = problem.instance.cluster.host_index()
    demands = {demand.job.id: demand for demand in problem.demands}
    held = [
        (running.job.id, running.start, alternative)
        for running in problem.instance.running
        if names & set(running.allocation)
        for alternative, _ in problem.resolver.running_uses(
            running, {index[name]: slots for name, slots in running.allocation.items()}
        )
    ]
    held += [
        (item.job, item.start, term.alternatives[item.alternative])
        for item in planned
        if item.start is not None and names & set(item.allocation)
        for term in demands[item.job].terms
    ]
    falling = [
        job
        for job, since, alternative in held
        for use in (*alternative.host_uses, *alternative.pool_uses)
        if start.time - since in use.reservation.drops()
    ]
    return list(dict.fromkeys(falling))


def counted(number: int, noun: str, more: str = "") -> str:
    """``1 slot``, ``2 slots``; more: words behind the noun."""
    text = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{text} {more}" if more else text


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def shortage(
    problem: PlanningProblem, demand: Demand, availability: Availability, instant: int
) -> str:
    """The first constraint that fails at `instant`, as numbers (LOP-01)."""
    for term in demand.terms:
        reasons = [
            _term_shortage(problem, demand, term, availability, instant, number)
            for number in range(len(term.alternatives))
        ]
        if all(reasons):
            return reasons[0]
    if len(demand.terms) > 1:
        return "its terms together: each fits alone, not all at once"
    return "the plan as a whole: an earlier start would delay other jobs or gain nothing"


def _term_shortage(
    problem: PlanningProblem,
    demand: Demand,
    term: TermDemand,
    availability: Availability,
    instant: int,
    number: int,
) -> str:
    alternative = term.alternatives[number]
    if alternative.missing:
        return alternative.missing
    room = availability.room(demand, term, alternative, instant)
    if fits(term, room):
        return ""
    for group in room.groups:
        inside = np.zeros_like(room.caps)
        inside[group.mask] = room.caps[group.mask]
        if (
            group.slots is not None
            and group.slots < term.slots
            and not (room.caps[~group.mask].any())
        ):
            return (
                f"needs {counted(term.slots, 'slot')} under {group.reason}, "
                f"which leaves {group.slots}"
            )
    for use in alternative.pool_uses:
        pool = problem.resolver.table.pools[use.index]
        free = max(0.0, availability.free_in_pool(use.index, instant))
        if free + SLACK < use.reservation.initial:
            slots = term.slots if use.per is Per.SLOT and pool.mask[term.candidates].all() else 1
            needed = use.reservation.initial * slots
            return f"{pool.reason}: needs {needed:.10g}, has {free:.10g}"
    return _host_shortage(problem, term, availability, room, instant, number)


def _host_shortage(
    problem: PlanningProblem,
    term: TermDemand,
    availability: Availability,
    room: Room,
    instant: int,
    number: int,
) -> str:
    free = np.maximum(availability.free(SLOTS, instant), 0)
    alternative = term.alternatives[number]
    lacking = _binding_beside_slots(problem, term, alternative, availability, instant)
    also = " ".join(lacking)
    wanted = counted(term.slots, "free slot", also)
    if term.one_host:
        best = int(room.caps.max(initial=0))
        return f"needs one host with {wanted}, the best has {best}"
    if alternative.host_uses[0].per is Per.WHOLE:
        idle = int((room.caps > 0).sum())
        return f"needs hosts without any other job, has {idle}"
    if term.ptile is not None and term.candidates.size:
        text = _tile_shortage(term, room, also)
        if text:
            return text
    total = int(np.minimum(room.caps, UNBOUND).sum())
    if total < term.slots:
        open_slots = int(free[term.candidates].sum()) if lacking else total
        extra = f" (free slots: {open_slots})" if open_slots > total else ""
        return f"needs {wanted}, has {total}{extra}"
    if term.unit is not None:
        return _unit_shortage(term, room)
    if term.same:
        return f"needs {wanted} on hosts that agree in same[]"
    return f"needs {wanted} in the shape it asks for"


def _tile_shortage(term: TermDemand, room: Room, also: str) -> str:
    """Too few hosts with a whole block of span[ptile], or none for the rest; "" if there are."""
    assert term.ptile is not None
    tile = min(int(term.ptile[term.candidates].max()), term.slots)
    blocks, rest = divmod(term.slots, tile)
    caps = room.caps[term.candidates]
    have = int((caps >= tile).sum())
    text = f"needs {counted(blocks, 'host')} with {counted(tile, 'free slot', also)}"
    if rest:
        text += f" and one with {rest}"
    if have < blocks:
        return f"{text}, has {have}"
    lone = rest and int((caps >= rest).sum()) == blocks
    return f"{text}, has no other for the {rest}" if lone else ""


def _binding_beside_slots(
    problem: PlanningProblem,
    term: TermDemand,
    alternative: Alternative,
    availability: Availability,
    instant: int,
) -> list[str]:
    """What leaves fewer slots than are free on some candidate: amounts and limits on a host."""
    wanted = np.minimum(availability.free(SLOTS, instant), term.slots)[term.candidates]
    found: list[str] = []
    for use in alternative.host_uses[1:]:
        held = use.reservation.initial
        if held <= 0:
            continue
        times = (availability.free(use.index, instant)[term.candidates] + SLACK) / held
        if use.per is not Per.SLOT:
            times = np.where(times >= 1, np.inf, 0)
        if (np.floor(times) < wanted).any():
            resource = problem.resolver.table.host_resources[use.index]
            is_amount = resource.reason == f"{resource.name} available"
            found.append(f"{'and' if is_amount else 'under'} {resource.reason}")
    return found


def _unit_shortage(term: TermDemand, room: Room) -> str:
    unit = term.unit
    assert unit is not None
    wishes = [
        text
        for text, asked in (
            (f"maxcus={unit.maxcus}", unit.maxcus is not None),
            ("balance", unit.balance),
            (f"usablecuslots={unit.usablecuslots}", unit.usablecuslots is not None),
            ("excl", unit.excl),
        )
        if asked
    ]
    owned = unit.unit_of >= 0
    totals = np.bincount(unit.unit_of[owned], weights=room.caps[owned], minlength=len(unit.names))
    text = f"needs {counted(term.slots, 'slot')} under cu[{':'.join(wishes)}]; "
    if unit.excl and room.idle is not None:
        alone = ~busy_units(unit, room.idle)
        slots = f", with {counted(int(totals[alone].sum()), 'slot')}" if alone.any() else ""
        return text + f"{alone.sum()} of {len(alone)} units are without other jobs{slots}"
    most = unit.maxcus or 1
    best = np.argsort(-totals, kind="stable")[:most]
    have = int(totals[best].sum())
    short = unit.maxcus is not None and have < term.slots
    lacks = f" and lack{'s' * (most == 1)} {term.slots - have}" if short else ""
    if most > 1:
        return text + f"the {most} fullest have {have}{lacks}"
    return text + f"the fullest choice, {unit.names[best[0]]}, has {have}{lacks}"


def amounts_short(
    problem: PlanningProblem, demand: Demand, availability: Availability, instant: int
) -> str:
    """Memory and the like that no candidate with a free slot has enough of, "" if none."""
    found: list[str] = []
    for term in demand.terms:
        open_hosts = term.candidates[availability.free(SLOTS, instant)[term.candidates] >= 1]
        for use in term.alternatives[0].host_uses[1:] if open_hosts.size else ():
            resource = problem.resolver.table.host_resources[use.index]
            asked = use.reservation.initial
            most = float(availability.free(use.index, instant)[open_hosts].max())
            if resource.reason == f"{resource.name} available" and most + SLACK < asked:
                found.append(
                    f"of {resource.name} it asks for {asked:g}, no host has more than {most:g}"
                )
    return "; ".join(dict.fromkeys(found))


def reason_unplaced(problem: PlanningProblem, demand: Demand) -> str:
    """Why a job has no start in any plan."""
    if demand.impossible:
        return demand.impossible
    if earliest_start(problem.empty, demand) is None:
        return "does not fit on this cluster even when nothing runs: " + shortage(
            problem, demand, problem.empty, demand.earliest
        )
    endless = [running.job.id for running in problem.endless()]
    if endless:
        shown = ", ".join(endless[:3]) + (" and more" if len(endless) > 3 else "")
        return f"waits for jobs whose end is unknown (no run limit): {shown}"
    return "the jobs before it hold its places for ever (they have no run limit)"
