"""EASY backfilling: only the head of the queue has a reservation."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from .fcfs import Fcfs
from .waiting_by_size import WaitingBySize


class Easy(Fcfs):
    """The head of the queue has a reservation; others may start if they do not delay it.

    The shadow is the time at which the head can start by the planned ends of running jobs; `extra`
    is what is free then beyond the head's need. A later job may start if it fits now and ends by
    the shadow or fits into the extra processors (Lifka 1995; Mu'alem and Feitelson 2001).
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.shadow = 0
        self.extra = 0
        self.by_size = WaitingBySize(self.size, self.request)

    def submitted(self, job: int, now: int) -> None:
        super().submitted(job, now)
        self.by_size.add(job)

    def occupy(self, job: int, now: int) -> None:
        super().occupy(job, now)
        self.by_size.remove(job)

    def backfill(self, now: int) -> None:
        waiting, size, request = self.waiting, self.size, self.request
        if self.refused == 0 and waiting:
            self.reserve_head(waiting[0])
        room = self.free
        if len(waiting) <= 1 or room == 0:
            return
        extra, window = self.extra, self.shadow - now
        candidates = self._candidates(room, extra, window)
        for job in self.in_order(candidates) if len(candidates) > 1 else candidates:
            need = size[job]
            if need > self.free:
                continue
            if request[job] > window:
                if need > extra:
                    continue
                extra -= need
            self.occupy(job, now)
            del waiting[bisect_left(waiting, job)]  # numbers are in order of arrival
        self.extra = extra

    def _candidates(self, room: int, extra: int, window: int) -> list[int]:
        """Jobs behind the head that may start, each if it were alone, in the order of arrival."""
        if self.refused == 0:
            return self.by_size.fitting(room, extra, window)  # not the head: it does not fit
        size, request = self.size, self.request
        return [
            job
            for job in self.waiting[self.refused :]
            if size[job] <= room and (request[job] <= window or size[job] <= extra)
        ]

    def in_order(self, candidates: list[int]) -> list[int]:
        """The order in which candidates are tried: that of arrival."""
        return candidates

    def reserve_head(self, head: int) -> None:
        """Compute shadow and extra for a head that does not fit now."""
        free, need = self.free, self.size[head]
        shadow = 0
        for end, job in self.running:
            if free >= need and end > shadow:
                break
            free += self.size[job]
            shadow = end
        self.shadow, self.extra = shadow, free - need

    def policy_state(self) -> dict[str, Any]:
        return super().policy_state() | {"shadow": self.shadow, "extra": self.extra}

    def restore_policy(self, state: dict[str, Any]) -> None:
        super().restore_policy(state)
        self.shadow, self.extra = state["shadow"], state["extra"]
        self.by_size = WaitingBySize(self.size, self.request)
        for job in self.waiting:
            self.by_size.add(job)


class EasySjbf(Easy):
    """EASY with the candidates tried by shortest request, ties by arrival (Tsafrir et al. 2007)."""

    def in_order(self, candidates: list[int]) -> list[int]:
        return sorted(candidates, key=self.request.__getitem__)
