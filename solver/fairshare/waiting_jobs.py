"""The order of jobs by their queues (FSH-16), and the pending jobs in it, kept from cycle to cycle.

A place in the order is a *rank*: a tuple that sorts as the jobs do. Lists are kept for each queue,
and for each share account of the policies that ask. Jobs that come and go are entered and taken out
when the next cycle begins, so that lists stay as they are while one is walked through.

Filter for jobs that cannot start, by their kind and limit. A second pass through the pending jobs
of a cycle knows for most of them that a dispatch attempt would fail; with thousands of jobs, this
has to cost less than a call for each job.

Two walks through the jobs of one or several queues: as queued, or by fairshare. Both yield *ranks*:
positions in the queue order of the cycle's pending jobs. A rank stays first until :meth:`done`
removes it, whether its job was dispatched or not. Each step costs O(log n) of the accounts at a
level of the share tree, or O(1) first come, first served (FSH-06, FSH-16).
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple, Protocol

import numpy as np

from ...model.instance import Instance
from ...model.job import Job
from ..availability.resources import BoolArray, IntArray
from .accounts import Account, ShareTree, significant
from .association_use import JobPriorities


def queue_key(job: Job, priority: int, job_priority: int | None = None) -> tuple[int, ...]:
    """Return the sort key of a job: queue priority, job priority (-sp), submission, then id
    (FSH-16).

    btop and bbot move a job before or after other jobs of its queue and priority. Numeric ids are
    compared as numbers, elements of an array by index. Other names keep the order of the input,
    which is the order of submission.

    job_priority: grown priority of the job (JOB_PRIORITY_OVER_TIME), None if it is constant.
    """
    name = job.array_id or job.id
    number = int(name) if name.isascii() and name.isdigit() else 0
    index = (job.array_index or 0) if number else 0
    own = job.priority if job_priority is None else job_priority
    return (-priority, -own, *job.queue_position, number, index)


def has_slot_pools(instance: Instance) -> bool:
    """Return whether some queue shares its hosts by a slot pool."""
    return any(queue.slot_pool for queue in instance.queues)


def has_policy(instance: Instance) -> bool:
    """Return whether shares, partitions, slot pools, APS or growing priorities affect the order.

    That is shares, partitions, slot pools or absolute priorities.
    """
    decided = has_slot_pools(instance) or any(
        queue.user_shares or queue.aps_priority is not None for queue in instance.queues
    )
    return decided or bool(instance.partitions) or instance.params.grows_priorities


#: Limit of a job that never uses reserved slots.
UNLIMITED = 1 << 60


class JobKind(NamedTuple):
    """Which jobs are alike in what they ask for."""

    #: Equal for jobs with equal requests on equal hosts.
    number: int
    #: Seconds after which the job releases reserved slots of other jobs, UNLIMITED if it may use
    #: none.
    limit: int


#: Kind of a job that is not in the filter.
UNKNOWN = JobKind(0, UNLIMITED)


class SkipFilter(Protocol):
    """Test for jobs whose dispatch attempt would be infeasible."""

    def must_skip(self, job: Job) -> bool:
        """Return whether a dispatch attempt of the job must fail."""

    def skip_mask(self, numbers: IntArray, limits: IntArray) -> BoolArray:
        """Return for many jobs, by their kinds, whether a dispatch attempt must fail."""


#: Sort key: queue priority, job priority, position (time, place), number in its name, arrival.
Rank = tuple[int, ...]
#: User and fairshare group (``bsub -G``) of a job, which determine its accounts.
Owner = tuple[str, str]
#: Number of ranks from which they are removed from a list in one pass.
_MANY = 16


class AccountQueues:
    """The ranks of some queues by the account under which they are considered, each in order."""

    def __init__(self) -> None:
        self.by_account: dict[Account, list[Rank]] = {}
        self._under: dict[Rank, tuple[Account, ...]] = {}
        self._new: list[Rank] = []

    def accounts_of(self, rank: Rank) -> tuple[Account, ...]:
        """Return the accounts under which a rank is listed."""
        return self._under.get(rank, ())

    def announce(self, rank: Rank) -> None:
        """Add a rank, which is sorted in on the next access."""
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

    def remove(self, gone: Collection[Rank]) -> None:
        """Remove ranks of jobs that are no longer pending."""
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
    """Jobs by rank; priority: of the queues. priorities: how those of jobs move, if they do."""

    def __init__(
        self, priority: Mapping[str, int], priorities: JobPriorities | None = None
    ) -> None:
        self.jobs: dict[Rank, Job] = {}
        #: Ranks that have left in this cycle.
        self.gone: set[Rank] = set()
        #: Maximum number of slots that the jobs of each queue could take.
        self.slots = dict.fromkeys(priority, 0)
        self._priority = priority
        #: Growth of job priorities, and the time at which that of each job grows next, with its
        #: rank.
        self._growth = priorities if priorities is not None and priorities.moves else None
        self._growing: list[tuple[int, Rank]] = []
        #: Time of the priorities (seconds).
        self._now = 0
        self._ranks: dict[str, list[Rank]] = {name: [] for name in priority}
        self._rank_of: dict[str, Rank] = {}
        self._new: dict[str, list[Rank]] = {}
        self._lines: dict[tuple[str, tuple[str, ...]], AccountQueues] = {}
        self._kind_of: dict[str, JobKind] = {}
        self._of_kind: Counter[JobKind] = Counter()
        #: Its keys as an array, None if they have changed.
        self._kinds: IntArray | None = None
        self._of_owner: Counter[Owner] = Counter()

    def rank(self, job: str) -> Rank | None:
        """Return the rank of a job, None if it is not waiting."""
        return self._rank_of.get(job)

    def enter(self, job: Job, arrival: int, kind: JobKind = UNKNOWN) -> None:
        """Add a waiting job; equal jobs are ordered by arrival."""
        rank = (*queue_key(job, self._priority[job.queue], self._own_priority(job)), arrival)
        if rank in self.gone:
            self.settle()
        self.jobs[rank] = job
        self._rank_of[job.id] = rank
        self._new.setdefault(job.queue, []).append(rank)
        self.slots[job.queue] += job.most_slots
        self._kind_of[job.id] = kind
        self._of_kind[kind] += 1
        self._kinds = None
        self._of_owner[(job.user, job.group)] += 1
        if self._growth is not None:
            time = self._growth.next_growth(job, self._now)
            if time is not None:
                heapq.heappush(self._growing, (time, rank))

    def _own_priority(self, job: Job) -> int | None:
        """Return the current grown priority of a job, None if no priority grows."""
        return None if self._growth is None else self._growth.at(job, self._now)

    @property
    def next_growth(self) -> int | None:
        """Return when the priority of a waiting job grows next, None if none grows."""
        while self._growing and not self._waits(self._growing[0][1]):
            heapq.heappop(self._growing)
        return self._growing[0][0] if self._growing else None

    def _waits(self, rank: Rank) -> bool:
        return rank in self.jobs and rank not in self.gone

    def grow(self, now: int) -> None:
        """Move jobs whose priorities have grown by `now` to their new positions."""
        self._now = now
        moved: list[tuple[Job, int, JobKind]] = []
        while (time := self.next_growth) is not None and time <= now:
            rank = heapq.heappop(self._growing)[1]
            job = self.jobs[rank]
            moved.append((job, rank[-1], self._kind_of[job.id]))
            self.leave(job.id)
        moved += self._with_other_shares()
        if moved:
            self.settle()
        for job, arrival, kind in moved:
            self.enter(job, arrival, kind)

    def _with_other_shares(self) -> list[tuple[Job, int, JobKind]]:
        """Take out the jobs whose fairshare part has changed; for each its arrival and kind."""
        use = None if self._growth is None else self._growth.use
        changed = frozenset[int]() if use is None else use.changed()
        if use is None or not changed:
            return []
        moved = [
            (job, rank[-1], self._kind_of[job.id])
            for rank, job in self.jobs.items()
            if rank not in self.gone and use.association(job) in changed
        ]
        for job, _, _ in moved:
            self.leave(job.id)
        return moved

    def leave(self, job: str) -> None:
        """Remove a job that is no longer pending, or not at its previous position."""
        rank = self._rank_of.pop(job, None)
        if rank is not None:
            self.gone.add(rank)
            left = self.jobs[rank]
            self.slots[left.queue] -= left.most_slots
            kind = self._kind_of.pop(job)
            self._of_kind[kind] -= 1
            if not self._of_kind[kind]:
                del self._of_kind[kind]
                self._kinds = None
            owner = (left.user, left.group)
            self._of_owner[owner] -= 1
            if not self._of_owner[owner]:
                del self._of_owner[owner]

    def waiting(self) -> Iterator[Job]:
        """Yield the pending jobs."""
        return (job for rank, job in self.jobs.items() if rank not in self.gone)

    def owners(self) -> Collection[Owner]:
        """Return the users of the pending jobs."""
        return self._of_owner.keys()

    def any_but(self, unstartable: SkipFilter) -> bool:
        """Return whether some waiting or already examined job is not in the filter."""
        if not self._of_kind:
            return False
        if self._kinds is None:
            self._kinds = np.array(list(self._of_kind), dtype=np.int64).T
        numbers, limits = self._kinds
        return not unstartable.skip_mask(numbers, limits).all()

    def settle(self) -> None:
        """Update the lists before a walk."""
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
            lines.remove(self.gone)
        self.gone.clear()

    def of_queues(self, queues: Sequence[str]) -> Iterator[Rank]:
        """Yield the ranks of some queues in order, without those that have left."""
        lists = [self._ranks[name] for name in queues]
        ranks = lists[0] if len(lists) == 1 else merge(*lists)
        return (rank for rank in ranks if rank not in self.gone)

    def everyone(self) -> Iterator[Rank]:
        """Return the ranks of all queues."""
        return self.of_queues(tuple(self._ranks))

    def lines(
        self,
        policy: str,
        queues: Sequence[str],
        accounts_of: Callable[[Rank], tuple[Account, ...]],
    ) -> AccountQueues:
        """Return the queues of a policy's accounts; accounts_of: called once for each rank."""
        key = (policy, tuple(queues))
        found = self._lines.get(key)
        if found is None:
            found = self._lines[key] = AccountQueues()
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


@dataclass(frozen=True, slots=True)
class Contest:
    """One level of a share tree: which account was chosen there, and which would have been next."""

    account: str
    #: Dynamic priority of the chosen account.
    priority: float
    #: Name of the second account, "" if no other at the level has a job left.
    rival: str = ""
    #: Dynamic priority of the second account.
    rival_priority: float = 0.0

    def __str__(self) -> str:
        """Return text such as ``User4 75.000 before User3 25.000``."""
        text = f"{self.account} {self.priority:.3f}"
        if not self.rival:
            return f"{text} alone"
        # With equal priorities, to all significant digits, the first job in the queue decides.
        tie = significant(self.priority) == significant(self.rival_priority)
        word = "level with" if tie else "before"
        return f"{text} {word} {self.rival} {self.rival_priority:.3f}"


class QueueTraversal:
    """First come, first served: the ranks as they are."""

    def __init__(self, ranks: Iterable[Rank]) -> None:
        self._ranks = iter(ranks)
        self._head = next(self._ranks, None)
        self._done: set[Rank] = set()

    def first(self) -> Rank | None:
        """Return the rank of the first remaining job."""
        while self._head is not None and self._head in self._done:
            self._done.discard(self._head)
            self._head = next(self._ranks, None)
        return self._head

    def account(self) -> Account | None:
        """Return no account: this order has none."""
        return None

    def contests(self) -> tuple[Contest, ...]:
        """Return (): first come, first served compares no accounts."""
        return ()

    def done(self, rank: Rank) -> None:
        """Take a rank away."""
        self._done.add(rank)

    def update(self, account: Account) -> None:
        """Ignore a changed account: this order has none."""


class _Place:
    """An account in one walk."""

    __slots__ = ("account", "at", "best", "entry", "heap", "key", "parent", "places", "ranks")

    def __init__(self, account: Account, parent: _Place | None) -> None:
        self.account = account
        self.parent = parent
        self.places: dict[int, _Place] = {}
        self.heap: list[tuple[float, Rank, int]] = []
        self.ranks: Sequence[Rank] = ()
        self.at = 0
        #: Rank that it would offer next.
        self.best: Rank | None = None
        self.key = 0.0
        #: Valid heap entry of the account.
        self.entry: tuple[float, Rank, int] | None = None

    def second(self) -> _Place | None:
        """Return the heap entry after the first one, without void entries.

        The search starts at the top of the heap and examines void entries and few others.
        """
        heap = self.heap
        open_ = [(heap[at], at) for at in (1, 2) if at < len(heap)]
        heapq.heapify(open_)
        while open_:
            entry, at = heapq.heappop(open_)
            place = self.places[entry[2]]
            if place.entry is entry:
                return place
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heapq.heappush(open_, (heap[child], child))
        return None


class TreeTraversal:
    """By dynamic priority: from the root down, at each level the account with the highest one.

    Equal priorities: the account whose next job comes first in queue order. An account without a
    job left is out for the rest of the walk. Priorities are those at `now`, brought up to date by
    :meth:`update` when a dispatch changes what an account has in use.

    lines: of the jobs by account, each in queue order. gone: whether a rank is none of the walk's.
    """

    def __init__(
        self,
        tree: ShareTree,
        lines: AccountQueues,
        gone: Callable[[Rank], bool],
        now: float,
    ) -> None:
        self._tree = tree
        self._now = now
        self._lines = lines
        self._gone = gone
        self._done: set[Rank] = set()
        self._root = _Place(tree.root, None)
        self._places: dict[Account, _Place] = {tree.root: self._root}
        for account, ranks in lines.by_account.items():
            self._place(account).ranks = ranks
        # Children come after their parents in creation order, so the reverse order is bottom up:
        # the heap of an account is complete when the account is reached.
        for place in reversed(self._places.values()):
            heapq.heapify(place.heap)
            place.best = self._best(place)
            if place.parent is not None and place.best is not None:
                place.entry = (place.key, place.best, place.account.index)
                place.parent.heap.append(place.entry)

    def first(self) -> Rank | None:
        """Return the rank of the job to examine next."""
        return self._root.best

    def account(self) -> Account | None:
        """Return the account under which the first job is offered."""
        place = self._root
        while place.heap:
            place = place.places[place.heap[0][2]]
        return place.account

    def contests(self) -> tuple[Contest, ...]:
        """Return the comparisons that led to the account, from the top down."""
        found: list[Contest] = []
        place = self._root
        while place.heap:
            rival = place.second()
            chosen = place.places[place.heap[0][2]]
            if rival is None:
                found.append(Contest(chosen.account.name, -chosen.key))
            else:
                found.append(
                    Contest(chosen.account.name, -chosen.key, rival.account.name, -rival.key)
                )
            place = chosen
        return tuple(found)

    def done(self, rank: Rank) -> None:
        """Take a rank away, from every account that has it."""
        self._done.add(rank)
        for account in self._lines.accounts_of(rank):
            place = self._places.get(account)
            if place is not None and place.best == rank:
                self._climb(place)

    def update(self, account: Account) -> None:
        """Update the order after the use of `account` and its ancestors has changed."""
        for at in account.chain():
            place = self._places.get(at)
            if place is not None and place.parent is not None:
                place.key = self._tree.key(at, self._now)
                self._refresh(place)
        self._refresh(self._root)

    def _place(self, account: Account) -> _Place:
        place = self._places.get(account)
        if place is None:
            assert account.parent is not None, "the root has a place from the start"
            parent = self._places.get(account.parent) or self._place(account.parent)
            place = self._places[account] = _Place(account, parent)
            place.key = self._tree.key(account, self._now)
            parent.places[account.index] = place
        return place

    def _climb(self, place: _Place | None) -> None:
        while place is not None:
            self._refresh(place)
            place = place.parent

    def _best(self, place: _Place) -> Rank | None:
        """Return the rank that an account would offer next; void entries of its heap are
        removed.
        """
        if place.places:
            heap = place.heap
            while heap and place.places[heap[0][2]].entry is not heap[0]:
                heapq.heappop(heap)
            return heap[0][1] if heap else None
        ranks, done, gone = place.ranks, self._done, self._gone
        while place.at < len(ranks) and (ranks[place.at] in done or gone(ranks[place.at])):
            place.at += 1
        return ranks[place.at] if place.at < len(ranks) else None

    def _refresh(self, place: _Place) -> None:
        """Find the best rank of an account, and update its entry at the parent if it changed."""
        place.best = self._best(place)
        if place.parent is None:
            return
        if place.best is None:
            place.entry = None
            return
        entry = (place.key, place.best, place.account.index)
        if entry != place.entry:
            place.entry = entry
            heapq.heappush(place.parent.heap, entry)


Traversal = QueueTraversal | TreeTraversal
