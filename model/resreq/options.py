"""How a requirement string is read."""

from __future__ import annotations

from dataclasses import dataclass

from .vocabulary import ANY, Vocabulary

#: The versions of the language (docs/resreq.md has what differs).
LSF_7 = "7"
LSF_10 = "10.1"
DIALECTS = (LSF_7, LSF_10)


@dataclass(frozen=True, slots=True)
class Options:
    """How a string is read.

    strict: LSF_STRICT_RESREQ=Y (REQ-08). lenient: cu[balance] may have usablecuslots (PLC-08).
    unit: LSF_UNIT_FOR_LIMITS (REQ-13). vocabulary: the resources that are known.
    together: checks that need the whole requirement (ptile by type needs same[]) are made.
    dialect: one of DIALECTS.
    """

    strict: bool = False
    lenient: bool = False
    unit: str = "MB"
    vocabulary: Vocabulary = ANY
    together: bool = True
    dialect: str = LSF_10


#: How a string is read unless told otherwise: LSF's ordinary syntax.
ORDINARY = Options()
