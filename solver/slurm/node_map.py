"""Slurm's map of whole nodes over time, from which planned jobs take theirs."""

from __future__ import annotations

from dataclasses import dataclass

from ..availability.resources import BoolArray


@dataclass(slots=True)
class MapRecord:
    """Nodes that no planned job has over [begin, end); seconds since 1970."""

    begin: int
    end: int
    #: [H].
    free: BoolArray


class NodeMap:
    """Records that follow each other, from the cycle to the end of the window."""

    def __init__(self, begin: int, end: int, free: BoolArray) -> None:
        self.records = [MapRecord(begin, end, free)]

    def take(self, begin: int, end: int, nodes: BoolArray) -> None:
        """Take nodes whole over [begin, end)."""
        self.split(begin)
        self.split(end)
        for record in self.records:
            if record.begin >= begin and record.end <= end:
                record.free = record.free & ~nodes

    def split(self, time: int) -> None:
        """Let a record begin at an instant."""
        for place, record in enumerate(self.records):
            if record.begin < time < record.end:
                later = MapRecord(time, record.end, record.free)
                record.end = time
                self.records.insert(place + 1, later)
                return

    def overlaps(self, begin: int, end: int, nodes: BoolArray) -> bool:
        """Whether one of the nodes is taken at some instant of [begin, end)."""
        return any(
            record.end > begin and record.begin < end and bool((nodes & ~record.free).any())
            for record in self.records
        )

    def usable(self, time: int, end: int, nodes: BoolArray) -> tuple[BoolArray, int | None]:
        """Nodes that are free in every record that touches [time, end], and a later time to try.

        That is the end of the first record whose successor has a node that is not usable so far;
        the first record behind `end` is the last one that is asked.
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
                break
            free &= record.free
        return free, later
