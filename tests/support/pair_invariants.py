"""What holds of every site whatever features meet in it; each invariant names what breaks it.

An invariant is a function of a case that gives sentences, none where all is well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial

from combined_enumerator import Case
from loop_starts import simulated_starts
from slotwise import Cluster, Host, Instance, Job, Plan, Simulation
from slotwise.solver.fairshare.priority_order import priority_order
from slotwise.solver.planning import plan
from slotwise.solver.scheduler.simulation import simulate
from slotwise.solver.validate import validate_schedule

Found = Iterator[str]
#: Solver units of one plan, far more than so few jobs take.
EFFORT = 20
#: Seconds: two hours, after which no job of a case is still to start.
HORIZON = 7200
#: Forms of all jobs together that the enumerator tries.
MOST = 4000


def planned(instance: Instance, method: str) -> Plan:
    """The plan; the exact methods work until they are done."""
    options = {"effort": EFFORT} if method in ("optimal", "milp") else {}
    return plan(instance, method, **options)  # type: ignore[arg-type]


class Site:
    """A case, the plans of which are made once."""

    def __init__(self, case: Case) -> None:
        self.case, self.instance = case, case.instance
        self.plan = lru_cache(None)(partial(planned, case.instance))
        self.order = priority_order(case.instance)

    def starts(self, method: str) -> dict[str, float]:
        """The planned starts of its jobs."""
        return starts(self.plan(method), self.instance)


def starts(found: Plan, instance: Instance) -> dict[str, float]:
    """The start of each pending job, infinite for none."""
    known = {item.job: item.start for item in found if item.start is not None}
    return {job.id: known.get(job.id, math.inf) for job in instance.pending}


def still(instance: Instance) -> Instance:
    """The site as plans see it: no job comes, and all run to their limits."""
    running = (replace(run, job=replace(run.job, run_time=None)) for run in instance.running)
    pending = (replace(job, run_time=None) for job in instance.pending)
    return replace(instance, running=tuple(running), pending=tuple(pending), future=())


def the_judge_accepts(it: Site) -> Found:
    """Every plan passes the judge."""
    for method in ("greedy", "time-based", "optimal"):
        found = it.plan(method)
        if found.refused:
            yield f"{method}: {found.notes}"


def windows(instance: Instance) -> bool:
    """Whether there are windows or advance reservations, which estimates do not see."""
    return bool(
        instance.advance_reservations
        or any(queue.dispatch_window or queue.run_window for queue in instance.queues)
        or any(host.windows for host in instance.cluster.hosts)
    )


def preempts(instance: Instance) -> bool:
    """Whether a queue preempts another."""
    return any(queue.preemptive for queue in instance.queues)


def lends(instance: Instance) -> bool:
    """Whether a pool has loans, which exact plans count on only where no owner waits."""
    return any(pool.loans for pool in instance.guaranteed_pools)


def optimal_is_never_later(it: Site) -> Found:
    """In the order of the jobs the optimum is no later than time-based reservation."""
    if windows(it.instance) or lends(it.instance):
        return
    best, timed = it.starts("optimal"), it.starts("time-based")
    for job in it.order:
        if best[job.id] != timed[job.id]:
            if best[job.id] > timed[job.id]:
                yield f"job {job.id}: optimal {best[job.id]}, time-based {timed[job.id]}"
            return


def the_plan_is_the_loop(it: Site) -> Found:
    """The loop starts jobs when an estimate said, or a rule is named."""
    found = it.plan("time-based")
    if any("not modelled" in note for note in found.notes):
        return
    real = simulated_starts(it.instance, "time-based")
    for job, start in it.starts("time-based").items():
        if start != real.get(job, math.inf):
            yield f"job {job}: planned {start}, in the loop {real.get(job)}"


def nothing_proved_is_missed(it: Site) -> Found:
    """No loop starts the first job sooner than what is proved of it, nor any that is infeasible."""
    found = it.plan("optimal")
    order = [job.id for job in it.order]
    if not order:
        return
    first = found.get(order[0])
    alone = replace(it.instance, pending=it.order[:1])
    for method in ("none", "greedy", "time-based"):
        real = simulated_starts(alone, method).get(order[0])
        if real is None:
            continue
        if first is not None and first.proved and first.start is not None and real < first.start:
            yield f"job {order[0]}: proved {first.start}, alone under {method} it starts at {real}"
        if first is None and found.status == "infeasible":
            yield f"job {order[0]}: infeasible, alone under {method} it starts at {real}"


#: What the enumerator knows nothing of.
_UNKNOWN: tuple[Callable[[Instance], bool], ...] = (
    preempts,
    lends,
    lambda i: bool(i.partitions or i.future or i.params.job_accept_interval),
    lambda i: any(queue.user_shares for queue in i.queues),
    lambda i: any(job.deadline or job.resizable for job in i.pending),
    lambda i: any(run.job.estimated_run_time for run in i.running),
    lambda i: any(job.estimated_run_time for job in i.pending),
)


def the_optimum_is_the_enumerators(it: Site) -> Found:
    """What an enumerator says that shares nothing."""
    forms = math.prod(max(1, len(forms)) for forms in it.case.forms.values())
    if forms > MOST or any(unknown(it.instance) for unknown in _UNKNOWN):
        return
    found = it.plan("optimal")
    right = it.case.lexicographic()
    shown = {job: None if s == math.inf else s for job, s in it.starts("optimal").items()}
    if shown != right:
        yield f"optimal {shown}, every plan tried {right}"
    elif found.left_out:
        return  # what is named keeps it from being proved
    elif found.status != ("infeasible" if None in right.values() else "optimal"):
        yield f"status {found.status}, every start is right: {found.notes}"


def _order_moves(instance: Instance) -> bool:
    """Whether what other jobs do decides who is first."""
    by_policy = any(queue.user_shares or queue.aps_priority for queue in instance.queues)
    return bool(instance.partitions or instance.params.job_priority_over_time) or by_policy


def a_last_job_delays_none(it: Site) -> Found:
    """A job added at the end of the line delays none of those before it."""
    if _order_moves(it.instance) or lends(it.instance):
        return
    order = it.order
    if len(order) < 2 or order[-1].array_limit is not None:
        return
    rest = replace(it.instance, pending=tuple(j for j in it.instance.pending if j is not order[-1]))
    for method in ("time-based", "optimal") if _held_for_good(it.instance) else ("optimal",):
        whole, less = it.starts(method), starts(planned(rest, method), rest)
        # Its reservation may suspend a running job, for which one before it starts earlier:
        # from there on the plans differ in priority order.
        suspends = method == "optimal" and bool(planned(it.instance, method).suspended)
        for job, start in less.items():
            if suspends and whole[job] < start:
                break
            if whole[job] > start:
                yield f"{method}, job {job}: {start}, with {order[-1].id} behind it {whole[job]}"


def lower_rank_never_delays_the_first(it: Site) -> Found:
    """The loop starts the first job no later because others wait behind it."""
    instance, order = still(it.instance), it.order
    if _order_moves(instance) or len(order) < 2 or not _held_for_good(instance):
        return
    alone = replace(instance, pending=tuple(j for j in instance.pending if j.id == order[0].id))
    (first,) = alone.pending
    # What is free for it beside what it might preempt another job may have before it preempts.
    patient = replace(alone, queues=tuple(replace(q, preemptive=None) for q in alone.queues))
    mine, among = (
        simulated_starts(each, "time-based").get(first.id) for each in (patient, instance)
    )
    if mine is not None and (among is None or among > mine):
        yield f"job {first.id}: alone {mine}, before the others {among}"


def _held_for_good(instance: Instance) -> bool:
    """Whether all that a job will need is kept for it, as long as it waits.

    Not where reservations are not for all, or run out; where windows close; where a job may not
    hold anything before its begin time, or while a limit, a licence or memory is short. GPUs are
    as licences: a reservation has slots and memory, and a job behind it takes free GPUs at once.
    """
    queues, jobs = instance.queues, instance.pending
    cycles = [queue.reserve_cycles for queue in queues]
    limited = any(q.queue_slots or q.host_slots or q.user_slots for q in queues)
    return not (
        (any(cycles) and not all(cycles))
        or any(c is not None and c < 100 for c in cycles)
        or windows(instance)
        or any(job.begin or job.array_limit is not None for job in jobs)
        or limited
        # A host that has just taken another job is closed to whoever has a place there.
        or instance.params.job_accept_interval
        or instance.limits
        or instance.guaranteed_pools
        or instance.users
        or instance.cluster.shared
        or any(job.gpu for job in jobs)
        or (
            any("rusage" in text for job in jobs for text in job.res_req)
            and not all(queue.holds_memory for queue in queues)
        )
    )


def no_reservation_delays_who_preempts(it: Site) -> Found:
    """The first job that may preempt, and does, starts no later where its queue reserves."""
    if not preempts(it.instance):
        return
    instance = still(it.instance)
    none = [replace(q, slot_reserve=None, resource_reserve=None) for q in instance.queues]
    able = [q.name for q in instance.queues if q.preemptive]
    bare = _loop(replace(instance, queues=tuple(none)), "none")
    when = {entry["time"] for entry in bare.log if entry.get("preempted")}
    first = next((job.id for job in it.order if job.queue in able), "")
    start = bare.starts.get(first)
    if start is None or start not in when:
        return
    for fields in ({"slot_reserve": 30}, {"resource_reserve": 30}, {"slot_reserve": 2}):
        queues = tuple(replace(q, **fields) if q.name in able else q for q in none)
        later = _loop(replace(instance, queues=queues), "greedy").starts.get(first, math.inf)
        if later > start:
            yield f"{fields}, job {first}: {later}, without {start}"


def _loop(instance: Instance, method: str) -> Simulation:
    return simulate(instance, reservation=method, until=HORIZON, top=4, keep_log=True)  # type: ignore[arg-type]


def more_never_makes_the_first_later(it: Site) -> Found:
    """A larger limit, or one more free host, never makes the first job later."""
    if not it.order:
        return
    only = replace(it.instance, pending=it.order[:1])
    for name, larger in _larger(only):
        for method in ("time-based", "optimal"):
            before, after = (starts(planned(each, method), each) for each in (only, larger))
            (job,) = before
            if after[job] > before[job]:
                yield f"{name}, {method}, job {job}: {before[job]}, then {after[job]}"


def _larger(instance: Instance) -> Iterator[tuple[str, Instance]]:
    if instance.limits:
        twice = tuple(
            replace(limit, amounts={name: 2 * most for name, most in limit.amounts.items()})
            for limit in instance.limits
        )
        yield "limits twice as large", replace(instance, limits=twice)
    if any(queue.queue_slots for queue in instance.queues):
        queues = tuple(replace(q, queue_slots=(q.queue_slots or 0) + 2) for q in instance.queues)
        yield "QJOB_LIMIT larger", replace(instance, queues=queues)
    more = Host("more", 4, type="X", amounts={"mem": 200.0})
    named = any(job.hosts for job in instance.pending)
    if not named and not instance.partitions and not any(map(_in_units, instance.pending)):
        cluster = instance.cluster
        hosts = Cluster(
            (*cluster.hosts, more),
            cluster.groups,
            cluster.unit_types,
            cluster.default_unit_type,
            cluster.units,
            cluster.resources,
            cluster.shared,
        )
        yield "one more host", replace(instance, cluster=hosts)


def _in_units(job: Job) -> bool:
    return any("cu[" in text for text in job.res_req)


def the_judge_accepts_the_loop(it: Site) -> Found:
    """No loop breaks a rule, and none leaves a job waiting that could start."""
    for method in ("none", "greedy", "time-based"):
        result = simulate(it.instance, reservation=method, until=HORIZON, keep_log=True)  # type: ignore[arg-type]
        yield from (f"{method}: {fault}" for fault in validate_schedule(it.instance, result))


INVARIANTS: dict[str, Callable[[Site], Found]] = {
    "judge": the_judge_accepts,
    "never later": optimal_is_never_later,
    "plan is loop": the_plan_is_the_loop,
    "proofs": nothing_proved_is_missed,
    "enumerated": the_optimum_is_the_enumerators,
    "last job": a_last_job_delays_none,
    "first job": lower_rank_never_delays_the_first,
    "preempting": no_reservation_delays_who_preempts,
    "more": more_never_makes_the_first_later,
    "loop": the_judge_accepts_the_loop,
}


def violations(case: Case) -> Iterator[tuple[str, str]]:
    """(invariant, sentence) of all that a case breaks."""
    it = Site(case)
    for name, invariant in INVARIANTS.items():
        yield from ((name, sentence) for sentence in invariant(it))
