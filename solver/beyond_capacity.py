"""Reason of a job that does not fit even without running jobs: its request, and the maximum."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.cluster import BUILTIN_AMOUNTS
from ..model.gpu_request import PHYSICAL
from ..model.pending import Pending
from ..model.resreq.vocabulary import UNITS
from .availability.demand import Demand, TermDemand
from .availability.profile import SLACK, uses_and_min_free
from .availability.resources import SLOTS, Per
from .problem import PlanningProblem


def beyond_capacity(problem: PlanningProblem, demand: Demand) -> str:
    """Return ``asks 2148 GB of mem on a host, the largest has 256 GB``; "" if no single amount
    is too large.
    """
    for term in demand.terms:
        if len(term.alternatives) == 1 and term.candidates.size:
            found = [*_of_hosts(problem, demand, term), *_of_blocks(problem, demand, term)]
            if found:
                return "; ".join(found)
    return ""


def _slots_together(term: TermDemand) -> int:
    """Return the minimum number of slots that a single host must provide."""
    if term.one_host:
        return term.slots
    if term.ptile is not None:
        return min(int(term.ptile[term.candidates].max()), term.slots)
    return min(term.block, term.slots) if term.block > 1 else 1


def _of_hosts(problem: PlanningProblem, demand: Demand, term: TermDemand) -> Iterator[str]:
    """Yield the memory, GPUs or similar of which no candidate host has enough."""
    together = _slots_together(term)
    for use in term.alternatives[0].host_uses[1:]:
        resource = problem.resolver.table.host_resources[use.index]
        if resource.short is not Pending.RUSAGE:
            continue
        for held, free in uses_and_min_free(problem.empty, use, [demand.earliest]):
            most = max(0.0, float(free[term.candidates].max()))
            times = together if use.per is Per.SLOT else 1
            if most + SLACK >= held * times:
                continue
            each = ""
            if times > 1:
                each = f" ({_amount(problem, resource.name, held)} for each of {times} slots)"
            unit = problem.instance.params.unit_for_limits
            is_named = resource.name in BUILTIN_AMOUNTS and unit != "MB"
            is_of_job = resource.name == PHYSICAL and "/job" in demand.job.gpu
            where, largest = (
                ("for the job", "largest host") if is_of_job else ("on a host", "largest")
            )
            yield (
                f"asks {_with_name(problem, resource.name, held * times)} {where}{each}, "
                f"the {largest} has {_amount(problem, resource.name, most)}"
                + (f" (this cluster counts in {unit})" if is_named else "")
            )
            break


def _of_blocks(problem: PlanningProblem, demand: Demand, term: TermDemand) -> Iterator[str]:
    """Yield the number of slots on one host that no candidate has."""
    together = _slots_together(term)
    free = problem.empty.min_free(SLOTS, [demand.earliest])[term.candidates]
    most = max(0, int(free.max()))
    if together > max(1, most):
        yield f"requests {together} slots on one host; the largest host has {most}"


def _with_name(problem: PlanningProblem, name: str, amount: float) -> str:
    if name == PHYSICAL:
        return f"{amount:.10g} GPU{'' if amount == 1 else 's'}"
    return f"{_amount(problem, name, amount)} of {name}"


def _amount(problem: PlanningProblem, name: str, amount: float) -> str:
    """Return an amount as text, in the unit of this cluster's requirements."""
    number, unit = in_unit(problem, name, amount)
    return f"{number:.10g}{unit}"


def in_unit(problem: PlanningProblem, name: str, amount: float) -> tuple[float, str]:
    """Return an amount in the unit of this cluster's requirements, and the unit."""
    if name not in BUILTIN_AMOUNTS:
        return amount, ""
    unit = problem.instance.params.unit_for_limits
    number = amount / UNITS.get(unit, 1)
    return float(f"{number:.6g}"), f" {unit if unit in UNITS else 'MB'}"
