"""One question of the lexicographic search: do all jobs so far fit, and one more at an instant?

The starts of the settled jobs are kept, their places may change. Counts and what was refuted before
(:mod:`.no_goods`) refute first, moving few jobs (:mod:`.repair`) and orders of placing find places,
and one model (:mod:`.joint_placement`) decides what these leave open.
"""

from __future__ import annotations

import time as clock
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ..availability.demand import Demand
from ..availability.profile import FOREVER, Profile
from ..availability.resources import SLOTS
from ..availability.room import SLACK
from ..availability.uses import Per
from ..budget import Budget, OutOfTime
from ..placement.earliest import Start, hold_start, start_at
from .counting import Asked, Blocks, blocks_of, too_many
from .idle_units import WholeUnits, too_few_idle, whole_units_of
from .model_room import ModelRoom
from .no_goods import NoGoods
from .repair import make_room
from .two_instants import crowded_out

if TYPE_CHECKING:
    from .joint_placement import JointPlacement

#: Limits of one model: wall seconds and deterministic units at least, or a share of what is left.
LEAST_SECONDS = 3.0
LEAST_EFFORT = 3.0
#: Counts by class are taken where there are so many times fewer of them than pairs.
FEWER = 4
#: Jobs that run at an instant are asked about alone where they have no more of the pairs.
CORE = 0.5
#: Share of the effort of whole models that such questions may spend in vain.
IN_VAIN = 0.2
#: Status (FEASIBLE, INFEASIBLE or UNKNOWN), and the places of the jobs where they are feasible.
Answer: TypeAlias = tuple[str, dict[str, Start]]


class Placed(Protocol):
    """A job whose start is settled."""

    @property
    def demand(self) -> Demand:
        """The job."""

    @property
    def start(self) -> Start:
        """When it starts, and where as long as nothing better is known."""


@dataclass(slots=True)
class JointProbe:
    """Answers beside one base profile. What is the same from question to question is kept.

    pending: all jobs that are asked about.
    """

    base: Profile
    budget: Budget
    pending: Sequence[Demand] = ()
    room: ModelRoom = field(init=False)
    no_goods: NoGoods = field(init=False)
    _blocks: dict[tuple[str, int], tuple[Blocks, ...]] = field(default_factory=dict)
    _whole: dict[tuple[str, int], WholeUnits | None] = field(default_factory=dict)
    _pairs: dict[tuple[str, int], int] = field(default_factory=dict)
    _slots: dict[int, float] = field(default_factory=dict)
    _once: dict[int, dict[int, float]] = field(default_factory=dict)
    _model: tuple[tuple[str, ...], JointPlacement] | None = None
    _effort_in_vain: float = 0.0
    _effort: float = 0.0

    def __post_init__(self) -> None:
        self.room = ModelRoom(self.budget)
        self.no_goods = NoGoods(self.base, self.pending)

    def ask(self, settled: Sequence[Placed], demand: Demand, time: int, *, share: float) -> Answer:
        """Whether a job can start at `time` (seconds) beside the settled ones at their starts.

        share: of the time left, that a model may take.
        """
        beside_base = start_at(self.base, demand, time)
        if beside_base is None or self._too_full(settled, demand, time):
            return "INFEASIBLE", {}
        if self._pool_too_full(settled, demand, time):
            return "INFEASIBLE", {}
        # A start closes hosts to others beyond its own end (JOB_ACCEPT_INTERVAL).
        alone = demand.interval is None
        group = _overlapping(settled, demand, time) if alone else list(settled)
        if not group:
            return "FEASIBLE", {demand.job.id: beside_base}
        if alone and self.no_goods.refute(_starts(group), demand, time):
            return "INFEASIBLE", {}
        asked = self._with_blocks(group, demand, time)
        if self._counts_refute(asked):
            return "INFEASIBLE", {}
        moved = make_room(self.base, [(item.demand, item.start) for item in group], demand, time)
        if moved is not None:
            return "FEASIBLE", moved
        for order in _orders(group, demand, time):
            placed = self._by_order(order)
            if placed is not None:
                return "FEASIBLE", placed
        status, placed = self._by_counts(asked, share)
        return (
            (status, placed) if placed is not None else self._by_model(group, demand, time, share)
        )

    def _too_full(self, settled: Sequence[Placed], demand: Demand, time: int) -> bool:
        """Whether the slots of all jobs so far exceed what is free somewhere in the window."""
        starts = np.array([time, *(item.start.time for item in settled)])
        jobs = [demand, *(item.demand for item in settled)]
        ends = starts + [FOREVER if job.duration is None else job.duration for job in jobs]
        slots = np.array([job.slots for job in jobs])
        for point in np.unique(starts[(starts >= time) & (starts < ends[0])]).tolist():
            asked = int(slots[(starts <= point) & (point < ends)].sum())
            if asked > self._free_slots(point):
                return True
        return False

    def _pool_too_full(self, settled: Sequence[Placed], demand: Demand, time: int) -> bool:
        """Whether a pool over all hosts, such as the elements of an array that may run, is full.

        What a job takes of it once counts wherever the job is placed.
        """
        for index, amount in self._taken_once(demand).items():
            if not self.base.table.pools[index].mask.all():
                continue
            taken = [(item, self._taken_once(item.demand).get(index, 0.0)) for item in settled]
            users = [(item, part) for item, part in taken if part]
            points = {time, *(item.start.time for item, _ in users)}
            for point in points:
                if not _covers(time, demand.duration, point):
                    continue
                used = sum(part for item, part in users if _runs_at(item, point))
                if used + amount > self.base.free_in_pool(index, point) + SLACK:
                    return True
        return False

    def _taken_once(self, demand: Demand) -> dict[int, float]:
        kind = id(demand.terms)  # kept alive by the jobs that are asked about
        if kind not in self._once:
            self._once[kind] = _taken_once(demand)
        return self._once[kind]

    def _free_slots(self, point: int) -> float:
        if point not in self._slots:
            self._slots[point] = float(self.base.free(SLOTS, point).clip(0).sum())
        return self._slots[point]

    def _with_blocks(self, group: Sequence[Placed], demand: Demand, time: int) -> list[Asked]:
        """The new job and the settled ones with their blocks; those of the settled are kept."""
        for item in group:
            key = item.demand.job.id, item.start.time
            if key not in self._blocks:
                self._blocks[key] = blocks_of(self.base, item.demand, item.start.time)
        settled = ((item.demand, item.start.time) for item in group)
        return [
            (demand, time, blocks_of(self.base, demand, time)),
            *((job, at, self._blocks[job.job.id, at]) for job, at in settled),
        ]

    def _counts_refute(self, asked: Sequence[Asked]) -> bool:
        demand, time, _ = asked[0]
        blocks = [block for _, _, several in asked for block in several]
        starts = {at for _, at, _ in asked} | set(self.base.later_starts)
        inside = sorted(at for at in starts if _covers(time, demand.duration, at))
        return (
            too_many(self.base, blocks, inside)
            or too_few_idle(self._whole_units(asked), inside)
            or crowded_out(self.base, asked, inside)
        )

    def _whole_units(self, asked: Sequence[Asked]) -> list[WholeUnits]:
        """The idle units that jobs take for certain; kept for each job and start."""
        for job, at, _ in asked:
            if (job.job.id, at) not in self._whole:
                self._whole[job.job.id, at] = whole_units_of(self.base, job, at)
        found = (self._whole[job.job.id, at] for job, at, _ in asked)
        return [item for item in found if item is not None]

    def _by_order(self, order: Iterable[tuple[Demand, int]]) -> dict[str, Start] | None:
        """A quick try: the jobs placed one after another at their starts."""
        profile = self.base.copy()
        placed: dict[str, Start] = {}
        for demand, time in order:
            start = start_at(profile, demand, time)
            if start is None:
                return None
            hold_start(profile, demand, start)
            placed[demand.job.id] = start
        return placed

    def _by_counts(
        self, asked: Sequence[Asked], share: float
    ) -> tuple[str, dict[str, Start] | None]:
        """Where blocks go, class by class of hosts, if that takes far fewer variables."""
        if any(len(job.terms) != 1 for job, _, _ in asked):
            return "UNKNOWN", None
        from .class_counts import ClassCounts

        pairs = sum(self._pairs_of(job, at) for job, at, _ in asked)
        if FEWER * ClassCounts.size(self.base.hosts, asked) > pairs:
            return "UNKNOWN", None
        counts = ClassCounts(self.base, asked)
        status, found = counts.solve(self.budget, **self._limits(share))
        if status == "INFEASIBLE":
            return status, {}
        whole = status == "FEASIBLE" and all(blocks for _, _, blocks in asked)
        whole = whole and all(job.interval is None for job, _, _ in asked)
        return "FEASIBLE", counts.placed(found) if whole else None

    # --- the model ----------------------------------------------------------------------------

    def _by_model(self, group: Sequence[Placed], demand: Demand, time: int, share: float) -> Answer:
        if self._core_refutes(group, demand, time, share):
            return "INFEASIBLE", {}
        free, fixed = self._split_by_size(group, demand, time)
        begun = clock.monotonic()
        try:
            model = self._model_of(free, fixed).beside(demand, time)
        except OutOfTime:
            return "UNKNOWN", {}
        pairs = sum(self._pairs_of(item.demand, item.start.time) for item in free)
        self.room.took(pairs, clock.monotonic() - begun)
        before = self.budget.effort_spent
        status, placed = self._solve(model, free, share)
        self._effort += self.budget.effort_spent - before
        if status == "FEASIBLE":
            return status, placed
        if status == "INFEASIBLE" and not fixed:
            self.no_goods.note(_starts(group), demand, time)
        return ("UNKNOWN" if fixed else status), {}

    def _solve(self, model: JointPlacement, free: Sequence[Placed], share: float) -> Answer:
        hint = {item.demand.job.id: item.start for item in free}
        return model.solve(self.budget, hint=hint, **self._limits(share))

    def _limits(self, share: float) -> dict[str, float]:
        return {
            "seconds": max(LEAST_SECONDS, share * self.budget.left()),
            "effort": max(LEAST_EFFORT, share * self.budget.effort_left()),
        }

    def _core_refutes(
        self, group: Sequence[Placed], demand: Demand, time: int, share: float
    ) -> bool:
        """Whether those that run at the instant are too many already, where they are few.

        Not asked any more once such questions were too often in vain.
        """
        if self._effort_in_vain > IN_VAIN * self._effort:
            return False
        core = [item for item in group if _runs_at(item, time)]
        size, whole = (
            sum(self._pairs_of(item.demand, item.start.time) for item in items)
            for items in (core, group)
        )
        if not core or size > CORE * whole or size > self.room.most_pairs():
            return False
        from .joint_placement import JointPlacement

        asked = [*((item.demand, item.start.time) for item in core), (demand, time)]
        try:
            model = JointPlacement(self.base, asked, check=self.budget.check_search)
        except OutOfTime:
            return False
        before = self.budget.effort_spent
        refuted = self._solve(model, core, share)[0] == "INFEASIBLE"
        if refuted:
            self.no_goods.note(_starts(core), demand, time)
        else:
            self._effort_in_vain += self.budget.effort_spent - before
        return refuted

    def _model_of(self, free: Sequence[Placed], fixed: Sequence[Placed]) -> JointPlacement:
        """The model of the settled jobs; kept for the next instant that is asked about."""
        from .joint_placement import JointPlacement

        key = tuple(item.demand.job.id for item in free)
        if self._model is not None and self._model[0] == key and not fixed:
            return self._model[1]
        base = self.base
        if fixed:
            base = base.copy()
            for item in fixed:
                hold_start(base, item.demand, item.start)
        asked = [(item.demand, item.start.time) for item in free]
        model = JointPlacement(base, asked, check=self.budget.check_search)
        self._model = None if fixed else (key, model)
        return model

    def _split_by_size(
        self, group: Sequence[Placed], demand: Demand, time: int
    ) -> tuple[list[Placed], list[Placed]]:
        """Jobs whose places are free in the model and jobs kept where they are.

        All are free as long as the model stays small enough; else the latest ones, whose places
        were chosen with the least room, and a failure then refutes nothing.
        """
        left = self.room.most_pairs() - self._pairs_of(demand, time)
        free: list[Placed] = []
        fixed: list[Placed] = []
        for item in reversed(group):
            left -= self._pairs_of(item.demand, item.start.time)
            (free if left >= 0 else fixed).append(item)
        return free, fixed

    def _pairs_of(self, demand: Demand, time: int) -> int:
        """(job, host) pairs of the model: hosts with room for something of a term."""
        key = demand.job.id, time
        if key not in self._pairs:
            self._pairs[key] = sum(
                int((self.base.room(demand, term, alternative, time).caps > 0).sum())
                for term in demand.terms
                for alternative in term.alternatives
                if not alternative.missing
            )
        return self._pairs[key]


def _taken_once(demand: Demand) -> dict[int, float]:
    """What a job takes of pools for its whole life, once however it is placed; by their index."""
    if len(demand.terms) != 1 or len(demand.terms[0].alternatives) != 1:
        return {}
    return {
        use.index: use.reservation.initial
        for use in demand.terms[0].alternatives[0].pool_uses
        if use.per is Per.JOB and not use.reservation.drops()
    }


def _starts(placed: Sequence[Placed]) -> list[tuple[str, int]]:
    return [(item.demand.job.id, item.start.time) for item in placed]


def _overlapping(settled: Sequence[Placed], demand: Demand, time: int) -> list[Placed]:
    """Settled jobs whose windows are linked with that of a job by overlaps, in their order."""
    reached: list[tuple[int, int]] = [(time, _end(time, demand.duration))]
    waiting = dict(enumerate(settled))
    group: list[int] = []
    grown = True
    while grown:
        grown = False
        for number, item in list(waiting.items()):
            start, end = item.start.time, _end(item.start.time, item.demand.duration)
            if any(start < b and a < end for a, b in reached):
                reached.append((start, end))
                group.append(number)
                del waiting[number]
                grown = True
    return [settled[number] for number in sorted(group)]


def _orders(
    group: Sequence[Placed], demand: Demand, time: int
) -> Iterable[list[tuple[Demand, int]]]:
    """Orders of placing: the new job first and then the hardest; and by start.

    Jobs that need nothing but slots of any hosts fit in the order of their starts if they fit at
    all, for whatever is free when one starts stays so.
    """
    others = [(item.demand, item.start.time) for item in group]
    yield [(demand, time), *sorted(others, key=lambda pair: -pair[0].slots)]
    yield sorted([(demand, time), *others], key=lambda pair: (pair[1], -pair[0].slots))


def _runs_at(item: Placed, time: int) -> bool:
    return _covers(item.start.time, item.demand.duration, time)


def _end(start: int, duration: int | None) -> int:
    return FOREVER if duration is None else start + duration


def _covers(start: int, duration: int | None, point: int) -> bool:
    return start <= point < _end(start, duration)
