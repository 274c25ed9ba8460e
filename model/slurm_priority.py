"""Multifactor priority of Slurm: the parts that a request, its partition and its QOS decide.

The parts of age and fairshare move with time; those of association and site are not computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

#: TRES whose part of a priority is computed.
WEIGHED_TRES = ("cpu", "mem", "node")


@dataclass(frozen=True, slots=True)
class PriorityRequest:
    """What a job requests, as its priority measures it."""

    #: Number of nodes, at least.
    nodes: int
    #: Number of CPUs.
    cpus: int
    #: Name of the partition.
    partition: str
    #: Memory in all (MB).
    memory: float = 0.0
    #: Time limit in minutes, None without one.
    minutes: int | None = None
    #: Quality of service.
    qos: str = ""
    #: Nice value, which is subtracted.
    nice: int = 0


@dataclass(frozen=True, slots=True)
class SizeAndPartition:
    """Weights of the parts that do not change while a job is pending, and their measures."""

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
    #: PriorityWeightQOS, and Priority by QOS.
    qos_weight: int = 0
    qos: Mapping[str, int] = field(default_factory=dict)
    #: PriorityWeightTRES by TRES.
    tres_weights: Mapping[str, float] = field(default_factory=dict)
    #: CPUs, nodes and MB of each partition, by TRES.
    totals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    #: PriorityFlags in capitals.
    flags: frozenset[str] = frozenset()

    def size_part(self, nodes: int, cpus: int, minutes: int | None = None) -> Fraction:
        """Return the part of a job of this many nodes and CPUs; minutes: its time limit."""
        shares = (Fraction(nodes, max(1, self.nodes)), Fraction(cpus, max(1, self.cpus)))
        if "SMALL_RELATIVE_TO_TIME" in self.flags:
            # Whole nodes count as nodes of the average size.
            size = max(shares) / max(1, minutes or 1)
            part = 1 - size if self.favours_small else size
        elif self.favours_small:
            part = (max(Fraction(0), 1 - shares[0]) + 1 - shares[1]) / 2
        else:
            part = sum(shares, Fraction(0)) / 2
        return self.size_weight * min(Fraction(1), max(Fraction(0), part))

    def partition_part(self, partition: str) -> Fraction:
        """Return the part of a job in a partition."""
        own = self.factors.get(partition, 1)
        if "NO_NORMAL_PART" in self.flags:
            return Fraction(self.partition_weight * own)
        return Fraction(self.partition_weight * own, max(1, *self.factors.values(), 1))

    def qos_part(self, qos: str) -> Fraction:
        """Return the part of a job of a QOS, 0 for a QOS that is not known."""
        own = self.qos.get(qos, 0)
        if "NO_NORMAL_QOS" in self.flags:
            return Fraction(self.qos_weight * own)
        return Fraction(self.qos_weight * own, max(1, *self.qos.values(), 1))

    def tres_part(self, request: PriorityRequest) -> Fraction:
        """Return the sum of the parts by TRES."""
        amounts = {"cpu": request.cpus, "node": request.nodes, "mem": request.memory}
        totals = self.totals.get(request.partition, {})
        found = Fraction(0)
        for name, weight in self.tres_weights.items():
            amount = Fraction(amounts.get(name, 0))
            if "NO_NORMAL_TRES" not in self.flags:
                amount = amount / Fraction(totals[name]) if totals.get(name) else Fraction(0)
            found += Fraction(weight) * amount
        return found

    def parts(self, request: PriorityRequest) -> dict[str, Fraction]:
        """Return the parts by the columns of sprio."""
        return {
            "JOBSIZE": self.size_part(request.nodes, request.cpus, request.minutes),
            "PARTITION": self.partition_part(request.partition),
            "QOS": self.qos_part(request.qos),
            "TRES": self.tres_part(request),
        }

    def priority(
        self, nodes: int, cpus: int, partition: str, nice: int = 0, *, fairshare: float = 0.0
    ) -> int:
        """Return the priority of a job without memory and QOS."""
        return self.priority_of(PriorityRequest(nodes, cpus, partition, nice=nice), fairshare)

    def priority_of(self, request: PriorityRequest, fairshare: float = 0.0) -> int:
        """Return the sum of the parts, at least 1, as Slurm truncates it.

        fairshare: weighted part of the association.
        """
        return max(1, int(sum(self.parts(request).values(), Fraction(fairshare)) - request.nice))
