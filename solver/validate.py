"""The judge: does a plan keep every rule of its instance?

Written from the rules alone and apart from everything that makes plans: it shares the model with
the rest of the solver and nothing else. Slow and literal on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..model.collection import no_collection
from ..model.instance import Instance
from ..model.modules import with_loaded_modules
from ..model.plan import Plan
from .validation import accepting, capacity, claims, hosts, limits, partitions, shape, times, units
from .validation.facts import Facts, Unfinished
from .validation.split import split
from .validation.violation import Violation

__all__ = ["Unfinished", "Violation", "validate"]

_CHECKS: tuple[Callable[[Facts], Iterator[Violation]], ...] = (
    claims.entries,
    claims.allocations,
    times.starts,
    times.finishes,
    times.dispatch_windows,
    times.run_windows,
    shape.split_terms,
    shape.slot_count,
    shape.span_one_host,
    shape.span_ptile,
    shape.span_block,
    shape.same,
    shape.cu_membership,
    shape.cu_maxcus,
    shape.cu_usable_slots,
    shape.cu_balance,
    units.cu_fewest,
    shape.cu_exclusive_allowed,
    shape.host_exclusive_allowed,
    shape.resizable,
    hosts.candidates,
    hosts.first_execution_host,
    partitions.one_partition,
    accepting.accept_interval,
    capacity.running,
    capacity.slots,
    capacity.amounts,
    capacity.shared,
    capacity.alone,
    limits.limits,
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
    stop: Callable[[], bool] = lambda: False,
) -> list[Violation]:
    """Every rule that `plan` breaks, in the order of the checks; empty for a valid plan.

    as_lsf: leave out what LSF's own estimate ignores: dispatch and run windows and advance
    reservations (TBR-19). Deadlines are soft and never a violation. Of the running jobs it is told
    alone where they hold more slots than a host has; their other faults are not the plan's. stop:
    asked as the judge goes; once it says yes, Unfinished is raised. Raises ValueError for a window
    text that cannot be read.
    """
    with no_collection():
        facts = Facts.of(with_loaded_modules(instance), plan, as_lsf=as_lsf, split=split, stop=stop)
        return [violation for check in _CHECKS for violation in check(facts)]
