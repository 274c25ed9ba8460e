"""Rules that an estimate leaves out, by name: what may make the loop start jobs at other times."""

from __future__ import annotations

from ...model.instance import Instance


def left_out_of_estimates(instance: Instance) -> tuple[str, ...]:
    """One sentence of all rules of the instance that its next cycle cannot foresee, or none."""
    found = tuple(_names(instance))
    return (f"not considered: {'; '.join(found)}",) if found else ()


def _names(instance: Instance) -> list[str]:
    return []
