"""Pending reasons of planned jobs: the constraint that binds just before the start, in words."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..model.display import WEEK, duration_text
from ..model.duration import crowded_past_deadline
from ..model.gpu_request import PHYSICAL
from ..model.instance import AdvanceReservation
from ..model.job import Job, RunningJob
from ..model.pending import NOW, Moment, Pending, Reason, Seconds, sentence
from ..model.plan import PlannedJob
from ..model.reserved_periods import KNOWN_WEEKS, recurring
from ..model.windows import open_periods
from .availability.demand import Availability, Demand, TermCapacity, TermDemand, closed_by
from .availability.profile import (
    SLACK,
    UNBOUND,
    Profile,
    close_hosts,
    stretches,
    uses_and_min_free,
)
from .availability.resources import SLOTS, Alternative, BoolArray, IntArray, Per, Use
from .beyond_capacity import beyond_capacity, in_unit
from .placement import fits
from .placement.earliest import Start, earliest_start
from .placement.supply import busy_units
from .problem import PlanningProblem
from .rules.omitted import on_loans
from .rules.rule_book import NOT_IN_A_PARTITION

FEW_SLOTS = Pending.FEW_SLOTS
#: Start of the reason of a job that fits nowhere, unless its text already says so.
NOWHERE = "does not fit on this cluster even when it is empty"
#: Start of the reason of a job whose hosts take no jobs yet.
WINDOW_OF = "the dispatch window of "
#: Reason of a job without a place in the known periods of recurring advance reservations.
BEYOND_KNOWN = (
    f"cannot start within {KNOWN_WEEKS} weeks; later periods of recurring advance reservations are "
    "not known"
)
#: Reason of a job that needs a loan, because guaranteed pools protect too much.
ON_A_LOAN = "starts on a loan of a guaranteed pool, which no plan predicts"
NOTHING_SHORT = Reason.of(
    Pending.POSTPONED,
    "the plan as a whole: an earlier start would delay other jobs or gain nothing",
)


def counted(number: int, noun: str, more: str = "") -> str:
    """Return text such as ``1 slot`` or ``2 slots``; more: words after the noun."""
    text = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
    return f"{text} {more}" if more else text


#: Function that returns the planned jobs that start at a second, each with its hosts.
Begins = Callable[[int], Iterable[tuple[str, Collection[str]]]]


def find_shortage(
    problem: PlanningProblem,
    demand: Demand,
    availability: Availability,
    instant: int,
    begins: Begins = lambda _: (),
) -> Reason:
    """Return the first constraint that fails at `instant`, as numbers (LOP-01).

    begins: names the jobs that start too soon if it fits there, but not for its whole run.
    """
    found = _find_shortage(problem, demand, availability, instant)
    if found is NOTHING_SHORT:
        return found
    periods = _reservations_of(problem)
    names = _candidates(problem, demand) if periods else set()
    near = [item for item in periods if not names.isdisjoint(item.slots)]
    active = [f"advance reservation {r.name}" for r in near if r.start <= instant < r.end]
    if active and found.kind is FEW_SLOTS and not demand.job.reservation:
        verb = "is" if len(active) == 1 else "are"
        return replace(found, parts=(*found.parts, f" while {listed(active)} {verb} active"))
    later = _points(demand, availability, instant)[1:]

    def is_short(time: int) -> bool:
        brief = replace(demand, duration=time - instant + 1, killed=None)
        return _find_shortage(problem, brief, availability, instant) is not NOTHING_SHORT

    if not later or is_short(instant) or not is_short(later[-1]):
        return found
    time = later[bisect.bisect_left(later, True, key=is_short)]
    names = _candidates(problem, demand)
    who = [name for name, on in begins(time) if not names.isdisjoint(on)]
    who += [f"advance reservation {item.name}" for item in near if item.start == time]
    return free_until(demand, found, time - instant, who)


def _candidates(problem: PlanningProblem, demand: Demand) -> set[str]:
    """Return the names of all hosts on which a job may run."""
    return {name for term in demand.terms for name in problem.names(term.candidates)}


def free_until(demand: Demand, short: Reason, seconds: int, begins: Sequence[str]) -> Reason:
    """Return the reason of a job that fits, but not for its run.

    short: what it lacks then. seconds: for how long it fits. begins: what begins then.
    """
    runs = "its whole run" if demand.runs is None else duration_text(demand.runs)
    until = f", until {listed(begins)} start{'s' * (len(begins) == 1)}" if begins else ""
    return free_but(demand, short, "only for ", Seconds(seconds), until, needs=f" for {runs}")


def free_but(demand: Demand, short: Reason, *why: str | float, needs: str = "") -> Reason:
    """Return the reason of a job for which enough is free, and why it may not have it.

    short: what it lacks; needs: more words on that.
    """
    wanted = f"needs {counted(demand.slots, 'slot')}"
    if short.counts:
        wanted = str(short.parts[0]).removesuffix(" (")
    return replace(short, parts=(f"{wanted}{needs}: free", NOW, ", but ", *why))


def _find_shortage(
    problem: PlanningProblem, demand: Demand, availability: Availability, instant: int
) -> Reason:
    for term in demand.terms:
        reasons = [
            _Examined(problem, demand, term, alternative, availability, instant).shortage()
            for alternative in term.alternatives
        ]
        if reasons[0] is not None and None not in reasons:
            return reasons[0]
    if len(demand.terms) > 1:
        return Reason.of(
            Pending.SPAN, "its terms together: each fits alone, but not all at the same time"
        )
    return NOTHING_SHORT


def _points(demand: Demand, availability: Availability, instant: int) -> list[int]:
    """Return an instant and those in the job's window from it at which less may be free."""
    length = demand.duration_from(instant)
    starts = (start for start in availability.later_starts if start > instant)
    return [instant, *(s for s in starts if length is None or s < instant + length)]


@dataclass(frozen=True, slots=True)
class _Binding:
    """An amount or a limit other than slots: the job's need, and the rest."""

    needs: str
    #: Texts and numbers, alternating.
    left: tuple[str | float, ...] = ()


@dataclass(frozen=True)
class _Examined:
    """One term of a job at one instant, under one alternative of its rusage string."""

    problem: PlanningProblem
    demand: Demand
    term: TermDemand
    alternative: Alternative
    availability: Availability
    instant: int

    @cached_property
    def points(self) -> Sequence[int]:
        """Return the instant and those in the job's window at which less may be free."""
        return _points(self.demand, self.availability, self.instant)

    def _fits(self, demand: Demand) -> bool:
        """Return whether the term fits at the instant if the job is as in `demand`."""
        return fits(self.term, self._capacity(demand))

    def _capacity(self, demand: Demand) -> TermCapacity:
        return self.availability.capacity(demand, self.term, self.alternative, self.instant)

    def shortage(self) -> Reason | None:
        """Return the first constraint that fails, None if the term fits."""
        problem, demand, term = self.problem, self.demand, self.term
        if self.alternative.missing:
            return Reason.of(Pending.RUSAGE, self.alternative.missing)
        capacity = self._capacity(demand)
        if fits(term, capacity):
            return None
        closed = self.availability.just_accepted(demand, self.instant)
        if closed is not None and self._fits(replace(demand, interval=None)):
            seconds = demand.interval
            each = f"each {seconds} s" if seconds else "in the interval of another queue"
            text = f"one job per host {each} (JOB_ACCEPT_INTERVAL)"
            return Reason.of(Pending.JUST_ACCEPTED, text)
        shut = _closed_by_windows(demand, self.instant)
        if shut and demand.calendar is not None:
            anytime = replace(demand, calendar=replace(demand.calendar, hosts=()))
            if self._fits(anytime):
                closed = np.logical_or.reduce(shut)
                hosts = problem.names(host for host in term.candidates if closed[host])
                text = f"{WINDOW_OF}{listed(hosts)} is closed"
                return Reason.of(Pending.HOST_WINDOW, text)
        for group in capacity.groups:
            if (
                group.slots is not None
                and group.slots < term.slots
                and not capacity.caps[~group.mask].any()
            ):
                wanted = counted(term.slots, "slot")
                text = f"needs {wanted} under {group.reason}, which leaves "
                return Reason.of(group.short, text, group.slots)
        return self._of_pools() or self._of_hosts(capacity)

    def _of_pools(self) -> Reason | None:
        """Return the first pool of which too little is free during the window."""
        problem, term = self.problem, self.term
        for use in self.alternative.pool_uses:
            for held, stretch in stretches(use, self.points):
                free = max(0.0, self.availability.min_free_in_pool(use.index, stretch))
                if free + SLACK >= held:
                    continue
                pool = problem.resolver.table.pools[use.index]
                each = use.per is Per.SLOT and pool.mask[term.candidates].all()
                slots = term.slots if each else 1
                amount, unit = in_unit(problem, pool.subject, held * slots)
                free, _ = in_unit(problem, pool.subject, free)
                needs = f"{pool.reason}: needs {amount:.10g}{unit}"
                return replace(
                    Reason.counting(pool.short, needs, free, unit), resource=pool.subject
                )
        return None

    def _of_hosts(self, capacity: TermCapacity) -> Reason:
        term = self.term
        if term.first_hosts is not None and fits(replace(term, first_hosts=None), capacity):
            return self._of_first_host(term.first_hosts, capacity)
        free = np.maximum(self.availability.min_free(SLOTS, self.points), 0)
        lacking = self._beside_slots()
        also = " ".join(item.needs for item in lacking)
        left = tuple(part for item in lacking for part in item.left)
        wanted = counted(term.slots, "free slot", also)
        if term.one_host:
            best = int(capacity.caps.max(initial=0))
            if best >= term.slots and term.unit is not None:
                return _unit_shortage(term, capacity)
            needs = f"needs one host with {wanted}"
            return Reason.counting(FEW_SLOTS, needs, best, *left, best=True)
        if term.ptile is not None and term.candidates.size:
            found = _tile_shortage(term, capacity, also, left)
            if found is not None:
                return found
        if term.block > 1 and (found := _block_shortage(term, capacity, also, left)) is not None:
            return found
        total = int(np.minimum(capacity.caps, UNBOUND).sum())
        if total < term.slots:
            open_slots = int(free[self._open_candidates()].sum()) if lacking else total
            extra = ("; free slots: ", open_slots) if open_slots > total else ()
            return Reason.counting(FEW_SLOTS, f"needs {wanted}", total, *extra, *left)
        if term.unit is not None:
            return _unit_shortage(term, capacity)
        shape = "on hosts that agree in same[]" if term.same else "in the requested shape"
        return Reason.of(Pending.SPAN, f"needs {wanted} {shape}")

    def _of_first_host(self, first: BoolArray, capacity: TermCapacity) -> Reason:
        """Return that only the host that must be the first (-m with !) keeps a term from a
        place.
        """
        term = self.term
        hosts = [int(host) for host in term.candidates if first[host]]
        names = self.problem.names(hosts)
        most = int(np.minimum(capacity.caps[hosts], UNBOUND).max(initial=0))
        one = len(names) == 1
        which = "its first execution host" if one else "one of its first execution hosts"
        wanted = counted(term.slots, "free slot") if term.one_host else "free slots"
        text = f"needs {wanted} on {which}{f', {listed(names)}' if names else ''}"
        return Reason.counting(Pending.FIRST_HOST, text, most)

    def _beside_slots(self) -> list[_Binding]:
        """Return the jobs, amounts and limits that leave fewer slots than are free on some
        candidate.
        """
        first, *uses = self.alternative.host_uses
        found = [_Binding("and no other job there")] if first.per is Per.WHOLE else []
        if not uses:
            return found
        hosts = self._open_candidates()
        slots = self.availability.min_free(SLOTS, self.points)[hosts]
        wanted = np.minimum(slots, self.term.slots)
        for use in uses:
            if use.index == self.problem.resolver.table.unreserved:
                continue  # find_shortage names the advance reservations
            short: tuple[float, float] | None = None
            for held, free in uses_and_min_free(self.availability, use, self.points):
                times = (free[hosts] + SLACK) / held
                if use.per is not Per.SLOT:
                    times = np.where(times >= 1, np.inf, 0)
                if bool((np.floor(times) < wanted).any()):
                    here = free[hosts][(slots >= 1) & np.isfinite(free[hosts])]
                    best = held, max(0.0, float(here.max(initial=0)))
                    short = best if short is None else min(short, best, key=lambda pair: pair[1])
            if short is not None:
                found.append(self._binding(use, *short))
        return found

    def _open_candidates(self) -> IntArray:
        """Return the candidate hosts that are open to the job at the instant."""
        is_open = np.ones(self.availability.hosts, dtype=bool)
        close_hosts(is_open, self.availability, self.demand, self.alternative, self.instant)
        return self.term.candidates[is_open[self.term.candidates]]

    def _binding(self, use: Use, held: float, best: float) -> _Binding:
        """Return the restricting resource.

        held: need of each host, slot or job; best: maximum left on a host.
        """
        resource, each = self.problem.resolver.table.host_resources[use.index], self._each(use)
        if resource.name == PHYSICAL:
            asked = self.problem.resolver.gpus(self.demand.job)
            kind = f"{asked.model} GPU" if asked is not None and asked.model else "GPU"
            needs = f"and {counted(round(use.reservation.initial), f'free {kind}', each)}"
            return _Binding(needs, ("; GPUs on a host with a free slot: ", best, " at best"))
        if resource.short is not Pending.RUSAGE:
            left = f"; {resource.reason} leaves "
            return _Binding(f"under {resource.reason}", (left, best, " on a host"))
        amount, unit = in_unit(self.problem, resource.name, held)
        best, _ = in_unit(self.problem, resource.name, best)
        of = f" of {resource.name}" if unit else f" {resource.name}"
        needs = " ".join(filter(None, (f"and {amount:.10g}{unit}{of}", each)))
        left = f"; {resource.name} on a host with a free slot: "
        return _Binding(needs, (left, best, f"{unit} at best"))

    def _each(self, use: Use) -> str:
        """Return the unit that each amount of a use is for, "" if there is only one."""
        term = self.term
        if use.per is Per.SLOT:
            return "for each" if term.slots > 1 else ""
        if term.one_host or term.slots == 1 or (use.per is not Per.JOB and term.ptile is not None):
            return ""
        return "on its first host" if use.per is Per.JOB else "on each host"


def _tile_shortage(
    term: TermDemand, capacity: TermCapacity, also: str, left: tuple[str | float, ...]
) -> Reason | None:
    """Return a shortage of hosts with a whole block of span[ptile], or of a host for the rest."""
    assert term.ptile is not None
    tile = min(int(term.ptile[term.candidates].max()), term.slots)
    blocks, rest = divmod(term.slots, tile)
    caps = capacity.caps[term.candidates]
    have = int((caps >= tile).sum())
    each = " each" if blocks > 1 else ""
    text = f"needs {counted(blocks, 'host')} with {counted(tile, 'free slot', also)}{each}"
    if rest:
        text += f" and one with {rest}"
    if have < blocks:
        return Reason.counting(FEW_SLOTS, text, have, *left)
    lone = rest and int((caps >= rest).sum()) == blocks
    return Reason.of(FEW_SLOTS, f"{text}, has no other for the {rest}") if lone else None


def _block_shortage(
    term: TermDemand, capacity: TermCapacity, also: str, left: tuple[str | float, ...]
) -> Reason | None:
    """Return a shortage of blocks of span[block], or of slots for the smaller one."""
    blocks, rest = divmod(term.slots, term.block)
    caps = np.minimum(capacity.caps[term.candidates], term.slots)
    have = int((caps // term.block).sum())
    text = f"needs {counted(blocks, 'block')} of {counted(term.block, 'free slot', also)}"
    if rest:
        text += f" and one of {rest}"
    if have < blocks:
        return Reason.counting(FEW_SLOTS, text, have, *left)
    lone = rest and have == blocks and not (caps % term.block >= rest).any()
    return Reason.of(FEW_SLOTS, f"{text}, has no place for the {rest}") if lone else None


def _unit_shortage(term: TermDemand, capacity: TermCapacity) -> Reason:
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
    totals = np.bincount(
        unit.unit_of[owned], weights=capacity.caps[owned], minlength=len(unit.names)
    )
    text = f"needs {counted(term.slots, 'slot')} under cu[{':'.join(wishes)}]; "
    if unit.excl and capacity.idle is not None:
        alone = ~busy_units(unit, capacity.idle)
        slots = f", with {counted(int(totals[alone].sum()), 'slot')}" if alone.any() else ""
        text += f"{alone.sum()} of {len(alone)} units are without other jobs{slots}"
        return Reason.of(Pending.UNIT_OCCUPIED, text)
    kind = Pending.UNITS_MAXCUS if unit.maxcus is not None else Pending.UNIT_USABLE
    if unit.maxcus is None and unit.balance:
        kind = Pending.UNITS_BALANCE
    most = unit.maxcus or 1
    best = np.argsort(-totals, kind="stable")[:most]
    have = int(totals[best].sum())
    short = unit.maxcus is not None and have < term.slots
    lacks = (f" and lack{'s' * (most == 1)} ", term.slots - have) if short else ()
    if most > 1:
        return Reason.of(kind, f"{text}the {most} fullest have ", have, *lacks)
    return Reason.of(kind, f"{text}the fullest choice, {unit.names[best[0]]}, has ", have, *lacks)


def amounts_short(
    problem: PlanningProblem,
    demand: Demand,
    availability: Availability,
    instant: int,
    told: Reason,
) -> Reason | None:
    """Return amounts that no candidate with a free slot has enough of, None if there are none.

    told: another reason in the sentence; it may give the amounts already.
    """
    found: list[Reason] = []
    points = _points(demand, availability, instant)
    slots = availability.min_free(SLOTS, points)
    for term in demand.terms:
        open_hosts = term.candidates[slots[term.candidates] >= 1]
        for use in term.alternatives[0].host_uses[1:] if open_hosts.size else ():
            resource = problem.resolver.table.host_resources[use.index]
            if resource.short is not Pending.RUSAGE:
                continue
            for held, free in uses_and_min_free(availability, use, points):
                most = max(0.0, float(free[open_hosts].max()))
                if most + SLACK < held:
                    name = "GPUs" if resource.name == PHYSICAL else resource.name
                    if f"; {name} on a host with a free slot: " in told.parts:
                        break
                    amount, unit = in_unit(problem, resource.name, held)
                    most, _ = in_unit(problem, resource.name, most)
                    text = f"requests {amount:.10g}{unit} of {name}, no host has more than "
                    parts: list[str | float] = [text, most, unit]
                    found.append(Reason.of(Pending.RUSAGE, *parts, resource=resource.subject))
                    break
    return Reason.joined(dict.fromkeys(found)) if found else None


#: Reason of a job before its begin time (-b).
BEGIN_TIME = Reason.of(Pending.START_TIME, "its begin time (-b)")
#: Reason of a job that would fit if hosts reported their configured amounts.
BEYOND_REPORTED = "does not fit with the usage that hosts report, which no job explains"


@dataclass(slots=True)
class JobByJob:
    """Pending reasons of the jobs of a plan, computed in the order of planning.

    The jobs planned so far are found by their end, and equal jobs that start together share the
    missing amount until then, so that an array of thousands of elements is examined once.
    """

    #: The problem that is planned.
    problem: PlanningProblem
    #: Whether starts are at finish times only (TBR-02).
    finishes_only: bool = False
    _ending: dict[tuple[int, str], dict[str, PlannedJob]] = field(default_factory=dict)
    _starting: dict[int, list[tuple[str, Collection[str]]]] = field(default_factory=dict)
    _falling: dict[str, PlannedJob] = field(default_factory=dict)
    _order: dict[str, int] = field(default_factory=dict)
    _short: dict[tuple[Hashable, int], str] = field(default_factory=dict)

    def planned(self, item: PlannedJob, demand: Demand) -> None:
        """Note a job that has its place now."""
        self._order[item.job] = len(self._order)
        if item.start is not None:
            self._starting.setdefault(item.start, []).append((item.job, item.allocation))
        for host in item.allocation if item.finish is not None else ():
            self._ending.setdefault((item.finish or 0, host), {})[item.job] = item
        if any(use.reservation.drops() for use in _uses_of(demand, item)):
            self._falling[item.job] = item

    def waits_for(self, demand: Demand, start: Start, profile: Profile) -> str:
        """Return the reason of a job given the jobs planned so far; see
        :func:`what_it_waits_for`.
        """
        time, concerned = start.time - self.problem.margin, dict(self._falling)
        for host in self.problem.names(hosts_concerned(demand, start)):
            concerned |= self._ending.get((time, host), {})
        before = sorted(concerned.values(), key=lambda item: self._order[item.job])
        key = (demand.kind, start.time)
        reason, self._short[key] = reason_and_shortage(
            *(self.problem, demand, start, profile, before),
            finishes_only=self.finishes_only,
            short=self._short.get(key),
            begins=lambda time: self._starting.get(time, ()),
        )
        return reason


def what_it_waits_for(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    profile: Profile,
    planned: Sequence[PlannedJob],
) -> str:
    """Return why the job cannot start just before `start`, "" if it starts immediately.

    planned: the jobs planned before it, which the reason can name.
    """
    reason, _ = reason_and_shortage(problem, demand, start, profile, planned, finishes_only=False)
    return reason


def reason_and_shortage(
    problem: PlanningProblem,
    demand: Demand,
    start: Start,
    profile: Profile,
    planned: Sequence[PlannedJob],
    *,
    finishes_only: bool,
    short: str | None = None,
    begins: Begins | None = None,
    kept: Sequence[str] = (),
) -> tuple[str, str]:
    """Return the reason as :func:`what_it_waits_for` does, and separately the missing amount.

    short: the latter if it is known from an equal job that starts at an equal time. begins: of the
    jobs planned before it, if `planned` has not all of them. kept: the jobs that have reserved all
    that it lacks at its earliest start.
    """
    if start.time <= demand.earliest:
        held_back = start.time == demand.earliest > problem.instance.now
        return sentence(held_back_by(demand)) if held_back else "", ""
    times = profile.candidate_times(demand.earliest, finishes_only=finishes_only)
    instant = next(time for time in reversed(times) if time < start.time)
    if gate := closed_by(demand, instant):
        closed = sentence(not_active(demand.job.reservation))
        return (closed if gate == "reservation" else "a dispatch or run window"), ""
    begins = begins or (
        lambda time: [(item.job, item.allocation) for item in planned if item.start == time]
    )
    short = short or _shortage_until(problem, demand, profile, instant, begins, kept)
    if short.startswith(WINDOW_OF):
        return short, short
    ends = _opening_hosts(problem, demand, start, profile, instant) or _enders(
        problem, demand, start, planned
    )
    return short + ends, short


def held_back_by(demand: Demand) -> Reason:
    """Return the reason of a job that is only deferred: by -b, or by other jobs (-w)."""
    job = demand.job
    reserved = None if demand.calendar is None else demand.calendar.reserved
    if reserved is not None and any(demand.earliest == start for start, _ in reserved.periods):
        return not_active(job.reservation)
    if job.dependency and demand.earliest != job.begin:
        return not_yet(job)
    return BEGIN_TIME


def not_active(reservation: str) -> Reason:
    """Return the reason of a job whose advance reservation (-U) is not active now."""
    words = f"advance reservation {reservation} (-U) is not active"
    return Reason.of(Pending.RESERVATION_INACTIVE, words)


def not_yet(job: Job) -> Reason:
    """Return the reason of a job whose dependency condition does not hold yet."""
    return Reason.of(Pending.DEPENDENCY, f"{Pending.DEPENDENCY.words}: {job.dependency}")


def _shortage_until(
    problem: PlanningProblem,
    demand: Demand,
    profile: Profile,
    instant: int,
    begins: Begins,
    kept: Sequence[str],
) -> str:
    """Return the missing amount up to `instant`, with the numbers of now if it is missing now."""
    last = find_shortage(problem, demand, profile, instant, begins)
    first = last
    if instant != demand.earliest:
        first = find_shortage(problem, demand, profile, demand.earliest, begins)
    now: Moment = "now" if demand.earliest == problem.instance.now else "has"
    if kept and first.counts:
        return sentence(free_but(demand, first, f"reserved for {listed(kept)}"), now)
    if first.alike == last.alike or first.lasts:
        return sentence(first, now)
    text = sentence(last, "just before")
    return text if last.counts or last.lasts else f"{text} just before"


def _closed_by_windows(demand: Demand, instant: int) -> list[BoolArray]:
    """Return the hosts that a dispatch window closes to a job, one mask [H] for each window."""
    windows = () if demand.calendar is None else demand.calendar.hosts
    return [mask for mask, opening in windows if not opening.is_open(instant)]


def _opening_hosts(
    problem: PlanningProblem, demand: Demand, start: Start, profile: Profile, instant: int
) -> str:
    """Return the hosts that a window or an interval opens between `instant` and the start.

    "" if none opens then: the job waits for something else.
    """
    by_window, late = (_closed_by_windows(demand, at) for at in (instant, start.time - 1))
    after_a_job = [
        closed for closed in [profile.just_accepted(demand, start.time - 1)] if closed is not None
    ]
    for what, opens, masks, last in (
        (WINDOW_OF, "opens", by_window, late),
        ("JOB_ACCEPT_INTERVAL of ", "is over", after_a_job, after_a_job),
    ):
        if any(mask[host] for host in start.allocation for mask in last):
            closed = {host: 1 for host in start.allocation if any(mask[host] for mask in masks)}
            return f"; free when {what}{listed(problem.names(closed))} {opens}"
    return ""


def hosts_concerned(demand: Demand, start: Start) -> set[int]:
    """Return the hosts of an allocation; with cu[excl] all hosts of its units."""
    hosts = set(start.allocation)
    for term, allocation in zip(demand.terms, start.terms, strict=False):
        if term.unit is not None and term.unit.excl:
            inside = np.isin(term.unit.unit_of, term.unit.unit_of[list(allocation)])
            hosts |= set(np.flatnonzero(inside).tolist())
    return hosts


def _enders(
    problem: PlanningProblem, demand: Demand, start: Start, planned: Sequence[PlannedJob]
) -> str:
    """Return the jobs and advance reservations that end at the start on the hosts concerned."""
    names = set(problem.names(hosts_concerned(demand, start)))
    end = start.time - problem.margin
    enders = _on_hosts(
        names,
        problem.running_until(start.time),
        (item for item in planned if item.finish == end),
    )
    enders += [
        f"advance reservation {item.name}"
        for item in _reservations_of(problem)
        if item.end == start.time and names & set(item.slots)
    ]
    if enders:
        return free_when(enders)
    demands = {demand.job.id: demand for demand in problem.demands}
    givers = _on_hosts(
        names,
        problem.holding_less_from(start.time),
        (item for item in planned if _falls_at(start.time, item, demands)),
    )
    if not givers:
        return ""
    return f"; free when {listed(givers)} {'uses' if len(givers) == 1 else 'use'} less"


def _on_hosts(
    names: set[str], running: Iterable[RunningJob], planned: Iterable[PlannedJob]
) -> list[str]:
    """Return running and planned jobs on some hosts."""
    found = [(run.job.id, run.allocation) for run in running]
    found += [(item.job, item.allocation) for item in planned]
    return [job for job, allocation in found if names & set(allocation)]


def _falls_at(time: int, item: PlannedJob, demands: Mapping[str, Demand]) -> bool:
    """Return whether the reservation of a planned job falls at a second, by a phase or a decay."""
    return item.start is not None and any(
        time - item.start in use.reservation.drops() for use in _uses_of(demands[item.job], item)
    )


def _reservations_of(problem: PlanningProblem) -> Sequence[AdvanceReservation]:
    """Return the advance reservations that plans of a problem obey."""
    obeyed = problem.honours_windows or problem.resolver.table.unreserved != SLOTS
    return problem.instance.advance_reservations if obeyed else ()


def free_when(enders: Sequence[str]) -> str:
    """Return ``; free when 101 ends``, the part after a missing amount."""
    return f"; free when {listed(enders)} {'ends' if len(enders) == 1 else 'end'}"


def _uses_of(demand: Demand, item: PlannedJob) -> Iterator[Use]:
    """Yield what a planned job takes under its alternatives."""
    for term in demand.terms:
        alternative = term.alternatives[item.alternative]
        yield from (*alternative.host_uses, *alternative.pool_uses)


def listed(names: Sequence[str]) -> str:
    """Return text such as ``a``, ``a and b``, ``a, b and c`` or ``a, b, c and 2 more``."""
    if len(names) == 1:
        return names[0]
    shown = names[:-1] if len(names) <= 3 else names[:3]
    last = names[-1] if len(names) <= 3 else f"{len(names) - 3} more"
    return f"{', '.join(shown)} and {last}"


def reason_unplaced(problem: PlanningProblem, demand: Demand) -> str:
    """Return the reason why a job has no start in any plan."""
    if demand.impossible:
        return demand.impossible
    if demand.latest is not None and _misses_deadline(problem, demand):
        return crowded_past_deadline(problem.instance, demand.job)
    demand = at_any_time(problem, demand)
    if earliest_start(problem.empty, demand) is None:
        lifted = on_loans(problem.resolver, demand)
        if lifted is not demand and earliest_start(problem.empty, lifted) is not None:
            return ON_A_LOAN
        if problem.instance.partitions and _fits_without_partitions(problem, demand):
            return NOT_IN_A_PARTITION
        if earliest_start(problem.empty, replace(demand, calendar=None)) is not None:
            return _no_window(demand)
        if earliest_start(Profile(problem.resolver.table, problem.instance.now), demand):
            return _no_gap(problem, demand)
        short = find_shortage(problem, demand, problem.empty, demand.earliest)
        return f"{NOWHERE}: {beyond_capacity(problem, demand) or sentence(short)}"
    if beyond_reported(problem, demand):
        short = find_shortage(problem, demand, _as_reported(problem), demand.earliest)
        return f"{BEYOND_REPORTED}: {sentence(short)}"
    endless = problem.endless()
    if endless:
        shown = ", ".join(run.job.id for run in endless[:3]) + (" and more" * (len(endless) > 3))
        why = "suspended, or no run limit" if any(r.suspended for r in endless) else "no run limit"
        return f"waits for jobs whose end is unknown ({why}): {shown}"
    if recurring(problem.instance) and problem.honours_windows:
        return BEYOND_KNOWN
    return "jobs before it use its slots indefinitely (they have no run limit, or no start)"


def at_any_time(problem: PlanningProblem, demand: Demand) -> Demand:
    """Return a demand that fits wherever it would at some time, with later periods of recurring
    advance reservations as the known ones.
    """
    if demand.latest is not None or not recurring(problem.instance):
        return demand
    return replace(demand, earliest=problem.instance.now, after=None)


def _misses_deadline(problem: PlanningProblem, demand: Demand) -> bool:
    """Return whether only -t prevents a start, given running jobs or jobs before it.

    A job that waits for something that never ends has no start in any case.
    """
    return earliest_start(problem.base, replace(demand, latest=None, killed=None)) is not None


def beyond_reported(problem: PlanningProblem, demand: Demand) -> bool:
    """Return whether a job fits on the cluster, but not with the use that its hosts report
    (RSV-01).
    """
    if not problem.resolver.table.reported_used() or demand.impossible:
        return False
    fits = earliest_start(problem.empty, demand) is not None
    return fits and earliest_start(_as_reported(problem), demand) is None


def _as_reported(problem: PlanningProblem) -> Profile:
    """Return the profile without running jobs, with the use that hosts report."""
    profile = problem.empty
    for index, away in problem.resolver.table.reported_used().items():
        profile.hold_reported(index, away)
    return profile


def _fits_without_partitions(problem: PlanningProblem, demand: Demand) -> bool:
    plain = problem.resolver.demand(demand.job)
    return not plain.impossible and earliest_start(problem.empty, plain) is not None


def closed_now(
    problem: PlanningProblem, demand: Demand, rest: Demand, closed: BoolArray | None
) -> str:
    """Return the reason if only closed hosts prevent a start in this cycle, else "".

    closed: hosts that load closes now, [H], or None. rest: the job on the other hosts.
    """
    if closed is None or earliest_start(problem.base, demand) is None:
        return ""
    if earliest_start(problem.base, rest) is not None:
        return ""
    names = problem.names(np.flatnonzero(closed))
    return f"load closes {listed(names)} in this cycle, and the other hosts are not enough"


def _no_window(demand: Demand) -> str:
    """Return the reason why a job that fits has no start inside the windows."""
    if demand.calendar is not None and demand.calendar.reserved is not None:
        name = demand.calendar.reserved.name
        return f"the periods of advance reservation {name} (-U) allow no start"
    text = demand.queue.run_window
    if text and demand.duration is not None:
        periods = open_periods(text, None, 0, 2 * WEEK)
        if demand.duration > max(last - first for first, last in periods):
            return f"is longer than every run window ({text}) of its queue"
    return "the dispatch and run windows of its queue and hosts allow no start"


def _no_gap(problem: PlanningProblem, demand: Demand) -> str:
    """Return the reason why recurring advance reservations leave a job no start."""
    names = dict.fromkeys(item.name for item in recurring(problem.instance))
    of = f"advance reservation{'s' * (len(names) > 1)} {listed(list(names))}"
    if demand.duration is None:
        return f"has no known end, so it does not fit into any gap of {of}"
    return f"is longer than every gap of {of}"
