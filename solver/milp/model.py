"""Jobs that choose among options: a start and a rusage alternative, each with its own placement.

What a job holds never rises after its start, so what all of them hold together peaks at starts:
each host resource and each pool needs one inequality at every start among the options, and at every
instant at which an advance reservation takes something away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..availability.demand import Availability, Demand, TermDemand
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.uses import Alternative, Per, Use
from ..budget import Budget
from ..placement.earliest import Start
from ..precedence import After, Event, Known, Several
from .backend import Outcome, solve
from .shape import Program, TermVariables, Variable, total

#: (job, variable, amount per unit, largest value of the variable)
Parts = list[tuple[str, Variable, float, int]]
#: Variables and their weights in a sum.
Weighted = list[tuple[Variable, float]]


@dataclass(slots=True)
class Option:
    """One way of starting a job; `chosen` says whether it is taken."""

    demand: Demand
    time: int
    number: int
    chosen: Variable
    terms: list[TermVariables]

    def runs_at(self, point: int) -> bool:
        """Whether the job would hold something at `point`."""
        duration = self.demand.duration
        return self.time <= point and (duration is None or point < self.time + duration)


def alternatives(demand: Demand) -> list[int]:
    """The rusage alternatives that can be granted at all."""
    return [
        number
        for number in range(len(demand.terms[0].alternatives) if demand.terms else 0)
        if all(
            number < len(term.alternatives) and not term.alternatives[number].missing
            for term in demand.terms
        )
    ]


class PlacementModel:
    """All jobs of `starts` at one of their candidate instants each, beside what runs."""

    def __init__(
        self,
        base: Availability,
        starts: Sequence[tuple[Demand, Sequence[int]]],
        *,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """check: called for each job; what it raises ends the building."""
        self.base = base
        self.program = Program()
        self.options: dict[str, list[Option]] = {}
        for demand, times in starts:
            check()
            found = [
                option
                for time in times
                for number in alternatives(demand)
                if (option := self._option(demand, time, number)) is not None
            ]
            self.options[demand.job.id] = found
        self.hopeless = not all(self.options.values())
        if self.options and not self.hopeless:
            for found in self.options.values():
                self.program.add(total([(option.chosen, 1) for option in found]) == 1)
            self._capacities()
            for demand, _ in starts:
                if demand.after is not None:
                    self._wait(demand.after, self.options[demand.job.id])

    # --- who waits for whom ---------------------------------------------------------------------

    def _wait(self, event: Event, options: Sequence[Option]) -> None:
        """No option of a job is chosen at which its dependency condition does not hold yet."""
        for time in sorted({option.time for option in options}):
            here = [(option.chosen, 1.0) for option in options if option.time == time]
            held = self._held(event, time)
            if held is not True:
                self.program.add(total([*here, *((v, -w) for v, w in held or ())]) <= 0)

    def _held(self, event: Event, time: int) -> Weighted | bool:
        """A sum that is 1 where a condition holds at `time` and 0 elsewhere; True, False if fixed.

        What a job that may start at several instants has reached by then is the sum of those of its
        options that are early enough.
        """
        match event:
            case Known(known):
                return known is not None and known <= time
            case After(job, _, lag):
                early = [o.chosen for o in self.options.get(job, ()) if o.time + lag <= time]
                return [(chosen, 1.0) for chosen in early] or False
            case Several(parts, count):
                sums = [self._held(part, time) for part in parts]
                least = count - sum(item is True for item in sums)
                open_still = [item for item in sums if not isinstance(item, bool)]
                if least <= 0 or len(open_still) < least:
                    return least <= 0
                # 1 at most where as many of the parts are.
                reached = self.program.binary()
                parts_of = [pair for item in open_still for pair in item]
                self.program.add(
                    total([(reached, float(least)), *((v, -w) for v, w in parts_of)]) <= 0
                )
                return [(reached, 1.0)]

    def minimise(self, costs: Mapping[str, Mapping[int, float]]) -> None:
        """Minimise the sum of the jobs' costs by their start."""
        self.program.problem.setObjective(
            total(
                [
                    (option.chosen, costs[job][option.time])
                    for job, options in self.options.items()
                    for option in options
                ]
            )
        )

    def minimise_largest(
        self, costs: Mapping[str, Mapping[int, float]], *, whole: bool = True
    ) -> None:
        """Minimise the largest of the jobs' costs; whole: they are whole numbers."""
        most = max((cost for own in costs.values() for cost in own.values()), default=0.0)
        top = int(np.ceil(most))
        largest = self.program.integer(0, top) if whole else self.program.real(0, top)
        for job, options in self.options.items():
            own = [(option.chosen, -costs[job][option.time]) for option in options]
            self.program.add(total([(largest, 1), *own]) >= 0)
        self.program.problem.setObjective(total([(largest, 1)]))

    def keep(self, value: float) -> None:
        """From now on no solution may be worse than `value` in the present objective.

        But for the solvers' own tolerance: the caller compares what comes of it.
        """
        slack = 1e-6 + 1e-12 * abs(value)
        self.program.add(self.program.problem.objective <= value + slack)

    def solve(self, budget: Budget, *, seconds: float) -> tuple[Outcome, dict[str, Start]]:
        """The outcome, and a start for every job where there is a solution."""
        if self.hopeless:
            return Outcome("INFEASIBLE"), {}
        if not self.options:
            return Outcome("OPTIMAL", 0.0, 0.0), {}
        outcome = solve(self.program.problem, budget, seconds=seconds)
        if outcome.value is None:
            return outcome, {}
        found: dict[str, Start] = {}
        for job, options in self.options.items():
            taken = max(options, key=lambda option: float(option.chosen.varValue))
            terms = tuple(variables.allocation() for variables in taken.terms)
            found[job] = Start(taken.time, terms, taken.number)
        return outcome, found

    # --- one option -----------------------------------------------------------------------------

    def _option(self, demand: Demand, time: int, number: int) -> Option | None:
        """The option with its variables; None where a term alone has too few slots."""
        if not self.base.open_for(demand, time):
            return None
        rooms = []
        for term in demand.terms:
            room = self.base.room(demand, term, _spread(term.alternatives[number]), time)
            hosts = [int(host) for host in term.candidates if room.caps[host] > 0]
            if room.idle is not None and term.unit is not None:
                busy = {int(owner) for owner in term.unit.unit_of[~room.idle]}
                hosts = [host for host in hosts if int(term.unit.unit_of[host]) not in busy]
            if sum(int(room.caps[host]) for host in hosts) < term.slots:
                return None
            rooms.append((term, room.caps, hosts))
        option = Option(demand, time, number, self.program.binary(), [])
        for term, caps, hosts in rooms:
            variables = TermVariables(self.program, term, option.chosen)
            variables.place(caps, hosts)
            self._first(term, number, variables, time)
            option.terms.append(variables)
        if demand.exclusive and len(option.terms) > 1:
            self._share_hosts(option.terms)
        return option

    def _share_hosts(self, terms: list[TermVariables]) -> None:
        """The terms of an exclusive job share the slots of its hosts."""
        for host, capacity in enumerate(self.base.table.host_resources[SLOTS].capacity):
            parts = [part for variables in terms for part in variables.slots.get(host, ())]
            if parts:
                self.program.add(total(parts) <= int(capacity))

    def _first(self, term: TermDemand, number: int, variables: TermVariables, time: int) -> None:
        """The first host matters for -m host! and for what a job takes on its first host only."""
        once = [use for use in term.alternatives[number].host_uses if use.per is Per.JOB]
        if term.first_hosts is None and not once:
            return
        allowed = set(variables.used)
        if term.first_hosts is not None:
            allowed = {host for host in allowed if term.first_hosts[host]}
        for use in once:
            free = self.base.free(use.index, time)
            allowed = {h for h in allowed if free[h] + SLACK >= use.reservation.initial}
        variables.name_first(allowed)

    # --- what the jobs share ----------------------------------------------------------------------

    def _capacities(self) -> None:
        everything = [option for options in self.options.values() for option in options]
        points = {option.time for option in everything}
        points.update(time for time in self.base.later_starts if time >= min(points))
        for point in sorted(points):
            active = [option for option in everything if option.runs_at(point)]
            hosts: dict[tuple[int, int], Parts] = defaultdict(list)
            pools: dict[int, Parts] = defaultdict(list)
            for option in active:
                for variables in option.terms:
                    for use in variables.term.alternatives[option.number].host_uses:
                        self._on_hosts(option, variables, use, point, hosts)
                    for use in variables.term.alternatives[option.number].pool_uses:
                        self._in_pool(option, variables, use, point, pools)
                self._once(option, hosts, pools)
            for (index, host), parts in sorted(hosts.items()):
                self._at_most(parts, float(self.base.free(index, point)[host]))
            for index, parts in sorted(pools.items()):
                self._at_most(parts, self.base.free_in_pool(index, point))

    def _at_most(self, parts: Parts, free: float) -> None:
        """The parts together within what is free; left out where it cannot bind."""
        if not np.isfinite(free):
            return
        worst: dict[str, float] = defaultdict(float)
        for job, _, amount, most in parts:
            worst[job] += amount * most
        if sum(worst.values()) > free + SLACK:
            held = total([(variable, amount) for _, variable, amount, _ in parts])
            self.program.add(held <= max(0.0, free) + SLACK)

    def _on_hosts(
        self,
        option: Option,
        variables: TermVariables,
        use: Use,
        point: int,
        hosts: dict[tuple[int, int], Parts],
    ) -> None:
        amount = use.reservation.planned_at(point - option.time)
        if amount <= 0 or (use.once and len(option.terms) > 1):
            return
        job, unit = option.demand.job.id, variables.term.unit
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index == SLOTS and unit is not None and unit.excl:
            for host, number in enumerate(unit.unit_of):
                if int(number) in variables.unit:
                    whole = (job, variables.unit[int(number)], float(capacity[host]), 1)
                    hosts[use.index, host].append(whole)
            return
        for host in variables.used:
            here = hosts[use.index, host]
            if use.per is Per.JOB:
                if host in variables.first:
                    here.append((job, variables.first[host], amount, 1))
            elif use.per is Per.SLOT:
                here += _parts(job, variables.slots[host], amount)
            else:
                times = float(capacity[host]) if use.per is Per.WHOLE else amount
                here += _parts(job, variables.used[host], times)

    def _in_pool(
        self,
        option: Option,
        variables: TermVariables,
        use: Use,
        point: int,
        pools: dict[int, Parts],
    ) -> None:
        amount = use.reservation.planned_at(point - option.time)
        mask = self.base.table.pools[use.index].mask
        inside = [host for host in variables.used if mask[host]]
        if amount <= 0 or not inside or (use.once and len(option.terms) > 1):
            return
        job, here = option.demand.job.id, pools[use.index]
        if use.per in (Per.SLOT, Per.HOST):
            counted = variables.slots if use.per is Per.SLOT else variables.used
            for host in inside:
                here += _parts(job, counted[host], amount)
            return
        touched = self._touched([variables.used[host] for host in inside])
        here.append((job, touched, amount, 1))

    def _once(
        self, option: Option, hosts: dict[tuple[int, int], Parts], pools: dict[int, Parts]
    ) -> None:
        """Limits that count a job once, on a host or in all, whichever of its terms is there."""
        if len(option.terms) < 2:
            return
        on_hosts: dict[tuple[int, int], list[Weighted]] = defaultdict(list)
        in_pools: dict[int, list[Weighted]] = defaultdict(list)
        for variables in option.terms:
            alternative = variables.term.alternatives[option.number]
            for use in alternative.host_uses:
                for host in variables.used if use.once else ():
                    on_hosts[use.index, host].append(variables.used[host])
            for use in alternative.pool_uses:
                mask = self.base.table.pools[use.index].mask
                inside = [host for host in variables.used if use.once and mask[host]]
                in_pools[use.index] += [variables.used[host] for host in inside]
        job = option.demand.job.id
        for key, used in on_hosts.items():
            # Job slots are here for an exclusive job, which has its hosts whole.
            capacity = self.base.table.host_resources[SLOTS].capacity[key[1]]
            amount = float(capacity) if key[0] == SLOTS else 1.0
            hosts[key].append((job, self._touched(used), amount, 1))
        for index, used in in_pools.items():
            if used:
                pools[index].append((job, self._touched(used), 1, 1))

    def _touched(self, used: list[Weighted]) -> Variable:
        """One where any of the hosts is used."""
        touched = self.program.binary()
        for host in used:
            self.program.add(total([*host, (touched, -1)]) <= 0)
        return touched


def _parts(job: str, parts: list[tuple[Variable, float]], amount: float) -> Parts:
    return [(job, variable, weight * amount, int(variable.upBound)) for variable, weight in parts]


def _spread(alternative: Alternative) -> Alternative:
    """The alternative without what is taken on the first host only: no host needs it otherwise."""
    uses = tuple(use for use in alternative.host_uses if use.per is not Per.JOB)
    return replace(alternative, host_uses=uses)
