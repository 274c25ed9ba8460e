"""Evaluation of selections and orders over all hosts as arrays (REQ-02 … REQ-07)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..display import some
from .errors import ResreqError
from .printer import in_own_unit, print_expression
from .selection import plain
from .syntax import Binary, Defined, Expression, Name, Number, OrderKey, String, Unary, operands
from .vocabulary import BoolArray, FloatArray, HostTable, IntArray

_SIGNS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_COMPARE: dict[str, Callable[[FloatArray, FloatArray], BoolArray]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_COMPARE_TEXT: dict[str, Callable[[str, str], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


#: Resources that ``local`` compares with the submission host.
LIKE_HOME = ("type", "model")


class Local(NamedTuple):
    """The submission host in ``type==local`` and ``model==local``.

    A value of None is unknown: then a comparison with ``local`` keeps every host.
    """

    #: Host type of the submission host, None if unknown.
    type: str | None = None
    #: Host model of the submission host, None if unknown.
    model: str | None = None
    #: Whether LSF's default ``type==local`` applies to a selection that names no string or Boolean
    #: resource (REQ-04: bsub, lsrun, lsplace). False is the default of lsload and lshosts:
    #: type==any.
    default: bool = True

    def value(self, resource: str) -> str | None:
        """Return the submission host's type or model."""
        return self.type if resource == "type" else self.model


def select_mask(
    expression: Expression | None,
    table: HostTable,
    *,
    local_type: str | None = None,
    local_model: str | None = None,
    default_type: bool = True,
) -> BoolArray:
    """Return the hosts that a selection chooses, shape (hosts,); None: chosen by the defaults only.

    A host with exclusive resources is chosen only if the selection names one of them (REQ-05). A
    comparison with a resource that a host lacks is false there. The default type is that of the
    submission host, see :class:`Local`. Raises ResreqError for an unknown name, and for arithmetic
    with strings.
    """
    local = Local(local_type, local_model, default_type)
    mask = np.ones(len(table), dtype=bool)
    if expression is not None:
        with np.errstate(all="ignore"):
            mask &= truth(value(expression, table, local))
    mask &= open_to(expression, table)
    if needs_local_type(expression, table, local):
        mask &= compare_text(table, "type", "==", "local", local)
    return mask


def open_to(expression: Expression | None, table: HostTable) -> BoolArray:
    """Return the hosts that have no exclusive resources or of which the selection names one
    (REQ-05).
    """
    mask = np.ones(len(table), dtype=bool)
    if table.exclusive:
        asked = frozenset(named(expression, table))
        for names, hosts in table.exclusive:
            if not names & asked:
                mask &= ~hosts
    return mask


def needs_local_type(expression: Expression | None, table: HostTable, local: Local) -> bool:
    """Return whether ``type==local`` applies by default and the type of the submission host is
    known.
    """
    return local.type is not None and _defaults_to_local(expression, table, local)


def unsure_of_local(expression: Expression | None, table: HostTable, local: Local) -> bool:
    """Return whether a selection depends on unknown values of the submission host.

    If all hosts have one type, or model, the submission host is assumed to have it.
    """
    several = {name: len(table.text(name).values) > 1 for name in LIKE_HOME}
    if local.type is None and several["type"] and _defaults_to_local(expression, table, local):
        return True
    return any(
        local.value(name) is None and (several[name] or sign != "==")
        for name, sign in _asks_for_local(expression)
    )


def _asks_for_local(part: Expression | None) -> Iterator[tuple[str, str]]:
    """Yield resource and operator of each comparison of type and model with ``local``."""
    match part:
        case Binary(sign, Name(name), String("local") | Name("local")) if name in LIKE_HOME:
            yield name, sign
        case Unary(sign, operand):
            # A negation selects the other hosts, so the operator is inverted.
            found = _asks_for_local(operand)
            yield from ((name, "!=") for name, _ in found) if sign == "!" else found
        case Binary(_, left, right):
            yield from _asks_for_local(left)
            yield from _asks_for_local(right)


def _defaults_to_local(expression: Expression | None, table: HostTable, local: Local) -> bool:
    """Return whether LSF's default ``type==local`` applies to a selection (REQ-04)."""
    if not local.default:
        return False
    kinds = {table.vocabulary.kind(name) for name in named(expression, table)}
    return not kinds & {"string", "boolean"}


def named(expression: Expression | None, table: HostTable) -> Iterator[str]:
    """Yield the resources that a selection names, without words that are values of string
    resources.
    """
    match expression:
        case Name(name) | Defined(name):
            yield name
        case Unary(_, operand):
            yield from named(operand, table)
        case Binary(sign, Name(name), right) if sign in _COMPARE:
            yield name
            if table.kind(name) != "string":
                yield from named(right, table)
        case Binary(_, left, right):
            yield from named(left, table)
            yield from named(right, table)


def truth(values: FloatArray) -> BoolArray:
    """Return where values are true: not zero, and not undefined because a resource is missing."""
    result: BoolArray = (values != 0) & ~np.isnan(values)
    return result


def value(part: Expression, table: HostTable, local: Local) -> FloatArray:
    """Return the value of an expression on every host, shape (hosts,) or () for a constant."""
    match part:
        case Number(number):
            return np.asarray(number)
        case Name(name):
            return table.number(name)
        case Defined(resource):
            return _defined(resource, table)
        case Unary("!", operand):
            return (~truth(value(operand, table, local))).astype(np.float64)
        case Unary(_, operand):
            return -value(operand, table, local)
        case Binary("&&", left, right):
            both = truth(value(left, table, local)) & truth(value(right, table, local))
            return both.astype(np.float64)
        case Binary("||", left, right):
            either = truth(value(left, table, local)) | truth(value(right, table, local))
            return either.astype(np.float64)
        case Binary(sign, Name(name), right) if sign in _COMPARE and table.kind(name) == "string":
            return compare_text(table, name, sign, _word(name, right), local).astype(np.float64)
        case Binary(sign, left, right) if sign in _COMPARE:
            first, second = value(left, table, local), value(right, table, local)
            holds = _COMPARE[sign](first, second) & ~np.isnan(first) & ~np.isnan(second)
            return holds.astype(np.float64)
        case Binary("/", left, right) if whole(left) and whole(right):
            dividend, divisor = value(left, table, local), value(right, table, local)
            return np.where(divisor == 0, np.nan, np.trunc(dividend / divisor))
        case Binary(sign, left, right):
            return _SIGNS[sign](value(left, table, local), value(right, table, local))
        case String(text):
            raise ResreqError(f"the string '{text}' must be compared with a string resource")


def whole(part: Expression) -> bool:
    """Return whether all literals of an expression are integers, so that it divides as C's
    integers do.
    """
    match part:
        case Number():
            return part.whole
        case Unary("-", operand):
            return whole(operand)
        case Binary(sign, left, right) if sign in _SIGNS:
            return whole(left) and whole(right)
    return False


def _word(resource: str, part: Expression) -> str:
    match part:
        case String(text) | Name(text):
            return text
        case Number(number, text):
            return text or plain(number)
    raise ResreqError(f"{resource} must be compared with a word or a quoted string")


def compare_text(table: HostTable, resource: str, sign: str, word: str, local: Local) -> BoolArray:
    """Return where a comparison with a string resource holds; any matches every value."""
    column = table.text(resource)
    has: BoolArray = column.code >= 0
    if resource in LIKE_HOME and word in ("any", "local"):
        known = local.value(resource) if word == "local" else None
        if known is None:
            return has
        word = known
    if sign in ("==", "!="):
        equal: BoolArray = column.code == column.place.get(word, -2)
        return equal if sign == "==" else has & ~equal
    compare = _COMPARE_TEXT[sign]
    fits = np.array([compare(own, word) for own in column.values] + [False], dtype=bool)
    return fits[column.code]


def _defined(resource: str, table: HostTable) -> FloatArray:
    kind = table.vocabulary.kind(resource)
    if kind is None:  # A product name in defined() that no host has.
        return np.zeros(len(table))
    if kind == "string":
        return (table.text(resource).code >= 0).astype(np.float64)
    if kind == "boolean":
        return table.number(resource)
    return (~np.isnan(table.number(resource))).astype(np.float64)


#: LSF's default order.
DEFAULT_ORDER = (OrderKey("r15s"), OrderKey("pg"))
#: Run queue lengths, which are compared after normalisation by the CPU factor: (length + 1) /
#: factor.
NORMALISED = frozenset({"r15s", "r1m", "r15m"})


def order_hosts(
    keys: Sequence[OrderKey] | None,
    table: HostTable,
    mask: BoolArray | None = None,
    *,
    last_first: bool = False,
) -> IntArray:
    """Return positions of the chosen hosts, best first (REQ-10).

    Hosts are sorted by the rightmost key first and the leftmost last, each time from best to worst:
    less is better for an index that grows with load, more is better otherwise; `reverse` inverts
    this. Equal hosts stay in configuration order, hosts without the resource come after all that
    have it, and hosts that are not ok come last. mask: the hosts to order, all if None. last_first:
    equal hosts come from the last configured to the first, as in LSF's open family. Raises
    ResreqError for a key that is not numeric.
    """
    columns = [_column(key, table) for key in reversed(tuple(keys) if keys else DEFAULT_ORDER)]
    chosen = np.arange(len(table)) if mask is None else np.flatnonzero(mask)
    chosen = chosen[::-1] if last_first else chosen
    by = [column[chosen] for column in columns]
    by.append((~table.ok[chosen]).astype(np.float64))
    order: IntArray = chosen[np.lexsort(by)]
    return order


def _column(key: OrderKey, table: HostTable) -> FloatArray:
    if table.kind(key.resource) != "numeric":
        raise ResreqError(f"order[] must name numeric resources, not {key.resource}")
    column = table.number(key.resource)
    if key.resource in NORMALISED:
        column = (column + 1) / table.number("cpuf")
    ascending = table.vocabulary.rises(key.resource) != key.reverse
    return column if ascending else -column


def same_classes(
    names: Sequence[str], table: HostTable, mask: BoolArray | None = None
) -> list[IntArray]:
    """Return groupings of hosts for a same section, shape (hosts,) each: class per host, -1 for
    none.

    A job must lie inside one class of one grouping (PLC-04). If every host in `mask` has every
    resource, there is one grouping: equal in all. If hosts lack some, agreement in any one
    suffices: the groupings are then "equal in all" and "equal in this one" for each resource.
    """
    candidates = np.ones(len(table), dtype=bool) if mask is None else mask
    columns = [_codes(name, table) for name in names]
    groupings = [columns]
    if len(columns) > 1 and any((column[candidates] < 0).any() for column in columns):
        groupings += [[column] for column in columns]
    return [_labels(chosen) for chosen in groupings]


def _codes(name: str, table: HostTable) -> IntArray:
    if table.kind(name) == "string":
        return table.text(name).code
    column = table.number(name)
    code = np.full(len(table), -1, dtype=np.int64)
    has = ~np.isnan(column)
    code[has] = np.unique(column[has], return_inverse=True)[1]
    return code


def _labels(columns: Sequence[IntArray]) -> IntArray:
    stacked = np.stack(columns, axis=1)
    whole = (stacked >= 0).all(axis=1)
    labels = np.full(len(stacked), -1, dtype=np.int64)
    if whole.any():
        labels[whole] = np.unique(stacked[whole], axis=0, return_inverse=True)[1].ravel()
    return labels


def reasons(
    expression: Expression | None, table: HostTable, host: int, local: Local, unit: str = "MB"
) -> list[str]:
    """Return every condition of a selection that the host at index `host` fails; [] if it is
    chosen.

    unit: LSF_UNIT_FOR_LIMITS, the unit of mem and swp.
    """
    found = [
        f"{print_expression(part, unit)} is false{_facts(part, table, host, unit)}"
        for part in (operands(expression, "&&") if expression is not None else ())
        if not _holding(part, table, local)[host]
    ]
    if not open_to(expression, table)[host]:
        names = ", ".join(sorted(table.cluster.hosts[host].exclusive))
        found.append(f"it accepts only jobs that name {names}")
    home = compare_text(table, "type", "==", "local", local)
    if needs_local_type(expression, table, local) and not home[host]:
        own = table.cluster.hosts[host].type
        found.append(f"its type is {own}, that of the submission host {local.type}")
    return found


def narrowing(
    expression: Expression | None, table: HostTable, local: Local, unit: str = "MB"
) -> list[str]:
    """Return each condition of a selection that some host fails, with the number of hosts that meet
    it.

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


#: Maximum number of hosts, and of values of a resource, that a sentence names.
_NAMED = 3


def _some(table: HostTable, mask: BoolArray) -> str:
    """Return the first host names of a mask, and the number of the rest."""
    hosts = zip(table.cluster.hosts, mask, strict=True)
    return some((host.name for host, own in hosts if own), _NAMED)


def _where(part: Expression, table: HostTable, holds: BoolArray, unit: str) -> str:
    """Return the failing hosts in brackets; if all fail, the values that they have."""
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
    """Return the best value of a number on any host: the largest, or the smallest if less is
    required.
    """
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
    """Return the hosts on which a condition holds, [hosts]."""
    with np.errstate(all="ignore"):
        result = truth(value(part, table, local))
    return np.broadcast_to(result, (len(table),))


def _facts(part: Expression, table: HostTable, host: int, unit: str) -> str:
    facts = []
    for name in dict.fromkeys(named(part, table)):
        kind = table.vocabulary.kind(name)
        if kind is None:  # A product such as LSF_Base.
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
