"""Options of external schedulers (bsub -ext): RMS lays a job out over the nodes inside hosts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from ..errors import InputError, Problem, nearest
from .syntax import Compound, Requirement, Span

_FORM = re.compile(r"\s*([A-Za-z_]+)\s*\[([^\[\]]*)\]\s*")
_POLICIES = ("RMS_SLOAD", "RMS_SNODE", "RMS_MCONT")
_COUNTS = ("nodes", "ptile")
#: Options of RMS that no plan obeys.
_UNHEEDED = ("base", "rails", "railmask")


@dataclass(frozen=True, slots=True)
class Topology:
    """Layout that -ext requests: number of nodes and slots on each node, None if not given."""

    #: Number of nodes, None if not stated.
    nodes: int | None = None
    #: Slots on each node.
    ptile: int | None = None
    #: Options that were read and that no plan obeys.
    unheeded: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def topology(text: str) -> Topology:
    """Read ``RMS[nodes=3;ptile=2]``; other external schedulers are read but not modelled.

    Raises InputError with what would be right.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise _refused(f"-ext must be RMS[nodes=3] or options of that form, not {text!r}")
    if match[1] != "RMS":
        return Topology(unheeded=(match[1],))
    counts: dict[str, int] = {}
    unheeded: list[str] = []
    for option in (word.strip() for word in re.split("[;:]", match[2]) if word.strip()):
        name, _, value = (part.strip() for part in option.partition("="))
        if name in _COUNTS and name not in counts:
            if value:
                if not re.fullmatch(r"[0-9]{1,9}", value) or int(value) < 1:
                    wrong = f"RMS[{name}={value}]: {name} must be a whole number of 1 or more"
                    raise _refused(wrong)
                counts[name] = int(value)
        elif name in _UNHEEDED or name == "RMS_MCONT":
            unheeded.append(name)
        elif name not in _POLICIES:
            if name in counts:
                raise _refused(f"RMS[]: {name} is given twice: give it once")
            known = (*_COUNTS, *_POLICIES, *_UNHEEDED)
            raise _refused(
                f"unknown option {name!r} of RMS[]{nearest(name, known)}: write RMS[nodes=3]"
            )
    return Topology(counts.get("nodes"), counts.get("ptile"), tuple(unheeded))


def _refused(message: str) -> InputError:
    """Return an error of the layout, which does not refer to a requirement string."""
    return InputError([Problem(message, path="extsched")])


def laid_out(
    requirement: Requirement, own: Requirement, text: str, slots: tuple[int, int] | None
) -> Requirement:
    """Return the merged requirement with a layout over nodes in place of the queue's span.

    own: the job's own requirement, which may not have a span in addition. slots: minimum and
    maximum of -n. Raises InputError if the nodes do not divide the slots.
    """
    asked = topology(text)
    if asked.nodes is None and asked.ptile is None:
        return requirement
    if isinstance(own, Compound) or isinstance(requirement, Compound):
        raise _refused(f"-ext {text} and a compound requirement are both given: give one of them")
    if own.span is not None:
        raise _refused(
            f"-ext {text} and span[] both define the layout of the job: give one of them"
        )
    return replace(requirement, span=Span(ptile=_each(asked, text, slots or (1, 1))))


def _each(asked: Topology, text: str, slots: tuple[int, int]) -> int:
    """Return the number of slots on each node."""
    if asked.nodes is None:
        return asked.ptile or 1
    least, most = slots
    if least != most:
        raise _refused(
            f"-ext {text} fixes the number of nodes: -n must be one number, not {least},{most}"
        )
    each, rest = divmod(least, asked.nodes)
    if rest or not each or asked.ptile not in (None, each):
        wanted = asked.nodes * (asked.ptile or max(1, each))
        raise _refused(
            f"-n {least} cannot be distributed evenly as {text} requires: give -n {wanted}"
        )
    return each
