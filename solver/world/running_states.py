"""The states of running jobs, those entered in columns made when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping

from .job_state import JobState


class RunningStates(MutableMapping[int, JobState]):
    """States by number, in the order in which the jobs came, as a dictionary would have them."""

    __slots__ = ("_found", "_make")

    def __init__(self, numbers: Iterable[int], make: Callable[[int], JobState]) -> None:
        """make: the state of one of these numbers, the one that counts from then on."""
        self._found: dict[int, JobState | None] = dict.fromkeys(numbers)
        self._make = make

    def __getitem__(self, number: int) -> JobState:
        found = self._found[number]
        if found is None:
            found = self._found[number] = self._make(number)
        return found

    def __setitem__(self, number: int, state: JobState) -> None:
        self._found[number] = state

    def __delitem__(self, number: int) -> None:
        del self._found[number]

    def __contains__(self, number: object) -> bool:
        return number in self._found

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
