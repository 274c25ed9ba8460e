"""The fields of a bsub line that is right."""

from __future__ import annotations

from typing import Any

from slotwise.model.errors import InputError
from slotwise.model.formats.bsub import read_bsub


def parse_bsub(line: str, *clock: Any) -> dict[str, Any]:
    """Return the fields of a job; raise InputError with every option that is wrong."""
    fields, problems = read_bsub(line, *clock)
    if problems:
        raise InputError(problems)
    return fields
