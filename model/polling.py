"""Long looks that somebody may want to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

#: Called now and then; what it raises ends the look.
Poll: TypeAlias = Callable[[], None]
#: Objects from one poll to the next.
EVERY = 256


def never() -> None:
    """Nothing ends the look."""


def polled(items: Iterable[T], poll: Poll) -> Iterator[T]:
    """The items, with a poll before the first and after every so many."""
    for number, item in enumerate(items):
        if number % EVERY == 0:
            poll()
        yield item
