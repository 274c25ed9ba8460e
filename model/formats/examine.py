"""Plain data as an instance, and everything that is wrong with it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from ..input_limits import counting
from ..instance import Instance
from .finding import Finding


def examine(data: Any, *, printable: bool = False) -> tuple[Instance | None, list[Finding]]:
    """The instance of plain data, None where an error was found, and everything found.

    printable: it is known to hold no strange character.
    """
    from pydantic import ValidationError

    from .build import build
    from .columns import take_columns
    from .document import Document
    from .messages import explain, rest
    from .raw import strange_values

    context = _context(data)
    strange = [] if printable else list(strange_values(data))
    with suppress(ValidationError), counting():
        others, columns = take_columns(data)
        instance, found = build(Document.model_validate(others, context=context), columns)
        return _judged(instance, _with_strange(strange, found))
    try:
        with counting():
            instance, found = build(Document.model_validate(data, context=context))
    except ValidationError as error:
        with counting():
            found = explain(error)
        remainder = rest(data, error)
        with suppress(ValidationError):
            with counting():
                others = build(Document.model_validate(remainder.data, context=context))[1]
            if remainder.defining:
                others = [finding for finding in others if not finding.rests_on_others]
            if remainder.deciding:
                others = [finding for finding in others if not finding.undecided]
            others = [remainder.original(finding) for finding in others]
            # A complaint about a whole entry may only be due to the part that was left out.
            broken = {finding.place[:n] for finding in found for n in range(len(finding.place))}
            found += [finding for finding in others if finding.place not in broken]
        return None, _with_strange(strange, found)
    return _judged(instance, _with_strange(strange, found))


def _judged(instance: Instance, found: list[Finding]) -> tuple[Instance | None, list[Finding]]:
    return None if any(not finding.warning for finding in found) else instance, found


def _with_strange(strange: list[Finding], found: list[Finding]) -> list[Finding]:
    """Both; of a text with strange characters nothing else is said."""
    places = {finding.place for finding in strange}
    return strange + [finding for finding in found if finding.place not in places]


def _context(data: Any) -> dict[str, float]:
    """How plain sizes are read: `base` M in a G, `unit` MB where LSF_UNIT_FOR_LIMITS counts."""
    given = data if isinstance(data, dict) else {}
    base = 1000 if given.get("size_base") == 1000 else 1024
    params = given.get("params")
    unit = params.get("LSF_UNIT_FOR_LIMITS") if isinstance(params, dict) else None
    powers = {"KB": -1, "MB": 0, "GB": 1, "TB": 2, "PB": 3}
    return {"base": base, "unit": float(base) ** powers.get(str(unit), 0)}
