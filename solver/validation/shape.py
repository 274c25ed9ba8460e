"""The shape of an allocation: slot count, span, same and compute units (PLC rows)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ...model.cluster import ComputeUnit, Host
from ...model.job import Job
from ...model.resreq.syntax import Compound, Cu, Simple, Span
from .facts import (
    Facts,
    Holding,
    TermShare,
    Violation,
    counts_of,
    with_reservations,
)
from .hosts import host_faults, missing_resources, static_value

#: Pairs of a resource and its value that the hosts of an allocation share.
Pairs: TypeAlias = frozenset[tuple[str, float | str]]


def slot_count(facts: Facts) -> Iterator[Violation]:
    """Yield jobs outside -n min,max; balance ignores the maximum, terms have their own counts."""
    for holding in facts.planned:
        least, most = holding.job.slots, holding.job.most_slots
        if isinstance(holding.requirement, Compound):
            least = most = sum(counts_of(holding.job, holding.requirement))
        elif _balanced(holding):
            most = least
        if not least <= holding.slots <= most:
            asked = str(least) if least == most else f"{least} to {most}"
            yield holding.violation(
                "slots-asked", f"it has {holding.slots} slots, but -n requests {asked}"
            )


def split_terms(facts: Facts) -> Iterator[Violation]:
    """Yield rejected requirements, missing alternatives and compound ones that cannot be split
    (REQ-14).
    """
    for holding in facts.planned:
        if holding.fault:
            yield holding.violation("requirement", holding.fault)


def _balanced(holding: Holding) -> bool:
    requirement = holding.requirement
    return isinstance(requirement, Simple) and bool(requirement.cu and requirement.cu.balance)


def _parts(facts: Facts) -> Iterator[tuple[Holding, TermShare]]:
    for holding in facts.planned:
        facts.poll()
        for part in holding.parts:
            if part.allocation:
                yield holding, part


def ptile_of(facts: Facts, host: Host, span: Span | None) -> int | None:
    """Return the slots that span[ptile] requires on the host, None without ptile (REQ-18).

    '!' without MXJ: LSF 7 takes 1; 10.1 ignores it, so if other hosts define MXJ it takes the slots
    of the host.
    """
    if span is None:
        return None
    for name, number in span.ptile_by:
        if name in (host.type, host.model):
            return number
    if span.ptile_max:
        if host.mxj_defined or facts.instance.params.dialect == "7":
            return host.slots if host.mxj_defined else 1
        known = any(other.mxj_defined for other in facts.hosts.values())
        return host.slots if known or span.ptile_by else None
    return span.ptile


def span_one_host(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of span[hosts=1]: all slots on one host (PLC-03)."""
    for holding, part in _parts(facts):
        span = part.requirement.span
        if span is not None and span.hosts == 1 and len(part.allocation) > 1:
            hosts = " ".join(part.allocation)
            yield holding.violation("span", f"span[hosts=1] allows one host, it holds {hosts}")


def span_ptile(facts: Facts) -> Iterator[Violation]:
    """Yield jobs without exactly ptile slots on each host but one, which may have fewer
    (PLC-02).
    """
    for holding, part in _parts(facts):
        short: list[str] = []
        for host, slots in part.allocation.items():
            block = ptile_of(facts, facts.hosts[host], part.requirement.span)
            if block is None:
                continue
            if slots > block:
                text = f"span[ptile] allows {block} slots on host {host}, it holds {slots}"
                yield holding.violation("span", text, host)
            elif slots < block:
                short.append(host)
        if len(short) > 1:
            hosts = " ".join(short)
            text = f"span[ptile] allows one host with fewer slots than the others, not {hosts}"
            yield holding.violation("span", text)


def span_block(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of span[block=n]: multiples of n on every host except at most one."""
    for holding, part in _parts(facts):
        block = part.requirement.span.block if part.requirement.span is not None else None
        odd = [host for host, slots in part.allocation.items() if block and slots % block]
        if len(odd) > 1:
            text = f"span[block={block}] allows one host with part of a block, not {' '.join(odd)}"
            yield holding.violation("span", text)


def pairs_of(facts: Facts, names: tuple[str, ...], host: str) -> Pairs:
    """Return the resources of `names` that the host has, with their values."""
    found = ((name, static_value(facts, name, facts.hosts[host])) for name in names)
    return frozenset((name, value) for name, value in found if value is not None)


def pairs_needed(facts: Facts, names: tuple[str, ...]) -> int:
    """Return in how many resources hosts must agree: all if every host has all, else 1 (PLC-04)."""
    if names not in facts.same_needs:
        count = len(set(names))
        everywhere = all(len(pairs_of(facts, names, host)) == count for host in facts.hosts)
        facts.same_needs[names] = count if everywhere else 1
    return facts.same_needs[names]


def same(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of same[…]: hosts agree in every resource, or in one if some hosts lack
    any (PLC-04).
    """
    for holding, part in _parts(facts):
        names = part.requirement.same
        if not names:
            continue
        shared = frozenset.intersection(*(pairs_of(facts, names, host) for host in part.allocation))
        if len(shared) < pairs_needed(facts, names):
            text = f"same[{':'.join(names)}] is broken by hosts {' '.join(part.allocation)}"
            yield holding.violation("same", text)


def unit_type(facts: Facts, cu: Cu) -> str:
    """Return the unit type of cu[], the cluster's default type if it names none."""
    cluster = facts.instance.cluster
    finest = cluster.unit_types[0] if cluster.unit_types else ""
    return cu.type or cluster.default_unit_type or finest


def units_used(
    facts: Facts, cu: Cu, allocation: Mapping[str, int]
) -> list[tuple[ComputeUnit, list[str]]]:
    """Return the compute units of an allocation with their hosts, in allocation order."""
    known = facts.units(unit_type(facts, cu))
    used: dict[int, list[str]] = {}
    for host in allocation:
        for number in known.of_host.get(host, ()):
            used.setdefault(number, []).append(host)
    return [(known.units[number], hosts) for number, hosts in used.items()]


def _cu_parts(
    facts: Facts,
) -> Iterator[tuple[Holding, Cu, dict[str, list[str]], Mapping[str, int]]]:
    for holding, part in _parts(facts):
        cu = part.requirement.cu
        if cu is not None:
            used = units_used(facts, cu, part.allocation)
            names = {unit.name: hosts for unit, hosts in used}
            yield holding, cu, names, part.allocation


def cu_membership(facts: Facts) -> Iterator[Violation]:
    """Yield hosts outside every unit of the type, which are not candidates (PLC-05)."""
    for holding, cu, units, allocation in _cu_parts(facts):
        inside = {host for hosts in units.values() for host in hosts}
        for host in allocation:
            if host not in inside:
                text = f"host {host} is in no compute unit of type {unit_type(facts, cu)}"
                yield holding.violation("cu", text, host)


def cu_maxcus(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of cu[maxcus=k]: at most k units (PLC-07)."""
    for holding, cu, units, _ in _cu_parts(facts):
        if cu.maxcus is not None and len(units) > cu.maxcus:
            text = f"it uses {len(units)} compute units ({' '.join(units)}), maxcus is {cu.maxcus}"
            yield holding.violation("cu", text)


def cu_usable_slots(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of cu[usablecuslots=k]: k slots in each unit except at most one
    (PLC-08).
    """
    for holding, cu, units, allocation in _cu_parts(facts):
        least = cu.usablecuslots
        if least is None:
            continue
        slots = {unit: sum(allocation[host] for host in hosts) for unit, hosts in units.items()}
        short = [f"{count} in {unit}" for unit, count in slots.items() if count < least]
        if len(short) > 1:
            text = (
                f"usablecuslots={least} allows one unit with fewer slots, it has {', '.join(short)}"
            )
            yield holding.violation("cu", text)


def cu_balance(facts: Facts) -> Iterator[Violation]:
    """Yield a violation of cu[balance]: counts of units differ by at most 1 (PLC-09).

    The counts are slots, hosts with a ptile above 1, or blocks under span[block].
    """
    for holding, cu, units, allocation in _cu_parts(facts):
        if not cu.balance:
            continue
        requirement = holding.requirement
        span = requirement.span if isinstance(requirement, Simple) else None
        by_hosts = any((ptile_of(facts, facts.hosts[host], span) or 0) > 1 for host in allocation)
        block = (span.block if span is not None else None) or 1
        counts = {
            unit: len(hosts) if by_hosts else sum(-(-allocation[host] // block) for host in hosts)
            for unit, hosts in units.items()
        }
        if counts and max(counts.values()) - min(counts.values()) > 1:
            shares = ", ".join(f"{count} in {unit}" for unit, count in counts.items())
            what = "hosts" if by_hosts else "slots" if block == 1 else "blocks"
            text = f"balance allows the units to differ by 1 in {what}, they hold {shares}"
            yield holding.violation("cu", text)


def cu_exclusive_allowed(facts: Facts) -> Iterator[Violation]:
    """Yield cu[excl] jobs whose queue lacks EXCLUSIVE=CU[type] of this or a coarser type
    (PLC-11).
    """
    types = facts.instance.cluster.unit_types
    for holding, cu, _, _ in _cu_parts(facts):
        if not cu.excl:
            continue
        wanted = unit_type(facts, cu)
        setting = facts.queues[holding.job.queue].exclusive
        allowed = setting[3:-1] if setting.startswith("CU[") else ""
        order = {name: rank for rank, name in enumerate(types)}
        if allowed not in order or order.get(wanted, len(types)) > order[allowed]:
            text = f"cu[excl] of type {wanted} is not allowed by EXCLUSIVE={setting}"
            yield holding.violation("exclusive", f"{text} of queue {holding.job.queue}")


def host_exclusive_allowed(facts: Facts) -> Iterator[Violation]:
    """Yield -x jobs whose queue lacks EXCLUSIVE=Y or CU[type] (PLC-13); -nnodes needs neither."""
    for holding in facts.planned:
        setting = facts.queues[holding.job.queue].exclusive
        if holding.job.whole_hosts:
            continue
        if holding.job.exclusive and setting != "Y" and not setting.startswith("CU["):
            text = f"-x is not allowed by EXCLUSIVE={setting} of queue {holding.job.queue}"
            yield holding.violation("exclusive", text)


def resizable(facts: Facts) -> Iterator[Violation]:
    """Yield resizable jobs with cu[] or a compound requirement (PLC-14, PAI-11)."""
    for holding in facts.planned:
        if holding.job.resizable and (
            any("cu[" in text for text in holding.job.res_req)
            or isinstance(holding.requirement, Compound)
        ):
            text = "a resizable job (-ar) takes no cu[] and no compound requirement"
            yield holding.violation("resizable", text)


def blocked_hosts(facts: Facts, holding: Holding) -> tuple[frozenset[str], str]:
    """Return the hosts that the job shares with no other, with the rule (PLC-11, PLC-13)."""
    requirement = holding.requirement
    if isinstance(requirement, Simple) and requirement.cu is not None and requirement.cu.excl:
        units = units_used(facts, requirement.cu, holding.allocation)
        return frozenset(host for unit, _ in units for host in unit.hosts), "cu[excl]"
    if holding.job.exclusive:
        return frozenset(holding.allocation), "-x"
    return frozenset(), ""


@dataclass(frozen=True, slots=True)
class _State:
    """Search state of a term.

    Slots still needed, whether its one short host is used, the values its hosts agree in (None
    before its first host), and the compute units it uses.
    """

    #: Slots still needed.
    left: int
    short: bool = False
    #: Resource values in which the hosts agree, None before the first host.
    agreed: Pairs | None = None
    units: frozenset[str] = frozenset()


def split(
    facts: Facts, job: Job, allocation: Mapping[str, int], compound: Compound
) -> tuple[TermShare, ...] | None:
    """Return the first assignment of the hosts, in order, to the terms, in order; None if there is
    none.

    The first host must serve the first term that has slots. The search backtracks over the hosts
    and does not repeat failed states.
    """
    counts = counts_of(job, compound)
    terms = [term.requirement for term in compound.terms]
    if sum(counts) != sum(allocation.values()):
        return None
    hosts = list(allocation)
    start = tuple(_State(count) for count in counts)
    path: list[tuple[int, ...]] = []
    levels = [_moves(facts, job, terms, hosts, 0, allocation, start)]
    dead: set[tuple[int, tuple[_State, ...]]] = set()
    while len(path) < len(hosts):
        step = next((move for move in levels[-1] if (len(levels), move[1]) not in dead), None)
        if step is None:
            levels.pop()
            if not levels:
                return None
            path.pop()
            continue
        shares, states = step
        dead.add((len(levels), states))
        path.append(shares)
        levels.append(_moves(facts, job, terms, hosts, len(path), allocation, states))
    return tuple(
        with_reservations(
            TermShare(
                {host: row[index] for host, row in zip(hosts, path, strict=True) if row[index]},
                term,
            )
        )
        for index, term in enumerate(terms)
    )


def _moves(
    facts: Facts,
    job: Job,
    terms: list[Simple],
    hosts: list[str],
    position: int,
    allocation: Mapping[str, int],
    states: tuple[_State, ...],
) -> Iterator[tuple[tuple[int, ...], tuple[_State, ...]]]:
    """Yield shares of the terms in one host, with the rest of each term."""
    if position == len(hosts):
        return
    host = hosts[position]
    for shares in _shares(allocation[host], tuple(state.left for state in states)):
        if position == 0:
            opener = next((index for index, state in enumerate(states) if state.left), 0)
            if not shares[opener]:
                continue
        after = tuple(
            _after(facts, job, term, host, share, state)
            for term, share, state in zip(terms, shares, states, strict=True)
        )
        if None not in after:
            yield shares, tuple(state for state in after if state is not None)


def _shares(slots: int, left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the ways to divide `slots` among terms, largest shares of earlier terms first."""
    if not left:
        if slots == 0:
            yield ()
        return
    for share in range(min(slots, left[0]), -1, -1):
        for rest in _shares(slots - share, left[1:]):
            yield (share, *rest)


def _after(
    facts: Facts, job: Job, term: Simple, host: str, share: int, state: _State
) -> _State | None:
    """Return the term's state with `share` slots of the host, None if that is not allowed."""
    if share == 0:
        return state
    if next(host_faults(facts, job, term, host), None) is not None:
        return None
    part = with_reservations(TermShare({host: share}, term))
    if next(missing_resources(facts, part, host), None) is not None:
        return None
    if term.span is not None and term.span.hosts == 1 and share != state.left:
        return None
    short = state.short
    block = ptile_of(facts, facts.hosts[host], term.span)
    if block is not None and share > block:
        return None
    block = block or (term.span.block if term.span is not None else None)
    if block is not None and share % block:
        if short:
            return None
        short = True
    units = state.units
    if term.cu is not None:
        units = units | {unit.name for unit, _ in units_used(facts, term.cu, {host: share})}
        if not units or (term.cu.maxcus is not None and len(units) > term.cu.maxcus):
            return None
    agreed = state.agreed
    if term.same:
        pairs = pairs_of(facts, term.same, host)
        agreed = pairs if agreed is None else agreed & pairs
        if len(agreed) < pairs_needed(facts, term.same):
            return None
    return replace(state, left=state.left - share, short=short, agreed=agreed, units=units)
