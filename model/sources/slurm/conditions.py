"""Dependencies of Slurm jobs in the words of ``bsub -w``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .seen import SlurmJob

#: Slurm's kinds of a dependency, as tests of bsub.
TESTS = {
    "after": "started",
    "afterany": "ended",
    "afterok": "done",
    "afternotok": "exit",
    "aftercorr": "done",
    "afterburstbuffer": "ended",
}
_JOB = re.compile(r"(\d+)(?:_(\d+|\*|\[[^\]]*\]))?(?:\+(\d+))?")
_STATE = re.compile(r"\(([^()]*)\)\s*$")


class NeverSatisfied(ValueError):
    """A dependency that can never hold."""


def condition_of(job: SlurmJob, listed: Mapping[str, Sequence[SlurmJob]], notes: list[str]) -> str:
    """Return the unsatisfied dependency of a job, "" if there is none.

    listed: jobs that run or wait, by id. notes: gets what is not modelled. Raises NeverSatisfied.
    """
    text = job.dependency
    either = "?" in text
    found: list[str] = []
    for part in re.split(r"[,?]", text):
        tests = _tests(part.strip(), job, listed, notes)
        if not tests and either and part.strip() and "(unfulfilled)" not in part:
            return ""  # one of them holds
        found += tests
    if not found:
        return ""
    return (" || " if either else " && ").join(found)


def _tests(
    part: str, job: SlurmJob, listed: Mapping[str, Sequence[SlurmJob]], notes: list[str]
) -> list[str]:
    state = _STATE.search(part)
    word = "" if state is None else state[1].lower()
    bare = _STATE.sub("", part).strip()
    if word == "failed":
        raise NeverSatisfied(bare)
    if not bare or word == "fulfilled":
        return []
    kind, *ids = bare.split(":")
    if kind.lower() == "singleton":
        return [
            f"ended({number})"
            for number, records in listed.items()
            if number != job.id
            and int(number) < int(job.id)
            and any(other.name == job.name and other.user == job.user for other in records)
        ]
    test = TESTS.get(kind.lower())
    if test is None:
        notes.append(f"dependency {bare}")
        return []
    found = []
    for item in ids:
        match = _JOB.fullmatch(item.strip())
        if match is None:
            notes.append(f"dependency {bare}")
            continue
        number, task, minutes = match.groups()
        if minutes:
            notes.append(f"the {minutes}-minute delay of dependency {bare}")
        if number not in listed:
            notes.append(f"dependency {bare}: no input lists job {number}")
            continue
        name = number
        if kind.lower() == "aftercorr":
            name = f"{number}[*]"
        elif task and task.isdigit():
            name = f"{number}[{task}]"
        found.append(f"{test}({name})")
    return found
