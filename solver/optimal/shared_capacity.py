"""What jobs at fixed starts share, as rows of a model: hosts and pools at each of these starts.

Usage peaks only at starts, so each host resource needs one inequality a start. Most hosts could
hold all that may come to them; only the others get a row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from ..availability.arrays import BoolArray, FloatArray
from ..availability.demand import Availability, Demand
from ..availability.resources import SLOTS
from ..availability.uses import Per, Use
from .shape import Part, TermShape
from .whole_amounts import down, scale_of, up

Literal = cp_model.IntVar
#: Variable, weight, largest value of the variable.
Terms = list[tuple[cp_model.IntVar, float, int]]
#: A host may get a row that it does not need, for rounding, but none that it needs is left out.
MARGIN = 1e-3


@dataclass(slots=True, eq=False)
class PlacedChoice:
    """One rusage alternative of one job at a start (seconds), present if `chosen`."""

    demand: Demand
    time: int
    number: int
    chosen: Literal
    terms: list[TermShape]

    def runs_at(self, point: int) -> bool:
        """Whether the job, started as chosen, runs at an instant."""
        duration = self.demand.duration
        return self.time <= point and (duration is None or point < self.time + duration)

    def held(self, shape: TermShape, point: int) -> Iterable[tuple[Use, float]]:
        """What a term holds on hosts at an instant, for each of its uses."""
        for use in shape.term.alternatives[self.number].host_uses:
            amount = use.reservation.planned_at(point - self.time)
            if amount and not (use.once and len(self.terms) > 1):
                yield use, amount


@dataclass(frozen=True, slots=True)
class SharedCapacity:
    """Rows for a model. new: only what these choices take part in gets a row; all if empty."""

    model: cp_model.CpModel
    base: Availability
    choices: Sequence[PlacedChoice]
    new: Collection[PlacedChoice] = ()

    def add(self, points: Iterable[int]) -> None:
        """Add the rows of these instants."""
        for point in points:
            active = [choice for choice in self.choices if choice.runs_at(point)]
            jobs = {choice.demand.job.id for choice in active}
            # One job by itself keeps to the room it was given.
            alone = len(jobs) < 2 and not any(len(choice.terms) > 1 for choice in active)
            if not alone:
                self._add_host_rows(active, point)
            self._add_pool_rows(active, point)

    def _is_new(self, choice: PlacedChoice) -> bool:
        return not self.new or choice in self.new

    # --- hosts --------------------------------------------------------------------------------

    def _add_host_rows(self, active: list[PlacedChoice], point: int) -> None:
        tight = self._tight(active, point)
        rows: dict[int, dict[int, Terms]] = {index: defaultdict(list) for index in tight}
        for choice in active:
            for shape in choice.terms:
                for use, amount in choice.held(shape, point):
                    if use.index in tight:
                        self._host_terms(shape, use, amount, tight[use.index], rows[use.index])
        for (index, host), term in self._once_on_hosts(active):
            rows.setdefault(index, defaultdict(list))[host].append(term)
        for index, by_host in rows.items():
            free = self.base.free(index, point)
            for host, terms in by_host.items():
                self._at_most(terms, float(free[host]))

    def _tight(self, active: list[PlacedChoice], point: int) -> dict[int, BoolArray]:
        """For each host resource, the hosts that could be asked for more than they have.

        Where terms of one job count once, all hosts are looked at.
        """
        most: dict[int, FloatArray] = defaultdict(lambda: np.zeros(self.base.hosts))
        touched: dict[int, BoolArray] = defaultdict(lambda: np.zeros(self.base.hosts, dtype=bool))
        whole = set()
        for choice in active:
            for shape in choice.terms:
                for use, amount in choice.held(shape, point):
                    hosts, amounts = self._largest(shape, use, amount)
                    np.add.at(most[use.index], hosts, amounts)
                    if self._is_new(choice):
                        touched[use.index][hosts] = True
                if len(choice.terms) > 1:
                    for use in shape.term.alternatives[choice.number].host_uses:
                        whole.add(use.index)
                        touched[use.index][list(shape.used)] |= self._is_new(choice)
        found = {
            index: hosts & ((index in whole) | (most[index] > self._free(index, point)))
            for index, hosts in touched.items()
        }
        return {index: hosts for index, hosts in found.items() if hosts.any()}

    def _free(self, index: int, point: int) -> FloatArray:
        free = self.base.free(index, point)
        # Where nothing bounds the resource it is infinite, and stays so.
        return free - MARGIN * (1 + np.where(np.isfinite(free), abs(free), 0))

    def _largest(
        self, shape: TermShape, use: Use, amount: float
    ) -> tuple[np.ndarray, FloatArray | float]:
        """The hosts that a term may hold something of, and the most that it would be on each."""
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index == SLOTS and shape.takes_units:
            hosts = np.fromiter(shape.unit_hosts(), np.int64)
            return hosts, capacity[hosts]
        hosts = np.fromiter(shape.used, np.int64, len(shape.used))
        if use.per is Per.SLOT:
            return hosts, amount * np.fromiter((shape.most[h] for h in shape.used), float)
        return hosts, capacity[hosts] if use.per is Per.WHOLE else np.full(len(hosts), amount)

    def _host_terms(
        self,
        shape: TermShape,
        use: Use,
        amount: float,
        tight: BoolArray,
        rows: dict[int, Terms],
    ) -> None:
        capacity = self.base.table.host_resources[use.index].capacity
        if use.index == SLOTS and shape.takes_units:  # cu[excl] takes its units whole (PLC-11)
            for host in shape.unit_hosts():
                if tight[host]:
                    rows[host].append((shape.unit_variable(host), float(capacity[host]), 1))
            return
        for host, used in shape.used.items():
            if not tight[host]:
                continue
            if use.per is Per.SLOT:
                rows[host] += _weighed(shape.parts[host], amount)
            elif use.per is Per.WHOLE:
                rows[host].append((used, float(capacity[host]), 1))
            elif use.per is not Per.JOB:
                rows[host].append((used, amount, 1))
            elif host in shape.first:
                rows[host].append((shape.first[host], amount, 1))

    def _once_on_hosts(
        self, active: list[PlacedChoice]
    ) -> list[tuple[tuple[int, int], tuple[Literal, float, int]]]:
        """What counts a job once on a host although several of its terms use it."""
        found = []
        for choice in active:
            if len(choice.terms) < 2:
                continue
            literals: dict[tuple[int, int], list[Literal]] = defaultdict(list)
            for shape in choice.terms:
                for use in shape.term.alternatives[choice.number].host_uses:
                    if use.once:
                        for host, used in shape.used.items():
                            literals[use.index, host].append(used)
            for (index, host), uses in literals.items():
                # Job slots are here for an exclusive job, which has its hosts whole.
                capacity = self.base.table.host_resources[SLOTS].capacity
                weight = float(capacity[host]) if index == SLOTS else 1.0
                found.append(((index, host), (self._any(uses), weight, 1)))
        return found

    # --- pools --------------------------------------------------------------------------------

    def _add_pool_rows(self, active: list[PlacedChoice], point: int) -> None:
        rows: dict[int, Terms] = defaultdict(list)
        touched: set[int] = set()
        for choice in active:
            for shape in choice.terms:
                uses = shape.term.alternatives[choice.number].pool_uses
                if self._is_new(choice):
                    touched |= {use.index for use in uses}
                for use in uses:
                    self._pool_terms(choice, shape, use, point, rows)
            self._once_in_pools(choice, rows)
        for index in touched & set(rows):
            self._at_most(rows[index], self.base.free_in_pool(index, point))

    def _pool_terms(
        self, choice: PlacedChoice, shape: TermShape, use: Use, point: int, rows: dict[int, Terms]
    ) -> None:
        held = use.reservation.planned_at(point - choice.time)
        mask = self.base.table.pools[use.index].mask
        inside = [host for host in shape.used if mask[host]]
        if held == 0 or not inside or (use.once and len(choice.terms) > 1):
            return
        if use.per is Per.SLOT:
            if len(inside) == len(shape.used) and shape.term.largest == shape.term.slots:
                rows[use.index].append((choice.chosen, held * shape.term.slots, 1))
            else:
                for host in inside:
                    rows[use.index] += _weighed(shape.parts[host], held)
        elif use.per is Per.HOST:
            rows[use.index] += [(shape.used[host], held, 1) for host in inside]
        else:
            rows[use.index].append((self._any([shape.used[h] for h in inside]), held, 1))

    def _once_in_pools(self, choice: PlacedChoice, rows: dict[int, Terms]) -> None:
        """What counts a job once in a pool although several of its terms use it."""
        if len(choice.terms) < 2:
            return
        literals: dict[int, list[Literal]] = defaultdict(list)
        for shape in choice.terms:
            for use in shape.term.alternatives[choice.number].pool_uses:
                if use.once:
                    mask = self.base.table.pools[use.index].mask
                    literals[use.index] += [used for h, used in shape.used.items() if mask[h]]
        for index, uses in literals.items():
            if uses:
                rows[index].append((self._any(uses), 1.0, 1))

    # --- rows ---------------------------------------------------------------------------------

    def _at_most(self, terms: Terms, free: float) -> None:
        if not np.isfinite(free):
            return
        scale = scale_of({weight for _, weight, _ in terms})
        limit = down(free, scale)
        weights = [up(weight, scale) for _, weight, _ in terms]
        most = sum(w * largest for w, (_, _, largest) in zip(weights, terms, strict=True))
        if most > limit:
            variables = [variable for variable, _, _ in terms]
            self.model.add(cp_model.LinearExpr.weighted_sum(variables, weights) <= limit)

    def _any(self, literals: list[Literal]) -> Literal:
        found = self.model.new_bool_var("")
        self.model.add_max_equality(found, literals)
        return found


def _weighed(parts: Iterable[Part], amount: float) -> Terms:
    return [(part.variable, amount * part.weight, part.most) for part in parts]
