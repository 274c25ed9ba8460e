"""Limits on the size of an input, checked before anything is allocated.

The limits in force belong to the context (thread or task); :func:`limited` changes them::

    with limited(InputLimits(hosts=1_000_000)):
        instance = load("huge.yaml")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Limits on one input; docs/limits.md has each with its option."""

    #: Hosts of an instance.
    hosts: int = 200_000
    #: Jobs of an instance (running, pending and future), or records of a log.
    jobs: int = 5_000_000
    #: Names in all ranges such as ``n[1-400]`` together.
    names: int = 1_000_000
    #: Elements of all job arrays of an instance together.
    elements: int = 25_000
    #: Size of an instance or snapshot in bytes.
    text: int = 2**28
    #: Length of one requirement, bsub line or LSF parameter in characters.
    requirement: int = 32_768
    #: Depth of nested lists and mappings.
    nesting: int = 60
    #: Length of any one value in characters.
    value: int = 2**21
    #: Length of one line of a log in bytes.
    line: int = 2**20
    #: Unpacked size of a compressed log in bytes.
    unpacked: int = 2**34
    #: Unpacked size divided by compressed size.
    ratio: int = 50
    #: Problems that are printed; the rest is counted.
    errors: int = 50


@dataclass(slots=True)
class _Count:
    """Counters of what one input has requested so far."""

    #: Number of hosts created while reading.
    hosts: int = 0
    #: Names made from ranges.
    names: int = 0
    #: Searches for similar words.
    suggestions: int = 0
    #: Words compared in these searches.
    compared: int = 0


#: Default limits.
USUAL = InputLimits()
#: Limits of --strict-limits, for inputs from untrusted sources.
STRICT = InputLimits(
    hosts=20_000,
    jobs=100_000,
    names=200_000,
    elements=20_000,
    text=2**24,
    requirement=4_096,
    nesting=20,
    value=2**16,
    line=2**16,
    unpacked=2**28,
    ratio=20,
    errors=20,
)
_LIMITS: ContextVar[InputLimits] = ContextVar("input_limits", default=USUAL)
_COUNT: ContextVar[_Count | None] = ContextVar("input_count", default=None)


def limits() -> InputLimits:
    """Return the limits in force."""
    return _LIMITS.get()


@contextmanager
def within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable of the context another value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def limited(new: InputLimits | None = None, **changes: int) -> AbstractContextManager[None]:
    """Apply other limits within the block: `new`, or those in force with `changes`."""
    return within(_LIMITS, replace(new or limits(), **changes))


def counting() -> AbstractContextManager[None]:
    """Count the requests of one input from zero within the block."""
    return within(_COUNT, _Count())


def too_many(what: str, key: str) -> str:
    """Return the message for an input with more of something than the limit of this key."""
    return f"has more than {getattr(limits(), key):,} {what}: raise --max-{key}"


def take_hosts(number: int) -> None:
    """Count hosts before they are made; raises ValueError beyond the limit."""
    count = _COUNT.get() or _Count()
    if count.hosts + number > limits().hosts:
        raise ValueError(too_many("hosts in all", "hosts"))
    count.hosts += number


def take_names(number: int) -> None:
    """Count names before ranges are expanded; raises ValueError beyond the limit."""
    count = _COUNT.get() or _Count()
    if count.names + number > limits().names:
        raise ValueError(too_many("names in all", "names"))
    count.names += number


def may_suggest() -> bool:
    """Return whether another search for similar words is useful: not beyond those printed."""
    count = _COUNT.get()
    if count is None:
        return True
    count.suggestions += 1
    return count.suggestions <= 2 * limits().errors


def compared(number: int) -> int:
    """Add compared words to the count; return the total."""
    count = _COUNT.get() or _Count()
    count.compared += number
    return count.compared


def check_length(text: str) -> None:
    """Raise ValueError for a requirement, bsub line or parameter beyond the length limit."""
    if len(text) > limits().requirement:
        raise ValueError(too_many("characters", "requirement"))
