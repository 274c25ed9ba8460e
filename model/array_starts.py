"""When the elements of a job array start, in words (ARR-05)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from .array import ArraySpec, ranges_of
from .plan import PlannedArray, PlannedJob
from .time_text import WrittenTimes, duration_text, smallest_difference

#: So many different starts are said one by one.
_FEW = 4


def array_name(array: str, ids: Sequence[str]) -> str:
    """``101[1-9:2,15]`` of elements."""
    indices = [int(id.rpartition("[")[2][:-1]) for id in ids]
    return f"{array}{ArraySpec(ranges_of(indices))}"


def starts_text(clock: WrittenTimes, found: PlannedArray) -> str:
    """``first now, middle +4h, last +9h``; ``all now``."""
    chosen = (found.first, found.middle, found.last)
    if chosen[0].start == chosen[2].start:
        return f"all {clock.text(chosen[0].start)}"
    beside = smallest_difference(item.start for item in chosen)
    names = ("first", "middle", "last")
    return ", ".join(
        f"{name} {_start(clock, item, beside)}" for name, item in zip(names, chosen, strict=True)
    )


def _start(clock: WrittenTimes, item: PlannedJob, beside: int) -> str:
    return "without a start" if item.start is None else clock.text(item.start, beside)


def profile_text(clock: WrittenTimes, found: PlannedArray) -> str:
    """How the starts lie between the first and the last: ``10 every 1h``; "" where all are one."""
    starts = sorted(item.start for item in found.elements if item.start is not None)
    counts = Counter(starts)
    times = sorted(counts)
    if len(times) < 2:
        return ""
    if len(times) <= _FEW:
        beside = smallest_difference(times)
        return ", ".join(f"{counts[at]} {clock.text(at, beside)}" for at in times)
    gaps = {later - earlier for earlier, later in pairwise(times)}
    sizes = {counts[at] for at in times[:-1]}
    if len(gaps) == 1 and len(sizes) == 1 and counts[times[-1]] <= counts[times[0]]:
        return f"{counts[times[0]]} every {duration_text(*gaps)}"
    quarters = [starts[(len(starts) * part + 3) // 4 - 1] for part in (1, 2, 3)]
    names = ("a quarter", "half", "three quarters")
    beside = smallest_difference(quarters)
    return ", ".join(
        f"{name} by {clock.text(at, beside)}" for name, at in zip(names, quarters, strict=True)
    )
