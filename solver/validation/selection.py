"""Select sections, evaluated for one host directly from the syntax tree (REQ-02 … REQ-07).

A resource that a host lacks makes every comparison and every sum with it false.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...model.cluster import (
    INCREASING_INDICES,
    Cluster,
    Host,
)
from ...model.resreq.syntax import (
    Binary,
    Defined,
    Expression,
    Name,
    Number,
    String,
    Unary,
)

Value = float | str | None

_ALIASES = {"swap": "swp", "idle": "it", "login": "ls", "cpu": "r1m"}
#: Values of a host that reports nothing: idle, one disk.
_UNREPORTED = {**dict.fromkeys((*INCREASING_INDICES, "rexpri"), 0.0), "ndisks": 1.0}
_MAXIMA = {"maxmem": "mem", "maxswp": "swp", "maxtmp": "tmp"}
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
_COMPARE_TEXT: dict[str, Callable[[str, str], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Names:
    """Which of the cluster's resource names are strings and which are Booleans."""

    strings: frozenset[str]
    booleans: frozenset[str]

    @classmethod
    def of(cls, cluster: Cluster) -> Names:
        """Return the names from the definitions and from the hosts."""
        strings = {"type", "model", "hname", "status"}
        booleans = {"server"}
        for definition in cluster.resources:
            if definition.kind == "string":
                strings.add(definition.name)
            elif definition.kind == "boolean":
                booleans.add(definition.name)
        for host in cluster.hosts:
            strings.update(host.strings)
            booleans.update(host.booleans, host.exclusive)
        return cls(frozenset(strings), frozenset(booleans))


@dataclass(frozen=True, slots=True)
class HostView:
    """One host as a select section sees it."""

    host: Host
    cluster: Cluster
    names: Names
    #: Whether ncpus means slots (PARALLEL_SCHED_BY_SLOT, REQ-19).
    by_slot: bool = False
    #: The submission host, None if unknown.
    home: Host | None = None

    def text(self, name: str) -> str | None:
        """Return the value of a string resource."""
        own = {
            "type": self.host.type,
            "model": self.host.model,
            "hname": self.host.name,
            "status": self.host.status,
        }
        return own.get(name, self.host.strings.get(name))

    def number(self, name: str) -> float | None:
        """Return a number or a Boolean (1 or 0); None if the host lacks the resource."""
        name = _ALIASES.get(name, name)
        host = self.host
        if name in self.names.booleans:
            return float(name == "server" or name in host.booleans or name in host.exclusive)
        if name == "ncpus":
            return float(host.slots if self.by_slot else host.processors)
        if name in ("slots", "maxslots"):
            return float(host.slots)
        if name == "cpuf":
            return host.cpu_factor
        for shared in self.cluster.shared:
            if shared.name == name and (shared.hosts is None or host.name in shared.hosts):
                return shared.amount
        if name in _MAXIMA:
            return host.amounts.get(name, host.amounts.get(_MAXIMA[name]))
        if name in host.amounts:
            return host.amounts[name]
        return host.load.get(name, _UNREPORTED.get(name))


def satisfies(expression: Expression | None, view: HostView, *, default: bool = True) -> bool:
    """Return whether the host meets the select section, or ``type==local`` by default (REQ-04).

    default: whether there is one. It applies if the section names no string and no Boolean; like
    ``local`` it has no effect if the submission host is unknown.
    """
    chosen = expression is None or _true(_value(expression, view))
    kinds = view.names.strings | view.names.booleans
    if not default or view.home is None or kinds & {*named(expression, view.names)}:
        return chosen
    return chosen and view.host.type == view.home.type


def _true(value: Value) -> bool:
    return bool(value)


def _value(expression: Expression, view: HostView) -> Value:
    match expression:
        case Number(value):
            return value
        case String(value):
            return value
        case Name(name):
            return view.text(name) if name in view.names.strings else view.number(name)
        case Defined(resource):
            return float(_defined(resource, view))
        case Unary("!", operand):
            return float(not _true(_value(operand, view)))
        case Unary(_, operand):
            number = _value(operand, view)
            return None if number is None or isinstance(number, str) else -number
        case Binary("&&", left, right):
            return float(_true(_value(left, view)) and _true(_value(right, view)))
        case Binary("||", left, right):
            return float(_true(_value(left, view)) or _true(_value(right, view)))
        case Binary(sign, left, right) if sign in _COMPARE:
            return float(_compare(sign, left, right, view))
        case Binary("/", left, right) if _whole(left) and _whole(right):
            quotient = _arithmetic("/", _value(left, view), _value(right, view))
            return (
                float(int(quotient)) if quotient is not None and math.isfinite(quotient) else None
            )
        case Binary(sign, left, right):
            return _arithmetic(sign, _value(left, view), _value(right, view))


def _whole(expression: Expression) -> bool:
    """Return whether all literals are integers, so that division is C's integer division."""
    match expression:
        case Number():
            return expression.whole
        case Unary("-", operand):
            return _whole(operand)
        case Binary("+" | "-" | "*" | "/", left, right):
            return _whole(left) and _whole(right)
    return False


def _arithmetic(sign: str, left: Value, right: Value) -> float | None:
    if left is None or right is None or isinstance(left, str) or isinstance(right, str):
        return None
    result = _divide(left, right) if sign == "/" else _ARITHMETIC[sign](left, right)
    return None if math.isnan(result) else result


def _divide(left: float, right: float) -> float:
    """Return the quotient of C's doubles: infinite (true) for division by zero, nothing for 0/0."""
    if right != 0:
        return left / right
    return math.copysign(math.inf, left) * math.copysign(1, right) if left else math.nan


def _compare(sign: str, left: Expression, right: Expression, view: HostView) -> bool:
    if isinstance(left, Name) and left.value in view.names.strings:
        return _compare_text(sign, left.value, right, view)
    first, second = _value(left, view), _value(right, view)
    if not isinstance(first, float | int) or not isinstance(second, float | int):
        return False
    return _COMPARE[sign](first, second)


def _compare_text(sign: str, resource: str, other: Expression, view: HostView) -> bool:
    own = view.text(resource)
    match other:
        case Name(word) | String(word):
            asked = word
        case Number(value, text):
            asked = text or f"{value:g}"
        case _:
            return False
    if resource in ("type", "model") and asked == "local" and view.home is not None:
        asked = view.home.type if resource == "type" else view.home.model
    if own is None or (resource in ("type", "model") and asked in ("any", "local")):
        return own is not None
    return _COMPARE_TEXT[sign](own, asked)


def _defined(resource: str, view: HostView) -> bool:
    if resource in view.names.booleans:
        return view.number(resource) == 1
    if resource in view.names.strings:
        return view.text(resource) is not None
    return view.number(resource) is not None


def named(expression: Expression | None, names: Names) -> Iterator[str]:
    """Yield every resource that a select section names, without values of string resources."""
    match expression:
        case Name(value):
            yield value
        case Defined(resource):
            yield resource
        case Unary(_, operand):
            yield from named(operand, names)
        case Binary(sign, Name(value), _) if sign in _COMPARE and value in names.strings:
            yield value
        case Binary(_, left, right):
            yield from named(left, names)
            yield from named(right, names)
