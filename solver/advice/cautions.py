"""What a comparison leaves out, beside the numbers that it touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...model.omissions import Omission, sentences
from ...model.plan import Plan

_LEFT_OUT = "not considered:"
_KEEPS = "what keeps the cycles from it: "


@dataclass(frozen=True, slots=True)
class Cautions:
    """marks: by method and job what stands behind its estimate, ``[1]`` or ``[1][2]``.

    lines: a sentence each, the first ones with these numbers. rest: sentences of no single job.
    """

    marks: Mapping[tuple[str, str], str]
    lines: tuple[str, ...]
    rest: tuple[str, ...]


def cautions_of(plans: Sequence[Plan], moving: Sequence[Omission] = ()) -> Cautions:
    """The omissions and notes of plans, each sentence once, with the methods that it is of.

    moving: what makes the loop by the last method start jobs otherwise than its plan.
    """
    touched: dict[str, tuple[list[str], dict[str, None]]] = {}
    plain: dict[str, list[str]] = {}
    for plan in plans:
        for item in plan.omissions:
            (text,) = sentences((item,))
            if item.jobs:
                methods, jobs = touched.setdefault(text, ([], {}))
                jobs.update(dict.fromkeys(item.jobs))
                methods.append(plan.method)
            else:
                plain.setdefault(text, []).append(plan.method)
        for note in plan.notes:
            if not (plan.omissions and note.startswith(_LEFT_OUT)):
                plain.setdefault(note, []).append(plan.method)
    for item in moving:
        text = f"{_KEEPS}{item.text()}"
        touched[text] = ([plans[-1].method], dict.fromkeys(item.jobs or ()))
    marks: dict[tuple[str, str], str] = {}
    lines = []
    for number, (text, (methods, jobs)) in enumerate(touched.items(), 1):
        for method in methods:
            for job in jobs:
                marks[method, job] = marks.get((method, job), "") + f"[{number}]"
        lines.append(f"[{number}] {_named(methods, plans)}{text}")
    rest = tuple(f"{_named(methods, plans)}{text}" for text, methods in plain.items())
    return Cautions(marks, tuple(lines), rest)


def _named(methods: Sequence[str], plans: Sequence[Plan]) -> str:
    """The methods in front of a sentence, none where it is of all plans."""
    found = list(dict.fromkeys(methods))
    if len(found) == len(plans):
        return ""
    return f"{' and '.join(found)}: "
