"""Why a host is not chosen, in words (issue 3)."""

from __future__ import annotations

import numpy as np

from .evaluate import Local, compare_text, named, needs_local_type, open_to, truth, value
from .printer import in_own_unit, print_expression
from .syntax import Expression, operands
from .table import HostTable


def reasons(
    expression: Expression | None, table: HostTable, host: int, local: Local, unit: str = "MB"
) -> list[str]:
    """Every condition of a selection that the host at position `host` fails; [] if it is chosen.

    unit: LSF_UNIT_FOR_LIMITS, in which mem and swp are given.
    """
    found = [
        f"{print_expression(part, unit)} is false{_facts(part, table, host, unit)}"
        for part in (operands(expression, "&&") if expression is not None else ())
        if not _holds(part, table, host, local)
    ]
    if not open_to(expression, table)[host]:
        names = ", ".join(sorted(table.cluster.hosts[host].exclusive))
        found.append(f"it takes only jobs that name {names}")
    home = compare_text(table, "type", "==", "local", local)
    if needs_local_type(expression, table, local) and not home[host]:
        own = table.cluster.hosts[host].type
        found.append(f"its type is {own}, that of the submission host {local.type}")
    return found


def _holds(part: Expression, table: HostTable, host: int, local: Local) -> bool:
    with np.errstate(all="ignore"):
        result = truth(value(part, table, local))
    return bool(result if result.ndim == 0 else result[host])


def _facts(part: Expression, table: HostTable, host: int, unit: str) -> str:
    facts = []
    for name in dict.fromkeys(named(part, table)):
        kind = table.vocabulary.kind(name)
        if kind is None:  # a product, such as LSF_Base
            continue
        if kind == "string":
            column = table.text(name)
            code = int(column.code[host])
            facts.append(f"{name} is {column.values[code]}" if code >= 0 else f"it has no {name}")
            continue
        number = float(table.number(name)[host])
        if kind == "boolean":
            facts.append(f"it has {name}" if number else f"it has no {name}")
        elif np.isnan(number):
            facts.append(f"it has no {name}")
        else:
            facts.append(f"{name} is {in_own_unit(name, number, unit)}")
    return f": {', '.join(facts)}" if facts else ""
