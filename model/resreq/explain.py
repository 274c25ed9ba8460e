"""Why a host is not chosen, and which conditions leave which hosts, in words."""

from __future__ import annotations

import numpy as np

from .evaluate import Local, compare_text, named, needs_local_type, open_to, truth, value
from .printer import in_own_unit, print_expression
from .syntax import Binary, Expression, Name, operands
from .table import BoolArray, HostTable


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


def narrowing(
    expression: Expression | None, table: HostTable, local: Local, unit: str = "MB"
) -> list[str]:
    """Every condition of a selection that some host fails, on how many it holds and where not.

    ``mem>500000 holds on 0 of 4 hosts (most: 256000 on h1)``. unit: as for :func:`reasons`.
    """
    found = [
        f"{print_expression(part, unit)} holds on {int(holds.sum())} of {len(table)} hosts"
        f"{_where(part, table, holds, unit)}"
        for part in (operands(expression, "&&") if expression is not None else ())
        if not (holds := _holding(part, table, local)).all()
    ]
    if not (named_by := open_to(expression, table)).all():
        found.append(f"{_some(table, ~named_by)}: only jobs that name their exclusive resources")
    home = compare_text(table, "type", "==", "local", local)
    if needs_local_type(expression, table, local) and not home.all():
        count = f"{int(home.sum())} of {len(table)} hosts"
        found.append(f"{count} are of type {local.type}, that of the submission host")
    return found


#: Hosts, and values of a resource, that are named.
_NAMED = 3


def _some(table: HostTable, mask: BoolArray) -> str:
    """The first names of the hosts of a mask, and how many more there are."""
    names = [host.name for host, own in zip(table.cluster.hosts, mask, strict=True) if own]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _where(part: Expression, table: HostTable, holds: BoolArray, unit: str) -> str:
    """In brackets the hosts that fail, or of a condition that all fail what they have instead."""
    if holds.any():
        return f" (not on {_some(table, ~holds)})"
    facts = []
    for name in dict.fromkeys(named(part, table)):
        kind = table.vocabulary.kind(name)
        if kind == "string":
            values = table.text(name).values
            shown = [*values[:_NAMED], *(["…"] if len(values) > _NAMED else [])]
            facts.append(f"{name} here: {', '.join(shown)}" if values else f"no host has {name}")
        elif kind is not None:
            facts.append(_range(part, name, table, unit, boolean=kind == "boolean"))
    known = [fact for fact in facts if fact]
    return f" ({', '.join(known)})" if known else ""


def _range(part: Expression, name: str, table: HostTable, unit: str, *, boolean: bool) -> str:
    """The best that a host has of a number: the most of it, or the least where less is asked."""
    numbers = table.number(name)
    if boolean:
        return "" if numbers.any() else f"no host has {name}"
    if np.isnan(numbers).all():
        return f"no host has {name}"
    little = isinstance(part, Binary) and part.operator in ("<", "<=")
    best = int(np.nanargmin(numbers) if little else np.nanargmax(numbers))
    amount = in_own_unit(name, float(numbers[best]), unit)
    word = "least" if little else "most"
    of = "" if isinstance(part, Binary) and part.left == Name(name) else f" {name}"
    return f"{word}{of}: {amount} on {table.cluster.hosts[best].name}"


def _holding(part: Expression, table: HostTable, local: Local) -> BoolArray:
    """Hosts on which a condition holds, [hosts]."""
    with np.errstate(all="ignore"):
        result = truth(value(part, table, local))
    return np.broadcast_to(result, (len(table),))


def _holds(part: Expression, table: HostTable, host: int, local: Local) -> bool:
    return bool(_holding(part, table, local)[host])


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
