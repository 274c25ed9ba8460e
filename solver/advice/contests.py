"""Whose account a pending job's account has lost to, and when it will be ahead (FSH-06, FSH-10).

Walked as the scheduler does: down the share tree, siblings with pending jobs compared at each
level. For the time to come it is assumed that what runs now runs on and that nothing else starts,
ends or reserves; then the formula alone decides, at every second.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...model.fairshare import queue_hosts, queue_sets
from ...model.job import Job
from ..fairshare.accounts import Account, ShareTree
from ..fairshare.priority import significant

if TYPE_CHECKING:
    from ..loop.snapshot import Snapshot

#: How far the formula is followed (seconds), and in which steps: every minute of the first day.
STEPS = ((86_400, 60), (30 * 86_400, 600))
#: What the times rest on, in a sentence.
ASSUMED = (
    "as long as what runs now runs on and nothing else starts; "
    "CPU time as jobs state it, else one second a second and slot"
)


@dataclass(frozen=True, slots=True)
class LostContest:
    """One level of a share tree at which another account with pending jobs comes first.

    path: of the level, ``normal/`` or ``Partition1/group2/``. ahead_from: the first second (from
    the origin) at which the account will have the higher priority, None: not within 30 days.
    """

    path: str
    account: str
    priority: float
    rival: str
    rival_priority: float
    ahead_from: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "level": self.path,
            "account": self.account,
            "priority": self.priority,
            "rival": self.rival,
            "rival_priority": self.rival_priority,
            "ahead_from": self.ahead_from,
        }


def lost_contests(moment: Snapshot, job: Job) -> tuple[LostContest, ...]:
    """Where accounts of others come before those of a pending job, from the top down."""
    found: list[LostContest] = []
    for name, tree in moment.order.trees.items():
        rivals = [other for other in _contenders(moment, name) if other is not job]
        if len(rivals) < len(_contenders(moment, name)):
            for account in tree.accounts(job.user, job.group):
                found += _lost(tree, account, rivals, moment.instance.now)
    return tuple(dict.fromkeys(found))


def _contenders(moment: Snapshot, policy: str) -> list[Job]:
    """Pending jobs that a queue set or a host partition has to order."""
    instance = moment.instance
    for queues in queue_sets(instance):
        if queues.master == policy:
            return [job for job in instance.pending if job.queue in queues.queues]
    hosts = moment.order.partitions[policy]
    usable = {q.name for q in instance.queues if hosts & set(queue_hosts(instance.cluster, q))}
    return [job for job in instance.pending if job.queue in usable]


def _lost(
    tree: ShareTree, account: Account, rivals: Iterable[Job], now: int
) -> Iterator[LostContest]:
    waiting = {
        id(at)
        for job in rivals
        for other in tree.accounts(job.user, job.group)
        for at in other.chain()
    }
    for own in reversed(list(account.chain())[:-1]):
        assert own.parent is not None
        others = [at for at in own.parent.children.values() if at is not own and id(at) in waiting]
        first = max(others, key=lambda at: tree.priority(at, now), default=None)
        if first is None or _ahead(tree, own, first, now) >= 0:
            continue
        yield LostContest(
            "/".join((tree.name, *own.parent.path, "")),
            own.name,
            tree.priority(own, now),
            first.name,
            tree.priority(first, now),
            overtakes(tree, own, first, now),
        )


def _ahead(tree: ShareTree, own: Account, rival: Account, time: int) -> float:
    """By how much an account is ahead of another; 0 where only rounding parts them."""
    return significant(tree.priority(own, time)) - significant(tree.priority(rival, time))


def overtakes(tree: ShareTree, own: Account, rival: Account, now: int) -> int | None:
    """The first second at which `own`, behind now, has the higher priority; None: not in sight.

    A lead shorter than a step of :data:`STEPS` may go unseen.
    """
    last = now
    for span, step in STEPS:
        while last < now + span:
            time = last + step
            if _ahead(tree, own, rival, time) > 0:
                return _first_second(tree, own, rival, last, time)
            last = time
    return None


def _first_second(tree: ShareTree, own: Account, rival: Account, low: int, high: int) -> int:
    """Bisected between a second at which `own` is not ahead and one at which it is."""
    while high - low > 1:
        middle = (low + high) // 2
        if _ahead(tree, own, rival, middle) > 0:
            high = middle
        else:
            low = middle
    return high
