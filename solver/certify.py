"""Every plan passes the judge before it is returned; one that does not loses its claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..model.instance import Instance
from ..model.plan import Plan
from .validate import Unfinished, validate

#: Maximum number of violations in a note.
SHOWN = 3
#: Note if the limit came before the validator was done.
NOT_JUDGED = (
    "not validated: the limit was reached before all rules were checked, so nothing is proved"
)


def certified(
    instance: Instance,
    plan: Plan,
    *,
    as_lsf: bool = False,
    should_stop: Callable[[], bool] = lambda: False,
) -> Plan:
    """Return the plan unchanged if it is valid, else without bounds, proofs and a status.

    as_lsf: validate without windows and advance reservations (TBR-19). The violations are given in
    a note that requests a bug report, and the plan is `refused`: the validator or the method is
    wrong. should_stop: called repeatedly; once it returns True, the validator stops, and nothing is
    proved.
    """
    try:
        faults = validate(instance, plan, as_lsf=as_lsf, should_stop=should_stop)
    except Unfinished:
        return _without_claims(plan, NOT_JUDGED)
    if not faults:
        return plan
    shown = "; ".join(map(str, faults[:SHOWN]))
    more = f" and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    note = (
        f"a bug in Slotwise, please report it with this instance: the validator rejects the "
        f"plan of {plan.method}, so nothing in it is proved: {shown}{more}"
    )
    return replace(_without_claims(plan, note), refused=True)


def holds(instance: Instance, plan: Plan, *, as_lsf: bool) -> bool:
    """Return whether a plan has no violations."""
    return not validate(instance, plan, as_lsf=as_lsf)


def _without_claims(plan: Plan, note: str) -> Plan:
    return replace(
        plan,
        status="heuristic",
        bound=None,
        reservations=tuple(item.unproved() for item in plan),
        notes=(*plan.notes, note),
    )
