"""From an instance to arrays: the demand of every pending job, and what running jobs use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ..model.cluster import BUILTIN_AMOUNTS, BUILTIN_INDICES
from ..model.configuration import Queue
from ..model.display import some
from ..model.duration import expected_duration, granted_run_limit
from ..model.errors import InputError
from ..model.gpu_request import GpuRequest
from ..model.instance import Instance
from ..model.job import OTHERS, HostRequest, Job, RunningJob, classes
from ..model.reservation import Reservation
from ..model.reserved_periods import rejection, reserved_periods
from ..model.resreq import (
    HostTable,
    Merged,
    RequirementMerging,
    order_hosts,
    same_classes,
    select_mask,
)
from ..model.resreq.evaluate import Local, named, narrowing, unsure_of_local
from ..model.resreq.syntax import (
    LSF_7,
    Compound,
    Cu,
    Requirement,
    Simple,
    Span,
    Term,
    every,
    may_have_alternatives,
    simples,
)
from . import alike
from .availability.demand import Calendar, Demand, TermDemand, UnitDemand, with_deadline
from .availability.resources import (
    Allocation,
    Alternative,
    BoolArray,
    FloatArray,
    IntArray,
    ResourceTable,
)
from .placement.earliest import held_by_terms
from .placement.supply import split_over_terms, suits, unsuitable

#: Load indices that jobs may reserve and that are not amounts of hosts (RSV-01).
LOAD_INDICES = frozenset(BUILTIN_INDICES) - frozenset(BUILTIN_AMOUNTS)
#: Resources whose value depends on running jobs: a selection that names one holds for an instant.
BY_LOAD = frozenset({*BUILTIN_INDICES, "slots"})


@dataclass(slots=True)
class _ResolverCache:
    """Caches of look-ups, by the common properties of equal jobs, queues and requirements."""

    calendars: dict[str, Calendar | None] = field(default_factory=dict)
    intervals: dict[str, int | None] = field(default_factory=dict)
    homes: dict[str, tuple[str, str]] = field(default_factory=dict)
    requirements: dict[Hashable, Merged] = field(default_factory=dict)
    merging: RequirementMerging | None = None
    unit_types: dict[str | None, bool] = field(default_factory=dict)
    selected: dict[tuple[int, Local], BoolArray] = field(default_factory=dict)
    orders: dict[tuple[object, ...], tuple[IntArray, UnitDemand | None]] = field(
        default_factory=dict
    )
    same_orders: dict[int, IntArray] = field(default_factory=dict)
    classes: dict[tuple[str, ...], tuple[IntArray, ...]] = field(default_factory=dict)
    units: dict[tuple[str | None, bytes], tuple[IntArray, tuple[str, ...], IntArray]] = field(
        default_factory=dict
    )
    ptiles: dict[Span, IntArray | None] = field(default_factory=dict)
    running_uses: dict[Hashable, Alternative] = field(default_factory=dict)
    loads: dict[Hashable, tuple[tuple[Reservation, ...], ...]] = field(default_factory=dict)
    unmet: dict[tuple[object, ...], str] = field(default_factory=dict)
    demands: dict[Hashable, Demand] = field(default_factory=dict)
    gpus: dict[Hashable, GpuRequest | None] = field(default_factory=dict)
    spans: dict[Hashable, tuple[int | None, int | None]] = field(default_factory=dict)
    unit_kinds: tuple[tuple[str, BoolArray], ...] | None = None
    reserved: dict[tuple[str, int], tuple[Calendar, Calendar | None]] = field(default_factory=dict)


@dataclass(slots=True)
class Resolver:
    """Turns jobs of one instance into demands; keeps what equal jobs share."""

    instance: Instance
    table: ResourceTable
    hosts: HostTable
    #: Whether compute units are tried in configuration order for any preference (TBR-13); False at
    #: dispatch.
    reserving: bool = True
    #: Whether dispatch and run windows are obeyed (TBR-19).
    honour_windows: bool = False
    #: Seconds that are kept free after the end of a pending job.
    margin: int = 0
    #: Whether -t is a due date that may be missed, as the tardiness objective weighs it.
    due_dates: bool = False
    _index: dict[str, int] = field(default_factory=dict)
    _kept: _ResolverCache = field(default_factory=_ResolverCache)

    @classmethod
    def of(
        cls,
        instance: Instance,
        *,
        reserving: bool = True,
        honour_windows: bool = False,
        margin: int = 0,
        due_dates: bool = False,
        loans: bool = False,
    ) -> Resolver:
        """Return a resolver with its tables; margin: of pending jobs; loans: count in settled
        pools.
        """
        table = ResourceTable(instance, settled=loans)
        hosts = HostTable(instance.cluster, by_slot=instance.params.parallel_sched_by_slot)
        return cls(instance, table, hosts, reserving, honour_windows, margin, due_dates)

    def running_uses(
        self, running: RunningJob, allocation: Allocation
    ) -> list[tuple[Alternative, Allocation]]:
        """Return the uses of a running job with their allocations, a pair for each term.

        rusage is that of the alternative it started with; the terms of a compound requirement took
        their slots in the order of the allocation, each on hosts that it may have.
        """
        job = running.job
        requirement = self.requirement(job)
        if not isinstance(requirement, Compound):
            return [(self._running_use(running, requirement, 0), allocation)]
        rest = job.slots - sum(term.count or 0 for term in requirement.terms)
        counts = [_count(term, rest) for term in requirement.terms]
        uses = [
            self._running_use(running, term.requirement, position)
            for position, term in enumerate(requirement.terms)
        ]
        masks = [
            self._select(term.requirement, self.home(job)) & self._open_to(use)
            for term, use in zip(requirement.terms, uses, strict=True)
        ]
        parts = split_over_terms(allocation, counts, masks)
        return list(held_by_terms(zip(uses, parts, strict=True), self.table.pools))

    def _select(self, simple: Simple, home: Local) -> BoolArray:
        """Return the hosts that meet a select section, given a submission host of this type and
        model.
        """
        key = (id(simple), home)
        if key not in self._kept.selected:
            self._kept.selected[key] = self._meeting(simple, home)
        return self._kept.selected[key]

    def _meeting(self, simple: Simple, home: Local) -> BoolArray:
        """Return a mask of hosts like :meth:`_select`, without caching it."""
        return select_mask(
            simple.select,
            self.hosts,
            local_type=home.type,
            local_model=home.model,
            default_type=home.default,
        )

    def _running_use(self, running: RunningJob, simple: Simple, position: int) -> Alternative:
        """Return the use of the term at `position`, looked up once for equal jobs."""
        job = running.job
        key = (self.asked(job), running.alternative, position)
        if key not in self._kept.running_uses:
            held: tuple[Reservation, ...] = ()
            if simple.rusage is not None:
                held = simple.rusage.reservations(running.alternative)
            queue = self.instance.queue(job.queue)
            self._kept.running_uses[key] = self.table.alternative(
                *(job, queue, held),
                exclusive=job.exclusive,
                first=position == 0,
                simple=simple,
            )
        return self._kept.running_uses[key]

    def load_reservations(self, job: Job, alternative: int) -> tuple[Reservation, ...]:
        """Return the reservations of load indices by a job (RSV-01)."""
        found = self._load_alternatives(job)
        return found[alternative] if alternative < len(found) else ()

    def loads_reserved(self, job: Job) -> frozenset[str]:
        """Return the load indices of which a job may reserve an amount."""
        return frozenset(i.resource for held in self._load_alternatives(job) for i in held)

    def _load_alternatives(self, job: Job) -> tuple[tuple[Reservation, ...], ...]:
        key = alike.merged(job)
        if key not in self._kept.loads:
            requirement = self.requirement(job)
            held: tuple[tuple[Reservation, ...], ...] = ()
            if isinstance(requirement, Simple) and requirement.rusage is not None:
                rusage = requirement.rusage
                held = tuple(
                    tuple(i for i in rusage.reservations(n) if i.resource in LOAD_INDICES)
                    for n in range(len(rusage.alternatives))
                )
            self._kept.loads[key] = held
        return self._kept.loads[key]

    def depends_on_load(self, job: Job) -> bool:
        """Return whether candidates of a job, or their order, depend on running jobs and
        reports.
        """
        ordered = {key.resource for simple in self._simples(job) for key in simple.order or ()}
        return bool(self.selects_by_load(job) or ordered & BY_LOAD)

    def selects_by_load(self, job: Job) -> frozenset[str]:
        """Return the resources of a job's selection that depend on running jobs and reported
        load.
        """
        names = {name for simple in self._simples(job) for name in named(simple.select, self.hosts)}
        return frozenset(names) & BY_LOAD

    def binds_units(self, job: Job) -> bool:
        """Return whether affinity[] of a job requests more than a number of known units.

        Units of two kinds on one host share its processors, which numbers alone do not express.
        """
        asked = [simple for simple in self._every_simple(job) if simple.affinity]
        if not asked:
            return False
        return (
            len(self._kinds_on_shared_hosts(job)) > 1
            or not all(simple.asks_for_a_number_of_units for simple in asked)
            or self.unsure_of_units(job)
        )

    def unsure_of_units(self, job: Job) -> bool:
        """Return whether affinity[] of a job takes units whose number is unknown on a host that it
        may use.
        """
        if not any(simple.affinity for simple in self._every_simple(job)):
            return False
        hosts, used = self.instance.cluster.hosts, np.flatnonzero(self._usable(job))
        return any(
            hosts[at].units(kind) is None
            for kind in self._kinds_on_shared_hosts(job)
            for at in used
        )

    def _kinds_on_shared_hosts(self, job: Job) -> frozenset[str]:
        """Return the kinds of processor units that a job, and all jobs that may share a host with
        it, request.
        """
        own, mine = self._usable(job), self._every_simple(job)
        kinds = {simple.units_of_a_slot[0] for simple in mine if simple.affinity}
        kinds |= {kind for kind, mask in self._units_on_hosts() if kind and (mask & own).any()}
        return frozenset(kinds)

    def _units_on_hosts(self) -> tuple[tuple[str, BoolArray], ...]:
        """Return each kind of processor units with the hosts, [H], on which running or pending jobs
        may use it, cached.
        """
        if self._kept.unit_kinds is None:
            names = [host.name for host in self.instance.cluster.hosts]
            found = dict[str, BoolArray]()
            firsts = [job for job, first in classes(self.instance.pending) if job is first]
            nowhere: Mapping[str, int] = {}
            running = [(item.job, item.allocation) for item in self.instance.running]
            for job, held in (*running, *((job, nowhere) for job in firsts)):
                with suppress(InputError):
                    bound = [simple for simple in self._every_simple(job) if simple.affinity]
                    if not bound:
                        continue
                    mask = self._usable(job) | np.array([name in held for name in names])
                    for kind in {simple.units_of_a_slot[0] for simple in bound}:
                        found[kind] = mask | found[kind] if kind in found else mask
            self._kept.unit_kinds = tuple(found.items())
        return self._kept.unit_kinds

    def _usable(self, job: Job) -> BoolArray:
        """Return the hosts, [H], that a job requests under some term and alternative, whether they
        have the amounts or not.
        """
        queue = self.instance.queue(job.queue)
        masks = [self._requested(job, queue, simple)[0] for simple in self._every_simple(job)]
        return np.asarray(np.logical_or.reduce(masks))

    def _every_simple(self, job: Job) -> tuple[Simple, ...]:
        """Return the simple requirements of all terms and alternatives of a job."""
        return tuple(part for one in every(self.requirement(job)) for part in simples(one))

    def unsure_of_home(self, job: Job) -> bool:
        """Return whether hosts depend on a submission host of unknown type or model."""
        local = self.home(job)
        return any(unsure_of_local(one.select, self.hosts, local) for one in self._simples(job))

    def spreads_tasks(self, job: Job) -> bool:
        """Return whether a job has stripe or gtile in its span[], which no plan obeys."""
        return any(simple.tiling for simple in self._simples(job))

    def has_alternatives(self, job: Job) -> bool:
        """Return whether a job has alternatives in braces and none was chosen."""
        return bool(self.requirement(job).later)

    def under_each(self, job: Job) -> tuple[Job, ...]:
        """Return a job once for each alternative in braces; a job without any alone."""
        count = len(every(self.requirement(job)))
        if count == 1:
            return (job,)
        return tuple(replace(job, requirement_alternative=number) for number in range(count))

    def holds_by_alternative(self, job: Job) -> bool:
        """Return whether a job reserves other amounts under another alternative in braces."""
        requirement = self.requirement(job)
        if not requirement.later:
            return False
        held = {
            tuple((simple.rusage, simple.affinity) for simple in simples(one))
            for one in every(requirement)
        }
        return len(held) > 1

    def later_terms(self, job: Job) -> tuple[TermDemand, ...]:
        """Return what a job takes under its alternatives after the first; () if it has none."""
        queue = self.instance.queue(job.queue)
        found: list[TermDemand] = []
        for item in self.requirement(job).later:
            with suppress(InputError):  # LSF rejects such an alternative.
                found += self._terms(job, queue, item.requirement)
        return tuple(found)

    def reserves(self, job: Job) -> frozenset[str]:
        """Return the resources that a job reserves under any alternative of its rusage."""
        return frozenset(
            item.resource
            for simple in self._simples(job)
            for held in _alternatives(simple)
            for item in held
        )

    def _simples(self, job: Job) -> tuple[Simple, ...]:
        return simples(self.requirement(job))

    def with_values(self, values: Mapping[str, FloatArray]) -> Resolver:
        """Return a resolver with other columns for selections and orders: values at one instant."""
        hosts = HostTable(
            self.instance.cluster,
            by_slot=self.instance.params.parallel_sched_by_slot,
            values=dict(values),
        )
        kept = (self.reserving, self.honour_windows, self.margin, self.due_dates)
        return Resolver(self.instance, self.table, hosts, *kept)

    def requirement(self, job: Job) -> Requirement:
        """Return the effective requirement of a job, looked up once for equal jobs."""
        return self._merged(job).requirement

    def _merged(self, job: Job) -> Merged:
        """Return the effective requirement of a job with its notes, looked up once for equal jobs.

        Raises InputError if the job must be refused.
        """
        key = alike.merged(job)
        if key not in self._kept.requirements:
            self._kept.requirements[key] = self._merging().requirement(job)
        return self._kept.requirements[key]

    def _merging(self) -> RequirementMerging:
        """Return the merging of requirements of the present instance."""
        known = self._kept.merging
        if known is None or known.instance is not self.instance:
            known = self._kept.merging = RequirementMerging.of(self.instance)
        return known

    def host_index(self) -> Mapping[str, int]:
        """Return the index of each host by name; computed once."""
        if not self._index:
            self._index.update(self.instance.cluster.host_index())
        return self._index

    def calendar(self, queue: Queue) -> Calendar | None:
        """Return the windows of the jobs of a queue, cached; None if it is always open."""
        if queue.name not in self._kept.calendars:
            self._kept.calendars[queue.name] = Calendar.of(self.instance, queue)
        return self._kept.calendars[queue.name]

    def calendar_of(self, job: Job, queue: Queue) -> Calendar | None:
        """Return the windows of a job: of its queue and hosts if they are obeyed, of its -U always.

        All jobs of a queue, or of a queue and an advance reservation, share one object.
        """
        of_queue = self.calendar(queue) if self.honour_windows else None
        return self.in_reservation(job, of_queue)

    def in_reservation(self, job: Job, of_queue: Calendar | None) -> Calendar | None:
        """Return the calendar of a job with the periods of its advance reservation (-U), if it
        has one.
        """
        if not job.reservation:
            return of_queue
        periods = reserved_periods(self.instance, job.reservation)
        if periods is None:
            return of_queue
        key = (job.reservation, id(of_queue))
        if key not in self._kept.reserved:
            own = replace(of_queue or Calendar(), reserved=periods)
            self._kept.reserved[key] = (own, of_queue)
        return self._kept.reserved[key][0]

    def _not_in_reservation(self, job: Job) -> str:
        """Return why a job cannot run in the advance reservation that it names, "" if it can."""
        item = self.instance.advance_reservation(job.reservation) if job.reservation else None
        if item is None:
            return ""
        if rejected := rejection(item, job.user, self.instance.groups):
            return rejected
        if (total := sum(item.slots.values())) < job.slots:
            held = f"advance reservation {item.name} has {total} slots"
            return f"{held}, but the job needs {job.slots}"
        return ""

    def blocked_units(self, job: Job, allocation: Iterable[int]) -> set[int]:
        """Return all hosts of the units that a running cu[excl] job owns."""
        requirement = self.requirement(job)
        if isinstance(requirement, Compound) or requirement.cu is None or not requirement.cu.excl:
            return set()
        unit = self._unit_of(requirement.cu, np.zeros(len(self.hosts), dtype=np.int64))
        return {*unit.members(allocation)}

    def asked(self, job: Job) -> Hashable:
        """Return a key that is equal for jobs with equal requests (:mod:`.alike`)."""
        return alike.asked(job, self.table.whose(job), self.home(job))

    def demand(self, job: Job) -> Demand:
        """Return the demand of one pending job; `impossible` has the reason if it can never start.

        Equal jobs, such as the elements of an array, share all but their times.
        """
        try:
            key = self.asked(job)
            found = self._kept.demands.get(key)
            if found is None:
                found = self._kept.demands[key] = self._resolved(job)
        # A field is a list instead of a tuple: the job is not compared with others.
        except TypeError:
            found = self._resolved(job)
        runs = self.spans(job)[0]
        earliest = max(self.instance.now, job.begin or self.instance.now)
        reserved = None if found.calendar is None else found.calendar.reserved
        if reserved is not None:
            first = reserved.next_start(earliest)
            if first is None and not reserved.recurs:
                over = f"advance reservation {job.reservation} has expired"
                found = replace(found, impossible=found.impossible or over)
            earliest = earliest if first is None else first
        found = replace(
            found,
            job=job,
            duration=None if runs is None else runs + self.margin,
            earliest=earliest,
        )
        return found if self.due_dates else with_deadline(self.instance, found)

    def spans(self, job: Job) -> tuple[int | None, int | None]:
        """Return the seconds that a job is expected to run (TBR-03), and its run limit (LOP-02)."""
        key = alike.spans(job)
        if key not in self._kept.spans:
            self._kept.spans[key] = (
                expected_duration(self.instance, job),
                granted_run_limit(self.instance, job),
            )
        return self._kept.spans[key]

    def _resolved(self, job: Job) -> Demand:
        """Return the demand of a job and of all jobs with equal requests, without times."""
        queue = self.instance.queue(job.queue)
        calendar = self.calendar_of(job, queue)
        notes: tuple[str, ...] = ()
        terms: tuple[TermDemand, ...] = ()
        try:
            merged = self._merged(job)
            notes = merged.warnings
            terms = tuple(self._terms(job, queue, merged.requirement))
            asked = merged.requirement
            impossible = self._refusal(job, queue, asked) or self._nowhere(job, queue, asked, terms)
            if impossible and asked.later:
                impossible = f"under its first alternative: {impossible}"
            impossible = self._not_in_reservation(job) or impossible
            if not queue.active:
                impossible = f"queue {queue.name} is inactive"
        except InputError as error:
            impossible = str(error)
        now, exclusive = self.instance.now, job.exclusive
        return Demand(
            *(job, queue, terms, None, now, exclusive, impossible, calendar, notes),
            margin=self.margin,
            interval=self._interval(queue),
        )

    def _interval(self, queue: Queue) -> int | None:
        """Return JOB_ACCEPT_INTERVAL of a queue, looked up once."""
        known, given = self._kept.intervals, self.instance
        if queue.name not in known:
            known[queue.name] = given.accept_interval(queue) if given.has_accept_interval else None
        return known[queue.name]

    def _terms(self, job: Job, queue: Queue, requirement: Requirement) -> Iterable[TermDemand]:
        if isinstance(requirement, Simple):
            yield self._term(job, queue, requirement, job.slots, job.most_slots, first=True)
            return
        start = requirement.terms[0].requirement
        for simple, count in requirement_parts(job, requirement):
            yield self._term(job, queue, simple, count, count, first=simple is start)

    def _term(
        self, job: Job, queue: Queue, simple: Simple, slots: int, most: int, *, first: bool
    ) -> TermDemand:
        alternatives = []
        for held in _alternatives(simple):
            alternatives.append(
                self.table.alternative(
                    *(job, queue, held), exclusive=job.exclusive, first=first, simple=simple
                )
            )
        order, unit = self._candidates(job, queue, simple, alternatives)
        firsts = self._first_hosts(job) if first else None
        return TermDemand(
            slots=slots,
            max_slots=most,
            candidates=order,
            ptile=self._ptile(simple.span),
            block=(simple.span.block or 1) if simple.span is not None else 1,
            one_host=simple.span is not None and simple.span.hosts == 1,
            same=self._same_classes(simple.same) if simple.same else (),
            unit=unit,
            first_hosts=firsts,
            alternatives=tuple(alternatives),
        )

    def _candidates(
        self, job: Job, queue: Queue, simple: Simple, alternatives: Sequence[Alternative]
    ) -> tuple[IntArray, UnitDemand | None]:
        """Return the candidate hosts in order, and the units; equal requests share the arrays."""
        key = (
            *(simple.select, simple.order, simple.cu, job.hosts, queue.name, self.home(job)),
            self._gpus_chosen(job),
            job.reservation,
            *(None if item.hosts is None else item.hosts.tobytes() for item in alternatives),
        )
        if key not in self._kept.orders:
            self._kept.orders[key] = self._find_candidates(job, queue, simple, alternatives)
        return self._kept.orders[key]

    def _find_candidates(
        self, job: Job, queue: Queue, simple: Simple, alternatives: Sequence[Alternative]
    ) -> tuple[IntArray, UnitDemand | None]:
        mask, preference = self._requested(job, queue, simple)
        mask &= np.logical_or.reduce([self._open_to(item) for item in alternatives])
        mask &= self._suiting(self._gpus_chosen(job)) & self._reserved_hosts(job)
        unit = None
        if simple.cu is not None:
            unit = self._unit_of(simple.cu, preference)
            mask &= unit.unit_of >= 0
        last_first = self.instance.params.scheduler.is_lava
        order = order_hosts(simple.order, self.hosts, mask, last_first=last_first)
        order = order[np.argsort(-preference[order], kind="stable")]
        known = self._kept.same_orders.setdefault(hash(order.tobytes()), order)
        return (known if np.array_equal(known, order) else order), unit

    def _requested(self, job: Job, queue: Queue, simple: Simple) -> tuple[BoolArray, IntArray]:
        """Return the hosts, [H], that select[], -m and the queue leave, and their preferences."""
        mask = self._meeting(simple, self.home(job)) & self.hosts.ok
        preference, asked = self._preference(job.hosts)
        mask &= asked
        from_queue, allowed = self._preference(queue.hosts)
        mask &= allowed & ~self._names(queue.excluded_hosts)
        return mask, preference if job.hosts else from_queue

    def _reserved_hosts(self, job: Job) -> BoolArray:
        """Return the hosts on which the job's advance reservation has slots, [H]; all for other
        jobs.
        """
        item = self.instance.advance_reservation(job.reservation) if job.reservation else None
        hosts = self.instance.cluster.hosts
        return np.array([item is None or item.slots.get(h.name, 0) > 0 for h in hosts], dtype=bool)

    def gpus(self, job: Job) -> GpuRequest | None:
        """Return the GPUs that a job needs, None if none; looked up once for equal jobs
        (GPU-02).
        """
        key = alike.merged(job)
        if key not in self._kept.gpus:
            self._kept.gpus[key] = self._merging().gpus(job)
        return self._kept.gpus[key]

    def _gpus_chosen(self, job: Job) -> GpuRequest | None:
        """Return the GPU request of a job if only some kind of GPU matches it, else None."""
        found = self.gpus(job)
        return found if found is not None and found.chooses else None

    def _suiting(self, gpus: GpuRequest | None) -> BoolArray:
        """Return the hosts whose GPUs suit a request, by their known properties, [H]."""
        hosts = self.instance.cluster.hosts
        if gpus is None:
            return np.ones(len(hosts), dtype=bool)
        return np.array([suits(gpus, host) is not False for host in hosts], dtype=bool)

    def unsure_of_gpus(self, job: Job) -> bool:
        """Return whether some host gives too little data about its GPUs for a job."""
        gpus = self._gpus_chosen(job)
        hosts = self.instance.cluster.hosts
        return gpus is not None and any(suits(gpus, host) is None for host in hosts)

    def _same_classes(self, same: tuple[str, ...]) -> tuple[IntArray, ...]:
        """Return the classes of hosts that agree by same[]; computed once."""
        if same not in self._kept.classes:
            self._kept.classes[same] = tuple(same_classes(same, self.hosts))
        return self._kept.classes[same]

    def _open_to(self, alternative: Alternative) -> BoolArray:
        every = np.ones(len(self.hosts), dtype=bool)
        return every if alternative.hosts is None else alternative.hosts

    def _unit_of(self, cu: Cu, preference: IntArray) -> UnitDemand:
        """Return the demand of cu[]; units with preferred hosts come first (PLC-12)."""
        key = (cu.type, preference.tobytes() if preference.any() else b"")
        if key not in self._kept.units:
            self._kept.units[key] = self._find_units(cu.type, preference)
        unit_of, names, liking = self._kept.units[key]
        return UnitDemand(
            unit_of=unit_of,
            names=names,
            pref="config" if self.reserving else cu.pref,
            maxcus=cu.maxcus,
            usablecuslots=cu.usablecuslots,
            balance=cu.balance,
            excl=cu.excl,
            preference=liking,
        )

    def _find_units(
        self, type_: str | None, preference: IntArray
    ) -> tuple[IntArray, tuple[str, ...], IntArray]:
        """Return the unit of each host by rank, -1 for none; also names and preferences by rank."""
        cluster = self.instance.cluster
        index = self.host_index()
        units = list(cluster.units_of(type_))
        liking = [max((preference[index[h]] for h in unit.hosts), default=0) for unit in units]
        order = sorted(range(len(units)), key=lambda position: (-liking[position], position))
        unit_of = np.full(len(cluster.hosts), -1, dtype=np.int64)
        for rank, position in enumerate(order):
            unit_of[[index[name] for name in units[position].hosts]] = rank
        names = tuple(units[position].name for position in order)
        return unit_of, names, np.array([liking[position] for position in order], dtype=np.int64)

    def _ptile(self, span: Span | None) -> IntArray | None:
        if span is None or (span.ptile is None and not span.ptile_max and not span.ptile_by):
            return None
        if span not in self._kept.ptiles:
            self._kept.ptiles[span] = self._find_ptile(span)
        return self._kept.ptiles[span]

    def _find_ptile(self, span: Span) -> IntArray | None:
        by_name = dict(span.ptile_by)
        hosts = self.instance.cluster.hosts
        since_10 = self.instance.params.dialect != LSF_7
        if (
            span.ptile_max
            and since_10
            and not by_name
            and not any(host.mxj_defined for host in hosts)
        ):
            return None  # Without MXJ, LSF 10.1 ignores '!' and LSF 7 takes 1.
        values = []
        for host in hosts:
            own = host.slots if host.mxj_defined or since_10 else 1
            default = own if span.ptile_max else span.ptile
            values.append(by_name.get(host.type, by_name.get(host.model, default or 1)))
        return np.array(values, dtype=np.int64)

    def _names(self, names: Iterable[str]) -> BoolArray:
        names = tuple(names)
        if not names:
            return np.zeros(len(self.hosts), dtype=bool)
        index = self.host_index()
        mask = np.zeros(len(index), dtype=bool)
        for name in names:
            for host in self.instance.cluster.expand(name) or ():
                mask[index[host]] = True
        return mask

    def _preference(self, requests: tuple[HostRequest, ...]) -> tuple[IntArray, BoolArray]:
        """Return preference level and membership of each host in a -m list or HOSTS (PLC-12)."""
        count = len(self.hosts)
        preference = np.zeros(count, dtype=np.int64)
        if not requests:
            return preference, np.ones(count, dtype=bool)
        member = np.zeros(count, dtype=bool)
        for request, mask in self._listed(requests):
            member |= mask
            preference[mask] = np.maximum(preference[mask], request.preference)
        return preference, member

    def _listed(self, requests: tuple[HostRequest, ...]) -> Iterator[tuple[HostRequest, BoolArray]]:
        """Yield each entry of a -m list or HOSTS with its hosts; ``others`` are all hosts not
        named.
        """
        named = self._names(request.name for request in requests if request.name != OTHERS)
        for request in requests:
            yield request, ~named if request.name == OTHERS else self._names((request.name,))

    def _first_hosts(self, job: Job) -> BoolArray | None:
        firsts = [mask for request, mask in self._listed(job.hosts) if request.first]
        return np.logical_or.reduce(firsts) if firsts else None

    def home(self, job: Job) -> Local:
        """Return type and model of the submission host of a job; None if unknown.

        The default selection is type==local; for a job with -U it is type==any (ARV-01).
        """
        if job.from_host and not self._kept.homes:
            hosts = self.instance.cluster.hosts
            for host in hosts:  # A machine has the properties of its first node.
                if host.node_of:
                    self._kept.homes.setdefault(host.node_of, (host.type, host.model))
            self._kept.homes.update({host.name: (host.type, host.model) for host in hosts})
        kind, model = self._kept.homes.get(job.from_host, (None, None))
        return Local(kind, model, default=not job.reservation)

    def _refusal(self, job: Job, queue: Queue, requirement: Requirement) -> str:
        """Return why the queue rejects such a job, "" if it accepts it (PLC-11, PLC-13)."""
        units = [simple.cu for simple in simples(requirement) if simple.cu is not None]
        if job.exclusive and not job.whole_hosts and queue.exclusive == "N":
            return f"-x needs EXCLUSIVE=Y in queue {queue.name}"
        for cu in units:
            if not self._has_units_of(cu.type):
                known = ", ".join(self.instance.cluster.unit_types) or "none"
                return f"cu[] requests units of type {cu.type or 'default'}; types here: {known}"
            if cu.excl and (refusal := self._exclusive_unit_refusal(cu, queue)):
                return refusal
        if job.resizable and isinstance(requirement, Compound):
            return "a resizable job (-ar) cannot have a compound requirement"
        if queue.slots is not None:
            least, _, most = queue.slots
            if job.most_slots < least or (most is not None and job.slots > most):
                return f"-n {job.slots} is outside PROCLIMIT {least}..{most} of queue {queue.name}"
        return ""

    def _has_units_of(self, unit_type: str | None) -> bool:
        """Return whether units of a type exist (of the default type if None), looked up once."""
        known = self._kept.unit_types
        if unit_type not in known:
            known[unit_type] = self.instance.cluster.has_units_of(unit_type)
        return known[unit_type]

    def _nowhere(
        self, job: Job, queue: Queue, requirement: Requirement, terms: tuple[TermDemand, ...]
    ) -> str:
        """Return why no host suits a term, "" if all terms have hosts."""
        for (simple, _), term in zip(requirement_parts(job, requirement), terms, strict=True):
            if term.candidates.size:
                continue
            missing = [item.missing for item in term.alternatives if item.missing]
            inside = " inside a compute unit of its type" if term.unit is not None else ""
            unmet = f"no host{inside} meets its requirement"
            return missing[0] if missing else unmet + self._where_not(job, queue, simple)
        return ""

    def _where_not(self, job: Job, queue: Queue, simple: Simple) -> str:
        """Return ``: `` with the failing condition and hosts of a term that no host suits."""
        key = (
            *(simple.select, job.hosts, queue.name, job.reservation),
            *(self.home(job), self._gpus_chosen(job)),
        )
        if key not in self._kept.unmet:
            met = self._select(simple, self.home(job))
            found = [*self.narrowing(simple, job), *self._closed_to(job, queue, met)]
            self._kept.unmet[key] = f": {'; '.join(found)}" if found else ""
        return self._kept.unmet[key]

    def fails(self, job: Job) -> tuple[str, ...]:
        """Return the conditions of a job's requirement that some host fails; () if it is
        unreadable.
        """
        try:
            every_one = every(self.requirement(job))
            parts = [simple for one in every_one for simple, _ in requirement_parts(job, one)]
        except InputError:
            return ()
        return tuple(dict.fromkeys(text for part in parts for text in self.narrowing(part, job)))

    def narrowing(self, simple: Simple, job: Job) -> list[str]:
        """Return the conditions of a job's selection that some host fails, with these hosts."""
        unit = self.instance.params.unit_for_limits
        found = narrowing(simple.select, self.hosts, self.home(job), unit)
        gpus = self._gpus_chosen(job)
        if gpus is not None and not self._suiting(gpus).all():
            found.append(unsuitable(gpus, self.instance.cluster.hosts))
        return found

    def _closed_to(self, job: Job, queue: Queue, met: BoolArray) -> Iterator[str]:
        """Yield the reasons that exclude the last hosts of a selection: -m, HOSTS or their
        state.
        """
        hosts = self.instance.cluster.hosts
        asked = self._preference(job.hosts)[1]
        allowed = self._preference(queue.hosts)[1] & ~self._names(queue.excluded_hosts)
        left = met
        for why, open_there in (
            ("not among those of -m", asked),
            (f"not among the HOSTS of queue {queue.name}", allowed),
            (f"not in advance reservation {job.reservation}", self._reserved_hosts(job)),
            ("down or closed", self.hosts.ok),
        ):
            shut, left = left, left & open_there
            if shut.any() and not left.any():
                names = [hosts[at].name for at in np.flatnonzero(shut)]
                yield f"{some(names)} {'is' if len(names) == 1 else 'are'} {why}"

    def _exclusive_unit_refusal(self, cu: Cu, queue: Queue) -> str:
        types = self.instance.cluster.unit_types
        wanted = cu.type or self.instance.cluster.default_unit_type or ""
        if not queue.exclusive.startswith("CU["):
            return f"cu[excl] needs EXCLUSIVE=CU[{wanted}] in queue {queue.name}"
        allowed = queue.exclusive[3:-1]
        if types.index(wanted) > types.index(allowed):
            return f"cu[excl] at {wanted} is coarser than EXCLUSIVE=CU[{allowed}] of {queue.name}"
        return ""


def any_with_alternatives(instance: Instance, jobs: Iterable[Job]) -> bool:
    """Return whether one of the jobs may have alternatives in braces, of its own or of its queue
    or application.
    """
    texts = {text for job in jobs for text in job.res_req}
    texts |= {queue.res_req for queue in instance.queues}
    return may_have_alternatives(texts | {item.res_req for item in instance.applications})


def may_have_choices(instance: Instance) -> bool:
    """Return whether a pending job may have alternatives in braces, of its own or of its queue."""
    return any_with_alternatives(instance, instance.pending)


def requirement_parts(job: Job, requirement: Requirement) -> Iterator[tuple[Simple, int]]:
    """Yield the simple requirements of a job that request slots, with their numbers."""
    if isinstance(requirement, Simple):
        yield requirement, job.slots
        return
    rest = job.slots - sum(term.count or 0 for term in requirement.terms)
    for term in requirement.terms:
        if count := _count(term, rest):
            yield term.requirement, count


def _count(term: Term, rest: int) -> int:
    return max(0, rest) if term.count is None else term.count


def _alternatives(simple: Simple) -> tuple[tuple[Reservation, ...], ...]:
    if simple.rusage is None:
        return ((),)
    count = len(simple.rusage.alternatives)
    return tuple(simple.rusage.reservations(index) for index in range(count))
