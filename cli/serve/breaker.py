"""Circuit breaker of the polls: a scheduler that does not answer is asked less often."""

from __future__ import annotations

from dataclasses import dataclass

#: Failed polls in a row after which the interval grows.
PATIENCE = 3
#: Maximum number of seconds between two polls.
LONGEST_WAIT = 600.0


@dataclass(slots=True)
class Breaker:
    """Waits between polls: the interval, doubled with every failure beyond the third in a row."""

    #: Seconds between two polls.
    every: float
    #: Failed polls in a row.
    failures: int = 0

    def succeeded(self) -> None:
        """Close the breaker: a poll has read a state."""
        self.failures = 0

    def failed(self) -> None:
        """Count a failed poll."""
        self.failures += 1

    @property
    def is_open(self) -> bool:
        """Whether polls have failed so often that they are made less often."""
        return self.failures > PATIENCE

    @property
    def wait(self) -> float:
        """Return the seconds until the next poll."""
        beyond = min(max(0, self.failures - PATIENCE), 30)
        return min(self.every * 2.0**beyond, max(self.every, LONGEST_WAIT))
