"""Which hosts a selection chooses, over all hosts at once (REQ-02 … REQ-07)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .errors import ResreqError
from .selection import plain
from .syntax import Binary, Defined, Expression, Name, Number, String, Unary
from .table import BoolArray, FloatArray, HostTable

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


@dataclass(frozen=True, slots=True)
class Local:
    """The submission host, as ``type==local`` and ``model==local`` mean it.

    A value of None is not known: then a comparison with ``local`` keeps every host.
    default: apply LSF's default ``type==local`` where a selection names no string or Boolean
    resource (REQ-04: bsub, lsrun, lsplace); False is the default of lsload and lshosts, type==any.
    """

    type: str | None = None
    model: str | None = None
    default: bool = True

    def value(self, resource: str) -> str | None:
        """The submission host's type or model."""
        return self.type if resource == "type" else self.model


def select_mask(
    expression: Expression | None,
    table: HostTable,
    *,
    local_type: str | None = None,
    local_model: str | None = None,
    default_type: bool = True,
) -> BoolArray:
    """Hosts that a selection chooses, shape (hosts,); None chooses by the defaults alone.

    A host with exclusive resources is chosen only if the selection names one of them (REQ-05). A
    comparison with a resource that a host lacks is false there. The default type is that of the
    submission host, see :class:`Local`. Raises ResreqError for a name that no host or definition
    knows, and for arithmetic with strings.
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
    """Hosts whose exclusive resources, if they have any, the selection names (REQ-05)."""
    mask = np.ones(len(table), dtype=bool)
    if table.exclusive:
        asked = frozenset(named(expression, table))
        for names, hosts in table.exclusive:
            if not names & asked:
                mask &= ~hosts
    return mask


def needs_local_type(expression: Expression | None, table: HostTable, local: Local) -> bool:
    """Whether the default ``type==local`` applies and the type of the submission host is known."""
    if not local.default or local.type is None:
        return False
    kinds = {table.vocabulary.kind(name) for name in named(expression, table)}
    return not kinds & {"string", "boolean"}


def named(expression: Expression | None, table: HostTable) -> Iterator[str]:
    """Resources that a selection names; words that are values of string resources are none."""
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
    """Non-zero is true; what a missing resource makes undefined is false."""
    result: BoolArray = (values != 0) & ~np.isnan(values)
    return result


def value(part: Expression, table: HostTable, local: Local) -> FloatArray:
    """The value of an expression on every host, shape (hosts,) or () for a constant."""
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
            return _divided(value(left, table, local), value(right, table, local))
        case Binary(sign, left, right):
            return _SIGNS[sign](value(left, table, local), value(right, table, local))
        case String(text):
            raise ResreqError(f"'{text}' can only be compared with a string resource")


def whole(part: Expression) -> bool:
    """Whether an expression holds integer literals only, so that it divides as C's integers do."""
    match part:
        case Number():
            return part.whole
        case Unary("-", operand):
            return whole(operand)
        case Binary(sign, left, right) if sign in _SIGNS:
            return whole(left) and whole(right)
    return False


def _divided(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.where(right == 0, np.nan, np.trunc(left / right))


def _word(resource: str, part: Expression) -> str:
    match part:
        case String(text) | Name(text):
            return text
        case Number(number, text):
            return text or plain(number)
    raise ResreqError(f"{resource} is a string: compare it with a word or a quoted string")


def compare_text(table: HostTable, resource: str, sign: str, word: str, local: Local) -> BoolArray:
    """A comparison with a string resource; any fits every value, whatever the operator."""
    column = table.text(resource)
    has: BoolArray = column.code >= 0
    if resource in ("type", "model") and word in ("any", "local"):
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
    if kind is None:  # a product name that no host carries
        return np.zeros(len(table))
    if kind == "string":
        return (table.text(resource).code >= 0).astype(np.float64)
    if kind == "boolean":
        return table.number(resource)
    return (~np.isnan(table.number(resource))).astype(np.float64)
