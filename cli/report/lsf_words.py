"""LSF's terms, explained for readers who use another scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: A pattern, the word that it stands for, and what that is; first those of requirements.
_WORDS: tuple[tuple[str, str, str], ...] = (
    (
        r"\bcu\[[^\]]*",
        "cu[…]",
        "which compute units (enclosures, racks) it may use; maxcus=1: all its slots in one",
    ),
    (r"\bptile=", "span[ptile=N]", "N slots on each host"),
    (r"span\[hosts=1\]", "span[hosts=1]", "all slots on one host"),
    (r"\bsame\[", "same[…]", "hosts that are alike in this"),
    (r"\brusage\[", "rusage[…]", "memory and other resources that are reserved for it"),
    (r"\bselect\[", "select[…]", "which hosts will do"),
    (r"\baffinity\[", "affinity[…]", "cores to which it is bound"),
    (r"\bSLOT_RESERVE\b", "SLOT_RESERVE", "slots are kept for a waiting job until it has enough"),
    (r"\bRESOURCE_RESERVE\b", "RESOURCE_RESERVE", "the same of slots and memory"),
    (r"\bBACKFILL\b", "BACKFILL", "short jobs may use slots that are kept for others"),
    (r"\bslot pool\b", "slot pool", "slots that some queues share by percentage"),
    (r"\blsb\.queues\b", "lsb.queues", "the file of the queues (Slurm: partitions)"),
    (r"\blsb\.params\b", "lsb.params", "the file of the scheduler’s settings"),
    (r"\blsb\.users\b", "lsb.users", "the file of users’ limits"),
    (r"\blsb\.resources\b", "lsb.resources", "the file of limits"),
    (r"\bbadmin reconfig\b", "badmin reconfig", "LSF reads its files again"),
    (r"\bbmod\b", "bmod", "changes a waiting job (Slurm: scontrol update)"),
    (r"(?<=bmod) -Rn\b", "-Rn", "without its requirement"),
    (r"(?<=bmod) -n\b", "-n", "its slots"),
    (r"(?<=bmod) -W\b", "-W", "its time limit, hours:minutes"),
    (r"\bbswitch\b", "bswitch", "moves a job to another queue"),
    (r"\bbrequeue\b", "brequeue", "ends a running job, which is pending again"),
    (r"\bbkill\b", "bkill", "ends a job (Slurm: scancel)"),
)


def lsf_words(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the words of LSF that these texts use, each with its meaning."""
    whole = "\n".join(texts)
    return tuple((word, meaning) for sign, word, meaning in _WORDS if re.search(sign, whole))
