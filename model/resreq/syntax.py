"""Syntax tree of a resource requirement, the result of parsing a -R string (REQ-01 … REQ-20)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..reservation import Reservation, reservation
from .vocabulary import ANY, Vocabulary


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal."""

    #: The value of the literal.
    value: float
    #: The literal as written, "" if the value says all. Comparisons with string resources need it
    #: (``5.0``), and an integer literal divides like integers in C.
    text: str = ""

    @property
    def whole(self) -> bool:
        """Return whether the literal was written as an integer."""
        return not self.text and self.value == int(self.value)


@dataclass(frozen=True, slots=True)
class String:
    """A quoted string literal."""

    #: The text without its quotes.
    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A bare word: a resource, or a string value on one side of a comparison."""

    #: The name as written.
    value: str


@dataclass(frozen=True, slots=True)
class Defined:
    """``defined(resource)``."""

    #: Name of the resource.
    resource: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``!x`` or ``-x``."""

    #: ``!`` or ``-``.
    operator: str
    #: The operand.
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic, comparison or logic; `=` is stored as `==`."""

    #: The operator.
    operator: str
    #: The left operand.
    left: Expression
    #: The right operand.
    right: Expression


Expression: TypeAlias = Number | String | Name | Defined | Unary | Binary


def operands(expression: Expression, operator: str) -> tuple[Expression, ...]:
    """Return the operands of `operator` (``&&`` or ``||``) at the top, in order."""
    if isinstance(expression, Binary) and expression.operator == operator:
        return operands(expression.left, operator) + operands(expression.right, operator)
    return (expression,)


def joined(operator: str, parts: Sequence[Expression]) -> Expression:
    """Return all parts joined by ``&&`` or ``||`` as one balanced tree; nested joins are merged.

    Balance keeps the depth logarithmic, so that a list of a thousand hosts needs no deep recursion.
    """
    return _balanced(operator, [leaf for part in parts for leaf in operands(part, operator)])


def _balanced(operator: str, parts: Sequence[Expression]) -> Expression:
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    left, right = _balanced(operator, parts[:middle]), _balanced(operator, parts[middle:])
    return Binary(operator, left, right)


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of order[]; `reverse` is the leading minus."""

    #: Name of the resource or load index.
    resource: str
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """``mem=50`` or ``mem=(400 300)``; `phased` keeps the parenthesised form for printing."""

    #: Name of the resource.
    resource: str
    #: Amount of each phase, MB for mem and swp; empty for a name without a value, which reserves
    #: nothing.
    values: tuple[float, ...]
    phased: bool = False
    #: ``host``, ``task`` or ``job`` of ``mem=50/task``; "" if the requirement does not say.
    per: str = ""


@dataclass(frozen=True, slots=True)
class UsageString:
    """Resources that share one duration and decay; durations in seconds."""

    #: Amounts, one for each resource.
    amounts: tuple[Amount, ...]
    #: Duration of each phase in seconds, () without durations.
    durations: tuple[int, ...] = ()
    #: Decay of each phase, 0 (none) or 1 (linear).
    decays: tuple[float, ...] = ()

    @property
    def phased(self) -> bool:
        """Return whether the string is written in the multi-phase form, or has no other."""
        return any(amount.phased or len(amount.values) > 1 for amount in self.amounts)

    def reservations(self) -> tuple[Reservation, ...]:
        """Return one reservation for each resource; errors as in :func:`reservation`."""
        return tuple(
            reservation(amount.resource, amount.values, self.durations, self.decays, per=amount.per)
            for amount in self.amounts
            if amount.values
        )


@dataclass(frozen=True, slots=True)
class Rusage:
    """Alternatives (``||``) of usage strings (``,``), tried in order (RSV-07)."""

    #: The alternatives; each has one or more usage strings.
    alternatives: tuple[tuple[UsageString, ...], ...]

    @property
    def phased(self) -> bool:
        """Return whether any usage string is multi-phase."""
        return any(usage.phased for strings in self.alternatives for usage in strings)

    def reservations(self, alternative: int = 0) -> tuple[Reservation, ...]:
        """Return the reservations of one alternative."""
        return tuple(
            item for usage in self.alternatives[alternative] for item in usage.reservations()
        )


@dataclass(frozen=True, slots=True)
class Span:
    """span[]: hosts=1, hosts=-1, block=n, ptile=n, ptile='!', ptile per type or model (REQ-18)."""

    #: Value of ``hosts=``, None if absent.
    hosts: int | None = None
    #: Default number of slots on each host; None: not set.
    ptile: int | None = None
    #: Whether it is ptile='!': MXJ of the host, 1 if MXJ is undefined.
    ptile_max: bool = False
    #: Pairs of a host type or model and its number of slots on each host.
    ptile_by: tuple[tuple[str, int], ...] = ()
    #: Size of the blocks in which slots come, None: not set. A host may hold several blocks.
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Cu:
    """cu[]: compute units (PLC-05 … PLC-11). type None means the cluster's default type."""

    #: Type of the compute units; None: the default type.
    type: str | None = None
    #: Preference among units: config, maxavail or minavail.
    pref: str = "config"
    #: Maximum number of units of the job, None: no limit.
    maxcus: int | None = None
    #: Minimum number of free slots of a unit that may be used, None: no minimum.
    usablecuslots: int | None = None
    #: Whether slots are spread evenly over as few units as possible.
    balance: bool = False
    #: Whether the job has its units to itself.
    excl: bool = False


#: Processor units as affinity[] names them, and what they are.
UNITS = {"core": "core", "thread": "thread", "cpu": "thread", "socket": "socket"} | dict.fromkeys(
    ("numa", "mcm"), "numa"
)
_UNIT = rf"\s*({'|'.join(UNITS)})"
#: ``core``, ``thread(2)``, ``core(2)*3``; ``distribute=any`` is LSF's default.
_NUMBER = rf"{_UNIT}\s*(?:\(\s*(\d+)\s*\))?\s*(?:\*\s*(\d+)\s*)?"
_COUNTED = re.compile(rf"{_NUMBER}(?::\s*distribute\s*=\s*any\s*)?")
#: Start of an affinity request with more conditions: ``core(2,same=socket):membind=localonly``.
_AT_LEAST = re.compile(rf"{_UNIT}\s*(?:\(\s*(\d+))?")


def counts_units(affinity: str) -> bool:
    """Return whether the text of an affinity[] requests only a number of processor units."""
    return _COUNTED.fullmatch(affinity) is not None


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple requirement. An absent section is None (same and affinity: empty)."""

    #: Expression that a host has to fulfil.
    select: Expression | None = None
    #: Keys by which hosts are sorted, the most significant first.
    order: tuple[OrderKey, ...] | None = None
    #: Resources that the job reserves.
    rusage: Rusage | None = None
    #: Distribution of slots over hosts.
    span: Span | None = None
    #: Resources of same[].
    same: tuple[str, ...] = ()
    #: Compute units of the job.
    cu: Cu | None = None
    #: Text of affinity[]; plans obey only its number of processor units.
    affinity: str = ""
    #: Text of stripe and gtile of span[], which no plan obeys.
    tiling: str = ""
    #: Alternatives in braces that follow it.
    later: tuple[Later, ...] = ()

    @property
    def units_of_a_slot(self) -> tuple[str, int]:
        """Return the processor unit that affinity[] takes for each slot, and the minimum (AFF-01).

        ``core``, ``thread``, ``socket`` or ``numa``; ``""`` and 0 without the section.
        """
        found = _COUNTED.fullmatch(self.affinity)
        if found:
            return UNITS[found[1]], int(found[2] or 1) * int(found[3] or 1)
        least = _AT_LEAST.match(self.affinity)
        return (UNITS[least[1]], int(least[2] or 1)) if least else ("", 0)

    @property
    def asks_for_a_number_of_units(self) -> bool:
        """Return whether affinity[] requests only a number of units, without their location."""
        return counts_units(self.affinity)


@dataclass(frozen=True, slots=True)
class Term:
    """A term ``count*{requirement}`` of a compound requirement; the last count may be None."""

    #: Number of slots; None: the rest of -n.
    count: int | None
    #: Requirement of the term.
    requirement: Simple


@dataclass(frozen=True, slots=True)
class Compound:
    """``n1*{…} + n2*{…}`` (REQ-14)."""

    #: The terms in order.
    terms: tuple[Term, ...]
    #: Alternatives in braces that follow it.
    later: tuple[Later, ...] = ()


@dataclass(frozen=True, slots=True)
class Later:
    """An alternative ``|| {requirement}@delay`` after the first one (REQ-21)."""

    #: Requirement of the alternative.
    requirement: Simple | Compound
    #: Minutes of pending time from which it may be used, None: not given.
    delay: int | None = None


Requirement: TypeAlias = Simple | Compound


def simples(requirement: Requirement) -> tuple[Simple, ...]:
    """Return the requirement of each term; a simple requirement is returned alone."""
    if isinstance(requirement, Simple):
        return (requirement,)
    return tuple(term.requirement for term in requirement.terms)


def every(requirement: Requirement) -> tuple[Requirement, ...]:
    """Return the first and all later alternatives; a requirement without any is returned alone."""
    return (requirement, *(item.requirement for item in requirement.later))


def may_have_alternatives(texts: Iterable[str]) -> bool:
    """Return whether one of these requirements may have alternatives in braces."""
    return any("||" in text and "{" in text for text in texts)


def openings(requirement: Requirement) -> tuple[int, ...]:
    """Return the seconds after the submission from which each alternative may be used."""
    minutes = [0]
    for item in requirement.later:
        minutes.append(max(minutes[-1], item.delay or 0))
    return tuple(60 * each for each in minutes)


#: Versions of the requirement language (docs/resreq.md has the differences).
LSF_7 = "7"
LSF_10 = "10.1"
DIALECTS = (LSF_7, LSF_10)


@dataclass(frozen=True, slots=True)
class Options:
    """Settings for reading a requirement string."""

    #: Whether strict syntax applies (LSF_STRICT_RESREQ=Y, REQ-08).
    strict: bool = False
    #: Whether cu[balance] may be combined with usablecuslots (PLC-08).
    lenient: bool = False
    #: Unit of bare numbers for mem and swp (LSF_UNIT_FOR_LIMITS, REQ-13).
    unit: str = "MB"
    #: Names of the known resources.
    vocabulary: Vocabulary = ANY
    #: Whether checks that need the whole requirement are made (ptile by type needs same[]).
    together: bool = True
    #: Version of the language, one of DIALECTS.
    dialect: str = LSF_10


#: Default settings: LSF's ordinary syntax.
ORDINARY = Options()
