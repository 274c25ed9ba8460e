"""Which pending job comes next: first come, first served, or whatever policy the instance has.

:class:`FirstCome` is the fast way for instances without fairshare, partitions and pools: it keeps
its list in order as jobs come and go. Everything else is :mod:`.order`'s. Both take the same calls,
see there; only FirstCome has to be told of submissions, and only its order never moves with time.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...model.instance import Instance
from ...model.job import Job
from ..availability.arrays import IntArray
from .dispatch_order import DispatchOrder, order_policy
from .hopeless import UNKNOWN, Hopeless, JobKind
from .queue_order import has_policy, queue_key
from .stages import Offer


class FirstCome:
    """Queue priority, job priority, submission, id, place in the input (FSH-16, LOP-04)."""

    def __init__(self, instance: Instance) -> None:
        self._priority = {queue.name: queue.priority for queue in instance.queues}
        self._keys: list[tuple[int, int, int, int, int, int]] = []
        self._offers: dict[int, Offer] = {}
        self._key_of: dict[str, tuple[int, int, int, int, int, int]] = {}
        #: The kind of each job of the list, in its order: number and limit.
        self._kinds: IntArray = np.zeros((2, 64), dtype=np.int64)
        self._at = 0

    def submitted(self, job: Job, number: int, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """A job joins the list at its place."""
        key = (*queue_key(job, self._priority[job.queue]), number)
        place, count = bisect.bisect_left(self._keys, key), len(self._keys)
        if count == self._kinds.shape[1]:
            self._kinds = np.concatenate([self._kinds, self._kinds], axis=1)
        self._kinds[:, place + 1 : count + 1] = self._kinds[:, place:count]
        self._kinds[:, place] = kind
        self._keys.insert(place, key)
        self._key_of[job.id] = key
        self._offers[number] = Offer(job, key)

    def begin_with_those_told(
        self, now: int, more: Sequence[Job] = (), slots: Mapping[str, int] | None = None
    ) -> None:
        """Start a cycle at the head of the list."""
        self._at = 0

    def next(self) -> Offer | None:
        """The job at hand."""
        return self._offers[self._keys[self._at][-1]] if self._at < len(self._keys) else None

    def next_but(self, hopeless: Hopeless) -> Offer | None:
        """The job at hand once those are passed that are hopeless."""
        numbers, limits = self._kinds[:, self._at : len(self._keys)]
        hopes = np.flatnonzero(~hopeless.among(numbers, limits))
        self._at = self._at + int(hopes[0]) if hopes.size else len(self._keys)
        return self.next()

    def skipped(self, job: Job) -> None:
        """On to the next."""
        self._at += 1

    def started(
        self, job: Job, allocation: Mapping[str, int], now: int, memory: float = 0.0
    ) -> None:
        """The job leaves the list."""
        self.withdrawn(job)

    def withdrawn(self, job: Job) -> None:
        """The job waits no more, or not where it did."""
        key = self._key_of.pop(job.id, None)
        if key is None:
            return
        place, count = bisect.bisect_left(self._keys, key), len(self._keys)
        self._kinds[:, place : count - 1] = self._kinds[:, place + 1 : count]
        del self._keys[place]
        del self._offers[key[-1]]
        if place < self._at:
            self._at -= 1

    def reserved(self, job: Job, slots: Mapping[str, int], now: int) -> None:
        """Reservations count for nothing here."""

    def ended(self, job: str, now: int, cpu_time: float | None = None) -> None:
        """Past use counts for nothing here."""

    def refusal(self, job: Job) -> str:
        """Nobody needs a share here."""
        return ""

    def resized(self, job: str, allocation: Mapping[str, int], now: int) -> None:
        """Size counts for nothing here."""

    def suspended(self, job: str, now: int, *, preempted: bool = False) -> None:
        """Counts for nothing here."""

    def resumed(self, job: str, now: int) -> None:
        """Counts for nothing here."""

    def to_state(self) -> dict[str, Any]:
        """The list follows from the pending jobs."""
        return {}


DispatchPolicy = FirstCome | DispatchOrder


def dispatch_policy(instance: Instance, state: Mapping[str, Any] | None = None) -> DispatchPolicy:
    """The order of an instance; state: of `to_state`, to go on from a checkpoint."""
    if has_policy(instance):
        return order_policy(instance, state=state)
    return FirstCome(instance)
