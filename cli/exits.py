"""Exit codes of every command (design §7)."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """DONE; FAILED: a check failed, or infeasible under --strict; BAD_INPUT; STOPPED: partial."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    STOPPED = 3
