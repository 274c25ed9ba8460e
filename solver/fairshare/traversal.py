"""Two ways to walk through the jobs of one or several queues: as queued, or by fairshare.

Both hand out *ranks*: positions in the queue order of the cycle's pending jobs. A rank stays first
until :meth:`done` takes it away, whether its job was dispatched or not. Each step costs O(log n) of
the accounts at a level of the share tree, or O(1) first come, first served (FSH-06, FSH-16).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .accounts import Account, ShareTree
from .priority import significant
from .waiting_jobs import Lines, Rank


@dataclass(frozen=True, slots=True)
class Contest:
    """One level of a share tree: which account was chosen there, and which would have been next.

    rival: "" where no other account at the level has a job left. Priorities are dynamic ones.
    """

    account: str
    priority: float
    rival: str = ""
    rival_priority: float = 0.0

    def __str__(self) -> str:
        """``User4 75.000 before User3 25.000``."""
        text = f"{self.account} {self.priority:.3f}"
        if not self.rival:
            return f"{text} alone"
        # Equal to all decimals that count: the one whose job comes first in the queue.
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
        """The rank of the first job that is left."""
        while self._head is not None and self._head in self._done:
            self._done.discard(self._head)
            self._head = next(self._ranks, None)
        return self._head

    def account(self) -> Account | None:
        """The account that the first job would be charged to: none here."""
        return None

    def contests(self) -> tuple[Contest, ...]:
        """Nothing is compared here."""
        return ()

    def done(self, rank: Rank) -> None:
        """Take a rank away."""
        self._done.add(rank)

    def update(self, account: Account) -> None:
        """An account has changed: nothing to do here."""


class _Place:
    """An account in one walk. best: the rank it would offer next. entry: its valid heap entry."""

    __slots__ = ("account", "at", "best", "entry", "heap", "key", "parent", "places", "ranks")

    def __init__(self, account: Account, parent: _Place | None) -> None:
        self.account = account
        self.parent = parent
        self.places: dict[int, _Place] = {}
        self.heap: list[tuple[float, Rank, int]] = []
        self.ranks: Sequence[Rank] = ()
        self.at = 0
        self.best: Rank | None = None
        self.key = 0.0
        self.entry: tuple[float, Rank, int] | None = None

    def second(self) -> _Place | None:
        """The place that comes after the first one in the heap; entries that are void are passed.

        A search from the top of the heap: it looks at void entries and few others.
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
        lines: Lines,
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
        # Children come after their parents in creation order, so backwards is bottom up: the heap
        # of a place is whole when its turn comes.
        for place in reversed(self._places.values()):
            heapq.heapify(place.heap)
            place.best = self._best(place)
            if place.parent is not None and place.best is not None:
                place.entry = (place.key, place.best, place.account.index)
                place.parent.heap.append(place.entry)

    def first(self) -> Rank | None:
        """The rank of the job to try next."""
        return self._root.best

    def account(self) -> Account | None:
        """The account under which the first job is offered."""
        place = self._root
        while place.heap:
            place = place.places[place.heap[0][2]]
        return place.account

    def contests(self) -> tuple[Contest, ...]:
        """What was compared to come to that account, from the top down."""
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
        """What `account` and those above it have in use has changed: weigh them anew."""
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
        """The rank that a place would offer next; void entries of its heap go."""
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
        """Find the best rank of a place, and enter it anew at its parent if that changed."""
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
