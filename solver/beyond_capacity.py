"""Why a job does not fit even where nothing runs: what it asks, and the most that there is."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.cluster import BUILTIN_AMOUNTS
from ..model.gpu_request import PHYSICAL
from ..model.pending import Pending
from .availability.demand import Demand, TermDemand
from .availability.profile import SLACK, uses_and_min_free
from .availability.resources import SLOTS, Per
from .problem import PlanningProblem

#: Megabytes in each unit of LSF_UNIT_FOR_LIMITS.
_MEGABYTES = {"KB": 1 / 1024, "MB": 1, "GB": 1024, "TB": 1024**2, "PB": 1024**3, "EB": 1024**4}


def beyond_capacity(problem: PlanningProblem, demand: Demand) -> str:
    """``asks 2148 GB of mem on a host, the largest has 256 GB``; "" where no one amount says it."""
    for term in demand.terms:
        if len(term.alternatives) == 1 and term.candidates.size:
            found = [*_of_hosts(problem, demand, term), *_of_blocks(problem, demand, term)]
            if found:
                return "; ".join(found)
    return ""


def _slots_together(term: TermDemand) -> int:
    """The slots that some host has to give at least."""
    if term.one_host:
        return term.slots
    if term.ptile is not None:
        return min(int(term.ptile[term.candidates].max()), term.slots)
    return min(term.block, term.slots) if term.block > 1 else 1


def _of_hosts(problem: PlanningProblem, demand: Demand, term: TermDemand) -> Iterator[str]:
    """Memory, GPUs and the like, of which no candidate host has enough."""
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
            told = resource.name in BUILTIN_AMOUNTS and unit != "MB"
            yield (
                f"asks {_with_name(problem, resource.name, held * times)} on a host{each}, "
                f"the largest has {_amount(problem, resource.name, most)}"
                + (f" (this cluster counts in {unit})" if told else "")
            )
            break


def _of_blocks(problem: PlanningProblem, demand: Demand, term: TermDemand) -> Iterator[str]:
    """Slots on one host, of which no candidate has so many."""
    together = _slots_together(term)
    free = problem.empty.min_free(SLOTS, [demand.earliest])[term.candidates]
    most = max(0, int(free.max()))
    if together > max(1, most):
        yield f"asks {together} slots on a host, the largest has {most}"


def _with_name(problem: PlanningProblem, name: str, amount: float) -> str:
    if name == PHYSICAL:
        return f"{amount:.10g} GPU{'' if amount == 1 else 's'}"
    return f"{_amount(problem, name, amount)} of {name}"


def _amount(problem: PlanningProblem, name: str, amount: float) -> str:
    """An amount in the unit in which requirements of this cluster have it."""
    number, unit = in_unit(problem, name, amount)
    return f"{number:.10g}{unit}"


def in_unit(problem: PlanningProblem, name: str, amount: float) -> tuple[float, str]:
    """An amount in the unit in which requirements of this cluster have it, and that unit."""
    if name not in BUILTIN_AMOUNTS:
        return amount, ""
    unit = problem.instance.params.unit_for_limits
    number = amount / _MEGABYTES.get(unit, 1)
    return float(f"{number:.6g}"), f" {unit if unit in _MEGABYTES else 'MB'}"
