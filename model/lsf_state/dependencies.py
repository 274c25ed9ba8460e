"""Dependency conditions (bsub -w): whether a job still waits for others.

What is told of other jobs is only whether they have not begun, run, or have gone, so of a condition
such as ``done(123) && started("prep*")`` it is asked whether it *can* hold by now. A job that has
gone is taken to have ended as it was meant to.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable

#: ``done(123)``, ``ended("my job")``, ``numdone(7[1-4], > 3)``, or a job alone (which means done).
_REFERENCE = re.compile(
    r"(?:(\w+)\s*\(\s*)?(?:\"([^\"]*)\"|'([^']*)'|(\d+(?:\[[^\]]*\])?|[\w.*-]+))"
)
_WORDS = frozenset({"done", "ended", "exit", "started", "post_done", "post_err", "external"})


def waits(condition: str, status: Callable[[str], Iterable[str]]) -> bool:
    """Whether a condition cannot hold yet.

    status: the states of the unfinished jobs of a name or number (with ``*``, or elements), none
    where all of them have gone. Where ``||`` or ``!`` stands one reference that holds is enough.
    """
    unmet = [
        any(state != "RUN" or word != "started" for state in status(name))
        for word, name in references(condition)
    ]
    return bool(unmet) and (all(unmet) if re.search(r"\|\||!", condition) else any(unmet))


def references(condition: str) -> list[tuple[str, str]]:
    """What is asked of which job: ``("done", "123")``."""
    found: list[tuple[str, str]] = []
    for match in _REFERENCE.finditer(condition):
        word, name = match[1] or "done", match[2] or match[3] or match[4] or ""
        if name.lower() in _WORDS or not name:
            continue
        found.append((word.lower(), name))
    return found


def same_job(wanted: str, number: int, name: str) -> bool:
    """Whether a reference means the job of this number or name (elements aside)."""
    bare = wanted.partition("[")[0]
    if bare.isdigit():
        return int(bare) == number
    return bool(name) and fnmatch.fnmatchcase(name.partition("[")[0], bare)
