"""Plans built forward in time: states, their successors, and a depth-first search guided by prices.

At each event (a job ends, capacity changes, a job becomes startable) some jobs are started, then
time moves to the next event. Only plans that cannot be shifted left by a second are built: a job
starts at t only if there was no room for it just before, or if it was not allowed to start before.

With prices (:mod:`.bounds`) the cost of a plan is exactly

    bound + sum of the jobs' reduced costs + price of the supply left unused

and every term is >= 0, so a partial plan whose terms up to now already exceed the incumbent can be
left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

from .bounds import PoolBound
from .problem import Ints, PoolProblem

#: An integer above every instant and every excess cost.
_INFINITE = 1 << 62
KEPT = 24
#: Maximum depth of a search, in jobs started after its first state; a deeper search counts as out
#: of nodes.
DEEPEST = 300

Ends = tuple[tuple[int, int], ...]
"""Running jobs as (end, size), ascending."""


class NodeLimitReached(Exception):
    """The search has used up its node limit."""


class State(NamedTuple):
    """All starts before ``time`` are decided, and those at ``time`` of groups before ``since``.

    ``step`` is the capacity step that holds at ``time``, ``before`` the free processors just before
    it, ``left`` the number of jobs of each group still to start, ``starts`` the decisions as nested
    pairs (rest, group, start).
    """

    time: int
    step: int
    before: int
    running: Ends
    left: tuple[int, ...]
    value: int
    total: int
    starts: Trail
    since: int


Trail = tuple["Trail", int, int] | None


class Guide:
    """The prices of a state's residual problem, indexed by instant; ``kinds`` has the root's group
    index of each group of the residual problem.
    """

    def __init__(self, bound: PoolBound, state: State, kinds: list[int]) -> None:
        groups = len(state.left)
        self.scale = bound.prices.scale
        self.floor = bound.floor
        self._prices = bound.prices
        self.base = state
        self.excess: list[dict[int, int]] = [{} for _ in range(groups)]
        self._points: list[list[int]] = [[] for _ in range(groups)]
        self._suffix: list[list[int]] = [[] for _ in range(groups)]
        for kind, starts, excess in zip(kinds, bound.starts, bound.excess, strict=True):
            self.excess[kind] = dict(zip(starts.tolist(), excess.tolist(), strict=True))
            self._points[kind] = starts.tolist()
            self._suffix[kind] = np.minimum.accumulate(excess[::-1])[::-1].tolist()
        self._known: dict[int, tuple[int, dict[int, int], list[int]]] = {}

    def at(self, instant: int) -> tuple[int, dict[int, int], list[int]]:
        """Return the worth of the supply before the instant, the price of running until the instant
        by size, and the least reduced cost of a start after it by group.
        """
        found = self._known.get(instant)
        if found is None:
            worth, paid = self._prices.until(instant)
            # The priced supply excludes jobs that ran before the state, but the sum subtracts the
            # prices of all started jobs; so the prices of these earlier jobs are added.
            for end, size in self.base.running:
                if size in paid:
                    worth += paid[size] if instant <= end else self._prices.until(end)[1][size]
            rest = []
            for points, suffix in zip(self._points, self._suffix, strict=True):
                index = bisect_left(points, instant)
                rest.append(suffix[index] if index < len(points) else _INFINITE)
            found = self._known[instant] = (worth, paid, rest)
        return found

    @property
    def value(self) -> int:
        """Return the lower bound of the priced problem."""
        return -((-self.floor) // self.scale)

    def pays(self, size: int, instant: int) -> int:
        """Return the price of running from 0 to the instant, 0 for sizes without a price now."""
        return self.at(instant)[1].get(size, 0)


class Chronology:
    """The search tree of forward plans of one problem, with the states that are already searched.

    ``best`` is the value to beat; ``found`` the trail of a plan that did.
    """

    def __init__(self, problem: PoolProblem, best: int) -> None:
        groups = problem.groups
        self.problem = problem
        self.sizes = [g.size for g in groups]
        self.durations = [g.duration for g in groups]
        self.earliest = [g.earliest for g in groups]
        self.weights = [g.weight for g in groups]
        self.due = [g.due for g in groups]
        self.times = np.unique(np.concatenate((problem.times, problem.earliest))).tolist()
        steps = np.searchsorted(problem.times, self.times, side="right") - 1
        self.free = problem.free[steps].tolist()
        self._falls = bool(np.any(np.diff(problem.free) < 0))
        self.best = best
        self.found: Trail = None
        self.nodes = 0
        self._limit = self._budget = self._depth = 0
        self._seen: dict[tuple[int, tuple[int, ...]], list[tuple[int, int, Ends]]] = {}
        self._guide: Guide

    def root(self) -> State:
        counts = tuple(g.count for g in self.problem.groups)
        return State(0, 0, 0, (), counts, 0, 0, None, 0)

    def residual(self, state: State) -> tuple[PoolProblem, list[int]]:
        """Return the remaining problem of a state, and the root's group index of each of its
        groups.
        """
        later = [time for time in self.times if time > state.time]
        points = sorted({state.time, *later, *(end for end, _ in state.running)})
        free = []
        for point in points:
            step = bisect_right(self.times, point) - 1
            free.append(self.free[step] - sum(size for end, size in state.running if end > point))
        if points[0] > 0:
            points.insert(0, 0)
            free.insert(0, 0)
        jobs = [kind for kind, number in enumerate(state.left) for _ in range(number)]

        def column(values: list[int]) -> list[int]:
            return [values[kind] for kind in jobs]

        problem = PoolProblem.build(
            points,
            free,
            column(self.sizes),
            column(self.durations),
            earliest=column(self.earliest),
            weights=column(self.weights),
            due=column(self.due),
        )
        return problem, [kind for kind, number in enumerate(state.left) if number]

    def free_at(self, state: State) -> int:
        """Return the number of processors free at the state's time."""
        return int(self.free[state.step] - sum(size for _, size in state.running))

    def fits(self, kind: int, state: State, free: int) -> bool:
        """Whether a job of the group can start at the state's time and run to its end."""
        if self.sizes[kind] > free or state.time < self.earliest[kind]:
            return False
        return not self._falls or self._room(kind, state.time, state.running)

    def startable(self, kind: int, state: State, free: int) -> bool:
        """Whether a job of the group can start at the state's time, but not one second earlier."""
        if state.before >= self.sizes[kind] and state.time > self.earliest[kind]:
            return False
        return self.fits(kind, state, free)

    def _room(self, kind: int, time: int, running: Ends) -> bool:
        """Whether the job fits for its whole duration although the capacity falls later."""
        step = bisect_right(self.times, time)
        while step < len(self.times) and self.times[step] < time + self.durations[kind]:
            used = sum(size for end, size in running if end > self.times[step])
            if self.free[step] - used < self.sizes[kind]:
                return False
            step += 1
        return True

    def started(self, state: State, kind: int) -> State:
        """Return the state after one more job of the group starts at the state's time."""
        time, step, before, running, left, value, total, starts, _ = state
        late = time - self.due[kind]
        return State(
            time,
            step,
            before,
            tuple(sorted((*running, (time + self.durations[kind], self.sizes[kind])))),
            (*left[:kind], left[kind] - 1, *left[kind + 1 :]),
            value + (self.weights[kind] * late if late > 0 else 0),
            total + time,
            (starts, kind, time),
            kind,
        )

    def later(self, state: State, free: int) -> State | None:
        """Return the state at the next event if no other job starts now, or None if there is no
        event.
        """
        running, step = state.running, state.step
        following = running[0][0] if running else _INFINITE
        if step + 1 < len(self.times) and self.times[step + 1] <= following:
            step += 1
            following = self.times[step]
        if following == _INFINITE:
            return None
        ended = 0
        while ended < len(running) and running[ended][0] == following:
            ended += 1
        return State(
            following,
            step,
            free,
            running[ended:],
            state.left,
            state.value,
            state.total,
            state.starts,
            0,
        )

    def idle(self, state: State, later: State, guide: Guide) -> int:
        """Return the price of the supply that stays unused between a state and the next event."""
        worth, paid, _ = guide.at(state.time)
        worth_then, paid_then, _ = guide.at(later.time)
        lost = worth_then - worth
        for _, size in state.running:
            if size in paid:
                lost -= paid_then[size] - paid[size]
        return lost

    def children(self, state: State) -> list[State]:
        """Return the successors of a state: one more job started now, or a step to the next
        event.
        """
        free = self.free_at(state)
        found = [
            self.started(state, kind)
            for kind in range(state.since, len(state.left))
            if state.left[kind] and self.startable(kind, state, free)
        ]
        later = self.later(state, free)
        return found if later is None else [*found, later]

    def explore(self, state: State, guide: Guide, limit: int) -> bool:
        """Search all plans below a state for values below ``best``; return False if ``limit`` nodes
        do not suffice. The guide must price the residual problem of this state or of an ancestor.
        """
        self._guide = guide
        self._limit = self.nodes + limit
        self._budget = self.allowance(guide)
        self._depth = 0
        try:
            spent = self.spent(state, guide)
            if state.since:
                self._arrive(self._start(state, self.free_at(state), spent))
            else:
                self._arrive((state, spent))
        except NodeLimitReached:
            return False
        return True

    def spent(self, state: State, guide: Guide) -> int:
        """Return the loss of a state's decisions against the guide's bound."""
        worth, _, _ = guide.at(state.time)
        lost = worth - guide.at(guide.base.time)[0]
        trail = state.starts
        while trail is not guide.base.starts:
            assert trail is not None
            trail, kind, start = trail
            size = self.sizes[kind]
            upto = min(start + self.durations[kind], state.time)
            lost += guide.excess[kind].get(start, _INFINITE)
            lost -= guide.at(upto)[1][size] - guide.at(start)[1][size]
        for end, size in guide.base.running:
            lost -= guide.pays(size, min(end, state.time)) - guide.pays(size, guide.base.time)
        return lost

    def bound(self, state: State, guide: Guide) -> int:
        """Return the guide's lower bound on every plan that begins like the state."""
        rest = guide.at(state.time)[2]
        least = sum(number * cost for number, cost in zip(state.left, rest, strict=True) if number)
        total = guide.floor + self.spent(state, guide) + least
        return guide.base.value - ((-total) // guide.scale)

    def allowance(self, guide: Guide) -> int:
        """Return the maximum loss against the guide's bound of a plan better than ``best``."""
        return (self.best - 1 - guide.base.value) * guide.scale - guide.floor

    def _arrive(self, event: tuple[State, int] | None) -> None:
        """Search from an event (a state and the loss of the decisions before it) on, unless an
        equally good state was already searched: choose the jobs that start at this event.
        """
        been: list[State] = []
        while event is not None and not self._seen_as_good(event[0]):
            state, spent = event
            been.append(state)
            event = self._start(state, self.free_at(state), spent)
        # A state is recorded after its search is complete, because only a completed search may rule
        # out other states.
        for state in reversed(been):
            seen = self._seen[state.time, state.left]
            if len(seen) < KEPT:
                seen.append((state.value, state.total, state.running))
            else:
                seen[self.nodes % KEPT] = (state.value, state.total, state.running)

    def _seen_as_good(self, state: State) -> bool:
        for value, total, running in self._seen.setdefault((state.time, state.left), []):
            if (value, total) <= (state.value, state.total) and uses_less(running, state.running):
                return True
        return False

    def _start(self, state: State, free: int, spent: int) -> tuple[State, int] | None:
        """Start jobs of the groups that are not decided yet in every way that may beat ``best``,
        then continue at the next event unless the loss is too high.
        """
        self.nodes += 1
        if self.nodes > self._limit:
            raise NodeLimitReached
        left, guide = state.left, self._guide
        if not any(left):
            if state.value < self.best:
                self.best, self.found = state.value, state.starts
                self._budget = self.allowance(guide)
            return None
        rest = guide.at(state.time)[2]
        least = 0
        for number, cost in zip(left, rest, strict=True):
            if number:
                least += number * cost
        options = []
        for kind in range(state.since, len(left)):
            if left[kind] and self.startable(kind, state, free):
                extra = guide.excess[kind].get(state.time, _INFINITE)
                if spent + least - rest[kind] + extra <= self._budget:
                    options.append((extra, kind))
        options.sort()
        for extra, kind in options:
            if spent + least - rest[kind] + extra > self._budget:
                continue  # A branch searched before this one has found a better plan.
            grown = self.started(state, kind)
            if self._depth == DEEPEST:
                raise NodeLimitReached
            self._depth += 1
            self._arrive(self._start(grown, free - self.sizes[kind], spent + extra))
            self._depth -= 1
        later = self.later(state, free)
        if later is None:
            return None
        spent += self.idle(state, later, guide)
        total = spent
        for number, cost in zip(later.left, guide.at(later.time)[2], strict=True):
            if number:
                total += number * cost
        return (later, spent) if total <= self._budget else None


def uses_less(one: Ends, other: Ends) -> bool:
    """Whether state ``one`` never occupies more processors than state ``other``, from now on."""
    held = held_other = 0
    there = len(other) - 1
    for end, size in reversed(one):
        held += size
        while there >= 0 and other[there][0] >= end:
            held_other += other[there][1]
            there -= 1
        if held > held_other:
            return False
    return True


def plan_of(problem: PoolProblem, trail: Trail) -> Ints:
    """Return the starts (N,) of a complete trail; jobs of a group start in order of their index."""
    waiting = [list(g.members) for g in problem.groups]
    starts = np.zeros(len(problem), dtype=np.int64)
    chosen = []
    while trail is not None:
        trail, kind, start = trail
        chosen.append((start, kind))
    for start, kind in sorted(chosen):
        starts[waiting[kind].pop(0)] = start
    return starts
