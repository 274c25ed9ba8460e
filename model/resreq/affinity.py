"""What an affinity[] section comes to where only the number of cores counts (AFF-01)."""

from __future__ import annotations

import re

#: ``core``, ``core(2)``, ``core(2)*3``; ``distribute=any`` is LSF's default.
_NUMBER = r"\s*core\s*(?:\(\s*(\d+)\s*\))?\s*(?:\*\s*(\d+)\s*)?"
_CORES = re.compile(rf"{_NUMBER}(?::\s*distribute\s*=\s*any\s*)?")
#: The same with more in its parentheses or behind: ``core(2,same=socket):membind=localonly``.
_AT_LEAST = re.compile(r"\s*core\s*(?:\(\s*(\d+))?")


def cores_of_a_slot(affinity: str) -> int:
    """Cores that each slot of a job takes on its host, at least; 0 without a section.

    Threads, sockets and NUMA nodes are not counted: 0.
    """
    found = _CORES.fullmatch(affinity)
    if found:
        return int(found[1] or 1) * int(found[2] or 1)
    least = _AT_LEAST.match(affinity)
    return int(least[1] or 1) if least else 0


def asks_for_a_number(affinity: str) -> bool:
    """Whether a section asks for so many cores and nothing else, such as where they are."""
    return _CORES.fullmatch(affinity) is not None
