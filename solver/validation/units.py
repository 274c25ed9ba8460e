"""Check for jobs in more compute units than necessary (PLC-07, PLC-09).

All other jobs stay in place. An allocation in fewer units is searched by trying sets of units,
largest first. It counts only if every other check reports no more for it than for the planned one:
so every report is true, but some allocations may be missed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations, islice

import numpy as np

from ...model.resreq.syntax import Cu, Simple
from . import capacity, hosts, reservations, shape, times
from .facts import SLACK, Facts, Holding, IntArray, TermShare, Violation, amount_of, method, on_host
from .hosts import may_be_closed

#: Maximum number of sets of units for one job and one agreement of hosts (same[]).
MAX_SETS = 300
#: Rules that must hold for any allocation.
_RULES = (
    shape.span_ptile,
    shape.span_block,
    shape.same,
    shape.cu_maxcus,
    shape.cu_usable_slots,
    shape.cu_balance,
    hosts.candidates,
    hosts.first_execution_host,
    hosts.one_partition,
    capacity.slots,
    capacity.amounts,
    capacity.shared,
    capacity.alone,
    capacity.limits,
    times.dispatch_windows,
)


def cu_fewest(facts: Facts) -> Iterator[Violation]:
    """Yield jobs in more units than maxcus, balance or pref=bestfit needs, given all other jobs."""
    before: set[str] | None = None
    for holding, part, cu in _bound_to_fewest(facts):
        used = shape.units_used(facts, cu, part.allocation)
        if len(used) < 2 or (cu.maxcus is not None and len(used) > cu.maxcus):
            continue
        if before is None:
            before = {str(fault) for rule in _RULES for fault in rule(facts)}
        found = _in_fewer(facts, holding, part, cu, len(used) - 1, before)
        if found is not None:
            fewer = len(shape.units_used(facts, cu, found))
            there = " ".join(f"{slots}*{host}" for host, slots in found.items())
            text = f"it uses {len(used)} compute units, {fewer} would do: {there}"
            yield Violation(
                "cu-fewest", f"job {holding.job.id}: {text}", holding.job.id, "", holding.start
            )


def _bound_to_fewest(facts: Facts) -> Iterator[tuple[Holding, TermShare, Cu]]:
    for holding in facts.planned:
        if not isinstance(holding.requirement, Simple):
            continue  # A term may need more units because of the other terms.
        if next(shape.slot_count(replace(facts, planned=[holding])), None) is not None:
            continue
        for part in holding.parts:
            cu = part.requirement.cu
            if cu is None or not part.allocation:
                continue
            # A future allocation uses the configuration's order of the units (TBR-13).
            best_fit = cu.pref == "bestfit" and holding.start == facts.instance.now
            if cu.maxcus is not None or cu.balance or best_fit:
                yield holding, part, cu


def _in_fewer(
    facts: Facts, holding: Holding, part: TermShare, cu: Cu, most: int, before: set[str]
) -> dict[str, int] | None:
    """Return an allocation in at most `most` units, or None.

    before: violations of the plan as it is.
    """
    known = facts.units(shape.unit_type(facts, cu))
    wanted = sum(part.allocation.values())
    free = facts.columns().free_beside(holding.job.id, holding.start)
    if facts.instance.partitions:
        side = hosts.Sides.of(facts).open_with(part.allocation)
        free = np.where([host in side for host in facts.hosts], free, 0)
    within = known.sums(free)
    if int(np.sort(within)[::-1][:most].sum()) < wanted:
        return None
    # A single unit must have enough free slots for the whole job.
    worth = known.hosts_of(within >= (wanted if most == 1 else 1), len(free))
    slots_of = _slots_of(facts, holding, part, np.flatnonzero(worth & (free > 0)))
    for group in _agreeing(facts, part, slots_of):
        here = sorted({number for host in group for number in known.of_host[host]})
        kept = [{h: group[h] for h in known.units[at].hosts if h in group} for at in here]
        kept = sorted((unit for unit in kept if unit), key=lambda unit: -sum(unit.values()))
        sets = chain.from_iterable(combinations(kept, count) for count in range(1, most + 1))
        for chosen in islice(sets, MAX_SETS):
            facts.poll()
            found = _place(facts, holding, part, cu, chosen, wanted)
            if found is not None and _keeps_the_rules(facts, holding, found, before):
                return found
    return None


def _agreeing(
    facts: Facts, part: TermShare, slots_of: Mapping[str, int]
) -> Iterator[Mapping[str, int]]:
    """Yield the hosts in groups that agree by same[]."""
    names = part.requirement.same
    if not names:
        yield slots_of
        return
    needed = shape.pairs_needed(facts, names)
    pairs = {host: shape.pairs_of(facts, names, host) for host in slots_of}
    for kind in dict.fromkeys(
        frozenset(some)
        for own in pairs.values()
        for some in combinations(sorted(own, key=str), needed)
    ):
        yield {host: slots for host, slots in slots_of.items() if kind <= pairs[host]}


def _slots_of(facts: Facts, holding: Holding, part: TermShare, where: IntArray) -> dict[str, int]:
    """Return the slots that the job could have over its duration on each host with capacity."""
    names = list(facts.hosts)
    rules = [
        rule
        for rule in capacity.rules_of(facts, holding.job)
        if rule.each_host and rule.what == "slots"
    ]
    held = _held(facts, holding)
    found: dict[str, int] = {}
    for host in (names[at] for at in where):
        facts.poll()
        if host in held and part.reservations:
            continue  # Memory may be reserved together with the slots.
        if not times.takes_starts(facts, host, holding.start) or may_be_closed(
            facts, holding, host
        ):
            continue
        instants = _instants(facts, holding, host)
        slots = min(_free(facts, holding, part, host, time, rules) for time in instants)
        slots = min(slots, _free(facts, holding, part, host, holding.start, rules) - held[host])
        if slots > 0 and not [
            *hosts.host_faults(facts, holding.job, part.requirement, host),
            *hosts.missing_resources(facts, part, host),
        ]:
            found[host] = slots
    return found


def _held(facts: Facts, holding: Holding) -> Counter[str]:
    """Return the slots of each host that other jobs of the plan reserve at this start."""
    found: Counter[str] = Counter()
    if holding.start == facts.instance.now:
        for entry in facts.plan.reservations:
            if entry.job != holding.job.id:
                found.update(entry.reserved)
    return found


def _instants(facts: Facts, holding: Holding, host: str) -> set[int]:
    """Return instants of the job's run at which the host may have less free capacity than
    before.
    """
    begun = {other.start for other in facts.holdings_on(host)}
    every = facts.instance.advance_reservations
    windows = reservations.minded(facts) if every else ()
    begun |= {window.start for window in windows if host in window.slots}
    return {holding.start, *(time for time in begun if holding.active(time))}


def _free(
    facts: Facts,
    holding: Holding,
    part: TermShare,
    host: str,
    time: int,
    rules: Sequence[capacity.Rule],
) -> int:
    """Return the free slots of a host; rules: those that count the job's slots on each host."""
    others = [
        other
        for other in facts.holdings_on(host)
        if other.job.id != holding.job.id and other.active(time)
    ]
    if others and holding.job.exclusive:
        return 0
    free = reservations.free_slots(facts, holding.job, host, time, others)
    for item in part.reservations:
        have = amount_of(facts.hosts[host], item.resource)
        held = item.planned_at(time - holding.start)
        counted = method(facts, item, "PER_HOST")
        if have is None or held <= 0 or counted == "PER_JOB":
            continue
        left = have - sum(on_host(facts, other, item.resource, host, time) for other in others)
        if counted == "PER_SLOT":
            free = min(free, math.floor((left + SLACK) / held))
        elif left + SLACK < held:
            return 0
    for rule in rules:
        if rule.on(host):
            most = capacity.most_on(facts, rule, host)
            covered = sum(other.allocation[host] for other in others if rule.covers(other.job))
            free = min(free, math.floor(most - covered + SLACK))
    return free


def _place(
    facts: Facts,
    holding: Holding,
    part: TermShare,
    cu: Cu,
    chosen: tuple[Mapping[str, int], ...],
    wanted: int,
) -> dict[str, int] | None:
    """Return this many slots in these units, evenly under balance; other rules are checked
    later.
    """
    span = part.requirement.span
    blocks = {h: shape.ptile_of(facts, facts.hosts[h], span) for unit in chosen for h in unit}
    fill = partial(_filled, blocks)
    if span is not None and span.block is not None:
        fill = partial(_packed, span.block)
    if span is not None and span.hosts == 1:
        return next(
            ({host: wanted} for unit in chosen for host, slots in unit.items() if slots >= wanted),
            None,
        )
    marked = facts.expand([request.name for request in holding.job.hosts if request.first])
    chosen = tuple(
        dict(sorted(unit.items(), key=lambda item: item[0] not in marked)) for unit in chosen
    )
    if not cu.balance:
        together = {host: slots for unit in chosen for host, slots in unit.items()}
        return fill(together, wanted)
    sizes = {block for block in blocks.values() if block is not None}
    if len(sizes) > 1 or (sizes and len(sizes) != len(set(blocks.values()))):
        return None
    size = sizes.pop() if sizes else (span.block if span is not None else None) or 1
    for last in range(len(chosen)):
        if (found := _even(chosen, fill, size, wanted, last)) is not None:
            return found
    return None


def _even(
    chosen: tuple[Mapping[str, int], ...],
    fill: Callable[[Mapping[str, int], int], dict[str, int] | None],
    size: int,
    wanted: int,
    last: int,
) -> dict[str, int] | None:
    """Return blocks for each unit, as equal as possible; the smaller one in unit `last`."""
    whole, rest = divmod(wanted, size)
    low, more = divmod(whole + (rest > 0), len(chosen))
    # The units with the most free slots take the extra blocks.
    widest = sorted(
        range(len(chosen)), key=lambda at: -sum(slots // size for slots in chosen[at].values())
    )
    found: dict[str, int] = {}
    for at, unit in enumerate(chosen):
        count = low + (widest.index(at) < more)
        slots = count * size - (size - rest if rest and at == last else 0)
        filled = fill(unit, slots) if slots > 0 else None
        if filled is None:
            return None
        found |= filled
    return found


def _packed(block: int, slots_of: Mapping[str, int], wanted: int) -> dict[str, int] | None:
    """Return as many whole blocks on each host as fit, and the rest where it still fits."""
    found: dict[str, int] = {}
    for host, slots in slots_of.items():
        take = min(slots, wanted) // block * block
        found[host] = take
        wanted -= take
    if wanted >= block:
        return None
    last = next((h for h, n in slots_of.items() if n - found[h] >= wanted), None)
    if last is None:
        return None
    found[last] += wanted
    return {host: slots for host, slots in found.items() if slots}


def _filled(
    blocks: Mapping[str, int | None], slots_of: Mapping[str, int], wanted: int
) -> dict[str, int] | None:
    """Return whole blocks on the first hosts that fit, and the rest on one more."""
    found: dict[str, int] = {}
    for host, slots in slots_of.items():
        take = min(slots, wanted) if blocks[host] is None else blocks[host] or 0
        if 0 < take <= min(slots, wanted):
            found[host] = take
            wanted -= take
    if wanted:
        spare = (
            h for h, n in slots_of.items() if h not in found and min(n, blocks[h] or n) >= wanted
        )
        last = next(spare, None)
        if last is None:
            return None
        found[last] = wanted
    return found


def _keeps_the_rules(
    facts: Facts, holding: Holding, found: Mapping[str, int], before: set[str]
) -> bool:
    """Return whether the plan with the moved job breaks no rule that it keeps unmoved."""
    marked = facts.expand([request.name for request in holding.job.hosts if request.first])
    ordered = dict(sorted(found.items(), key=lambda item: item[0] not in marked))
    moved = facts.with_allocation(holding.job.id, ordered)
    return all(str(fault) in before for rule in _RULES for fault in rule(moved))
