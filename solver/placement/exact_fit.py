"""Starts that hang on a limit which fills its gap to the second.

A job that ends in the very second in which something before it begins on what it holds is where it
is because the two numbers are equal. Were its limit one second longer, or did a clock differ by
one, it would not fit there: schedulers decide such a tie either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ...model.plan import PlannedJob, Unplaced
from ..availability.arrays import Allocation
from ..availability.demand import Demand
from ..availability.profile import Profile
from .earliest import Start, hold_start, still_free

#: Nothing is reserved in advance.
NOTHING: Mapping[int, str] = MappingProxyType({})
#: Names that are shown.
MOST_NAMED = 3
#: Said where the limit came before it was known of all starts.
NOT_ALL_KNOWN = "the limit came before it was looked at which starts fill their gaps to the second"
#: Enters something into a profile.
Hold = Callable[[Profile], None]


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands before the jobs behind it: a planned job, or slots that are promised.

    name: of the job. begins: from when on it holds what it holds (seconds). hosts: where. hold:
    enters it into a profile. promise: enters what it keeps until then from jobs that are not gone
    by then. place: the planned job itself; None where its limit has no say in it.
    """

    name: str
    begins: int
    hosts: Allocation
    hold: Hold
    promise: Hold | None = None
    place: tuple[Demand, Start] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        demand: Demand,
        start: Start,
        *,
        promise: Hold | None = None,
        hangs: bool = True,
    ) -> Standing:
        """A job with a place; hangs: whether its limit had a say in that."""
        return cls(
            name,
            start.time,
            start.allocation,
            lambda profile: hold_start(profile, demand, start),
            promise,
            (demand, start) if hangs else None,
        )


def exact_fits(
    base: Callable[[], Profile],
    standing: Sequence[Standing],
    reserved: Mapping[int, str] = NOTHING,
    *,
    only: Standing | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> dict[str, str]:
    """For each job that fills its gap to the second, a sentence that says so.

    base: what runs; taken only where somebody may fit exactly. standing: in the order of planning:
    each job beside those before it. reserved: what else begins when, in words. only: the one that
    is asked about; None for all. stop: asked as it goes; once it says yes, the others are left out.
    """
    begins = {item.begins for item in standing} | set(reserved)
    asked = {
        number
        for number, item in enumerate(standing)
        if (only is None or item is only) and _may_fit(item, begins)
    }
    if not asked:
        return {}
    profile = base()
    found: dict[str, str] = {}
    there: dict[int, list[Standing]] = {}
    for number, item in enumerate(standing[: max(asked) + 1]):
        if stop():
            break
        if number in asked and item.place is not None:
            demand, start = item.place
            what = _fit_of(profile, demand, start, there, reserved)
            if what:
                found[item.name] = what
        item.hold(profile)
        there.setdefault(item.begins, []).append(item)
    return found


def with_fit(item: PlannedJob | Unplaced, fits: Mapping[str, str]) -> PlannedJob | Unplaced:
    """The same with the sentence of its exact fit, by job, where it has one."""
    fit = fits.get(item.job, "")
    return replace(item, exact_fit=fit) if fit and isinstance(item, PlannedJob) else item


def _fit_of(
    profile: Profile,
    demand: Demand,
    start: Start,
    before: Mapping[int, Sequence[Standing]],
    reserved: Mapping[int, str],
) -> str:
    """The sentence for one job with its place; "" where a second more would fit there too.

    profile: what runs and what stands before it. before: the latter by when it begins.
    """
    assert demand.duration is not None
    end = start.time + demand.duration
    longer = replace(demand, duration=demand.duration + 1)
    there = before.get(end, ())
    open_then = profile.open_for(longer, start.time)
    if open_then:
        promises = [item.promise for item in there if item.promise is not None]
        beside = profile.copy() if promises else profile
        for promise in promises:
            promise(beside)
        if still_free(beside, longer, start):
            return ""
    met = [item.name for item in there if start.allocation.keys() & item.hosts.keys()]
    names = met or [item.name for item in there]
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        follower = ", ".join(names[:MOST_NAMED]) + more
    elif open_then:
        follower = reserved.get(end, "")
    else:
        follower = "its run window closes"
    return f"fills its gap to the second: 1 s more would not fit before {follower}"


def _may_fit(item: Standing, begins: set[int]) -> bool:
    """Whether something begins, or a window closes, in the second in which a job ends."""
    if item.place is None:
        return False
    demand, start = item.place
    if demand.duration is None or demand.margin:
        return False
    calendar = demand.calendar
    closes = calendar is not None and not calendar.allows(start.time, demand.duration + 1)
    return closes or start.time + demand.duration in begins
