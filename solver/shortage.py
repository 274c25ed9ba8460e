"""What is missing at an instant, as a sentence whose numbers are data (LOP-01)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np

from ..model.gpu_request import PHYSICAL
from ..model.pending import Pending
from .availability.demand import Availability, Demand, Room, TermDemand
from .availability.resources import SLOTS
from .availability.room import SLACK, UNBOUND, met, stretches
from .availability.uses import Alternative, Per, Use
from .placement import fits
from .placement.supply import busy_units
from .problem import PlanningProblem

#: The moment that a number of a sentence is of; see :data:`HAS`.
Moment: TypeAlias = Literal["now", "just before", "has"]


class Has(str):
    """Where a sentence says of which moment its number is."""

    __slots__ = ()


#: ``needs 4 free slots (now 0)``: in a sentence about no moment in particular ``(has 0 to 3)``.
HAS = Has("has")


class Reason:
    """A sentence in parts: texts, and between them the numbers that change with the instant.

    Reasons of one kind (:attr:`kind`) differ in these numbers alone.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: str | float) -> None:
        self.parts = parts

    @classmethod
    def counting(cls, needs: str, number: float, *more: str | float, best: bool = False) -> Reason:
        """What is needed, and in brackets how much of it there is; more: what follows in them.

        best: it is the most that one host has.
        """
        return cls(f"{needs} (", HAS, " ", number, " at best" * best, *more, ")")

    @classmethod
    def joined(cls, reasons: Iterable[Reason]) -> Reason:
        """Several sentences in one."""
        first, *others = reasons
        return cls(*first.parts, *chain.from_iterable(("; ", *other.parts) for other in others))

    @property
    def kind(self) -> tuple[str | None, ...]:
        """The texts alone."""
        return tuple(part if isinstance(part, str) else None for part in self.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        return over([self])

    def at(self, moment: Moment) -> str:
        """The sentence with its number as one of that moment; without such a number as it is."""
        return over([Reason(*(moment if part is HAS else part for part in self.parts))])

    @property
    def counts(self) -> bool:
        """Whether the sentence says of which moment its number is."""
        return HAS in self.parts


def over(reasons: Sequence[Reason]) -> str:
    """Reasons of one kind as one sentence, numbers that differ as ``0 to 5``."""
    columns = zip(*(reason.parts for reason in reasons), strict=True)
    return "".join(
        column[0] if isinstance(column[0], str) else _range([float(n) for n in column])
        for column in columns
    )


def _range(numbers: list[float]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"


def counted(number: int, noun: str, more: str = "") -> str:
    """``1 slot``, ``2 slots``; more: words behind the noun."""
    text = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{text} {more}" if more else text


def find_shortage(
    problem: PlanningProblem, demand: Demand, availability: Availability, instant: int
) -> Reason:
    """The first constraint that fails at `instant`, as numbers (LOP-01)."""
    for term in demand.terms:
        reasons = [
            _term_shortage(problem, demand, term, availability, instant, number)
            for number in range(len(term.alternatives))
        ]
        if reasons[0] is not None and None not in reasons:
            return reasons[0]
    if len(demand.terms) > 1:
        return Reason("its terms together: each fits alone, not all at once")
    return Reason("the plan as a whole: an earlier start would delay other jobs or gain nothing")


def _term_shortage(
    problem: PlanningProblem,
    demand: Demand,
    term: TermDemand,
    availability: Availability,
    instant: int,
    number: int,
) -> Reason | None:
    alternative = term.alternatives[number]
    if alternative.missing:
        return Reason(alternative.missing)
    room = availability.room(demand, term, alternative, instant)
    if fits(term, room):
        return None
    closed = availability.just_accepted(demand, instant)
    if closed is not None and fits(
        term, availability.room(replace(demand, interval=None), term, alternative, instant)
    ):
        each = (
            f"each {demand.interval} s" if demand.interval else "in the interval of another queue"
        )
        return Reason(f"one job a host {each} (JOB_ACCEPT_INTERVAL)")
    for group in room.groups:
        inside = np.zeros_like(room.caps)
        inside[group.mask] = room.caps[group.mask]
        if (
            group.slots is not None
            and group.slots < term.slots
            and not (room.caps[~group.mask].any())
        ):
            wanted = counted(term.slots, "slot")
            return Reason(f"needs {wanted} under {group.reason}, which leaves ", group.slots)
    points = _points(demand, availability, instant)
    for use in alternative.pool_uses:
        short = _short_of_pool(use, availability, points)
        if short is not None:
            held, free = short
            pool = problem.resolver.table.pools[use.index]
            slots = term.slots if use.per is Per.SLOT and pool.mask[term.candidates].all() else 1
            return Reason.counting(f"{pool.reason}: needs {held * slots:.10g}", free)
    return _host_shortage(problem, demand, term, availability, room, points, number)


def _points(demand: Demand, availability: Availability, instant: int) -> list[int]:
    """An instant, and those in the job's window from it at which less may be free."""
    length = demand.duration
    starts = (start for start in availability.later_starts if start > instant)
    return [instant, *(s for s in starts if length is None or s < instant + length)]


def _short_of_pool(
    use: Use, availability: Availability, points: Sequence[int]
) -> tuple[float, float] | None:
    """What a use takes, and the less that a pool has somewhere in the window; None if enough."""
    for held, stretch in stretches(use, points):
        free = max(0.0, availability.least_free_in_pool(use.index, stretch))
        if free + SLACK < held:
            return held, free
    return None


def _host_shortage(
    problem: PlanningProblem,
    demand: Demand,
    term: TermDemand,
    availability: Availability,
    room: Room,
    points: Sequence[int],
    number: int,
) -> Reason:
    free = np.maximum(availability.least_free(SLOTS, points), 0)
    alternative = term.alternatives[number]
    lacking = _binding_beside_slots(problem, demand, term, alternative, availability, points)
    also = " ".join(lacking)
    wanted = counted(term.slots, "free slot", also)
    if term.one_host:
        best = int(room.caps.max(initial=0))
        if best >= term.slots and term.unit is not None:
            return _unit_shortage(term, room)
        return Reason.counting(f"needs one host with {wanted}", best, best=True)
    if term.ptile is not None and term.candidates.size:
        found = _tile_shortage(term, room, also)
        if found is not None:
            return found
    if term.block > 1 and (found := _block_shortage(term, room, also)) is not None:
        return found
    total = int(np.minimum(room.caps, UNBOUND).sum())
    if total < term.slots:
        open_slots = int(free[term.candidates].sum()) if lacking else total
        extra = ("; free slots: ", open_slots) if open_slots > total else ()
        return Reason.counting(f"needs {wanted}", total, *extra)
    if term.unit is not None:
        return _unit_shortage(term, room)
    if term.same:
        return Reason(f"needs {wanted} on hosts that agree in same[]")
    return Reason(f"needs {wanted} in the shape it asks for")


def _tile_shortage(term: TermDemand, room: Room, also: str) -> Reason | None:
    """Too few hosts with a whole block of span[ptile], or none for the rest."""
    assert term.ptile is not None
    tile = min(int(term.ptile[term.candidates].max()), term.slots)
    blocks, rest = divmod(term.slots, tile)
    caps = room.caps[term.candidates]
    have = int((caps >= tile).sum())
    each = " each" if blocks > 1 else ""
    text = f"needs {counted(blocks, 'host')} with {counted(tile, 'free slot', also)}{each}"
    if rest:
        text += f" and one with {rest}"
    if have < blocks:
        return Reason.counting(text, have)
    lone = rest and int((caps >= rest).sum()) == blocks
    return Reason(f"{text}, has no other for the {rest}") if lone else None


def _block_shortage(term: TermDemand, room: Room, also: str) -> Reason | None:
    """Too few blocks of span[block], or no room for the smaller one."""
    blocks, rest = divmod(term.slots, term.block)
    caps = np.minimum(room.caps[term.candidates], term.slots)
    have = int((caps // term.block).sum())
    text = f"needs {counted(blocks, 'block')} of {counted(term.block, 'free slot', also)}"
    if rest:
        text += f" and one of {rest}"
    if have < blocks:
        return Reason.counting(text, have)
    lone = rest and have == blocks and not (caps % term.block >= rest).any()
    return Reason(f"{text}, has no place for the {rest}") if lone else None


def _binding_beside_slots(
    problem: PlanningProblem,
    demand: Demand,
    term: TermDemand,
    alternative: Alternative,
    availability: Availability,
    points: Sequence[int],
) -> list[str]:
    """What leaves fewer slots than are free on some candidate: other jobs, amounts and limits."""
    wanted = np.minimum(availability.least_free(SLOTS, points), term.slots)[term.candidates]
    whole = alternative.host_uses[0].per is Per.WHOLE
    found: list[str] = ["and no other job there"] if whole else []
    for use in alternative.host_uses[1:]:
        binds = False
        for held, free in met(availability, use, points):
            times = (free[term.candidates] + SLACK) / held
            if use.per is not Per.SLOT:
                times = np.where(times >= 1, np.inf, 0)
            binds = binds or bool((np.floor(times) < wanted).any())
        if binds:
            resource = problem.resolver.table.host_resources[use.index]
            is_amount = resource.reason == f"{resource.name} available"
            text = f"{'and' if is_amount else 'under'} {resource.reason}"
            is_gpu = resource.name == PHYSICAL
            found.append(_gpus(problem, demand, term, use) if is_gpu else text)
    return found


def _gpus(problem: PlanningProblem, demand: Demand, term: TermDemand, use: Use) -> str:
    """``and 2 free A100 GPUs on each host``."""
    asked = problem.resolver.gpus(demand.job)
    kind = f"{asked.model} GPU" if asked is not None and asked.model else "GPU"
    where = {Per.SLOT: "for each", Per.JOB: "on its first host"}.get(use.per, "on each host")
    if term.one_host or term.slots == 1:
        where = "for each" if use.per is Per.SLOT and term.slots > 1 else ""
    return f"and {counted(round(use.reservation.initial), f'free {kind}', where)}"


def _unit_shortage(term: TermDemand, room: Room) -> Reason:
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
        return Reason(f"{text}{alone.sum()} of {len(alone)} units are without other jobs{slots}")
    most = unit.maxcus or 1
    best = np.argsort(-totals, kind="stable")[:most]
    have = int(totals[best].sum())
    short = unit.maxcus is not None and have < term.slots
    lacks = (f" and lack{'s' * (most == 1)} ", term.slots - have) if short else ()
    if most > 1:
        return Reason(f"{text}the {most} fullest have ", have, *lacks)
    return Reason(f"{text}the fullest choice, {unit.names[best[0]]}, has ", have, *lacks)


def amounts_short(
    problem: PlanningProblem, demand: Demand, availability: Availability, instant: int
) -> Reason | None:
    """Memory and the like that no candidate with a free slot has enough of, None if none."""
    found: list[Reason] = []
    points = _points(demand, availability, instant)
    slots = availability.least_free(SLOTS, points)
    for term in demand.terms:
        open_hosts = term.candidates[slots[term.candidates] >= 1]
        for use in term.alternatives[0].host_uses[1:] if open_hosts.size else ():
            resource = problem.resolver.table.host_resources[use.index]
            if resource.short is not Pending.RUSAGE:
                continue
            for held, free in met(availability, use, points):
                most = max(0.0, float(free[open_hosts].max()))
                if most + SLACK < held:
                    name = "GPUs" if resource.name == PHYSICAL else resource.name
                    text = f"of {name} it asks for {held:.10g}, no host has more than "
                    found.append(Reason(text, most))
                    break
    return Reason.joined(dict.fromkeys(found)) if found else None
