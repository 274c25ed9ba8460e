"""What long calls report as they go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a long call is.

    done of total jobs are settled (in a simulation: have started; in questions: plans that were
    made, of a total that nobody knows). value and bound of the objective (of the sum of the settled
    starts, seconds from now, in the lexicographic search), None where there is no objective.
    """

    done: int
    total: int | None
    value: float | None
    bound: float | None
    #: Since the call began.
    seconds: float
    #: How far a simulation is, seconds from the origin.
    time: int | None = None

    def __str__(self) -> str:
        of = "" if self.total is None else f"/{self.total}"
        parts = [f"{self.done}{of} {'plans' if self.total is None else 'jobs'}"]
        if self.value is not None and self.bound is not None:
            gap = 100 * (self.value - self.bound) / self.value if self.value > 0 else 0.0
            value = f"value {self.value:,.0f}, bound {self.bound:,.0f}"
            parts.append(f"{value} (gap {gap:.1f} %)")
        if self.time is not None:
            parts.append(f"second {self.time}")
        return ", ".join([*parts, f"{self.seconds:.1f} s"])


#: What `on_progress` is: called from the thread of the call itself.
OnProgress: TypeAlias = Callable[[Progress], None]


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
