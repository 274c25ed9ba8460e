"""What share accounts and slot pools had used at any moment of a log that the loop has run.

The jobs are booked as the loop booked them, by the ledger of the loop itself (:mod:`..fairshare`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...model.instance import Instance, PoolUsage, ShareUsage
from ...model.job import Job
from ..fairshare.accounts import Account, ShareTree
from ..fairshare.dispatch_order import DispatchOrder, order_policy
from ..loop.records import JobRecord

#: What happens to a job; of one second in this order, so that slots are free before they are taken.
_ORDER = ("ended", "preempted", "resized", "resumed", "started")


class PastShares:
    """Goes along a simulation and says what had been used by then.

    site: the instance that was simulated, of whose jobs the running ones count.
    jobs: as they were given to the simulation, records: what became of each.

    What a job that has several accounts used is charged to its first, as of jobs that run when an
    instance begins. Suspensions without giving up slots are in no record and count as running.
    """

    def __init__(self, site: Instance, jobs: Sequence[Job], records: Sequence[JobRecord]) -> None:
        self._given = (site, jobs, records)
        self._order: DispatchOrder | None = None
        self._events: list[_Booking] = []
        self._done = 0
        self._now = site.now

    def __reduce__(self) -> tuple[object, ...]:
        """Another process goes along anew."""
        return PastShares, self._given

    def at(self, now: int) -> tuple[tuple[ShareUsage, ...], tuple[PoolUsage, ...]]:
        """Usage at a moment, by all that has happened before that second."""
        if self._order is None or now < self._now:
            self._begin()
        order = self._order
        assert order is not None, "it has begun"
        while self._done < len(self._events) and self._events[self._done].time < now:
            self._events[self._done].book(order)
            self._done += 1
        self._now = now
        shares = tuple(
            _usage(tree, account, now)
            for tree in order.trees.values()
            for account in tree.root.walk()
            if account is not tree.root
        )
        pools = tuple(
            PoolUsage(queue, meter.at(now, use.decay), now)
            for use in order.pools.values()
            for queue, meter in use.accumulated.items()
        )
        return shares, pools

    def _begin(self) -> None:
        site, jobs, records = self._given
        if not self._events:
            begun = {item.job.id for item in site.running}
            for job, record in zip(jobs, records, strict=True):
                self._events += _bookings(job, record, begun=job.id in begun)
            self._events.sort(key=lambda event: (event.time, _ORDER.index(event.what)))
        self._order, self._done = order_policy(site), 0


def _usage(tree: ShareTree, account: Account, now: int) -> ShareUsage:
    used = tree.usage(account, now)
    return ShareUsage(
        tree.name,
        "/".join(account.path),
        cpu_time=used.cpu_time,
        historical_run_time=used.historical_run_time,
        stamp=now,
    )


@dataclass(frozen=True, slots=True)
class _Booking:
    """Something that happens to a job at a time (seconds). where: slots by host from then on."""

    time: int
    what: str
    job: Job
    where: Mapping[str, int] = field(default_factory=dict)

    def book(self, order: DispatchOrder) -> None:
        """Tell the ledger."""
        name, time = self.job.id, self.time
        match self.what:
            case "ended":
                order.ended(name, time)
            case "preempted":
                order.suspended(name, time, preempted=True)
            case "resized":
                order.resized(name, self.where, time)
            case "resumed":
                order.resumed(name, time)
            case _:
                order.started(self.job, self.where, time)


def _bookings(job: Job, record: JobRecord, *, begun: bool) -> Iterator[_Booking]:
    """What happens to a job. begun: it runs as the simulation begins.

    Between two stretches it was preempted; one that was ever sent back to the queue, sent back.
    """
    stopped, again = ("ended", "started") if record.requeues else ("preempted", "resumed")
    holds, until = False, None
    for start, end, where in record.held:
        if until is not None and start > until:
            yield _Booking(until, stopped, job)
            yield _Booking(start, again, job, where)
        elif until is not None:
            yield _Booking(start, "resized", job, where)
        elif not begun:
            yield _Booking(start, "started", job, where)
        holds, until = True, end
    if until is not None and until != record.end:
        yield _Booking(until, stopped, job)
        holds = not record.requeues
    if record.end is not None and holds:
        yield _Booking(record.end, "ended", job)
