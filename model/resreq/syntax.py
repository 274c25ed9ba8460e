"""The syntax tree of a resource requirement: what a parsed -R string is (REQ-01 … REQ-20)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..reservation import Reservation, reservation
from .vocabulary import ANY, Vocabulary


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal."""

    value: float
    #: The literal as written where that says more than the value (``5.0``), else "": comparing it
    #: with a string resource needs it, and an integer literal divides as C's integers do.
    text: str = ""

    @property
    def whole(self) -> bool:
        """Whether it was written as an integer."""
        return not self.text and self.value == int(self.value)


@dataclass(frozen=True, slots=True)
class String:
    """A quoted string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A bare word: a resource, or a string value on one side of a comparison."""

    value: str


@dataclass(frozen=True, slots=True)
class Defined:
    """``defined(resource)``."""

    resource: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``!x`` or ``-x``."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison or logic; `=` is stored as `==`."""

    operator: str
    left: Expression
    right: Expression


Expression: TypeAlias = Number | String | Name | Defined | Unary | Binary


def operands(expression: Expression, operator: str) -> tuple[Expression, ...]:
    """What `operator` (``&&`` or ``||``) joins at the top of an expression, left to right."""
    if isinstance(expression, Binary) and expression.operator == operator:
        return operands(expression.left, operator) + operands(expression.right, operator)
    return (expression,)


def joined(operator: str, parts: Sequence[Expression]) -> Expression:
    """``&&`` or ``||`` over all parts; nested ones of the same kind join one balanced tree.

    Balance keeps the depth logarithmic, so a list of a thousand hosts is no deep recursion.
    """
    flat = [leaf for part in parts for leaf in operands(part, operator)]
    return _balanced(operator, flat)


def _balanced(operator: str, parts: Sequence[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    left, right = _balanced(operator, parts[:middle]), _balanced(operator, parts[middle:])
    return Binary(operator, left, right)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of order[]; `reverse` is the leading minus."""

    resource: str
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """``mem=50`` or ``mem=(400 300)``; `phased` keeps the parenthesised form for printing."""

    resource: str
    #: MB for mem and swp; none for a resource without a value, which reserves nothing.
    values: tuple[float, ...]
    phased: bool = False
    #: ``host``, ``task`` or ``job`` of ``mem=50/task``, "" where it does not say.
    per: str = ""


@dataclass(frozen=True, slots=True)
class UsageString:
    """Resources that share one duration and decay; durations in seconds."""

    amounts: tuple[Amount, ...]
    durations: tuple[int, ...] = ()
    decays: tuple[float, ...] = ()

    @property
    def phased(self) -> bool:
        """Whether it is written, or can only be written, in the multi-phase form."""
        return any(amount.phased or len(amount.values) > 1 for amount in self.amounts)

    def reservations(self) -> tuple[Reservation, ...]:
        """One reservation a resource; raises ValueError as :func:`reservation` does."""
        return tuple(
            reservation(amount.resource, amount.values, self.durations, self.decays, per=amount.per)
            for amount in self.amounts
            if amount.values
        )


@dataclass(frozen=True, slots=True)
class Rusage:
    """Alternatives (``||``) of usage strings (``,``), tried in order (RSV-07)."""

    alternatives: tuple[tuple[UsageString, ...], ...]

    @property
    def phased(self) -> bool:
        """Whether any usage string is multi-phase."""
        return any(usage.phased for strings in self.alternatives for usage in strings)

    def reservations(self, alternative: int = 0) -> tuple[Reservation, ...]:
        """The reservations of one alternative."""
        return tuple(
            item for usage in self.alternatives[alternative] for item in usage.reservations()
        )


@dataclass(frozen=True, slots=True)
class Span:
    """span[]: hosts=1, hosts=-1, block=n, ptile=n, ptile='!', ptile per type or model (REQ-18)."""

    hosts: int | None = None
    #: The default number per host; None where there is none.
    ptile: int | None = None
    #: Ptile='!' (MXJ of the host, 1 where undefined).
    ptile_max: bool = False
    #: (type or model, number) pairs.
    ptile_by: tuple[tuple[str, int], ...] = ()
    #: Slots come in blocks of so many, one host may hold several; None where there is none.
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Cu:
    """cu[]: compute units (PLC-05 … PLC-11). type None means the cluster's default type."""

    type: str | None = None
    pref: str = "config"
    maxcus: int | None = None
    usablecuslots: int | None = None
    balance: bool = False
    excl: bool = False


#: Processor units as affinity[] names them, and what they are.
UNITS = {"core": "core", "thread": "thread", "cpu": "thread", "socket": "socket"} | dict.fromkeys(
    ("numa", "mcm"), "numa"
)
_UNIT = rf"\s*({'|'.join(UNITS)})"
#: ``core``, ``thread(2)``, ``core(2)*3``; ``distribute=any`` is LSF's default.
_NUMBER = rf"{_UNIT}\s*(?:\(\s*(\d+)\s*\))?\s*(?:\*\s*(\d+)\s*)?"
_COUNTED = re.compile(rf"{_NUMBER}(?::\s*distribute\s*=\s*any\s*)?")
#: The same with more in its parentheses or behind: ``core(2,same=socket):membind=localonly``.
_AT_LEAST = re.compile(rf"{_UNIT}\s*(?:\(\s*(\d+))?")


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple requirement; an absent section is None (same and affinity: empty)."""

    select: Expression | None = None
    order: tuple[OrderKey, ...] | None = None
    rusage: Rusage | None = None
    span: Span | None = None
    same: tuple[str, ...] = ()
    cu: Cu | None = None
    #: The text inside affinity[], of which plans count a number of processor units.
    affinity: str = ""
    #: Stripe and gtile of span[], which no plan considers.
    tiling: str = ""

    @property
    def units_of_a_slot(self) -> tuple[str, int]:
        """Which processor units each slot takes by affinity[], and at least how many (AFF-01).

        ``core``, ``thread``, ``socket`` or ``numa``; ``""`` and 0 without the section.
        """
        found = _COUNTED.fullmatch(self.affinity)
        if found:
            return UNITS[found[1]], int(found[2] or 1) * int(found[3] or 1)
        least = _AT_LEAST.match(self.affinity)
        return (UNITS[least[1]], int(least[2] or 1)) if least else ("", 0)

    @property
    def asks_for_a_number_of_units(self) -> bool:
        """Whether affinity[] asks for a number of units and for nothing else."""
        return _COUNTED.fullmatch(self.affinity) is not None


@dataclass(frozen=True, slots=True)
class Term:
    """``count*{requirement}`` of a compound requirement; the last count may be left out (None)."""

    count: int | None
    requirement: Simple


@dataclass(frozen=True, slots=True)
class Compound:
    """``n1*{…} + n2*{…}`` (REQ-14)."""

    terms: tuple[Term, ...]


Requirement: TypeAlias = Simple | Compound


def simples(requirement: Requirement) -> tuple[Simple, ...]:
    """The requirement of each term; a simple requirement is one itself."""
    if isinstance(requirement, Simple):
        return (requirement,)
    return tuple(term.requirement for term in requirement.terms)


#: The versions of the language (docs/resreq.md has what differs).
LSF_7 = "7"
LSF_10 = "10.1"
DIALECTS = (LSF_7, LSF_10)


@dataclass(frozen=True, slots=True)
class Options:
    """How a string is read."""

    #: LSF_STRICT_RESREQ=Y (REQ-08).
    strict: bool = False
    #: Cu[balance] may have usablecuslots (PLC-08).
    lenient: bool = False
    #: LSF_UNIT_FOR_LIMITS (REQ-13).
    unit: str = "MB"
    #: The resources that are known.
    vocabulary: Vocabulary = ANY
    #: Checks that need the whole requirement (ptile by type needs same[]) are made.
    together: bool = True
    #: One of DIALECTS.
    dialect: str = LSF_10


#: How a string is read unless stated otherwise: LSF's ordinary syntax.
ORDINARY = Options()
