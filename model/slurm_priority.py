"""Multifactor priority of Slurm: the parts that a request and its partition decide.

The parts of age, fairshare, QOS, association, TRES and site are not among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class SizeAndPartition:
    """Weights of two parts of a priority, and what they are measured by."""

    #: PriorityWeightJobSize.
    size_weight: int
    #: PriorityWeightPartition.
    partition_weight: int
    #: PriorityJobFactor by partition.
    factors: Mapping[str, int]
    #: Nodes of the cluster.
    nodes: int
    #: CPUs of the cluster.
    cpus: int
    #: PriorityFavorSmall: the smallest jobs have the largest part.
    favours_small: bool = False

    def size_part(self, nodes: int, cpus: int) -> Fraction:
        """Return the part of a job of this many nodes and CPUs."""
        shares = (Fraction(nodes, max(1, self.nodes)), Fraction(cpus, max(1, self.cpus)))
        if self.favours_small:
            shares = (1 - shares[0], 1 - shares[1])
        return self.size_weight * sum(shares, Fraction(0)) / 2

    def partition_part(self, partition: str) -> Fraction:
        """Return the part of a job in a partition."""
        most = max(self.factors.values(), default=1)
        return Fraction(self.partition_weight * self.factors.get(partition, 1), max(1, most))

    def priority(self, nodes: int, cpus: int, partition: str, nice: int = 0) -> int:
        """Return the sum of the parts, at least 1, as Slurm truncates it."""
        whole = self.size_part(nodes, cpus) + self.partition_part(partition) - nice
        return max(1, int(whole))
