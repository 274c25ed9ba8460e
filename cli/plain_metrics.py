"""A metric of a simulation or replay as text."""

from __future__ import annotations

from ..model.time_text import duration_text


def plain_metric(name: str, value: object) -> str:
    """Times in seconds with 3 decimals, from a minute on also as people say them; ratios with 4."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return str(value)
    if not name.endswith(("wait", "error")):
        return f"{value:.4f}"
    said = f"  ({duration_text(round(value))})" if value >= 60 else ""
    return f"{value:.3f} s{said}"
