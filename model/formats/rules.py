"""What must hold across an instance: references, capacities, LSF's validity rules (CFG-02)."""

from __future__ import annotations

from ..instance import Instance
from .finding import Finding


def check(instance: Instance) -> list[Finding]:
    """Everything that does not fit together, at its place in a document of this instance."""
    return []
