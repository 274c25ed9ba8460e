"""The judge: does a plan keep every rule of its instance?

Written from the rules alone and apart from everything that makes plans: it shares the model with
the rest of the solver and nothing else. Slow and literal on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..model.compact import no_collection
from ..model.instance import Instance
from ..model.modules import with_loaded_modules
from ..model.plan import Plan
from ..model.windows import without_windows
from .validation import capacity, claims, hosts, idle, order, schedule, shape, times
from .validation.facts import Facts, Unfinished, Violation
from .validation.hosts import may_be_closed
from .validation.shape import split
from .validation.slurm import as_in_a_cycle, slurm_faults

__all__ = ["Unfinished", "Violation", "validate"]

#: Checks of every schedule.
_RULES: tuple[Callable[[Facts], Iterator[Violation]], ...] = (
    claims.entries,
    claims.allocations,
    times.starts,
    times.deadlines,
    times.finishes,
    times.dependencies,
    times.dispatch_windows,
    times.run_windows,
    times.reserved_times,
    *schedule.OF_SHAPE,
    shape.resizable,
    hosts.candidates,
    hosts.first_execution_host,
    hosts.one_partition,
    capacity.accept_interval,
    capacity.running,
    capacity.slots,
    capacity.suspensions,
    capacity.amounts,
    capacity.shared,
    capacity.alone,
    capacity.kinds,
    capacity.enough,
    capacity.processor_units,
    capacity.limits,
    schedule.guarantees,
)
#: Checks that apply to a plan by Slurm's method job by job.
_OF_SLURM = tuple(
    check
    for check in _RULES
    if check
    not in (times.deadlines, times.dependencies, times.finishes, capacity.shared, capacity.limits)
)
#: Checks of a plan's claims about itself.
_CLAIMS: tuple[Callable[[Facts], Iterator[Violation]], ...] = (
    claims.reserved,
    claims.bounds,
    claims.value,
    claims.status,
)


def validate(
    instance: Instance,
    plan: Plan,
    *,
    as_lsf: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[Violation]:
    """Return every rule that `plan` breaks, in the order of the checks; empty for a valid plan.

    as_lsf: omit the rules that LSF's own estimate ignores: dispatch and run windows and advance
    reservations (TBR-19). If tardiness is minimised, -t may be missed. Of the running jobs only
    those on a host with too few slots are reported; their other faults are not the plan's.
    should_stop: called repeatedly; once it returns True, Unfinished is raised. In a plan without a
    fault each start later than its bound is tried on its hosts at earlier instants with all other
    jobs fixed, and partly modelled jobs are tried in place of proved ones. Raises ValueError for a
    window text that cannot be read.
    """
    if fractional := list(claims.whole_times(plan)):
        return fractional
    instance = with_loaded_modules(instance)
    instance = without_windows(instance) if as_lsf else instance

    def facts_of(other: Plan, judged: Instance = instance) -> Facts:
        return Facts.of(judged, other, as_lsf=as_lsf, split=split, should_stop=should_stop)

    def allowed(other: Plan, moved: str) -> bool:
        facts = facts_of(other)
        (holding,) = (item for item in facts.planned if item.job.id == moved)
        if any(may_be_closed(facts, holding, host) for host in holding.allocation):
            return False
        return not any(True for check in _RULES for _ in check(facts))

    def of_few(other: Plan) -> Iterator[Violation]:
        facts = facts_of(other, as_in_a_cycle(instance, other))
        for check in _OF_SLURM:
            yield from check(facts)

    def over_limit(other: Plan) -> bool:
        return any(True for _ in capacity.limits(facts_of(other, as_in_a_cycle(instance, other))))

    with no_collection():
        if plan.method == "slurm":
            own = facts_of(plan)
            found = [*claims.entries(own), *claims.value(own), *claims.status(own)]
            return [*found, *slurm_faults(instance, plan, of_few, over_limit)]
        facts = facts_of(plan)
        found = [violation for check in (*_RULES, *_CLAIMS) for violation in check(facts)]
        if found:
            return found
        return [*claims.false_bounds(facts, allowed), *claims.hanging_proofs(facts, allowed)]


def validate_schedule(instance: Instance, simulation: schedule.Schedule) -> list[Violation]:
    """Return every rule that a simulation breaks; if none, jobs that wait but could start.

    instance: the simulated one. External changes are not known here: a simulation with changed
    hosts or jobs cannot be validated by its instance. Waiting jobs are checked if nothing is
    reserved, or if the log was kept.
    """
    instance = with_loaded_modules(instance)
    others = [check for check in _RULES if check is not capacity.running]

    def allowed(facts: Facts) -> bool:
        return not any(True for check in others for _ in check(facts))

    with no_collection():
        found = list(schedule.broken(instance, simulation))
        found += order.out_of_order(instance, simulation)
        return found or list(idle.left_waiting(instance, simulation, allowed))
