"""Which term of a compound requirement holds which slots of an allocation (REQ-14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ...model.job import Job
from ...model.resreq.syntax import Compound, Simple
from .facts import Facts, TermShare, counts_of, with_reservations
from .hosts import host_faults, missing_resources
from .shape import Pairs, pairs_needed, pairs_of, ptile_of, units_used


@dataclass(frozen=True, slots=True)
class _State:
    """What a term has so far: slots still wanted, whether its one short host is used, what its
    hosts agree in (None before its first host), the compute units it uses."""

    left: int
    short: bool = False
    agreed: Pairs | None = None
    units: frozenset[str] = frozenset()


def split(
    facts: Facts, job: Job, allocation: Mapping[str, int], compound: Compound
) -> tuple[TermShare, ...] | None:
    """The first way to hand the hosts, in order, to the terms, in order; None if there is none.

    The first host must serve the first term that has slots. A search with backtracking over the
    hosts; states that led nowhere are not tried again.
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
    """Shares of the terms in one host, and what each term has after it."""
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
    """Ways to share `slots` among terms, the earlier terms' largest shares first."""
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
    """The term's state with `share` slots of the host, None if it may not have them."""
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
