"""Host partitions: a job has its hosts in one of them, or in none (FSH-08)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...model.fairshare import partition_hosts
from .facts import Facts
from .violation import Violation


@dataclass(frozen=True, slots=True)
class Sides:
    """The hosts of each partition, and those of none."""

    inside: tuple[frozenset[str], ...]
    outside: frozenset[str]

    @classmethod
    def of(cls, facts: Facts) -> Sides:
        """Of an instance."""
        cluster, partitions = facts.instance.cluster, facts.instance.partitions
        inside = tuple(frozenset(partition_hosts(cluster, each)) for each in partitions)
        return cls(inside, frozenset(facts.hosts).difference(*inside))

    def open_with(self, hosts: Iterable[str]) -> frozenset[str]:
        """What a job that has these hosts may have; empty where they do not go together.

        The hosts that are in all partitions that have all of these, or those of no partition.
        """
        held = frozenset(hosts)
        if held <= self.outside:
            return self.outside
        around = [side for side in self.inside if held <= side]
        return around[0].intersection(*around) if around else frozenset()


def one_partition(facts: Facts) -> Iterator[Violation]:
    """No job has hosts of a partition beside others, nor have its terms."""
    if not facts.instance.partitions:
        return
    sides = Sides.of(facts)
    for holding in facts.planned:
        if not sides.open_with(holding.allocation):
            hosts = " ".join(holding.allocation)
            text = f"job {holding.job.id}: {hosts} are neither in one host partition nor in none"
            yield Violation("partition", text, holding.job.id, "", holding.start)
