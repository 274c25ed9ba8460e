"""Slurm's map of whole nodes over time, from which planned jobs take theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..availability.resources import BoolArray

#: No licences.
NO_LICENCES: Mapping[int, float] = {}


@dataclass(slots=True)
class MapRecord:
    """Nodes that no planned job has over [begin, end); seconds since 1970."""

    #: First second of the record.
    begin: int
    #: Second at which the record ends.
    end: int
    #: [H].
    free: BoolArray
    #: Licences in use, by pool.
    licences: dict[int, float] = field(default_factory=dict)

    def equals(self, other: MapRecord) -> bool:
        """Whether another record has the same nodes and licences."""
        return self.licences == other.licences and bool((self.free == other.free).all())


class NodeMap:
    """Records that follow each other, from the cycle to the end of the window."""

    def __init__(self, begin: int, end: int, free: BoolArray, *, joins: bool = True) -> None:
        self.records = [MapRecord(begin, end, free)]
        #: Whether equal neighbours are joined; a recorded Slurm that plans licences did not.
        self._joins = joins

    def take(
        self, begin: int, end: int, nodes: BoolArray, licences: Mapping[int, float] = NO_LICENCES
    ) -> None:
        """Take nodes whole, and licences, over [begin, end).

        Then one pair of equal neighbours becomes one record, as in Slurm: which times are tried for
        later jobs hangs on it.
        """
        begin = max(begin, self.records[0].begin)
        first = next((n for n, item in enumerate(self.records) if item.end >= begin), 0)
        self._split(begin)
        self._split(end)
        for record in self.records:
            if record.begin >= begin and record.end <= end:
                record.free = record.free & ~nodes
                for pool, amount in licences.items():
                    record.licences[pool] = record.licences.get(pool, 0.0) + amount
        if self._joins:
            self._join_one(max(0, first - 1), end)

    def _split(self, time: int) -> None:
        """Let a record begin at an instant."""
        for place, record in enumerate(self.records):
            if record.begin < time < record.end:
                later = MapRecord(time, record.end, record.free, dict(record.licences))
                record.end = time
                self.records.insert(place + 1, later)
                return

    def _join_one(self, place: int, end: int) -> None:
        """Join the first equal neighbours from a record on, up to the one that begins at `end`."""
        while place + 1 < len(self.records) and self.records[place].begin < end:
            record, following = self.records[place], self.records[place + 1]
            if record.equals(following):
                record.end = following.end
                del self.records[place + 1]
                return
            place += 1

    def overlaps(self, begin: int, end: int, nodes: BoolArray) -> bool:
        """Whether one of the nodes is taken at some instant of [begin, end)."""
        return any(
            record.end > begin and record.begin < end and bool((nodes & ~record.free).any())
            for record in self.records
        )

    def usable(
        self, time: int, end: int, nodes: BoolArray, *, looks_past_end: bool
    ) -> tuple[BoolArray, int | None]:
        """Return nodes that are free in every record that touches [time, end], and a later time to
        try.

        The later time is the end of the first record whose successor has another unusable node; the
        first record after `end` is the last one examined. looks_past_end: if there is none, it is
        the end of the record after that one, unless that is the last of all.
        """
        free, later = nodes.copy(), None
        for place, record in enumerate(self.records):
            if record.end <= time:
                continue
            if later is None and place + 1 < len(self.records):
                following = nodes & self.records[place + 1].free
                if (following & ~(free & record.free)).any():
                    later = record.end
            if record.begin > end:
                if looks_past_end and later is None and place + 2 < len(self.records):
                    later = self.records[place + 1].end
                break
            free &= record.free
        return free, later

    def short_until(
        self, time: int, end: int, needed: Mapping[int, float], capacity: Mapping[int, float]
    ) -> list[int]:
        """Return the ends of the records that touch [time, end] and have too few licences."""
        return [
            record.end
            for record in self.records
            if record.end > time
            and record.begin <= end
            and any(
                capacity[pool] - record.licences.get(pool, 0.0) < amount - 1e-6
                for pool, amount in needed.items()
            )
        ]
