"""Progress reports and cancellation of long calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a long call.

    done of total jobs are finished with (in a simulation: started; in what-if questions: plans
    made, total unknown). value and bound of the objective (in the lexicographic search: of the sum
    of the starts found, seconds from now), None if there is no objective.
    """

    #: Number of finished steps.
    done: int
    #: Number of all steps, None if unknown.
    total: int | None
    #: Objective of the incumbent, None without one.
    value: float | None
    #: Lower bound of the objective, None if unknown.
    bound: float | None
    #: Seconds since the call began.
    seconds: float
    #: Simulated time, seconds from the origin; None if nothing is simulated.
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


#: Type of `on_progress`, which is called from the thread of the call itself.
OnProgress: TypeAlias = Callable[[Progress], None]


T = TypeVar("T")

#: Function that is called now and then; an exception that it raises ends the call.
Poll: TypeAlias = Callable[[], None]
#: Number of objects between two polls.
EVERY = 256


def never() -> None:
    """Do nothing, so that the call continues."""


def polled(items: Iterable[T], poll: Poll) -> Iterator[T]:
    """Yield the items, with a poll before the first and after every EVERY items."""
    for number, item in enumerate(items):
        if number % EVERY == 0:
            poll()
        yield item
