"""LSF's own parameter texts, written: the reverse of :mod:`.text` and :mod:`.names`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..cluster import Gpus
from ..job import HostRequest
from .units import format_duration, format_size, size_text


def requests(hosts: Iterable[HostRequest], excluded: Iterable[str] = ()) -> str | None:
    """Hosts of -m or HOSTS: ``hostA+2 hg1! ~hostB``."""
    words = [
        f"{host.name}{'!' * host.first}{f'+{host.preference}' if host.preference else ''}"
        for host in hosts
    ]
    return " ".join([*words, *(f"~{name}" for name in excluded)]) or None


def bounds(limits: Mapping[str, tuple[float, float]]) -> str | None:
    """RESRSV_LIMIT: ``[mem=30,100]``, MB for sizes."""
    pairs = ((name, *limits[name]) for name in sorted(limits))
    return " ".join(f"[{n}={bound(low)},{bound(high)}]" for n, low, high in pairs) or None


def bound(megabytes: float) -> str:
    """One bound of RESRSV_LIMIT, exactly."""
    whole = megabytes == int(megabytes) and megabytes < 1e15
    return str(int(megabytes)) if whole else size_text(megabytes)


def run_limit(default: int | None, most: int | None) -> str | None:
    """RUNLIMIT ``[default] maximum``, of seconds."""
    longest = minutes(most)
    return longest if default is None else f"{minutes(default)} {longest or '-'}"


def processor_limit(slots: tuple[int, int | None, int | None] | None) -> str | None:
    """PROCLIMIT ``[minimum [default]] maximum``."""
    if slots is None:
        return None
    least, default, most = slots
    numbers = (least, default, most or "-")
    return " ".join(str(number) for number in numbers if number is not None)


def gpus(gpus: Gpus | None) -> Any:
    """The GPUs of a host, a number where that says it all."""
    if gpus is None or not (gpus.model or gpus.mem is not None):
        return None if gpus is None else gpus.count
    found = {"count": gpus.count, "model": gpus.model or None, "mem": gpus.mem}
    if gpus.mem is not None:
        found["mem"] = format_size(gpus.mem)
    return {name: value for name, value in found.items() if value is not None}


def cycles(cycles: int | None) -> str | None:
    """``MAX_RESERVE_TIME[n]``."""
    return None if cycles is None else f"MAX_RESERVE_TIME[{cycles}]"


def preemption(
    preemptive: tuple[str, ...] | None, preemptable: tuple[str, ...] | None
) -> str | None:
    """PREEMPTION of a queue."""
    lists = (("PREEMPTIVE", preemptive), ("PREEMPTABLE", preemptable))
    words = [
        word if names == ("*",) else f"{word}[{' '.join(names)}]"
        for word, names in lists
        if names is not None
    ]
    return " ".join(words) or None


def requirements(texts: tuple[str, ...]) -> str | list[str] | None:
    """One text as it is, empty or not."""
    return texts[0] if len(texts) == 1 else list(texts) or None


def minutes(seconds: int | None) -> str | None:
    """A duration with its unit, since LSF's parameters count in minutes."""
    return None if seconds is None else format_duration(seconds)
