"""The normal form of a requirement, which parses back to an equal tree (REQ-20)."""

from __future__ import annotations

from dataclasses import replace

from .selection import in_unit, plain
from .syntax import (
    Amount,
    Binary,
    Cu,
    Defined,
    Expression,
    Name,
    Number,
    Requirement,
    Rusage,
    Simple,
    Span,
    String,
    Unary,
    UsageString,
    operands,
)
from .vocabulary import SCALED, UNITS

_LEVELS = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 4,
    "<=": 4,
    ">": 4,
    ">=": 4,
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
}
_COMPARISONS = (3, 4)
_UNARY = 7


def print_requirement(requirement: Requirement, unit: str = "MB") -> str:
    """Return the normal form; "" for an empty requirement. Whole minutes are written in minutes.

    unit: LSF_UNIT_FOR_LIMITS, in which mem and swp are written.
    """
    if requirement.later:
        return _alternatives(requirement, unit)
    if isinstance(requirement, Simple):
        return _simple(requirement, unit)
    terms = []
    for term in requirement.terms:
        count = "" if term.count is None else f"{term.count}*"
        terms.append(f"{count}{{{_simple(term.requirement, unit)}}}")
    return " + ".join(terms)


def _alternatives(requirement: Requirement, unit: str) -> str:
    found = [f"{{{print_requirement(replace(requirement, later=()), unit)}}}"]
    for item in requirement.later:
        delay = "" if item.delay is None else f"@{item.delay}"
        found.append(f"{{{print_requirement(item.requirement, unit)}}}{delay}")
    return " || ".join(found)


def print_expression(expression: Expression, unit: str = "MB") -> str:
    """Return a selection as text, with only the parentheses that either syntax needs."""
    expression = in_unit(expression, UNITS[unit])
    match expression:
        # A name alone after a minus means "not", so the negated number gets parentheses.
        case Unary("-", Name(resource)):
            return f"(-{resource})"
    return _expression(expression, 0)


def _simple(simple: Simple, unit: str) -> str:
    parts = []
    if simple.select is not None:
        parts.append(f"select[{print_expression(simple.select, unit)}]")
    if simple.order:
        keys = (f"{'-' if key.reverse else ''}{key.resource}" for key in simple.order)
        parts.append(f"order[{':'.join(keys)}]")
    if simple.rusage is not None:
        parts.append(f"rusage[{print_rusage(simple.rusage, unit)}]")
    spans = [] if simple.span is None else [_span(simple.span)]
    if spans or simple.tiling:
        parts.append(f"span[{':'.join([*spans, simple.tiling] if simple.tiling else spans)}]")
    if simple.same:
        parts.append(f"same[{':'.join(simple.same)}]")
    if simple.cu is not None:
        parts.append(f"cu[{_cu(simple.cu)}]")
    if simple.affinity:
        parts.append(f"affinity[{simple.affinity}]")
    return " ".join(parts)


def _expression(part: Expression, level: int) -> str:
    match part:
        case Number(value, text):
            return text or plain(value)
        case String(value):
            quote = '"' if "'" in value else "'"
            return f"{quote}{value}{quote}"
        case Name(value):
            return value
        case Defined(resource):
            return f"defined({resource})"
        case Unary(sign, operand):
            nested = isinstance(operand, Unary)
            inner = _expression(operand, 0 if nested else _UNARY)
            text = f"{sign}({inner})" if nested else f"{sign}{inner}"
            return f"({text})" if level > _UNARY else text
        case Binary(sign, _, _):
            text, own = _binary(part), _LEVELS[sign]
            return f"({text})" if own < level else text


def _binary(part: Binary) -> str:
    sign, own = part.operator, _LEVELS[part.operator]
    if sign in ("&&", "||"):
        return f" {sign} ".join(_expression(item, own + 1) for item in operands(part, sign))
    if own in _COMPARISONS:
        # A comparison within a comparison needs parentheses: strict syntax has one level of them.
        return f"{_expression(part.left, 5)}{sign}{_expression(part.right, 5)}"
    return f"{_expression(part.left, own)}{sign}{_expression(part.right, own + 1)}"


def print_rusage(rusage: Rusage, unit: str = "MB") -> str:
    """Return the text inside rusage[]."""
    return "||".join(
        ",".join(_usage(usage, unit) for usage in strings) for strings in rusage.alternatives
    )


def _usage(usage: UsageString, unit: str) -> str:
    parts = [_amount(amount, unit) for amount in usage.amounts]
    phased = any(amount.phased for amount in usage.amounts)
    grouped = phased or len(usage.durations) > 1 or len(usage.decays) > 1
    for name, values in (
        ("duration", [_duration(value) for value in usage.durations]),
        ("decay", [plain(value) for value in usage.decays]),
    ):
        if values:
            text = " ".join(values)
            parts.append(f"{name}=({text})" if grouped else f"{name}={text}")
    return ":".join(parts)


def _amount(amount: Amount, unit: str) -> str:
    if not amount.values:
        return amount.resource
    text = " ".join(in_own_unit(amount.resource, value, unit) for value in amount.values)
    per = f"/{amount.per}" if amount.per else ""
    return f"{amount.resource}=({text}){per}" if amount.phased else f"{amount.resource}={text}{per}"


def in_own_unit(resource: str, value: float, unit: str) -> str:
    """Return an amount as text in the unit of LSF_UNIT_FOR_LIMITS; value: MB for mem and swp."""
    return plain(value / UNITS[unit] if resource in SCALED else value)


def _duration(seconds: int) -> str:
    return f"{seconds}s" if seconds % 60 else str(seconds // 60)


def _span(span: Span) -> str:
    if span.hosts is not None:
        return f"hosts={span.hosts}"
    if span.block is not None:
        return f"block={span.block}"
    default = "'!'" if span.ptile_max else str(span.ptile)
    return f"ptile={default}" + "".join(f",{name}:{count}" for name, count in span.ptile_by)


def _cu(cu: Cu) -> str:
    parts = [f"type={cu.type}"] if cu.type is not None else []
    if cu.pref != "config" or not (parts or cu.maxcus or cu.balance or cu.excl):
        parts.append(f"pref={cu.pref}")
    if cu.maxcus is not None:
        parts.append(f"maxcus={cu.maxcus}")
    if cu.usablecuslots is not None:
        parts.append(f"usablecuslots={cu.usablecuslots}")
    parts += ["balance"] * cu.balance + ["excl"] * cu.excl
    return ":".join(parts)
