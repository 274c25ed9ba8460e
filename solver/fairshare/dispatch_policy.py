"""The next pending job: first come, first served, or by the policies of the instance.

:class:`FirstCome` is the fast way for instances without fairshare, partitions and pools: it keeps
its list in order as jobs come and go. Everything else is :mod:`.dispatch_order`'s. Both take the
same calls, see there; only FirstCome has to be told of submissions, and only its order never moves
with time.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from ...model.instance import Instance
from ...model.job import Job
from ..availability.resources import BoolArray, IntArray
from .dispatch_order import DispatchOrder, order_policy
from .queue_order import UNKNOWN, JobKind, SkipFilter, has_policy, queue_key
from .stages import Offer

#: Position of a job in the order.
Key = tuple[int, ...]
#: Number of new jobs that are inserted one by one, and of positions of removed jobs that are kept.
FEW = 64
#: Number of pending jobs up to which it costs more to pass over jobs together than it saves.
FEW_PENDING = 256


class FirstCome:
    """Order by queue priority, job priority, submission, id, input position (FSH-16, LOP-04).

    New jobs are inserted together on the next access; a removed job is marked, and its position is
    dropped together with further ones.
    """

    def __init__(self, instance: Instance) -> None:
        self._priority = {queue.name: queue.priority for queue in instance.queues}
        self._keys: list[Key] = []
        self._offers: dict[int, Offer] = {}
        self._key_of: dict[str, Key] = {}
        #: Kind of each job of the list, in order: number and limit; then the number of the job.
        self._kinds: IntArray = np.zeros((3, FEW), dtype=np.int64)
        #: Mask of positions of removed jobs, and their number.
        self._gone: BoolArray = np.zeros(FEW, dtype=bool)
        self._lost = 0
        self._arrivals: list[tuple[Key, JobKind]] = []
        self._at = 0

    def submitted(self, job: Job, number: int, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """Insert a submitted job at its position."""
        key = (*queue_key(job, self._priority[job.queue]), number)
        self._arrivals.append((key, kind))
        self._key_of[job.id] = key
        self._offers[number] = Offer(job, key)

    def begin_cycle(
        self, now: int, more: Sequence[Job] = (), slots: Mapping[str, int] | None = None
    ) -> None:
        """Start a cycle at the head of the list."""
        self._at = 0
        if self._lost > FEW:
            self._close_gaps()
        self._take_in()

    def begin_with_new_arrivals(self, numbers: Collection[int]) -> bool:
        """Start a cycle for newly submitted jobs after all others; return whether all of them are
        last.

        numbers: of the new jobs.
        """
        self.begin_cycle(0)
        keys, gone = self._keys, self._gone
        self._at = len(keys)
        while self._at and (gone[self._at - 1] or keys[self._at - 1][-1] in numbers):
            self._at -= 1
        there = sum(not gone for gone in self._gone[self._at : len(keys)].tolist())
        return there == sum(number in self._offers for number in numbers)

    def next(self) -> Offer | None:
        """Return the current job."""
        self._take_in()
        keys, gone = self._keys, self._gone
        while self._at < len(keys):
            if not gone[self._at]:
                return self._offers[keys[self._at][-1]]
            self._at += 1
        return None

    def next_except(self, unstartable: SkipFilter) -> Offer | None:
        """Return the current job after jobs in `unstartable` are skipped."""
        self._pass_over(lambda kinds: unstartable.skip_mask(kinds[0], kinds[1]))
        return self.next()

    def passes_over(self, mask: Callable[[IntArray, IntArray], BoolArray]) -> bool:
        """Move to the first job that is not in the mask; return whether a job was passed over.

        mask: of many jobs, by the numbers of their shapes and their own.
        """
        self.next()
        first = self._at
        self._pass_over(lambda kinds: mask(kinds[0], kinds[2]))
        return self._at > first

    def _pass_over(self, mask: Callable[[IntArray], BoolArray]) -> None:
        """Move from the current job to the first one that is not in the mask."""
        self._take_in()
        count, size = len(self._keys), FEW
        while self._at < count:
            # Parts of growing size: the cost follows the distance to the next job.
            part = slice(self._at, min(self._at + size, count))
            there = ~self._gone[part]
            there &= ~mask(self._kinds[:, part])
            first = int(there.argmax())
            if there[first]:
                self._at += first
                break
            self._at, size = part.stop, 4 * size

    def passed(self) -> Iterator[Offer]:
        """Yield the pending jobs before the current one."""
        for place in np.flatnonzero(~self._gone[: self._at]).tolist():
            yield self._offers[self._keys[place][-1]]

    def skipped(self, job: Job) -> None:
        """Advance to the next job."""
        self.next()
        self._at += 1

    def started(
        self, job: Job, allocation: Mapping[str, int], now: int, memory: float = 0.0
    ) -> None:
        """Remove a started job from the list."""
        self.withdrawn(job)

    def withdrawn(self, job: Job) -> None:
        """Remove a job that is no longer pending, or not at its previous position."""
        key = self._key_of.pop(job.id, None)
        if key is None:
            return
        self._take_in()
        self._gone[bisect.bisect_left(self._keys, key)] = True
        self._lost += 1
        del self._offers[key[-1]]

    def _take_in(self) -> None:
        """Insert new jobs; the current job is the one at this offset from the head."""
        if not self._arrivals:
            return
        arrivals, self._arrivals = self._arrivals, []
        if self._lost and (self._at or len(arrivals) > FEW):
            self._close_gaps()
        self._widen(len(self._keys) + len(arrivals))
        if len(arrivals) > FEW:
            self._take_in_many(arrivals)
            return
        for key, kind in arrivals:
            place, count = bisect.bisect_left(self._keys, key), len(self._keys)
            for places in (self._kinds, self._gone):
                places[..., place + 1 : count + 1] = places[..., place:count]
            self._kinds[:, place] = (*kind, key[-1])
            self._gone[place] = False
            self._keys.insert(place, key)

    def _take_in_many(self, arrivals: list[tuple[Key, JobKind]]) -> None:
        """Insert many new jobs into a list without removed jobs."""
        count = len(self._keys)
        self._kinds[:, count : count + len(arrivals)] = np.array(
            [(*kind, key[-1]) for key, kind in arrivals]
        ).T
        keys = [*self._keys, *(key for key, _ in arrivals)]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        self._kinds[:, : len(keys)] = self._kinds[:, order]
        self._keys = [keys[place] for place in order]

    def _widen(self, count: int) -> None:
        """Enlarge the arrays to `count` positions."""
        more = max(count, 2 * len(self._gone)) - len(self._gone)
        if count > len(self._gone):
            self._kinds = np.pad(self._kinds, ((0, 0), (0, more)))
            self._gone = np.pad(self._gone, (0, more))

    def _close_gaps(self) -> None:
        """Remove the positions of jobs that have left; the current job stays."""
        count = len(self._keys)
        there = ~self._gone[:count]
        kept = count - self._lost
        self._at -= int(self._gone[: self._at].sum())
        self._kinds[:, :kept] = self._kinds[:, :count][:, there]
        self._keys = list(compress(self._keys, there.tolist()))
        self._gone[:count] = False
        self._lost = 0

    def reserved(self, job: Job, slots: Mapping[str, int], now: int) -> None:
        """Ignore reservations, which do not affect this order."""

    def ended(self, job: str, now: int, cpu_time: float | None = None) -> None:
        """Ignore past use, which does not affect this order."""

    def infeasibility(self, job: Job) -> str:
        """Return "": without fairshare no job is excluded by its share."""
        return ""

    def resized(self, job: str, allocation: Mapping[str, int], now: int) -> None:
        """Ignore the new size, which does not affect this order."""

    def suspended(self, job: str, now: int, *, preempted: bool = False) -> None:
        """Ignore the suspension, which does not affect this order."""

    def resumed(self, job: str, now: int) -> None:
        """Ignore the resumption, which does not affect this order."""

    def to_state(self) -> dict[str, Any]:
        """Return no state: the list follows from the pending jobs."""
        return {}


DispatchPolicy = FirstCome | DispatchOrder


def dispatch_policy(instance: Instance, state: Mapping[str, Any] | None = None) -> DispatchPolicy:
    """Return the dispatch policy of an instance; state: from `to_state`, to continue a
    checkpoint.
    """
    if has_policy(instance):
        return order_policy(instance, state=state)
    return FirstCome(instance)
