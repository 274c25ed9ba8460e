"""Versions of Slurm, and what its select plugin does by version."""

from __future__ import annotations

import re


def version_number(text: str) -> tuple[int, int, int]:
    """Return (22, 5, 8) for ``22.05.8``; (22, 5, 0) if the version is unknown."""
    found = re.match(r"(\d{2})\.(\d{2})(?:\.(\d{1,3}))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (22, 5, 0)


def splits_tasks(version: tuple[int, int, int]) -> bool:
    """Whether a node counts with free CPUs that are no whole task (22.05.7 to 23.02.4)."""
    return (22, 5, 7) <= version < (23, 2, 5)
