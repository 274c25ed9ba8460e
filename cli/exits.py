"""Exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a command's exit code says.

    DONE. FAILED: infeasible under --strict, or a requirement string that is refused. BAD_INPUT.
    REFUSED: there is a plan, and the judge objects to it. FAULT: of slotwise itself (as sysexits
    has it). OUT_OF_MEMORY: there was too little, or the limit came (sysexits' OSERR).
    STOPPED: early, with a partial answer. INTERRUPTED, TERMINATED: by Ctrl-C or SIGTERM before
    there was any answer (128 and the number of the signal, as shells do).
    """

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    STOPPED = 3
    REFUSED = 4
    FAULT = 70
    OUT_OF_MEMORY = 71
    INTERRUPTED = 130
    TERMINATED = 143
