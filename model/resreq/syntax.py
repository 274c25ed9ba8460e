"""The syntax tree of a resource requirement: what a parsed -R string is (REQ-01 … REQ-20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..reservation import Reservation, reservation

# --- select -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric literal."""

    value: float


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

# --- the other sections -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of order[]; `reverse` is the leading minus."""

    resource: str
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """``mem=50`` or ``mem=(400 300)``; `phased` keeps the parenthesised form for printing."""

    resource: str
    values: tuple[float, ...]
    phased: bool = False


@dataclass(frozen=True, slots=True)
class UsageString:
    """Resources that share one duration and decay; durations in seconds."""

    amounts: tuple[Amount, ...]
    durations: tuple[int, ...] = ()
    decays: tuple[float, ...] = ()

    def reservations(self) -> tuple[Reservation, ...]:
        """One reservation a resource; raises ValueError as :func:`reservation` does."""
        return tuple(
            reservation(amount.resource, amount.values, self.durations, self.decays)
            for amount in self.amounts
        )


@dataclass(frozen=True, slots=True)
class Rusage:
    """Alternatives (``||``) of usage strings (``,``), tried in order (RSV-07)."""

    alternatives: tuple[tuple[UsageString, ...], ...]

    def reservations(self, alternative: int = 0) -> tuple[Reservation, ...]:
        """The reservations of one alternative."""
        return tuple(
            item for usage in self.alternatives[alternative] for item in usage.reservations()
        )


@dataclass(frozen=True, slots=True)
class Span:
    """span[]: hosts=1, hosts=-1, ptile=n, ptile='!' and ptile per host type or model (REQ-18).

    ptile: the default number per host; None where there is none.
    ptile_max: ptile='!' (MXJ of the host, 1 where undefined).
    ptile_by: (type or model, number) pairs.
    """

    hosts: int | None = None
    ptile: int | None = None
    ptile_max: bool = False
    ptile_by: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Cu:
    """cu[]: compute units (PLC-05 … PLC-11). type None means the cluster's default type."""

    type: str | None = None
    pref: str = "config"
    maxcus: int | None = None
    usablecuslots: int | None = None
    balance: bool = False
    excl: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple requirement; an absent section is None (same: empty)."""

    select: Expression | None = None
    order: tuple[OrderKey, ...] | None = None
    rusage: Rusage | None = None
    span: Span | None = None
    same: tuple[str, ...] = ()
    cu: Cu | None = None


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
