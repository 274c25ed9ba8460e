"""Allocations as text (TBR-06, VEW-06): ``2*hostA 3*hostB``, and other systems' own forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import groupby

#: Turns an allocation (host to slots) into the string that an integration shows.
AllocationFormatter = Callable[[Mapping[str, int]], str]

_NUMBERED = re.compile(r"^(.*?)(\d+)$")


def allocation_text(allocation: Mapping[str, int]) -> str:
    """``2*hostA 3*hostB`` in allocation order."""
    return " ".join(f"{slots}*{host}" for host, slots in allocation.items())


def lsf_allocation(allocation: Mapping[str, int]) -> str:
    """LSF's default form: ``alloc=2*hostA 3*hostB``."""
    return f"alloc={allocation_text(allocation)}"


def rms_allocation(allocation: Mapping[str, int]) -> str:
    """The form of RMS: ``rms_alloc=2*sierra[0,2-3]``, nodes of one name and slot count together."""
    groups: dict[tuple[int, str], list[int]] = {}
    plain: list[str] = []
    for host, slots in allocation.items():
        match = _NUMBERED.match(host)
        if match:
            groups.setdefault((slots, match.group(1)), []).append(int(match.group(2)))
        else:
            plain.append(f"{slots}*{host}")
    parts = []
    for (slots, name), numbers in groups.items():
        ranges = _ranges(sorted(numbers))
        single = len(numbers) == 1
        parts.append(f"{slots}*{name}{ranges}" if single else f"{slots}*{name}[{ranges}]")
    return "rms_alloc=" + " ".join([*parts, *plain])


#: Formatters by name; a library user may pass any function of the same type instead.
FORMATTERS: Mapping[str, AllocationFormatter] = {"lsf": lsf_allocation, "rms": rms_allocation}


def _ranges(numbers: list[int]) -> str:
    """``0,2-3`` for 0, 2, 3."""
    parts = []
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        parts.append(str(members[0]) if len(members) == 1 else f"{members[0]}-{members[-1]}")
    return ",".join(parts)
