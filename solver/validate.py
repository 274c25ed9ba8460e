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
from .validation import (
    capacity,
    claims,
    hosts,
    idle,
    order,
    schedule,
    shape,
    times,
)
from .validation.facts import Facts, Unfinished, Violation
from .validation.hosts import may_be_closed
from .validation.shape import split
from .validation.slurm import slurm_faults

__all__ = ["Unfinished", "Violation", "validate"]

#: What a schedule has to keep.
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
    capacity.amounts,
    capacity.shared,
    capacity.alone,
    capacity.kinds,
    capacity.enough,
    capacity.processor_units,
    capacity.limits,
    schedule.guarantees,
)
#: Of these, what a plan as Slurm makes it keeps job by job.
_OF_SLURM = tuple(
    check
    for check in _RULES
    if check
    not in (times.deadlines, times.dependencies, times.finishes, capacity.shared, capacity.limits)
)
#: What a plan says of itself.
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
    """Every rule that `plan` breaks, in the order of the checks; empty for a valid plan.

    as_lsf: leave out what LSF's own estimate ignores: dispatch and run windows and advance
    reservations (TBR-19). Where tardiness is minimised, -t may be
    missed. Of the running jobs it is told
    alone where they hold more slots than a host has; their other faults are not the plan's. stop:
    asked as the judge goes; once it says yes, Unfinished is raised. Of a plan without a fault each
    start that is later than its bound allows is tried on the same hosts at the instants before it,
    all other jobs where they are, and jobs of which not all is modelled in the place of those that
    are called proved. Raises ValueError for a window
    text that cannot be read.
    """
    if fractional := list(claims.whole_times(plan)):
        return fractional
    instance = with_loaded_modules(instance)

    def facts_of(other: Plan) -> Facts:
        return Facts.of(instance, other, as_lsf=as_lsf, split=split, should_stop=should_stop)

    def allowed(other: Plan, moved: str) -> bool:
        facts = facts_of(other)
        (holding,) = (item for item in facts.planned if item.job.id == moved)
        if any(may_be_closed(facts, holding, host) for host in holding.allocation):
            return False
        return not any(True for check in _RULES for _ in check(facts))

    def of_few(other: Plan) -> Iterator[Violation]:
        facts = facts_of(other)
        for check in _OF_SLURM:
            yield from check(facts)

    with no_collection():
        if plan.method == "slurm":
            own = facts_of(plan)
            found = [*claims.entries(own), *claims.value(own), *claims.status(own)]
            return [*found, *slurm_faults(instance, plan, of_few)]
        facts = facts_of(plan)
        found = [violation for check in (*_RULES, *_CLAIMS) for violation in check(facts)]
        if found:
            return found
        return [*claims.false_bounds(facts, allowed), *claims.hanging_proofs(facts, allowed)]


def validate_schedule(instance: Instance, simulation: schedule.Schedule) -> list[Violation]:
    """Every rule that a simulation breaks; of one that breaks none, jobs that could start and wait.

    instance: what was simulated. Of changes from outside nothing is known here: a simulation in
    which hosts or jobs were changed is not judged by its instance. Whether jobs could start is
    asked of a simulation that reserves nothing, or whose log was kept.
    """
    instance = with_loaded_modules(instance)
    others = [check for check in _RULES if check is not capacity.running]

    def allowed(facts: Facts) -> bool:
        return not any(True for check in others for _ in check(facts))

    with no_collection():
        found = list(schedule.broken(instance, simulation))
        found += order.out_of_order(instance, simulation)
        return found or list(idle.left_waiting(instance, simulation, allowed))
