"""The pending jobs in queue order, kept from cycle to cycle: nothing is sorted anew.

A place in the order is a *rank*: a tuple that sorts as the jobs do. Lists are kept for each queue,
and for each share account of the policies that ask. Jobs that come and go are entered and taken out
when the next cycle begins, so that lists stand still while one is walked through.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import merge

import numpy as np

from ...model.job import Job
from .accounts import Account
from .hopeless import UNKNOWN, Hopeless, JobKind
from .queue_order import queue_key

#: Queue priority, job priority, standing (time, place), number in its name, arrival.
Rank = tuple[int, ...]
#: User and fairshare group (``bsub -G``) of a job: they decide its accounts.
Owner = tuple[str, str]
#: From so many on, ranks are taken out of a list in one go.
_MANY = 16


class Lines:
    """The ranks of some queues by the account under which they are considered, each in order."""

    def __init__(self) -> None:
        self.by_account: dict[Account, list[Rank]] = {}
        self._under: dict[Rank, tuple[Account, ...]] = {}
        self._new: list[Rank] = []

    def accounts_of(self, rank: Rank) -> tuple[Account, ...]:
        """The accounts in whose lines a rank is."""
        return self._under.get(rank, ())

    def announce(self, rank: Rank) -> None:
        """A rank joins when the lines are next looked at."""
        self._new.append(rank)

    def catch_up(
        self, accounts_of: Callable[[Rank], tuple[Account, ...]], gone: Collection[Rank]
    ) -> None:
        """Enter what was announced, in the order of the ranks; it may make accounts."""
        for rank in sorted(self._new):
            if rank not in gone:
                self._under[rank] = accounts_of(rank)
                for account in self._under[rank]:
                    insort(self.by_account.setdefault(account, []), rank)
        self._new.clear()

    def take_out(self, gone: Collection[Rank]) -> None:
        """Ranks that wait no more."""
        self._new = [rank for rank in self._new if rank not in gone]
        of: dict[Account, list[Rank]] = {}
        for rank in gone:
            for account in self._under.pop(rank, ()):
                of.setdefault(account, []).append(rank)
        for account, ranks in of.items():
            _take_out(self.by_account[account], ranks)
            if not self.by_account[account]:
                del self.by_account[account]


class WaitingJobs:
    """Jobs by rank; priority: of the queues. gone: ranks that have left since the last cycle began.

    slots: for each queue how many its jobs could take at most.
    """

    def __init__(self, priority: Mapping[str, int]) -> None:
        self.jobs: dict[Rank, Job] = {}
        self.gone: set[Rank] = set()
        self.slots = dict.fromkeys(priority, 0)
        self._priority = priority
        self._ranks: dict[str, list[Rank]] = {name: [] for name in priority}
        self._rank_of: dict[str, Rank] = {}
        self._new: dict[str, list[Rank]] = {}
        self._lines: dict[tuple[str, tuple[str, ...]], Lines] = {}
        self._kind_of: dict[str, JobKind] = {}
        self._of_kind: Counter[JobKind] = Counter()
        self._of_owner: Counter[Owner] = Counter()

    def rank(self, job: str) -> Rank | None:
        """Where a job waits, None where it does not."""
        return self._rank_of.get(job)

    def enter(self, job: Job, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """A job waits; of equal ones that with the least arrival comes first."""
        rank = (*queue_key(job, self._priority[job.queue]), arrival)
        if rank in self.gone:
            self.settle()
        self.jobs[rank] = job
        self._rank_of[job.id] = rank
        self._new.setdefault(job.queue, []).append(rank)
        self.slots[job.queue] += job.most_slots
        self._kind_of[job.id] = kind
        self._of_kind[kind] += 1
        self._of_owner[(job.user, job.group)] += 1

    def leave(self, job: str) -> None:
        """A job waits no more, or not where it did."""
        rank = self._rank_of.pop(job, None)
        if rank is not None:
            self.gone.add(rank)
            left = self.jobs[rank]
            self.slots[left.queue] -= left.most_slots
            kind = self._kind_of.pop(job)
            self._of_kind[kind] -= 1
            if not self._of_kind[kind]:
                del self._of_kind[kind]
            owner = (left.user, left.group)
            self._of_owner[owner] -= 1
            if not self._of_owner[owner]:
                del self._of_owner[owner]

    def owners(self) -> Collection[Owner]:
        """Whose jobs wait."""
        return self._of_owner.keys()

    def any_but(self, hopeless: Hopeless) -> bool:
        """Whether some job that waits, or has had its turn in this walk, is not hopeless."""
        if not self._of_kind:
            return False
        numbers, limits = np.array(list(self._of_kind), dtype=np.int64).T
        return not hopeless.among(numbers, limits).all()

    def settle(self) -> None:
        """Bring the lists up to date, before a walk."""
        for queue, new in self._new.items():
            ranks = self._ranks[queue]
            if len(new) < _MANY:
                for rank in new:
                    insort(ranks, rank)
            else:
                ranks += new
                ranks.sort()
            for (_, queues), lines in self._lines.items():
                if queue in queues:
                    for rank in new:
                        lines.announce(rank)
        self._new.clear()
        if not self.gone:
            return
        of: dict[str, list[Rank]] = {}
        for rank in self.gone:
            of.setdefault(self.jobs.pop(rank).queue, []).append(rank)
        for queue, ranks in of.items():
            _take_out(self._ranks[queue], ranks)
        for lines in self._lines.values():
            lines.take_out(self.gone)
        self.gone.clear()

    def of_queues(self, queues: Sequence[str]) -> Iterator[Rank]:
        """The ranks of some queues in order, without those that have left."""
        lists = [self._ranks[name] for name in queues]
        ranks = lists[0] if len(lists) == 1 else merge(*lists)
        return (rank for rank in ranks if rank not in self.gone)

    def everyone(self) -> Iterator[Rank]:
        """The ranks of all queues."""
        return self.of_queues(tuple(self._ranks))

    def lines(
        self,
        policy: str,
        queues: Sequence[str],
        accounts_of: Callable[[Rank], tuple[Account, ...]],
    ) -> Lines:
        """The lines of a policy's accounts for some queues; accounts_of: asked once for a rank."""
        key = (policy, tuple(queues))
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = Lines()
            for rank in self.of_queues(queues):
                found.announce(rank)
        found.catch_up(accounts_of, self.gone)
        return found


def _take_out(ranks: list[Rank], gone: Sequence[Rank]) -> None:
    if len(gone) < _MANY:
        for rank in gone:
            at = bisect_left(ranks, rank)
            if at < len(ranks) and ranks[at] == rank:
                del ranks[at]
    else:
        those = set(gone)
        ranks[:] = [rank for rank in ranks if rank not in those]
