"""bsub command lines as job descriptions (CFG-03)."""

from __future__ import annotations

from typing import Any

from .units import Clock


def parse_bsub(line: str, clock: Clock | None = None) -> dict[str, Any]:
    return {}
