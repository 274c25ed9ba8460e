"""The scheduler beside the literal references: what these leave out and why, and what differs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random

from paired_features import FEATURES, case, features_of, go_together
from slotwise import Instance, Job
from slotwise.model.plan import Method
from slotwise.model.resreq import Simple, effective_requirement
from slotwise.solver.planning import plan
from slotwise.solver.reference import Reserved, greedy, time_based
from slotwise.solver.reference.occupancy import Occupancy

METHODS = {"greedy": greedy, "time-based": time_based}


def _shares(instance: Instance) -> bool:
    shared = any(q.user_shares or q.slot_pool or q.aps_priority for q in instance.queues)
    return shared or bool(instance.partitions) or instance.params.grows_priorities


def _not_yet(instance: Instance) -> bool:
    return any(
        job.dependency or job.array_limit is not None or (job.begin or 0) > instance.now
        for job in instance.pending
    )


def _limits_of_some(instance: Instance) -> bool:
    processors = [q.processor_slots for q in instance.queues]
    processors += [user.processor_slots for user in instance.users]
    scopes = [(i.hosts, i.projects, i.apps, i.lic_projects) for i in instance.limits]
    per = (limit.slots_per_processor or limit.percentages for limit in instance.limits)
    more = (limit.amounts.keys() - {"slots", "jobs"} for limit in instance.limits)
    named = (user.name.endswith("@") for user in instance.users)
    groups = bool(instance.groups) and bool(instance.users or instance.limits)
    parts = (*processors, *map(any, scopes), *per, *more, *named, groups)
    return any(parts) or bool(instance.job_groups)


def _queues_of_some(instance: Instance) -> bool:
    names = [request.name for job in _jobs(instance) for request in job.hosts]
    names += [request.name for queue in instance.queues for request in queue.hosts]
    odd = any(name == "others" or name.startswith("~") for name in names)
    return odd or any(q.users or q.excluded_hosts or not q.active for q in instance.queues)


def _requirements(instance: Instance) -> bool:
    return any(not _plain(instance, job) for job in _jobs(instance))


def _plain(instance: Instance, job: Job) -> bool:
    """Return whether a job asks for one thing, and for as much of it as long as it runs."""
    simple = effective_requirement(instance, job).requirement
    if not isinstance(simple, Simple) or simple.later or simple.affinity or simple.tiling:
        return False
    usages = simple.rusage.alternatives if simple.rusage else ()
    held = simple.rusage.reservations() if simple.rusage else ()
    span = simple.span
    odd = span is not None and (span.block or span.ptile_by or span.ptile_max)
    steady = all(item.per in ("", "host") and item.phases[0].end is None for item in held)
    return len(usages) <= 1 and steady and not odd and not job.gpu and not job.extsched


def _jobs(instance: Instance) -> list[Job]:
    return [*instance.pending, *(run.job for run in instance.running)]


def _loads(instance: Instance) -> bool:
    hosts, queues = instance.cluster.hosts, instance.queues
    limits = [each.thresholds for each in (*hosts, *queues)]
    return any(item.sched or item.stop for item in limits) or any(host.load for host in hosts)


#: Each rule: its name, why a literal reference leaves it out, and whether an instance uses it.
LEFT_OUT: tuple[tuple[str, str, Callable[[Instance], bool]], ...] = (
    ("other schedulers", "LSF's open family and Slurm reserve by rules of their own",
     lambda instance: instance.params.family != "LSF"),
    ("shares", "the order follows accounts that every start charges (FSH, QBF, APS rows)", _shares),
    ("-b, -w, -J %N", "a job is examined when it may start, and those behind it are placed again",
     _not_yet),
    ("-t", "a job may start by an instant only, so that more room later is of no use to it",
     lambda instance: any(job.deadline is not None for job in _jobs(instance))),
    ("more than one amount", "phases, alternatives, terms, blocks, GPUs and affinity have pages of "
     "their own (RSV and REQ rows)", _requirements),
    ("amounts per slot or job", "the unit of an amount depends on the cluster (RSV-08)",
     lambda instance: instance.params.reserve_per_slot or bool(instance.reservation_usage)),
    ("limits of some", "limits over part of the hosts, or per processor, need a search",
     _limits_of_some),
    ("guarantees", "what owners have is kept from others on hosts that change (GUA rows)",
     lambda instance: bool(instance.guaranteed_pools)),
    ("-U", "jobs in an advance reservation use slots that others cannot (ARV rows)",
     lambda instance: any(job.reservation for job in _jobs(instance))),
    ("JOB_ACCEPT_INTERVAL", "hosts are closed for a time by each start (TBR-16)",
     lambda instance: instance.has_accept_interval),
    ("loads", "reported loads close hosts (RSV-11)", _loads),
    ("the last cycle", "what was held and lent before decides what is held now (GRD-06)",
     lambda instance: bool(instance.held or instance.borrowed)),
    ("queues of some", "closed queues, users and hosts by exception decide who may start, not when",
     _queues_of_some),
    ("RESERVE_BY_STARTTIME", "groups are compared by their estimates (TBR-17)",
     lambda instance: instance.params.reserve_by_starttime),
)  # fmt: skip


#: The last one shows in the answer only: what a waiting job holds of its place. The scheduler holds
#: the part of a future allocation that limits and licences allow now, and memory step by step
#: (MEM-01, MEM-08, TBR-10); it matters to the jobs behind, and by greedy to the job itself.
HELD = "what limits, licences and memory leave to hold"


def left_out(instance: Instance) -> str:
    """Return the name of a rule that an instance uses and the references leave out, "" if none."""
    return next((name for name, _, applies in LEFT_OUT if applies(instance)), "")


def _holds_in_part(instance: Instance, found: Mapping[str, Reserved]) -> bool:
    occupancy = Occupancy(instance, {})
    for job in occupancy.order():
        item = found[job.id]
        rows = occupancy.takes(job, item.slots)
        limited = [row for row in rows if row.resource != "slots" or row.limit]
        if item.start is None and "mem" in occupancy.asks(job).amounts:
            return True
        if (item.start or 0) > instance.now and any(occupancy.full[r] < math.inf for r in limited):
            return True
    return False


def differences(instance: Instance, method: Method) -> tuple[str, list[str]]:
    """Return the rule that keeps an instance from being compared, "" for none, and what differs.

    A line a job: what the reference says, then what the scheduler's next cycle says.
    """
    rule = left_out(instance)
    if rule:
        return rule, []
    found, planned = METHODS[method](instance), plan(instance, method)
    lines = []
    for job in instance.pending:
        mine, theirs = found[job.id], planned.get(job.id)
        # A time-based plan does not show what a job without an estimate holds.
        shown = mine.start is None and (method == "greedy" or mine.estimate is not None)
        ours = (mine.estimate, mine.start, dict(mine.slots) if shown else {})
        other: tuple[int | None, int | None, dict[str, int]] = (None, None, {})
        if theirs is not None:
            estimate = theirs.estimate if theirs.start is None else theirs.start
            other = (estimate, theirs.start, {} if theirs.start is not None else theirs.reserved)
        if ours != other:
            lines.append(f"{job.id}: {ours}, {other}")
    return HELD if lines and _holds_in_part(instance, found) else "", lines


#: Features of :mod:`paired_features` of which no rule is left out.
WHOLE = (
    *("ptile", "one host", "same", "cu", "cu[excl]", "-x", "user limit", "queue limit"),
    *("host limit", "limit of jobs", "limit of each user", "memory", "licence", "-We"),
    *("BACKFILL", "BACKFILL partly", "SLOT_RESERVE", "RESOURCE_RESERVE", "resizable", "range"),
    *("priorities", "-m first", "no limit", "windows", "preemption"),
)


def whole_case(seed: int) -> Instance:
    """A site in which up to three of these features meet."""
    random, names = Random(f"whole {seed}"), list[str]()
    for name in random.sample(WHOLE, random.choice([0, 1, 2, 3])):
        if go_together({*names, name}):
            names.append(name)
    return case([name for name in FEATURES if name in names], seed).instance


def pair_case(seed: int) -> Instance:
    """A site of the pairs, in which any features meet."""
    return case(features_of(seed), seed).instance
