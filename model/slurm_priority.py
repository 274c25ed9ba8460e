"""Multifactor priority of Slurm: what a request, its partition, its QOS and its age decide.

Fairshare is treated as it is now; association and site are not computed. While a job
is pending its age alone grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from .slurm_select import flags_of, number_of, words_of

if TYPE_CHECKING:
    from .job import Job


#: PriorityMaxAge and PriorityCalcPeriod if they are not set (seconds).
MAX_AGE, CALC_PERIOD = 7 * 86400, 300
#: Words of ``select_parameters`` for the age.
AGE_WORDS = ("PriorityWeightAge", "PriorityMaxAge", "PriorityCalcPeriod")


@dataclass(frozen=True, slots=True)
class AgeFactor:
    """The age part of the priorities of pending jobs."""

    #: PriorityWeightAge: the part of a job that has reached the highest age.
    weight: int
    #: PriorityMaxAge (seconds).
    max_age: int = MAX_AGE
    #: PriorityCalcPeriod: seconds between two computations, counted from second 0.
    period: int = CALC_PERIOD
    #: PriorityFlags=ACCRUE_ALWAYS: the age counts from the submission in any case.
    always: bool = False

    def growth(self, job: Job, now: int) -> int:
        """Return by how much the priority of a job is higher at `now` (seconds) than at second 0.

        The priority of a job that is submitted later is that at its submission.
        """
        return self.part(job, now // self.period * self.period) - self.part(job, 0)

    def next_growth(self, job: Job, now: int) -> int | None:
        """Return when the priority of a job grows next (seconds), None if it stays."""
        part = self.part(job, now // self.period * self.period)
        if part >= self.weight:
            return None
        reached = self._accrues_from(job) - (-(part + 1) * self.max_age // self.weight)
        return -(-max(reached, now + 1) // self.period) * self.period

    def part(self, job: Job, time: int) -> int:
        """Return the age part of the priority of a job as computed at `time` (seconds)."""
        age = min(max(0, time - self._accrues_from(job)), self.max_age)
        return self.weight * age // self.max_age

    def _accrues_from(self, job: Job) -> int:
        """Return the second from which the age of a job counts: it is eligible."""
        return job.submit if job.begin is None or self.always else max(job.submit, job.begin)


@lru_cache(maxsize=16)
def age_factor(select_parameters: str) -> AgeFactor | None:
    """Return the age part that ``select_parameters`` has, None if age does not count."""
    own = words_of(select_parameters)[""]
    weight, longest, period = (
        number_of(own, name, default)
        for name, default in zip(AGE_WORDS, (0, MAX_AGE, CALC_PERIOD), strict=True)
    )
    if not weight:
        return None
    return AgeFactor(weight, max(1, longest), max(1, period), "ACCRUE_ALWAYS" in flags_of(own))


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

    def priority_of(self, request: PriorityRequest, fairshare: float = 0.0) -> int:
        """Return the sum of the parts, at least 1, as Slurm truncates it.

        fairshare: weighted part of the association.
        """
        return max(1, int(sum(self.parts(request).values(), Fraction(fairshare)) - request.nice))
