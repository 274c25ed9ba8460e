"""The demands of the jobs of a simulation, each shared by all jobs that ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...model.duration import expected_duration, granted_run_limit
from ...model.instance import Instance
from ...model.job import Job
from ...model.resreq import HostTable
from ..availability.arrays import BoolArray, FloatArray, IntArray
from ..availability.demand import Demand, TermDemand
from ..availability.profile import Profile
from ..availability.resources import ResourceTable
from ..availability.uses import Use
from ..fairshare.hopeless import UNLIMITED, JobKind
from ..placement.earliest import can_start, least_slots
from ..resolve import Resolver


@dataclass(slots=True, eq=False)
class Shape:
    """What equal jobs have in common.

    demand: as at dispatch (pref as asked). reserving: as a reservation sees it (TBR-13).
    never: why no such job can ever start, "" if one may. dynamic: its candidates depend on what
    runs at the moment. least: slots that have to be free wherever such a job starts.
    """

    number: int
    job: Job
    demand: Demand
    reserving: Demand
    never: str
    dynamic: bool
    least: int = 0


class Requests:
    """Resolves jobs; `instance` is the one whose hosts are all taken to be up.

    follow_load: loads change while the simulation runs, so every order of hosts may. margin:
    seconds that a plan keeps free behind pending jobs.
    """

    def __init__(self, instance: Instance, *, margin: int = 0) -> None:
        self.instance = instance
        self.margin = margin
        self.resolver = Resolver.of(instance, reserving=False, margin=margin)
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._backfill = {queue.name for queue in instance.queues if queue.backfill}
        self._least: dict[int, int] = {}
        self._spans: dict[tuple[object, ...], tuple[int | None, int | None]] = {}
        self.follow_load = False
        #: Whether the candidates of some shape depend on what runs at the moment.
        self.any_dynamic = False
        self._fitting: dict[tuple[object, ...], bool] = {}
        self._kept: list[Demand] = []
        self._cycle: dict[int, Demand] = {}
        self._hosts: HostTable | None = None
        self._by_user = self._by_project = True
        self._scopes()
        self._values: Callable[[], dict[str, FloatArray]] | None = None

    def _scopes(self) -> None:
        """Whether some limit tells users, or projects, apart."""
        instance = self.instance
        self._by_user = bool(
            instance.users
            or any(host.user_slots is not None for host in instance.cluster.hosts)
            or any(queue.user_slots is not None for queue in instance.queues)
            or any(limit.users is not None for limit in instance.limits)
        )
        self._by_project = any(limit.projects is not None for limit in instance.limits)

    def shape(self, job: Job) -> Shape:
        """The shape of a job."""
        key = self._wanted(job)
        found = self._shapes.get(key)
        if found is None:
            number = self._numbers.setdefault(key, len(self._numbers))
            found = self._shapes[key] = self._new(job, number)
        return found

    def kind(self, job: Job, limit: int | None) -> JobKind:
        """The kind of a job with a run limit: the number that its shape has, or would have."""
        number = self._numbers.setdefault(self._wanted(job), len(self._numbers))
        return JobKind(number, self.lent_for(job, limit))

    def least_slots(self) -> IntArray:
        """:attr:`Shape.least` by the numbers of shapes, 0 of those that nobody asked for yet."""
        found = np.zeros(self.kinds, dtype=np.int64)
        found[list(self._least)] = list(self._least.values())
        return found

    @property
    def kinds(self) -> int:
        """How many numbers of shapes there are."""
        return len(self._numbers)

    def lent_for(self, job: Job, limit: int | None) -> int:
        """Seconds for which a job may use what others hold, UNLIMITED where it never may (TBR-18).

        It is a job of a BACKFILL queue that has a run limit.
        """
        return UNLIMITED if limit is None or job.queue not in self._backfill else limit

    def _wanted(self, job: Job) -> tuple[object, ...]:
        """All that decides what a job asks for."""
        return (
            job.queue,
            job.user if self._by_user else "",
            job.res_req,
            job.gpu,
            job.slots,
            job.max_slots,
            job.project if self._by_project else "",
            job.application,
            job.hosts,
            job.exclusive,
            job.resizable,
            job.extsched,
            self.resolver.home(job),
            self.resolver.table.limited_array(job),
        )

    def shapes(self) -> list[Shape]:
        """All shapes so far, in the order in which they turned up."""
        return list(self._shapes.values())

    def _new(self, job: Job, number: int) -> Shape:
        demand = replace(self.resolver.demand(job), duration=None)
        never = demand.impossible
        if not never and not self._ever_fits(demand):
            never = "does not fit on this cluster even when nothing runs"
        reserving = replace(demand, terms=tuple(_by_configuration(term) for term in demand.terms))
        dynamic = not never and self.resolver.depends_on_load(job)
        self.any_dynamic = self.any_dynamic or dynamic
        least = least_slots(demand) if demand.terms and not never else 0
        self._least[number] = least
        return Shape(number, job, demand, reserving, never, dynamic, least)

    def _ever_fits(self, demand: Demand) -> bool:
        """Whether the job fits on the empty cluster; of several terms, each of them alone.

        Terms that are placed one after another may fit beside others and not on the empty cluster.
        """
        return all(self._fits_alone(demand, term) for term in demand.terms)

    def _fits_alone(self, demand: Demand, term: TermDemand) -> bool:
        """Whether a term fits on the empty cluster; asked once of those that ask for the same."""
        key = _wants(term, demand, self.resolver.table)
        if key not in self._fitting:
            one = replace(demand, terms=(term,))
            self._kept.append(one)  # so that nothing else gets the identities in the key
            self._fitting[key] = can_start(self.empty(), one, self.instance.now)
        return self._fitting[key]

    def empty(self) -> Profile:
        """The profile of the cluster with nothing running."""
        return Profile(self.resolver.table, self.instance.now)

    def duration(self, job: Job) -> int | None:
        """Seconds a job is expected to run (TBR-03)."""
        return self.spans(job)[0]

    def run_limit(self, job: Job) -> int | None:
        """Seconds after which a job is killed: -W, queue or application RUNLIMIT (LOP-02)."""
        return self.spans(job)[1]

    def spans(self, job: Job) -> tuple[int | None, int | None]:
        """Both :meth:`duration` and :meth:`run_limit`."""
        key = (
            *(job.run_limit, job.estimated_run_time, job.cpu_limit),
            *(job.queue, job.application),
        )
        found = self._spans.get(key)
        if found is None:
            found = expected_duration(self.instance, job), granted_run_limit(self.instance, job)
            self._spans[key] = found
        return found

    # --- candidates that depend on the moment ---------------------------------------------------

    def begin_cycle(self, values: Callable[[], dict[str, FloatArray]]) -> None:
        """A new cycle; values(): what hosts have available now, by resource, each [H]."""
        self._cycle.clear()
        self._hosts = None
        self._values = values

    def now(self, shape: Shape) -> Demand:
        """The demand with the candidates, and their order, of this cycle."""
        if not (shape.dynamic or self.follow_load) or self._values is None:
            return shape.demand
        if self._hosts is None:
            self._hosts = HostTable(
                self.instance.cluster,
                by_slot=self.instance.params.parallel_sched_by_slot,
                values=self._values(),
            )
        found = self._cycle.get(shape.number)
        if found is None:
            resolver = Resolver(self.instance, self.resolver.table, self._hosts, False)
            found = replace(resolver.demand(shape.job), duration=None)
            self._cycle[shape.number] = found
        return found

    def reserving(self, shape: Shape, job: Job, now: int) -> Demand:
        """The demand of one job as its reservation sees it: its own duration, no start before."""
        runs = self.duration(job)
        return replace(
            shape.reserving,
            job=job,
            duration=None if runs is None else runs + self.margin,
            earliest=max(now, job.begin or now),
        )


def _wants(term: TermDemand, demand: Demand, table: ResourceTable) -> tuple[object, ...]:
    """What decides whether a term fits where nothing runs: pools by what they are, not by whose."""

    def pool(use: Use) -> tuple[object, ...]:
        found = table.pools[use.index]
        return use.per, use.reservation.initial, found.capacity, found.mask.tobytes()

    return (
        *(term.slots, term.most, term.block, term.one_host, len(term.same)),
        *map(id, (demand.calendar, *demand.floors)),
        *map(id, (term.candidates, term.ptile, term.unit, term.first_hosts, *term.same)),
        tuple(
            (
                item.missing,
                None if item.hosts is None else item.hosts.tobytes(),
                tuple((use.index, use.per, use.reservation.initial) for use in item.host_uses),
                tuple(map(pool, item.pool_uses)),
            )
            for item in term.alternatives
        ),
    )


def _by_configuration(term: TermDemand) -> TermDemand:
    if term.unit is None or term.unit.pref == "config":
        return term
    return replace(term, unit=replace(term.unit, pref="config"))


def without_hosts(demand: Demand, closed: BoolArray | None) -> Demand:
    """The demand without hosts that are closed, [H]; None: none are."""
    if closed is None:
        return demand
    terms = tuple(
        replace(term, candidates=term.candidates[~closed[term.candidates]]) for term in demand.terms
    )
    return replace(demand, terms=terms)
