"""Which term of a compound requirement has which slots of a job that runs (REQ-14).

Nothing records it. Terms take their slots in the order of the allocation, each on hosts that it
may have; where that fails, the first way to hand them out that keeps to those hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..availability.arrays import Allocation, BoolArray

#: Hosts of an allocation beyond which only the order of the allocation counts.
MOST_HOSTS = 200


def split_over_terms(
    allocation: Allocation, counts: Sequence[int], allowed: Sequence[BoolArray]
) -> list[Allocation]:
    """One part a term. counts: slots of each; allowed: hosts that each may have, [H]."""
    parts = _in_order(allocation, counts)
    if len(allocation) > MOST_HOSTS or _within(parts, allowed):
        return parts
    return _searched(list(allocation.items()), tuple(counts), allowed) or parts


def _in_order(allocation: Allocation, counts: Sequence[int]) -> list[Allocation]:
    parts: list[Allocation] = []
    left = dict(allocation)
    for count in counts:
        part: Allocation = {}
        for host in list(left):
            taken = min(count, left[host])
            if taken:
                part[host] = taken
                count -= taken
                left[host] -= taken
                if not left[host]:
                    del left[host]
        parts.append(part)
    return parts


def _within(parts: Sequence[Allocation], allowed: Sequence[BoolArray]) -> bool:
    return all(mask[host] for part, mask in zip(parts, allowed, strict=True) for host in part)


def _searched(
    hosts: list[tuple[int, int]], counts: tuple[int, ...], allowed: Sequence[BoolArray]
) -> list[Allocation] | None:
    """Host by host, the earlier terms' largest shares first; states that lead nowhere are kept."""
    dead: set[tuple[int, tuple[int, ...]]] = set()

    def step(at: int, left: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        if at == len(hosts):
            return None if any(left) else []
        if (at, left) in dead:
            return None
        host, slots = hosts[at]
        open_to = tuple(n if mask[host] else 0 for n, mask in zip(left, allowed, strict=True))
        for shares in _shares(slots, open_to):
            rest = step(at + 1, tuple(n - share for n, share in zip(left, shares, strict=True)))
            if rest is not None:
                return [shares, *rest]
        dead.add((at, left))
        return None

    rows = step(0, counts)
    if rows is None:
        return None
    return [
        {host: row[term] for (host, _), row in zip(hosts, rows, strict=True) if row[term]}
        for term in range(len(counts))
    ]


def _shares(slots: int, most: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not most:
        if slots == 0:
            yield ()
        return
    for share in range(min(slots, most[0]), -1, -1):
        for rest in _shares(slots - share, most[1:]):
            yield (share, *rest)
