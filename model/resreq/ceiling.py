"""How much a job may reserve in a queue (RSV-05, RSV-06)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..cluster import BUILTIN_INDICES
from .printer import in_own_unit
from .rusage import Alternative, amounts
from .syntax import UsageString


@dataclass(frozen=True, slots=True)
class Ranges:
    """RESRSV_LIMIT, resource to least and greatest value, MB for sizes.

    unit: LSF_UNIT_FOR_LIMITS, in which sentences give mem and swp.
    """

    bounds: Mapping[str, tuple[float, float]]
    unit: str = "MB"

    def shown(self, resource: str, value: float) -> str:
        """An amount as people write it here."""
        return in_own_unit(resource, value, self.unit)


def exceeding(
    upper: Alternative, lower: Alternative, ranges: Ranges, level: str, *, joint: bool
) -> tuple[str, ...]:
    """What `upper` asks beyond `lower`, the rusage of `level`, a sentence each; () if nothing.

    Internal indices may not exceed it, unless RESRSV_LIMIT gives the resource a range of its own;
    with phases the first one counts. Durations of any resource may not exceed it, phases aside.
    joint: both are one usage string, so that their durations meet even over different resources.
    """
    below = amounts(lower)
    problems = []
    for resource, (amount, usage) in amounts(upper).items():
        if resource not in below:
            continue
        most, held = below[resource]
        limited = resource in BUILTIN_INDICES and resource not in ranges.bounds
        if limited and amount.values and most.values and amount.values[0] > most.values[0]:
            asked, given = (ranges.shown(resource, each.values[0]) for each in (amount, most))
            problems.append(f"rusage {resource}={asked} exceeds {resource}={given} of the {level}")
        alone = joint and len(upper) == 1 and len(lower) == 1
        if not alone:
            problems += _longer(resource, usage, held, level)
    if joint and len(upper) == 1 and len(lower) == 1:
        problems += _longer("rusage", upper[0], lower[0], level)
    return tuple(dict.fromkeys(problems))


def _longer(what: str, usage: UsageString, held: UsageString, level: str) -> list[str]:
    single = not (usage.phased or held.phased)
    if single and usage.durations and held.durations and usage.durations[0] > held.durations[0]:
        return [
            f"{what}: duration {_minutes(usage.durations[0])} exceeds "
            f"{_minutes(held.durations[0])} of the {level}"
        ]
    return []


def _minutes(seconds: int) -> str:
    return f"{seconds} s" if seconds % 60 else f"{seconds // 60} min"


def outside(alternative: Alternative, ranges: Ranges) -> tuple[str, ...]:
    """The amounts of an alternative that lie outside RESRSV_LIMIT, a sentence each."""
    found = []
    for resource, (amount, _) in amounts(alternative).items():
        for value in amount.values if resource in ranges.bounds else ():
            least, most = ranges.bounds[resource]
            if not least <= value <= most:
                low, asked, high = (ranges.shown(resource, n) for n in (least, value, most))
                limit = f"RESRSV_LIMIT [{resource}={low},{high}]"
                found.append(f"rusage {resource}={asked} is outside {limit}")
    return tuple(found)
