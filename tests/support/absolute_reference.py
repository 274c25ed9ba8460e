"""Absolute priority by the formula as it is printed, with nothing of the product.

Of FS, MEM and SWAP nothing is known: a queue that weighs them, with shares or amounts, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PART_OF = {
    **dict.fromkeys(("PROC", "MEM", "SWAP"), "RSRC"),
    **dict.fromkeys(("JPRIORITY", "QPRIORITY", "APP", "USER", "UG"), "WORK"),
}
_SECONDS = {"s": 1, "m": 60, "h": 3600, "": 3600}


def sections(text: str) -> dict[str, dict[str, str]]:
    """``WEIGHT[[JPRIORITY, 1]] LIMIT[[WORK, 8]]`` as plain data."""
    return {
        name: dict(re.findall(r"\[(\w+), ?([^\]]+)\]", inside))
        for name, inside in re.findall(r"([A-Z_]+) ?\[((?:\[[^\]]*\] ?)+)\]", text)
    }


def value(text: str, metrics: Mapping[str, float], pended: int) -> float:
    """What the formula gives."""
    given = sections(text)
    waits = {
        name: float(time.rstrip("smh")) * _SECONDS[time[-1] if time[-1] in "smh" else ""]
        for name, time in given.get("GRACE_PERIOD", {}).items()
    }
    caps = {name: float(number) for name, number in given.get("LIMIT", {}).items()}

    def capped(name: str, number: float) -> float:
        cap = caps.get(name, float("inf"))
        return max(-cap, min(cap, number))

    sums: dict[str, float] = {}
    for name, weight in given["WEIGHT"].items():
        factor = _PART_OF.get(name)
        if factor is None or pended < waits.get(name, 0) or pended < waits.get(factor, 0):
            continue
        sums[factor] = sums.get(factor, 0.0) + capped(name, float(weight) * metrics[name])
    outer = {name: float(given["WEIGHT"].get(name, 1)) for name in sums}
    return min(1e6, sum(capped(name, outer[name] * inside) for name, inside in sums.items()))


def order(instance: Any) -> list[Any]:
    """The pending jobs by queue, absolute priority or job priority, and submission.

    Of equal queues those without absolute priority are one, at the place of the first of them.
    """
    queues = {queue.name: queue for queue in instance.queues}
    parent = {
        name: queue
        for queue in instance.queues
        if queue.aps_priority is not None
        for name in (queue.name, *queue.queue_group)
    }

    place_of = {queue.name: index for index, queue in enumerate(instance.queues)}

    def grown(job: Any) -> int:
        growth = instance.params.job_priority_over_time
        if growth is None or not instance.params.max_user_priority:
            return int(job.priority)
        steps = max(0, instance.now - job.submit) // (60 * growth[1])
        return int(job.priority + growth[0] * steps)

    def place(job: Any) -> tuple[Any, ...]:
        own, queue = grown(job), queues[job.queue]
        head = parent.get(job.queue)
        if head is None:
            equal = [q.name for q in instance.queues if q.priority == queue.priority]
            first = min(place_of[name] for name in equal if name not in parent)
            return (-queue.priority, first, -own, job.queue_position)
        text = str(head.aps_priority)
        assert not head.user_shares or "FS" not in text
        assert "MEM" not in text
        assert "SWAP" not in text
        group = [queues[name] for name in (head.name, *head.queue_group)]
        most = max(each.priority for each in group)
        first = min(place_of[each.name] for each in group if each.priority == most)
        if job.aps is not None and job.aps.kind == "system":
            return (-most, first, (0, -job.aps.value), job.submit)
        metrics = {
            "PROC": job.slots if job.max_slots is None else job.max_slots,
            "JPRIORITY": own,
            "QPRIORITY": queue.priority,
        }
        worth = value(text, metrics, max(0, instance.now - job.submit))
        worth += job.aps.value if job.aps is not None else 0.0
        return (-most, first, (1, -worth), job.submit)

    waiting: Sequence[Any] = instance.pending
    return sorted(waiting, key=place)
