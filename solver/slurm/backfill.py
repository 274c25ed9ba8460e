"""The plan of method "slurm": what one cycle of Slurm's backfill says of every pending job.

Rules and their sources: docs/dev/slurm.md.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from operator import attrgetter

import numpy as np

from ...model.configuration import Params
from ...model.display import clock_text, duration_text, some
from ...model.duration import expected_finish
from ...model.gpu_request import PHYSICAL
from ...model.instance import AdvanceReservation, Instance
from ...model.job import Job
from ...model.pending import Pending
from ...model.plan import NOT_EXAMINED, Plan, PlannedJob, Unplaced
from ...model.reserved_periods import with_periods
from ...model.slurm_partitions import partitions_of
from ...model.slurm_select import words_of
from ...model.slurm_setting_keys import parameters_of
from ...model.slurm_version import (
    ARRAY_LIMIT_IN_CYCLE,
    BOUNDED_BY_RECORDS,
    BY_CHOSEN_NODES,
    CONFIGURED_WEIGHTS,
    ENDS_ROUNDED_UP,
    FIRST_SHORT_RECORD,
    VersionNumber,
    version_number,
)
from ..availability.demand import Demand, candidates_of, parts_of
from ..availability.profile import Profile
from ..availability.resources import Allocation, Alternative, BoolArray, IntArray, Per, Use
from ..budget import Budget
from ..pending_reasons import reason_unplaced
from ..placement.earliest import Start, allocate_start
from ..problem import PlanningProblem
from .choose_nodes import GpusSeen, JobShape, NodeMap, choose_nodes, sizes_of

#: Minutes that backfill looks ahead, seconds of its steps, jobs and tasks that it plans in a cycle.
WINDOW, RESOLUTION, MAX_JOBS, MAX_TASKS = 1440, 60, 500, 20
#: The largest values that Slurm accepts: minutes, seconds, jobs.
MAX_WINDOW, MAX_RESOLUTION, MAX_TEST = 30 * 1440, 3600, 1_000_000
#: Parameters of backfill that this plan does not take into account; bf_continue, bf_max_time,
#: bf_max_job_start and bf_node_space_size have no influence on a whole cycle.
NOT_MODELLED = (
    "bf_busy_nodes",
    "bf_job_part_count_reserve",
    "bf_max_job_assoc",
    "bf_max_job_part",
    "bf_max_job_user_part",
    "bf_min_age_reserve",
    "bf_min_prio_reserve",
    "assoc_limit_stop",
    "pack_serial_at_end",
    "time_min_as_soft_limit",
)


@dataclass(frozen=True, slots=True)
class BackfillSettings:
    """The settings of one cycle; times in seconds."""

    #: bf_window in seconds.
    window: int = WINDOW * 60
    #: bf_resolution in seconds.
    resolution: int = RESOLUTION
    #: Seconds by which the window of ends grows, 0: it doubles (bf_window_linear).
    linear: int = 0
    #: Maximum number of jobs examined (bf_max_job_test).
    max_jobs: int = MAX_JOBS
    max_tasks: int = MAX_TASKS
    #: Jobs of one user, 0 for any number.
    max_user_jobs: int = 0
    #: Licences are planned (bf_licenses).
    licences: bool = False
    #: A job reserves nodes in one partition only (bf_one_resv_per_job).
    one_reservation: bool = False
    #: Exclusive running jobs are in the map (bf_running_job_reserve).
    running_in_map: bool = False
    #: Version of Slurm.
    version: VersionNumber = (22, 5, 0)
    #: Parameters that are set and not taken into account.
    omitted: tuple[str, ...] = ()

    @classmethod
    def of(cls, params: Params) -> BackfillSettings:
        """Return the settings of an instance."""
        given = parameters_of(params.scheduler_parameters)
        licences = "bf_licenses" in given
        omitted = [f"{name} (SchedulerParameters)" for name in NOT_MODELLED if name in given]
        if topology := words_of(params.select_parameters)[""].get("TopologyPlugin"):
            omitted.append(f"choice of nodes by TopologyPlugin={topology}")
        return cls(
            _number(given, "bf_window", WINDOW, MAX_WINDOW) * 60,
            _number(given, "bf_resolution", RESOLUTION, MAX_RESOLUTION),
            _number(given, "bf_window_linear", 0),
            _number(given, "bf_max_job_test", MAX_JOBS, MAX_TEST),
            _number(given, "bf_max_job_array_resv", MAX_TASKS),
            _number(given, "bf_max_job_user", 0),
            licences,
            "bf_one_resv_per_job" in given,
            licences or "bf_running_job_reserve" in given,
            version_number(params.scheduler_version),
            tuple(omitted),
        )

    def floor(self, time: int) -> int:
        """Return an instant (seconds since 1970) rounded down to the resolution."""
        return time // self.resolution * self.resolution

    def end_of(self, time: int) -> int:
        """Return the end of a plan in the map, rounded to the resolution."""
        if self.version in ENDS_ROUNDED_UP:
            return -(-time // self.resolution) * self.resolution
        return self.floor(time)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the instants of a plan in the map, at least one step of the resolution apart."""
        begin = self.floor(start)
        return begin, max(self.end_of(end), begin + self.resolution)


def _number(given: dict[str, str], name: str, default: int, maximum: int = 0) -> int:
    """Return the number of a parameter by its first digits, as Slurm reads it.

    maximum: a number above it, or 0, is the default; 0 allows any number.
    """
    found = re.match(r"\d{1,9}", given.get(name, ""))
    number = default if found is None else int(found[0])
    return number if not maximum or 1 <= number <= maximum else default


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job in one of its partitions."""

    demand: Demand
    #: Nodes of the partition, [H]; None if the job waits in no other.
    nodes: BoolArray | None = None


def with_all_nodes(instance: Instance) -> Instance:
    """Return the instance with the nodes of all partitions in each queue that stands for several.

    A cycle itself keeps a job on the nodes of one partition.
    """
    queues = []
    for queue in instance.queues:
        members = [instance.queue(name) for name in partitions_of(instance, queue.name)]
        if len(members) > 1:
            listed = all(member.hosts for member in members)
            hosts = (host for member in members for host in member.hosts if listed)
            own = members[0].res_req
            queue = replace(queue, hosts=tuple(dict.fromkeys(hosts)), res_req=own)
        queues.append(queue)
    return replace(instance, queues=tuple(queues))


def attempts(problem: PlanningProblem, demands: Sequence[Demand]) -> list[Attempt]:
    """Return the attempts of a cycle: by the tier of the partition, then priority and place."""
    instance = problem.instance
    partitions = {demand.job.id: partitions_of(instance, demand.job.queue) for demand in demands}
    if all(len(names) == 1 for names in partitions.values()):
        return [Attempt(demand) for demand in demands]
    index = problem.resolver.host_index()
    place = {job.id: number for number, job in enumerate(instance.pending)}
    tiers = {queue.name: queue.priority for queue in instance.queues}
    default = instance.params.default_priority
    found: list[tuple[tuple[int, int, int], Attempt]] = []
    for demand in demands:
        job, names = demand.job, partitions[demand.job.id]
        priority = default if job.priority is None else job.priority
        for name in names:
            nodes = _nodes_of(instance, name, index) if len(names) > 1 else None
            key = (-tiers.get(name, 0), -priority, place[job.id])
            found.append((key, Attempt(demand, nodes)))
    return [attempt for _, attempt in sorted(found, key=lambda item: item[0])]


def _nodes_of(instance: Instance, partition: str, index: Mapping[str, int]) -> BoolArray:
    """Return the nodes of a partition, [H]."""
    names = [host.name for host in instance.queue(partition).hosts]
    nodes = np.full(len(index), not names)
    nodes[[index[name] for name in names]] = True
    return nodes


_END = attrgetter("end")
#: Seconds that Slurm plans with where a job has no limit: a year.
YEAR = 365 * 86400
#: The first window of ends, and jobs that one window releases at most (seconds, jobs).
FIRST_WINDOW, MAX_RELEASED = 30, 200
#: Seconds within which a printed start is that of a plan.
NEAR = 60
#: Maximum number of instants tried for one job.
MAX_TRIES = 10_000
#: Notes on jobs without a start.
DEPENDENT = "Slurm gives no start to a job whose dependency does not hold yet"
NOT_BEGUN = "Slurm gives no start to a job before its begin time"
NOT_OPEN = "Slurm gives no start to a job before its reservation begins"
CLOSED = "Slurm gives it no start: it does not fit before its reservation ends"
GIVEN_UP = "Slurm gives it no start: no node is released within its own duration"
BEYOND = "its start is beyond the scope of a cycle (bf_max_job_test, bf_max_job_array_resv)"
OF_LSF = "not modelled: cu[] and same[], compound requirements"


@dataclass(slots=True)
class _Occupied:
    """A job that is running or was started by this cycle."""

    end: int
    #: [H].
    nodes: BoolArray
    #: Amounts that a job uses, and their hosts.
    uses: Alternative
    allocation: Allocation


@dataclass(slots=True)
class _BackfillCycle:
    """State of one backfill cycle; times in seconds of the instance."""

    problem: PlanningProblem
    settings: BackfillSettings
    #: Seconds since 1970 of the instance's second 0.
    zero: int
    map: NodeMap
    #: Resources that running jobs leave free over time.
    profile: Profile
    #: Running jobs in the order of their ends.
    running: list[_Occupied]
    weights: list[float]
    reservations: tuple[AdvanceReservation, ...] = ()
    #: Number of jobs examined, and of each user.
    tested: int = 0
    per_user: Counter[str] = field(default_factory=Counter)
    #: Number of tasks with a planned start, by array.
    planned_tasks: Counter[str] = field(default_factory=Counter)
    #: Nodes of the running jobs, [jobs, H]; None if they have changed.
    _nodes: BoolArray | None = None

    @property
    def now(self) -> int:
        """Return the instant of the cycle."""
        return self.problem.instance.now

    def nodes_of_running(self) -> BoolArray:
        """Return the nodes of the running jobs, [jobs, H]."""
        if self._nodes is None:
            self._nodes = np.zeros((len(self.running), len(self.weights)), dtype=bool)
            for place, run in enumerate(self.running):
                self._nodes[place] = run.nodes
        return self._nodes

    def add_running(self, run: _Occupied) -> None:
        """Add a job that this cycle starts, behind those that end in the same second."""
        self.running.insert(bisect_right(self.running, run.end, key=_END), run)
        self._nodes = None


@dataclass(frozen=True, slots=True)
class _JobAnswer:
    """The result for one job."""

    start: Start | None = None
    why: str = ""
    #: Whether the job is over a limit, so that the start reserves nothing.
    is_over: bool = False


def plan_as_slurm(instance: Instance, budget: Budget) -> Plan:
    """Return the plan of one backfill cycle of Slurm for the pending jobs, within the budget.

    Jobs that the cycle leaves without a start have none here, with the reason.
    """
    # The cycle has its own reading of reservations.
    free = replace(with_all_nodes(instance), advance_reservations=())
    problem = PlanningProblem.of(free, as_lsf=True, budget=budget, due_dates=True)
    known: dict[str, AdvanceReservation] = {}  # of one that repeats its next period
    for item in with_periods(instance).advance_reservations:
        if item.end > instance.now:
            known.setdefault(item.name, item)
    cycle = _cycle_of(problem, tuple(known.values()))
    for demand in problem.demands:  # as the cycle before has left the weights
        _weigh_gpus(cycle, demand, candidates_of(demand, len(cycle.weights)))
    possible = [item for item in problem.demands if not item.impossible or item.after is not None]
    answers: dict[str, _JobAnswer] = {}
    for attempt in attempts(problem, possible):
        if budget.late():
            break
        job, before = attempt.demand.job.id, answers.get(attempt.demand.job.id)
        if before is None or not _is_settled(cycle, before):
            answers[job] = _earlier(before, _plan_job(cycle, attempt))
    planned: list[PlannedJob] = []
    unplaced: list[Unplaced] = []
    unseen = 0
    for demand in problem.demands:
        job = demand.job.id
        if (found := answers.get(job)) is not None and found.start is not None:
            planned.append(problem.planned(demand, found.start, "slurm", waits_for=found.why))
        elif found is not None:
            planned.append(PlannedJob(job, None, method="slurm", waits_for=found.why))
        elif demand.impossible and demand.after is None:
            unplaced.append(Unplaced(job, reason_unplaced(problem, demand)))
        else:
            planned.append(
                PlannedJob(job, None, method="slurm", waits_for=NOT_EXAMINED, fallback=NOT_EXAMINED)
            )
            unseen += 1
    starts = [item.start - instance.now for item in planned if item.start is not None]
    planned_starts = {item.job: item.start for item in planned}
    notes = [f"not modelled: {name}" for name in cycle.settings.omitted]
    notes += agreement(instance, planned_starts)
    if unseen:
        notes.append(f"truncated by the limit: {unseen} jobs not examined")
    return Plan(
        method="slurm",
        objective="lexicographic",
        status="heuristic",
        now=instance.now,
        reservations=tuple(planned),
        unplaced=tuple(unplaced),
        value=float(sum(starts)),
        notes=tuple(notes),
        cut=bool(unseen),
    )


def _is_settled(cycle: _BackfillCycle, found: _JobAnswer) -> bool:
    """Whether a job is not examined in its other partitions."""
    start = found.start
    return start is not None and (start.time <= cycle.now or cycle.settings.one_reservation)


def _earlier(one: _JobAnswer | None, other: _JobAnswer) -> _JobAnswer:
    """Return the earlier start of a job, of equal ones the first; over a limit the last counts."""
    if one is None or one.start is None or (other.is_over and other.start is not None):
        return other if one is None or other.start is not None else one
    return other if other.start is not None and other.start.time < one.start.time else one


def agreement(instance: Instance, starts: Mapping[str, int | None]) -> list[str]:
    """Return how many of Slurm's printed starts equal those of a plan, and the others.

    Starts within :data:`NEAR` seconds count as equal, because Slurm's cycle was slightly earlier.
    """
    printed = {item.job: item.start for item in instance.lsf_says if item.start is not None}
    printed = {job: start for job, start in printed.items() if job in starts}
    if not printed:
        return []
    differs = [
        (job, start)
        for job, start in printed.items()
        if (found := starts[job]) is None or abs(found - start) > NEAR
    ]
    equal = len(printed) - len(differs)
    note = f"{equal} of {len(printed)} starts that Slurm printed are equal to those of this plan"
    if not differs:
        return [note]
    shown = some(f"{job} {clock_text(instance, start)}" for job, start in differs)
    touched = {job for item in instance.omissions for job in item.jobs or ()}
    causes = [job.id for job in instance.pending if job.id in touched]
    why = f"; not fully modelled: {', '.join(causes[:3])}" if causes else ""
    return [f"{note}; Slurm printed {shown}{why}"]


def _cycle_of(
    problem: PlanningProblem, reservations: tuple[AdvanceReservation, ...]
) -> _BackfillCycle:
    instance = problem.instance
    settings = BackfillSettings.of(instance.params)
    zero = (
        0 if instance.origin is None else int(datetime.fromisoformat(instance.origin).timestamp())
    )
    hosts = instance.cluster.hosts
    every = np.ones(len(hosts), dtype=bool)
    begin = settings.floor(zero + instance.now)
    end = settings.floor(zero + instance.now + settings.window)
    index = problem.resolver.host_index()
    running = []
    for run in instance.running:
        finish = expected_finish(instance, run)
        allocation = {index[name]: slots for name, slots in run.allocation.items()}
        nodes = np.zeros(len(hosts), dtype=bool)
        nodes[list(allocation)] = True
        uses = _alternative(problem.resolver.demand(run.job))
        last = instance.now + YEAR if finish is None else max(finish, instance.now + 1)
        running.append(_Occupied(last, nodes, uses, allocation))
    weights = [float(host.load.get("weight", 1.0)) for host in hosts]
    cycle = _BackfillCycle(
        problem,
        settings,
        zero,
        NodeMap(begin, max(end, begin + 1), every),
        problem.base.copy(),
        sorted(running, key=_END),
        weights,
        reservations,
    )
    if settings.running_in_map:
        _reserve_running(cycle, running)
    return cycle


def _reserve_running(cycle: _BackfillCycle, running: list[_Occupied]) -> None:
    """Enter the nodes of exclusive running jobs, and licences, into the map."""
    for run, item in zip(cycle.problem.instance.running, running, strict=True):
        demand = cycle.problem.resolver.demand(run.job)
        licences = _licence_uses(cycle, demand) if len(demand.terms) == 1 else {}
        cycle.map.joins &= not licences
        if run.job.exclusive or licences:
            nodes = item.nodes if run.job.exclusive else np.zeros_like(item.nodes)
            begin, end = cycle.settings.span(cycle.zero + cycle.now, cycle.zero + item.end)
            cycle.map.take(begin, end, nodes, licences)


def _plan_job(cycle: _BackfillCycle, attempt: Attempt) -> _JobAnswer:
    """Return the start of one job in one partition, and remove its nodes from the map."""
    demand = attempt.demand
    open_condition = demand.after is not None or demand.earliest > cycle.now
    # squeue lists only unfulfilled dependencies
    only_open = cycle.problem.instance.params.scheduler.plans_nodes
    if demand.job.dependency and (open_condition or only_open):
        return _JobAnswer(why=DEPENDENT)
    if demand.job.begin is not None and demand.job.begin > cycle.now:
        return _JobAnswer(why=NOT_BEGUN)
    own = _reservation_of(cycle, demand.job)
    if own is not None and own.start > cycle.now:
        return _JobAnswer(why=NOT_OPEN)
    is_of_slurm = cycle.problem.instance.params.scheduler.plans_nodes
    if len(demand.terms) != 1 or (
        not is_of_slurm and (demand.terms[0].unit is not None or demand.terms[0].same)
    ):
        return _JobAnswer(why=OF_LSF)
    if _is_too_deep(cycle, demand):
        return _JobAnswer(why=BEYOND)
    short = _short_pools(cycle, demand)
    passed_over = next((reason for use, reason in short if not _is_tested_late(cycle, use)), "")
    if passed_over:
        return _JobAnswer(why=f"Slurm skips it: {passed_over}")
    return _try_times(cycle, attempt, short[0][1] if short else "")


def _reservation_of(cycle: _BackfillCycle, job: Job) -> AdvanceReservation | None:
    """Return the reservation of a job, None if it has none or an unknown one."""
    own = (item for item in cycle.reservations if item.name == job.reservation)
    return next(own, None) if job.reservation else None


def _is_too_deep(cycle: _BackfillCycle, demand: Demand) -> bool:
    """Whether a cycle does not come to this job; counts it."""
    settings, job = cycle.settings, demand.job
    if cycle.tested >= settings.max_jobs:
        return True
    cycle.per_user[job.user] += 1
    if settings.max_user_jobs and cycle.per_user[job.user] > settings.max_user_jobs:
        return True
    cycle.tested += 1
    planned = 0 if job.array_id is None else cycle.planned_tasks[job.array_id]
    most = float(settings.max_tasks)
    if planned and settings.version in ARRAY_LIMIT_IN_CYCLE:
        pools = cycle.profile.table.pools
        for use in _alternative(demand).pool_uses:
            if pools[use.index].short is Pending.ARRAY_ELEMENTS:
                most = min(most, cycle.profile.free_in_pool(use.index, cycle.now))
    return planned >= most


def _short_pools(cycle: _BackfillCycle, demand: Demand) -> list[tuple[Use, str]]:
    """Return the limits and licences that have too little left now, with their reasons.

    With bf_licenses, licences are in the map, but if there is a reservation, Slurm also tests those
    of now for each job outside (job_test_resv, reservation.c).
    """
    slots = demand.terms[0].slots
    found = []
    is_outside = bool(cycle.reservations) and not demand.job.reservation
    for use in _alternative(demand).pool_uses:
        if cycle.settings.licences and not is_outside and _is_licence(cycle, use):
            continue
        needed = use.reservation.initial * (slots if use.per is Per.SLOT else 1)
        free = cycle.profile.free_in_pool(use.index, cycle.now)
        if free < needed - 1e-6:
            reason = cycle.profile.table.pools[use.index].reason
            found.append((use, f"needs {needed:g} {reason} (has {max(0, free):g})"))
    return found


def _is_tested_late(cycle: _BackfillCycle, use: Use) -> bool:
    """Whether a pool is a limit of resources, which Slurm tests after it has found a start; it
    tests limits of numbers of jobs, and licences, before.
    """
    rows = cycle.profile.table.limit_rows
    return any(row.index == use.index and not row.on_hosts and not use.once for row in rows)


def _is_licence(cycle: _BackfillCycle, use: Use) -> bool:
    """Whether a pool is a licence, and no limit."""
    name = cycle.profile.table.pools[use.index].name
    return any(item.name == name for item in cycle.problem.instance.cluster.shared)


def _licence_uses(cycle: _BackfillCycle, demand: Demand) -> dict[int, float]:
    """Return the licences of a job that are planned (bf_licenses): amount by pool."""
    if not cycle.settings.licences:
        return {}
    slots = demand.terms[0].slots
    return {
        use.index: use.reservation.initial * (slots if use.per is Per.SLOT else 1)
        for use in _alternative(demand).pool_uses
        if _is_licence(cycle, use)
    }


def _short_until(
    cycle: _BackfillCycle, licences: dict[int, float], time: int, end: int
) -> int | None:
    """Return when licences that are short over [time, end] may suffice again, None if they
    suffice.
    """
    pools = cycle.profile.table.pools
    capacity = {index: pools[index].capacity for index in licences}
    short = cycle.map.short_until(cycle.zero + time, cycle.zero + end, licences, capacity)
    ends = short[:1] if cycle.settings.version in FIRST_SHORT_RECORD else short[-1:]
    return ends[0] - cycle.zero if ends else None


def _alternative(demand: Demand) -> Alternative:
    found = next((item for item in demand.terms[0].alternatives if not item.missing), None)
    return demand.terms[0].alternatives[0] if found is None else found


def _candidates(cycle: _BackfillCycle, attempt: Attempt) -> BoolArray:
    """Return the nodes of the map for a job, [H]: its GPUs do not restrict them."""
    without_gpus = cycle.problem.resolver.demand(replace(attempt.demand.job, gpu=""))
    candidates = candidates_of(without_gpus, len(cycle.weights))
    return candidates if attempt.nodes is None else candidates & attempt.nodes


def _try_times(cycle: _BackfillCycle, attempt: Attempt, over: str) -> _JobAnswer:
    """Return the first start that a job can have; over: the limit that it is over, in words."""
    demand, settings, now = attempt.demand, cycle.settings, cycle.now
    duration = demand.runs if demand.runs is not None else YEAR
    candidates = _candidates(cycle, attempt)
    shape = JobShape.of(demand, settings.version, cycle.problem.resolver.gpus(demand.job))
    if _alternative(demand).missing:
        return _JobAnswer(why=GIVEN_UP)
    licences = _licence_uses(cycle, demand)
    time, own = now, _reservation_of(cycle, demand.job)
    last = math.inf if own is None else own.end - duration
    for _ in range(MAX_TRIES):
        if time > last:
            return _JobAnswer(why=CLOSED)
        usable, later = _usable(cycle, candidates, time, duration, own)
        short = _short_until(cycle, licences, time, time + duration) if licences else None
        later = later if short is None else short
        found = None
        if short is None and int(usable.sum()) >= shape.min_nodes:
            found = _earliest_run(cycle, demand, shape, usable, time, later)
        if found is None:
            if later is None:
                return _JobAnswer(why=GIVEN_UP)
            time = later
            continue
        start, allocation = found
        start = max(start, time)
        if start > last:
            return _JobAnswer(why=CLOSED)
        if start <= now and over:
            return _JobAnswer(why=f"Slurm skips it: {over}")
        lacks_gpus = _lacks_gpus(cycle, shape, start, allocation)
        if start <= now and not lacks_gpus:
            return _JobAnswer(_begin(cycle, demand, Start(now, (allocation,)), duration))
        if later is not None and start > later:
            time = later
            continue
        answer = Start(start, (allocation,))
        if start > now + settings.window:
            return _JobAnswer(
                answer, "beyond bf_window: Slurm shows the start and reserves nothing"
            )
        nodes = np.zeros(len(cycle.weights), dtype=bool)
        nodes[list(allocation)] = True
        begin, end = settings.span(cycle.zero + start, cycle.zero + start + duration)
        if cycle.map.overlaps(begin, end, nodes):
            time = start if start > time else time + settings.resolution
            continue
        if over:
            why = f"Slurm shows the start and reserves nothing: {over}"
            return _JobAnswer(answer, why, is_over=True)
        cycle.map.take(begin, end, nodes, licences)
        cycle.planned_tasks[demand.job.array_id or ""] += 1
        if unseen := lacks_gpus or _unseen(cycle, answer, duration, own):
            return _JobAnswer(answer, unseen)
        alike = next((part for part in _classes(demand, usable) if part[nodes].all()), usable)
        exact = _first_end(cycle, demand, shape, alike, start)
        return _JobAnswer(answer, _costs(cycle, nodes, start, time, exact))
    return _JobAnswer(why=GIVEN_UP)


def _free_gpus(profile: Profile, time: int) -> IntArray:
    """Return the GPUs of each node that are free at an instant, [H]."""
    free = profile.free(profile.table.host_index(PHYSICAL), time)
    return np.maximum(free, 0.0).astype(np.int64)


def _lacks_gpus(cycle: _BackfillCycle, shape: JobShape, start: int, nodes: Allocation) -> str:
    """Return in words that a job does not start then, as its GPUs are counted over several nodes;
    "" if its node has them.
    """
    if not shape.gpus_over_nodes:
        return ""
    free = _free_gpus(cycle.profile, start)
    if min(free[host] for host in nodes) >= shape.gpus_over_nodes:
        return ""
    return "Slurm counts its GPUs over the nodes it examines: it cannot start then"


def _unseen(
    cycle: _BackfillCycle, start: Start, duration: int, own: AdvanceReservation | None
) -> str:
    """Return the reservation into which a job runs whose start is after the instant examined, in
    words; Slurm does not test it again.
    """
    index = cycle.problem.resolver.host_index()
    for item in cycle.reservations:
        taken = any(index[name] in start.allocation for name in item.slots)
        overlaps = item.start < start.time + duration and item.end > start.time
        if item is not own and taken and overlaps:
            return (
                f"would overlap reservation {item.name}: Slurm does not test this when it "
                f"estimates the start, but the job cannot start then"
            )
    return ""


def _first_end(
    cycle: _BackfillCycle, demand: Demand, shape: JobShape, usable: BoolArray, start: int
) -> int:
    """Return the first end of a running job, up to the start, at which the job fits on these
    nodes.
    """
    for end in sorted({run.end for run in cycle.running if run.end < start}):
        if choose_nodes(_caps(cycle, demand, end), usable, cycle.weights, shape) is not None:
            return end
    return start


def _costs(cycle: _BackfillCycle, nodes: BoolArray, start: int, time: int, exact: int) -> str:
    """Return why a job does not start earlier on its nodes, [H], in words."""
    if time < start and max(exact, time) < start:
        less = duration_text(start - max(exact, time))
        return f"it would fit {less} earlier: Slurm tests the ends of running jobs in groups"
    if time <= cycle.now or start != time:
        return ""
    index, step = cycle.problem.resolver.host_index(), cycle.settings.resolution
    expired = [
        item.name
        for item in cycle.reservations
        if item.end < time <= item.end + step and nodes[[index[name] for name in item.slots]].any()
    ]
    if expired:
        return f"advance reservation {some(expired)} has nodes until then"
    return "waits for nodes that are planned whole for other jobs"


def _usable(
    cycle: _BackfillCycle,
    candidates: BoolArray,
    time: int,
    duration: int,
    own: AdvanceReservation | None,
) -> tuple[BoolArray, int | None]:
    """Return nodes that a job may use over [time, time + duration], and a later time to try.

    own: the reservation of the job.
    """
    zero = cycle.zero
    nodes = candidates.copy()
    ends: list[int] = []
    overlaps = False
    index = cycle.problem.resolver.host_index()
    if own is not None:
        inside = np.zeros_like(nodes)
        inside[[index[name] for name in own.slots]] = True
        nodes &= inside
    for item in cycle.reservations:
        if item is not own and item.end > time:
            ends.append(item.end)
            if item.start < time + duration:
                reserved = [index[name] for name in item.slots]
                overlaps = overlaps or bool(nodes[reserved].any())
                nodes[reserved] = False
    past = cycle.settings.version in BOUNDED_BY_RECORDS
    usable, later = cycle.map.usable(
        zero + time, zero + time + duration, nodes, looks_past_end=past
    )
    following = None if later is None else later - zero
    if overlaps:  # rounded up, and one second more
        resolution = cycle.settings.resolution
        first = -(-(zero + min(ends)) // resolution) * resolution + 1 - zero
        if following is None or first < following:
            following = first
    return usable, following


def _caps(
    cycle: _BackfillCycle,
    demand: Demand,
    time: int,
    kept: Sequence[_Occupied] = (),
    gpus: GpusSeen | None = None,
) -> IntArray:
    """Return CPUs that a job finds on each node given the running jobs, [H].

    kept: jobs that end by then and are not released yet. gpus: set to those free then, which do
    not restrict the CPUs.
    """
    profile = cycle.profile
    if kept:
        profile = profile.copy()
        for run in kept:
            profile.allocate(parts_of(profile.table, run.uses, run.allocation), time, time + 1)
    alternative = replace(_alternative(demand), pool_uses=())
    if gpus is not None:
        index = profile.table.host_index(PHYSICAL)
        uses = tuple(use for use in alternative.host_uses if use.index != index)
        alternative, gpus.free = replace(alternative, host_uses=uses), _free_gpus(profile, time)
    return profile.capacity(demand, demand.terms[0], alternative, time).caps


def _classes(demand: Demand, usable: BoolArray) -> Iterator[BoolArray]:
    """Yield the usable nodes of each feature of a matching OR, ``[a|b]``; all without one."""
    same = demand.terms[0].same
    if not same:
        yield usable
        return
    labels = same[0]
    for label in dict.fromkeys(labels[usable & (labels >= 0)].tolist()):
        yield usable & (labels == label)


def _earliest_run(
    cycle: _BackfillCycle,
    demand: Demand,
    shape: JobShape,
    usable: BoolArray,
    time: int,
    later: int | None,
) -> tuple[int, Allocation] | None:
    """Return the earliest answer of the select plugin over the features of a matching OR."""
    parts = _classes(demand, usable)
    found = (_will_run(cycle, demand, shape, part, time, later) for part in parts)
    known = [item for item in found if item is not None]
    return min(known, key=lambda item: item[0], default=None)


def _will_run(
    cycle: _BackfillCycle,
    demand: Demand,
    shape: JobShape,
    usable: BoolArray,
    time: int,
    later: int | None,
) -> tuple[int, Allocation] | None:
    """Return when and where the select plugin would start a job on these nodes, by running jobs
    alone.
    """
    is_bounded = cycle.settings.version in BOUNDED_BY_RECORDS
    first = time if is_bounded else cycle.now
    gpus = GpusSeen() if shape.gpus_over_nodes else None
    groups = _groups(cycle, usable, first, later if is_bounded else None)
    all_released: list[_Occupied] = []
    has_gpus = cycle.problem.resolver.gpus(demand.job) is not None
    # The first test is one without sharing, by which whole nodes count (_try_sched, backfill.c).
    at_first = shape if has_gpus else replace(shape, counts_tasks=False)
    for end, kept in chain([(first, all_released)], groups):
        tested = shape if end > first else at_first
        caps = _caps(cycle, demand, end, kept, gpus)
        _weigh_gpus(cycle, demand, usable & (sizes_of(caps, tested) > 0))
        found = choose_nodes(caps, usable, cycle.weights, tested, gpus)
        if found is not None:
            if end > first and cycle.settings.version in BY_CHOSEN_NODES:
                end = _last_on(cycle, found, end)
            return end, found
    return None


def _weigh_gpus(cycle: _BackfillCycle, demand: Demand, fitting: BoolArray) -> None:
    """Put nodes that have the GPUs of a job before others of their weight, which jobs behind it see
    too in some versions.
    """
    request = cycle.problem.resolver.gpus(demand.job)
    if request is not None and cycle.settings.version not in CONFIGURED_WEIGHTS:
        for host in np.flatnonzero(fitting).tolist():
            cycle.weights[host] = math.ceil(cycle.weights[host]) - min(request.num, 255) / 256


def _last_on(cycle: _BackfillCycle, chosen: Allocation, until: int) -> int:
    """Return the last end by `until` of a running job on one of the chosen nodes."""
    nodes = list(chosen)
    ends = [run.end for run in cycle.running if run.end <= until and run.nodes[nodes].any()]
    return max(ends, default=until)


def _groups(
    cycle: _BackfillCycle, usable: BoolArray, after: int, stop: int | None
) -> Iterator[tuple[int, list[_Occupied]]]:
    """Yield the ends at which the plugin tests, each the last of a group, and jobs not yet
    released.

    Among jobs that end in one second, some may belong to the next group. Jobs are released in the
    order of their ends, until the next job on any node ends after the window; the window grows from
    group to group. Jobs that end after `stop` are not released.
    """
    first = 0 if after == cycle.now else bisect_right(cycle.running, after, key=_END)
    last_job = None if stop is None else bisect_right(cycle.running, stop, key=_END)
    jobs = cycle.running[first:last_job]
    is_usable: list[bool] = np.any(
        cycle.nodes_of_running()[first:last_job] & usable, axis=1
    ).tolist()
    window, barrier, place = FIRST_WINDOW, 0, 0
    while place < len(jobs):
        last: _Occupied | None = None
        released = 0
        following: _Occupied | None = None
        while place < len(jobs):
            run = jobs[place]
            place += 1
            if not is_usable[place - 1]:
                continue
            if not barrier:
                end = cycle.zero + run.end
                barrier = run.end + FIRST_WINDOW - end % FIRST_WINDOW
            last = run
            released += 1
            following = jobs[place] if place < len(jobs) else None
            if following is None or following.end > barrier + window or released > MAX_RELEASED:
                break
        if last is None:
            return
        if released > MAX_RELEASED:  # too many for one group: no test, and the window stays
            continue
        window += cycle.settings.linear or window
        while following is not None and following.end > barrier + window:
            window += cycle.settings.linear or window
        same = bisect_right(jobs, last.end, key=_END)  # later ones of this second
        yield last.end, [jobs[n] for n in range(place, same) if is_usable[n]]


def _begin(cycle: _BackfillCycle, demand: Demand, start: Start, duration: int) -> Start:
    """Start a job now, so that later jobs see it as a running job."""
    allocate_start(cycle.profile, demand, start)
    nodes = np.zeros(len(cycle.weights), dtype=bool)
    nodes[list(start.allocation)] = True
    run = _Occupied(start.time + duration, nodes, _alternative(demand), start.allocation)
    cycle.add_running(run)
    return start
