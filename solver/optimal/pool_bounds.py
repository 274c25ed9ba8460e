"""Lower bounds from pools: all slots as one pool, and several pools at once.

The first relaxation ignores allocations: the cluster becomes one pool of identical slots. It is
exact for one host and jobs that use slots only. Otherwise every plan of the cluster is also a plan
of the pool, so that a bound for the pool is a bound for the cluster.

The second relaxation counts slots, memory, limits and whole blocks of hosts together. A host
resource is counted in pieces of t, for several t: a host with f free has f // t pieces, and a block
of b uses b // t of them. In any allocation, running jobs use no more pieces than there are. A
linear program over starts gives prices of pieces; the bound from these prices is computed in
integers (as in :mod:`.pool.bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..availability.demand import Demand, TermDemand
from ..availability.profile import SLACK, Profile
from ..availability.resources import SLOTS, FloatArray, IntArray, Per
from ..budget import Budget, OutOfTime
from ..placement.earliest import Start
from ..problem import PlanningProblem
from .backends import new_program, solve
from .costs import Coarser, Costs, UnitCost, coarser
from .pool.problem import MAX_COST, PoolProblem


@dataclass(frozen=True, slots=True)
class AggregatedProblem:
    """A pool problem with the meaning of its values: total = value * 2**bits + constant.

    Totals are in the units of the costs.
    """

    #: Problem with one pool of identical slots.
    pool: PoolProblem
    #: Binary digits by which costs are truncated.
    bits: int
    #: Constant part of the total, in units.
    constant: int
    #: Whether every weight keeps its first nine digits.
    faithful: bool

    def total(self, value: int) -> int:
        """Return the total cost of a value of the pool; for a lower bound, the result is a lower
        bound.
        """
        return (value << self.bits) + self.constant


def pool_of(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
) -> AggregatedProblem | None:
    """Return the pool problem of `demands`, None if it cannot be expressed as a pool.

    alone: earliest start of each job given running jobs only (seconds). The result is None without
    jobs, if a duration is unknown, or if the pool does not have the objective: the
    largest cost of a job, unless the cost is its end.
    """
    if any(demand.duration is None or demand.duration < 1 for demand in demands) or not demands:
        return None
    now, times = problem.instance.now, problem.base.changes()
    free = [int(problem.base.free(SLOTS, time).clip(0).sum()) for time in times]
    sizes = [_certain_slots(problem.base, demand) for demand in demands]
    if free[-1] < max(sizes):
        return None
    if costs.largest and not _are_ends(demands, costs, now):
        return None
    own = [costs.jobs[demand.job.id] for demand in demands]
    durations = [demand.duration or 0 for demand in demands]
    earliest = [max(0, alone[demand.job.id] - now) for demand in demands]
    due = [cost.due - now for cost in own]
    horizon = max(times[-1] - now, *earliest) + sum(durations)
    weights = Coarser((1,) * len(own), 0, True)
    if not costs.largest:
        most = max(
            cost.weight * max(1, horizon - late) for cost, late in zip(own, due, strict=True)
        )
        weights = coarser([cost.weight for cost in own], most, MAX_COST)
    pool = PoolProblem.build(
        [time - now for time in times],
        free,
        sizes,
        durations,
        earliest=earliest,
        weights=weights.numbers,
        due=due,
        objective="makespan" if costs.largest else "starts",
    )
    # The pool ignores the margin, so its last end is later than that of the jobs by the margin.
    constant = -problem.margin if costs.largest else sum(cost.base for cost in own)
    return AggregatedProblem(pool, weights.bits, constant, weights.faithful)


def _certain_slots(base: Profile, demand: Demand) -> int:
    """Return the slots that a job certainly takes, with the rest of hosts and units that it has to
    itself.
    """
    blocks = _blocks(base, demand).get(SLOTS, []) if len(demand.terms) == 1 else []
    return max(demand.slots, int(_total(blocks)))


def _are_ends(demands: Sequence[Demand], costs: Costs, now: int) -> bool:
    """Return whether the cost of every job is the seconds from now to its end."""
    return costs.unit == 1 and all(
        costs.jobs[demand.job.id] == UnitCost(1, now, demand.runs or 0) for demand in demands
    )


def is_whole_pool(problem: PlanningProblem, demands: Sequence[Demand]) -> bool:
    """Return whether the pool equals the cluster: one host, and jobs that use its slots only."""
    return len(problem.instance.cluster.hosts) == 1 and all(
        _uses_slots_alone(demand) for demand in demands
    )


def _uses_slots_alone(demand: Demand) -> bool:
    if len(demand.terms) != 1 or demand.calendar is not None or demand.exclusive:
        return False
    term = demand.terms[0]
    uses = [use for alternative in term.alternatives for use in alternative.host_uses]
    pools = [use for alternative in term.alternatives for use in alternative.pool_uses]
    plain = all(use.index == SLOTS and use.per is Per.SLOT for use in uses)
    fits_ptile = term.ptile is None or int(term.ptile[0]) >= term.slots
    free_unit = term.unit is None or not (term.unit.excl or term.unit.usablecuslots)
    return plain and not pools and fits_ptile and free_unit and len(term.alternatives) == 1


#: Limits of a bound if allocations matter: share of the remaining time, and seconds.
BOUND_SHARE = 0.1
BOUND_SECONDS = 20.0
#: Rounds of the pool optimiser for each unit of deterministic effort.
ROUNDS_PER_EFFORT = 8


@dataclass(frozen=True, slots=True)
class PooledPlan:
    """Result of the relaxation to one pool."""

    #: Start of each job by id; empty if the cluster is not equal to the pool.
    starts: Mapping[str, Start]
    #: Lower bound on the cost of any plan, in units; None if unknown.
    bound: int | None = None
    #: Whether the starts are proved optimal with all weights kept to nine digits.
    settled: bool = False
    #: Whether a longer time limit would not improve the result.
    finished: bool = False


def solve_as_pool(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    budget: Budget,
    tell: Callable[[int, int], None],
) -> PooledPlan:
    """Return a plan and a lower bound from the pool of all slots.

    tell: called with the costs of plan and bound, in units, whenever they improve.
    """
    aggregated = pool_of(problem, demands, costs, alone)
    if aggregated is None:
        return PooledPlan({})
    from .pool import PoolProgress, optimise

    whole = is_whole_pool(problem, demands)

    def progress(report: PoolProgress) -> None:
        if whole:
            tell(aggregated.total(report.value), aggregated.total(report.bound))

    limit = budget.left() if whole else min(BOUND_SECONDS, BOUND_SHARE * budget.left())
    rounds = None if budget.effort is None else 1 + int(ROUNDS_PER_EFFORT * budget.effort)
    result = optimise(
        aggregated.pool,
        time_limit=limit if math.isfinite(limit) else None,
        effort=rounds,
        workers=budget.processes if whole else 1,
        progress=progress,
        cancelled=budget.cancel.is_set,
    )
    bound = aggregated.total(result.bound)
    if not whole:
        return PooledPlan({}, bound)
    now = problem.instance.now
    starts = {
        demand.job.id: Start(now + int(time), ({0: demand.slots},))
        for demand, time in zip(demands, result.starts.tolist(), strict=True)
    }
    proved = result.status == "proved"
    return PooledPlan(starts, bound, proved and aggregated.faithful, proved)


#: Sizes of the linear program: buckets of time, piece sizes for one host resource, slots of the
#: largest host for which blocks that fit into it are counted, and integer prices for one unit of
#: cost.
BUCKETS = 96
MAX_PIECES = 6
MAX_SLOTS = 1024
SCALE = 1 << 30
#: Deterministic time of the linear program, about seconds.
WORK = 20.0
#: Largest extra cost that the linear program can represent.
MAX_IN_PROGRAM = 1 << 900
#: Seconds for the linear program after the time limit, within the grace period.
GLIMPSE = 0.3
#: Tables of free amounts (instants × hosts) that fit into memory at the same time, for one
#: resource.
TABLES = 4
#: Tolerance in the test whether a pool is scarce; pools that are not scarce are omitted.
SPARE = 1e-9


@dataclass(frozen=True, slots=True)
class Pieces:
    """One pool with its capacity and the amounts that its jobs need."""

    #: Pieces in the pool at each instant, [times].
    there: FloatArray
    #: Pieces that a job takes, by position of the job.
    taken: Mapping[int, float]

    @property
    def scarce(self) -> bool:
        """Return whether all jobs together need more pieces than the minimum capacity."""
        return sum(self.taken.values()) > float(self.there.min()) + SPARE


def bound_of_pools(
    problem: PlanningProblem,
    demands: Sequence[Demand],
    costs: Costs,
    alone: Mapping[str, int],
    instants: Sequence[int],
    budget: Budget,
) -> int | None:
    """Return a lower bound on the cost of any plan of `demands`, in units; None if none was found.

    alone: earliest start of each job given running jobs only (seconds). instants: starts and ends
    of a known plan; the time grid is fine around them, and pools have no price after the last one.
    """
    if costs.largest:
        return None
    jobs = [demand for demand in demands if demand.duration]
    try:
        pools = pools_of(problem.base, jobs, budget)
        pools += _in_rounded_blocks(problem.base, jobs, budget)
        if not jobs or not pools:
            return None
        program = _Program(problem.base.changes(), pools, jobs, costs, alone, instants, budget)
        found = program.bound()
    except OutOfTime:
        return None
    rest = sum(
        costs.jobs[demand.job.id].at(alone[demand.job.id])
        for demand in demands
        if not demand.duration
    )
    return None if found is None else found + rest


def pools_of(base: Profile, jobs: Sequence[Demand], budget: Budget) -> list[Pieces]:
    """Return the pools that may be scarce, at the instants at which the base profile changes.

    Jobs with several terms take nothing from them.

    Raises OutOfTime if the budget and its grace period end, or if memory is insufficient.
    """
    times = base.changes()
    if (
        TABLES * len(times) * len(base.table.instance.cluster.hosts) * 8 / 1e6
        > budget.memory_left()
    ):
        raise OutOfTime
    blocks: dict[int, dict[int, list[tuple[float, int]]]] = {}
    limits: dict[int, dict[int, float]] = {}
    single = {number: job for number, job in enumerate(jobs) if len(job.terms) == 1}
    for number, demand in single.items():
        budget.check()
        for index, found in _blocks(base, demand).items():
            blocks.setdefault(index, {})[number] = found
        for index, amount in _limited(base, demand).items():
            limits.setdefault(index, {})[number] = amount
    pools = [
        Pieces(np.array([base.free_in_pool(index, time) for time in times]).clip(0), taken)
        for index, taken in limits.items()
    ]
    for index, by_job in blocks.items():
        budget.check()
        free = np.array([base.free(index, time) for time in times]).clip(0)
        pools.append(Pieces(free.sum(axis=1), {j: _total(found) for j, found in by_job.items()}))
        for piece in _piece_sizes(by_job):
            taken = {
                number: count
                for number, found in by_job.items()
                if (count := sum(n * float(size // piece) for size, n in found))
            }
            pools.append(Pieces(np.floor((free + SLACK) / piece).sum(axis=1), taken))
    for more in (_on_able_hosts, _idle_units):
        pools += more(base, times, single, budget)
    return [pool for pool in pools if pool.scarce]


def _in_rounded_blocks(base: Profile, jobs: Sequence[Demand], budget: Budget) -> list[Pieces]:
    """Return pools of slots in which blocks count by their size rounded to parts of the largest
    host, and a host by the blocks of greatest count that fit into it (the dual feasible functions
    of Fekete and Schepers, 2001).
    """
    blocks = {
        number: [(int(size), count) for size, count in _blocks(base, job).get(SLOTS, ())]
        for number, job in enumerate(jobs)
        if len(job.terms) == 1
    }
    free = np.array([base.free(SLOTS, time) for time in base.changes()]).clip(0)
    free = np.floor(free + SLACK).astype(np.int64)
    largest = int(free.max())
    sizes = {size for found in blocks.values() for size, _ in found if 0 < size <= largest}
    if not 1 < largest <= MAX_SLOTS or not sizes:
        return []
    pools = []
    for parts in range(2, MAX_PIECES + 2):
        budget.check()
        counts = dict.fromkeys(sizes, 0)
        for size in sizes:
            whole, rest = divmod(size * parts, largest)
            counts[size] = parts * (whole * largest if rest else size * (parts - 1))
        most = [0]
        for slots in range(1, largest + 1):
            fitting = [most[slots - size] + n for size, n in counts.items() if size <= slots]
            most.append(max(most[-1], *fitting, 0))
        taken = {
            number: amount
            for number, found in blocks.items()
            if (amount := sum(n * float(counts.get(size, 0)) for size, n in found))
        }
        pools.append(Pieces(np.array(most, dtype=float)[free].sum(axis=1), taken))
    return [pool for pool in pools if pool.scarce]


def _on_able_hosts(
    base: Profile, times: Sequence[int], jobs: Mapping[int, Demand], budget: Budget
) -> list[Pieces]:
    """Return pools of slots on hosts with enough of another resource, for jobs that need it
    there.
    """
    slots = np.array([base.free(SLOTS, time) for time in times]).clip(0)
    tiles = {
        number: certain
        for number, job in jobs.items()
        if SLOTS in _blocks(base, job) and (certain := tiles_anywhere(job.terms[0]))
    }
    pieces = [1.0, *_piece_sizes({n: [(float(s), c) for s, c in t] for n, t in tiles.items()})]
    needs: dict[int, dict[int, list[float]]] = {}
    for number in tiles:
        for use in jobs[number].terms[0].alternatives[0].host_uses:
            last = use.reservation.planned_at(max(0, (jobs[number].duration or 1) - 1))
            if use.index != SLOTS and use.per in (Per.SLOT, Per.HOST) and last > 0:
                needs.setdefault(use.index, {})[number] = [
                    last * (size if use.per is Per.SLOT else 1) for size, _ in tiles[number]
                ]
    found = []
    for index, by_job in needs.items():
        free = np.array([base.free(index, time) for time in times]) + SLACK
        amounts = sorted({amount for several in by_job.values() for amount in several})
        for amount in amounts[:: -(-len(amounts) // MAX_PIECES)]:
            able = free >= amount
            for piece in dict.fromkeys(pieces):
                budget.check()
                taken = {
                    number: float(count)
                    for number, several in by_job.items()
                    if (
                        count := sum(
                            n * (size // piece)
                            for (size, n), need in zip(tiles[number], several, strict=True)
                            if need >= amount
                        )
                    )
                }
                found.append(Pieces((able * np.floor(slots / piece)).sum(axis=1), taken))
    return found


def _idle_units(
    base: Profile, times: Sequence[int], jobs: Mapping[int, Demand], budget: Budget
) -> list[Pieces]:
    """Return pools of idle compute units, for jobs with exclusive units (cu[excl])."""
    groups: dict[int, tuple[IntArray, dict[int, float]]] = {}
    capacity = base.table.host_resources[SLOTS].capacity
    for number, job in jobs.items():
        (term,) = job.terms
        if term.unit is not None and term.unit.excl:
            unit_of = term.unit.unit_of
            largest = np.bincount(unit_of[unit_of >= 0], capacity[unit_of >= 0]).max()
            count = max(1.0, float(-(-term.slots // largest)))
            groups.setdefault(id(unit_of), (unit_of, {}))[1][number] = count
    found = []
    for unit_of, taken in groups.values():
        budget.check()
        inside, units = unit_of >= 0, np.unique(unit_of[unit_of >= 0])
        there = [
            len(np.setdiff1d(units, unit_of[inside & (base.free(SLOTS, time) < capacity)]))
            for time in times
        ]
        found.append(Pieces(np.array(there, dtype=float), taken))
    return found


def _total(blocks: Sequence[tuple[float, int]]) -> float:
    return sum(size * count for size, count in blocks)


def _piece_sizes(by_job: Mapping[int, Sequence[tuple[float, int]]]) -> list[float]:
    """Return the block sizes that make up the largest part of the demand."""
    weight: dict[float, float] = {}
    for found in by_job.values():
        for size, count in found:
            weight[size] = weight.get(size, 0.0) + size * count
    least = min(weight, default=0.0)
    sizes = [size for size in weight if size > least or size > 1]
    return sorted(sizes, key=lambda size: -weight[size])[:MAX_PIECES]


def _blocks(base: Profile, demand: Demand) -> dict[int, list[tuple[float, int]]]:
    """Return the blocks that the job certainly reserves on hosts, by resource: (size, count).

    For a resource that is released in phases, the last phase counts.
    """
    (term,) = demand.terms
    if len(term.alternatives) != 1:
        return {}
    tiles = tiles_anywhere(term)
    fewest = _fewest_hosts(term, base.table.host_resources[SLOTS].capacity)
    found: dict[int, list[tuple[float, int]]] = {}
    for use in term.alternatives[0].host_uses:
        capacity = base.table.host_resources[use.index].capacity
        last = use.reservation.planned_at(max(0, (demand.duration or 1) - 1))
        if use.index in base.table.slot_indices and term.unit is not None and term.unit.excl:
            found[use.index] = _whole_units(term, capacity)
        elif last <= 0:
            continue
        elif use.per is Per.SLOT:
            found[use.index] = [(last * size, count) for size, count in tiles]
        elif use.per is Per.HOST:
            found[use.index] = [(last, fewest)]
        elif use.per is Per.WHOLE:
            found[use.index] = [(float(capacity[term.candidates].min()), fewest)]
    return found


def _fewest_hosts(term: TermDemand, slots: FloatArray) -> int:
    """Return the minimum number of hosts of a term; slots: of each host, [H]."""
    largest = slots[term.candidates]
    if term.ptile is not None and not term.one_host:
        largest = np.minimum(largest, term.ptile[term.candidates])
    return max(1, math.ceil(term.slots / float(largest.max(initial=1.0))))


def _whole_units(term: TermDemand, capacity: FloatArray) -> list[tuple[float, int]]:
    """Return the blocks that a job with exclusive units takes in any units: (size, count)."""
    assert term.unit is not None
    unit_of = term.unit.unit_of
    numbers = np.unique(unit_of[term.candidates])
    units = [np.sort(capacity[unit_of == number])[::-1] for number in numbers if number >= 0]
    if not units:
        return []
    count = max(1, math.ceil(term.slots / max(1.0, *(float(unit.sum()) for unit in units))))
    sizes = [min(column) for column in zip(*units, strict=False)]
    return [(float(size), count * len(list(run))) for size, run in groupby(sizes) if size > 0]


def tiles_of(term: TermDemand, hosts: IntArray, block: int) -> list[tuple[int, int]]:
    """Return the numbers of slots that are certainly together on one host: (size, count); none if
    they differ from host to host.

    hosts: hosts that the term may use. block: size if the term has no ptile and no hosts=1.
    """
    if term.one_host:
        return [(term.slots, 1)]
    sizes = [block] if term.ptile is None else np.unique(term.ptile[hosts]).tolist()
    if len(sizes) != 1:
        return []
    rest = term.slots % sizes[0] if term.largest == term.slots else 0
    tiles = [(sizes[0], term.slots // sizes[0]), (rest, 1)]
    return [(size, count) for size, count in tiles if size and count]


def tiles_anywhere(term: TermDemand) -> list[tuple[int, int]]:
    """Return the tiles of a term on any of its hosts; single slots where they differ."""
    return tiles_of(term, term.candidates, term.block) or [(1, term.slots)]


def _limited(base: Profile, demand: Demand) -> dict[int, float]:
    """Return the amounts that the job takes from each pool that covers all its hosts."""
    (term,) = demand.terms
    if len(term.alternatives) != 1:
        return {}
    found: dict[int, float] = {}
    for use in term.alternatives[0].pool_uses:
        last = use.reservation.planned_at(max(0, (demand.duration or 1) - 1))
        if last > 0 and base.table.pools[use.index].mask[term.candidates].all():
            found[use.index] = last * (term.slots if use.per is Per.SLOT else 1)
    return found


class _Program:
    """Linear program over starts on a time grid.

    Each job has one start. In each bucket of the grid, the average use of a pool is at most its
    capacity.
    """

    def __init__(
        self,
        times: Sequence[int],
        pools: Sequence[Pieces],
        jobs: Sequence[Demand],
        costs: Costs,
        alone: Mapping[str, int],
        instants: Sequence[int],
        budget: Budget,
    ) -> None:
        self.budget = budget
        self.jobs = [(costs.jobs[job.job.id], alone[job.job.id], job.duration or 0) for job in jobs]
        self.pools = pools
        self.times = np.array(times, dtype=np.int64)
        end = max(*instants, 1 + max(first + length for _, first, length in self.jobs))
        firsts = np.unique([first for _, first, _ in self.jobs])
        points = (
            _spread(np.unique(self.times[self.times < end]), BUCKETS // 3),
            _spread(firsts, BUCKETS // 3),
            _spread(np.unique(np.array(instants, dtype=np.int64)), BUCKETS // 3),
            np.array([int(self.times[0]), end]),
        )
        self.grid = np.unique(np.concatenate(points))
        self.starts = [self._candidates(*job) for job in self.jobs]
        self.supply = [self._supply(pool.there) for pool in pools]

    def _candidates(self, cost: UnitCost, first: int, length: int) -> IntArray:
        """Return the starts among which the cheapest one lies for any prices on the grid.

        The cost of a start never falls with time.
        """
        points = np.concatenate((self.grid, self.grid - length, [first, cost.due]))
        return np.unique(points[points >= first])

    def _supply(self, there: FloatArray) -> FloatArray:
        """Return the capacity of a pool in each bucket, in piece seconds, [B]."""
        ends = np.append(self.times[1:], max(int(self.grid[-1]), int(self.times[-1])) + 1)
        area = np.concatenate(([0.0], np.cumsum(there * (ends - self.times))))
        step = np.searchsorted(self.times, self.grid, side="right") - 1
        upto = area[step] + there[step] * (self.grid - self.times[step])
        found: FloatArray = np.diff(upto)
        return found

    def _seconds(self, number: int) -> FloatArray:
        """Return the seconds of each window of a job in each bucket, [starts, B]."""
        starts = self.starts[number][:, np.newaxis]
        ends = starts + self.jobs[number][2]
        inside = np.minimum(ends, self.grid[1:]) - np.maximum(starts, self.grid[:-1])
        found: FloatArray = np.maximum(0, inside).astype(float)
        return found

    def bound(self) -> int | None:
        """Return the lower bound that the duals certify, in units; None if the solver fails."""
        prices = self._prices()
        if prices is None:
            return None
        total = -sum(
            int(price) * (int(amount) + 1)
            for row, supply in zip(prices, self.supply, strict=True)
            for price, amount in zip(row.tolist(), supply.tolist(), strict=True)
        )
        for number, (cost, _, _) in enumerate(self.jobs):
            starts = self.starts[number].tolist()
            seconds = self._seconds(number).astype(np.int64)
            rate = np.zeros(len(self.grid) - 1, dtype=np.int64)
            for row, pool in zip(prices, self.pools, strict=True):
                rate += np.floor(row * pool.taken.get(number, 0.0)).astype(np.int64)
            paid = (seconds.astype(object) @ rate.astype(object)).tolist()
            total += min(
                SCALE * cost.at(start) + price for start, price in zip(starts, paid, strict=True)
            )
        return -(-total // SCALE)

    def _prices(self) -> list[IntArray] | None:
        """Return for each pool the price of a piece second in each bucket, [B], SCALE per unit
        of cost.
        """
        program = new_program()
        if self._dearest() > MAX_IN_PROGRAM:
            return None
        model, unit = self._model()
        program.LoadModelFromProto(model)
        seconds = None if self.budget.time_limit is None else max(GLIMPSE, self.budget.left())
        if not solve(program, work=WORK, seconds=seconds):
            return None
        rows = program.constraints()[len(self.jobs) :]
        duals = np.array([-row.dual_value() for row in rows]).clip(0)
        lengths = np.diff(self.grid)
        table = duals.reshape(len(self.pools), -1) / lengths * (unit * SCALE)
        return [np.minimum(np.rint(row), float(1 << 50)).astype(np.int64) for row in table]

    def _dearest(self) -> int:
        """Return the maximum extra cost of a start over the first start of its job."""
        return max(
            cost.at(int(self.starts[number].max())) - cost.at(first)
            for number, (cost, first, _) in enumerate(self.jobs)
        )

    def _model(self) -> tuple[object, float]:
        """Return the program and its unit of cost, which makes the largest extra cost a million."""
        from ortools.linear_solver import linear_solver_pb2

        model = linear_solver_pb2.MPModelProto()
        lengths = np.diff(self.grid).astype(float)
        prices = [
            [cost.at(start) - cost.at(first) for start in self.starts[number].tolist()]
            for number, (cost, first, _) in enumerate(self.jobs)
        ]
        unit = max(1.0, max(max(row) for row in prices) / 1e6)
        columns = 0
        placed = []
        entries: list[tuple[list[int], list[float]]] = [
            ([], []) for _ in range(len(self.pools) * len(lengths))
        ]
        for number, row in enumerate(prices):
            self.budget.check()
            for price in row:
                model.variable.add(lower_bound=0.0, objective_coefficient=price / unit)
            placed.append(range(columns, columns + len(row)))
            start, bucket = np.nonzero(seconds := self._seconds(number))
            shares = seconds[start, bucket] / lengths[bucket]
            for at, pool in enumerate(self.pools):
                amount = pool.taken.get(number)
                if amount:
                    for column, where, share in zip(
                        (start + columns).tolist(), bucket.tolist(), shares.tolist(), strict=True
                    ):
                        variables, weights = entries[at * len(lengths) + where]
                        variables.append(column)
                        weights.append(amount * share)
            columns += len(row)
        for positions in placed:
            model.constraint.add(
                lower_bound=1.0,
                upper_bound=1.0,
                var_index=positions,
                coefficient=[1.0] * len(positions),
            )
        for at, supply in enumerate(self.supply):
            for where, amount in enumerate((supply / lengths).tolist()):
                variables, weights = entries[at * len(lengths) + where]
                model.constraint.add(upper_bound=amount, var_index=variables, coefficient=weights)
        return model, unit


def _spread(values: IntArray, count: int) -> IntArray:
    """Return at most this many of the values, evenly spaced."""
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(np.int64))]
