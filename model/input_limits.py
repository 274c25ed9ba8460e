"""How much an input may ask for: counted and checked before anything is allocated.

The limits in force belong to the context (thread or task); :func:`limited` changes them::

    with limited(InputLimits(hosts=1_000_000)):
        instance = load("huge.yaml")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Limits on one input; docs/limits.md has each with its option."""

    #: Of an instance.
    hosts: int = 200_000
    #: Running, pending and future ones of an instance, records of a log.
    jobs: int = 5_000_000
    #: That all ranges such as ``n[1-400]`` stand for together.
    names: int = 1_000_000
    #: Of all job arrays of an instance together.
    elements: int = 400_000
    #: Bytes of an instance or snapshot.
    text: int = 2**28
    #: Characters of one requirement, bsub line or LSF parameter.
    requirement: int = 32_768
    #: Levels of lists and mappings.
    nesting: int = 60
    #: Characters of any one value.
    value: int = 2**21
    #: Bytes of one line of a log.
    line: int = 2**20
    #: Bytes that a packed log may unpack to.
    unpacked: int = 2**34
    #: How many times its own size.
    ratio: int = 50
    #: Problems that are shown; the others are counted.
    errors: int = 50


@dataclass(slots=True)
class _Count:
    """What one input has asked for so far."""

    hosts: int = 0
    names: int = 0
    suggestions: int = 0
    #: Words among which what was meant has been looked for.
    compared: int = 0


#: The limits of an input unless others are asked for.
USUAL = InputLimits()
#: The limits of --strict-limits, for inputs of strangers.
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
    """The limits in force here."""
    return _LIMITS.get()


@contextmanager
def limited(new: InputLimits | None = None, **changes: int) -> Iterator[None]:
    """Other limits within the block: `new` or those in force, with `changes`."""
    token = _LIMITS.set(replace(new or limits(), **changes))
    try:
        yield
    finally:
        _LIMITS.reset(token)


@contextmanager
def counting() -> Iterator[None]:
    """Count what one input asks for from zero."""
    token = _COUNT.set(_Count())
    try:
        yield
    finally:
        _COUNT.reset(token)


def take_hosts(number: int) -> None:
    """Count hosts that are about to be made; ValueError if these are too many."""
    count = _COUNT.get() or _Count()
    if count.hosts + number > limits().hosts:
        raise ValueError(f"defines more than {limits().hosts:,} hosts in all (--max-hosts)")
    count.hosts += number


def take_names(number: int) -> None:
    """Count names that are about to be written out; ValueError if these are too many."""
    count = _COUNT.get() or _Count()
    if count.names + number > limits().names:
        raise ValueError(f"stands for more than {limits().names:,} names in all (--max-names)")
    count.names += number


def may_suggest() -> bool:
    """Whether another search for what was meant is worth its time: more than are shown is not."""
    count = _COUNT.get()
    if count is None:
        return True
    count.suggestions += 1
    return count.suggestions <= 2 * limits().errors


def compared(number: int) -> int:
    """Count words among which what was meant is looked for; how many these are by now."""
    count = _COUNT.get() or _Count()
    count.compared += number
    return count.compared


def check_length(text: str) -> None:
    """ValueError for a requirement, bsub line or parameter that is too long to be one."""
    if len(text) > limits().requirement:
        raise ValueError(
            f"is {len(text):,} characters long; at most {limits().requirement:,} are read "
            "(--max-requirement)"
        )
