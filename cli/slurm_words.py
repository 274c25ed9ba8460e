"""Changes of a request in the words of sbatch, for instances of Slurm."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.instance import Instance

#: Words of bsub, and those of sbatch for them.
_WORDS = (
    (re.compile(r"-W (\d+):(\d\d)\b"), r"-t \1:\2:00"),
    (re.compile(r"(?<!\S)-q (\S+)"), r"-p \1"),
    (re.compile(r"without -x\b"), "without whole nodes (--exclusive, or no --mem)"),
    (re.compile(r"span\[ptile=(\d+)\]"), r"--ntasks-per-node=\1"),
    (re.compile(r"without span\[\]"), "without --ntasks-per-node"),
)


def change_text(instance: Instance, change: str) -> str:
    """Return a change of a request in the words of its scheduler: for Slurm ``-t 0:04:00``."""
    if not instance.params.of_slurm:
        return change
    for ours, theirs in _WORDS:
        change = ours.sub(theirs, change)
    return change
