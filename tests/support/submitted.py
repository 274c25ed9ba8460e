"""What a bsub or sbatch line submits, as `ask` reads it."""

from __future__ import annotations

from typing import Any

from slotwise import Instance
from slotwise.solver.advice.ask import submission_of


def submission(
    instance: Instance,
    line: str,
    script: str | None = None,
    *,
    user: str = "",
    script_name: str = "",
) -> Any:
    """Return the job of a line or script (`job`, `jobs` of an array) and remarks on its options."""
    return submission_of(instance, line, script, user=user, from_host="", script_name=script_name)


def submitted_job(instance: Instance, line: str, *, user: str = "") -> Any:
    """Return the job alone."""
    return submission(instance, line, user=user).job
